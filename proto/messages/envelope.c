/* What a frame is about, without reading it: an envelope has an id and one body, and who
 * only passes the body on need not take it apart and put it together again. */
#include "messages/messages_internal.h"

#define ID_FIELD 1

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

size_t oc_message_field(const uint8_t *p, size_t left, uint64_t *ret)
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

int oc_envelope_look(const void *frame, size_t len, struct oc_envelope *ret)
{
  struct oc_envelope e = { .body = NULL };
  const uint8_t *p = frame;

  for (size_t at = 0; at < len;) {
    uint64_t number = 0, tag = 0, size = 0;
    size_t all = oc_message_field(p + at, len - at, &number);

    if (!all)
      return OC_E_PROTO;
    size_t head = varint(p + at, all, &tag);
    if (number == ID_FIELD && (tag & 7) == 0) {
      varint(p + at + head, all - head, &e.id);
    } else if ((tag & 7) == 2) {
      if (e.body)
        return OC_E_PROTO; /* a second body would count, or be merged */
      head += varint(p + at + head, all - head, &size);
      e.number = (uint32_t)number;
      e.body = p + at + head;
      e.body_len = (size_t)size;
    }
    at += all;
  }
  *ret = e;
  return 0;
}
