/* Runs of the vendor's compiler: one omcc-runner each, in a directory of its own.
 *
 * The runner is over when its process has ended and everything that it sent is read. A
 * stop is asked for first, because only the runner knows the compiler's process group; it
 * and its group are killed when it does not listen. */
#include "pool/pool_internal.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/types.h>

#define STOP_MS 1500 /* the compiler's group must be gone within two seconds */
#define END_MS  5000 /* after its last message */

static void remove_run(struct run *r)
{
  struct run **at = &r->pool->runs;

  while (*at != r)
    at = &(*at)->next;
  *at = r->next;
}

static void one_closed(void *ctx)
{
  struct run *r = ctx;
  struct oc_pool *p = r->pool;

  if (--r->handles)
    return;
  remove_run(r);
  if (r->dir)
    job_dir_remove(p, r->dir);
  free(r);
  pool_check_closed(p);
}

static void log_death(const struct run *r, uint64_t job, const struct oc_death *how)
{
  struct oc_log_line l;

  oc_log_begin(&l, r->pool->o.log, OC_LOG_ERROR, "runner_died");
  oc_log_u64(&l, "job", job);
  oc_log_u64(&l, "pid", how->pid);
  oc_log_i64(&l, "signal", how->signal);
  oc_log_i64(&l, "exit", how->exit_code);
  oc_log_str(&l, "tail", how->tail);
  oc_log_end(&l);
}

static void on_exited(void *ctx)
{
  struct run *r = ctx;
  struct oc_pool *p = r->pool;
  struct oc_death how = { .pid = (uint32_t)r->process.pid };
  uint64_t job;

  oc_link_drain(&r->link);
  job = r->job;
  r->job = 0;
  r->kill_at = 0;
  death_of(r->process.status, &how);
  how.max_rss_bytes = r->process.max_rss_bytes;
  how.tail = tail_text(&r->process.err);
  if (job) {
    log_death(r, job, &how);
    p->o.events->runner_died(p->o.ctx, job, &how);
  }
  /* Nothing of the run may outlive it, whatever it started. */
  kill(-r->process.pid, SIGKILL);
  oc_link_close(&r->link);
  process_close(&r->process);
}

static int on_frame(void *ctx, struct oc_frame *f, struct oc_error *err)
{
  struct run *r = ctx;
  struct oc_pool *p = r->pool;
  const Omcc__V1__FromRunner *m;
  struct oc_arena arena;
  ProtobufCMessage *base;
  uint64_t job = r->job;
  int rc;

  oc_arena_init(&arena, oc_message_cap(f->len));
  rc = oc_message_unpack(&omcc__v1__from_runner__descriptor, f->body, f->len, &arena,
                         &base, err);
  m = (const Omcc__V1__FromRunner *)base;
  if (!rc && m->body_case == OMCC__V1__FROM_RUNNER__BODY__NOT_SET)
    rc = oc_error_set(err, OC_E_PROTO, "the runner sent an empty message");
  if (!rc && job) {
    if (m->body_case == OMCC__V1__FROM_RUNNER__BODY_DONE && !m->done->more) {
      r->job = 0;
      r->kill_at = pool_now(p) + END_MS;
      pool_wake_in(p, END_MS);
    }
    p->o.events->runner(p->o.ctx, job, m, f);
  }
  oc_arena_clear(&arena);
  return rc;
}

static void on_ended(void *ctx, int code, const struct oc_error *err)
{
  struct run *r = ctx;

  if (code != OC_E_CLOSED)
    oc_log_event(r->pool->o.log, OC_LOG_ERROR, "runner_broken", r->job, err->msg);
  r->link_over = true;
  r->kill_at = pool_now(r->pool) + STOP_MS;
  pool_wake_in(r->pool, STOP_MS);
}

static int start(struct oc_pool *p, struct run *r, struct oc_error *err)
{
  static const struct oc_link_events events = { .frame = on_frame,
                                                .ended = on_ended,
                                                .closed = one_closed };
  struct process_spec spec = { .loop = p->o.loop,
                               .log = p->o.log,
                               .path = p->runner_path,
                               .name = "omcc-runner",
                               .event = "runner_stderr",
                               .nofile = p->o.nofile,
                               .exited = on_exited,
                               .closed = one_closed,
                               .ctx = r };
  int fd, rc;

  rc = process_spawn(&r->process, &spec, &fd, err);
  if (rc)
    return rc;
  r->handles = 1;
  r->next = p->runs;
  p->runs = r;
  if (!oc_link_open(&r->link, p->o.loop, fd, POOL_WRITE_CAP, &events, r, err))
    r->handles = 2;
  return 0;
}

int oc_pool_run(struct oc_pool *p, uint64_t job, Omcc__V1__Run *run, const int *fds,
                size_t n_fds, struct oc_error *err)
{
  Omcc__V1__ToRunner m = OMCC__V1__TO_RUNNER__INIT;
  struct run *r;
  int rc;

  if (!*p->runner_path)
    return oc_error_set(err, OC_E_CLOSED, "there is no omcc-runner program");
  r = calloc(1, sizeof(*r));
  if (!r)
    return oc_error_set(err, OC_E_NOMEM, "no memory for a run");
  r->pool = p;
  rc = job_dir_make(p->jobs_dir, job, &r->dir, err);
  if (!rc)
    rc = start(p, r, err);
  if (rc) {
    if (r->dir)
      job_dir_remove(p, r->dir);
    free(r);
    return rc;
  }
  run->job_dir = r->dir;
  m.body_case = OMCC__V1__TO_RUNNER__BODY_RUN;
  m.run = run;
  rc = oc_link_send(&r->link, &m, fds, n_fds, err);
  if (rc)
    process_kill(&r->process, SIGKILL);
  else
    r->job = job;
  return rc;
}

int oc_pool_tell_runner(struct oc_pool *p, uint64_t job, const Omcc__V1__ToRunner *m,
                        const int *fds, size_t n_fds, struct oc_error *err)
{
  for (struct run *r = p->runs; r; r = r->next)
    if (r->job == job)
      return oc_link_send(&r->link, m, fds, n_fds, err);
  return oc_error_set(err, OC_E_CLOSED, "the job has no runner");
}

static void stop_run(struct run *r)
{
  Omcc__V1__ToRunner m = OMCC__V1__TO_RUNNER__INIT;
  Omcc__V1__Stop stop = OMCC__V1__STOP__INIT;

  r->job = 0;
  m.body_case = OMCC__V1__TO_RUNNER__BODY_STOP;
  m.stop = &stop;
  oc_link_send(&r->link, &m, NULL, 0, NULL);
  r->kill_at = pool_now(r->pool) + STOP_MS;
  pool_wake_in(r->pool, STOP_MS);
}

void oc_pool_stop_run(struct oc_pool *p, uint64_t job)
{
  for (struct run *r = p->runs; r; r = r->next)
    if (r->job == job)
      stop_run(r);
}

void runs_kill(struct oc_pool *p)
{
  for (struct run *r = p->runs; r; r = r->next)
    stop_run(r);
}

void runs_check(struct oc_pool *p, uint64_t now)
{
  for (struct run *r = p->runs; r; r = r->next) {
    if (!r->kill_at)
      continue;
    if (r->kill_at > now) {
      pool_wake_in(p, r->kill_at - now);
      continue;
    }
    r->kill_at = 0;
    kill(-r->process.pid, SIGKILL);
    process_kill(&r->process, SIGKILL);
  }
}
