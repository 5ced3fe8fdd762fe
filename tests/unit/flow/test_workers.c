/* Who works on a job: workers that die, tools, explanations. */
#include "suites.h"

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

TCase *worker_cases(void)
{
  TCase *c = tcase_create("workers");

  tcase_add_test(c, a_worker_that_dies_is_tried_once_more);
  tcase_add_loop_test(c, other_failures_are_final, 0, 5);
  tcase_add_test(c, a_tool_runs_after_the_plan);
  tcase_add_test(c, a_tool_runs_although_nothing_could_be_planned);
  tcase_add_test(c, a_tool_runs_although_our_planner_crashes);
  tcase_add_test(c, a_runner_that_dies_is_tried_once_more_and_a_refusal_is_not);
  tcase_add_test(c, an_explanation_builds_nothing);
  return c;
}
