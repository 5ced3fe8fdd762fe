/* What the portable conversions and those of one CPU family share. */
#ifndef OC_BASE_HALF_INTERNAL_H
#define OC_BASE_HALF_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

/* Counts of one array under way. */
struct oc_half_tally {
  uint64_t overflow;
  uint64_t underflow;
  uint32_t max; /* magnitudes of finite floats order as their bit patterns do */
};

/* Lower the beginning of an array with instructions that only some CPUs have; same bits
 * and counts as the portable way. Return how many of the `n` values are done: 0 where
 * there are no such instructions. */
size_t oc_half_fast_f16(const uint8_t *src, uint8_t *dst, size_t n,
                        struct oc_half_tally *t);
size_t oc_half_fast_bf16(const uint8_t *src, uint8_t *dst, size_t n,
                         struct oc_half_tally *t);

#endif
