/* The JSON writer: commas, escapes, numbers that read back, bytes that are no text. */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "base/json.h"

static struct oc_buf out;
static struct oc_json_writer w;

static void setup(void)
{
  oc_buf_init(&out, 1 << 16);
  oc_json_writer_init(&w, &out, false);
}

static void teardown(void)
{
  oc_buf_clear(&out);
}

static void write_sample(void)
{
  oc_json_begin_object(&w, NULL);
  oc_json_put_string(&w, "s", "x");
  oc_json_begin_array(&w, "a");
  oc_json_put_i64(&w, NULL, INT64_MIN);
  oc_json_put_u64(&w, NULL, UINT64_MAX);
  oc_json_begin_object(&w, NULL);
  oc_json_end_object(&w);
  oc_json_end_array(&w);
  oc_json_begin_array(&w, "e");
  oc_json_end_array(&w);
  oc_json_put_bool(&w, "b", false);
  oc_json_put_string(&w, "n", NULL);
  oc_json_end_object(&w);
}

START_TEST(compact)
{
  write_sample();
  ck_assert_str_eq(oc_buf_str(&out),
                   "{\"s\":\"x\",\"a\":[-9223372036854775808,18446744073709551615,{}],"
                   "\"e\":[],\"b\":false,\"n\":null}");
}
END_TEST

START_TEST(pretty)
{
  oc_json_writer_init(&w, &out, true);
  write_sample();
  ck_assert_str_eq(oc_buf_str(&out), "{\n"
                                     "  \"s\": \"x\",\n"
                                     "  \"a\": [\n"
                                     "    -9223372036854775808,\n"
                                     "    18446744073709551615,\n"
                                     "    {}\n"
                                     "  ],\n"
                                     "  \"e\": [],\n"
                                     "  \"b\": false,\n"
                                     "  \"n\": null\n"
                                     "}\n");
}
END_TEST

START_TEST(escapes)
{
  oc_json_put_str(&w, NULL, (struct oc_str){ "\"\\\b\f\n\r\t\x01\0\x1f/\x7f", 12 });
  ck_assert_str_eq(oc_buf_str(&out),
                   "\"\\\"\\\\\\b\\f\\n\\r\\t\\u0001\\u0000\\u001f/\x7f\"");
}
END_TEST

START_TEST(bytes_that_are_no_text)
{
  oc_json_put_string(&w, NULL, "a\xff\xe6\xa8\xa1\xe6\xa8z\xed\xa0\x80");
  ck_assert_str_eq(oc_buf_str(&out),
                   "\"a\xef\xbf\xbd\xe6\xa8\xa1\xef\xbf\xbd\xef\xbf\xbdz\xef\xbf\xbd"
                   "\xef\xbf\xbd\xef\xbf\xbd\"");
}
END_TEST

static const struct {
  double v;
  const char *want;
} numbers[] = {
  { 0, "0" },
  { 0.1, "0.1" },
  { 1.0 / 3, "0.3333333333333333" },
  { 1e300, "1e+300" },
  { 5e-324, "4.94065645841247e-324" },
  { NAN, "null" },
  { INFINITY, "null" },
  { 65504, "65504" },
};

START_TEST(number)
{
  oc_json_put_f64(&w, NULL, numbers[_i].v);
  ck_assert_str_eq(oc_buf_str(&out), numbers[_i].want);
  if (isfinite(numbers[_i].v))
    ck_assert(strtod(oc_buf_str(&out), NULL) == numbers[_i].v);
}
END_TEST

START_TEST(full_buffer_is_empty_not_half)
{
  struct oc_buf small;

  oc_buf_init(&small, 10);
  oc_json_writer_init(&w, &small, false);
  write_sample();
  ck_assert(small.failed);
  ck_assert_str_eq(oc_buf_str(&small), "");
  oc_buf_clear(&small);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("json_write");
  TCase *t = tcase_create("json_write");

  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, compact);
  tcase_add_test(t, pretty);
  tcase_add_test(t, escapes);
  tcase_add_test(t, bytes_that_are_no_text);
  tcase_add_loop_test(t, number, 0, sizeof(numbers) / sizeof(numbers[0]));
  tcase_add_test(t, full_buffer_is_empty_not_half);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
