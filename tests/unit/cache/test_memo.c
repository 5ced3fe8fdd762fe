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
  seen.at_ns += 120000000000LL;
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
  seen.at_ns += 3000000000LL;
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
  seen.at_ns += 3000000000LL; /* three seconds later it would have been at rest ... */
  ck_assert(!oc_cache_memo_put(c, fd, &seen, want)); /* ... if nobody could write it */
  oc_cache_see_writers(fd, &seen);
  if (seen.writers == OC_CACHE_HAS_WRITER) /* else leases are not permitted here */
    check_writers(c, name, fd, &seen);
  /* Where leases are not permitted, a minute of rest is asked for. */
  seen.writers = OC_CACHE_WRITERS_UNKNOWN;
  seen.at_ns += 50000000000LL;
  ck_assert(!oc_cache_memo_put(c, fd, &seen, want));
  seen.at_ns += 10000000000LL;
  ck_assert(oc_cache_memo_put(c, fd, &seen, want));
  seen.at_ns -= 60000000000LL;
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
  tcase_add_test(t, memo_wants_regular_files);
  tcase_add_test(t, inputs_lists);
  suite_add_tcase(s, t);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? 1 : 0;
}
