/* The engine check: does the AI Core take the op?
 *
 * Every tensor is looked at alone: any column that offers an acceptable dtype will do.
 * What is acceptable depends on the mode, on keep_dtype and on the op's policy. Cast and
 * TransData need one column that fits exactly. */
#include "precision_internal.h"

#define BIT(d) (1ull << (d))

uint64_t oc_offered(const struct oc_op_info *n, uint32_t tensor)
{
  const uint8_t *c = oc_columns_of(n, tensor);
  uint64_t set = 0;

  for (uint32_t k = 0; k < n->variant->n_columns; k++)
    if (c[k])
      set |= BIT(c[k]);
  return set;
}

/* Dtypes that an op may be given for a tensor of dtype `d`. */
static uint64_t acceptable(enum oc_mode mode, bool kept, bool black, enum oc_dtype d)
{
  uint64_t set = BIT(d);

  if (d == OC_DT_F16 || d == OC_DT_BF16)
    set |= BIT(OC_DT_F32);
  if (kept || mode == OC_MODE_ORIGIN || (d != OC_DT_F32 && d != OC_DT_BF16))
    return set;
  bool to_f16 = mode != OC_MODE_FP32_TO_BF16 && mode != OC_MODE_MIX_BF16 &&
                !(black && (mode == OC_MODE_FORCE_FP32 || mode == OC_MODE_MIX_FP16));
  bool to_bf16 = mode != OC_MODE_FP32_TO_FP16 && mode != OC_MODE_MIX_FP16 &&
                 !(black && (mode == OC_MODE_FORCE_FP32 || mode == OC_MODE_MIX_BF16));
  if (to_f16)
    set |= BIT(OC_DT_F16);
  if (d == OC_DT_F32 && to_bf16)
    set |= BIT(OC_DT_BF16);
  return set;
}

bool oc_custom_columns(const struct oc_op_info *n, const struct oc_custom_entry *e,
                       struct oc_set *s)
{
  bool constrains = false;
  uint32_t n_in = n->op->n_inputs;

  s->n = 0;
  for (uint32_t k = 0; k < n->variant->n_columns; k++) {
    bool agrees = true;
    for (uint32_t i = 0; i < n->n_tensors; i++) {
      const enum oc_dtype *list = i < n_in ? e->inputs : e->outputs;
      uint32_t at = i < n_in ? i : i - n_in, len = i < n_in ? e->n_inputs : e->n_outputs;
      if (at >= len || list[at] == OC_DT_UNDEFINED)
        continue;
      constrains = true;
      agrees = agrees && oc_columns_of(n, i)[k] == list[at];
    }
    if (agrees)
      s->v[s->n++] = (uint16_t)k;
  }
  return constrains;
}

static void refuse(struct oc_verdict *v, enum oc_refusal_why why, uint32_t tensor,
                   uint64_t offered)
{
  v->engine = OC_ENGINE_NONE;
  v->refusal = (struct oc_refusal){ why, tensor, offered };
}

static bool exact_column(const struct oc_op_info *n)
{
  for (uint32_t k = 0; k < n->variant->n_columns; k++) {
    uint32_t i = 0;
    while (i < n->n_tensors && oc_columns_of(n, i)[k] == oc_tensor_at(n->op, i)->dtype)
      i++;
    if (i == n->n_tensors)
      return true;
  }
  return false;
}

static bool check_dtypes(const struct oc_run *r, const struct oc_op_info *n,
                         const struct oc_world *w, struct oc_verdict *v)
{
  bool kept = oc_world_kept(n, w);
  bool black = oc_world_policy(r, n, w) == OC_POLICY_BLACK;

  for (uint32_t i = 0; i < n->n_tensors; i++) {
    uint64_t offered = oc_offered(n, i);
    if (offered & acceptable(r->mode, kept, black, oc_tensor_at(n->op, i)->dtype))
      continue;
    if (i < n->op->n_inputs && oc_promote_admits(n, i))
      continue;
    refuse(v, OC_REFUSED_DTYPE, i, offered);
    return false;
  }
  return true;
}

void oc_engine_check(const struct oc_run *r, const struct oc_op_info *n,
                     const struct oc_world *w, struct oc_verdict *v,
                     struct oc_set *scratch)
{
  const struct oc_custom_entry *custom = oc_world_custom(n, w);
  bool exact = oc_op_is(n->op, "Cast") || oc_op_is(n->op, "TransData");

  *v = (struct oc_verdict){ .engine = OC_ENGINE_NONE, .column = -1 };
  if (!n->row || !n->variant)
    return refuse(v, OC_REFUSED_TYPE, 0, 0);
  if (!n->bind)
    return refuse(v, OC_REFUSED_TENSORS, 0, 0);
  if (custom) {
    oc_custom_columns(n, custom, scratch);
    if (!scratch->n)
      return refuse(v, OC_REFUSED_CUSTOM, 0, 0);
  }
  if (exact && !exact_column(n))
    return refuse(v, OC_REFUSED_PAIR, 0, oc_offered(n, 0));
  if (!exact && !custom && !check_dtypes(r, n, w, v))
    return;
  for (uint32_t i = 0; i < n->n_tensors; i++)
    if (!oc_formats_admit(n, i))
      return refuse(v, OC_REFUSED_FORMAT, i, 0);
  v->engine = n->row->flags & OC_TABLE_NO_KERNEL ? OC_ENGINE_FRAMEWORK : OC_ENGINE_AICORE;
}
