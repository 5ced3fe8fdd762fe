/* Writing the trace. One lock orders the records as the calls were made: it is held over
 * call and record, so no two threads can be written down the other way round. */
#include "trace_write.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "order.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char root[PATH_MAX];
static int out = -1;

void trace_start(const char *under, const char *file)
{
  snprintf(root, sizeof(root), "%s", under);
  out = real.open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (out < 0)
    abort();
}

void trace_stop(void)
{
  if (out >= 0)
    close(out);
  out = -1;
}

bool trace_on(void)
{
  return out >= 0;
}

void trace_lock(void)
{
  pthread_mutex_lock(&lock);
}

void trace_unlock(void)
{
  int was = errno;

  pthread_mutex_unlock(&lock);
  errno = was;
}

static bool below_root(const char *place)
{
  size_t len = strlen(root), all = strlen(place);

  /* SQLite's shared memory holds nothing that outlives its processes. */
  if (all > 4 && strcmp(place + all - 4, "-shm") == 0)
    return false;
  return strncmp(place, root, len) == 0 && (place[len] == '/' || place[len] == '\0');
}

bool trace_concerns(int fd)
{
  char place[PATH_MAX];

  return out >= 0 && place_of_fd(fd, place, sizeof(place)) && below_root(place);
}

static void put(struct trace_record *r, const char *name, const void *data)
{
  struct iovec parts[3] = { { r, sizeof(*r) },
                            { (void *)name, r->name_len },
                            { (void *)data, r->kind == TRACE_WRITE ? r->len : 0 } };
  size_t all = parts[0].iov_len + parts[1].iov_len + parts[2].iov_len;

  if (writev(out, parts, 3) != (ssize_t)all)
    abort();
}

static uint64_t inode_of_fd(int fd)
{
  struct stat st;

  return fstat(fd, &st) == 0 ? st.st_ino : 0;
}

void trace_fd(enum trace_kind kind, int fd, uint64_t at, const void *data, size_t len)
{
  struct trace_record r = {
    .kind = kind, .inode = inode_of_fd(fd), .at = at, .len = len
  };

  put(&r, NULL, data);
}

/* The directory that a path's last piece lies in, and that piece. */
static uint64_t split(int dir, const char *path, char place[PATH_MAX], const char **ret)
{
  struct stat st;

  if (!place_of(dir, path, place, PATH_MAX) || !below_root(place))
    return 0;
  char *slash = strrchr(place, '/');
  *slash = '\0';
  *ret = slash + 1;
  if (*(slash + 1) == '.' && *(slash + 2) == '\0') /* an unnamed file in "dir/." */
    return 0;
  return stat(place, &st) == 0 ? st.st_ino : 0;
}

void trace_path(enum trace_kind kind, int dir, const char *path, uint64_t inode)
{
  char place[PATH_MAX];
  const char *name = "";
  struct trace_record r = { .kind = kind, .inode = inode };

  r.dir = split(dir, path, place, &name);
  if (r.dir == 0)
    return;
  r.name_len = (uint32_t)strlen(name) + 1;
  put(&r, name, NULL);
}

void trace_unnamed(int fd)
{
  struct trace_record r = { .kind = TRACE_NEW_FILE, .inode = inode_of_fd(fd) };

  put(&r, NULL, NULL);
}

void trace_rename(int from_dir, const char *from, int to_dir, const char *to)
{
  char place[PATH_MAX], other[PATH_MAX], both[2 * NAME_MAX + 2];
  const char *a = "", *b = "";
  struct trace_record r = { .kind = TRACE_RENAME };

  r.dir = split(from_dir, from, place, &a);
  r.other_dir = split(to_dir, to, other, &b);
  if (!r.dir || !r.other_dir)
    return;
  size_t first = strlen(a) + 1;
  memcpy(both, a, first);
  memcpy(both + first, b, strlen(b) + 1);
  r.name_len = (uint32_t)(first + strlen(b) + 1);
  put(&r, both, NULL);
}

void trace_mark(uint64_t what)
{
  struct trace_record r = { .kind = TRACE_MARK, .at = what };

  if (out < 0)
    return;
  trace_lock();
  put(&r, NULL, NULL);
  trace_unlock();
}
