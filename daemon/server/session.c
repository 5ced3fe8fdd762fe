/* One connection: greeting, frames to whom they concern, answers out.
 *
 * The first message must be Hello, and must come soon (patience.c). After that requests
 * run side by side under the client's own numbers. A peer that breaks the protocol is
 * closed with all its descriptors; it is told why when it can still read. Who asks and
 * does not take the answers is not listened to until it has. */
#include "server/server_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"

/* While so many bytes wait for a client, it is not listened to. */
#define MOST_WAITING ((size_t)32 << 10)

static const struct {
  unsigned status;
  const char *word;
} words[] = {
  { OC_STATUS_OK, "ok" },
  { OC_STATUS_DIFFERS, "differs" },
  { OC_STATUS_REQUEST, "request" },
  { OC_STATUS_TOOL_FAILED, "tool_failed" },
  { OC_STATUS_ENVIRONMENT, "environment" },
  { OC_STATUS_OOM, "oom" },
  { OC_STATUS_STOPPED, "stopped" },
  { OC_STATUS_DAEMON, "daemon" },
  { OC_STATUS_STORE, "store" },
};

const char *oc_status_word(unsigned status)
{
  for (size_t i = 0; i < OC_COUNT(words); i++)
    if (words[i].status == status)
      return words[i].word;
  return "bug";
}

static struct session **bucket(const struct oc_server *s, uint64_t id)
{
  return (struct session **)&s->sessions_by_id[id % OC_SESSION_BUCKETS];
}

struct session *server_session(const struct oc_server *s, uint64_t id)
{
  struct session *c = *bucket(s, id);

  while (c && c->id != id)
    c = c->same_bucket;
  return c;
}

struct request *session_request(struct session *c, uint64_t id)
{
  struct request *r = c->requests;

  while (r && r->id != id)
    r = r->next;
  return r;
}

struct request *server_request(const struct oc_server *s, const struct oc_waiter *w)
{
  struct session *c = server_session(s, w->session);

  return c ? session_request(c, w->request) : NULL;
}

void session_drop_request(struct session *c, struct request *r)
{
  struct request **at = &c->requests;

  while (*at != r)
    at = &(*at)->next;
  *at = r->next;
  c->n_requests--;
  oc_arena_clear(&r->arena);
  free(r);
}

/* Not closed here: flow may be in the middle of something that this session waits for. */
static void doom(struct session *c, const char *why)
{
  oc_log_event(c->srv->log, OC_LOG_WARNING, "client_not_reading", 0, why);
  c->doomed = true;
  c->srv->n_doomed++;
}

bool session_send(struct session *c, Omcc__V1__ToClient *m, const int *fds, size_t n_fds)
{
  struct oc_error err = { 0 };
  int r;

  if (c->link.closing || c->doomed)
    return false;
  r = oc_link_send(&c->link, m, fds, n_fds, &err);
  if (r) {
    doom(c, err.msg);
    return false;
  }
  if (c->link.behind_ms)
    patience_begin(c->srv);
  return true;
}

void session_refuse(struct session *c, uint64_t id, const char *code, const char *text,
                    unsigned status)
{
  Omcc__V1__ToClient m = OMCC__V1__TO_CLIENT__INIT;
  Omcc__V1__Refusal refusal = OMCC__V1__REFUSAL__INIT;

  oc_counter_add(&c->srv->count, OC_COUNT_REFUSED, 1);
  refusal.code = (char *)code;
  refusal.text = (char *)text;
  refusal.status = status;
  m.id = id;
  m.body_case = OMCC__V1__TO_CLIENT__BODY_REFUSAL;
  m.refusal = &refusal;
  session_send(c, &m, NULL, 0);
}

/* It leaves with the first answer when the client has sent its request along. */
static void say_hello(struct session *c)
{
  Omcc__V1__ToClient m = OMCC__V1__TO_CLIENT__INIT;
  Omcc__V1__Hello hello = OMCC__V1__HELLO__INIT;
  struct oc_error err = { 0 };

  hello.min = OC_PROTOCOL_MIN;
  hello.max = OC_PROTOCOL_MAX;
  hello.build = (char *)OMCC_VERSION;
  hello.pid = (uint32_t)getpid();
  hello.uid = (uint32_t)geteuid();
  m.body_case = OMCC__V1__TO_CLIENT__BODY_HELLO;
  m.hello = &hello;
  if (oc_link_queue(&c->link, &m, &err) < 0)
    doom(c, err.msg);
}

static int greet(struct session *c, const Omcc__V1__Hello *hello)
{
  char text[244];

  if (c->greeted || hello->min > hello->max)
    return OC_E_PROTO;
  if (hello->min <= OC_PROTOCOL_MAX && hello->max >= OC_PROTOCOL_MIN) {
    c->greeted = true;
    say_hello(c);
    return 0;
  }
  snprintf(text, sizeof(text),
           "omcc %.60s speaks protocol %u to %u, the daemon omcc %s speaks %d to %d",
           hello->build, hello->min, hello->max, OMCC_VERSION, OC_PROTOCOL_MIN,
           OC_PROTOCOL_MAX);
  session_refuse(c, 0, "protocol", text, OC_STATUS_DAEMON);
  session_close(c);
  return 0;
}

static void detach(struct session *c, uint64_t id, uint64_t job, bool cancel)
{
  struct request *r = session_request(c, id);
  struct oc_waiter w = { c->id, id };
  uint64_t now = server_now_ns();

  if (!r || (job && r->job != job))
    return; /* answered meanwhile */
  if (cancel) {
    oc_flow_cancel(c->srv->flow, now, r->job, &w);
  } else if (oc_flow_detach(c->srv->flow, now, r->job, &w)) {
    session_drop_request(c, r);
  }
}

static int take_files(struct session *c, uint64_t id, const Omcc__V1__Files *m,
                      struct oc_frame *f, struct oc_error *err)
{
  struct request *r = session_request(c, id);
  struct order *o = r ? order_of_job(c->srv, r->job) : NULL;

  if (!o || o->asker.session != c->id || o->asker.request != id)
    return 0; /* nobody asks any more */
  return reading_files(o, m, f, err);
}

static void take_stop(struct session *c, uint64_t id, const Omcc__V1__StopRequest *stop)
{
  Omcc__V1__ToClient m = OMCC__V1__TO_CLIENT__INIT;
  Omcc__V1__Stopping stopping = OMCC__V1__STOPPING__INIT;
  struct oc_server *s = c->srv;

  if (c->uid != geteuid() && c->uid != 0) {
    session_refuse(c, id, "denied", "only the daemon's own user may stop it",
                   OC_STATUS_DAEMON);
    return;
  }
  /* Without jobs all connections are closed by the next settling: the answer goes first,
   * and says that the socket is gone already. */
  s->settling = true;
  oc_server_stop(s);
  if (stop->now)
    stop_now(s);
  stopping.jobs_left = (uint32_t)oc_flow_n_jobs(s->flow);
  m.id = id;
  m.body_case = OMCC__V1__TO_CLIENT__BODY_STOPPING;
  m.stopping = &stopping;
  session_send(c, &m, NULL, 0);
  s->settling = false;
}

static int dispatch(struct session *c, const Omcc__V1__ToDaemon *m, struct oc_frame *f,
                    struct oc_error *err)
{
  if (!c->greeted && m->body_case != OMCC__V1__TO_DAEMON__BODY_HELLO)
    return oc_error_set(err, OC_E_PROTO, "a client did not say hello");
  switch (m->body_case) {
  case OMCC__V1__TO_DAEMON__BODY_HELLO:
    return greet(c, m->hello) ? oc_error_set(err, OC_E_PROTO, "a client greeted badly")
                              : 0;
  case OMCC__V1__TO_DAEMON__BODY_SUBMIT: return submit_take(c, m->id, m->submit, f, err);
  case OMCC__V1__TO_DAEMON__BODY_FILES: return take_files(c, m->id, m->files, f, err);
  case OMCC__V1__TO_DAEMON__BODY_DETACH:
    detach(c, m->id, m->detach->job, false);
    return 0;
  case OMCC__V1__TO_DAEMON__BODY_CANCEL: detach(c, m->id, m->cancel->job, true); return 0;
  case OMCC__V1__TO_DAEMON__BODY_STATUS: status_answer(c, m->id); return 0;
  case OMCC__V1__TO_DAEMON__BODY_CACHE: status_cache(c, m->id, m->cache, f); return 0;
  case OMCC__V1__TO_DAEMON__BODY_SOCS: socs_answer(c, m->id); return 0;
  case OMCC__V1__TO_DAEMON__BODY_STOP: take_stop(c, m->id, m->stop); return 0;
  default:
    session_refuse(c, m->id, "unknown_message",
                   "the daemon omcc " OMCC_VERSION " does not know this message",
                   OC_STATUS_DAEMON);
    return 0;
  }
}

static int on_frame(void *ctx, struct oc_frame *f, struct oc_error *err)
{
  struct session *c = ctx;
  struct oc_server *s = c->srv;
  struct oc_arena arena;
  ProtobufCMessage *m;
  int r;

  c->frame_since_ms = 0;
  oc_arena_init(&arena, oc_message_cap(f->len));
  r = oc_message_unpack(&omcc__v1__to_daemon__descriptor, f->body, f->len, &arena, &m,
                        err);
  if (!r)
    r = dispatch(c, (const Omcc__V1__ToDaemon *)m, f, err);
  oc_arena_clear(&arena);
  server_settle(s);
  return r;
}

static void on_ended(void *ctx, int code, const struct oc_error *err)
{
  struct session *c = ctx;

  if (code != OC_E_CLOSED) {
    oc_counter_add(&c->srv->count, OC_COUNT_PROTOCOL_ERRORS, 1);
    oc_log_event(c->srv->log, OC_LOG_WARNING, "client_broken", 0, err->msg);
  }
  session_close(c);
  server_settle(c->srv);
}

static void on_closed(void *ctx)
{
  struct session *c = ctx;
  struct oc_server *s = c->srv;

  if (c->prev)
    c->prev->next = c->next;
  else
    s->sessions = c->next;
  if (c->next)
    c->next->prev = c->prev;
  for (struct session **at = bucket(s, c->id); *at; at = &(*at)->same_bucket)
    if (*at == c) {
      *at = c->same_bucket;
      break;
    }
  s->n_sessions--;
  free(c->held);
  free(c);
  server_settle(s);
}

void session_delivers(struct session *c, const uint8_t *sha256, bool link)
{
  struct oc_server *s = c->srv;
  uint8_t *slot;

  if (link)
    oc_cache_note_linked(s->cache, sha256);
  if (!c->held)
    c->held = calloc(OC_SESSION_HOLDS, sizeof(*c->held));
  if (!c->held || !oc_cache_hold(s->cache, sha256))
    return;
  slot = c->held[c->n_delivered % OC_SESSION_HOLDS];
  if (c->n_delivered >= OC_SESSION_HOLDS)
    oc_cache_release(s->cache, slot); /* delivered long ago */
  memcpy(slot, sha256, OC_SHA256_LEN);
  c->n_delivered++;
}

static void release_all(struct session *c)
{
  for (size_t i = 0; i < c->n_delivered && i < OC_SESSION_HOLDS; i++)
    oc_cache_release(c->srv->cache, c->held[i]);
  c->n_delivered = 0;
}

void session_close(struct session *c)
{
  struct oc_server *s = c->srv;

  if (c->link.closing)
    return;
  release_all(c);
  c->srv->n_doomed -= c->doomed;
  c->doomed = false;
  oc_link_close(&c->link);
  while (c->requests)
    session_drop_request(c, c->requests);
  oc_flow_session_gone(s->flow, server_now_ns(), c->id);
  care_session_gone(s, c->id);
}

/* The groups a peer had when it connected, as the kernel knows them. */
static bool in_admin_group(const struct oc_server *s, int fd, gid_t gid)
{
  gid_t groups[256];
  socklen_t len = sizeof(groups);

  if (s->o.admin_gid < 0)
    return false;
  if (gid == (gid_t)s->o.admin_gid)
    return true;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &len))
    return false;
  for (size_t i = 0; i < len / sizeof(groups[0]); i++)
    if (groups[i] == (gid_t)s->o.admin_gid)
      return true;
  return false;
}

void session_accept(struct oc_server *s, int fd, const struct ucred *peer)
{
  static const struct oc_link_events events = {
    .frame = on_frame, .ended = on_ended, .partial = patience_partial, .closed = on_closed
  };
  struct session *c = calloc(1, sizeof(*c));
  struct oc_error err = { 0 };

  if (!c) {
    close(fd);
    return;
  }
  c->srv = s;
  c->id = ++s->next_session;
  c->uid = peer->uid;
  c->pid = (uint32_t)peer->pid;
  c->opened_ms = uv_now(s->loop);
  c->admin = peer->uid == geteuid() || peer->uid == 0 || in_admin_group(s, fd, peer->gid);
  if (oc_link_open(&c->link, s->loop, fd, OC_SESSION_WRITE_CAP, &events, c, &err)) {
    oc_log_event(s->log, OC_LOG_WARNING, "connection_lost", 0, err.msg);
    free(c);
    return;
  }
  c->link.most_waiting = MOST_WAITING;
  c->same_bucket = *bucket(s, c->id);
  *bucket(s, c->id) = c;
  c->next = s->sessions;
  if (c->next)
    c->next->prev = c;
  s->sessions = c;
  s->n_sessions++;
  patience_begin(s);
  server_stop_point(s, NULL, "after-accept");
  oc_link_look(&c->link); /* greeting and request are here already, as a rule */
  server_settle(s);
}
