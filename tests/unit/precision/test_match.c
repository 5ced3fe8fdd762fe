/* Matchers and promotion alone. */
#include <string.h>

#include "precision/precision_internal.h"
#include "support.h"

#define N 8u
static uint16_t room[N];

static struct oc_set all(void)
{
  struct oc_set s = { room, 0 };
  oc_set_all(&s, N);
  return s;
}

static void check(const struct oc_set *s, const char *expected)
{
  char text[64] = "";
  size_t at = 0;

  for (uint32_t i = 0; i < s->n; i++)
    text[at++] = (char)('0' + s->v[i]);
  ck_assert_str_eq(text, expected);
}

enum { F = OC_DT_F32, H = OC_DT_F16, B = OC_DT_BF16, D = OC_DT_F64, I = OC_DT_I8 };
static const uint8_t mixed[N] = { I, H, B, F, D, B, H, F };

START_TEST(rise_takes_the_dtype_or_float32)
{
  struct oc_set s = all();
  ck_assert(oc_match_rise(&s, mixed, OC_DT_F16, OC_DT_UNDEFINED));
  check(&s, "16");
  s = all();
  ck_assert(oc_match_rise(&s, mixed, OC_DT_F16, OC_DT_F16));
  check(&s, "37");
  s = all();
  ck_assert(oc_match_rise(&s, mixed, OC_DT_F64, OC_DT_UNDEFINED));
  check(&s, "4");
  s = all();
  ck_assert(!oc_match_rise(&s, mixed, OC_DT_I16, OC_DT_UNDEFINED));
  check(&s, "01234567");
}
END_TEST

START_TEST(reduce_sorts_by_distance_and_loses_columns)
{
  static const uint8_t c[N] = { H, B, B, I, I, I, I, I };
  struct oc_set s = all();
  /* keys 100001, 100000, and 100000 + 1, which is taken: column 2 is lost */
  ck_assert(oc_match_reduce(&s, c, OC_DT_F32, OC_DT_UNDEFINED));
  check(&s, "10");
  s = all();
  ck_assert(oc_match_reduce(&s, c, OC_DT_F32, OC_DT_BF16));
  check(&s, "0");
  s = all();
  ck_assert(oc_match_reduce(&s, c, OC_DT_BF16, OC_DT_UNDEFINED));
  check(&s, "0");
  s = all();
  ck_assert(!oc_match_reduce(&s, c, OC_DT_F16, OC_DT_UNDEFINED));
  check(&s, "01234567");
}
END_TEST

START_TEST(mix_removes_the_forbidden_even_when_it_fails)
{
  static const uint8_t c[N] = { I, I, F, B, F, B, I, I };
  struct oc_set s = all();
  ck_assert(!oc_match_mix(&s, c, OC_DT_BF16));
  check(&s, "012467");
  s = all();
  ck_assert(oc_match_mix(&s, mixed, OC_DT_UNDEFINED));
  check(&s, "1256");
}
END_TEST

static const struct {
  enum oc_dtype a, b, result;
} pairs[] = {
  { OC_DT_F32, OC_DT_F16, OC_DT_F32 },  { OC_DT_F16, OC_DT_BF16, OC_DT_F32 },
  { OC_DT_F64, OC_DT_BOOL, OC_DT_F64 }, { OC_DT_F16, OC_DT_I64, OC_DT_F16 },
  { OC_DT_BF16, OC_DT_U8, OC_DT_BF16 }, { OC_DT_U8, OC_DT_I8, OC_DT_I16 },
  { OC_DT_BOOL, OC_DT_U8, OC_DT_U8 },   { OC_DT_I32, OC_DT_I64, OC_DT_I64 },
  { OC_DT_U16, OC_DT_F32, 0 },          { OC_DT_U32, OC_DT_C64, OC_DT_C64 },
  { OC_DT_C64, OC_DT_U32, 0 },          { OC_DT_U64, OC_DT_C64, OC_DT_C128 },
  { OC_DT_C32, OC_DT_F16, OC_DT_C32 },  { OC_DT_C32, OC_DT_BF16, OC_DT_C64 },
  { OC_DT_C32, OC_DT_F64, OC_DT_C128 }, { OC_DT_C64, OC_DT_C128, OC_DT_C128 },
  { OC_DT_HIF8, OC_DT_I8, OC_DT_F32 },  { OC_DT_F8E5M2, OC_DT_F16, OC_DT_F32 },
  { OC_DT_STRING, OC_DT_I8, 0 },        { OC_DT_I4, OC_DT_I4, OC_DT_I4 },
  { OC_DT_I4, OC_DT_F32, 0 },           { OC_DT_U16, OC_DT_C128, OC_DT_C128 },
};

START_TEST(promotion_of_two)
{
  ck_assert_msg(oc_promoted(pairs[_i].a, pairs[_i].b) == pairs[_i].result, "%s with %s",
                oc_dtype_name(pairs[_i].a), oc_dtype_name(pairs[_i].b));
}
END_TEST

TCase *match_cases(void)
{
  TCase *c = tcase_create("matchers");

  tcase_add_test(c, rise_takes_the_dtype_or_float32);
  tcase_add_test(c, reduce_sorts_by_distance_and_loses_columns);
  tcase_add_test(c, mix_removes_the_forbidden_even_when_it_fails);
  tcase_add_loop_test(c, promotion_of_two, 0, (int)OC_COUNT(pairs));
  return c;
}
