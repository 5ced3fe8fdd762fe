/* Node after node: Const, Data, or a row of the table; then the edges.
 *
 * Edges are tied when all ops are there, because nodes come in any order. A node that
 * cannot be translated becomes an op of TensorFlow's type, so that the table of all ops
 * can still be shown. */
#include <string.h>

#include "base/error.h"
#include "import/tensorflow/build.h"

/* More outputs than any operator of a real model has. */
static const int64_t MOST_OUTPUTS = 65536;

static bool first_time(struct tf_import *im, const char *what, const char *type)
{
  const char *key = oc_arena_printf(im->arena, "%s:%s", what, type);
  if (!key || oc_map_has(&im->told, oc_str_of(key)))
    return false;
  return oc_map_puts(&im->told, key, im) == 0;
}

void tf_refuse(struct tf_cx *cx, const char *why)
{
  if (cx->refused)
    return;
  cx->refused = true;
  struct oc_finding *f =
      oc_finding_add(cx->im->findings, OC_FINDING_NODE_REFUSED, cx->node->name, "type",
                     cx->node->op, "why", why, NULL);
  import_lower(&cx->im->rd, f);
}

static bool calls_function(const struct tf_node *n)
{
  for (const struct tf_attr *a = n->attrs; a; a = a->next)
    if (a->kind == TF_ATTR_FUNC)
      return true;
  return false;
}

static bool holds_variable(const struct tf_node *n)
{
  static const char *const types[] = {
    "Variable",     "VariableV2",         "VarHandleOp",    "ReadVariableOp",
    "Assign",       "RestoreV2",          "SaveV2",         "AssignVariableOp",
    "RestoreSlice", "MergeV2Checkpoints", "ResourceGather", "VarIsInitializedOp",
  };
  for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
    if (strcmp(n->op, types[i]) == 0)
      return true;
  return false;
}

/* Three reasons why there is no row, each with its own remedy. */
static void tell_unknown(struct tf_import *im, const struct tf_node *n)
{
  if (holds_variable(n)) {
    if (first_time(im, "variable", ""))
      import_tell(&im->rd, OC_FINDING_TF_NOT_FROZEN, n->name, "type", n->op, NULL, NULL);
  } else if (calls_function(n)) {
    if (first_time(im, "function", n->op))
      import_tell(&im->rd, OC_FINDING_TF_FUNCTION, n->name, "type", n->op, NULL, NULL);
  } else if (first_time(im, "unknown", n->op)) {
    import_tell(&im->rd, OC_FINDING_TF_OP_UNKNOWN, n->op, "op", n->name, NULL, NULL);
  }
}

static uint32_t count_data(const struct tf_node *n)
{
  uint32_t k = 0;
  for (uint32_t i = 0; i < n->n_inputs; i++)
    k += !n->inputs[i].control;
  return k;
}

/* How many outputs somebody asks for; for nodes without a row. */
static uint32_t outputs_read(const struct tf_import *im, const struct tf_node *n)
{
  uint32_t most = n->most_out ? n->most_out : 1;
  for (size_t i = 0; i < im->n_outputs; i++)
    if (im->outputs[i].node == n && im->outputs[i].out + 1 > most)
      most = im->outputs[i].out + 1;
  return most < MOST_OUTPUTS ? most : (uint32_t)MOST_OUTPUTS;
}

static int stand_in(struct tf_cx *cx)
{
  struct oc_op *op = oc_graph_add(cx->im->graph, cx->node->name, cx->node->op, cx->n_data,
                                  outputs_read(cx->im, cx->node));
  if (!op)
    return OC_E_NOMEM;
  import_name_tensors(cx->im->arena, op);
  for (uint32_t i = 0; i < op->n_outputs; i++)
    op->outputs[i].t.dtype = tf_result_dtype(cx->node);
  cx->op = op;
  return OC_OK;
}

static int add_const(struct tf_cx *cx)
{
  const struct tf_attr *a = tf_attr_find(cx->node, "value");
  const struct oc_value *v = NULL;
  if (a && a->kind == TF_ATTR_TENSOR)
    v = tf_value(cx->im, cx->node, a->tensor);
  else
    tf_refuse(cx, "it has no value");
  if (!v)
    return cx->im->arena->failed ? OC_E_NOMEM : OC_E_FORMAT;
  cx->op = oc_graph_add_const(cx->im->graph, cx->node->name, v);
  if (!cx->op)
    return OC_E_NOMEM;
  cx->op->outputs[0].t.format = OC_FMT_ND;
  return OC_OK;
}

/* Dynamic outputs of the node; 0 with a finding when it does not say. */
static uint32_t many(struct tf_cx *cx)
{
  const struct tf_attr *a =
      cx->rule->many ? tf_attr_find(cx->node, cx->rule->many) : NULL;
  int64_t n = !a                        ? -1
              : a->kind == TF_ATTR_INT  ? a->i
              : a->kind == TF_ATTR_LIST ? (int64_t)a->n_ints
                                        : -1;
  if (n >= 0 && n <= MOST_OUTPUTS)
    return (uint32_t)n;
  tf_refuse(cx, "the number of its outputs is not given or makes no sense");
  return 0;
}

static int by_rule(struct tf_cx *cx)
{
  uint32_t n_out = 1;
  bool dynamic = false;
  if (import_ir_outputs(cx->rule->to, &n_out, &dynamic) && dynamic)
    n_out += many(cx);
  if (cx->n_data > import_ir_inputs(cx->rule->to))
    tf_refuse(cx, "it has more inputs than the operator");
  if (cx->refused)
    return stand_in(cx);
  cx->op = oc_graph_add(cx->im->graph, cx->node->name, cx->rule->to, cx->n_data, n_out);
  if (!cx->op)
    return OC_E_NOMEM;
  import_name_tensors(cx->im->arena, cx->op);
  for (uint32_t i = 0; i < cx->op->n_inputs; i++)
    cx->op->inputs[i].t.format = OC_FMT_ND;
  for (uint32_t i = 0; i < cx->op->n_outputs; i++)
    cx->op->outputs[i].t.format = OC_FMT_ND;
  tf_copy_attrs(cx);
  if (cx->rule->mend && !cx->refused)
    cx->rule->mend(cx);
  if (cx->refused) { /* its attributes may be half there */
    cx->op->type = cx->node->op;
    cx->op->attrs = NULL;
  }
  return OC_OK;
}

static int build_node(struct tf_import *im, struct tf_node *n)
{
  struct tf_cx cx = { .im = im, .node = n, .n_data = count_data(n) };
  int rc = OC_OK;
  cx.rule = tf_find_rule(im, n->op);
  if (strcmp(n->op, "Const") == 0) {
    rc = add_const(&cx);
  } else if (!cx.rule || calls_function(n)) {
    tell_unknown(im, n);
    rc = stand_in(&cx);
  } else {
    rc = by_rule(&cx);
  }
  if (!rc && im->arena->failed)
    rc = OC_E_NOMEM;
  if (rc)
    return rc;
  cx.op->source_type = n->op;
  n->made = cx.op;
  return OC_OK;
}

static int missing(struct tf_import *im, const struct tf_node *n,
                   const struct tf_input *in)
{
  const char *tensor = oc_arena_printf(im->arena, "%s%s:%u", in->control ? "^" : "",
                                       in->name, (unsigned)in->out);
  import_tell(&im->rd, OC_FINDING_PRODUCER_MISSING, n->name, "tensor",
              tensor ? tensor : in->name, NULL, NULL);
  return OC_E_FORMAT;
}

static int tie_input(struct tf_import *im, struct tf_node *n, uint32_t i, uint32_t *slot)
{
  const struct tf_input *in = &n->inputs[i];
  const struct tf_node *from = tf_source(im, in);
  struct oc_op *op = n->made;
  if (!from || !from->made)
    return missing(im, n, in);
  if (in->control) {
    op->controls[op->n_controls++] = from->made;
    return OC_OK;
  }
  uint32_t at = (*slot)++;
  if (at >= op->n_inputs || tf_is_back_edge(im, n, i))
    return OC_OK; /* dropped by the row, or noted by tf_close_loops() */
  if (in->out >= from->made->n_outputs)
    return missing(im, n, in);
  oc_op_link(op, at, from->made, in->out);
  return OC_OK;
}

static int tie(struct tf_import *im, struct tf_node *n)
{
  uint32_t n_controls = n->n_inputs - count_data(n);
  uint32_t slot = 0;
  int worst = OC_OK;
  n->made->controls = OC_NEW_N(im->arena, struct oc_op *, n_controls);
  if (!n->made->controls)
    return OC_E_NOMEM;
  for (uint32_t i = 0; i < n->n_inputs; i++)
    if (tie_input(im, n, i, &slot))
      worst = OC_E_FORMAT;
  return worst;
}

int tf_build_nodes(struct tf_import *im)
{
  uint32_t index = 0;
  int worst = OC_OK;
  for (struct tf_node *n = im->model.nodes; n; n = n->next) {
    int rc = OC_OK;
    bool input = n->cut || tf_is_placeholder(n);
    bool wanted = n->needed || (input && !n->is_read && tf_is_placeholder(n));
    if (wanted)
      rc = input ? tf_add_data(im, n, index++) : build_node(im, n);
    if (rc == OC_E_NOMEM)
      return rc;
    if (rc)
      worst = rc;
  }
  for (struct tf_node *n = im->model.nodes; n && !worst; n = n->next) {
    if (n->made && !n->cut && !tf_is_placeholder(n))
      worst = tie(im, n);
    if (worst == OC_E_NOMEM)
      return worst;
  }
  return worst;
}
