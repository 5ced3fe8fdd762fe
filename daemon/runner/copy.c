/* Files into the job directory: shared extents where the file system can, else the
 * kernel's copy, else by hand. A copy and no link: the compiler may write where it likes
 * in its directory, and never into the user's file. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "runner/runner_internal.h"

#define CHUNK       (1u << 20)
#define KERNEL_COPY (1u << 30)

bool path_is_inside(const char *path)
{
  if (!*path || strlen(path) >= 4096)
    return false;
  for (const char *p = path;; p++) {
    size_t len = strcspn(p, "/");
    if (len == 0 || (len == 1 && p[0] == '.') || (len == 2 && p[0] == '.' && p[1] == '.'))
      return false;
    p += len;
    if (!*p)
      return true;
  }
}

static int make_folders(int dir, const char *path, struct oc_error *err)
{
  auto_free char *part = strdup(path);

  if (!part)
    return oc_error_set(err, OC_E_NOMEM, "no memory to place a file");
  for (char *slash = strchr(part, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    if (mkdirat(dir, part, 0700) < 0 && errno != EEXIST)
      return oc_error_errno(err, OC_E_IO, "cannot make the folder '%s' of a run", part);
    *slash = '/';
  }
  return 0;
}

static int write_all(int to, const char *p, size_t len)
{
  while (len) {
    ssize_t n = write(to, p, len);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return -1;
    p += n;
    len -= (size_t)n;
  }
  return 0;
}

/* From offset `at` on; 0 or -1 with errno. */
static int copy_by_hand(int from, int to, off_t at)
{
  auto_free char *chunk = malloc(CHUNK);

  if (!chunk) {
    errno = ENOMEM;
    return -1;
  }
  for (;;) {
    ssize_t n = pread(from, chunk, CHUNK, at);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return n < 0 ? -1 : 0;
    if (write_all(to, chunk, (size_t)n) < 0)
      return -1;
    at += n;
  }
}

static int copy_bytes(int from, int to)
{
  off_t at = 0;

  if (ioctl(to, FICLONE, from) == 0)
    return 0;
  for (;;) {
    ssize_t n = copy_file_range(from, &at, to, NULL, KERNEL_COPY, 0);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return errno == ENOSPC || errno == EIO ? -1 : copy_by_hand(from, to, at);
    if (n == 0) /* the end, or a file system that says 0 for "cannot" */
      return copy_by_hand(from, to, at);
  }
}

int copy_file(int from, int dir, const char *path, struct oc_error *err)
{
  struct stat st;

  if (fstat(from, &st) < 0 || !S_ISREG(st.st_mode))
    return oc_error_set(err, OC_E_ARG, "the input '%s' is no regular file", path);
  int rc = make_folders(dir, path, err);
  if (rc < 0)
    return rc;
  auto_close int to =
      openat(dir, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (to < 0)
    return oc_error_errno(err, OC_E_IO, "cannot place the input '%s'", path);
  if (copy_bytes(from, to) < 0)
    return oc_error_errno(err, OC_E_IO, "cannot copy the input '%s'", path);
  return 0;
}
