/* A TensorFlow GraphDef as parsed: a plain copy of its structure in the arena.
 *
 * Strings are NUL-terminated copies; of constants only the place of the tensor's message
 * in the map is kept. Input texts are split into node, output and control mark. Field
 * numbers are those of the public graph.proto, node_def.proto, attr_value.proto,
 * tensor.proto and saved_model.proto. */
#ifndef OC_IMPORT_TENSORFLOW_MODEL_H
#define OC_IMPORT_TENSORFLOW_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/str.h"
#include "graph/graph.h"
#include "import/reader.h"

enum tf_attr_kind {
  TF_ATTR_NONE, /* empty, or a placeholder */
  TF_ATTR_STRING,
  TF_ATTR_INT,
  TF_ATTR_FLOAT,
  TF_ATTR_BOOL,
  TF_ATTR_TYPE,
  TF_ATTR_SHAPE,
  TF_ATTR_TENSOR,
  TF_ATTR_FUNC,
  TF_ATTR_LIST, /* of any kind; what it holds is in the arrays */
};

/* A TensorShapeProto; dims -1 = open. */
struct tf_shape {
  bool unknown_rank;
  const int64_t *dims;
  size_t rank;
};

struct tf_attr {
  struct tf_attr *next;
  const char *name;
  enum tf_attr_kind kind;
  struct oc_str s; /* TF_ATTR_STRING: copy; TF_ATTR_FUNC: the function's name */
  int64_t i;       /* also bool and type */
  float f;
  struct tf_shape shape;
  struct oc_str tensor; /* the message, in the map */
  /* TF_ATTR_LIST */
  const int64_t *ints; /* `i`, else `b`, else `type` */
  size_t n_ints;
  bool types; /* `ints` are types */
  const float *floats;
  size_t n_floats;
  const struct oc_str *strings;
  size_t n_strings;
};

struct tf_input {
  const char *name; /* of the node */
  uint32_t out;
  bool control;
};

struct tf_node {
  struct tf_node *next;
  const char *name;
  const char *op;
  struct tf_input *inputs;
  uint32_t n_inputs;
  struct tf_attr *attrs;
  size_t at; /* byte position in the model */
  /* Filled while building: */
  bool needed;       /* some output of the model depends on it */
  bool is_read;      /* some node takes data from it */
  uint32_t most_out; /* highest output that is read, plus one */
  bool cut;          /* given as an input: becomes a Data */
  struct oc_op *made;
  uint32_t calls;            /* how many functions it came through */
  struct tf_node *loop;      /* Merge and Switch: the LoopCond of their loop */
  struct tf_node *exits;     /* LoopCond: Exit nodes of the loop */
  struct tf_node *next_exit; /* chain of those */
};

/* A function of the graph's library; its nodes are read anew for each call. */
struct tf_function {
  struct tf_function *next;
  const char *name;
  const char **args, **outs;
  uint32_t n_args, n_outs;
  struct oc_str body;
};

struct tf_model {
  int64_t producer; /* version of the writer */
  struct tf_node *nodes;
  size_t n_nodes;
  struct tf_function *functions;
};

/* 0 and the model, OC_E_FORMAT with a finding, or OC_E_NOMEM. */
int tf_read_model(struct import_reader *r, struct tf_model *ret);
/* "node", "node:3" or "^node". */
int tf_read_input(struct import_reader *r, struct oc_str text, struct tf_input *ret);
int tf_read_node(struct import_reader *r, struct oc_str body, struct tf_node **ret);
/* functions.c: the library, and the nodes of functions in place of plain calls. */
int tf_read_library(struct import_reader *r, struct oc_str body, struct tf_model *m);
int tf_inline_functions(struct import_reader *r, struct tf_model *m);
/* One entry of NodeDef.attr (read_attr.c). */
int tf_read_attr(struct import_reader *r, struct oc_str body, struct tf_attr **ret);
int tf_read_shape(struct import_reader *r, struct oc_str body, struct tf_shape *ret);

const struct tf_attr *tf_attr_find(const struct tf_node *n, const char *name);
/* UNDEFINED when there is no counterpart; reference types count as what they refer to. */
enum oc_dtype tf_dtype(int64_t type);

#endif
