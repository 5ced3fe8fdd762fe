/* Text: columns, eliding, places, sentences. */
#include <string.h>

#include "base/cleanup.h"

#include "suites.h"

static struct oc_arena arena;
static struct oc_buf out;

static void setup(void)
{
  oc_arena_init(&arena, 0);
  oc_buf_init(&out, 1 << 20);
}

static void teardown(void)
{
  oc_buf_clear(&out);
  oc_arena_clear(&arena);
}

static void expect(const char *text)
{
  ck_assert_str_eq(oc_buf_str(&out), text);
}

START_TEST(table)
{
  struct oc_style style = { .width = 80, .places = &sample_places };

  ck_assert_int_eq(oc_render_table(sample_report(&arena), &style, &out), 0);
  expect(
      "OP                            TYPE    ORIG  WANT  GETS  RULE\n"
      "/b0/conv/Conv                 Conv2D  f32   f16   f16   mode fp16 (default)\n"
      "/b0/act/Relu                  Relu    f32   f32   f32   keep.cfg:1 OpType::Relu\n"
      "/a/very/...ghty/columns/Sign  Sign    f32   f32   f32   AI CPU, with the "
      "mode...\n");
  for (const char *p = oc_buf_str(&out); *p; p = strchr(p, '\n') + 1)
    ck_assert_uint_le(strcspn(p, "\n"), 80);
}
END_TEST

START_TEST(wide_table)
{
  struct oc_style style = { .width = 80, .wide = true, .places = &sample_places };

  ck_assert_int_eq(oc_render_table(sample_report(&arena), &style, &out), 0);
  ck_assert_ptr_nonnull(strstr(oc_buf_str(&out), "fit/into/eighty/columns/Sign "));
  ck_assert_ptr_nonnull(strstr(oc_buf_str(&out), "\nimages "));
  ck_assert_ptr_nonnull(strstr(oc_buf_str(&out), "\n    in x: f32 -> f16\n"));
  ck_assert_ptr_null(strstr(oc_buf_str(&out), "..."));
}
END_TEST

START_TEST(lists)
{
  struct oc_style style = { .width = 80, .places = &sample_places };

  ck_assert_int_eq(oc_render_lists(sample_report(&arena), &style, &out), 0);
  expect("list lines:\n"
         "  keep.cfg:1      used          1 op   OpType::Relu  (keeps 1, +2 casts, "
         "-1.0 KB, "
         "1 off the AI Core)\n"
         "  keep.cfg:3      unmatched     0 ops  /b0/conv/Con\n");
}
END_TEST

START_TEST(lists_without_places)
{
  struct oc_style style = { .width = 80 };

  ck_assert_int_eq(oc_render_lists(sample_report(&arena), &style, &out), 0);
  ck_assert_ptr_nonnull(strstr(oc_buf_str(&out), "  --keep_dtype 2    unmatched"));
}
END_TEST

START_TEST(summary)
{
  ck_assert_int_eq(oc_render_summary(sample_report(&arena), &out), 0);
  expect("summary: 2 f32, 1 f16 (1 kept, 1 on AI CPU, 0 without an engine); 2 casts "
         "added, 0 "
         "removed; 1 of 2 list lines unused\n");
}
END_TEST

START_TEST(headline)
{
  ck_assert_int_eq(oc_render_headline(sample_report(&arena), &out), 0);
  expect("precision mode: fp16 (default), Ascend310P3, table ascend310p\n"
         "inputs and outputs: float32; 1 of 3 ops compute in float16\n");
}
END_TEST

START_TEST(finding)
{
  struct oc_style style = { .places = &sample_places };
  struct oc_findings fs;
  struct oc_finding *f;

  oc_findings_init(&fs, &arena);
  f = oc_finding_add(&fs, OC_FINDING_FLAG_UNKNOWN, "keep_dtpye", "hint",
                     "did you mean '--keep_dtype'", NULL);
  f->flag = "keep_dtype";
  f->entry = 2;
  f = oc_finding_add(&fs, OC_FINDING_FLAGS_BOTH_MODES, "precision_mode_v2", NULL);
  f = oc_finding_add(&fs, OC_FINDING_FLAG_UNKNOWN, "a\033[31m", "hint", "", NULL);
  ck_assert_int_eq(oc_render_findings(&fs, &style, &out), 0);
  expect("error: keep.cfg:3: '--keep_dtpye' is not a flag of atc or omcc [flag-unknown]\n"
         "  fix: did you mean '--keep_dtype'\n"
         "error: '--precision_mode' and '--precision_mode_v2' cannot be given together "
         "(E10056) [flags-both-modes]\n"
         "  fix: keep one of them; they are two spellings of one setting\n"
         "error: '--a?[31m' is not a flag of atc or omcc [flag-unknown]\n");
}
END_TEST

START_TEST(color)
{
  struct oc_style style = { .color = true };
  struct oc_findings fs;

  oc_findings_init(&fs, &arena);
  oc_finding_add(&fs, OC_FINDING_FLAG_NO_EFFECT, "log", NULL);
  ck_assert_int_eq(oc_render_findings(&fs, &style, &out), 0);
  ck_assert_ptr_nonnull(strstr(oc_buf_str(&out), "\033[33mwarning\033[0m: "));
}
END_TEST

/* In Chinese no argument that is prose stays English; names and values stay as they are.
 */
START_TEST(chinese_arguments)
{
  struct oc_findings fs;
  struct oc_style style = { .zh = true };

  oc_findings_init(&fs, &arena);
  oc_finding_add(
      &fs, OC_FINDING_NO_ENGINE, "/conv", "type", "Conv2D", "soc", "Ascend310P3",
      "tensor", "x", "dtype", "float32", "offered", "float16", "aicpu", "has no such op",
      "fix",
      "the keep_dtype line 'OpType::Conv2D' asks for it; without it the op runs "
      "on the AI Core",
      NULL);
  oc_finding_add(&fs, OC_FINDING_AICPU_FALLBACK, "c", "type", "Cast", "soc", "S",
                 "tensor", "x", "dtype", "conversion from double to bool", "fix",
                 "no mode helps: change the dtype in the model, or choose another target",
                 NULL);
  oc_finding_add(&fs, OC_FINDING_AIPP_SIZE, "x", "why",
                 "60 x 64 come out, the model takes 64 x 65", NULL);
  ck_assert_int_eq(oc_render_findings(&fs, &style, &out), 0);
  const char *text = oc_buf_str(&out);
  static const char *const wanted[] = { "没有该算子", "得到 60 x 64，而模型需要 64 x 65",
                                        "keep_dtype 的行 'OpType::Conv2D' 要求的",
                                        "从 double 到 bool 的转换",
                                        "任何模式都无济于事" };
  static const char *const unwanted[] = { "has no such", "come out", "asks for it",
                                          "conversion from", "no mode helps" };
  for (size_t i = 0; i < OC_COUNT(wanted); i++) {
    ck_assert_msg(strstr(text, wanted[i]) != NULL, "%s\n%s", wanted[i], text);
    ck_assert_msg(strstr(text, unwanted[i]) == NULL, "%s\n%s", unwanted[i], text);
  }
}
END_TEST

START_TEST(unknown_rule)
{
  Omcc__V1__Reason reason = OMCC__V1__REASON__INIT;

  reason.rule = (char *)"of-a-newer-daemon";
  ck_assert_int_eq(oc_render_reason(sample_report(&arena), &reason, NULL, &out), 0);
  expect("of-a-newer-daemon");
}
END_TEST

struct row {
  uint64_t value;
  const char *text;
};
static const struct row sizes[] = {
  { 0, "0 B" },
  { 999, "999 B" },
  { 1000, "1.0 KB" },
  { 51200000, "51.2 MB" },
  { 2500000000u, "2.5 GB" },
};
static const struct row times[] = {
  { 0, "0.00 s" },     { 40, "0.04 s" },         { 9990, "9.99 s" },
  { 12345, "12.3 s" }, { 372000, "6 min 12 s" }, { 7260000, "2 h 1 min" },
};

START_TEST(size)
{
  oc_render_size(sizes[_i].value, &out);
  expect(sizes[_i].text);
}
END_TEST

START_TEST(duration)
{
  oc_render_duration(times[_i].value, &out);
  expect(times[_i].text);
}
END_TEST

TCase *text_cases(void)
{
  TCase *t = tcase_create("text");

  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, table);
  tcase_add_test(t, wide_table);
  tcase_add_test(t, lists);
  tcase_add_test(t, lists_without_places);
  tcase_add_test(t, summary);
  tcase_add_test(t, headline);
  tcase_add_test(t, finding);
  tcase_add_test(t, color);
  tcase_add_test(t, chinese_arguments);
  tcase_add_test(t, unknown_rule);
  tcase_add_loop_test(t, size, 0, sizeof(sizes) / sizeof(sizes[0]));
  tcase_add_loop_test(t, duration, 0, sizeof(times) / sizeof(times[0]));
  return t;
}
