/* A daemon's life: locks, sockets, draining, idleness, status. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "house.h"
#include "suites.h"
#include "talk.h"

START_TEST(a_second_daemon_on_the_socket_is_refused_by_pid)
{
  struct oc_server *other;
  struct oc_error err = { 0 };
  char pid[32], cache[128];

  house_open();
  snprintf(cache, sizeof(cache), "%s/other", house.dir);
  house.options.cache_dir = cache;
  ck_assert_int_eq(oc_server_open(&house.options, &other, &err), OC_E_BUSY);
  snprintf(pid, sizeof(pid), "(pid %d)", (int)getpid());
  ck_assert_msg(strstr(err.msg, pid) != NULL, "%s", err.msg);
  ck_assert_int_ne(access(cache, F_OK), 0);
}
END_TEST

START_TEST(a_second_daemon_on_the_cache_is_refused_by_pid)
{
  struct oc_server *other;
  struct oc_error err = { 0 };
  char socket_path[128], pid[32];

  house_open();
  snprintf(socket_path, sizeof(socket_path), "%s/other.sock", house.dir);
  house.options.socket_path = socket_path;
  ck_assert_int_lt(oc_server_open(&house.options, &other, &err), 0);
  snprintf(pid, sizeof(pid), "%d", (int)getpid());
  ck_assert_msg(strstr(err.msg, pid) != NULL, "%s", err.msg);
  ck_assert_int_ne(access(socket_path, F_OK), 0);
}
END_TEST

static void bind_leftover(void)
{
  struct sockaddr_un addr = { .sun_family = AF_UNIX };
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

  snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", house.socket);
  ck_assert_int_eq(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
  close(fd); /* the path stays, as after a kill */
}

START_TEST(a_stale_socket_is_replaced)
{
  struct talk t;
  struct stat st;

  bind_leftover();
  house_open();
  ck_assert_int_eq(lstat(house.socket, &st), 0);
  ck_assert_int_eq(st.st_mode & 0777, 0600);
  talk_open(&t);
  talk_close(&t);
}
END_TEST

START_TEST(a_file_in_the_way_is_left_alone)
{
  struct oc_server *s;
  struct oc_error err = { 0 };

  house_file("sock", "precious");
  ck_assert_int_lt(oc_server_open(&house.options, &s, &err), 0);
  ck_assert_ptr_nonnull(strstr(err.msg, "is in the way"));
  ck_assert_int_eq(access(house.socket, F_OK), 0);
}
END_TEST

START_TEST(a_socket_can_be_handed_over)
{
  struct sockaddr_un addr = { .sun_family = AF_UNIX };
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct talk t;

  snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", house.socket);
  ck_assert_int_eq(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
  ck_assert_int_eq(listen(fd, 8), 0);
  house.options.listen_fd = fd;
  house_open();
  talk_open(&t);
  talk_counter(&t, "requests");
  talk_close(&t);
  house_close();
  ck_assert_int_eq(access(house.socket, F_OK), 0); /* the manager's, not ours */
}
END_TEST

START_TEST(what_cannot_start_says_why)
{
  static const char *const messages[] = { "cannot open the worker program",
                                          "cannot read the tables", "is longer than" };
  struct oc_server *s;
  struct oc_error err = { 0 };
  char path[160];

  memset(path, 'x', sizeof(path) - 1);
  path[sizeof(path) - 1] = '\0';
  memcpy(path, house.dir, strlen(house.dir));
  path[strlen(house.dir)] = '/';
  if (_i == 0)
    house.options.worker_path = "/nowhere/omcc-worker";
  else if (_i == 1)
    house.options.tables_dir = "/nowhere";
  else
    house.options.socket_path = path;
  ck_assert_int_lt(oc_server_open(&house.options, &s, &err), 0);
  ck_assert_msg(strstr(err.msg, messages[_i]) != NULL, "%s", err.msg);
}
END_TEST

START_TEST(job_ids_are_never_used_again)
{
  struct ask a = { .model = house_file("m", "unplanned x\n") };
  struct talk t;
  uint64_t first;

  house_open();
  talk_open(&t);
  first = talk_ask(&t, &a)->job;
  ck_assert_uint_ge(talk_ask(&t, &a)->job, first + 1);
  ck_assert_uint_lt(first, 1ull << 53);
  talk_close(&t);
  house_close();
  house_open();
  talk_open(&t);
  ck_assert_uint_gt(talk_ask(&t, &a)->job, first + 1);
  talk_close(&t);
}
END_TEST

START_TEST(a_drain_finishes_what_runs_and_takes_nothing_new)
{
  struct ask a = { .model = house_gated("m", "artifact abc\n") };
  struct talk t, u;

  house_open();
  talk_open(&t);
  talk_open(&u);
  talk_submit(&t, &a);
  talk_until(&t, OMCC__V1__TO_CLIENT__BODY_ACCEPTED);
  talk_stop(&u, false);
  ck_assert_int_ne(access(house.socket, F_OK), 0);
  talk_submit(&u, &(struct ask){ .model = a.model });
  ck_assert_str_eq(talk_until(&u, OMCC__V1__TO_CLIENT__BODY_REFUSAL)->refusal->code,
                   "stopping");
  house_open_gate();
  talk_until(&t, OMCC__V1__TO_CLIENT__BODY_FINISHED);
  ck_assert_str_eq(talk_artifact(&t), "IMODabc");
  ck_assert(talk_ended(&t));
  ck_assert(talk_ended(&u));
  talk_close(&t);
  talk_close(&u);
  house_join();
}
END_TEST

START_TEST(a_second_stop_is_at_once)
{
  struct ask a = { .model = house_file("m", "sleep build 60000\nartifact abc\n") };
  const Omcc__V1__Finished *f;
  struct talk t, u;

  house_open();
  talk_open(&t);
  talk_open(&u);
  talk_submit(&t, &a);
  talk_until(&t, OMCC__V1__TO_CLIENT__BODY_ACCEPTED);
  talk_stop(&u, false);
  talk_stop(&u, _i);
  f = talk_until(&t, OMCC__V1__TO_CLIENT__BODY_FINISHED)->finished;
  ck_assert_uint_eq(f->status, 6);
  ck_assert_str_eq(f->message, "the daemon was stopped");
  talk_close(&t);
  talk_close(&u);
  house_join();
}
END_TEST

START_TEST(a_drain_has_a_limit)
{
  struct ask a = { .model = house_file("m", "sleep build 60000\nartifact abc\n") };
  struct talk t;

  house.options.drain_limit_ms = 200;
  house_open();
  talk_open(&t);
  talk_submit(&t, &a);
  talk_until(&t, OMCC__V1__TO_CLIENT__BODY_ACCEPTED);
  talk_stop(&t, false);
  ck_assert_uint_eq(talk_until(&t, OMCC__V1__TO_CLIENT__BODY_FINISHED)->finished->status,
                    6);
  talk_close(&t);
  house_join();
}
END_TEST

START_TEST(an_idle_daemon_leaves)
{
  struct talk t;

  house.options.idle_exit_ms = 2000;
  house_open();
  talk_open(&t);
  usleep(2300000); /* a connection is not idleness */
  talk_counter(&t, "requests");
  talk_close(&t);
  house_join();
  ck_assert_int_ne(access(house.socket, F_OK), 0);
}
END_TEST

START_TEST(a_time_limit_ends_a_job)
{
  struct ask a = { .model = house_file("m", _i ? "sleep build 60000\nartifact abc\n"
                                               : "sleep plan 60000\nartifact abc\n") };
  const Omcc__V1__Finished *f;
  struct talk t;

  house.options.build_limit_ms = house.options.plan_limit_ms = 300;
  house_open();
  talk_open(&t);
  f = talk_ask(&t, &a);
  ck_assert_uint_eq(f->status, 6);
  ck_assert_str_eq(f->message, "the time limit was reached");
  ck_assert_uint_eq(talk_counter(&t, "retries"), 0);
  talk_close(&t);
}
END_TEST

START_TEST(an_orphan_lives_for_its_grace_time)
{
  struct ask a = { .model = house_file("m", "sleep build 200\nartifact abc\n") };
  struct talk t;

  house.options.orphan_grace_ms = 100000;
  house_open();
  talk_open(&t);
  talk_submit(&t, &a);
  talk_until(&t, OMCC__V1__TO_CLIENT__BODY_ACCEPTED);
  talk_close(&t);
  talk_open(&t);
  talk_await(&t, "stored", 1);
  ck_assert_str_eq(talk_ask(&t, &a)->result, "hit");
  talk_close(&t);
}
END_TEST

START_TEST(too_many_jobs_are_refused)
{
  struct talk t;

  house.options.max_jobs_per_uid = 2;
  house_open();
  talk_open(&t);
  for (uint64_t i = 1; i <= 3; i++) {
    char name[8], text[64];

    snprintf(name, sizeof(name), "m%lu", (unsigned long)i);
    snprintf(text, sizeof(text), "sleep plan 60000\nartifact %lu\n", (unsigned long)i);
    talk_submit(&t, &(struct ask){ .id = i, .model = house_file(name, text) });
  }
  ck_assert_uint_eq(talk_until(&t, OMCC__V1__TO_CLIENT__BODY_REFUSAL)->id, 3);
  ck_assert_str_eq(t.last->refusal->code, "busy");
  talk_close(&t);
}
END_TEST

START_TEST(too_many_connections_are_closed)
{
  struct talk t[3], u;

  house.options.max_connections = 3;
  house_open();
  for (int i = 0; i < 3; i++)
    talk_open(&t[i]);
  talk_connect(&u);
  ck_assert_ptr_null(talk_next(&u));
  talk_close(&u);
  for (int i = 0; i < 3; i++)
    talk_close(&t[i]);
  house_fds();
}
END_TEST

START_TEST(status_and_cache_answer)
{
  struct ask a = { .model = house_file("model.onnx", "artifact abc\n") };
  Omcc__V1__ToDaemon m = OMCC__V1__TO_DAEMON__INIT;
  Omcc__V1__CacheRequest cache = OMCC__V1__CACHE_REQUEST__INIT;
  const Omcc__V1__CacheList *list;
  const Omcc__V1__Status *s;
  struct talk t;

  house_open();
  talk_open(&t);
  talk_ask(&t, &a);
  talk_await(&t, "stored", 1);
  s = t.last->status;
  ck_assert_str_eq(s->version, OMCC_VERSION);
  ck_assert_str_eq(s->socket, house.socket);
  ck_assert_str_eq(s->cache_dir, house.cache);
  ck_assert_str_eq(s->backend_default, "none");
  ck_assert_uint_gt(s->rss_bytes, 0);
  m.id = 5;
  m.body_case = OMCC__V1__TO_DAEMON__BODY_CACHE;
  m.cache = &cache;
  talk_send(&t, &m, NULL, 0);
  ck_assert_str_eq(
      talk_until(&t, OMCC__V1__TO_CLIENT__BODY_CACHE_STATS)->cache_stats->dir,
      house.cache);
  cache.what = OMCC__V1__CACHE_REQUEST__WHAT__LIST;
  talk_send(&t, &m, NULL, 0);
  list = talk_until(&t, OMCC__V1__TO_CLIENT__BODY_CACHE_LIST)->cache_list;
  ck_assert_uint_eq(list->n_entries, 1);
  ck_assert_str_eq(list->entries[0]->model, "model.onnx");
  ck_assert_str_eq(list->entries[0]->soc, "Ascend310P3");
  ck_assert_str_eq(list->entries[0]->backend, "builtin");
  talk_close(&t);
}
END_TEST

Suite *life_suite(void)
{
  Suite *s = suite_create("server_life");
  TCase *c = tcase_create("life");

  tcase_set_timeout(c, 60);
  tcase_add_checked_fixture(c, house_setup, house_teardown);
  tcase_add_test(c, a_second_daemon_on_the_socket_is_refused_by_pid);
  tcase_add_test(c, a_second_daemon_on_the_cache_is_refused_by_pid);
  tcase_add_test(c, a_stale_socket_is_replaced);
  tcase_add_test(c, a_file_in_the_way_is_left_alone);
  tcase_add_test(c, a_socket_can_be_handed_over);
  tcase_add_loop_test(c, what_cannot_start_says_why, 0, 3);
  tcase_add_test(c, job_ids_are_never_used_again);
  tcase_add_test(c, a_drain_finishes_what_runs_and_takes_nothing_new);
  tcase_add_loop_test(c, a_second_stop_is_at_once, 0, 2);
  tcase_add_test(c, a_drain_has_a_limit);
  tcase_add_test(c, an_idle_daemon_leaves);
  tcase_add_loop_test(c, a_time_limit_ends_a_job, 0, 2);
  tcase_add_test(c, an_orphan_lives_for_its_grace_time);
  tcase_add_test(c, too_many_jobs_are_refused);
  tcase_add_test(c, too_many_connections_are_closed);
  tcase_add_test(c, status_and_cache_answer);
  suite_add_tcase(s, c);
  return s;
}
