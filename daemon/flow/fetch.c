/* FETCHING: another machine may have the result.
 *
 * Asked once for the key and, when a worker has planned and nothing here has the bytes,
 * once for the plan key. A job waits for the answer only as long as it is told to; then
 * it goes on, and what is there first is used: bytes that come while the job is queued,
 * planned or compiled end that work. */
#include "flow/flow_internal.h"

#include <string.h>

bool flow_fetch(struct oc_flow *f, struct oc_flow_job *j, bool plan)
{
  if (!j->has_key || j->fetching || (plan && j->plan_asked))
    return false;
  j->plan_asked |= plan;
  if (f->effects.fetch(f->ctx, j, plan) <= 0)
    return false;
  j->fetching = true;
  if (j->lease != OC_LEASE_PLANNING)
    j->deadline_ns = 0; /* who is asked has limits of its own */
  if (j->state != OC_JOB_FETCHING)
    flow_move(f, j, OC_JOB_FETCHING);
  return true;
}

void oc_flow_fetch_slow(struct oc_flow *f, uint64_t now_ns, uint64_t id)
{
  struct oc_flow_job *j = flow_event(f, now_ns, id);

  if (!j || !j->fetching || j->state != OC_JOB_FETCHING)
    return;
  flow_go_on(f, j);
  flow_settle(f);
}

bool oc_flow_fetched(struct oc_flow *f, uint64_t now_ns, uint64_t id, bool found,
                     const uint8_t plan_key[32])
{
  struct oc_flow_job *j = flow_event(f, now_ns, id);
  bool of_use = j && j->fetching && found && j->state < OC_JOB_PUBLISHING;

  if (!j || !j->fetching)
    return false;
  j->fetching = false;
  if (of_use) {
    flow_end_work(f, j, true);
    if (plan_key) {
      j->has_plan_key = true;
      memcpy(j->plan_key, plan_key, sizeof(j->plan_key));
    }
    flow_publish(f, j, OC_SOURCE_REMOTE, NULL);
  } else if (j->state == OC_JOB_FETCHING) {
    flow_go_on(f, j);
  }
  flow_settle(f);
  return of_use;
}
