/* Power loss: a life of the cache is traced, and cut off after each of its calls; what
 * was not synced by then is there, is not there, or is there in part. With durability
 * `full` nothing that was said to be stored is lost; with `normal` the newest may be, and
 * nothing is wrong.
 *
 * OMCC_FAULT_SEEDS: how many choices by lot after every call; without it two, after one
 * call in twelve. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "disk.h"
#include "store.h"
#include "work.h"

static void calm(void)
{
}

static void acked(unsigned n, unsigned place)
{
  trace_mark((uint64_t)place << 8 | n);
}

static void trace_life(const char *folder, const char *file, bool full,
                       struct work_known *k)
{
  auto_free char *cache = store_path(folder, "cache");
  int status = 0;
  pid_t pid = fork();

  if (pid == 0) {
    trace_start(folder, file);
    work_live(cache, 1, full, k, acked, calm);
    trace_stop();
    _exit(k->ended && k->failures == 0 ? 0 : 1);
  }
  ck_assert_int_eq(waitpid(pid, &status, 0), pid);
  ck_assert_int_eq(status, 0);
}

/* What was known after the first `n` records. */
static void known_at(const struct disk_trace *t, size_t n, const struct work_known *all,
                     struct work_known *ret)
{
  *ret = *all;
  ret->n_acks = 0;
  ret->ended = false;
  memset(ret->stored, 0, sizeof(ret->stored));
  for (size_t i = 0; i < n; i++)
    if (t->records[i]->kind == TRACE_MARK)
      work_acked(ret, t->records[i]->at & 0xff, (unsigned)(t->records[i]->at >> 8));
}

struct tally {
  unsigned states, there, orphans;
  size_t unsynced;
};

static void lose_power(const struct disk_trace *t, uint64_t root, size_t n,
                       enum disk_choice choice, uint32_t seed, bool full,
                       const struct work_known *all, struct tally *tally)
{
  struct work_known known;
  char *after = store_folder_in_memory();
  auto_free char *cache = store_path(after, "cache");
  unsigned there = 0;

  known_at(t, n, all, &known);
  tally->unsynced += disk_after(t, root, n, choice, seed, after);
  work_check(cache, &known, !full, &there);
  if (full)
    store_invariants(cache);
  tally->states++;
  tally->there += there;
  store_remove(after);
}

START_TEST(cut_after_every_call)
{
  bool full = _i == 1;
  const char *text = getenv("OMCC_FAULT_SEEDS");
  uint64_t seeds = 2;
  size_t stride = text ? 1 : 12;
  char *folder = store_folder_in_memory(), *apart = store_folder_in_memory();
  auto_free char *file = store_path(apart, "trace");
  struct work_known *k = work_share();
  struct tally tally = { 0 };
  struct disk_trace t;
  struct stat st;

  if (text)
    ck_assert(oc_str_to_u64(oc_str_of(text), &seeds));
  trace_life(folder, file, full, k);
  ck_assert_int_eq(stat(folder, &st), 0);
  disk_trace_read(file, &t);
  ck_assert_uint_gt(t.n, 200);
  for (size_t n = 1; n <= t.n; n += stride) {
    lose_power(&t, st.st_ino, n, DISK_NOTHING, 0, full, k, &tally);
    lose_power(&t, st.st_ino, n, DISK_ALL, 0, full, k, &tally);
    for (uint32_t seed = 1; seed <= seeds; seed++)
      lose_power(&t, st.st_ino, n, DISK_SOME, (uint32_t)n * 977 + seed, full, k, &tally);
  }
  printf("figure R3 durability=%s calls=%zu states=%u unsynced_pieces=%zu answers=%u "
         "wrong=0 %s\n",
         full ? "full" : "normal", t.n, tally.states, tally.unsynced, tally.there,
         full ? "lost=0 orphans=0" : "index_whole=all");
  ck_assert_uint_gt(tally.unsynced, tally.states);
  ck_assert_uint_gt(tally.there, 0);
  disk_trace_clear(&t);
  store_remove(folder);
  store_remove(apart);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("fault_power");
  TCase *t = tcase_create("power");
  SRunner *r = srunner_create(s);

  tcase_set_timeout(t, 1800);
  tcase_add_loop_test(t, cut_after_every_call, 0, 2);
  suite_add_tcase(s, t);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? 1 : 0;
}
