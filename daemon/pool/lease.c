/* Leases: a job's plan waits for a child, then child and job belong together. */
#include "pool/pool_internal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static void order_free(struct order *o)
{
  for (size_t i = 0; i < o->n_fds; i++)
    close(o->fds[i]);
  oc_buf_clear(&o->plan);
  free(o);
}

static struct order *order_pop(struct oc_pool *p)
{
  struct order *o = p->orders;

  p->orders = o->next;
  if (!p->orders)
    p->orders_end = &p->orders;
  return o;
}

/* True when the child has the plan. */
static bool hand_over(struct child *c, struct order *o)
{
  struct oc_error err = { 0 };

  if (oc_link_send_bytes(&c->link, o->plan.data, o->plan.len, o->fds, o->n_fds, &err)) {
    oc_log_event(c->pool->o.log, OC_LOG_WARNING, "worker_unreachable", o->job, err.msg);
    child_end(c);
    child_kill(c);
    return false;
  }
  c->state = CHILD_PLANNING;
  c->job = o->job;
  return true;
}

void lease_assign(struct oc_pool *p)
{
  for (struct child *c = p->children; c && p->orders; c = c->next)
    if (c->state == CHILD_WAITING && !c->link_over && hand_over(c, p->orders))
      order_free(order_pop(p));
  zygote_want_children(p);
}

void lease_drop_all(struct oc_pool *p)
{
  while (p->orders)
    order_free(order_pop(p));
}

void lease_fail_all(struct oc_pool *p, const char *why)
{
  struct oc_death how = { .exit_code = -1, .tail = why };
  struct order *waiting = p->orders;

  /* Whoever is told may order again at once: that goes into a new list. */
  p->orders = NULL;
  p->orders_end = &p->orders;
  while (waiting) {
    struct order *o = waiting;
    uint64_t job = o->job;

    waiting = o->next;
    order_free(o);
    p->o.events->worker_died(p->o.ctx, job, &how);
  }
}

static int dup_fds(struct order *o, const int *fds, size_t n)
{
  for (; o->n_fds < n; o->n_fds++) {
    o->fds[o->n_fds] = fcntl(fds[o->n_fds], F_DUPFD_CLOEXEC, 0);
    if (o->fds[o->n_fds] < 0)
      return OC_E_IO;
  }
  return 0;
}

int oc_pool_lease(struct oc_pool *p, uint64_t job, const Omcc__V1__ToWorker *plan,
                  const int *fds, size_t n_fds, struct oc_error *err)
{
  struct order *o;

  if (*p->broken)
    return oc_error_set(err, OC_E_CLOSED, "no worker can be started: %s", p->broken);
  if (p->closing)
    return oc_error_set(err, OC_E_CLOSED, "the daemon is stopping");
  if (n_fds > OC_MAX_FRAME_FDS)
    return oc_error_set(err, OC_E_LIMIT, "a plan with %zu files does not fit a frame",
                        n_fds);
  o = calloc(1, sizeof(*o));
  if (!o)
    return oc_error_set(err, OC_E_NOMEM, "no memory for a lease");
  o->job = job;
  oc_buf_init(&o->plan, OC_MAX_FRAME);
  if (oc_message_pack(plan, &o->plan) || dup_fds(o, fds, n_fds)) {
    order_free(o);
    return oc_error_set(err, OC_E_NOMEM, "a plan cannot be kept for a worker");
  }
  *p->orders_end = o;
  p->orders_end = &o->next;
  lease_assign(p);
  return 0;
}

int oc_pool_tell(struct oc_pool *p, uint64_t job, const Omcc__V1__ToWorker *m,
                 const int *fds, size_t n_fds, struct oc_error *err)
{
  struct child *c = child_of_job(p, job);
  int r;

  if (!c)
    return oc_error_set(err, OC_E_CLOSED, "the job has no worker");
  r = oc_link_send(&c->link, m, fds, n_fds, err);
  if (!r && m->body_case == OMCC__V1__TO_WORKER__BODY_BUILD)
    c->state = CHILD_BUILDING;
  return r;
}

static bool drop_order(struct oc_pool *p, uint64_t job)
{
  for (struct order **at = &p->orders; *at; at = &(*at)->next) {
    struct order *o = *at;

    if (o->job != job)
      continue;
    *at = o->next;
    if (!*at)
      p->orders_end = at;
    order_free(o);
    return true;
  }
  return false;
}

void oc_pool_release(struct oc_pool *p, uint64_t job, bool kill)
{
  Omcc__V1__ToWorker m = OMCC__V1__TO_WORKER__INIT;
  Omcc__V1__Release release = OMCC__V1__RELEASE__INIT;
  struct child *c;

  if (drop_order(p, job))
    return;
  c = child_of_job(p, job);
  if (!c)
    return;
  m.body_case = OMCC__V1__TO_WORKER__BODY_RELEASE;
  m.release = &release;
  if (kill || oc_link_send(&c->link, &m, NULL, 0, NULL))
    child_kill(c);
  child_end(c);
}
