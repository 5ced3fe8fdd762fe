/* kill -9 at every point of the writer: a child works on a cache and kills itself at the
 * Nth point it passes, for N = 1, 2, ... until it gets through. After each, what the
 * child knew to be stored is there and right, nothing else is wrong, and no file is left
 * over. */
#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "store.h"

#define BIG     40000u
#define ENTRIES 6u

struct killer {
  unsigned at, passed;
};

static void kill_at(void *data, const char *point)
{
  struct killer *k = data;

  (void)point;
  if (++k->passed == k->at)
    kill(getpid(), SIGKILL);
}

/* What the child does: entries that share objects, a replacement, eviction. Each number
 * it knows to be stored goes through the pipe. */
static void work(const char *folder, unsigned at, bool no_tmpfile, int out)
{
  struct killer k = { .at = at };
  struct oc_cache_options opt = {
    .max_entries = 4, .no_tmpfile = no_tmpfile, .at_point = kill_at, .at_point_data = &k
  };
  struct oc_cache *c = store_open_with(&opt, folder);

  for (unsigned n = 0; n < ENTRIES; n++) {
    unsigned char stored = (unsigned char)n;
    if (!store_put_wait(c, n, n / 2, BIG) || write(out, &stored, 1) != 1)
      _exit(2);
  }
  if (!store_put_wait(c, ENTRIES - 1, 50, BIG))
    _exit(2);
  oc_cache_close(c);
  _exit(0);
}

/* The entries that the child reported, and whether it was killed. */
static bool run_child(const char *folder, unsigned at, bool no_tmpfile,
                      bool known[ENTRIES])
{
  int pipes[2], status = 0;
  unsigned char n;

  ck_assert_int_eq(pipe(pipes), 0);
  pid_t pid = fork();
  if (pid == 0) {
    close(pipes[0]);
    work(folder, at, no_tmpfile, pipes[1]);
  }
  close(pipes[1]);
  memset(known, 0, ENTRIES * sizeof(known[0]));
  while (read(pipes[0], &n, 1) == 1)
    known[n] = true;
  close(pipes[0]);
  ck_assert_int_eq(waitpid(pid, &status, 0), pid);
  if (WIFSIGNALED(status)) {
    ck_assert_int_eq(WTERMSIG(status), SIGKILL);
    return true;
  }
  ck_assert_int_eq(status, 0);
  return false;
}

static void check_after(const char *folder, const bool known[ENTRIES])
{
  struct oc_cache *c = store_open(folder);
  unsigned last = 0, there = 0;

  ck_assert_ptr_null(oc_cache_set_aside(c));
  for (unsigned n = 0; n < ENTRIES; n++) {
    uint8_t key[OC_SHA256_LEN];
    store_key(n, key);
    if (known[n])
      last = n + 1;
    if (!oc_cache_has(c, key, NULL))
      continue;
    there++;
    if (n < ENTRIES - 1)
      ck_assert_int_eq(store_check(c, n, n / 2, BIG), 1);
  }
  /* The newest four of those that were stored are there, if eviction kept up, else more.
   */
  ck_assert_uint_ge(there, last < 4 ? last : 4);
  oc_cache_flush(c);
  struct oc_cache_stats stats;
  oc_cache_stats(c, &stats);
  ck_assert_uint_eq(stats.damaged, 0);
  oc_cache_close(c);
  store_invariants(folder);
}

START_TEST(every_point)
{
  bool known[ENTRIES], killed = true;
  unsigned at = 0;

  while (killed) {
    char *folder = store_folder();
    at++;
    killed = run_child(folder, at, _i == 1, known);
    check_after(folder, known);
    store_remove(folder);
    ck_assert_uint_lt(at, 500);
  }
  /* Every put passes at least six points. */
  ck_assert_uint_gt(at, 6 * ENTRIES);
}
END_TEST

/* Again and again on the same cache: leftovers of one life must not pile up in the next.
 */
START_TEST(many_lives)
{
  char *folder = store_folder();
  bool known[ENTRIES];

  for (unsigned life = 0; life < 40; life++)
    run_child(folder, 1 + life * 7 % 45, life % 3 == 0, known);
  struct oc_cache *c = store_open(folder);
  oc_cache_close(c);
  store_invariants(folder);
  store_remove(folder);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("cache_kill");
  TCase *t = tcase_create("kill");
  SRunner *r = srunner_create(s);

  tcase_set_timeout(t, 240);
  tcase_add_loop_test(t, every_point, 0, 2);
  tcase_add_test(t, many_lives);
  suite_add_tcase(s, t);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? 1 : 0;
}
