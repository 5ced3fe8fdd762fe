/* Types: names, both numberings, widths. */
#include <check.h>
#include <stdlib.h>

#include "base/dtype.h"

#define N(a) (int)(sizeof(a) / sizeof((a)[0]))

START_TEST(names_and_numbers_go_both_ways)
{
  enum oc_dtype d = (enum oc_dtype)_i;
  enum oc_dtype back = OC_DT_COUNT;

  ck_assert(oc_dtype_parse_short(oc_str_of(oc_dtype_short(d)), &back));
  ck_assert_int_eq(back, d);
  ck_assert_int_eq(oc_dtype_from_runtime(oc_dtype_runtime(d)), d);
  if (d != OC_DT_UNDEFINED) {
    ck_assert(oc_dtype_parse(oc_str_of(oc_dtype_name(d)), &back));
    ck_assert_int_eq(back, d);
  }
}
END_TEST

static const struct {
  const char *word;
  int want; /* -1: refused */
} words[] = {
  { "float", OC_DT_F32 },
  { "float32", OC_DT_F32 },
  { "float16", OC_DT_F16 },
  { "double", OC_DT_F64 },
  { "float64", OC_DT_F64 },
  { "bfloat16", OC_DT_BF16 },
  { "hifloat8", OC_DT_HIF8 },
  { "float8_e4m3fn", OC_DT_F8E4M3 },
  { "bool", OC_DT_BOOL },
  { "undefined", -1 },
  { "Float16", -1 },
  { "fp16", -1 },
  { "", -1 },
  { "float1", -1 },
};

START_TEST(word)
{
  enum oc_dtype d = OC_DT_COUNT;
  bool ok = oc_dtype_parse(oc_str_of(words[_i].word), &d);

  ck_assert_msg(ok == (words[_i].want >= 0), "'%s'", words[_i].word);
  ck_assert_int_eq(d, ok ? words[_i].want : OC_DT_COUNT);
}
END_TEST

/* A few numbers of the C API, written down by hand. */
static const struct {
  enum oc_dtype d;
  int runtime;
  unsigned bits;
} facts[] = {
  { OC_DT_UNDEFINED, 28, 0 }, { OC_DT_F32, 0, 32 },    { OC_DT_F16, 1, 16 },
  { OC_DT_I8, 2, 8 },         { OC_DT_I32, 3, 32 },    { OC_DT_U8, 4, 8 },
  { OC_DT_I16, 6, 16 },       { OC_DT_U16, 7, 16 },    { OC_DT_U32, 8, 32 },
  { OC_DT_I64, 9, 64 },       { OC_DT_U64, 10, 64 },   { OC_DT_F64, 11, 64 },
  { OC_DT_BOOL, 12, 8 },      { OC_DT_STRING, 13, 0 }, { OC_DT_BF16, 27, 16 },
  { OC_DT_I4, 29, 4 },        { OC_DT_U1, 30, 1 },     { OC_DT_C32, 33, 32 },
  { OC_DT_C128, 17, 128 },
};

START_TEST(fact)
{
  ck_assert_int_eq(oc_dtype_runtime(facts[_i].d), facts[_i].runtime);
  ck_assert_uint_eq(oc_dtype_bits(facts[_i].d), facts[_i].bits);
}
END_TEST

static const struct {
  enum oc_dtype d;
  uint64_t n;
  bool ok;
  uint64_t want;
} sizes[] = {
  { OC_DT_F32, 0, true, 0 },
  { OC_DT_F32, 3, true, 12 },
  { OC_DT_I4, 3, true, 2 },
  { OC_DT_U1, 9, true, 2 },
  { OC_DT_I2, 4, true, 1 },
  { OC_DT_F6E3M2, 3, true, 3 },
  { OC_DT_F32, UINT64_MAX / 4, true, UINT64_MAX - 3 },
  { OC_DT_F32, UINT64_MAX / 4 + 1, false, 0 },
  { OC_DT_U1, UINT64_MAX, true, UINT64_MAX / 8 + 1 },
  { OC_DT_STRING, 1, false, 0 },
  { OC_DT_UNDEFINED, 1, false, 0 },
};

START_TEST(size)
{
  uint64_t bytes = 99;

  ck_assert_msg(oc_dtype_bytes(sizes[_i].d, sizes[_i].n, &bytes) == sizes[_i].ok,
                "row %d", _i);
  ck_assert_uint_eq(bytes, sizes[_i].ok ? sizes[_i].want : 99);
}
END_TEST

START_TEST(classes)
{
  int float3 = 0;
  int both = 0;

  for (int i = 0; i < OC_DT_COUNT; i++) {
    enum oc_dtype d = (enum oc_dtype)i;
    float3 += oc_dtype_is_float3(d);
    both += oc_dtype_is_float(d) + oc_dtype_is_int(d) + oc_dtype_is_complex(d) > 1;
  }
  ck_assert_int_eq(float3, 3);
  ck_assert_int_eq(both, 0);
  ck_assert(oc_dtype_is_float(OC_DT_HIF8) && !oc_dtype_is_float(OC_DT_C64));
  ck_assert(oc_dtype_is_int(OC_DT_I4) && !oc_dtype_is_int(OC_DT_BOOL));
  ck_assert_str_eq(oc_dtype_name((enum oc_dtype)1000), "undefined");
  ck_assert_int_eq(oc_dtype_from_runtime(5), OC_DT_UNDEFINED);
  ck_assert_int_eq(oc_dtype_from_runtime(-1), OC_DT_UNDEFINED);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("dtype");
  TCase *t = tcase_create("dtype");

  tcase_add_loop_test(t, names_and_numbers_go_both_ways, 0, OC_DT_COUNT);
  tcase_add_loop_test(t, word, 0, N(words));
  tcase_add_loop_test(t, fact, 0, N(facts));
  tcase_add_loop_test(t, size, 0, N(sizes));
  tcase_add_test(t, classes);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
