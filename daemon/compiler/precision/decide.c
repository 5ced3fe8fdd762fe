/* The deciding reason of an op: which list entry its result is due to, and which rule.
 *
 * An entry is a cause only if the result differs in the world without it. Besides the
 * op's own entries the causes of its producers are candidates: a gray op that follows a
 * kept one changes with the same line. */
#include "precision_internal.h"

#define MAX_CANDIDATES 16u

struct candidates {
  struct oc_cite c[MAX_CANDIDATES];
  unsigned n;
};

static void candidate(struct candidates *cs, struct oc_cite c)
{
  if (!c.flag || cs->n == MAX_CANDIDATES)
    return;
  for (unsigned i = 0; i < cs->n; i++)
    if (oc_cite_same(cs->c[i], c))
      return;
  cs->c[cs->n++] = c;
}

static void producer_candidates(const struct oc_run *r, const struct oc_op *from,
                                struct candidates *cs)
{
  if (!from || !from->mark)
    return;
  candidate(cs, oc_info(r, from)->cite);
  /* a Cast that a gray op may look through */
  if (oc_op_is(from, "Cast") && from->n_inputs && from->inputs[0].from &&
      from->inputs[0].from->mark)
    candidate(cs, oc_info(r, from->inputs[0].from)->cite);
}

static void collect(const struct oc_run *r, const struct oc_op_info *n,
                    struct candidates *cs)
{
  if (n->op->keep && n->op->keep_entry)
    candidate(cs, (struct oc_cite){ 'k', n->op->keep_entry });
  if (n->custom)
    candidate(cs, (struct oc_cite){ 'c', n->custom_entry });
  if (oc_mix_find(r->o->mix, n->op->type))
    for (uint32_t i = 0; i < r->o->mix->n; i++)
      if (oc_streq(r->o->mix->entries[i].type, n->op->type))
        candidate(cs, (struct oc_cite){ 'm', i + 1 });
  for (uint32_t i = 0; i < n->op->n_inputs; i++)
    producer_candidates(r, n->op->inputs[i].from, cs);
}

static bool differs(const struct oc_op_info *n, const struct oc_verdict *a,
                    const struct oc_verdict *b)
{
  if (a->engine != b->engine || a->failed != b->failed)
    return true;
  for (uint32_t i = 0; i < n->n_tensors; i++)
    if (oc_verdict_dtype(n, a, i) != oc_verdict_dtype(n, b, i))
      return true;
  return false;
}

/* The second keep entry behind a citation: the op's own, or that of the op it follows. */
static uint32_t also_of(const struct oc_run *r, const struct oc_op_info *n)
{
  if (n->cite.flag != 'k')
    return 0;
  if (n->op->keep && n->op->keep_entry == n->cite.entry)
    return n->op->keep_also;
  for (uint32_t i = 0; i < n->op->n_inputs; i++) {
    const struct oc_op *from = n->op->inputs[i].from;
    if (!from || !from->mark)
      continue;
    if (oc_cite_same(oc_info(r, from)->cite, n->cite))
      return oc_info(r, from)->also;
  }
  return 0;
}

void oc_decide_cite(struct oc_run *r, struct oc_op_info *n)
{
  struct candidates cs = { .n = 0 };

  collect(r, n, &cs);
  for (unsigned k = 0; k < cs.n; k++) {
    struct oc_world w = { .without = cs.c[k] };
    struct oc_verdict v;
    oc_judge(r, n, &w, false, &v);
    if (!differs(n, &n->verdict, &v))
      continue;
    uint8_t *alt = OC_NEW_N(r->a, uint8_t, n->op->n_outputs);
    if (!alt) {
      r->failed = true;
      return;
    }
    for (uint32_t i = 0; i < n->op->n_outputs; i++)
      alt[i] = (uint8_t)oc_verdict_dtype(n, &v, n->op->n_inputs + i);
    n->cite = cs.c[k];
    n->also = also_of(r, n);
    n->alt = alt;
    return;
  }
}

static enum oc_sure sure_of(const struct oc_run *r, const struct oc_op_info *n)
{
  if (n->op->engine == OC_ENGINE_GRAPH)
    return OC_SURE_EXACT;
  if (n->op->type_inferred)
    return OC_SURE_OPEN;
  if (!n->row)
    return n->op->engine == OC_ENGINE_AICPU && r->o->table && !r->o->table->partial
               ? OC_SURE_EXACT
               : OC_SURE_OPEN;
  if (n->row->flags & (OC_TABLE_CHECKED | OC_TABLE_NO_COLUMNS))
    return OC_SURE_OPEN;
  return n->row->flags & OC_TABLE_COMPUTED ? OC_SURE_COMPUTED : OC_SURE_EXACT;
}

/* The tensor that speaks for the op: the first judged one with a float dtype. */
static struct oc_tensor *speaker(const struct oc_op_info *n, uint32_t *ret_i)
{
  struct oc_tensor *other = NULL;

  for (unsigned late = 0; late < 2; late++)
    for (uint32_t i = 0; i < n->n_tensors; i++) {
      struct oc_tensor *t = oc_tensor_at(n->op, i);
      const struct oc_op *from = i < n->op->n_inputs ? n->op->inputs[i].from : NULL;
      bool constant = i < n->op->n_inputs && (!from || oc_op_is_const(from));
      if (constant != (bool)late || !t->reasons)
        continue;
      if (oc_dtype_is_float(t->dtype)) {
        *ret_i = i;
        return t;
      }
      if (!other) {
        other = t;
        *ret_i = i;
      }
    }
  return other;
}

static void judged_reason(const struct oc_op_info *n, struct oc_reason *why)
{
  uint32_t i = 0;
  const struct oc_tensor *t = speaker(n, &i);

  why->rule = OC_RULE_MODE;
  why->column = n->verdict.column;
  if (!t)
    return;
  const struct oc_reason *first = t->reasons->first;
  why->rule = first->rule;
  why->subject = first->subject;
  if (first->next &&
      (first->next->rule == OC_RULE_FOLLOW || first->next->rule == OC_RULE_FOLLOW_CAST))
    why->subject = first->next->subject;
  why->dtype = (uint8_t)t->got;
  uint64_t offered = oc_offered(n, i);
  if (why->rule == OC_RULE_MODE && offered && !(offered & (offered - 1)))
    why->rule = OC_RULE_ONLY;
  if (n->op->keep && !n->promoted)
    why->rule = OC_RULE_KEEP_SAME;
  if (n->custom && n->cite.flag == 'c')
    why->rule = OC_RULE_CUSTOMIZE;
}

static void refused_reason(const struct oc_run *r, const struct oc_op_info *n,
                           struct oc_reason *why)
{
  const struct oc_refusal *f = &n->verdict.refusal;
  const struct oc_tensor *t = n->n_tensors ? oc_tensor_at(n->op, f->tensor) : NULL;

  if (n->op->engine == OC_ENGINE_AICPU)
    why->rule = OC_RULE_AICPU;
  else if (n->row || oc_optable_aicpu(r->o->optable, n->op->type))
    why->rule = OC_RULE_NO_ENGINE;
  else
    why->rule = oc_optable_ir(r->o->optable, n->op->type) ? OC_RULE_NOT_IN_TABLE
                                                          : OC_RULE_UNKNOWN;
  if (!t)
    return;
  why->dtype = (uint8_t)t->dtype;
  why->offered = f->offered;
  if (f->why == OC_REFUSED_DTYPE || f->why == OC_REFUSED_PAIR)
    why->subject = t->name;
}

/* Never judged; an end of a body, or an op with bodies, may still follow. */
static void unjudged_reason(const struct oc_op_info *n, struct oc_reason *why)
{
  why->rule = n->fixed                           ? OC_RULE_GRAPH_OP
              : n->kind == OC_GRAPH_KIND_DELETED ? OC_RULE_DELETED
                                                 : OC_RULE_NO_KERNEL;
  for (uint32_t i = 0; i < n->n_tensors; i++) {
    const struct oc_reason_list *l = oc_tensor_at(n->op, i)->reasons;
    if (!l || l->first->rule != OC_RULE_FOLLOW)
      continue;
    why->rule = OC_RULE_FOLLOW;
    why->subject = l->first->subject;
    why->dtype = l->first->dtype;
  }
  if (!n->cite.flag)
    return;
  why->flag = oc_cite_flag(n->cite);
  why->entry = n->cite.entry;
  why->also = n->also;
}

/* A kept op that would be the same without its line still names the line; where the list
 * is void by contract, the mode is the reason. */
static void name_idle_line(const struct oc_run *r, const struct oc_op_info *n,
                           struct oc_reason *why)
{
  if (why->rule != OC_RULE_KEEP_SAME)
    return;
  if (r->mode == OC_MODE_ORIGIN) {
    why->rule = OC_RULE_MODE;
    return;
  }
  why->flag = "keep_dtype";
  why->entry = n->op->keep_entry;
}

void oc_decide_reason(struct oc_run *r, const struct oc_op_info *n,
                      struct oc_op_result *ret)
{
  struct oc_reason *why = &ret->reason;

  *ret = (struct oc_op_result){ .op = n->op,
                                .sure = sure_of(r, n),
                                .reason = { .column = -1 } };
  if (n->fixed || n->op->engine == OC_ENGINE_GRAPH) {
    unjudged_reason(n, why);
    return;
  }
  if (n->verdict.engine == OC_ENGINE_NONE)
    refused_reason(r, n, why);
  else
    judged_reason(n, why);
  if (!n->cite.flag) {
    name_idle_line(r, n, why);
    return;
  }
  why->flag = oc_cite_flag(n->cite);
  why->entry = n->cite.entry;
  why->also = n->also;
  bool own_keep =
      n->cite.flag == 'k' && n->op->keep && n->cite.entry == n->op->keep_entry;
  if (own_keep && n->verdict.engine != OC_ENGINE_NONE)
    why->rule = OC_RULE_KEEP;
  if (n->cite.flag == 'm' && oc_mix_find(r->o->mix, n->op->type)) {
    static const struct oc_world real = { .without = { 0, 0 } };

    why->rule = OC_RULE_MIXLIST;
    why->subject = oc_policy_name(oc_world_policy(r, n, &real));
  }
}
