/* What brief.c and envelope.c share. */
#ifndef OC_MESSAGES_INTERNAL_H
#define OC_MESSAGES_INTERNAL_H

#include "messages/messages.h"

/* Bytes of the whole field at `p`, 0 when it is malformed; its number in `ret`. */
size_t oc_message_field(const uint8_t *p, size_t left, uint64_t *ret);

#endif
