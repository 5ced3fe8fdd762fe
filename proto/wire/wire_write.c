/* The writer appends; a length in front of packed values is computed, not patched in. */
#include <string.h>

#include "base/error.h"
#include "wire/wire.h"

static size_t varint_size(uint64_t v)
{
  size_t n = 1;

  while (v >>= 7)
    n++;
  return n;
}

int oc_wire_put_raw_varint(struct oc_buf *out, uint64_t v)
{
  uint8_t bytes[10];
  size_t n = 0;

  while (v >= 0x80) {
    bytes[n++] = (uint8_t)(v | 0x80);
    v >>= 7;
  }
  bytes[n++] = (uint8_t)v;
  return oc_buf_append(out, bytes, n);
}

int oc_wire_put_tag(struct oc_buf *out, uint32_t number, enum oc_wire_type type)
{
  return oc_wire_put_raw_varint(out, (uint64_t)number << 3 | (uint64_t)type);
}

int oc_wire_put_varint(struct oc_buf *out, uint32_t number, uint64_t v)
{
  oc_wire_put_tag(out, number, OC_WIRE_VARINT);
  return oc_wire_put_raw_varint(out, v);
}

int oc_wire_put_i64(struct oc_buf *out, uint32_t number, int64_t v)
{
  return oc_wire_put_varint(out, number, (uint64_t)v);
}

int oc_wire_put_bool(struct oc_buf *out, uint32_t number, bool v)
{
  return oc_wire_put_varint(out, number, v);
}

static int put_raw_f32(struct oc_buf *out, float v)
{
  uint32_t bits = 0;

  memcpy(&bits, &v, sizeof(bits));
  uint8_t bytes[4] = { (uint8_t)bits, (uint8_t)(bits >> 8), (uint8_t)(bits >> 16),
                       (uint8_t)(bits >> 24) };
  return oc_buf_append(out, bytes, sizeof(bytes));
}

int oc_wire_put_f32(struct oc_buf *out, uint32_t number, float v)
{
  oc_wire_put_tag(out, number, OC_WIRE_32);
  return put_raw_f32(out, v);
}

static int put_length(struct oc_buf *out, uint32_t number, size_t len)
{
  oc_wire_put_tag(out, number, OC_WIRE_BYTES);
  return oc_wire_put_raw_varint(out, len);
}

int oc_wire_put_bytes(struct oc_buf *out, uint32_t number, const void *p, size_t len)
{
  put_length(out, number, len);
  return oc_buf_append(out, p, len);
}

int oc_wire_put_string(struct oc_buf *out, uint32_t number, const char *s)
{
  return oc_wire_put_bytes(out, number, s, strlen(s));
}

int oc_wire_put_packed_i64(struct oc_buf *out, uint32_t number, const int64_t *v,
                           size_t n)
{
  size_t len = 0;

  for (size_t i = 0; i < n; i++)
    len += varint_size((uint64_t)v[i]);
  if (n == 0)
    return 0;
  int rc = put_length(out, number, len);
  for (size_t i = 0; i < n; i++)
    rc = oc_wire_put_raw_varint(out, (uint64_t)v[i]);
  return rc;
}

int oc_wire_put_packed_f32(struct oc_buf *out, uint32_t number, const float *v, size_t n)
{
  if (n == 0)
    return 0;
  int rc = put_length(out, number, n * 4);

  for (size_t i = 0; i < n; i++)
    rc = put_raw_f32(out, v[i]);
  return rc;
}

int oc_wire_put_message(struct oc_buf *out, uint32_t number, const struct oc_buf *child)
{
  if (child->failed) { /* half a message must not look like an empty one */
    oc_buf_clear(out);
    out->failed = true;
    return OC_E_NOMEM;
  }
  return oc_wire_put_bytes(out, number, child->data, child->len);
}
