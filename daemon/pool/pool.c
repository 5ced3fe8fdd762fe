/* Opening and closing the pool, and its one timer.
 *
 * Closing kills what still works and waits until every handle is gone, since the structs
 * that hold them may not be freed before. The timer serves all that is rare: a zygote to
 * be started again, a child or runner that does not end by itself. */
#include "pool/pool_internal.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

/* The descriptor must survive what a new program gets on 0 to 3. */
#define WORKER_FD_LEAST 10

uint64_t pool_now(struct oc_pool *p)
{
  return uv_now(p->o.loop);
}

static void on_timer(uv_timer_t *timer)
{
  struct oc_pool *p = timer->data;
  uint64_t now;

  uv_update_time(p->o.loop);
  now = pool_now(p);
  children_check(p, now);
  runs_check(p, now);
  zygote_restart_if_due(p);
}

void pool_wake_in(struct oc_pool *p, uint64_t ms)
{
  if (!p->timer_open || uv_is_closing((uv_handle_t *)&p->timer))
    return;
  if (uv_is_active((uv_handle_t *)&p->timer) && uv_timer_get_due_in(&p->timer) <= ms)
    return;
  uv_timer_start(&p->timer, on_timer, ms, 0);
}

static void pool_free(struct oc_pool *p)
{
  lease_drop_all(p);
  if (p->worker_fd >= 0)
    close(p->worker_fd);
  free(p->runner_path);
  free(p->jobs_dir);
  free(p);
}

static int copy_options(struct oc_pool *p, const struct oc_pool_options *o,
                        struct oc_error *err)
{
  p->o = *o;
  p->orders_end = &p->orders;
  p->runner_path = strdup(o->runner_path);
  p->jobs_dir = strdup(o->jobs_dir);
  p->worker_fd = fcntl(o->worker_fd, F_DUPFD_CLOEXEC, WORKER_FD_LEAST);
  if (!p->runner_path || !p->jobs_dir)
    return oc_error_set(err, OC_E_NOMEM, "no memory for the pool");
  if (p->worker_fd < 0)
    return oc_error_errno(err, OC_E_IO, "cannot keep the worker program open");
  snprintf(p->worker_path, sizeof(p->worker_path), "/proc/self/fd/%d", p->worker_fd);
  return 0;
}

int oc_pool_open(const struct oc_pool_options *o, struct oc_pool **ret,
                 struct oc_error *err)
{
  struct oc_pool *p = calloc(1, sizeof(*p));
  int r;

  if (!p)
    return oc_error_set(err, OC_E_NOMEM, "no memory for the pool");
  r = copy_options(p, o, err);
  if (!r)
    r = zygote_start(p, err);
  if (r) {
    pool_free(p);
    return r;
  }
  uv_timer_init(o->loop, &p->timer);
  p->timer.data = p;
  p->timer_open = true;
  *ret = p;
  return 0;
}

static void on_timer_closed(uv_handle_t *handle)
{
  struct oc_pool *p = handle->data;

  p->timer_open = false;
  pool_check_closed(p);
}

void pool_check_closed(struct oc_pool *p)
{
  void (*on_closed)(void *) = p->on_closed;
  void *ctx = p->closed_ctx;

  if (!p->closing || p->zygote_up || p->link_up || p->children || p->runs || p->removing)
    return;
  if (p->timer_open) {
    if (!uv_is_closing((uv_handle_t *)&p->timer))
      uv_close((uv_handle_t *)&p->timer, on_timer_closed);
    return;
  }
  pool_free(p);
  if (on_closed)
    on_closed(ctx);
}

void oc_pool_close(struct oc_pool *p, void (*on_closed)(void *ctx), void *ctx)
{
  p->closing = true;
  p->on_closed = on_closed;
  p->closed_ctx = ctx;
  lease_drop_all(p);
  for (struct child *c = p->children; c; c = c->next)
    child_kill(c);
  runs_kill(p);
  if (p->zygote_up)
    process_kill(&p->zygote, SIGKILL);
  oc_link_close(&p->link);
  /* From the timer at the latest: never from inside this call. */
  pool_wake_in(p, 0);
}

static const char *const child_words[] = {
  [CHILD_STARTING] = "starting", [CHILD_WAITING] = "waiting",
  [CHILD_PLANNING] = "planning", [CHILD_PLANNED] = "planned",
  [CHILD_BUILDING] = "building", [CHILD_ENDING] = "ending",
};

size_t oc_pool_workers(const struct oc_pool *p, struct oc_pool_worker *ret, size_t n)
{
  size_t at = 0;

  for (const struct child *c = p->children; c; c = c->next, at++)
    if (at < n)
      ret[at] = (struct oc_pool_worker){ c->pid, child_words[c->state], c->job };
  for (const struct run *r = p->runs; r; r = r->next, at++)
    if (at < n)
      ret[at] = (struct oc_pool_worker){ (uint32_t)r->process.pid, "running", r->job };
  return at;
}
