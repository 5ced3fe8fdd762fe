/* A channel driven by a loop.
 *
 * Level-triggered: one read per readiness, so that a peer that never stops sending does
 * not keep the loop from the others. Writable is asked for only while something waits;
 * and readable only while not too much waits, where the owner has set a limit: who does
 * not take answers gets no further ones. */
#include "pool/link.h"

#include <unistd.h>

#include "messages/messages.h"

static void end(struct oc_link *l, int code, const struct oc_error *err)
{
  if (l->ended || l->closing)
    return;
  l->ended = true;
  uv_poll_stop(&l->poll);
  l->wanted = 0;
  l->events->ended(l->ctx, code, err);
}

static void on_poll(uv_poll_t *poll, int status, int events);

static bool is_behind(const struct oc_link *l)
{
  return l->most_waiting && oc_channel_queued(l->channel) > l->most_waiting;
}

static void want(struct oc_link *l)
{
  int events = (is_behind(l) ? 0 : UV_READABLE) |
               (oc_channel_wants_write(l->channel) ? UV_WRITABLE : 0);

  if (l->closing || l->ended)
    return;
  if (!is_behind(l))
    l->behind_ms = 0;
  else if (!l->behind_ms)
    l->behind_ms = uv_now(l->poll.loop) + 1; /* never 0 */
  if (events == l->wanted)
    return;
  l->wanted = events;
  uv_poll_start(&l->poll, events, on_poll);
}

/* Frames that have come. 0 or negative. */
static int deliver(struct oc_link *l, struct oc_error *err)
{
  for (;;) {
    struct oc_frame f;
    int r = is_behind(l) ? 0 : oc_channel_next(l->channel, &f, err);

    if (r <= 0)
      return r;
    r = l->events->frame(l->ctx, &f, err);
    oc_frame_close_fds(&f);
    if (r < 0)
      return r;
    if (l->closing || l->ended)
      return 0;
  }
}

/* One read and what came of it. False when there was nothing to read. */
static bool pump(struct oc_link *l)
{
  struct oc_error err = { 0 };
  int r, got;

  if (!l->open || l->closing || l->ended)
    return false;
  got = oc_channel_read(l->channel, &err);
  r = got < 0 && got != OC_E_CLOSED ? got : deliver(l, &err);
  if (r < 0)
    end(l, r, &err);
  else if (got < 0)
    end(l, got, &err);
  else if (oc_channel_wants_write(l->channel) && oc_channel_flush(l->channel, &err) < 0)
    end(l, OC_E_CLOSED, &err);
  else
    want(l);
  if (l->events->partial && l->open && !l->closing && !l->ended)
    l->events->partial(l->ctx, oc_channel_in_frame(l->channel));
  return got > 0;
}

void oc_link_look(struct oc_link *l)
{
  pump(l);
}

void oc_link_drain(struct oc_link *l)
{
  while (pump(l))
    continue;
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
  struct oc_link *l = poll->data;
  struct oc_error err = { 0 };

  if (status < 0) {
    oc_error_set(&err, OC_E_IO, "cannot wait for the peer: %s", uv_strerror(status));
    end(l, OC_E_IO, &err);
    return;
  }
  if (events & UV_WRITABLE && oc_channel_flush(l->channel, &err) < 0) {
    /* The peer may have said something before it went. */
    oc_link_drain(l);
    end(l, OC_E_CLOSED, &err);
    return;
  }
  /* Who was behind may have frames here that have not been dealt with. */
  if (events & UV_READABLE || !is_behind(l))
    pump(l);
  else
    want(l);
}

int oc_link_open(struct oc_link *l, uv_loop_t *loop, int fd, size_t write_cap,
                 const struct oc_link_events *events, void *ctx, struct oc_error *err)
{
  int r;

  *l = (struct oc_link){ .events = events, .ctx = ctx };
  l->channel = oc_channel_new(fd, write_cap);
  if (!l->channel) {
    close(fd);
    return oc_error_set(err, OC_E_NOMEM, "no memory for a connection");
  }
  r = uv_poll_init(loop, &l->poll, fd);
  if (r < 0) {
    oc_channel_free(l->channel);
    l->channel = NULL;
    return oc_error_set(err, OC_E_IO, "cannot watch a connection: %s", uv_strerror(r));
  }
  l->poll.data = l;
  l->open = true;
  want(l);
  return 0;
}

int oc_link_send_bytes(struct oc_link *l, const void *body, size_t len, const int *fds,
                       size_t n_fds, struct oc_error *err)
{
  int r;

  if (!l->open || l->closing || l->ended)
    return oc_error_set(err, OC_E_CLOSED, "the connection is closed");
  r = oc_channel_send(l->channel, body, len, fds, n_fds, false, err);
  want(l);
  return r;
}

int oc_link_send(struct oc_link *l, const void *message, const int *fds, size_t n_fds,
                 struct oc_error *err)
{
  struct oc_buf body;
  int r;

  oc_buf_init(&body, OC_MAX_FRAME);
  r = oc_message_pack(message, &body);
  if (r < 0)
    oc_error_set(err, r, "a message does not fit a frame");
  else
    r = oc_link_send_bytes(l, body.data, body.len, fds, n_fds, err);
  oc_buf_clear(&body);
  return r;
}

int oc_link_queue(struct oc_link *l, const void *message, struct oc_error *err)
{
  struct oc_buf body;
  int r;

  if (!l->open || l->closing || l->ended)
    return oc_error_set(err, OC_E_CLOSED, "the connection is closed");
  oc_buf_init(&body, OC_MAX_FRAME);
  r = oc_message_pack(message, &body);
  if (r < 0)
    oc_error_set(err, r, "a message does not fit a frame");
  else
    r = oc_channel_queue(l->channel, body.data, body.len, err);
  oc_buf_clear(&body);
  return r;
}

static void on_closed(uv_handle_t *handle)
{
  struct oc_link *l = handle->data;

  oc_channel_free(l->channel);
  l->channel = NULL;
  l->open = false;
  l->events->closed(l->ctx);
}

void oc_link_close(struct oc_link *l)
{
  if (!l->open || l->closing)
    return;
  l->closing = true;
  if (oc_channel_wants_write(l->channel))
    oc_channel_flush(l->channel, NULL);
  uv_close((uv_handle_t *)&l->poll, on_closed);
}
