/* Ops that only hand on their first input.
 *
 * The vendor keeps an Identity that protects an output: between an input (or constant) of
 * the graph and its end it stays. Ops with control edges stay too. */
#include "passes/passes_internal.h"

static bool hands_on(const struct oc_op *op)
{
  static const char *const types[] = {
    "Identity", "Dropout",        "StopGradient",   "PreventGradient",
    "Snapshot", "GuaranteeConst", "ReadVariableOp", "PlaceholderWithDefault",
  };

  for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
    if (oc_op_is(op, types[i]))
      return true;
  return false;
}

/* Who makes the tensor, seen through other ops of the kind. */
static const struct oc_op *maker(const struct oc_op *op)
{
  uint32_t steps = 0;

  while (op && hands_on(op) && op->n_inputs > 0 && steps++ < 1000)
    op = op->inputs[0].from;
  return op;
}

static bool second_output_read(const struct pass_run *r, const struct oc_op *op)
{
  for (uint32_t k = 1; k < op->n_outputs; k++)
    if (pass_reader(r, op, k))
      return true;
  return false;
}

void pass_identity(struct pass_run *r)
{
  struct oc_graph *g = r->graph;
  bool *skip = OC_NEW_N(&r->scratch, bool, (size_t)g->n_ops + 1);
  bool any = false;

  if (!skip || !pass_count_uses(r))
    return;
  for (uint32_t i = 0; i < g->n_ops; i++) {
    const struct oc_op *op = g->ops[i];

    if (!hands_on(op) || op->n_inputs == 0 || !op->inputs[0].from || op->n_controls > 0)
      continue;
    if (op->n_outputs > 1 && second_output_read(r, op))
      continue;

    const struct oc_op *from = maker(op);
    bool fixed = !from || oc_op_is(from, "Data") || oc_op_is_const(from);

    if (fixed && pass_feeds_end(r, op, 0))
      continue;
    skip[i] = true;
    any = true;
  }
  if (any)
    pass_bypass(r, skip);
}
