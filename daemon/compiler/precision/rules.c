/* Which rule applies to a tensor, and what it wants.
 *
 * Kept and dtype-sensitive ops use the allow_fp32_to_fp16 rule in every mode; framework
 * ops and continuous inputs use the mixed_float16 rule; everything else the mode's own.
 * A forbidden dtype is one the matchers must not use: the float16 modes never choose
 * bfloat16 for data that is not bfloat16, and the reverse. */
#include "precision_internal.h"

const struct oc_input *oc_step_input(const struct oc_step *step)
{
  if (!step->is_input || !step->n->op->inputs[step->tensor].from)
    return NULL;
  return &step->n->op->inputs[step->tensor];
}

static enum oc_dtype forbidden(enum oc_mode mode, enum oc_dtype t)
{
  switch (mode) {
  case OC_MODE_FORCE_FP16:
  case OC_MODE_FORCE_FP32: return OC_DT_BF16;
  case OC_MODE_FP32_TO_FP16:
  case OC_MODE_MIX_FP16: return t == OC_DT_BF16 ? OC_DT_UNDEFINED : OC_DT_BF16;
  case OC_MODE_FP32_TO_BF16:
  case OC_MODE_MIX_BF16: return t == OC_DT_F16 ? OC_DT_UNDEFINED : OC_DT_F16;
  default: return OC_DT_UNDEFINED;
  }
}

/* The match reason from what was wanted and what the first candidate has. */
static void matched(struct oc_step *step, bool hit, bool lowered)
{
  if (!hit)
    step->match = step->s->n ? OC_RULE_NO_MATCH : OC_RULE_EMPTIED;
  else if (lowered)
    step->match = OC_RULE_LOWERED;
  else
    step->match = step->c[step->s->v[0]] == step->want ? OC_RULE_MATCH : OC_RULE_RAISED;
}

static bool rise(struct oc_step *step, enum oc_dtype w)
{
  step->want = w;
  bool hit = oc_match_rise(step->s, step->c, w, step->forbid);
  matched(step, hit, false);
  return hit;
}

static bool reduce(struct oc_step *step, enum oc_dtype w)
{
  bool hit = oc_match_reduce(step->s, step->c, w, step->forbid);
  matched(step, hit, true);
  return hit;
}

static void force_fp16(struct oc_step *step)
{
  enum oc_dtype t = step->t->dtype;
  rise(step, t == OC_DT_F32 || t == OC_DT_BF16 ? OC_DT_F16 : t);
}

static void fp32_to_fp16(struct oc_step *step)
{
  enum oc_dtype w = step->t->dtype;

  if (w == OC_DT_F32 && step->n->cube && !oc_world_kept(step->n, step->w)) {
    w = OC_DT_F16;
    step->want_rule = OC_RULE_CUBE;
  }
  if (rise(step, w))
    return;
  if (w == OC_DT_F32 && reduce(step, w))
    *step->sticky = true;
  else if (w == OC_DT_BF16)
    reduce(step, w);
}

static void fp32_to_bf16(struct oc_step *step)
{
  enum oc_dtype t = step->t->dtype;

  if (!rise(step, t) && (t == OC_DT_F32 || t == OC_DT_BF16))
    reduce(step, t);
}

static void force_fp32(struct oc_step *step)
{
  enum oc_dtype t = step->t->dtype;
  enum oc_dtype w = t == OC_DT_F16 || t == OC_DT_BF16 ? OC_DT_F32 : t;

  if (step->is_input && step->tensor == 0 && step->n->cube && step->n->cube_fp16_in &&
      oc_dtype_is_float3(t)) {
    w = OC_DT_F16;
    step->want_rule = OC_RULE_CUBE_FP16_IN;
  }
  if (!rise(step, w))
    reduce(step, w);
}

/* May a gray op look through this producing Cast? It must undo the mode's lowering. */
static bool skippable(const struct oc_step *step, const struct oc_op *cast, uint32_t out,
                      bool bf16)
{
  if (!oc_op_is(cast, "Cast") || !cast->n_inputs || !cast->mark)
    return false;
  const struct oc_op_info *n = oc_info(step->r, cast);
  if (!n->row || oc_world_policy(step->r, n, step->w) == OC_POLICY_BLACK)
    return false;
  enum oc_dtype low = bf16 ? OC_DT_BF16 : OC_DT_F16,
                other = bf16 ? OC_DT_F16 : OC_DT_BF16;
  enum oc_dtype to = oc_world_delivers(step->r, cast, out, step->w);
  return cast->inputs[0].t.got == low && (to == OC_DT_F32 || to == other);
}

static int gray_input(struct oc_step *step, const struct oc_input *in, bool bf16)
{
  const struct oc_op *from = in->from;
  uint32_t out = in->from_out;

  step->want_rule = OC_RULE_FOLLOW;
  if (skippable(step, from, out, bf16)) {
    const struct oc_input *behind = &from->inputs[0];
    if (!behind->from)
      return OC_E_FORMAT; /* the vendor's judge fails here */
    step->want_rule = OC_RULE_FOLLOW_CAST;
    from = behind->from;
    out = behind->from_out;
  }
  enum oc_dtype p = oc_world_delivers(step->r, from, out, step->w);
  step->want_subject = from->name;
  if (!rise(step, p))
    reduce(step, p);
  return 0;
}

static int gray(struct oc_step *step, bool bf16)
{
  const struct oc_input *in = oc_step_input(step);

  if (in)
    return gray_input(step, in, bf16);
  if (bf16)
    fp32_to_bf16(step);
  else
    fp32_to_fp16(step);
  return 0;
}

static void white(struct oc_step *step)
{
  enum oc_dtype t = step->t->dtype;

  if (!oc_dtype_is_float3(t)) {
    step->forbid = OC_DT_UNDEFINED;
    rise(step, t);
    return;
  }
  bool hit = oc_match_mix(step->s, step->c, step->forbid);
  step->want = hit ? (enum oc_dtype)step->c[step->s->v[0]] : OC_DT_F16;
  matched(step, hit, false);
}

static int mixed(struct oc_step *step, bool bf16)
{
  switch (oc_world_policy(step->r, step->n, step->w)) {
  case OC_POLICY_BLACK: rise(step, step->t->dtype); return 0;
  case OC_POLICY_WHITE: white(step); return 0;
  case OC_POLICY_GRAY: return gray(step, bf16);
  }
  return 0;
}

static enum oc_rule policy_rule(const struct oc_step *step)
{
  switch (oc_world_policy(step->r, step->n, step->w)) {
  case OC_POLICY_BLACK: return OC_RULE_BLACK;
  case OC_POLICY_WHITE: return OC_RULE_WHITE;
  case OC_POLICY_GRAY: return OC_RULE_GRAY;
  }
  return OC_RULE_GRAY;
}

static int mode_rule(struct oc_step *step)
{
  enum oc_mode mode = step->r->mode;

  step->rule = OC_RULE_MODE;
  step->rule_subject = oc_mode_name(mode);
  step->forbid = forbidden(mode, step->t->dtype);
  switch (mode) {
  case OC_MODE_FORCE_FP16: force_fp16(step); return 0;
  case OC_MODE_FP32_TO_FP16: fp32_to_fp16(step); return 0;
  case OC_MODE_ORIGIN: rise(step, step->t->dtype); return 0;
  case OC_MODE_FORCE_FP32: force_fp32(step); return 0;
  case OC_MODE_FP32_TO_BF16: fp32_to_bf16(step); return 0;
  case OC_MODE_MIX_FP16:
  case OC_MODE_MIX_BF16:
    step->rule = policy_rule(step);
    return mixed(step, mode == OC_MODE_MIX_BF16);
  case OC_MODE_CUBE_HIF8:
  case OC_MODE_MIXED_HIF8:
    matched(step, oc_hif8_apply(step, mode == OC_MODE_CUBE_HIF8), false);
    return 0;
  }
  return 0;
}

int oc_rule_apply(struct oc_step *step)
{
  const struct oc_op_info *n = step->n;
  bool kept = oc_world_kept(n, step->w);

  step->forbid = OC_DT_UNDEFINED;
  step->want_rule = OC_RULE_OWN;
  if (kept || n->sensitive) {
    step->rule = kept ? OC_RULE_KEEP : OC_RULE_SENSITIVE;
    fp32_to_fp16(step);
    return 0;
  }
  if (oc_attr_find(n->op, "_inherit_dtype_from_predecessor")) {
    step->rule = OC_RULE_INHERIT;
    return gray(step, false);
  }
  if (n->row->flags & OC_TABLE_NO_KERNEL && step->r->mode != OC_MODE_FORCE_FP16) {
    step->rule = OC_RULE_FRAMEWORK;
    return mixed(step, false);
  }
  if (step->is_input && step->t->continuous) {
    step->rule = OC_RULE_CONTINUOUS;
    return mixed(step, false);
  }
  if (*step->sticky && step->r->mode == OC_MODE_FP32_TO_FP16) {
    step->rule = OC_RULE_STICKY;
    force_fp16(step);
    return 0;
  }
  return mode_rule(step);
}
