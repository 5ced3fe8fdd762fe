/* What becomes of a request: miss, hit, join, twin, failure, external data. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "house.h"
#include "suites.h"
#include "talk.h"

static struct talk t;

static void setup(void)
{
  house_setup();
  house_open();
  talk_open(&t);
}

static void teardown(void)
{
  talk_close(&t);
  house_teardown();
}

START_TEST(a_miss_then_a_hit_with_the_same_bytes)
{
  struct ask a = { .model = house_file("m", "artifact abc\n") };
  const Omcc__V1__Finished *f = talk_ask(&t, &a);
  uint8_t key[32];

  ck_assert_uint_eq(f->status, 0);
  ck_assert_str_eq(f->code, "ok");
  ck_assert_str_eq(f->result, "miss");
  ck_assert_str_eq(f->stored, "pending");
  ck_assert_str_eq(f->backend, "builtin");
  ck_assert(!f->device_ready);
  ck_assert_uint_eq(f->key.len, 32);
  memcpy(key, f->key.data, 32);
  ck_assert_uint_eq(f->n_miss_reasons, 1);
  ck_assert_str_eq(f->miss_reasons[0], "nothing like it is stored");
  ck_assert_int_eq(f->report_case, OMCC__V1__FINISHED__REPORT_REPORT_FD);
  ck_assert_str_eq(talk_artifact(&t), "IMODabc");
  talk_await(&t, "stored", 1);

  f = talk_ask(&t, &a);
  ck_assert_str_eq(f->result, "hit");
  ck_assert_str_eq(f->hit_kind, "exact");
  ck_assert_str_eq(f->stored, "yes");
  ck_assert_mem_eq(f->key.data, key, 32);
  ck_assert_int_eq(f->report_case, OMCC__V1__FINISHED__REPORT_REPORT_FD);
  ck_assert_str_eq(talk_artifact(&t), "IMODabc");
  ck_assert_uint_eq(talk_counter(&t, "compiles"), 1);
}
END_TEST

START_TEST(results_survive_the_daemon)
{
  struct ask a = { .model = house_file("m", "artifact abc\n") };

  talk_ask(&t, &a);
  talk_close(&t);
  house_close(); /* stores what is pending */
  house_open();
  talk_open(&t);
  ck_assert_str_eq(talk_ask(&t, &a)->result, "hit");
  ck_assert_str_eq(talk_artifact(&t), "IMODabc");
}
END_TEST

START_TEST(a_miss_says_what_differs)
{
  struct ask a = { .model = house_file("m", "artifact abc\n"), .keep = "op1\n" };
  const Omcc__V1__Finished *f;

  talk_ask(&t, &a);
  talk_await(&t, "stored", 1);
  a.keep = "op2\n";
  f = talk_ask(&t, &a);
  ck_assert_str_eq(f->result, "miss");
  ck_assert_uint_eq(f->n_miss_reasons, 1);
  ck_assert_ptr_nonnull(strstr(f->miss_reasons[0], "keep_dtype"));
  /* The same list with other line ends is the same request. */
  a.keep = "op1\r\n";
  ck_assert_str_eq(talk_ask(&t, &a)->result, "hit");
}
END_TEST

START_TEST(identical_requests_share_one_compile)
{
  struct ask a = { .model = house_gated("m", "artifact abc\n") };
  struct talk u;

  talk_open(&u);
  talk_submit(&t, &a);
  talk_until(&t, OMCC__V1__TO_CLIENT__BODY_ACCEPTED);
  talk_submit(&u, &a);
  talk_await(&t, "requests", 2);
  talk_await(&t, "reading", 0); /* so it has joined by now */
  house_open_gate();
  ck_assert_str_eq(talk_until(&u, OMCC__V1__TO_CLIENT__BODY_FINISHED)->finished->result,
                   "joined");
  ck_assert_str_eq(talk_artifact(&u), "IMODabc");
  ck_assert_ptr_nonnull(strstr(u.phases, "joined"));
  ck_assert_str_eq(talk_until(&t, OMCC__V1__TO_CLIENT__BODY_FINISHED)->finished->result,
                   "miss");
  ck_assert_uint_eq(talk_counter(&t, "compiles"), 1);
  ck_assert_uint_eq(talk_counter(&t, "joined"), 1);
  talk_close(&u);
}
END_TEST

START_TEST(the_first_client_may_leave_a_shared_job)
{
  struct ask a = { .model = house_gated("m", "artifact abc\n") };
  struct talk u;

  talk_open(&u);
  talk_submit(&u, &a);
  talk_until(&u, OMCC__V1__TO_CLIENT__BODY_ACCEPTED);
  talk_submit(&t, &a);
  do {
    talk_until(&t, OMCC__V1__TO_CLIENT__BODY_ACCEPTED);
  } while (!t.last->accepted->joined);
  talk_close(&u);
  house_open_gate();
  ck_assert_str_eq(talk_until(&t, OMCC__V1__TO_CLIENT__BODY_FINISHED)->finished->result,
                   "joined");
  ck_assert_str_eq(talk_artifact(&t), "IMODabc");
}
END_TEST

START_TEST(a_job_ends_with_its_last_client)
{
  struct ask a = { .model = house_file("m", "sleep build 20000\nartifact abc\n") };
  struct talk u;

  talk_open(&u);
  talk_submit(&u, &a);
  talk_until(&u, OMCC__V1__TO_CLIENT__BODY_ACCEPTED);
  talk_close(&u);
  talk_await(&t, "running", 0);
  talk_await(&t, "reading", 0);
  ck_assert_uint_eq(talk_counter(&t, "compiles"), 0);
}
END_TEST

static void tell(struct talk *to, uint64_t id, uint64_t job, bool cancel)
{
  Omcc__V1__ToDaemon m = OMCC__V1__TO_DAEMON__INIT;
  Omcc__V1__Detach detach = OMCC__V1__DETACH__INIT;
  Omcc__V1__Cancel c = OMCC__V1__CANCEL__INIT;

  m.id = id;
  detach.job = c.job = job;
  m.body_case =
      cancel ? OMCC__V1__TO_DAEMON__BODY_CANCEL : OMCC__V1__TO_DAEMON__BODY_DETACH;
  if (cancel)
    m.cancel = &c;
  else
    m.detach = &detach;
  talk_send(to, &m, NULL, 0);
}

START_TEST(a_detached_job_ends_in_the_cache)
{
  struct ask a = { .model = house_gated("m", "artifact abc\n") };
  struct talk u;
  uint64_t job;

  talk_open(&u);
  talk_submit(&u, &a);
  job = talk_until(&u, OMCC__V1__TO_CLIENT__BODY_ACCEPTED)->accepted->job;
  tell(&u, 1, job, false);
  talk_counter(&u, "running"); /* it was taken */
  talk_close(&u);
  house_open_gate();
  talk_await(&t, "stored", 1);
  ck_assert_str_eq(talk_ask(&t, &a)->result, "hit");
}
END_TEST

START_TEST(a_cancelled_job_is_answered_and_over)
{
  struct ask a = { .model = house_file("m", "sleep build 20000\nartifact abc\n") };
  const Omcc__V1__Finished *f;
  uint64_t job;

  talk_submit(&t, &a);
  job = talk_until(&t, OMCC__V1__TO_CLIENT__BODY_ACCEPTED)->accepted->job;
  tell(&t, 1, job, true);
  f = talk_until(&t, OMCC__V1__TO_CLIENT__BODY_FINISHED)->finished;
  ck_assert_uint_eq(f->status, 6);
  ck_assert_str_eq(f->code, "stopped");
  talk_await(&t, "running", 0);
}
END_TEST

START_TEST(a_worker_that_dies_is_tried_once_more)
{
  char text[256];
  struct ask a;
  const Omcc__V1__Finished *f;

  snprintf(text, sizeof(text), "dieonce %s %s/once\nartifact abc\n",
           _i ? "build" : "plan", house.dir);
  a = (struct ask){ .model = house_file("m", text) };
  f = talk_ask(&t, &a);
  ck_assert_uint_eq(f->status, 0);
  ck_assert_str_eq(talk_artifact(&t), "IMODabc");
  ck_assert_uint_eq(talk_counter(&t, "retries"), 1);
  ck_assert_uint_eq(talk_counter(&t, "worker_deaths"), 1);
}
END_TEST

START_TEST(a_worker_that_dies_twice_fails_its_job_only)
{
  struct ask a = { .model = house_file("m", "stderr last words\ndie build\n") };
  struct ask good = { .model = house_file("n", "artifact b\n") };
  const Omcc__V1__Finished *f = talk_ask(&t, &a);

  ck_assert_uint_eq(f->status, 70);
  ck_assert_str_eq(f->code, "bug");
  ck_assert_ptr_nonnull(strstr(f->message, "signal 6"));
  ck_assert_ptr_nonnull(strstr(f->message, "last words"));
  ck_assert_uint_eq(f->n_members, 0);
  talk_ask(&t, &good);
  ck_assert_str_eq(talk_artifact(&t), "IMODb");
  ck_assert_uint_eq(talk_counter(&t, "failed"), 1);
}
END_TEST

static const struct {
  const char *script;
  unsigned status;
  const char *code, *message;
} failures[] = {
  { "fail input_changed\n", 2, "request", "an input changed while it was read" },
  { "fail oom\n", 5, "oom", "the memory limit was reached" },
  { "fail no_space\n", 4, "environment", "the script says so" },
  { "fail too_large\n", 2, "request", "the script says so" },
  { "fail internal\n", 70, "bug", "the script says so" },
  { "unplanned model-malformed\n", 2, "request", "the script says so" },
  { "notok\n", 2, "request", "the request cannot be compiled" },
  { "wrongsize\nartifact abc\n", 70, "bug", "the output has 7 bytes, not 8" },
};

START_TEST(failures_have_status_and_sentence_and_are_not_cached)
{
  struct ask a = { .model = house_file("m", failures[_i].script) };

  for (int again = 0; again < 2; again++) {
    const Omcc__V1__Finished *f = talk_ask(&t, &a);

    ck_assert_uint_eq(f->status, failures[_i].status);
    ck_assert_str_eq(f->code, failures[_i].code);
    ck_assert_str_eq(f->message, failures[_i].message);
    ck_assert_uint_eq(f->n_members, 0);
  }
  /* Without room for its output a job is tried once more, with an output elsewhere. */
  ck_assert_uint_eq(talk_counter(&t, "retries"),
                    strstr(failures[_i].script, "no_space") ? 2 : 0);
  ck_assert_uint_eq(talk_counter(&t, "failed"), 2);
}
END_TEST

START_TEST(an_input_that_changes_is_a_finding)
{
  struct ask a = { .model = house_file("m", "fail input_changed\n") };
  const Omcc__V1__Finished *f = talk_ask(&t, &a);

  ck_assert_uint_eq(f->n_findings, 1);
  ck_assert_str_eq(f->findings[0]->id, "input-changed-reading");
}
END_TEST

START_TEST(a_plan_that_forbids_building_brings_its_report)
{
  struct ask a = { .model = house_file("m", "notok\n") };
  const Omcc__V1__Finished *f = talk_ask(&t, &a);

  ck_assert_uint_eq(f->status, 2);
  ck_assert_int_eq(f->report_case, OMCC__V1__FINISHED__REPORT_REPORT_FD);
}
END_TEST

START_TEST(findings_of_the_worker_arrive)
{
  struct ask a = { .model = house_file("m", "unplanned model-malformed\n") };
  const Omcc__V1__Finished *f = talk_ask(&t, &a);

  ck_assert_uint_eq(f->n_findings, 1);
  ck_assert_str_eq(f->findings[0]->id, "model-malformed");
}
END_TEST

START_TEST(equal_plans_share_an_object)
{
  struct ask a = { .model = house_file("m", "plankey x\nartifact abc\n") };
  struct ask b = { .model = house_file("n", "plankey x\nartifact abc\n# other\n") };
  const Omcc__V1__Finished *f;

  talk_ask(&t, &a);
  talk_await(&t, "stored", 1);
  f = talk_ask(&t, &b);
  ck_assert_str_eq(f->result, "hit");
  ck_assert_str_eq(f->hit_kind, "plan");
  ck_assert_str_eq(talk_artifact(&t), "IMODabc");
  ck_assert_uint_eq(talk_counter(&t, "compiles"), 1);
  talk_await(&t, "stored", 2);
  ck_assert_str_eq(talk_ask(&t, &b)->hit_kind, "exact");
}
END_TEST

START_TEST(equal_plans_at_the_same_time_are_built_once)
{
  struct ask a = { .id = 1,
                   .model =
                       house_file("m", "plankey x\nsleep build 300\nartifact abc\n") };
  struct ask b = { .id = 2 };

  b.model = house_file("n", "plankey x\nsleep build 300\nartifact abc\n# other\n");
  talk_submit(&t, &a);
  talk_submit(&t, &b);
  for (int i = 0; i < 2; i++) {
    talk_until(&t, OMCC__V1__TO_CLIENT__BODY_FINISHED);
    ck_assert_str_eq(talk_artifact(&t), "IMODabc");
  }
  ck_assert_uint_eq(talk_counter(&t, "compiles"), 1);
}
END_TEST

START_TEST(an_explanation_is_a_report_and_nothing_else)
{
  struct ask a = { .model = house_file("m", "artifact abc\n"),
                   .want = OMCC__V1__SUBMIT__WANT__EXPLAIN,
                   .backend = "auto" };
  const Omcc__V1__Finished *f = talk_ask(&t, &a);

  ck_assert_uint_eq(f->status, 0);
  ck_assert_int_eq(f->report_case, OMCC__V1__FINISHED__REPORT_REPORT_FD);
  ck_assert_uint_eq(f->n_members, 0);
  ck_assert_uint_eq(talk_counter(&t, "compiles"), 0);
}
END_TEST

START_TEST(a_lookup_starts_nothing)
{
  struct ask a = { .model = house_file("m", "artifact abc\n") };
  const Omcc__V1__Finished *f;

  a.want = OMCC__V1__SUBMIT__WANT__LOOKUP;
  f = talk_ask(&t, &a);
  ck_assert_uint_eq(f->status, 1);
  ck_assert_str_eq(f->result, "uncached");
  ck_assert_str_eq(f->miss_reasons[0], "this model has not been seen before");
  a.want = OMCC__V1__SUBMIT__WANT__COMPILE;
  talk_ask(&t, &a);
  talk_await(&t, "stored", 1);
  a.want = OMCC__V1__SUBMIT__WANT__LOOKUP;
  f = talk_ask(&t, &a);
  ck_assert_uint_eq(f->status, 0);
  ck_assert_str_eq(f->result, "cached");
  ck_assert_uint_eq(f->n_members, 0);
  ck_assert_uint_eq(talk_counter(&t, "compiles"), 1);
}
END_TEST

START_TEST(auto_without_a_toolkit_is_refused_with_the_way_out)
{
  struct ask a = { .model = house_file("m", "artifact abc\n") };
  const Omcc__V1__Refusal *r;

  a.backend = _i ? "atc" : "auto";
  talk_submit(&t, &a);
  r = talk_until(&t, OMCC__V1__TO_CLIENT__BODY_REFUSAL)->refusal;
  ck_assert_uint_eq(r->status, 4);
  ck_assert_str_eq(r->code, "environment");
  ck_assert_ptr_nonnull(strstr(r->text, "--backend=builtin"));
  ck_assert_uint_eq(talk_counter(&t, "compiles"), 0);
}
END_TEST

/* ---------------------------------------------------------------- external data */

static void give(struct talk *to, uint64_t id, const char *name, const char *path,
                 bool last, const char *missing)
{
  Omcc__V1__ToDaemon m = OMCC__V1__TO_DAEMON__INIT;
  Omcc__V1__Files files = OMCC__V1__FILES__INIT;
  Omcc__V1__ExternalFile file = OMCC__V1__EXTERNAL_FILE__INIT, *list[] = { &file };
  char *names[] = { (char *)missing }, *reasons[] = { (char *)"absent" };
  int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;

  file.name = (char *)name;
  files.files = list;
  files.n_files = path != NULL;
  files.last = last;
  files.missing = names;
  files.reasons = reasons;
  files.n_missing = files.n_reasons = missing != NULL;
  m.id = id;
  m.body_case = OMCC__V1__TO_DAEMON__BODY_FILES;
  m.files = &files;
  talk_send(to, &m, &fd, path != NULL);
  if (fd >= 0)
    close(fd);
}

START_TEST(external_data_are_asked_for_and_part_of_the_key)
{
  struct ask a = { .model = house_file("m", "needs a.bin\nneeds b.bin\nartifact abc\n") };
  const Omcc__V1__NeedFiles *need;
  const Omcc__V1__Finished *f;

  for (int round = 0; round < 3; round++) {
    talk_submit(&t, &a);
    need = talk_until(&t, OMCC__V1__TO_CLIENT__BODY_NEED_FILES)->need_files;
    ck_assert_uint_eq(need->n_names, 2);
    ck_assert_str_eq(need->names[0], "a.bin");
    ck_assert_str_eq(need->names[1], "b.bin");
    give(&t, 1, "a.bin", house_file("a.bin", "A"), false, NULL);
    give(&t, 1, "b.bin", house_file("b.bin", round < 2 ? "B" : "other"), true, NULL);
    f = talk_until(&t, OMCC__V1__TO_CLIENT__BODY_FINISHED)->finished;
    ck_assert_uint_eq(f->status, 0);
    ck_assert_str_eq(f->result, round == 1 ? "hit" : "miss");
    ck_assert_str_eq(talk_artifact(&t), "IMODabc");
    talk_await(&t, "stored", round == 2 ? 2 : 1);
  }
  ck_assert_uint_eq(talk_counter(&t, "compiles"), 2);
}
END_TEST

START_TEST(missing_external_data_are_a_finding)
{
  struct ask a = { .model = house_file("m", "needs a.bin\nneeds b.bin\nartifact abc\n"),
                   .want = _i ? OMCC__V1__SUBMIT__WANT__EXPLAIN
                              : OMCC__V1__SUBMIT__WANT__COMPILE };
  const Omcc__V1__Finished *f;

  talk_submit(&t, &a);
  talk_until(&t, OMCC__V1__TO_CLIENT__BODY_NEED_FILES);
  give(&t, 1, "a.bin", house_file("a.bin", "A"), true, "b.bin");
  f = talk_until(&t, OMCC__V1__TO_CLIENT__BODY_FINISHED)->finished;
  ck_assert_uint_eq(f->status, 2);
  ck_assert_uint_eq(f->n_findings, 1);
  ck_assert_str_eq(f->findings[0]->id, "external-not-given");
  ck_assert_str_eq(f->findings[0]->subject, "b.bin");
  ck_assert_str_eq(f->findings[0]->args[0]->value, "there is no such file");
  talk_await(&t, "running", 0);
}
END_TEST

START_TEST(external_data_that_are_no_file_are_a_finding)
{
  struct ask a = { .model = house_file("m", "needs a.bin\nartifact abc\n") };
  const Omcc__V1__Finished *f;

  talk_submit(&t, &a);
  talk_until(&t, OMCC__V1__TO_CLIENT__BODY_NEED_FILES);
  give(&t, 1, "a.bin", "/dev/null", true, NULL);
  f = talk_until(&t, OMCC__V1__TO_CLIENT__BODY_FINISHED)->finished;
  ck_assert_uint_eq(f->status, 2);
  ck_assert_str_eq(f->findings[0]->args[0]->value, "it is not a regular file");
}
END_TEST

START_TEST(data_nobody_asked_for_break_the_connection)
{
  struct ask a = { .model = house_file("m", "needs a.bin\nartifact abc\n") };

  talk_submit(&t, &a);
  talk_until(&t, OMCC__V1__TO_CLIENT__BODY_NEED_FILES);
  give(&t, 1, "z.bin", house_file("a.bin", "A"), true, NULL);
  ck_assert(talk_ended(&t));
}
END_TEST

START_TEST(a_model_that_changes_meanwhile_is_delivered_and_not_stored)
{
  struct ask a = { .model = house_gated("m", "artifact abc\n") };
  const Omcc__V1__Finished *f;

  talk_submit(&t, &a);
  talk_until(&t, OMCC__V1__TO_CLIENT__BODY_ACCEPTED);
  do {
    talk_next(&t);
  } while (t.last->body_case != OMCC__V1__TO_CLIENT__BODY_PROGRESS ||
           strcmp(t.last->progress->phase, "building"));
  house_file("m", "artifact abcd\n");
  house_open_gate();
  f = talk_until(&t, OMCC__V1__TO_CLIENT__BODY_FINISHED)->finished;
  ck_assert_uint_eq(f->status, 0);
  ck_assert_str_eq(f->stored, "no");
  ck_assert_str_eq(f->stored_reason, "an input changed while it was compiled");
  ck_assert_str_eq(f->findings[f->n_findings - 1]->id, "input-changed");
  ck_assert_uint_eq(talk_counter(&t, "stored"), 0);
  ck_assert_uint_eq(talk_counter(&t, "inputs_changed"), 1);
}
END_TEST

START_TEST(a_model_that_is_no_file_is_a_finding)
{
  struct ask a = { .model = _i ? house.dir : "/dev/null" };
  const Omcc__V1__Finished *f = talk_ask(&t, &a);

  ck_assert_uint_eq(f->status, 2);
  ck_assert_str_eq(f->findings[f->n_findings - 1]->id, "input-not-regular");
}
END_TEST

Suite *jobs_suite(void)
{
  Suite *s = suite_create("server_jobs");
  TCase *c = tcase_create("jobs");

  tcase_set_timeout(c, 60);
  tcase_add_checked_fixture(c, setup, teardown);
  tcase_add_test(c, a_miss_then_a_hit_with_the_same_bytes);
  tcase_add_test(c, results_survive_the_daemon);
  tcase_add_test(c, a_miss_says_what_differs);
  tcase_add_test(c, identical_requests_share_one_compile);
  tcase_add_test(c, the_first_client_may_leave_a_shared_job);
  tcase_add_test(c, a_job_ends_with_its_last_client);
  tcase_add_test(c, a_detached_job_ends_in_the_cache);
  tcase_add_test(c, a_cancelled_job_is_answered_and_over);
  tcase_add_loop_test(c, a_worker_that_dies_is_tried_once_more, 0, 2);
  tcase_add_test(c, a_worker_that_dies_twice_fails_its_job_only);
  tcase_add_loop_test(c, failures_have_status_and_sentence_and_are_not_cached, 0,
                      (int)(sizeof(failures) / sizeof(failures[0])));
  tcase_add_test(c, an_input_that_changes_is_a_finding);
  tcase_add_test(c, a_plan_that_forbids_building_brings_its_report);
  tcase_add_test(c, findings_of_the_worker_arrive);
  tcase_add_test(c, equal_plans_share_an_object);
  tcase_add_test(c, equal_plans_at_the_same_time_are_built_once);
  tcase_add_test(c, an_explanation_is_a_report_and_nothing_else);
  tcase_add_test(c, a_lookup_starts_nothing);
  tcase_add_loop_test(c, auto_without_a_toolkit_is_refused_with_the_way_out, 0, 2);
  tcase_add_test(c, external_data_are_asked_for_and_part_of_the_key);
  tcase_add_loop_test(c, missing_external_data_are_a_finding, 0, 2);
  tcase_add_test(c, external_data_that_are_no_file_are_a_finding);
  tcase_add_test(c, data_nobody_asked_for_break_the_connection);
  tcase_add_test(c, a_model_that_changes_meanwhile_is_delivered_and_not_stored);
  tcase_add_loop_test(c, a_model_that_is_no_file_is_a_finding, 0, 2);
  suite_add_tcase(s, c);
  return s;
}
