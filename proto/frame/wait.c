/* Blocking helpers for sides that have nothing else to do. While waiting for a frame the
 * own queue goes out too: two sides that both only wait to send would wait for ever. */
#include <errno.h>
#include <poll.h>
#include <time.h>

#include "frame/frame_internal.h"

static int64_t now_ms(void)
{
  struct timespec t;

  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* 1 when the descriptor is ready, OC_E_BUSY when the deadline (-1: none) has passed. */
static int wait_ready(struct oc_channel *c, short events, int64_t deadline,
                      struct oc_error *err)
{
  for (;;) {
    int64_t left = deadline < 0 ? -1 : deadline - now_ms();
    if (deadline >= 0 && left < 0)
      left = 0;
    struct pollfd p = { .fd = c->fd, .events = events };
    int n = poll(&p, 1, (int)left);
    if (n > 0)
      return 1;
    if (n == 0)
      return oc_error_set(err, OC_E_BUSY, "the peer did not answer in time");
    if (errno != EINTR)
      return oc_error_errno(err, OC_E_IO, "cannot wait for the peer");
  }
}

int oc_channel_wait(struct oc_channel *c, int timeout_ms, struct oc_frame *ret,
                    struct oc_error *err)
{
  int64_t deadline = timeout_ms < 0 ? -1 : now_ms() + timeout_ms;

  for (;;) {
    int rc = oc_channel_next(c, ret, err);
    if (rc != 0)
      return rc;
    rc = oc_channel_read(c, err);
    if (rc < 0)
      return rc;
    if (rc > 0)
      continue;
    /* A failed flush is no reason to stop: what the peer said last may still be here. */
    if (oc_channel_wants_write(c))
      (void)oc_channel_flush(c, NULL);
    short events = oc_channel_wants_write(c) ? POLLIN | POLLOUT : POLLIN;
    rc = wait_ready(c, events, deadline, err);
    if (rc < 0)
      return rc;
  }
}

int oc_channel_drain(struct oc_channel *c, int timeout_ms, struct oc_error *err)
{
  int64_t deadline = timeout_ms < 0 ? -1 : now_ms() + timeout_ms;

  for (;;) {
    int rc = oc_channel_flush(c, err);
    if (rc != 0)
      return rc < 0 ? rc : 0;
    rc = wait_ready(c, POLLOUT, deadline, err);
    if (rc < 0)
      return rc;
  }
}
