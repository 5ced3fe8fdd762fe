/* If, Loop and Scan: the op with its sub-graphs.
 *
 * Sub-graphs are only named and hung up here; the import walks all graphs of the model in
 * order, parents first, and fills them. Captured tensors follow the node's own inputs. */
#include "base/error.h"
#include "import/onnx/build.h"

static int hang(struct onnx_cx *cx, struct oc_op *op, uint32_t i, const char *attr)
{
  struct oc_arena *arena = cx->im->arena;
  const struct onnx_attr *a = onnx_attr_find(cx->node, attr);
  if (!a || !a->g) {
    onnx_refuse(cx, "it lacks a sub-graph");
    return OC_E_FORMAT;
  }
  if (a->g->target) {
    onnx_refuse(cx, "a sub-graph is there twice");
    return OC_E_FORMAT;
  }
  struct oc_subgraph *sub = &op->subgraphs[i];
  sub->name = oc_arena_printf(arena, "%s_%u_%s", cx->name, (unsigned)i, attr);
  a->g->prefix = sub->name ? oc_arena_printf(arena, "%s/", sub->name) : NULL;
  sub->graph = sub->name ? oc_graph_new(arena, sub->name) : NULL;
  if (!sub->graph || !a->g->prefix)
    return OC_E_NOMEM;
  sub->graph->parent = cx->sc->graph;
  sub->graph->parent_op = op;
  sub->graph->model_format = cx->sc->graph->model_format;
  a->g->target = sub->graph;
  return OC_OK;
}

static struct oc_op *control_op(struct onnx_cx *cx, const char *const *subs, uint32_t n)
{
  const struct onnx_node *node = cx->node;
  uint32_t n_captures = (uint32_t)node->n_captures;
  struct oc_op *op =
      onnx_add(cx, "", cx->rule->to, node->n_inputs + n_captures, node->n_outputs);
  if (!op)
    return NULL;
  op->subgraphs = OC_NEW_N(cx->im->arena, struct oc_subgraph, n);
  if (!op->subgraphs)
    return NULL;
  for (uint32_t i = 0; i < n; i++)
    if (hang(cx, op, i, subs[i]))
      return NULL;
  op->n_subgraphs = n;
  onnx_ins(cx, op, 0, 0, node->n_inputs);
  for (uint32_t i = 0; i < n_captures; i++)
    (void)onnx_link(cx->sc, op, node->n_inputs + i, node->captures[i], node);
  for (uint32_t i = 0; i < node->n_outputs; i++)
    onnx_out(cx, i, op, i);
  return op;
}

static void check_branch(struct onnx_cx *cx, const char *attr)
{
  const struct onnx_attr *a = onnx_attr_find(cx->node, attr);
  if (a && a->g && a->g->n_outputs != cx->node->n_outputs)
    onnx_refuse(cx, "a branch has another number of outputs than the node");
}

static void control_if(struct onnx_cx *cx)
{
  static const char *const subs[] = { "then_branch", "else_branch" };
  check_branch(cx, subs[0]);
  check_branch(cx, subs[1]);
  if (!cx->refused)
    (void)control_op(cx, subs, 2);
}

static void control_loop(struct onnx_cx *cx)
{
  static const char *const subs[] = { "body" };
  (void)control_op(cx, subs, 1);
}

static void copy_ints(struct onnx_cx *cx, struct oc_op *op, const char *name)
{
  size_t n = 0;
  const int64_t *v = onnx_is(cx, name, &n);
  if (v)
    onnx_set_ints(cx, op, name, v, n);
}

static void control_scan(struct onnx_cx *cx)
{
  static const char *const subs[] = { "body" };
  int64_t scans = onnx_i(cx, "num_scan_inputs", 0);
  if (cx->opset < 9 && !cx->node->unbatched) {
    onnx_refuse(cx, "the form of opset 8 is taken without 'sequence_lens' only, and with "
                    "a body and a fitting num_scan_inputs");
    return;
  }
  if (scans < 1 || scans > cx->node->n_inputs) {
    onnx_refuse(cx, "num_scan_inputs does not fit its inputs");
    return;
  }
  struct oc_op *op = control_op(cx, subs, 1);
  onnx_set_int(cx, op, "num_scan_inputs", scans);
  copy_ints(cx, op, "scan_input_axes");
  copy_ints(cx, op, "scan_output_axes");
  copy_ints(cx, op, "scan_input_directions");
  copy_ints(cx, op, "scan_output_directions");
}

/* The IR's own While and For want another shape of loop; bodies are carried as they are.
 */
const struct onnx_rule onnx_control_rules[] = {
  { "If", 1, 0, control_if, "If", ONNX_V_ALL },
  { "Loop", 1, 0, control_loop, "Loop", ONNX_V_NONE },
  { "Scan", 8, 0, control_scan, "Scan", ONNX_V_NONE },
  { 0 },
};
