/* Timers, signals, and the ways to the end: idleness, draining, stopping.
 *
 * A first stop request closes the listener and lets jobs finish (within drain_limit); a
 * second one stops them. When no job is left everything is closed, and the loop ends by
 * itself because nothing is in it any more. */
#include "server/server_internal.h"

#include <signal.h>

static void on_flow_timer(uv_timer_t *timer)
{
  struct oc_server *s = timer->data;

  oc_flow_tick(s->flow, server_now_ns());
  server_settle(s);
}

static void on_idle(uv_timer_t *timer)
{
  struct oc_server *s = timer->data;

  oc_log_event(s->log, OC_LOG_INFO, "idle", 0, NULL);
  oc_server_stop(s);
}

static void on_drain_limit(uv_timer_t *timer)
{
  struct oc_server *s = timer->data;

  oc_log_event(s->log, OC_LOG_WARNING, "drain_limit", 0, NULL);
  stop_now(s);
  server_settle(s);
}

static void on_watchdog(uv_timer_t *timer)
{
  (void)timer;
  notify_say("WATCHDOG=1");
}

static void on_signal(uv_signal_t *handle, int number)
{
  struct oc_server *s = handle->data;
  struct oc_log_line l;

  oc_log_begin(&l, s->log, OC_LOG_INFO, "signal");
  oc_log_i64(&l, "number", number);
  oc_log_end(&l);
  oc_server_stop(s);
}

int stop_open(struct oc_server *s, struct oc_error *err)
{
  uv_timer_t *timers[] = { &s->flow_timer, &s->idle_timer, &s->drain_timer,
                           &s->patience_timer, &s->watchdog_timer };

  if (uv_signal_init(s->loop, &s->term) || uv_signal_init(s->loop, &s->intr))
    return oc_error_set(err, OC_E_IO, "cannot watch for signals");
  for (size_t i = 0; i < sizeof(timers) / sizeof(timers[0]); i++) {
    uv_timer_init(s->loop, timers[i]);
    timers[i]->data = s;
  }
  s->term.data = s->intr.data = s;
  s->handles_open = true;
  uv_signal_start(&s->term, on_signal, SIGTERM);
  uv_signal_start(&s->intr, on_signal, SIGINT);
  s->watchdog_ms = notify_watchdog_ms();
  if (s->watchdog_ms)
    uv_timer_start(&s->watchdog_timer, on_watchdog, s->watchdog_ms, s->watchdog_ms);
  return 0;
}

void stop_now(struct oc_server *s)
{
  oc_flow_stop(s->flow, server_now_ns());
}

void oc_server_stop(struct oc_server *s)
{
  s->stops++;
  if (s->closing)
    return;
  if (s->stops == 1) {
    oc_log_event(s->log, OC_LOG_INFO, "stopping", 0, NULL);
    notify_say("STOPPING=1");
    listener_close(s);
    oc_flow_drain(s->flow);
    if (s->o.drain_limit_ms)
      uv_timer_start(&s->drain_timer, on_drain_limit, s->o.drain_limit_ms, 0);
  } else {
    stop_now(s);
  }
  server_settle(s);
}

static void close_handle(uv_handle_t *h)
{
  if (!uv_is_closing(h))
    uv_close(h, NULL);
}

static void on_pool_closed(void *ctx)
{
  struct oc_server *s = ctx;

  s->pool_open = false;
}

void stop_close(struct oc_server *s)
{
  s->closing = true;
  listener_close(s);
  for (struct session *c = s->sessions; c; c = c->next)
    session_close(c);
  if (s->handles_open) {
    close_handle((uv_handle_t *)&s->flow_timer);
    close_handle((uv_handle_t *)&s->idle_timer);
    close_handle((uv_handle_t *)&s->drain_timer);
    close_handle((uv_handle_t *)&s->patience_timer);
    close_handle((uv_handle_t *)&s->watchdog_timer);
    close_handle((uv_handle_t *)&s->term);
    close_handle((uv_handle_t *)&s->intr);
    s->handles_open = false;
  }
  remote_unwatch(s);
  if (s->cache_polled) {
    s->cache_polled = false;
    uv_close((uv_handle_t *)&s->cache_poll, NULL);
  }
  if (s->pool_open)
    oc_pool_close(s->pool, on_pool_closed, s);
}

static void settle_timers(struct oc_server *s)
{
  uint64_t due = oc_flow_next_deadline(s->flow), now = server_now_ns();
  bool idle = !oc_flow_n_jobs(s->flow) && !s->n_sessions && s->o.idle_exit_ms;

  if (due == UINT64_MAX)
    uv_timer_stop(&s->flow_timer);
  else
    uv_timer_start(&s->flow_timer, on_flow_timer,
                   due > now ? (due - now) / 1000000 + 1 : 0, 0);
  if (!idle)
    uv_timer_stop(&s->idle_timer);
  else if (!uv_is_active((uv_handle_t *)&s->idle_timer))
    uv_timer_start(&s->idle_timer, on_idle, s->o.idle_exit_ms, 0);
}

static void close_doomed(struct oc_server *s)
{
  for (struct session *c = s->sessions; c && s->n_doomed; c = c->next)
    if (c->doomed)
      session_close(c);
}

void server_settle(struct oc_server *s)
{
  if (s->settling)
    return;
  s->settling = true;
  if (!s->closing) {
    close_doomed(s);
    if (s->stops && !oc_flow_n_jobs(s->flow))
      stop_close(s);
    else
      settle_timers(s);
  }
  if (s->closing && s->digester && digester_idle(s))
    digester_close(s);
  s->settling = false;
}
