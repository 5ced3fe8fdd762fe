/* Records 2 to 6 of MODEL_INOUT_INFO: which sizes a dynamic model was made for, the
 * shapes that its outputs have then, and the order of the inputs that the sizes set.
 *
 *   2  u32 n, n numbers            batch sizes
 *   3  u32 n, n lengths, numbers   one list per profile: height, width
 *   4  u32 n, n lengths, numbers   one list per profile
 *   5  u32 n, n lengths, bytes     shapes of outputs as text
 *   6  u32 n, n lengths, bytes     names of inputs
 *
 * Numbers have 64 bits, lengths 32. As the vendor's open graph engine writes them. */
#include <string.h>

#include "om_internal.h"

enum { OUTPUT_SHAPES = 5, ORDER = 6 };

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

static void write_texts(uint32_t type, const char *const *texts, size_t n,
                        struct oc_buf *out)
{
  size_t len = 4 + 4 * n;

  if (!n)
    return;
  for (size_t i = 0; i < n; i++)
    len += strlen(texts[i]);
  put32(out, type);
  put32(out, len);
  put32(out, n);
  for (size_t i = 0; i < n; i++)
    put32(out, strlen(texts[i]));
  for (size_t i = 0; i < n; i++)
    oc_buf_puts(out, texts[i]);
}

int oc_om_write_profiles(struct oc_buf *out, const struct oc_om_profiles *p)
{
  size_t n = (size_t)p->n * p->width;
  bool lists = p->kind != OC_OM_BATCHES;

  put32(out, p->kind);
  put32(out, 4 + (lists ? 4 * (size_t)p->n : 0) + 8 * n);
  put32(out, p->n);
  for (uint32_t i = 0; lists && i < p->n; i++)
    put32(out, p->width);
  put_values(out, p->values, n);
  write_texts(OUTPUT_SHAPES, p->shapes, p->n_shapes, out);
  write_texts(ORDER, p->names, p->n_names, out);
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

static int read_texts(const uint8_t *v, size_t len, struct oc_arena *arena,
                      const char *const **ret, size_t *ret_n, struct oc_error *err)
{
  if (len < 4 || om_get32(v) > (len - 4) / 4)
    return bad(err);
  size_t n = om_get32(v), at = 4 + 4 * n;
  const char **texts = OC_NEW_N(arena, const char *, n);
  for (size_t i = 0; texts && i < n; i++) {
    size_t one = om_get32(v + 4 + 4 * i);
    if (one > len - at)
      return bad(err);
    texts[i] = oc_arena_strndup(arena, (const char *)v + at, one);
    at += one;
    if (!texts[i])
      texts = NULL;
  }
  if (!texts)
    return oc_error_set(err, OC_E_NOMEM, "not enough memory");
  *ret = texts;
  *ret_n = n;
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
    } else if (type == OUTPUT_SHAPES) {
      rc = read_texts(b + 8, len, arena, &p.shapes, &p.n_shapes, err);
    } else if (type == ORDER) {
      rc = read_texts(b + 8, len, arena, &p.names, &p.n_names, err);
    }
    if (rc < 0)
      return rc;
    at += 8 + (size_t)len;
  }
  *ret = p;
  return 0;
}
