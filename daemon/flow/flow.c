/* Making a flow, ending it, and looking at it. */
#include "flow/flow_internal.h"

#include <assert.h>
#include <stdlib.h>

#include "base/error.h"

struct oc_flow *oc_flow_new(const struct oc_flow_limits *limits,
                            const struct oc_flow_effects *effects, void *ctx,
                            uint64_t first_id)
{
  struct oc_flow *f = calloc(1, sizeof(*f));

  assert(limits->slots && limits->max_attempts && first_id);
  if (!f)
    return NULL;
  f->limits = *limits;
  f->effects = *effects;
  f->ctx = ctx;
  f->next_id = first_id;
  if (flow_table_init(f)) {
    free(f);
    return NULL;
  }
  return f;
}

void oc_flow_free(struct oc_flow *f)
{
  if (!f)
    return;
  while (f->first) {
    struct oc_flow_job *j = f->first;

    f->effects.forget(f->ctx, j);
    flow_table_remove(f, j);
    free(j->waiters);
    free(j);
  }
  flow_table_clear(f);
  free(f);
}

size_t oc_flow_n_jobs(const struct oc_flow *f)
{
  return f->n_jobs;
}

size_t oc_flow_n_in(const struct oc_flow *f, enum oc_job_state s)
{
  return f->n_in[s];
}

unsigned oc_flow_n_busy(const struct oc_flow *f)
{
  return f->busy;
}

bool oc_flow_draining(const struct oc_flow *f)
{
  return f->draining;
}

struct oc_flow_job *oc_flow_next_job(const struct oc_flow *f,
                                     const struct oc_flow_job *after)
{
  return after ? after->next : f->first;
}

uint64_t oc_flow_job_id(const struct oc_flow_job *j)
{
  return j->id;
}

enum oc_job_state oc_flow_job_state(const struct oc_flow_job *j)
{
  return j->state;
}

void *oc_flow_job_data(const struct oc_flow_job *j)
{
  return j->data;
}

uint32_t oc_flow_job_uid(const struct oc_flow_job *j)
{
  return j->uid;
}

enum oc_failure oc_flow_job_failure(const struct oc_flow_job *j)
{
  return j->failure;
}

unsigned oc_flow_job_attempts(const struct oc_flow_job *j)
{
  return j->attempts;
}

bool oc_flow_job_plan_over(const struct oc_flow_job *j)
{
  return j->plan_done;
}

size_t oc_flow_job_n_waiters(const struct oc_flow_job *j)
{
  return j->n_waiters;
}

const struct oc_waiter *oc_flow_job_waiter(const struct oc_flow_job *j, size_t i)
{
  assert(i < j->n_waiters);
  return &j->waiters[i].who;
}

const uint8_t *oc_flow_job_key(const struct oc_flow_job *j)
{
  return j->has_key ? j->key : NULL;
}

const uint8_t *oc_flow_job_plan_key(const struct oc_flow_job *j)
{
  return j->has_plan_key ? j->plan_key : NULL;
}
