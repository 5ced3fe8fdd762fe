/* Lowering with AVX2 and F16C where the CPU has them: several times as fast as the
 * portable way, which would otherwise take longer than reading the weights.
 *
 * VCVTPS2PH rounds to nearest even whatever the rounding mode says, gives infinity for
 * what is too large and keeps the top of a NaN's payload, made quiet: the very bits of
 * the portable way, which the tests compare value by value.
 *
 * Nearly no block of real weights holds a value that is lost. Its smallest and largest
 * magnitude show that, so only the other blocks are counted value by value. */
#include <immintrin.h>
#include <stdbool.h>
#include <string.h>

#include "half_internal.h"

#define FAST  __attribute__((target("avx2,f16c")))
#define MAG32 0x7fffffffu
#define INF32 0x7f800000u
/* The smallest magnitude that rounds to infinity, and the largest that rounds to zero. */
#define OVER_F16   0x477ff000u
#define UNDER_F16  0x33000000u
#define OVER_BF16  0x7f7f8000u
#define UNDER_BF16 0x00008000u
#define BLOCK      512
#define LANES      8

/* Every CPU with AVX2 has F16C, which not every compiler can ask for by name. */
static bool have_fast(void)
{
  return __builtin_cpu_supports("avx2");
}

/* Magnitudes of a block, per lane: the largest, and the smallest but zero, less one. */
struct range {
  __m256i max, min;
};

FAST static inline __m256i load(const uint8_t *p)
{
  return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

FAST static inline void widen(struct range *r, __m256i f)
{
  __m256i mag = _mm256_and_si256(f, _mm256_set1_epi32((int)MAG32));

  r->max = _mm256_max_epu32(r->max, mag);
  r->min = _mm256_min_epu32(r->min, _mm256_add_epi32(mag, _mm256_set1_epi32(-1)));
}

FAST static uint32_t sum_of(__m256i v)
{
  uint32_t lanes[LANES], sum = 0;

  memcpy(lanes, &v, sizeof lanes);
  for (int i = 0; i < LANES; i++)
    sum += lanes[i];
  return sum;
}

FAST static uint32_t most_of(__m256i v)
{
  uint32_t lanes[LANES], most = 0;

  memcpy(lanes, &v, sizeof lanes);
  for (int i = 0; i < LANES; i++)
    most = lanes[i] > most ? lanes[i] : most;
  return most;
}

/* Magnitudes are positive as signed numbers, so the signed comparison will do; a lane
 * that compares true is -1. */
FAST static void count_each(const uint8_t *src, uint32_t over, uint32_t under,
                            struct oc_half_tally *t)
{
  const __m256i zero = _mm256_setzero_si256(), inf = _mm256_set1_epi32((int)INF32);
  const __m256i below_over = _mm256_set1_epi32((int)over - 1);
  const __m256i above_under = _mm256_set1_epi32((int)under + 1);
  __m256i overs = zero, unders = zero, max = zero;

  for (size_t i = 0; i < BLOCK; i += LANES) {
    __m256i mag = _mm256_and_si256(load(src + 4 * i), _mm256_set1_epi32((int)MAG32));
    mag = _mm256_and_si256(mag, _mm256_cmpgt_epi32(inf, mag)); /* finite or zero */
    __m256i tiny = _mm256_and_si256(_mm256_cmpgt_epi32(above_under, mag),
                                    _mm256_cmpgt_epi32(mag, zero));
    overs = _mm256_sub_epi32(overs, _mm256_cmpgt_epi32(mag, below_over));
    unders = _mm256_sub_epi32(unders, tiny);
    max = _mm256_max_epi32(max, mag);
  }
  t->overflow += sum_of(overs);
  t->underflow += sum_of(unders);
  uint32_t most = most_of(max);
  t->max = most > t->max ? most : t->max;
}

FAST static void add_up(const struct range *r, const uint8_t *src, uint32_t over,
                        uint32_t under, struct oc_half_tally *t)
{
  uint32_t high = most_of(r->max);
  uint32_t low = ~most_of(_mm256_xor_si256(r->min, _mm256_set1_epi32(-1)));

  if (high >= over || low < under)
    count_each(src, over, under, t);
  else
    t->max = high > t->max ? high : t->max;
}

FAST size_t oc_half_fast_f16(const uint8_t *src, uint8_t *dst, size_t n,
                             struct oc_half_tally *t)
{
  size_t done = 0;

  while (n - done >= BLOCK && have_fast()) {
    const uint8_t *from = src + 4 * done;
    uint8_t *to = dst + 2 * done;
    struct range r = { _mm256_setzero_si256(), _mm256_set1_epi32(-1) };
    for (size_t i = 0; i < BLOCK; i += LANES) {
      __m256i f = load(from + 4 * i);
      __m128i h = _mm256_cvtps_ph(_mm256_castsi256_ps(f), _MM_FROUND_TO_NEAREST_INT);
      _mm_storeu_si128((__m128i *)(void *)(to + 2 * i), h);
      widen(&r, f);
    }
    add_up(&r, from, OVER_F16, UNDER_F16, t);
    done += BLOCK;
  }
  return done;
}

/* Results in the low halves of the lanes. */
FAST static inline __m256i to_bf16(__m256i f)
{
  __m256i mag = _mm256_and_si256(f, _mm256_set1_epi32((int)MAG32));
  __m256i odd = _mm256_and_si256(_mm256_srli_epi32(f, 16), _mm256_set1_epi32(1));
  __m256i half = _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff));
  __m256i rounded = _mm256_srli_epi32(_mm256_add_epi32(f, half), 16);
  __m256i quiet = _mm256_or_si256(_mm256_srli_epi32(f, 16), _mm256_set1_epi32(0x40));
  __m256i nan = _mm256_cmpgt_epi32(mag, _mm256_set1_epi32((int)INF32));

  return _mm256_blendv_epi8(rounded, quiet, nan);
}

FAST size_t oc_half_fast_bf16(const uint8_t *src, uint8_t *dst, size_t n,
                              struct oc_half_tally *t)
{
  size_t done = 0;

  while (n - done >= BLOCK && have_fast()) {
    const uint8_t *from = src + 4 * done;
    uint8_t *to = dst + 2 * done;
    struct range r = { _mm256_setzero_si256(), _mm256_set1_epi32(-1) };
    for (size_t i = 0; i < BLOCK; i += 2 * LANES) {
      __m256i lo = load(from + 4 * i);
      __m256i hi = load(from + 4 * (i + LANES));
      /* Packing works in halves of registers; the permutation puts them in order. */
      __m256i both = _mm256_packus_epi32(to_bf16(lo), to_bf16(hi));
      _mm256_storeu_si256((__m256i *)(void *)(to + 2 * i),
                          _mm256_permute4x64_epi64(both, 0xd8));
      widen(&r, lo);
      widen(&r, hi);
    }
    add_up(&r, from, OVER_BF16, UNDER_BF16, t);
    done += BLOCK;
  }
  return done;
}
