/* Who gets a free slot.
 *
 * Of the jobs in line the one whose owner has the fewest slots goes first, the oldest of
 * those: one user's thousand jobs delay another's single one by a job's length at most.
 */
#include "flow/flow_internal.h"

#include <assert.h>

bool flow_slot_free(const struct oc_flow *f)
{
  return f->busy < f->limits.slots;
}

void flow_enqueue(struct oc_flow *f, struct oc_flow_job *j)
{
  flow_lease(f, j, OC_LEASE_WAITING);
  j->deadline_ns = 0; /* standing in line is not the job's fault */
}

static struct oc_flow_job *next_in_line(struct oc_flow *f)
{
  struct oc_flow_job *best = NULL;
  unsigned best_busy = 0;

  for (struct oc_flow_job *j = f->first; j; j = j->next) {
    unsigned busy;

    if (j->lease != OC_LEASE_WAITING)
      continue;
    busy = flow_share(f, j->uid)->busy;
    if (best && busy >= best_busy)
      continue;
    best = j;
    best_busy = busy;
  }
  return best;
}

static void limit(struct oc_flow *f, struct oc_flow_job *j, uint64_t ns)
{
  j->deadline_ns = ns ? f->now + ns : 0;
}

static void start_run(struct oc_flow *f, struct oc_flow_job *j)
{
  assert(j->state != OC_JOB_READING);
  flow_lease(f, j, OC_LEASE_RUNNING);
  flow_move(f, j, OC_JOB_RUNNING);
  limit(f, j, f->limits.run_limit_ns);
  if (f->effects.start_run(f->ctx, j) < 0)
    flow_lost(f, j, OC_FAIL_INTERNAL);
}

void flow_start(struct oc_flow *f, struct oc_flow_job *j)
{
  j->attempts++;
  if (j->plan_done) {
    start_run(f, j);
    return;
  }
  flow_lease(f, j, OC_LEASE_PLANNING);
  if (j->state == OC_JOB_QUEUED)
    flow_move(f, j, OC_JOB_PLANNING);
  limit(f, j, f->limits.plan_limit_ns);
  if (f->effects.start_plan(f->ctx, j) < 0)
    flow_lost(f, j, OC_FAIL_INTERNAL);
}

bool flow_dispatch_one(struct oc_flow *f)
{
  struct oc_flow_job *j = flow_slot_free(f) ? next_in_line(f) : NULL;

  if (!j)
    return false;
  flow_start(f, j);
  return true;
}
