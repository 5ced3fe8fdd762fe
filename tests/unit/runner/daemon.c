/* See daemon.h. */
#include "daemon.h"

#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"

static uint64_t now_ms(void)
{
  struct timespec t;

  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static const char *build_dir(void)
{
  const char *dir = getenv("OMCC_BINARY_DIR");

  ck_assert_msg(dir != NULL, "OMCC_BINARY_DIR is not set");
  return dir;
}

static void spawn(struct runner *r, int fds[2])
{
  char path[4096];

  snprintf(path, sizeof(path), "%s/bin/omcc-runner", build_dir());
  r->pid = fork();
  if (r->pid != 0)
    return;
  setpgid(0, 0);
  if (fds[1] != 3)
    dup2(fds[1], 3);
  close_range(4, ~0u, 0);
  execl(path, "omcc-runner", NULL);
  _exit(126);
}

static int text_fd(const char *text)
{
  int fd = memfd_create("input", MFD_CLOEXEC);

  ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
  return fd;
}

static void send_body(struct runner *r, const void *message, int *fds, size_t n)
{
  struct oc_buf out;
  struct oc_error err = { 0 };

  oc_buf_init(&out, OC_MAX_FRAME);
  ck_assert_int_eq(oc_message_pack(message, &out), 0);
  ck_assert_msg(oc_channel_send(r->channel, out.data, out.len, fds, n, true, &err) == 0,
                "%s", err.msg);
  ck_assert_int_eq(oc_channel_drain(r->channel, 5000, &err), 0);
  oc_buf_clear(&out);
}

/* "name=value" in two. */
static char *split(struct oc_arena *a, const char *pair, char **ret_value)
{
  char *name = oc_arena_strdup(a, pair), *equals = strchr(name, '=');

  *equals = '\0';
  *ret_value = equals + 1;
  return name;
}

static void fill_texts(Omcc__V1__Run *run, const struct order *o, struct oc_arena *a)
{
  run->flags = OC_NEW_N(a, Omcc__V1__Flag *, 16);
  run->env = OC_NEW_N(a, Omcc__V1__Argument *, 17);
  for (size_t i = 0; i < 16 && o->flags[i]; i++) {
    Omcc__V1__Flag *f = run->flags[run->n_flags++] = OC_NEW(a, Omcc__V1__Flag);
    omcc__v1__flag__init(f);
    f->name = split(a, o->flags[i], &f->value);
  }
  for (size_t i = 0; i < 16 && o->env[i]; i++) {
    Omcc__V1__Argument *e = run->env[run->n_env++] = OC_NEW(a, Omcc__V1__Argument);
    omcc__v1__argument__init(e);
    e->name = split(a, o->env[i], &e->value);
  }
  Omcc__V1__Argument *path = run->env[run->n_env++] = OC_NEW(a, Omcc__V1__Argument);
  omcc__v1__argument__init(path);
  path->name = (char *)"PATH";
  path->value = (char *)"/usr/bin:/bin";
}

static size_t fill_files(Omcc__V1__Run *run, const struct order *o, struct oc_arena *a,
                         int *fds)
{
  size_t n = 0;

  run->files = OC_NEW_N(a, Omcc__V1__File *, 8);
  run->external = OC_NEW_N(a, Omcc__V1__ExternalFile *, 4);
  for (size_t i = 0; i < 8 && o->files[i].flag; i++) {
    Omcc__V1__File *f = run->files[run->n_files++] = OC_NEW(a, Omcc__V1__File);
    omcc__v1__file__init(f);
    f->flag = (char *)o->files[i].flag;
    f->name = (char *)o->files[i].name;
    f->fd = (uint32_t)n;
    if (o->files[i].text)
      fds[n++] = text_fd(o->files[i].text);
    else
      f->fd = 99; /* a descriptor that does not come */
  }
  for (size_t i = 0; i < 4 && o->external[i].name; i++) {
    Omcc__V1__ExternalFile *f = run->external[run->n_external++] =
        OC_NEW(a, Omcc__V1__ExternalFile);
    omcc__v1__external_file__init(f);
    f->name = (char *)o->external[i].name;
    f->fd = (uint32_t)n;
    fds[n++] = text_fd(o->external[i].text);
  }
  return n;
}

void runner_start(struct runner *r, const struct order *o)
{
  Omcc__V1__ToRunner m = OMCC__V1__TO_RUNNER__INIT;
  Omcc__V1__Run run = OMCC__V1__RUN__INIT;
  char toolkit[4096];
  struct oc_arena arena;
  int pair[2], fds[16];

  memset(r, 0, sizeof(*r));
  oc_buf_init(&r->out, 64 << 20);
  oc_buf_init(&r->err, 64 << 20);
  snprintf(r->dir, sizeof(r->dir), "/tmp/omcc-run-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(r->dir));
  if (o->job_dir)
    ck_assert_int_eq(mkdir(o->job_dir, 0700), 0);
  ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  spawn(r, pair);
  close(pair[1]);
  r->channel = oc_channel_new(pair[0], 16 << 20);
  snprintf(toolkit, sizeof(toolkit), "%s/fake-atc", build_dir());
  oc_arena_init(&arena, 0);
  run.job = 7;
  run.toolkit = o->toolkit ? (char *)o->toolkit : toolkit;
  run.job_dir = o->job_dir ? (char *)o->job_dir : r->dir;
  run.memory_limit_bytes = o->memory_limit_bytes;
  run.time_limit_ms = o->time_limit_ms;
  run.more = o->more;
  fill_texts(&run, o, &arena);
  size_t n = fill_files(&run, o, &arena, fds);
  m.body_case = OMCC__V1__TO_RUNNER__BODY_RUN;
  m.run = &run;
  send_body(r, &m, fds, n);
  oc_arena_clear(&arena);
}

void runner_more(struct runner *r, const char *const *names, size_t n, bool last)
{
  Omcc__V1__ToRunner m = OMCC__V1__TO_RUNNER__INIT;
  Omcc__V1__MoreFiles more = OMCC__V1__MORE_FILES__INIT;
  Omcc__V1__ExternalFile files[16], *list[16];
  int fds[16];

  for (size_t i = 0; i < n; i++) {
    omcc__v1__external_file__init(&files[i]);
    files[i].name = (char *)names[i];
    files[i].fd = (uint32_t)i;
    list[i] = &files[i];
    fds[i] = text_fd(names[i]);
  }
  more.files = list;
  more.n_files = n;
  more.last = last;
  m.body_case = OMCC__V1__TO_RUNNER__BODY_MORE_FILES;
  m.more_files = &more;
  send_body(r, &m, fds, n);
}

void runner_stop(struct runner *r)
{
  Omcc__V1__ToRunner m = OMCC__V1__TO_RUNNER__INIT;
  Omcc__V1__Stop stop = OMCC__V1__STOP__INIT;

  m.body_case = OMCC__V1__TO_RUNNER__BODY_STOP;
  m.stop = &stop;
  send_body(r, &m, NULL, 0);
}

static void take_done(struct runner *r, const Omcc__V1__RunDone *d, struct oc_frame *f)
{
  r->done = !d->more;
  r->done_frames++;
  r->exit_status = d->exit_status;
  r->signal = d->signal;
  r->timed_out = d->timed_out;
  r->out_of_memory = d->out_of_memory;
  r->peak_rss_bytes = d->peak_rss_bytes;
  r->elapsed_ms = d->elapsed_ms;
  snprintf(r->error, sizeof(r->error), "%s", d->error);
  for (size_t i = 0; i < d->n_members; i++) {
    struct got_member *m = &r->members[r->n_members++];
    snprintf(m->name, sizeof(m->name), "%s", d->members[i]->name);
    snprintf(m->kind, sizeof(m->kind), "%s", d->members[i]->kind);
    m->mode = d->members[i]->mode;
    m->size = d->members[i]->size;
    m->fd = oc_frame_take_fd(f, d->members[i]->fd);
  }
}

static void take_frame(struct runner *r, struct oc_frame *f)
{
  struct oc_arena arena;
  ProtobufCMessage *base = NULL;

  oc_arena_init(&arena, oc_message_cap(f->len));
  ck_assert_int_eq(oc_message_unpack(&omcc__v1__from_runner__descriptor, f->body, f->len,
                                     &arena, &base, NULL),
                   0);
  const Omcc__V1__FromRunner *m = (const Omcc__V1__FromRunner *)base;
  if (m->body_case == OMCC__V1__FROM_RUNNER__BODY_OUTPUT)
    oc_buf_append(m->output->is_stderr ? &r->err : &r->out, m->output->data.data,
                  m->output->data.len);
  else if (m->body_case == OMCC__V1__FROM_RUNNER__BODY_PROGRESS)
    r->progress++;
  else if (m->body_case == OMCC__V1__FROM_RUNNER__BODY_DONE)
    take_done(r, m->done, f);
  oc_frame_close_fds(f);
  oc_arena_clear(&arena);
}

void runner_wait(struct runner *r, int timeout_ms)
{
  uint64_t until = now_ms() + (uint64_t)timeout_ms;

  while (!r->done && !r->closed && now_ms() < until) {
    struct oc_frame f;
    int rc = oc_channel_wait(r->channel, (int)(until - now_ms()), &f, NULL);
    if (rc == 1)
      take_frame(r, &f);
    else if (rc == OC_E_CLOSED)
      r->closed = true;
    else if (rc < 0 && rc != OC_E_BUSY)
      ck_abort_msg("the runner's socket broke: %s", oc_code_name(rc));
  }
}

int runner_exit(struct runner *r, int timeout_ms)
{
  uint64_t until = now_ms() + (uint64_t)timeout_ms;
  int status = 0;

  while (now_ms() < until) {
    pid_t got = waitpid(r->pid, &status, WNOHANG);
    if (got == r->pid) {
      r->pid = 0;
      return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    }
    usleep(5000);
  }
  return 1000;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
  (void)st;
  (void)flag;
  (void)ftw;
  return remove(path);
}

void runner_clear(struct runner *r)
{
  if (r->pid > 0) {
    kill(r->pid, SIGKILL);
    waitpid(r->pid, NULL, 0);
  }
  for (size_t i = 0; i < r->n_members; i++)
    oc_close_fd(&r->members[i].fd);
  oc_channel_free(r->channel);
  oc_buf_clear(&r->out);
  oc_buf_clear(&r->err);
  nftw(r->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

size_t processes_of(const struct runner *r)
{
  auto_closedir DIR *d = opendir("/proc");
  char want[300];
  size_t n = 0;

  snprintf(want, sizeof(want), "HOME=%s/home", r->dir);
  for (struct dirent *e = readdir(d); e; e = readdir(d)) {
    char path[300];
    size_t len = 0;
    snprintf(path, sizeof(path), "/proc/%s/environ", e->d_name);
    auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (e->d_name[0] < '1' || e->d_name[0] > '9' || fd < 0)
      continue;
    auto_free char *text = read_fd(fd, &len);
    for (size_t at = 0; text && at < len; at += strlen(text + at) + 1)
      n += strcmp(text + at, want) == 0;
  }
  return n;
}

bool processes_gone(const struct runner *r, int timeout_ms)
{
  uint64_t until = now_ms() + (uint64_t)timeout_ms;

  while (processes_of(r)) {
    if (now_ms() >= until)
      return false;
    usleep(10000);
  }
  return true;
}

char *read_fd(int fd, size_t *ret_len)
{
  size_t room = 1 << 16, len = 0;
  char *text = malloc(room + 1);
  ssize_t n;

  while ((n = read(fd, text + len, room - len)) > 0) {
    len += (size_t)n;
    if (len == room)
      text = realloc(text, (room *= 2) + 1);
  }
  text[len] = '\0';
  *ret_len = len;
  return text;
}
