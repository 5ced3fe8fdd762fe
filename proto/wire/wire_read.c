/* The cursor. Every length is compared with what is left before it is added to anything,
 * so no offset can overflow; the first malformed byte stops the cursor for good. */
#include <string.h>

#include "wire/wire.h"

#define MAX_FIELD_NUMBER ((1u << 29) - 1)

void oc_wire_open(struct oc_wire *w, const void *data, size_t len)
{
  const uint8_t *p = data ? data : (const uint8_t *)"";

  *w = (struct oc_wire){ .start = p, .p = p, .end = p + (data ? len : 0) };
}

static bool refuse(struct oc_wire *w, const char *why)
{
  w->bad = true;
  w->why = why;
  return false;
}

/* Reads a varint at *p; NULL (in *p) is never given back: false leaves *p alone. */
static bool read_varint(const uint8_t **p, const uint8_t *end, uint64_t *ret)
{
  const uint8_t *at = *p;
  uint64_t v = 0;

  for (unsigned shift = 0; shift < 64 && at < end; shift += 7) {
    uint8_t byte = *at++;
    if (shift == 63 && byte > 1)
      return false; /* more than 64 bits */
    v |= (uint64_t)(byte & 0x7f) << shift;
    if (!(byte & 0x80)) {
      *p = at;
      *ret = v;
      return true;
    }
  }
  return false;
}

static uint64_t load_le(const uint8_t *p, size_t n)
{
  uint64_t v = 0;

  for (size_t i = 0; i < n; i++)
    v |= (uint64_t)p[i] << (8 * i);
  return v;
}

static bool next_fixed(struct oc_wire *w, struct oc_field *f, size_t n)
{
  if ((size_t)(w->end - w->p) < n)
    return refuse(w, "a fixed-size value is cut off");
  f->u = load_le(w->p, n);
  w->p += n;
  return true;
}

static bool next_bytes(struct oc_wire *w, struct oc_field *f)
{
  uint64_t len = 0;

  if (!read_varint(&w->p, w->end, &len))
    return refuse(w, "a length is malformed");
  if (len > (uint64_t)(w->end - w->p))
    return refuse(w, "a length reaches behind the end");
  f->data = w->p;
  f->len = (size_t)len;
  w->p += len;
  return true;
}

bool oc_wire_next(struct oc_wire *w, struct oc_field *ret)
{
  uint64_t tag = 0;
  struct oc_field f = { 0 };

  if (w->bad || w->p == w->end)
    return false;
  if (!read_varint(&w->p, w->end, &tag))
    return refuse(w, "a field tag is malformed");
  if (tag >> 3 == 0 || tag >> 3 > MAX_FIELD_NUMBER)
    return refuse(w, "a field number is out of range");
  f.number = (uint32_t)(tag >> 3);
  f.type = (enum oc_wire_type)(tag & 7);

  bool ok = false;
  switch (f.type) {
  case OC_WIRE_VARINT:
    ok = read_varint(&w->p, w->end, &f.u) || refuse(w, "a varint is malformed");
    break;
  case OC_WIRE_64: ok = next_fixed(w, &f, 8); break;
  case OC_WIRE_32: ok = next_fixed(w, &f, 4); break;
  case OC_WIRE_BYTES: ok = next_bytes(w, &f); break;
  default: ok = refuse(w, "a wire type that is not used (groups are refused)"); break;
  }
  if (ok)
    *ret = f;
  return ok;
}

struct oc_str oc_field_str(const struct oc_field *f)
{
  if (f->type != OC_WIRE_BYTES)
    return (struct oc_str){ "", 0 };
  return (struct oc_str){ (const char *)f->data, f->len };
}

int64_t oc_field_i64(const struct oc_field *f)
{
  return f->type == OC_WIRE_VARINT ? (int64_t)f->u : 0;
}

float oc_field_f32(const struct oc_field *f)
{
  uint32_t bits = f->type == OC_WIRE_32 ? (uint32_t)f->u : 0;
  float v = 0;

  memcpy(&v, &bits, sizeof(v));
  return v;
}

double oc_field_f64(const struct oc_field *f)
{
  uint64_t bits = f->type == OC_WIRE_64 ? f->u : 0;
  double v = 0;

  memcpy(&v, &bits, sizeof(v));
  return v;
}

size_t oc_field_varints(const struct oc_field *f, int64_t *ret, size_t room)
{
  if (f->type == OC_WIRE_VARINT) {
    if (room)
      ret[0] = (int64_t)f->u;
    return 1;
  }
  if (f->type != OC_WIRE_BYTES)
    return SIZE_MAX;
  const uint8_t *p = f->data;
  const uint8_t *end = p + f->len;
  size_t n = 0;
  while (p < end) {
    uint64_t v = 0;
    if (!read_varint(&p, end, &v))
      return SIZE_MAX;
    if (n < room)
      ret[n] = (int64_t)v;
    n++;
  }
  return n;
}

size_t oc_field_fixed32s(const struct oc_field *f, uint32_t *ret, size_t room)
{
  if (f->type == OC_WIRE_32) {
    if (room)
      ret[0] = (uint32_t)f->u;
    return 1;
  }
  if (f->type != OC_WIRE_BYTES || f->len % 4)
    return SIZE_MAX;
  for (size_t i = 0; i < f->len / 4 && i < room; i++)
    ret[i] = (uint32_t)load_le(f->data + 4 * i, 4);
  return f->len / 4;
}

size_t oc_field_fixed64s(const struct oc_field *f, uint64_t *ret, size_t room)
{
  if (f->type == OC_WIRE_64) {
    if (room)
      ret[0] = f->u;
    return 1;
  }
  if (f->type != OC_WIRE_BYTES || f->len % 8)
    return SIZE_MAX;
  for (size_t i = 0; i < f->len / 8 && i < room; i++)
    ret[i] = load_le(f->data + 8 * i, 8);
  return f->len / 8;
}
