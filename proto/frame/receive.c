/* Receiving. The kernel never puts the descriptors of two sends into one recvmsg, so a
 * control buffer for one frame's worth is enough; a peer that sends more gets MSG_CTRUNC,
 * which is a protocol error like any other wrong count. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "frame/frame_internal.h"

#define CHUNK ((size_t)16 << 10)
/* A larger input buffer is given back as soon as nothing is in it: a peer that is quiet
 * costs little, whatever it sent before. */
#define KEEP_ROOM ((size_t)1 << 10)

union control {
  struct cmsghdr align;
  char bytes[CMSG_SPACE(sizeof(int) * OC_MAX_FRAME_FDS)];
};

static int protocol_error(struct oc_channel *c, struct oc_error *err, const char *what)
{
  oc_error_set(err, OC_E_PROTO, "%s", what);
  return oc_channel_break_read(c, OC_E_PROTO);
}

/* Puts what came into the FIFO; closes what has no room there. False: there was too much.
 */
static bool collect_fds(struct oc_channel *c, struct msghdr *msg)
{
  bool fits = true;

  for (struct cmsghdr *h = CMSG_FIRSTHDR(msg); h; h = CMSG_NXTHDR(msg, h)) {
    if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
      continue;
    size_t n = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < n; i++) {
      int fd = -1;
      memcpy(&fd, CMSG_DATA(h) + i * sizeof(int), sizeof(fd));
      if (c->n_fifo < OC_CHANNEL_FIFO) {
        c->fifo[c->n_fifo++] = fd;
      } else {
        close(fd);
        fits = false;
      }
    }
  }
  return fits;
}

/* Moves the unread rest to the front. */
static void compact(struct oc_channel *c)
{
  if (c->taken) {
    oc_buf_consume(&c->in, c->taken);
    c->taken = 0;
  }
  if (!c->in.len && c->in.room > KEEP_ROOM)
    oc_buf_clear(&c->in);
}

/* The peer's end of the stream, orderly only between frames. */
static int at_end(struct oc_channel *c, struct oc_error *err)
{
  if (c->in.len || c->n_fifo)
    return protocol_error(c, err, "the peer closed the connection inside a frame");
  oc_error_set(err, OC_E_CLOSED, "the peer closed the connection");
  return oc_channel_break_read(c, OC_E_CLOSED);
}

static int receive_failed(struct oc_channel *c, struct oc_error *err)
{
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)
    return 0;
  if (errno == ECONNRESET)
    return at_end(c, err);
  oc_error_errno(err, OC_E_IO, "cannot receive from the peer");
  return oc_channel_break_read(c, OC_E_IO);
}

/* One recvmsg: 1 when bytes came, 0 when there are none. What comes is small as a rule,
 * and nobody knows how small: it is received on the stack. */
static int receive_some(struct oc_channel *c, struct oc_error *err)
{
  union control control;
  uint8_t chunk[CHUNK];
  struct iovec iov = { .iov_base = chunk, .iov_len = sizeof(chunk) };
  struct msghdr msg = { .msg_iov = &iov,
                        .msg_iovlen = 1,
                        .msg_control = &control,
                        .msg_controllen = sizeof(control) };

  ssize_t n = recvmsg(c->fd, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (n < 0)
    return receive_failed(c, err);
  bool fits = collect_fds(c, &msg);
  if (!fits || msg.msg_flags & MSG_CTRUNC)
    return protocol_error(c, err, "the peer sent too many descriptors");
  if (!n)
    return at_end(c, err);
  if (oc_buf_append(&c->in, chunk, (size_t)n) < 0) {
    oc_error_set(err, OC_E_NOMEM, "no memory for a frame");
    return oc_channel_break_read(c, OC_E_NOMEM);
  }
  return 1;
}

int oc_channel_read(struct oc_channel *c, struct oc_error *err)
{
  int result = 0;

  if (c->read_broken)
    return oc_error_set(err, c->read_broken, "the connection is closed");
  compact(c);
  while (!oc_channel_has_frame(c)) {
    int rc = receive_some(c, err);
    if (rc < 0)
      return rc;
    if (rc == 0)
      break;
    result = 1;
  }
  return result;
}
