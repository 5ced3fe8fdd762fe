/* Protobuf wire format, bounded and zero-copy, for models and .om files.
 *
 * Reader: a cursor over bytes that somebody else owns. Each step yields one field; a
 * nested message is a slice on which the caller opens another cursor (no recursion in
 * here; callers keep depth <= OC_MAX_NESTING). Every offset is checked; nothing is
 * allocated. Groups (wire types 3 and 4) are refused.
 *
 * Writer: appends fields to a capped buffer; sub-messages are written by reserving the
 * length of a finished child buffer. */
#ifndef OC_WIRE_WIRE_H
#define OC_WIRE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

enum oc_wire_type {
  OC_WIRE_VARINT = 0,
  OC_WIRE_64 = 1,
  OC_WIRE_BYTES = 2,
  OC_WIRE_32 = 5
};

struct oc_wire {
  const uint8_t *start; /* for positions in messages */
  const uint8_t *p;
  const uint8_t *end;
  bool bad;        /* malformed: stays set */
  const char *why; /* static text when bad */
};

struct oc_field {
  uint32_t number;
  enum oc_wire_type type;
  uint64_t u;          /* varint, fixed64 or fixed32 value */
  const uint8_t *data; /* bytes, for OC_WIRE_BYTES */
  size_t len;
};

void oc_wire_open(struct oc_wire *w, const void *data, size_t len);
/* True and `*ret` filled for the next field; false at the end or when malformed (w->bad).
 */
bool oc_wire_next(struct oc_wire *w, struct oc_field *ret);

/* Values of a field; the ones that cannot fit the wire type give 0 (and set nothing). */
struct oc_str oc_field_str(const struct oc_field *f);
int64_t oc_field_i64(const struct oc_field *f);
float oc_field_f32(const struct oc_field *f);
double oc_field_f64(const struct oc_field *f);

/* Packed or not: calls happen per field occurrence. Appends the int64 values of a
 * repeated varint field occurrence: returns how many it holds, writes at most `room` of
 * them to `ret`, SIZE_MAX when malformed. Call with room 0 to count. */
size_t oc_field_varints(const struct oc_field *f, int64_t *ret, size_t room);
/* The same for packed or single fixed32 (floats) as raw bits. */
size_t oc_field_fixed32s(const struct oc_field *f, uint32_t *ret, size_t room);
size_t oc_field_fixed64s(const struct oc_field *f, uint64_t *ret, size_t room);

/* Writer. All return 0 or OC_E_NOMEM (and set out->failed). */
int oc_wire_put_tag(struct oc_buf *out, uint32_t number, enum oc_wire_type type);
int oc_wire_put_raw_varint(struct oc_buf *out, uint64_t v);
int oc_wire_put_varint(struct oc_buf *out, uint32_t number,
                       uint64_t v); /* written even when 0 */
int oc_wire_put_i64(struct oc_buf *out, uint32_t number, int64_t v);
int oc_wire_put_bool(struct oc_buf *out, uint32_t number, bool v);
int oc_wire_put_f32(struct oc_buf *out, uint32_t number, float v);
int oc_wire_put_bytes(struct oc_buf *out, uint32_t number, const void *p, size_t len);
int oc_wire_put_string(struct oc_buf *out, uint32_t number, const char *s);
/* A packed list without elements is not written at all. */
int oc_wire_put_packed_i64(struct oc_buf *out, uint32_t number, const int64_t *v,
                           size_t n);
int oc_wire_put_packed_f32(struct oc_buf *out, uint32_t number, const float *v, size_t n);
/* A finished child message as field `number`. */
int oc_wire_put_message(struct oc_buf *out, uint32_t number, const struct oc_buf *child);

#endif
