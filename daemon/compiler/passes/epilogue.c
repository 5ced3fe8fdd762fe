/* Elementwise ops behind a convolution or matrix product, noted on it.
 *
 * The vendor's kernel fusion joins such chains after dtypes are settled, so nothing
 * changes for the judge: the ops stay, and the product gets an attribute that lists
 * which ones could run with it. */
#include "passes/passes_internal.h"

#define OC_ATTR_EPILOGUE "_fusable_elementwise"
#define MOST_LINKS       4

static bool is_cube(const struct oc_op *op)
{
  static const char *const types[] = { "Conv2D",       "Conv3D",   "DepthwiseConv2D",
                                       "MatMul",       "MatMulV2", "BatchMatMul",
                                       "BatchMatMulV2" };

  for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
    if (oc_op_is(op, types[i]))
      return true;
  return false;
}

static bool is_elementwise(const struct oc_op *op)
{
  static const char *const types[] = { "Relu",      "Relu6",    "LeakyRelu", "PRelu",
                                       "Sigmoid",   "Tanh",     "Add",       "Sub",
                                       "Mul",       "Muls",     "Adds",      "Elu",
                                       "HardSwish", "Softplus", "Mish" };

  for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
    if (oc_op_is(op, types[i]))
      return op->n_outputs == 1;
  return false;
}

/* readers[id]: the only reader of an op's only output. */
static void note_chain(struct pass_run *r, struct oc_op *cube, struct oc_op **readers)
{
  struct oc_str names[MOST_LINKS];
  size_t n = 0;

  for (struct oc_op *op = readers[cube->id]; op && n < MOST_LINKS && is_elementwise(op);
       op = readers[op->id]) {
    if (!oc_shape_eq(op->outputs[0].t.shape, cube->outputs[0].t.shape))
      break;
    names[n++] = oc_str_of(op->name);
  }
  const struct oc_attr *had = oc_attr_find(cube, OC_ATTR_EPILOGUE);
  if (n == 0 || (had && had->n == n) ||
      oc_attr_set_strings(r->graph, cube, OC_ATTR_EPILOGUE, names, n) < 0)
    return;
  pass_note(r, cube, "could run together with %zu elementwise ops from '%s' on", n,
            names[0].p);
}

void pass_epilogue(struct pass_run *r)
{
  struct oc_graph *g = r->graph;
  struct oc_op **readers = OC_NEW_N(&r->scratch, struct oc_op *, (size_t)g->n_ops + 1);

  if (!readers || !pass_count_uses(r))
    return;
  for (uint32_t i = 0; i < g->n_ops; i++)
    for (uint32_t k = 0; k < g->ops[i]->n_inputs; k++) {
      struct oc_op *from = g->ops[i]->inputs[k].from;
      if (from && r->uses[from->id] == 1)
        readers[from->id] = g->ops[i];
    }
  for (uint32_t i = 0; i < g->n_ops; i++)
    if (is_cube(g->ops[i]) && g->ops[i]->n_outputs == 1)
      note_chain(r, g->ops[i], readers);
}
