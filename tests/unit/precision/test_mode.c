/* The two mode options. */
#include <string.h>

#include "support.h"

static const struct {
  const char *v1, *v2, *mixlist;
  int mode; /* -1: refused */
  const char *code;
} rows[] = {
  { "", "", NULL, OC_MODE_FORCE_FP16, "" },
  { NULL, NULL, NULL, OC_MODE_FORCE_FP16, "" },
  { "force_fp16", "", NULL, OC_MODE_FORCE_FP16, "" },
  { "", "fp16", NULL, OC_MODE_FORCE_FP16, "" },
  { "allow_mix_precision", "", NULL, OC_MODE_MIX_FP16, "" },
  { "allow_mix_precision_fp16", "", "m.json", OC_MODE_MIX_FP16, "" },
  { "", "mixed_float16", "m.json", OC_MODE_MIX_FP16, "" },
  { "must_keep_origin_dtype", "", NULL, OC_MODE_ORIGIN, "" },
  { "", "origin", NULL, OC_MODE_ORIGIN, "" },
  { "force_fp32", "", NULL, OC_MODE_FORCE_FP32, "" },
  { "cube_fp16in_fp32out", "", NULL, OC_MODE_FORCE_FP32, "" },
  { "", "cube_fp16in_fp32out", NULL, OC_MODE_FORCE_FP32, "" },
  { "allow_fp32_to_bf16", "", NULL, OC_MODE_FP32_TO_BF16, "" },
  { "allow_mix_precision_bf16", "", NULL, OC_MODE_MIX_BF16, "" },
  { "", "mixed_bfloat16", "m.json", OC_MODE_MIX_BF16, "" },
  { "", "cube_hif8", NULL, OC_MODE_CUBE_HIF8, "" },
  { "", "mixed_hif8", "m.json", OC_MODE_MIXED_HIF8, "" },
  { "allow_fp32_to_fp16", "", NULL, OC_MODE_FP32_TO_FP16, "" },
  { "fp16", "", NULL, -1, "E10001" },
  { "", "force_fp16", NULL, -1, "E10001" },
  { "FORCE_FP16", "", NULL, -1, "E10001" },
  { " force_fp16", "", NULL, -1, "E10001" },
  { "force_lowerprecision", "", NULL, -1, "E10001" },
  { "allow_fp32_to_lowprecision", "", NULL, -1, "E10001" },
  { "force_fp16", "fp16", NULL, -1, "E10056" },
  { "bad", "fp16", NULL, -1, "E10001" },
  { "", "", "m.json", -1, "E10001" },
  { "", "fp16", "m.json", -1, "E10001" },
  { "", "cube_hif8", "m.json", -1, "E10001" },
  { "allow_fp32_to_fp16", "", "m.json", -1, "E10001" },
};

START_TEST(options)
{
  struct oc_arena a;
  struct oc_findings fs;
  struct oc_mode_choice c = { 0 };

  oc_arena_init(&a, 0);
  oc_findings_init(&fs, &a);
  int rc = oc_precision_mode(rows[_i].v1, rows[_i].v2, rows[_i].mixlist, &fs, &c);
  if (rows[_i].mode >= 0) {
    ck_assert_int_eq(rc, 0);
    ck_assert_int_eq((int)c.mode, rows[_i].mode);
    ck_assert_uint_eq(fs.n, 0);
    ck_assert(c.given == (rows[_i].v1 && (*rows[_i].v1 || *rows[_i].v2)));
  } else {
    ck_assert_int_eq(rc, OC_E_ARG);
    ck_assert_str_eq(oc_finding_info(fs.items[0].id)->vendor_code, rows[_i].code);
  }
  oc_arena_clear(&a);
}
END_TEST

START_TEST(ids_of_what_does_not_go_together)
{
  struct oc_arena a;
  struct oc_findings fs;
  struct oc_mode_choice c;

  oc_arena_init(&a, 0);
  oc_findings_init(&fs, &a);
  oc_precision_mode("force_fp16", "fp16", NULL, &fs, &c);
  oc_precision_mode("force_fp16", NULL, "m.json", &fs, &c);
  ck_assert_uint_eq(fs.n, 2);
  ck_assert_int_eq(fs.items[0].id, OC_FINDING_MODES_BOTH);
  ck_assert_int_eq(fs.items[1].id, OC_FINDING_MIXLIST_MODE);
  ck_assert_str_eq(finding_arg(&fs.items[1], "mode"), "force_fp16");
  oc_arena_clear(&a);
}
END_TEST

START_TEST(advice_names_the_other_option)
{
  struct oc_arena a;
  struct oc_findings fs;
  struct oc_mode_choice c;

  oc_arena_init(&a, 0);
  oc_findings_init(&fs, &a);
  oc_precision_mode("fp16", NULL, NULL, &fs, &c);
  ck_assert_str_eq(finding_arg(&fs.items[0], "fix"), "write --precision_mode_v2=fp16");
  oc_precision_mode(NULL, "mixed_flaot16", NULL, &fs, &c);
  ck_assert_str_eq(finding_arg(&fs.items[1], "fix"),
                   "write --precision_mode_v2=mixed_float16");
  oc_arena_clear(&a);
}
END_TEST

START_TEST(bfloat16_needs_the_chip)
{
  struct bench b;

  bench_init(&b, "Ascend310P3", NULL, "mixed_bfloat16");
  bench_output(&b, bench_unary(&b, "r", "Relu", bench_data(&b, "in", OC_DT_F32)));
  bench_resolve(&b);
  ck_assert(!b.result->resolved);
  ck_assert_str_eq(
      oc_finding_info(bench_finding(&b, OC_FINDING_MODE_NEEDS_BF16)->id)->vendor_code,
      "E20101");
  bench_clear(&b);
}
END_TEST

START_TEST(a_list_without_a_mode_says_the_default)
{
  struct bench b;

  bench_init(&b, "Ascend310P3", NULL, NULL);
  bench_output(&b, bench_unary(&b, "r", "Relu", bench_data(&b, "in", OC_DT_F32)));
  bench_keep(&b, "r\n");
  bench_resolve(&b);
  ck_assert_ptr_nonnull(bench_finding(&b, OC_FINDING_MODE_DEFAULT));
  bench_clear(&b);
}
END_TEST

TCase *mode_cases(void)
{
  TCase *c = tcase_create("mode");

  tcase_add_loop_test(c, options, 0, (int)OC_COUNT(rows));
  tcase_add_test(c, ids_of_what_does_not_go_together);
  tcase_add_test(c, advice_names_the_other_option);
  tcase_add_test(c, bfloat16_needs_the_chip);
  tcase_add_test(c, a_list_without_a_mode_says_the_default);
  return c;
}
