/* Entries taken up again after the index was lost, whatever the rebuild itself meets. */
#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "store.h"

#define BIG     40000u /* an object */
#define ENTRIES 12u
#define TICKET  4711

static char *folder;

static void setup(void)
{
  folder = store_folder();
}

static void teardown(void)
{
  store_remove(folder);
}

/* Entries that share objects in pairs. */
static void fill(void)
{
  struct oc_cache *c = store_open(folder);

  for (unsigned n = 0; n < ENTRIES; n++)
    ck_assert(store_put_wait(c, n, n / 2, BIG));
  oc_cache_close(c);
  ck_assert_int_eq(store_invariants(folder), ENTRIES);
  ck_assert_uint_eq(store_count_files(folder, "entries"), ENTRIES);
}

static void lose_index(void)
{
  static const char *const names[] = { "index.sqlite", "index.sqlite-wal",
                                       "index.sqlite-shm" };

  for (size_t i = 0; i < OC_COUNT(names); i++) {
    auto_free char *path = store_path(folder, names[i]);
    unlink(path);
  }
}

static struct oc_cache_event rebuild(struct oc_cache *c)
{
  ck_assert(oc_cache_rebuild(c, TICKET));
  return store_event(c, OC_CACHE_DONE);
}

static unsigned count_there(struct oc_cache *c)
{
  unsigned there = 0;

  for (unsigned n = 0; n < ENTRIES; n++)
    there += store_check(c, n, n / 2, BIG) == 1;
  return there;
}

struct countdown {
  int left;
};

static void kill_now(void *data, const char *point)
{
  struct countdown *d = data;

  (void)point;
  if (d->left > 0 && --d->left == 0)
    kill(getpid(), SIGKILL);
}

static void rebuild_and_die(int after)
{
  struct countdown d = { .left = after };
  struct oc_cache_options opt = { .at_point = kill_now, .at_point_data = &d };
  struct oc_cache *c = store_open_with(&opt, folder);

  rebuild(c);
  oc_cache_close(c);
  _exit(0);
}

/* A kill at any step of a rebuild: the next one finds what this one did not come to. */
START_TEST(killed_at_every_step)
{
  unsigned kills = 0, steps = 1; /* until the kill */
  int status = 0;

  fill();
  do {
    lose_index();
    pid_t pid = fork();
    if (pid == 0)
      rebuild_and_die((int)steps);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    kills += WIFSIGNALED(status) != 0;
    struct oc_cache *c = store_open(folder);
    rebuild(c);
    ck_assert_uint_eq(count_there(c), ENTRIES);
    oc_cache_close(c);
    ck_assert_int_eq(store_invariants(folder), ENTRIES);
    steps += 5; /* of some eighty */
  } while (WIFSIGNALED(status));
  ck_assert_uint_gt(kills, 5);
  printf("figure rebuild kills=%u entries=%u lost=0 wrong=0\n", kills, ENTRIES);
}
END_TEST

static char *stray_object(void)
{
  char *stray = store_object_path(folder, 99, BIG);
  auto_free char *other = store_object_path(folder, 1, BIG);
  auto_free char *dir = strdup(stray);

  *strrchr(dir, '/') = '\0';
  mkdir(dir, 0700);
  ck_assert_int_eq(link(other, stray), 0);
  return stray;
}

/* A life that ends without a word. */
static void open_and_die(void)
{
  pid_t pid = fork();
  int status = 0;

  if (pid == 0) {
    store_open(folder);
    kill(getpid(), SIGKILL);
  }
  ck_assert_int_eq(waitpid(pid, &status, 0), pid);
  ck_assert(WIFSIGNALED(status));
}

/* As after a power loss that took the last transactions along: the next start finds, on
 * the quiet, entries whose row is gone and objects that no entry names. */
START_TEST(an_unclean_end_is_tidied_up)
{
  struct oc_cache_options quick = { .scrub_delay_ms = 1, .tidy_pause_ms = 1 };
  auto_free char *mark = store_path(folder, "running");
  auto_free char *stray = NULL;
  unsigned half = ENTRIES / 2;

  fill();
  ck_assert_int_ne(access(mark, F_OK), 0);
  lose_index();
  struct oc_cache *c = store_open(folder);
  for (unsigned n = 0; n < half; n++) /* these have rows, the others only files */
    ck_assert(store_put_wait(c, n, n / 2, BIG));
  oc_cache_close(c);
  stray = stray_object();
  open_and_die();
  ck_assert_int_eq(access(mark, F_OK), 0);
  c = store_open_with(&quick, folder);
  struct oc_cache_event e = store_event(c, OC_CACHE_TIDIED);
  ck_assert_uint_eq(e.count, ENTRIES - half);
  ck_assert_uint_eq(e.removed, 1);
  ck_assert_int_ne(access(stray, F_OK), 0);
  ck_assert_uint_eq(count_there(c), ENTRIES);
  oc_cache_close(c);
  ck_assert_int_ne(access(mark, F_OK), 0);
  ck_assert_int_eq(store_invariants(folder), ENTRIES);
  printf("figure tidy adopted=%u orphans=1 removed=1 lost=0\n", ENTRIES - half);
}
END_TEST

/* An export that nobody wants any more does not run to its end. */
START_TEST(an_export_is_cancelled)
{
  auto_free char *path = store_path(folder, "export");
  struct oc_cache *c = store_open(folder);
  bool cut = false;

  ck_assert(store_put_wait(c, 0, 0, 16u << 20));
  for (unsigned i = 0; i < 50 && !cut; i++) { /* one may be over before it is cancelled */
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert(oc_cache_export(c, fd, OC_CACHE_ANYONE, NULL, TICKET + i));
    oc_cache_export_cancel(c, 1); /* another one's */
    oc_cache_export_cancel(c, TICKET + i);
    struct oc_cache_event e = store_event(c, OC_CACHE_DONE);
    cut = e.code == OC_E_CLOSED;
    ck_assert_int_eq(e.code, cut ? OC_E_CLOSED : 0);
    ck_assert_uint_eq(e.bad, 0);
  }
  ck_assert(cut);
  oc_cache_close(c);
}
END_TEST

/* A clean end leaves nothing to look for, and no start looks. */
START_TEST(a_clean_end_is_not)
{
  struct oc_cache_options quick = { .scrub_delay_ms = 1, .tidy_pause_ms = 1 };
  auto_free char *stray = NULL;

  fill();
  stray = stray_object();
  struct oc_cache *c = store_open_with(&quick, folder);
  for (unsigned i = 0; i < 2; i++) { /* the thread has been where it would tidy */
    ck_assert(oc_cache_verify(c, TICKET));
    store_event(c, OC_CACHE_DONE);
  }
  ck_assert_int_eq(access(stray, F_OK), 0);
  oc_cache_close(c);
}
END_TEST

/* An object too few, one too many, and a limit that is smaller than what lies there. */
START_TEST(takes_what_is_whole)
{
  struct oc_cache_options small = { .max_entries = 4 };
  auto_free char *missing = store_object_path(folder, 0, BIG);
  auto_free char *stray = NULL;

  fill();
  lose_index();
  stray = stray_object();
  ck_assert_int_eq(unlink(missing), 0);
  struct oc_cache *c = store_open(folder);
  struct oc_cache_event e = rebuild(c);
  ck_assert_uint_eq(e.count, ENTRIES - 2);
  ck_assert_uint_eq(e.bad, 2);
  ck_assert_uint_eq(e.removed, 1);
  ck_assert_int_ne(access(stray, F_OK), 0);
  ck_assert_uint_eq(count_there(c), ENTRIES - 2);
  oc_cache_close(c);
  ck_assert_int_eq(store_invariants(folder), ENTRIES - 2);
  lose_index();
  c = store_open_with(&small, folder);
  rebuild(c);
  oc_cache_close(c);
  ck_assert_int_le(store_invariants(folder), 4);
}
END_TEST

static bool only_known(const uint8_t key[OC_SHA256_LEN], const void *parts, size_t len)
{
  uint8_t third[OC_SHA256_LEN];

  store_key(3, third);
  return len == 5 && memcmp(parts, "parts", 5) == 0 && memcmp(key, third, 32) != 0;
}

/* Whoever knows keys is asked before an entry is taken up. */
START_TEST(keys_must_fit)
{
  struct oc_cache_options opt = { .key_fits = only_known };

  fill();
  lose_index();
  struct oc_cache *c = store_open_with(&opt, folder);
  ck_assert_uint_eq(rebuild(c).count, ENTRIES - 1);
  ck_assert_int_eq(store_check(c, 3, 1, BIG), 0);
  ck_assert(!oc_cache_export(c, -1, OC_CACHE_ANYONE, NULL, 1) ||
            store_event(c, OC_CACHE_DONE).code != 0);
  oc_cache_close(c);
  ck_assert_int_eq(store_invariants(folder), ENTRIES - 1);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("cache_rebuild");
  TCase *t = tcase_create("rebuild");
  SRunner *r = srunner_create(s);

  tcase_add_checked_fixture(t, setup, teardown);
  tcase_set_timeout(t, 120);
  tcase_add_test(t, killed_at_every_step);
  tcase_add_test(t, takes_what_is_whole);
  tcase_add_test(t, an_unclean_end_is_tidied_up);
  tcase_add_test(t, an_export_is_cancelled);
  tcase_add_test(t, a_clean_end_is_not);
  tcase_add_test(t, keys_must_fit);
  suite_add_tcase(s, t);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? 1 : 0;
}
