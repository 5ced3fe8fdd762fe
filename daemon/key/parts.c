/* Parts: adding them, the digest over them, one blob of them.
 *
 * A digest covers, per part, the length-prefixed name, the kind and the digest of the
 * whole value; so no two lists of parts run together, and a value cut for display still
 * counts in full. */
#include <string.h>

#include "base/str.h"
#include "key/key.h"

#define BLOB_MAGIC "OCK1"
#define EXTERNAL   "external:"
#define MODEL      "model"

void oc_key_parts_init(struct oc_key_parts *ps, struct oc_arena *arena)
{
  memset(ps, 0, sizeof(*ps));
  ps->arena = arena;
}

static struct oc_key_part *add(struct oc_key_parts *ps, const char *name,
                               enum oc_key_kind kind, const void *text, size_t len)
{
  if (ps->n == ps->room) {
    size_t room = ps->room ? ps->room * 2 : 64;
    struct oc_key_part *bigger =
        oc_arena_grow(ps->arena, ps->items, ps->n, room, sizeof(*bigger));
    if (!bigger)
      return NULL;
    ps->items = bigger;
    ps->room = room;
  }
  struct oc_key_part *p = &ps->items[ps->n];
  memset(p, 0, sizeof(*p));
  p->kind = kind;
  p->cut = len > OC_KEY_TEXT_MAX;
  p->text_len = p->cut ? OC_KEY_TEXT_MAX : len;
  p->name = oc_arena_strdup(ps->arena, name);
  p->text = oc_arena_strndup(ps->arena, text, p->text_len);
  if (!p->name || !p->text)
    return NULL;
  ps->n++;
  return p;
}

int oc_key_add_content(struct oc_key_parts *ps, const char *name, const void *bytes,
                       size_t len)
{
  struct oc_key_part *p = add(ps, name, OC_KEY_CONTENT, len ? bytes : "", len);

  return p && oc_sha256_bytes(bytes, len, p->sha256) == 0 ? 0 : OC_E_NOMEM;
}

int oc_key_add_value(struct oc_key_parts *ps, const char *name, const char *value)
{
  size_t len = strlen(value);
  struct oc_key_part *p = add(ps, name, OC_KEY_VALUE, value, len);

  return p && oc_sha256_bytes(value, len, p->sha256) == 0 ? 0 : OC_E_NOMEM;
}

int oc_key_add_digest(struct oc_key_parts *ps, const char *name,
                      const uint8_t sha256[OC_SHA256_LEN])
{
  char hex[OC_SHA256_TEXT];

  oc_hex(sha256, OC_SHA256_LEN, hex);
  struct oc_key_part *p = add(ps, name, OC_KEY_DIGEST, hex, OC_SHA256_TEXT - 1);
  if (!p)
    return OC_E_NOMEM;
  memcpy(p->sha256, sha256, OC_SHA256_LEN);
  return 0;
}

const struct oc_key_part *oc_key_find(const struct oc_key_parts *ps, const char *name)
{
  for (size_t i = 0; i < ps->n; i++)
    if (oc_streq(ps->items[i].name, name))
      return &ps->items[i];
  return NULL;
}

static bool is_model(const struct oc_key_part *p)
{
  return oc_streq(p->name, MODEL) || oc_starts_with(p->name, EXTERNAL);
}

static int digest(const struct oc_key_parts *ps, bool with_model,
                  uint8_t ret[OC_SHA256_LEN])
{
  struct oc_sha256 s;

  if (oc_sha256_init(&s) < 0) {
    oc_sha256_clear(&s);
    return OC_E_NOMEM;
  }
  for (size_t i = 0; i < ps->n; i++) {
    const struct oc_key_part *p = &ps->items[i];
    uint8_t kind = (uint8_t)p->kind;
    if (!with_model && is_model(p))
      continue;
    oc_sha256_field(&s, p->name, strlen(p->name));
    oc_sha256_update(&s, &kind, 1);
    oc_sha256_update(&s, p->sha256, OC_SHA256_LEN);
  }
  return oc_sha256_final(&s, ret);
}

int oc_key_digest(const struct oc_key_parts *ps, uint8_t ret[OC_SHA256_LEN])
{
  return digest(ps, true, ret);
}

int oc_key_options_digest(const struct oc_key_parts *ps, uint8_t ret[OC_SHA256_LEN])
{
  return digest(ps, false, ret);
}

void oc_key_short(const uint8_t key[OC_SHA256_LEN], char ret[OC_KEY_SHORT + 1])
{
  oc_hex(key, OC_KEY_SHORT / 2, ret);
}

/* ---------------------------------------------------------------- the blob */

static void put_u32(struct oc_buf *out, size_t n)
{
  uint8_t bytes[4];

  for (size_t i = 0; i < sizeof(bytes); i++)
    bytes[i] = (uint8_t)(n >> (8 * i));
  oc_buf_append(out, bytes, sizeof(bytes));
}

int oc_key_parts_pack(const struct oc_key_parts *ps, struct oc_buf *out)
{
  oc_buf_reset(out);
  oc_buf_puts(out, BLOB_MAGIC);
  put_u32(out, ps->n);
  for (size_t i = 0; i < ps->n; i++) {
    const struct oc_key_part *p = &ps->items[i];
    size_t name_len = strlen(p->name);
    oc_buf_putc(out, (char)p->kind);
    oc_buf_putc(out, p->cut ? 1 : 0);
    put_u32(out, name_len);
    oc_buf_append(out, p->name, name_len);
    put_u32(out, p->text_len);
    oc_buf_append(out, p->text, p->text_len);
    oc_buf_append(out, p->sha256, OC_SHA256_LEN);
  }
  return out->failed ? OC_E_NOMEM : 0;
}

struct reader {
  const uint8_t *p;
  size_t left;
  bool bad;
};

static const uint8_t *take(struct reader *r, size_t n)
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

static size_t take_u32(struct reader *r)
{
  const uint8_t *p = take(r, 4);

  return p ? (size_t)p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16 | (size_t)p[3] << 24
           : 0;
}

static int unpack_part(struct reader *r, struct oc_key_parts *ret)
{
  const uint8_t *head = take(r, 2);
  size_t name_len = take_u32(r);
  const uint8_t *name = take(r, name_len);
  size_t text_len = take_u32(r);
  const uint8_t *text = take(r, text_len);
  const uint8_t *sha256 = take(r, OC_SHA256_LEN);

  if (r->bad || head[0] < OC_KEY_VALUE || head[0] > OC_KEY_DIGEST || head[1] > 1 ||
      text_len > OC_KEY_TEXT_MAX || memchr(name, '\0', name_len))
    return OC_E_FORMAT;
  const char *copy = oc_arena_strndup(ret->arena, (const char *)name, name_len);
  struct oc_key_part *p =
      copy ? add(ret, copy, (enum oc_key_kind)head[0], text, text_len) : NULL;
  if (!p)
    return OC_E_NOMEM;
  p->cut = head[1];
  memcpy(p->sha256, sha256, OC_SHA256_LEN);
  return 0;
}

int oc_key_parts_unpack(const void *blob, size_t len, struct oc_key_parts *ret,
                        struct oc_error *err)
{
  struct reader r = { .p = blob, .left = len };
  const uint8_t *magic = take(&r, strlen(BLOB_MAGIC));
  size_t n = take_u32(&r);

  if (r.bad || memcmp(magic, BLOB_MAGIC, strlen(BLOB_MAGIC)) != 0)
    return oc_error_set(err, OC_E_FORMAT,
                        "stored key parts are not what they claim to be");
  for (size_t i = 0; i < n; i++) {
    int rc = unpack_part(&r, ret);
    if (rc < 0)
      return oc_error_set(err, rc, "stored key part %zu cannot be read", i);
  }
  if (r.left)
    return oc_error_set(err, OC_E_FORMAT, "stored key parts are followed by other bytes");
  return 0;
}
