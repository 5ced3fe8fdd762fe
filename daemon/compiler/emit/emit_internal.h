/* What the files of emit/ share: the graph as it will be written.
 *
 * A view per graph: the ops of the source graph without the Casts that were folded into
 * constants, plus one constant per dtype in which a constant is read. `op->plan` of a
 * source op points at the op that stands for it in the view. */
#ifndef OC_EMIT_INTERNAL_H
#define OC_EMIT_INTERNAL_H

#include "base/half.h"
#include "emit/emit.h"
#include "graph/graph.h"
#include "om/om.h"

/* Logical base address of feature maps, as the vendor's compiler uses it. */
#define EMIT_BASE_ADDR 0x80000000ull
/* Where import keeps the model's own output names, on NetOutput. */
#define OC_ATTR_OUTPUT_NAMES "_output_names"
/* Bytes of a tensor in memory: rounded up to this, plus this. */
#define EMIT_MEM_ALIGN 32u
/* Bytes compared at one time. */
#define EMIT_CHUNK (256u << 10)
/* Bytes made at one time: with the floats they are made of they fit a core's own cache.
 */
#define EMIT_PIECE     (128u << 10)
#define EMIT_MAX_LANES 8u

/* A constant as stored: a model's value in the dtype in which it is read. */
struct emit_const {
  const struct oc_value *value;
  const char *name;
  const struct emit_op *op; /* that stands for it */
  enum oc_dtype to;
  uint32_t graph;                 /* of the constant */
  uint64_t size;                  /* bytes stored */
  uint64_t offset;                /* in WEIGHTS_DATA */
  uint64_t fingerprint;           /* of size and of samples of the stored bytes */
  bool stored;                    /* false: shares the bytes of one that comes before */
  const struct emit_const *share; /* that one */
  struct oc_lowering lowering;
};

/* Memory of one tensor; several tensors that only rename it share the block. */
struct emit_block {
  uint64_t size;
  uint64_t offset;
  uint32_t first, last; /* steps */
  bool io;              /* an input or output of the model: never reused */
  uint32_t order;       /* of creation */
};

struct emit_op;

struct emit_edge {
  struct emit_op *to;
  uint32_t input;
};

struct emit_op {
  struct oc_op *op;
  struct emit_graph *graph;
  const char *name;
  struct emit_const *constant; /* constants only */
  struct emit_block **blocks;  /* per output; NULL: size unknown or a constant */
  struct emit_edge *users;     /* in order of consumers */
  uint32_t n_users;
  struct emit_graph *subs; /* its sub-graphs, chained by `sibling` */
  uint32_t id;
  uint32_t start, step; /* start < step only with sub-graphs */
};

struct emit_graph {
  struct oc_graph *graph;
  const char *name;
  struct oc_op *parent_op; /* of a sub-graph */
  struct emit_op *parent;
  struct emit_graph *sibling; /* next sub-graph of the same parent */
  struct emit_op **ops;
  uint32_t n_ops;
};

/* Partitions in the order of the file; only the first model has weights. */
enum { PART_INOUT, PART_DEF, PART_WEIGHTS, PART_TASKS, N_PARTS };

/* One model of the file, laid out but for the weights. */
struct emit_model {
  struct oc_buf front, inout, def, tasks; /* front: (header and) table */
  struct oc_om_part parts[N_PARTS];
  uint32_t n_parts;
  uint64_t at; /* of the front in the file */
};

struct oc_emit_plan {
  struct oc_arena arena;
  struct oc_emit_options opt;
  struct emit_graph *graphs;
  uint32_t n_graphs;
  struct emit_const **consts; /* by name; those of one name by graph */
  size_t n_consts;
  struct emit_block **list;
  size_t n_blocks;
  uint32_t n_steps;
  uint8_t *digests; /* of the weights' pieces, 32 bytes each; NULL without a digest */
  uint64_t io_size; /* at the end of the feature-map memory */
  bool dynamic;
  struct oc_emit_stats stats;
  struct emit_model *models; /* in the order of the file */
  uint32_t n_models;
  /* While a model is laid out: */
  struct emit_model *model;
  int profile;          /* -1: the first model */
  uint64_t most_memory; /* of the profiles */
  const char **shapes;  /* of outputs in profiles, as the format has them */
  size_t n_shapes;
  uint64_t size; /* of the file */
};

/* view.c */
int emit_view(struct oc_emit_plan *p, struct oc_graph *root, struct oc_error *err);
bool emit_is_compute(const struct emit_op *e);
/* What input `i` reads; NULL when it is not linked. */
struct emit_op *emit_producer(const struct emit_op *e, uint32_t i);
uint32_t emit_producer_out(const struct emit_op *e, uint32_t i);
/* dtype of an output as written. */
enum oc_dtype emit_out_dtype(const struct emit_op *e, uint32_t k);
enum oc_dtype emit_in_dtype(const struct emit_op *e, uint32_t i);
/* Bytes of a tensor of known shape; false otherwise. */
bool emit_bytes(enum oc_dtype d, struct oc_shape s, uint64_t *ret);
/* Rounded for memory. */
uint64_t emit_padded(uint64_t bytes);

/* weights.c */
int emit_weights(struct oc_emit_plan *p, struct oc_error *err);
/* scan.c: digests what is stored of the constants and counts what is lost. */
int emit_scan(struct oc_emit_plan *p, struct oc_error *err);
/* pieces.c: `work` gets every piece of what is stored, in any order and from several
 * lanes at once; `at` is the place in WEIGHTS_DATA. With `count` what lowering loses is
 * added up in each constant. 0, OC_E_NOMEM, or what a work returned. */
typedef int (*emit_piece_fn)(void *arg, unsigned lane, uint64_t i, uint64_t at,
                             const void *p, size_t len);
int emit_each_piece(const struct oc_emit_plan *p, bool count, emit_piece_fn work,
                    void *arg);
uint64_t emit_n_pieces(const struct oc_emit_plan *p);
/* lost.c: findings about what the scan counted. */
void emit_report_lost(struct oc_emit_plan *p, struct oc_findings *fs);
/* scan.c: stored bytes [from, to) of a constant are made: lets go of the mapped ones. */
void emit_release(const struct oc_emit_plan *p, const struct emit_const *c, uint64_t from,
                  uint64_t to);
/* convert.c */
bool emit_can_convert(enum oc_dtype from, enum oc_dtype to);
/* Stored bytes [at, at + len) of a constant: a slice of the value or `scratch` (`len`
 * bytes). `at` is a multiple of the element size. Adds what the
 * conversion loses to `stat`, which may be NULL. */
const uint8_t *emit_stored(const struct emit_const *c, uint64_t at, size_t len,
                           uint8_t *scratch, struct oc_lowering *stat);

/* models.c: every model of the file but its weights. */
int emit_models(struct oc_emit_plan *p, struct oc_findings *fs, struct oc_error *err);
/* memory.c: of the model that is laid out. */
int emit_memory(struct oc_emit_plan *p, struct oc_error *err);

/* def.c, attrs.c, model_attrs.c */
int emit_def(struct oc_emit_plan *p, struct oc_findings *fs, struct oc_error *err);
/* A tensor as written; `got` its dtype, `origin` the framework's. */
bool emit_desc(struct oc_emit_plan *p, const struct oc_tensor *t, enum oc_dtype got,
               enum oc_dtype origin, struct oc_om_desc *d);
/* Attributes of op, descriptor and model; false when memory is short. */
bool emit_op_attrs(struct oc_emit_plan *p, const struct emit_op *e, struct oc_om_op *to);
bool emit_desc_attrs(struct oc_emit_plan *p, const struct oc_tensor *t,
                     struct oc_om_desc *d, enum oc_dtype origin);
bool emit_graph_attrs(struct oc_emit_plan *p, struct oc_om_graph *to);
bool emit_model_attrs(struct oc_emit_plan *p, struct oc_om_def *def);
/* Of the model that is laid out: bytes of its WEIGHTS_DATA; the name of a profile's. */
uint64_t emit_weight_size(const struct oc_emit_plan *p);
const char *emit_profile_name(struct oc_emit_plan *p);
/* Name of output `i` of the model: "<op>:<index>:<tensor>". */
const char *emit_output_name(struct oc_emit_plan *p, const struct emit_op *net_output,
                             uint32_t i);
/* inout.c, tasks.c */
int emit_inout(struct oc_emit_plan *p, struct oc_error *err);
int emit_tasks(struct oc_emit_plan *p, struct oc_error *err);
/* The NetOutput of a graph; NULL when it has none. */
struct emit_op *emit_net_output(const struct emit_graph *g);
/* An attribute list under construction; `failed` when memory was short. */
struct emit_attrs {
  struct oc_arena *arena;
  struct oc_om_attr *v;
  uint32_t n, room;
  bool failed;
  struct oc_om_attr spare; /* what a failed append hands out */
};
struct oc_om_attr *emit_attr(struct emit_attrs *l, const char *name,
                             enum oc_om_attr_kind kind);

int emit_no_memory(struct oc_error *err);

#endif
