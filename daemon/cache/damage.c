/* Dropping what turned out damaged: the object goes to quarantine, every entry that names
 * it loses its rows. The writer always looks for itself: whoever told it may have seen a
 * row of the past. */
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "cache/cache_internal.h"

static int drop_users(struct oc_cache *c, const uint8_t sha256[OC_SHA256_LEN],
                      struct oc_cache_event *event, struct oc_error *err)
{
  int64_t totals[OC_N_TOTALS], id = 0;
  int rc = oc_cache_begin(c, err);

  if (rc < 0)
    return rc;
  oc_cache_totals(c, totals);
  while ((rc = oc_cache_next_user(c, sha256, &id, event->key, err)) > 0) {
    rc = oc_cache_entry_delete(c, id, totals, err);
    if (rc < 0)
      break;
    event->count++;
  }
  return oc_cache_end(c, rc, totals, err);
}

/* The writer looks for itself: the reader may have seen a row of the past. */
static void drop_object(struct oc_cache *c, const uint8_t sha256[OC_SHA256_LEN],
                        bool digest)
{
  struct oc_cache_event event = { .kind = OC_CACHE_DAMAGED };
  struct oc_error err;
  struct stat st;
  sqlite3_stmt *s = oc_sql_use(&c->writer, OC_W_OBJECT_GET);

  oc_sql_bind_digest(s, 1, sha256);
  int rc = sqlite3_step(s);
  uint64_t size = rc == SQLITE_ROW ? (uint64_t)sqlite3_column_int64(s, 0) : 0;
  uint64_t ino = rc == SQLITE_ROW ? (uint64_t)sqlite3_column_int64(s, 1) : 0;
  int64_t mtime_ns = rc == SQLITE_ROW ? sqlite3_column_int64(s, 2) : 0;
  sqlite3_reset(s);
  enum oc_cache_object_state state =
      oc_cache_object_open(c, sha256, size, ino, mtime_ns, NULL, NULL);
  if (rc == SQLITE_ROW && state == OC_OBJECT_GOOD && !digest)
    return;
  if (rc == SQLITE_ROW && (state == OC_OBJECT_GOOD || state == OC_OBJECT_CHANGED) &&
      oc_cache_object_verify(c, sha256, &st)) {
    oc_cache_note_proven(c, sha256, &st);
    if (state == OC_OBJECT_GOOD)
      return;
    /* Restored from a backup, or touched: the bytes are the same. */
    s = oc_sql_use(&c->writer, OC_W_OBJECT_STAT);
    oc_sql_bind_digest(s, 1, sha256);
    sqlite3_bind_int64(s, 2, (int64_t)st.st_ino);
    sqlite3_bind_int64(s, 3, oc_cache_mtime_ns(&st));
    if (oc_sql_run(s) != SQLITE_DONE)
      oc_cache_sql_failed(c, &c->writer, NULL);
    return;
  }
  if (rc == SQLITE_ROW)
    oc_cache_object_quarantine(c, sha256);
  if (drop_users(c, sha256, &event, &err) < 0 || event.count == 0)
    return;
  oc_cache_limbo_clear(c, &err);
  oc_cache_count(c, OC_COUNT_DAMAGED, 1);
  memcpy(event.reason, "an object was not what it should be",
         sizeof("an object was not what it should be"));
  oc_cache_post(c, &event);
}

/* A row whose manifest does not fit its digest; the reader saw it in a committed state,
 * and the writer changes rows only as a whole, so it is dropped without a second look. */
static void drop_entry(struct oc_cache *c, const uint8_t key[OC_SHA256_LEN])
{
  struct oc_cache_event event = { .kind = OC_CACHE_DAMAGED, .count = 1 };
  int64_t totals[OC_N_TOTALS];
  struct oc_error err;
  sqlite3_stmt *s = oc_sql_use(&c->writer, OC_W_ENTRY_ID);

  oc_sql_bind_digest(s, 1, key);
  int rc = sqlite3_step(s);
  int64_t id = rc == SQLITE_ROW ? sqlite3_column_int64(s, 0) : 0;
  sqlite3_reset(s);
  if (rc != SQLITE_ROW || oc_cache_begin(c, &err) < 0)
    return;
  oc_cache_totals(c, totals);
  rc = oc_cache_entry_delete(c, id, totals, &err);
  if (oc_cache_end(c, rc, totals, &err) < 0)
    return;
  oc_cache_limbo_clear(c, &err);
  oc_cache_count(c, OC_COUNT_DAMAGED, 1);
  memcpy(event.key, key, sizeof(event.key));
  memcpy(event.reason, "a row of the index was damaged",
         sizeof("a row of the index was damaged"));
  oc_cache_post(c, &event);
}

void oc_cache_drop(struct oc_cache *c, struct oc_cache_job *job)
{
  if (job->has_object)
    drop_object(c, job->object, job->digest);
  else
    drop_entry(c, job->key);
}
