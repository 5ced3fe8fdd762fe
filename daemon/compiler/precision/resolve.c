/* The whole run: check, judge in topological order, cast, explain. */
#include "precision_internal.h"

static int check_bf16(struct oc_run *r)
{
  if (r->o->soc_bf16 || (r->mode != OC_MODE_FP32_TO_BF16 && r->mode != OC_MODE_MIX_BF16))
    return 0;
  struct oc_finding *f = oc_tell(r, OC_FINDING_MODE_NEEDS_BF16, r->o->mode.spelling);
  oc_tell_arg(r, f, "soc", r->o->soc ? r->o->soc : "the chip");
  if (f)
    f->flag = r->o->mode.flag;
  r->result->resolved = false;
  return OC_E_ARG;
}

static void commit(struct oc_op_info *n)
{
  for (uint32_t i = 0; i < n->n_tensors; i++)
    oc_tensor_at(n->op, i)->got = oc_verdict_dtype(n, &n->verdict, i);
  n->op->engine = n->verdict.engine;
  n->op->column = n->verdict.column;
}

/* The last link of every tensor's chain: what it got, when that is not what its own step
 * chose. */
static void record_column(struct oc_run *r, struct oc_op_info *n)
{
  for (uint32_t i = 0; i < n->n_tensors; i++) {
    struct oc_tensor *t = oc_tensor_at(n->op, i);
    if (t->reasons && t->reasons->last && t->reasons->last->dtype == t->got &&
        t->reasons->last->rule != OC_RULE_NO_MATCH)
      continue;
    struct oc_reason *why =
        oc_reason_add(r, t, n->verdict.by_format ? OC_RULE_FORMAT : OC_RULE_COLUMN);
    if (!why)
      return;
    why->dtype = (uint8_t)t->got;
    why->column = n->verdict.column;
  }
}

static void record_refusal(struct oc_run *r, struct oc_op_info *n)
{
  const struct oc_refusal *f = &n->verdict.refusal;

  if (!n->n_tensors || (f->why != OC_REFUSED_DTYPE && f->why != OC_REFUSED_PAIR))
    return;
  struct oc_tensor *t = oc_tensor_at(n->op, f->tensor);
  struct oc_reason *why = oc_reason_add(r, t, OC_RULE_REFUSED);
  if (!why)
    return;
  why->dtype = (uint8_t)t->dtype;
  why->offered = f->offered;
  if (n->op->keep) {
    why->flag = "keep_dtype";
    why->entry = n->op->keep_entry;
  }
}

static void judge_all(struct oc_run *r)
{
  static const struct oc_world real = { .without = { 0, 0 } };

  for (uint32_t i = 0; i < r->n_infos && !r->failed; i++) {
    struct oc_op_info *n = &r->infos[i];
    if (n->fixed) {
      oc_body_end(r, n);
      continue;
    }
    oc_reasons_begin(r, n->n_tensors, n->row ? n->row->n_promote : 0);
    oc_judge(r, n, &real, true, &n->verdict);
    if (n->verdict.engine == OC_ENGINE_NONE) {
      oc_fallback(r, n);
      record_refusal(r, n);
    } else {
      commit(n);
      if (!n->verdict.failed)
        record_column(r, n);
    }
    for (uint32_t k = 0; k < n->n_tensors; k++)
      oc_reasons_keep(r, oc_tensor_at(n->op, k));
    oc_decide_cite(r, n);
  }
}

static void explain_all(struct oc_run *r)
{
  r->result->ops = OC_NEW_N(r->a, struct oc_op_result, r->n_infos);
  if (!r->result->ops) {
    r->failed = true;
    return;
  }
  for (uint32_t i = 0; i < r->n_infos && !r->failed; i++) {
    oc_decide_reason(r, &r->infos[i], &r->result->ops[i]);
    oc_tell_op(r, &r->infos[i]);
  }
  r->result->n_ops = r->n_infos;
  if (!r->failed)
    oc_states(r);
  if (!r->failed)
    oc_effects(r);
}

static int cast_all(struct oc_run *r)
{
  int rc = 0;

  for (uint32_t i = 0; i < r->n_graphs && !rc && !r->o->no_casts; i++) {
    rc = oc_casts_insert(r, r->graphs[i]);
    if (!rc)
      rc = oc_casts_cancel(r, r->graphs[i]);
    for (uint32_t k = 0; k < r->graphs[i]->n_ops; k++)
      r->graphs[i]->ops[k]->id = k;
  }
  return rc;
}

static void note_default(struct oc_run *r)
{
  if (!r->o->mode.given && (r->o->keep || r->o->custom || r->o->mix))
    oc_tell(r, OC_FINDING_MODE_DEFAULT, "precision_mode");
}

static void clear_marks(struct oc_run *r)
{
  for (uint32_t g = 0; g < r->n_graphs; g++)
    for (uint32_t i = 0; i < r->graphs[g]->n_ops; i++)
      r->graphs[g]->ops[i]->mark = 0;
}

static int run(struct oc_run *r, struct oc_error *err)
{
  int rc = oc_run_setup(r, err);

  if (rc || check_bf16(r))
    return rc;
  note_default(r);
  oc_ports_apply(r);
  judge_all(r);
  if (!r->failed)
    explain_all(r);
  rc = r->failed ? OC_E_NOMEM : cast_all(r);
  oc_tell_capped(r);
  if (rc || r->failed)
    return oc_error_set(err, OC_E_NOMEM, "out of memory while resolving dtypes");
  return 0;
}

int oc_precision_resolve(struct oc_graph *g, const struct oc_precision_options *o,
                         struct oc_findings *fs, struct oc_precision_result **ret,
                         struct oc_error *err)
{
  struct oc_precision_result *result = OC_NEW(g->arena, struct oc_precision_result);
  struct oc_run r = {
    .g = g, .o = o, .mode = o->mode.mode, .fs = fs, .a = g->arena, .result = result
  };

  r.pool = oc_reason_pool_new();
  if (!result || !r.pool) {
    oc_reason_pool_free(r.pool);
    return oc_error_set(err, OC_E_NOMEM, "out of memory while resolving dtypes");
  }
  result->resolved = true;
  result->mode = o->mode;
  int rc = run(&r, err);
  clear_marks(&r);
  oc_reason_pool_free(r.pool);
  if (!rc)
    *ret = result;
  return rc;
}
