/* Deadlines: of a step, and of orphans. */
#include "flow/flow_internal.h"

static uint64_t job_deadline(const struct oc_flow_job *j)
{
  uint64_t step = j->deadline_ns ? j->deadline_ns : UINT64_MAX;
  uint64_t orphan = j->orphan_ns ? j->orphan_ns : UINT64_MAX;

  return step < orphan ? step : orphan;
}

uint64_t oc_flow_next_deadline(const struct oc_flow *f)
{
  uint64_t next = UINT64_MAX;

  for (const struct oc_flow_job *j = f->first; j; j = j->next) {
    uint64_t d = job_deadline(j);

    if (d < next)
      next = d;
  }
  return next;
}

static void expire(struct oc_flow *f, struct oc_flow_job *j)
{
  if (j->orphan_ns && j->orphan_ns <= f->now) {
    flow_stop(f, j);
    return;
  }
  j->deadline_ns = 0;
  if (!flow_lease_busy(j->lease)) {
    flow_fail(f, j, OC_FAIL_TIMEOUT);
    return;
  }
  f->effects.end_work(f->ctx, j, true);
  flow_lost(f, j, OC_FAIL_TIMEOUT);
}

void oc_flow_tick(struct oc_flow *f, uint64_t now_ns)
{
  flow_event(f, now_ns, 0);
  for (struct oc_flow_job *j = f->first; j; j = j->next)
    if (!flow_is_over(j->state) && job_deadline(j) <= f->now)
      expire(f, j);
  flow_settle(f);
}
