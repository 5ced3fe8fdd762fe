/* Data and NetOutput of sub-graphs: never judged, but they follow.
 *
 * A body's Data takes what the producer of the op's input delivers; the op's own input
 * does the same, so no Cast stands in front of it. The NetOutput of a branch takes what
 * its producers deliver and hands it to the op's outputs; of two branches the last one
 * counts, as in the vendor's code, and where they disagree a finding says so. Bodies of
 * loops keep the model's dtypes at their ends, because what goes round must come back as
 * it went in. */
#include "precision_internal.h"

/* The op's input that a body's Data stands for (INT attribute of the importers). */
#define PARENT_INDEX "_parent_node_index"

static bool is_branching(const struct oc_op *op)
{
  static const char *const types[] = { "If", "StatelessIf", "Case", "StatelessCase" };

  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (oc_op_is(op, types[i]))
      return true;
  return false;
}

static void follow(struct oc_run *r, struct oc_tensor *t, enum oc_dtype d,
                   const char *whom)
{
  oc_reasons_begin(r, 1, 0);
  t->reasons = NULL;
  t->want = t->got = d;
  struct oc_reason *why = oc_reason_add(r, t, OC_RULE_FOLLOW);
  if (!why)
    return;
  why->dtype = (uint8_t)d;
  why->subject = whom;
  oc_reasons_keep(r, t);
}

/* What holds for the producer holds for who follows it: cause and dtype without it. */
static void inherit_cause(struct oc_run *r, struct oc_op_info *n, uint32_t out,
                          const struct oc_op *from, uint32_t from_out)
{
  const struct oc_op_info *p = oc_info(r, from);

  if (!p->alt || (n->cite.flag && !oc_cite_same(n->cite, p->cite)))
    return;
  uint8_t *alt = (uint8_t *)(uintptr_t)n->alt;
  if (!alt) {
    alt = OC_NEW_N(r->a, uint8_t, n->op->n_outputs);
    if (!alt) {
      r->failed = true;
      return;
    }
    for (uint32_t i = 0; i < n->op->n_outputs; i++)
      alt[i] = (uint8_t)n->op->outputs[i].t.got;
  }
  if (alt[out] == p->alt[from_out])
    return;
  alt[out] = p->alt[from_out];
  n->alt = alt;
  n->cite = p->cite;
  n->also = p->also;
}

static void follow_input(struct oc_run *r, struct oc_op_info *n, struct oc_op *owner)
{
  int64_t i = oc_attr_int(n->op, PARENT_INDEX, -1);

  if (i < 0 || i >= (int64_t)owner->n_inputs || !owner->inputs[i].from)
    return;
  const struct oc_input *in = &owner->inputs[i];
  enum oc_dtype d = in->from->outputs[in->from_out].t.got;
  follow(r, &owner->inputs[i].t, d, in->from->name);
  for (uint32_t k = 0; k < n->n_tensors; k++)
    follow(r, oc_tensor_at(n->op, k), d, in->from->name);
  if (n->op->n_outputs && in->from->mark)
    inherit_cause(r, n, 0, in->from, in->from_out);
}

/* Who has to be listed so that both ends have the model's dtype: those that were lowered.
 */
static const char *lowered(struct oc_run *r, const struct oc_tensor *t,
                           enum oc_dtype last, const char *first_op, const char *last_op)
{
  if (last == t->dtype)
    return oc_arena_printf(r->a, "'%s'", first_op);
  if (t->got == t->dtype)
    return oc_arena_printf(r->a, "'%s'", last_op);
  return oc_arena_printf(r->a, "'%s', '%s'", first_op, last_op);
}

/* The op has one dtype for what its branches end in: an earlier one had another. */
static void tell_branches(struct oc_run *r, const struct oc_op *owner,
                          const struct oc_tensor *t, enum oc_dtype d,
                          const struct oc_op *from)
{
  const struct oc_reason_list *l = t->reasons;

  if (!l || !l->first || l->first->rule != OC_RULE_FOLLOW || t->got == d)
    return;
  struct oc_finding *f = oc_tell(r, OC_FINDING_BRANCHES_DIFFER, owner->name);
  oc_tell_arg(r, f, "type", owner->type);
  oc_tell_arg(r, f, "tensor", t->name ? t->name : "output");
  oc_tell_arg(r, f, "first", oc_dtype_name(t->got));
  oc_tell_arg(r, f, "first_op", l->first->subject);
  oc_tell_arg(r, f, "last", oc_dtype_name(d));
  oc_tell_arg(r, f, "last_op", from->name);
  oc_tell_arg(r, f, "lowered", lowered(r, t, d, l->first->subject, from->name));
}

static void follow_outputs(struct oc_run *r, struct oc_op_info *n, struct oc_op *owner)
{
  for (uint32_t i = 0; i < n->op->n_inputs; i++) {
    const struct oc_input *in = &n->op->inputs[i];
    if (!in->from || i >= owner->n_outputs)
      continue;
    enum oc_dtype d = in->from->outputs[in->from_out].t.got;
    follow(r, &n->op->inputs[i].t, d, in->from->name);
    tell_branches(r, owner, &owner->outputs[i].t, d, in->from);
    follow(r, &owner->outputs[i].t, d, in->from->name);
    if (in->from->mark)
      inherit_cause(r, oc_info(r, owner), i, in->from, in->from_out);
  }
}

void oc_body_end(struct oc_run *r, struct oc_op_info *n)
{
  struct oc_op *owner = n->graph->parent_op;

  if (!owner)
    return;
  if (oc_op_is(n->op, "Data"))
    follow_input(r, n, owner);
  else if (oc_op_is(n->op, "NetOutput") && is_branching(owner))
    follow_outputs(r, n, owner);
}
