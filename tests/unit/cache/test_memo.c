/* Digests of inputs that are remembered, and names of further inputs. */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "store.h"

static char *folder;

static void setup(void)
{
  folder = store_folder();
}

static void teardown(void)
{
  store_remove(folder);
}

static int old_file(const char *name, const char *text)
{
  struct timespec past[2] = { { .tv_sec = 1000000000 }, { .tv_sec = 1000000000 } };
  int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);

  ck_assert_int_ge(fd, 0);
  ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
  ck_assert_int_eq(futimens(fd, past), 0);
  return fd;
}

/* So much later; nobody has set the clock. */
static void later_by(struct oc_cache_seen *seen, int64_t seconds)
{
  seen->at_ns += seconds * 1000000000;
  seen->boot_ns += seconds * 1000000000;
}

/* A descriptor, and a mapping without one, count as writers. */
static void check_writers(struct oc_cache *c, const char *name, int fd,
                          const struct oc_cache_seen *at_rest)
{
  uint8_t digest[OC_SHA256_LEN];
  struct oc_cache_seen seen = *at_rest;
  int reader = open(name, O_RDONLY), mapped = open(name, O_RDWR);
  char *map = mmap(NULL, 5, PROT_READ | PROT_WRITE, MAP_SHARED, mapped, 0);
  auto_free char *other = store_path(folder, "other.onnx");
  int alone = old_file(other, "model");

  store_key(5, digest);
  later_by(&seen, 120);
  ck_assert(!oc_cache_memo_put(c, fd, &seen, digest));
  ck_assert(map != MAP_FAILED);
  close(mapped);
  oc_cache_see_writers(reader, &seen);
  ck_assert_int_eq(seen.writers, OC_CACHE_HAS_WRITER);
  munmap(map, 5);
  close(alone);
  alone = open(other, O_RDONLY);
  ck_assert_int_eq(oc_cache_see(alone, &seen), 0);
  oc_cache_see_writers(alone, &seen);
  ck_assert_int_eq(seen.writers, OC_CACHE_NO_WRITER);
  later_by(&seen, 3);
  ck_assert(oc_cache_memo_put(c, alone, &seen, digest));
  close(alone);
  close(reader);
}

START_TEST(memo_of_digests)
{
  struct oc_cache *c = store_open(folder);
  auto_free char *name = store_path(folder, "m.onnx");
  struct oc_cache_seen seen, later;
  uint8_t want[OC_SHA256_LEN], got[OC_SHA256_LEN];
  int fd = old_file(name, "model");

  store_key(5, want);
  ck_assert_int_eq(oc_cache_see(fd, &seen), 0);
  ck_assert_int_eq(oc_cache_memo_get(c, fd, &seen, got), 0);
  /* mtime was set back, but ctime says that the file is young. */
  ck_assert(!oc_cache_memo_put(c, fd, &seen, want));
  later_by(&seen, 3); /* three seconds later it would have been at rest ... */
  ck_assert(!oc_cache_memo_put(c, fd, &seen, want)); /* ... if nobody could write it */
  oc_cache_see_writers(fd, &seen);
  if (seen.writers == OC_CACHE_HAS_WRITER) /* else leases are not permitted here */
    check_writers(c, name, fd, &seen);
  /* Where leases are not permitted, a minute of rest is asked for. */
  seen.writers = OC_CACHE_WRITERS_UNKNOWN;
  later_by(&seen, 50);
  ck_assert(!oc_cache_memo_put(c, fd, &seen, want));
  later_by(&seen, 10);
  ck_assert(oc_cache_memo_put(c, fd, &seen, want));
  later_by(&seen, -60);
  seen.writers = OC_CACHE_NO_WRITER;
  ck_assert(oc_cache_memo_put(c, fd, &seen, want));
  oc_cache_flush(c);
  ck_assert_int_eq(oc_cache_memo_get(c, fd, &seen, got), 1);
  ck_assert_mem_eq(got, want, sizeof(want));
  /* Same size, same mtime, other content: ctime moved. */
  ck_assert_int_eq(pwrite(fd, "MODEL", 5, 0), 5);
  struct timespec past[2] = { { .tv_sec = 1000000000 }, { .tv_sec = 1000000000 } };
  ck_assert_int_eq(futimens(fd, past), 0);
  ck_assert_int_eq(oc_cache_see(fd, &later), 0);
  ck_assert_int_eq(oc_cache_memo_get(c, fd, &later, got), 0);
  /* It changed while it was hashed: nothing is remembered. */
  ck_assert(!oc_cache_memo_put(c, fd, &seen, want));
  close(fd);
  oc_cache_close(c);
}
END_TEST

/* A clock that was set makes files look old that are not. */
START_TEST(memo_and_a_clock_that_was_set)
{
  static const int64_t jumps_s[] = { 120, 3600, 4000000000, -4000003600, -1700000000 };
  struct oc_cache *c = store_open(folder);
  auto_free char *name = store_path(folder, "m.onnx");
  struct oc_cache_seen now;
  uint8_t want[OC_SHA256_LEN];
  int fd = old_file(name, "model");

  store_key(5, want);
  ck_assert_int_eq(oc_cache_see(fd, &now), 0);
  later_by(&now, 100);
  ck_assert(oc_cache_memo_put(c, fd, &now, want));
  for (size_t i = 0; i < OC_COUNT(jumps_s); i++) {
    bool past = false;
    now.at_ns += jumps_s[i] * 1000000000;
    /* An age of the file that no page can outlive, by a clock that was just set. */
    ck_assert_msg(!oc_cache_memo_put(c, fd, &now, want), "jump %zu", i);
    later_by(&now, 59);
    ck_assert_msg(!oc_cache_memo_put(c, fd, &now, want), "59 s after jump %zu", i);
    later_by(&now, 2);
    past = now.at_ns < (int64_t)now.st.st_ctim.tv_sec * 1000000000;
    ck_assert_msg(oc_cache_memo_put(c, fd, &now, want) == !past, "61 s after jump %zu",
                  i);
    /* No writer was there: a jump forward does no harm; before the file's own time it is
     * one of the future, and nothing is known of it. */
    now.writers = OC_CACHE_NO_WRITER;
    ck_assert_msg(oc_cache_memo_put(c, fd, &now, want) == !past, "leased, jump %zu", i);
    now.writers = OC_CACHE_WRITERS_UNKNOWN;
  }
  oc_cache_close(c);
  close(fd);
}
END_TEST

START_TEST(memo_wants_regular_files)
{
  struct oc_cache_seen seen;
  int dir = open(folder, O_RDONLY | O_DIRECTORY);

  ck_assert_int_eq(oc_cache_see(dir, &seen), OC_E_ARG);
  ck_assert_int_eq(oc_cache_see(-1, &seen), OC_E_IO);
  close(dir);
}
END_TEST

START_TEST(inputs_lists)
{
  static const char *const names[] = { "weights.bin", "data/part 2.bin", "" };
  struct oc_cache *c = store_open(folder);
  const char *const *got = NULL;
  struct oc_arena arena;
  uint8_t model[OC_SHA256_LEN];
  size_t n = 99;

  oc_arena_init(&arena, 0);
  store_key(1, model);
  ck_assert_int_eq(oc_cache_inputs_get(c, model, &arena, &got, &n), 0);
  oc_cache_inputs_put(c, model, names, 3);
  oc_cache_flush(c);
  ck_assert_int_eq(oc_cache_inputs_get(c, model, &arena, &got, &n), 1);
  ck_assert_uint_eq(n, 3);
  for (size_t i = 0; i < n; i++)
    ck_assert_str_eq(got[i], names[i]);
  /* "None" is an answer too. */
  store_key(2, model);
  oc_cache_inputs_put(c, model, NULL, 0);
  oc_cache_flush(c);
  ck_assert_int_eq(oc_cache_inputs_get(c, model, &arena, &got, &n), 1);
  ck_assert_uint_eq(n, 0);
  oc_arena_clear(&arena);
  oc_cache_close(c);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("cache_memo");
  TCase *t = tcase_create("memo");
  SRunner *r = srunner_create(s);

  tcase_add_checked_fixture(t, setup, teardown);
  tcase_set_timeout(t, 60);
  tcase_add_test(t, memo_of_digests);
  tcase_add_test(t, memo_and_a_clock_that_was_set);
  tcase_add_test(t, memo_wants_regular_files);
  tcase_add_test(t, inputs_lists);
  suite_add_tcase(s, t);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? 1 : 0;
}
