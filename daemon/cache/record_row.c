/* A record of what the index has, read through any connection and held against the
 * entry's digest. */
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "cache/cache_internal.h"
#include "cache/record.h"

/* Members of a row, and what their digest must be. */
static int read_members(struct oc_sql *reader, int64_t id, struct oc_arena *arena,
                        struct oc_cache_record *ret, struct oc_sha256 *digest)
{
  auto_reset sqlite3_stmt *s = oc_sql_use(reader, OC_R_FIND_MEMBERS);
  int rc = SQLITE_ERROR;

  ret->members = OC_NEW_N(arena, struct oc_cache_record_member, OC_CACHE_MAX_MEMBERS);
  sqlite3_bind_int64(s, 1, id * OC_CACHE_MEMBER_SPAN);
  sqlite3_bind_int64(s, 2, id * OC_CACHE_MEMBER_SPAN + OC_CACHE_MEMBER_SPAN - 1);
  while (ret->members && (rc = sqlite3_step(s)) == SQLITE_ROW) {
    struct oc_cache_record_member *m = &ret->members[ret->n_members];

    if (ret->n_members == OC_CACHE_MAX_MEMBERS || !oc_sql_digest(s, 4, m->sha256))
      return OC_E_FORMAT;
    m->name = oc_sql_text(s, 0, arena);
    m->kind = oc_sql_text(s, 1, arena);
    m->mode = (uint32_t)sqlite3_column_int64(s, 2);
    m->size = (uint64_t)sqlite3_column_int64(s, 3);
    if (!sqlite3_column_int(s, 5)) {
      const void *data = sqlite3_column_blob(s, 6);
      if ((uint64_t)sqlite3_column_bytes(s, 6) != m->size)
        return OC_E_FORMAT;
      m->data = oc_arena_memdup(arena, data ? data : "", m->size);
    }
    if (arena->failed)
      return OC_E_NOMEM;
    oc_cache_manifest_member(digest, m->name, m->kind, m->mode, m->size, m->sha256,
                             !m->data);
    ret->n_members++;
  }
  return !ret->members ? OC_E_NOMEM : rc == SQLITE_DONE ? 0 : OC_E_STORE;
}

/* Parts, the digests for "why", and a plan key that names the artifact. */
static int read_rest(struct oc_sql *reader, struct oc_arena *arena,
                     struct oc_cache_record *ret)
{
  auto_reset sqlite3_stmt *p = oc_sql_use(reader, OC_R_PARTS);
  auto_reset sqlite3_stmt *d = oc_sql_use(reader, OC_R_DIGESTS);
  auto_reset sqlite3_stmt *k = oc_sql_use(reader, OC_R_PLAN_OF);

  oc_sql_bind_digest(p, 1, ret->key);
  oc_sql_bind_digest(d, 1, ret->key);
  if (sqlite3_step(p) != SQLITE_ROW || sqlite3_step(d) != SQLITE_ROW ||
      !oc_sql_digest(d, 0, ret->model) || !oc_sql_digest(d, 1, ret->options))
    return OC_E_FORMAT;
  const void *blob = sqlite3_column_blob(p, 0);
  ret->parts_len = (size_t)sqlite3_column_bytes(p, 0);
  ret->parts = oc_arena_memdup(arena, blob ? blob : "", ret->parts_len);
  for (size_t i = 0; i < ret->n_members && !ret->has_plan_key; i++) {
    if (ret->members[i].data || !oc_streq(ret->members[i].kind, "artifact"))
      continue;
    oc_sql_bind_digest(k, 1, ret->members[i].sha256);
    ret->has_plan_key =
        sqlite3_step(k) == SQLITE_ROW && oc_sql_digest(k, 0, ret->plan_key);
    break;
  }
  return ret->parts ? 0 : OC_E_NOMEM;
}

int oc_cache_record_of_row(struct oc_sql *reader, const uint8_t key[OC_SHA256_LEN],
                           struct oc_arena *arena, struct oc_cache_record *ret)
{
  auto_reset sqlite3_stmt *s = oc_sql_use(reader, OC_R_FIND);
  uint8_t manifest[OC_SHA256_LEN], now[OC_SHA256_LEN];
  struct oc_sha256 digest;

  oc_sql_bind_digest(s, 1, key);
  int rc = sqlite3_step(s);
  if (rc != SQLITE_ROW)
    return rc == SQLITE_DONE ? 0 : OC_E_STORE;
  *ret = (struct oc_cache_record){ .n_members = 0 };
  memcpy(ret->key, key, sizeof(ret->key));
  oc_cache_read_facts(s, arena, &ret->facts);
  ret->created_s = (uint64_t)sqlite3_column_int64(s, 12);
  if (arena->failed)
    return OC_E_NOMEM;
  if (!oc_sql_digest(s, 16, manifest))
    return OC_E_FORMAT;
  rc = oc_cache_manifest_begin(&digest, key, &ret->facts);
  if (rc == 0)
    rc = read_members(reader, sqlite3_column_int64(s, 15), arena, ret, &digest);
  if (rc < 0) {
    oc_sha256_clear(&digest);
    return rc;
  }
  if (oc_sha256_final(&digest, now) < 0)
    return OC_E_NOMEM;
  rc = memcmp(now, manifest, sizeof(now)) ? OC_E_FORMAT : read_rest(reader, arena, ret);
  return rc < 0 ? rc : 1;
}
