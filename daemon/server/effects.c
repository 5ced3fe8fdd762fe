/* What flow asks for, done: a table from effects to the files that know how. */
#include "server/server_internal.h"

#include "base/str.h"

struct order *order_of_job(struct oc_server *s, uint64_t job)
{
  struct oc_flow_job *j = oc_flow_job(s->flow, job);

  return j ? oc_flow_job_data(j) : NULL;
}

static int start_plan(void *ctx, struct oc_flow_job *j)
{
  (void)ctx;
  return work_start_plan(oc_flow_job_data(j), oc_flow_job_attempts(j));
}

static int start_build(void *ctx, struct oc_flow_job *j)
{
  (void)ctx;
  return work_start_build(oc_flow_job_data(j));
}

static int start_run(void *ctx, struct oc_flow_job *j)
{
  (void)ctx;
  return run_start(oc_flow_job_data(j));
}

static void end_work(void *ctx, struct oc_flow_job *j, bool kill)
{
  struct oc_server *s = ctx;
  struct order *o = oc_flow_job_data(j);

  oc_pool_release(s->pool, o->job, kill);
  oc_pool_stop_run(s->pool, o->job);
  oc_cache_output_clear(&o->building);
  run_clear(o);
  o->worker_waits = false;
}

static bool object_known(void *ctx, struct oc_flow_job *j)
{
  (void)ctx;
  return publish_object_known(oc_flow_job_data(j), oc_flow_job_plan_key(j));
}

static int fetch(void *ctx, struct oc_flow_job *j, bool plan)
{
  (void)ctx;
  return remote_fetch(oc_flow_job_data(j),
                      plan ? oc_flow_job_plan_key(j) : oc_flow_job_key(j));
}

static int publish(void *ctx, struct oc_flow_job *j, enum oc_source source,
                   struct oc_flow_job *twin)
{
  struct order *o = oc_flow_job_data(j);

  (void)ctx;
  if (source != OC_SOURCE_REMOTE)
    remote_forget(o); /* what else may come is too late */
  switch (source) {
  case OC_SOURCE_REMOTE: return publish_remote(o);
  case OC_SOURCE_OBJECT: return publish_object(o);
  case OC_SOURCE_TWIN: return publish_twin(o, oc_flow_job_data(twin));
  default: return publish_built(o);
  }
}

static int store(void *ctx, struct oc_flow_job *j)
{
  (void)ctx;
  return publish_store(oc_flow_job_data(j), oc_flow_job_plan_key(j));
}

static void answer(void *ctx, struct oc_flow_job *j, const struct oc_waiter *w,
                   enum oc_answer how)
{
  struct oc_server *s = ctx;
  struct request *r = server_request(s, w);

  if (r)
    answer_job(oc_flow_job_data(j), r, how);
}

static void moved(void *ctx, struct oc_flow_job *from, struct oc_flow_job *to,
                  const struct oc_waiter *w)
{
  struct oc_server *s = ctx;
  struct request *r = server_request(s, w);

  (void)from;
  if (!r)
    return;
  r->job = oc_flow_job_id(to);
  r->joined = true;
  answer_accepted(s, r, to);
  answer_captured(oc_flow_job_data(to), r);
}

static void log_move(struct oc_server *s, const struct oc_flow_job *j,
                     enum oc_job_state from)
{
  struct oc_log_line l;

  oc_log_begin(&l, s->log, OC_LOG_DEBUG, "job_state");
  oc_log_u64(&l, "job", oc_flow_job_id(j));
  oc_log_str(&l, "from", oc_job_state_name(from));
  oc_log_str(&l, "to", oc_job_state_name(oc_flow_job_state(j)));
  oc_log_end(&l);
}

static void changed(void *ctx, struct oc_flow_job *j, enum oc_job_state from)
{
  struct oc_server *s = ctx;

  log_move(s, j, from);
  switch (oc_flow_job_state(j)) {
  case OC_JOB_FETCHING: answer_progress(s, j, "fetching", 0); break;
  case OC_JOB_QUEUED: answer_progress(s, j, "queued", 0); break;
  case OC_JOB_PLANNING: answer_progress(s, j, "planning", 0); break;
  case OC_JOB_TWIN:
  case OC_JOB_BUILDING: answer_progress(s, j, "building", 0); break;
  case OC_JOB_RUNNING: answer_progress(s, j, "compiling", 0); break;
  case OC_JOB_PUBLISHING: answer_progress(s, j, "storing", 0); break;
  default: break;
  }
}

static void retrying(void *ctx, struct oc_flow_job *j, enum oc_failure why)
{
  struct oc_server *s = ctx;
  struct order *o = oc_flow_job_data(j);

  oc_counter_add(&s->count, OC_COUNT_RETRIES, 1);
  oc_cache_output_clear(&o->building);
  run_clear(o);
  o->worker_waits = false;
  o->fail_status = 0;
  order_log(o, OC_LOG_WARNING, "job_retried", oc_failure_name(why));
}

static void forget(void *ctx, struct oc_flow_job *j)
{
  struct order *o = oc_flow_job_data(j);

  (void)ctx;
  o->forgotten = true;
  for (size_t i = 0; i < o->n_files; i++)
    if (o->files[i].task)
      atomic_store(&o->files[i].task->cancel, true);
  for (size_t i = 0; i < o->n_external; i++)
    if (o->external[i].task)
      atomic_store(&o->external[i].task->cancel, true);
  folders_cancel(o);
  publish_cancel(o);
  remote_forget(o);
  order_maybe_free(o);
}

const struct oc_flow_effects server_effects = {
  .start_plan = start_plan,
  .start_build = start_build,
  .start_run = start_run,
  .end_work = end_work,
  .object_known = object_known,
  .fetch = fetch,
  .publish = publish,
  .store = store,
  .answer = answer,
  .moved = moved,
  .changed = changed,
  .retrying = retrying,
  .forget = forget,
};
