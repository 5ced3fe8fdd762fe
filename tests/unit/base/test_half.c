/* Conversions, over every half there is. The expected value is computed with ldexp from
 * the definition of the format, and the rounding edge with the exact mean of neighbours.
 */
#include <check.h>
#include <endian.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"

/* Check writes a line to its parent for every ck_assert: too slow for 65536 rounds. */
#define EXPECT(condition, ...)                                                           \
  do {                                                                                   \
    if (!(condition))                                                                    \
      ck_abort_msg(__VA_ARGS__);                                                         \
  } while (0)

static float as_float(uint32_t bits)
{
  float f;
  memcpy(&f, &bits, 4);
  return f;
}

static uint32_t as_bits(float f)
{
  uint32_t bits;
  memcpy(&bits, &f, 4);
  return bits;
}

static bool is_nan16(uint16_t h)
{
  return (h & 0x7fff) > 0x7c00;
}

static double value16(uint16_t h)
{
  int e = h >> 10 & 31;
  int m = h & 1023;
  double v = e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);

  return h & 0x8000 ? -v : v;
}

START_TEST(every_half_to_float_and_back)
{
  for (uint32_t i = 0; i < 65536; i++) {
    uint16_t h = (uint16_t)i;
    uint32_t f = oc_f16_to_f32(h);
    if (is_nan16(h)) {
      EXPECT(isnan(as_float(f)) && (f >> 31) == (i >> 15) && (f & 0x400000), "%04x", i);
      EXPECT(oc_f32_to_f16(f) == (h | 0x200), "%04x", i);
      continue;
    }
    if ((h & 0x7fff) == 0x7c00)
      EXPECT(f == ((i << 16 & 0x80000000u) | 0x7f800000u), "%04x", i);
    else
      EXPECT((double)as_float(f) == value16(h) && f >> 31 == i >> 15, "%04x", i);
    EXPECT(oc_f32_to_f16(f) == h, "%04x became %04x", i, oc_f32_to_f16(f));
  }
}
END_TEST

/* Between each finite half and the next one: the middle goes to the even one, one ulp of
 * float32 beside it to the nearer one. The last step is from 65504 to "65536", infinity.
 */
START_TEST(every_rounding_edge_of_half)
{
  for (uint32_t sign = 0; sign <= 0x8000; sign += 0x8000) {
    for (uint32_t i = 0; i < 0x7c00; i++) {
      double low = value16((uint16_t)i);
      double high = i == 0x7bff ? 65536 : value16((uint16_t)(i + 1));
      float middle = (float)((low + high) / 2);
      EXPECT((double)middle == (low + high) / 2, "%04x", i);
      uint32_t m = as_bits(middle);
      uint32_t s = sign << 16;
      uint16_t even = (uint16_t)(i & 1 ? i + 1 : i);
      EXPECT(oc_f32_to_f16(m | s) == (even | sign), "middle above %04x", i);
      EXPECT(oc_f32_to_f16((m - 1) | s) == (i | sign), "below middle above %04x", i);
      EXPECT(oc_f32_to_f16((m + 1) | s) == ((i + 1) | sign), "over middle above %04x", i);
    }
  }
}
END_TEST

START_TEST(every_bfloat_and_its_rounding_edge)
{
  for (uint32_t i = 0; i < 65536; i++) {
    uint16_t b = (uint16_t)i;
    uint32_t f = oc_bf16_to_f32(b);
    if ((b & 0x7fff) > 0x7f80) {
      EXPECT(f == (i << 16 | 0x400000), "%04x", i);
      EXPECT(oc_f32_to_bf16(f) == (b | 0x40), "%04x", i);
      continue;
    }
    EXPECT(f == (i << 16), "%04x", i);
    EXPECT(oc_f32_to_bf16(f) == (b), "%04x", i);
    if ((b & 0x7fff) == 0x7f80)
      continue;
    EXPECT(oc_f32_to_bf16(f | 0x8000) == ((b & 1) ? b + 1u : b), "%04x", i);
    EXPECT(oc_f32_to_bf16(f | 0x7fff) == (b), "%04x", i);
    EXPECT(oc_f32_to_bf16(f | 0x8001) == (b + 1u), "%04x", i);
  }
}
END_TEST

static const struct {
  uint32_t f;
  uint16_t half;
  uint16_t bfloat;
} edges[] = {
  { 0x00000000, 0x0000, 0x0000 }, { 0x80000000, 0x8000, 0x8000 },
  { 0x00000001, 0x0000, 0x0000 }, /* smallest subnormal float */
  { 0x33000000, 0x0000, 0x3300 }, /* 2^-25: half of the smallest half, tie to zero */
  { 0x33000001, 0x0001, 0x3300 }, { 0x477fefff, 0x7bff, 0x4780 },
  { 0x477ff000, 0x7c00, 0x4780 }, { 0x7f7fffff, 0x7c00, 0x7f80 },
  { 0xff7fffff, 0xfc00, 0xff80 }, { 0x7f800000, 0x7c00, 0x7f80 },
  { 0x7f800001, 0x7e00, 0x7fc0 }, /* a NaN whose payload would vanish */
  { 0xffffffff, 0xffff, 0xffff }, { 0x3f800000, 0x3c00, 0x3f80 },
};

START_TEST(edge)
{
  ck_assert_uint_eq(oc_f32_to_f16(edges[_i].f), edges[_i].half);
  ck_assert_uint_eq(oc_f32_to_bf16(edges[_i].f), edges[_i].bfloat);
}
END_TEST

START_TEST(arrays_unaligned_with_counts)
{
  static const float values[] = { 1.0f,  1e6f, -1e6f,    1e-9f,
                                  -0.0f, 0.0f, 65504.0f, INFINITY };
  unsigned char from[1 + sizeof(values)];
  unsigned char to[1 + 16];
  unsigned char back[1 + sizeof(values)];
  struct oc_lowering stat = { .overflow = 10 };

  memcpy(from + 1, values, sizeof(values));
  oc_convert_f32_to_f16(from + 1, to + 1, 8, &stat);
  ck_assert_uint_eq(stat.overflow, 12);
  ck_assert_uint_eq(stat.underflow, 1);
  ck_assert(stat.max_abs == 1e6);
  for (size_t i = 0; i < 8; i++) {
    uint16_t want = oc_f32_to_f16(as_bits(values[i]));
    ck_assert_uint_eq(to[1 + 2 * i] | to[2 + 2 * i] << 8, want);
  }
  oc_convert_f16_to_f32(to + 1, back + 1, 8);
  float f;
  memcpy(&f, back + 1 + 24, 4);
  ck_assert(f == 65504.0f);

  struct oc_lowering none = { 0 };
  oc_convert_f32_to_bf16(from + 1, to + 1, 8, &none);
  ck_assert_uint_eq(none.overflow + none.underflow, 0);
  oc_convert_bf16_to_f32(to + 1, back + 1, 8);
  memcpy(&f, back + 1, 4);
  ck_assert(f == 1.0f);
  oc_convert_f32_to_f16(from, to, 0, NULL);
}
END_TEST

/* Whole arrays, long enough for whatever a CPU has for them, against one value at a time:
 * a walk over all exponents with mantissas near every edge, then values at random. */
static uint32_t sample(uint32_t i, uint32_t *random)
{
  if (i < 1u << 16)
    return i << 16 | (i * 2654435761u & 3u) * 0x5555u;
  *random = *random * 1664525u + 1013904223u;
  return *random;
}

START_TEST(arrays_as_single_values)
{
  enum { N = (1 << 18) + 77 };
  uint32_t *from = malloc(4 * N), random = 7;
  uint16_t *half = malloc(2 * N), *bfloat = malloc(2 * N);
  struct oc_lowering stat16 = { 0 }, stat_b = { 0 };
  uint64_t over16 = 0, under16 = 0, over_b = 0, under_b = 0;

  for (uint32_t i = 0; i < N; i++)
    from[i] = htole32(sample(i, &random));
  oc_convert_f32_to_f16(from, half, N, &stat16);
  oc_convert_f32_to_bf16(from, bfloat, N, &stat_b);
  for (uint32_t i = 0; i < N; i++) {
    uint32_t f = le32toh(from[i]), mag = f & 0x7fffffff;
    uint16_t h = oc_f32_to_f16(f), b = oc_f32_to_bf16(f);
    EXPECT(le16toh(half[i]) == h, "%08x became %04x", f, le16toh(half[i]));
    EXPECT(le16toh(bfloat[i]) == b, "%08x became %04x", f, le16toh(bfloat[i]));
    over16 += mag < 0x7f800000 && (h & 0x7fff) == 0x7c00;
    over_b += mag < 0x7f800000 && (b & 0x7fff) == 0x7f80;
    under16 += mag && !(h & 0x7fff);
    under_b += mag && !(b & 0x7fff);
  }
  ck_assert_uint_eq(stat16.overflow, over16);
  ck_assert_uint_eq(stat16.underflow, under16);
  ck_assert_uint_eq(stat_b.overflow, over_b);
  ck_assert_uint_eq(stat_b.underflow, under_b);
  ck_assert(over16 > 0 && under16 > 0 && over_b > 0 && under_b > 0);
  ck_assert(stat16.max_abs == stat_b.max_abs && stat16.max_abs > 3e38);
  free(from);
  free(half);
  free(bfloat);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("half");
  TCase *t = tcase_create("half");

  tcase_set_timeout(t, 60);
  tcase_add_test(t, every_half_to_float_and_back);
  tcase_add_test(t, every_rounding_edge_of_half);
  tcase_add_test(t, every_bfloat_and_its_rounding_edge);
  tcase_add_loop_test(t, edge, 0, sizeof(edges) / sizeof(edges[0]));
  tcase_add_test(t, arrays_unaligned_with_counts);
  tcase_add_test(t, arrays_as_single_values);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
