/* How much memory a process group uses, from /proc: what RLIMIT_AS cannot say for
 * programs that map far more than they touch. Shared pages (libraries, mapped weights)
 * are left out: they can be dropped, and would be counted once per process. */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "runner/runner_internal.h"

/* A small file of /proc as text; false when it is gone. */
static bool read_text(const char *path, char *text, size_t room)
{
  auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
  size_t len = 0;

  if (fd < 0)
    return false;
  while (len + 1 < room) {
    ssize_t n = read(fd, text + len, room - 1 - len);
    if (n <= 0)
      break;
    len += (size_t)n;
  }
  text[len] = '\0';
  return len > 0;
}

static bool in_group(const char *pid, pid_t group)
{
  char path[300], text[512];
  int its = 0;

  snprintf(path, sizeof(path), "/proc/%s/stat", pid);
  if (!read_text(path, text, sizeof(text)))
    return false;
  const char *rest = strrchr(text, ')');
  return rest && sscanf(rest, ") %*c %*d %d", &its) == 1 && its == group;
}

static uint64_t own_pages(const char *pid)
{
  char path[300], text[256];
  unsigned long resident = 0, shared = 0;

  snprintf(path, sizeof(path), "/proc/%s/statm", pid);
  if (!read_text(path, text, sizeof(text)) ||
      sscanf(text, "%*u %lu %lu", &resident, &shared) != 2 || shared > resident)
    return 0;
  return resident - shared;
}

uint64_t memory_of_group(pid_t group)
{
  auto_closedir DIR *d = opendir("/proc");
  uint64_t pages = 0;

  for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d))
    if (isdigit((unsigned char)e->d_name[0]) && in_group(e->d_name, group))
      pages += own_pages(e->d_name);
  return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t memory_oom_kills(void)
{
  static const char name[] = "\noom_kill ";
  auto_free char *text = malloc(64u << 10);

  if (!text || !read_text("/proc/vmstat", text, 64u << 10))
    return 0;
  const char *at = strstr(text, name);
  return at ? strtoull(at + sizeof(name) - 1, NULL, 10) : 0;
}
