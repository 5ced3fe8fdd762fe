/* PLANNING: what the worker's plan decides.
 *
 * For builtin the worker holds the graph and waits: the plan key may name bytes that
 * exist (an object) or are being made (a twin), then nothing is built. For a tool the
 * plan is advice: the worker is let go, and the run follows whatever it said. */
#include "flow/flow_internal.h"

#include <assert.h>
#include <string.h>

static bool makes_bytes(const struct oc_flow_job *j)
{
  return j->state == OC_JOB_BUILDING || j->state == OC_JOB_PUBLISHING ||
         j->state == OC_JOB_STORING;
}

static struct oc_flow_job *find_twin(const struct oc_flow *f, const struct oc_flow_job *j)
{
  if (!j->has_plan_key)
    return NULL;
  for (struct oc_flow_job *k = f->first; k; k = k->next)
    if (k != j && k->has_plan_key && makes_bytes(k) &&
        !memcmp(k->plan_key, j->plan_key, sizeof(k->plan_key)))
      return k;
  return NULL;
}

static void build(struct oc_flow *f, struct oc_flow_job *j)
{
  flow_lease(f, j, OC_LEASE_BUILDING);
  flow_move(f, j, OC_JOB_BUILDING);
  j->deadline_ns = f->limits.build_limit_ns ? f->now + f->limits.build_limit_ns : 0;
  if (f->effects.start_build(f->ctx, j) < 0)
    flow_lost(f, j, OC_FAIL_INTERNAL);
}

void flow_decide(struct oc_flow *f, struct oc_flow_job *j)
{
  struct oc_flow_job *twin = find_twin(f, j);

  assert(j->lease == OC_LEASE_PLANNED && j->plan_ok);
  if (twin && twin->state == OC_JOB_STORING) {
    flow_end_work(f, j, false);
    flow_publish(f, j, OC_SOURCE_TWIN, twin);
  } else if (twin) {
    flow_end_work(f, j, false);
    j->twin = twin->id;
    j->deadline_ns = 0;
    flow_move(f, j, OC_JOB_TWIN);
  } else if (j->has_plan_key && f->effects.object_known(f->ctx, j)) {
    flow_end_work(f, j, false);
    flow_publish(f, j, OC_SOURCE_OBJECT, NULL);
  } else if (!j->has_plan_key || !flow_fetch(f, j, true)) {
    build(f, j);
  }
}

/* A tool's plan is over, well or not: the run may follow in the same slot. */
void flow_plan_over(struct oc_flow *f, struct oc_flow_job *j)
{
  assert(j->uses_tool && j->lease == OC_LEASE_NONE);
  j->plan_done = true;
  j->attempts = 0;
  if (j->state != OC_JOB_PLANNING)
    return;
  j->attempts = 1;
  flow_lease(f, j, OC_LEASE_RUNNING);
  flow_move(f, j, OC_JOB_RUNNING);
  j->deadline_ns = f->limits.run_limit_ns ? f->now + f->limits.run_limit_ns : 0;
  if (f->effects.start_run(f->ctx, j) < 0)
    flow_lost(f, j, OC_FAIL_INTERNAL);
}

void oc_flow_planned(struct oc_flow *f, uint64_t now_ns, uint64_t id,
                     const uint8_t plan_key[32], bool ok)
{
  struct oc_flow_job *j = flow_event(f, now_ns, id);

  if (!j || j->lease != OC_LEASE_PLANNING)
    return;
  flow_lease(f, j, OC_LEASE_PLANNED);
  j->plan_ok = ok;
  j->has_plan_key = plan_key != NULL;
  if (plan_key)
    memcpy(j->plan_key, plan_key, sizeof(j->plan_key));
  if (j->want == OC_WANT_EXPLAIN) {
    flow_end_work(f, j, false);
    flow_answer_all(f, j, OC_ANSWER_EXPLAINED);
    flow_move(f, j, OC_JOB_DONE);
  } else if (j->uses_tool) {
    flow_end_work(f, j, false);
    flow_plan_over(f, j);
  } else if (!ok) {
    flow_end_work(f, j, false);
    flow_fail(f, j, OC_FAIL_REQUEST);
  } else if (j->state == OC_JOB_PLANNING) {
    flow_decide(f, j);
  }
  flow_settle(f);
}

void oc_flow_unplanned(struct oc_flow *f, uint64_t now_ns, uint64_t id)
{
  struct oc_flow_job *j = flow_event(f, now_ns, id);

  if (!j || j->lease != OC_LEASE_PLANNING)
    return;
  flow_lease(f, j, OC_LEASE_NONE);
  if (j->uses_tool && j->want == OC_WANT_COMPILE)
    flow_plan_over(f, j);
  else
    flow_fail(f, j, OC_FAIL_REQUEST);
  flow_settle(f);
}
