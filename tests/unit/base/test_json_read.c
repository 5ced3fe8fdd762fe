/* The JSON reader: what RFC 8259 allows, what it forbids, and where a mistake is.
 * Accepted text is written back by the writer, so one string per row says the whole tree.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

#define N(a) (int)(sizeof(a) / sizeof((a)[0]))

static void write_back(struct oc_json_writer *w, const struct oc_json *v)
{
  switch (v->kind) {
  case OC_JSON_NULL: oc_json_put_null(w, v->key); break;
  case OC_JSON_BOOL: oc_json_put_bool(w, v->key, v->boolean); break;
  case OC_JSON_NUMBER:
  case OC_JSON_STRING: oc_json_put_str(w, v->key, v->text); break;
  case OC_JSON_ARRAY:
  case OC_JSON_OBJECT:
    if (v->kind == OC_JSON_ARRAY)
      oc_json_begin_array(w, v->key);
    else
      oc_json_begin_object(w, v->key);
    size_t n = 0;
    for (const struct oc_json *c = v->first; c; c = c->next, n++)
      write_back(w, c);
    ck_assert_uint_eq(n, v->n);
    if (v->kind == OC_JSON_ARRAY)
      oc_json_end_array(w);
    else
      oc_json_end_object(w);
    break;
  }
}

static const struct {
  const char *text;
  unsigned flags;
  const char *want; /* numbers are written as strings here */
} good[] = {
  { "null", 0, "null" },
  { " \t\r\n true \n", 0, "true" },
  { "false", 0, "false" },
  { "0", 0, "\"0\"" },
  { "-0.0", 0, "\"-0.0\"" },
  { "1e+10", 0, "\"1e+10\"" },
  { "123456789012345678901234567890", 0, "\"123456789012345678901234567890\"" },
  { "-1.5E-3", 0, "\"-1.5E-3\"" },
  { "\"\"", 0, "\"\"" },
  { "\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\"", 0, "\"a\\\"\\\\/\\b\\f\\n\\r\\t\"" },
  { "\"\\u0041\\u00e9\\u6a21\\ud83d\\ude00\"", 0,
    "\"A\xc3\xa9\xe6\xa8\xa1\xf0\x9f\x98\x80\"" },
  { "\"\xe6\xa8\xa1\"", 0, "\"\xe6\xa8\xa1\"" },
  { "\"\x7f\"", 0, "\"\x7f\"" },
  { "[]", 0, "[]" },
  { "{}", 0, "{}" },
  { "[ ]", 0, "[]" },
  { "[1,[2,[]],{\"a\":{}}]", 0, "[\"1\",[\"2\",[]],{\"a\":{}}]" },
  { "{\"a\":1,\"a\":2}", 0, "{\"a\":\"1\",\"a\":\"2\"}" },
  { "{\"\" : \"x\"}", 0, "{\"\":\"x\"}" },
  { "[1,]", OC_JSON_TRAILING_COMMAS, "[\"1\"]" },
  { "{\"a\":1 , }", OC_JSON_TRAILING_COMMAS, "{\"a\":\"1\"}" },
  { "{} trash", OC_JSON_ALLOW_REST, "{}" },
  { "1]", OC_JSON_ALLOW_REST, "\"1\"" },
};

START_TEST(accepted)
{
  struct oc_arena a;
  struct oc_error err = { 0 };
  struct oc_json *v = NULL;
  struct oc_buf out;
  struct oc_json_writer w;

  oc_arena_init(&a, 1 << 20);
  int rc =
      oc_json_parse(good[_i].text, strlen(good[_i].text), good[_i].flags, &a, &v, &err);
  ck_assert_msg(rc == 0, "'%s': %s", good[_i].text, err.msg);
  oc_buf_init(&out, 1000);
  oc_json_writer_init(&w, &out, false);
  write_back(&w, v);
  ck_assert_str_eq(oc_buf_str(&out), good[_i].want);
  oc_buf_clear(&out);
  oc_arena_clear(&a);
}
END_TEST

static const struct {
  const char *text;
  const char *place;
} bad[] = {
  { "", "line 1, column 1:" },
  { "  \n ", "line 2, column 2:" },
  { "nul", "line 1, column 1:" },
  { "True", "line 1, column 1:" },
  { "+1", "line 1, column 1:" },
  { "01", "line 1, column 1:" },
  { "-", "line 1, column 1:" },
  { ".5", "line 1, column 1:" },
  { "1.", "line 1, column 1:" },
  { "1e", "line 1, column 1:" },
  { "1e+", "line 1, column 1:" },
  { "NaN", "line 1, column 1:" },
  { "'a'", "line 1, column 1:" },
  { "\"abc", "line 1, column 2:" },
  { "\"abc\\\"", "line 1, column 2:" },
  { "\"a\nb\"", "line 1, column 3:" },
  { "\"\\x\"", "line 1, column 3:" },
  { "\"\\u12\"", "line 1, column 4:" },
  { "\"\\u12g4\"", "line 1, column 4:" },
  { "\"\\u0000\"", "line 1, column 8:" },
  { "\"\\ud800\"", "line 1, column 8:" },
  { "\"\\udc00\"", "line 1, column 8:" },
  { "\"\\ud800\\u0041\"", "line 1, column 14:" },
  { "\"\xff\"", "line 1, column 2:" },
  { "\xef\xbb\xbf{}", "line 1, column 1:" },
  { "[1,\n 2", "line 2, column 3:" },
  { "[1 2]", "line 1, column 4:" },
  { "[,1]", "line 1, column 2:" },
  { "[1,]", "line 1, column 4:" },
  { "[1,,2]", "line 1, column 4:" },
  { "{\"a\":1,}", "line 1, column 8:" },
  { "{a:1}", "line 1, column 2:" },
  { "{\"a\" 1}", "line 1, column 6:" },
  { "{\"a\":}", "line 1, column 6:" },
  { "{\"a\":1 \"b\":2}", "line 1, column 8:" },
  { "{\"a\"", "line 1, column 5:" },
  { "{\"a\":", "line 1, column 6:" },
  { "[}", "line 1, column 2:" },
  { "{]", "line 1, column 2:" },
  { "1 1", "line 1, column 3:" },
  { "{} // no", "line 1, column 4:" },
};

START_TEST(refused)
{
  struct oc_arena a;
  struct oc_error err = { 0 };
  struct oc_json *v = NULL;

  oc_arena_init(&a, 1 << 20);
  ck_assert_int_eq(oc_json_parse(bad[_i].text, strlen(bad[_i].text), 0, &a, &v, &err),
                   OC_E_FORMAT);
  ck_assert_ptr_null(v);
  ck_assert_msg(!strncmp(err.msg, bad[_i].place, strlen(bad[_i].place)), "'%s': %s",
                bad[_i].text, err.msg);
  oc_arena_clear(&a);
}
END_TEST

START_TEST(comma_first_is_never_allowed)
{
  struct oc_arena a;
  struct oc_json *v = NULL;

  oc_arena_init(&a, 1 << 20);
  ck_assert_int_lt(oc_json_parse("[,]", 3, OC_JSON_TRAILING_COMMAS, &a, &v, NULL), 0);
  ck_assert_int_lt(oc_json_parse("[1,,]", 5, OC_JSON_TRAILING_COMMAS, &a, &v, NULL), 0);
  ck_assert_int_lt(oc_json_parse("\"a\0b\"", 5, 0, &a, &v, NULL), 0);
  oc_arena_clear(&a);
}
END_TEST

START_TEST(depth_is_limited)
{
  struct oc_arena a;
  struct oc_json *v = NULL;
  struct oc_error err = { 0 };
  size_t n = 1000000;
  char *text = malloc(n);

  memset(text, '[', n);
  oc_arena_init(&a, 16 << 20);
  ck_assert_int_eq(oc_json_parse(text, n, 0, &a, &v, &err), OC_E_FORMAT);
  ck_assert_ptr_nonnull(strstr(err.msg, "nested too deeply"));
  memset(text + 128, ']', 128);
  ck_assert_int_eq(oc_json_parse(text, 256, 0, &a, &v, &err), 0);
  free(text);
  oc_arena_clear(&a);
}
END_TEST

START_TEST(memory_cap_is_an_error)
{
  static const char text[] = "[1,2,3,4,5,6,7,8,9,\"a string\"]";
  struct oc_json *v = NULL;

  for (size_t cap = 16; cap < 1200; cap += 16) {
    struct oc_arena a;
    oc_arena_init(&a, cap);
    int rc = oc_json_parse(text, sizeof(text) - 1, 0, &a, &v, NULL);
    ck_assert(rc == 0 || rc == OC_E_NOMEM);
    ck_assert(a.failed == (rc < 0));
    oc_arena_clear(&a);
  }
}
END_TEST

START_TEST(looking_things_up)
{
  static const char text[] =
      "{\"s\":\"x\",\n \"n\":-12,\"f\":2.5,\"b\":true,\"o\":{\"k\":1}}";
  struct oc_arena a;
  struct oc_json *v = NULL;
  int64_t i = 0;
  double d = 0;

  oc_arena_init(&a, 1 << 20);
  ck_assert_int_eq(oc_json_parse(text, sizeof(text) - 1, 0, &a, &v, NULL), 0);
  ck_assert_str_eq(oc_json_string(oc_json_get(v, "s"), "?"), "x");
  ck_assert_str_eq(oc_json_string(oc_json_get(v, "n"), "?"), "?");
  ck_assert_str_eq(oc_json_string(oc_json_get(oc_json_get(v, "none"), "x"), "?"), "?");
  ck_assert(oc_json_i64(oc_json_get(v, "n"), &i));
  ck_assert_int_eq(i, -12);
  ck_assert(!oc_json_i64(oc_json_get(v, "f"), &i));
  ck_assert(oc_json_f64(oc_json_get(v, "f"), &d));
  ck_assert(d == 2.5);
  ck_assert(!oc_json_f64(oc_json_get(v, "s"), &d));
  ck_assert(oc_json_bool(oc_json_get(v, "b"), false));
  ck_assert(oc_json_bool(oc_json_get(v, "s"), true));
  ck_assert_uint_eq(oc_json_get(v, "n")->line, 2);
  ck_assert_uint_eq(oc_json_get(v, "n")->column, 6);
  ck_assert_uint_eq(oc_json_get(v, "o")->n, 1);
  oc_arena_clear(&a);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("json_read");
  TCase *t = tcase_create("json_read");

  tcase_add_loop_test(t, accepted, 0, N(good));
  tcase_add_loop_test(t, refused, 0, N(bad));
  tcase_add_test(t, comma_first_is_never_allowed);
  tcase_add_test(t, depth_is_limited);
  tcase_add_test(t, memory_cap_is_an_error);
  tcase_add_test(t, looking_things_up);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
