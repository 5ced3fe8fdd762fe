/* Frames on a stream socket, with descriptors, without blocking.
 *
 * Header, 12 bytes, little-endian: u32 magic "OMC1", u8 version, u8 n_fds, u16 reserved
 * (0), u32 length of the body. The body is one protobuf message. Everything is checked
 * before anything is allocated: n_fds <= OC_MAX_FRAME_FDS, length <= OC_MAX_FRAME.
 * Descriptors travel with the first byte of their frame, or of one without descriptors
 * that leaves together with it; they go into a FIFO, and a frame takes its n_fds from
 * there. Too few, too many at the end, or MSG_CTRUNC is a protocol error: the connection
 * is broken and every descriptor closed.
 *
 * A channel owns no loop and no timer: the owner calls oc_channel_read() when the
 * descriptor is readable and oc_channel_flush() when it is writable. */
#ifndef OC_FRAME_FRAME_H
#define OC_FRAME_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/limits.h"

#define OC_FRAME_MAGIC   0x31434d4fu /* the bytes "OMC1" */
#define OC_FRAME_VERSION 1
#define OC_FRAME_HEADER  12

struct oc_frame {
  const uint8_t *body; /* valid until the next call on the channel */
  size_t len;
  int fds[OC_MAX_FRAME_FDS]; /* owned by whoever received the frame; -1 once taken */
  size_t n_fds;
};

/* Closes the descriptors that nobody took (those not -1). */
void oc_frame_close_fds(struct oc_frame *f);
/* Moves descriptor `i` out; -1 when there is none. */
int oc_frame_take_fd(struct oc_frame *f, size_t i);

struct oc_channel;

/* Takes over `fd` (made close-on-exec; no call but the blocking helpers waits, whatever
 * its mode); closes it in oc_channel_free(). `write_cap` bounds bytes waiting to be sent.
 * NULL when memory is short (fd stays the caller's). */
struct oc_channel *oc_channel_new(int fd, size_t write_cap);
void oc_channel_free(struct oc_channel *c);
int oc_channel_fd(const struct oc_channel *c);

/* Reads without blocking until one complete frame is buffered. 1: bytes came; 0: nothing
 * now, or a complete frame waits to be taken with oc_channel_next() (nothing is read
 * ahead of it, so a peer cannot pile up frames or descriptors here); OC_E_CLOSED: orderly
 * end; OC_E_PROTO / OC_E_IO: broken. */
int oc_channel_read(struct oc_channel *c, struct oc_error *err);
/* The next complete frame: 1 and `*ret` filled, 0 when there is none yet, OC_E_PROTO. */
int oc_channel_next(struct oc_channel *c, struct oc_frame *ret, struct oc_error *err);

/* A frame has begun and is not complete: bytes or descriptors of it are held. */
bool oc_channel_in_frame(const struct oc_channel *c);

/* Sends one frame behind those that wait, or queues what the socket does not take of it.
 * Descriptors stay the caller's (duplicates wait in the queue); with `move_fds` they are
 * closed here, also on failure. 0, OC_E_LIMIT when the queue is full or the body too
 * large, OC_E_NOMEM, or what oc_channel_flush() gives. A peer that has gone (OC_E_CLOSED)
 * may still have left frames to read. */
int oc_channel_send(struct oc_channel *c, const void *body, size_t len, const int *fds,
                    size_t n_fds, bool move_fds, struct oc_error *err);
/* Queues one frame that may leave with the next one: it goes out with the next send or
 * flush. The same codes. */
int oc_channel_queue(struct oc_channel *c, const void *body, size_t len,
                     struct oc_error *err);
/* Sends what is queued. 1: everything is out; 0: the socket is full, wait for writable;
 * <0: broken. */
int oc_channel_flush(struct oc_channel *c, struct oc_error *err);
bool oc_channel_wants_write(const struct oc_channel *c);
size_t oc_channel_queued(const struct oc_channel *c); /* bytes */

/* Blocking helpers for the client, the worker child and tests: wait up to `timeout_ms`
 * (-1: for ever) for one frame / until everything is sent. OC_E_BUSY on time-out. */
int oc_channel_wait(struct oc_channel *c, int timeout_ms, struct oc_frame *ret,
                    struct oc_error *err);
int oc_channel_drain(struct oc_channel *c, int timeout_ms, struct oc_error *err);

#endif
