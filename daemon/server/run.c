/* The vendor's compiler at work: its runner is told what to do, its lines go to everybody
 * who waits and are kept for those who come later, its files become members.
 *
 * The compiler decides: exit status and files, not what our plan said. Lists go to it in
 * the normal form that the plan was made from, so that both mean the same ops. */
#include "server/server_internal.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"

/* A frame holds flags and findings; lines are cut into pieces of this. */
#define REPLAY_PIECE (64u << 10)
/* With less than this on the disk a failure may well be its fault. */
#define LITTLE_SPACE (1u << 20)

/* The list the plan normalised, else the requester's file. */
static const struct input *file_for_tool(const struct order *o, const struct input *in)
{
  for (size_t i = 0; i < o->n_lists; i++)
    if (oc_streq(o->lists[i].flag, in->flag))
      return &o->lists[i];
  return in;
}

/* Environment of the daemon that changes what the compiler writes: the key has it too. */
static Omcc__V1__Argument **run_environment(const struct oc_server *s,
                                            struct oc_arena *arena, size_t *ret_n)
{
  size_t n = s->backends.toolkit.n_env;
  Omcc__V1__Argument **list = OC_NEW_N(arena, Omcc__V1__Argument *, n + 1);

  for (size_t i = 0; list && i < n; i++) {
    list[i] = OC_NEW(arena, Omcc__V1__Argument);
    if (!list[i])
      return NULL;
    omcc__v1__argument__init(list[i]);
    list[i]->name = (char *)s->backends.toolkit.env[i].name;
    list[i]->value = (char *)s->backends.toolkit.env[i].value;
  }
  *ret_n = n;
  return list;
}

/* The external data files, as many per frame as descriptors fit. */
static int send_external(struct order *o, struct oc_error *err)
{
  size_t at = 0;
  int r = 0;

  while (!r && at < o->n_external) {
    Omcc__V1__ToRunner m = OMCC__V1__TO_RUNNER__INIT;
    Omcc__V1__MoreFiles more = OMCC__V1__MORE_FILES__INIT;
    Omcc__V1__ExternalFile file[OC_MAX_FRAME_FDS], *list[OC_MAX_FRAME_FDS];
    int fds[OC_MAX_FRAME_FDS];

    more.files = list;
    more.n_files = work_external(o, &at, file, list, fds);
    more.last = at == o->n_external;
    m.body_case = OMCC__V1__TO_RUNNER__BODY_MORE_FILES;
    m.more_files = &more;
    r = oc_pool_tell_runner(o->srv->pool, o->job, &m, fds, more.n_files, err);
  }
  return r == OC_E_CLOSED ? 0 : r; /* its death follows */
}

static int send_run(struct order *o, struct oc_arena *arena, struct oc_error *err)
{
  struct oc_server *s = o->srv;
  Omcc__V1__Run run = OMCC__V1__RUN__INIT;
  struct input *files = OC_NEW_N(arena, struct input, o->n_files + 1);
  int fds[OC_MAX_FRAME_FDS];
  size_t n_fds = 0;
  int r;

  for (size_t i = 0; files && i < o->n_files; i++)
    files[i] = *file_for_tool(o, &o->files[i]);
  run.job = o->job;
  run.toolkit = (char *)s->backends.toolkit.dir;
  run.flags = work_vendor_flags(o, arena, &run.n_flags);
  run.files = files ? work_files(files, o->n_files, arena, fds, &n_fds) : NULL;
  run.n_files = o->n_files;
  run.env = run_environment(s, arena, &run.n_env);
  run.memory_limit_bytes = s->o.run_memory_bytes;
  run.time_limit_ms = s->o.run_limit_ms;
  run.more = o->n_external > 0;
  if (!files || !run.flags || !run.files || !run.env)
    return oc_error_set(err, OC_E_NOMEM, "no memory for a run");
  r = oc_pool_run(s->pool, o->job, &run, fds, n_fds, err);
  return r ? r : send_external(o, err);
}

int run_start(struct order *o)
{
  struct oc_arena arena;
  struct oc_error err = { 0 };
  int r;

  if (!o->work_started_ns)
    o->work_started_ns = server_now_ns();
  run_clear(o);
  oc_arena_init(&arena, OC_MAX_FRAME);
  r = send_run(o, &arena, &err);
  oc_arena_clear(&arena);
  if (!r) {
    oc_counter_add(&o->srv->count, OC_COUNT_TOOL_RUNS, 1);
    return 0;
  }
  order_log(o, OC_LOG_ERROR, "run_not_started", err.msg);
  order_set_failure(o, OC_STATUS_ENVIRONMENT, "%s", err.msg);
  return r;
}

void run_clear(struct order *o)
{
  o->verifying = false;
  for (size_t i = 0; i < o->n_incoming; i++)
    if (o->incoming[i].fd >= 0)
      close(o->incoming[i].fd);
  o->n_incoming = 0;
  oc_buf_reset(&o->captured[0]);
  oc_buf_reset(&o->captured[1]);
}

void run_replay(struct session *c, uint64_t id, bool is_stderr, const uint8_t *p,
                size_t len)
{
  Omcc__V1__ToClient m = OMCC__V1__TO_CLIENT__INIT;
  Omcc__V1__Output out = OMCC__V1__OUTPUT__INIT;

  out.is_stderr = is_stderr;
  out.replayed = true;
  m.id = id;
  m.body_case = OMCC__V1__TO_CLIENT__BODY_OUTPUT;
  m.output = &out;
  for (size_t at = 0; at < len; at += out.data.len) {
    out.data.data = (uint8_t *)p + at;
    out.data.len = len - at < REPLAY_PIECE ? len - at : REPLAY_PIECE;
    if (!session_send(c, &m, NULL, 0))
      return;
  }
}

static void on_output(struct order *o, const Omcc__V1__RunOutput *m)
{
  const struct oc_flow_job *j = oc_flow_job(o->srv->flow, o->job);

  o->spoke = true;
  oc_buf_append(&o->captured[m->is_stderr], m->data.data, m->data.len);
  if (j)
    answer_output(o->srv, j, m->is_stderr, m->data.data, m->data.len);
}

/* One more file of the run. Captured lines come as messages, not as files. */
static int take_member(struct order *o, const Omcc__V1__Member *m, struct oc_frame *f)
{
  struct incoming *in;

  if (oc_streq(m->kind, "stdout") || oc_streq(m->kind, "stderr"))
    return 0;
  if (o->n_incoming == OC_MAX_MEMBERS)
    return OC_E_LIMIT;
  in = &o->incoming[o->n_incoming];
  *in = (struct incoming){ .mode = m->mode, .fd = -1 };
  in->name = oc_arena_strdup(&o->arena, m->name);
  in->kind = oc_streq(m->kind, "artifact") ? "artifact" : "side";
  if (m->where_case == OMCC__V1__MEMBER__WHERE_FD) {
    in->fd = oc_frame_take_fd(f, m->fd);
    if (in->fd < 0)
      return OC_E_PROTO;
  } else {
    in->data = oc_arena_memdup(&o->arena, m->inline_.data, m->inline_.len);
    in->len = m->inline_.len;
  }
  if (!in->name || (in->fd < 0 && !in->data))
    return OC_E_NOMEM;
  o->n_incoming++;
  return 0;
}

static bool has_artifact(const struct order *o)
{
  for (size_t i = 0; i < o->n_incoming; i++)
    if (oc_streq(o->incoming[i].kind, "artifact"))
      return true;
  return false;
}

/* A pre-check or a model as JSON is a result without an artifact. */
static bool has_result(const struct order *o)
{
  int mode = oc_flags_mode(&o->flags);
  bool compiles = mode == 0 || mode == 7 || mode == 30;

  return compiles ? has_artifact(o) : o->n_incoming > 0;
}

/* Compilers seldom say that it was the disk: half a sentence about its space, or "". */
static void describe_space(const struct order *o, char *text, size_t size)
{
  struct statvfs fs;
  uint64_t left;

  *text = '\0';
  if (!o->srv->jobs_dir || statvfs(o->srv->jobs_dir, &fs))
    return;
  left = (uint64_t)fs.f_bavail * fs.f_frsize;
  if (left < LITTLE_SPACE)
    snprintf(text, size, "; the file system of its job directory has %llu KiB left",
             (unsigned long long)(left >> 10));
}

/* What a run that is over means for the job. */
static enum oc_failure judge(struct order *o, const Omcc__V1__RunDone *m)
{
  char space[96];

  if (*m->error) {
    /* Without an exit status it never ran. */
    bool ran = m->exit_status >= 0;

    order_set_failure(o, ran ? OC_STATUS_TOOL_FAILED : OC_STATUS_ENVIRONMENT, "%s",
                      m->error);
    return ran ? OC_FAIL_TOOL : OC_FAIL_INTERNAL;
  }
  describe_space(o, space, sizeof(space));
  if (m->out_of_memory)
    return OC_FAIL_OOM;
  if (m->timed_out)
    return OC_FAIL_TIMEOUT;
  if (m->signal)
    order_set_failure(o, OC_STATUS_TOOL_FAILED,
                      "the compiler was ended by signal %u (%s)%s", m->signal,
                      strsignal((int)m->signal), space);
  else if (m->exit_status)
    order_set_failure(o, OC_STATUS_TOOL_FAILED,
                      "the compiler failed with exit status %d%s", m->exit_status, space);
  else
    order_set_failure(o, OC_STATUS_TOOL_FAILED,
                      "the compiler said success and wrote no model file%s", space);
  return OC_FAIL_TOOL;
}

static void log_run(const struct order *o, const Omcc__V1__RunDone *m)
{
  struct oc_log_line l;

  oc_log_begin(&l, o->srv->log, OC_LOG_INFO, "run_over");
  oc_log_u64(&l, "job", o->job);
  oc_log_i64(&l, "exit", m->exit_status);
  oc_log_u64(&l, "signal", m->signal);
  oc_log_u64(&l, "members", o->n_incoming);
  oc_log_u64(&l, "rss", m->peak_rss_bytes);
  oc_log_u64(&l, "ms", m->elapsed_ms);
  if (*m->error)
    oc_log_str(&l, "error", m->error);
  oc_log_end(&l);
}

static void on_done(struct order *o, const Omcc__V1__RunDone *m, struct oc_frame *f)
{
  struct oc_server *s = o->srv;

  for (size_t i = 0; i < m->n_members; i++) {
    int r = take_member(o, m->members[i], f);

    if (!r)
      continue;
    order_set_failure(o, OC_STATUS_BUG, "the result has more files than can be kept");
    oc_flow_give_up(s->flow, server_now_ns(), o->job, OC_FAIL_INTERNAL);
    return;
  }
  if (m->more)
    return;
  log_run(o, m);
  o->tool_exit = m->exit_status;
  o->peak_rss_bytes = m->peak_rss_bytes;
  o->compile_ms = m->elapsed_ms;
  o->toolkit = oc_arena_strdup(&o->arena, s->backends.toolkit.version);
  if (!o->toolkit)
    o->toolkit = "";
  server_stop_point(s, o, "after-run");
  if (!*m->error && !m->signal && !m->exit_status && has_result(o)) {
    if (!has_artifact(o) || !verify_start(o))
      oc_flow_built(s->flow, server_now_ns(), o->job);
  } else {
    oc_flow_failed(s->flow, server_now_ns(), o->job, judge(o, m));
  }
}

void run_on_message(void *ctx, uint64_t job, const Omcc__V1__FromRunner *m,
                    struct oc_frame *f)
{
  struct oc_server *s = ctx;
  struct order *o = order_of_job(s, job);

  if (!o)
    return;
  order_hold(o);
  switch (m->body_case) {
  case OMCC__V1__FROM_RUNNER__BODY_OUTPUT: on_output(o, m->output); break;
  case OMCC__V1__FROM_RUNNER__BODY_PROGRESS:
    answer_progress(s, oc_flow_job(s->flow, job), "compiling", m->progress->rss_bytes);
    break;
  case OMCC__V1__FROM_RUNNER__BODY_DONE: on_done(o, m->done, f); break;
  default: break;
  }
  order_drop(o);
  server_settle(s);
}

void run_on_death(void *ctx, uint64_t job, const struct oc_death *how)
{
  struct oc_server *s = ctx;
  struct order *o = order_of_job(s, job);

  oc_counter_add(&s->count, OC_COUNT_WORKER_DEATHS, 1);
  if (!o)
    return;
  order_hold(o);
  order_set_failure(o, OC_STATUS_BUG,
                    "the process that runs the compiler died (signal %d)%s%s",
                    how->signal, *how->tail ? ": " : "", how->tail);
  oc_flow_failed(s->flow, server_now_ns(), job, OC_FAIL_DIED);
  order_drop(o);
  server_settle(s);
}
