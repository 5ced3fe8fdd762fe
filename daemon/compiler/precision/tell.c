/* Findings about single ops: engines, kept ops that were raised, judges that stop.
 *
 * A model can raise the same finding ten thousand times; past a cap per id they are only
 * counted, and one finding says how many. */
#include "precision_internal.h"

#include <stdio.h>
#include <string.h>

struct oc_finding *oc_tell(struct oc_run *r, enum oc_finding_id id, const char *subject)
{
  if (r->finding_counts[id]++ >= OC_MAX_FINDINGS_PER_ID)
    return NULL;
  return oc_finding_add(r->fs, id, subject, NULL);
}

void oc_tell_arg(struct oc_run *r, struct oc_finding *f, const char *name,
                 const char *value)
{
  if (!f)
    return;
  struct oc_finding_arg *args =
      oc_arena_grow(r->a, f->args, f->n_args, f->n_args + 1, sizeof *args);
  if (!args) {
    r->failed = true;
    return;
  }
  args[f->n_args] =
      (struct oc_finding_arg){ name, oc_arena_strdup(r->a, value ? value : "") };
  f->args = args;
  f->n_args++;
}

void oc_tell_capped(struct oc_run *r)
{
  for (unsigned id = 0; id < OC_FINDING_COUNT; id++) {
    if (r->finding_counts[id] <= OC_MAX_FINDINGS_PER_ID)
      continue;
    const struct oc_finding_info *info = oc_finding_info((enum oc_finding_id)id);
    char more[16];
    snprintf(more, sizeof more, "%u", r->finding_counts[id] - OC_MAX_FINDINGS_PER_ID);
    oc_finding_add(r->fs, OC_FINDING_FINDINGS_CAPPED, info->id, "n", more, NULL)
        ->severity = info->severity;
  }
}

static struct oc_finding *about(struct oc_run *r, enum oc_finding_id id,
                                const struct oc_op_info *n)
{
  struct oc_finding *f = oc_tell(r, id, n->op->name);

  oc_tell_arg(r, f, "type", n->op->type);
  oc_tell_arg(r, f, "soc", r->o->soc ? r->o->soc : "the chip");
  if (f && n->cite.flag) {
    f->flag = oc_cite_flag(n->cite);
    f->entry = n->cite.entry;
  }
  return f;
}

/* The text of the list entry that a result is due to. */
static const char *entry_text(struct oc_run *r, struct oc_cite c)
{
  struct oc_str s = { "", 0 };

  if (c.flag == 'k' && r->o->keep && c.entry)
    s = r->o->keep->entries[c.entry - 1].text;
  else if (c.flag == 'c' && r->o->custom && c.entry)
    s = r->o->custom->entries[c.entry - 1].text;
  return oc_arena_strndup(r->a, s.p, s.len);
}

static const char *way_out(struct oc_run *r, const struct oc_op_info *n)
{
  if (n->cite.flag == 'k')
    return oc_arena_printf(
        r->a,
        "the keep_dtype line '%s' asks for it; without it the op runs on the AI Core",
        entry_text(r, n->cite));
  if (n->cite.flag == 'c')
    return oc_arena_printf(r->a,
                           "the customize_dtypes line '%s' asks for it; choose dtypes of "
                           "one column of its table",
                           entry_text(r, n->cite));
  bool is_float =
      n->verdict.refusal.why == OC_REFUSED_DTYPE &&
      oc_dtype_is_float3(oc_tensor_at(n->op, n->verdict.refusal.tensor)->dtype);
  if (r->mode == OC_MODE_ORIGIN && is_float)
    return "mode origin never lowers a dtype; fp16 or mixed_float16 may";
  return "no mode helps: change the dtype in the model, or choose another target";
}

static const char *tensor_name(struct oc_run *r, const struct oc_op_info *n, uint32_t i)
{
  const struct oc_tensor *t = oc_tensor_at(n->op, i);

  if (t->name)
    return t->name;
  return i < n->op->n_inputs ? oc_arena_printf(r->a, "input %u", i)
                             : oc_arena_printf(r->a, "output %u", i - n->op->n_inputs);
}

/* What the AI Core misses, as a phrase. */
static const char *missing(struct oc_run *r, const struct oc_op_info *n)
{
  const struct oc_refusal *f = &n->verdict.refusal;

  switch (f->why) {
  case OC_REFUSED_PAIR:
    return oc_arena_printf(r->a, "conversion from %s to %s",
                           oc_dtype_name(n->op->inputs[0].t.dtype),
                           oc_dtype_name(n->op->outputs[0].t.dtype));
  case OC_REFUSED_DTYPE: return oc_dtype_name(oc_tensor_at(n->op, f->tensor)->dtype);
  case OC_REFUSED_TENSORS: return "table entry that fits its number of tensors";
  case OC_REFUSED_FORMAT: return "format";
  default: return "matching column";
  }
}

static void tell_aicpu(struct oc_run *r, const struct oc_op_info *n)
{
  if (n->verdict.refusal.why == OC_REFUSED_TYPE) {
    about(r, OC_FINDING_AICPU_TYPE, n);
    return;
  }
  struct oc_finding *f = about(r, OC_FINDING_AICPU_FALLBACK, n);
  oc_tell_arg(r, f, "dtype", missing(r, n));
  oc_tell_arg(r, f, "tensor",
              n->n_tensors ? tensor_name(r, n, n->verdict.refusal.tensor) : "tensors");
  oc_tell_arg(r, f, "fix", way_out(r, n));
}

/* No table row with columns: the reason of schema/ops/unsupported.yaml, or none at all.
 */
static void tell_no_table(struct oc_run *r, const struct oc_op_info *n)
{
  const struct oc_unsupported *u = oc_optable_unsupported(
      r->o->optable, n->op->type, r->o->table ? r->o->table->id : "");

  bool unknown = !u && !n->row && !oc_optable_ir(r->o->optable, n->op->type) &&
                 !oc_optable_aicpu(r->o->optable, n->op->type);

  if (r->o->unknown_is_open || (unknown && r->o->unknown_is_row)) {
    about(r, OC_FINDING_OP_NOT_TABLED, n);
    return;
  }
  struct oc_finding *f = about(r, OC_FINDING_NO_ENGINE_TYPE, n);
  const char *why =
      u ? u->reason
      : n->aicpu_why
          ? oc_arena_printf(r->a, "the AI Core has no such op, AI CPU %s", n->aicpu_why)
          : "no table has this type";
  oc_tell_arg(r, f, "why", why);
  oc_tell_arg(
      r, f, "fix",
      u ? "" : "register it as a custom operator of the toolkit and use --backend=atc");
  r->result->resolved = false;
}

static void tell_none(struct oc_run *r, const struct oc_op_info *n)
{
  const struct oc_refusal *why = &n->verdict.refusal;

  if (why->why == OC_REFUSED_TYPE) {
    tell_no_table(r, n);
    return;
  }
  struct oc_finding *f = about(r, OC_FINDING_NO_ENGINE, n);
  oc_tell_arg(r, f, "tensor", n->n_tensors ? tensor_name(r, n, why->tensor) : "the op");
  oc_tell_arg(r, f, "dtype",
              n->n_tensors ? oc_dtype_name(oc_tensor_at(n->op, why->tensor)->dtype) : "");
  oc_tell_arg(r, f, "offered",
              why->offered ? oc_dtype_list(r->a, why->offered) : "no fitting column");
  oc_tell_arg(r, f, "aicpu", n->aicpu_why ? n->aicpu_why : "has no such op");
  oc_tell_arg(r, f, "fix", way_out(r, n));
  r->result->resolved = false;
}

/* A float tensor that ends as no float: its table had no half dtype that the mode allows,
 * and the first column left is of another kind. */
static void tell_lost_float(struct oc_run *r, const struct oc_op_info *n)
{
  uint32_t i = 0;

  while (i < n->n_tensors && !(oc_dtype_is_float3(oc_tensor_at(n->op, i)->dtype) &&
                               !oc_dtype_is_float(oc_tensor_at(n->op, i)->got)))
    i++;
  if (i == n->n_tensors || n->custom || n->promoted)
    return;
  struct oc_finding *f = about(r, OC_FINDING_WHITE_EMPTIED, n);
  oc_tell_arg(r, f, "tensor", tensor_name(r, n, i));
  oc_tell_arg(r, f, "column", oc_arena_printf(r->a, "%d", n->verdict.column));
  oc_tell_arg(r, f, "dtype", oc_dtype_name(oc_tensor_at(n->op, i)->got));
}

static void tell_judged(struct oc_run *r, const struct oc_op_info *n)
{
  if (n->op->keep && n->promoted)
    about(r, OC_FINDING_KEEP_PROMOTED, n);
  for (uint32_t i = 0; n->op->keep && i < n->n_tensors; i++) {
    const struct oc_tensor *t = oc_tensor_at(n->op, i);
    if ((t->dtype != OC_DT_BF16 && t->dtype != OC_DT_F16) || t->got != OC_DT_F32)
      continue;
    oc_tell_arg(r, about(r, OC_FINDING_KEEP_RAISED, n), "dtype", oc_dtype_name(t->dtype));
    break;
  }
  tell_lost_float(r, n);
}

void oc_tell_op(struct oc_run *r, const struct oc_op_info *n)
{
  if (n->fixed)
    return;
  if (n->verdict.failed) {
    about(r, n->custom ? OC_FINDING_CUSTOMIZE_NOTHING : OC_FINDING_JUDGE_FAILED, n);
    r->result->n_judge_failed++;
    r->result->resolved = false;
    return;
  }
  if (n->verdict.refusal.why == OC_REFUSED_CUSTOM)
    about(r, OC_FINDING_CUSTOMIZE_IMPOSSIBLE, n);
  if (n->op->engine == OC_ENGINE_AICPU) {
    r->result->n_aicpu++;
    tell_aicpu(r, n);
  } else if (n->op->engine == OC_ENGINE_NONE) {
    r->result->n_no_engine++;
    tell_none(r, n);
  } else if (n->verdict.engine != OC_ENGINE_NONE) {
    tell_judged(r, n);
  }
}
