/* The zygote: started once, told the tables, asked for children, started again when it
 * dies.
 *
 * One that dies soon after its start is given a growing pause. When it never got as far
 * as Ready several times in a row, or says that a table is wrong, jobs are told instead
 * of waiting for something that will not come. */
#include "pool/pool_internal.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define QUICK_MS      5000 /* a life shorter than this is a quick death */
#define PAUSE_MS      100  /* doubled with every quick death */
#define MOST_PAUSE_MS 10000
#define PATIENCE      4 /* quick deaths before waiting jobs are told */

static void check_gone(struct oc_pool *p);

static void ask_for(struct oc_pool *p, unsigned n)
{
  Omcc__V1__Fork fork = OMCC__V1__FORK__INIT;
  Omcc__V1__ToWorker m = OMCC__V1__TO_WORKER__INIT;

  fork.n = n;
  m.body_case = OMCC__V1__TO_WORKER__BODY_FORK;
  m.fork = &fork;
  if (!oc_link_send(&p->link, &m, NULL, 0, NULL))
    p->forking += n;
}

void zygote_want_children(struct oc_pool *p)
{
  unsigned want = p->o.ahead, have = p->forking;

  if (!p->zygote_ready || p->closing)
    return;
  for (const struct order *o = p->orders; o; o = o->next)
    want++;
  for (const struct child *c = p->children; c; c = c->next)
    have += c->state == CHILD_STARTING || c->state == CHILD_WAITING;
  if (have < want)
    ask_for(p, want - have);
}

static void on_ready(struct oc_pool *p, const Omcc__V1__Ready *ready)
{
  if (ready->error && *ready->error) {
    snprintf(p->broken, sizeof(p->broken), "%s", ready->error);
    oc_log_event(p->o.log, OC_LOG_ERROR, "tables_refused", 0, p->broken);
    p->o.events->ready(p->o.ctx, ready); /* whoever waits is told what it says */
    lease_fail_all(p, p->broken);
    return;
  }
  p->zygote_ready = true;
  p->quick_deaths = 0;
  zygote_want_children(p);
  p->o.events->ready(p->o.ctx, ready);
}

static int on_message(struct oc_pool *p, const Omcc__V1__FromWorker *m,
                      struct oc_frame *f, struct oc_error *err)
{
  switch (m->body_case) {
  case OMCC__V1__FROM_WORKER__BODY_READY: on_ready(p, m->ready); return 0;
  case OMCC__V1__FROM_WORKER__BODY_CHILD: {
    int fd = oc_frame_take_fd(f, 0);

    if (fd < 0)
      return oc_error_set(err, OC_E_PROTO, "a child came without a socket");
    p->forking -= p->forking > 0;
    child_new(p, m->child->pid, fd, oc_frame_take_fd(f, 1));
    return 0;
  }
  case OMCC__V1__FROM_WORKER__BODY_CHILD_GONE:
    child_gone(p, m->child_gone->pid, (int)m->child_gone->wait_status,
               m->child_gone->max_rss_bytes);
    return 0;
  default:
    return oc_error_set(err, OC_E_PROTO, "the zygote sent a message that is a child's");
  }
}

static int on_frame(void *ctx, struct oc_frame *f, struct oc_error *err)
{
  struct oc_pool *p = ctx;
  struct oc_arena arena;
  ProtobufCMessage *m;
  int r;

  oc_arena_init(&arena, oc_message_cap(f->len));
  r = oc_message_unpack(&omcc__v1__from_worker__descriptor, f->body, f->len, &arena, &m,
                        err);
  if (!r)
    r = on_message(p, (const Omcc__V1__FromWorker *)m, f, err);
  oc_arena_clear(&arena);
  return r;
}

static void on_link_ended(void *ctx, int code, const struct oc_error *err)
{
  struct oc_pool *p = ctx;

  if (code != OC_E_CLOSED)
    oc_log_event(p->o.log, OC_LOG_ERROR, "zygote_broken", 0, err->msg);
  process_kill(&p->zygote, SIGKILL);
  oc_link_close(&p->link);
}

static void on_link_closed(void *ctx)
{
  struct oc_pool *p = ctx;

  p->link_up = false;
  check_gone(p);
}

static void on_process_closed(void *ctx)
{
  struct oc_pool *p = ctx;

  p->zygote_up = false;
  check_gone(p);
}

static void on_exited(void *ctx)
{
  struct oc_pool *p = ctx;
  struct oc_death how = { 0 };
  struct oc_log_line l;

  /* News of children that it still sent come before the end of the link. */
  oc_link_drain(&p->link);
  death_of(p->zygote.status, &how);
  if (!p->closing) {
    oc_log_begin(&l, p->o.log, OC_LOG_ERROR, "zygote_died");
    oc_log_u64(&l, "pid", (uint64_t)p->zygote.pid);
    oc_log_i64(&l, "signal", how.signal);
    oc_log_i64(&l, "exit", how.exit_code);
    oc_log_str(&l, "tail", tail_text(&p->zygote.err));
    oc_log_end(&l);
  }
  p->quick_deaths = pool_now(p) - p->started_at < QUICK_MS ? p->quick_deaths + 1 : 0;
  p->zygote_ready = false;
  p->forking = 0;
  children_orphaned(p);
  oc_link_close(&p->link);
  process_close(&p->zygote);
}

static uint64_t pause_ms(const struct oc_pool *p)
{
  uint64_t ms = p->quick_deaths ? (uint64_t)PAUSE_MS << (p->quick_deaths - 1) : 0;

  return p->quick_deaths > 7 || ms > MOST_PAUSE_MS ? MOST_PAUSE_MS : ms;
}

static void check_gone(struct oc_pool *p)
{
  if (p->zygote_up || p->link_up)
    return;
  if (p->closing) {
    pool_check_closed(p);
    return;
  }
  if (*p->broken)
    return;
  if (p->quick_deaths >= PATIENCE)
    lease_fail_all(p, "the worker program does not start");
  p->restart_at = pool_now(p) + pause_ms(p);
  pool_wake_in(p, pause_ms(p));
}

void zygote_restart_if_due(struct oc_pool *p)
{
  struct oc_error err = { 0 };

  if (p->zygote_up || p->link_up || *p->broken || p->closing) {
    pool_check_closed(p);
    return;
  }
  if (pool_now(p) < p->restart_at) {
    pool_wake_in(p, p->restart_at - pool_now(p));
    return;
  }
  if (!zygote_start(p, &err))
    return;
  oc_log_event(p->o.log, OC_LOG_ERROR, "zygote_not_started", 0, err.msg);
  p->quick_deaths++;
  check_gone(p);
}

/* The tables, as many per frame as descriptors fit. */
static int send_setup(struct oc_pool *p, struct oc_error *err)
{
  size_t at = 0;
  int r = 0;

  do {
    Omcc__V1__ToWorker m = OMCC__V1__TO_WORKER__INIT;
    Omcc__V1__Setup setup = OMCC__V1__SETUP__INIT;
    Omcc__V1__TableFile file[OC_MAX_FRAME_FDS], *files[OC_MAX_FRAME_FDS];
    int fds[OC_MAX_FRAME_FDS];
    uint32_t n = 0;

    for (; n < OC_MAX_FRAME_FDS && at < p->o.n_tables; n++, at++) {
      omcc__v1__table_file__init(&file[n]);
      file[n].name = (char *)p->o.tables[at].name;
      file[n].fd = n;
      files[n] = &file[n];
      fds[n] = p->o.tables[at].fd;
    }
    setup.files = files;
    setup.n_files = n;
    setup.last = at == p->o.n_tables;
    setup.memory_mb = p->o.memory_mb;
    m.body_case = OMCC__V1__TO_WORKER__BODY_SETUP;
    m.setup = &setup;
    r = oc_link_send(&p->link, &m, fds, n, err);
  } while (!r && at < p->o.n_tables);
  return r;
}

int zygote_start(struct oc_pool *p, struct oc_error *err)
{
  static const struct oc_link_events events = { .frame = on_frame,
                                                .ended = on_link_ended,
                                                .closed = on_link_closed };
  struct process_spec spec = { .loop = p->o.loop,
                               .log = p->o.log,
                               .path = p->worker_path,
                               .name = "omcc-worker",
                               .event = "worker_stderr",
                               .nofile = p->o.nofile,
                               .exited = on_exited,
                               .closed = on_process_closed,
                               .ctx = p };
  int fd, r = process_spawn(&p->zygote, &spec, &fd, err);

  if (r)
    return r;
  p->zygote_up = true;
  p->started_at = pool_now(p);
  r = oc_link_open(&p->link, p->o.loop, fd, POOL_WRITE_CAP, &events, p, err);
  if (!r) {
    p->link_up = true;
    r = send_setup(p, err);
  }
  if (r) { /* its end is noticed like any other */
    oc_log_event(p->o.log, OC_LOG_ERROR, "zygote_not_set_up", 0, err->msg);
    process_kill(&p->zygote, SIGKILL);
  }
  return 0;
}
