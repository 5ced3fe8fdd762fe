/* A constant added behind a convolution or matrix product becomes its bias.
 *
 * Only where both mean the same: one number per output channel (or column), the product
 * has no bias yet and nobody else reads it. The sum is then rounded once instead of
 * twice, which is why this waits to be asked for. The product keeps its name. */
#include "passes/passes_internal.h"

/* Axis of the output that a bias runs along; false when `op` takes none. */
static bool bias_axis(const struct oc_op *op, uint32_t *ret)
{
  struct oc_shape y = op->n_outputs == 1 ? op->outputs[0].t.shape : oc_shape_unknown();

  if (!y.known_rank || y.rank < 2 || op->n_inputs < 2)
    return false;
  if (oc_op_is(op, "Conv2D") || oc_op_is(op, "Conv3D")) {
    struct oc_str layout = oc_attr_string(op, "data_format", "NHWC");
    *ret = oc_str_starts(layout, "NC") ? 1 : y.rank - 1;
    return true;
  }
  *ret = y.rank - 1;
  return oc_op_is(op, "MatMulV2") || oc_op_is(op, "MatMul");
}

/* One number per element of the axis, all other dims are one; as a vector. */
static const struct oc_value *as_bias(struct pass_run *r, const struct oc_value *v,
                                      struct oc_shape y, uint32_t axis)
{
  uint32_t skipped = y.rank - (v ? v->shape.rank : 0);

  if (!v || v->shape.rank > y.rank || axis < skipped || y.dims[axis] < 1 ||
      v->shape.dims[axis - skipped] != y.dims[axis] ||
      oc_value_count(v) != (size_t)y.dims[axis])
    return NULL;
  struct oc_value *bias = OC_NEW(r->arena, struct oc_value);
  if (!bias)
    return NULL;
  *bias = *v;
  bias->shape = oc_shape_of(r->arena, &y.dims[axis], 1);
  return bias;
}

static bool has_bias(const struct oc_op *op)
{
  return op->n_inputs > 2 && op->inputs[2].from;
}

static bool absorb(struct pass_run *r, struct oc_op *add, uint32_t i)
{
  struct oc_op *op = add->inputs[i].from;
  uint32_t axis = 0;

  if (!op || op->id >= r->n_counted || r->uses[op->id] != 1 || r->uses[add->id] == 0 ||
      has_bias(op) || !bias_axis(op, &axis) ||
      op->outputs[0].t.dtype != add->outputs[0].t.dtype)
    return false;
  const struct oc_value *bias =
      as_bias(r, oc_op_input_value(add, 1 - i), op->outputs[0].t.shape, axis);
  const char *name = oc_arena_printf(r->arena, "%s_bias", op->name);
  struct oc_op *c = bias && name && pass_bias_slot(r, op)
                        ? oc_graph_add_const(r->graph, name, bias)
                        : NULL;
  if (!c)
    return false;
  c->outputs[0].t.format = OC_FMT_ND;
  oc_op_link(op, 2, c, 0);
  op->inputs[2].t.dtype = bias->dtype;
  op->inputs[2].t.shape = bias->shape;

  uint32_t readers = r->uses[add->id];

  oc_graph_replace(r->graph, add, 0, op, 0);
  r->uses[op->id] = readers + 1;
  r->uses[add->id] = 0;
  pass_swallow(r, op, add, true);
  pass_drop_inputs(r, add, 0, op);
  add->mark = 1;
  pass_note(r, add, "became the bias of '%s'", op->name);
  return true;
}

void pass_bias(struct pass_run *r)
{
  struct oc_graph *g = r->graph;
  uint32_t n = g->n_ops;

  if (!pass_count_uses(r))
    return;
  for (uint32_t i = 0; i < n; i++) {
    struct oc_op *op = g->ops[i];
    bool adds = oc_op_is(op, "Add") || oc_op_is(op, "BiasAdd");
    if (adds && op->n_inputs == 2 && op->n_controls == 0 && op->mark == 0 &&
        !absorb(r, op, 0))
      (void)absorb(r, op, 1);
  }
  oc_graph_sweep(g);
}
