/* Time limits, places in line, the end of a daemon, and events that come too late. */
#include "suites.h"

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

TCase *limit_cases(void)
{
  TCase *c = tcase_create("limits");

  tcase_add_test(c, every_step_has_its_time_limit);
  tcase_add_test(c, standing_in_line_is_not_limited);
  tcase_add_test(c, one_users_queue_does_not_delay_anothers_first_job);
  tcase_add_test(c, limits_refuse_what_is_too_much);
  tcase_add_test(c, draining_takes_nothing_new_and_finishes_the_rest);
  tcase_add_test(c, stopping_ends_all_but_what_is_being_stored);
  tcase_add_test(c, an_order_that_cannot_be_read_is_given_up_with_its_worker);
  tcase_add_test(c, a_worker_that_cannot_be_started_fails_the_job);
  tcase_add_test(c, late_events_are_nothing);
  return c;
}
