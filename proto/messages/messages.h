/* The three message files and what everybody does with them: unpack into a capped arena,
 * pack into a buffer, findings to and from messages. */
#ifndef OC_MESSAGES_MESSAGES_H
#define OC_MESSAGES_MESSAGES_H

#include <protobuf-c/protobuf-c.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/finding.h"

#include "messages/omcc.pb-c.h"
#include "messages/report.pb-c.h"
#include "messages/worker.pb-c.h"

/* Unpacks `len` bytes; the message and all it holds live in `arena`, whose cap should be
 * oc_message_cap(len): 16 x len, at least 64 KiB (a Reason of 12 bytes on the wire
 * becomes some 150 in memory, and protobuf-c notes 40 bytes per field while it reads).
 * OC_E_PROTO when malformed or over the cap. */
int oc_message_unpack(const ProtobufCMessageDescriptor *type, const void *body,
                      size_t len, struct oc_arena *arena, ProtobufCMessage **ret,
                      struct oc_error *err);
size_t oc_message_cap(size_t len);
/* Packs into `out` (replacing its content). 0, OC_E_NOMEM or OC_E_LIMIT (buffer cap). */
int oc_message_pack(const void *message, struct oc_buf *out);

/* An envelope (ToClient, ToDaemon) unread: its id, and number and bytes of its body,
 * which is one message. */
struct oc_envelope {
  uint64_t id;
  uint32_t number; /* as in the .proto file, 0: no body */
  const uint8_t *body;
  size_t body_len;
};
/* 0, or OC_E_PROTO when it is malformed or has several bodies. */
int oc_envelope_look(const void *frame, size_t len, struct oc_envelope *ret);

/* A report without its ops, which are nine tenths of it: for who shows findings and lists
 * only. The bytes may go away afterwards. OC_E_PROTO when malformed, OC_E_NOMEM. */
int oc_report_unpack_brief(const void *body, size_t len, struct oc_arena *arena,
                           Omcc__V1__Report **ret, struct oc_error *err);

/* One finding as a message and back; everything is copied into the arena. A message whose
 * id this build does not know becomes the register's `unknown-finding` with the id as
 * subject. */
Omcc__V1__Finding *oc_finding_to_message(const struct oc_finding *f,
                                         struct oc_arena *arena);
struct oc_finding *oc_finding_from_message(const Omcc__V1__Finding *m,
                                           struct oc_findings *to);
/* All of a list, as the repeated field wants it. */
Omcc__V1__Finding **oc_findings_to_messages(const struct oc_findings *fs,
                                            struct oc_arena *arena, size_t *ret_n);

#endif
