/* The map against what it promises: insertion order, replacement, any bytes as keys. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"

START_TEST(empty)
{
  struct oc_map m = { 0 };

  ck_assert_ptr_null(oc_map_gets(&m, "x"));
  ck_assert(!oc_map_has(&m, oc_str_of("x")));
  oc_map_clear(&m);
  oc_map_clear(&m);
}
END_TEST

START_TEST(ten_thousand_keys)
{
  static char keys[10000][16];
  struct oc_map m = { 0 };

  for (size_t i = 0; i < 10000; i++) {
    snprintf(keys[i], sizeof(keys[i]), "key%zu", i * 7919 % 10000);
    ck_assert_int_eq(oc_map_puts(&m, keys[i], keys[i]), 0);
  }
  ck_assert_uint_eq(m.n, 10000);
  for (size_t i = 0; i < 10000; i++) {
    ck_assert_ptr_eq(oc_map_gets(&m, keys[i]), keys[i]);
    ck_assert_ptr_eq(m.entries[i].value, keys[i]);
  }
  ck_assert_ptr_null(oc_map_gets(&m, "key10000"));
  oc_map_clear(&m);
}
END_TEST

START_TEST(replacing_keeps_the_place)
{
  struct oc_map m = { 0 };
  int one = 1;
  int two = 2;

  oc_map_puts(&m, "a", &one);
  oc_map_puts(&m, "b", &one);
  oc_map_puts(&m, "a", &two);
  ck_assert_uint_eq(m.n, 2);
  ck_assert_ptr_eq(m.entries[0].value, &two);
  oc_map_puts(&m, "b", NULL);
  ck_assert_ptr_null(oc_map_gets(&m, "b"));
  ck_assert(oc_map_has(&m, oc_str_of("b")));
  oc_map_clear(&m);
}
END_TEST

START_TEST(keys_are_bytes)
{
  struct oc_map m = { 0 };
  int a = 0;
  int b = 0;
  int c = 0;

  oc_map_put(&m, (struct oc_str){ "x\0y", 3 }, &a);
  oc_map_put(&m, (struct oc_str){ "x\0z", 3 }, &b);
  oc_map_put(&m, (struct oc_str){ "", 0 }, &c);
  ck_assert_ptr_eq(oc_map_get(&m, (struct oc_str){ "x\0y", 3 }), &a);
  ck_assert_ptr_eq(oc_map_get(&m, (struct oc_str){ "x\0z", 3 }), &b);
  ck_assert_ptr_eq(oc_map_gets(&m, ""), &c);
  ck_assert(!oc_map_has(&m, oc_str_of("x")));
  oc_map_clear(&m);
}
END_TEST

START_TEST(hash_vectors)
{
  /* Published test values of FNV-1a, 64 bits. */
  ck_assert_uint_eq(oc_hash_bytes("", 0), 0xcbf29ce484222325u);
  ck_assert_uint_eq(oc_hash_bytes("a", 1), 0xaf63dc4c8601ec8cu);
  ck_assert_uint_eq(oc_hash_bytes("foobar", 6), 0x85944171f73967e8u);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("map");
  TCase *t = tcase_create("map");

  tcase_add_test(t, empty);
  tcase_add_test(t, ten_thousand_keys);
  tcase_add_test(t, replacing_keeps_the_place);
  tcase_add_test(t, keys_are_bytes);
  tcase_add_test(t, hash_vectors);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
