/* Constants whose elements the wire holds as numbers: counted first, then written out as
 * little-endian elements. */
#include "import/reader.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "wire/wire.h"

/* Elements of one occurrence; SIZE_MAX when malformed. */
static size_t count_one(const struct oc_field *f, enum import_numbers kind)
{
  switch (kind) {
  case IMPORT_FIXED32: return oc_field_fixed32s(f, NULL, 0);
  case IMPORT_FIXED64: return oc_field_fixed64s(f, NULL, 0);
  default: return oc_field_varints(f, NULL, 0);
  }
}

bool import_count_numbers(struct oc_str body, uint32_t field, enum import_numbers kind,
                          uint64_t *ret, struct oc_str *ret_run)
{
  struct oc_wire w;
  struct oc_field f;
  uint64_t n = 0;
  unsigned occurrences = 0;
  oc_wire_open(&w, body.p, body.len);
  while (oc_wire_next(&w, &f)) {
    if (f.number != field)
      continue;
    size_t one = count_one(&f, kind);
    if (one == SIZE_MAX)
      return false;
    n += one;
    occurrences++;
    if (f.type == OC_WIRE_BYTES)
      *ret_run = (struct oc_str){ (const char *)f.data, f.len };
  }
  if (occurrences != 1 || kind == IMPORT_VARINTS)
    ret_run->p = NULL;
  *ret = n;
  return !w.bad;
}

static void put_le(uint8_t *p, uint64_t v, size_t bytes)
{
  for (size_t i = 0; i < bytes; i++)
    p[i] = (uint8_t)(v >> (8 * i));
}

/* At most `room` elements of one occurrence into `wide`; SIZE_MAX when malformed. */
static size_t read_one(const struct oc_field *f, enum import_numbers kind, void *wide,
                       size_t room)
{
  switch (kind) {
  case IMPORT_FIXED32: return oc_field_fixed32s(f, wide, room);
  case IMPORT_FIXED64: return oc_field_fixed64s(f, wide, room);
  default: return oc_field_varints(f, wide, room);
  }
}

bool import_gather_numbers(struct oc_str body, uint32_t field, enum import_numbers kind,
                           uint8_t *out, size_t n, size_t width)
{
  struct oc_wire w;
  struct oc_field f;
  auto_free int64_t *wide = calloc(n + 1, sizeof(*wide));
  size_t at = 0;
  if (!wide)
    return false;
  oc_wire_open(&w, body.p, body.len);
  while (at < n && oc_wire_next(&w, &f)) {
    if (f.number != field)
      continue;
    size_t one = read_one(&f, kind, wide, n - at);
    if (one == SIZE_MAX)
      return false;
    for (size_t i = 0; i < one && at + i < n; i++)
      put_le(out + (at + i) * width,
             kind == IMPORT_FIXED32 ? ((const uint32_t *)wide)[i] : (uint64_t)wide[i],
             width);
    at += one;
  }
  return at >= n;
}
