/* A report without its ops. Unpacking allocates for every tensor and reason, which takes
 * longer than all the rest of a hit; the ops are one field of the top level, so they can
 * be stepped over before protobuf-c sees the bytes. */
#include "messages/messages_internal.h"

#define OPS_FIELD 8 /* report.proto */

int oc_report_unpack_brief(const void *body, size_t len, struct oc_arena *arena,
                           Omcc__V1__Report **ret, struct oc_error *err)
{
  const uint8_t *from = body;
  uint8_t *kept = oc_arena_alloc(arena, len);
  ProtobufCMessage *m = NULL;
  size_t n = 0;

  for (size_t at = 0; kept && at < len;) {
    uint64_t number = 0;
    size_t size = oc_message_field(from + at, len - at, &number);
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
