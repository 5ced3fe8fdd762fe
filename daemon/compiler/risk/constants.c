/* Constants: counts over their elements as float16 would hold them. */
#include <math.h>
#include <string.h>

#include "risk_internal.h"

#include "base/half.h"

static bool element(const struct oc_value *v, uint64_t i, float *ret)
{
  uint32_t bits;
  uint16_t half;

  switch (v->dtype) {
  case OC_DT_F32: memcpy(ret, v->data + 4 * i, 4); return true;
  case OC_DT_F16:
    memcpy(&half, v->data + 2 * i, 2);
    bits = oc_f16_to_f32(half);
    break;
  case OC_DT_BF16:
    memcpy(&half, v->data + 2 * i, 2);
    bits = oc_bf16_to_f32(half);
    break;
  default: return false;
  }
  memcpy(ret, &bits, 4);
  return true;
}

bool oc_risk_constant(const struct oc_value *v, uint64_t most, struct oc_const_stats *ret)
{
  double squares = 0;
  bool positive = true;
  float x = 0;

  memset(ret, 0, sizeof *ret);
  unsigned bits = oc_dtype_bits(v->dtype);
  ret->n = bits >= 8 ? v->len / (bits / 8) : 0;
  if (!ret->n || ret->n > most || !element(v, 0, &x))
    return false;
  for (uint64_t i = 0; i < ret->n; i++) {
    element(v, i, &x);
    double a = fabs((double)x);
    if (!isfinite(a))
      continue;
    positive = positive && x >= 0;
    squares += a * a;
    ret->max_abs = a > ret->max_abs ? a : ret->max_abs;
    ret->over += a > OC_F16_MAX + 15;
    ret->flush += a > 0 && a <= OC_F16_SMALLEST / 2;
  }
  ret->estimate = (struct oc_estimate){ .rms = sqrt(squares / (double)ret->n),
                                        .peak = ret->max_abs,
                                        .positive = positive };
  return true;
}

const struct oc_op *oc_risk_constant_of(const struct oc_input *in)
{
  const struct oc_op *op = in->from;

  while (op && oc_op_is(op, "Cast") && op->n_inputs)
    op = op->inputs[0].from;
  return op && oc_op_is_const(op) ? op : NULL;
}
