/* The stories of flow, one behaviour each, read from the effects it asks for. */
#include <stdlib.h>

#include "base/error.h"
#include "fake.h"

static struct fake k;

static void open_default(void)
{
  fake_open(&k, &fake_limits);
}

static void close_default(void)
{
  fake_close(&k);
}

/* A builtin job up to a worker that builds. */
static void until_building(uint64_t job, uint8_t key)
{
  oc_flow_keyed(k.flow, k.now, job, fake_key(key));
  oc_flow_planned(k.flow, k.now, job, fake_key((uint8_t)(key + 100)), true);
}

START_TEST(a_miss_is_planned_built_published_stored)
{
  uint64_t job = fake_job(&k, 1, 7);

  ck_assert_uint_eq(oc_flow_keyed(k.flow, k.now, job, fake_key(1)), job);
  fake_expect(&k, "plan 1");
  oc_flow_planned(k.flow, k.now, job, fake_key(2), true);
  fake_expect(&k, "build 1");
  oc_flow_built(k.flow, k.now, job);
  fake_expect(&k, "publish 1 built");
  oc_flow_published(k.flow, k.now, job, true);
  fake_expect(&k, "answer 1 7 result, store 1");
  ck_assert_uint_eq(oc_flow_n_in(k.flow, OC_JOB_STORING), 1);
  oc_flow_stored(k.flow, k.now, job);
  fake_expect(&k, "forget 1");
  ck_assert_uint_eq(oc_flow_n_jobs(k.flow), 0);
}
END_TEST

START_TEST(an_identical_order_joins_and_is_told_so)
{
  uint64_t a = fake_job(&k, 1, 7), b = fake_job(&k, 2, 8);

  oc_flow_keyed(k.flow, k.now, a, fake_key(1));
  fake_expect(&k, "plan 1");
  ck_assert_uint_eq(oc_flow_keyed(k.flow, k.now, b, fake_key(1)), a);
  fake_expect(&k, "move 2 to 1 request 8, forget 2");
  oc_flow_planned(k.flow, k.now, a, NULL, true);
  oc_flow_built(k.flow, k.now, a);
  k.store_result = 1;
  fake_expect(&k, "build 1, publish 1 built");
  oc_flow_published(k.flow, k.now, a, true);
  fake_expect(&k, "answer 1 7 result, answer 1 8 joined, store 1, forget 1");
}
END_TEST

START_TEST(an_order_that_comes_while_storing_is_answered_at_once)
{
  uint64_t a = fake_job(&k, 1, 7), b;

  until_building(a, 1);
  oc_flow_built(k.flow, k.now, a);
  oc_flow_published(k.flow, k.now, a, true);
  fake_expect(&k, "plan 1, build 1, publish 1 built, answer 1 7 result, store 1");
  b = fake_job(&k, 1, 8);
  ck_assert_uint_eq(oc_flow_keyed(k.flow, k.now, b, fake_key(1)), 0);
  fake_expect(&k, "answer 1 8 hit, forget 2");
}
END_TEST

START_TEST(an_uncached_order_joins_nobody)
{
  uint64_t a = fake_job(&k, 1, 7), b = fake_job(&k, 1, 8);

  oc_flow_keyed(k.flow, k.now, a, NULL);
  oc_flow_keyed(k.flow, k.now, b, NULL);
  fake_expect(&k, "plan 1, plan 2");
}
END_TEST

START_TEST(what_another_machine_has_is_not_planned)
{
  uint64_t a = fake_job(&k, 1, 7), b = fake_job(&k, 1, 8);

  k.fetch_result = 1;
  k.publish_result = 1;
  ck_assert_uint_eq(oc_flow_keyed(k.flow, k.now, a, fake_key(1)), a);
  fake_expect(&k, "fetch 1");
  /* One question for all identical orders. */
  ck_assert_uint_eq(oc_flow_keyed(k.flow, k.now, b, fake_key(1)), a);
  fake_expect(&k, "move 2 to 1 request 8, forget 2");
  ck_assert(oc_flow_fetched(k.flow, k.now, a, true, fake_key(5)));
  fake_expect(&k, "publish 1 remote, answer 1 7 result, answer 1 8 joined, store 1");
  ck_assert_mem_eq(oc_flow_job_plan_key(oc_flow_job(k.flow, a)), fake_key(5), 32);
}
END_TEST

START_TEST(what_no_machine_has_is_asked_for_twice_and_built)
{
  uint64_t a = fake_job(&k, 1, 7);

  k.fetch_result = 1;
  oc_flow_keyed(k.flow, k.now, a, fake_key(1));
  ck_assert(!oc_flow_fetched(k.flow, k.now, a, false, NULL));
  fake_expect(&k, "fetch 1, plan 1");
  oc_flow_planned(k.flow, k.now, a, fake_key(2), true);
  fake_expect(&k, "fetch 1 plan");
  ck_assert(!oc_flow_fetched(k.flow, k.now, a, false, NULL));
  fake_expect(&k, "build 1");
  ck_assert(!oc_flow_fetched(k.flow, k.now, a, true, NULL));
  fake_expect(&k, "");
}
END_TEST

START_TEST(a_slow_answer_holds_nobody_back_and_is_used_when_it_wins)
{
  uint64_t a = fake_job(&k, 1, 7), b = fake_job(&k, 1, 8);

  k.fetch_result = 1;
  k.publish_result = 1;
  oc_flow_keyed(k.flow, k.now, a, fake_key(1));
  oc_flow_keyed(k.flow, k.now, b, fake_key(3));
  oc_flow_fetch_slow(k.flow, k.now, a);
  oc_flow_fetch_slow(k.flow, k.now, b);
  fake_expect(&k, "fetch 1, fetch 2, plan 1, plan 2");
  ck_assert(oc_flow_fetched(k.flow, k.now, a, true, NULL));
  fake_expect(&k, "kill 1, publish 1 remote, answer 1 7 result, store 1");
  oc_flow_planned(k.flow, k.now, b, NULL, true);
  oc_flow_built(k.flow, k.now, b);
  fake_expect(&k, "build 2, publish 2 built, answer 2 8 result, store 2");
  ck_assert(!oc_flow_fetched(k.flow, k.now, b, true, NULL));
  fake_expect(&k, "");
}
END_TEST

START_TEST(a_known_object_is_not_built_again)
{
  uint64_t job = fake_job(&k, 1, 7);

  k.object_known = true;
  k.publish_result = 1;
  oc_flow_keyed(k.flow, k.now, job, fake_key(1));
  oc_flow_planned(k.flow, k.now, job, fake_key(2), true);
  fake_expect(&k, "plan 1, release 1, publish 1 object, answer 1 7 result, store 1");
}
END_TEST

START_TEST(a_damaged_object_is_built_after_all)
{
  uint64_t job = fake_job(&k, 1, 7);

  k.object_known = true;
  oc_flow_keyed(k.flow, k.now, job, fake_key(1));
  oc_flow_planned(k.flow, k.now, job, fake_key(2), true);
  fake_expect(&k, "plan 1, release 1, publish 1 object");
  oc_flow_published(k.flow, k.now, job, false);
  k.object_known = false;
  oc_flow_planned(k.flow, k.now, job, fake_key(2), true);
  fake_expect(&k, "plan 1, build 1");
}
END_TEST

START_TEST(equal_plans_are_built_once)
{
  uint64_t a = fake_job(&k, 1, 7), b = fake_job(&k, 1, 8);

  k.publish_result = 1;
  oc_flow_keyed(k.flow, k.now, a, fake_key(1));
  oc_flow_keyed(k.flow, k.now, b, fake_key(2));
  oc_flow_planned(k.flow, k.now, a, fake_key(9), true);
  oc_flow_planned(k.flow, k.now, b, fake_key(9), true);
  fake_expect(&k, "plan 1, plan 2, build 1, release 2");
  ck_assert_uint_eq(oc_flow_n_in(k.flow, OC_JOB_TWIN), 1);
  oc_flow_built(k.flow, k.now, a);
  fake_expect(&k, "publish 1 built, answer 1 7 result, store 1, "
                  "publish 2 twin, answer 2 8 result, store 2");
}
END_TEST

START_TEST(a_twin_goes_back_in_line_when_the_builder_fails)
{
  uint64_t a = fake_job(&k, 1, 7), b = fake_job(&k, 1, 8);

  oc_flow_keyed(k.flow, k.now, a, fake_key(1));
  oc_flow_keyed(k.flow, k.now, b, fake_key(2));
  oc_flow_planned(k.flow, k.now, a, fake_key(9), true);
  oc_flow_planned(k.flow, k.now, b, fake_key(9), true);
  fake_expect(&k, "plan 1, plan 2, build 1, release 2");
  oc_flow_failed(k.flow, k.now, a, OC_FAIL_OOM);
  fake_expect(&k, "answer 1 7 failed, forget 1, plan 2");
}
END_TEST

START_TEST(a_worker_that_dies_is_tried_once_more)
{
  uint64_t job = fake_job(&k, 1, 7);

  until_building(job, 1);
  fake_expect(&k, "plan 1, build 1");
  oc_flow_failed(k.flow, k.now, job, OC_FAIL_DIED);
  fake_expect(&k, "retry 1 died, plan 1");
  oc_flow_failed(k.flow, k.now, job, OC_FAIL_DIED);
  fake_expect(&k, "answer 1 7 failed, forget 1");
}
END_TEST

static const enum oc_failure final_failures[] = { OC_FAIL_INPUT_CHANGED, OC_FAIL_TIMEOUT,
                                                  OC_FAIL_OOM, OC_FAIL_REQUEST,
                                                  OC_FAIL_INTERNAL };

START_TEST(other_failures_are_final)
{
  uint64_t job = fake_job(&k, 1, 7);

  until_building(job, 1);
  oc_flow_failed(k.flow, k.now, job, final_failures[_i]);
  fake_expect(&k, "plan 1, build 1, answer 1 7 failed, forget 1");
}
END_TEST

static uint64_t tool_job(void)
{
  struct oc_flow_order order = { .uid = 1, .uses_tool = true, .waiter = { 1, 7 } };
  uint64_t job = fake_job_as(&k, &order);

  oc_flow_keyed(k.flow, k.now, job, fake_key(1));
  return job;
}

START_TEST(a_tool_runs_after_the_plan)
{
  uint64_t job = tool_job();

  oc_flow_planned(k.flow, k.now, job, NULL, false); /* its errors do not count here */
  fake_expect(&k, "plan 1, release 1, run 1");
  oc_flow_built(k.flow, k.now, job);
  fake_expect(&k, "publish 1 built");
}
END_TEST

START_TEST(a_tool_runs_although_nothing_could_be_planned)
{
  uint64_t job = tool_job();

  oc_flow_unplanned(k.flow, k.now, job);
  fake_expect(&k, "plan 1, run 1");
}
END_TEST

START_TEST(a_tool_runs_although_our_planner_crashes)
{
  uint64_t job = tool_job();

  oc_flow_failed(k.flow, k.now, job, OC_FAIL_DIED);
  oc_flow_failed(k.flow, k.now, job, OC_FAIL_DIED);
  fake_expect(&k, "plan 1, retry 1 died, plan 1, retry 1 died, run 1");
}
END_TEST

START_TEST(a_runner_that_dies_is_tried_once_more_and_a_refusal_is_not)
{
  uint64_t job = tool_job();

  oc_flow_unplanned(k.flow, k.now, job);
  oc_flow_failed(k.flow, k.now, job, OC_FAIL_DIED);
  fake_expect(&k, "plan 1, run 1, retry 1 died, run 1");
  oc_flow_failed(k.flow, k.now, job, OC_FAIL_TOOL);
  fake_expect(&k, "answer 1 7 failed, forget 1");
}
END_TEST

START_TEST(an_explanation_builds_nothing)
{
  struct oc_flow_order order = { .want = OC_WANT_EXPLAIN, .waiter = { 1, 7 } };
  uint64_t job = fake_job_as(&k, &order);

  oc_flow_keyed(k.flow, k.now, job, NULL);
  oc_flow_planned(k.flow, k.now, job, fake_key(1), false);
  fake_expect(&k, "plan 1, release 1, answer 1 7 explained, forget 1");
}
END_TEST

START_TEST(the_last_waiter_takes_the_job_along)
{
  uint64_t a = fake_job(&k, 1, 7), b = fake_job(&k, 2, 8);

  oc_flow_keyed(k.flow, k.now, a, fake_key(1));
  oc_flow_keyed(k.flow, k.now, b, fake_key(1));
  oc_flow_session_gone(k.flow, k.now, 1);
  fake_expect(&k, "plan 1, move 2 to 1 request 8, forget 2");
  oc_flow_session_gone(k.flow, k.now, 2);
  fake_expect(&k, "kill 1, forget 1");
}
END_TEST

START_TEST(an_orphan_lives_for_the_grace_time)
{
  struct oc_flow_limits limits = fake_limits;
  uint64_t job;

  fake_close(&k);
  limits.orphan_grace_ns = 5 * SECOND;
  fake_open(&k, &limits);
  job = fake_job(&k, 1, 7);
  oc_flow_keyed(k.flow, k.now, job, fake_key(1));
  oc_flow_session_gone(k.flow, k.now, 1);
  ck_assert_uint_eq(oc_flow_next_deadline(k.flow), k.now + 5 * SECOND);
  oc_flow_tick(k.flow, k.now + 4 * SECOND);
  fake_expect(&k, "plan 1");
  oc_flow_tick(k.flow, k.now + 5 * SECOND);
  fake_expect(&k, "kill 1, forget 1");
}
END_TEST

START_TEST(somebody_who_joins_rescues_an_orphan)
{
  struct oc_flow_limits limits = fake_limits;
  uint64_t a, b;

  fake_close(&k);
  limits.orphan_grace_ns = 5 * SECOND;
  fake_open(&k, &limits);
  a = fake_job(&k, 1, 7);
  oc_flow_keyed(k.flow, k.now, a, fake_key(1));
  oc_flow_session_gone(k.flow, k.now, 1);
  b = fake_job(&k, 2, 8);
  oc_flow_keyed(k.flow, k.now, b, fake_key(1));
  oc_flow_tick(k.flow, k.now + 6 * SECOND);
  fake_expect(&k, "plan 1, move 2 to 1 request 8, forget 2");
}
END_TEST

START_TEST(a_detached_job_lives_without_waiters)
{
  struct oc_waiter w = { 1, 7 };
  uint64_t job = fake_job(&k, 1, 7);

  until_building(job, 1);
  ck_assert(oc_flow_detach(k.flow, k.now, job, &w));
  ck_assert(!oc_flow_detach(k.flow, k.now, job, &w));
  oc_flow_session_gone(k.flow, k.now, 1);
  oc_flow_built(k.flow, k.now, job);
  oc_flow_published(k.flow, k.now, job, true);
  fake_expect(&k, "plan 1, build 1, publish 1 built, store 1");
}
END_TEST

START_TEST(a_cancelled_job_stops_at_once_unless_others_wait)
{
  struct oc_waiter first = { 1, 7 }, second = { 2, 8 };
  uint64_t a = fake_job(&k, 1, 7), b = fake_job(&k, 2, 8);

  oc_flow_keyed(k.flow, k.now, a, fake_key(1));
  oc_flow_keyed(k.flow, k.now, b, fake_key(1));
  fake_expect(&k, "plan 1, move 2 to 1 request 8, forget 2");
  ck_assert(oc_flow_cancel(k.flow, k.now, a, &first));
  fake_expect(&k, "answer 1 7 stopped");
  ck_assert(oc_flow_cancel(k.flow, k.now, a, &second));
  fake_expect(&k, "answer 1 8 stopped, kill 1, forget 1");
  ck_assert(!oc_flow_cancel(k.flow, k.now, a, &second));
}
END_TEST

START_TEST(every_step_has_its_time_limit)
{
  uint64_t a = fake_job(&k, 1, 7), b = tool_job();

  until_building(a, 5);
  oc_flow_unplanned(k.flow, k.now, b);
  fake_expect(&k, "plan 2, plan 1, build 1, run 2");
  oc_flow_tick(k.flow, k.now + 20 * SECOND - 1);
  fake_expect(&k, "");
  oc_flow_tick(k.flow, k.now + 20 * SECOND);
  fake_expect(&k, "kill 1, answer 1 7 failed, forget 1");
  oc_flow_tick(k.flow, k.now + 30 * SECOND);
  fake_expect(&k, "kill 2, answer 2 7 failed, forget 2");
  ck_assert_uint_eq(oc_flow_next_deadline(k.flow), UINT64_MAX);
}
END_TEST

START_TEST(standing_in_line_is_not_limited)
{
  uint64_t jobs[3];

  for (uint64_t i = 0; i < 3; i++) {
    jobs[i] = fake_job(&k, 1, i);
    oc_flow_keyed(k.flow, k.now, jobs[i], fake_key((uint8_t)i));
  }
  fake_expect(&k, "plan 1, plan 2");
  oc_flow_tick(k.flow, k.now + 9 * SECOND);
  oc_flow_failed(k.flow, k.now + 9 * SECOND, jobs[0], OC_FAIL_OOM);
  fake_expect(&k, "answer 1 0 failed, forget 1, plan 3");
  oc_flow_tick(k.flow, k.now + 11 * SECOND);
  fake_expect(&k, "kill 2, answer 2 1 failed, forget 2");
}
END_TEST

START_TEST(one_users_queue_does_not_delay_anothers_first_job)
{
  uint64_t first = 0;

  for (uint64_t i = 0; i < 6; i++) {
    uint64_t j = fake_job(&k, 1, i);

    first = first ? first : j;
    oc_flow_keyed(k.flow, k.now, j, fake_key((uint8_t)i));
  }
  oc_flow_keyed(k.flow, k.now, fake_job(&k, 2, 9), fake_key(9));
  fake_expect(&k, "plan 1, plan 2");
  oc_flow_failed(k.flow, k.now, first, OC_FAIL_OOM);
  fake_expect(&k, "answer 1 0 failed, forget 1, plan 7");
}
END_TEST

START_TEST(limits_refuse_what_is_too_much)
{
  struct oc_flow_order order = { .uid = 1, .waiter = { 1, 1 } };
  uint64_t id = 0;

  for (unsigned i = 0; i < fake_limits.max_per_uid; i++)
    fake_job(&k, 1, i);
  ck_assert_int_eq(oc_flow_open(k.flow, k.now, &order, &id), OC_E_LIMIT);
  order.uid = 2;
  ck_assert_int_eq(oc_flow_open(k.flow, k.now, &order, &id), 0);
}
END_TEST

START_TEST(draining_takes_nothing_new_and_finishes_the_rest)
{
  struct oc_flow_order order = { .uid = 1, .waiter = { 1, 1 } };
  uint64_t job = fake_job(&k, 1, 7), id = 0;

  until_building(job, 1);
  oc_flow_drain(k.flow);
  ck_assert_int_eq(oc_flow_open(k.flow, k.now, &order, &id), OC_E_CLOSED);
  oc_flow_built(k.flow, k.now, job);
  fake_expect(&k, "plan 1, build 1, publish 1 built");
}
END_TEST

START_TEST(stopping_ends_all_but_what_is_being_stored)
{
  uint64_t a = fake_job(&k, 1, 7), b;

  until_building(a, 1);
  oc_flow_built(k.flow, k.now, a);
  oc_flow_published(k.flow, k.now, a, true);
  b = fake_job(&k, 1, 8);
  oc_flow_keyed(k.flow, k.now, b, fake_key(2));
  fake_expect(&k, "plan 1, build 1, publish 1 built, answer 1 7 result, store 1, plan 2");
  oc_flow_stop(k.flow, k.now);
  fake_expect(&k, "kill 2, answer 2 8 stopped, forget 2");
  ck_assert_uint_eq(oc_flow_n_jobs(k.flow), 1);
}
END_TEST

START_TEST(an_order_that_cannot_be_read_is_given_up_with_its_worker)
{
  uint64_t job = tool_job();

  oc_flow_give_up(k.flow, k.now, job, OC_FAIL_REQUEST);
  fake_expect(&k, "plan 1, kill 1, answer 1 7 failed, forget 1");
}
END_TEST

START_TEST(a_worker_that_cannot_be_started_fails_the_job)
{
  uint64_t job = fake_job(&k, 1, 7);

  k.plan_result = -1;
  oc_flow_keyed(k.flow, k.now, job, fake_key(1));
  fake_expect(&k, "plan 1, answer 1 7 failed, forget 1");
}
END_TEST

START_TEST(late_events_are_nothing)
{
  uint64_t job = fake_job(&k, 1, 7);

  oc_flow_hit(k.flow, k.now, job);
  fake_expect(&k, "forget 1");
  oc_flow_planned(k.flow, k.now, job, NULL, true);
  oc_flow_built(k.flow, k.now, job);
  oc_flow_failed(k.flow, k.now, job, OC_FAIL_DIED);
  oc_flow_stored(k.flow, k.now, job);
  ck_assert_uint_eq(oc_flow_keyed(k.flow, k.now, job, fake_key(1)), 0);
  fake_expect(&k, "");
}
END_TEST

int main(void)
{
  Suite *s = suite_create("flow");
  TCase *c = tcase_create("stories");
  SRunner *r;
  int failed;

  tcase_add_checked_fixture(c, open_default, close_default);
  tcase_add_test(c, a_miss_is_planned_built_published_stored);
  tcase_add_test(c, an_identical_order_joins_and_is_told_so);
  tcase_add_test(c, an_order_that_comes_while_storing_is_answered_at_once);
  tcase_add_test(c, an_uncached_order_joins_nobody);
  tcase_add_test(c, what_another_machine_has_is_not_planned);
  tcase_add_test(c, what_no_machine_has_is_asked_for_twice_and_built);
  tcase_add_test(c, a_slow_answer_holds_nobody_back_and_is_used_when_it_wins);
  tcase_add_test(c, a_known_object_is_not_built_again);
  tcase_add_test(c, a_damaged_object_is_built_after_all);
  tcase_add_test(c, equal_plans_are_built_once);
  tcase_add_test(c, a_twin_goes_back_in_line_when_the_builder_fails);
  tcase_add_test(c, a_worker_that_dies_is_tried_once_more);
  tcase_add_loop_test(c, other_failures_are_final, 0, 5);
  tcase_add_test(c, a_tool_runs_after_the_plan);
  tcase_add_test(c, a_tool_runs_although_nothing_could_be_planned);
  tcase_add_test(c, a_tool_runs_although_our_planner_crashes);
  tcase_add_test(c, a_runner_that_dies_is_tried_once_more_and_a_refusal_is_not);
  tcase_add_test(c, an_explanation_builds_nothing);
  tcase_add_test(c, the_last_waiter_takes_the_job_along);
  tcase_add_test(c, an_orphan_lives_for_the_grace_time);
  tcase_add_test(c, somebody_who_joins_rescues_an_orphan);
  tcase_add_test(c, a_detached_job_lives_without_waiters);
  tcase_add_test(c, a_cancelled_job_stops_at_once_unless_others_wait);
  tcase_add_test(c, every_step_has_its_time_limit);
  tcase_add_test(c, standing_in_line_is_not_limited);
  tcase_add_test(c, one_users_queue_does_not_delay_anothers_first_job);
  tcase_add_test(c, limits_refuse_what_is_too_much);
  tcase_add_test(c, draining_takes_nothing_new_and_finishes_the_rest);
  tcase_add_test(c, stopping_ends_all_but_what_is_being_stored);
  tcase_add_test(c, an_order_that_cannot_be_read_is_given_up_with_its_worker);
  tcase_add_test(c, a_worker_that_cannot_be_started_fails_the_job);
  tcase_add_test(c, late_events_are_nothing);
  suite_add_tcase(s, c);
  r = srunner_create(s);
  srunner_run_all(r, CK_ENV);
  failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
