/* The breaker by a fake clock: its states, and what an outage may cost. */
#include <check.h>
#include <stdlib.h>

#include "remote/breaker.h"

#define MS     1000000ull
#define SECOND (1000 * MS)

static const struct oc_breaker_limits limits = { .failures = 3,
                                                 .lanes = 2,
                                                 .retry_ns = 10 * SECOND,
                                                 .budget_ns = SECOND,
                                                 .window_ns = 60 * SECOND };
static struct oc_breaker b;
static uint64_t now;

static void setup(void)
{
  oc_breaker_init(&b, &limits);
  now = 5 * SECOND;
}

/* One look alone that ends after `ms`. */
static bool look(uint64_t ms, enum oc_breaker_end end)
{
  struct oc_breaker_look l;

  if (!oc_breaker_enter(&b, &l, now))
    return false;
  now += ms * MS;
  oc_breaker_leave(&b, &l, now, end);
  return true;
}

static uint64_t lost_ms(void)
{
  return oc_breaker_lost_ns(&b, now) / MS;
}

START_TEST(answers_keep_it_closed)
{
  for (int i = 0; i < 100; i++) {
    ck_assert(look(400, OC_BREAKER_ANSWERED));
    ck_assert_int_eq(b.state, OC_BREAKER_CLOSED);
  }
  ck_assert_uint_eq(lost_ms(), 0);
}
END_TEST

START_TEST(three_failures_in_a_row_open_it)
{
  ck_assert(look(10, OC_BREAKER_FAILED));
  ck_assert(look(10, OC_BREAKER_FAILED));
  ck_assert(look(10, OC_BREAKER_ANSWERED)); /* begins anew */
  ck_assert(look(10, OC_BREAKER_FAILED));
  ck_assert(look(10, OC_BREAKER_FAILED));
  ck_assert_int_eq(b.state, OC_BREAKER_CLOSED);
  ck_assert(look(10, OC_BREAKER_FAILED));
  ck_assert_int_eq(b.state, OC_BREAKER_OPEN);
  ck_assert(!look(10, OC_BREAKER_ANSWERED));
  ck_assert_uint_eq(lost_ms(), 50);
}
END_TEST

START_TEST(a_probe_half_opens_and_the_next_verdict_decides)
{
  for (int i = 0; i < 3; i++)
    look(10, OC_BREAKER_FAILED);
  now += 10 * SECOND - 1;
  ck_assert_int_eq(oc_breaker_tick(&b, now), OC_BREAKER_NOTHING);
  now += 1;
  ck_assert_uint_eq(oc_breaker_due_ns(&b, now), now);
  ck_assert_int_eq(oc_breaker_tick(&b, now), OC_BREAKER_PROBE);
  ck_assert_int_eq(oc_breaker_tick(&b, now), OC_BREAKER_NOTHING); /* one at a time */
  ck_assert(!look(10, OC_BREAKER_ANSWERED));
  oc_breaker_probed(&b, now, true);
  ck_assert_int_eq(b.state, OC_BREAKER_HALF_OPEN);
  ck_assert(look(10, OC_BREAKER_FAILED)); /* one is enough now */
  ck_assert_int_eq(b.state, OC_BREAKER_OPEN);
  now += 20 * SECOND; /* twice the time, the second time */
  ck_assert_int_eq(oc_breaker_tick(&b, now), OC_BREAKER_PROBE);
  oc_breaker_probed(&b, now, true);
  ck_assert(look(10, OC_BREAKER_ANSWERED));
  ck_assert_int_eq(b.state, OC_BREAKER_CLOSED);
  ck_assert_uint_eq(b.n_opened, 1);
}
END_TEST

START_TEST(a_probe_that_fails_is_sent_again)
{
  for (int i = 0; i < 3; i++)
    look(10, OC_BREAKER_FAILED);
  for (int i = 0; i < 5; i++) {
    now = oc_breaker_due_ns(&b, now);
    ck_assert_int_eq(oc_breaker_tick(&b, now), OC_BREAKER_PROBE);
    oc_breaker_probed(&b, now, false);
    ck_assert_int_eq(b.state, OC_BREAKER_OPEN);
  }
}
END_TEST

START_TEST(a_remote_that_never_answers_is_cut_before_the_budget)
{
  struct oc_breaker_look l;

  ck_assert(look(500, OC_BREAKER_FAILED));
  ck_assert(oc_breaker_enter(&b, &l, now));
  ck_assert_uint_eq(oc_breaker_due_ns(&b, now), now + 100 * MS);
  now += 100 * MS;
  ck_assert_int_eq(oc_breaker_tick(&b, now), OC_BREAKER_SPENT);
  oc_breaker_leave(&b, &l, now, OC_BREAKER_FAILED);
  ck_assert_int_eq(b.state, OC_BREAKER_OPEN);
  ck_assert_uint_eq(lost_ms(), 600);
}
END_TEST

START_TEST(what_came_back_can_be_used_at_once)
{
  look(500, OC_BREAKER_FAILED);
  look(100, OC_BREAKER_FAILED);
  ck_assert_int_eq(b.state, OC_BREAKER_OPEN);
  now += 10 * SECOND;
  oc_breaker_tick(&b, now);
  oc_breaker_probed(&b, now, true);
  ck_assert(look(50, OC_BREAKER_ANSWERED));
  ck_assert(look(50, OC_BREAKER_ANSWERED));
  ck_assert_int_eq(b.state, OC_BREAKER_CLOSED);
}
END_TEST

START_TEST(many_jobs_lose_what_their_slots_lose)
{
  struct oc_breaker_look l[50];

  for (int i = 0; i < 50; i++)
    ck_assert(oc_breaker_enter(&b, &l[i], now));
  /* Two slots: 600 ms of jobs are gone after 300 ms. */
  ck_assert_uint_eq(oc_breaker_due_ns(&b, now), now + 300 * MS);
  now += 300 * MS;
  ck_assert_int_eq(oc_breaker_tick(&b, now), OC_BREAKER_SPENT);
  for (int i = 0; i < 50; i++)
    oc_breaker_leave(&b, &l[i], now, OC_BREAKER_FAILED);
  ck_assert_uint_eq(lost_ms(), 600);
  ck_assert_ptr_null(b.first);
  ck_assert_ptr_null(b.last);
}
END_TEST

START_TEST(a_released_look_holds_nobody_and_costs_when_it_fails)
{
  struct oc_breaker_look l;

  ck_assert(oc_breaker_enter(&b, &l, now));
  now += 600 * MS;
  ck_assert_int_eq(oc_breaker_tick(&b, now), OC_BREAKER_SPENT);
  oc_breaker_release(&b, &l, now);
  ck_assert_int_eq(oc_breaker_tick(&b, now), OC_BREAKER_NOTHING);
  now += 30 * SECOND;
  ck_assert_uint_eq(lost_ms(), 0);
  oc_breaker_leave(&b, &l, now, OC_BREAKER_FAILED);
  ck_assert_uint_eq(lost_ms(), 600);
  ck_assert_int_eq(b.state, OC_BREAKER_OPEN);
}
END_TEST

START_TEST(a_look_nobody_wants_any_more_says_nothing)
{
  look(10, OC_BREAKER_FAILED);
  look(10, OC_BREAKER_FAILED);
  ck_assert(look(500, OC_BREAKER_DROPPED));
  ck_assert_int_eq(b.state, OC_BREAKER_CLOSED);
  ck_assert_uint_eq(lost_ms(), 20);
}
END_TEST

START_TEST(uploads_open_it_and_cost_nothing)
{
  for (int i = 0; i < 3; i++)
    oc_breaker_failed(&b, now);
  ck_assert_int_eq(b.state, OC_BREAKER_OPEN);
  ck_assert_uint_eq(lost_ms(), 0);
}
END_TEST

/* ---------------------------------------------------------------- the promise */

static uint64_t rng_state;

static uint32_t rng(uint32_t n)
{
  rng_state ^= rng_state << 13;
  rng_state ^= rng_state >> 7;
  rng_state ^= rng_state << 17;
  return (uint32_t)(rng_state >> 33) % n;
}

/* What jobs lost, measured from outside: the time in which one waited for a look that
 * then failed, as the ends of such stretches. */
struct loss {
  uint64_t at, lost;
};

#define JOBS 3000

/* One job after the other, by a remote that fails in a way drawn by the seed and comes
 * and goes: in no minute more than a second is lost, and once it works for 30 seconds it
 * is used. */
START_TEST(no_minute_loses_more_than_the_budget)
{
  static struct loss losses[JOBS];
  size_t n = 0;
  uint64_t well_since = 0, worst = 0, sum;
  bool works = false;
  int used_late = 0;

  rng_state = 88172645463325252ull + (uint64_t)_i * 7919;
  for (int job = 0; job < JOBS; job++) {
    struct oc_breaker_look l;
    uint64_t until, began;

    if (!rng(60)) {
      works = !works;
      well_since = now;
    }
    now += rng(3000) * MS;
    if (oc_breaker_tick(&b, now) == OC_BREAKER_PROBE) /* some outages answer probes */
      oc_breaker_probed(&b, now, works || rng(2));
    began = now;
    if (!oc_breaker_enter(&b, &l, now)) {
      used_late += works && now - well_since > 30 * SECOND;
      continue;
    }
    until = now + (works ? rng(20) : rng(600)) * MS;
    while (now < until) {
      uint64_t due = oc_breaker_due_ns(&b, now);

      now = due < until ? due : until;
      if (oc_breaker_tick(&b, now) == OC_BREAKER_SPENT)
        break;
    }
    if (works && now == until) {
      oc_breaker_leave(&b, &l, now, OC_BREAKER_ANSWERED);
      continue;
    }
    oc_breaker_leave(&b, &l, now, OC_BREAKER_FAILED);
    losses[n++] = (struct loss){ now, now - began };
  }
  for (size_t i = 0; i < n; i++) {
    sum = 0;
    for (size_t k = i; k < n && losses[k].at < losses[i].at + limits.window_ns; k++)
      sum += losses[k].lost;
    worst = sum > worst ? sum : worst;
  }
  ck_assert_msg(worst <= SECOND, "seed %d loses %llu ms", _i,
                (unsigned long long)(worst / MS));
  ck_assert_int_eq(used_late, 0);
  ck_assert_uint_gt(n, 0);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("breaker");
  TCase *c = tcase_create("breaker");
  SRunner *r;
  int failed;

  tcase_add_checked_fixture(c, setup, NULL);
  tcase_add_test(c, answers_keep_it_closed);
  tcase_add_test(c, three_failures_in_a_row_open_it);
  tcase_add_test(c, a_probe_half_opens_and_the_next_verdict_decides);
  tcase_add_test(c, a_probe_that_fails_is_sent_again);
  tcase_add_test(c, a_remote_that_never_answers_is_cut_before_the_budget);
  tcase_add_test(c, what_came_back_can_be_used_at_once);
  tcase_add_test(c, many_jobs_lose_what_their_slots_lose);
  tcase_add_test(c, a_released_look_holds_nobody_and_costs_when_it_fails);
  tcase_add_test(c, a_look_nobody_wants_any_more_says_nothing);
  tcase_add_test(c, uploads_open_it_and_cost_nothing);
  tcase_add_loop_test(c, no_minute_loses_more_than_the_budget, 0, 100);
  suite_add_tcase(s, c);
  r = srunner_create(s);
  srunner_run_all(r, CK_ENV);
  failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
