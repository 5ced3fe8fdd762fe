/* Values of constants in the dtype in which they are read: float32, float16 and bfloat16
 * into each other, round to nearest even. Everything else is stored as it is.
 *
 * Sixteen bit to another sixteen bit type goes through float32, which holds both. */
#include <string.h>

#include "emit_internal.h"

bool emit_can_convert(enum oc_dtype from, enum oc_dtype to)
{
  return from == to || (oc_dtype_is_float3(from) && oc_dtype_is_float3(to));
}

/* Elements of a 16-bit type on their way through float32. */
#define VIA 1024

static void raise_to_f32(enum oc_dtype from, const uint8_t *src, uint8_t *dst, size_t n)
{
  if (from == OC_DT_F16)
    oc_convert_f16_to_f32(src, dst, n);
  else
    oc_convert_bf16_to_f32(src, dst, n);
}

static void lower_from_f32(enum oc_dtype to, const uint8_t *src, uint8_t *dst, size_t n,
                           struct oc_lowering *stat)
{
  if (to == OC_DT_F16)
    oc_convert_f32_to_f16(src, dst, n, stat);
  else
    oc_convert_f32_to_bf16(src, dst, n, stat);
}

/* `n` elements; `from` and `to` as emit_can_convert() allows. */
static void convert(enum oc_dtype from, enum oc_dtype to, const uint8_t *src,
                    uint8_t *dst, size_t n, struct oc_lowering *stat)
{
  uint8_t via[4 * VIA];

  if (from == OC_DT_F32) {
    lower_from_f32(to, src, dst, n, stat);
  } else if (to == OC_DT_F32) {
    raise_to_f32(from, src, dst, n);
  } else {
    for (size_t at = 0; at < n; at += VIA) {
      size_t k = n - at < VIA ? n - at : VIA;
      raise_to_f32(from, src + 2 * at, via, k);
      lower_from_f32(to, via, dst + 2 * at, k, stat);
    }
  }
}

const uint8_t *emit_stored(const struct emit_const *c, uint64_t at, size_t len,
                           uint8_t *scratch, struct oc_lowering *stat)
{
  enum oc_dtype from = c->value->dtype;

  if (from == c->to)
    return c->value->data + at;
  size_t size = oc_dtype_bits(c->to) / 8;
  size_t source = oc_dtype_bits(from) / 8;
  convert(from, c->to, c->value->data + at / size * source, scratch, len / size, stat);
  return scratch;
}
