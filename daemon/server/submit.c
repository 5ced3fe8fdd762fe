/* Submit: checks, then a request and an order.
 *
 * What a client sends is believed as far as it can be checked: flags go through the same
 * table and rules again, descriptors must be regular files, lists must be sealed, so that
 * nothing can change under the daemon while it maps them. */
#include "server/server_internal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"

/* Findings and miss reasons of one request. */
#define REQUEST_ARENA_CAP (4u << 20)
#define LIST_SEALS        (F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW)

static struct request *request_new(struct session *c, uint64_t id, enum want want)
{
  struct request *r = calloc(1, sizeof(*r));

  if (!r)
    return NULL;
  r->session = c->id;
  r->id = id;
  r->want = want;
  r->started_ns = server_now_ns();
  oc_arena_init(&r->arena, REQUEST_ARENA_CAP);
  oc_findings_init(&r->findings, &r->arena);
  r->next = c->requests;
  c->requests = r;
  c->n_requests++;
  return r;
}

static int take_flags(struct order *o, const Omcc__V1__Submit *m, struct oc_error *err)
{
  if (m->n_flags > OC_MAX_ARGS)
    return oc_error_set(err, OC_E_PROTO, "a request has %zu flags", m->n_flags);
  for (size_t i = 0; i < m->n_flags; i++) {
    const char *name = oc_arena_strdup(&o->arena, m->flags[i]->name);
    const char *value = oc_arena_strdup(&o->arena, m->flags[i]->value);

    if (!name || !value || oc_flags_set(&o->flags, name, value))
      return oc_error_set(err, OC_E_NOMEM, "no memory for a request");
  }
  return 0;
}

static int take_file(struct order *o, const Omcc__V1__File *m, int fd,
                     struct oc_error *err)
{
  struct input *in = &o->files[o->n_files++];

  in->fd = fd;
  in->flag = oc_arena_strdup(&o->arena, m->flag);
  in->name = oc_arena_strdup(&o->arena, m->name);
  in->list = m->sealed;
  return in->flag && in->name ? 0
                              : oc_error_set(err, OC_E_NOMEM, "no memory for a request");
}

/* Every File names one descriptor of its frame, each descriptor once. */
static int take_descriptors(struct order *o, const Omcc__V1__Submit *m,
                            struct oc_frame *f, struct oc_error *err)
{
  if (m->n_files != f->n_fds)
    return oc_error_set(err, OC_E_PROTO, "a request names %zu files and brings %zu",
                        m->n_files, f->n_fds);
  o->files = OC_NEW_N(&o->arena, struct input, m->n_files + 1);
  o->folders = OC_NEW_N(&o->arena, struct folder, m->n_files + 1);
  if (!o->files || !o->folders)
    return oc_error_set(err, OC_E_NOMEM, "no memory for a request");
  for (size_t i = 0; i < m->n_files; i++) {
    int fd = oc_frame_take_fd(f, m->files[i]->fd), rc;

    if (fd < 0)
      return oc_error_set(err, OC_E_PROTO, "a request names a descriptor twice");
    rc = m->files[i]->directory ? folders_take(o, m->files[i], fd, err)
                                : take_file(o, m->files[i], fd, err);
    if (rc)
      return rc;
  }
  return 0;
}

static int map_list(struct input *in, struct oc_error *err)
{
  int seals = fcntl(in->fd, F_GET_SEALS);
  size_t size = (size_t)in->seen.st.st_size;

  if (seals < 0 || (seals & LIST_SEALS) != LIST_SEALS)
    return oc_error_set(err, OC_E_PROTO, "the list for '%s' is not sealed", in->flag);
  if (size > OC_MAX_LIST_BYTES)
    return oc_error_set(err, OC_E_PROTO, "the list for '%s' is too large", in->flag);
  in->len = size;
  if (!size)
    return 0;
  in->bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, in->fd, 0);
  if (in->bytes == MAP_FAILED) {
    in->bytes = NULL;
    return oc_error_errno(err, OC_E_IO, "cannot map the list for '%s'", in->flag);
  }
  return 0;
}

/* What is no regular file is the user's mistake, what is not sealed the client's. */
static int look_at_files(struct order *o, struct request *r, struct oc_error *err)
{
  for (size_t i = 0; i < o->n_files; i++) {
    struct input *in = &o->files[i];
    int rc = oc_cache_see(in->fd, &in->seen);
    struct oc_finding *f;

    if (!rc && in->list)
      rc = map_list(in, err);
    if (rc == OC_E_PROTO || rc == OC_E_NOMEM)
      return rc;
    if (!rc)
      continue;
    f = oc_finding_add(&r->findings, OC_FINDING_INPUT_NOT_REGULAR, in->name, NULL);
    f->flag = in->flag;
  }
  return 0;
}

static int open_job(struct session *c, struct request *r, struct order *o)
{
  struct oc_flow_order fo = { .uid = c->uid,
                              .want = r->want == WANT_EXPLAIN ? OC_WANT_EXPLAIN
                                                              : OC_WANT_COMPILE,
                              .uses_tool = oc_streq(o->backend, "atc"),
                              .waiter = { c->id, r->id },
                              .data = o };
  int rc = oc_flow_open(c->srv->flow, server_now_ns(), &fo, &o->job);

  if (rc)
    return rc;
  r->job = o->job;
  o->asker = fo.waiter;
  return 0;
}

static void refuse_job(struct session *c, uint64_t id, int rc)
{
  if (rc == OC_E_CLOSED)
    session_refuse(c, id, "stopping", "the daemon is stopping", OC_STATUS_DAEMON);
  else if (rc == OC_E_LIMIT)
    session_refuse(c, id, "busy", "the daemon has too many jobs, try again later",
                   OC_STATUS_DAEMON);
  else
    session_refuse(c, id, "busy", "the daemon is short of memory", OC_STATUS_DAEMON);
}

static void log_request(const struct order *o, const struct session *c)
{
  const char *model = oc_flags_get(&o->flags, "model");
  const char *soc = oc_flags_get(&o->flags, "soc_version");
  struct oc_log_line l;

  oc_log_begin(&l, o->srv->log, OC_LOG_INFO, "request");
  oc_log_u64(&l, "job", o->job);
  oc_log_u64(&l, "uid", c->uid);
  oc_log_u64(&l, "pid", c->pid);
  oc_log_str(&l, "model", model ? model : "");
  oc_log_str(&l, "soc", soc ? soc : "");
  oc_log_str(&l, "backend", o->backend);
  oc_log_end(&l);
}

/* 0: the order is on its way (or answered), and is flow's. 1: answered without a job. */
static int start(struct session *c, struct request *r, struct order *o, const char *asked)
{
  static const enum oc_counter counters[] = { [WANT_COMPILE] = OC_COUNT_REQUESTS,
                                              [WANT_EXPLAIN] = OC_COUNT_EXPLAINS,
                                              [WANT_LOOKUP] = OC_COUNT_LOOKUPS };
  struct oc_cache *cache = c->srv->cache;
  const char *why = NULL;
  int rc;

  oc_counter_add(&c->srv->count, counters[r->want], 1);
  o->backend = backend_choose(c->srv, asked, r->want, &why);
  if (!o->backend) {
    uint64_t id = r->id;

    session_drop_request(c, r);
    session_refuse(c, id, "environment", why, OC_STATUS_ENVIRONMENT);
    return 1;
  }
  if (!o->names_only)
    oc_flags_check_rules(&o->flags, &r->findings);
  oc_flags_check_backend(&o->flags,
                         oc_streq(o->backend, "atc") ? OC_FLAGS_ATC : OC_FLAGS_BUILTIN,
                         &r->findings);
  if (oc_findings_have_errors(&r->findings)) {
    answer_request_error(c, r, "the request is not right");
    return 1;
  }
  rc = open_job(c, r, o);
  if (rc) {
    uint64_t id = r->id;

    session_drop_request(c, r);
    refuse_job(c, id, rc);
    return 1;
  }
  log_request(o, c);
  /* What is unchanged since the last time is answered by a few reads of the index. */
  oc_cache_reads_begin(cache);
  reading_start(o);
  oc_cache_reads_end(cache);
  return 0;
}

static void order_abandon(struct order *o)
{
  o->forgotten = true;
  order_maybe_free(o);
}

int submit_take(struct session *c, uint64_t id, const Omcc__V1__Submit *m,
                struct oc_frame *f, struct oc_error *err)
{
  struct request *r;
  struct order *o;
  bool names_only;
  int rc;

  if (session_request(c, id))
    return oc_error_set(err, OC_E_PROTO, "a client used a request number twice");
  if (c->n_requests >= OC_SESSION_REQUESTS) {
    session_refuse(c, id, "busy", "too many requests on one connection",
                   OC_STATUS_DAEMON);
    return 0;
  }
  if (m->want > OMCC__V1__SUBMIT__WANT__OPS)
    return oc_error_set(err, OC_E_PROTO, "a client wants something unknown");
  names_only = m->want == OMCC__V1__SUBMIT__WANT__OPS;
  r = request_new(c, id, names_only ? WANT_EXPLAIN : (enum want)m->want);
  o = order_new(c->srv, c->uid);
  if (!r || !o) {
    if (o)
      order_abandon(o);
    return oc_error_set(err, OC_E_NOMEM, "no memory for a request");
  }
  o->want = r->want;
  o->names_only = names_only;
  o->strict_lists = m->strict_lists;
  o->cached_only = m->cached_only;
  r->relabel = m->relabel;
  r->report_inline = m->report_inline;
  r->link = (m->link || c->srv->o.deliver_link) && !m->relabel && c->uid == geteuid();
  o->stop_at = oc_arena_strdup(&o->arena, m->stop_at);
  rc = take_flags(o, m, err);
  if (!rc)
    rc = take_descriptors(o, m, f, err);
  if (!rc)
    rc = look_at_files(o, r, err);
  if (rc || start(c, r, o, m->backend))
    order_abandon(o);
  return rc;
}
