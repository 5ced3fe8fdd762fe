/* Records 2, 3, 4 and 6 of MODEL_INOUT_INFO: which sizes a dynamic model was made for,
 * and the order of the inputs that they set.
 *
 *   2  u32 n, n numbers            batch sizes
 *   3  pairs of numbers            height and width, as many as there are
 *   4  u32 n, n lengths, numbers   one list per profile
 *   6  u32 n, n lengths, bytes     names of inputs
 *
 * Numbers have 64 bits, lengths 32. */
#include <string.h>

#include "om_internal.h"

enum { ORDER = 6 };

static void put32(struct oc_buf *out, uint64_t v)
{
  uint8_t b[4];

  om_set32(b, (uint32_t)v);
  oc_buf_append(out, b, sizeof b);
}

static void put_values(struct oc_buf *out, const int64_t *v, size_t n)
{
  uint8_t b[8];

  for (size_t i = 0; i < n; i++) {
    om_set64(b, (uint64_t)v[i]);
    oc_buf_append(out, b, sizeof b);
  }
}

static void write_names(const struct oc_om_profiles *p, struct oc_buf *out)
{
  size_t len = 4 + 4 * p->n_names;

  for (size_t i = 0; i < p->n_names; i++)
    len += strlen(p->names[i]);
  put32(out, ORDER);
  put32(out, len);
  put32(out, p->n_names);
  for (size_t i = 0; i < p->n_names; i++)
    put32(out, strlen(p->names[i]));
  for (size_t i = 0; i < p->n_names; i++)
    oc_buf_puts(out, p->names[i]);
}

int oc_om_write_profiles(struct oc_buf *out, const struct oc_om_profiles *p)
{
  size_t n = (size_t)p->n * p->width;

  put32(out, p->kind);
  switch (p->kind) {
  case OC_OM_BATCHES:
    put32(out, 4 + 8 * n);
    put32(out, p->n);
    break;
  case OC_OM_IMAGES: put32(out, 8 * n); break;
  case OC_OM_DIMS:
    put32(out, 4 + 4 * (size_t)p->n + 8 * n);
    put32(out, p->n);
    for (uint32_t i = 0; i < p->n; i++)
      put32(out, p->width);
    break;
  }
  put_values(out, p->values, n);
  if (p->n_names)
    write_names(p, out);
  return out->failed ? OC_E_NOMEM : 0;
}

static int bad(struct oc_error *err)
{
  return oc_error_set(err, OC_E_FORMAT, "MODEL_INOUT_INFO has malformed profiles");
}

static int read_values(struct oc_om_profiles *p, const uint8_t *at, size_t left,
                       struct oc_arena *arena, struct oc_error *err)
{
  size_t n = (size_t)p->n * p->width;
  int64_t *values = OC_NEW_N(arena, int64_t, n);

  if (left != 8 * n)
    return bad(err);
  if (!values)
    return oc_error_set(err, OC_E_NOMEM, "not enough memory");
  for (size_t i = 0; i < n; i++)
    values[i] = (int64_t)om_get64(at + 8 * i);
  p->values = values;
  return 0;
}

static int read_sizes(struct oc_om_profiles *p, const uint8_t *v, size_t len,
                      struct oc_arena *arena, struct oc_error *err)
{
  if (p->kind == OC_OM_IMAGES) {
    p->width = 2;
    p->n = (uint32_t)(len / 16);
    return read_values(p, v, len, arena, err);
  }
  if (len < 4 || om_get32(v) > (len - 4) / 8)
    return bad(err);
  p->n = om_get32(v);
  p->width = 1;
  if (p->kind == OC_OM_BATCHES)
    return read_values(p, v + 4, len - 4, arena, err);
  size_t head = 4 + 4 * (size_t)p->n;
  if (len < head)
    return bad(err);
  for (uint32_t i = 0; i < p->n; i++) {
    if (i && om_get32(v + 4 + 4 * (size_t)i) != p->width)
      return bad(err);
    p->width = om_get32(v + 4 + 4 * (size_t)i);
  }
  if (p->n && p->width > (len - head) / 8)
    return bad(err);
  return read_values(p, v + head, len - head, arena, err);
}

static int read_names(struct oc_om_profiles *p, const uint8_t *v, size_t len,
                      struct oc_arena *arena, struct oc_error *err)
{
  if (len < 4 || om_get32(v) > (len - 4) / 4)
    return bad(err);
  size_t n = om_get32(v), at = 4 + 4 * n;
  const char **names = OC_NEW_N(arena, const char *, n);
  for (size_t i = 0; names && i < n; i++) {
    size_t one = om_get32(v + 4 + 4 * i);
    if (one > len - at)
      return bad(err);
    names[i] = oc_arena_strndup(arena, (const char *)v + at, one);
    at += one;
    if (!names[i])
      names = NULL;
  }
  if (!names)
    return oc_error_set(err, OC_E_NOMEM, "not enough memory");
  p->names = names;
  p->n_names = n;
  return 0;
}

int oc_om_read_profiles(struct oc_str bytes, struct oc_arena *arena,
                        struct oc_om_profiles *ret, struct oc_error *err)
{
  struct oc_om_profiles p = { 0 };
  size_t at = 0;

  while (at < bytes.len) {
    const uint8_t *b = (const uint8_t *)bytes.p + at;
    if (bytes.len - at < 8 || om_get32(b + 4) > bytes.len - at - 8)
      return bad(err);
    uint32_t type = om_get32(b), len = om_get32(b + 4);
    int rc = 0;
    if (type == OC_OM_BATCHES || type == OC_OM_IMAGES || type == OC_OM_DIMS) {
      p.kind = type;
      rc = read_sizes(&p, b + 8, len, arena, err);
    } else if (type == ORDER) {
      rc = read_names(&p, b + 8, len, arena, err);
    }
    if (rc < 0)
      return rc;
    at += 8 + (size_t)len;
  }
  *ret = p;
  return 0;
}
