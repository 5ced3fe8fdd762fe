/* The server as a whole: what is opened in which order, and given back.
 *
 * The listener comes last, so that whoever can connect is served; the locks of cache and
 * socket come before anything is changed. On failure everything that was opened is closed
 * through the loop, as it would be at the end of a life. */
#include "server/server_internal.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/str.h"

uint64_t server_now_ns(void)
{
  struct timespec t;

  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int copy_strings(struct oc_server *s, struct oc_error *err)
{
  const char **strings[] = { &s->o.socket_path,      &s->o.cache_dir,
                             &s->o.cache_durability, &s->o.worker_path,
                             &s->o.runner_path,      &s->o.tables_dir,
                             &s->o.tables_extra,     &s->o.backend,
                             &s->o.toolkit,          &s->o.stop_at };

  for (size_t i = 0; i < OC_COUNT(strings); i++) {
    *strings[i] = oc_arena_strdup(&s->arena, *strings[i] ? *strings[i] : "");
    if (!*strings[i])
      return oc_error_set(err, OC_E_NOMEM, "no memory for the server");
  }
  return 0;
}

static void at_cache_point(void *data, const char *point)
{
  server_stop_point(data, NULL, point);
}

static void on_cache_events(uv_poll_t *poll, int status, int events)
{
  struct oc_server *s = poll->data;

  (void)status;
  (void)events;
  publish_on_cache_events(s);
  server_settle(s);
}

static int open_cache(struct oc_server *s, struct oc_error *err)
{
  struct oc_cache_options o = { .dir = s->o.cache_dir,
                                .max_bytes = s->o.cache_limit_bytes,
                                .full_durability =
                                    oc_streq(s->o.cache_durability, "full"),
                                .allow_network_fs = s->o.cache_on_network,
                                .memo_on_network = s->o.cache_memo_on_network,
                                .key_fits = errand_key_fits,
                                .max_entries = s->o.cache_entries,
                                .max_user_bytes = s->o.cache_user_bytes,
                                .min_free_bytes = s->o.cache_free_bytes,
                                .scrub_bytes_per_s = s->o.cache_scrub_bytes_per_s,
                                .at_point = at_cache_point,
                                .at_point_data = s };
  struct oc_error why = { 0 };
  const char *aside;
  int r = oc_cache_open(&o, &s->cache, &why);

  if (r == OC_E_IO)
    r = through_open(s, &o, &why, err);
  else if (r)
    *err = why;
  if (r)
    return r;
  aside = oc_cache_set_aside(s->cache);
  if (aside)
    oc_log_event(s->log, OC_LOG_ERROR, "cache_set_aside", 0, aside);
  r = uv_poll_init(s->loop, &s->cache_poll, oc_cache_event_fd(s->cache));
  if (r)
    return oc_error_set(err, OC_E_IO, "cannot watch the cache: %s", uv_strerror(r));
  s->cache_poll.data = s;
  s->cache_polled = true;
  uv_poll_start(&s->cache_poll, UV_READABLE, on_cache_events);
  return 0;
}

static int open_flow(struct oc_server *s, struct oc_error *err)
{
  struct oc_flow_limits limits = { .slots = s->o.workers,
                                   .max_jobs = s->o.max_jobs,
                                   .max_per_uid = s->o.max_jobs_per_uid,
                                   .max_attempts = 2,
                                   .orphan_grace_ns = s->o.orphan_grace_ms * 1000000,
                                   .plan_limit_ns = s->o.plan_limit_ms * 1000000,
                                   .build_limit_ns = s->o.build_limit_ms * 1000000 };
  uint64_t first = 0;
  int r = job_ids_first(oc_cache_dir(s->cache), &first, s->log, err);

  /* The runner keeps the time of a run itself; flow only catches one that does not. */
  if (s->o.run_limit_ms)
    limits.run_limit_ns = (s->o.run_limit_ms + 30000) * 1000000;
  if (r)
    return r;
  s->flow = oc_flow_new(&limits, &server_effects, s, first);
  return s->flow ? 0 : oc_error_set(err, OC_E_NOMEM, "no memory for the job table");
}

static int open_pool(struct oc_server *s, struct oc_error *err)
{
  struct oc_pool_options o = { .loop = s->loop,
                               .log = s->log,
                               .events = &server_pool_events,
                               .ctx = s,
                               .worker_fd = s->backends.worker_fd,
                               .runner_path = s->o.runner_path,
                               .jobs_dir = s->jobs_dir,
                               .tables = s->backends.pool_tables,
                               .n_tables = s->backends.n_tables,
                               .ahead = s->o.workers,
                               .memory_mb = (uint32_t)(s->o.worker_memory_bytes >> 20),
                               .nofile = s->o.nofile };
  int r = oc_pool_open(&o, &s->pool, err);

  s->pool_open = !r;
  return r;
}

static int open_all(struct oc_server *s, struct oc_error *err)
{
  int r = copy_strings(s, err);

  if (!r && uv_loop_init(&s->own_loop))
    return oc_error_set(err, OC_E_NOMEM, "cannot make an event loop");
  s->loop = &s->own_loop;
  if (!r)
    r = listener_lock(s, err);
  if (!r)
    r = backends_load(s, err);
  if (!r)
    r = open_cache(s, err);
  if (!r)
    r = remote_open(s, err);
  if (!r)
    r = jobs_dir_choose(s, err);
  if (!r)
    r = open_flow(s, err);
  if (!r)
    r = stop_open(s, err);
  if (!r)
    r = digester_open(s, s->o.digest_threads, err);
  if (!r)
    r = open_pool(s, err);
  if (!r)
    r = listener_open(s, err);
  return r;
}

/* Runs the loop until nothing of the server is in it. */
static void undo(struct oc_server *s)
{
  stop_close(s);
  if (s->digester)
    digester_close(s);
  if (s->loop)
    uv_run(s->loop, UV_RUN_DEFAULT);
  oc_server_free(s);
}

int oc_server_open(const struct oc_server_options *o, struct oc_server **ret,
                   struct oc_error *err)
{
  struct oc_server *s = calloc(1, sizeof(*s));
  struct oc_log_line l;
  int r;

  if (!s)
    return oc_error_set(err, OC_E_NOMEM, "no memory for the server");
  oc_arena_init(&s->arena, 1 << 20);
  s->o = *o;
  s->log = o->log;
  s->listen_fd = s->socket_lock = -1;
  s->backends.worker_fd = -1;
  s->started_ns = server_now_ns();
  r = open_all(s, err);
  if (r) {
    undo(s);
    return r;
  }
  oc_log_begin(&l, s->log, OC_LOG_INFO, "listening");
  oc_log_str(&l, "version", OMCC_VERSION);
  oc_log_str(&l, "socket", s->o.socket_path);
  oc_log_str(&l, "cache", s->o.cache_dir);
  oc_log_end(&l);
  notify_say("READY=1");
  server_settle(s);
  *ret = s;
  return 0;
}

void oc_server_run(struct oc_server *s)
{
  uv_run(s->loop, UV_RUN_DEFAULT);
}

int oc_server_free(struct oc_server *s)
{
  const char *through;
  bool busy;

  if (!s)
    return 0;
  oc_flow_free(s->flow);
  remote_close(s); /* it writes into files of the cache */
  through = s->through ? oc_arena_strdup(&s->arena, oc_cache_dir(s->cache)) : NULL;
  /* Waits for what is queued; the lock goes last. */
  oc_cache_close(s->cache);
  if (through)
    through_remove(through);
  care_forget_all(s);
  why_forget_all(s);
  free(s->key_memo);
  backends_clear(&s->backends);
  listener_unlock(s);
  busy = s->loop && uv_loop_close(s->loop);
  oc_log_event(s->log, busy ? OC_LOG_ERROR : OC_LOG_INFO, "ended", 0,
               busy ? "the loop is not empty" : NULL);
  oc_buf_clear(&s->socs);
  oc_arena_clear(&s->arena);
  free(s);
  return busy ? OC_E_BUSY : 0;
}
