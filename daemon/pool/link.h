/* A channel driven by a loop: one descriptor, one uv_poll_t, messages out, frames in.
 *
 * Used for clients, for the zygote, its children and the runners alike. The descriptor
 * belongs to the link from oc_link_open() on; it is closed when the handle is.
 *
 * Ownership: embedded in its owner, which must stay where it is until `closed` was
 * called. Thread: the loop's. */
#ifndef OC_POOL_LINK_H
#define OC_POOL_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#include "base/buf.h"
#include "base/error.h"
#include "frame/frame.h"

struct oc_link;

struct oc_link_events {
  /* One frame. Descriptors that are left in it are closed afterwards. Negative: the peer
   * broke the protocol, `ended` follows with this code. */
  int (*frame)(void *ctx, struct oc_frame *f, struct oc_error *err);
  /* The peer has gone, or the stream is broken. Called once, not after oc_link_close();
   * the owner then closes the link. */
  void (*ended)(void *ctx, int code, const struct oc_error *err);
  /* After each read, what is left of it: a frame that has begun and is not complete, or
   * nothing. May be NULL: the owner waits as long as it takes. */
  void (*partial)(void *ctx, bool in_frame);
  /* After oc_link_close(): nothing of the link is in use any more. */
  void (*closed)(void *ctx);
};

struct oc_link {
  uv_poll_t poll;
  struct oc_channel *channel;
  const struct oc_link_events *events;
  void *ctx;
  int wanted; /* UV_READABLE | UV_WRITABLE as registered */
  /* While more bytes than this wait for the peer, nothing is read from it; 0: always
   * read. The owner's to set after oc_link_open(). */
  size_t most_waiting;
  uint64_t behind_ms; /* since when more waits, in the loop's time; 0: it does not */
  bool open, ended, closing;
};

/* Takes `fd` over, also on failure. `write_cap` bounds what waits to be sent. */
int oc_link_open(struct oc_link *l, uv_loop_t *loop, int fd, size_t write_cap,
                 const struct oc_link_events *events, void *ctx, struct oc_error *err);
/* Packs a protobuf-c message and queues it. Descriptors are duplicated. When the peer
 * does not read (OC_E_LIMIT) the link must be closed. */
int oc_link_send(struct oc_link *l, const void *message, const int *fds, size_t n_fds,
                 struct oc_error *err);
/* The same with a packed message. */
int oc_link_send_bytes(struct oc_link *l, const void *body, size_t len, const int *fds,
                       size_t n_fds, struct oc_error *err);
/* From inside `frame` only: the message leaves with the next one, at the latest when the
 * frames that have come are dealt with. No descriptors. */
int oc_link_queue(struct oc_link *l, const void *message, struct oc_error *err);
/* Reads what is there now, as if the loop had said so. */
void oc_link_look(struct oc_link *l);
/* Delivers what a peer that has ended still left in the socket. */
void oc_link_drain(struct oc_link *l);
/* Idempotent. What is queued is sent as far as the socket takes it. */
void oc_link_close(struct oc_link *l);

#endif
