/* protobuf-c asks our arena for memory and never gives any back: what it builds while it
 * reads stays until the message dies. The arena's cap is what bounds a hostile body. */
#include "messages/messages.h"

#define LEAST_CAP ((size_t)64 << 10)
#define GROWTH    ((size_t)16)

size_t oc_message_cap(size_t len)
{
  if (len > SIZE_MAX / GROWTH)
    return SIZE_MAX;
  return len * GROWTH > LEAST_CAP ? len * GROWTH : LEAST_CAP;
}

int oc_message_unpack(const ProtobufCMessageDescriptor *type, const void *body,
                      size_t len, struct oc_arena *arena, ProtobufCMessage **ret,
                      struct oc_error *err)
{
  ProtobufCAllocator alloc = { oc_arena_pb_alloc, oc_arena_pb_free, arena };
  ProtobufCMessage *m = protobuf_c_message_unpack(type, &alloc, len, body);

  if (!m && arena->failed)
    return oc_error_set(err, OC_E_PROTO,
                        "a '%s' message of %zu bytes needs too much memory",
                        type->short_name, len);
  if (!m)
    return oc_error_set(err, OC_E_PROTO, "a '%s' message of %zu bytes is malformed",
                        type->short_name, len);
  *ret = m;
  return 0;
}

int oc_message_pack(const void *message, struct oc_buf *out)
{
  size_t len = protobuf_c_message_get_packed_size(message);

  oc_buf_reset(out);
  if (len > out->cap)
    return OC_E_LIMIT;
  uint8_t *p = oc_buf_reserve(out, len);
  if (!p)
    return OC_E_NOMEM;
  oc_buf_commit(out, protobuf_c_message_pack(message, p));
  return 0;
}
