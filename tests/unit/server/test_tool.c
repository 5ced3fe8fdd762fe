/* Backend atc: our plan is advice, the compiler decides, its lines are live and replayed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "house.h"
#include "suites.h"
#include "talk.h"

static struct talk t;

static void setup(void)
{
  house_setup();
  house_toolkit();
  house_open();
  talk_open(&t);
}

static void teardown(void)
{
  talk_close(&t);
  house_teardown();
}

START_TEST(auto_takes_the_toolkit_and_a_hit_replays_its_lines)
{
  struct ask a = { .model =
                       house_file("m", "say start\nsay success\nartifact xyz\nside s\n"),
                   .backend = "auto" };
  const Omcc__V1__Finished *f = talk_ask(&t, &a);

  ck_assert_uint_eq(f->status, 0);
  ck_assert_str_eq(f->result, "miss");
  ck_assert_str_eq(f->backend, "atc");
  ck_assert_str_eq(f->toolkit, "1.2.test");
  ck_assert_int_eq(f->tool_exit, 0);
  ck_assert_uint_eq(f->n_members, 2);
  ck_assert_str_eq(f->members[1]->name, "side.json");
  ck_assert_str_eq(talk_artifact(&t), "xyz");
  ck_assert_str_eq(t.output, "start\nsuccess\n");
  ck_assert_uint_eq(t.n_replayed, 0);
  talk_await(&t, "stored", 1);

  f = talk_ask(&t, &a);
  ck_assert_str_eq(f->result, "hit");
  ck_assert_uint_eq(f->n_members, 2);
  ck_assert_str_eq(talk_artifact(&t), "xyz");
  ck_assert_str_eq(t.output, "start\nsuccess\n");
  ck_assert_uint_gt(t.n_replayed, 0);
  ck_assert_uint_eq(talk_counter(&t, "tool_runs"), 1);
}
END_TEST

/* Whatever our worker says of the model, the run follows. */
static const char *const plans[] = {
  "",           "notok\n",      "unplanned model-malformed\n", "fail internal\n",
  "die plan\n", "exit plan 3\n"
};

START_TEST(our_planner_never_vetoes_the_compiler)
{
  char text[128];
  const Omcc__V1__Finished *f;

  snprintf(text, sizeof(text), "%sartifact xyz\n", plans[_i]);
  f = talk_ask(&t, &(struct ask){ .model = house_file("m", text), .backend = "atc" });
  ck_assert_uint_eq(f->status, 0);
  for (size_t i = 0; i < f->n_findings; i++)
    ck_assert_uint_lt(f->findings[i]->severity, 2);
  ck_assert_str_eq(talk_artifact(&t), "xyz");
}
END_TEST

START_TEST(what_our_planner_cannot_read_is_not_cached_while_its_data_are_unknown)
{
  struct ask a = { .model = house_file("m", "die plan\nartifact xyz\n"),
                   .backend = "atc" };
  const Omcc__V1__Finished *f = talk_ask(&t, &a);

  /* It said its inputs (none) before it died: the key is complete. */
  ck_assert_str_eq(f->stored, "pending");
}
END_TEST

static const struct {
  const char *script;
  unsigned status;
  const char *message;
} failures[] = {
  { "say no\nstatus 255\n", 3, "the compiler failed with exit status 255" },
  { "say ok\nstatus 0\n", 3, "the compiler said success and wrote no model file" },
  { "say ok\nstatus 0\nside x\n", 3,
    "the compiler said success and wrote no model file" },
};

START_TEST(the_compilers_failure_is_its_own)
{
  struct ask a = { .model = house_file("m", failures[_i].script), .backend = "atc" };

  for (int again = 0; again < 2; again++) {
    const Omcc__V1__Finished *f = talk_ask(&t, &a);

    ck_assert_uint_eq(f->status, failures[_i].status);
    ck_assert_str_eq(f->message, failures[_i].message);
    ck_assert_uint_eq(f->n_members, 0);
    ck_assert_uint_gt(strlen(t.output), 0);
  }
  ck_assert_uint_eq(talk_counter(&t, "tool_runs"), 2); /* failures are not cached */
}
END_TEST

START_TEST(a_runner_that_dies_is_tried_once_more)
{
  char text[128];
  const Omcc__V1__Finished *f;

  snprintf(text, sizeof(text), "say begin\ndieonce run %s/once\nartifact xyz\n",
           house.dir);
  f = talk_ask(&t, &(struct ask){ .model = house_file("m", text), .backend = "atc" });
  ck_assert_uint_eq(f->status, 0);
  ck_assert_str_eq(talk_artifact(&t), "xyz");
  ck_assert_uint_eq(talk_counter(&t, "tool_runs"), 2);
}
END_TEST

START_TEST(an_unknown_flag_goes_through_uncached)
{
  struct ask a = { .model = house_file("m", "artifact xyz\n"),
                   .backend = "atc",
                   .flag = "frobnicate",
                   .value = "3" };

  for (int again = 0; again < 2; again++) {
    const Omcc__V1__Finished *f = talk_ask(&t, &a);

    ck_assert_uint_eq(f->status, 0);
    ck_assert_str_eq(f->result, "miss");
    ck_assert_str_eq(f->stored, "no");
    ck_assert_ptr_nonnull(strstr(f->stored_reason, "--frobnicate"));
    ck_assert_uint_eq(f->key.len, 0);
  }
  ck_assert_uint_eq(talk_counter(&t, "tool_runs"), 2);
}
END_TEST

START_TEST(who_joins_a_run_hears_it_from_the_beginning)
{
  struct ask a = { .model = house_file("m", "say begin\nsleep run 400\nartifact xyz\n"),
                   .backend = "atc" };
  struct talk u;

  talk_open(&u);
  talk_submit(&t, &a);
  talk_until(&t, OMCC__V1__TO_CLIENT__BODY_OUTPUT);
  ck_assert_str_eq(talk_ask(&u, &a)->result, "joined");
  ck_assert_str_eq(u.output, "begin\n");
  ck_assert_str_eq(talk_artifact(&u), "xyz");
  talk_until(&t, OMCC__V1__TO_CLIENT__BODY_FINISHED);
  talk_close(&u);
}
END_TEST

START_TEST(builtin_and_atc_are_different_requests)
{
  struct ask a = { .model = house_file("m", "artifact xyz\n"), .backend = "atc" };

  talk_ask(&t, &a);
  talk_await(&t, "stored", 1);
  a.backend = "builtin";
  ck_assert_str_eq(talk_ask(&t, &a)->result, "miss");
  ck_assert_str_eq(talk_artifact(&t), "IMODxyz");
}
END_TEST

Suite *tool_suite(void)
{
  Suite *s = suite_create("server_tool");
  TCase *c = tcase_create("tool");

  tcase_set_timeout(c, 60);
  tcase_add_checked_fixture(c, setup, teardown);
  tcase_add_test(c, auto_takes_the_toolkit_and_a_hit_replays_its_lines);
  tcase_add_loop_test(c, our_planner_never_vetoes_the_compiler, 0,
                      (int)(sizeof(plans) / sizeof(plans[0])));
  tcase_add_test(c,
                 what_our_planner_cannot_read_is_not_cached_while_its_data_are_unknown);
  tcase_add_loop_test(c, the_compilers_failure_is_its_own, 0,
                      (int)(sizeof(failures) / sizeof(failures[0])));
  tcase_add_test(c, a_runner_that_dies_is_tried_once_more);
  tcase_add_test(c, an_unknown_flag_goes_through_uncached);
  tcase_add_test(c, who_joins_a_run_hears_it_from_the_beginning);
  tcase_add_test(c, builtin_and_atc_are_different_requests);
  suite_add_tcase(s, c);
  return s;
}
