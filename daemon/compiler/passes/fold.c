/* Constant folding of what inference already knows.
 *
 * An op whose results are all known becomes Const and keeps its name; producers that only
 * it needed go, and their names are kept in its list. Integers and bools are folded by
 * default (the vendor does not let Shape and its kin reach code generation); floating
 * point values only on request, since a folded weight is no longer the model's own. */
#include <string.h>

#include "passes/passes_internal.h"

static bool foldable(const struct oc_op *op, bool real)
{
  if (oc_op_is_input(op) || oc_op_is_const(op) || oc_op_is(op, "FileConstant") ||
      op->n_outputs == 0 || op->n_subgraphs > 0 || op->n_controls > 0)
    return false;
  for (uint32_t k = 0; k < op->n_outputs; k++) {
    const struct oc_tensor *t = &op->outputs[k].t;

    if (!t->value || oc_dtype_is_float(t->dtype) != real)
      return false;
  }
  return true;
}

/* Further results of a split become constants of their own. */
static bool split_off(struct pass_run *r, struct oc_op *op)
{
  for (uint32_t k = 1; k < op->n_outputs; k++) {
    const char *name = oc_arena_printf(r->arena, "%s_%u", op->name, k);
    struct oc_op *c =
        name ? oc_graph_add_const(r->graph, name, op->outputs[k].t.value) : NULL;

    if (!c)
      return false;
    c->outputs[0].t.format = op->outputs[k].t.format;
    c->source_type = op->source_type;
    oc_graph_replace(r->graph, op, k, c, 0);
    pass_swallow(r, c, op, false);
  }
  return true;
}

static void fold_op(struct pass_run *r, struct oc_op *op)
{
  const char *type = op->type;

  if (op->n_outputs > 1 && !split_off(r, op))
    return;
  pass_drop_inputs(r, op, 0, op);
  op->type = "Const";
  op->n_inputs = 0;
  op->n_outputs = 1;
  op->value = op->outputs[0].t.value;
  op->outputs[0].t.name = "y";
  pass_note(r, op, "%s -> Const, its value is known", type);
}

static void fold(struct pass_run *r, bool real)
{
  struct oc_graph *g = r->graph;
  uint32_t n = g->n_ops;

  if (!pass_count_uses(r))
    return;
  /* From the end: a chain is folded once, at its last known op. */
  for (uint32_t i = n; i > 0; i--)
    if (g->ops[i - 1]->mark == 0 && foldable(g->ops[i - 1], real))
      fold_op(r, g->ops[i - 1]);
  oc_graph_sweep(g);
}

void pass_fold(struct pass_run *r)
{
  fold(r, false);
}

void pass_fold_real(struct pass_run *r)
{
  fold(r, true);
}
