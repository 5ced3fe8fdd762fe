/* The legal moves, and what every event begins and ends with. */
#include "flow/flow_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define TO(s) (1u << OC_JOB_##s)
#define OVER  (TO(FAILED) | TO(STOPPED))

/* Bit i set: moving to state i is legal. */
static const uint16_t job_next[OC_JOB_N_STATES] = {
  [OC_JOB_READING] = TO(FETCHING) | TO(QUEUED) | TO(PLANNING) | TO(TWIN) | TO(BUILDING) |
                     TO(PUBLISHING) | TO(DONE) | TO(MERGED) | OVER,
  [OC_JOB_FETCHING] =
      TO(QUEUED) | TO(PLANNING) | TO(TWIN) | TO(BUILDING) | TO(PUBLISHING) | OVER,
  [OC_JOB_QUEUED] = TO(PLANNING) | TO(RUNNING) | TO(PUBLISHING) | OVER,
  [OC_JOB_PLANNING] = TO(FETCHING) | TO(QUEUED) | TO(TWIN) | TO(BUILDING) | TO(RUNNING) |
                      TO(PUBLISHING) | TO(DONE) | OVER,
  [OC_JOB_TWIN] = TO(QUEUED) | TO(PUBLISHING) | OVER,
  [OC_JOB_BUILDING] = TO(QUEUED) | TO(PUBLISHING) | OVER,
  [OC_JOB_RUNNING] = TO(QUEUED) | TO(PUBLISHING) | OVER,
  [OC_JOB_PUBLISHING] = TO(STORING) | TO(QUEUED) | OVER,
  [OC_JOB_STORING] = TO(DONE),
};
#undef TO

#define TO(s) (1u << OC_LEASE_##s)
static const uint8_t lease_next[OC_LEASE_N_STATES] = {
  [OC_LEASE_NONE] = TO(WAITING) | TO(PLANNING) | TO(RUNNING),
  [OC_LEASE_WAITING] = TO(NONE) | TO(PLANNING) | TO(RUNNING),
  [OC_LEASE_PLANNING] = TO(NONE) | TO(PLANNED),
  [OC_LEASE_PLANNED] = TO(NONE) | TO(BUILDING),
  [OC_LEASE_BUILDING] = TO(NONE),
  [OC_LEASE_RUNNING] = TO(NONE),
};
#undef TO

static const char *const job_names[OC_JOB_N_STATES] = {
#define OC_JOB_STATE_NAME(id, text) [OC_JOB_##id] = text,
  OC_JOB_STATES(OC_JOB_STATE_NAME)
#undef OC_JOB_STATE_NAME
};

static const char *const failure_names[] = {
  [OC_FAIL_DIED] = "died",         [OC_FAIL_INPUT_CHANGED] = "input_changed",
  [OC_FAIL_TIMEOUT] = "timeout",   [OC_FAIL_OOM] = "oom",
  [OC_FAIL_REQUEST] = "request",   [OC_FAIL_TOOL] = "tool_failed",
  [OC_FAIL_INTERNAL] = "internal",
};

const char *oc_job_state_name(enum oc_job_state s)
{
  assert(s < OC_JOB_N_STATES);
  return job_names[s];
}

const char *oc_failure_name(enum oc_failure f)
{
  return failure_names[f];
}

bool flow_is_over(enum oc_job_state s)
{
  return s >= OC_JOB_DONE;
}

bool flow_lease_busy(enum oc_lease_state l)
{
  return l > OC_LEASE_WAITING;
}

void flow_move(struct oc_flow *f, struct oc_flow_job *j, enum oc_job_state to)
{
  enum oc_job_state from = j->state;
  bool legal = job_next[from] & 1u << to;

  assert(legal);
  (void)legal;
  f->n_in[from]--;
  f->n_in[to]++;
  j->state = to;
  if (flow_is_over(to)) {
    flow_key_remove(f, j);
    j->deadline_ns = j->orphan_ns = 0;
    f->n_over++;
  }
  f->effects.changed(f->ctx, j, from);
}

void flow_lease(struct oc_flow *f, struct oc_flow_job *j, enum oc_lease_state to)
{
  bool was = flow_lease_busy(j->lease), is = flow_lease_busy(to);
  struct share *s = flow_share(f, j->uid);
  bool legal = lease_next[j->lease] & 1u << to;

  assert(legal);
  (void)legal;
  j->lease = to;
  f->busy += is;
  f->busy -= was;
  s->busy += is; /* the share exists as long as one of its jobs does */
  s->busy -= was;
}

struct oc_flow_job *flow_event(struct oc_flow *f, uint64_t now_ns, uint64_t id)
{
  struct oc_flow_job *j = oc_flow_job(f, id);

  if (now_ns > f->now)
    f->now = now_ns;
  return j && !flow_is_over(j->state) ? j : NULL;
}

static void drop_share(struct oc_flow *f, uint32_t uid)
{
  struct share *s = flow_share(f, uid);

  if (--s->jobs)
    return;
  *s = f->shares[--f->n_shares];
}

static void forget_over(struct oc_flow *f)
{
  struct oc_flow_job *next;

  for (struct oc_flow_job *j = f->first; j && f->n_over; j = next) {
    next = j->next;
    if (!flow_is_over(j->state))
      continue;
    f->effects.forget(f->ctx, j);
    flow_table_remove(f, j);
    drop_share(f, j->uid);
    f->n_over--;
    free(j->waiters);
    free(j);
  }
}

void flow_settle(struct oc_flow *f)
{
  do {
    forget_over(f);
  } while (flow_dispatch_one(f));
  forget_over(f);
}

/* The first thing about `j` that does not hold. */
static const char *check_job(const struct oc_flow *f, const struct oc_flow_job *j)
{
  if (flow_is_over(j->state))
    return "a job that is over is still there";
  if (j->state == OC_JOB_QUEUED && j->lease != OC_LEASE_WAITING)
    return "a queued job is not in line";
  if (j->state == OC_JOB_PLANNING && j->lease != OC_LEASE_PLANNING)
    return "a planning job has no planning worker";
  if ((j->state == OC_JOB_BUILDING) != (j->lease == OC_LEASE_BUILDING) ||
      (j->state == OC_JOB_RUNNING) != (j->lease == OC_LEASE_RUNNING))
    return "job and worker do different things";
  if (j->state >= OC_JOB_PUBLISHING && j->lease != OC_LEASE_NONE)
    return "a job that needs no worker has one";
  if (!j->n_waiters && !j->kept && !j->orphan_ns && j->state < OC_JOB_PUBLISHING)
    return "a job that nobody wants lives on";
  if (j->has_key && flow_key_find(f, j->key) != j)
    return "two jobs have one key";
  if (j->state == OC_JOB_TWIN && !oc_flow_job(f, j->twin))
    return "a job waits for one that is gone";
  return NULL;
}

const char *flow_check(const struct oc_flow *f)
{
  size_t n = 0, in[OC_JOB_N_STATES] = { 0 };
  unsigned busy = 0;
  uint64_t last = 0;

  for (const struct oc_flow_job *j = f->first; j; j = j->next) {
    const char *broken = j->id > last ? check_job(f, j) : "ids do not count up";

    if (broken)
      return broken;
    last = j->id;
    n++;
    in[j->state]++;
    busy += flow_lease_busy(j->lease);
  }
  if (n != f->n_jobs || busy != f->busy || f->n_over || memcmp(in, f->n_in, sizeof(in)))
    return "the counts are wrong";
  return busy > f->limits.slots ? "more slots are used than there are" : NULL;
}
