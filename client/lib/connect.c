/* A connection's life: find or start the daemon, greet it, lose it, find it again.
 *
 * Greetings cross: ours may leave together with the first request, which a daemon that
 * does not speak our protocol never serves.
 *
 * A daemon that is about to leave closes connections without an answer, and its socket
 * may still be there for a moment: both are tried again until the time is over. A refusal
 * is an answer and ends the attempt at once. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/str.h"
#include "lib/lib_internal.h"

#define DEFAULT_TIMEOUT_MS 20000
#define FIRST_PAUSE_MS     5
#define LONGEST_PAUSE_MS   200
#define PROTOCOL_MIN       1
#define PROTOCOL_MAX       1

/* `later`: with the first request. */
static int send_hello(struct oc_channel *ch, bool later, struct omcc_error *err)
{
  Omcc__V1__ToDaemon m = OMCC__V1__TO_DAEMON__INIT;
  Omcc__V1__Hello hello = OMCC__V1__HELLO__INIT;
  struct oc_error e = { 0 };
  struct oc_buf body;
  int rc;

  hello.min = PROTOCOL_MIN;
  hello.max = PROTOCOL_MAX;
  hello.build = (char *)OMCC_VERSION;
  hello.pid = (uint32_t)getpid();
  hello.uid = (uint32_t)geteuid();
  m.body_case = OMCC__V1__TO_DAEMON__BODY_HELLO;
  m.hello = &hello;
  oc_buf_init(&body, OC_MAX_FRAME);
  rc = oc_message_pack(&m, &body);
  if (!rc)
    rc = later ? oc_channel_queue(ch, body.data, body.len, &e)
               : oc_channel_send(ch, body.data, body.len, NULL, 0, false, &e);
  oc_buf_clear(&body);
  return rc < 0 ? omcc_fail_from(err, OMCC_DAEMON, &e) : 0;
}

int omcc_take_hello(struct omcc *c, const Omcc__V1__ToClient *m, struct omcc_error *err)
{
  if (m->body_case == OMCC__V1__TO_CLIENT__BODY_REFUSAL) {
    omcc_fail(err, OMCC_E_PROTO, OMCC_DAEMON, "%s", m->refusal->text);
    omcc_fix(err, "use the omcc that belongs to the daemon, or restart the daemon");
    return OMCC_E_PROTO;
  }
  if (m->body_case != OMCC__V1__TO_CLIENT__BODY_HELLO)
    return omcc_fail(err, OMCC_E_PROTO, OMCC_DAEMON, "the daemon did not greet");
  if (m->hello->max < PROTOCOL_MIN || m->hello->min > PROTOCOL_MAX)
    return omcc_fail(err, OMCC_E_PROTO, OMCC_DAEMON,
                     "omcc %s speaks protocol %d, the daemon %s speaks %u to %u",
                     OMCC_VERSION, PROTOCOL_MAX, m->hello->build, m->hello->min,
                     m->hello->max);
  free(c->peer_build);
  c->peer_build = strdup(m->hello->build);
  c->peer_pid = m->hello->pid;
  c->peer_uid = m->hello->uid;
  c->greeted = c->peer_build != NULL;
  return c->greeted ? 0 : omcc_fail(err, OMCC_E_NOMEM, OMCC_BUG, "no memory");
}

/* 0 greeted; OMCC_E_CLOSED: try again; other errors are final. */
static int greet(struct omcc *c, int fd, int64_t deadline, struct omcc_error *err)
{
  struct oc_channel *ch = oc_channel_new(fd, OMCC_WRITE_CAP);
  int64_t left = deadline - omcc_now_ms();
  struct oc_error e = { 0 };
  struct oc_frame frame;
  struct oc_arena arena;
  ProtobufCMessage *m;
  int rc;

  if (!ch) {
    close(fd);
    return omcc_fail(err, OMCC_E_NOMEM, OMCC_BUG, "no memory for a connection");
  }
  rc = send_hello(ch, false, err);
  if (!rc) {
    rc = oc_channel_wait(ch, left > 0 ? (int)left : 0, &frame, &e);
    if (rc < 0) {
      omcc_fail_from(err, OMCC_DAEMON, &e);
      rc = rc == OC_E_BUSY || rc == OC_E_PROTO ? rc : OMCC_E_CLOSED;
    }
  } else {
    rc = OMCC_E_CLOSED;
  }
  if (rc < 0) {
    oc_channel_free(ch);
    return rc;
  }
  oc_arena_init(&arena, oc_message_cap(frame.len));
  rc = oc_message_unpack(&omcc__v1__to_client__descriptor, frame.body, frame.len, &arena,
                         &m, &e);
  rc = rc < 0 ? omcc_fail_from(err, OMCC_DAEMON, &e)
              : omcc_take_hello(c, (Omcc__V1__ToClient *)m, err);
  oc_frame_close_fds(&frame);
  oc_arena_clear(&arena);
  if (rc < 0)
    oc_channel_free(ch);
  else
    c->channel = ch;
  return rc;
}

/* Somebody listens: the greeting goes out with the first request, the answer to it comes
 * with the first answer. */
static int greet_later(struct omcc *c, int fd, int64_t deadline, struct omcc_error *err)
{
  struct oc_channel *ch = oc_channel_new(fd, OMCC_WRITE_CAP);
  int rc;

  c->early = false;
  c->greet_by_ms = deadline;
  if (!ch) {
    close(fd);
    return omcc_fail(err, OMCC_E_NOMEM, OMCC_BUG, "no memory for a connection");
  }
  rc = send_hello(ch, true, err);
  if (rc < 0)
    oc_channel_free(ch);
  else
    c->channel = ch;
  return rc;
}

static int say_state(const struct omcc *c, enum omcc_socket_state state,
                     struct omcc_error *err)
{
  switch (state) {
  case OMCC_STALE:
    omcc_fail(err, OMCC_E_IO, OMCC_DAEMON, "nobody listens on socket '%s' any more",
              c->socket);
    omcc_fix(err, "omcc daemon start");
    break;
  case OMCC_BUSY:
    omcc_fail(err, OMCC_E_IO, OMCC_DAEMON,
              "the daemon at '%s' takes no more connections at the moment", c->socket);
    break;
  case OMCC_DENIED:
    omcc_fail(err, OMCC_E_IO, OMCC_DAEMON, "no permission to speak to the daemon at '%s'",
              c->socket);
    omcc_fix(err, "ask for membership in the socket's group");
    break;
  default:
    omcc_fail(err, OMCC_E_IO, OMCC_DAEMON, "no daemon: there is no socket '%s'",
              c->socket);
    omcc_fix(err, "omcc daemon start");
  }
  return OMCC_E_IO;
}

/* At the usual places whoever listens has to be this user or root: others can make names
 * in /tmp, too, and files would be handed to them. A socket that was named is trusted. */
static int check_listener(const struct omcc *c, int fd, struct omcc_error *err)
{
  struct ucred peer;
  socklen_t len = sizeof(peer);

  if (c->given)
    return 0;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len))
    return omcc_fail(err, OMCC_E_IO, OMCC_DAEMON, "cannot see who listens at '%s': %s",
                     c->socket, strerror(errno));
  if (peer.uid == geteuid() || peer.uid == 0)
    return 0;
  omcc_fail(err, OMCC_E_IO, OMCC_DAEMON,
            "user %u listens at '%s', who is neither you nor root", (unsigned)peer.uid,
            c->socket);
  omcc_fix(err, "remove that directory, or set OMCC_SOCKET to a daemon that you trust");
  return OMCC_E_IO;
}

/* One attempt. 0 connected; OMCC_E_CLOSED: worth another attempt. */
static int attempt(struct omcc *c, int64_t deadline, struct omcc_error *err)
{
  struct omcc_error here = { 0 };
  enum omcc_socket_state state = OMCC_MISSING;
  int fd = omcc_try_connect(c->socket, &state, &here);
  int may_start;

  if (fd >= 0) {
    int rc = check_listener(c, fd, err);

    if (rc < 0)
      close(fd);
    if (rc < 0)
      return rc;
    return c->early ? greet_later(c, fd, deadline, err) : greet(c, fd, deadline, err);
  }
  c->early = false;
  if (here.code) {
    if (err)
      *err = here;
    return here.code;
  }
  say_state(c, state, err);
  if (state == OMCC_BUSY)
    return OMCC_E_CLOSED;
  if (state == OMCC_DENIED || c->start == OMCC_START_NEVER)
    return OMCC_E_IO;
  may_start = omcc_socket_dir(c->socket, &here);
  if (may_start < 0) {
    if (err)
      *err = here;
    return may_start;
  }
  if (!may_start) {
    omcc_fix(err,
             "its directory belongs to somebody else, so no private daemon is started "
             "there: start the service, or set OMCC_SOCKET");
    return OMCC_E_IO;
  }
  fd = omcc_start_daemon(c, deadline, err);
  return fd < 0 ? fd : OMCC_E_CLOSED;
}

static int connect_until(struct omcc *c, struct omcc_error *err)
{
  int64_t deadline = omcc_now_ms() + (c->timeout_ms ? c->timeout_ms : DEFAULT_TIMEOUT_MS);
  int pause = FIRST_PAUSE_MS, rc, failed_starts = 0;

  for (;;) {
    bool was_started = c->started;

    rc = attempt(c, deadline, err);
    if (rc == 0 || omcc_now_ms() >= deadline)
      return rc;
    /* A daemon that could not start may have met the last moments of another one. */
    if (rc != OMCC_E_CLOSED &&
        (rc != OMCC_E_IO || c->start == OMCC_START_NEVER || !err ||
         !strstr(err->msg, "did not start") || ++failed_starts > 3))
      return rc;
    if (c->started && !was_started)
      continue;
    omcc_sleep_ms(pause);
    pause = pause * 2 < LONGEST_PAUSE_MS ? pause * 2 : LONGEST_PAUSE_MS;
  }
}

int omcc_connect(const struct omcc_options *options, struct omcc **ret,
                 struct omcc_error *err)
{
  struct omcc_error here = { 0 };
  struct omcc *c = calloc(1, sizeof(*c));
  int rc;

  if (!c)
    return omcc_fail(err, OMCC_E_NOMEM, OMCC_BUG, "no memory for a connection");
  rc = omcc_socket_path(options, c->socket, sizeof(c->socket), err);
  if (rc < 0) {
    free(c);
    return rc;
  }
  c->given = omcc_socket_given(options);
  if (options) {
    c->start = options->start;
    c->idle_s = options->idle_s;
    c->timeout_ms = options->timeout_ms;
    c->early = options->size > offsetof(struct omcc_options, early) && options->early;
    c->daemon = options->daemon ? strdup(options->daemon) : NULL;
  }
  c->next_id = 1;
  rc = connect_until(c, err ? err : &here);
  if (rc < 0) {
    omcc_close(c);
    return rc;
  }
  *ret = c;
  return 0;
}

int omcc_reconnect(struct omcc *c, struct omcc_error *err)
{
  struct omcc_error here = { 0 };
  bool known = c->greeted; /* the daemon that went away */
  int rc;

  if (c->channel)
    oc_channel_free(c->channel);
  c->channel = NULL;
  c->greeted = c->early = false;
  for (struct omcc_job *job = c->jobs; job; job = job->next)
    if (!job->finished && job->resubmitted)
      return omcc_fail(err, OMCC_E_CLOSED, OMCC_DAEMON,
                       "the daemon went away twice during one job");
  rc = connect_until(c, err ? err : &here);
  for (struct omcc_job *job = c->jobs; job && !rc; job = job->next) {
    if (job->finished)
      continue;
    job->resubmitted |= known;
    omcc_clear_result(job);           /* members that came before the connection broke */
    job->submit.stop_at = (char *)""; /* a stop point is for the first try */
    rc = omcc_send_submit(job, err);
  }
  return rc;
}

void omcc_close(struct omcc *c)
{
  if (!c)
    return;
  while (c->jobs)
    omcc_job_free(c->jobs);
  if (c->channel)
    oc_channel_free(c->channel);
  omcc_forget_answer(c);
  free(c->peer_build);
  free(c->daemon);
  free(c);
}

void omcc_peer(const struct omcc *c, struct omcc_peer *ret)
{
  *ret = (struct omcc_peer){ .pid = c->peer_pid,
                             .uid = c->peer_uid,
                             .build = c->peer_build,
                             .socket = c->socket,
                             .started = c->started };
}
