/* The attack on remembered digests: a file is rewritten with the same size, and its mtime
 * is set back, again and again, while its digest is asked for. A wrong digest would be a
 * wrong hit.
 *
 * OMCC_MEMO_ROUNDS sets how many rounds with the file at rest; 200 without it (each takes
 * some ticks of the clock). */
#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "store.h"

#define FAST_ROUNDS 10000u
#define SIZE        256u
/* Longer than the tick with which a kernel stamps files. */
#define TICK_NS 11000000

static char *folder;
static struct oc_cache *c;
static int fd;
static struct timespec times[2];

static void setup(void)
{
  struct stat st;

  folder = store_folder();
  c = store_open(folder);
  auto_free char *path = store_path(folder, "input");
  fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ck_assert_int_ge(fd, 0);
  ck_assert_int_eq(fstat(fd, &st), 0);
  times[0] = st.st_atim;
  times[1] = st.st_mtim;
}

static void teardown(void)
{
  close(fd);
  oc_cache_close(c);
  store_remove(folder);
}

/* Other bytes, the same size, the same mtime. */
static void rewrite(unsigned round, uint8_t ret[OC_SHA256_LEN])
{
  uint8_t bytes[SIZE];

  store_fill(round, bytes, sizeof(bytes));
  ck_assert_int_eq(pwrite(fd, bytes, sizeof(bytes), 0), SIZE);
  ck_assert_int_eq(futimens(fd, times), 0);
  ck_assert_int_eq(oc_sha256_bytes(bytes, sizeof(bytes), ret), 0);
}

/* As the daemon does it: 1 remembered, 0 hashed anew (and remembered, if that may be). */
static int digest(int64_t ahead_ns, uint8_t ret[OC_SHA256_LEN])
{
  struct oc_cache_seen seen;

  ck_assert_int_eq(oc_cache_see(fd, &seen), 0);
  if (oc_cache_memo_get(c, fd, &seen, ret) == 1)
    return 1;
  seen.at_ns += ahead_ns;
  seen.boot_ns += ahead_ns;
  if (ahead_ns)
    seen.writers = OC_CACHE_NO_WRITER;
  else
    oc_cache_see_writers(fd, &seen);
  ck_assert_int_eq(oc_sha256_fd(fd, NULL, ret, NULL, NULL), 0);
  if (oc_cache_memo_put(c, fd, &seen, ret))
    oc_cache_flush(c);
  return 0;
}

/* At full speed: many rounds fall into one tick, where no time moves at all. */
START_TEST(rewritten_at_once)
{
  uint8_t want[OC_SHA256_LEN], got[OC_SHA256_LEN];
  unsigned wrong = 0, remembered = 0;

  for (unsigned round = 0; round < FAST_ROUNDS; round++) {
    rewrite(round, want);
    remembered += (unsigned)digest(0, got);
    wrong += memcmp(want, got, sizeof(want)) != 0;
  }
  printf("figure R18 rounds=%u at=once remembered=%u wrong=%u\n", FAST_ROUNDS, remembered,
         wrong);
  ck_assert_uint_eq(wrong, 0);
}
END_TEST

/* At rest, as far as the memo can know: its digest is remembered, until it changes. */
START_TEST(rewritten_at_rest)
{
  const char *text = getenv("OMCC_MEMO_ROUNDS");
  const struct timespec tick = { .tv_nsec = TICK_NS };
  uint8_t want[OC_SHA256_LEN], got[OC_SHA256_LEN];
  unsigned wrong = 0, remembered = 0;
  uint64_t rounds = 200;

  if (text)
    ck_assert(oc_str_to_u64(oc_str_of(text), &rounds));
  for (unsigned round = 0; round < rounds; round++) {
    nanosleep(&tick, NULL);
    rewrite(round, want);
    ck_assert_int_eq(digest(3000000000, got), 0);
    wrong += memcmp(want, got, sizeof(want)) != 0;
    remembered += (unsigned)digest(0, got);
    wrong += memcmp(want, got, sizeof(want)) != 0;
  }
  printf("figure R18 rounds=%llu at=rest remembered=%u wrong=%u\n",
         (unsigned long long)rounds, remembered, wrong);
  ck_assert_uint_eq(wrong, 0);
  ck_assert_uint_eq(remembered, rounds);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("cache_attack");
  TCase *t = tcase_create("attack");
  SRunner *r = srunner_create(s);

  signal(SIGIO, SIG_IGN);
  tcase_set_timeout(t, 600);
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, rewritten_at_once);
  tcase_add_test(t, rewritten_at_rest);
  suite_add_tcase(s, t);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? 1 : 0;
}
