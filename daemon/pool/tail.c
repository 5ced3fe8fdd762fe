/* What a process says on stderr: into the log by lines, the last of it kept for the
 * report of its death.
 *
 * The text is a window over the stream: when it is full its older half goes. A line
 * longer than the window is logged in pieces. */
#include "pool/pool_internal.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static void log_line(struct tail *t, const char *line, size_t len)
{
  char text[TAIL_KEEP + 1];
  struct oc_log_line l;

  if (!len)
    return;
  memcpy(text, line, len);
  text[len] = '\0';
  oc_log_begin(&l, t->log, OC_LOG_WARNING, t->event);
  oc_log_u64(&l, "pid", t->pid);
  oc_log_str(&l, "text", text);
  oc_log_end(&l);
}

/* Logs complete lines; with `all` an unfinished last one too. */
static void log_lines(struct tail *t, bool all)
{
  for (;;) {
    const char *at = t->text + t->logged;
    size_t left = t->len - t->logged;
    const char *end = memchr(at, '\n', left);

    if (!end && !(all && left))
      return;
    log_line(t, at, end ? (size_t)(end - at) : left);
    t->logged += end ? (size_t)(end - at) + 1 : left;
  }
}

static void make_room(struct tail *t)
{
  size_t drop = TAIL_KEEP / 2;

  if (t->len < TAIL_KEEP)
    return;
  if (t->logged < drop)
    log_lines(t, true);
  memmove(t->text, t->text + drop, t->len - drop);
  t->len -= drop;
  t->logged -= drop;
}

/* False at the end of the stream. */
static bool read_some(struct tail *t)
{
  for (;;) {
    ssize_t n;

    make_room(t);
    n = read(t->fd, t->text + t->len, TAIL_KEEP - t->len);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
    for (ssize_t i = 0; i < n; i++)
      if (!t->text[t->len + (size_t)i])
        t->text[t->len + (size_t)i] = '?'; /* the text is handed on as a string */
    t->len += (size_t)n;
    log_lines(t, false);
  }
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
  struct tail *t = poll->data;

  (void)events;
  if (status < 0 || !read_some(t))
    uv_poll_stop(poll);
}

int tail_open(struct tail *t, uv_loop_t *loop, int fd, const struct oc_log *log,
              const char *event, uint32_t pid, void (*closed)(void *ctx), void *ctx)
{
  *t = (struct tail){ .log = log, .event = event, .pid = pid, .fd = fd };
  t->closed = closed;
  t->ctx = ctx;
  if (uv_poll_init(loop, &t->poll, fd) < 0) {
    close(fd);
    return OC_E_IO;
  }
  t->poll.data = t;
  t->open = true;
  uv_poll_start(&t->poll, UV_READABLE, on_poll);
  return 0;
}

const char *tail_text(struct tail *t)
{
  if (t->open && !t->closing)
    read_some(t);
  while (t->len && t->text[t->len - 1] == '\n')
    t->len--;
  if (t->logged > t->len)
    t->logged = t->len;
  log_lines(t, true);
  t->text[t->len] = '\0';
  return t->text;
}

static void on_closed(uv_handle_t *handle)
{
  struct tail *t = handle->data;

  close(t->fd);
  t->open = false;
  t->closed(t->ctx);
}

void tail_close(struct tail *t)
{
  if (!t->open || t->closing)
    return;
  tail_text(t);
  t->closing = true;
  uv_close((uv_handle_t *)&t->poll, on_closed);
}
