/* Eviction that somebody asked for, and pins.
 *
 * A dry run does the same in one transaction and takes it back, so its figures count
 * shared objects as the real run would. The real one goes in slices, as eviction does. */
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "cache/cache_internal.h"

#define SLICE 32

int oc_cache_unpin_expired(struct oc_cache *c, struct oc_error *err)
{
  sqlite3_stmt *s = oc_sql_use(&c->writer, OC_W_UNPIN_EXPIRED);

  sqlite3_bind_int64(s, 1, (int64_t)time(NULL));
  return oc_sql_run(s) == SQLITE_DONE ? 0 : oc_cache_sql_failed(c, &c->writer, err);
}

/* The next entry behind `*at` that fits the rules: 1 and its id, 0 none. */
static int next_victim(struct oc_cache *c, const struct oc_cache_gc *g, int64_t *at,
                       int64_t *ret_id, struct oc_error *err)
{
  auto_reset sqlite3_stmt *s = oc_sql_use(&c->writer, OC_W_NEXT_VICTIM);

  sqlite3_bind_int64(s, 1, *at);
  sqlite3_bind_int64(s, 2, g->unused_s ? (int64_t)time(NULL) - (int64_t)g->unused_s : 0);
  if (g->toolkit)
    sqlite3_bind_text(s, 3, g->toolkit, -1, SQLITE_STATIC);
  int rc = sqlite3_step(s);
  if (rc == SQLITE_DONE)
    return 0;
  if (rc != SQLITE_ROW)
    return oc_cache_sql_failed(c, &c->writer, err);
  *ret_id = sqlite3_column_int64(s, 0);
  *at = sqlite3_column_int64(s, 1);
  return 1;
}

/* One transaction; 1: there may be more, 0: done. */
static int slice(struct oc_cache *c, const struct oc_cache_gc *g, int64_t *at,
                 struct oc_cache_event *event, struct oc_error *err)
{
  int64_t totals[OC_N_TOTALS], id = 0;
  int n = 0, rc = oc_cache_begin(c, err);

  if (rc < 0)
    return rc;
  oc_cache_totals(c, totals);
  int64_t before = totals[OC_COUNT_BYTES];
  rc = 1;
  while (rc == 1 && (g->dry_run || n < SLICE)) {
    if (g->has_max && totals[OC_COUNT_BYTES] <= (int64_t)g->max_bytes)
      rc = 0;
    else
      rc = next_victim(c, g, at, &id, err);
    if (rc != 1)
      break;
    int deleted = oc_cache_entry_delete(c, id, totals, err);
    if (deleted < 0)
      rc = deleted;
    else
      n++;
  }
  event->count += (uint64_t)n;
  event->bytes += (uint64_t)(before - totals[OC_COUNT_BYTES]);
  if (g->dry_run) {
    oc_sql_run(oc_sql_use(&c->writer, OC_W_ROLLBACK));
    return rc < 0 ? rc : 0;
  }
  int ended = oc_cache_end(c, rc < 0 ? rc : 0, totals, err);
  return ended < 0 ? ended : rc;
}

void oc_cache_gc_run(struct oc_cache *c, struct oc_cache_job *job)
{
  struct oc_cache_event event = { .kind = OC_CACHE_DONE, .ticket = job->ticket };
  struct oc_error err = { 0 };
  int64_t at = -1;
  int rc = oc_cache_unpin_expired(c, &err);

  do {
    if (rc == 0)
      rc = slice(c, &job->gc, &at, &event, &err);
    if (rc >= 0 && !job->gc.dry_run)
      oc_cache_limbo_clear(c, NULL);
    if (rc == 1)
      rc = 0;
    else
      break;
  } while (true);
  if (rc < 0)
    memcpy(event.reason, err.msg, sizeof(event.reason) - 1);
  if (event.count && !job->gc.dry_run)
    oc_cache_count(c, OC_COUNT_EVICTED, event.count);
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
