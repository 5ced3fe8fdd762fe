/* What people ask about single entries: by the beginning of a key, by a file, who may see
 * it. The reader's; nothing here writes, touches or counts. */
#include <string.h>

#include "base/cleanup.h"
#include "cache/cache_internal.h"

static int digit(char c)
{
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

int oc_cache_find_key(struct oc_cache *c, const char *hex, uint8_t ret[OC_SHA256_LEN])
{
  uint8_t low[OC_SHA256_LEN] = { 0 }, high[OC_SHA256_LEN];
  size_t n = strlen(hex);
  int found = 0;

  memset(high, 0xff, sizeof(high));
  if (atomic_load(&c->broken) || n == 0 || n > 2 * OC_SHA256_LEN)
    return 0;
  for (size_t i = 0; i < n; i++) {
    int d = digit(hex[i]);
    unsigned shift = i % 2 ? 0 : 4;

    if (d < 0)
      return 0;
    low[i / 2] = (uint8_t)(low[i / 2] | (unsigned)d << shift);
    high[i / 2] = (uint8_t)((high[i / 2] & ~(0xfu << shift)) | (unsigned)d << shift);
  }
  auto_reset sqlite3_stmt *s = oc_sql_use(&c->reader, OC_R_PREFIX);
  oc_sql_bind_digest(s, 1, low);
  oc_sql_bind_digest(s, 2, high);
  while (found < 2 && sqlite3_step(s) == SQLITE_ROW && oc_sql_digest(s, 0, ret))
    found++;
  return found;
}

bool oc_cache_may_see(struct oc_cache *c, const uint8_t key[OC_SHA256_LEN], int64_t uid)
{
  if (uid == OC_CACHE_ANYONE)
    return true;
  if (atomic_load(&c->broken))
    return false;
  auto_reset sqlite3_stmt *s = oc_sql_use(&c->reader, OC_R_ASKED);
  oc_sql_bind_digest(s, 1, key);
  sqlite3_bind_int64(s, 2, uid);
  return sqlite3_step(s) == SQLITE_ROW;
}

int oc_cache_parts(struct oc_cache *c, const uint8_t key[OC_SHA256_LEN],
                   struct oc_arena *arena, struct oc_cache_candidate *ret,
                   uint8_t ret_model[OC_SHA256_LEN], uint8_t ret_options[OC_SHA256_LEN])
{
  if (atomic_load(&c->broken))
    return 0;
  auto_reset sqlite3_stmt *s = oc_sql_use(&c->reader, OC_R_PARTS);
  oc_sql_bind_digest(s, 1, key);
  if (sqlite3_step(s) != SQLITE_ROW)
    return 0;
  const void *blob = sqlite3_column_blob(s, 0);
  ret->parts_len = (size_t)sqlite3_column_bytes(s, 0);
  ret->parts = oc_arena_memdup(arena, blob ? blob : "", ret->parts_len);
  memcpy(ret->key, key, sizeof(ret->key));
  auto_reset sqlite3_stmt *d = oc_sql_use(&c->reader, OC_R_DIGESTS);
  oc_sql_bind_digest(d, 1, key);
  return ret->parts && sqlite3_step(d) == SQLITE_ROW && oc_sql_digest(d, 0, ret_model) &&
         oc_sql_digest(d, 1, ret_options);
}

int oc_cache_whence(struct oc_cache *c, const uint8_t sha256[OC_SHA256_LEN], size_t max,
                    uint8_t (*ret)[OC_SHA256_LEN], size_t *ret_n)
{
  size_t n = 0;
  int rc = SQLITE_DONE;

  if (atomic_load(&c->broken))
    return OC_E_STORE;
  auto_reset sqlite3_stmt *s = oc_sql_use(&c->reader, OC_R_BY_OBJECT);
  oc_sql_bind_digest(s, 1, sha256);
  sqlite3_bind_int64(s, 2, (int64_t)max);
  while (n < max && (rc = sqlite3_step(s)) == SQLITE_ROW)
    n += oc_sql_digest(s, 0, ret[n]);
  if (rc != SQLITE_ROW && rc != SQLITE_DONE)
    return oc_cache_sql_failed(c, &c->reader, NULL);
  *ret_n = n;
  return 0;
}

#define MOST_FIGURES 32
/* A clock set back a little must not hide what was just counted; what was counted under a
 * clock that was years ahead is not recent, neither now nor until then. */
#define HOURS_AHEAD 24

int oc_cache_figures(struct oc_cache *c, uint64_t seconds, struct oc_arena *arena,
                     struct oc_cache_figure **ret, size_t *ret_n)
{
  struct oc_cache_figure *items = OC_NEW_N(arena, struct oc_cache_figure, MOST_FIGURES);
  size_t n = 0;

  if (!items)
    return OC_E_NOMEM;
  if (atomic_load(&c->broken))
    return OC_E_STORE;
  auto_reset sqlite3_stmt *s = oc_sql_use(&c->reader, OC_R_SINCE);
  sqlite3_bind_int64(s, 1, oc_cache_ago_s(seconds) / 3600);
  sqlite3_bind_int64(s, 2, oc_cache_now_s() / 3600 + HOURS_AHEAD);
  while (n < MOST_FIGURES && sqlite3_step(s) == SQLITE_ROW) {
    items[n].name = oc_sql_text(s, 0, arena);
    items[n].value = (uint64_t)sqlite3_column_int64(s, 1);
    if (!items[n].name)
      return OC_E_NOMEM;
    n++;
  }
  *ret = items;
  *ret_n = n;
  return 0;
}
