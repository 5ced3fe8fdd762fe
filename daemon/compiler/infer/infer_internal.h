/* What the families of inference share: the state of a run, access to an op's tensors,
 * arithmetic on dims that may be symbols, and followed values.
 *
 * A rule is one function per IR type. It reads inputs through the helpers below and sets
 * every output once. Rules do not fail: memory is checked once at the end of the run
 * (arena->failed), contradictions are recorded with infer_conflict(). Outputs that a rule
 * leaves alone have unknown rank and the first input's dtype. */
#ifndef OC_INFER_INFER_INTERNAL_H
#define OC_INFER_INFER_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/limits.h"
#include "base/map.h"
#include "infer/infer.h"

/* One followed element. SYMBOL: the integer equals the symbolic dim `i`. */
enum infer_cell_kind { INFER_UNKNOWN, INFER_KNOWN, INFER_SYMBOL };
struct infer_cell {
  enum infer_cell_kind kind;
  union {
    int64_t i; /* integers and bools; symbols */
    double f;  /* KNOWN elements of floating point tensors */
  } u;
};

/* The followed content of a tensor. */
struct infer_cells {
  enum oc_dtype dtype;
  bool real;             /* elements are floating point: KNOWN cells use u.f */
  struct oc_shape shape; /* static */
  size_t n;
  struct infer_cell *v;
};

/* A graph under way: content per op and output, both by number. */
struct infer_scope {
  struct oc_graph *graph;
  struct infer_cells ***known; /* [op->id][output], rows made at need */
  /* In a sub-graph: the first op that contradicts itself. It is reported only when the
   * sub-graph has to run: a branch that cannot run to its end is not taken. */
  const struct oc_op *broken;
  const char *why;
};

struct infer_frame {
  struct infer_scope *scope;
  uint32_t next;             /* op to do */
  uint32_t next_sub;         /* its sub-graph to do */
  uint32_t round;            /* of a loop body */
  struct infer_scope **subs; /* of the current op */
  struct oc_shape
      *carried; /* loops: widened shapes of the carried values, by body input */
  uint32_t n_carried;
};

struct infer;
typedef void (*infer_fn)(struct infer *in, struct oc_op *op);

struct infer_rule {
  const char *type;
  infer_fn shape;
  infer_fn
      value; /* follows values; may be NULL. Runs after `shape` when outputs are small */
  int arg;   /* tells variants of one function apart */
};

struct infer_symbol_def {
  char op; /* '*' '+' '-' '/' or 0 for one without definition */
  int64_t a, b;
};

struct infer {
  struct oc_graph *root;
  struct oc_arena *arena;       /* the graph's: shapes and values */
  struct oc_arena scratch;      /* cells and tables, gone at the end of the run */
  struct oc_findings *findings; /* NULL: quiet */
  struct oc_infer_result result;
  struct oc_map rules;   /* type -> const struct infer_rule * */
  struct oc_map symbols; /* "op:a:b" -> struct made */
  struct oc_map defs;    /* symbol's decimal text -> struct infer_symbol_def * */
  struct infer_frame frames[OC_MAX_NESTING];
  uint32_t depth;
  const struct infer_rule *rule; /* of the op under way */
  bool conflict;                 /* the op under way contradicts itself */
  size_t cells_left;             /* budget of followed elements */
};

/* --- tables, one per family; each ends with a NULL type --- */
extern const struct infer_rule infer_elementwise_rules[];
extern const struct infer_rule infer_broadcast_rules[];
extern const struct infer_rule infer_reduce_rules[];
extern const struct infer_rule infer_matrix_rules[];
extern const struct infer_rule infer_einsum_rules[];
extern const struct infer_rule infer_convolution_rules[];
extern const struct infer_rule infer_transposed_rules[];
extern const struct infer_rule infer_pooling_rules[];
extern const struct infer_rule infer_normalise_rules[];
extern const struct infer_rule infer_reshape_rules[];
extern const struct infer_rule infer_layout_rules[];
extern const struct infer_rule infer_slice_rules[];
extern const struct infer_rule infer_strided_rules[];
extern const struct infer_rule infer_pad_rules[];
extern const struct infer_rule infer_gather_rules[];
extern const struct infer_rule infer_scatter_rules[];
extern const struct infer_rule infer_join_rules[];
extern const struct infer_rule infer_split_rules[];
extern const struct infer_rule infer_resize_rules[];
extern const struct infer_rule infer_recurrent_rules[];
extern const struct infer_rule infer_control_rules[];
extern const struct infer_rule infer_generate_rules[];
extern const struct infer_rule infer_random_rules[];
extern const struct infer_rule infer_quantise_rules[];
extern const struct infer_rule infer_detect_rules[];
extern const struct infer_rule infer_sequence_rules[];
extern const struct infer_rule infer_count_rules[];
extern const struct infer_rule infer_vendor_rules[];
extern const struct infer_rule infer_picture_rules[];
extern const struct infer_rule infer_tensor_array_rules[];

/* --- tensors of an op (access.c) --- */
bool infer_has(const struct oc_op *op, uint32_t i); /* input i is linked */
struct oc_shape infer_shape(const struct oc_op *op,
                            uint32_t i); /* unknown rank when not linked */
enum oc_dtype infer_dtype(const struct oc_op *op,
                          uint32_t i); /* UNDEFINED when not linked */
bool infer_rank(const struct oc_op *op, uint32_t i, uint32_t *ret);
/* Dim `d` of input `i`, counted from behind when negative; OC_DIM_UNKNOWN when not there.
 */
int64_t infer_dim(const struct oc_op *op, uint32_t i, int64_t d);
/* Sets output `k`; does nothing when the op has no such output. */
void infer_set(struct infer *in, struct oc_op *op, uint32_t k, enum oc_dtype dtype,
               struct oc_shape shape);
void infer_set_dims(struct infer *in, struct oc_op *op, uint32_t k, enum oc_dtype dtype,
                    const int64_t *dims, size_t rank);
/* Copies the dims of input `i` for editing; false when its rank is unknown (or too high).
 */
bool infer_dims(struct infer *in, const struct oc_op *op, uint32_t i,
                int64_t dims[OC_MAX_RANK], uint32_t *ret_rank);
/* An axis in [-rank, rank) made non-negative; records a conflict and gives false
 * otherwise. */
bool infer_axis(struct infer *in, const struct oc_op *op, int64_t axis, uint32_t rank,
                uint32_t *ret);
/* A dtype attribute that importers may write as OC_ATTR_DTYPE or as an R number. */
enum oc_dtype infer_dtype_attr(const struct oc_op *op, const char *name,
                               enum oc_dtype other);
int64_t infer_int_attr(const struct oc_op *op, const char *name,
                       int64_t other); /* also of a bool */
bool infer_bool_attr(const struct oc_op *op, const char *name,
                     bool other); /* also of an int */
/* The op contradicts itself: one finding per op, with the reason; inside of a sub-graph
 * it is kept until the sub-graph's op knows whether that matters. */
void infer_conflict(struct infer *in, const struct oc_op *op, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The op under way needs a sub-graph that is broken. */
void infer_broken(struct infer *in, const struct infer_scope *sub);

/* --- dims (dims.c): any argument may be a symbol or unknown --- */
int64_t infer_fresh(struct infer *in);
int64_t infer_add(struct infer *in, int64_t a, int64_t b);
int64_t infer_sub(struct infer *in, int64_t a, int64_t b);
int64_t infer_mul(struct infer *in, int64_t a, int64_t b);
int64_t infer_div(struct infer *in, int64_t a,
                  int64_t b); /* rounds down; b known and > 0, or symbolic */
/* The dim of two tensors that must agree: the known one of the two. */
int64_t infer_same(struct infer *in, const struct oc_op *op, int64_t a, int64_t b);
/* Numpy's rule for one dim. */
int64_t infer_broadcast_dim(struct infer *in, const struct oc_op *op, int64_t a,
                            int64_t b);
/* Numpy's rule for two shapes. */
struct oc_shape infer_broadcast(struct infer *in, const struct oc_op *op,
                                struct oc_shape a, struct oc_shape b);
/* Product of dims [from, to). */
int64_t infer_product(struct infer *in, const int64_t *dims, uint32_t from, uint32_t to);
/* Replaces a symbol that is a product by its factors. Returns how many were written. */
size_t infer_factors(const struct infer *in, int64_t dim, int64_t *ret, size_t room);
/* The shape both may have: dims that differ become new symbols, ranks that differ
 * unknown. */
struct oc_shape infer_merge(struct infer *in, struct oc_shape a, struct oc_shape b);

/* --- followed values (cells.c) --- */
/* Content of input `i`; NULL when it is not known at all or too large. */
const struct infer_cells *infer_content(struct infer *in, const struct oc_op *op,
                                        uint32_t i);
/* Room for the content of output `k`, all cells UNKNOWN; NULL when its shape is not
 * static, it is too large, or the budget is used up. Follow with infer_store(). */
struct infer_cells *infer_cells_new(struct infer *in, const struct oc_op *op, uint32_t k);
/* Keeps the content; fills the tensor's `value` when every cell is known. */
void infer_store(struct infer *in, struct oc_op *op, uint32_t k, struct infer_cells *c);
/* Copies cell `from` to cell `to`: both tensors are of one kind (real or not). */
void infer_cell_put(struct infer_cells *to, size_t i, const struct infer_cells *from,
                    size_t j);
/* The same content under another shape (Reshape and its kin): output 0 of input 0. */
void infer_value_copy(struct infer *in, struct oc_op *op);
/* A cell as a dim: its number, its symbol, or a fresh symbol. */
int64_t infer_cell_dim(struct infer *in, const struct infer_cells *c, size_t i);
bool infer_cell_int(const struct infer_cells *c, size_t i,
                    int64_t *ret); /* KNOWN and integral */
bool infer_cell_real(const struct infer_cells *c, size_t i, double *ret); /* KNOWN */
/* All elements of input `i` as known integers; NULL when some are not. */
const int64_t *infer_known_ints(struct infer *in, const struct oc_op *op, uint32_t i,
                                size_t *ret_n);
/* A dims vector from a shape input: false when not even its length is known. */
bool infer_shape_input(struct infer *in, const struct oc_op *op, uint32_t i,
                       int64_t dims[OC_MAX_RANK], uint32_t *ret_rank);
/* Axes of an op: the list attribute `attr` or the input `i`, made non-negative, each
 * once. `ret_all`: none were given. False when not known. */
bool infer_axes(struct infer *in, const struct oc_op *op, const char *attr, int32_t i,
                uint32_t rank, uint64_t *ret_mask, bool *ret_all);
/* A number rounded as the dtype holds it. */
double infer_round(enum oc_dtype dtype, double v);
int64_t infer_wrap(enum oc_dtype dtype, int64_t v);

/* Index into a tensor of shape `from` of the element that broadcasts to element `i` of
 * `to`. */
size_t infer_broadcast_index(struct oc_shape to, struct oc_shape from, size_t i);

/* --- rules that several families share --- */
/* Every output looks like the first input. */
void infer_like_first(struct infer *in, struct oc_op *op);
/* Output k looks like input k. */
void infer_like_each(struct infer *in, struct oc_op *op);
void infer_binary_value(struct infer *in, struct oc_op *op); /* broadcast_value.c */
void infer_select_value(struct infer *in, struct oc_op *op);

/* --- the run (infer.c, control.c) --- */
const struct infer_rule *infer_find(struct infer *in, const char *type);
/* Binds the Data ops of a sub-graph to its parent's inputs. */
void infer_control_enter(struct infer *in, struct oc_op *op, uint32_t sub);
/* True when every sub-graph has to be gone through once more (loop bodies). */
bool infer_control_leave(struct infer *in, struct oc_op *op);
/* A value for --input_shape that would make the inputs static; NULL when they are. */
const char *infer_input_hint(struct oc_graph *g);
/* Does this value of --input_shape say something of the input? */
bool infer_shape_given(const char *text, const char *input);
struct infer_cells *infer_scope_cells(const struct infer_scope *s, const struct oc_op *op,
                                      uint32_t k);
void infer_scope_put(struct infer *in, struct infer_scope *s, const struct oc_op *op,
                     uint32_t k, struct infer_cells *c);

#endif
