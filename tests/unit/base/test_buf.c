/* The buffer: always a string, never over its cap, empty after a failure. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"

START_TEST(appends_are_a_string)
{
  struct oc_buf b;

  oc_buf_init(&b, 1000);
  ck_assert_str_eq(oc_buf_str(&b), "");
  ck_assert_int_eq(oc_buf_puts(&b, "ab"), 0);
  ck_assert_int_eq(oc_buf_putc(&b, 'c'), 0);
  ck_assert_int_eq(oc_buf_printf(&b, "%03d", 7), 0);
  ck_assert_int_eq(oc_buf_fill(&b, 'x', 3), 0);
  ck_assert_int_eq(oc_buf_append(&b, NULL, 0), 0);
  ck_assert_str_eq(oc_buf_str(&b), "abc007xxx");
  oc_buf_consume(&b, 3);
  ck_assert_str_eq(oc_buf_str(&b), "007xxx");
  oc_buf_consume(&b, 6);
  oc_buf_consume(&b, 0);
  ck_assert_str_eq(oc_buf_str(&b), "");
  oc_buf_clear(&b);
}
END_TEST

static const struct {
  size_t cap;
  size_t first;
  size_t second;
  bool fits;
} cap_rows[] = {
  { 1, 1, 0, true },        { 1, 1, 1, false },          { 100, 50, 50, true },
  { 100, 50, 51, false },   { 100, 0, 101, false },      { 4096, 4095, 1, true },
  { 4096, 4096, 1, false }, { 100, 1, SIZE_MAX, false },
};

START_TEST(cap)
{
  struct oc_buf b;

  oc_buf_init(&b, cap_rows[_i].cap);
  ck_assert_int_eq(oc_buf_fill(&b, 'a', cap_rows[_i].first),
                   cap_rows[_i].first <= cap_rows[_i].cap ? 0 : OC_E_NOMEM);
  int rc = oc_buf_fill(&b, 'b', cap_rows[_i].second);
  ck_assert_msg((rc == 0) == cap_rows[_i].fits, "row %d", _i);
  ck_assert(b.failed == !cap_rows[_i].fits);
  if (b.failed) {
    size_t len = 5;
    ck_assert_str_eq(oc_buf_str(&b), "");
    ck_assert_uint_eq(b.len, 0);
    ck_assert_int_eq(oc_buf_puts(&b, ""), OC_E_NOMEM); /* it sticks */
    ck_assert_ptr_null(oc_buf_take(&b, &len));
    ck_assert_uint_eq(len, 5);
  }
  oc_buf_clear(&b);
  ck_assert(!b.failed);
}
END_TEST

START_TEST(reserve_commit_take)
{
  struct oc_buf b;
  size_t len = 0;

  oc_buf_init(&b, 1 << 20);
  uint8_t *p = oc_buf_reserve(&b, 1000);
  memset(p, 'q', 1000);
  oc_buf_commit(&b, 10);
  ck_assert_str_eq(oc_buf_str(&b), "qqqqqqqqqq");
  uint8_t *taken = oc_buf_take(&b, &len);
  ck_assert_uint_eq(len, 10);
  ck_assert_str_eq((char *)taken, "qqqqqqqqqq");
  free(taken);
  ck_assert_uint_eq(b.len, 0);
  taken = oc_buf_take(&b, &len); /* of an empty buffer: an empty string, not NULL */
  ck_assert_str_eq((char *)taken, "");
  ck_assert_uint_eq(len, 0);
  free(taken);
  oc_buf_puts(&b, "again");
  oc_buf_reset(&b);
  ck_assert_str_eq(oc_buf_str(&b), "");
  oc_buf_clear(&b);
}
END_TEST

START_TEST(grows_by_single_bytes)
{
  struct oc_buf b;

  oc_buf_init(&b, 10000);
  for (int i = 0; i < 10000; i++)
    ck_assert_int_eq(oc_buf_putc(&b, (char)('a' + i % 26)), 0);
  for (int i = 0; i < 10000; i++)
    ck_assert_int_eq(b.data[i], 'a' + i % 26);
  ck_assert_int_eq(oc_buf_putc(&b, 'x'), OC_E_NOMEM);
  oc_buf_clear(&b);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("buf");
  TCase *t = tcase_create("buf");

  tcase_add_test(t, appends_are_a_string);
  tcase_add_loop_test(t, cap, 0, sizeof(cap_rows) / sizeof(cap_rows[0]));
  tcase_add_test(t, reserve_commit_take);
  tcase_add_test(t, grows_by_single_bytes);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
