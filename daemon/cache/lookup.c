/* Lookups, on the caller's thread and its read-only connection.
 *
 * A hit is proven before it is given out: the entry's rows fit the digest over the
 * manifest, inline bytes fit their digest, each object's stat is what it was when it was
 * published, and its descriptor is open, so that eviction may take the name afterwards.
 * What is not right is a miss, and the writer is told to look. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "cache/cache_internal.h"

/* What one hit may take of memory: 64 members of 16 KiB and their names. */
#define HIT_ARENA (4u << 20)
/* Unproven objects up to this are digested at once: it takes less than a thread would. */
#define PROVE_AT_ONCE (256u << 10)

const char *oc_cache_miss_text(enum oc_cache_miss m)
{
  switch (m) {
  case OC_CACHE_MISS_ABSENT: return "not in the cache";
  case OC_CACHE_MISS_DAMAGED: return "the stored result was damaged and has been dropped";
  case OC_CACHE_MISS_BUSY: return "the index could not be read";
  }
  return "unknown";
}

static void add_numbers(struct oc_sha256 *s, const uint64_t *numbers, size_t n)
{
  for (size_t i = 0; i < n; i++) {
    uint8_t bytes[8];
    for (size_t k = 0; k < sizeof(bytes); k++)
      bytes[k] = (uint8_t)(numbers[i] >> (8 * k));
    oc_sha256_update(s, bytes, sizeof(bytes));
  }
}

int oc_cache_manifest_begin(struct oc_sha256 *s, const uint8_t key[OC_SHA256_LEN],
                            const struct oc_cache_facts *facts)
{
  const char *const texts[] = { facts->model, facts->soc,      facts->backend,
                                facts->mode,  facts->table_id, facts->toolkit };
  const uint64_t numbers[] = { facts->uid, facts->device_ready, facts->compile_ms,
                               facts->peak_rss_bytes,
                               (uint64_t)(int64_t)facts->tool_exit };
  int rc = oc_sha256_init(s);

  if (rc < 0)
    return rc;
  oc_sha256_update(s, key, OC_SHA256_LEN);
  for (size_t i = 0; i < OC_COUNT(texts); i++)
    oc_sha256_field(s, texts[i], strlen(texts[i]));
  add_numbers(s, numbers, OC_COUNT(numbers));
  return 0;
}

void oc_cache_manifest_member(struct oc_sha256 *s, const char *name, const char *kind,
                              uint32_t mode, uint64_t size,
                              const uint8_t sha256[OC_SHA256_LEN], bool is_object)
{
  const uint64_t numbers[] = { mode, size, is_object };

  oc_sha256_field(s, name, strlen(name));
  oc_sha256_field(s, kind, strlen(kind));
  add_numbers(s, numbers, OC_COUNT(numbers));
  oc_sha256_update(s, sha256, OC_SHA256_LEN);
}

/* Columns of OC_ENTRY_FACTS. */
static void read_facts(sqlite3_stmt *s, struct oc_arena *arena, struct oc_cache_hit *ret)
{
  oc_cache_read_facts(s, arena, &ret->facts);
  ret->size = (uint64_t)sqlite3_column_int64(s, 11);
  ret->created_s = (uint64_t)sqlite3_column_int64(s, 12);
  ret->used_s = (uint64_t)sqlite3_column_int64(s, 13);
  ret->hits = (uint64_t)sqlite3_column_int64(s, 14);
  ret->pinned_s = (uint64_t)sqlite3_column_int64(s, 17);
}

enum found { FOUND_GOOD, FOUND_NOTHING, FOUND_BUSY, FOUND_BAD_ROW, FOUND_BAD_OBJECT };

static bool inline_is_intact(const struct oc_cache_member *m)
{
  uint8_t now[OC_SHA256_LEN];

  return oc_sha256_bytes(m->data, m->size, now) == 0 &&
         memcmp(now, m->sha256, sizeof(now)) == 0;
}

/* One row of FIND_MEMBERS. */
static enum found read_member(struct oc_cache *c, sqlite3_stmt *s, struct oc_arena *arena,
                              struct oc_cache_member *m)
{
  bool is_object = sqlite3_column_int(s, 5);

  m->fd = -1;
  m->name = oc_sql_text(s, 0, arena);
  m->kind = oc_sql_text(s, 1, arena);
  m->mode = (uint32_t)sqlite3_column_int64(s, 2);
  m->size = (uint64_t)sqlite3_column_int64(s, 3);
  if (!m->name || !m->kind)
    return FOUND_BUSY;
  if (!oc_sql_digest(s, 4, m->sha256))
    return FOUND_BAD_ROW;
  if (!is_object) {
    const void *data = sqlite3_column_blob(s, 6);
    size_t len = (size_t)sqlite3_column_bytes(s, 6);
    if (len != m->size)
      return FOUND_BAD_ROW;
    m->data = oc_arena_memdup(arena, data ? data : "", len);
    if (!m->data)
      return FOUND_BUSY;
    return inline_is_intact(m) ? FOUND_GOOD : FOUND_BAD_ROW;
  }
  bool proven = false;
  enum oc_cache_object_state state =
      oc_cache_object_open(c, m->sha256, m->size, (uint64_t)sqlite3_column_int64(s, 7),
                           sqlite3_column_int64(s, 8), &m->fd, &proven);
  m->unproven = !proven;
  m->moved = state == OC_OBJECT_CHANGED;
  return state == OC_OBJECT_GOOD || m->moved ? FOUND_GOOD : FOUND_BAD_OBJECT;
}

/* All members of an entry; `ret_bad` gets the digest of an object that is not right. */
static enum found read_members(struct oc_cache *c, int64_t id, const uint8_t *key,
                               const uint8_t *manifest, struct oc_cache_hit *hit,
                               uint8_t ret_bad[OC_SHA256_LEN])
{
  auto_reset sqlite3_stmt *s = oc_sql_use(&c->reader, OC_R_FIND_MEMBERS);
  struct oc_sha256 digest;
  uint8_t now[OC_SHA256_LEN];
  enum found found = FOUND_GOOD;
  int rc;

  hit->members = OC_NEW_N(&hit->arena, struct oc_cache_member, OC_CACHE_MAX_MEMBERS);
  if (!hit->members)
    return FOUND_BUSY;
  if (oc_cache_manifest_begin(&digest, key, &hit->facts) < 0) {
    oc_sha256_clear(&digest);
    return FOUND_BUSY;
  }
  sqlite3_bind_int64(s, 1, id * OC_CACHE_MEMBER_SPAN);
  sqlite3_bind_int64(s, 2, id * OC_CACHE_MEMBER_SPAN + OC_CACHE_MEMBER_SPAN - 1);
  while (found == FOUND_GOOD && (rc = sqlite3_step(s)) == SQLITE_ROW) {
    if (hit->n_members == OC_CACHE_MAX_MEMBERS) {
      found = FOUND_BAD_ROW;
      break;
    }
    struct oc_cache_member *m = &hit->members[hit->n_members++];
    found = read_member(c, s, &hit->arena, m);
    if (found == FOUND_BAD_OBJECT)
      memcpy(ret_bad, m->sha256, OC_SHA256_LEN);
    hit->n_unproven += m->unproven;
    if (found == FOUND_GOOD)
      oc_cache_manifest_member(&digest, m->name, m->kind, m->mode, m->size, m->sha256,
                               !m->data);
  }
  if (found != FOUND_GOOD || rc != SQLITE_DONE) {
    oc_sha256_clear(&digest);
    return found != FOUND_GOOD ? found : FOUND_BUSY;
  }
  if (oc_sha256_final(&digest, now) < 0)
    return FOUND_BUSY;
  return memcmp(now, manifest, sizeof(now)) == 0 ? FOUND_GOOD : FOUND_BAD_ROW;
}

/* One try, inside one read transaction. */
static enum found find(struct oc_cache *c, const uint8_t key[OC_SHA256_LEN],
                       struct oc_cache_hit *hit, uint8_t ret_bad[OC_SHA256_LEN])
{
  auto_reset sqlite3_stmt *s = oc_sql_use(&c->reader, OC_R_FIND);
  uint8_t manifest[OC_SHA256_LEN];

  oc_sql_bind_digest(s, 1, key);
  int rc = sqlite3_step(s);
  if (rc == SQLITE_DONE)
    return FOUND_NOTHING;
  if (rc != SQLITE_ROW) {
    oc_cache_sql_failed(c, &c->reader, NULL);
    return FOUND_BUSY;
  }
  read_facts(s, &hit->arena, hit);
  if (hit->arena.failed)
    return FOUND_BUSY;
  if (!oc_sql_digest(s, 16, manifest))
    return FOUND_BAD_ROW;
  enum found found =
      read_members(c, sqlite3_column_int64(s, 15), key, manifest, hit, ret_bad);
  if (found == FOUND_BUSY && !hit->arena.failed)
    oc_cache_sql_failed(c, &c->reader, NULL);
  return found == FOUND_GOOD && hit->arena.failed ? FOUND_BUSY : found;
}

static enum found find_in_transaction(struct oc_cache *c,
                                      const uint8_t key[OC_SHA256_LEN],
                                      struct oc_cache_hit *hit,
                                      uint8_t ret_bad[OC_SHA256_LEN])
{
  memset(hit, 0, sizeof(*hit));
  oc_arena_init(&hit->arena, HIT_ARENA);
  bool own = !c->reading;
  oc_cache_reads_begin(c);
  if (!c->reading)
    return FOUND_BUSY;
  enum found found = find(c, key, hit, ret_bad);
  if (own)
    oc_cache_reads_end(c);
  return found;
}

/* The result, or why there is none; no touch, no count. */
static enum found look(struct oc_cache *c, const uint8_t key[OC_SHA256_LEN],
                       struct oc_cache_hit *hit)
{
  uint8_t bad[OC_SHA256_LEN];
  enum found found = FOUND_NOTHING;

  /* An object can vanish between the snapshot and our open when the writer evicts: the
   * second look, in a newer snapshot, tells that from damage. */
  for (int attempt = 0; attempt < 2; attempt++) {
    found = find_in_transaction(c, key, hit, bad);
    if (found == FOUND_GOOD)
      return found;
    oc_cache_hit_clear(hit);
    if (found != FOUND_BAD_OBJECT)
      break;
    oc_cache_reads_end(c);
  }
  if (found == FOUND_BAD_OBJECT)
    oc_cache_tell_writer(c, key, bad, false);
  if (found == FOUND_BAD_ROW)
    oc_cache_tell_writer(c, key, NULL, false);
  return found;
}

/* Proves what is small enough. */
static enum found prove_small(struct oc_cache *c, const uint8_t key[OC_SHA256_LEN],
                              struct oc_cache_hit *hit)
{
  uint64_t bytes = 0;

  for (size_t i = 0; i < hit->n_members; i++)
    bytes += hit->members[i].unproven ? hit->members[i].size : 0;
  if (hit->n_unproven == 0 || bytes > PROVE_AT_ONCE)
    return FOUND_GOOD;
  if (oc_cache_prove(c, key, hit, NULL) == 1)
    return FOUND_GOOD;
  oc_cache_hit_clear(hit);
  return FOUND_BAD_OBJECT;
}

static enum oc_cache_miss miss_of(enum found found)
{
  switch (found) {
  case FOUND_BAD_ROW:
  case FOUND_BAD_OBJECT: return OC_CACHE_MISS_DAMAGED;
  case FOUND_BUSY: return OC_CACHE_MISS_BUSY;
  case FOUND_GOOD:
  case FOUND_NOTHING: break;
  }
  return OC_CACHE_MISS_ABSENT;
}

int oc_cache_lookup(struct oc_cache *c, const uint8_t key[OC_SHA256_LEN], uint32_t uid,
                    struct oc_cache_hit *ret, enum oc_cache_miss *ret_miss)
{
  struct oc_cache_hit hit;
  enum found found = look(c, key, &hit);

  if (found == FOUND_GOOD)
    found = prove_small(c, key, &hit);
  if (found != FOUND_GOOD) {
    oc_cache_count(c, OC_COUNT_MISSES, 1);
    if (ret_miss)
      *ret_miss = miss_of(found);
    return 0;
  }
  oc_cache_note_hit(c, key, uid, hit.facts.compile_ms);
  *ret = hit;
  return 1;
}

void oc_cache_hit_clear(struct oc_cache_hit *h)
{
  for (size_t i = 0; i < h->n_members; i++)
    oc_close_fd(&h->members[i].fd);
  oc_arena_clear(&h->arena);
  memset(h, 0, sizeof(*h));
}

int oc_cache_has(struct oc_cache *c, const uint8_t key[OC_SHA256_LEN],
                 enum oc_cache_miss *ret_miss)
{
  struct oc_cache_hit hit;
  enum found found = look(c, key, &hit);

  if (found == FOUND_GOOD)
    found = prove_small(c, key, &hit);
  if (found == FOUND_GOOD) {
    oc_cache_hit_clear(&hit);
    return 1;
  }
  if (ret_miss)
    *ret_miss = miss_of(found);
  return 0;
}

int oc_cache_find_plan(struct oc_cache *c, const uint8_t plan_key[OC_SHA256_LEN],
                       struct oc_arena *arena, struct oc_cache_member *ret)
{
  struct oc_cache_member m = { .fd = -1 };

  if (atomic_load(&c->broken))
    return 0;
  auto_reset sqlite3_stmt *s = oc_sql_use(&c->reader, OC_R_FIND_PLAN);
  oc_sql_bind_digest(s, 1, plan_key);
  int rc = sqlite3_step(s);
  if (rc != SQLITE_ROW) {
    if (rc != SQLITE_DONE)
      oc_cache_sql_failed(c, &c->reader, NULL);
    return 0;
  }
  m.name = oc_sql_text(s, 0, arena);
  m.kind = oc_sql_text(s, 1, arena);
  m.mode = (uint32_t)sqlite3_column_int64(s, 2);
  m.size = (uint64_t)sqlite3_column_int64(s, 4);
  if (!m.name || !m.kind || !oc_sql_digest(s, 3, m.sha256))
    return 0;
  bool proven = false;
  enum oc_cache_object_state state =
      oc_cache_object_open(c, m.sha256, m.size, (uint64_t)sqlite3_column_int64(s, 5),
                           sqlite3_column_int64(s, 6), &m.fd, &proven);
  m.unproven = !proven;
  if (state == OC_OBJECT_GOOD && m.unproven && m.size <= PROVE_AT_ONCE)
    state = oc_cache_prove_member(c, &m, NULL) == 1 ? state : OC_OBJECT_WRONG;
  if (state == OC_OBJECT_GOOD && !m.unproven) {
    *ret = m;
    return 1;
  }
  /* The writer looks again, by the bytes; what is right is known for the next time, and
   * an object that was evicted meanwhile is in order. */
  oc_close_fd(&m.fd);
  oc_cache_tell_writer(c, plan_key, m.sha256, true);
  return 0;
}

int oc_cache_show(struct oc_cache *c, const uint8_t key[OC_SHA256_LEN],
                  struct oc_cache_hit *ret)
{
  return look(c, key, ret) == FOUND_GOOD;
}
