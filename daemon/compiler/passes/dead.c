/* Dead code: ops that no output needs. Inputs of the graph stay, used or not. */
#include "passes/passes_internal.h"

static bool has_end(const struct oc_graph *g)
{
  for (uint32_t i = 0; i < g->n_ops; i++)
    if (oc_op_is(g->ops[i], "NetOutput"))
      return true;
  return false;
}

static void need(bool *needed, struct oc_op **todo, size_t *n, struct oc_op *op)
{
  if (!op || needed[op->id])
    return;
  needed[op->id] = true;
  todo[(*n)++] = op;
}

static void drop_attr(struct oc_op *op, const char *name)
{
  for (struct oc_attr **a = &op->attrs; *a; a = &(*a)->next)
    if (oc_streq((*a)->name, name)) {
      *a = (*a)->next;
      return;
    }
}

/* A constant that became attributes of an op leaves its name there. */
static void leave_name(struct pass_run *r, struct oc_op *op, const bool *needed)
{
  struct oc_str by = oc_attr_string(op, OC_ATTR_READ_BY, "");
  struct oc_op *reader = by.len ? oc_graph_find(r->graph, by.p) : NULL;

  if (reader && reader != op && needed[reader->id])
    pass_swallow_all(r, reader, &op, 1, false);
}

void pass_dead(struct pass_run *r)
{
  struct oc_graph *g = r->graph;
  bool *needed = OC_NEW_N(&r->scratch, bool, (size_t)g->n_ops + 1);
  struct oc_op **todo = OC_NEW_N(&r->scratch, struct oc_op *, (size_t)g->n_ops + 1);
  size_t n = 0;

  if (!needed || !todo || !has_end(g) || !pass_count_uses(r))
    return;
  for (uint32_t i = 0; i < g->n_ops; i++)
    if (oc_op_is(g->ops[i], "NetOutput") || oc_op_is_input(g->ops[i]))
      need(needed, todo, &n, g->ops[i]);
  while (n > 0) {
    struct oc_op *op = todo[--n];

    for (uint32_t k = 0; k < op->n_inputs; k++)
      need(needed, todo, &n, op->inputs[k].from);
    for (uint32_t k = 0; k < op->n_controls; k++)
      need(needed, todo, &n, op->controls[k]);
  }
  for (uint32_t i = 0; i < g->n_ops; i++) {
    if (needed[i]) {
      drop_attr(g->ops[i], OC_ATTR_READ_BY);
      continue;
    }
    leave_name(r, g->ops[i], needed);
    g->ops[i]->mark = 1;
    pass_note(r, g->ops[i], "removed, no output needs it");
  }
  oc_graph_sweep(g);
}
