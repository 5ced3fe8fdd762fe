/* A report without its ops. Unpacking allocates for every tensor and reason, which takes
 * longer than all the rest of a hit; the ops are one field of the top level, so they can
 * be stepped over before protobuf-c sees the bytes. */
#include "messages/messages.h"

#define OPS_FIELD 8 /* report.proto */

/* Bytes of the varint at `p`, 0 when it does not end; its value in `ret`. */
static size_t varint(const uint8_t *p, size_t left, uint64_t *ret)
{
  uint64_t v = 0;

  for (size_t i = 0; i < left && i < 10; i++) {
    v |= (uint64_t)(p[i] & 0x7f) << (7 * i);
    if (!(p[i] & 0x80)) {
      *ret = v;
      return i + 1;
    }
  }
  return 0;
}

/* Bytes of the whole field at `p`, 0 when it is malformed; its number in `ret`. */
static size_t field(const uint8_t *p, size_t left, uint64_t *ret)
{
  uint64_t tag = 0;
  uint64_t value = 0;
  size_t head = varint(p, left, &tag);
  size_t more = head ? varint(p + head, left - head, &value) : 0;
  uint64_t body = 0;

  if (!head)
    return 0;
  *ret = tag >> 3;
  switch (tag & 7) {
  case 0: return more ? head + more : 0;
  case 1: body = 8; break;
  case 5: body = 4; break;
  case 2:
    if (!more)
      return 0;
    head += more;
    body = value;
    break;
  default: return 0;
  }
  return body <= left - head ? head + (size_t)body : 0;
}

int oc_report_unpack_brief(const void *body, size_t len, struct oc_arena *arena,
                           Omcc__V1__Report **ret, struct oc_error *err)
{
  const uint8_t *from = body;
  uint8_t *kept = oc_arena_alloc(arena, len);
  ProtobufCMessage *m = NULL;
  size_t n = 0;

  for (size_t at = 0; kept && at < len;) {
    uint64_t number = 0;
    size_t size = field(from + at, len - at, &number);
    if (!size)
      return oc_error_set(err, OC_E_PROTO, "a report of %zu bytes is malformed", len);
    for (size_t i = 0; i < size && number != OPS_FIELD; i++)
      kept[n++] = from[at + i];
    at += size;
  }
  if (!kept)
    return oc_error_set(err, OC_E_NOMEM, "no memory for a report of %zu bytes", len);
  int rc = oc_message_unpack(&omcc__v1__report__descriptor, kept, n, arena, &m, err);
  if (rc == 0)
    *ret = (Omcc__V1__Report *)m;
  return rc;
}
