/* What comes back: frames are handed to the job they belong to, and callbacks run.
 *
 * The daemon is trusted to speak the protocol, not to be right: unknown bodies are
 * skipped (a newer daemon may tell more), frames for jobs that are gone are dropped with
 * their descriptors. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "lib/lib_internal.h"

int omcc_fd(const struct omcc *c)
{
  return c->channel ? oc_channel_fd(c->channel) : -1;
}

short omcc_events(const struct omcc *c)
{
  return c->channel && oc_channel_wants_write(c->channel) ? POLLIN | POLLOUT : POLLIN;
}

struct omcc_job *omcc_find_job(struct omcc *c, uint64_t request)
{
  struct omcc_job *job = c->jobs;

  while (job && job->request != request)
    job = job->next;
  return job;
}

/* One batch of at most OC_MAX_FRAME_FDS opened files. */
struct batch {
  Omcc__V1__ExternalFile files[OC_MAX_FRAME_FDS];
  Omcc__V1__ExternalFile *list[OC_MAX_FRAME_FDS];
  int fds[OC_MAX_FRAME_FDS];
  size_t n;
};

static int send_batch(struct omcc_job *job, struct batch *b, Omcc__V1__Files *m,
                      struct omcc_error *err)
{
  Omcc__V1__ToDaemon to = OMCC__V1__TO_DAEMON__INIT;
  struct oc_error e = { 0 };
  int rc;

  m->files = b->list;
  m->n_files = b->n;
  to.id = job->request;
  to.body_case = OMCC__V1__TO_DAEMON__BODY_FILES;
  to.files = m;
  rc = omcc_send(job->c, &to, b->fds, b->n, true, err);
  b->n = 0;
  if (!rc && !m->last && oc_channel_drain(job->c->channel, OMCC_DRAIN_MS, &e) < 0)
    rc = omcc_fail_from(err, OMCC_DAEMON, &e);
  return rc;
}

int omcc_answer_need_files(struct omcc_job *job, const Omcc__V1__NeedFiles *need,
                           struct omcc_error *err)
{
  Omcc__V1__Files m = OMCC__V1__FILES__INIT;
  struct batch b = { .n = 0 };
  auto_close int dir = job->model >= 0 ? omcc_open_dir_of(job->files[job->model].fd) : -1;
  char **missing = calloc(need->n_names + 1, sizeof(*missing));
  char **reasons = calloc(need->n_names + 1, sizeof(*reasons));
  int rc = missing && reasons ? 0 : omcc_fail(err, OMCC_E_NOMEM, OMCC_BUG, "no memory");

  for (size_t i = 0; i < need->n_names && !rc; i++) {
    const char *reason = "absent";
    int fd = -1;

    if (dir >= 0 && i < OC_MAX_EXTERNAL_FILES)
      fd = omcc_open_external(dir, need->names[i], &reason);
    if (fd < 0) {
      missing[m.n_missing++] = need->names[i];
      reasons[m.n_reasons++] = (char *)reason;
      continue;
    }
    omcc__v1__external_file__init(&b.files[b.n]);
    b.files[b.n].name = need->names[i];
    b.files[b.n].fd = (uint32_t)b.n;
    b.list[b.n] = &b.files[b.n];
    b.fds[b.n++] = fd;
    if (b.n == OC_MAX_FRAME_FDS) {
      Omcc__V1__Files part = OMCC__V1__FILES__INIT;

      rc = send_batch(job, &b, &part, err);
    }
  }
  m.missing = missing;
  m.reasons = reasons;
  m.last = true;
  if (!rc)
    rc = send_batch(job, &b, &m, err);
  for (size_t i = 0; i < b.n; i++)
    close(b.fds[i]);
  free(missing);
  free(reasons);
  return rc;
}

static void on_progress(struct omcc_job *job, const Omcc__V1__Progress *m)
{
  struct omcc_progress p = { .phase = m->phase,
                             .step = m->step,
                             .steps = m->steps,
                             .elapsed_ms = m->elapsed_ms,
                             .rss_bytes = m->rss_bytes };

  if (job->on.progress)
    job->on.progress(job->user, job, &p);
}

static int on_finished(struct omcc_job *job, const Omcc__V1__Finished *m,
                       struct oc_frame *frame, struct omcc_error *err)
{
  int rc = omcc_take_result(job, m, frame, err);

  if (rc < 0)
    return rc;
  job->finished = true;
  job->c->delivered = true;
  if (job->on.finished)
    job->on.finished(job->user, job, &job->result);
  return 0;
}

/* A refusal of one request is a result like others, with the daemon's words. */
static int on_refusal(struct omcc_job *job, const Omcc__V1__Refusal *m,
                      struct oc_frame *frame, struct omcc_error *err)
{
  Omcc__V1__Finished f = OMCC__V1__FINISHED__INIT;

  f.status = m->status ? m->status : OMCC_DAEMON;
  f.code = *m->code ? m->code : (char *)omcc_status_name((int)f.status);
  f.message = m->text;
  f.tool_exit = -1;
  return on_finished(job, &f, frame, err);
}

/* The question's answer as it came: whoever asked reads it. False: it is none. */
static bool take_answer(struct omcc *c, const struct oc_envelope *e,
                        struct oc_frame *frame)
{
  struct omcc_question_state *q = &c->question;

  switch (e->number) {
  case OMCC__V1__TO_CLIENT__BODY_STATUS:
  case OMCC__V1__TO_CLIENT__BODY_CACHE_STATS:
  case OMCC__V1__TO_CLIENT__BODY_CACHE_LIST:
  case OMCC__V1__TO_CLIENT__BODY_STOPPING:
  case OMCC__V1__TO_CLIENT__BODY_CACHE_ANSWER:
  case OMCC__V1__TO_CLIENT__BODY_SOCS: break;
  default: return false;
  }
  c->delivered = true;
  q->done = true;
  free(q->bytes);
  q->bytes = malloc(e->body_len + 1); /* an empty message has bytes too */
  q->rc = q->bytes ? 0 : OMCC_E_NOMEM;
  if (q->bytes)
    memcpy(q->bytes, e->body, e->body_len);
  q->len = e->body_len;
  while (q->n_fds < frame->n_fds) {
    q->fds[q->n_fds] = oc_frame_take_fd(frame, (uint32_t)q->n_fds);
    q->n_fds++;
  }
  return true;
}

static void on_question_refused(struct omcc *c, const Omcc__V1__Refusal *m)
{
  struct omcc_question_state *q = &c->question;

  q->done = true;
  q->rc = omcc_fail(&q->err, OMCC_E_PROTO, m->status ? (int)m->status : OMCC_DAEMON, "%s",
                    m->text);
}

static int on_message(struct omcc *c, const Omcc__V1__ToClient *m, struct oc_frame *frame,
                      struct omcc_error *err)
{
  struct omcc_job *job = omcc_find_job(c, m->id);

  if (!c->greeted)
    return omcc_take_hello(c, m, err);
  if (c->question.id && m->id == c->question.id) {
    if (m->body_case == OMCC__V1__TO_CLIENT__BODY_REFUSAL)
      on_question_refused(c, m->refusal);
    return 0;
  }
  if (!job || job->finished)
    return 0;
  switch (m->body_case) {
  case OMCC__V1__TO_CLIENT__BODY_ACCEPTED:
    job->id = m->accepted->job;
    if (job->on.accepted)
      job->on.accepted(job->user, job, job->id, m->accepted->joined);
    return 0;
  case OMCC__V1__TO_CLIENT__BODY_NEED_FILES:
    return omcc_answer_need_files(job, m->need_files, err);
  case OMCC__V1__TO_CLIENT__BODY_PROGRESS: on_progress(job, m->progress); return 0;
  case OMCC__V1__TO_CLIENT__BODY_OUTPUT:
    if (job->on.output)
      job->on.output(job->user, job, m->output->is_stderr, m->output->data.data,
                     m->output->data.len);
    return 0;
  case OMCC__V1__TO_CLIENT__BODY_MEMBERS:
    return omcc_take_members(job, m->members->members, m->members->n_members, frame, err);
  case OMCC__V1__TO_CLIENT__BODY_FINISHED:
    return on_finished(job, m->finished, frame, err);
  case OMCC__V1__TO_CLIENT__BODY_REFUSAL: return on_refusal(job, m->refusal, frame, err);
  default: return 0;
  }
}

static int on_frame(struct omcc *c, struct oc_frame *frame, struct omcc_error *err)
{
  struct oc_error e = { 0 };
  struct oc_envelope envelope;
  struct oc_arena arena;
  ProtobufCMessage *m;
  int rc;

  if (c->greeted && c->question.id &&
      !oc_envelope_look(frame->body, frame->len, &envelope) &&
      envelope.id == c->question.id && take_answer(c, &envelope, frame))
    return 0;
  oc_arena_init(&arena, oc_message_cap(frame->len));
  rc = oc_message_unpack(&omcc__v1__to_client__descriptor, frame->body, frame->len,
                         &arena, &m, &e);
  if (rc < 0)
    rc = omcc_fail_from(err, OMCC_DAEMON, &e);
  else
    rc = on_message(c, (Omcc__V1__ToClient *)m, frame, err);
  oc_frame_close_fds(frame);
  oc_arena_clear(&arena);
  return rc;
}

static int broken(struct omcc *c, int rc, const struct oc_error *e,
                  struct omcc_error *err)
{
  oc_channel_free(c->channel);
  c->channel = NULL;
  /* A daemon may answer and leave at once: the answer counts, the next call tells the
   * rest. */
  if (c->delivered)
    return 0;
  if (rc == OC_E_CLOSED || rc == OC_E_IO)
    return omcc_fail(err, OMCC_E_CLOSED, OMCC_DAEMON, "the daemon went away");
  return omcc_fail_from(err, OMCC_DAEMON, e);
}

static int take_frames(struct omcc *c, struct omcc_error *err)
{
  struct oc_error e = { 0 };

  for (;;) {
    struct oc_frame frame;
    int rc = oc_channel_next(c->channel, &frame, &e);

    if (rc < 0)
      return broken(c, rc, &e, err);
    if (rc == 0)
      return 0;
    rc = on_frame(c, &frame, err);
    if (rc < 0 && !c->greeted) {
      oc_channel_free(c->channel); /* refused: nothing else will come */
      c->channel = NULL;
    }
    if (rc < 0 || !c->channel)
      return rc;
  }
}

int omcc_dispatch(struct omcc *c, struct omcc_error *err)
{
  struct oc_error e = { 0 };
  int flushed, got, rc;

  if (!c->channel)
    return omcc_fail(err, OMCC_E_CLOSED, OMCC_DAEMON, "the daemon went away");
  c->delivered = false;
  /* A failed flush is no reason to stop: what the daemon said last may still be here. */
  flushed = oc_channel_wants_write(c->channel) ? oc_channel_flush(c->channel, &e) : 1;
  do {
    got = oc_channel_read(c->channel, &e);
    rc = take_frames(c, err);
    if (rc < 0 || !c->channel)
      return rc;
    /* Who waited for this need not wait for the look whether there is more. */
    if (got > 0 && c->delivered && flushed >= 0)
      return 0;
  } while (got > 0);
  if (got < 0)
    return broken(c, got, &e, err);
  if (flushed < 0)
    return broken(c, flushed, &e, err);
  return 0;
}

/* How long may be waited: not for ever for a daemon that does not greet. */
static int patience(const struct omcc *c, int timeout_ms)
{
  int64_t left = c->greet_by_ms - omcc_now_ms();

  if (left < 0)
    left = 0;
  return timeout_ms < 0 || left < timeout_ms ? (int)left : timeout_ms;
}

int omcc_wait(struct omcc *c, int timeout_ms, struct omcc_error *err)
{
  struct pollfd p = { .fd = omcc_fd(c), .events = omcc_events(c) };
  int r;

  if (p.fd < 0)
    return omcc_fail(err, OMCC_E_CLOSED, OMCC_DAEMON, "the daemon went away");
  r = poll(&p, 1, c->greeted ? timeout_ms : patience(c, timeout_ms));
  if (r < 0 && errno != EINTR)
    return omcc_fail(err, OMCC_E_IO, OMCC_DAEMON, "cannot wait for the daemon: %s",
                     strerror(errno));
  if (r == 0 && !c->greeted && omcc_now_ms() >= c->greet_by_ms)
    return omcc_fail(err, OMCC_E_BUSY, OMCC_DAEMON, "the daemon did not answer in time");
  return r > 0 ? omcc_dispatch(c, err) : 0;
}
