/* How a Finished leaves. A frame carries few descriptors and at most a megabyte: members
 * beyond that go before it, in Members frames, so that a result of any size it may have
 * arrives whole. Whoever receives them appends; the Finished ends the list. */
#include "server/reply.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/str.h"

/* Inline bytes of one frame; the rest of it is names, findings and reasons. */
#define REPLY_INLINE_BYTES (OC_MAX_FRAME / 2)

void reply_init(struct reply *p, const struct order *o, const struct request *r)
{
  p->n_members = 0;
  p->bytes = 0;
  p->report_fd = p->own_fd = -1;
  omcc__v1__finished__init(&p->f);
  p->f.elapsed_ms = (server_now_ns() - r->started_ns) / 1000000;
  p->f.tool_exit = -1;
  p->f.miss_reasons = r->reasons;
  p->f.n_miss_reasons = r->n_reasons;
  p->f.differences = r->differences;
  p->f.n_differences = r->n_differences;
  p->f.nearest.data = (uint8_t *)r->nearest;
  p->f.nearest.len = r->has_nearest ? sizeof(r->nearest) : 0;
  p->f.code = (char *)"ok";
  if (!o)
    return;
  p->f.backend = (char *)o->backend;
  p->f.job = o->job;
  if (!o->uncached && o->keyed) {
    p->f.key.data = (uint8_t *)o->key;
    p->f.key.len = sizeof(o->key);
  }
}

bool reply_add_member(struct reply *p, const Omcc__V1__Member *m, int fd)
{
  Omcc__V1__Member *to = &p->members[p->n_members];

  if (p->n_members == OC_MAX_MEMBERS)
    return false;
  *to = *m;
  to->where_case = fd >= 0 ? OMCC__V1__MEMBER__WHERE_FD : OMCC__V1__MEMBER__WHERE_INLINE;
  p->list[p->n_members] = to;
  p->fds[p->n_members++] = fd;
  p->bytes += m->size;
  return true;
}

void reply_add_report(struct reply *p, int fd)
{
  p->report_fd = fd;
}

void reply_add_report_bytes(struct reply *p, const struct request *r, const void *data,
                            uint64_t size)
{
  if (r->report_inline && size <= OC_INLINE_MEMBER) {
    p->f.report_case = OMCC__V1__FINISHED__REPORT_REPORT_INLINE;
    p->f.report_inline.data = (uint8_t *)data;
    p->f.report_inline.len = size;
    return;
  }
  p->own_fd = memfd_create("report", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (p->own_fd < 0 || write(p->own_fd, data, size) != (ssize_t)size)
    return;
  fcntl(p->own_fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  reply_add_report(p, p->own_fd);
}

void reply_add_findings(struct reply *p, struct request *r, const struct order *o)
{
  size_t n_own = 0, n_order = 0;
  Omcc__V1__Finding **own = oc_findings_to_messages(&r->findings, &r->arena, &n_own);
  Omcc__V1__Finding **order =
      o ? oc_findings_to_messages(&o->findings, &r->arena, &n_order) : NULL;
  Omcc__V1__Finding **all = OC_NEW_N(&r->arena, Omcc__V1__Finding *, n_own + n_order + 1);

  if (!all)
    return;
  if (own && n_own)
    memcpy(all, own, n_own * sizeof(Omcc__V1__Finding *));
  if (order && n_order)
    memcpy(all + n_own, order, n_order * sizeof(Omcc__V1__Finding *));
  p->f.findings = all;
  p->f.n_findings = (own ? n_own : 0) + (order ? n_order : 0);
}

void reply_set_status(struct reply *p, unsigned status, const char *message)
{
  p->f.status = status;
  p->f.code = (char *)oc_status_word(status);
  p->f.message = (char *)message;
}

void reply_too_many(struct reply *p)
{
  p->n_members = 0;
  p->bytes = 0;
  reply_set_status(p, OC_STATUS_BUG, "the result has more files than a result can have");
}

static void log_answer(const struct oc_server *s, const struct reply *p)
{
  struct oc_log_line l;

  oc_log_begin(&l, s->log, OC_LOG_INFO, "answered");
  oc_log_u64(&l, "job", p->f.job);
  oc_log_str(&l, "code", p->f.code);
  oc_log_str(&l, "result", p->f.result);
  if (*p->f.hit_kind)
    oc_log_str(&l, "kind", p->f.hit_kind);
  if (p->f.key.len)
    oc_log_hex(&l, "key", p->f.key.data, p->f.key.len);
  oc_log_u64(&l, "bytes", p->bytes);
  oc_log_u64(&l, "ms", p->f.elapsed_ms);
  if (*p->f.stored)
    oc_log_str(&l, "stored", p->f.stored);
  if (*p->f.stored_reason)
    oc_log_str(&l, "reason", p->f.stored_reason);
  if (*p->f.message)
    oc_log_str(&l, "message", p->f.message);
  oc_log_end(&l);
}

/* Members from `at` on that fit into one frame beside `room` descriptors less. Their
 * numbers are set, their descriptors put into `fds`. */
static size_t fill_frame(struct reply *p, size_t at, size_t room, int *fds, size_t *n_fds)
{
  uint64_t inlined = 0;
  size_t n = 0;

  *n_fds = 0;
  for (; at + n < p->n_members; n++) {
    Omcc__V1__Member *m = &p->members[at + n];
    bool is_fd = p->fds[at + n] >= 0;

    if (is_fd ? *n_fds == room : n && inlined + m->size > REPLY_INLINE_BYTES)
      break;
    if (is_fd) {
      m->fd = (uint32_t)*n_fds;
      fds[(*n_fds)++] = p->fds[at + n];
    } else {
      inlined += m->size;
    }
  }
  return n;
}

/* False when the session is gone. */
static bool send_finished(struct session *c, struct reply *p, uint64_t id, size_t at,
                          size_t n, int *fds, size_t n_fds)
{
  Omcc__V1__ToClient m = OMCC__V1__TO_CLIENT__INIT;

  p->f.members = p->list + at;
  p->f.n_members = n;
  if (p->report_fd >= 0) {
    p->f.report_case = OMCC__V1__FINISHED__REPORT_REPORT_FD;
    p->f.report_fd = (uint32_t)n_fds;
    fds[n_fds++] = p->report_fd;
  }
  m.id = id;
  m.body_case = OMCC__V1__TO_CLIENT__BODY_FINISHED;
  m.finished = &p->f;
  return session_send(c, &m, fds, n_fds);
}

static bool send_all(struct session *c, struct reply *p, uint64_t id)
{
  int fds[OC_MAX_FRAME_FDS];
  size_t at = 0, n_fds, n;

  for (;;) {
    Omcc__V1__ToClient m = OMCC__V1__TO_CLIENT__INIT;
    Omcc__V1__Members part = OMCC__V1__MEMBERS__INIT;

    /* One place is kept for the report. */
    n = fill_frame(p, at, OC_MAX_FRAME_FDS - 1, fds, &n_fds);
    if (at + n == p->n_members)
      return send_finished(c, p, id, at, n, fds, n_fds);
    part.members = p->list + at;
    part.n_members = n;
    m.id = id;
    m.body_case = OMCC__V1__TO_CLIENT__BODY_MEMBERS;
    m.members = &part;
    if (!session_send(c, &m, fds, n_fds))
      return false;
    at += n;
  }
}

void reply_send(struct oc_server *s, struct reply *p, struct request *r)
{
  struct session *c = server_session(s, r->session);
  uint64_t id = r->id;

  p->f.link = s->o.deliver_link;
  for (size_t i = 0; c && i < p->n_members; i++)
    if (p->fds[i] >= 0)
      session_delivers(c, p->members[i].sha256.data, r->link);
  log_answer(s, p);
  oc_counter_add(&s->count, OC_COUNT_BYTES_DELIVERED, p->bytes);
  if (c && send_all(c, p, id)) {
    r = session_request(c, id);
    if (r)
      session_drop_request(c, r);
  }
  if (p->own_fd >= 0)
    close(p->own_fd);
}
