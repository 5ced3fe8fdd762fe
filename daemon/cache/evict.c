/* Making room, and dropping what turned out damaged. Rows go first, files after: in
 * between limbo names the files, so a kill leaves nothing that the next open does not
 * remove.
 *
 * Eviction follows the index on the logical clock of the last use; it never scans. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "cache/cache_internal.h"

/* Entries per transaction: the write lock is then held for a few milliseconds. */
#define SLICE 32

static int run_id(struct oc_cache *c, int which, int64_t first, int64_t last, bool range,
                  struct oc_error *err)
{
  sqlite3_stmt *s = oc_sql_use(&c->writer, which);

  sqlite3_bind_int64(s, 1, first);
  if (range)
    sqlite3_bind_int64(s, 2, last);
  return oc_sql_run(s) == SQLITE_DONE ? 0 : oc_cache_sql_failed(c, &c->writer, err);
}

/* An entry that names the object: 1 with id and key, 0 when none is left. */
static int next_user(struct oc_cache *c, const uint8_t sha256[OC_SHA256_LEN],
                     int64_t *ret_id, uint8_t ret_key[OC_SHA256_LEN],
                     struct oc_error *err)
{
  auto_reset sqlite3_stmt *s = oc_sql_use(&c->writer, OC_W_MEMBER_OF_OBJECT);

  oc_sql_bind_digest(s, 1, sha256);
  int rc = sqlite3_step(s);
  if (rc == SQLITE_DONE)
    return 0;
  if (rc != SQLITE_ROW)
    return oc_cache_sql_failed(c, &c->writer, err);
  *ret_id = sqlite3_column_int64(s, 0);
  oc_sql_digest(s, 1, ret_key);
  return 1;
}

/* A member has gone: when no other names the object, its row and plan keys go along. */
static int unref(struct oc_cache *c, const uint8_t sha256[OC_SHA256_LEN],
                 int64_t totals[OC_N_TOTALS], struct oc_error *err)
{
  uint8_t key[OC_SHA256_LEN];
  int64_t id = 0;
  int rc = next_user(c, sha256, &id, key, err);

  if (rc != 0)
    return rc < 0 ? rc : 0;
  sqlite3_stmt *s = oc_sql_use(&c->writer, OC_W_OBJECT_GET);
  oc_sql_bind_digest(s, 1, sha256);
  rc = sqlite3_step(s);
  int64_t size = rc == SQLITE_ROW ? sqlite3_column_int64(s, 0) : 0;
  sqlite3_reset(s);
  if (rc == SQLITE_DONE)
    return 0;
  if (rc != SQLITE_ROW)
    return oc_cache_sql_failed(c, &c->writer, err);
  totals[OC_COUNT_OBJECTS]--;
  totals[OC_COUNT_BYTES] -= size;
  rc = oc_cache_run_digest(c, OC_W_OBJECT_DELETE, sha256, err);
  if (rc == 0)
    rc = oc_cache_run_digest(c, OC_W_PLAN_DELETE, sha256, err);
  if (rc == 0)
    rc = oc_cache_run_digest(c, OC_W_LIMBO_ADD, sha256, err);
  return rc;
}

int oc_cache_entry_delete(struct oc_cache *c, int64_t id, int64_t totals[OC_N_TOTALS],
                          struct oc_error *err)
{
  uint8_t objects[OC_CACHE_MEMBER_SPAN][OC_SHA256_LEN];
  size_t n = 0;
  int64_t first = id * OC_CACHE_MEMBER_SPAN, last = first + OC_CACHE_MEMBER_SPAN - 1;
  sqlite3_stmt *s = oc_sql_use(&c->writer, OC_W_MEMBERS);
  int rc;

  sqlite3_bind_int64(s, 1, first);
  sqlite3_bind_int64(s, 2, last);
  while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
    if (!sqlite3_column_int(s, 1))
      totals[OC_COUNT_BYTES] -= sqlite3_column_int64(s, 2);
    else if (n < OC_CACHE_MEMBER_SPAN && oc_sql_digest(s, 0, objects[n]))
      n++;
  }
  sqlite3_reset(s);
  if (rc != SQLITE_DONE)
    return oc_cache_sql_failed(c, &c->writer, err);
  rc = run_id(c, OC_W_MEMBERS_DELETE, first, last, true, err);
  if (rc == 0)
    rc = run_id(c, OC_W_PARTS_DELETE, id, 0, false, err);
  if (rc == 0)
    rc = run_id(c, OC_W_ENTRY_DELETE, id, 0, false, err);
  for (size_t i = 0; i < n && rc == 0; i++)
    rc = unref(c, objects[i], totals, err);
  totals[OC_COUNT_ENTRIES]--;
  return rc;
}

int oc_cache_limbo_clear(struct oc_cache *c, struct oc_error *err)
{
  uint8_t sha256[OC_SHA256_LEN];
  int last = 0; /* bytes of `sha256` that say where we are */

  for (;;) {
    sqlite3_stmt *s = oc_sql_use(&c->writer, OC_W_LIMBO_NEXT);
    sqlite3_bind_blob(s, 1, sha256, last, SQLITE_TRANSIENT);
    int rc = sqlite3_step(s);
    bool claimed = rc == SQLITE_ROW && sqlite3_column_int(s, 1);
    bool read = rc == SQLITE_ROW && oc_sql_digest(s, 0, sha256);
    sqlite3_reset(s);
    if (rc == SQLITE_DONE)
      return 0;
    if (rc != SQLITE_ROW)
      return oc_cache_sql_failed(c, &c->writer, err);
    if (!read) {
      oc_cache_mark_broken(c); /* no digest in a digest column */
      return oc_error_set(err, OC_E_STORE, "the index of the cache is damaged");
    }
    last = OC_SHA256_LEN;
    /* A file that cannot be removed now keeps its row, and is tried again. */
    if (!claimed && !oc_cache_object_unlink(c, sha256))
      continue;
    oc_cache_point(c, "limbo-unlinked");
    rc = oc_cache_run_digest(c, OC_W_LIMBO_DELETE, sha256, err);
    if (rc < 0)
      return rc;
  }
}

/* ---------------------------------------------------------------- making room */

static bool over_limit(const struct oc_cache *c, const int64_t totals[OC_N_TOTALS])
{
  if (totals[OC_COUNT_ENTRIES] <= 0)
    return false;
  return (c->opt.max_bytes && totals[OC_COUNT_BYTES] > (int64_t)c->opt.max_bytes) ||
         (c->opt.max_entries && totals[OC_COUNT_ENTRIES] > (int64_t)c->opt.max_entries);
}

/* The entry that was used longest ago (of `uid` alone, unless it is negative) and is not
 * pinned: 1 and its id, 0 when there is none. */
static int oldest(struct oc_cache *c, int64_t uid, int64_t *ret_id, struct oc_error *err)
{
  auto_reset sqlite3_stmt *s =
      oc_sql_use(&c->writer, uid < 0 ? OC_W_OLDEST : OC_W_OLDEST_OF);

  if (uid >= 0)
    sqlite3_bind_int64(s, 1, uid);
  int rc = sqlite3_step(s);

  if (rc == SQLITE_DONE)
    return 0;
  if (rc != SQLITE_ROW)
    return oc_cache_sql_failed(c, &c->writer, err);
  *ret_id = sqlite3_column_int64(s, 0);
  return 1;
}

static bool over_share(struct oc_cache *c, int64_t uid)
{
  auto_reset sqlite3_stmt *s = oc_sql_use(&c->writer, OC_W_SHARE);

  sqlite3_bind_int64(s, 1, uid);
  return sqlite3_step(s) == SQLITE_ROW &&
         sqlite3_column_int64(s, 0) > (int64_t)c->opt.max_user_bytes;
}

static bool too_much(struct oc_cache *c, int64_t uid, const int64_t totals[OC_N_TOTALS])
{
  return uid < 0 ? over_limit(c, totals) : over_share(c, uid);
}

/* Up to SLICE entries; how many went, or a code. */
static int evict_slice(struct oc_cache *c, int64_t uid, struct oc_error *err)
{
  int64_t totals[OC_N_TOTALS], id = 0;
  int n = 0, rc = oc_cache_begin(c, err);

  if (rc < 0)
    return rc;
  oc_cache_totals(c, totals);
  while (n < SLICE && too_much(c, uid, totals)) {
    rc = oldest(c, uid, &id, err);
    if (rc <= 0)
      break;
    rc = oc_cache_entry_delete(c, id, totals, err);
    if (rc < 0)
      break;
    n++;
  }
  rc = oc_cache_end(c, rc < 0 ? rc : 0, totals, err);
  return rc < 0 ? rc : n;
}

/* `uid`: down to its share; negative: down to the limits of the cache. */
static void evict(struct oc_cache *c, int64_t uid)
{
  struct oc_cache_event event = { .kind = OC_CACHE_EVICTED };
  struct oc_error err;
  int n;

  do {
    int64_t totals[OC_N_TOTALS];
    oc_cache_totals(c, totals);
    if (!too_much(c, uid, totals))
      break;
    oc_cache_unpin_expired(c, &err);
    n = evict_slice(c, uid, &err);
    if (n > 0) {
      event.count += (uint64_t)n;
      oc_cache_point(c, "evict-committed");
      oc_cache_limbo_clear(c, &err);
    }
  } while (n == SLICE);
  if (event.count == 0)
    return;
  oc_cache_count(c, OC_COUNT_EVICTED, event.count);
  oc_cache_post(c, &event);
}

void oc_cache_evict(struct oc_cache *c, uint32_t uid)
{
  if (c->opt.max_user_bytes)
    evict(c, uid);
  evict(c, -1);
}

/* ---------------------------------------------------------------- damage */

static int drop_users(struct oc_cache *c, const uint8_t sha256[OC_SHA256_LEN],
                      struct oc_cache_event *event, struct oc_error *err)
{
  int64_t totals[OC_N_TOTALS], id = 0;
  int rc = oc_cache_begin(c, err);

  if (rc < 0)
    return rc;
  oc_cache_totals(c, totals);
  while ((rc = next_user(c, sha256, &id, event->key, err)) > 0) {
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
