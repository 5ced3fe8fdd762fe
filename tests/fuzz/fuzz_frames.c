/* Bytes as what a peer sends: frames from a socket, and their bodies as each kind of
 * message. */
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "frame/frame.h"
#include "messages/messages.h"
#include "target.h"

#define WRITE_CAP (1u << 16)
/* What a socket takes without anyone reading. */
#define MOST (64u << 10)

static void unpack(const struct oc_frame *frame)
{
  static const ProtobufCMessageDescriptor *const types[] = {
    &omcc__v1__to_daemon__descriptor, &omcc__v1__to_client__descriptor,
    &omcc__v1__to_worker__descriptor, &omcc__v1__from_worker__descriptor,
    &omcc__v1__to_runner__descriptor, &omcc__v1__from_runner__descriptor,
    &omcc__v1__report__descriptor,
  };

  for (size_t i = 0; i < OC_COUNT(types); i++) {
    ProtobufCMessage *m = NULL;
    struct oc_error err = { 0 };
    struct oc_arena arena;

    oc_arena_init(&arena, oc_message_cap(frame->len));
    (void)oc_message_unpack(types[i], frame->body, frame->len, &arena, &m, &err);
    oc_arena_clear(&arena);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
  struct oc_error err = { 0 };
  struct oc_frame frame;
  int pair[2];

  len = len < MOST ? len : MOST;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
    abort();
  struct oc_channel *c = oc_channel_new(pair[0], WRITE_CAP);
  if (!c || send(pair[1], data, len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
    close(pair[1]);
    oc_channel_free(c);
    return 0;
  }
  close(pair[1]);
  /* Every turn takes bytes or ends the connection. */
  for (int rc = 1; rc >= 0;) {
    rc = oc_channel_read(c, &err);
    while (rc >= 0 && oc_channel_next(c, &frame, &err) == 1) {
      unpack(&frame);
      oc_frame_close_fds(&frame);
    }
  }
  oc_channel_free(c);
  return 0;
}
