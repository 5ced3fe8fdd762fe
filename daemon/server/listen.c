/* The listener: one socket, one lock for life.
 *
 * The lock file beside the socket is held as long as the daemon lives, and a socket that
 * is found at the path is replaced only under it: whoever holds the lock knows that
 * nobody listens there any more. The lock file itself is never removed, because two
 * daemons could then hold locks on two files of one name. A descriptor from the service
 * manager comes bound and listening; its path is the manager's. */
#include "server/server_internal.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Cut by the kernel to its own limit. While the queue is full a blocking connect() waits
 * and one with a time limit fails at once: a burst of clients must find room. */
#define BACKLOG SOMAXCONN

#define PATIENCE_MS      5000
#define PATIENCE_STEP_MS 20
/* New connections taken per readiness, so that a flood does not starve the others. */
#define ACCEPT_AT_ONCE 16

static int make_parent(const char *path, struct oc_error *err)
{
  auto_free char *dir = strdup(path);
  char *slash = dir ? strrchr(dir, '/') : NULL;

  if (!slash)
    return oc_error_set(err, OC_E_ARG, "socket path '%s' is not absolute", path);
  if (slash == dir)
    return 0;
  *slash = '\0';
  if (mkdir(dir, 0700) && errno != EEXIST)
    return oc_error_errno(err, OC_E_IO, "cannot make the directory '%s'", dir);
  return 0;
}

static int lock_held(int fd, const char *path, struct oc_error *err)
{
  char pid[24] = "";
  ssize_t n = pread(fd, pid, sizeof(pid) - 1, 0);

  pid[n > 0 ? n : 0] = '\0';
  pid[strcspn(pid, "\n")] = '\0';
  return oc_error_set(err, OC_E_BUSY, "another daemon (pid %s) serves the socket '%s'",
                      *pid ? pid : "unknown", path);
}

/* A daemon that leaves has removed its socket and holds the lock until its last result is
 * stored: worth a moment of patience. One that serves has a socket. */
static bool lock_file(int fd, const char *socket_path)
{
  struct timespec pause = { .tv_nsec = PATIENCE_STEP_MS * 1000000 };

  for (int waited = 0;; waited += PATIENCE_STEP_MS) {
    if (!flock(fd, LOCK_EX | LOCK_NB))
      return true;
    if (waited >= PATIENCE_MS || !access(socket_path, F_OK))
      return false;
    nanosleep(&pause, NULL);
  }
}

int listener_lock(struct oc_server *s, struct oc_error *err)
{
  auto_free char *path = NULL;
  auto_close int fd = -1;
  char pid[24];
  int n;

  if (s->o.listen_fd >= 0)
    return 0; /* the path is the service manager's */
  if (make_parent(s->o.socket_path, err))
    return OC_E_IO;
  if (asprintf(&path, "%s.lock", s->o.socket_path) < 0) {
    path = NULL;
    return oc_error_set(err, OC_E_NOMEM, "no memory for the socket");
  }
  fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0)
    return oc_error_errno(err, OC_E_IO, "cannot open lock file '%s'", path);
  if (!lock_file(fd, s->o.socket_path))
    return lock_held(fd, s->o.socket_path, err);
  n = snprintf(pid, sizeof(pid), "%d\n", (int)getpid());
  if (ftruncate(fd, 0) || pwrite(fd, pid, (size_t)n, 0) != n)
    return oc_error_errno(err, OC_E_IO, "cannot write lock file '%s'", path);
  s->socket_lock = OC_STEAL_FD(fd);
  return 0;
}

/* Under the lock: what is there is a leftover, if it is a socket of ours at all. */
static int remove_stale(const char *path, struct oc_error *err)
{
  struct stat st;

  if (lstat(path, &st)) {
    if (errno == ENOENT)
      return 0;
    return oc_error_errno(err, OC_E_IO, "cannot examine '%s'", path);
  }
  if (!S_ISSOCK(st.st_mode) || st.st_uid != geteuid())
    return oc_error_set(err, OC_E_IO, "'%s' is in the way and is not a socket of ours",
                        path);
  if (unlink(path) && errno != ENOENT)
    return oc_error_errno(err, OC_E_IO, "cannot remove the old socket '%s'", path);
  return 0;
}

static int bind_socket(struct oc_server *s, struct oc_error *err)
{
  struct sockaddr_un addr = { .sun_family = AF_UNIX };
  const char *path = s->o.socket_path;
  auto_close int fd = -1;
  struct stat st;
  mode_t mask;
  int r;

  if (strlen(path) >= sizeof(addr.sun_path))
    return oc_error_set(err, OC_E_ARG, "socket path '%s' is longer than %zu bytes", path,
                        sizeof(addr.sun_path) - 1);
  memcpy(addr.sun_path, path, strlen(path) + 1);
  fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0)
    return oc_error_errno(err, OC_E_IO, "cannot make a socket");
  mask = umask(0777 & ~s->o.socket_mode); /* born with its mode: no moment in between */
  r = bind(fd, (struct sockaddr *)&addr, sizeof(addr));
  umask(mask);
  if (r || listen(fd, BACKLOG) || lstat(path, &st))
    return oc_error_errno(err, OC_E_IO, "cannot listen on '%s'", path);
  s->socket_dev = st.st_dev;
  s->socket_ino = st.st_ino;
  s->bound = true;
  s->listen_fd = OC_STEAL_FD(fd);
  return 0;
}

static int take_over(struct oc_server *s, struct oc_error *err)
{
  int listening = 0, fd = s->o.listen_fd;
  socklen_t len = sizeof(listening);

  if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &len) || !listening)
    return oc_error_set(err, OC_E_ARG, "descriptor %d is not a listening socket", fd);
  if (fcntl(fd, F_SETFD, FD_CLOEXEC) ||
      fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK))
    return oc_error_errno(err, OC_E_IO, "cannot use descriptor %d", fd);
  s->listen_fd = fd;
  return 0;
}

static bool may_connect(const struct oc_server *s, const struct ucred *peer)
{
  /* With a mode for a group or all, the file system has decided already. */
  return s->o.socket_mode & 077 || !s->bound || peer->uid == geteuid() || peer->uid == 0;
}

static void take_one(struct oc_server *s, int fd)
{
  struct ucred peer = { .uid = (uid_t)-1 };
  socklen_t len = sizeof(peer);

  oc_counter_add(&s->count, OC_COUNT_CONNECTIONS, 1);
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) || !may_connect(s, &peer) ||
      s->n_sessions >= s->o.max_connections) {
    oc_counter_add(&s->count, OC_COUNT_REFUSED, 1);
    oc_log_event(s->log, OC_LOG_WARNING, "connection_refused", 0,
                 s->n_sessions >= s->o.max_connections ? "too many connections" : "peer");
    close(fd);
    return;
  }
  session_accept(s, fd, &peer);
}

static void on_listener(uv_poll_t *poll, int status, int events)
{
  struct oc_server *s = poll->data;

  (void)events;
  if (status < 0)
    return;
  /* What a new client has sent along may have closed the listener. */
  for (int i = 0; i < ACCEPT_AT_ONCE && s->listening; i++) {
    int fd = accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd >= 0)
      take_one(s, fd);
    else if (errno != EINTR && errno != ECONNABORTED)
      return;
  }
}

int listener_open(struct oc_server *s, struct oc_error *err)
{
  int r = 0;

  if (s->o.listen_fd >= 0) {
    r = take_over(s, err);
  } else {
    r = remove_stale(s->o.socket_path, err);
    if (!r)
      r = bind_socket(s, err);
  }
  if (r)
    return r;
  r = uv_poll_init(s->loop, &s->listener, s->listen_fd);
  if (r)
    return oc_error_set(err, OC_E_IO, "cannot watch the socket: %s", uv_strerror(r));
  s->listener.data = s;
  s->listening = true;
  uv_poll_start(&s->listener, UV_READABLE, on_listener);
  return 0;
}

/* The path goes first: a client that comes now finds no socket instead of one that nobody
 * answers. Only our own socket is removed. */
static void remove_socket(struct oc_server *s)
{
  struct stat st;

  if (!s->bound)
    return;
  s->bound = false;
  if (!lstat(s->o.socket_path, &st) && st.st_dev == s->socket_dev &&
      st.st_ino == s->socket_ino)
    unlink(s->o.socket_path);
}

static void on_closed(uv_handle_t *handle)
{
  struct oc_server *s = handle->data;

  close(s->listen_fd);
  s->listen_fd = -1;
}

void listener_close(struct oc_server *s)
{
  remove_socket(s);
  if (!s->listening)
    return;
  s->listening = false;
  uv_close((uv_handle_t *)&s->listener, on_closed);
}

void listener_unlock(struct oc_server *s)
{
  remove_socket(s);
  if (s->listen_fd >= 0)
    close(s->listen_fd);
  if (s->socket_lock >= 0)
    close(s->socket_lock);
  s->listen_fd = s->socket_lock = -1;
}
