/* Small text files that the client reads itself: locks, lists to check. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/cli.h"

#define CHUNK 65536u

static bool read_all(int fd, struct oc_buf *ret)
{
  for (;;) {
    uint8_t *to = oc_buf_reserve(ret, CHUNK);
    ssize_t n = to ? read(fd, to, CHUNK) : -1;

    if (n > 0)
      oc_buf_commit(ret, (size_t)n);
    else if (!n)
      return true;
    else if (!to || errno != EINTR)
      return false;
  }
}

int cli_read_file(struct cli *cli, const char *schema, const char *flag, const char *path,
                  struct oc_buf *ret)
{
  auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  struct stat st;
  const char *why = NULL;

  cli_buf(ret);
  if (fd < 0 || fstat(fd, &st))
    why = strerror(errno);
  else if (!S_ISREG(st.st_mode))
    why = "it is no regular file";
  else if (!read_all(fd, ret))
    why = strerror(errno);
  if (!why)
    return 0;
  oc_finding_add(&cli->findings, OC_FINDING_FILE_UNREADABLE, path, "detail", why, "flag",
                 flag, NULL)
      ->flag = flag;
  return cli_refuse(cli, schema, OMCC_REQUEST, "a file cannot be read");
}
