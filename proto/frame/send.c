/* Sending. A frame is copied once, header in front, into a queue of its own size; its
 * descriptors go with its first byte and are closed as soon as the kernel has taken it.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "frame/frame_internal.h"

union control {
  struct cmsghdr align;
  char bytes[CMSG_SPACE(sizeof(int) * OC_MAX_FRAME_FDS)];
};

static void close_all(const int *fds, size_t n)
{
  int saved = errno;

  for (size_t i = 0; i < n; i++)
    close(fds[i]);
  errno = saved;
}

void oc_outgoing_free(struct oc_outgoing *o)
{
  close_all(o->fds, o->n_fds);
  free(o);
}

static int duplicate_fds(struct oc_outgoing *o, const int *fds, size_t n,
                         struct oc_error *err)
{
  for (size_t i = 0; i < n; i++) {
    int fd = fcntl(fds[i], F_DUPFD_CLOEXEC, 3);
    if (fd < 0)
      return oc_error_errno(err, OC_E_IO, "cannot duplicate a descriptor");
    o->fds[o->n_fds++] = fd;
  }
  return 0;
}

/* Takes over `fds` when `move_fds`, but only on success. */
static int build(const void *body, size_t len, const int *fds, size_t n_fds,
                 bool move_fds, struct oc_outgoing **ret, struct oc_error *err)
{
  struct oc_outgoing *o = calloc(1, sizeof(*o) + OC_FRAME_HEADER + len);

  if (!o)
    return oc_error_set(err, OC_E_NOMEM, "no memory for a frame of %zu bytes", len);
  o->len = OC_FRAME_HEADER + len;
  oc_frame_put_header(o->bytes, len, n_fds);
  if (len)
    memcpy(o->bytes + OC_FRAME_HEADER, body, len);
  if (move_fds) {
    for (size_t i = 0; i < n_fds; i++)
      o->fds[o->n_fds++] = fds[i];
  } else {
    int rc = duplicate_fds(o, fds, n_fds, err);
    if (rc < 0) {
      oc_outgoing_free(o);
      return rc;
    }
  }
  *ret = o;
  return 0;
}

static int enqueue(struct oc_channel *c, const void *body, size_t len, const int *fds,
                   size_t n_fds, bool move_fds, struct oc_error *err)
{
  struct oc_outgoing *o = NULL;

  if (c->write_broken)
    return oc_error_set(err, c->write_broken, "the connection is closed");
  if (len > OC_MAX_FRAME || n_fds > OC_MAX_FRAME_FDS)
    return oc_error_set(err, OC_E_LIMIT,
                        "a frame of %zu bytes and %zu descriptors is too large", len,
                        n_fds);
  if (c->queued + OC_FRAME_HEADER + len > c->write_cap)
    return oc_error_set(err, OC_E_LIMIT, "the peer does not read: %zu bytes are waiting",
                        c->queued);
  int rc = build(body, len, fds, n_fds, move_fds, &o, err);
  if (rc < 0)
    return rc;
  c->queued += o->len;
  *c->out_end = o;
  c->out_end = &o->next;
  return 0;
}

int oc_channel_send(struct oc_channel *c, const void *body, size_t len, const int *fds,
                    size_t n_fds, bool move_fds, struct oc_error *err)
{
  int rc = enqueue(c, body, len, fds, n_fds, move_fds, err);

  if (rc < 0) {
    if (move_fds)
      close_all(fds, n_fds);
    return rc;
  }
  rc = oc_channel_flush(c, err);
  return rc < 0 ? rc : 0;
}

static int send_failed(struct oc_channel *c, struct oc_error *err)
{
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)
    return 0;
  c->write_broken = errno == EPIPE || errno == ECONNRESET ? OC_E_CLOSED : OC_E_IO;
  return oc_error_errno(err, c->write_broken, "cannot send to the peer");
}

/* One sendmsg of the first frame: 1 when something went out. */
static int send_some(struct oc_channel *c, struct oc_outgoing *o, struct oc_error *err)
{
  union control control;
  struct iovec iov = { .iov_base = o->bytes + o->sent, .iov_len = o->len - o->sent };
  struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

  if (!o->sent && o->n_fds) {
    memset(&control, 0, sizeof(control));
    msg.msg_control = &control;
    msg.msg_controllen = CMSG_SPACE(sizeof(int) * o->n_fds);
    struct cmsghdr *h = CMSG_FIRSTHDR(&msg);
    h->cmsg_level = SOL_SOCKET;
    h->cmsg_type = SCM_RIGHTS;
    h->cmsg_len = CMSG_LEN(sizeof(int) * o->n_fds);
    memcpy(CMSG_DATA(h), o->fds, sizeof(int) * o->n_fds);
  }
  ssize_t n = sendmsg(c->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (n <= 0)
    return n < 0 ? send_failed(c, err) : 0;
  close_all(o->fds, o->n_fds);
  o->n_fds = 0;
  o->sent += (size_t)n;
  c->queued -= (size_t)n;
  return 1;
}

int oc_channel_flush(struct oc_channel *c, struct oc_error *err)
{
  if (c->write_broken)
    return oc_error_set(err, c->write_broken, "the connection is closed");
  while (c->out) {
    struct oc_outgoing *o = c->out;
    int rc = send_some(c, o, err);
    if (rc <= 0)
      return rc;
    if (o->sent < o->len)
      continue;
    c->out = o->next;
    if (!c->out)
      c->out_end = &c->out;
    oc_outgoing_free(o);
  }
  return 1;
}

bool oc_channel_wants_write(const struct oc_channel *c)
{
  return c->out && !c->write_broken;
}
