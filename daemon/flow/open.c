/* READING: a new order, the scout, and what the key decides.
 *
 * An order gets its key only when all its inputs are digested. From then on there is at
 * most one live job per key: a second one gives its waiters to the first and is over. */
#include "flow/flow_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static int may_open(struct oc_flow *f, uint32_t uid, struct share **ret)
{
  struct share *s;

  if (f->draining)
    return OC_E_CLOSED;
  s = flow_share(f, uid);
  if (!s)
    return OC_E_NOMEM;
  if (f->n_jobs >= f->limits.max_jobs || s->jobs >= f->limits.max_per_uid)
    return OC_E_LIMIT;
  *ret = s;
  return 0;
}

int oc_flow_open(struct oc_flow *f, uint64_t now_ns, const struct oc_flow_order *order,
                 uint64_t *ret_id)
{
  struct share *s;
  struct oc_flow_job *j;
  int r = may_open(f, order->uid, &s);

  if (r)
    return r;
  j = calloc(1, sizeof(*j));
  if (!j || flow_waiter_add(j, &order->waiter, false)) {
    free(j);
    return OC_E_NOMEM;
  }
  if (now_ns > f->now)
    f->now = now_ns;
  j->id = f->next_id++;
  j->state = OC_JOB_READING;
  j->uid = order->uid;
  j->want = order->want;
  j->uses_tool = order->uses_tool;
  j->data = order->data;
  j->deadline_ns = f->limits.plan_limit_ns ? f->now + f->limits.plan_limit_ns : 0;
  s->jobs++;
  flow_table_add(f, j);
  *ret_id = j->id;
  return 0;
}

void oc_flow_scout(struct oc_flow *f, uint64_t now_ns, uint64_t id, bool must)
{
  struct oc_flow_job *j = flow_event(f, now_ns, id);

  if (!j || j->state != OC_JOB_READING)
    return;
  j->must_scout |= must;
  if (j->lease != OC_LEASE_NONE || j->plan_done)
    return;
  /* An optional scout takes only what nobody is in line for. */
  if (must)
    flow_enqueue(f, j);
  else if (flow_slot_free(f) && !f->n_in[OC_JOB_QUEUED])
    flow_start(f, j);
  flow_settle(f);
}

void oc_flow_scouted(struct oc_flow *f, uint64_t now_ns, uint64_t id)
{
  struct oc_flow_job *j = flow_event(f, now_ns, id);

  if (!j || j->state != OC_JOB_READING)
    return;
  j->must_scout = false;
  flow_end_work(f, j, true);
  flow_settle(f);
}

/* The identical job has its result already: there is nothing to wait for. */
static void answer_from(struct oc_flow *f, struct oc_flow_job *j,
                        struct oc_flow_job *done)
{
  for (size_t i = 0; i < j->n_waiters; i++)
    f->effects.answer(f->ctx, done, &j->waiters[i].who, OC_ANSWER_HIT);
  j->n_waiters = 0;
}

static void merge(struct oc_flow *f, struct oc_flow_job *j, struct oc_flow_job *into)
{
  flow_end_work(f, j, true);
  if (into->state == OC_JOB_STORING) {
    answer_from(f, j, into);
  } else {
    for (size_t i = 0; i < j->n_waiters; i++) {
      const struct oc_waiter *w = &j->waiters[i].who;

      f->effects.moved(f->ctx, j, into, w);
      if (flow_waiter_add(into, w, true))
        f->effects.answer(f->ctx, into, w, OC_ANSWER_STOPPED);
    }
    into->kept |= j->kept;
    if (j->n_waiters || into->kept)
      into->orphan_ns = 0;
    j->n_waiters = 0;
  }
  flow_move(f, j, OC_JOB_MERGED);
}

void flow_go_on(struct oc_flow *f, struct oc_flow_job *j)
{
  switch (j->lease) {
  case OC_LEASE_PLANNED: flow_decide(f, j); break;
  case OC_LEASE_PLANNING: flow_move(f, j, OC_JOB_PLANNING); break;
  case OC_LEASE_WAITING: flow_move(f, j, OC_JOB_QUEUED); break;
  default:
    assert(j->lease == OC_LEASE_NONE);
    flow_move(f, j, OC_JOB_QUEUED);
    flow_enqueue(f, j);
  }
}

uint64_t oc_flow_keyed(struct oc_flow *f, uint64_t now_ns, uint64_t id,
                       const uint8_t key[32])
{
  struct oc_flow_job *j = flow_event(f, now_ns, id);
  struct oc_flow_job *same = key ? flow_key_find(f, key) : NULL;

  if (!j)
    return 0;
  assert(j->state == OC_JOB_READING);
  if (same) {
    uint64_t there = same->state == OC_JOB_STORING ? 0 : same->id;

    merge(f, j, same);
    flow_settle(f);
    return there;
  }
  if (key) {
    memcpy(j->key, key, sizeof(j->key));
    flow_key_add(f, j);
  }
  if (!flow_fetch(f, j, false))
    flow_go_on(f, j);
  flow_settle(f);
  return oc_flow_job(f, id) ? id : 0;
}

void oc_flow_hit(struct oc_flow *f, uint64_t now_ns, uint64_t id)
{
  struct oc_flow_job *j = flow_event(f, now_ns, id);

  if (!j)
    return;
  flow_end_work(f, j, true);
  j->n_waiters = 0;
  flow_move(f, j, OC_JOB_DONE);
  flow_settle(f);
}
