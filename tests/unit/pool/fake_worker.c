/* A worker and a runner without a compiler: speaks both protocols, follows a script. */
#include "fake_worker.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "frame/frame.h"
#include "messages/messages.h"

static void send_to(struct oc_channel *c, void *message, const int *fds, size_t n)
{
  struct oc_buf out;

  oc_buf_init(&out, OC_MAX_FRAME);
  if (oc_message_pack(message, &out) ||
      oc_channel_send(c, out.data, out.len, fds, n, false, NULL) ||
      oc_channel_drain(c, -1, NULL))
    _exit(1);
  oc_buf_clear(&out);
}

static ProtobufCMessage *receive(struct oc_channel *c,
                                 const ProtobufCMessageDescriptor *type,
                                 struct oc_frame *f, struct oc_arena *a)
{
  ProtobufCMessage *m;

  if (oc_channel_wait(c, -1, f, NULL) < 0)
    _exit(0); /* nobody wants us any more */
  oc_arena_init(a, oc_message_cap(f->len));
  if (oc_message_unpack(type, f->body, f->len, a, &m, NULL))
    _exit(1);
  return m;
}

static int memfd_of(const char *text, size_t len)
{
  int fd = memfd_create("fake", MFD_CLOEXEC);

  if (fd < 0 || write(fd, text, len) != (ssize_t)len)
    _exit(1);
  return fd;
}

/* ---------------------------------------------------------------- a child */

static void say_finding(struct oc_channel *c, const char *id)
{
  Omcc__V1__FromWorker m = OMCC__V1__FROM_WORKER__INIT;
  Omcc__V1__Unplanned u = OMCC__V1__UNPLANNED__INIT;
  Omcc__V1__Finding f = OMCC__V1__FINDING__INIT, *list[] = { &f };

  f.id = (char *)id;
  f.severity = 2;
  u.findings = list;
  u.n_findings = 1;
  u.status = 2;
  u.message = (char *)"the script says so";
  m.body_case = OMCC__V1__FROM_WORKER__BODY_UNPLANNED;
  m.unplanned = &u;
  send_to(c, &m, NULL, 0);
}

static void say_inputs(struct oc_channel *c, const struct script *s)
{
  Omcc__V1__FromWorker m = OMCC__V1__FROM_WORKER__INIT;
  Omcc__V1__Inputs inputs = OMCC__V1__INPUTS__INIT;
  char *names[64];
  const char *name;

  while ((name = script_value(s, "needs", (int)inputs.n_names)) && inputs.n_names < 64)
    names[inputs.n_names++] = strdup(name);
  inputs.names = names;
  inputs.wait = inputs.n_names > 0;
  m.body_case = OMCC__V1__FROM_WORKER__BODY_INPUTS;
  m.inputs = &inputs;
  send_to(c, &m, NULL, 0);
  for (bool last = !inputs.wait; !last;) {
    struct oc_arena a;
    struct oc_frame f;
    Omcc__V1__ToWorker *to =
        (Omcc__V1__ToWorker *)receive(c, &omcc__v1__to_worker__descriptor, &f, &a);

    if (to->body_case != OMCC__V1__TO_WORKER__BODY_MORE_FILES ||
        to->more_files->n_files != f.n_fds)
      _exit(0);
    last = to->more_files->last;
    oc_frame_close_fds(&f);
    oc_arena_clear(&a);
  }
}

static void say_planned(struct oc_channel *c, const struct script *s)
{
  Omcc__V1__FromWorker m = OMCC__V1__FROM_WORKER__INIT;
  Omcc__V1__Planned p = OMCC__V1__PLANNED__INIT;
  int report = memfd_of("report", 6);
  const char *key = script_value(s, "plankey", 0);
  uint8_t bytes[32];

  if (key) {
    memset(bytes, key[0], sizeof(bytes));
    p.plan_key.data = bytes;
    p.plan_key.len = sizeof(bytes);
  }
  p.ok = !script_has(s, "notok");
  m.body_case = OMCC__V1__FROM_WORKER__BODY_PLANNED;
  m.planned = &p;
  send_to(c, &m, &report, 1);
  close(report);
}

static void say_failed(struct oc_channel *c, const char *code)
{
  Omcc__V1__FromWorker m = OMCC__V1__FROM_WORKER__INIT;
  Omcc__V1__Failed f = OMCC__V1__FAILED__INIT;

  f.code = (char *)code;
  f.message = (char *)"the script says so";
  m.body_case = OMCC__V1__FROM_WORKER__BODY_FAILED;
  m.failed = &f;
  send_to(c, &m, NULL, 0);
}

static void build(struct oc_channel *c, const struct script *s, int out)
{
  Omcc__V1__FromWorker m = OMCC__V1__FROM_WORKER__INIT;
  Omcc__V1__Built b = OMCC__V1__BUILT__INIT;
  const char *text = script_value(s, "artifact", 0);
  char bytes[1100];
  int n = snprintf(bytes, sizeof(bytes), "IMOD%s", text ? text : "");

  if (pwrite(out, bytes, (size_t)n, 0) != n)
    _exit(1);
  close(out);
  b.size = (uint64_t)n + script_has(s, "wrongsize");
  b.max_rss_bytes = 4096;
  m.body_case = OMCC__V1__FROM_WORKER__BODY_BUILT;
  m.built = &b;
  send_to(c, &m, NULL, 0);
}

static void finish(struct oc_channel *c, const struct script *s)
{
  struct oc_arena a;
  struct oc_frame f;
  Omcc__V1__ToWorker *to =
      (Omcc__V1__ToWorker *)receive(c, &omcc__v1__to_worker__descriptor, &f, &a);
  const char *code;

  if (to->body_case != OMCC__V1__TO_WORKER__BODY_BUILD)
    _exit(0);
  script_place(s, "build");
  code = script_value(s, "fail", 0);
  if (code)
    say_failed(c, code);
  else
    build(c, s, oc_frame_take_fd(&f, to->build->output_fd));
}

_Noreturn static void be_child(int fd)
{
  struct oc_channel *c = oc_channel_new(fd, 1 << 20);
  Omcc__V1__FromWorker m = OMCC__V1__FROM_WORKER__INIT;
  Omcc__V1__Hello hello = OMCC__V1__HELLO__INIT;
  Omcc__V1__ToWorker *to;
  struct script s;
  struct oc_arena a;
  struct oc_frame f;
  const char *text;

  m.body_case = OMCC__V1__FROM_WORKER__BODY_HELLO;
  m.hello = &hello;
  send_to(c, &m, NULL, 0);
  to = (Omcc__V1__ToWorker *)receive(c, &omcc__v1__to_worker__descriptor, &f, &a);
  if (to->body_case != OMCC__V1__TO_WORKER__BODY_PLAN || !to->plan->n_files)
    _exit(0);
  script_read(&s, f.fds[0]);
  text = script_value(&s, "stderr", 0);
  if (text)
    dprintf(2, "%s\n", text);
  say_inputs(c, &s);
  script_place(&s, "plan");
  text = script_value(&s, "unplanned", 0);
  if (text) {
    say_finding(c, text);
  } else {
    say_planned(c, &s);
    finish(c, &s);
  }
  _exit(0);
}

/* ---------------------------------------------------------------- the zygote */

static void fork_one(struct oc_channel *c)
{
  Omcc__V1__FromWorker m = OMCC__V1__FROM_WORKER__INIT;
  Omcc__V1__Child child = OMCC__V1__CHILD__INIT;
  int pair[2], parent = getpid();

  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
    _exit(1);
  child.pid = (uint32_t)fork();
  if (!child.pid) {
    close(pair[0]);
    close(oc_channel_fd(c));
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
      _exit(0);
    be_child(pair[1]);
  }
  close(pair[1]);
  m.body_case = OMCC__V1__FROM_WORKER__BODY_CHILD;
  m.child = &child;
  send_to(c, &m, &pair[0], 1);
  close(pair[0]);
}

static void reap(struct oc_channel *c)
{
  int status, pid;

  while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
    Omcc__V1__FromWorker m = OMCC__V1__FROM_WORKER__INIT;
    Omcc__V1__ChildGone gone = OMCC__V1__CHILD_GONE__INIT;

    gone.pid = (uint32_t)pid;
    gone.wait_status = (uint32_t)status;
    m.body_case = OMCC__V1__FROM_WORKER__BODY_CHILD_GONE;
    m.child_gone = &gone;
    send_to(c, &m, NULL, 0);
  }
}

static void on_setup(struct oc_channel *c, const Omcc__V1__Setup *setup)
{
  Omcc__V1__FromWorker m = OMCC__V1__FROM_WORKER__INIT;
  Omcc__V1__Ready ready = OMCC__V1__READY__INIT;

  for (size_t i = 0; i < setup->n_files; i++) {
    if (!strcmp(setup->files[i]->name, "soc/broken.yaml"))
      ready.error = (char *)"table 'soc/broken.yaml' is broken";
    if (!strcmp(setup->files[i]->name, "soc/dies.yaml"))
      abort();
  }
  if (!setup->last)
    return;
  m.body_case = OMCC__V1__FROM_WORKER__BODY_READY;
  m.ready = &ready;
  send_to(c, &m, NULL, 0);
}

static void be_zygote(void)
{
  struct oc_channel *c = oc_channel_new(3, 1 << 20);

  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (;;) {
    struct oc_arena a;
    struct oc_frame f;
    Omcc__V1__ToWorker *m;
    int r = oc_channel_wait(c, 10, &f, NULL);

    reap(c);
    if (r == OC_E_BUSY)
      continue;
    if (r < 0)
      _exit(0);
    oc_arena_init(&a, oc_message_cap(f.len));
    if (oc_message_unpack(&omcc__v1__to_worker__descriptor, f.body, f.len, &a,
                          (ProtobufCMessage **)&m, NULL))
      _exit(1);
    if (m->body_case == OMCC__V1__TO_WORKER__BODY_SETUP)
      on_setup(c, m->setup);
    else if (m->body_case == OMCC__V1__TO_WORKER__BODY_FORK)
      for (uint32_t i = 0; i < m->fork->n; i++)
        fork_one(c);
    oc_frame_close_fds(&f);
    oc_arena_clear(&a);
  }
}

/* ---------------------------------------------------------------- the runner */

static void say_line(struct oc_channel *c, const char *text)
{
  Omcc__V1__FromRunner m = OMCC__V1__FROM_RUNNER__INIT;
  Omcc__V1__RunOutput out = OMCC__V1__RUN_OUTPUT__INIT;
  char line[1100];

  out.data.len = (size_t)snprintf(line, sizeof(line), "%s\n", text);
  out.data.data = (uint8_t *)line;
  m.body_case = OMCC__V1__FROM_RUNNER__BODY_OUTPUT;
  m.output = &out;
  send_to(c, &m, NULL, 0);
}

static void add_file(Omcc__V1__RunDone *done, Omcc__V1__Member *m, int *fd,
                     const char *kind, const char *name, const char *text)
{
  omcc__v1__member__init(m);
  m->kind = strdup(kind);
  m->name = strdup(name);
  m->mode = 0600;
  m->where_case = OMCC__V1__MEMBER__WHERE_FD;
  m->fd = (uint32_t)done->n_members;
  *fd = memfd_of(text, strlen(text));
  done->members[done->n_members++] = m;
}

static void run(struct oc_channel *c, const struct script *s)
{
  Omcc__V1__FromRunner m = OMCC__V1__FROM_RUNNER__INIT;
  Omcc__V1__RunDone done = OMCC__V1__RUN_DONE__INIT;
  Omcc__V1__Member member[8], *list[8];
  const char *text;
  int fds[8];

  for (int i = 0; (text = script_value(s, "say", i)); i++)
    say_line(c, text);
  script_place(s, "run");
  text = script_value(s, "status", 0);
  done.exit_status = text ? (int32_t)strtol(text, NULL, 10) : 0;
  done.members = list;
  text = script_value(s, "artifact", 0);
  if (text)
    add_file(&done, &member[0], &fds[0], "artifact", "model.om", text);
  text = script_value(s, "side", 0);
  if (text)
    add_file(&done, &member[1], &fds[1], "side", "side.json", text);
  done.elapsed_ms = 5;
  m.body_case = OMCC__V1__FROM_RUNNER__BODY_DONE;
  m.done = &done;
  send_to(c, &m, fds, done.n_members);
}

static void be_runner(void)
{
  struct oc_channel *c = oc_channel_new(3, 1 << 20);
  struct script s;
  struct oc_arena a;
  struct oc_frame f;
  Omcc__V1__ToRunner *m =
      (Omcc__V1__ToRunner *)receive(c, &omcc__v1__to_runner__descriptor, &f, &a);

  if (m->body_case != OMCC__V1__TO_RUNNER__BODY_RUN || access(m->run->job_dir, W_OK))
    _exit(1);
  script_read(&s, f.fds[0]);
  run(c, &s);
  _exit(0);
}

int main(int argc, char **argv)
{
  (void)argc;
  signal(SIGPIPE, SIG_IGN);
  if (!strcmp(argv[0], "omcc-runner"))
    be_runner();
  else
    be_zygote();
  return 0;
}
