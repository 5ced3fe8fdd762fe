/* R17: a thousand objects are damaged by lot: one bit flipped (with the times as they
 * were, or not), cut short, or the names of two exchanged. None is delivered, each is put
 * into quarantine and counted, and what was not touched is a hit. */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "store.h"

#define KEYS    20u
#define ROUNDS  167u
#define A_ROUND 6u /* damages */
#define SIZE    3000u

static uint32_t x = 20260417;

static uint32_t lot(uint32_t below)
{
  x = x * 1664525u + 1013904223u;
  return (x >> 8) % below;
}

static void flip(const char *path, bool keep_times)
{
  struct stat st;
  uint8_t byte;
  off_t at = lot(SIZE);

  ck_assert_int_eq(stat(path, &st), 0);
  ck_assert_int_eq(chmod(path, 0600), 0);
  auto_close int fd = open(path, O_RDWR | O_CLOEXEC);
  ck_assert_int_eq(pread(fd, &byte, 1, at), 1);
  byte ^= (uint8_t)(1u << lot(8));
  ck_assert_int_eq(pwrite(fd, &byte, 1, at), 1);
  if (keep_times)
    ck_assert_int_eq(futimens(fd, (struct timespec[]){ st.st_atim, st.st_mtim }), 0);
}

static void cut(const char *path)
{
  ck_assert_int_eq(chmod(path, 0600), 0);
  ck_assert_int_eq(truncate(path, lot(SIZE)), 0);
}

static void exchange(const char *folder, const char *a, const char *b)
{
  auto_free char *aside = store_path(folder, "aside");

  ck_assert_int_eq(rename(a, aside), 0);
  ck_assert_int_eq(rename(b, a), 0);
  ck_assert_int_eq(rename(aside, b), 0);
}

/* Damages the objects of keys `n` (and the next); how many. */
static unsigned damage(const char *folder, unsigned n)
{
  auto_free char *path = store_object_path(folder, n, SIZE);
  auto_free char *other = store_object_path(folder, n + 1, SIZE);

  switch (lot(4)) {
  case 0: flip(path, true); return 1;
  case 1: flip(path, false); return 1;
  case 2: cut(path); return 1;
  default: exchange(folder, path, other); return 2;
  }
}

START_TEST(thousand_damages)
{
  char *folder = store_folder_in_memory();
  struct oc_cache *c = store_open(folder);
  unsigned damaged = 0, delivered = 0;
  struct oc_cache_stats stats;

  for (unsigned n = 0; n < KEYS; n++)
    ck_assert(store_put_wait(c, n, n, SIZE));
  for (unsigned round = 0; round < ROUNDS; round++) {
    bool hit[KEYS + 1] = { false };
    if (round % 3 == 0) { /* in a life that has not seen them whole */
      oc_cache_close(c);
      c = store_open(folder);
    }
    for (unsigned i = 0; i < A_ROUND; i++) {
      unsigned n = i * 3 + lot(2);
      unsigned here = damage(folder, n);
      damaged += here;
      hit[n] = true;
      hit[n + 1] |= here == 2;
    }
    for (unsigned n = 0; n < KEYS; n++) {
      bool found = store_check(c, n, n, SIZE) == 1; /* wrong bytes fail in there */
      delivered += found && hit[n];
      ck_assert_msg(found || hit[n], "key %u was not damaged and is a miss", n);
    }
    oc_cache_flush(c);
    for (unsigned n = 0; n < KEYS; n++)
      ck_assert(!hit[n] || store_put_wait(c, n, n, SIZE));
  }
  oc_cache_flush(c);
  oc_cache_stats(c, &stats);
  printf("figure R17 damages=%u delivered=%u counted=%llu\n", damaged, delivered,
         (unsigned long long)stats.damaged);
  ck_assert_uint_ge(damaged, 1000);
  ck_assert_uint_eq(delivered, 0);
  ck_assert_uint_eq(stats.damaged, damaged);
  oc_cache_close(c);
  store_invariants(folder);
  store_remove(folder);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("cache_flips");
  TCase *t = tcase_create("flips");
  SRunner *r = srunner_create(s);

  tcase_set_timeout(t, 300);
  tcase_add_test(t, thousand_damages);
  suite_add_tcase(s, t);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? 1 : 0;
}
