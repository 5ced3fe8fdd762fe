/* Log lines: one write, one line, whatever is in the values. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "telemetry/telemetry.h"

static int fds[2];
static struct oc_log log_;
static char got[8192];

static void open_pipe(void)
{
  ck_assert_int_eq(pipe(fds), 0);
  log_ = (struct oc_log){ .fd = fds[1], .level = OC_LOG_INFO, .journal = true };
}

static void close_pipe(void)
{
  close(fds[0]);
  close(fds[1]);
}

static const char *take(void)
{
  ssize_t n = read(fds[0], got, sizeof(got) - 1);

  ck_assert_int_gt(n, 0);
  got[n] = '\0';
  return got;
}

START_TEST(values_are_quoted_only_when_they_must)
{
  struct oc_log_line l;
  uint8_t bytes[] = { 0xab, 0x01 };

  oc_log_begin(&l, &log_, OC_LOG_INFO, "answered");
  oc_log_u64(&l, "job", 1842);
  oc_log_i64(&l, "exit", -1);
  oc_log_hex(&l, "key", bytes, 2);
  oc_log_str(&l, "plain", "a/b.onnx");
  oc_log_str(&l, "blank", "a b");
  oc_log_str(&l, "odd", "q\"=\\\n\x01");
  oc_log_str(&l, "none", "");
  oc_log_str(&l, "null", NULL);
  oc_log_end(&l);
  ck_assert_str_eq(
      take(), "<6>info answered job=1842 exit=-1 key=ab01 plain=a/b.onnx blank=\"a b\" "
              "odd=\"q\\\"=\\\\\\n\\x01\" none=\"\" null=\"\"\n");
}
END_TEST

START_TEST(a_line_that_is_too_long_is_cut_at_a_value)
{
  static char big[OC_LOG_LINE];
  struct oc_log_line l;

  memset(big, 'x', sizeof(big) - 1);
  oc_log_begin(&l, &log_, OC_LOG_ERROR, "e");
  oc_log_str(&l, "first", "1");
  oc_log_str(&l, "big", big);
  oc_log_str(&l, "after", "2");
  oc_log_end(&l);
  ck_assert_str_eq(take(), "<3>error e first=1 cut=1\n");
}
END_TEST

START_TEST(unwanted_levels_write_nothing)
{
  oc_log_event(&log_, OC_LOG_DEBUG, "quiet", 1, "x");
  oc_log_event(NULL, OC_LOG_ERROR, "nowhere", 1, "x");
  oc_log_event(&log_, OC_LOG_WARNING, "loud", 7, "it is");
  ck_assert_str_eq(take(), "<4>warning loud job=7 text=\"it is\"\n");
}
END_TEST

START_TEST(without_a_journal_lines_begin_with_the_time)
{
  log_.journal = false;
  oc_log_event(&log_, OC_LOG_INFO, "e", 0, NULL);
  take();
  ck_assert_uint_eq(strlen(got), strlen("2026-03-01T10:11:12.345Z info e\n"));
  ck_assert_int_eq(got[10], 'T');
  ck_assert_str_eq(got + 23, "Z info e\n");
}
END_TEST

START_TEST(a_closed_descriptor_does_no_harm)
{
  struct oc_log nowhere = { .fd = -1, .level = OC_LOG_DEBUG };

  oc_log_event(&nowhere, OC_LOG_ERROR, "lost", 0, NULL);
}
END_TEST

START_TEST(levels_have_words)
{
  enum oc_log_level level = OC_LOG_ERROR;

  ck_assert(oc_log_level_parse("debug", &level));
  ck_assert_int_eq(level, OC_LOG_DEBUG);
  ck_assert(!oc_log_level_parse("verbose", &level));
}
END_TEST

START_TEST(counters_count_under_their_names)
{
  struct oc_counters c = { { 0 } };

  oc_counter_add(&c, OC_COUNT_MISSES, 2);
  oc_counter_add(&c, OC_COUNT_MISSES, 1);
  ck_assert_uint_eq(c.value[OC_COUNT_MISSES], 3);
  ck_assert_str_eq(oc_counter_name(OC_COUNT_MISSES), "misses");
  ck_assert_str_eq(oc_counter_name(OC_COUNT_SAVED_MS), "saved_ms");
}
END_TEST

int main(void)
{
  Suite *s = suite_create("telemetry");
  TCase *c = tcase_create("lines");
  SRunner *r;
  int failed;

  tcase_add_checked_fixture(c, open_pipe, close_pipe);
  tcase_add_test(c, values_are_quoted_only_when_they_must);
  tcase_add_test(c, a_line_that_is_too_long_is_cut_at_a_value);
  tcase_add_test(c, unwanted_levels_write_nothing);
  tcase_add_test(c, without_a_journal_lines_begin_with_the_time);
  tcase_add_test(c, a_closed_descriptor_does_no_harm);
  tcase_add_test(c, levels_have_words);
  tcase_add_test(c, counters_count_under_their_names);
  suite_add_tcase(s, c);
  r = srunner_create(s);
  srunner_run_all(r, CK_ENV);
  failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
