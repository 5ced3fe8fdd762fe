/* What the passes share: a run over one graph, edges that are passed over in one go,
 * hand-over of names, notes. */
#ifndef OC_PASSES_PASSES_INTERNAL_H
#define OC_PASSES_PASSES_INTERNAL_H

#include "passes/passes.h"

struct pass_run {
  struct oc_graph *graph; /* the graph under way; sub-graphs are runs of their own */
  struct oc_arena *arena; /* the graph's */
  struct oc_arena scratch;
  enum oc_pass pass;
  struct oc_pass_log *log;
  const struct oc_optable *optable;
  const char *table_id; /* NULL: no table */
  const char *soc;
  uint32_t *uses;     /* per op id: inputs that read it; pass_count_uses() */
  uint32_t n_counted; /* ops that were there then; ops added since have higher ids */
  uint32_t n_changes;
};

/* A producer's output. */
struct pass_edge {
  struct oc_op *op;
  uint32_t out;
};

typedef void (*pass_fn)(struct pass_run *r);

void pass_identity(struct pass_run *r);
void pass_cast(struct pass_run *r);
void pass_fold(struct pass_run *r);
void pass_fold_real(struct pass_run *r);
void pass_reshape(struct pass_run *r);
void pass_pad_conv(struct pass_run *r);
void pass_conv_bn(struct pass_run *r);
void pass_bias(struct pass_run *r);
void pass_loops(struct pass_run *r);
void pass_recurrent(struct pass_run *r);
void pass_retype(struct pass_run *r);
void pass_epilogue(struct pass_run *r);
void pass_dead(struct pass_run *r);

/* Gives a convolution or product an input 2 called bias when it has none; false when
 * memory is short. */
bool pass_bias_slot(struct pass_run *r, struct oc_op *op);

/* Numbers the ops by place and counts who reads whom. False when memory is short. */
bool pass_count_uses(struct pass_run *r);
/* Is output `k` of `op` read by NetOutput? */
bool pass_feeds_end(const struct pass_run *r, const struct oc_op *op, uint32_t k);
/* The first reader of output `k`; NULL when nobody does. */
struct oc_op *pass_reader(const struct pass_run *r, const struct oc_op *op, uint32_t k);

/* Every reader of an op `o` with skip[o->id] set reads what o's input 0 reads; those ops
 * are removed. Chains are followed. `skip` has one flag per op, numbered by
 * pass_count_uses(). Names go to the op that takes over. */
void pass_bypass(struct pass_run *r, const bool *skip);
/* `into` takes over the names of `from`, and with `fuse` also its keep mark. */
void pass_swallow(struct pass_run *r, struct oc_op *into, const struct oc_op *from,
                  bool fuse);
/* The same for many ops at once. */
void pass_swallow_all(struct pass_run *r, struct oc_op *into, struct oc_op *const *from,
                      size_t n, bool fuse);
/* Marks `op` for removal, and every producer that only it reads (constants and what
 * computes on them; no Data), handing their names to `into`. Uses are kept up to date;
 * call oc_graph_sweep() at the end. */
void pass_drop_inputs(struct pass_run *r, struct oc_op *op, uint32_t first,
                      struct oc_op *into);
/* --- pieces.c: ops in place of `old`, called `<old>/<suffix>`, with its original names
 * and keep mark; inputs unlinked, tensors named. NULL when memory is short; the functions
 * below take NULL and do nothing. --- */
struct oc_op *pass_piece(struct pass_run *r, const struct oc_op *old, const char *suffix,
                         const char *type, uint32_t n_in, uint32_t n_out);
/* The same in another graph. */
struct oc_op *pass_piece_in(struct pass_run *r, struct oc_graph *g,
                            const struct oc_op *old, const char *suffix, const char *type,
                            uint32_t n_in, uint32_t n_out);
struct oc_op *pass_piece_const(struct pass_run *r, struct oc_graph *g,
                               const struct oc_op *old, const char *suffix,
                               const struct oc_value *v);
struct oc_op *pass_piece_ints(struct pass_run *r, struct oc_graph *g,
                              const struct oc_op *old, const char *suffix,
                              const int64_t *v, size_t n, bool scalar);
/* Original names and keep mark of `old` for an op that was made for it. */
void pass_inherit(struct pass_run *r, struct oc_op *op, const struct oc_op *old);
/* Input `i` reads output `out` of `from` and looks like it. */
void pass_wire(struct oc_op *op, uint32_t i, struct oc_op *from, uint32_t out);
void pass_looks(struct oc_op *op, uint32_t k, enum oc_dtype dtype, struct oc_shape shape);

void pass_note(struct pass_run *r, const struct oc_op *op, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
