/* Storing: after the answers, on the cache's writer thread.
 *
 * The row names members: artifact and side files as objects, report and captured lines
 * beside them. What the cache says of it later goes into the log and to flow. */
#include "server/server_internal.h"

#include <string.h>
#include <sys/stat.h>

#include "base/str.h"

/* Members of the result, and report, stdout, stderr. */
#define MOST_MEMBERS (OC_MAX_MEMBERS + 3)

static size_t add_members(struct order *o, struct oc_cache_put_member *to)
{
  for (size_t i = 0; i < o->n_members; i++) {
    struct member *m = &o->members[i];

    to[i] = (struct oc_cache_put_member){
      .name = m->name, .kind = m->kind, .mode = m->mode, .size = m->size, .fd = -1
    };
    memcpy(to[i].sha256, m->sha256, sizeof(m->sha256));
    if (m->data) {
      to[i].from = OC_CACHE_FROM_DATA;
      to[i].data = m->data;
    } else if (m->object) {
      to[i].from = OC_CACHE_FROM_OBJECT;
    } else {
      to[i].from = OC_CACHE_FROM_OUTPUT;
      to[i].output = &m->output;
      to[i].linked = o->linked;
    }
  }
  return o->n_members;
}

static size_t add_extras(struct order *o, struct oc_cache_put_member *to, size_t n)
{
  static const char *const streams[] = { "stdout", "stderr" };
  struct stat st;

  if (o->report_fd >= 0 && !fstat(o->report_fd, &st))
    to[n++] = (struct oc_cache_put_member){ .name = "report",
                                            .kind = "report",
                                            .mode = 0600,
                                            .from = OC_CACHE_FROM_COPY,
                                            .fd = o->report_fd,
                                            .size = (uint64_t)st.st_size };
  for (int i = 0; i < 2; i++)
    if (o->captured[i].len && !o->captured[i].failed)
      to[n++] = (struct oc_cache_put_member){ .name = streams[i],
                                              .kind = streams[i],
                                              .mode = 0600,
                                              .from = OC_CACHE_FROM_DATA,
                                              .data = o->captured[i].data,
                                              .size = o->captured[i].len,
                                              .fd = -1 };
  return n;
}

static const char *or_empty(const char *s)
{
  return s ? s : "";
}

static const char *base_name(const char *path)
{
  const char *slash = path ? strrchr(path, '/') : NULL;

  return slash ? slash + 1 : or_empty(path);
}

static void fill_facts(const struct order *o, struct oc_cache_facts *facts)
{
  facts->model = base_name(oc_flags_get(&o->flags, "model"));
  facts->soc = or_empty(oc_flags_get(&o->flags, "soc_version"));
  facts->backend = o->backend;
  facts->mode = or_empty(oc_flags_precision(&o->flags, NULL));
  facts->table_id = or_empty(o->table_id);
  facts->toolkit = o->toolkit;
  facts->uid = o->uid;
  facts->device_ready = o->device_ready;
  facts->compile_ms = o->compile_ms;
  facts->peak_rss_bytes = o->peak_rss_bytes;
  facts->tool_exit = o->tool_exit;
}

int publish_store(struct order *o, const uint8_t *plan_key)
{
  struct oc_server *s = o->srv;
  struct oc_cache_put_member members[MOST_MEMBERS];
  struct oc_cache_put put = { .parts = o->parts.data, .parts_len = o->parts.len };
  struct oc_error err = { 0 };

  if (!oc_streq(o->stored, "pending")) {
    oc_counter_add(&s->count, OC_COUNT_NOT_STORED, 1);
    return 1;
  }
  server_stop_point(s, o, "before-store");
  memcpy(put.key, o->key, sizeof(put.key));
  memcpy(put.model, o->model, sizeof(put.model));
  memcpy(put.options, o->options, sizeof(put.options));
  put.has_plan_key = plan_key != NULL;
  if (plan_key)
    memcpy(put.plan_key, plan_key, sizeof(put.plan_key));
  fill_facts(o, &put.facts);
  put.members = members;
  put.n_members = add_extras(o, members, add_members(o, members));
  if (!oc_cache_put(s->cache, &put, o->job, &err))
    return 0;
  oc_counter_add(&s->count, OC_COUNT_NOT_STORED, 1);
  order_log(o, OC_LOG_WARNING, "not_stored", err.msg);
  return 1;
}

static void log_event(const struct oc_server *s, const struct oc_cache_event *e)
{
  static const char *const names[] = {
    [OC_CACHE_STORED] = "stored",      [OC_CACHE_NOT_STORED] = "not_stored",
    [OC_CACHE_EVICTED] = "evicted",    [OC_CACHE_DAMAGED] = "object_damaged",
    [OC_CACHE_DONE] = "cache_done",    [OC_CACHE_TIDIED] = "cache_tidied",
    [OC_CACHE_BROKEN] = "cache_broken"
  };
  bool bad = e->kind != OC_CACHE_STORED && e->kind != OC_CACHE_EVICTED &&
             e->kind != OC_CACHE_TIDIED;
  struct oc_log_line l;

  oc_log_begin(&l, s->log, bad ? OC_LOG_WARNING : OC_LOG_INFO, names[e->kind]);
  if (e->kind == OC_CACHE_STORED || e->kind == OC_CACHE_NOT_STORED)
    oc_log_u64(&l, "job", e->ticket);
  if (e->kind == OC_CACHE_EVICTED)
    oc_log_u64(&l, "entries", e->count);
  if (e->kind == OC_CACHE_TIDIED) {
    oc_log_u64(&l, "entries", e->count);
    oc_log_u64(&l, "objects_removed", e->removed);
  }
  if (e->kind != OC_CACHE_EVICTED && e->kind != OC_CACHE_TIDIED)
    oc_log_hex(&l, "key", e->key, OC_SHA256_LEN);
  if (*e->reason)
    oc_log_str(&l, "reason", e->reason);
  oc_log_end(&l);
}

void publish_on_cache_events(struct oc_server *s)
{
  struct oc_cache_event e;

  while (oc_cache_next_event(s->cache, &e)) {
    if (e.kind == OC_CACHE_DONE && care_done(s, &e))
      continue;
    log_event(s, &e);
    if (e.kind != OC_CACHE_STORED && e.kind != OC_CACHE_NOT_STORED)
      continue;
    cache_trouble(s, e.kind == OC_CACHE_STORED ? "" : e.reason);
    oc_counter_add(&s->count,
                   e.kind == OC_CACHE_STORED ? OC_COUNT_STORED : OC_COUNT_NOT_STORED, 1);
    server_stop_point(s, order_of_job(s, e.ticket), "after-store");
    if (e.kind == OC_CACHE_STORED && order_of_job(s, e.ticket))
      remote_put(order_of_job(s, e.ticket));
    oc_flow_stored(s->flow, server_now_ns(), e.ticket);
  }
}
