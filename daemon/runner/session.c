/* One run from its first frame to its last: a poll loop over the daemon's socket, the
 * compiler's output and its end.
 *
 * Output is passed on as it comes; when the daemon does not take it, the pipes are not
 * read, and the compiler waits as it would for a slow terminal. Limits are checked on
 * every tick. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "runner/runner.h"
#include "runner/runner_internal.h"

#define WRITE_CAP   (4u << 20)
#define CHUNK       (64u << 10)
#define TICK_MS     100
#define PROGRESS_MS 1000
#define TERM_MS                                                                          \
  300                 /* from SIGTERM to SIGKILL: the whole stop stays under two seconds \
                       */
#define REST_MS  1000 /* for output that is still in the pipes when all are dead */
#define START_MS 30000 /* for the frames that bring the run */
#define DRAIN_MS 30000

enum stage { STAGE_WAITING, STAGE_FILES, STAGE_RUNNING };

struct session {
  struct oc_channel *channel;
  struct oc_arena arena; /* the Run message */
  struct job job;
  bool job_open;
  struct compiler compiler;
  enum stage stage;
  bool stopping; /* Stop came, or the daemon has gone: nobody wants an answer */
  bool broken;
  bool timed_out, out_of_memory;
  uint64_t started_ms, kill_at_ms, progress_ms;
  uint64_t peak_bytes, oom_kills;
};

static uint64_t now_ms(void)
{
  struct timespec t;

  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* ---------------------------------------------------------------- to the daemon */

static int send_message(struct session *s, Omcc__V1__FromRunner *m, const int *fds,
                        size_t n_fds)
{
  struct oc_buf out;
  int rc;

  oc_buf_init(&out, OC_MAX_FRAME);
  rc = oc_message_pack(m, &out);
  if (rc == 0)
    rc = oc_channel_send(s->channel, out.data, out.len, fds, n_fds, false, NULL);
  oc_buf_clear(&out);
  if (rc < 0)
    s->broken = true;
  return rc;
}

static void send_output(struct session *s, bool is_stderr, uint8_t *data, size_t len)
{
  Omcc__V1__FromRunner m = OMCC__V1__FROM_RUNNER__INIT;
  Omcc__V1__RunOutput output = OMCC__V1__RUN_OUTPUT__INIT;

  output.is_stderr = is_stderr;
  output.data.data = data;
  output.data.len = len;
  m.body_case = OMCC__V1__FROM_RUNNER__BODY_OUTPUT;
  m.output = &output;
  send_message(s, &m, NULL, 0);
}

static void send_progress(struct session *s, uint64_t rss_bytes)
{
  Omcc__V1__FromRunner m = OMCC__V1__FROM_RUNNER__INIT;
  Omcc__V1__RunProgress progress = OMCC__V1__RUN_PROGRESS__INIT;

  progress.rss_bytes = rss_bytes;
  m.body_case = OMCC__V1__FROM_RUNNER__BODY_PROGRESS;
  m.progress = &progress;
  send_message(s, &m, NULL, 0);
}

/* One RunDone with up to a frame's worth of members from `first` on. */
static void send_done_frame(struct session *s, Omcc__V1__RunDone *done,
                            const struct members *members, size_t first, size_t n)
{
  Omcc__V1__FromRunner m = OMCC__V1__FROM_RUNNER__INIT;
  Omcc__V1__Member messages[OC_MAX_FRAME_FDS], *list[OC_MAX_FRAME_FDS];
  int fds[OC_MAX_FRAME_FDS];

  for (size_t i = 0; i < n; i++) {
    const struct member *from = &members->items[first + i];
    omcc__v1__member__init(&messages[i]);
    messages[i].name = (char *)from->name;
    messages[i].kind = (char *)from->kind;
    messages[i].mode = from->mode;
    messages[i].size = from->size;
    messages[i].where_case = OMCC__V1__MEMBER__WHERE_FD;
    messages[i].fd = (uint32_t)i;
    list[i] = &messages[i];
    fds[i] = from->fd;
  }
  done->members = list;
  done->n_members = n;
  done->more = first + n < members->n;
  m.body_case = OMCC__V1__FROM_RUNNER__BODY_DONE;
  m.done = done;
  send_message(s, &m, fds, n);
}

static void send_done(struct session *s, Omcc__V1__RunDone *done,
                      const struct members *members)
{
  size_t first = 0;

  do {
    size_t n = members->n - first;
    if (n > OC_MAX_FRAME_FDS)
      n = OC_MAX_FRAME_FDS;
    send_done_frame(s, done, members, first, n);
    first += n;
  } while (first < members->n && !s->broken);
  oc_channel_drain(s->channel, DRAIN_MS, NULL);
}

static void send_failure(struct session *s, const struct oc_error *err)
{
  Omcc__V1__RunDone done = OMCC__V1__RUN_DONE__INIT;
  struct members none = { .n = 0 };

  done.exit_status = -1;
  done.error = (char *)err->msg;
  send_done(s, &done, &none);
}

/* ---------------------------------------------------------------- from the daemon */

static int begin_compiler(struct session *s, struct oc_error *err)
{
  s->started_ms = now_ms();
  s->oom_kills = memory_oom_kills();
  s->stage = STAGE_RUNNING;
  return compiler_start(&s->compiler, &s->job, err);
}

static int on_run(struct session *s, const Omcc__V1__Run *run, struct oc_frame *f,
                  struct oc_error *err)
{
  s->job_open = true;
  int rc = job_open(&s->job, run, err);
  if (rc == 0)
    rc = job_place(&s->job, f, err);
  if (rc == 0)
    rc = job_place_external(&s->job, run->external, run->n_external, f, err);
  if (rc < 0)
    return rc;
  s->stage = STAGE_FILES;
  return run->more ? 0 : begin_compiler(s, err);
}

static void begin_stop(struct session *s)
{
  if (s->stopping)
    return;
  s->stopping = true;
  s->kill_at_ms = now_ms() + TERM_MS;
  compiler_signal(&s->compiler, SIGTERM);
}

/* 0, or a code with the sentence for RunDone.error; OC_E_PROTO ends without an answer. */
static int on_frame(struct session *s, struct oc_frame *f, struct oc_error *err)
{
  struct oc_arena scratch, *arena = s->stage == STAGE_WAITING ? &s->arena : &scratch;
  ProtobufCMessage *base = NULL;

  oc_arena_init(&scratch, oc_message_cap(f->len));
  if (s->stage == STAGE_WAITING)
    s->arena.cap = oc_message_cap(f->len);
  int rc = oc_message_unpack(&omcc__v1__to_runner__descriptor, f->body, f->len, arena,
                             &base, err);
  const Omcc__V1__ToRunner *m = (const Omcc__V1__ToRunner *)base;
  if (rc < 0)
    rc = OC_E_PROTO;
  else if (m->body_case == OMCC__V1__TO_RUNNER__BODY_STOP)
    begin_stop(s);
  else if (m->body_case == OMCC__V1__TO_RUNNER__BODY_RUN && s->stage == STAGE_WAITING)
    rc = on_run(s, m->run, f, err);
  else if (m->body_case == OMCC__V1__TO_RUNNER__BODY_MORE_FILES &&
           s->stage == STAGE_FILES) {
    rc =
        job_place_external(&s->job, m->more_files->files, m->more_files->n_files, f, err);
    if (rc == 0 && m->more_files->last)
      rc = begin_compiler(s, err);
  } else
    rc = oc_error_set(err, OC_E_PROTO, "a frame came that does not belong here");
  oc_arena_clear(&scratch);
  return rc;
}

/* Everything the socket holds. */
static int read_frames(struct session *s, struct oc_error *err)
{
  struct oc_frame f = { 0 };
  int rc = oc_channel_read(s->channel, err), got;

  if (rc < 0 && rc != OC_E_CLOSED)
    return OC_E_PROTO;
  bool closed = rc == OC_E_CLOSED;
  while (!s->stopping && (got = oc_channel_next(s->channel, &f, err)) != 0) {
    if (got < 0)
      return OC_E_PROTO;
    rc = on_frame(s, &f, err);
    oc_frame_close_fds(&f);
    if (rc < 0)
      return rc;
  }
  if (closed) {
    s->broken = true;
    begin_stop(s);
  }
  return 0;
}

/* ---------------------------------------------------------------- the compiler's side */

/* Passes on what is there; closes the pipe at its end. */
static void read_pipe(struct session *s, int *fd, bool is_stderr)
{
  uint8_t chunk[CHUNK];

  while (*fd >= 0) {
    ssize_t n = read(*fd, chunk, sizeof(chunk));
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0 && errno == EAGAIN)
      return;
    if (n <= 0) {
      oc_close_fd(fd);
      *fd = -1;
      return;
    }
    if (!s->stopping && !s->broken)
      send_output(s, is_stderr, chunk, (size_t)n);
    if (oc_channel_wants_write(s->channel))
      return; /* the rest when the daemon has taken this */
  }
}

static void check_limits(struct session *s)
{
  const Omcc__V1__Run *run = s->job.run;
  uint64_t now = now_ms();

  if (s->kill_at_ms && now >= s->kill_at_ms)
    compiler_signal(&s->compiler, SIGKILL);
  if (s->stopping || s->timed_out || s->out_of_memory)
    return;
  uint64_t bytes = memory_of_group(s->compiler.pid);
  if (bytes > s->peak_bytes)
    s->peak_bytes = bytes;
  if (run->time_limit_ms && now - s->started_ms >= run->time_limit_ms)
    s->timed_out = true;
  if (run->memory_limit_bytes && bytes > run->memory_limit_bytes)
    s->out_of_memory = true;
  if (s->timed_out || s->out_of_memory)
    compiler_signal(&s->compiler, SIGKILL);
  if (now - s->progress_ms >= PROGRESS_MS && !oc_channel_wants_write(s->channel)) {
    s->progress_ms = now;
    send_progress(s, bytes);
  }
}

/* Polls once. What is not of interest now gets a negative descriptor. */
static int wait_for_events(struct session *s, int timeout_ms, struct pollfd p[4])
{
  bool taking = !oc_channel_wants_write(s->channel) || s->stopping;

  p[0] = (struct pollfd){ .fd = s->broken ? -1 : oc_channel_fd(s->channel),
                          .events = POLLIN };
  if (oc_channel_wants_write(s->channel))
    p[0].events |= POLLOUT;
  p[1] = (struct pollfd){ .fd = taking ? s->compiler.out_fd : -1, .events = POLLIN };
  p[2] = (struct pollfd){ .fd = taking ? s->compiler.err_fd : -1, .events = POLLIN };
  p[3] = (struct pollfd){ .fd = s->compiler.ended ? -1 : s->compiler.pidfd,
                          .events = POLLIN };
  int n = poll(p, 4, timeout_ms);
  return n < 0 && errno == EINTR ? 0 : n;
}

static int one_round(struct session *s, struct oc_error *err)
{
  struct pollfd p[4];
  int rc = 0;

  if (wait_for_events(s, TICK_MS, p) < 0)
    return oc_error_errno(err, OC_E_IO, "cannot wait for the compiler");
  if (p[0].revents & POLLOUT && oc_channel_flush(s->channel, NULL) < 0)
    s->broken = true;
  if (p[0].revents & ~POLLOUT)
    rc = read_frames(s, err);
  if (s->broken)
    begin_stop(s);
  if (p[1].revents)
    read_pipe(s, &s->compiler.out_fd, false);
  if (p[2].revents)
    read_pipe(s, &s->compiler.err_fd, true);
  compiler_reap(&s->compiler);
  if (!s->compiler.ended)
    check_limits(s);
  return rc;
}

/* The wrapper has ended: whatever it left goes, then the rest of its output is read. */
static void read_rest(struct session *s)
{
  uint64_t until = now_ms() + REST_MS;
  struct pollfd p[4];

  compiler_sweep(&s->compiler);
  while ((s->compiler.out_fd >= 0 || s->compiler.err_fd >= 0) && now_ms() < until) {
    wait_for_events(s, TICK_MS, p);
    if (p[0].revents & POLLOUT && oc_channel_flush(s->channel, NULL) < 0)
      s->broken = true;
    read_pipe(s, &s->compiler.out_fd, false);
    read_pipe(s, &s->compiler.err_fd, true);
    if (oc_channel_wants_write(s->channel))
      until = now_ms() + REST_MS; /* the daemon is slow, not the pipes */
    if (s->broken)
      return;
  }
}

/* ---------------------------------------------------------------- the end */

/* A shell says 128+n for a child that signal n has killed. */
static void fill_status(const struct session *s, Omcc__V1__RunDone *done)
{
  int status = s->compiler.wait_status;

  if (WIFSIGNALED(status)) {
    done->signal = (uint32_t)WTERMSIG(status);
    done->exit_status = 128 + WTERMSIG(status);
  } else {
    done->exit_status = WEXITSTATUS(status);
    if (done->exit_status > 128 && done->exit_status <= 128 + 64)
      done->signal = (uint32_t)done->exit_status - 128;
  }
  done->timed_out = s->timed_out;
  done->out_of_memory = s->out_of_memory || (done->signal == SIGKILL && !s->timed_out &&
                                             memory_oom_kills() > s->oom_kills);
  done->peak_rss_bytes = s->compiler.max_rss_bytes > s->peak_bytes
                             ? s->compiler.max_rss_bytes
                             : s->peak_bytes;
  done->elapsed_ms = now_ms() - s->started_ms;
}

static bool has_artifact(const struct members *m)
{
  return m->n && strcmp(m->items[0].kind, "artifact") == 0;
}

static void finish(struct session *s)
{
  Omcc__V1__RunDone done = OMCC__V1__RUN_DONE__INIT;
  struct members members = { .n = 0 };
  struct oc_error err = { 0 };

  fill_status(s, &done);
  /* Success is the exit status and the file: each without the other is a failure. */
  if (done.exit_status == 0 && collect(&s->job, &members, &err) < 0)
    done.error = err.msg;
  else if (done.exit_status == 0 && !has_artifact(&members) && members.n == 0)
    done.error = (char *)"the compiler ended with success but wrote no file";
  send_done(s, &done, &members);
  members_close(&members);
}

static int serve(struct session *s, struct oc_error *err)
{
  uint64_t until = now_ms() + START_MS;
  int rc = 0;

  while (rc == 0 && s->stage != STAGE_RUNNING && !s->stopping) {
    struct pollfd p = { .fd = oc_channel_fd(s->channel), .events = POLLIN };
    if (now_ms() >= until)
      return oc_error_set(err, OC_E_PROTO, "the run did not come");
    if (poll(&p, 1, TICK_MS) > 0)
      rc = read_frames(s, err);
  }
  while (rc == 0 && s->stage == STAGE_RUNNING && !s->compiler.ended)
    rc = one_round(s, err);
  if (rc == 0 && s->compiler.ended)
    read_rest(s);
  return rc;
}

int oc_runner_serve(int fd)
{
  struct session s = { .stage = STAGE_WAITING };
  struct oc_error err = { 0 };

  s.compiler.pidfd = s.compiler.out_fd = s.compiler.err_fd = s.compiler.guard_fd = -1;
  oc_arena_init(&s.arena, 0);
  s.channel = oc_channel_new(fd, WRITE_CAP);
  if (!s.channel)
    return 1;
  int rc = serve(&s, &err);
  compiler_close(&s.compiler);
  if (rc < 0 && rc != OC_E_PROTO && !s.stopping)
    send_failure(&s, &err);
  else if (rc == 0 && !s.stopping && s.stage == STAGE_RUNNING)
    finish(&s);
  if (s.job_open)
    job_close(&s.job);
  oc_arena_clear(&s.arena);
  oc_channel_free(s.channel);
  return rc == OC_E_PROTO ? 1 : 0;
}
