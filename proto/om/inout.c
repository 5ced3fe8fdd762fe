/* MODEL_INOUT_INFO: the inputs and outputs as tools ask for them without loading.
 *
 * A list of {type, length, value}; types 0 and 1 are the tensors. Lengths inside are in
 * bytes, dtypes in the numbering of the C API. */
#include <string.h>

#include "om_internal.h"

#define ENTRY 32 /* fixed part of one tensor */

static void put32(struct oc_buf *out, uint32_t v)
{
  uint8_t b[4];

  om_set32(b, v);
  oc_buf_append(out, b, sizeof b);
}

static void put64(struct oc_buf *out, uint64_t v)
{
  uint8_t b[8];

  om_set64(b, v);
  oc_buf_append(out, b, sizeof b);
}

static void put_dims(struct oc_buf *out, const struct oc_om_io *t)
{
  for (uint32_t k = 0; k < t->rank; k++)
    put64(out, (uint64_t)t->dims[k]);
}

static void write_list(struct oc_buf *out, uint32_t type, const struct oc_om_io *v,
                       size_t n)
{
  size_t len = 4;

  for (size_t i = 0; i < n; i++)
    len += ENTRY + strlen(v[i].name) + 16 * (size_t)v[i].rank;
  put32(out, type);
  put32(out, (uint32_t)len);
  put32(out, (uint32_t)n);
  for (size_t i = 0; i < n; i++) {
    uint32_t name_len = (uint32_t)strlen(v[i].name);
    put64(out, v[i].bytes);
    put32(out, (uint32_t)v[i].format);
    put32(out, (uint32_t)oc_dtype_runtime(v[i].dtype));
    put32(out, name_len);
    put32(out, 8 * v[i].rank);
    put32(out, 8 * v[i].rank);
    put32(out, 0);
    oc_buf_append(out, v[i].name, name_len);
    put_dims(out, &v[i]);
    put_dims(out, &v[i]);
  }
}

int oc_om_write_inout(struct oc_buf *out, const struct oc_om_io *inputs, size_t n_inputs,
                      const struct oc_om_io *outputs, size_t n_outputs)
{
  write_list(out, 0, inputs, n_inputs);
  write_list(out, 1, outputs, n_outputs);
  return out->failed ? OC_E_NOMEM : 0;
}

static int bad(struct oc_error *err)
{
  return oc_error_set(err, OC_E_FORMAT, "MODEL_INOUT_INFO is malformed");
}

static int read_tensor(struct oc_str v, size_t *at, struct oc_arena *arena,
                       struct oc_om_io *t, struct oc_error *err)
{
  const uint8_t *p = (const uint8_t *)v.p + *at;
  size_t left = v.len - *at;

  if (left < ENTRY)
    return bad(err);
  uint64_t name_len = om_get32(p + 16), dims = om_get32(p + 20);
  uint64_t rest = (uint64_t)om_get32(p + 24) + om_get32(p + 28);
  if (name_len + dims + rest > left - ENTRY || dims % 8)
    return bad(err);
  t->bytes = om_get64(p);
  t->format = (int32_t)om_get32(p + 8);
  t->dtype = oc_dtype_from_runtime((int)om_get32(p + 12));
  t->rank = (uint32_t)(dims / 8);
  t->name = oc_arena_strndup(arena, (const char *)p + ENTRY, (size_t)name_len);
  int64_t *d = OC_NEW_N(arena, int64_t, t->rank);
  if (!t->name || !d)
    return oc_error_set(err, OC_E_NOMEM, "not enough memory");
  for (uint32_t k = 0; k < t->rank; k++)
    d[k] = (int64_t)om_get64(p + ENTRY + name_len + 8 * (size_t)k);
  t->dims = d;
  *at += ENTRY + (size_t)(name_len + dims + rest);
  return 0;
}

static int read_list(struct oc_str v, struct oc_arena *arena, struct oc_om_io **ret,
                     size_t *ret_n, struct oc_error *err)
{
  size_t at = 4;

  if (v.len < 4)
    return bad(err);
  size_t n = om_get32((const uint8_t *)v.p);
  if (n > (v.len - 4) / ENTRY)
    return bad(err);
  struct oc_om_io *t = OC_NEW_N(arena, struct oc_om_io, n);
  if (!t)
    return oc_error_set(err, OC_E_NOMEM, "not enough memory");
  for (size_t i = 0; i < n; i++) {
    int rc = read_tensor(v, &at, arena, &t[i], err);
    if (rc < 0)
      return rc;
  }
  *ret = t;
  *ret_n = n;
  return 0;
}

int oc_om_read_inout(struct oc_str bytes, struct oc_arena *arena,
                     struct oc_om_io **ret_inputs, size_t *ret_n_inputs,
                     struct oc_om_io **ret_outputs, size_t *ret_n_outputs,
                     struct oc_error *err)
{
  size_t at = 0;

  while (at < bytes.len) {
    const uint8_t *p = (const uint8_t *)bytes.p + at;
    if (bytes.len - at < 8 || om_get32(p + 4) > bytes.len - at - 8)
      return bad(err);
    struct oc_str v = { (const char *)p + 8, om_get32(p + 4) };
    int rc = 0;
    if (om_get32(p) == 0)
      rc = read_list(v, arena, ret_inputs, ret_n_inputs, err);
    else if (om_get32(p) == 1)
      rc = read_list(v, arena, ret_outputs, ret_n_outputs, err);
    if (rc < 0)
      return rc;
    at += 8 + v.len;
  }
  return 0;
}
