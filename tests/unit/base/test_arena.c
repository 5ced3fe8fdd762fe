/* The arena: alignment, cap, overflow, and that pointers stay what they were. */
#include <check.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

START_TEST(sizes_are_aligned_and_distinct)
{
  static const size_t sizes[] = { 0, 1, 15, 16, 17, 4096, 5000, 100000, 3, 2u << 20, 1 };
  struct oc_arena a;
  unsigned char *p[11];

  oc_arena_init(&a, 0);
  for (size_t i = 0; i < 11; i++) {
    p[i] = oc_arena_alloc(&a, sizes[i]);
    ck_assert_ptr_nonnull(p[i]);
    ck_assert_uint_eq((uintptr_t)p[i] % 16, 0);
    memset(p[i], (int)i + 1, sizes[i]);
  }
  for (size_t i = 0; i < 11; i++) {
    size_t same = 0;
    while (same < sizes[i] && p[i][same] == i + 1)
      same++;
    ck_assert_msg(same == sizes[i], "block %zu was overwritten at %zu", i, same);
  }
  oc_arena_clear(&a);
  oc_arena_clear(&a);
}
END_TEST

START_TEST(cap_is_kept_and_failure_sticks)
{
  struct oc_arena a;

  oc_arena_init(&a, 64);
  ck_assert_ptr_nonnull(oc_arena_alloc(&a, 48));
  ck_assert(!a.failed);
  ck_assert_ptr_null(oc_arena_alloc(&a, 17));
  ck_assert(a.failed);
  ck_assert_ptr_nonnull(oc_arena_alloc(&a, 16)); /* what fits is still given */
  ck_assert(a.failed);
  ck_assert_uint_eq(a.used, 64);
  ck_assert_ptr_null(oc_arena_alloc(&a, 1));
  oc_arena_clear(&a);
  ck_assert(!a.failed);
  ck_assert_ptr_nonnull(oc_arena_alloc(&a, 64));
  oc_arena_clear(&a);
}
END_TEST

START_TEST(products_that_overflow_are_refused)
{
  struct oc_arena a;

  oc_arena_init(&a, 0);
  ck_assert_ptr_null(oc_arena_alloc(&a, SIZE_MAX));
  ck_assert_ptr_null(oc_arena_calloc(&a, SIZE_MAX / 2, 3));
  ck_assert_ptr_null(oc_arena_grow(&a, NULL, 0, SIZE_MAX / 4, 8));
  ck_assert_ptr_null(oc_arena_strndup(&a, "x", SIZE_MAX));
  ck_assert(a.failed);
  oc_arena_clear(&a);
}
END_TEST

START_TEST(calloc_is_zero_grow_copies)
{
  struct oc_arena a;

  oc_arena_init(&a, 0);
  int *v = OC_NEW_N(&a, int, 1000);
  for (int i = 0; i < 1000; i++)
    ck_assert_int_eq(v[i], 0);
  v[999] = 7;
  int *w = oc_arena_grow(&a, v, 1000, 2000, sizeof(int));
  ck_assert_int_eq(w[999], 7);
  ck_assert_int_eq(v[999], 7);
  oc_arena_clear(&a);
}
END_TEST

START_TEST(strings)
{
  struct oc_arena a;

  oc_arena_init(&a, 0);
  ck_assert_str_eq(oc_arena_strdup(&a, ""), "");
  ck_assert_str_eq(oc_arena_strndup(&a, "abcdef", 3), "abc");
  ck_assert_str_eq(oc_arena_printf(&a, "%s-%d", "op", 12), "op-12");
  ck_assert_mem_eq(oc_arena_memdup(&a, "a\0b", 3), "a\0b", 3);
  ck_assert_ptr_nonnull(oc_arena_memdup(&a, NULL, 0));
  ck_assert_ptr_nonnull(oc_arena_pb_alloc(&a, 3));
  oc_arena_pb_free(&a, NULL);
  oc_arena_clear(&a);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("arena");
  TCase *t = tcase_create("arena");

  tcase_add_test(t, sizes_are_aligned_and_distinct);
  tcase_add_test(t, cap_is_kept_and_failure_sticks);
  tcase_add_test(t, products_that_overflow_are_refused);
  tcase_add_test(t, calloc_is_zero_grow_copies);
  tcase_add_test(t, strings);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
