/* Starting a program of ours and noticing its end.
 *
 * posix_spawn, since the daemon has threads. The program gets: /dev/null, stdout and
 * stderr on a pipe that the log reads, one socket on descriptor 3, a process group of its
 * own (an interrupt on the terminal is for the daemon, which drains), default signals,
 * next to no environment, and the descriptor limit that the daemon itself was started
 * with. Its end is seen on a pidfd: no SIGCHLD handler, no process id that could be
 * somebody else's. */
#include "pool/pool_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"

#define PROGRAM_FD 3

void death_of(int wait_status, struct oc_death *ret)
{
  ret->signal = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
  ret->exit_code = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -1;
}

/* Sanitizers take their settings from here; nothing else of ours is inherited. */
static void fill_environment(char **env, size_t room)
{
  size_t n = 0;

  env[n++] = (char *)"LC_ALL=C";
  env[n++] = (char *)"PATH=/usr/local/bin:/usr/bin:/bin";
  for (char **e = environ; e && *e && n + 1 < room; e++)
    if (oc_starts_with(*e, "ASAN_OPTIONS=") || oc_starts_with(*e, "UBSAN_OPTIONS=") ||
        oc_starts_with(*e, "LSAN_OPTIONS=") || oc_starts_with(*e, "TSAN_OPTIONS="))
      env[n++] = *e;
  env[n] = NULL;
}

static int set_actions(posix_spawn_file_actions_t *a, int sock, int err_fd)
{
  return posix_spawn_file_actions_addopen(a, 0, "/dev/null", O_RDONLY, 0) ||
         posix_spawn_file_actions_adddup2(a, err_fd, 1) ||
         posix_spawn_file_actions_adddup2(a, err_fd, 2) ||
         posix_spawn_file_actions_adddup2(a, sock, PROGRAM_FD);
}

static int set_attributes(posix_spawnattr_t *at)
{
  sigset_t none, all;

  sigemptyset(&none);
  sigfillset(&all);
  return posix_spawnattr_setflags(at, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                          POSIX_SPAWN_SETSIGDEF) ||
         posix_spawnattr_setpgroup(at, 0) || posix_spawnattr_setsigmask(at, &none) ||
         posix_spawnattr_setsigdefault(at, &all);
}

static int spawn(const struct process_spec *spec, int sock, int err_fd, pid_t *ret,
                 struct oc_error *err)
{
  char *argv[] = { (char *)spec->name, NULL };
  char *env[8];
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attr;
  int r = ENOMEM;

  fill_environment(env, OC_COUNT(env));
  if (posix_spawn_file_actions_init(&actions))
    return oc_error_set(err, OC_E_NOMEM, "no memory to start '%s'", spec->name);
  if (!posix_spawnattr_init(&attr)) {
    if (!set_actions(&actions, sock, err_fd) && !set_attributes(&attr))
      r = posix_spawn(ret, spec->path, &actions, &attr, argv, env);
    posix_spawnattr_destroy(&attr);
  }
  posix_spawn_file_actions_destroy(&actions);
  if (r)
    return oc_error_set(err, OC_E_IO, "cannot start '%s': %s", spec->name, strerror(r));
  return 0;
}

static void on_exit_seen(uv_poll_t *poll, int status, int events)
{
  struct process *p = poll->data;
  struct rusage usage;
  pid_t got;

  (void)status;
  (void)events;
  got = wait4(p->pid, &p->status, WNOHANG, &usage);
  if (!got || (got < 0 && errno == EINTR))
    return;
  if (got < 0)
    p->status = 0;
  else
    p->max_rss_bytes = (uint64_t)usage.ru_maxrss * 1024;
  p->running = false;
  uv_poll_stop(poll);
  p->exited(p->ctx);
}

static void one_closed(void *ctx)
{
  struct process *p = ctx;

  if (!--p->handles)
    p->closed(p->ctx);
}

static void on_pidfd_closed(uv_handle_t *handle)
{
  struct process *p = handle->data;

  close(p->pidfd);
  one_closed(p);
}

/* A program that cannot be watched is of no use: ended before it has begun. */
static void spawn_undo(struct process *p)
{
  kill(p->pid, SIGKILL);
  waitpid(p->pid, NULL, 0);
  p->running = false;
}

static int watch(struct process *p, const struct process_spec *spec, int *err_fd,
                 struct oc_error *err)
{
  p->pidfd = (int)syscall(SYS_pidfd_open, p->pid, 0);
  if (p->pidfd < 0)
    return oc_error_errno(err, OC_E_IO, "cannot watch '%s'", spec->name);
  if (uv_poll_init(spec->loop, &p->exit, p->pidfd) < 0) {
    close(p->pidfd);
    return oc_error_set(err, OC_E_IO, "cannot watch '%s'", spec->name);
  }
  p->exit.data = p;
  p->handles = 1;
  uv_poll_start(&p->exit, UV_READABLE, on_exit_seen);
  if (!tail_open(&p->err, spec->loop, OC_STEAL_FD(*err_fd), spec->log, spec->event,
                 (uint32_t)p->pid, one_closed, p))
    p->handles = 2;
  return 0;
}

int process_spawn(struct process *p, const struct process_spec *spec, int *ret_fd,
                  struct oc_error *err)
{
  int pair[2], pipe_fds[2], r;

  *p = (struct process){ .pidfd = -1 };
  p->exited = spec->exited;
  p->closed = spec->closed;
  p->ctx = spec->ctx;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
    return oc_error_errno(err, OC_E_IO, "cannot make a socket for '%s'", spec->name);
  auto_close int ours = pair[0];
  auto_close int theirs = pair[1];
  if (pipe2(pipe_fds, O_CLOEXEC) < 0)
    return oc_error_errno(err, OC_E_IO, "cannot make a pipe for '%s'", spec->name);
  auto_close int err_read = pipe_fds[0];
  auto_close int err_write = pipe_fds[1];
  r = spawn(spec, theirs, err_write, &p->pid, err);
  if (r)
    return r;
  p->running = true;
  /* Our own raised limit is not for programs that may still use select(). */
  prlimit(p->pid, RLIMIT_NOFILE, &spec->nofile, NULL);
  r = watch(p, spec, &err_read, err);
  if (r) {
    spawn_undo(p);
    return r;
  }
  *ret_fd = OC_STEAL_FD(ours);
  return 0;
}

void process_kill(struct process *p, int signal)
{
  if (p->running)
    syscall(SYS_pidfd_send_signal, p->pidfd, signal, NULL, 0);
}

void process_close(struct process *p)
{
  if (!uv_is_closing((uv_handle_t *)&p->exit))
    uv_close((uv_handle_t *)&p->exit, on_pidfd_closed);
  tail_close(&p->err);
}
