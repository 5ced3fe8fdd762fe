/* Files that a request names, opened by the side that has the user's rights.
 *
 * A model is passed as the descriptor of a regular file. A list is read once, here, into
 * a sealed memfd: it may be a pipe, and it cannot change between being checked and being
 * used. External data of a model is opened beneath the directory of the model itself and
 * nowhere else, whatever the model says: the directory in which the opened file lies,
 * links resolved, as the vendor's parser does. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "lib/lib_internal.h"

#define OPEN_FLAGS (O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
/* How long the writer of a pipe may be silent. */
#define PIPE_WAIT_MS 10000
/* Names of one directory that are looked through for a suggestion. */
#define MAX_NEIGHBOURS 4096

/* The vendor has a code of its own for a missing file of these flags. */
static const char *missing_id(const char *flag)
{
  if (!strcmp(flag, "modify_mixlist"))
    return "mixlist-missing";
  if (!strcmp(flag, "customize_dtypes") || !strcmp(flag, "op_precision_mode"))
    return "customize-missing";
  return "file-missing";
}

/* The name in `path`'s directory that comes nearest to its last part. */
static void suggest_neighbour(const char *path, struct omcc_error *err)
{
  const char *slash = strrchr(path, '/');
  const char *word = slash ? slash + 1 : path;
  char dir[PATH_MAX];
  auto_closedir DIR *d = NULL;
  const char **names = calloc(MAX_NEIGHBOURS, sizeof(*names));
  struct oc_arena arena;
  size_t n = 0;

  snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(slash - path + 1) : 1,
           slash ? path : ".");
  d = opendir(dir);
  oc_arena_init(&arena, 4 << 20);
  for (struct dirent *e = d && names ? readdir(d) : NULL; e && n < MAX_NEIGHBOURS;
       e = readdir(d)) {
    char *copy = e->d_name[0] == '.' ? NULL : oc_arena_strdup(&arena, e->d_name);

    if (copy)
      names[n++] = copy;
  }
  word = n ? oc_str_nearest(word, names, n) : NULL;
  if (word)
    omcc_fix(err, "did you mean '%.*s%s'", slash ? (int)(slash - path + 1) : 0, path,
             word);
  else if (!d)
    omcc_fix(err, "there is no directory '%s'", dir);
  oc_arena_clear(&arena);
  free(names);
}

static const char *kind_name(mode_t mode)
{
  switch (mode & S_IFMT) {
  case S_IFDIR: return "a directory";
  case S_IFCHR:
  case S_IFBLK: return "a device";
  case S_IFIFO: return "a pipe";
  case S_IFSOCK: return "a socket";
  default: return "no regular file";
  }
}

static int seal(int fd, struct omcc_error *err)
{
  if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL))
    return omcc_fail(err, OMCC_E_IO, OMCC_ENVIRONMENT, "cannot seal a memory file: %s",
                     strerror(errno));
  return 0;
}

/* All of `in`, at most OC_MAX_LIST_BYTES, into `out`. Waits for a pipe's writer. */
static int copy_list(int in, int out, const char *flag, const char *path,
                     struct omcc_error *err)
{
  uint64_t total = 0;
  char chunk[65536];

  for (;;) {
    struct pollfd p = { .fd = in, .events = POLLIN };
    ssize_t n;

    if (poll(&p, 1, PIPE_WAIT_MS) == 0)
      return omcc_fail_finding(err, "file-unreadable", flag, path,
                               "nothing was written to the pipe for 10 s");
    n = read(in, chunk, sizeof(chunk));
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
      continue;
    if (n < 0)
      return omcc_fail_finding(err, "file-unreadable", flag, path, strerror(errno));
    if (n == 0)
      return 0;
    total += (uint64_t)n;
    if (total > OC_MAX_LIST_BYTES)
      return omcc_fail_finding(err, "list-file-too-large", flag, path, "64 MiB");
    for (ssize_t at = 0; at < n;) {
      ssize_t w = write(out, chunk + at, (size_t)(n - at));

      if (w < 0)
        return omcc_fail(err, OMCC_E_IO, OMCC_ENVIRONMENT,
                         "cannot keep a copy of '%s': %s", path, strerror(errno));
      at += w;
    }
  }
}

static int read_list(int in, const char *flag, const char *path, int *ret_fd,
                     struct omcc_error *err)
{
  auto_close int fd = memfd_create("omcc-list", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  int rc;

  if (fd < 0)
    return omcc_fail(err, OMCC_E_IO, OMCC_ENVIRONMENT, "cannot make a memory file: %s",
                     strerror(errno));
  rc = copy_list(in, fd, flag, path, err);
  if (!rc)
    rc = seal(fd, err);
  if (rc < 0)
    return rc;
  *ret_fd = OC_STEAL_FD(fd);
  return 0;
}

int omcc_open_file(const char *flag, const char *path, bool list, int *ret_fd,
                   struct omcc_error *err)
{
  auto_close int fd = open(path, OPEN_FLAGS);
  struct stat st;

  if (fd < 0 && (errno == ENOENT || errno == ENOTDIR)) {
    omcc_fail_finding(err, missing_id(flag), flag, path, strerror(errno));
    suggest_neighbour(path, err);
    return OMCC_E_ARG;
  }
  if (fd < 0 || fstat(fd, &st))
    return omcc_fail_finding(err, "file-unreadable", flag, path, strerror(errno));
  if (list && (S_ISREG(st.st_mode) || S_ISFIFO(st.st_mode)))
    return read_list(fd, flag, path, ret_fd, err);
  if (!S_ISREG(st.st_mode))
    return omcc_fail_finding(err, "file-not-regular", flag, path, kind_name(st.st_mode));
  *ret_fd = OC_STEAL_FD(fd);
  return 0;
}

int omcc_open_folder(const char *path)
{
  return open(path, OPEN_FLAGS | O_DIRECTORY);
}

int omcc_open_dir_of(int fd)
{
  char self[64], real[PATH_MAX];
  char *slash;
  ssize_t n;

  snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
  n = readlink(self, real, sizeof(real) - 1);
  if (n <= 0 || real[0] != '/')
    return -1;
  real[n] = '\0';
  slash = strrchr(real, '/');
  slash[slash == real ? 1 : 0] = '\0';
  return open(real, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static const char *open_reason(int error)
{
  switch (error) {
  case EXDEV:
  case ELOOP: return "outside";
  case ENOENT:
  case ENOTDIR: return "absent";
  default: return "denied";
  }
}

int omcc_open_external(int dir, const char *name, const char **ret_reason)
{
  auto_close int fd = oc_open_beneath(dir, name, OPEN_FLAGS);
  struct stat st;

  if (fd < 0) {
    *ret_reason = open_reason(errno);
    return -1;
  }
  if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
    *ret_reason = "not_regular";
    return -1;
  }
  return OC_STEAL_FD(fd);
}
