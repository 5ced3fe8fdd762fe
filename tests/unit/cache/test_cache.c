/* The cache in order: put and look up, plan keys, figures, and who may open it. */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/str.h"
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

START_TEST(put_then_hit)
{
  struct oc_cache *c = store_open(folder);
  struct oc_cache_stats stats;
  enum oc_cache_miss miss;
  uint8_t key[OC_SHA256_LEN];

  store_key(1, key);
  ck_assert_int_eq(oc_cache_has(c, key, &miss), 0);
  ck_assert_int_eq(miss, OC_CACHE_MISS_ABSENT);
  ck_assert(store_put_wait(c, 1, 1, BIG));
  ck_assert_int_eq(oc_cache_has(c, key, &miss), 1);
  ck_assert_int_eq(store_check(c, 1, 1, BIG), 1);
  ck_assert_int_eq(store_check(c, 2, 1, BIG), 0);
  oc_cache_flush(c);
  oc_cache_stats(c, &stats);
  ck_assert_uint_eq(stats.entries, 1);
  ck_assert_uint_eq(stats.objects, 1);
  ck_assert_uint_eq(stats.hits, 1);
  ck_assert_uint_eq(stats.misses, 1);
  ck_assert_uint_eq(stats.stored, 1);
  ck_assert_uint_eq(stats.saved_ms, 10);
  oc_cache_close(c);
  ck_assert_int_eq(store_invariants(folder), 1);
  /* Everything is there after a restart, the figures too. */
  c = store_open(folder);
  ck_assert_ptr_null(oc_cache_set_aside(c));
  oc_cache_stats(c, &stats);
  ck_assert_uint_eq(stats.hits, 1);
  ck_assert_int_eq(store_check(c, 1, 1, BIG), 1);
  oc_cache_close(c);
}
END_TEST

/* Whatever its size; the captured line beside it is inline. */
START_TEST(artifacts_are_objects)
{
  struct oc_cache *c = store_open(folder);

  ck_assert(store_put_wait(c, 1, 1, OC_INLINE_MEMBER));
  ck_assert(store_put_wait(c, 2, 2, OC_INLINE_MEMBER + 1));
  ck_assert_int_eq(store_check(c, 1, 1, OC_INLINE_MEMBER), 1);
  ck_assert_int_eq(store_check(c, 2, 2, OC_INLINE_MEMBER + 1), 1);
  oc_cache_close(c);
  ck_assert_uint_eq(store_count_files(folder, "objects"), 2);
  store_invariants(folder);
}
END_TEST

START_TEST(one_copy_of_equal_content)
{
  struct oc_cache *c = store_open(folder);
  struct oc_cache_stats stats;

  for (unsigned n = 0; n < 5; n++)
    ck_assert(store_put_wait(c, n, 7, BIG));
  oc_cache_stats(c, &stats);
  ck_assert_uint_eq(stats.entries, 5);
  ck_assert_uint_eq(stats.objects, 1);
  /* Putting a key again replaces its result and leaves no trace of the older. */
  ck_assert(store_put_wait(c, 0, 8, BIG));
  ck_assert(store_put_wait(c, 0, 9, BIG));
  ck_assert_int_eq(store_check(c, 0, 9, BIG), 1);
  ck_assert_int_eq(store_check(c, 1, 7, BIG), 1);
  oc_cache_stats(c, &stats);
  ck_assert_uint_eq(stats.objects, 2);
  oc_cache_close(c);
  ck_assert_int_eq(store_invariants(folder), 5);
}
END_TEST

START_TEST(without_tmpfile)
{
  struct oc_cache_options opt = { .no_tmpfile = true };
  struct oc_cache *c = store_open_with(&opt, folder);
  struct oc_cache_output left;

  ck_assert(store_put_wait(c, 1, 1, BIG));
  ck_assert_int_eq(store_check(c, 1, 1, BIG), 1);
  /* An output that nobody publishes is removed by its owner, or by the next open. */
  ck_assert_int_eq(oc_cache_output_new(c, &left, NULL), 0);
  ck_assert_ptr_nonnull(left.path);
  ck_assert_uint_eq(store_count_files(folder, "tmp"), 1);
  oc_cache_output_clear(&left);
  oc_cache_output_clear(&left);
  ck_assert_uint_eq(store_count_files(folder, "tmp"), 0);
  ck_assert_int_eq(oc_cache_output_new(c, &left, NULL), 0);
  oc_cache_close(c);
  c = store_open(folder);
  ck_assert_uint_eq(store_count_files(folder, "tmp"), 0);
  oc_cache_close(c);
  ck_assert_int_eq(store_invariants(folder), 1);
  close(left.fd);
  free(left.path);
}
END_TEST

START_TEST(sealing_notices_a_writer)
{
  struct oc_cache *c = store_open(folder);
  struct oc_cache_output out;
  struct oc_error err = { 0 };

  ck_assert_int_eq(oc_cache_output_new(c, &out, NULL), 0);
  int other = dup(out.fd);
  ck_assert_int_eq(oc_cache_output_seal(&out, &err), OC_E_BUSY);
  close(other);
  ck_assert_int_eq(oc_cache_output_seal(&out, &err), 0);
  ck_assert_int_lt(write(out.fd, "x", 1), 0);
  oc_cache_output_clear(&out);
  oc_cache_close(c);
}
END_TEST

START_TEST(plan_keys_name_objects)
{
  struct oc_cache *c = store_open(folder);
  struct oc_cache_member m;
  struct oc_arena arena;
  uint8_t plan[OC_SHA256_LEN];

  oc_arena_init(&arena, 0);
  store_key(1000007, plan);
  ck_assert_int_eq(oc_cache_find_plan(c, plan, &arena, &m), 0);
  ck_assert(store_put_wait(c, 1, 7, BIG));
  ck_assert_int_eq(oc_cache_find_plan(c, plan, &arena, &m), 1);
  ck_assert_str_eq(m.kind, "artifact");
  ck_assert_uint_eq(m.size, BIG);
  close(m.fd);
  /* A second request's result is made of the same object, without its bytes. */
  struct oc_cache_put_member again = { .name = "model.om",
                                       .kind = "artifact",
                                       .mode = 0600,
                                       .from = OC_CACHE_FROM_OBJECT,
                                       .size = m.size };
  memcpy(again.sha256, m.sha256, sizeof(again.sha256));
  struct oc_cache_put put = {
    .parts = "p", .parts_len = 1, .members = &again, .n_members = 1
  };
  store_key(2, put.key);
  ck_assert_int_eq(oc_cache_put(c, &put, 2, NULL), 0);
  store_event(c, OC_CACHE_STORED);
  struct oc_cache_hit hit;
  ck_assert_int_eq(oc_cache_lookup(c, put.key, 0, &hit, NULL), 1);
  ck_assert_mem_eq(hit.members[0].sha256, m.sha256, OC_SHA256_LEN);
  oc_cache_hit_clear(&hit);
  /* An object that is not there cannot be named. */
  store_key(99, again.sha256);
  store_key(3, put.key);
  ck_assert_int_eq(oc_cache_put(c, &put, 3, NULL), 0);
  ck_assert_uint_eq(store_event(c, OC_CACHE_NOT_STORED).ticket, 3);
  oc_cache_close(c);
  ck_assert_int_eq(store_invariants(folder), 2);
  oc_arena_clear(&arena);
}
END_TEST

START_TEST(copied_members)
{
  struct oc_cache *c = store_open(folder);
  static uint8_t big[100000];
  int small_fd = memfd_create("small", 0), big_fd = memfd_create("big", 0);
  memset(big, 'b', sizeof(big));
  ck_assert_int_eq(write(small_fd, "check", 5), 5);
  ck_assert_int_eq(write(big_fd, big, sizeof(big)), sizeof(big));
  struct oc_cache_put_member members[] = {
    { .name = "model.om", .kind = "artifact", .from = OC_CACHE_FROM_COPY, .fd = big_fd },
    { .name = "check_result.json",
      .kind = "side",
      .from = OC_CACHE_FROM_COPY,
      .fd = small_fd },
    { .name = "weight/weight_1",
      .kind = "side",
      .from = OC_CACHE_FROM_DATA,
      .data = big,
      .size = sizeof(big) },
    { .name = "stderr",
      .kind = "stderr",
      .from = OC_CACHE_FROM_DATA,
      .data = "",
      .size = 0 },
  };
  struct oc_cache_put put = {
    .parts = "p", .parts_len = 1, .members = members, .n_members = 4
  };
  store_key(1, put.key);
  ck_assert_int_eq(oc_cache_put(c, &put, 1, NULL), 0);
  close(small_fd);
  close(big_fd);
  store_event(c, OC_CACHE_STORED);
  struct oc_cache_hit hit;
  ck_assert_int_eq(oc_cache_lookup(c, put.key, 0, &hit, NULL), 1);
  ck_assert_uint_eq(hit.n_members, 4);
  ck_assert_uint_eq(hit.size, 2 * sizeof(big) + 5);
  ck_assert_int_ge(hit.members[0].fd, 0);
  ck_assert_mem_eq(hit.members[1].data, "check", 5);
  ck_assert_int_ge(hit.members[2].fd, 0);
  ck_assert_uint_eq(hit.members[3].size, 0);
  oc_cache_hit_clear(&hit);
  oc_cache_close(c);
  ck_assert_uint_eq(store_count_files(folder, "objects"), 1); /* equal content */
  store_invariants(folder);
}
END_TEST

START_TEST(refused_results)
{
  static const char *const bad_names[] = { "",     "/etc/passwd", "../x", "a/../b",
                                           "a//b", "./a",         "a/" };
  struct oc_cache *c = store_open(folder);
  struct oc_cache_put_member m = {
    .kind = "artifact", .from = OC_CACHE_FROM_DATA, .data = "x", .size = 1
  };
  struct oc_cache_put put = {
    .parts = "p", .parts_len = 1, .members = &m, .n_members = 1
  };

  for (size_t i = 0; i < OC_COUNT(bad_names); i++) {
    m.name = bad_names[i];
    ck_assert_msg(oc_cache_put(c, &put, 1, NULL) == OC_E_ARG, "'%s'", bad_names[i]);
  }
  m.name = "model.om";
  m.size = 0; /* empty is never a valid artifact */
  ck_assert_int_eq(oc_cache_put(c, &put, 1, NULL), OC_E_ARG);
  put.n_members = 0;
  ck_assert_int_eq(oc_cache_put(c, &put, 1, NULL), OC_E_ARG);
  oc_cache_close(c);
  ck_assert_int_eq(store_invariants(folder), 0);
}
END_TEST

START_TEST(second_daemon_is_refused)
{
  struct oc_cache *c = store_open(folder);
  int pipes[2];

  ck_assert_int_eq(pipe(pipes), 0);
  pid_t pid = fork();
  if (pid == 0) {
    struct oc_cache_options opt = { .dir = folder };
    struct oc_cache *second = NULL;
    struct oc_error err = { 0 };
    int rc = oc_cache_open(&opt, &second, &err);
    if (write(pipes[1], err.msg, sizeof(err.msg)) < 0)
      _exit(99);
    _exit(rc == OC_E_BUSY ? 0 : 1);
  }
  char msg[sizeof(((struct oc_error *)0)->msg)] = "", want[32];
  int status = 0;
  ck_assert_int_gt(read(pipes[0], msg, sizeof(msg)), 0);
  ck_assert_int_eq(waitpid(pid, &status, 0), pid);
  ck_assert_int_eq(status, 0);
  snprintf(want, sizeof(want), "pid %ld", (long)getpid());
  ck_assert_msg(strstr(msg, want) != NULL, "%s", msg);
  oc_cache_close(c);
  oc_cache_close(store_open(folder)); /* the lock is given back */
}
END_TEST

START_TEST(unfit_folders)
{
  struct oc_cache_options opt = { 0 };
  struct oc_cache *c = NULL;
  struct oc_error err = { 0 };
  auto_free char *file = store_path(folder, "file");
  auto_free char *deep = store_path(folder, "a/b/c");

  close(open(file, O_CREAT | O_WRONLY, 0600));
  opt.dir = file;
  ck_assert_int_eq(oc_cache_open(&opt, &c, &err), OC_E_IO);
  opt.dir = "";
  ck_assert_int_eq(oc_cache_open(&opt, &c, &err), OC_E_ARG);
  opt.dir = deep;
  ck_assert_int_eq(oc_cache_open(&opt, &c, &err), 0);
  oc_cache_close(c);
  ck_assert_int_eq(chmod(deep, 0777), 0);
  ck_assert_int_eq(oc_cache_open(&opt, &c, &err), OC_E_STORE);
}
END_TEST

START_TEST(list_and_candidates)
{
  struct oc_cache *c = store_open(folder);
  struct oc_cache_candidate *near = NULL;
  struct oc_cache_entry *e = NULL;
  struct oc_arena arena;
  uint8_t key[OC_SHA256_LEN], model[OC_SHA256_LEN], options[OC_SHA256_LEN];
  size_t n = 0;
  bool more = false;

  oc_arena_init(&arena, 0);
  for (unsigned i = 0; i < 40; i++)
    ck_assert(store_put_wait(c, i, i % 20, 100));
  ck_assert_int_eq(store_check(c, 3, 3, 100), 1);
  oc_cache_flush(c);
  ck_assert_int_eq(oc_cache_list(c, OC_CACHE_ANYONE, 10, &arena, &e, &n, &more), 0);
  ck_assert_uint_eq(n, 10);
  ck_assert(more);
  store_key(3, key);
  ck_assert_mem_eq(e[0].key, key, sizeof(key));
  ck_assert_uint_eq(e[0].hits, 1);
  ck_assert_str_eq(e[0].facts.model, "m.onnx");
  ck_assert_int_eq(oc_cache_list(c, OC_CACHE_ANYONE, 40, &arena, &e, &n, &more), 0);
  ck_assert_uint_eq(n, 40);
  ck_assert(!more);
  /* Same model first, then the same options. */
  store_key(2000005, model);
  store_key(3000000 + 11, options);
  ck_assert_int_eq(
      oc_cache_candidates(c, model, options, OC_CACHE_ANYONE, 8, &arena, &near, &n), 0);
  ck_assert_uint_eq(n, 8);
  store_key(25, key);
  ck_assert_mem_eq(near[0].key, key, sizeof(key));
  store_key(5, key);
  ck_assert_mem_eq(near[1].key, key, sizeof(key));
  store_key(11, key);
  ck_assert_mem_eq(near[2].key, key, sizeof(key));
  ck_assert_uint_eq(near[0].parts_len, 5);
  oc_arena_clear(&arena);
  oc_cache_close(c);
}
END_TEST

/* The writer is held at its first point: the queue fills. */
struct gate {
  int fds[2];
};

static void wait_at_gate(void *data, const char *point)
{
  struct gate *g = data;
  char byte;

  if (strcmp(point, "put-begin") == 0 && read(g->fds[0], &byte, 1) < 0)
    abort();
}

START_TEST(full_queue_says_so)
{
  struct gate gate;
  struct oc_cache_options opt = { .queue_limit = 3,
                                  .at_point = wait_at_gate,
                                  .at_point_data = &gate };
  struct oc_cache_stats stats;

  ck_assert_int_eq(pipe(gate.fds), 0);
  struct oc_cache *c = store_open_with(&opt, folder);
  for (unsigned n = 0; n < 3; n++)
    ck_assert_int_eq(store_put(c, n, n, BIG), 0);
  ck_assert_int_eq(store_put(c, 3, 3, BIG), OC_E_BUSY);
  ck_assert_int_eq(write(gate.fds[1], "123", 3), 3);
  oc_cache_flush(c);
  oc_cache_stats(c, &stats);
  ck_assert_uint_eq(stats.stored, 3);
  ck_assert_uint_eq(stats.not_stored, 1);
  ck_assert_uint_eq(stats.queued, 0);
  oc_cache_close(c);
  ck_assert_int_eq(store_invariants(folder), 3);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("cache");
  TCase *t = tcase_create("cache");
  SRunner *r = srunner_create(s);

  tcase_add_checked_fixture(t, setup, teardown);
  tcase_set_timeout(t, 60);
  tcase_add_test(t, put_then_hit);
  tcase_add_test(t, artifacts_are_objects);
  tcase_add_test(t, one_copy_of_equal_content);
  tcase_add_test(t, without_tmpfile);
  tcase_add_test(t, sealing_notices_a_writer);
  tcase_add_test(t, plan_keys_name_objects);
  tcase_add_test(t, copied_members);
  tcase_add_test(t, refused_results);
  tcase_add_test(t, second_daemon_is_refused);
  tcase_add_test(t, unfit_folders);
  tcase_add_test(t, list_and_candidates);
  tcase_add_test(t, full_queue_says_so);
  suite_add_tcase(s, t);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? 1 : 0;
}
