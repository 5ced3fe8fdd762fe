/* Days in the life of flow, played by a seed.
 *
 * Every step draws an event (many of them at the wrong moment, as real ones come), and
 * after every step all invariants are checked: slots are never exceeded, what was started
 * is ended exactly once, every waiter that stayed is answered exactly once. */
#include <stdlib.h>

#include "fake.h"

#define SEEDS 400
#define STEPS 600

static uint64_t rng_state;

static uint32_t rng(uint32_t n)
{
  rng_state ^= rng_state << 13;
  rng_state ^= rng_state >> 7;
  rng_state ^= rng_state << 17;
  return (uint32_t)(rng_state >> 33) % n;
}

/* Any live job, 0 when there is none. */
static uint64_t pick(struct fake *k)
{
  size_t n = oc_flow_n_jobs(k->flow);
  struct oc_flow_job *j = NULL;

  if (!n)
    return 0;
  for (uint32_t i = rng((uint32_t)n) + 1; i; i--)
    j = oc_flow_next_job(k->flow, j);
  return oc_flow_job_id(j);
}

struct day {
  struct fake k;
  uint64_t waiting; /* waiters opened, minus those that left */
  uint64_t next_request;
};

static void open_one(struct day *d)
{
  struct oc_flow_order o = { .uid = rng(3),
                             .want = rng(8) ? OC_WANT_COMPILE : OC_WANT_EXPLAIN };
  uint64_t id;

  o.uses_tool = !rng(3);
  o.waiter = (struct oc_waiter){ rng(6), d->next_request++ };
  if (oc_flow_open(d->k.flow, d->k.now, &o, &id))
    return;
  d->waiting++;
  d->k.n_opened++;
  if (o.want == OC_WANT_EXPLAIN)
    oc_flow_keyed(d->k.flow, d->k.now, id, NULL);
}

static void leave(struct day *d, uint64_t session)
{
  for (struct oc_flow_job *j = NULL; (j = oc_flow_next_job(d->k.flow, j));)
    for (size_t i = 0; i < oc_flow_job_n_waiters(j); i++)
      d->waiting -= oc_flow_job_waiter(j, i)->session == session;
  oc_flow_session_gone(d->k.flow, d->k.now, session);
}

static void one_waiter(struct day *d, uint64_t id, bool cancel)
{
  struct oc_flow_job *j = oc_flow_job(d->k.flow, id);
  struct oc_waiter w;

  if (!j || !oc_flow_job_n_waiters(j))
    return;
  w = *oc_flow_job_waiter(j, 0);
  if (cancel)
    ck_assert(oc_flow_cancel(d->k.flow, d->k.now, id, &w));
  else if (oc_flow_detach(d->k.flow, d->k.now, id, &w))
    d->waiting--;
}

/* What only the present owner of the work may report. */
static void worker_event(struct day *d, uint64_t id)
{
  struct oc_flow_job *j = oc_flow_job(d->k.flow, id);
  struct oc_flow *f = d->k.flow;
  uint64_t now = d->k.now;

  if (!j)
    return;
  switch (j->lease) {
  case OC_LEASE_PLANNING:
    if (rng(3)) {
      oc_flow_planned(f, now, id, rng(4) ? fake_key((uint8_t)rng(4)) : NULL, rng(6) != 0);
      break;
    }
    d->k.working--;
    if (rng(2))
      oc_flow_unplanned(f, now, id);
    else
      oc_flow_failed(f, now, id, (enum oc_failure)rng(7));
    break;
  case OC_LEASE_BUILDING:
  case OC_LEASE_RUNNING:
    d->k.working--;
    if (rng(3))
      oc_flow_built(f, now, id);
    else
      oc_flow_failed(f, now, id, (enum oc_failure)rng(7));
    break;
  case OC_LEASE_PLANNED:
    if (!rng(4)) {
      d->k.working--;
      oc_flow_failed(f, now, id, OC_FAIL_DIED);
    }
    break;
  default:
    oc_flow_planned(f, now, id, NULL, true); /* too late, or never asked for */
    oc_flow_built(f, now, id);
  }
}

static void step(struct day *d)
{
  struct oc_flow *f = d->k.flow;
  uint64_t id = pick(&d->k);
  struct oc_flow_job *j = oc_flow_job(f, id);

  d->k.now += rng(1000) * (SECOND / 1000);
  d->k.publish_result = (int)rng(3) - 1;
  d->k.store_result = (int)rng(2);
  d->k.object_known = !rng(3);
  d->k.plan_result = rng(20) ? 0 : -1;
  d->k.build_result = rng(20) ? 0 : -1;
  d->k.run_result = rng(20) ? 0 : -1;
  d->k.fetch_result = !rng(3);
  switch (rng(14)) {
  case 0:
  case 1: open_one(d); break;
  case 2:
    if (rng(4))
      oc_flow_scout(f, d->k.now, id, rng(2));
    else
      oc_flow_scouted(f, d->k.now, id);
    break;
  case 3:
  case 4:
    if (j && oc_flow_job_state(j) == OC_JOB_READING)
      oc_flow_keyed(f, d->k.now, id, rng(5) ? fake_key((uint8_t)rng(6)) : NULL);
    break;
  case 5: oc_flow_published(f, d->k.now, id, rng(5) != 0); break;
  case 6: oc_flow_stored(f, d->k.now, id); break;
  case 7: oc_flow_tick(f, d->k.now); break;
  case 12:
    if (rng(3))
      oc_flow_fetched(f, d->k.now, id, rng(2), rng(2) ? fake_key((uint8_t)rng(4)) : NULL);
    else
      oc_flow_fetch_slow(f, d->k.now, id);
    break;
  case 8: rng(3) ? one_waiter(d, id, rng(2)) : leave(d, rng(6)); break;
  default: worker_event(d, id);
  }
}

/* Everything that is still there comes to its end. */
static void end_of_day(struct day *d)
{
  oc_flow_stop(d->k.flow, d->k.now);
  for (uint64_t id; (id = pick(&d->k));) {
    ck_assert_int_eq(oc_flow_job_state(oc_flow_job(d->k.flow, id)), OC_JOB_STORING);
    oc_flow_stored(d->k.flow, d->k.now, id);
  }
}

START_TEST(any_order_of_events_keeps_the_promises)
{
  struct oc_flow_limits limits = fake_limits;
  struct day d = { .next_request = 1 };

  limits.orphan_grace_ns = _i % 3 ? 0 : 2 * SECOND;
  limits.slots = 1 + (unsigned)_i % 4;
  rng_state = 88172645463325252ull + (uint64_t)_i * 7919;
  fake_open(&d.k, &limits);
  d.k.quiet = true;
  for (int i = 0; i < STEPS; i++) {
    step(&d);
    ck_assert_msg(!flow_check(d.k.flow), "seed %d step %d: %s", _i, i,
                  flow_check(d.k.flow));
    ck_assert_msg(d.k.working == oc_flow_n_busy(d.k.flow),
                  "seed %d step %d: %u works, %u busy", _i, i, d.k.working,
                  oc_flow_n_busy(d.k.flow));
  }
  end_of_day(&d);
  ck_assert_uint_eq(oc_flow_n_jobs(d.k.flow), 0);
  ck_assert_uint_eq(d.k.working, 0);
  ck_assert_uint_eq(d.k.n_forgotten, d.k.n_opened);
  ck_assert_uint_eq(d.k.n_answers, d.waiting);
  fake_close(&d.k);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("flow_simulation");
  TCase *c = tcase_create("seeds");
  SRunner *r;
  int failed;

  tcase_set_timeout(c, 120);
  tcase_add_loop_test(c, any_order_of_events_keeps_the_promises, 0, SEEDS);
  suite_add_tcase(s, c);
  r = srunner_create(s);
  srunner_run_all(r, CK_ENV);
  failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
