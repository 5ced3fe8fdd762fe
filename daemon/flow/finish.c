/* The ends of a job: output complete, worker lost, failed, stopped.
 *
 * Only a worker that died is tried again; every other failure would come again or was the
 * user's wish. When a job that others wait for as a twin ends without bytes, they go back
 * in line. */
#include "flow/flow_internal.h"

#include <assert.h>

void flow_end_work(struct oc_flow *f, struct oc_flow_job *j, bool kill)
{
  bool busy = flow_lease_busy(j->lease);

  if (j->lease == OC_LEASE_NONE)
    return;
  flow_lease(f, j, OC_LEASE_NONE);
  if (busy)
    f->effects.end_work(f->ctx, j, kill);
}

static void published(struct oc_flow *f, struct oc_flow_job *j)
{
  int stored;

  flow_answer_all(f, j, OC_ANSWER_RESULT);
  flow_move(f, j, OC_JOB_STORING);
  stored = f->effects.store(f->ctx, j);
  /* After store(): the rows of twins name the object that it brings. */
  for (struct oc_flow_job *k = f->first; k; k = k->next)
    if (k->state == OC_JOB_TWIN && k->twin == j->id)
      flow_publish(f, k, OC_SOURCE_TWIN, j);
  if (stored)
    flow_move(f, j, OC_JOB_DONE);
}

static void requeue_twins(struct oc_flow *f, const struct oc_flow_job *j)
{
  for (struct oc_flow_job *k = f->first; k; k = k->next) {
    if (k->state != OC_JOB_TWIN || k->twin != j->id)
      continue;
    k->attempts = 0;
    flow_move(f, k, OC_JOB_QUEUED);
    flow_enqueue(f, k);
  }
}

void flow_publish(struct oc_flow *f, struct oc_flow_job *j, enum oc_source source,
                  struct oc_flow_job *twin)
{
  int r;

  assert(j->lease == OC_LEASE_NONE);
  flow_move(f, j, OC_JOB_PUBLISHING);
  j->deadline_ns = j->orphan_ns = 0;
  j->from_object = source == OC_SOURCE_OBJECT;
  r = f->effects.publish(f->ctx, j, source, twin);
  if (r < 0)
    flow_fail(f, j, OC_FAIL_INTERNAL);
  else if (r)
    published(f, j);
}

/* The object is damaged and no longer known: the order is planned and built as if there
 * had been none. */
static void build_after_all(struct oc_flow *f, struct oc_flow_job *j)
{
  j->from_object = false;
  j->has_plan_key = false;
  j->attempts = 0;
  flow_move(f, j, OC_JOB_QUEUED);
  flow_enqueue(f, j);
  requeue_twins(f, j);
  flow_check_orphan(f, j);
}

void flow_fail(struct oc_flow *f, struct oc_flow_job *j, enum oc_failure why)
{
  assert(!flow_lease_busy(j->lease));
  if (j->lease == OC_LEASE_WAITING)
    flow_lease(f, j, OC_LEASE_NONE);
  j->failure = why;
  flow_answer_all(f, j, OC_ANSWER_FAILED);
  flow_move(f, j, OC_JOB_FAILED);
  requeue_twins(f, j);
}

void flow_stop(struct oc_flow *f, struct oc_flow_job *j)
{
  flow_end_work(f, j, true);
  flow_answer_all(f, j, OC_ANSWER_STOPPED);
  flow_move(f, j, OC_JOB_STOPPED);
  requeue_twins(f, j);
}

static void retry(struct oc_flow *f, struct oc_flow_job *j, enum oc_failure why)
{
  j->has_plan_key = false;
  f->effects.retrying(f->ctx, j, why);
  if (j->state == OC_JOB_READING || j->state == OC_JOB_FETCHING) {
    if (j->state == OC_JOB_READING && j->must_scout)
      flow_enqueue(f, j);
    return;
  }
  flow_move(f, j, OC_JOB_QUEUED);
  flow_enqueue(f, j);
}

/* The worker or runner of the job has ended without what it was for. */
void flow_lost(struct oc_flow *f, struct oc_flow_job *j, enum oc_failure why)
{
  bool planning = j->lease == OC_LEASE_PLANNING || j->lease == OC_LEASE_PLANNED;

  assert(flow_lease_busy(j->lease));
  flow_lease(f, j, OC_LEASE_NONE);
  if (why == OC_FAIL_DIED && j->attempts < f->limits.max_attempts) {
    retry(f, j, why);
  } else if (planning && j->uses_tool && j->want == OC_WANT_COMPILE &&
             why != OC_FAIL_INPUT_CHANGED) {
    f->effects.retrying(f->ctx, j, why); /* our compiler never vetoes the tool */
    flow_plan_over(f, j);
  } else {
    flow_fail(f, j, why);
  }
}

void oc_flow_failed(struct oc_flow *f, uint64_t now_ns, uint64_t id, enum oc_failure why)
{
  struct oc_flow_job *j = flow_event(f, now_ns, id);

  if (!j || j->state >= OC_JOB_STORING)
    return;
  if (flow_lease_busy(j->lease))
    flow_lost(f, j, why);
  else
    flow_fail(f, j, why);
  flow_settle(f);
}

void oc_flow_give_up(struct oc_flow *f, uint64_t now_ns, uint64_t id, enum oc_failure why)
{
  struct oc_flow_job *j = flow_event(f, now_ns, id);

  if (!j || j->state >= OC_JOB_STORING)
    return;
  flow_end_work(f, j, true);
  flow_fail(f, j, why);
  flow_settle(f);
}

void oc_flow_built(struct oc_flow *f, uint64_t now_ns, uint64_t id)
{
  struct oc_flow_job *j = flow_event(f, now_ns, id);

  if (!j || (j->state != OC_JOB_BUILDING && j->state != OC_JOB_RUNNING))
    return;
  flow_lease(f, j, OC_LEASE_NONE);
  flow_publish(f, j, OC_SOURCE_BUILT, NULL);
  flow_settle(f);
}

void oc_flow_published(struct oc_flow *f, uint64_t now_ns, uint64_t id, bool ok)
{
  struct oc_flow_job *j = flow_event(f, now_ns, id);

  if (!j || j->state != OC_JOB_PUBLISHING)
    return;
  if (ok)
    published(f, j);
  else if (j->from_object)
    build_after_all(f, j);
  else
    flow_fail(f, j, OC_FAIL_INTERNAL);
  flow_settle(f);
}

void oc_flow_stored(struct oc_flow *f, uint64_t now_ns, uint64_t id)
{
  struct oc_flow_job *j = flow_event(f, now_ns, id);

  if (!j || j->state != OC_JOB_STORING)
    return;
  flow_move(f, j, OC_JOB_DONE);
  flow_settle(f);
}

void oc_flow_drain(struct oc_flow *f)
{
  f->draining = true;
}

void oc_flow_stop(struct oc_flow *f, uint64_t now_ns)
{
  if (now_ns > f->now)
    f->now = now_ns;
  f->draining = true;
  /* Twins first: stopping the builder would put them back in line. */
  for (struct oc_flow_job *j = f->first; j; j = j->next)
    if (j->state == OC_JOB_TWIN)
      flow_stop(f, j);
  for (struct oc_flow_job *j = f->first; j; j = j->next)
    if (j->state < OC_JOB_STORING)
      flow_stop(f, j);
  flow_settle(f);
}
