/* Whole conversations with a scripted daemon: results, external files, refusal, a daemon
 * that dies and comes back. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/omcc.h"
#include "server.h"
#include "suites.h"

static char socket_path[128];
static pid_t daemon_pid;

static void enter(void)
{
  folder_enter();
  ck_assert_ptr_nonnull(getcwd(socket_path, 100));
  strncat(socket_path, "/s", 3);
  write_file("m.onnx", "model", 5);
  write_file("w.bin", "weights", 7);
  write_file("keep.cfg", "a\nb\n", 4);
}

static int leave_at_once(struct server *s, int connection)
{
  (void)s;
  (void)connection;
  return 1;
}

static void leave(void)
{
  folder_leave();
}

struct seen {
  unsigned accepted, progress, finished;
  char output[64];
  int status;
  char message[100];
  char member[32];
  size_t n_members;
};

static void on_accepted(void *user, struct omcc_job *job, uint64_t id, bool joined)
{
  struct seen *s = user;

  ck_assert_uint_eq(id, 77);
  ck_assert(!joined);
  ck_assert_uint_eq(omcc_job_id(job), 77);
  s->accepted++;
}

static void on_progress(void *user, struct omcc_job *job, const struct omcc_progress *p)
{
  struct seen *s = user;

  (void)job;
  ck_assert_str_eq(p->phase, "planning");
  s->progress++;
}

static void on_output(void *user, struct omcc_job *job, bool is_stderr, const void *data,
                      size_t len)
{
  struct seen *s = user;

  (void)job;
  ck_assert(!is_stderr);
  snprintf(s->output, sizeof(s->output), "%.*s", (int)len, (const char *)data);
}

static void on_finished(void *user, struct omcc_job *job, const struct omcc_result *r)
{
  struct seen *s = user;

  (void)job;
  s->finished++;
  s->status = r->status;
  s->n_members = r->n_members;
  snprintf(s->message, sizeof(s->message), "%s", r->message);
  if (r->n_members && r->members[0].fd >= 0)
    ck_assert_int_gt(pread(r->members[0].fd, s->member, sizeof(s->member) - 1, 0), 0);
}

static const struct omcc_callbacks callbacks = { .size = sizeof(callbacks),
                                                 .accepted = on_accepted,
                                                 .progress = on_progress,
                                                 .output = on_output,
                                                 .finished = on_finished };

static uint32_t patience_ms; /* 0: as long as it takes */

static struct omcc *connect_how(bool early)
{
  struct omcc_options options = { .size = sizeof(options),
                                  .socket = socket_path,
                                  .start = OMCC_START_NEVER,
                                  .timeout_ms = patience_ms,
                                  .early = early };
  struct omcc_error err = { 0 };
  struct omcc *c = NULL;

  ck_assert_msg(omcc_connect(&options, &c, &err) == 0, "%s", err.msg);
  return c;
}

static struct omcc *connect_here(void)
{
  return connect_how(false);
}

static struct omcc_job *submit_here(struct omcc *c, struct seen *seen)
{
  static const struct omcc_flag flags[] = { { "model", "m.onnx" },
                                            { "keep_dtype", "keep.cfg" },
                                            { "soc_version", "Ascend310P3" } };
  struct omcc_request request = { .size = sizeof(request), .flags = flags, .n_flags = 3 };
  struct omcc_error err = { 0 };
  struct omcc_job *job = NULL;

  ck_assert_msg(omcc_submit(c, &request, &callbacks, seen, &job, &err) == 0, "%s",
                err.msg);
  return job;
}

static void send_body(struct server *s, uint64_t id, Omcc__V1__ToClient__BodyCase what,
                      void *body, const int *fds, size_t n_fds)
{
  Omcc__V1__ToClient m = OMCC__V1__TO_CLIENT__INIT;

  m.id = id;
  m.body_case = what;
  m.hello = body; /* all members of the union are pointers */
  server_send(s, &m, fds, n_fds);
}

static void send_finished(struct server *s, uint64_t id)
{
  Omcc__V1__Finished done = OMCC__V1__FINISHED__INIT;
  Omcc__V1__Member member = OMCC__V1__MEMBER__INIT, *members[] = { &member };
  FILE *f = tmpfile();
  int fd = fileno(f);

  if (write(fd, "artifact", 8) != 8)
    _exit(5);
  done.code = (char *)"ok";
  done.result = (char *)"miss";
  done.n_members = 1;
  done.members = members;
  member.name = (char *)"model.om";
  member.kind = (char *)"artifact";
  member.size = 8;
  member.where_case = OMCC__V1__MEMBER__WHERE_FD;
  member.fd = 0;
  send_body(s, id, OMCC__V1__TO_CLIENT__BODY_FINISHED, &done, &fd, 1);
}

static int check_files(const Omcc__V1__Submit *m, const struct oc_frame *frame)
{
  struct stat st;

  return m->n_files == 2 && frame->n_fds == 2 && !strcmp(m->files[0]->flag, "model") &&
         !m->files[0]->sealed && !strcmp(m->files[1]->flag, "keep_dtype") &&
         m->files[1]->sealed && !fstat(frame->fds[1], &st) && st.st_size == 4;
}

static int whole_script(struct server *s, int connection)
{
  Omcc__V1__Accepted accepted = OMCC__V1__ACCEPTED__INIT;
  Omcc__V1__NeedFiles need = OMCC__V1__NEED_FILES__INIT;
  Omcc__V1__Progress progress = OMCC__V1__PROGRESS__INIT;
  Omcc__V1__Output output = OMCC__V1__OUTPUT__INIT;
  char *names[] = { (char *)"w.bin", (char *)"../w.bin", (char *)"no.bin" };
  struct oc_frame frame;
  Omcc__V1__ToDaemon *m = server_receive(s, &frame);
  uint64_t id;

  (void)connection;
  if (!m || m->body_case != OMCC__V1__TO_DAEMON__BODY_SUBMIT ||
      !check_files(m->submit, &frame))
    _exit(10);
  id = m->id;
  accepted.job = 77;
  send_body(s, id, OMCC__V1__TO_CLIENT__BODY_ACCEPTED, &accepted, NULL, 0);
  need.names = names;
  need.n_names = 3;
  send_body(s, id, OMCC__V1__TO_CLIENT__BODY_NEED_FILES, &need, NULL, 0);
  m = server_receive(s, &frame);
  if (!m || m->body_case != OMCC__V1__TO_DAEMON__BODY_FILES || m->files->n_files != 1 ||
      frame.n_fds != 1 || !m->files->last || m->files->n_missing != 2 ||
      strcmp(m->files->reasons[0], "outside") || strcmp(m->files->reasons[1], "absent"))
    _exit(11);
  progress.phase = (char *)"planning";
  send_body(s, id, OMCC__V1__TO_CLIENT__BODY_PROGRESS, &progress, NULL, 0);
  output.data.data = (uint8_t *)"ATC start";
  output.data.len = 9;
  send_body(s, id, OMCC__V1__TO_CLIENT__BODY_OUTPUT, &output, NULL, 0);
  send_finished(s, id);
  return 1;
}

START_TEST(whole)
{
  struct seen seen = { 0 };
  struct omcc_error err = { 0 };
  struct omcc_peer peer;
  struct omcc *c;
  struct omcc_job *job;
  size_t len = 0;
  int status;

  daemon_pid = server_start(socket_path, whole_script);
  c = connect_here();
  omcc_peer(c, &peer);
  ck_assert_uint_eq(peer.pid, 4711);
  job = submit_here(c, &seen);
  while (!seen.finished)
    ck_assert_msg(omcc_wait(c, 60000, &err) == 0, "%s", err.msg);
  ck_assert_uint_eq(seen.accepted, 1);
  ck_assert_uint_eq(seen.progress, 1);
  ck_assert_str_eq(seen.output, "ATC start");
  ck_assert_str_eq(seen.member, "artifact");
  ck_assert_str_eq(omcc_job_list(job, "keep_dtype", &len), "a\nb\n");
  ck_assert_uint_eq(len, 4);
  ck_assert_ptr_null(omcc_job_list(job, "model", &len));
  omcc_close(c);
  waitpid(daemon_pid, &status, 0);
  ck_assert_int_eq(status, 0);
}
END_TEST

static int dying_script(struct server *s, int connection)
{
  struct oc_frame frame;
  Omcc__V1__ToDaemon *m = server_receive(s, &frame);

  if (!m || m->body_case != OMCC__V1__TO_DAEMON__BODY_SUBMIT ||
      !check_files(m->submit, &frame))
    _exit(10);
  if (connection == 0)
    return 0; /* closes the connection: the daemon is gone for this client */
  send_finished(s, m->id);
  return 1;
}

START_TEST(submits_again)
{
  struct seen seen = { 0 };
  struct omcc_error err = { 0 };
  struct omcc *c;
  int rc = 0, status;

  daemon_pid = server_start(socket_path, dying_script);
  c = connect_here();
  submit_here(c, &seen);
  while (rc == 0)
    rc = omcc_wait(c, 60000, &err);
  ck_assert_int_eq(rc, OMCC_E_CLOSED);
  ck_assert_msg(omcc_reconnect(c, &err) == 0, "%s", err.msg);
  while (!seen.finished)
    ck_assert_msg(omcc_wait(c, 60000, &err) == 0, "%s", err.msg);
  ck_assert_str_eq(seen.member, "artifact");
  omcc_close(c);
  waitpid(daemon_pid, &status, 0);
  ck_assert_int_eq(status, 0);
}
END_TEST

static int always_dying_script(struct server *s, int connection)
{
  struct oc_frame frame;

  (void)server_receive(s, &frame);
  return connection >= 1;
}

START_TEST(submits_again_once)
{
  struct seen seen = { 0 };
  struct omcc_error err = { 0 };
  struct omcc *c;
  int rc = 0;

  daemon_pid = server_start(socket_path, always_dying_script);
  c = connect_here();
  submit_here(c, &seen);
  while (rc == 0)
    rc = omcc_wait(c, 60000, &err);
  ck_assert_int_eq(omcc_reconnect(c, &err), 0);
  for (rc = 0; rc == 0;)
    rc = omcc_wait(c, 60000, &err);
  ck_assert_int_eq(rc, OMCC_E_CLOSED);
  ck_assert_int_lt(omcc_reconnect(c, &err), 0);
  ck_assert_ptr_nonnull(strstr(err.msg, "twice"));
  omcc_close(c);
  waitpid(daemon_pid, NULL, 0);
}
END_TEST

static int refusing_script(struct server *s, int connection)
{
  Omcc__V1__Refusal refusal = OMCC__V1__REFUSAL__INIT;
  struct oc_frame frame;
  Omcc__V1__ToDaemon *m = server_receive(s, &frame);

  (void)connection;
  refusal.text = (char *)"too many jobs";
  refusal.status = OMCC_DAEMON;
  send_body(s, m ? m->id : 0, OMCC__V1__TO_CLIENT__BODY_REFUSAL, &refusal, NULL, 0);
  return 1;
}

START_TEST(refused)
{
  struct seen seen = { 0 };
  struct omcc_error err = { 0 };
  struct omcc *c;

  daemon_pid = server_start(socket_path, refusing_script);
  c = connect_here();
  submit_here(c, &seen);
  while (!seen.finished)
    ck_assert_int_eq(omcc_wait(c, 60000, &err), 0);
  ck_assert_int_eq(seen.status, OMCC_DAEMON);
  ck_assert_str_eq(seen.message, "too many jobs");
  omcc_close(c);
  waitpid(daemon_pid, NULL, 0);
}
END_TEST

static int status_script(struct server *s, int connection)
{
  Omcc__V1__Status status = OMCC__V1__STATUS__INIT;
  struct oc_frame frame;
  Omcc__V1__ToDaemon *m = server_receive(s, &frame);

  (void)connection;
  if (!m || m->body_case != OMCC__V1__TO_DAEMON__BODY_STATUS)
    _exit(10);
  status.pid = 4711;
  status.version = (char *)"v";
  send_body(s, m->id, OMCC__V1__TO_CLIENT__BODY_STATUS, &status, NULL, 0);
  return 1;
}

START_TEST(question)
{
  struct omcc_error err = { 0 };
  Omcc__V1__Status *m;
  uint8_t *bytes;
  size_t len;
  struct omcc *c;

  daemon_pid = server_start(socket_path, status_script);
  c = connect_here();
  ck_assert_msg(omcc_ask(c, OMCC_ASK_STATUS, 0, 60000, &bytes, &len, &err) == 0, "%s",
                err.msg);
  m = omcc__v1__status__unpack(NULL, len, bytes);
  ck_assert_ptr_nonnull(m);
  ck_assert_uint_eq(m->pid, 4711);
  omcc__v1__status__free_unpacked(m, NULL);
  free(bytes);
  omcc_close(c);
  waitpid(daemon_pid, NULL, 0);
}
END_TEST

/* The request comes with the greeting: both are here before anything was answered. */
static int early_script(struct server *s, int connection)
{
  Omcc__V1__Hello hello = OMCC__V1__HELLO__INIT;
  struct oc_frame frame;
  Omcc__V1__ToDaemon *m = server_receive(s, &frame);

  (void)connection;
  if (!m || m->body_case != OMCC__V1__TO_DAEMON__BODY_HELLO || frame.n_fds)
    _exit(10);
  m = server_receive(s, &frame);
  if (!m || m->body_case != OMCC__V1__TO_DAEMON__BODY_SUBMIT ||
      !check_files(m->submit, &frame))
    _exit(11);
  hello.min = hello.max = 1;
  hello.pid = 4711;
  send_body(s, 0, OMCC__V1__TO_CLIENT__BODY_HELLO, &hello, NULL, 0);
  send_finished(s, m->id);
  return 1;
}

START_TEST(early)
{
  struct seen seen = { 0 };
  struct omcc_error err = { 0 };
  struct omcc_peer peer;
  struct omcc *c;
  int status;

  daemon_pid = server_start_silent(socket_path, early_script);
  c = connect_how(true);
  omcc_peer(c, &peer);
  ck_assert_uint_eq(peer.pid, 0); /* nobody has greeted yet */
  submit_here(c, &seen);
  while (!seen.finished)
    ck_assert_msg(omcc_wait(c, 5000, &err) == 0, "%s", err.msg);
  ck_assert_str_eq(seen.member, "artifact");
  omcc_peer(c, &peer);
  ck_assert_uint_eq(peer.pid, 4711);
  omcc_close(c);
  waitpid(daemon_pid, &status, 0);
  ck_assert_int_eq(status, 0);
}
END_TEST

static int other_version_script(struct server *s, int connection)
{
  Omcc__V1__Refusal refusal = OMCC__V1__REFUSAL__INIT;
  struct oc_frame frame;

  if (!server_receive(s, &frame))
    _exit(10);
  refusal.text = (char *)"other protocols only";
  send_body(s, 0, OMCC__V1__TO_CLIENT__BODY_REFUSAL, &refusal, NULL, 0);
  return connection; /* the second time it was too late to send a request */
}

/* A daemon of another version: one sentence and what to do, whether the request went out
 * before its refusal came or after. */
START_TEST(early_and_refused)
{
  struct seen seen = { 0 };
  struct omcc_error err = { 0 };
  struct omcc *c;
  int rc = 0;

  daemon_pid = server_start_silent(socket_path, other_version_script);
  c = connect_how(true);
  submit_here(c, &seen);
  while (rc == 0)
    rc = omcc_wait(c, 5000, &err);
  if (rc == OMCC_E_CLOSED) /* it had gone before the request was written */
    rc = omcc_reconnect(c, &err);
  ck_assert_int_eq(rc, OMCC_E_PROTO);
  ck_assert_str_eq(err.msg, "other protocols only");
  ck_assert_ptr_nonnull(strstr(err.fix, "restart the daemon"));
  ck_assert_int_eq(omcc_wait(c, 0, &err), OMCC_E_CLOSED);
  ck_assert_uint_eq(seen.finished, 0);
  omcc_close(c);
  kill(daemon_pid, SIGKILL);
  waitpid(daemon_pid, NULL, 0);
}
END_TEST

/* Leaves the first client without a word, the second after its greeting. */
static int leaving_script(struct server *s, int connection)
{
  struct oc_frame frame;
  Omcc__V1__ToDaemon *m;

  if (connection == 0)
    return 0;
  server_greet(s);
  m = server_receive(s, &frame);
  if (connection == 1)
    return 0;
  if (!m || m->body_case != OMCC__V1__TO_DAEMON__BODY_SUBMIT)
    _exit(10);
  send_finished(s, m->id);
  return 1;
}

/* A daemon that was leaving already when we came has not lost our job: it may still be
 * lost once by the next one. */
START_TEST(early_and_nobody_there)
{
  struct seen seen = { 0 };
  struct omcc_error err = { 0 };
  struct omcc *c;
  int rc, status;

  daemon_pid = server_start_silent(socket_path, leaving_script);
  c = connect_how(true);
  submit_here(c, &seen);
  for (int lost = 0; lost < 2; lost++) {
    for (rc = 0; rc == 0;)
      rc = omcc_wait(c, 5000, &err);
    ck_assert_int_eq(rc, OMCC_E_CLOSED);
    ck_assert_msg(omcc_reconnect(c, &err) == 0, "%s", err.msg);
  }
  while (!seen.finished)
    ck_assert_msg(omcc_wait(c, 5000, &err) == 0, "%s", err.msg);
  ck_assert_str_eq(seen.member, "artifact");
  omcc_close(c);
  waitpid(daemon_pid, &status, 0);
  ck_assert_int_eq(status, 0);
}
END_TEST

static int silent_script(struct server *s, int connection)
{
  struct oc_frame frame;

  (void)connection;
  while (server_receive(s, &frame))
    continue;
  return 1;
}

/* A daemon that listens and never says a word is not waited for for ever. */
START_TEST(early_and_silent)
{
  struct seen seen = { 0 };
  struct omcc_error err = { 0 };
  struct omcc *c;
  int rc = 0;

  daemon_pid = server_start_silent(socket_path, silent_script);
  patience_ms = 300;
  c = connect_how(true);
  submit_here(c, &seen);
  while (rc == 0)
    rc = omcc_wait(c, -1, &err);
  ck_assert_int_eq(rc, OMCC_E_BUSY);
  ck_assert_str_eq(err.msg, "the daemon did not answer in time");
  omcc_close(c);
  waitpid(daemon_pid, NULL, 0);
}
END_TEST

static int unsent_member_script(struct server *s, int connection)
{
  Omcc__V1__Finished done = OMCC__V1__FINISHED__INIT;
  Omcc__V1__Member member = OMCC__V1__MEMBER__INIT, *members[] = { &member };
  struct oc_frame frame;
  Omcc__V1__ToDaemon *m = server_receive(s, &frame);

  (void)connection;
  member.where_case = OMCC__V1__MEMBER__WHERE_FD;
  member.fd = 9;
  done.members = members;
  done.n_members = 1;
  send_body(s, m ? m->id : 0, OMCC__V1__TO_CLIENT__BODY_FINISHED, &done, NULL, 0);
  return 1;
}

START_TEST(member_without_file)
{
  struct seen seen = { 0 };
  struct omcc_error err = { 0 };
  struct omcc *c;
  int rc = 0;

  daemon_pid = server_start(socket_path, unsent_member_script);
  c = connect_here();
  submit_here(c, &seen);
  while (rc == 0 && !seen.finished)
    rc = omcc_wait(c, 60000, &err);
  ck_assert_int_eq(rc, OMCC_E_PROTO);
  ck_assert_uint_eq(seen.finished, 0);
  omcc_close(c);
  waitpid(daemon_pid, NULL, 0);
}
END_TEST

/* Somebody else listens at the usual place: nothing is said to him. Named, he is trusted.
 * Only root can be two users at a time; others see that their own daemon is taken. */
START_TEST(a_strangers_socket)
{
  struct omcc_options options = { .size = sizeof(options), .start = OMCC_START_NEVER };
  struct omcc_error err = { 0 };
  struct omcc *c = NULL;
  bool root = geteuid() == 0;
  char runtime[100];
  int rc;

  ck_assert_ptr_nonnull(getcwd(runtime, sizeof(runtime)));
  ck_assert_int_eq(chmod(".", 0755), 0);
  ck_assert_int_eq(mkdir("omcc", 0700), 0);
  ck_assert_int_eq(chmod("omcc", 0777), 0);
  ck_assert_int_eq(setenv("XDG_RUNTIME_DIR", runtime, 1), 0);
  ck_assert_int_eq(unsetenv("OMCC_SOCKET"), 0);
  snprintf(socket_path, sizeof(socket_path), "%s/omcc/omccd.sock", runtime);
  ck_assert_int_eq(root ? seteuid(65534) : 0, 0);
  daemon_pid = server_start(socket_path, leave_at_once);
  ck_assert_int_eq(root ? seteuid(0) : 0, 0);
  rc = omcc_connect(&options, &c, &err);
  if (root) {
    ck_assert_int_lt(rc, 0);
    ck_assert_msg(strstr(err.msg, "user 65534 listens") != NULL, "%s", err.msg);
    ck_assert_ptr_nonnull(strstr(err.fix, "OMCC_SOCKET"));
    waitpid(daemon_pid, NULL, 0); /* it was not greeted */
    ck_assert_int_eq(unlink(socket_path), 0);
    daemon_pid = server_start(socket_path, leave_at_once);
    options.socket = socket_path;
    rc = omcc_connect(&options, &c, &err);
  }
  ck_assert_int_eq(rc, 0);
  omcc_close(c);
  ck_assert_int_eq(waitpid(daemon_pid, NULL, 0), daemon_pid);
}
END_TEST

TCase *session_cases(void)
{
  TCase *t = tcase_create("session");

  tcase_set_timeout(t, 30);
  tcase_add_checked_fixture(t, enter, leave);
  tcase_add_test(t, whole);
  tcase_add_test(t, submits_again);
  tcase_add_test(t, submits_again_once);
  tcase_add_test(t, refused);
  tcase_add_test(t, question);
  tcase_add_test(t, early);
  tcase_add_test(t, early_and_refused);
  tcase_add_test(t, early_and_nobody_there);
  tcase_add_test(t, early_and_silent);
  tcase_add_test(t, member_without_file);
  tcase_add_test(t, a_strangers_socket);
  return t;
}
