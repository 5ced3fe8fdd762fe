/* Every call of a life of the cache, one after the other, fails, is cut short, or is the
 * last one: nothing that was said to be stored is lost, nothing is wrong, no file is left
 * over, and the next life answers at once. A kill before a call is one after the call
 * before it.
 *
 * OMCC_FAULT_SEEDS: how many lives with other contents (of failures two at most), and
 * then no call is left out (memory: one in seven). Without it one life, and of the
 * failures, not the kills, one call in sixteen. */
#include <check.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "fault.h"
#include "store.h"
#include "work.h"

static struct fault_order *order;

static void calm(void)
{
  fault_disarm(order);
}

static const struct row {
  const char *name;
  enum fault_mode mode;
  int error;
  uint32_t classes;
  bool sticky;
} rows[] = {
  { "kill", FAULT_KILL_AFTER, 0, FAULT_FILES & ~FAULT_READ, false },
  { "EIO", FAULT_FAIL, EIO, FAULT_FILES, false },
  { "ENOSPC", FAULT_FAIL, ENOSPC,
    FAULT_WRITE | FAULT_OPEN | FAULT_NAME | FAULT_SIZE | FAULT_SYNC, false },
  { "EINTR", FAULT_FAIL, EINTR, FAULT_WRITE | FAULT_READ | FAULT_OPEN, false },
  { "EMFILE", FAULT_FAIL, EMFILE, FAULT_OPEN, false },
  { "short", FAULT_SHORT, 0, FAULT_WRITE | FAULT_READ, false },
  { "ENOSPC-stays", FAULT_FAIL, ENOSPC,
    FAULT_WRITE | FAULT_OPEN | FAULT_NAME | FAULT_SIZE, true },
  { "EIO-stays", FAULT_FAIL, EIO, FAULT_FILES & ~FAULT_READ, true },
  { "EROFS-stays", FAULT_FAIL, EROFS, FAULT_WRITE | FAULT_NAME | FAULT_SIZE, true },
  { "ENOMEM", FAULT_FAIL, ENOMEM, FAULT_MEMORY, false },
  { "ENOMEM-stays", FAULT_FAIL, ENOMEM, FAULT_MEMORY, true },
};

static bool is_read(const char *call)
{
  return oc_streq(call, "pread") || oc_streq(call, "read");
}

/* True when the fault came to pass. */
static bool live(const struct row *r, const char *folder, unsigned nth, unsigned seed,
                 struct work_known *k)
{
  int status = 0;

  memset(k, 0, sizeof(*k));
  order->classes = r->classes;
  order->error = (uint32_t)r->error;
  order->sticky = r->sticky;
  snprintf(order->under, sizeof(order->under), "%s", folder);
  fault_arm(order, r->mode, nth);
  pid_t pid = fork();
  if (pid == 0) {
    work_live(folder, seed, false, k, NULL, calm);
    _exit(0);
  }
  ck_assert_int_eq(waitpid(pid, &status, 0), pid);
  fault_disarm(order);
  bool kills = r->mode == FAULT_KILL_BEFORE || r->mode == FAULT_KILL_AFTER;
  if (WIFSIGNALED(status))
    ck_assert_msg(kills && WTERMSIG(status) == SIGKILL, "%s at call %u (%s): signal %d",
                  r->name, nth, order->call, WTERMSIG(status));
  else
    /* SQLite takes a page that the disk does not give for a damaged one: then everything
     * is a miss until the next open has checked the index. */
    ck_assert_msg(k->ended && (k->recovered || !k->opened || is_read(order->call)),
                  "%s at call %u (%s): no recovery: %s", r->name, nth, order->call,
                  k->reason);
  return order->fired > 0;
}

static int by_value(const void *a, const void *b)
{
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

  return x < y ? -1 : x > y;
}

/* Memory is taken some thousand times in a life. */
static unsigned stride_of(const struct row *r, bool whole)
{
  if (r->classes == FAULT_MEMORY)
    return whole ? 7 : 211;
  return whole || r->mode == FAULT_KILL_AFTER ? 1 : 16;
}

/* How many seeds; 0: a short run. */
static unsigned n_seeds(void)
{
  const char *text = getenv("OMCC_FAULT_SEEDS");
  uint64_t n = 0;

  if (text)
    ck_assert(oc_str_to_u64(oc_str_of(text), &n));
  return (unsigned)n;
}

START_TEST(every_call)
{
  const struct row *r = &rows[_i];
  static uint64_t took[1u << 16];
  unsigned steps = 0, failures = 0, seeds = n_seeds();
  unsigned stride = stride_of(r, seeds > 0);
  struct work_known *k = work_share();

  seeds += seeds == 0;
  if (r->mode != FAULT_KILL_AFTER && seeds > 2)
    seeds = 2;
  order = fault_share();
  for (unsigned seed = 1; seed <= seeds; seed++) {
    bool fired = true;
    for (unsigned nth = 1 + (unsigned)_i % stride; fired; nth += stride) {
      char *folder = store_folder_in_memory();
      fired = live(r, folder, nth, seed, k);
      took[steps % OC_COUNT(took)] = work_check(folder, k, false, NULL);
      steps += fired;
      failures += k->failures;
      store_invariants(folder);
      store_remove(folder);
      ck_assert_uint_lt(nth, 40000);
    }
  }
  ck_assert_uint_ge(steps, seeds);
  size_t n = steps < OC_COUNT(took) ? steps : OC_COUNT(took);
  qsort(took, n, sizeof(took[0]), by_value);
  uint64_t middle = took[n / 2];
  printf("figure R1 fault=%s steps=%u seeds=%u refused=%u lost=0 wrong=0 orphans=0 "
         "first_answer_ms p50=%.1f max=%.1f\n",
         r->name, steps, seeds, failures, (double)middle / 1e3,
         (double)took[n - 1] / 1e3);
  /* One of the quicker ones: a busy machine makes the others wait, not this one. */
  ck_assert_uint_lt(took[n / 10], 200000);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("fault_store");
  TCase *t = tcase_create("store");
  SRunner *r = srunner_create(s);

  tcase_set_timeout(t, 1800);
  tcase_add_loop_test(t, every_call, 0, (int)OC_COUNT(rows));
  suite_add_tcase(s, t);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? 1 : 0;
}
