/* Making room: which entries go, in which order, and until when.
 *
 * Limits, one user's share and `gc` are the same walk along the logical clock of the last
 * use; they differ in who may go and in when it is enough. The index answers each step,
 * so nothing is scanned. What an output has announced counts as if it were stored, so
 * room is made before the bytes are written. An object in delivery is passed over, except
 * by who asked for its going. */
#include <limits.h>
#include <time.h>

#include "base/cleanup.h"
#include "cache/cache_internal.h"

/* Entries per transaction: the write lock is then held for a few milliseconds. */
#define SLICE 32

/* True when a member of the entry is being delivered. */
static bool is_held(struct oc_cache *c, int64_t id)
{
  auto_reset sqlite3_stmt *s = NULL;
  uint8_t sha256[OC_SHA256_LEN];

  if (!oc_cache_any_hold(c))
    return false;
  s = oc_sql_use(&c->writer, OC_W_MEMBERS);
  sqlite3_bind_int64(s, 1, id * OC_CACHE_MEMBER_SPAN);
  sqlite3_bind_int64(s, 2, id * OC_CACHE_MEMBER_SPAN + OC_CACHE_MEMBER_SPAN - 1);
  while (sqlite3_step(s) == SQLITE_ROW)
    if (sqlite3_column_int(s, 1) && oc_sql_digest(s, 0, sha256) &&
        oc_cache_is_held(c, sha256))
      return true;
  return false;
}

/* The next entry behind r->at that may go: 1 and its id, 0 none. */
static int next_victim(struct oc_cache *c, struct oc_cache_room *r, int64_t *ret_id,
                       struct oc_error *err)
{
  auto_reset sqlite3_stmt *s =
      oc_sql_use(&c->writer, r->uid < 0 ? OC_W_NEXT_VICTIM : OC_W_NEXT_VICTIM_OF);

  sqlite3_bind_int64(s, 1, r->at);
  if (r->uid >= 0)
    sqlite3_bind_int64(s, 2, r->uid);
  else
    sqlite3_bind_int64(s, 2, r->used_before_s);
  if (r->uid < 0 && r->toolkit)
    sqlite3_bind_text(s, 3, r->toolkit, -1, SQLITE_STATIC);
  for (;;) {
    int rc = sqlite3_step(s);
    if (rc == SQLITE_DONE)
      return 0;
    if (rc != SQLITE_ROW)
      return oc_cache_sql_failed(c, &c->writer, err);
    *ret_id = sqlite3_column_int64(s, 0);
    r->at = sqlite3_column_int64(s, 1);
    if (!r->spare_held || !is_held(c, *ret_id))
      return 1;
  }
}

/* One transaction of up to `most` entries; how many went, or a code. `undo`: takes it
 * back, so the figures count shared objects as the real thing would. */
static int slice(struct oc_cache *c, struct oc_cache_room *r, int most, bool undo,
                 struct oc_error *err)
{
  int64_t totals[OC_N_TOTALS], id = 0;
  int n = 0, rc = oc_cache_begin(c, err);

  if (rc < 0)
    return rc;
  oc_cache_totals(c, totals);
  int64_t before = totals[OC_COUNT_BYTES];
  while (n < most && !r->enough(c, r, totals)) {
    rc = next_victim(c, r, &id, err);
    if (rc <= 0)
      break;
    rc = oc_cache_entry_delete(c, id, totals, err);
    if (rc < 0)
      break;
    n++;
  }
  if (undo && rc >= 0)
    oc_sql_run(oc_sql_use(&c->writer, OC_W_ROLLBACK));
  else
    rc = oc_cache_end(c, rc < 0 ? rc : 0, totals, err);
  if (rc < 0)
    return rc;
  r->gone += (uint64_t)n;
  r->gone_bytes += (uint64_t)(before - totals[OC_COUNT_BYTES]);
  return n;
}

int oc_cache_make_room(struct oc_cache *c, struct oc_cache_room *r, bool undo,
                       struct oc_error *err)
{
  int n = oc_cache_unpin_expired(c, err);

  r->at = -1;
  if (n == 0 && undo)
    return slice(c, r, INT_MAX, true, err) < 0 ? OC_E_STORE : 0;
  for (n = n < 0 ? n : SLICE; n == SLICE;) {
    n = slice(c, r, SLICE, false, err);
    if (n > 0) {
      oc_cache_point(c, "evict-committed");
      oc_cache_limbo_clear(c, NULL);
    }
  }
  if (r->gone)
    oc_cache_count(c, OC_COUNT_EVICTED, r->gone);
  return n < 0 ? n : 0;
}

/* ---------------------------------------------------------------- limits */

static bool fits_limits(struct oc_cache *c, const struct oc_cache_room *r,
                        const int64_t totals[OC_N_TOTALS])
{
  int64_t bytes = totals[OC_COUNT_BYTES] + (int64_t)oc_cache_reserved(c);

  (void)r;
  if (totals[OC_COUNT_ENTRIES] <= 0)
    return true;
  return (!c->opt.max_bytes || bytes <= (int64_t)c->opt.max_bytes) &&
         (!c->opt.max_entries || totals[OC_COUNT_ENTRIES] <= (int64_t)c->opt.max_entries);
}

static bool fits_share(struct oc_cache *c, const struct oc_cache_room *r,
                       const int64_t totals[OC_N_TOTALS])
{
  auto_reset sqlite3_stmt *s = oc_sql_use(&c->writer, OC_W_SHARE);

  (void)totals;
  sqlite3_bind_int64(s, 1, r->uid);
  return sqlite3_step(s) != SQLITE_ROW ||
         sqlite3_column_int64(s, 0) <= (int64_t)c->opt.max_user_bytes;
}

static void evict(struct oc_cache *c, struct oc_cache_room *r)
{
  struct oc_cache_event event = { .kind = OC_CACHE_EVICTED };
  int64_t totals[OC_N_TOTALS];

  oc_cache_totals(c, totals);
  if (r->enough(c, r, totals))
    return;
  oc_cache_make_room(c, r, false, NULL);
  event.count = r->gone;
  if (r->gone)
    oc_cache_post(c, &event);
}

void oc_cache_evict(struct oc_cache *c, int64_t uid)
{
  struct oc_cache_room share = { .uid = uid, .spare_held = true, .enough = fits_share };
  struct oc_cache_room all = { .uid = -1, .spare_held = true, .enough = fits_limits };

  if (c->opt.max_user_bytes && uid >= 0)
    evict(c, &share);
  evict(c, &all);
}
