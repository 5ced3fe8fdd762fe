/* One system call where there is openat2, else one component after the other. */
#include "base/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

/* For kernels and sandboxes without openat2. */
static int open_by_steps(int dir, const char *name, int flags)
{
  auto_close int at = fcntl(dir, F_DUPFD_CLOEXEC, 0);
  const char *p = name;

  while (at >= 0) {
    size_t len = strcspn(p, "/");
    bool last = p[len] == '\0';
    char part[NAME_MAX + 1];

    if (len == 0 || len > NAME_MAX || (len == 2 && !memcmp(p, "..", 2))) {
      errno = EXDEV;
      return -1;
    }
    memcpy(part, p, len);
    part[len] = '\0';
    int next =
        openat(at, part,
               last ? flags | O_NOFOLLOW : O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (next < 0 || last)
      return next;
    close(at);
    at = next;
    p += len + 1;
  }
  return -1;
}

int oc_open_beneath(int dir, const char *name, int flags)
{
  struct open_how how = { .flags = (unsigned)flags | O_CLOEXEC,
                          .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS };

  if (flags & O_NOFOLLOW)
    how.resolve |= RESOLVE_NO_SYMLINKS;
  int fd = (int)syscall(SYS_openat2, dir, name, &how, sizeof(how));
  return fd < 0 && errno == ENOSYS ? open_by_steps(dir, name, flags | O_CLOEXEC) : fd;
}
