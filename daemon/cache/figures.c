/* What people ask the cache about: figures, entries, and candidates for "why". All by the
 * reader; nothing here writes. */
#include <string.h>

#include "base/cleanup.h"
#include "cache/cache_internal.h"

void oc_cache_read_facts(sqlite3_stmt *s, struct oc_arena *arena,
                         struct oc_cache_facts *ret)
{
  ret->model = oc_sql_text(s, 0, arena);
  ret->soc = oc_sql_text(s, 1, arena);
  ret->backend = oc_sql_text(s, 2, arena);
  ret->mode = oc_sql_text(s, 3, arena);
  ret->table_id = oc_sql_text(s, 4, arena);
  ret->toolkit = oc_sql_text(s, 5, arena);
  ret->uid = (uint32_t)sqlite3_column_int64(s, 6);
  ret->device_ready = sqlite3_column_int(s, 7);
  ret->compile_ms = (uint64_t)sqlite3_column_int64(s, 8);
  ret->peak_rss_bytes = (uint64_t)sqlite3_column_int64(s, 9);
  ret->tool_exit = sqlite3_column_int(s, 10);
}

void oc_cache_stats(struct oc_cache *c, struct oc_cache_stats *ret)
{
  pthread_mutex_lock(&c->mutex);
  *ret = (struct oc_cache_stats){
    .entries = c->counters[OC_COUNT_ENTRIES],
    .objects = c->counters[OC_COUNT_OBJECTS],
    .bytes = c->counters[OC_COUNT_BYTES],
    .max_bytes = c->opt.max_bytes,
    .max_entries = c->opt.max_entries,
    .hits = c->counters[OC_COUNT_HITS],
    .misses = c->counters[OC_COUNT_MISSES],
    .damaged = c->counters[OC_COUNT_DAMAGED],
    .stored = c->counters[OC_COUNT_STORED],
    .not_stored = c->counters[OC_COUNT_NOT_STORED],
    .evicted = c->counters[OC_COUNT_EVICTED],
    .memo_hits = c->memo_hits,
    .memo_misses = c->memo_misses,
    .saved_ms = c->counters[OC_COUNT_SAVED_MS],
    .queued = c->n_jobs,
    .proofs = c->proofs,
  };
  pthread_mutex_unlock(&c->mutex);
}

static void read_entry(sqlite3_stmt *s, struct oc_arena *arena, struct oc_cache_entry *e)
{
  oc_cache_read_facts(s, arena, &e->facts);
  e->size = (uint64_t)sqlite3_column_int64(s, 11);
  e->created_s = (uint64_t)sqlite3_column_int64(s, 12);
  e->used_s = (uint64_t)sqlite3_column_int64(s, 13);
  e->hits = (uint64_t)sqlite3_column_int64(s, 14);
  oc_sql_digest(s, 15, e->key);
  e->pinned_s = (uint64_t)sqlite3_column_int64(s, 16);
}

int oc_cache_list(struct oc_cache *c, int64_t uid, size_t limit, struct oc_arena *arena,
                  struct oc_cache_entry **ret, size_t *ret_n, bool *ret_more)
{
  struct oc_cache_entry *items = NULL;
  size_t n = 0, room = 0;
  bool more = false;
  int rc = SQLITE_DONE;

  if (atomic_load(&c->broken))
    return OC_E_STORE;
  auto_reset sqlite3_stmt *s = oc_sql_use(&c->reader, OC_R_LIST);
  sqlite3_bind_int64(s, 1, (int64_t)limit + 1);
  sqlite3_bind_int64(s, 2, uid);
  while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
    if (n == limit) {
      more = true;
      break;
    }
    if (n == room) {
      size_t bigger = room ? room * 2 : 16;
      items = oc_arena_grow(arena, items, room, bigger, sizeof(*items));
      if (!items)
        return OC_E_NOMEM;
      room = bigger;
    }
    memset(&items[n], 0, sizeof(items[n]));
    read_entry(s, arena, &items[n]);
    n++;
  }
  if (rc != SQLITE_DONE && rc != SQLITE_ROW)
    return oc_cache_sql_failed(c, &c->reader, NULL);
  if (arena->failed)
    return OC_E_NOMEM;
  *ret = items;
  *ret_n = n;
  *ret_more = more;
  return 0;
}

static bool have(const struct oc_cache_candidate *items, size_t n, const uint8_t *key)
{
  for (size_t i = 0; i < n; i++)
    if (memcmp(items[i].key, key, OC_SHA256_LEN) == 0)
      return true;
  return false;
}

/* Adds what one query gives, up to `max` in all. */
static int gather(struct oc_cache *c, int which, const uint8_t *by, int64_t uid,
                  size_t max, struct oc_arena *arena, struct oc_cache_candidate *items,
                  size_t *n)
{
  auto_reset sqlite3_stmt *s = oc_sql_use(&c->reader, which);
  uint8_t key[OC_SHA256_LEN];
  int rc = SQLITE_DONE;

  if (by)
    oc_sql_bind_digest(s, 1, by);
  sqlite3_bind_int64(s, 2, uid);
  sqlite3_bind_int64(s, 3, (int64_t)max);
  while (*n < max && (rc = sqlite3_step(s)) == SQLITE_ROW) {
    if (!oc_sql_digest(s, 0, key) || have(items, *n, key))
      continue;
    struct oc_cache_candidate *to = &items[*n];
    const void *blob = sqlite3_column_blob(s, 1);
    to->parts_len = (size_t)sqlite3_column_bytes(s, 1);
    to->parts = oc_arena_memdup(arena, blob ? blob : "", to->parts_len);
    if (!to->parts)
      return OC_E_NOMEM;
    memcpy(to->key, key, sizeof(key));
    (*n)++;
  }
  return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0
                                               : oc_cache_sql_failed(c, &c->reader, NULL);
}

/* An empty list for gather(): 0, or what keeps from looking. */
static int new_list(const struct oc_cache *c, size_t max, struct oc_arena *arena,
                    struct oc_cache_candidate **ret)
{
  if (atomic_load(&c->broken))
    return OC_E_STORE;
  *ret = OC_NEW_N(arena, struct oc_cache_candidate, max ? max : 1);
  return *ret ? 0 : OC_E_NOMEM;
}

int oc_cache_candidates(struct oc_cache *c, const uint8_t model[OC_SHA256_LEN],
                        const uint8_t options[OC_SHA256_LEN], int64_t uid, size_t max,
                        struct oc_arena *arena, struct oc_cache_candidate **ret,
                        size_t *ret_n)
{
  struct oc_cache_candidate *items;
  size_t n = 0;
  int rc = new_list(c, max, arena, &items);

  /* Half the room for the same model, so that the same options are seen as well. */
  if (rc == 0)
    rc = gather(c, OC_R_NEAR_MODEL, model, uid, max - max / 2, arena, items, &n);
  if (rc == 0)
    rc = gather(c, OC_R_NEAR_OPTIONS, options, uid, max, arena, items, &n);
  if (rc == 0)
    rc = gather(c, OC_R_NEAR_ANY, NULL, uid, max, arena, items, &n);
  if (rc < 0)
    return rc;
  *ret = items;
  *ret_n = n;
  return 0;
}

int oc_cache_of_model(struct oc_cache *c, const uint8_t model[OC_SHA256_LEN], size_t max,
                      struct oc_arena *arena, struct oc_cache_candidate **ret,
                      size_t *ret_n)
{
  struct oc_cache_candidate *items;
  size_t n = 0;
  int rc = new_list(c, max, arena, &items);

  if (rc == 0)
    rc = gather(c, OC_R_NEAR_MODEL, model, OC_CACHE_ANYONE, max, arena, items, &n);
  if (rc < 0)
    return rc;
  *ret = items;
  *ret_n = n;
  return 0;
}
