/* AIPP files: what is taken, and each mistake with its line. */
#include <check.h>
#include <string.h>

#include "lists/aipp.h"
#include "suites.h"

static struct oc_arena arena;
static struct oc_findings findings;

static void setup(void)
{
  oc_arena_init(&arena, 0);
  oc_findings_init(&findings, &arena);
}

static void teardown(void)
{
  oc_arena_clear(&arena);
}

static int parse(const char *text, struct oc_aipp_list *ret)
{
  return oc_aipp_parse(&arena, text, strlen(text), &findings, ret);
}

START_TEST(blocks)
{
  struct oc_aipp_list l = { 0 };

  ck_assert_int_eq(parse("\xef\xbb\xbf# camera\r\n"
                         "aipp_op: {\r\n"
                         "  aipp_mode : static, related_input_rank:1;\r\n"
                         "  input_format: YUV420SP_U8 # NV12\r\n"
                         "  crop: 1 csc_switch: false mean_chn_0: -104\r\n"
                         "  var_reci_chn_0: 3.9e-3f }\r\n"
                         "aipp_op { aipp_mode: dynamic max_src_image_size: 4000000000 }",
                         &l),
                   0);
  ck_assert_uint_eq(findings.n, 0);
  ck_assert_uint_eq(l.n, 2);
  const struct oc_aipp_value *v = l.ops[0].v;
  ck_assert_int_eq(v[OC_AIPP_aipp_mode].i, OC_AIPP_STATIC);
  ck_assert_int_eq(v[OC_AIPP_related_input_rank].i, 1);
  ck_assert_uint_eq(v[OC_AIPP_related_input_rank].line, 3);
  ck_assert_int_eq(v[OC_AIPP_input_format].i, OC_AIPP_YUV420SP_U8);
  ck_assert_int_eq(v[OC_AIPP_crop].i, 1);
  ck_assert_int_eq(v[OC_AIPP_csc_switch].i, 0);
  ck_assert_uint_eq(v[OC_AIPP_csc_switch].line, 5);
  ck_assert_int_eq(v[OC_AIPP_mean_chn_0].i, -104);
  ck_assert_double_eq_tol(v[OC_AIPP_var_reci_chn_0].f, 3.9e-3, 1e-9);
  ck_assert_uint_eq(v[OC_AIPP_resize].line, 0);
  ck_assert_uint_eq(l.ops[1].line, 7);
  ck_assert_int_eq(l.ops[1].v[OC_AIPP_max_src_image_size].i, 4000000000);
}
END_TEST

static const struct {
  const char *text, *finding, *subject;
  uint32_t line;
} wrong[] = {
  { "", "aipp-syntax", "the end of the file", 1 },
  { "\nmulti_shape_op {}", "aipp-syntax", "multi_shape_op", 2 },
  { "aipp_op\n(", "aipp-syntax", "aipp_op", 2 },
  { "aipp_op {\naipp_mode static }", "aipp-syntax", "aipp_mode", 2 },
  { "aipp_op { crop: }", "aipp-syntax", "crop", 1 },
  { "aipp_op { crop: true\n", "aipp-syntax", "the end of the file", 2 },
  { "aipp_op { crop: true } }", "aipp-syntax", "}", 1 },
  { "aipp_op {\n src_image_w: 3 }", "aipp-field", "src_image_w", 2 },
  { "aipp_op { aipp_mode: Static }", "aipp-value", "aipp_mode", 1 },
  { "aipp_op { aipp_mode: undefined }", "aipp-value", "aipp_mode", 1 },
  { "aipp_op { input_format: RGB888 }", "aipp-value", "input_format", 1 },
  { "aipp_op { crop: yes }", "aipp-value", "crop", 1 },
  { "aipp_op { related_input_rank: -1 }", "aipp-value", "related_input_rank", 1 },
  { "aipp_op { crop_size_w: 3.5 }", "aipp-value", "crop_size_w", 1 },
  { "aipp_op { crop_size_w: 2147483648 }", "aipp-value", "crop_size_w", 1 },
  { "aipp_op { min_chn_0: nan }", "aipp-value", "min_chn_0", 1 },
  { "aipp_op { crop: true\ncrop: true }", "aipp-value", "crop", 2 },
};

START_TEST(mistakes)
{
  struct oc_aipp_list l = { 0 };

  ck_assert_int_eq(parse(wrong[_i].text, &l), OC_E_FORMAT);
  ck_assert_uint_eq(l.n, 0);
  ck_assert_uint_ge(findings.n, 1);
  const struct oc_finding *f = &findings.items[0];
  ck_assert_str_eq(oc_finding_info(f->id)->id, wrong[_i].finding);
  ck_assert_str_eq(oc_finding_info(f->id)->vendor_code, "E10052");
  ck_assert_str_eq(f->subject, wrong[_i].subject);
  ck_assert_str_eq(f->flag, "insert_op_conf");
  ck_assert_msg(f->line == wrong[_i].line, "%s: line %u", wrong[_i].text, f->line);
}
END_TEST

/* All wrong fields are told at once. */
START_TEST(several_mistakes)
{
  struct oc_aipp_list l = { 0 };

  ck_assert_int_eq(parse("aipp_op {\ncrop: yes\nresize: no\nfoo: 1\n}", &l), OC_E_FORMAT);
  ck_assert_uint_eq(findings.n, 3);
}
END_TEST

TCase *aipp_cases(void)
{
  TCase *t = tcase_create("aipp");

  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, blocks);
  tcase_add_loop_test(t, mistakes, 0, sizeof wrong / sizeof *wrong);
  tcase_add_test(t, several_mistakes);
  return t;
}
