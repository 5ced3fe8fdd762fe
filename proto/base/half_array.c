/* Whole arrays, in loops without branches that the compiler turns into vector code for
 * any CPU. The results are those of the single conversions in half.c, bit for bit.
 *
 * float32 to float16: for a normal result half of the last kept place is added and the
 * rest cut. For a subnormal one the value is added to 0.5f, whose last place is 2^-24,
 * that of a float16 subnormal: the addition rounds to nearest even and leaves the answer
 * in the low bits. Both are computed, the right one is selected. */
#include <string.h>

#include "base/half.h"

#define MAG32      0x7fffffffu
#define INF32      0x7f800000u
#define INF16      0x7c00u
#define QUIET16    0x0200u
#define QUIET_BF16 0x0040u
#define REBIAS     (112u << 23) /* 127 - 15 in the exponent's place */
#define MIN_NORMAL 0x38800000u  /* 2^-14, the smallest normal float16 */
#define TOO_LARGE  0x47800000u  /* 2^16 */
#define HALF       0x3f000000u  /* 0.5f */
/* The smallest magnitude that rounds to infinity, and the largest that rounds to zero. */
#define OVER_F16   0x477ff000u
#define UNDER_F16  0x33000000u
#define OVER_BF16  0x7f7f8000u
#define UNDER_BF16 0x00008000u
/* Counts of one block fit 32 bits, which keeps the vectors narrow. */
#define BLOCK 65536

static inline uint32_t load32(const uint8_t *p)
{
  uint32_t v;

  memcpy(&v, p, sizeof v);
  return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? __builtin_bswap32(v) : v;
}

static inline void store32(uint8_t *p, uint32_t v)
{
  v = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? __builtin_bswap32(v) : v;
  memcpy(p, &v, sizeof v);
}

static inline uint16_t load16(const uint8_t *p)
{
  uint16_t v;

  memcpy(&v, p, sizeof v);
  return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? __builtin_bswap16(v) : v;
}

static inline void store16(uint8_t *p, uint16_t v)
{
  v = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? __builtin_bswap16(v) : v;
  memcpy(p, &v, sizeof v);
}

static inline float as_float(uint32_t bits)
{
  float f;

  memcpy(&f, &bits, sizeof f);
  return f;
}

static inline uint32_t as_bits(float f)
{
  uint32_t bits;

  memcpy(&bits, &f, sizeof bits);
  return bits;
}

/* `mask` all ones: `a`, all zeros: `b`. */
static inline uint32_t choose(uint32_t mask, uint32_t a, uint32_t b)
{
  return (a & mask) | (b & ~mask);
}

/* All ones when a < b; both below 2^31, so that a signed comparison will do. */
static inline uint32_t less(uint32_t a, uint32_t b)
{
  return (uint32_t) - (int32_t)((int32_t)a < (int32_t)b);
}

static inline uint16_t lower_f16(uint32_t f)
{
  uint32_t mag = f & MAG32;
  uint32_t normal = (mag - REBIAS + 0xfffu + (mag >> 13 & 1)) >> 13;
  uint32_t small = as_bits(as_float(choose(less(mag, MIN_NORMAL), mag, 0)) + 0.5f) - HALF;
  uint32_t nan = INF16 | QUIET16 | (mag >> 13 & 0x3ffu);
  uint32_t r = choose(less(mag, MIN_NORMAL), small, normal);

  r = choose(less(mag, TOO_LARGE), r, INF16);
  r = choose(less(INF32, mag), nan, r);
  return (uint16_t)(r | (f >> 16 & 0x8000u));
}

static inline uint16_t lower_bf16(uint32_t f)
{
  uint32_t mag = f & MAG32;
  uint32_t rounded = (f + 0x7fffu + (f >> 16 & 1)) >> 16;

  return (uint16_t)choose(less(INF32, mag), f >> 16 | QUIET_BF16, rounded);
}

static inline void count(const uint8_t *from, size_t n, uint32_t over, uint32_t under,
                         struct oc_lowering *stat)
{
  for (size_t at = 0; at < n; at += BLOCK) {
    size_t k = n - at < BLOCK ? n - at : BLOCK;
    uint32_t n_over = 0, n_under = 0, max = 0;
    for (size_t i = 0; i < k; i++) {
      uint32_t mag = load32(from + 4 * (at + i)) & MAG32;
      uint32_t finite = less(mag, INF32);
      n_over -= less(over - 1, mag) & finite;
      n_under -= less(0, mag) & less(mag, under + 1);
      max = choose(less(max, mag) & finite, mag, max);
    }
    stat->overflow += n_over;
    stat->underflow += n_under;
    if ((double)as_float(max) > stat->max_abs)
      stat->max_abs = (double)as_float(max);
  }
}

void oc_count_f32_to_f16(const void *src, size_t n, struct oc_lowering *stat)
{
  count(src, n, OVER_F16, UNDER_F16, stat);
}

void oc_count_f32_to_bf16(const void *src, size_t n, struct oc_lowering *stat)
{
  count(src, n, OVER_BF16, UNDER_BF16, stat);
}

void oc_convert_f32_to_f16(const void *src, void *dst, size_t n, struct oc_lowering *stat)
{
  const uint8_t *restrict from = src;
  uint8_t *restrict to = dst;

  for (size_t i = 0; i < n; i++)
    store16(to + 2 * i, lower_f16(load32(from + 4 * i)));
  if (stat)
    oc_count_f32_to_f16(src, n, stat);
}

void oc_convert_f32_to_bf16(const void *src, void *dst, size_t n,
                            struct oc_lowering *stat)
{
  const uint8_t *restrict from = src;
  uint8_t *restrict to = dst;

  for (size_t i = 0; i < n; i++)
    store16(to + 2 * i, lower_bf16(load32(from + 4 * i)));
  if (stat)
    oc_count_f32_to_bf16(src, n, stat);
}

void oc_convert_f16_to_f32(const void *src, void *dst, size_t n)
{
  const uint8_t *restrict from = src;
  uint8_t *restrict to = dst;

  for (size_t i = 0; i < n; i++)
    store32(to + 4 * i, oc_f16_to_f32(load16(from + 2 * i)));
}

void oc_convert_bf16_to_f32(const void *src, void *dst, size_t n)
{
  const uint8_t *restrict from = src;
  uint8_t *restrict to = dst;

  for (size_t i = 0; i < n; i++)
    store32(to + 4 * i, oc_bf16_to_f32(load16(from + 2 * i)));
}
