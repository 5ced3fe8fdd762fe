/* Casts that change nothing: to the dtype the tensor has, or back from a wider one.
 *
 * Only pairs whose middle dtype holds every value of the first are undone: the vendor's
 * own removal of other pairs changes results, and a user who wrote such a pair means it.
 */
#include "passes/passes_internal.h"

/* Does `wide` hold every value of `narrow`? */
static bool holds(enum oc_dtype wide, enum oc_dtype narrow)
{
  static const struct {
    enum oc_dtype narrow, wide;
  } pairs[] = {
    { OC_DT_F16, OC_DT_F32 },  { OC_DT_BF16, OC_DT_F32 }, { OC_DT_F16, OC_DT_F64 },
    { OC_DT_BF16, OC_DT_F64 }, { OC_DT_F32, OC_DT_F64 },  { OC_DT_I8, OC_DT_I16 },
    { OC_DT_I8, OC_DT_I32 },   { OC_DT_I8, OC_DT_I64 },   { OC_DT_I16, OC_DT_I32 },
    { OC_DT_I16, OC_DT_I64 },  { OC_DT_I32, OC_DT_I64 },  { OC_DT_U8, OC_DT_I16 },
    { OC_DT_U8, OC_DT_I32 },   { OC_DT_U8, OC_DT_I64 },   { OC_DT_I32, OC_DT_F64 },
    { OC_DT_I8, OC_DT_F32 },   { OC_DT_U8, OC_DT_F32 },   { OC_DT_I16, OC_DT_F32 },
    { OC_DT_BOOL, OC_DT_I32 }, { OC_DT_BOOL, OC_DT_I64 }, { OC_DT_BOOL, OC_DT_F32 },
  };

  for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
    if (pairs[i].narrow == narrow && pairs[i].wide == wide)
      return true;
  return false;
}

static bool is_cast(const struct oc_op *op)
{
  return op && (oc_op_is(op, "Cast") || oc_op_is(op, "CastLike")) && op->n_outputs == 1 &&
         op->n_inputs > 0 && op->inputs[0].from && op->n_controls == 0;
}

static bool protects_end(const struct pass_run *r, const struct oc_op *op)
{
  const struct oc_op *from = op->inputs[0].from;

  return (oc_op_is(from, "Data") || oc_op_is_const(from)) && pass_feeds_end(r, op, 0);
}

static bool useless(const struct pass_run *r, const struct oc_op *op)
{
  enum oc_dtype to = op->outputs[0].t.dtype;

  return to != OC_DT_UNDEFINED && op->inputs[0].t.dtype == to && !protects_end(r, op);
}

/* The second cast of a pair gives back what the first one took: it reads the first one's
 * input instead, and the first one goes when nobody else reads it (dead code). */
static bool undo_pair(struct pass_run *r, struct oc_op *op)
{
  struct oc_op *first = op->inputs[0].from;

  if (!is_cast(first) || !oc_op_is(op, "Cast"))
    return false;

  enum oc_dtype from = first->inputs[0].t.dtype;

  if (op->outputs[0].t.dtype != from || !holds(first->outputs[0].t.dtype, from) ||
      pass_feeds_end(r, op, 0))
    return false;
  r->uses[first->id]--;
  oc_op_link(op, 0, first->inputs[0].from, first->inputs[0].from_out);
  r->uses[op->inputs[0].from->id]++;
  op->inputs[0].t.dtype = from;
  if (r->uses[first->id] == 0) {
    first->mark = 1;
    r->uses[first->inputs[0].from->id]--;
    pass_swallow(r, op, first, false);
  }
  pass_note(r, op, "undoes '%s', whose dtype holds every value", first->name);
  return true;
}

void pass_cast(struct pass_run *r)
{
  struct oc_graph *g = r->graph;
  bool any = false;

  if (!pass_count_uses(r))
    return;
  for (uint32_t i = 0; i < g->n_ops; i++)
    if (is_cast(g->ops[i]) && g->ops[i]->mark == 0)
      any |= undo_pair(r, g->ops[i]);
  oc_graph_sweep(g);

  bool *skip = OC_NEW_N(&r->scratch, bool, (size_t)g->n_ops + 1);

  any = false;
  if (!skip || !pass_count_uses(r))
    return;
  for (uint32_t i = 0; i < g->n_ops; i++) {
    skip[i] = is_cast(g->ops[i]) && useless(r, g->ops[i]);
    any |= skip[i];
  }
  if (any)
    pass_bypass(r, skip);
}
