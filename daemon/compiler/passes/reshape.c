/* Reshapes and transposes that cancel or that can be one.
 *
 * A Reshape whose input has its shape already goes, a Reshape of a Reshape reads what the
 * first one read (their results depend on the last shape alone when it is static), and a
 * Transpose of a Transpose becomes one, or none when they undo each other. */
#include "passes/passes_internal.h"

static bool renames(const struct oc_op *op)
{
  static const char *const types[] = { "Reshape", "Squeeze", "Unsqueeze", "FlattenV2",
                                       "ExpandDims" };

  for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
    if (oc_op_is(op, types[i]))
      return op->n_inputs > 0 && op->n_outputs == 1 && op->n_controls == 0;
  return false;
}

static bool from_input(const struct oc_op *op)
{
  const struct oc_op *from = op->inputs[0].from;

  return !from || oc_op_is(from, "Data") || oc_op_is_const(from);
}

/* Marks in `skip` what does nothing; the ends of the graph are protected. */
static bool find_useless(struct pass_run *r, bool *skip)
{
  bool any = false;

  for (uint32_t i = 0; i < r->graph->n_ops; i++) {
    const struct oc_op *op = r->graph->ops[i];
    if (!renames(op) || (from_input(op) && pass_feeds_end(r, op, 0)))
      continue;
    struct oc_shape x = op->inputs[0].t.shape, y = op->outputs[0].t.shape;
    skip[i] = op->inputs[0].from && oc_shape_is_static(y) && oc_shape_is_static(x) &&
              oc_shape_eq(x, y);
    any |= skip[i];
  }
  return any;
}

/* The first of two goes when nobody else reads it. */
static void read_through(struct pass_run *r, struct oc_op *op)
{
  struct oc_op *first = op->inputs[0].from, *from = first->inputs[0].from;

  oc_op_link(op, 0, from, first->inputs[0].from_out);
  op->inputs[0].t.shape = first->inputs[0].t.shape;
  if (from->id < r->n_counted)
    r->uses[from->id]++;
  if (--r->uses[first->id] == 0) {
    pass_swallow(r, op, first, false);
    pass_drop_inputs(r, first, 0, op);
    first->mark = 1;
  }
}

static bool join_reshapes(struct pass_run *r, struct oc_op *op)
{
  struct oc_op *first = op->inputs[0].from;

  if (!oc_op_is(op, "Reshape") || !first || !renames(first) || first->mark ||
      first->id >= r->n_counted || !first->inputs[0].from ||
      !oc_shape_is_static(op->outputs[0].t.shape) || !oc_op_input_value(op, 1))
    return false;
  /* A zero in the shape means "as the input has it", which would be another input. */
  size_t n = 0;
  const int64_t *dims = oc_value_ints(&r->scratch, oc_op_input_value(op, 1), &n);
  for (size_t i = 0; dims && i < n; i++)
    if (dims[i] == 0)
      return false;
  if (!dims)
    return false;
  pass_note(r, op, "reads past '%s', its own shape is what counts", first->name);
  read_through(r, op);
  return true;
}

static const int64_t *order(struct pass_run *r, const struct oc_op *op, size_t *ret_n)
{
  const struct oc_value *v =
      oc_op_is(op, "Transpose") && op->n_inputs == 2 ? oc_op_input_value(op, 1) : NULL;
  const int64_t *p = v ? oc_value_ints(&r->scratch, v, ret_n) : NULL;

  for (size_t i = 0; p && i < *ret_n; i++)
    if (p[i] < 0 || (size_t)p[i] >= *ret_n)
      return NULL;
  return p;
}

static bool join_transposes(struct pass_run *r, struct oc_op *op)
{
  struct oc_op *first = op->inputs[0].from;
  size_t n = 0, m = 0;
  const int64_t *p = order(r, op, &n);
  const int64_t *q =
      p && first && !first->mark && first->id < r->n_counted ? order(r, first, &m) : NULL;

  if (!q || n != m || !first->inputs[0].from || first->n_controls || op->n_controls)
    return false;
  int64_t *both = OC_NEW_N(&r->scratch, int64_t, n);
  for (size_t i = 0; both && i < n; i++)
    both[i] = q[p[i]];
  const char *name = oc_arena_printf(r->arena, "%s_perm", op->name);
  struct oc_op *c =
      both && name ? oc_graph_add_ints(r->graph, name, OC_DT_I64, both, n, false) : NULL;
  if (!c)
    return false;
  pass_note(r, op, "does what '%s' does as well", first->name);
  read_through(r, op);
  struct oc_op *was = op->inputs[1].from;
  if (was && was->id < r->n_counted && --r->uses[was->id] == 0)
    was->mark = 1;
  oc_op_link(op, 1, c, 0);
  op->inputs[1].t.dtype = OC_DT_I64;
  op->inputs[1].t.shape = c->outputs[0].t.shape;
  return true;
}

static bool is_straight(struct pass_run *r, const struct oc_op *op)
{
  size_t n = 0;
  const int64_t *p = order(r, op, &n);

  for (size_t i = 0; p && i < n; i++)
    if (p[i] != (int64_t)i)
      return false;
  return p && op->inputs[0].from && op->n_controls == 0;
}

void pass_reshape(struct pass_run *r)
{
  struct oc_graph *g = r->graph;
  uint32_t n = g->n_ops;

  if (!pass_count_uses(r))
    return;
  for (uint32_t i = 0; i < n; i++)
    if (g->ops[i]->mark == 0 && g->ops[i]->n_inputs > 0 && !join_reshapes(r, g->ops[i]))
      (void)join_transposes(r, g->ops[i]);
  oc_graph_sweep(g);

  bool *skip = OC_NEW_N(&r->scratch, bool, (size_t)g->n_ops + 1);
  if (!skip || !pass_count_uses(r))
    return;
  bool any = find_useless(r, skip);
  for (uint32_t i = 0; i < g->n_ops; i++)
    if (oc_op_is(g->ops[i], "Transpose") && is_straight(r, g->ops[i]) &&
        !(from_input(g->ops[i]) && pass_feeds_end(r, g->ops[i], 0)))
      skip[i] = any = true;
  if (any)
    pass_bypass(r, skip);
}
