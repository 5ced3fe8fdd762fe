/* Peers that keep the daemon waiting: who does not greet, who began a frame and does not
 * go on, and who does not take its answers.
 *
 * Such a connection holds a descriptor, those it has sent, and up to a frame of memory,
 * so it may do so for a while only. Who has jobs at work may leave its answers lie for as
 * long as they take: it may be stopped at a terminal, and a compile is worth more than
 * what waits, which has a limit of its own. A peer is not to pay for time in which this
 * process itself stood still (a stopped machine, a debugger): while anybody is waited
 * for, the timer runs every second, and by how much it comes late is added to what
 * everybody has. Nobody waited for, no timer. */
#include "server/server_internal.h"

#define GREET_MS 10000
#define FRAME_MS 10000
#define TAKE_MS  10000
#define LOOK_MS  1000

/* True while the peer may go on; `since` is moved by what does not count. */
static bool in_time(uint64_t *since, uint64_t late, uint64_t now, uint64_t limit)
{
  *since = *since + late < now ? *since + late : now;
  return now - *since < limit;
}

static void too_slow(struct session *c)
{
  oc_counter_add(&c->srv->count, OC_COUNT_PROTOCOL_ERRORS, 1);
  oc_log_event(c->srv->log, OC_LOG_WARNING, "client_broken", 0,
               "the rest of a frame did not come in 10 s");
  session_close(c);
}

/* False: it has been closed. What a peer that is behind does not send is no fault of its
 * own: it is not read from. */
static bool takes_answers(struct session *c, uint64_t late, uint64_t now)
{
  if (c->frame_since_ms)
    c->frame_since_ms = now | 1;
  if (c->n_requests || in_time(&c->link.behind_ms, late, now, TAKE_MS))
    return true;
  oc_log_event(c->srv->log, OC_LOG_WARNING, "client_not_reading", 0,
               "it did not take its answers for 10 s");
  session_close(c);
  return false;
}

static void on_timer(uv_timer_t *timer)
{
  struct oc_server *s = timer->data;
  uint64_t now = uv_now(s->loop);
  uint64_t late = now > s->patience_due_ms ? now - s->patience_due_ms : 0;
  bool waiting = false;

  for (struct session *c = s->sessions; c; c = c->next) {
    if (c->link.closing)
      continue;
    if (!c->greeted && !in_time(&c->opened_ms, late, now, GREET_MS))
      session_close(c);
    else if (c->link.behind_ms)
      waiting |= takes_answers(c, late, now);
    else if (c->frame_since_ms && !in_time(&c->frame_since_ms, late, now, FRAME_MS))
      too_slow(c);
    else if (!c->greeted || c->frame_since_ms)
      waiting = true;
  }
  if (waiting)
    patience_begin(s);
  server_settle(s);
}

void patience_begin(struct oc_server *s)
{
  if (uv_is_active((uv_handle_t *)&s->patience_timer))
    return;
  s->patience_due_ms = uv_now(s->loop) + LOOK_MS;
  uv_timer_start(&s->patience_timer, on_timer, LOOK_MS, 0);
}

void patience_partial(void *ctx, bool in_frame)
{
  struct session *c = ctx;

  if (!in_frame) {
    c->frame_since_ms = 0;
  } else if (!c->frame_since_ms) {
    c->frame_since_ms = uv_now(c->srv->loop) | 1; /* 0 means none */
    patience_begin(c->srv);
  }
}
