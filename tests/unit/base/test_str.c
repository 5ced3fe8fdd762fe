/* Slices, numbers, suggestions, hex and UTF-8. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

#define N(a) (int)(sizeof(a) / sizeof((a)[0]))

START_TEST(slices)
{
  ck_assert_uint_eq(oc_str_of(NULL).len, 0);
  ck_assert(oc_str_is(oc_str_of("abc"), "abc"));
  ck_assert(!oc_str_is(oc_str_of("abc"), "ab"));
  ck_assert(oc_str_starts(oc_str_of("abc"), "ab"));
  ck_assert(oc_str_starts(oc_str_of(""), ""));
  ck_assert(!oc_str_starts(oc_str_of("a"), "ab"));
  ck_assert(oc_str_is(oc_str_trim(oc_str_of(" \t\r\n\v\fa b \n")), "a b"));
  ck_assert(oc_str_is(oc_str_trim(oc_str_of(" \t ")), ""));
  ck_assert_int_lt(oc_str_cmp(oc_str_of("a"), oc_str_of("ab")), 0);
  ck_assert_int_gt(oc_str_cmp(oc_str_of("\xff"), oc_str_of("a")), 0);
  ck_assert_int_eq(oc_str_cmp(oc_str_of("x"), oc_str_of("x")), 0);
  ck_assert(oc_streq(NULL, NULL));
  ck_assert(!oc_streq(NULL, ""));
  ck_assert(oc_streq("a", "a"));
  ck_assert(oc_starts_with("--model", "--"));
  ck_assert(oc_ends_with("net.onnx", ".onnx"));
  ck_assert(!oc_ends_with("x", ".onnx"));
}
END_TEST

static const struct {
  const char *text;
  bool i_ok;
  int64_t i;
  bool u_ok;
  uint64_t u;
} numbers[] = {
  { "0", true, 0, true, 0 },
  { "007", true, 7, true, 7 },
  { "-1", true, -1, false, 0 },
  { "9223372036854775807", true, INT64_MAX, true, INT64_MAX },
  { "9223372036854775808", false, 0, true, 9223372036854775808u },
  { "-9223372036854775808", true, INT64_MIN, false, 0 },
  { "-9223372036854775809", false, 0, false, 0 },
  { "18446744073709551615", false, 0, true, UINT64_MAX },
  { "18446744073709551616", false, 0, false, 0 },
  { "99999999999999999999999", false, 0, false, 0 },
  { "", false, 0, false, 0 },
  { "-", false, 0, false, 0 },
  { "--1", false, 0, false, 0 },
  { "+1", false, 0, false, 0 },
  { " 1", false, 0, false, 0 },
  { "1 ", false, 0, false, 0 },
  { "0x10", false, 0, false, 0 },
  { "1.0", false, 0, false, 0 },
};

START_TEST(to_number)
{
  int64_t i = 42;
  uint64_t u = 42;

  ck_assert_msg(oc_str_to_i64(oc_str_of(numbers[_i].text), &i) == numbers[_i].i_ok,
                "'%s'", numbers[_i].text);
  ck_assert_int_eq(i, numbers[_i].i_ok ? numbers[_i].i : 42);
  ck_assert_msg(oc_str_to_u64(oc_str_of(numbers[_i].text), &u) == numbers[_i].u_ok,
                "'%s'", numbers[_i].text);
  ck_assert_uint_eq(u, numbers[_i].u_ok ? numbers[_i].u : 42);
}
END_TEST

static const struct {
  const char *a;
  const char *b;
  unsigned limit;
  unsigned want;
} distances[] = {
  { "", "", 5, 0 },         { "", "abc", 5, 3 },           { "abc", "", 5, 3 },
  { "abc", "abc", 0, 0 },   { "abc", "abd", 5, 1 },        { "abc", "acb", 5, 1 },
  { "ca", "abc", 5, 3 },    { "kitten", "sitting", 9, 3 }, { "kitten", "sitting", 2, 3 },
  { "Relu", "relu", 5, 1 },
};

START_TEST(distance)
{
  ck_assert_uint_eq(
      oc_str_distance(distances[_i].a, distances[_i].b, distances[_i].limit),
      distances[_i].want);
}
END_TEST

START_TEST(distance_of_long_strings_looks_at_their_ends)
{
  char a[1001];
  char b[2001];

  memset(a, 'a', sizeof(a));
  memset(b, 'a', sizeof(b));
  a[1000] = b[2000] = '\0';
  ck_assert_uint_eq(oc_str_distance(a, b, 10), 0);
  b[1999] = 'x';
  ck_assert_uint_eq(oc_str_distance(a, b, 10), 1);
}
END_TEST

static const struct {
  const char *word;
  const char *want;
} nearest[] = {
  { "Ascend310p3", "Ascend310P3" },
  { "Ascend310P", "Ascend310P1" },
  { "ascend910b1", "Ascend910B1" },
  { "precison_mode", "precision_mode" },
  { "keep-dtype", "keep_dtype" },
  { "xyz", NULL },
  { "", NULL },
  { "a", NULL },
  { "kp_dtpe", NULL },
  { "kep_dtpe", "keep_dtype" },
};

START_TEST(suggestion)
{
  static const char *const names[] = { "Ascend310P1",    "Ascend310P3",
                                       "Ascend910B1",    "keep_dtype",
                                       "precision_mode", "precision_mode_v2" };
  const char *got = oc_str_nearest(nearest[_i].word, names, 6);

  if (nearest[_i].want)
    ck_assert_pstr_eq(got, nearest[_i].want);
  else
    ck_assert_ptr_null(got);
}
END_TEST

START_TEST(hex)
{
  uint8_t bytes[4] = { 0x00, 0x0f, 0xa5, 0xff };
  uint8_t back[4] = { 9, 9, 9, 9 };
  char text[9];

  oc_hex(bytes, 4, text);
  ck_assert_str_eq(text, "000fa5ff");
  ck_assert(oc_unhex("000FA5ff", back, 4));
  ck_assert_mem_eq(back, bytes, 4);
  memset(back, 9, 4);
  ck_assert(!oc_unhex("000fa5f", back, 4));
  ck_assert(!oc_unhex("000fa5ff0", back, 4));
  ck_assert(!oc_unhex("000fa5fg", back, 4));
  ck_assert_int_eq(back[0], 9); /* untouched on failure */
  ck_assert(oc_unhex("", back, 0));
}
END_TEST

static const struct {
  const char *text;
  bool ok;
} utf8[] = {
  { "", true },
  { "plain", true },
  { "\xe6\xa8\xa1\xe5\x9e\x8b", true },
  { "\xc2\x80", true },
  { "\xdf\xbf", true },
  { "\xe0\xa0\x80", true },
  { "\xed\x9f\xbf", true },
  { "\xee\x80\x80", true },
  { "\xf0\x90\x80\x80", true },
  { "\xf4\x8f\xbf\xbf", true },
  { "\x80", false },
  { "\xc0\x80", false },
  { "\xc1\xbf", false },
  { "\xe0\x9f\xbf", false },
  { "\xed\xa0\x80", false },
  { "\xf0\x8f\xbf\xbf", false },
  { "\xf4\x90\x80\x80", false },
  { "\xf5\x80\x80\x80", false },
  { "\xc2", false },
  { "a\xe2\x82", false },
  { "\xf0\x90\x80", false },
  { "\xe2\x82z", false },
  { "\xff", false },
};

START_TEST(utf8_valid)
{
  ck_assert_msg(oc_utf8_valid(oc_str_of(utf8[_i].text)) == utf8[_i].ok, "row %d", _i);
}
END_TEST

START_TEST(utf8_nul)
{
  ck_assert(!oc_utf8_valid((struct oc_str){ "a\0b", 3 }));
}
END_TEST

int main(void)
{
  Suite *s = suite_create("str");
  TCase *t = tcase_create("str");

  tcase_add_test(t, slices);
  tcase_add_loop_test(t, to_number, 0, N(numbers));
  tcase_add_loop_test(t, distance, 0, N(distances));
  tcase_add_test(t, distance_of_long_strings_looks_at_their_ends);
  tcase_add_loop_test(t, suggestion, 0, N(nearest));
  tcase_add_test(t, hex);
  tcase_add_loop_test(t, utf8_valid, 0, N(utf8));
  tcase_add_test(t, utf8_nul);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
