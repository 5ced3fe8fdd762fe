/* Who waits for a job, and what becomes of it when nobody does. */
#include "suites.h"

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

TCase *waiter_cases(void)
{
  TCase *c = tcase_create("waiters");

  tcase_add_test(c, the_last_waiter_takes_the_job_along);
  tcase_add_test(c, an_orphan_lives_for_the_grace_time);
  tcase_add_test(c, somebody_who_joins_rescues_an_orphan);
  tcase_add_test(c, a_detached_job_lives_without_waiters);
  tcase_add_test(c, a_cancelled_job_stops_at_once_unless_others_wait);
  return c;
}
