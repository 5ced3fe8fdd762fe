/* Room: who goes first, limits of bytes, entries and free space, what is announced, and
 * what is being delivered. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store.h"

#define BIG 40000u /* an object */

static char *folder;

static void setup(void)
{
  folder = store_folder();
}

static void teardown(void)
{
  store_remove(folder);
}

START_TEST(least_recently_used_goes_first)
{
  struct oc_cache_options opt = { .max_bytes = 4 * (BIG + 1000) };
  struct oc_cache *c = store_open_with(&opt, folder);
  struct oc_cache_stats stats;

  for (unsigned n = 0; n < 4; n++)
    ck_assert(store_put_wait(c, n, n, BIG));
  ck_assert_int_eq(store_check(c, 0, 0, BIG), 1); /* the uses decide, not the age */
  ck_assert_int_eq(store_check(c, 2, 2, BIG), 1);
  ck_assert(store_put_wait(c, 4, 4, BIG));
  oc_cache_flush(c);
  ck_assert_int_eq(store_check(c, 1, 1, BIG), 0);
  ck_assert(store_put_wait(c, 5, 5, BIG));
  oc_cache_flush(c);
  ck_assert_int_eq(store_check(c, 3, 3, BIG), 0);
  ck_assert(store_put_wait(c, 6, 6, BIG));
  oc_cache_flush(c);
  ck_assert_int_eq(store_check(c, 0, 0, BIG), 0);
  ck_assert_int_eq(store_check(c, 2, 2, BIG), 1);
  oc_cache_stats(c, &stats);
  ck_assert_uint_eq(stats.evicted, 3);
  ck_assert_uint_le(stats.bytes, opt.max_bytes);
  /* What is larger than the whole cache is not stored, and pushes nothing out. */
  ck_assert(!store_put_wait(c, 9, 9, 5 * BIG));
  oc_cache_close(c);
  ck_assert_int_eq(store_invariants(folder), 4);
}
END_TEST

START_TEST(entry_limit_and_held_objects)
{
  struct oc_cache_options opt = { .max_entries = 1 };
  struct oc_cache *c = store_open_with(&opt, folder);
  struct oc_cache_hit hit;
  uint8_t key[OC_SHA256_LEN], got[OC_SHA256_LEN];

  ck_assert(store_put_wait(c, 1, 1, BIG));
  store_key(1, key);
  ck_assert_int_eq(oc_cache_lookup(c, key, 0, &hit, NULL), 1);
  ck_assert(store_put_wait(c, 2, 2, BIG));
  oc_cache_flush(c);
  ck_assert_int_eq(store_check(c, 1, 1, BIG), 0);
  /* The hit holds a descriptor: the bytes are still there for whoever is being served. */
  ck_assert_int_eq(oc_sha256_fd(hit.members[0].fd, NULL, got, NULL, NULL), 0);
  ck_assert_mem_eq(got, hit.members[0].sha256, sizeof(got));
  oc_cache_hit_clear(&hit);
  oc_cache_close(c);
  ck_assert_int_eq(store_invariants(folder), 1);
}
END_TEST

START_TEST(limits_that_shrank)
{
  struct oc_cache *c = store_open(folder);
  struct oc_cache_options opt = { .max_entries = 2 };

  for (unsigned n = 0; n < 100; n++)
    ck_assert_int_eq(store_put(c, n, n, 20000), 0);
  oc_cache_close(c); /* writes what is queued */
  ck_assert_int_eq(store_invariants(folder), 100);
  c = store_open_with(&opt, folder);
  ck_assert(store_put_wait(c, 100, 100, 20000));
  oc_cache_close(c);
  ck_assert_int_eq(store_invariants(folder), 2);
}
END_TEST

START_TEST(free_space_floor)
{
  struct oc_cache_options opt = { .min_free_bytes = UINT64_MAX };
  struct oc_cache *c = store_open_with(&opt, folder);

  ck_assert(!store_put_wait(c, 1, 1, BIG));
  ck_assert_int_eq(store_check(c, 1, 1, BIG), 0);
  oc_cache_close(c);
  ck_assert_int_eq(store_invariants(folder), 0);
}
END_TEST

/* A reservation counts as if it were stored, until it is given back or stored. */
START_TEST(reservations_make_room)
{
  struct oc_cache_options opt = { .max_bytes = 6 * (BIG + 1000) };
  struct oc_cache *c = store_open_with(&opt, folder);
  struct oc_cache_output outputs[4];
  struct oc_cache_stats stats;

  for (unsigned n = 0; n < 6; n++)
    ck_assert(store_put_wait(c, n, n, BIG));
  for (unsigned i = 0; i < 4; i++) {
    ck_assert_int_eq(oc_cache_output_new(c, &outputs[i], NULL), 0);
    oc_cache_output_reserve(c, &outputs[i], BIG);
  }
  oc_cache_flush(c);
  oc_cache_stats(c, &stats);
  ck_assert_uint_le(stats.bytes + 4 * (uint64_t)BIG, opt.max_bytes);
  ck_assert_uint_ge(stats.entries, 1);
  for (unsigned n = 0; n < 6; n++) /* the oldest went */
    ck_assert_int_eq(store_check(c, n, n, BIG), n >= 6 - stats.entries);
  for (unsigned i = 0; i < 4; i++)
    oc_cache_output_clear(&outputs[i]);
  for (unsigned n = 10; n < 14; n++)
    ck_assert(store_put_wait(c, n, n, BIG));
  oc_cache_flush(c);
  oc_cache_stats(c, &stats);
  ck_assert_uint_eq(stats.entries, 6); /* all of it is there again */
  ck_assert_int_eq(oc_cache_output_new(c, &outputs[0], NULL), 0);
  oc_cache_output_reserve(c, &outputs[0], 100 * BIG); /* will not be stored: no room */
  oc_cache_flush(c);
  oc_cache_output_clear(&outputs[0]);
  oc_cache_stats(c, &stats);
  ck_assert_uint_eq(stats.entries, 6);
  oc_cache_close(c);
  ck_assert_int_eq(store_invariants(folder), 6);
}
END_TEST

/* Eviction passes over what is being delivered; collecting does not. */
START_TEST(deliveries_are_spared)
{
  struct oc_cache_options opt = { .max_entries = 3 };
  struct oc_cache *c = store_open_with(&opt, folder);
  struct oc_cache_gc all = { .has_max = true };
  uint8_t object[OC_SHA256_LEN];

  for (unsigned n = 0; n < 3; n++)
    ck_assert(store_put_wait(c, n, n, BIG));
  store_object_digest(0, BIG, object);
  ck_assert(oc_cache_hold(c, object));
  ck_assert(oc_cache_hold(c, object));
  for (unsigned n = 3; n < 6; n++)
    ck_assert(store_put_wait(c, n, n, BIG));
  oc_cache_flush(c);
  oc_cache_release(c, object);
  ck_assert(store_put_wait(c, 6, 6, BIG));
  oc_cache_flush(c);
  ck_assert_int_eq(store_check(c, 0, 0, BIG), 1);
  ck_assert_int_eq(store_check(c, 4, 4, BIG), 0);
  for (unsigned n = 5; n < 7; n++) /* used after entry 0 was checked */
    ck_assert_int_eq(store_check(c, n, n, BIG), 1);
  oc_cache_release(c, object);
  ck_assert(store_put_wait(c, 7, 7, BIG));
  oc_cache_flush(c);
  ck_assert_int_eq(store_check(c, 0, 0, BIG), 0);
  store_object_digest(7, BIG, object);
  ck_assert(oc_cache_hold(c, object));
  ck_assert(oc_cache_gc(c, &all, 1));
  ck_assert_uint_eq(store_event(c, OC_CACHE_DONE).count, 3);
  oc_cache_close(c);
  ck_assert_int_eq(store_invariants(folder), 0);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("cache_room");
  TCase *t = tcase_create("room");
  SRunner *r = srunner_create(s);

  tcase_add_checked_fixture(t, setup, teardown);
  tcase_set_timeout(t, 60);
  tcase_add_test(t, least_recently_used_goes_first);
  tcase_add_test(t, entry_limit_and_held_objects);
  tcase_add_test(t, limits_that_shrank);
  tcase_add_test(t, free_space_floor);
  tcase_add_test(t, reservations_make_room);
  tcase_add_test(t, deliveries_are_spared);
  suite_add_tcase(s, t);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? 1 : 0;
}
