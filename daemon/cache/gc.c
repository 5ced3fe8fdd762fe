/* Eviction that somebody asked for, and pins. */
#include <string.h>

#include "base/cleanup.h"
#include "cache/cache_internal.h"

int oc_cache_unpin_expired(struct oc_cache *c, struct oc_error *err)
{
  sqlite3_stmt *s = oc_sql_use(&c->writer, OC_W_UNPIN_EXPIRED);

  sqlite3_bind_int64(s, 1, oc_cache_now_s());
  return oc_sql_run(s) == SQLITE_DONE ? 0 : oc_cache_sql_failed(c, &c->writer, err);
}

static bool fits_rules(struct oc_cache *c, const struct oc_cache_room *r,
                       const int64_t totals[OC_N_TOTALS])
{
  (void)c;
  return r->has_max && totals[OC_COUNT_BYTES] <= (int64_t)r->max_bytes;
}

void oc_cache_gc_run(struct oc_cache *c, struct oc_cache_job *job)
{
  struct oc_cache_event event = { .kind = OC_CACHE_DONE, .ticket = job->ticket };
  const struct oc_cache_gc *g = &job->gc;
  struct oc_error err = { 0 };
  struct oc_cache_room room = {
    .uid = -1,
    .used_before_s = g->unused_s ? oc_cache_ago_s(g->unused_s) : 0,
    .toolkit = g->toolkit,
    .has_max = g->has_max,
    .max_bytes = g->max_bytes,
    .enough = fits_rules,
  };

  if (oc_cache_make_room(c, &room, g->dry_run, &err) < 0)
    memcpy(event.reason, err.msg, sizeof(event.reason) - 1);
  event.count = room.gone;
  event.bytes = room.gone_bytes;
  oc_cache_post(c, &event);
}

bool oc_cache_gc(struct oc_cache *c, const struct oc_cache_gc *rules, uint64_t ticket)
{
  struct oc_cache_job *job = oc_cache_job_new(OC_JOB_GC);

  if (!job)
    return false;
  job->ticket = ticket;
  job->gc = *rules;
  if (rules->toolkit)
    job->gc.toolkit = oc_arena_strdup(&job->arena, rules->toolkit);
  if (!job->arena.failed && oc_cache_enqueue(c, job))
    return true;
  oc_cache_job_free(job);
  return false;
}

void oc_cache_pin_run(struct oc_cache *c, struct oc_cache_job *job)
{
  struct oc_cache_event event = { .kind = OC_CACHE_DONE, .ticket = job->ticket };
  sqlite3_stmt *s = oc_sql_use(&c->writer, OC_W_PIN);
  struct oc_error err = { 0 };

  oc_sql_bind_digest(s, 1, job->key);
  sqlite3_bind_int64(s, 2, job->until_s);
  if (oc_sql_run(s) == SQLITE_DONE) {
    event.count = (uint64_t)sqlite3_changes(c->writer.db);
  } else {
    oc_cache_sql_failed(c, &c->writer, &err);
    memcpy(event.reason, err.msg, sizeof(event.reason) - 1);
  }
  memcpy(event.key, job->key, sizeof(event.key));
  oc_cache_post(c, &event);
}

bool oc_cache_pin(struct oc_cache *c, const uint8_t key[OC_SHA256_LEN], int64_t until_s,
                  uint64_t ticket)
{
  struct oc_cache_job *job = oc_cache_job_new(OC_JOB_PIN);

  if (!job)
    return false;
  memcpy(job->key, key, OC_SHA256_LEN);
  job->until_s = until_s;
  job->ticket = ticket;
  if (oc_cache_enqueue(c, job))
    return true;
  oc_cache_job_free(job);
  return false;
}
