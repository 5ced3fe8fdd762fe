/* An ONNX model as parsed: a plain copy of its structure in the arena.
 *
 * Strings are NUL-terminated copies; lists are arrays. Of tensors only the header is
 * copied, `body` is the tensor's message in the map (its payload is read when the
 * constant is made). Sub-graphs hang under their attributes; `next_graph` chains all
 * graphs of the model, parents before children.
 *
 * Field numbers are those of the public onnx.proto. */
#ifndef OC_IMPORT_ONNX_MODEL_H
#define OC_IMPORT_ONNX_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/finding.h"
#include "base/str.h"
#include "import/reader.h"

struct oc_graph;
struct onnx_scope;

enum onnx_attr_type {
  ONNX_ATTR_UNDEFINED = 0,
  ONNX_ATTR_FLOAT = 1,
  ONNX_ATTR_INT = 2,
  ONNX_ATTR_STRING = 3,
  ONNX_ATTR_TENSOR = 4,
  ONNX_ATTR_GRAPH = 5,
  ONNX_ATTR_FLOATS = 6,
  ONNX_ATTR_INTS = 7,
  ONNX_ATTR_STRINGS = 8,
  ONNX_ATTR_OTHER = 100, /* tensors, graphs, sparse tensors, type protos */
};

struct onnx_tensor {
  const char *name;
  int32_t elem_type; /* ONNX numbering */
  const int64_t *dims;
  size_t n_dims;
  struct oc_str body;   /* the whole message, in the map */
  const char *location; /* external data: file name, else NULL */
  struct oc_str raw;    /* raw_data, in the map */
  bool has_raw;
  bool has_length; /* external data names its length */
  uint64_t offset, length;
  const struct onnx_sparse *sparse; /* of a sparse tensor: the rest is its values */
};

/* Where the values of a sparse tensor stand; everything else is zero. */
struct onnx_sparse {
  const struct onnx_tensor *indices; /* [values], linear, or [values, rank] */
  const int64_t *dims;
  size_t n_dims;
};

struct onnx_attr {
  struct onnx_attr *next;
  const char *name;
  const char *ref; /* in a function: the call's attribute whose value it has, else NULL */
  int type;        /* enum onnx_attr_type */
  int64_t i;
  float f;
  struct oc_str s; /* NUL-terminated copy */
  const int64_t *ints;
  const float *floats;
  const struct oc_str *strings;
  size_t n; /* elements of the list kinds */
  struct onnx_tensor *t;
  struct onnx_graph *g;
};

struct onnx_node {
  struct onnx_node *next;
  const char *name; /* "" when unnamed, until names are given */
  const char *op_type;
  const char *domain;  /* "" for the standard one */
  const char **inputs; /* "" for one left out */
  const char **outputs;
  uint32_t n_inputs;
  uint32_t n_outputs;
  struct onnx_attr *attrs; /* in file order */
  size_t at;               /* byte position in the model */
  /* Of a node that came out of a model-local function: */
  const char *called; /* name of the outermost call, NULL when it has none */
  int64_t opset;      /* the function's opset of the standard domain; 0: the model's */
  uint32_t calls;     /* how many functions it came through */
  bool unbatched;     /* a Scan that has the form of opset 9 now (scan8.c) */
  /* Filled by onnx_find_captures(): outer tensors that its sub-graphs use, sorted. */
  const char **captures;
  size_t n_captures;
};

/* Dims: a number >= 0, or -1; `param` is the name of an open dim, "" when it has none. */
struct onnx_dim {
  int64_t value;
  const char *param;
};

struct onnx_value_info {
  const char *name;
  int32_t elem_type;
  bool is_tensor;   /* maybe an optional one */
  bool is_sequence; /* of tensors: what follows tells of one of those, if anything does */
  bool has_elements; /* of a sequence: its tensors' type is told */
  bool is_optional;
  bool has_shape;
  struct onnx_dim *dims;
  size_t n_dims;
  size_t at;
};

struct onnx_graph {
  struct onnx_graph *next_graph;
  struct onnx_graph *parent;
  struct onnx_node *parent_node;
  const char *name;
  struct onnx_node *nodes;
  size_t n_nodes;
  struct onnx_tensor *initializers;
  size_t n_initializers;
  struct onnx_value_info *inputs, *outputs, *values;
  size_t n_inputs, n_outputs, n_values;
  uint32_t depth;
  /* Filled while building: */
  const char *
      *free_names; /* tensors that it and its sub-graphs take from outside, sorted */
  size_t n_free_names;
  struct oc_graph *target;  /* the graph it becomes; NULL: its node was not translated */
  const char *prefix;       /* "" or "<sub-graph>/" */
  struct onnx_scope *scope; /* while it is being built, and for the graphs in it */
};

struct onnx_opset {
  const char *domain;
  int64_t version;
};

/* A model-local function; its nodes are read anew for each call. */
struct onnx_function {
  struct onnx_function *next;
  const char *name, *domain;
  const char **inputs, **outputs;
  uint32_t n_inputs, n_outputs;
  struct onnx_attr *defaults; /* of attributes that a call may leave out */
  int64_t opset;
  struct oc_str body;
};

struct onnx_model {
  int64_t ir_version;
  const char *producer;
  struct onnx_opset *opsets;
  size_t n_opsets;
  struct onnx_function *functions;
  struct onnx_graph *graph;
};

/* 0 and the model, OC_E_FORMAT with a finding, or OC_E_NOMEM. */
int onnx_read_model(struct import_reader *r, struct onnx_model **ret);
/* Graphs whose bytes still wait to be read, and the end of the chain of all graphs. */
struct onnx_queue {
  struct onnx_waiting *first, **last;
  struct onnx_graph **last_graph;
};
/* Reads the nodes in field `field` of `body` as nodes of `g`, and the sub-graphs in them
 * (read_model.c). */
int onnx_read_nodes(struct import_reader *r, struct onnx_queue *q, struct oc_str body,
                    uint32_t field, struct onnx_graph *g, struct onnx_node **ret);
/* The strings of one repeated field. */
int onnx_read_names(struct import_reader *r, struct oc_str body, uint32_t field,
                    const char ***ret, uint32_t *ret_n);
/* functions.c: one function, and the nodes of functions in place of their calls. */
int onnx_read_function(struct import_reader *r, struct oc_str body,
                       struct onnx_function **ret);
int onnx_inline_functions(struct import_reader *r, struct onnx_queue *q,
                          struct onnx_model *m);
int onnx_read_opset(struct import_reader *r, struct oc_str body, struct onnx_opset *ret);
/* Header of one TensorProto message. */
int onnx_read_tensor(struct import_reader *r, struct oc_str body,
                     struct onnx_tensor *ret);
/* A list of tensor headers: every occurrence of `field` in `body`. */
int onnx_read_tensors(struct import_reader *r, struct oc_str body, uint32_t field,
                      struct onnx_tensor **ret, size_t *ret_n);
/* The sparse ones in `field` behind the `*ret_n` of `*ret`. */
int onnx_read_sparse(struct import_reader *r, struct oc_str body, uint32_t field,
                     struct onnx_tensor **ret, size_t *ret_n);
int onnx_read_value_infos(struct import_reader *r, struct oc_str body, uint32_t field,
                          struct onnx_value_info **ret, size_t *ret_n);
int onnx_read_attr(struct import_reader *r, struct oc_str body, struct onnx_attr **ret,
                   struct oc_str *ret_graph);

const struct onnx_attr *onnx_attr_find(const struct onnx_node *n, const char *name);

#endif
