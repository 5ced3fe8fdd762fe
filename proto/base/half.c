/* Integer arithmetic on the bit patterns, so that every CPU gives the same bits.
 *
 * Lowering adds half of the last kept place (minus one when the kept part is even) and
 * cuts: the carry runs into the exponent by itself and ends as infinity where it must. */
#include "base/half.h"

#include <string.h>

#define SIGN32     0x80000000u
#define INF32      0x7f800000u
#define INF16      0x7c00u
#define QUIET16    0x0200u
#define QUIET_BF16 0x0040u
/* Distance of the exponents' biases: 127 - 15. */
#define REBIAS 112u

/* `v` shifted right by `n` (1..31), round to nearest even. */
static uint32_t shift_round(uint32_t v, unsigned n)
{
  uint32_t half = 1u << (n - 1);
  uint32_t rest = v & ((1u << n) - 1);
  uint32_t kept = v >> n;

  return kept + (rest > half || (rest == half && (kept & 1)));
}

uint16_t oc_f32_to_f16(uint32_t f)
{
  uint16_t sign = (uint16_t)(f >> 16 & 0x8000u);
  uint32_t mag = f & ~SIGN32;

  if (mag > INF32) /* the top of the payload stays, made quiet */
    return (uint16_t)(sign | INF16 | QUIET16 | (mag >> 13 & 0x03ffu));
  uint32_t exponent = mag >> 23;
  if (exponent > REBIAS + 30)
    return sign | INF16;
  if (exponent > REBIAS) {
    uint32_t rebased = mag - (REBIAS << 23);
    return (uint16_t)(sign | shift_round(rebased, 13));
  }
  /* Subnormal: the implicit bit is shifted down to units of 2^-24. 126 - exponent is 14
   * for the largest subnormal; from 25 on even the largest mantissa rounds to zero. */
  unsigned shift = 126 - exponent;
  if (shift > 25)
    return sign;
  return (uint16_t)(sign | shift_round((mag & 0x7fffffu) | 0x800000u, shift));
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
  if ((f & ~SIGN32) > INF32)
    return (uint16_t)(f >> 16 | QUIET_BF16);
  return (uint16_t)shift_round(f, 16);
}

uint32_t oc_bf16_to_f32(uint16_t b)
{
  uint32_t f = (uint32_t)b << 16;

  return (f & ~SIGN32) > INF32 ? f | 0x400000u : f;
}

static uint32_t load32(const uint8_t *p)
{
  return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
         (uint32_t)p[3] << 24;
}

static void store32(uint8_t *p, uint32_t v)
{
  p[0] = (uint8_t)v;
  p[1] = (uint8_t)(v >> 8);
  p[2] = (uint8_t)(v >> 16);
  p[3] = (uint8_t)(v >> 24);
}

static uint16_t load16(const uint8_t *p)
{
  return (uint16_t)(p[0] | p[1] << 8);
}

static void store16(uint8_t *p, uint16_t v)
{
  p[0] = (uint8_t)v;
  p[1] = (uint8_t)(v >> 8);
}

/* Magnitudes of finite floats order as their bit patterns do: one integer maximum is
 * kept. */
struct tally {
  uint64_t overflow;
  uint64_t underflow;
  uint32_t max;
};

static void count(struct tally *t, uint32_t before, uint16_t after, uint16_t inf)
{
  uint32_t mag = before & ~SIGN32;
  uint16_t low = after & 0x7fffu;

  if (mag >= INF32)
    return;
  t->overflow += low == inf;
  t->underflow += mag && !low;
  if (mag > t->max)
    t->max = mag;
}

static void report(const struct tally *t, struct oc_lowering *stat)
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

void oc_convert_f32_to_f16(const void *src, void *dst, size_t n, struct oc_lowering *stat)
{
  const uint8_t *from = src;
  uint8_t *to = dst;
  struct tally t = { 0 };

  for (size_t i = 0; i < n; i++) {
    uint32_t f = load32(from + 4 * i);
    uint16_t h = oc_f32_to_f16(f);
    count(&t, f, h, INF16);
    store16(to + 2 * i, h);
  }
  report(&t, stat);
}

void oc_convert_f32_to_bf16(const void *src, void *dst, size_t n,
                            struct oc_lowering *stat)
{
  const uint8_t *from = src;
  uint8_t *to = dst;
  struct tally t = { 0 };

  for (size_t i = 0; i < n; i++) {
    uint32_t f = load32(from + 4 * i);
    uint16_t b = oc_f32_to_bf16(f);
    count(&t, f, b, INF32 >> 16);
    store16(to + 2 * i, b);
  }
  report(&t, stat);
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
