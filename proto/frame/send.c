/* Sending. A frame whose turn it is goes straight from the caller's memory into the
 * socket; only what the socket does not take is copied into a queue, with duplicates of
 * the descriptors unless they went out already (they go with the first byte).
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "frame/frame_internal.h"

/* A greeting, say. */
#define COMPANION_BYTES 256

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

/* Header and body on their way out; the first `sent` bytes have gone. */
struct parcel {
  uint8_t header[OC_FRAME_HEADER];
  const uint8_t *body;
  size_t len; /* of the body */
  const int *fds;
  size_t n_fds; /* that have not gone */
  size_t sent;
};

static size_t parcel_len(const struct parcel *p)
{
  return OC_FRAME_HEADER + p->len;
}

static int send_failed(struct oc_channel *c, struct oc_error *err)
{
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)
    return 0;
  if (errno == EBADF) /* one of the caller's descriptors; the stream is whole */
    return oc_error_errno(err, OC_E_IO, "cannot send a descriptor");
  c->write_broken = errno == EPIPE || errno == ECONNRESET ? OC_E_CLOSED : OC_E_IO;
  return oc_error_errno(err, c->write_broken, "cannot send to the peer");
}

/* One sendmsg. `*ret_sent` bytes went out, with all descriptors; 0 or negative. */
static int send_once(struct oc_channel *c, struct iovec *iov, size_t n_iov,
                     const int *fds, size_t n_fds, size_t *ret_sent, struct oc_error *err)
{
  union control control;
  struct msghdr msg = { .msg_iov = iov, .msg_iovlen = n_iov };

  *ret_sent = 0;
  if (n_fds) {
    memset(&control, 0, sizeof(control));
    msg.msg_control = &control;
    msg.msg_controllen = CMSG_SPACE(sizeof(int) * n_fds);
    struct cmsghdr *h = CMSG_FIRSTHDR(&msg);
    h->cmsg_level = SOL_SOCKET;
    h->cmsg_type = SCM_RIGHTS;
    h->cmsg_len = CMSG_LEN(sizeof(int) * n_fds);
    memcpy(CMSG_DATA(h), fds, sizeof(int) * n_fds);
  }
  ssize_t n = sendmsg(c->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (n <= 0)
    return n < 0 ? send_failed(c, err) : 0;
  *ret_sent = (size_t)n;
  return 0;
}

/* What is queued when it is one small frame without descriptors of which nothing has
 * gone: it can go along with the next one. */
static struct oc_outgoing *companion(const struct oc_channel *c)
{
  struct oc_outgoing *o = c->out;

  return o && !o->next && !o->sent && !o->n_fds && o->len <= COMPANION_BYTES ? o : NULL;
}

static void drop_first(struct oc_channel *c)
{
  struct oc_outgoing *o = c->out;

  c->out = o->next;
  if (!c->out)
    c->out_end = &c->out;
  oc_outgoing_free(o);
}

/* The frame, and with it the companion `o` (may be NULL) in front. */
static int send_parcel(struct oc_channel *c, struct oc_outgoing *o, struct parcel *p,
                       struct oc_error *err)
{
  struct iovec iov[] = { { o ? o->bytes : NULL, o ? o->len : 0 },
                         { p->header, sizeof(p->header) },
                         { (void *)(uintptr_t)p->body, p->len } };
  size_t sent, before;
  int rc = send_once(c, iov, OC_COUNT(iov), p->fds, p->n_fds, &sent, err);

  if (sent)
    p->n_fds = 0; /* they are on their way, whatever part of the bytes is */
  if (rc < 0 || !sent || !o) {
    p->sent = sent;
    return rc;
  }
  before = sent < o->len ? sent : o->len;
  o->sent = before;
  c->queued -= before;
  p->sent = sent - before;
  if (o->sent == o->len)
    drop_first(c);
  return 0;
}

/* What has not gone yet, as a copy at the end of the queue. */
static int keep(struct oc_channel *c, const struct parcel *p, struct oc_error *err)
{
  size_t head = p->sent < OC_FRAME_HEADER ? OC_FRAME_HEADER - p->sent : 0;
  size_t skip = p->sent > OC_FRAME_HEADER ? p->sent - OC_FRAME_HEADER : 0;
  struct oc_outgoing *o = calloc(1, sizeof(*o) + head + p->len - skip);
  int rc;

  if (!o)
    return oc_error_set(err, OC_E_NOMEM, "no memory for a frame of %zu bytes", p->len);
  o->len = head + p->len - skip;
  memcpy(o->bytes, p->header + OC_FRAME_HEADER - head, head);
  if (p->len > skip)
    memcpy(o->bytes + head, p->body + skip, p->len - skip);
  rc = duplicate_fds(o, p->fds, p->n_fds, err);
  if (rc < 0) {
    oc_outgoing_free(o);
    return rc;
  }
  c->queued += o->len;
  *c->out_end = o;
  c->out_end = &o->next;
  return 0;
}

static int make_parcel(const struct oc_channel *c, const void *body, size_t len,
                       const int *fds, size_t n_fds, struct parcel *ret,
                       struct oc_error *err)
{
  if (c->write_broken)
    return oc_error_set(err, c->write_broken, "the connection is closed");
  if (len > OC_MAX_FRAME || n_fds > OC_MAX_FRAME_FDS)
    return oc_error_set(err, OC_E_LIMIT,
                        "a frame of %zu bytes and %zu descriptors is too large", len,
                        n_fds);
  if (c->queued + OC_FRAME_HEADER + len > c->write_cap)
    return oc_error_set(err, OC_E_LIMIT, "the peer does not read: %zu bytes are waiting",
                        c->queued);
  *ret = (struct parcel){ .body = body, .len = len, .fds = fds, .n_fds = n_fds };
  oc_frame_put_header(ret->header, len, n_fds);
  return 0;
}

/* Half a frame has gone and the rest cannot follow: nothing can be sent any more. */
static int broken_inside(struct oc_channel *c, int rc)
{
  c->write_broken = OC_E_IO;
  return rc;
}

static int send_now(struct oc_channel *c, const void *body, size_t len, const int *fds,
                    size_t n_fds, struct oc_error *err)
{
  struct oc_outgoing *first;
  struct parcel p;
  int rc = make_parcel(c, body, len, fds, n_fds, &p, err);

  if (rc < 0)
    return rc;
  first = companion(c);
  rc = first ? 1 : oc_channel_flush(c, err); /* frames keep their order */
  if (rc == 1)
    rc = send_parcel(c, first, &p, err);
  if (rc >= 0 && p.sent < parcel_len(&p))
    rc = keep(c, &p, err);
  return rc < 0 && p.sent ? broken_inside(c, rc) : rc;
}

int oc_channel_send(struct oc_channel *c, const void *body, size_t len, const int *fds,
                    size_t n_fds, bool move_fds, struct oc_error *err)
{
  int rc = send_now(c, body, len, fds, n_fds, err);

  if (move_fds)
    close_all(fds, n_fds);
  return rc < 0 ? rc : 0;
}

int oc_channel_queue(struct oc_channel *c, const void *body, size_t len,
                     struct oc_error *err)
{
  struct parcel p;
  int rc = make_parcel(c, body, len, NULL, 0, &p, err);

  return rc < 0 ? rc : keep(c, &p, err);
}

/* One sendmsg of the first frame: 1 when something went out. */
static int send_some(struct oc_channel *c, struct oc_outgoing *o, struct oc_error *err)
{
  struct iovec iov = { .iov_base = o->bytes + o->sent, .iov_len = o->len - o->sent };
  size_t sent;
  int rc = send_once(c, &iov, 1, o->fds, o->n_fds, &sent, err);

  if (rc < 0 || !sent)
    return rc;
  close_all(o->fds, o->n_fds);
  o->n_fds = 0;
  o->sent += sent;
  c->queued -= sent;
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
    if (o->sent == o->len)
      drop_first(c);
  }
  return 1;
}

size_t oc_channel_queued(const struct oc_channel *c)
{
  return c->queued;
}

bool oc_channel_wants_write(const struct oc_channel *c)
{
  return c->out && !c->write_broken;
}
