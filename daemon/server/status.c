/* Questions about the daemon itself: all answered at once, from memory and the index. */
#include "server/server_internal.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"

#define MOST_WORKERS  512
#define MOST_ENTRIES  1000
#define MOST_COUNTERS (OC_COUNTER_N + OC_JOB_N_STATES + 16)

struct counters {
  Omcc__V1__Counter items[MOST_COUNTERS];
  Omcc__V1__Counter *list[MOST_COUNTERS];
  size_t n;
};

static void add(struct counters *c, const char *name, uint64_t value)
{
  Omcc__V1__Counter *m = &c->items[c->n];

  omcc__v1__counter__init(m);
  m->name = (char *)name;
  m->value = value;
  c->list[c->n++] = m;
}

static void add_jobs(const struct oc_server *s, struct counters *c)
{
  static const enum oc_job_state running[] = { OC_JOB_PLANNING, OC_JOB_BUILDING,
                                               OC_JOB_RUNNING };
  uint64_t n = 0;

  for (size_t i = 0; i < OC_COUNT(running); i++)
    n += oc_flow_n_in(s->flow, running[i]);
  add(c, "running", n);
  add(c, "queued", oc_flow_n_in(s->flow, OC_JOB_QUEUED));
  add(c, "reading", oc_flow_n_in(s->flow, OC_JOB_READING));
  add(c, "fetching", oc_flow_n_in(s->flow, OC_JOB_FETCHING));
  add(c, "storing",
      oc_flow_n_in(s->flow, OC_JOB_STORING) + oc_flow_n_in(s->flow, OC_JOB_PUBLISHING));
  for (int i = 0; i < OC_COUNTER_N; i++)
    add(c, oc_counter_name((enum oc_counter)i), s->count.value[i]);
}

static void add_cache(struct oc_server *s, struct counters *c)
{
  struct oc_cache_stats st;

  oc_cache_stats(s->cache, &st);
  add(c, "entries", st.entries);
  add(c, "objects", st.objects);
  add(c, "bytes", st.bytes);
  add(c, "max_bytes", st.max_bytes);
  add(c, "hits", st.hits);
  add(c, "misses", st.misses);
  add(c, "stored", st.stored);
  add(c, "not_stored", st.not_stored);
  add(c, "evicted", st.evicted);
  add(c, "damaged", st.damaged);
  add(c, "memo_hits", st.memo_hits);
  add(c, "memo_misses", st.memo_misses);
  add(c, "saved_ms", st.saved_ms);
  add(c, "proofs", st.proofs);
}

static void add_remote(struct oc_server *s, Omcc__V1__RemoteCache *m, struct counters *c,
                       struct oc_remote_status *st)
{
  omcc__v1__remote_cache__init(m);
  oc_remote_status(s->remote, st);
  add(c, "looks", st->looks);
  add(c, "hits", st->hits);
  add(c, "misses", st->misses);
  add(c, "failures", st->failures);
  add(c, "not_asked", st->not_asked);
  add(c, "wrong_bytes", st->wrong_bytes);
  add(c, "foreign", st->foreign);
  add(c, "puts", st->puts);
  add(c, "puts_failed", st->puts_failed);
  add(c, "puts_dropped", st->puts_dropped);
  add(c, "puts_waiting", st->waiting_puts);
  add(c, "bytes_in", st->bytes_in);
  add(c, "bytes_out", st->bytes_out);
  add(c, "opened", st->opened);
  add(c, "lost_ms", st->lost_ms);
  m->url = (char *)s->o.remote.url;
  m->write = s->o.remote.write;
  m->state = (char *)oc_breaker_state_name(st->state);
  m->why = st->why;
  m->counters = c->list;
  m->n_counters = c->n;
}

static uint64_t rss_bytes(void)
{
  auto_fclose FILE *f = fopen("/proc/self/statm", "re");
  unsigned long size, resident;

  if (!f || fscanf(f, "%lu %lu", &size, &resident) != 2)
    return 0;
  return (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static const char *default_backend(const struct oc_server *s)
{
  const char *why;
  const char *name = backend_choose(s, "", WANT_COMPILE, &why);

  return name ? name : "none";
}

void status_answer(struct session *c, uint64_t id)
{
  struct oc_server *s = c->srv;
  Omcc__V1__ToClient m = OMCC__V1__TO_CLIENT__INIT;
  Omcc__V1__Status st = OMCC__V1__STATUS__INIT;
  struct oc_pool_worker found[MOST_WORKERS];
  Omcc__V1__Worker worker[MOST_WORKERS], *workers[MOST_WORKERS];
  struct counters jobs = { .n = 0 }, cache = { .n = 0 }, remote = { .n = 0 };
  Omcc__V1__RemoteCache remote_message;
  struct oc_remote_status remote_now;
  size_t n = oc_pool_workers(s->pool, found, MOST_WORKERS);

  for (size_t i = 0; i < n && i < MOST_WORKERS; i++) {
    omcc__v1__worker__init(&worker[i]);
    worker[i].pid = found[i].pid;
    worker[i].state = (char *)found[i].state;
    worker[i].job = found[i].job;
    workers[i] = &worker[i];
  }
  add_jobs(s, &jobs);
  add_cache(s, &cache);
  if (s->remote) {
    add_remote(s, &remote_message, &remote, &remote_now);
    st.remote = &remote_message;
  }
  st.workers = workers;
  st.n_workers = n < MOST_WORKERS ? n : MOST_WORKERS;
  st.jobs = jobs.list;
  st.n_jobs = jobs.n;
  st.cache = cache.list;
  st.n_cache = cache.n;
  st.pid = (uint32_t)getpid();
  st.version = (char *)OMCC_VERSION;
  st.uptime_s = (server_now_ns() - s->started_ns) / 1000000000;
  st.socket = (char *)s->o.socket_path;
  st.cache_dir = (char *)s->o.cache_dir;
  st.backend_default = (char *)default_backend(s);
  st.toolkit = (char *)(s->backends.has_toolkit ? s->backends.toolkit.dir : "");
  st.rss_bytes = rss_bytes();
  st.cache_trouble = s->cache_trouble;
  m.id = id;
  m.body_case = OMCC__V1__TO_CLIENT__BODY_STATUS;
  m.status = &st;
  session_send(c, &m, NULL, 0);
}

/* What was counted in the last `seconds`. */
static void add_since(struct oc_server *s, uint64_t seconds, struct oc_arena *arena,
                      struct counters *c)
{
  struct oc_cache_figure *figures;
  size_t n = 0;

  if (oc_cache_figures(s->cache, seconds, arena, &figures, &n) < 0)
    return;
  for (size_t i = 0; i < n && c->n < MOST_COUNTERS; i++)
    add(c, figures[i].name, figures[i].value);
}

/* How hits and misses of this daemon's life were made up. */
static void add_kinds(const struct oc_server *s, struct counters *c)
{
  static const enum oc_counter shown[] = {
    OC_COUNT_HITS_EXACT,    OC_COUNT_HITS_PLAN,      OC_COUNT_HITS_RELABELLED,
    OC_COUNT_HITS_REMOTE,   OC_COUNT_JOINED,         OC_COUNT_MISSED_NEW,
    OC_COUNT_MISSED_MODEL,  OC_COUNT_MISSED_LIST,    OC_COUNT_MISSED_SOC,
    OC_COUNT_MISSED_OPTION, OC_COUNT_MISSED_BACKEND, OC_COUNT_MISSED_DROPPED,
    OC_COUNT_MISSED_DAMAGED
  };

  for (size_t i = 0; i < OC_COUNT(shown); i++)
    add(c, oc_counter_name(shown[i]), s->count.value[shown[i]]);
}

static void answer_stats(struct session *c, uint64_t id, uint64_t seconds)
{
  Omcc__V1__ToClient m = OMCC__V1__TO_CLIENT__INIT;
  Omcc__V1__CacheStats st = OMCC__V1__CACHE_STATS__INIT;
  struct counters counters = { .n = 0 };
  struct oc_arena arena;

  oc_arena_init(&arena, 1u << 20);
  if (seconds) {
    add_since(c->srv, seconds, &arena, &counters);
  } else {
    add_cache(c->srv, &counters);
    add_kinds(c->srv, &counters);
  }
  st.counters = counters.list;
  st.n_counters = counters.n;
  st.dir = (char *)c->srv->o.cache_dir;
  m.id = id;
  m.body_case = OMCC__V1__TO_CLIENT__BODY_CACHE_STATS;
  m.cache_stats = &st;
  session_send(c, &m, NULL, 0);
  oc_arena_clear(&arena);
}

static Omcc__V1__CacheEntry *entry_message(const struct oc_cache_entry *e,
                                           struct oc_arena *arena)
{
  Omcc__V1__CacheEntry *m = OC_NEW(arena, Omcc__V1__CacheEntry);

  if (!m)
    return NULL;
  omcc__v1__cache_entry__init(m);
  m->key.data = (uint8_t *)e->key;
  m->key.len = sizeof(e->key);
  m->model = (char *)e->facts.model;
  m->soc = (char *)e->facts.soc;
  m->backend = (char *)e->facts.backend;
  m->mode = (char *)e->facts.mode;
  m->size = e->size;
  m->created_s = e->created_s;
  m->used_s = e->used_s;
  m->hits = e->hits;
  m->compile_ms = e->facts.compile_ms;
  m->toolkit = (char *)e->facts.toolkit;
  m->pinned_s = e->pinned_s;
  m->uid = e->facts.uid;
  return m;
}

static void answer_list(struct session *c, uint64_t id, uint32_t limit)
{
  Omcc__V1__ToClient m = OMCC__V1__TO_CLIENT__INIT;
  Omcc__V1__CacheList answer = OMCC__V1__CACHE_LIST__INIT;
  struct oc_cache_entry *entries;
  struct oc_arena arena;
  size_t n = 0;
  bool more = false;

  if (!limit || limit > MOST_ENTRIES)
    limit = MOST_ENTRIES;
  oc_arena_init(&arena, 8u << 20);
  if (oc_cache_list(c->srv->cache, session_scope(c), limit, &arena, &entries, &n, &more) <
      0)
    n = 0;
  answer.entries = OC_NEW_N(&arena, Omcc__V1__CacheEntry *, n + 1);
  for (size_t i = 0; answer.entries && i < n; i++) {
    Omcc__V1__CacheEntry *e = entry_message(&entries[i], &arena);

    if (e)
      answer.entries[answer.n_entries++] = e;
  }
  answer.truncated = more;
  m.id = id;
  m.body_case = OMCC__V1__TO_CLIENT__BODY_CACHE_LIST;
  m.cache_list = &answer;
  session_send(c, &m, NULL, 0);
  oc_arena_clear(&arena);
}

void status_cache(struct session *c, uint64_t id, const Omcc__V1__CacheRequest *m,
                  struct oc_frame *f)
{
  if (m->what == OMCC__V1__CACHE_REQUEST__WHAT__LIST)
    answer_list(c, id, m->limit);
  else if (m->what == OMCC__V1__CACHE_REQUEST__WHAT__STATS)
    answer_stats(c, id, m->older_than_s);
  else
    care_answer(c, id, m, f);
}
