/* One forked child: waits in its sandbox, serves one job, goes.
 *
 * A child is over when its socket has ended and the zygote has said how it died; the two
 * come in either order, and the second may never come (a dying zygote), so the first only
 * waits a moment for it. What the child wrote before it died is read first: a child that
 * answered and then crashed has answered. */
#include "pool/pool_internal.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NEWS_MS  1000 /* how long an ended socket waits for the wait status */
#define LEAVE_MS 3000 /* how long a child may take to exit */

static void remove_child(struct child *c)
{
  struct child **at = &c->pool->children;

  while (*at != c)
    at = &(*at)->next;
  *at = c->next;
}

static void one_closed(void *ctx)
{
  struct child *c = ctx;
  struct oc_pool *p = c->pool;

  if (--c->handles)
    return;
  remove_child(c);
  if (c->pidfd >= 0)
    close(c->pidfd);
  free(c);
  zygote_want_children(p);
  pool_check_closed(p);
}

static void log_death(const struct child *c, uint64_t job, const struct oc_death *how)
{
  struct oc_log_line l;

  oc_log_begin(&l, c->pool->o.log, OC_LOG_ERROR, "worker_died");
  oc_log_u64(&l, "job", job);
  oc_log_u64(&l, "pid", how->pid);
  oc_log_i64(&l, "signal", how->signal);
  oc_log_i64(&l, "exit", how->exit_code);
  oc_log_u64(&l, "rss", how->max_rss_bytes);
  oc_log_str(&l, "tail", how->tail);
  oc_log_end(&l);
}

/* The last act: tell the job, give everything back. */
static void finish(struct child *c)
{
  struct oc_pool *p = c->pool;
  struct oc_death how = { .pid = c->pid, .exit_code = -1 };
  uint64_t job = c->job;

  c->job = 0;
  c->state = CHILD_ENDING;
  c->deadline = 0;
  how.max_rss_bytes = c->max_rss_bytes;
  if (c->gone)
    death_of(c->status, &how);
  how.tail = c->has_err ? tail_text(&c->err) : tail_text(&p->zygote.err);
  if (job) {
    log_death(c, job, &how);
    p->o.events->worker_died(p->o.ctx, job, &how);
  }
  if (!c->gone) /* it may have closed its socket and live on */
    child_kill(c);
  oc_link_close(&c->link);
  if (c->has_err)
    tail_close(&c->err);
}

/* Takes the message's place in the child's life; false: it does not belong there. */
static bool advance(struct child *c, const Omcc__V1__FromWorker *m)
{
  switch (m->body_case) {
  case OMCC__V1__FROM_WORKER__BODY_INPUTS: return c->state == CHILD_PLANNING;
  case OMCC__V1__FROM_WORKER__BODY_PLANNED:
    if (c->state != CHILD_PLANNING)
      return false;
    c->state = CHILD_PLANNED;
    return true;
  case OMCC__V1__FROM_WORKER__BODY_BUILT:
    if (c->state != CHILD_BUILDING)
      return false;
    break;
  case OMCC__V1__FROM_WORKER__BODY_UNPLANNED:
  case OMCC__V1__FROM_WORKER__BODY_VERIFIED:
    if (c->state != CHILD_PLANNING)
      return false;
    break;
  case OMCC__V1__FROM_WORKER__BODY_FAILED: break;
  default: return false;
  }
  child_end(c);
  return true;
}

static int on_message(struct child *c, const Omcc__V1__FromWorker *m, struct oc_frame *f,
                      struct oc_error *err)
{
  struct oc_pool *p = c->pool;
  uint64_t job = c->job;

  if (m->body_case == OMCC__V1__FROM_WORKER__BODY_HELLO && c->state == CHILD_STARTING) {
    c->state = CHILD_WAITING;
    lease_assign(p);
    return 0;
  }
  if (!job)
    return 0; /* the job was taken back while this was on its way */
  if (!advance(c, m))
    return oc_error_set(err, OC_E_PROTO, "a worker sent a message out of order");
  p->o.events->worker(p->o.ctx, job, m, f);
  return 0;
}

static int on_frame(void *ctx, struct oc_frame *f, struct oc_error *err)
{
  struct child *c = ctx;
  struct oc_arena arena;
  ProtobufCMessage *m;
  int r;

  oc_arena_init(&arena, oc_message_cap(f->len));
  r = oc_message_unpack(&omcc__v1__from_worker__descriptor, f->body, f->len, &arena, &m,
                        err);
  if (!r)
    r = on_message(c, (const Omcc__V1__FromWorker *)m, f, err);
  oc_arena_clear(&arena);
  return r;
}

static void on_ended(void *ctx, int code, const struct oc_error *err)
{
  struct child *c = ctx;

  if (code != OC_E_CLOSED) {
    oc_log_event(c->pool->o.log, OC_LOG_ERROR, "worker_broken", c->job, err->msg);
    child_kill(c);
  }
  c->link_over = true;
  if (c->pool->closing || !c->pool->zygote_ready) {
    finish(c); /* nobody will tell how it died */
    return;
  }
  c->deadline = pool_now(c->pool) + NEWS_MS;
  pool_wake_in(c->pool, NEWS_MS);
}

void child_new(struct oc_pool *p, uint32_t pid, int fd, int err_fd)
{
  static const struct oc_link_events events = { .frame = on_frame,
                                                .ended = on_ended,
                                                .closed = one_closed };
  struct child *c = calloc(1, sizeof(*c));
  struct oc_error err = { 0 };

  if (!c) {
    close(fd); /* the child sees its end and exits */
    if (err_fd >= 0)
      close(err_fd);
    return;
  }
  c->pool = p;
  c->pid = pid;
  c->pidfd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
  if (oc_link_open(&c->link, p->o.loop, fd, POOL_WRITE_CAP, &events, c, &err)) {
    oc_log_event(p->o.log, OC_LOG_ERROR, "worker_lost", 0, err.msg);
    if (err_fd >= 0)
      close(err_fd);
    if (c->pidfd >= 0)
      close(c->pidfd);
    free(c);
    return;
  }
  c->handles = 1;
  if (err_fd >= 0 && !tail_open(&c->err, p->o.loop, err_fd, p->o.log, "worker_stderr",
                                pid, one_closed, c)) {
    c->has_err = true;
    c->handles = 2;
  }
  c->next = p->children;
  p->children = c;
  if (p->closing)
    child_kill(c);
}

static void log_gone(const struct oc_pool *p, uint32_t pid, uint64_t max_rss_bytes)
{
  struct oc_log_line l;

  oc_log_begin(&l, p->o.log, OC_LOG_DEBUG, "worker_gone");
  oc_log_u64(&l, "pid", pid);
  oc_log_u64(&l, "rss", max_rss_bytes);
  oc_log_end(&l);
}

void child_gone(struct oc_pool *p, uint32_t pid, int status, uint64_t max_rss_bytes)
{
  log_gone(p, pid, max_rss_bytes);
  for (struct child *c = p->children; c; c = c->next) {
    if (c->pid != pid || c->gone)
      continue;
    c->gone = true;
    c->status = status;
    c->max_rss_bytes = max_rss_bytes;
    oc_link_drain(&c->link);
    finish(c);
    return;
  }
}

void children_orphaned(struct oc_pool *p)
{
  for (struct child *c = p->children; c; c = c->next) {
    c->state = c->job ? c->state : CHILD_ENDING;
    c->deadline = pool_now(p) + NEWS_MS;
    if (c->link_over)
      finish(c);
  }
  if (p->children)
    pool_wake_in(p, NEWS_MS);
}

void child_kill(struct child *c)
{
  if (c->gone)
    return;
  if (c->pidfd >= 0)
    syscall(SYS_pidfd_send_signal, c->pidfd, SIGKILL, NULL, 0);
  else
    oc_link_close(&c->link); /* the end of its socket ends it too */
}

void child_end(struct child *c)
{
  c->job = 0;
  c->state = CHILD_ENDING;
  c->deadline = pool_now(c->pool) + LEAVE_MS;
  pool_wake_in(c->pool, LEAVE_MS);
}

struct child *child_of_job(struct oc_pool *p, uint64_t job)
{
  struct child *c = p->children;

  while (c && c->job != job)
    c = c->next;
  return c;
}

void children_check(struct oc_pool *p, uint64_t now)
{
  for (struct child *c = p->children; c; c = c->next) {
    if (!c->deadline)
      continue;
    if (c->deadline > now)
      pool_wake_in(p, c->deadline - now);
    else if (c->link_over || !p->zygote_up)
      finish(c);
    else {
      child_kill(c);
      c->deadline = now + NEWS_MS;
      c->link_over = true;
      pool_wake_in(p, NEWS_MS);
    }
  }
}
