/* Limits: a disk that is full at every byte, a user's share, the rate of the scrubber,
 * pins and collection, and eviction while others read. */
#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "store.h"

#define BIG 40000u

static char *folder;

static void setup(void)
{
  folder = store_folder();
}

static void teardown(void)
{
  store_remove(folder);
}

/* The index itself may run into the limit too: then it is not opened, which is an answer.
 */
static void put_under_limit(rlim_t limit)
{
  struct rlimit r = { limit, limit };
  struct oc_cache *c = store_open(folder);

  signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &r);
  struct oc_cache_output out;
  struct oc_error err;
  if (oc_cache_output_new(c, &out, &err) == 0) {
    static char bytes[BIG];
    ssize_t n = write(out.fd, bytes, sizeof(bytes));
    oc_cache_output_clear(&out);
    _exit(n == (ssize_t)sizeof(bytes) ? 0 : 1);
  }
  _exit(2);
}

/* A file that could not be written whole never gets a name, and the cache is whole. */
START_TEST(no_space)
{
  unsigned refused = 0, rounds = 0;

  for (rlim_t limit = 4096; limit < BIG + 8192; limit += 4096, rounds++) {
    int status = 0;
    pid_t pid = fork();
    if (pid == 0)
      put_under_limit(limit);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    refused += WIFEXITED(status) && WEXITSTATUS(status) != 0;
    struct oc_cache *c = store_open(folder);
    ck_assert_uint_eq(store_count_files(folder, "objects"), 0);
    oc_cache_close(c);
    store_invariants(folder);
  }
  ck_assert_uint_gt(refused, 5);
  struct oc_cache *c = store_open(folder); /* and once there is room again */
  ck_assert(store_put_wait(c, 1, 1, BIG));
  oc_cache_close(c);
  printf("figure R11 limits=%u refused=%u partial_files=0\n", rounds, refused);
}
END_TEST

/* A result that cannot be copied into the cache is reported, and nothing is left. */
START_TEST(no_space_while_storing)
{
  struct rlimit before, small = { 20000, RLIM_INFINITY };
  struct oc_cache *c = store_open(folder);
  static char bytes[BIG];
  struct oc_cache_put_member m = { .name = "model.om",
                                   .kind = "artifact",
                                   .from = OC_CACHE_FROM_DATA,
                                   .data = bytes,
                                   .size = sizeof(bytes) };
  struct oc_cache_put put = {
    .parts = "p", .parts_len = 1, .members = &m, .n_members = 1
  };
  struct oc_cache_stats stats;

  memset(bytes, 'x', sizeof(bytes));
  signal(SIGXFSZ, SIG_IGN);
  store_key(1, put.key);
  oc_cache_flush(c);
  getrlimit(RLIMIT_FSIZE, &before);
  setrlimit(RLIMIT_FSIZE, &small);
  ck_assert_int_eq(oc_cache_put(c, &put, 1, NULL), 0);
  struct oc_cache_event e = store_event(c, OC_CACHE_NOT_STORED);
  setrlimit(RLIMIT_FSIZE, &before);
  ck_assert_str_ne(e.reason, "");
  oc_cache_stats(c, &stats);
  ck_assert_uint_eq(stats.not_stored, 1);
  ck_assert_uint_eq(stats.entries, 0);
  ck_assert(store_put_wait(c, 2, 2, BIG));
  oc_cache_close(c);
  ck_assert_uint_eq(store_count_files(folder, "objects"), 1);
}
END_TEST

START_TEST(share_of_one_user)
{
  struct oc_cache_options opt = { .max_user_bytes = 100000 };
  struct oc_cache *c = store_open_with(&opt, folder);

  for (unsigned n = 0; n < 6; n++)
    ck_assert(store_put_wait(c, n, n, BIG));
  oc_cache_flush(c);
  for (unsigned n = 0; n < 6; n++)
    ck_assert_int_eq(store_check(c, n, n, BIG), n >= 4);
  oc_cache_close(c);
  store_invariants(folder);
}
END_TEST

START_TEST(pinned_entries_stay)
{
  struct oc_cache_options opt = { .max_entries = 2 };
  struct oc_cache *c = store_open_with(&opt, folder);
  uint8_t key[OC_SHA256_LEN];

  ck_assert(store_put_wait(c, 0, 0, BIG));
  store_key(0, key);
  ck_assert(oc_cache_pin(c, key, OC_CACHE_FOR_GOOD, 9));
  ck_assert_uint_eq(store_event(c, OC_CACHE_DONE).count, 1);
  for (unsigned n = 1; n < 6; n++)
    ck_assert(store_put_wait(c, n, n, BIG));
  oc_cache_flush(c);
  ck_assert_int_eq(store_check(c, 0, 0, BIG), 1);
  ck_assert_int_eq(store_check(c, 5, 5, BIG), 1);
  ck_assert_int_eq(store_check(c, 4, 4, BIG), 0);
  oc_cache_close(c);
  store_invariants(folder);
}
END_TEST

/* Damage that no lookup sees, because size and times are right. */
static void flip(unsigned n)
{
  auto_free char *path = store_object_path(folder, n, BIG);
  struct stat st;
  struct timespec times[2];
  char byte;

  ck_assert_int_eq(stat(path, &st), 0);
  ck_assert_int_eq(chmod(path, 0600), 0);
  int fd = open(path, O_RDWR);
  ck_assert_int_eq(pread(fd, &byte, 1, BIG / 2), 1);
  byte ^= 1;
  ck_assert_int_eq(pwrite(fd, &byte, 1, BIG / 2), 1);
  times[0] = st.st_atim;
  times[1] = st.st_mtim;
  ck_assert_int_eq(futimens(fd, times), 0);
  close(fd);
}

START_TEST(scrub_finds_hidden_damage)
{
  struct oc_cache_options opt = { .scrub_bytes_per_s = 100 * BIG, .scrub_delay_ms = 10 };
  struct oc_cache *c = store_open(folder);

  for (unsigned n = 0; n < 8; n++)
    ck_assert(store_put_wait(c, n, n, BIG));
  oc_cache_close(c);
  flip(3);
  c = store_open_with(&opt, folder);
  struct oc_cache_event e = store_event(c, OC_CACHE_DAMAGED);
  ck_assert_uint_eq(e.count, 1);
  ck_assert(oc_cache_verify(c, 5));
  e = store_event(c, OC_CACHE_DONE);
  ck_assert_uint_eq(e.count, 7);
  ck_assert_uint_eq(e.bad, 0);
  oc_cache_close(c);
  ck_assert_uint_eq(store_count_files(folder, "quarantine"), 1);
  store_invariants(folder);
}
END_TEST

/* R17: many flips that keep size and mtime, in lives that begin after them. */
START_TEST(hidden_flips)
{
  unsigned flips = 0;

  for (unsigned round = 0; round < 25; round++) {
    struct oc_cache *c = store_open(folder);
    for (unsigned n = 0; n < 4; n++)
      ck_assert(store_check(c, n, n, BIG) || store_put_wait(c, n, n, BIG));
    if (round % 2)
      oc_cache_close(c);
    for (unsigned n = 0; n < 4; n++, flips++)
      flip(n);
    if (round % 2)
      c = store_open(folder);
    for (unsigned n = 0; n < 4; n++)
      ck_assert_int_eq(store_check(c, n, n, BIG), 0);
    oc_cache_close(c);
  }
  printf("figure R17 flips=%u delivered=0\n", flips);
}
END_TEST

static uint64_t now_us(void)
{
  struct timespec t;

  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

static int by_value(const void *a, const void *b)
{
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

  return x < y ? -1 : x > y;
}

#define LOOKS 400u

/* The middle and nearly the worst of lookups, while `puts` results are queued. */
static void measure(struct oc_cache *c, unsigned first, unsigned puts, uint64_t *ret_p50,
                    uint64_t *ret_p99)
{
  static uint64_t took[LOOKS];

  for (unsigned i = 0; i < LOOKS; i++) {
    uint64_t begun;
    if (puts && i % 4 == 0)
      store_put(c, first + i, first + i, BIG);
    begun = now_us();
    ck_assert_int_eq(store_check(c, 0, 0, BIG), 1);
    took[i] = now_us() - begun;
  }
  qsort(took, LOOKS, sizeof(took[0]), by_value);
  *ret_p50 = took[LOOKS / 2];
  *ret_p99 = took[LOOKS * 99 / 100];
}

/* R24: hits while the writer stores and evicts. */
START_TEST(eviction_under_load)
{
  struct oc_cache_options opt = { .max_entries = 20 };
  struct oc_cache *c = store_open_with(&opt, folder);
  uint64_t p50, p99, busy50, busy99;
  uint8_t key[OC_SHA256_LEN];

  store_key(0, key);
  ck_assert(store_put_wait(c, 0, 0, BIG));
  ck_assert(oc_cache_pin(c, key, OC_CACHE_FOR_GOOD, 1));
  store_event(c, OC_CACHE_DONE);
  measure(c, 0, 0, &p50, &p99);
  measure(c, 100, 1, &busy50, &busy99);
  oc_cache_flush(c);
  struct oc_cache_stats stats;
  oc_cache_stats(c, &stats);
  ck_assert_uint_le(stats.entries, 20);
  ck_assert_uint_ge(stats.evicted, 50);
  printf(
      "figure R24 quiet_us p50=%llu p99=%llu evicting p50=%llu p99=%llu evicted=%llu\n",
      (unsigned long long)p50, (unsigned long long)p99, (unsigned long long)busy50,
      (unsigned long long)busy99, (unsigned long long)stats.evicted);
  oc_cache_close(c);
  store_invariants(folder);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("cache_limits");
  TCase *t = tcase_create("limits");
  SRunner *r = srunner_create(s);

  tcase_set_timeout(t, 120);
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, no_space);
  tcase_add_test(t, no_space_while_storing);
  tcase_add_test(t, share_of_one_user);
  tcase_add_test(t, pinned_entries_stay);
  tcase_add_test(t, scrub_finds_hidden_damage);
  tcase_add_test(t, hidden_flips);
  tcase_add_test(t, eviction_under_load);
  suite_add_tcase(s, t);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? 1 : 0;
}
