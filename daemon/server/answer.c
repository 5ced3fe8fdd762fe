/* Answers: what a request is told, and what the log keeps of it.
 *
 * A request is gone once it has its Finished. Members travel as descriptors (or inline
 * when small), the report always as a descriptor. What the vendor's compiler said while
 * it ran goes out before, line by line, replayed when it ran for somebody else. */
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "server/reply.h"

static Omcc__V1__Member member_message(const char *name, const char *kind, uint32_t mode,
                                       uint64_t size, const uint8_t *sha256,
                                       const void *data)
{
  Omcc__V1__Member m = OMCC__V1__MEMBER__INIT;

  m.name = (char *)name;
  m.kind = (char *)kind;
  m.mode = mode;
  m.size = size;
  m.sha256.data = (uint8_t *)sha256;
  m.sha256.len = OC_SHA256_LEN;
  if (data) {
    m.inline_.data = (uint8_t *)data;
    m.inline_.len = size;
  }
  return m;
}

/* ---------------------------------------------------------------- hits */

static void replay_member(struct session *c, uint64_t id, const struct oc_cache_member *m)
{
  bool is_stderr = oc_streq(m->kind, "stderr");
  auto_free uint8_t *text = NULL;

  if (!c || !m->size)
    return;
  if (m->data) {
    run_replay(c, id, is_stderr, m->data, m->size);
    return;
  }
  text = malloc(m->size);
  if (text && pread(m->fd, text, m->size, 0) == (ssize_t)m->size)
    run_replay(c, id, is_stderr, text, m->size);
}

static bool add_cached(struct reply *p, const struct oc_cache_member *m)
{
  Omcc__V1__Member to =
      member_message(m->name, m->kind, m->mode, m->size, m->sha256, m->data);

  return reply_add_member(p, &to, m->fd);
}

static bool add_hit_members(struct reply *p, struct session *c, const struct request *r,
                            const struct oc_cache_hit *hit)
{
  const struct oc_cache_member *report = NULL;

  for (size_t i = 0; i < hit->n_members; i++) {
    const struct oc_cache_member *m = &hit->members[i];

    if (oc_streq(m->kind, "report"))
      report = m;
    else if (oc_streq(m->kind, "stdout") || oc_streq(m->kind, "stderr"))
      replay_member(c, r->id, m);
    else if (!add_cached(p, m))
      return false;
  }
  if (report && report->fd >= 0)
    reply_add_report(p, report->fd);
  else if (report && report->data)
    reply_add_report_bytes(p, r, report->data, report->size);
  return true;
}

void answer_hit(struct order *o, struct request *r, struct oc_cache_hit *hit)
{
  struct oc_server *s = o->srv;
  struct session *c = server_session(s, r->session);
  struct reply p;

  reply_init(&p, NULL, r);
  p.f.job = o->job;
  p.f.backend = (char *)hit->facts.backend;
  p.f.key.data = o->key;
  p.f.key.len = sizeof(o->key);
  if (!add_hit_members(&p, c, r, hit))
    reply_too_many(&p);
  p.f.result = (char *)"hit";
  p.f.hit_kind = (char *)(r->relabel ? "relabelled" : "exact");
  p.f.stored = (char *)"yes";
  p.f.device_ready = hit->facts.device_ready;
  p.f.compile_ms = hit->facts.compile_ms;
  p.f.saved_ms =
      hit->facts.compile_ms > p.f.elapsed_ms ? hit->facts.compile_ms - p.f.elapsed_ms : 0;
  p.f.peak_rss_bytes = hit->facts.peak_rss_bytes;
  p.f.tool_exit = hit->facts.tool_exit;
  p.f.table_id = (char *)hit->facts.table_id;
  p.f.toolkit = (char *)hit->facts.toolkit;
  reply_add_findings(&p, r, NULL);
  oc_counter_add(&s->count, r->relabel ? OC_COUNT_HITS_RELABELLED : OC_COUNT_HITS_EXACT,
                 1);
  oc_counter_add(&s->count, OC_COUNT_SAVED_MS, p.f.saved_ms);
  /* The request may be gone when a client did not take its replayed lines. */
  if (c && session_request(c, r->id) == r)
    reply_send(s, &p, r);
}

void answer_lookup(struct order *o, struct request *r, bool cached, const char *where)
{
  struct reply p;

  reply_init(&p, o, r);
  if (!o->uncached) {
    p.f.key.data = o->key;
    p.f.key.len = sizeof(o->key);
  }
  p.f.result = (char *)(cached ? "cached" : "uncached");
  p.f.hit_kind = (char *)(oc_streq(where, "remote") ? where : "");
  if (cached)
    p.f.n_miss_reasons = p.f.n_differences = p.f.nearest.len = 0;
  if (!cached)
    reply_set_status(&p, OC_STATUS_DIFFERS, "not cached");
  reply_add_findings(&p, r, NULL);
  reply_send(o->srv, &p, r);
}

/* ---------------------------------------------------------------- jobs */

static unsigned failure_status(enum oc_failure f)
{
  switch (f) {
  case OC_FAIL_REQUEST:
  case OC_FAIL_INPUT_CHANGED: return OC_STATUS_REQUEST;
  case OC_FAIL_TOOL: return OC_STATUS_TOOL_FAILED;
  case OC_FAIL_TIMEOUT: return OC_STATUS_STOPPED;
  case OC_FAIL_OOM: return OC_STATUS_OOM;
  default: return OC_STATUS_BUG;
  }
}

static const char *failure_message(enum oc_failure f)
{
  switch (f) {
  case OC_FAIL_REQUEST: return "the request cannot be compiled";
  case OC_FAIL_INPUT_CHANGED: return "an input changed while it was read";
  case OC_FAIL_TOOL: return "the compiler failed";
  case OC_FAIL_TIMEOUT: return "the time limit was reached";
  case OC_FAIL_OOM: return "the memory limit was reached";
  case OC_FAIL_DIED: return "the compiling process died";
  default: return "the daemon could not finish the job";
  }
}

static void fill_failure(struct reply *p, const struct order *o)
{
  const struct oc_flow_job *j = oc_flow_job(o->srv->flow, o->job);
  enum oc_failure why = j ? oc_flow_job_failure(j) : OC_FAIL_INTERNAL;

  if (o->fail_status)
    reply_set_status(p, o->fail_status,
                     o->fail_message ? o->fail_message : failure_message(why));
  else
    reply_set_status(p, failure_status(why), failure_message(why));
  p->f.tool_exit = o->tool_exit;
  reply_add_report(p, o->report_fd);
}

static bool is_remote(const struct order *o)
{
  return oc_streq(o->hit_kind, "remote");
}

static const char *result_word(const struct order *o, enum oc_answer how)
{
  if (how == OC_ANSWER_JOINED)
    return "joined";
  return how == OC_ANSWER_HIT || *o->hit_kind ? "hit" : "miss";
}

static const char *kind_word(const struct order *o, enum oc_answer how)
{
  if (how == OC_ANSWER_JOINED)
    return "joined";
  return how == OC_ANSWER_HIT ? "exact" : o->hit_kind;
}

static void fill_result(struct reply *p, const struct order *o, enum oc_answer how)
{
  for (size_t i = 0; i < o->n_members; i++) {
    const struct member *m = &o->members[i];

    Omcc__V1__Member to =
        member_message(m->name, m->kind, m->mode, m->size, m->sha256, m->data);

    if (reply_add_member(p, &to, m->fd))
      continue;
    reply_too_many(p);
    return;
  }
  reply_add_report(p, o->report_fd);
  p->f.result = (char *)result_word(o, how);
  p->f.hit_kind = (char *)kind_word(o, how);
  p->f.stored = (char *)o->stored;
  p->f.stored_reason = (char *)o->stored_reason;
  p->f.device_ready = o->device_ready;
  p->f.compile_ms = o->compile_ms;
  if (how == OC_ANSWER_HIT || is_remote(o)) {
    p->f.n_miss_reasons = p->f.n_differences = 0;
    p->f.saved_ms = o->compile_ms > p->f.elapsed_ms ? o->compile_ms - p->f.elapsed_ms : 0;
  }
  p->f.peak_rss_bytes = o->peak_rss_bytes;
  p->f.tool_exit = o->tool_exit;
  p->f.toolkit = (char *)o->toolkit;
  p->f.table_id = (char *)(o->table_id ? o->table_id : "");
}

void answer_captured(struct order *o, struct request *r)
{
  struct session *c = server_session(o->srv, r->session);

  for (int i = 0; c && i < 2; i++)
    if (o->captured[i].len)
      run_replay(c, r->id, i == 1, o->captured[i].data, o->captured[i].len);
}

static void count_answer(struct oc_server *s, const struct order *o, enum oc_answer how)
{
  switch (how) {
  case OC_ANSWER_RESULT:
    oc_counter_add(&s->count, OC_COUNT_FINISHED, 1);
    if (is_remote(o))
      oc_counter_add(&s->count, OC_COUNT_HITS_REMOTE, 1);
    else if (*o->hit_kind)
      oc_counter_add(&s->count, OC_COUNT_HITS_PLAN, 1);
    break;
  case OC_ANSWER_JOINED: oc_counter_add(&s->count, OC_COUNT_JOINED, 1); break;
  case OC_ANSWER_HIT: oc_counter_add(&s->count, OC_COUNT_HITS_EXACT, 1); break;
  case OC_ANSWER_FAILED: oc_counter_add(&s->count, OC_COUNT_FAILED, 1); break;
  case OC_ANSWER_STOPPED: oc_counter_add(&s->count, OC_COUNT_STOPPED, 1); break;
  case OC_ANSWER_EXPLAINED: break;
  }
}

void answer_job(struct order *o, struct request *r, enum oc_answer how)
{
  struct oc_server *s = o->srv;
  struct session *c = server_session(s, r->session);
  uint64_t id = r->id;
  struct reply p;

  count_answer(s, o, how);
  o->linked |= r->link;
  /* The compiler had spoken before it came, or on another machine. */
  if (how == OC_ANSWER_HIT || (how <= OC_ANSWER_JOINED && is_remote(o) && !o->spoke))
    answer_captured(o, r);
  if (!c || session_request(c, id) != r)
    return;
  reply_init(&p, o, r);
  switch (how) {
  case OC_ANSWER_RESULT:
  case OC_ANSWER_JOINED:
  case OC_ANSWER_HIT: fill_result(&p, o, how); break;
  case OC_ANSWER_EXPLAINED: reply_add_report(&p, o->report_fd); break;
  case OC_ANSWER_FAILED: fill_failure(&p, o); break;
  case OC_ANSWER_STOPPED:
    reply_set_status(&p, OC_STATUS_STOPPED,
                     s->stops ? "the daemon was stopped" : "the job was cancelled");
    break;
  }
  reply_add_findings(&p, r, o);
  reply_send(s, &p, r);
}

void answer_request_error(struct session *c, struct request *r, const char *message)
{
  struct reply p;

  reply_init(&p, NULL, r);
  reply_set_status(&p, OC_STATUS_REQUEST, message);
  reply_add_findings(&p, r, NULL);
  reply_send(c->srv, &p, r);
}

/* ---------------------------------------------------------------- on the way */

void answer_accepted(struct oc_server *s, struct request *r, const struct oc_flow_job *j)
{
  struct session *c = server_session(s, r->session);
  Omcc__V1__ToClient m = OMCC__V1__TO_CLIENT__INIT;
  Omcc__V1__Accepted accepted = OMCC__V1__ACCEPTED__INIT;

  r->accepted = true;
  accepted.job = oc_flow_job_id(j);
  accepted.joined = r->joined;
  accepted.state = (char *)oc_job_state_name(oc_flow_job_state(j));
  m.id = r->id;
  m.body_case = OMCC__V1__TO_CLIENT__BODY_ACCEPTED;
  m.accepted = &accepted;
  if (c)
    session_send(c, &m, NULL, 0);
}

static void progress_to(struct oc_server *s, struct request *r,
                        const struct oc_flow_job *j, const char *phase,
                        uint64_t rss_bytes)
{
  static const struct {
    const char *phase;
    uint32_t step;
  } steps[] = { { "reading", 1 },  { "fetching", 1 },  { "queued", 1 }, { "planning", 2 },
                { "building", 3 }, { "compiling", 3 }, { "storing", 3 } };
  struct session *c = server_session(s, r->session);
  Omcc__V1__ToClient m = OMCC__V1__TO_CLIENT__INIT;
  Omcc__V1__Progress p = OMCC__V1__PROGRESS__INIT;

  if (!r->accepted)
    answer_accepted(s, r, j);
  p.phase = (char *)phase;
  p.steps = 3;
  for (size_t i = 0; i < OC_COUNT(steps); i++)
    if (oc_streq(phase, steps[i].phase))
      p.step = steps[i].step;
  p.elapsed_ms = (server_now_ns() - r->started_ns) / 1000000;
  p.rss_bytes = rss_bytes;
  m.id = r->id;
  m.body_case = OMCC__V1__TO_CLIENT__BODY_PROGRESS;
  m.progress = &p;
  if (c && session_request(c, r->id) == r)
    session_send(c, &m, NULL, 0);
}

void answer_progress(struct oc_server *s, const struct oc_flow_job *j, const char *phase,
                     uint64_t rss_bytes)
{
  for (size_t i = 0; i < oc_flow_job_n_waiters(j); i++) {
    struct request *r = server_request(s, oc_flow_job_waiter(j, i));

    if (r)
      progress_to(s, r, j, phase, rss_bytes);
  }
}

void answer_output(struct oc_server *s, const struct oc_flow_job *j, bool is_stderr,
                   const uint8_t *p, size_t len)
{
  Omcc__V1__ToClient m = OMCC__V1__TO_CLIENT__INIT;
  Omcc__V1__Output out = OMCC__V1__OUTPUT__INIT;

  out.is_stderr = is_stderr;
  out.data.data = (uint8_t *)p;
  out.data.len = len;
  m.body_case = OMCC__V1__TO_CLIENT__BODY_OUTPUT;
  m.output = &out;
  for (size_t i = 0; i < oc_flow_job_n_waiters(j); i++) {
    const struct oc_waiter *w = oc_flow_job_waiter(j, i);
    struct session *c = server_session(s, w->session);

    m.id = w->request;
    if (c)
      session_send(c, &m, NULL, 0);
  }
}
