/* --dump_passes=DIR: what the report holds of the graph between passes, a file each:
 * 00-import.txt, 01-identity.txt, ... The folder is made when it is not there; files of
 * an earlier run are replaced. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "cli/cli.h"

static bool write_file(const char *path, const uint8_t *p, size_t len)
{
  auto_close int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

  while (fd >= 0 && len > 0) {
    ssize_t n = write(fd, p, len);
    if (n < 0 && errno != EINTR)
      return false;
    p += n > 0 ? n : 0;
    len -= n > 0 ? (size_t)n : 0;
  }
  return fd >= 0;
}

/* Pass names come from the daemon: nothing but letters, digits and '-' goes into a path.
 */
static bool is_plain(const char *name)
{
  return *name && name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-")] == '\0';
}

void cli_write_dumps(struct cli_job *j)
{
  struct cli *cli = j->cli;
  const char *folder = oc_flags_get(&cli->flags, "dump_passes");
  size_t n = j->report ? j->report->n_dumps : 0;

  if (!folder)
    return;
  if (mkdir(folder, 0777) < 0 && errno != EEXIST) {
    cli_note(cli, "cannot make the folder '%s': %s", folder, strerror(errno));
    return;
  }
  for (size_t i = 0; i < n; i++) {
    const Omcc__V1__Dump *d = j->report->dumps[i];
    const char *path =
        oc_arena_printf(&cli->arena, "%s/%02zu-%s.txt", folder, i, d->name);
    if (!path || !is_plain(d->name) || !write_file(path, d->text.data, d->text.len)) {
      cli_note(cli, "cannot write '%s': %s", path ? path : folder, strerror(errno));
      return;
    }
  }
  cli_note(cli, "%zu states of the graph are in '%s'", n, folder);
}
