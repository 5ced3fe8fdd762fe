/* The worker's half of a job: Plan out, answers in, Build out.
 *
 * A worker is believed in what it says of its own job, and only that: its report is
 * handed on as a file and never read here, its output is looked at before anybody gets
 * it. */
#include "server/server_internal.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"

static Omcc__V1__Flag **flag_messages(const struct oc_flags *flags,
                                      struct oc_arena *arena)
{
  Omcc__V1__Flag **list = OC_NEW_N(arena, Omcc__V1__Flag *, flags->n + 1);

  for (size_t i = 0; list && i < flags->n; i++) {
    list[i] = OC_NEW(arena, Omcc__V1__Flag);
    if (!list[i])
      return NULL;
    omcc__v1__flag__init(list[i]);
    list[i]->name = (char *)flags->items[i].name;
    list[i]->value = (char *)flags->items[i].value;
    list[i]->known = flags->items[i].info != NULL;
  }
  return list;
}

Omcc__V1__Flag **work_flags(const struct order *o, struct oc_arena *arena, size_t *ret_n)
{
  *ret_n = o->flags.n;
  return flag_messages(&o->flags, arena);
}

/* A compiler of the vendor's does not know flags of ours. */
Omcc__V1__Flag **work_vendor_flags(const struct order *o, struct oc_arena *arena,
                                   size_t *ret_n)
{
  Omcc__V1__Flag **list = work_flags(o, arena, ret_n);
  size_t n = 0;

  for (size_t i = 0; list && i < o->flags.n; i++)
    if (!o->flags.items[i].info || !o->flags.items[i].info->ours)
      list[n++] = list[i];
  *ret_n = n;
  return list;
}

Omcc__V1__File **work_files(const struct input *inputs, size_t n, struct oc_arena *arena,
                            int *fds, size_t *n_fds)
{
  Omcc__V1__File **list = OC_NEW_N(arena, Omcc__V1__File *, n + 1);

  for (size_t i = 0; list && i < n; i++) {
    list[i] = OC_NEW(arena, Omcc__V1__File);
    if (!list[i])
      return NULL;
    omcc__v1__file__init(list[i]);
    list[i]->flag = (char *)inputs[i].flag;
    list[i]->name = (char *)inputs[i].name;
    list[i]->sealed = inputs[i].list;
    list[i]->fd = (uint32_t)*n_fds;
    fds[(*n_fds)++] = inputs[i].fd;
  }
  return list;
}

size_t work_external(const struct order *o, size_t *at, Omcc__V1__ExternalFile *room,
                     Omcc__V1__ExternalFile **list, int *fds)
{
  uint32_t n = 0;

  for (; n < OC_MAX_FRAME_FDS && *at < o->n_external; n++, (*at)++) {
    omcc__v1__external_file__init(&room[n]);
    room[n].name = (char *)o->external[*at].name;
    room[n].fd = n;
    list[n] = &room[n];
    fds[n] = o->external[*at].fd;
  }
  return n;
}

static int send_plan(struct order *o, bool first, struct oc_arena *arena,
                     struct oc_error *err)
{
  Omcc__V1__ToWorker m = OMCC__V1__TO_WORKER__INIT;
  Omcc__V1__Plan plan = OMCC__V1__PLAN__INIT;
  int fds[OC_MAX_FRAME_FDS];
  size_t n_fds = 0;

  plan.job = o->job;
  plan.flags = work_flags(o, arena, &plan.n_flags);
  plan.files = work_files(o->files, o->n_files, arena, fds, &n_fds);
  plan.n_files = o->n_files;
  if (!plan.flags || !plan.files)
    return oc_error_set(err, OC_E_NOMEM, "no memory for a plan");
  plan.backend = (char *)o->backend;
  plan.strict_lists = o->strict_lists;
  plan.explain_only = o->want == WANT_EXPLAIN;
  plan.names_only = o->names_only;
  /* A stop point is for the first try: the second one must get past it. */
  plan.stop_at = (char *)(first ? o->stop_at : "");
  plan.label = (char *)"model";
  m.body_case = OMCC__V1__TO_WORKER__BODY_PLAN;
  m.plan = &plan;
  return oc_pool_lease(o->srv->pool, o->job, &m, fds, n_fds, err);
}

/* Findings of a worker that died, or of the first half of a try, are not told twice. */
static void forget_plan(struct order *o)
{
  o->findings.n = 0;
  if (o->report_fd >= 0)
    close(o->report_fd);
  o->report_fd = -1;
  for (size_t i = 0; i < o->n_lists; i++)
    close(o->lists[i].fd);
  o->n_lists = 0;
}

int work_start_plan(struct order *o, unsigned attempt)
{
  struct oc_arena arena;
  struct oc_error err = { 0 };
  int r;

  if (!o->work_started_ns)
    o->work_started_ns = server_now_ns();
  forget_plan(o);
  oc_arena_init(&arena, OC_MAX_FRAME);
  r = send_plan(o, attempt <= 1, &arena, &err);
  oc_arena_clear(&arena);
  if (r) {
    order_log(o, OC_LOG_ERROR, "plan_not_sent", err.msg);
    if (!tables_blame(o))
      order_set_failure(o, OC_STATUS_ENVIRONMENT, "%s", err.msg);
  }
  return r;
}

int work_start_build(struct order *o)
{
  Omcc__V1__ToWorker m = OMCC__V1__TO_WORKER__INIT;
  Omcc__V1__Build build = OMCC__V1__BUILD__INIT;
  struct oc_error err = { 0 };
  int r = 0;

  o->spare = SPARE_FULL;
  if (o->no_room)
    r = output_elsewhere(o->om_size, &o->building, &err);
  else
    r = output_open(o->srv, o->om_size, &o->building, &o->spare, &err);
  m.body_case = OMCC__V1__TO_WORKER__BODY_BUILD;
  m.build = &build;
  if (!r)
    r = oc_pool_tell(o->srv->pool, o->job, &m, &o->building.fd, 1, &err);
  if (!r)
    return 0;
  if (r == OC_E_CLOSED)
    return 0; /* the worker died: the pool reports it, and the job is tried again */
  order_log(o, OC_LOG_ERROR, "build_not_sent", err.msg);
  order_set_failure(o, OC_STATUS_ENVIRONMENT, "%s", err.msg);
  return r;
}

/* For a tool our own findings are advice: none of them is an error there. */
static void take_findings(struct order *o, Omcc__V1__Finding **list, size_t n)
{
  bool advice = oc_streq(o->backend, "atc") && o->want == WANT_COMPILE;

  for (size_t i = 0; i < n; i++) {
    struct oc_finding *f = oc_finding_from_message(list[i], &o->findings);

    if (f && advice && f->severity == OC_SEV_ERROR)
      f->severity = OC_SEV_WARNING;
  }
}

static int take_report(struct order *o, struct oc_frame *f, uint32_t index)
{
  auto_close int fd = oc_frame_take_fd(f, index);
  struct stat st;

  if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size > OC_MAX_REPORT)
    return OC_E_PROTO;
  o->report_fd = OC_STEAL_FD(fd);
  return 0;
}

static int take_lists(struct order *o, const Omcc__V1__Planned *m, struct oc_frame *f)
{
  o->lists = OC_NEW_N(&o->arena, struct input, m->n_lists + 1);
  for (size_t i = 0; o->lists && i < m->n_lists; i++) {
    struct input *in = &o->lists[o->n_lists];

    in->fd = oc_frame_take_fd(f, m->lists[i]->fd);
    in->flag = oc_arena_strdup(&o->arena, m->lists[i]->flag);
    in->name = oc_arena_strdup(&o->arena, m->lists[i]->name);
    in->list = true;
    if (in->fd < 0 || !in->flag || !in->name)
      return OC_E_PROTO;
    o->n_lists++;
  }
  return o->lists ? 0 : OC_E_NOMEM;
}

static void on_planned(struct order *o, const Omcc__V1__Planned *m, struct oc_frame *f)
{
  struct oc_server *s = o->srv;
  const uint8_t *key = m->plan_key.len == OC_SHA256_LEN ? m->plan_key.data : NULL;

  o->om_size = m->om_size;
  o->table_id = oc_arena_strdup(&o->arena, m->table_id);
  if (take_report(o, f, m->report_fd) || take_lists(o, m, f)) {
    order_log(o, OC_LOG_ERROR, "worker_broken", "a plan came without its report");
    oc_flow_give_up(s->flow, server_now_ns(), o->job, OC_FAIL_INTERNAL);
    return;
  }
  server_stop_point(s, o, "after-plan");
  oc_flow_planned(s->flow, server_now_ns(), o->job, key, m->ok);
}

static void on_unplanned(struct order *o, const Omcc__V1__Unplanned *m)
{
  struct oc_server *s = o->srv;

  take_findings(o, m->findings, m->n_findings);
  if (!oc_streq(o->backend, "atc") || o->want == WANT_EXPLAIN)
    order_set_failure(o, m->status ? m->status : OC_STATUS_REQUEST, "%s",
                      *m->message ? m->message : "the model cannot be planned");
  order_log(o, OC_LOG_INFO, "unplanned", m->message);
  oc_flow_unplanned(s->flow, server_now_ns(), o->job);
}

static void on_built(struct order *o, const Omcc__V1__Built *m)
{
  struct oc_server *s = o->srv;
  struct oc_log_line l;

  take_findings(o, m->findings, m->n_findings);
  o->om_size = m->size;
  o->peak_rss_bytes = m->max_rss_bytes;
  o->compile_ms = (server_now_ns() - o->work_started_ns) / 1000000;
  oc_counter_add(&s->count, OC_COUNT_COMPILES, 1);
  oc_log_begin(&l, s->log, OC_LOG_INFO, "built");
  oc_log_u64(&l, "job", o->job);
  oc_log_u64(&l, "size", m->size);
  oc_log_u64(&l, "import_us", m->import_us);
  oc_log_u64(&l, "infer_us", m->infer_us);
  oc_log_u64(&l, "resolve_us", m->resolve_us);
  oc_log_u64(&l, "emit_us", m->emit_us);
  oc_log_u64(&l, "rss", m->max_rss_bytes);
  oc_log_end(&l);
  server_stop_point(s, o, "after-built");
  oc_flow_built(s->flow, server_now_ns(), o->job);
}

static void on_failed(struct order *o, const Omcc__V1__Failed *m)
{
  static const struct {
    const char *code;
    enum oc_failure failure;
    unsigned status; /* 0: flow's failure says it */
  } codes[] = { { "input_changed", OC_FAIL_INPUT_CHANGED, 0 },
                { "oom", OC_FAIL_OOM, 0 },
                { "too_large", OC_FAIL_REQUEST, OC_STATUS_REQUEST },
                { "no_space", OC_FAIL_INTERNAL, OC_STATUS_ENVIRONMENT },
                { "internal", OC_FAIL_INTERNAL, OC_STATUS_BUG } };
  enum oc_failure why = OC_FAIL_INTERNAL;
  unsigned status = OC_STATUS_BUG;

  for (size_t i = 0; i < OC_COUNT(codes); i++) {
    if (!oc_streq(m->code, codes[i].code))
      continue;
    why = codes[i].failure;
    status = codes[i].status;
  }
  take_findings(o, m->findings, m->n_findings);
  if (why == OC_FAIL_INPUT_CHANGED) {
    oc_counter_add(&o->srv->count, OC_COUNT_INPUTS_CHANGED, 1);
    oc_finding_add(&o->findings, OC_FINDING_INPUT_CHANGED_READING, "", NULL);
  }
  if (status)
    order_set_failure(o, status, "%s", m->message);
  /* Once more, with an output elsewhere. */
  if (oc_streq(m->code, "no_space") && !o->no_room && !o->spare) {
    o->no_room = true;
    why = OC_FAIL_DIED;
  }
  order_log(o, OC_LOG_WARNING, "worker_failed", m->message);
  oc_flow_failed(o->srv->flow, server_now_ns(), o->job, why);
}

static void on_inputs(struct order *o, const Omcc__V1__Inputs *m)
{
  struct oc_error err = { 0 };

  if (!reading_inputs(o, m, &err))
    return;
  order_set_failure(o, OC_STATUS_REQUEST, "%s", err.msg);
  oc_flow_give_up(o->srv->flow, server_now_ns(), o->job, OC_FAIL_REQUEST);
}

void work_on_message(void *ctx, uint64_t job, const Omcc__V1__FromWorker *m,
                     struct oc_frame *f)
{
  struct oc_server *s = ctx;
  struct order *o = order_of_job(s, job);

  if (!o)
    return;
  order_hold(o);
  if (o->verifying) {
    verify_over(o, m);
    order_drop(o);
    server_settle(s);
    return;
  }
  switch (m->body_case) {
  case OMCC__V1__FROM_WORKER__BODY_INPUTS: on_inputs(o, m->inputs); break;
  case OMCC__V1__FROM_WORKER__BODY_PLANNED: on_planned(o, m->planned, f); break;
  case OMCC__V1__FROM_WORKER__BODY_UNPLANNED: on_unplanned(o, m->unplanned); break;
  case OMCC__V1__FROM_WORKER__BODY_BUILT: on_built(o, m->built); break;
  case OMCC__V1__FROM_WORKER__BODY_FAILED: on_failed(o, m->failed); break;
  default: break;
  }
  if (!o->forgotten)
    reading_without_plan(o);
  order_drop(o);
  server_settle(s);
}

/* A kill that nobody of us sent is, on a loaded machine, the kernel's for memory. */
static void describe_death(struct order *o, const struct oc_death *how)
{
  if (tables_blame(o))
    return;
  if (how->signal)
    order_set_failure(
        o, OC_STATUS_BUG, "the compiling process was ended by signal %d (%s)%s%s",
        how->signal, strsignal(how->signal), *how->tail ? ": " : "", how->tail);
  else
    order_set_failure(o, OC_STATUS_BUG, "the compiling process ended with status %d%s%s",
                      how->exit_code, *how->tail ? ": " : "", how->tail);
}

void work_on_death(void *ctx, uint64_t job, const struct oc_death *how)
{
  struct oc_server *s = ctx;
  struct order *o = order_of_job(s, job);

  oc_counter_add(&s->count, OC_COUNT_WORKER_DEATHS, 1);
  if (!o)
    return;
  order_hold(o);
  if (o->verifying) {
    verify_over(o, NULL);
    order_drop(o);
    server_settle(s);
    return;
  }
  describe_death(o, how);
  oc_flow_failed(s->flow, server_now_ns(), job, OC_FAIL_DIED);
  if (!o->forgotten)
    reading_without_plan(o);
  order_drop(o);
  server_settle(s);
}

static void on_ready(void *ctx, const Omcc__V1__Ready *ready)
{
  struct oc_server *s = ctx;
  struct oc_log_line l;

  oc_log_begin(&l, s->log, *ready->error ? OC_LOG_ERROR : OC_LOG_INFO, "worker_ready");
  oc_log_u64(&l, "socs", ready->n_socs);
  if (*ready->error)
    oc_log_str(&l, "error", ready->error);
  oc_log_end(&l);
  socs_take(s, ready);
  server_settle(s);
}

const struct oc_pool_events server_pool_events = {
  .worker = work_on_message,
  .worker_died = work_on_death,
  .runner = run_on_message,
  .runner_died = run_on_death,
  .ready = on_ready,
};
