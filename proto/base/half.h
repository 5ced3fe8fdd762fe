/* Conversions between float32, float16 and bfloat16, round to nearest even.
 *
 * Portable integer arithmetic, equal bits on every CPU. NaNs stay NaN (quiet, sign kept);
 * values too large become infinity, as IEEE 754 says. */
#ifndef OC_BASE_HALF_H
#define OC_BASE_HALF_H

#include <stddef.h>
#include <stdint.h>

uint16_t oc_f32_to_f16(uint32_t f32_bits);
uint32_t oc_f16_to_f32(uint16_t f16_bits);
uint16_t oc_f32_to_bf16(uint32_t f32_bits);
uint32_t oc_bf16_to_f32(uint16_t bf16_bits);

/* What a lowering did to values: counts for the user's finding. */
struct oc_lowering {
  uint64_t overflow;  /* finite before, infinite after */
  uint64_t underflow; /* not zero before, zero after */
  double max_abs;     /* largest finite magnitude seen before conversion */
};

/* Little-endian arrays; `src` and `dst` may be unaligned and must not overlap.
 * `stat` may be NULL; counts are added to what it holds. */
void oc_convert_f32_to_f16(const void *src, void *dst, size_t n,
                           struct oc_lowering *stat);
void oc_convert_f32_to_bf16(const void *src, void *dst, size_t n,
                            struct oc_lowering *stat);
void oc_convert_f16_to_f32(const void *src, void *dst, size_t n);
void oc_convert_bf16_to_f32(const void *src, void *dst, size_t n);

#endif
