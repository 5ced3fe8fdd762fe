/* Conversions without a branch per value, so that the compiler can do several at once,
 * and with nothing but integer arithmetic and one exactly rounded addition, so that every
 * CPU gives the same bits.
 *
 * Lowering adds half of the last kept place (minus one when the kept part is even) and
 * cuts: the carry runs into the exponent by itself and ends as infinity where it must. */
#include "base/half.h"

#include <endian.h>
#include <stdbool.h>
#include <string.h>

#include "half_internal.h"

#define SIGN32     0x80000000u
#define INF32      0x7f800000u
#define INF16      0x7c00u
#define QUIET16    0x0200u
#define QUIET_BF16 0x0040u
/* Distance of the exponents' biases: 127 - 15. */
#define REBIAS 112u
/* 2^-14, the smallest normal half, and 2^16, the first power of two that is none. */
#define NORMAL16 0x38800000u
#define OVER16   0x47800000u
#define ONE_HALF 0x3f000000u

/* Magnitudes below 2^-14 become multiples of 2^-24, which is the last place of numbers in
 * [0.5, 1): adding 0.5 rounds to nearest even right there, and the difference of the bit
 * patterns is the count. */
static inline uint32_t lower_tiny(uint32_t mag)
{
  float f = 0;
  uint32_t sum = 0;

  memcpy(&f, &mag, sizeof(f));
  f += 0.5f;
  memcpy(&sum, &f, sizeof(sum));
  return sum - ONE_HALF;
}

/* All ones when a < b, for magnitudes (which fit 31 bits). */
static inline uint32_t below(uint32_t a, uint32_t b)
{
  return 0u - (uint32_t)((int32_t)a < (int32_t)b);
}

static inline uint32_t choose(uint32_t mask, uint32_t yes, uint32_t no)
{
  return (yes & mask) | (no & ~mask);
}

/* The half's magnitude for a float's magnitude. */
static inline uint32_t lower16(uint32_t mag)
{
  uint32_t normal = (mag - (REBIAS << 23) + 0xfffu + (mag >> 13 & 1)) >> 13;
  uint32_t r = choose(below(mag, NORMAL16), lower_tiny(mag), normal);

  r = choose(below(mag, OVER16), r, INF16);
  /* Of a NaN the top of the payload stays, made quiet. */
  return choose(below(INF32, mag), INF16 | QUIET16 | (mag >> 13 & 0x3ffu), r);
}

static inline uint32_t lower_bf16(uint32_t mag)
{
  uint32_t r = (mag + 0x7fffu + (mag >> 16 & 1)) >> 16;

  return choose(below(INF32, mag), mag >> 16 | QUIET_BF16, r);
}

uint16_t oc_f32_to_f16(uint32_t f)
{
  return (uint16_t)((f >> 16 & 0x8000u) | lower16(f & ~SIGN32));
}

uint32_t oc_f16_to_f32(uint16_t h)
{
  uint32_t sign = (uint32_t)(h & 0x8000u) << 16;
  uint32_t exponent = h >> 10 & 0x1fu;
  uint32_t mantissa = h & 0x3ffu;

  if (exponent == 0x1f)
    return sign | INF32 | mantissa << 13 | (mantissa ? 0x400000u : 0);
  if (exponent)
    return sign | (exponent + REBIAS) << 23 | mantissa << 13;
  if (!mantissa)
    return sign;
  unsigned top =
      31u - (unsigned)__builtin_clz(mantissa); /* 0..9: value is 2^(top-24) * 1.x */
  return sign | (top + 103u) << 23 | ((mantissa << (23 - top)) & 0x7fffffu);
}

uint16_t oc_f32_to_bf16(uint32_t f)
{
  return (uint16_t)((f >> 16 & 0x8000u) | lower_bf16(f & ~SIGN32));
}

uint32_t oc_bf16_to_f32(uint16_t b)
{
  uint32_t f = (uint32_t)b << 16;

  return (f & ~SIGN32) > INF32 ? f | 0x400000u : f;
}

/* Arrays go through blocks on the stack: a loop of known length over arrays that cannot
 * overlap is what the compiler turns into vector code. */
#define BLOCK 256

/* A block's counters fit 32 bits; `&` instead of `&&` keeps branches out. */
#define LOWER_BLOCK(from, to, lower, inf)                                                \
  do {                                                                                   \
    uint32_t over = 0;                                                                   \
    uint32_t under = 0;                                                                  \
    int32_t max = 0;                                                                     \
    for (size_t i = 0; i < BLOCK; i++) {                                                 \
      uint32_t f = le32toh((from)[i]);                                                   \
      uint32_t mag = f & ~SIGN32;                                                        \
      uint32_t low = lower(mag);                                                         \
      uint32_t finite = mag & below(mag, INF32);                                         \
      over -= below((inf)-1, low) & below(0, finite);                                    \
      under -= below(0, mag) & below(low, 1);                                            \
      max = (int32_t)finite > max ? (int32_t)finite : max;                               \
      (to)[i] = htole16((uint16_t)((f >> 16 & 0x8000u) | low));                          \
    }                                                                                    \
    t->overflow += over;                                                                 \
    t->underflow += under;                                                               \
    t->max = (uint32_t)max > t->max ? (uint32_t)max : t->max;                            \
  } while (0)

static void lower_block16(const uint32_t *restrict from, uint16_t *restrict to,
                          struct oc_half_tally *t)
{
  LOWER_BLOCK(from, to, lower16, INF16);
}

static void lower_block_bf16(const uint32_t *restrict from, uint16_t *restrict to,
                             struct oc_half_tally *t)
{
  LOWER_BLOCK(from, to, lower_bf16, INF32 >> 16);
}

static void report(const struct oc_half_tally *t, struct oc_lowering *stat)
{
  float max;

  if (!stat)
    return;
  memcpy(&max, &t->max, sizeof(max));
  stat->overflow += t->overflow;
  stat->underflow += t->underflow;
  if ((double)max > stat->max_abs)
    stat->max_abs = (double)max;
}

typedef void lower_fn(const uint32_t *restrict from, uint16_t *restrict to,
                      struct oc_half_tally *t);
typedef size_t fast_fn(const uint8_t *src, uint8_t *dst, size_t n,
                       struct oc_half_tally *t);

static void lower_array(fast_fn *fast, lower_fn *lower, const uint8_t *src, uint8_t *dst,
                        size_t n, struct oc_lowering *stat)
{
  uint32_t from[BLOCK];
  uint16_t to[BLOCK];
  struct oc_half_tally t = { 0 };

  for (size_t done = fast(src, dst, n, &t); done < n;) {
    size_t now = n - done < BLOCK ? n - done : BLOCK;
    memcpy(from, src + 4 * done, 4 * now);
    memset(from + now, 0, 4 * (BLOCK - now)); /* zeros count for nothing */
    lower(from, to, &t);
    memcpy(dst + 2 * done, to, 2 * now);
    done += now;
  }
  report(&t, stat);
}

void oc_convert_f32_to_f16(const void *src, void *dst, size_t n, struct oc_lowering *stat)
{
  lower_array(oc_half_fast_f16, lower_block16, src, dst, n, stat);
}

void oc_convert_f32_to_bf16(const void *src, void *dst, size_t n,
                            struct oc_lowering *stat)
{
  lower_array(oc_half_fast_bf16, lower_block_bf16, src, dst, n, stat);
}

static uint16_t load16(const uint8_t *p)
{
  return (uint16_t)(p[0] | p[1] << 8);
}

static void store32(uint8_t *p, uint32_t v)
{
  uint32_t little = htole32(v);

  memcpy(p, &little, sizeof(little));
}

void oc_convert_f16_to_f32(const void *src, void *dst, size_t n)
{
  const uint8_t *from = src;
  uint8_t *to = dst;

  for (size_t i = 0; i < n; i++)
    store32(to + 4 * i, oc_f16_to_f32(load16(from + 2 * i)));
}

void oc_convert_bf16_to_f32(const void *src, void *dst, size_t n)
{
  const uint8_t *from = src;
  uint8_t *to = dst;

  for (size_t i = 0; i < n; i++)
    store32(to + 4 * i, oc_bf16_to_f32(load16(from + 2 * i)));
}
