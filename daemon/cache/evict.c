/* Taking entries away. Rows go first, files after: in between limbo names the files, so a
 * kill leaves nothing that the next open does not remove. */
#include "base/cleanup.h"
#include "cache/cache_internal.h"

static int run_id(struct oc_cache *c, int which, int64_t first, int64_t last, bool range,
                  struct oc_error *err)
{
  sqlite3_stmt *s = oc_sql_use(&c->writer, which);

  sqlite3_bind_int64(s, 1, first);
  if (range)
    sqlite3_bind_int64(s, 2, last);
  return oc_sql_run(s) == SQLITE_DONE ? 0 : oc_cache_sql_failed(c, &c->writer, err);
}

int oc_cache_next_user(struct oc_cache *c, const uint8_t sha256[OC_SHA256_LEN],
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
  int rc = oc_cache_next_user(c, sha256, &id, key, err);

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

/* The entry's record goes with it. */
static int forget_record(struct oc_cache *c, int64_t id, int64_t totals[OC_N_TOTALS],
                         struct oc_error *err)
{
  sqlite3_stmt *s = oc_sql_use(&c->writer, OC_W_ENTRY_RECORD);
  uint8_t key[OC_SHA256_LEN];

  sqlite3_bind_int64(s, 1, id);
  int rc = sqlite3_step(s);
  bool read = rc == SQLITE_ROW && oc_sql_digest(s, 0, key);
  if (read)
    totals[OC_COUNT_BYTES] -= sqlite3_column_int64(s, 1);
  sqlite3_reset(s);
  if (rc != SQLITE_ROW && rc != SQLITE_DONE)
    return oc_cache_sql_failed(c, &c->writer, err);
  return read ? oc_cache_run_digest(c, OC_W_LIMBO_ADD, key, err) : 0;
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
  rc = forget_record(c, id, totals, err);
  if (rc == 0)
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
    bool recorded = rc == SQLITE_ROW && sqlite3_column_int(s, 2);
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
    if ((!claimed && !oc_cache_object_unlink(c, sha256)) ||
        (!recorded && !oc_cache_record_unlink(c, sha256)))
      continue;
    oc_cache_point(c, "limbo-unlinked");
    rc = oc_cache_run_digest(c, OC_W_LIMBO_DELETE, sha256, err);
    if (rc < 0)
      return rc;
  }
}
