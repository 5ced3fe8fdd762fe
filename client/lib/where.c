/* Where the daemon listens, and what lies at that place.
 *
 * OMCC_SOCKET, else the user's runtime directory, else a directory in /tmp that must be a
 * directory of this user with no rights for others: anybody may make names in /tmp. The
 * states of a socket are told apart, because their remedies differ: nothing there,
 * nobody behind it, nobody free behind it, no right to speak to it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "lib/lib_internal.h"

static const char *env(const char *name)
{
  const char *value = getenv(name);

  return value && *value ? value : NULL;
}

bool omcc_socket_given(const struct omcc_options *options)
{
  return (options && options->socket) || env("OMCC_SOCKET");
}

int omcc_socket_path(const struct omcc_options *options, char *ret, size_t room,
                     struct omcc_error *err)
{
  const char *given = options && options->socket ? options->socket : env("OMCC_SOCKET");
  const char *runtime = env("XDG_RUNTIME_DIR");
  size_t limit = sizeof(((struct sockaddr_un *)0)->sun_path);
  char path[4096];

  if (given)
    snprintf(path, sizeof(path), "%s", given);
  else if (runtime && runtime[0] == '/')
    snprintf(path, sizeof(path), "%s/omcc/omccd.sock", runtime);
  else
    snprintf(path, sizeof(path), "/tmp/omcc-%u/omccd.sock", (unsigned)geteuid());
  if (strlen(path) >= limit || strlen(path) >= room) {
    omcc_fail(err, OMCC_E_LIMIT, OMCC_DAEMON,
              "socket path '%.200s' has %zu bytes, the system takes at most %zu", path,
              strlen(path), limit - 1);
    omcc_fix(err, "set OMCC_SOCKET to a shorter path");
    return OMCC_E_LIMIT;
  }
  if (path[0] != '/') {
    omcc_fail(err, OMCC_E_ARG, OMCC_DAEMON, "socket path '%s' is not absolute", path);
    omcc_fix(err, "set OMCC_SOCKET to a path that begins with '/'");
    return OMCC_E_ARG;
  }
  memcpy(ret, path, strlen(path) + 1);
  return 0;
}

static int parent_of(const char *socket, char ret[OMCC_PATH_ROOM])
{
  const char *slash = strrchr(socket, '/');
  size_t len = slash && slash != socket ? (size_t)(slash - socket) : 1;

  memcpy(ret, socket, len);
  ret[len] = '\0';
  return (int)len;
}

int omcc_socket_dir(const char *socket, struct omcc_error *err)
{
  char dir[OMCC_PATH_ROOM], above[OMCC_PATH_ROOM];
  struct stat st;
  bool in_tmp;

  parent_of(socket, dir);
  parent_of(dir, above);
  in_tmp = !strcmp(above, "/tmp");
  if (mkdir(dir, 0700) && errno != EEXIST && errno != ENOENT && errno != EACCES)
    return omcc_fail(err, OMCC_E_IO, OMCC_DAEMON, "cannot make directory '%s': %s", dir,
                     strerror(errno));
  if (lstat(dir, &st))
    return omcc_fail(err, OMCC_E_IO, OMCC_DAEMON,
                     "the directory of socket '%s' cannot be used: %s", socket,
                     strerror(errno));
  if (S_ISLNK(st.st_mode) && !in_tmp && stat(dir, &st))
    return omcc_fail(err, OMCC_E_IO, OMCC_DAEMON, "'%s' leads nowhere", dir);
  if (!S_ISDIR(st.st_mode))
    return omcc_fail(err, OMCC_E_IO, OMCC_DAEMON, "'%s' is not a directory", dir);
  if (in_tmp && (st.st_uid != geteuid() || (st.st_mode & 077))) {
    omcc_fail(err, OMCC_E_IO, OMCC_DAEMON,
              "'%s' is not a directory of this user alone (owner %u, mode %04o)", dir,
              (unsigned)st.st_uid, (unsigned)(st.st_mode & 07777));
    omcc_fix(err, "remove it, or set OMCC_SOCKET or XDG_RUNTIME_DIR");
    return OMCC_E_IO;
  }
  return st.st_uid == geteuid() && !(st.st_mode & 022);
}

int omcc_try_connect(const char *socket_path, enum omcc_socket_state *ret_state,
                     struct omcc_error *err)
{
  struct sockaddr_un addr = { .sun_family = AF_UNIX };
  auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  int r;

  if (fd < 0)
    return omcc_fail(err, OMCC_E_IO, OMCC_DAEMON, "cannot make a socket: %s",
                     strerror(errno));
  memcpy(addr.sun_path, socket_path, strlen(socket_path) + 1);
  do
    r = connect(fd, (struct sockaddr *)&addr, sizeof(addr));
  while (r < 0 && errno == EINTR);
  if (r == 0) {
    *ret_state = OMCC_LISTENING;
    return OC_STEAL_FD(fd);
  }
  switch (errno) {
  case ENOENT:
  case ENOTDIR: *ret_state = OMCC_MISSING; break;
  case ECONNREFUSED: *ret_state = OMCC_STALE; break;
  case EAGAIN: *ret_state = OMCC_BUSY; break;
  case EACCES:
  case EPERM: *ret_state = OMCC_DENIED; break;
  default:
    return omcc_fail(err, OMCC_E_IO, OMCC_DAEMON, "cannot connect to '%s': %s",
                     socket_path, strerror(errno));
  }
  return -1;
}

int omcc_socket_probe(const char *path, enum omcc_socket_state *ret,
                      struct omcc_error *err)
{
  struct omcc_error here = { 0 };
  int fd = omcc_try_connect(path, ret, &here);

  if (fd >= 0)
    close(fd);
  if (fd < 0 && here.code) {
    if (err)
      *err = here;
    return here.code;
  }
  return 0;
}
