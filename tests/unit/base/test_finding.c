/* Findings: copies, severities, templates, and memory that runs out in the middle. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/finding.h"

#define ID OC_FINDING_UNKNOWN_FINDING

START_TEST(strings_are_copied)
{
  struct oc_arena a;
  struct oc_findings fs;
  char subject[] = "conv1";
  char value[] = "float16";

  oc_arena_init(&a, 0);
  oc_findings_init(&fs, &a);
  struct oc_finding *f =
      oc_finding_add(&fs, ID, subject, "dtype", value, "soc", "X", NULL);
  memset(subject, 'x', 5);
  memset(value, 'x', 7);
  ck_assert_ptr_eq(f, &fs.items[0]);
  ck_assert_str_eq(f->subject, "conv1");
  ck_assert_uint_eq(f->n_args, 2);
  ck_assert_str_eq(f->args[0].name, "dtype");
  ck_assert_str_eq(f->args[0].value, "float16");
  ck_assert_str_eq(f->flag, "");
  ck_assert_int_eq(f->severity, oc_finding_info(ID)->severity);
  oc_arena_clear(&a);
}
END_TEST

START_TEST(counts_by_severity)
{
  struct oc_arena a;
  struct oc_findings fs;

  oc_arena_init(&a, 0);
  oc_findings_init(&fs, &a);
  for (int i = 0; i < 30; i++)
    oc_finding_add(&fs, ID, NULL, NULL)->severity = (enum oc_severity)(i % 3);
  ck_assert_uint_eq(fs.n, 30);
  ck_assert_uint_eq(oc_findings_count(&fs, OC_SEV_NOTE), 30);
  ck_assert_uint_eq(oc_findings_count(&fs, OC_SEV_WARNING), 20);
  ck_assert_uint_eq(oc_findings_count(&fs, OC_SEV_ERROR), 10);
  ck_assert(oc_findings_have_errors(&fs));
  fs.n = 2;
  ck_assert(!oc_findings_have_errors(&fs));
  oc_arena_clear(&a);
}
END_TEST

START_TEST(no_memory_gives_a_dummy)
{
  struct oc_arena a;
  struct oc_findings fs;

  oc_arena_init(&a, 16);
  oc_findings_init(&fs, &a);
  struct oc_finding *f = oc_finding_add(&fs, ID, "a subject", "name", "value", NULL);
  f->line = 3; /* must be writable */
  ck_assert_str_eq(f->subject, "");
  ck_assert_uint_eq(fs.n, 0);
  ck_assert(a.failed);
  oc_arena_clear(&a);
}
END_TEST

static const struct {
  const char *tmpl;
  const char *want;
} templates[] = {
  { "", "" },
  { "nothing to fill", "nothing to fill" },
  { "'{subject}' has {dtype}", "'relu1' has float16" },
  { "{dtype}{dtype}", "float16float16" },
  { "{missing} stays", "{missing} stays" },
  { "open { brace", "open { brace" },
  { "{ {dtype}", "{ float16" },
  { "json {\"a\":{dtype}}", "json {\"a\":float16}" },
  { "{}", "{}" },
  { "{dtype", "{dtype" },
};

START_TEST(template)
{
  struct oc_finding_arg arg = { "dtype", "float16" };
  struct oc_finding f = { .id = ID, .subject = "relu1", .args = &arg, .n_args = 1 };
  struct oc_buf out;

  oc_buf_init(&out, 1000);
  ck_assert_int_eq(oc_finding_format(templates[_i].tmpl, &f, &out), 0);
  ck_assert_str_eq(oc_buf_str(&out), templates[_i].want);
  oc_buf_clear(&out);
}
END_TEST

START_TEST(template_over_the_cap)
{
  struct oc_finding f = { .id = ID, .subject = "a long subject" };
  struct oc_buf out;

  oc_buf_init(&out, 5);
  ck_assert_int_lt(oc_finding_format("{subject}", &f, &out), 0);
  ck_assert_str_eq(oc_buf_str(&out), "");
  oc_buf_clear(&out);
}
END_TEST

START_TEST(register_is_consistent)
{
  for (int i = 0; i < OC_FINDING_COUNT; i++) {
    enum oc_finding_id id = OC_FINDING_COUNT;
    const struct oc_finding_info *info = oc_finding_info((enum oc_finding_id)i);
    ck_assert(oc_finding_by_name(info->id, &id));
    ck_assert_int_eq(id, i);
    ck_assert_msg(info->text[0] && info->text[strlen(info->text) - 1] != '.', "%s",
                  info->id);
  }
  enum oc_finding_id id = ID;
  ck_assert(!oc_finding_by_name("no-such-finding", &id));
  ck_assert_str_eq(oc_severity_name(OC_SEV_NOTE), "note");
  ck_assert_str_eq(oc_severity_name(OC_SEV_WARNING), "warning");
  ck_assert_str_eq(oc_severity_name(OC_SEV_ERROR), "error");
}
END_TEST

int main(void)
{
  Suite *s = suite_create("finding");
  TCase *t = tcase_create("finding");

  tcase_add_test(t, strings_are_copied);
  tcase_add_test(t, counts_by_severity);
  tcase_add_test(t, no_memory_gives_a_dummy);
  tcase_add_loop_test(t, template, 0, sizeof(templates) / sizeof(templates[0]));
  tcase_add_test(t, template_over_the_cap);
  tcase_add_test(t, register_is_consistent);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
