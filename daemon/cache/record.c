/* Records: struct to bytes and back; see record.h. */
#include "cache/record.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "cache/cache_internal.h"

#define MAGIC     "OMCCREC1"
#define MAGIC_LEN (sizeof(MAGIC) - 1)

/* ---------------------------------------------------------------- to bytes */

static void put_number(struct oc_buf *out, uint64_t n, size_t len)
{
  uint8_t bytes[8];

  for (size_t i = 0; i < len; i++)
    bytes[i] = (uint8_t)(n >> (8 * i));
  oc_buf_append(out, bytes, len);
}

static void put_blob(struct oc_buf *out, const void *p, size_t len)
{
  put_number(out, len, 4);
  oc_buf_append(out, p, len);
}

static void put_text(struct oc_buf *out, const char *s)
{
  put_blob(out, s, strlen(s));
}

static void put_facts(struct oc_buf *out, const struct oc_cache_facts *f)
{
  const char *const texts[] = { f->model, f->soc,      f->backend,
                                f->mode,  f->table_id, f->toolkit };

  for (size_t i = 0; i < OC_COUNT(texts); i++)
    put_text(out, texts[i]);
  put_number(out, f->uid, 4);
  put_number(out, f->device_ready, 1);
  put_number(out, f->compile_ms, 8);
  put_number(out, f->peak_rss_bytes, 8);
  put_number(out, (uint32_t)f->tool_exit, 4);
}

static void put_member(struct oc_buf *out, const struct oc_cache_record_member *m)
{
  put_text(out, m->name);
  put_text(out, m->kind);
  put_number(out, m->mode, 4);
  put_number(out, m->size, 8);
  oc_buf_append(out, m->sha256, OC_SHA256_LEN);
  put_number(out, m->data != NULL, 1);
  if (m->data)
    oc_buf_append(out, m->data, m->size);
}

int oc_cache_record_pack(const struct oc_cache_record *r, struct oc_buf *out)
{
  uint8_t digest[OC_SHA256_LEN];

  oc_buf_reset(out);
  oc_buf_append(out, MAGIC, MAGIC_LEN);
  oc_buf_append(out, r->key, OC_SHA256_LEN);
  oc_buf_append(out, r->model, OC_SHA256_LEN);
  oc_buf_append(out, r->options, OC_SHA256_LEN);
  put_number(out, r->has_plan_key, 1);
  oc_buf_append(out, r->plan_key, OC_SHA256_LEN);
  put_number(out, r->created_s, 8);
  put_facts(out, &r->facts);
  put_blob(out, r->parts, r->parts_len);
  put_number(out, r->n_members, 4);
  for (size_t i = 0; i < r->n_members; i++)
    put_member(out, &r->members[i]);
  if (out->failed || oc_sha256_bytes(out->data, out->len, digest) < 0)
    return OC_E_NOMEM;
  return oc_buf_append(out, digest, sizeof(digest));
}

/* ---------------------------------------------------------------- from bytes */

struct reader {
  const uint8_t *p;
  size_t left;
  struct oc_arena *arena;
  bool bad;
};

static const void *take(struct reader *r, size_t n)
{
  const uint8_t *p = r->p;

  if (r->bad || n > r->left) {
    r->bad = true;
    return NULL;
  }
  r->p += n;
  r->left -= n;
  return p;
}

static uint64_t take_number(struct reader *r, size_t len)
{
  const uint8_t *p = take(r, len);
  uint64_t n = 0;

  for (size_t i = 0; p && i < len; i++)
    n |= (uint64_t)p[i] << (8 * i);
  return n;
}

static const void *take_blob(struct reader *r, size_t *ret_len)
{
  *ret_len = take_number(r, 4);
  const void *p = take(r, *ret_len);
  const void *copy = p ? oc_arena_memdup(r->arena, p, *ret_len) : NULL;

  r->bad |= !copy;
  return copy;
}

static const char *take_text(struct reader *r)
{
  size_t len = take_number(r, 4);
  const char *p = take(r, len);
  const char *copy = p && (len == 0 || !memchr(p, '\0', len))
                         ? oc_arena_strndup(r->arena, p, len)
                         : NULL;

  r->bad |= !copy;
  return copy;
}

static void take_digest(struct reader *r, uint8_t ret[OC_SHA256_LEN])
{
  const void *p = take(r, OC_SHA256_LEN);

  if (p)
    memcpy(ret, p, OC_SHA256_LEN);
}

static void take_facts(struct reader *r, struct oc_cache_facts *f)
{
  f->model = take_text(r);
  f->soc = take_text(r);
  f->backend = take_text(r);
  f->mode = take_text(r);
  f->table_id = take_text(r);
  f->toolkit = take_text(r);
  f->uid = (uint32_t)take_number(r, 4);
  f->device_ready = take_number(r, 1) != 0;
  f->compile_ms = take_number(r, 8);
  f->peak_rss_bytes = take_number(r, 8);
  f->tool_exit = (int32_t)(uint32_t)take_number(r, 4);
}

static void take_member(struct reader *r, struct oc_cache_record_member *m)
{
  uint8_t now[OC_SHA256_LEN];

  m->name = take_text(r);
  m->kind = take_text(r);
  m->mode = (uint32_t)take_number(r, 4);
  m->size = take_number(r, 8);
  take_digest(r, m->sha256);
  if (!take_number(r, 1) || r->bad)
    return;
  const void *p = take(r, m->size);
  m->data = p ? oc_arena_memdup(r->arena, p, m->size) : NULL;
  r->bad |= !m->data || oc_sha256_bytes(m->data, m->size, now) < 0 ||
            memcmp(now, m->sha256, sizeof(now)) != 0;
}

static bool digest_fits(const uint8_t *p, size_t len)
{
  uint8_t now[OC_SHA256_LEN];

  return len > MAGIC_LEN + OC_SHA256_LEN && memcmp(p, MAGIC, MAGIC_LEN) == 0 &&
         oc_sha256_bytes(p, len - OC_SHA256_LEN, now) == 0 &&
         memcmp(now, p + len - OC_SHA256_LEN, sizeof(now)) == 0;
}

int oc_cache_record_unpack(const void *p, size_t len, struct oc_arena *arena,
                           struct oc_cache_record *ret)
{
  struct reader r = { .p = p, .arena = arena };

  if (!digest_fits(p, len))
    return OC_E_FORMAT;
  *ret = (struct oc_cache_record){ .n_members = 0 };
  r.left = len - OC_SHA256_LEN;
  take(&r, MAGIC_LEN);
  take_digest(&r, ret->key);
  take_digest(&r, ret->model);
  take_digest(&r, ret->options);
  ret->has_plan_key = take_number(&r, 1) != 0;
  take_digest(&r, ret->plan_key);
  ret->created_s = take_number(&r, 8);
  take_facts(&r, &ret->facts);
  ret->parts = take_blob(&r, &ret->parts_len);
  size_t n = take_number(&r, 4);
  if (r.bad || n > OC_CACHE_MAX_MEMBERS)
    return arena->failed ? OC_E_NOMEM : OC_E_FORMAT;
  ret->members = OC_NEW_N(arena, struct oc_cache_record_member, n + 1);
  for (size_t i = 0; ret->members && i < n; i++)
    take_member(&r, &ret->members[i]);
  ret->n_members = n;
  if (arena->failed)
    return OC_E_NOMEM;
  return r.bad || r.left ? OC_E_FORMAT : 0;
}
