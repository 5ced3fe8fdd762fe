/* Starting a private daemon, once.
 *
 * Twenty clients may find no daemon at the same moment. A lock file beside the socket
 * lets one of them start it; the others wait for the lock, look again and find it. The
 * daemon is a grandchild in a session of its own, so that nobody has to reap it, with no
 * descriptor of ours but the end of a pipe: it writes a line there, "ready" or why it
 * cannot be, and closes it. Between fork and exec only async-signal-safe calls are made,
 * since the program around us may have threads. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "lib/lib_internal.h"

/* The pipe's number in the daemon: --ready_fd=3. */
#define READY_FD         3
#define DEFAULT_IDLE_S   (30 * 60)
#define LOCK_POLL_MS     5
#define MAX_DAEMON_WORDS 8

struct launch {
  char path[4096];
  char words[MAX_DAEMON_WORDS][4200];
  char *argv[MAX_DAEMON_WORDS + 1];
  int log, null, ready;
};

int64_t omcc_now_ms(void)
{
  struct timespec t;

  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void omcc_sleep_ms(int ms)
{
  struct timespec t = { ms / 1000, (long)(ms % 1000) * 1000000 };

  nanosleep(&t, NULL);
}

int omcc_daemon_path(char *ret, size_t room, struct omcc_error *err)
{
  static const char name[] = "/omccd";
  const char *path = getenv("PATH");
  char self[4096];
  ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
  char *slash;

  self[len > 0 ? len : 0] = '\0';
  slash = strrchr(self, '/');
  if (slash) {
    snprintf(ret, room, "%.*s%s", (int)(slash - self), self, name);
    if (!access(ret, X_OK))
      return 0;
  }
  while (path && *path) {
    size_t n = strcspn(path, ":");

    snprintf(ret, room, "%.*s%s", (int)n, path, name);
    if (ret[0] == '/' && n > 0 && !access(ret, X_OK))
      return 0;
    path += n + (path[n] == ':');
  }
  omcc_fail(err, OMCC_E_IO, OMCC_DAEMON, "the program 'omccd' was not found");
  omcc_fix(err, "install omccd beside omcc or in PATH");
  return OMCC_E_IO;
}

static int find_daemon(const struct omcc *c, char *ret, size_t room,
                       struct omcc_error *err)
{
  if (!c->daemon)
    return omcc_daemon_path(ret, room, err);
  snprintf(ret, room, "%s", c->daemon);
  return 0;
}

static void add_word(struct launch *l, size_t *n, const char *name, const char *value)
{
  snprintf(l->words[*n], sizeof(l->words[*n]), "--%s=%s", name, value);
  l->argv[*n + 1] = l->words[*n];
  (*n)++;
}

/* No place for a cache is named: beside the socket. */
static bool homeless(void)
{
  static const char *const names[] = { "OMCC_CACHE_DIR", "XDG_CACHE_HOME", "HOME" };

  for (size_t i = 0; i < OC_COUNT(names); i++) {
    const char *value = getenv(names[i]);

    if (value && value[0] == '/')
      return false;
  }
  return true;
}

static int prepare(struct omcc *c, struct launch *l, struct omcc_error *err)
{
  size_t dir = (size_t)(strrchr(c->socket, '/') - c->socket), n = 0;
  char log_path[OMCC_PATH_ROOM + 16], text[OMCC_PATH_ROOM + 16];
  int rc = find_daemon(c, l->path, sizeof(l->path), err);

  if (rc < 0)
    return rc;
  snprintf(log_path, sizeof(log_path), "%s.log", c->socket);
  l->argv[0] = l->path;
  add_word(l, &n, "socket", c->socket);
  snprintf(text, sizeof(text), "%us", c->idle_s ? c->idle_s : DEFAULT_IDLE_S);
  add_word(l, &n, "idle_exit", text);
  add_word(l, &n, "log_file", log_path);
  snprintf(text, sizeof(text), "%d", READY_FD);
  add_word(l, &n, "ready_fd", text);
  if (homeless()) {
    snprintf(text, sizeof(text), "%.*s/cache", (int)dir, c->socket);
    add_word(l, &n, "cache_dir", text);
  }
  l->argv[n + 1] = NULL;
  l->log = open(log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (l->log < 0)
    return omcc_fail(err, OMCC_E_IO, OMCC_DAEMON, "cannot open '%s': %s", log_path,
                     strerror(errno));
  l->null = open("/dev/null", O_RDWR | O_CLOEXEC);
  return 0;
}

/* In the grandchild: async-signal-safe calls only. */
static _Noreturn void become_daemon(const struct launch *l)
{
  struct sigaction plain = { .sa_handler = SIG_DFL };
  sigset_t none;
  int ready = fcntl(l->ready, F_DUPFD, 16), log = fcntl(l->log, F_DUPFD, 16);
  int null = fcntl(l->null, F_DUPFD, 16);

  dup2(null, 0);
  dup2(null, 1);
  dup2(log, 2);
  dup2(ready, READY_FD);
  close_range(READY_FD + 1, ~0u, 0);
  for (int s = 1; s < 32; s++)
    sigaction(s, &plain, NULL);
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  umask(077);
  if (chdir("/") == 0)
    execv(l->path, l->argv);
  dprintf(READY_FD, "cannot run '%s'\n", l->path);
  _exit(127);
}

static int fork_twice(const struct launch *l, struct omcc_error *err)
{
  pid_t pid = fork();

  if (pid < 0)
    return omcc_fail(err, OMCC_E_IO, OMCC_DAEMON, "cannot start the daemon: %s",
                     strerror(errno));
  if (pid == 0) {
    setsid();
    pid = fork();
    if (pid == 0)
      become_daemon(l);
    _exit(pid < 0);
  }
  while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
    ;
  return 0;
}

/* One line from the daemon. 0: ready; else the reason is in `err`. */
static int await_ready(int fd, int64_t deadline, const char *socket,
                       struct omcc_error *err)
{
  char line[400];
  size_t n = 0;

  for (;;) {
    struct pollfd p = { .fd = fd, .events = POLLIN };
    int64_t left = deadline - omcc_now_ms();
    ssize_t got;
    int r = poll(&p, 1, left > 0 ? (int)left : 0);

    if (r < 0 && errno == EINTR)
      continue;
    if (r <= 0) {
      omcc_fail(err, OMCC_E_BUSY, OMCC_DAEMON, "the daemon was not ready in time");
      omcc_fix(err, "look into '%s.log'", socket);
      return OMCC_E_BUSY;
    }
    got = read(fd, line + n, sizeof(line) - 1 - n);
    if (got > 0) {
      n += (size_t)got;
      if (!memchr(line, '\n', n) && n < sizeof(line) - 1)
        continue;
    }
    line[n] = '\0';
    line[strcspn(line, "\n")] = '\0';
    if (!strcmp(line, "ready"))
      return 0;
    omcc_fail(err, OMCC_E_IO, OMCC_DAEMON, "the daemon did not start%s%.300s",
              *line ? ": " : "", line);
    omcc_fix(err, "look into '%s.log'", socket);
    return OMCC_E_IO;
  }
}

static int launch(struct omcc *c, int64_t deadline, struct omcc_error *err)
{
  struct launch *l = calloc(1, sizeof(*l));
  int pipe_fds[2] = { -1, -1 };
  int rc;

  if (!l)
    return omcc_fail(err, OMCC_E_NOMEM, OMCC_BUG, "no memory to start the daemon");
  l->log = l->null = -1;
  rc = prepare(c, l, err);
  if (!rc && pipe2(pipe_fds, O_CLOEXEC))
    rc =
        omcc_fail(err, OMCC_E_IO, OMCC_DAEMON, "cannot make a pipe: %s", strerror(errno));
  if (!rc) {
    l->ready = pipe_fds[1];
    rc = fork_twice(l, err);
    close(pipe_fds[1]);
    if (!rc)
      rc = await_ready(pipe_fds[0], deadline, c->socket, err);
    close(pipe_fds[0]);
  }
  if (l->log >= 0)
    close(l->log);
  if (l->null >= 0)
    close(l->null);
  free(l);
  return rc;
}

int omcc_start_daemon(struct omcc *c, int64_t deadline, struct omcc_error *err)
{
  char path[OMCC_PATH_ROOM + 16];
  enum omcc_socket_state state;
  auto_close int lock = -1;
  int rc;

  snprintf(path, sizeof(path), "%s.start", c->socket);
  lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (lock < 0)
    return omcc_fail(err, OMCC_E_IO, OMCC_DAEMON, "cannot open lock file '%s': %s", path,
                     strerror(errno));
  while (flock(lock, LOCK_EX | LOCK_NB)) {
    if (errno != EWOULDBLOCK && errno != EINTR)
      return omcc_fail(err, OMCC_E_IO, OMCC_DAEMON, "cannot lock '%s': %s", path,
                       strerror(errno));
    if (omcc_now_ms() > deadline)
      return omcc_fail(err, OMCC_E_BUSY, OMCC_DAEMON,
                       "another process has been starting the daemon for too long");
    omcc_sleep_ms(LOCK_POLL_MS);
  }
  rc = omcc_socket_probe(c->socket, &state, err);
  if (rc < 0)
    return rc;
  if (state == OMCC_LISTENING || state == OMCC_BUSY)
    return 0; /* somebody was quicker */
  rc = launch(c, deadline, err);
  if (!rc)
    c->started = true;
  return rc;
}
