/* Errors: codes come back, texts are cut instead of overrun, errno survives. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

START_TEST(fills_and_returns)
{
  struct oc_error err = { 0 };

  ck_assert_int_eq(oc_error_set(&err, OC_E_ARG, "bad value '%d'", 7), OC_E_ARG);
  ck_assert_int_eq(err.code, OC_E_ARG);
  ck_assert_str_eq(err.msg, "bad value '7'");
  ck_assert_int_eq(oc_error_set(NULL, OC_E_IO, "nobody reads this"), OC_E_IO);
}
END_TEST

START_TEST(appends_errno_text)
{
  struct oc_error err = { 0 };

  errno = ENOENT;
  ck_assert_int_eq(oc_error_errno(&err, OC_E_IO, "cannot open '%s'", "x"), OC_E_IO);
  ck_assert_str_eq(err.msg, "cannot open 'x': No such file or directory");
  ck_assert_int_eq(errno, ENOENT);
}
END_TEST

START_TEST(long_text_is_cut)
{
  struct oc_error err = { 0 };
  char path[4096];

  memset(path, 'p', sizeof(path));
  path[sizeof(path) - 1] = '\0';
  errno = EACCES;
  oc_error_errno(&err, OC_E_IO, "cannot open '%s'", path);
  ck_assert_uint_eq(strlen(err.msg), sizeof(err.msg) - 1);
  ck_assert_int_eq(strncmp(err.msg, "cannot open 'ppp", 16), 0);
}
END_TEST

START_TEST(code_names)
{
  static const char *const names[] = { "ok",    "nomem",  "io",     "format",
                                       "arg",   "proto",  "limit",  "busy",
                                       "store", "closed", "changed" };

  for (int i = 0; i < 11; i++)
    ck_assert_str_eq(oc_code_name(-i), names[i]);
  ck_assert_str_eq(oc_code_name(-11), "unknown");
  ck_assert_str_eq(oc_code_name(3), "ok");
}
END_TEST

int main(void)
{
  Suite *s = suite_create("error");
  TCase *t = tcase_create("error");

  tcase_add_test(t, fills_and_returns);
  tcase_add_test(t, appends_errno_text);
  tcase_add_test(t, long_text_is_cut);
  tcase_add_test(t, code_names);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
