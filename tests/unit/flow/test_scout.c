/* Scouts: workers that plan while an order is still read. */
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

START_TEST(a_scout_goes_on_while_others_are_asked)
{
  struct oc_flow_order order = { .uid = 1, .uses_tool = true, .waiter = { 1, 7 } };
  uint64_t a = fake_job_as(&k, &order);

  k.fetch_result = 1;
  oc_flow_scout(k.flow, k.now, a, true);
  oc_flow_keyed(k.flow, k.now, a, fake_key(1));
  fake_expect(&k, "plan 1, fetch 1");
  oc_flow_planned(k.flow, k.now, a, NULL, true);
  fake_expect(&k, "release 1");
  oc_flow_fetched(k.flow, k.now, a, false, NULL);
  fake_expect(&k, "run 1");
}
END_TEST

START_TEST(a_scout_plans_while_inputs_are_read)
{
  uint64_t job = fake_job(&k, 1, 7);

  oc_flow_scout(k.flow, k.now, job, false);
  fake_expect(&k, "plan 1");
  oc_flow_planned(k.flow, k.now, job, fake_key(2), true);
  fake_expect(&k, "");
  ck_assert_int_eq(oc_flow_job_state(oc_flow_job(k.flow, job)), OC_JOB_READING);
  oc_flow_keyed(k.flow, k.now, job, fake_key(1));
  fake_expect(&k, "build 1");
}
END_TEST

START_TEST(a_scout_is_let_go_on_a_hit)
{
  uint64_t job = fake_job(&k, 1, 7);

  oc_flow_scout(k.flow, k.now, job, false);
  oc_flow_hit(k.flow, k.now, job);
  fake_expect(&k, "plan 1, kill 1, forget 1");
}
END_TEST

START_TEST(an_optional_scout_takes_no_place_from_others)
{
  uint64_t a = fake_job(&k, 1, 1), b = fake_job(&k, 1, 2), c = fake_job(&k, 1, 3);

  oc_flow_keyed(k.flow, k.now, a, fake_key(1));
  oc_flow_keyed(k.flow, k.now, b, fake_key(2));
  oc_flow_scout(k.flow, k.now, c, false);
  fake_expect(&k, "plan 1, plan 2");
  oc_flow_scout(k.flow, k.now, c, true);
  oc_flow_failed(k.flow, k.now, a, OC_FAIL_OOM);
  fake_expect(&k, "answer 1 1 failed, forget 1, plan 3");
}
END_TEST

START_TEST(a_plan_that_forbids_building_fails_the_order)
{
  uint64_t job = fake_job(&k, 1, 7);

  oc_flow_scout(k.flow, k.now, job, true);
  oc_flow_planned(k.flow, k.now, job, NULL, false);
  fake_expect(&k, "plan 1, release 1, answer 1 7 failed, forget 1");
}
END_TEST

/* What the names were wanted for may need no plan at all. */
START_TEST(a_scout_is_let_go_when_it_has_seen_enough)
{
  uint64_t job = fake_job(&k, 1, 7);

  oc_flow_scout(k.flow, k.now, job, true);
  oc_flow_scouted(k.flow, k.now, job);
  fake_expect(&k, "plan 1, kill 1");
  oc_flow_planned(k.flow, k.now, job, NULL, false);
  fake_expect(&k, "");
  ck_assert_int_eq(oc_flow_job_state(oc_flow_job(k.flow, job)), OC_JOB_READING);
  ck_assert_uint_eq(oc_flow_n_busy(k.flow), 0);
  /* What another machine has is delivered all the same. */
  k.fetch_result = 1;
  k.publish_result = 1;
  oc_flow_keyed(k.flow, k.now, job, fake_key(1));
  oc_flow_fetched(k.flow, k.now, job, true, NULL);
  fake_expect(&k, "fetch 1, publish 1 remote, answer 1 7 result, store 1");
}
END_TEST

int main(void)
{
  Suite *s = suite_create("scout");
  TCase *c = tcase_create("stories");
  SRunner *r;
  int failed;

  tcase_add_checked_fixture(c, open_default, close_default);
  tcase_add_test(c, a_scout_goes_on_while_others_are_asked);
  tcase_add_test(c, a_scout_plans_while_inputs_are_read);
  tcase_add_test(c, a_scout_is_let_go_on_a_hit);
  tcase_add_test(c, an_optional_scout_takes_no_place_from_others);
  tcase_add_test(c, a_plan_that_forbids_building_fails_the_order);
  tcase_add_test(c, a_scout_is_let_go_when_it_has_seen_enough);
  suite_add_tcase(s, c);
  r = srunner_create(s);
  srunner_run_all(r, CK_ENV);
  failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
