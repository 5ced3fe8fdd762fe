/* Results of other machines: asked for after a local miss, used like one's own.
 *
 * What comes has been checked by the tier; here it becomes members, report and captured
 * lines of the order that asked, so that answers and storing are those of any result.
 * What was compiled here is put there once the store has it. */
#include "server/server_internal.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/finding.h"
#include "base/str.h"

/* Members, captured output, report and parts of one entry. */
#define MOST_PUT     (OC_MAX_MEMBERS + 4)
#define UPLOADS_MS   10000
#define REASON_BYTES 260

static int new_file(void *ctx, struct oc_remote_file *ret)
{
  struct oc_server *s = ctx;
  struct oc_cache_output out;
  int r = oc_cache_output_new(s->cache, &out, NULL);

  if (!r)
    *ret = (struct oc_remote_file){ out.fd, out.path };
  return r;
}

static void drop_file(void *ctx, struct oc_remote_file *f)
{
  struct oc_cache_output out = { .fd = f->fd, .path = f->path };

  (void)ctx;
  oc_cache_output_clear(&out);
  *f = (struct oc_remote_file){ .fd = -1 };
}

/* ---------------------------------------------------------------- what came */

static int adopt_member(struct order *o, struct oc_remote_member *from)
{
  const char *kind = oc_streq(from->kind, "side") ? "side" : "artifact";
  struct member *m = order_add_member(o, from->name, kind, from->mode);

  if (!m)
    return OC_E_NOMEM;
  m->size = from->size;
  memcpy(m->sha256, from->sha256, sizeof(m->sha256));
  if (from->file.fd < 0) {
    m->data = oc_arena_memdup(&o->arena, from->data, (size_t)from->size);
    return m->data ? 0 : OC_E_NOMEM;
  }
  m->output = (struct oc_cache_output){ .fd = from->file.fd, .path = from->file.path };
  from->file = (struct oc_remote_file){ .fd = -1 };
  if (oc_cache_output_seal(&m->output, NULL))
    return OC_E_IO;
  m->fd = fcntl(m->output.fd, F_DUPFD_CLOEXEC, 0);
  return m->fd < 0 ? OC_E_IO : 0;
}

static int adopt_report(struct order *o, const struct oc_remote_member *m)
{
  auto_close int fd = memfd_create("report", MFD_CLOEXEC | MFD_ALLOW_SEALING);

  if (fd < 0)
    return OC_E_IO;
  for (uint64_t at = 0; at < m->size;) {
    ssize_t n = write(fd, (const char *)m->data + at, (size_t)(m->size - at));

    if (n <= 0)
      return OC_E_IO;
    at += (uint64_t)n;
  }
  fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  oc_close_fd(&o->report_fd);
  o->report_fd = OC_STEAL_FD(fd);
  return 0;
}

/* All that can fail, before flow is told. */
int remote_adopt(struct order *o, struct oc_remote_entry *e)
{
  int r = 0;

  order_drop_members(o);
  for (size_t i = 0; i < e->n_members && !r; i++) {
    struct oc_remote_member *m = &e->members[i];

    if (oc_streq(m->kind, "report"))
      r = adopt_report(o, m);
    else if (!oc_streq(m->kind, "stdout") && !oc_streq(m->kind, "stderr"))
      r = adopt_member(o, m);
  }
  if (r)
    order_drop_members(o);
  return r;
}

int publish_remote(struct order *o)
{
  struct oc_remote_outcome *found = OC_STEAL(o->fetched);
  const struct oc_remote_facts *facts = &found->entry.facts;
  const char *toolkit = oc_arena_strdup(&o->arena, facts->toolkit);

  for (size_t i = 0; i < found->entry.n_members; i++) {
    const struct oc_remote_member *m = &found->entry.members[i];

    if (oc_streq(m->kind, "stdout") || oc_streq(m->kind, "stderr"))
      oc_buf_append(&o->captured[oc_streq(m->kind, "stderr")], m->data, (size_t)m->size);
  }
  o->hit_kind = "remote";
  o->toolkit = toolkit ? toolkit : "";
  o->device_ready = facts->device_ready;
  o->compile_ms = facts->compile_ms;
  o->peak_rss_bytes = facts->peak_rss_bytes;
  o->tool_exit = facts->tool_exit;
  oc_remote_outcome_free(found);
  publish_decide_storing(o);
  return 1;
}

/* ---------------------------------------------------------------- outcomes */

/* What the user can mend is a finding, what passes is a reason of the miss. */
void remote_tell_trouble(struct order *o, enum oc_remote_trouble trouble, const char *why)
{
  struct request *r = server_request(o->srv, &o->asker);
  char text[REASON_BYTES];

  if (trouble == OC_REMOTE_DENIED || trouble == OC_REMOTE_CERTIFICATE)
    oc_finding_add(&o->findings,
                   trouble == OC_REMOTE_DENIED ? OC_FINDING_REMOTE_CACHE_DENIED
                                               : OC_FINDING_REMOTE_CACHE_CERTIFICATE,
                   o->srv->o.remote.url, "reason", why, NULL);
  snprintf(text, sizeof(text), "the remote cache was of no use: %s", why);
  why_add_reason(r, text);
  order_log(o, OC_LOG_INFO, "remote_not_used", why);
}

void remote_found(struct order *o, struct oc_remote_outcome *e)
{
  uint8_t plan_key[OC_SHA256_LEN];
  bool has_plan_key = e->entry.has_plan_key;

  memcpy(plan_key, e->entry.plan_key, sizeof(plan_key));
  o->fetched = e;
  why_remember(o, server_request(o->srv, &o->asker), "remote hit");
  order_log(o, OC_LOG_INFO, "remote_hit", NULL);
  oc_flow_fetched(o->srv->flow, server_now_ns(), o->job, true,
                  has_plan_key ? plan_key : NULL);
}

static bool is_of_use(const struct order *o)
{
  const struct oc_flow_job *j = oc_flow_job(o->srv->flow, o->job);

  return j && oc_flow_job_state(j) < OC_JOB_PUBLISHING;
}

static void count_miss(struct order *o)
{
  if (!o->counted_miss)
    oc_counter_add(&o->srv->count, OC_COUNT_MISSES, 1);
  o->counted_miss = true;
}

static void not_found(struct order *o)
{
  count_miss(o);
  oc_flow_fetched(o->srv->flow, server_now_ns(), o->job, false, NULL);
}

static void take_outcome(struct oc_server *s, struct oc_remote_outcome *e)
{
  struct order *o = order_of_job(s, e->ticket);
  bool final = e->what != OC_REMOTE_SLOW;

  if (!o || !o->looking) {
    oc_remote_outcome_free(e);
    return;
  }
  if (order_only_asks(o)) {
    remote_take_asked(o, e);
    return;
  }
  o->looking = !final;
  if (e->what == OC_REMOTE_FAILED)
    remote_tell_trouble(o, e->trouble, e->why);
  if (e->what == OC_REMOTE_FOUND && is_of_use(o) && !remote_adopt(o, &e->entry)) {
    remote_found(o, e);
    return;
  }
  oc_remote_outcome_free(e);
  if (final)
    not_found(o);
  else
    oc_flow_fetch_slow(s->flow, server_now_ns(), o->job);
}

static void on_outcomes(uv_poll_t *poll, int status, int events)
{
  struct oc_server *s = poll->data;
  struct oc_remote_outcome *e;

  (void)status;
  (void)events;
  while ((e = oc_remote_next(s->remote)))
    take_outcome(s, e);
  server_settle(s);
}

int remote_look(struct order *o, const uint8_t *key, bool ask)
{
  struct oc_server *s = o->srv;
  struct oc_remote_status now;
  const char *why = NULL;

  if (!s->remote)
    return 0;
  if (oc_remote_look(s->remote, key, o->job, ask, &why)) {
    o->looking = true;
    return 1;
  }
  oc_remote_status(s->remote, &now);
  remote_tell_trouble(o, now.trouble, why);
  return 0;
}

int remote_fetch(struct order *o, const uint8_t *key)
{
  return o->fetched ? 1 : remote_look(o, key, false);
}

void remote_forget(struct order *o)
{
  if (o->looking) {
    if (!order_only_asks(o))
      count_miss(o);
    oc_remote_forget(o->srv->remote, o->job);
  }
  o->looking = false;
  if (o->fetched)
    oc_remote_outcome_free(o->fetched);
  o->fetched = NULL;
}

/* ---------------------------------------------------------------- putting */

static size_t members_of(const struct oc_cache_hit *hit, struct oc_remote_member *to)
{
  for (size_t i = 0; i < hit->n_members; i++) {
    const struct oc_cache_member *m = &hit->members[i];

    to[i] = (struct oc_remote_member){ .name = m->name,
                                       .kind = m->kind,
                                       .mode = m->mode,
                                       .size = m->size,
                                       .file = { .fd = m->fd },
                                       .data = m->data };
    memcpy(to[i].sha256, m->sha256, OC_SHA256_LEN);
  }
  return hit->n_members;
}

static size_t add_parts(const struct order *o, struct oc_remote_member *to, size_t n)
{
  to[n] = (struct oc_remote_member){ .name = "parts",
                                     .kind = "parts",
                                     .mode = 0600,
                                     .size = o->parts.len,
                                     .file = { .fd = -1 },
                                     .data = o->parts.data };
  return n + !oc_sha256_bytes(o->parts.data, o->parts.len, to[n].sha256);
}

void remote_put(struct order *o)
{
  struct oc_server *s = o->srv;
  const struct oc_flow_job *j = oc_flow_job(s->flow, o->job);
  const uint8_t *plan_key = j ? oc_flow_job_plan_key(j) : NULL;
  struct oc_remote_member members[MOST_PUT];
  struct oc_remote_entry e = { .has_plan_key = plan_key != NULL, .members = members };
  struct oc_cache_hit hit;

  if (!s->remote || !s->o.remote.write || oc_streq(o->hit_kind, "remote") ||
      oc_cache_show(s->cache, o->key, &hit) != 1)
    return;
  if (hit.n_members < MOST_PUT) {
    memcpy(e.key, o->key, sizeof(e.key));
    if (plan_key)
      memcpy(e.plan_key, plan_key, sizeof(e.plan_key));
    e.facts = (struct oc_remote_facts){ hit.facts.model,          hit.facts.soc,
                                        hit.facts.backend,        hit.facts.mode,
                                        hit.facts.table_id,       hit.facts.toolkit,
                                        hit.facts.device_ready,   hit.facts.compile_ms,
                                        hit.facts.peak_rss_bytes, hit.facts.tool_exit };
    e.n_members = add_parts(o, members, members_of(&hit, members));
    oc_remote_put(s->remote, &e);
  }
  oc_cache_hit_clear(&hit);
}

/* ---------------------------------------------------------------- open, close */

int remote_open(struct oc_server *s, struct oc_error *err)
{
  struct oc_remote_options o = s->o.remote;
  int r;

  if (!o.url || !*o.url)
    return 0;
  o.max_bytes = s->o.cache_limit_bytes;
  o.lanes = s->o.workers;
  o.log = s->log;
  o.new_file = new_file;
  o.drop_file = drop_file;
  o.ctx = s;
  r = oc_remote_open(&o, &s->remote, err);
  if (r)
    return r;
  r = uv_poll_init(s->loop, &s->remote_poll, oc_remote_event_fd(s->remote));
  if (r)
    return oc_error_set(err, OC_E_IO, "cannot watch the remote cache: %s",
                        uv_strerror(r));
  s->remote_poll.data = s;
  s->remote_polled = true;
  uv_poll_start(&s->remote_poll, UV_READABLE, on_outcomes);
  return 0;
}

void remote_unwatch(struct oc_server *s)
{
  if (s->remote_polled)
    uv_close((uv_handle_t *)&s->remote_poll, NULL);
  s->remote_polled = false;
}

void remote_close(struct oc_server *s)
{
  oc_remote_close(s->remote, s->stops > 1 ? 0 : UPLOADS_MS);
  s->remote = NULL;
}
