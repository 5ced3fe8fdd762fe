/* The two hifloat8 modes: a preference list per dtype, first hit wins.
 *
 * White and black lists are keyed by the tensor's own dtype, the gray one by what the
 * producer delivers. A dtype without a list wants itself. Casts are not looked through.
 */
#include "precision_internal.h"

struct preference {
  enum oc_dtype key;
  enum oc_dtype tries[3]; /* UNDEFINED ends it */
};

static const struct preference white[] = {
  { OC_DT_HIF8, { OC_DT_HIF8, OC_DT_F16, OC_DT_F32 } },
  { OC_DT_BF16, { OC_DT_HIF8, OC_DT_BF16, OC_DT_F32 } },
  { OC_DT_F16, { OC_DT_HIF8, OC_DT_F16, OC_DT_F32 } },
  { OC_DT_F32, { OC_DT_HIF8, OC_DT_F16, OC_DT_F32 } },
  { OC_DT_UNDEFINED, { OC_DT_UNDEFINED } },
};
static const struct preference black[] = {
  { OC_DT_BF16, { OC_DT_BF16, OC_DT_F32 } },
  { OC_DT_F16, { OC_DT_F16, OC_DT_F32 } },
  { OC_DT_UNDEFINED, { OC_DT_UNDEFINED } },
};
static const struct preference gray[] = {
  { OC_DT_HIF8, { OC_DT_HIF8, OC_DT_F16, OC_DT_F32 } },
  { OC_DT_BF16, { OC_DT_BF16, OC_DT_F32 } },
  { OC_DT_F16, { OC_DT_F16, OC_DT_F32 } },
  { OC_DT_UNDEFINED, { OC_DT_UNDEFINED } },
};
static const struct preference gray_of_bf16 = { OC_DT_HIF8,
                                                { OC_DT_HIF8, OC_DT_BF16, OC_DT_F32 } };

static bool try_list(struct oc_step *step, const struct preference *list,
                     enum oc_dtype key)
{
  while (list->key != OC_DT_UNDEFINED && list->key != key)
    list++;
  if (list->key == OC_DT_UNDEFINED) {
    step->want = key;
    return oc_match_precise(step->s, step->c, key);
  }
  if (list->key == OC_DT_HIF8 && list->tries[1] == OC_DT_F16 &&
      step->want_rule == OC_RULE_FOLLOW && step->t->dtype == OC_DT_BF16)
    list = &gray_of_bf16;
  step->want = list->tries[0];
  for (unsigned i = 0; i < 3 && list->tries[i]; i++)
    if (oc_match_precise(step->s, step->c, list->tries[i]))
      return true;
  return false;
}

bool oc_hif8_apply(struct oc_step *step, bool cube_mode)
{
  enum oc_policy policy = oc_world_policy(step->r, step->n, step->w);
  const struct oc_input *in = oc_step_input(step);

  step->want_rule = OC_RULE_HIF8_LIST;
  if (cube_mode) {
    step->rule = step->n->cube ? OC_RULE_CUBE : OC_RULE_MODE;
    return try_list(step, step->n->cube ? white : black, step->t->dtype);
  }
  if (policy == OC_POLICY_GRAY && in) {
    step->rule = OC_RULE_GRAY;
    step->want_rule = OC_RULE_FOLLOW;
    step->want_subject = in->from->name;
    return try_list(step, gray,
                    oc_world_delivers(step->r, in->from, in->from_out, step->w));
  }
  step->rule = policy == OC_POLICY_WHITE   ? OC_RULE_WHITE
               : policy == OC_POLICY_BLACK ? OC_RULE_BLACK
                                           : OC_RULE_GRAY;
  return try_list(step, policy == OC_POLICY_WHITE ? white : black, step->t->dtype);
}
