/* What one job has and another can use: identical orders, other machines, known objects,
 * equal plans. */
#include "suites.h"

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

TCase *result_cases(void)
{
  TCase *c = tcase_create("results");

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
  return c;
}
