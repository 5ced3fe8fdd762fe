/* The life of a channel, and frames taken out of what has been received.
 *
 * A frame is given out as a pointer into the input buffer; its bytes go away with the
 * next read. Descriptors leave the FIFO at the moment their frame does. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "frame/frame_internal.h"

/* A whole frame, and one read's worth of the next. */
#define IN_CAP (OC_FRAME_HEADER + OC_MAX_FRAME + (64u << 10))

void oc_frame_close_fds(struct oc_frame *f)
{
  for (size_t i = 0; i < f->n_fds; i++) {
    oc_close_fd(&f->fds[i]);
    f->fds[i] = -1;
  }
}

int oc_frame_take_fd(struct oc_frame *f, size_t i)
{
  return i < f->n_fds ? OC_STEAL_FD(f->fds[i]) : -1;
}

void oc_frame_put_header(uint8_t *to, size_t len, size_t n_fds)
{
  assert(len <= OC_MAX_FRAME && n_fds <= OC_MAX_FRAME_FDS);
  for (unsigned i = 0; i < 4; i++) {
    to[i] = (uint8_t)(OC_FRAME_MAGIC >> 8 * i);
    to[8 + i] = (uint8_t)(len >> 8 * i);
  }
  to[4] = OC_FRAME_VERSION;
  to[5] = (uint8_t)n_fds;
  to[6] = 0;
  to[7] = 0;
}

static uint32_t load32(const uint8_t *p)
{
  return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
         (uint32_t)p[3] << 24;
}

int oc_frame_get_header(const uint8_t *from, struct oc_frame_header *ret,
                        struct oc_error *err)
{
  uint32_t len = load32(from + 8);

  if (load32(from) != OC_FRAME_MAGIC)
    return oc_error_set(err, OC_E_PROTO, "the peer does not speak the omcc protocol");
  if (from[4] != OC_FRAME_VERSION)
    return oc_error_set(err, OC_E_PROTO, "frame version %u, this side speaks %u", from[4],
                        OC_FRAME_VERSION);
  if (from[5] > OC_MAX_FRAME_FDS || from[6] || from[7])
    return oc_error_set(err, OC_E_PROTO, "malformed frame header");
  if (len > OC_MAX_FRAME)
    return oc_error_set(err, OC_E_PROTO, "a frame of %u bytes, the limit is %u", len,
                        OC_MAX_FRAME);
  *ret = (struct oc_frame_header){ .n_fds = from[5], .len = len };
  return 0;
}

struct oc_channel *oc_channel_new(int fd, size_t write_cap)
{
  struct oc_channel *c = calloc(1, sizeof(*c));
  int flags = fcntl(fd, F_GETFD);

  if (!c)
    return NULL;
  c->fd = fd;
  c->write_cap = write_cap;
  c->out_end = &c->out;
  oc_buf_init(&c->in, IN_CAP);
  if (!(flags & FD_CLOEXEC))
    fcntl(fd, F_SETFD, flags | FD_CLOEXEC);
  return c;
}

void oc_channel_free(struct oc_channel *c)
{
  if (!c)
    return;
  oc_channel_break_read(c, OC_E_CLOSED);
  while (c->out) {
    struct oc_outgoing *o = c->out;
    c->out = o->next;
    oc_outgoing_free(o);
  }
  oc_buf_clear(&c->in);
  close(c->fd);
  free(c);
}

int oc_channel_fd(const struct oc_channel *c)
{
  return c->fd;
}

int oc_channel_break_read(struct oc_channel *c, int code)
{
  for (size_t i = 0; i < c->n_fifo; i++)
    close(c->fifo[i]);
  c->n_fifo = 0;
  c->read_broken = code;
  return code;
}

bool oc_channel_has_frame(const struct oc_channel *c)
{
  size_t len = c->in.len - c->taken;
  struct oc_frame_header h;

  if (len < OC_FRAME_HEADER)
    return false;
  const uint8_t *p = c->in.data + c->taken;
  return oc_frame_get_header(p, &h, NULL) < 0 || len - OC_FRAME_HEADER >= h.len;
}

bool oc_channel_in_frame(const struct oc_channel *c)
{
  return (c->in.len > c->taken || c->n_fifo) && !oc_channel_has_frame(c);
}

static void take_fds(struct oc_channel *c, struct oc_frame *f, size_t n)
{
  for (size_t i = 0; i < OC_MAX_FRAME_FDS; i++)
    f->fds[i] = i < n ? c->fifo[i] : -1;
  f->n_fds = n;
  c->n_fifo -= n;
  memmove(c->fifo, c->fifo + n, c->n_fifo * sizeof(c->fifo[0]));
}

int oc_channel_next(struct oc_channel *c, struct oc_frame *ret, struct oc_error *err)
{
  struct oc_frame_header h;

  if (c->read_broken == OC_E_PROTO)
    return oc_error_set(err, OC_E_PROTO, "the peer broke the protocol");
  if (c->in.len - c->taken < OC_FRAME_HEADER)
    return 0;
  const uint8_t *p = c->in.data + c->taken;
  if (oc_frame_get_header(p, &h, err) < 0)
    return oc_channel_break_read(c, OC_E_PROTO);
  size_t left = c->in.len - c->taken - OC_FRAME_HEADER;
  if (left < h.len)
    return 0;
  /* Descriptors come with the first byte of their frame: with the last byte of this frame
   * here and none behind it, exactly its own may be in the FIFO. */
  if (c->n_fifo < h.n_fds || (left == h.len && c->n_fifo > h.n_fds)) {
    oc_error_set(err, OC_E_PROTO, "a frame announces %u descriptors, %zu came", h.n_fds,
                 c->n_fifo);
    return oc_channel_break_read(c, OC_E_PROTO);
  }
  ret->body = p + OC_FRAME_HEADER;
  ret->len = h.len;
  take_fds(c, ret, h.n_fds);
  c->taken += OC_FRAME_HEADER + h.len;
  return 1;
}
