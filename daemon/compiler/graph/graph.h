/* The graph: Ascend IR operators and the tensors between them.
 *
 * Everything lives in one arena and dies with it. Ops are never moved; `graph->ops` is
 * the order. Names keep the model's bytes. Constant payload is a slice of the mapped
 * model file wherever the file already holds it as little-endian bytes.
 *
 * Who writes what: import creates ops, names, source types, attributes, constants and the
 * declared types of graph inputs; keep marks are set on the graph as parsed (precision);
 * passes may retype, fold and remove; infer fills dtype and shape of every tensor; the
 * judge fills `got`, `engine` and inserts Casts; emit reads. */
#ifndef OC_GRAPH_GRAPH_H
#define OC_GRAPH_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/dtype.h"
#include "base/map.h"
#include "base/str.h"

/* Dimensions: >= 0 known; OC_DIM_UNKNOWN unknown; below that a symbol: two equal
 * negative values are the same unknown number. Everything negative is written as -1. */
#define OC_DIM_UNKNOWN (-1)

struct oc_shape {
  bool known_rank;
  uint32_t rank;
  const int64_t *dims; /* `rank` values; never changed in place once shared */
};

enum oc_format {
  OC_FMT_NCHW,
  OC_FMT_NHWC,
  OC_FMT_ND,
  OC_FMT_NCDHW,
  OC_FMT_NDHWC,
  OC_FMT_HWCN,
  OC_FMT_DHWCN
};
const char *oc_format_name(enum oc_format f); /* "NCHW" */

/* Where an op runs. */
enum oc_engine {
  OC_ENGINE_GRAPH, /* Data, Const, NetOutput...: never judged */
  OC_ENGINE_AICORE,
  OC_ENGINE_FRAMEWORK, /* judged, but without a kernel (table: opfile Null) */
  OC_ENGINE_AICPU,
  OC_ENGINE_NONE, /* nobody takes it: EZ3003 */
};

/* A constant's value. `data` holds `len` little-endian bytes of `dtype`. */
struct oc_value {
  enum oc_dtype dtype;
  struct oc_shape shape;
  const uint8_t *data;
  size_t len;
  bool mapped; /* a slice of the model file (or of external data): may fault, never
                  written */
};

struct oc_reason_list; /* precision's own; rendered into the report */

/* A tensor as one op sees it. */
struct oc_tensor {
  const char *name;    /* IR name: "x1", "filter", "y"; "x0", "x1"... for dynamic ones */
  enum oc_dtype dtype; /* the model's dtype, UNDEFINED until inferred */
  enum oc_dtype want;  /* precision: wanted */
  enum oc_dtype got;   /* precision: resolved; equals dtype before */
  enum oc_format format;
  bool
      continuous; /* _format_continuous: shares memory with its producer (control flow) */
  struct oc_shape shape;
  const struct oc_value
      *value; /* outputs: known content (constants and what folds to one), else NULL */
  struct oc_reason_list *reasons;
};

struct oc_input {
  struct oc_op *from; /* NULL: not linked (an optional input left out, or no producer) */
  uint32_t from_out;
  struct oc_tensor t; /* dtype and shape copied from the producer's output by infer */
};

struct oc_output {
  struct oc_tensor t;
};

enum oc_attr_kind {
  OC_ATTR_INT,
  OC_ATTR_FLOAT,
  OC_ATTR_BOOL,
  OC_ATTR_STRING,
  OC_ATTR_INTS,
  OC_ATTR_FLOATS,
  OC_ATTR_STRINGS,
  OC_ATTR_DTYPE, /* an enum oc_dtype; written in R numbering */
  OC_ATTR_VALUE, /* a tensor */
};

struct oc_attr {
  struct oc_attr *next; /* sorted by name only when emitted */
  const char *name;
  enum oc_attr_kind kind;
  size_t n; /* elements of the list kinds */
  union {
    int64_t i;
    float f;
    bool b;
    struct oc_str s;
    const int64_t *ints;
    const float *floats;
    const struct oc_str *strings;
    enum oc_dtype dtype;
    const struct oc_value *value;
  } u;
};

/* On a constant that its reader turned into attributes: the reader's name. When the
 * constant is removed, the reader takes over its name. */
#define OC_ATTR_READ_BY "_read_by"
/* On a Data that is a list of tensors: what those are, as far as the model says it; -1
 * for a dim that is open. */
#define OC_ATTR_ELEMENT_DTYPE "_element_dtype"
#define OC_ATTR_ELEMENT_SHAPE "_element_shape"
/* On an Aipp: the dims of what it gives, -1 for those that follow its image. */
#define OC_ATTR_FEATURES_SHAPE "_features_shape"

struct oc_subgraph {
  const char *name; /* "<if node>_0_then_branch" */
  struct oc_graph *graph;
};

struct oc_op {
  const char *name;
  const char *type;        /* Ascend IR type */
  const char *source_type; /* the framework's own type; "" for generated ops */
  struct oc_input *inputs;
  uint32_t n_inputs;
  struct oc_output *outputs;
  uint32_t n_outputs;
  struct oc_attr *attrs;
  const char *
      *origin_names; /* original framework names when the op's own name is not one */
  uint32_t n_origin_names;
  struct oc_op **controls; /* control edges: ops that must come first */
  uint32_t n_controls;
  struct oc_subgraph *subgraphs;
  uint32_t n_subgraphs;
  uint32_t id;         /* topological number, oc_graph_sort() */
  uint32_t mark;       /* scratch of whoever walks; 0 outside of a walk */
  bool keep;           /* _keep_dtype */
  uint32_t keep_entry; /* first canonical keep_dtype entry that hit, 1-based */
  uint32_t keep_also;  /* the next one that hit, 0 none */
  bool dynamic_impl;   /* some tensor's shape is not static */
  bool inserted;       /* a Cast that the judge put in */
  bool type_inferred; /* retyped by a rule that was read from a closed pass's name only */
  enum oc_engine engine;
  int32_t column;               /* chosen column of the table, -1 none */
  const struct oc_value *value; /* Const only */
  void *plan;                   /* emit's own */
};

/* A symbolic dim that the model gives a name ("batch"). */
struct oc_symbol {
  const char *name;
  int64_t dim;
};

struct oc_graph {
  struct oc_arena *arena;
  const char *name;
  struct oc_op **ops; /* in order: producers before consumers after oc_graph_sort() */
  uint32_t n_ops;
  uint32_t room;
  struct oc_graph *parent; /* of a sub-graph */
  struct oc_op *parent_op;
  const char *model_format; /* "onnx", "tensorflow" */
  int64_t next_symbol; /* next free symbolic dim, starts at -2, counts down; root graph's
                          is used */
  struct oc_symbol
      *symbols; /* named ones, in order of appearance; root graph's are used */
  uint32_t n_symbols;
  uint32_t symbol_room;
};

/* NULL when memory is short (all of these). */
struct oc_graph *oc_graph_new(struct oc_arena *arena, const char *name);
/* Appends an op; strings are borrowed (must live in the arena or longer). Inputs are
 * unlinked, tensors all-zero with the names NULL. */
struct oc_op *oc_graph_add(struct oc_graph *g, const char *name, const char *type,
                           uint32_t n_inputs, uint32_t n_outputs);
/* A Const op named `name` whose output has the value's dtype and shape. */
struct oc_op *oc_graph_add_const(struct oc_graph *g, const char *name,
                                 const struct oc_value *value);
/* A Const with int64 or int32 elements copied from `v`; rank 1, or 0 when `scalar`. */
struct oc_op *oc_graph_add_ints(struct oc_graph *g, const char *name, enum oc_dtype dtype,
                                const int64_t *v, size_t n, bool scalar);
void oc_op_link(struct oc_op *to, uint32_t input, struct oc_op *from, uint32_t output);

/* Topological order (stable: of several ready ops the one that came first in `ops`), ids
 * set. OC_E_FORMAT and the name of one op of the cycle when there is one. No recursion.
 */
int oc_graph_sort(struct oc_graph *g, const char **ret_cycle);
/* Removes the ops whose `mark` is 1 (nobody may still refer to them) and clears marks. */
void oc_graph_sweep(struct oc_graph *g);
/* Every consumer of (`from`, output k) reads (`to`, output m) instead. */
void oc_graph_replace(struct oc_graph *g, struct oc_op *from, uint32_t k,
                      struct oc_op *to, uint32_t m);
struct oc_op *oc_graph_find(const struct oc_graph *g, const char *name);
/* Input, output and Const declared types: */
bool oc_op_is(const struct oc_op *op, const char *type);
bool oc_op_is_const(const struct oc_op *op); /* Const or Constant */
bool oc_op_is_input(const struct oc_op *op); /* Data, or AippData of a model */
/* Known value of input `i`: its producer's output value; NULL when not constant. */
const struct oc_value *oc_op_input_value(const struct oc_op *op, uint32_t i);

/* Attributes. Setting replaces. Getters return `other` when absent or of another kind. */
int oc_attr_set_int(struct oc_graph *g, struct oc_op *op, const char *name, int64_t v);
int oc_attr_set_float(struct oc_graph *g, struct oc_op *op, const char *name, float v);
int oc_attr_set_bool(struct oc_graph *g, struct oc_op *op, const char *name, bool v);
int oc_attr_set_string(struct oc_graph *g, struct oc_op *op, const char *name,
                       const char *v);
int oc_attr_set_ints(struct oc_graph *g, struct oc_op *op, const char *name,
                     const int64_t *v, size_t n);
int oc_attr_set_floats(struct oc_graph *g, struct oc_op *op, const char *name,
                       const float *v, size_t n);
int oc_attr_set_strings(struct oc_graph *g, struct oc_op *op, const char *name,
                        const struct oc_str *v, size_t n);
int oc_attr_set_dtype(struct oc_graph *g, struct oc_op *op, const char *name,
                      enum oc_dtype v);
int oc_attr_set_value(struct oc_graph *g, struct oc_op *op, const char *name,
                      const struct oc_value *v);
const struct oc_attr *oc_attr_find(const struct oc_op *op, const char *name);
int64_t oc_attr_int(const struct oc_op *op, const char *name, int64_t other);
float oc_attr_float(const struct oc_op *op, const char *name, float other);
bool oc_attr_bool(const struct oc_op *op, const char *name, bool other);
struct oc_str oc_attr_string(const struct oc_op *op, const char *name, const char *other);
const int64_t *oc_attr_ints(const struct oc_op *op, const char *name,
                            size_t *ret_n); /* NULL, n 0 when absent */
enum oc_dtype oc_attr_dtype(const struct oc_op *op, const char *name,
                            enum oc_dtype other);

/* Shapes. */
struct oc_shape oc_shape_unknown(void);
struct oc_shape oc_shape_scalar(void);
struct oc_shape oc_shape_of(struct oc_arena *a, const int64_t *dims, size_t rank);
bool oc_shape_is_static(struct oc_shape s);
/* Same rank and same numbers (-1 equals -1): "nothing new", not "certainly equal". */
bool oc_shape_eq(struct oc_shape a, struct oc_shape b);
/* Product of the dims; false when unknown, negative or over 2^62. */
bool oc_shape_elements(struct oc_shape s, uint64_t *ret);
/* A fresh symbolic dim. */
int64_t oc_graph_new_symbol(struct oc_graph *g);
/* The symbolic dim called `name`, made at first use: equal names are equal dims.
 * OC_DIM_UNKNOWN when memory is short. */
int64_t oc_graph_symbol(struct oc_graph *g, struct oc_str name);
/* The model's name of a symbolic dim; NULL when it has none. */
const char *oc_graph_symbol_name(const struct oc_graph *g, int64_t dim);

/* Values: integer element `i` of an int, bool or float constant; false when out of range.
 */
bool oc_value_int(const struct oc_value *v, size_t i, int64_t *ret);
size_t oc_value_count(const struct oc_value *v);
/* All elements as int64 in the arena; NULL when not integral or over 64 Ki elements. */
const int64_t *oc_value_ints(struct oc_arena *a, const struct oc_value *v, size_t *ret_n);

/* Appends the graph and its sub-graphs as text, a line per op: the same graph gives the
 * same text. 0 or OC_E_NOMEM. */
int oc_graph_write_text(const struct oc_graph *root, struct oc_buf *out);

#endif
