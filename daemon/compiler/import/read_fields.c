/* What all readers share: strings, lists of numbers, and the finding for bytes that are
 * not what they claim to be. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/limits.h"
#include "import/reader.h"
#include "wire/wire.h"

static bool is_unknown_type(enum oc_finding_id id)
{
  return id == OC_FINDING_OP_UNKNOWN || id == OC_FINDING_OP_OPSET ||
         id == OC_FINDING_TF_OP_UNKNOWN;
}

struct oc_finding *import_lower(const struct import_reader *r, struct oc_finding *f)
{
  bool lower = r->lenient || (r->unknown_is_row && is_unknown_type(f->id));

  if (lower && f->severity == OC_SEV_ERROR)
    f->severity = OC_SEV_WARNING;
  return f;
}

int import_malformed(struct import_reader *r, const void *where, const char *why)
{
  char at[24];
  size_t pos = (size_t)((const uint8_t *)where - r->base);
  (void)snprintf(at, sizeof(at), "%zu", pos > r->len ? r->len : pos);
  import_lower(r,
               oc_finding_add(r->findings, OC_FINDING_MODEL_MALFORMED, "", "byte", at,
                              "why", why ? why : "it is not a protobuf message", NULL));
  return OC_E_FORMAT;
}

size_t import_count(const struct import_reader *r, struct oc_str body, uint32_t field)
{
  struct oc_wire w;
  struct oc_field f;
  size_t n = 0;
  (void)r;
  oc_wire_open(&w, body.p, body.len);
  while (oc_wire_next(&w, &f))
    if (f.number == field && f.type == OC_WIRE_BYTES)
      n++;
  return w.bad ? SIZE_MAX : n;
}

const char *import_string(struct import_reader *r, struct oc_str s)
{
  if (s.len > OC_MAX_NAME) {
    (void)import_malformed(r, s.p, "a name is longer than 65535 bytes");
    return NULL;
  }
  const char *copy = oc_arena_strndup(r->arena, s.len ? s.p : "", s.len);
  if (!copy)
    return NULL;
  if (!oc_utf8_valid((struct oc_str){ copy, s.len })) {
    (void)import_malformed(r, s.p, "a name is not UTF-8 text");
    return NULL;
  }
  return copy;
}

/* Every value of a repeated varint field, packed or not, as one array. */
int import_read_ints(struct import_reader *r, struct oc_str body, uint32_t field,
                     const int64_t **ret, size_t *ret_n)
{
  struct oc_wire w;
  struct oc_field f;
  size_t room = 0;
  oc_wire_open(&w, body.p, body.len);
  while (oc_wire_next(&w, &f)) {
    size_t n = f.number == field ? oc_field_varints(&f, NULL, 0) : 0;
    if (n == SIZE_MAX)
      return import_malformed(r, f.data, "a list of numbers is malformed");
    room += n;
  }
  if (w.bad)
    return import_malformed(r, w.p, w.why);
  int64_t *v = OC_NEW_N(r->arena, int64_t, room);
  if (!v)
    return OC_E_NOMEM;
  size_t at = 0;
  oc_wire_open(&w, body.p, body.len);
  while (at < room && oc_wire_next(&w, &f)) {
    if (f.number != field)
      continue;
    size_t n = oc_field_varints(&f, v + at, room - at);
    if (n == SIZE_MAX)
      break;
    at = n > room - at ? room : at + n;
  }
  *ret = v;
  *ret_n = at;
  return OC_OK;
}

int import_read_floats(struct import_reader *r, struct oc_str body, uint32_t field,
                       const float **ret, size_t *ret_n)
{
  struct oc_wire w;
  struct oc_field f;
  size_t room = 0;
  oc_wire_open(&w, body.p, body.len);
  while (oc_wire_next(&w, &f)) {
    size_t n = f.number == field ? oc_field_fixed32s(&f, NULL, 0) : 0;
    if (n == SIZE_MAX)
      return import_malformed(r, f.data, "a list of numbers is malformed");
    room += n;
  }
  uint32_t *bits = OC_NEW_N(r->arena, uint32_t, room);
  float *v = OC_NEW_N(r->arena, float, room);
  if (!bits || !v)
    return OC_E_NOMEM;
  size_t at = 0;
  oc_wire_open(&w, body.p, body.len);
  while (at < room && oc_wire_next(&w, &f)) {
    if (f.number != field)
      continue;
    size_t n = oc_field_fixed32s(&f, bits + at, room - at);
    if (n == SIZE_MAX)
      break;
    at = n > room - at ? room : at + n;
  }
  if (at)
    memcpy(v, bits, at * sizeof(*v));
  *ret = v;
  *ret_n = at;
  return OC_OK;
}
