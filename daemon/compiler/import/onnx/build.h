/* From a parsed ONNX model to the graph: what the translating functions work with.
 *
 * One scope per graph or sub-graph maps tensor names to producers. Nodes may come in any
 * order, so inputs are noted as links by name and tied when all nodes of the scope are
 * there. A translating function makes one or more pieces out of a node; their names are
 * given when it is done: one piece takes the node's name, several are called
 * `PartitionedCall_<node><suffix>_<k>` with k counting over the whole model, as the
 * vendor's expansion does.
 *
 * Memory is checked at the end of each node (arena->failed): functions here accept NULL
 * ops and do nothing with them. */
#ifndef OC_IMPORT_ONNX_BUILD_H
#define OC_IMPORT_ONNX_BUILD_H

#include "base/map.h"
#include "graph/graph.h"
#include "import/import.h"
#include "import/onnx/model.h"

enum { ONNX_MAX_PIECES = 64 }; /* the longest expansion has about fifty */

struct onnx_rule;

struct onnx_import {
  struct import_reader rd;
  const struct oc_import_options *opt;
  struct oc_arena *arena;
  struct oc_findings *findings;
  struct onnx_model *model;
  int64_t opset;             /* of the standard domain */
  uint64_t n_expanded;       /* k of the next node of an expansion */
  struct oc_map op_names;    /* final op name -> op */
  struct oc_map told;        /* "<finding>:<op type>" already reported */
  struct oc_map rules;       /* op type -> first of its rows */
  struct onnx_scope *scopes; /* all of them, newest first */
};

struct onnx_producer {
  struct oc_op *op;
  uint32_t out;
};

struct onnx_link {
  struct onnx_link *next;
  struct oc_op *op;
  uint32_t input;
  const char *tensor;
  const struct onnx_node *node;
};

struct onnx_scope {
  struct onnx_scope *next;
  struct onnx_import *im;
  struct onnx_graph *src;
  struct oc_graph *graph;
  const char *prefix;      /* "" or "<sub-graph>/" */
  struct oc_map producers; /* tensor -> struct onnx_producer */
  struct oc_map constants; /* tensor -> const struct oc_value */
  struct oc_map infos;     /* tensor -> const struct onnx_value_info */
  struct oc_map used;      /* tensors that something reads; filled at need */
  struct oc_map alike; /* tensor -> name of one with the same dims (quantised, cast...) */
  struct onnx_link *links;
  struct onnx_link **last_link;
  struct oc_op *net_output;
};

/* One node under translation. */
struct onnx_cx {
  struct onnx_import *im;
  struct onnx_scope *sc;
  const struct onnx_node *node;
  const struct onnx_rule *rule;
  const char *name; /* the op's full name */
  int64_t opset;
  struct {
    struct oc_op *op;
    const char *suffix;
  } pieces[ONNX_MAX_PIECES];
  uint32_t n_pieces;
  uint64_t wired; /* bits of the node's first inputs that some piece reads */
  bool refused;   /* a finding was raised: the node becomes an unknown op */
};

/* --- pieces (expand.c) --- */
/* An op with `n_in` inputs and all outputs of its IR type (`n_out` of a dynamic one).
 * `suffix` follows the node's name when there are several pieces; with a leading '=' it
 * stands for the whole piece name. */
struct oc_op *onnx_add(struct onnx_cx *cx, const char *suffix, const char *type,
                       uint32_t n_in, uint32_t n_out);
/* Input `input` of the node goes to input `slot` of the piece; nothing when it is left
 * out. */
void onnx_in(struct onnx_cx *cx, struct oc_op *op, uint32_t slot, uint32_t input);
/* Inputs [first, first+n) of the node to slots from `slot` on. */
void onnx_ins(struct onnx_cx *cx, struct oc_op *op, uint32_t slot, uint32_t first,
              uint32_t n);
void onnx_wire(struct oc_op *op, uint32_t slot, struct oc_op *from, uint32_t out);
/* Output `output` of the node comes out of port `port` of the piece. */
void onnx_out(struct onnx_cx *cx, uint32_t output, struct oc_op *op, uint32_t port);
/* Input `input` of the node into slot 0 of a fresh op of one input, and that op's name.
 */
struct oc_op *onnx_unary(struct onnx_cx *cx, const char *suffix, const char *type,
                         uint32_t input);
/* The same behind another piece. */
struct oc_op *onnx_behind(struct onnx_cx *cx, const char *suffix, const char *type,
                          struct oc_op *from);
struct oc_op *onnx_binary(struct onnx_cx *cx, const char *suffix, const char *type,
                          struct oc_op *a, struct oc_op *b);
/* Generated constants. */
struct oc_op *onnx_ints(struct onnx_cx *cx, const char *suffix, enum oc_dtype dtype,
                        const int64_t *v, size_t n);
struct oc_op *onnx_int(struct onnx_cx *cx, const char *suffix, enum oc_dtype dtype,
                       int64_t v);
struct oc_op *onnx_f32s(struct onnx_cx *cx, const char *suffix, const float *v, size_t n);
struct oc_op *onnx_f32(struct onnx_cx *cx, const char *suffix, float v);
struct oc_op *onnx_value_const(struct onnx_cx *cx, const char *suffix,
                               const struct oc_value *v);
/* Cast of a piece's first output, or of the node's input. */
struct oc_op *onnx_cast(struct onnx_cx *cx, const char *suffix, struct oc_op *from,
                        enum oc_dtype to);
struct oc_op *onnx_cast_in(struct onnx_cx *cx, const char *suffix, uint32_t input,
                           enum oc_dtype to);
/* Inputs to inputs and outputs to outputs, in order, on one op of type `type`. */
struct oc_op *onnx_one_to_one(struct onnx_cx *cx, const char *type);
/* Names the pieces and enters them; called once per node. */
int onnx_finish(struct onnx_cx *cx);

/* --- attributes of the piece --- */
void onnx_set_int(struct onnx_cx *cx, struct oc_op *op, const char *name, int64_t v);
void onnx_set_float(struct onnx_cx *cx, struct oc_op *op, const char *name, float v);
void onnx_set_bool(struct onnx_cx *cx, struct oc_op *op, const char *name, bool v);
void onnx_set_string(struct onnx_cx *cx, struct oc_op *op, const char *name,
                     const char *v);
void onnx_set_ints(struct onnx_cx *cx, struct oc_op *op, const char *name,
                   const int64_t *v, size_t n);
void onnx_set_dtype(struct onnx_cx *cx, struct oc_op *op, const char *name,
                    enum oc_dtype v);
void onnx_set_formats(struct oc_op *op, enum oc_format f); /* every tensor of the op */

/* --- the node (node.c) --- */
bool onnx_has(const struct onnx_cx *cx, uint32_t input); /* given and not "" */
bool onnx_wants(const struct onnx_cx *cx, uint32_t output);
uint32_t
onnx_n_in(const struct onnx_cx *cx); /* inputs, without those left out at the end */
uint32_t onnx_n_out(const struct onnx_cx *cx);
bool onnx_given(const struct onnx_cx *cx, const char *attr);
bool onnx_flag(struct onnx_cx *cx, const char *attr,
               bool other); /* an int that is 0 or not */
int64_t onnx_i(struct onnx_cx *cx, const char *attr, int64_t other);
float onnx_f(struct onnx_cx *cx, const char *attr, float other);
const char *onnx_s(struct onnx_cx *cx, const char *attr, const char *other);
const int64_t *onnx_is(struct onnx_cx *cx, const char *attr,
                       size_t *ret_n); /* NULL, 0 when absent */
const struct oc_value *onnx_t(struct onnx_cx *cx,
                              const char *attr); /* tensor attribute, NULL when absent */
/* Value of input `input` when it is an initializer or a Constant, of an outer graph too.
 */
const struct oc_value *onnx_const(const struct onnx_cx *cx, uint32_t input);
/* Declared or constant rank of an input, -1 when the model does not say. */
int64_t onnx_rank(const struct onnx_cx *cx, uint32_t input);
/* Its declared or constant dtype, UNDEFINED when the model does not say. */
enum oc_dtype onnx_dtype_of(const struct onnx_cx *cx, uint32_t input);
/* Declared dim, -1 when not known. */
int64_t onnx_dim_of(const struct onnx_cx *cx, uint32_t input, uint32_t axis);
/* Does anything in the graph read this output of the node (other nodes, sub-graphs, the
 * graph's own outputs)? Exporters name outputs that nobody wants. */
bool onnx_used(struct onnx_cx *cx, uint32_t output);
/* The node cannot be translated: an error finding with the reason (a short clause). */
void onnx_refuse(struct onnx_cx *cx, const char *why);
/* Translated, but the vendor's parser would refuse or ignore something: a warning, once
 * per op type. */
void onnx_differs(struct onnx_cx *cx, const char *what);

/* Says that the node's first output has the dims of its first input, where that is so. */
int onnx_note_alike(struct onnx_scope *sc, const struct onnx_node *node);

/* --- values (tensor.c) --- */
enum oc_dtype onnx_dtype(int64_t elem_type); /* UNDEFINED when there is no counterpart */
/* Of a graph's input, output or value; unknown when the model does not say. */
struct oc_shape onnx_declared_shape(struct onnx_scope *sc,
                                    const struct onnx_value_info *v);
/* The constant behind a tensor message; NULL with a finding (or when memory is short). */
const struct oc_value *onnx_value(struct onnx_import *im, const struct onnx_tensor *t);
int onnx_dims_bad(const struct onnx_tensor *t); /* 0, or 1 when negative or overflowing */

/* --- the whole --- */
/* names.c */
int onnx_give_names(struct onnx_import *im); /* unnamed nodes, breadth first */
const char *onnx_full_name(const struct onnx_scope *sc, const char *name);
/* Enters an op under its final name; a finding when the name is taken. */
int onnx_enter(struct onnx_import *im, struct oc_op *op);
/* capture.c: fills node->captures. */
int onnx_find_captures(struct onnx_import *im);
/* Batched Scans of opset 8 become two of opset 9 (scan8.c); before captures are found. */
int onnx_unbatch_scans(struct onnx_import *im);
/* scope.c */
struct onnx_scope *onnx_scope_new(struct onnx_import *im, struct onnx_graph *src);
/* The scope that a tensor is captured from, or `sc` itself. */
const struct onnx_scope *onnx_scope_of(const struct onnx_scope *sc, const char *tensor);
void onnx_scopes_clear(struct onnx_import *im);
int onnx_produce(struct onnx_scope *sc, const char *tensor, struct oc_op *op,
                 uint32_t out, const struct onnx_node *node);
int onnx_link(struct onnx_scope *sc, struct oc_op *op, uint32_t input, const char *tensor,
              const struct onnx_node *node);
/* Ties all links; OC_E_FORMAT with findings when a producer is missing. */
int onnx_tie(struct onnx_scope *sc);
/* ends.c: Data, Const and NetOutput. */
int onnx_build_inputs(struct onnx_scope *sc);
int onnx_build_initializers(struct onnx_scope *sc);
int onnx_build_outputs(struct onnx_scope *sc);
/* nodes.c */
int onnx_build_nodes(struct onnx_scope *sc);

/* A finding of this section; after the first few of one kind they are only counted. */
void onnx_tell(struct onnx_import *im, enum oc_finding_id id, const char *subject,
               const char *name1, const char *value1, const char *name2,
               const char *value2);

/* --- the table (rules.c) --- */
typedef void (*onnx_fn)(struct onnx_cx *cx);

/* Opsets for which the vendor registers a parser, as bits 0..31. */
#define ONNX_V(from, to)                                                                 \
  ((uint32_t)(((1ull << ((to) + 1)) - 1) & ~((1ull << (from)) - 1)))
#define ONNX_V_ALL  ONNX_V(8, 18)
#define ONNX_V_NONE 0u

struct onnx_rule {
  const char *op;   /* of another domain than the standard one: "<domain>::<operator>" */
  int since, until; /* opsets this row is for; until 0: no upper end */
  onnx_fn fn;       /* NULL: one op of type `to`, inputs and outputs in order */
  const char *to;   /* IR type, or what `fn` makes of it */
  uint32_t vendor;  /* ONNX_V bits */
};

/* The row for an operator; NULL when there is none. `ret_known`: the operator exists, but
 * not in this opset. */
const struct onnx_rule *onnx_find_rule(struct onnx_import *im, const char *domain,
                                       const char *op, int64_t opset, bool *ret_known);
/* All rows, one by one; NULL behind the last (docs, tests). */
const struct onnx_rule *onnx_rule_at(size_t i);

extern const struct onnx_rule onnx_elementwise_rules[];
extern const struct onnx_rule onnx_activation_rules[];
extern const struct onnx_rule onnx_conv_rules[];
extern const struct onnx_rule onnx_pool_rules[];
extern const struct onnx_rule onnx_norm_rules[];
extern const struct onnx_rule onnx_matmul_rules[];
extern const struct onnx_rule onnx_reduce_rules[];
extern const struct onnx_rule onnx_layout_rules[];
extern const struct onnx_rule onnx_slice_rules[];
extern const struct onnx_rule onnx_index_rules[];
extern const struct onnx_rule onnx_resize_rules[];
extern const struct onnx_rule onnx_recurrent_rules[];
extern const struct onnx_rule onnx_random_rules[];
extern const struct onnx_rule onnx_sequence_rules[];
extern const struct onnx_rule onnx_quant_rules[];
extern const struct onnx_rule onnx_detect_rules[];
extern const struct onnx_rule onnx_control_rules[];
extern const struct onnx_rule onnx_vendor_rules[];
extern const struct onnx_rule onnx_microsoft_rules[];

#endif
