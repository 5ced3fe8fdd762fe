/* The zygote: parses the op tables once, then forks children that inherit them.
 *
 * It is single-threaded, so fork is safe, and it never reads a user's bytes. Each child
 * gets one end of a socket pair; the other end goes to the daemon in a Child frame, which
 * from then on speaks to the child alone. The zygote ends when the daemon's end closes,
 * and every child ends with the zygote (sandbox.c). */
#include "worker/worker.h"
#include "worker/worker_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "optable/optable.h"

/* Frames that the daemon does not read for a while: child announcements, each small. */
#define OC_ZYGOTE_WRITE_CAP (1u << 20)

struct zygote {
  struct oc_channel *channel;
  struct oc_optable *tables;
  uint32_t memory_mb;
  int signal_fd;
  bool ready;
};

/* Takes the descriptors over, also when it fails. */
static int send_message(struct zygote *z, Omcc__V1__FromWorker *m, const int *fds,
                        size_t n_fds, struct oc_error *err)
{
  struct oc_buf out;

  oc_buf_init(&out, OC_MAX_FRAME);
  int r = oc_message_pack(m, &out);
  if (r == 0)
    r = oc_channel_send(z->channel, out.data, out.len, fds, n_fds, true, err);
  else
    for (size_t i = 0; i < n_fds; i++)
      close(fds[i]);
  oc_buf_clear(&out);
  return r;
}

/* The daemon's names say what a file is: "extra/FILE" is a user's own table,
 * "toolkit/SOC/FILE" and "custom/VENDOR/SOC/FILE" are an installed toolkit's. */
static int add_table(struct zygote *z, const char *name, const char *text, size_t len,
                     struct oc_error *err)
{
  char soc[64];

  if (oc_starts_with(name, "extra/"))
    return oc_optable_add_extra(z->tables, name, text, len, err);
  if (!oc_ends_with(name, ".json"))
    return oc_optable_add(z->tables, name, text, len, err);
  const char *file = strrchr(name, '/');
  const char *start = file;
  while (start && start > name && start[-1] != '/')
    start--;
  snprintf(soc, sizeof soc, "%.*s", file ? (int)(file - start) : 0, file ? start : "");
  return oc_optable_add_ops_info(z->tables, soc, name, text, len, err);
}

/* Table files come as descriptors, so that the bytes that are used are the bytes that the
 * daemon hashed. A mapping would change with the file; a copy does not. */
static int read_table(struct zygote *z, int fd, const char *name, struct oc_error *err)
{
  struct stat st;

  if (fstat(fd, &st) < 0)
    return oc_error_errno(err, OC_E_IO, "cannot examine table '%s'", name);
  if (!S_ISREG(st.st_mode) || st.st_size > (off_t)OC_MAX_LIST_BYTES)
    return oc_error_set(err, OC_E_FORMAT, "table '%s' is not a regular file of sane size",
                        name);
  size_t len = (size_t)st.st_size;
  auto_free char *text = malloc(len + 1);
  if (!text)
    return oc_error_set(err, OC_E_NOMEM, "no memory for table '%s'", name);
  for (size_t got = 0; got < len;) {
    ssize_t n = pread(fd, text + got, len - got, (off_t)got);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return oc_error_errno(err, OC_E_IO, "cannot read table '%s'", name);
    got += (size_t)n;
  }
  text[len] = '\0';
  return add_table(z, name, text, len, err);
}

static Omcc__V1__Soc *describe_soc(const struct oc_soc *soc, struct oc_arena *arena)
{
  Omcc__V1__Soc *m = OC_NEW(arena, Omcc__V1__Soc);

  if (!m)
    return NULL;
  omcc__v1__soc__init(m);
  m->name = (char *)soc->name;
  m->family = (char *)soc->family;
  m->product = (char *)soc->product;
  m->product_zh = (char *)soc->product_zh;
  m->table = (char *)soc->table_id;
  m->listed = soc->listed;
  m->bf16 = soc->bf16;
  return m;
}

/* What the daemon answers who asks which targets there are. */
static int describe_socs(Omcc__V1__Ready *ready, const struct oc_soc *const *socs,
                         size_t n, struct oc_arena *arena)
{
  ready->targets = OC_NEW_N(arena, Omcc__V1__Soc *, n);
  ready->socs = OC_NEW_N(arena, char *, n);
  for (size_t i = 0; ready->targets && ready->socs && i < n; i++) {
    ready->targets[i] = describe_soc(socs[i], arena);
    ready->socs[i] = (char *)socs[i]->name;
  }
  ready->n_targets = ready->n_socs = n;
  return arena->failed ? OC_E_NOMEM : 0;
}

static int tell_ready(struct zygote *z, const char *failure, struct oc_error *err)
{
  Omcc__V1__Ready ready = OMCC__V1__READY__INIT;
  Omcc__V1__FromWorker m = OMCC__V1__FROM_WORKER__INIT;
  struct oc_arena arena;

  ready.error = (char *)(failure ? failure : "");
  size_t n_socs = 0;
  const struct oc_soc *const *socs = failure ? NULL : oc_optable_socs(z->tables, &n_socs);
  oc_arena_init(&arena, OC_MAX_FRAME);
  m.body_case = OMCC__V1__FROM_WORKER__BODY_READY;
  m.ready = &ready;
  int r = describe_socs(&ready, socs, n_socs, &arena);
  r = r < 0 ? oc_error_set(err, r, "no memory for the list of targets")
            : send_message(z, &m, NULL, 0, err);
  oc_arena_clear(&arena);
  return r;
}

static int on_setup(struct zygote *z, const Omcc__V1__Setup *setup,
                    struct oc_frame *frame, struct oc_error *err)
{
  int r = 0;

  z->memory_mb = setup->memory_mb;
  for (size_t i = 0; i < setup->n_files && r == 0; i++) {
    auto_close int fd = oc_frame_take_fd(frame, setup->files[i]->fd);
    if (fd < 0)
      r = oc_error_set(err, OC_E_PROTO, "table '%s' came without a descriptor",
                       setup->files[i]->name);
    else
      r = read_table(z, fd, setup->files[i]->name, err);
  }
  if (r == 0 && setup->last)
    r = oc_optable_finish(z->tables, err);
  if (r < 0) {
    struct oc_error ignored = { 0 };
    tell_ready(z, err->msg, &ignored);
    return r;
  }
  if (!setup->last)
    return 0;
  z->ready = true;
  return tell_ready(z, NULL, err);
}

/* Never returns: the child serves its job and exits. */
_Noreturn static void be_child(struct zygote *z, int fd, int zygote_pid)
{
  struct oc_error err = { 0 };
  sigset_t none;

  close(z->signal_fd);
  oc_channel_free(z->channel);
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  if (oc_sandbox_enter(fd, zygote_pid, z->memory_mb, &err) < 0 ||
      oc_sandbox_catch_sigbus(fd, &err) < 0) {
    dprintf(STDERR_FILENO, "omcc-worker: %s\n", err.msg);
    _exit(1);
  }
  _exit(oc_child_run(fd, z->tables));
}

/* What a child shares with the daemon: its socket, and a pipe that takes its last words.
 * Index 0 is the daemon's end, 1 the child's. */
struct child_ends {
  int socket[2];
  int words[2];
};

static int make_ends(struct child_ends *e, struct oc_error *err)
{
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, e->socket) < 0)
    return oc_error_errno(err, OC_E_IO, "cannot make a socket for a child");
  if (pipe2(e->words, O_CLOEXEC) == 0)
    return 0;
  oc_error_errno(err, OC_E_IO, "cannot make a pipe for a child");
  close(e->socket[0]);
  close(e->socket[1]);
  return OC_E_IO;
}

static int fork_one(struct zygote *z, struct oc_error *err)
{
  struct child_ends ends;
  int self = getpid();

  int r = make_ends(&ends, err);
  if (r < 0)
    return r;
  pid_t pid = fork();
  if (pid == 0) {
    dup2(ends.words[1], STDERR_FILENO);
    be_child(z, ends.socket[1], self);
  }
  close(ends.socket[1]);
  close(ends.words[1]);
  int mine[] = { ends.socket[0], ends.words[0] };
  if (pid < 0) {
    close(mine[0]);
    close(mine[1]);
    return oc_error_errno(err, OC_E_IO, "cannot fork a child");
  }
  Omcc__V1__Child child = OMCC__V1__CHILD__INIT;
  Omcc__V1__FromWorker m = OMCC__V1__FROM_WORKER__INIT;
  child.pid = (uint32_t)pid;
  m.body_case = OMCC__V1__FROM_WORKER__BODY_CHILD;
  m.child = &child;
  return send_message(z, &m, mine, OC_COUNT(mine), err);
}

static int reap(struct zygote *z, struct oc_error *err)
{
  struct signalfd_siginfo info;
  struct rusage usage;
  int status;
  pid_t pid;

  /* Signals of one kind coalesce, so the count of reads says nothing: wait4 tells. */
  while (read(z->signal_fd, &info, sizeof info) == (ssize_t)sizeof info)
    continue;
  while ((pid = wait4(-1, &status, WNOHANG, &usage)) > 0) {
    Omcc__V1__ChildGone gone = OMCC__V1__CHILD_GONE__INIT;
    Omcc__V1__FromWorker m = OMCC__V1__FROM_WORKER__INIT;
    gone.pid = (uint32_t)pid;
    gone.wait_status = (uint32_t)status;
    gone.max_rss_bytes = (uint64_t)usage.ru_maxrss * 1024u;
    m.body_case = OMCC__V1__FROM_WORKER__BODY_CHILD_GONE;
    m.child_gone = &gone;
    int r = send_message(z, &m, NULL, 0, err);
    if (r < 0)
      return r;
  }
  return 0;
}

static int on_frame(struct zygote *z, struct oc_frame *frame, struct oc_error *err)
{
  struct oc_arena arena;
  ProtobufCMessage *base = NULL;

  oc_arena_init(&arena, oc_message_cap(frame->len));
  int r = oc_message_unpack(&omcc__v1__to_worker__descriptor, frame->body, frame->len,
                            &arena, &base, err);
  const Omcc__V1__ToWorker *m = (const Omcc__V1__ToWorker *)base;
  if (r == 0 && m->body_case == OMCC__V1__TO_WORKER__BODY_SETUP && !z->ready)
    r = on_setup(z, m->setup, frame, err);
  else if (r == 0 && m->body_case == OMCC__V1__TO_WORKER__BODY_FORK && z->ready)
    for (uint32_t i = 0; i < m->fork->n && r == 0; i++)
      r = fork_one(z, err);
  else if (r == 0)
    r = oc_error_set(err, OC_E_PROTO, "the zygote was sent a message that is not for it");
  oc_frame_close_fds(frame);
  oc_arena_clear(&arena);
  return r;
}

/* OC_E_CLOSED when the daemon has gone, which is the ordinary end. */
static int serve(struct zygote *z, struct oc_error *err)
{
  for (;;) {
    struct oc_frame frame;
    struct pollfd fds[2] = {
      { .fd = oc_channel_fd(z->channel), .events = POLLIN },
      { .fd = z->signal_fd, .events = POLLIN },
    };
    if (oc_channel_wants_write(z->channel))
      fds[0].events |= POLLOUT;
    if (poll(fds, 2, -1) < 0 && errno != EINTR)
      return oc_error_errno(err, OC_E_IO, "cannot wait for the daemon");
    int r = fds[1].revents ? reap(z, err) : 0;
    if (r == 0 && (fds[0].revents & POLLOUT))
      r = oc_channel_flush(z->channel, err);
    if (r >= 0 && (fds[0].revents & (POLLIN | POLLHUP | POLLERR)))
      r = oc_channel_read(z->channel, err);
    int read_result = r;
    while (r >= 0 && (r = oc_channel_next(z->channel, &frame, err)) == 1)
      r = on_frame(z, &frame, err);
    if (read_result < 0)
      r = read_result;
    if (r < 0)
      return r;
  }
}

int oc_worker_serve(int fd)
{
  struct zygote z = { .signal_fd = -1 };
  struct oc_error err = { 0 };
  sigset_t chld;
  int r;

  sigemptyset(&chld);
  sigaddset(&chld, SIGCHLD);
  sigprocmask(SIG_BLOCK, &chld, NULL);
  signal(SIGPIPE, SIG_IGN);
  z.signal_fd = signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK);
  z.channel = oc_channel_new(fd, OC_ZYGOTE_WRITE_CAP);
  z.tables = oc_optable_new();
  if (z.signal_fd < 0 || !z.channel || !z.tables)
    r = oc_error_errno(&err, OC_E_NOMEM, "cannot set the zygote up");
  else
    r = serve(&z, &err);
  if (r < 0 && r != OC_E_CLOSED)
    dprintf(STDERR_FILENO, "omcc-worker: %s\n", err.msg);
  oc_channel_free(z.channel);
  oc_optable_free(z.tables);
  if (z.signal_fd >= 0)
    close(z.signal_fd);
  return r == OC_E_CLOSED ? 0 : 1;
}
