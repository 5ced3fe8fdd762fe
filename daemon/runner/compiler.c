/* The compiler's processes: starting them, and making sure that none is left.
 *
 * `atc` is a shell wrapper that starts the compiler without exec, which starts Python
 * workers; a signal to the wrapper alone would leave all of them running. So the wrapper
 * leads a process group, we are the reaper of whatever loses its parent, and a guard
 * process (outside of the group, holding nothing but a pipe) kills the group when we are
 * killed ourselves. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "runner/runner_internal.h"

/* Rounds of looking for strays; each kill gives the next round at most their children. */
#define SWEEP_ROUNDS 50
#define SWEEP_NAP_US 2000

struct pipes {
  int out[2], err[2]; /* the compiler's output */
  int gate[2];        /* the compiler waits for the guard */
  int fail[2];        /* errno of a failed exec */
};

static void close_pair(int pair[2])
{
  oc_close_fd(&pair[0]);
  oc_close_fd(&pair[1]);
  pair[0] = pair[1] = -1;
}

static void close_pipes(struct pipes *p)
{
  close_pair(p->out);
  close_pair(p->err);
  close_pair(p->gate);
  close_pair(p->fail);
}

static int open_pipes(struct pipes *p, struct oc_error *err)
{
  memset(p, 0xff, sizeof(*p)); /* every descriptor -1 */
  if (pipe2(p->out, O_CLOEXEC) < 0 || pipe2(p->err, O_CLOEXEC) < 0 ||
      pipe2(p->gate, O_CLOEXEC) < 0 || pipe2(p->fail, O_CLOEXEC) < 0) {
    oc_error_errno(err, OC_E_IO, "cannot make the pipes of a run");
    close_pipes(p);
    return OC_E_IO;
  }
  return 0;
}

static void default_signals(void)
{
  sigset_t none;

  signal(SIGPIPE, SIG_DFL);
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
}

/* In the child: never returns. */
static void become_compiler(const struct job *j, struct pipes *p, pid_t parent)
{
  char byte;
  int null = open("/dev/null", O_RDONLY | O_CLOEXEC), failed;

  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  close(p->gate[1]);
  if (getppid() != parent || read(p->gate[0], &byte, 1) != 1)
    _exit(127);
  default_signals();
  if (null >= 0 && dup2(null, 0) >= 0 && dup2(p->out[1], 1) >= 0 &&
      dup2(p->err[1], 2) >= 0 && fchdir(j->work_fd) == 0) {
    close_range(3, ~0u, CLOSE_RANGE_CLOEXEC);
    execve(j->atc, (char *const *)j->argv, (char *const *)j->env);
  }
  failed = errno;
  if (write(p->fail[1], &failed, sizeof(failed)) < 0)
    _exit(126);
  _exit(127);
}

/* In the guard: waits for the end of its pipe. One byte means that all went well. */
static void become_guard(int pipe_fd, pid_t group)
{
  char byte;
  ssize_t n;

  setpgid(0, 0);
  signal(SIGTERM, SIG_IGN);
  signal(SIGINT, SIG_IGN);
  signal(SIGHUP, SIG_IGN);
  if (dup2(pipe_fd, 0) < 0)
    _exit(1);
  close_range(1, ~0u, 0);
  do
    n = read(0, &byte, 1);
  while (n < 0 && errno == EINTR);
  if (n == 0)
    kill(-group, SIGKILL);
  _exit(0);
}

static int start_guard(struct compiler *c, struct oc_error *err)
{
  int pair[2];

  if (pipe2(pair, O_CLOEXEC) < 0)
    return oc_error_errno(err, OC_E_IO, "cannot make the pipe of a guard");
  c->guard = fork();
  if (c->guard == 0) {
    close(pair[1]);
    become_guard(pair[0], c->pid);
  }
  close(pair[0]);
  c->guard_fd = pair[1];
  if (c->guard < 0) {
    c->guard = 0;
    return oc_error_errno(err, OC_E_IO, "cannot start the guard of a run");
  }
  return 0;
}

/* Waits until exec has happened (the pipe closes) or failed. */
static int exec_result(struct compiler *c, const struct job *j, struct pipes *p,
                       struct oc_error *err)
{
  int failed = 0;
  ssize_t n;

  oc_close_fd(&p->fail[1]);
  p->fail[1] = -1;
  do
    n = read(p->fail[0], &failed, sizeof(failed));
  while (n < 0 && errno == EINTR);
  if (n != (ssize_t)sizeof(failed))
    return 0;
  waitpid(c->pid, NULL, 0);
  c->ended = true;
  return oc_error_set(err, OC_E_IO, "cannot run '%s': %s", j->atc, strerror(failed));
}

static int start(struct compiler *c, const struct job *j, struct pipes *p,
                 struct oc_error *err)
{
  pid_t self = getpid();

  prctl(PR_SET_CHILD_SUBREAPER, 1);
  c->pid = fork();
  if (c->pid == 0)
    become_compiler(j, p, self);
  if (c->pid < 0) {
    c->pid = 0;
    return oc_error_errno(err, OC_E_IO, "cannot start a process");
  }
  setpgid(c->pid, c->pid); /* in both, so that neither order matters */
  int rc = start_guard(c, err);
  if (rc < 0)
    return rc;
  if (write(p->gate[1], "g", 1) != 1)
    return oc_error_errno(err, OC_E_IO, "cannot start the compiler");
  rc = exec_result(c, j, p, err);
  if (rc < 0)
    return rc;
  c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
  if (c->pidfd < 0)
    return oc_error_errno(err, OC_E_IO, "cannot watch the compiler");
  return 0;
}

int compiler_start(struct compiler *c, const struct job *j, struct oc_error *err)
{
  struct pipes p;
  int rc = open_pipes(&p, err);

  memset(c, 0, sizeof(*c));
  c->pidfd = c->out_fd = c->err_fd = c->guard_fd = -1;
  if (rc < 0)
    return rc;
  rc = start(c, j, &p, err);
  if (rc == 0) {
    c->out_fd = OC_STEAL_FD(p.out[0]);
    c->err_fd = OC_STEAL_FD(p.err[0]);
    fcntl(c->out_fd, F_SETFL, O_NONBLOCK);
    fcntl(c->err_fd, F_SETFL, O_NONBLOCK);
  }
  close_pipes(&p);
  return rc;
}

void compiler_signal(const struct compiler *c, int sig)
{
  if (c->pid > 0)
    kill(-c->pid, sig);
}

void compiler_reap(struct compiler *c)
{
  struct rusage usage;

  if (c->ended || c->pid <= 0 ||
      wait4(c->pid, &c->wait_status, WNOHANG, &usage) != c->pid)
    return;
  c->ended = true;
  c->max_rss_bytes = (uint64_t)usage.ru_maxrss * 1024;
}

/* Processes whose parent we have become, or that are still in the group. */
static size_t kill_strays(const struct compiler *c)
{
  auto_closedir DIR *d = opendir("/proc");
  size_t n = 0;

  for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
    char path[300], text[512];
    long pid = strtol(e->d_name, NULL, 10);
    int parent = 0, group = 0;
    if (pid <= 1 || pid == c->guard)
      continue;
    snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
    auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (len <= 0)
      continue;
    text[len] = '\0';
    const char *rest = strrchr(text, ')'); /* the name may hold anything */
    if (!rest || sscanf(rest, ") %*c %d %d", &parent, &group) != 2)
      continue;
    if (parent != getpid() && group != c->pid)
      continue;
    if (rest[2] != 'Z')
      kill((pid_t)pid, SIGKILL);
    n++;
  }
  return n;
}

void compiler_sweep(struct compiler *c)
{
  if (c->pid <= 0)
    return;
  for (int round = 0; round < SWEEP_ROUNDS; round++) {
    compiler_signal(c, SIGKILL);
    compiler_reap(c);
    size_t left = kill_strays(c);
    /* Not the guard, and the wrapper only by compiler_reap(), which wants its status. */
    for (pid_t pid = 1; c->ended && pid > 0;) {
      pid = waitpid(-1, NULL, WNOHANG);
      if (pid == c->guard)
        c->guard = 0;
    }
    if (left == 0 && c->ended)
      break;
    usleep(SWEEP_NAP_US);
  }
  struct rusage usage;
  if (getrusage(RUSAGE_CHILDREN, &usage) == 0 &&
      (uint64_t)usage.ru_maxrss * 1024 > c->max_rss_bytes)
    c->max_rss_bytes = (uint64_t)usage.ru_maxrss * 1024;
}

void compiler_close(struct compiler *c)
{
  compiler_sweep(c);
  if (c->guard_fd >= 0 && write(c->guard_fd, "q", 1) < 0) {
    /* The guard has gone: nothing is left to guard. */
  }
  oc_close_fd(&c->guard_fd);
  if (c->guard > 0)
    waitpid(c->guard, NULL, 0);
  oc_close_fd(&c->pidfd);
  oc_close_fd(&c->out_fd);
  oc_close_fd(&c->err_fd);
  c->pidfd = c->out_fd = c->err_fd = c->guard_fd = -1;
  c->guard = 0;
}
