/* omcc explain --lock=FILE and --check-lock=FILE: the precision of every op as a file for
 * version control. A lock is written whole or not at all, and never from a report with
 * errors. Status 1 when a lock and the report differ. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/explain.h"

#define SCHEMA "omcc.lock/1"

static int answer(struct cli_job *j, const char *path, int status, const char *message)
{
  struct cli *cli = j->cli;
  struct oc_json_writer w;
  struct oc_buf text;

  if (!cli->json) {
    cli_print_findings(cli);
    return status;
  }
  cli_json_begin(cli, &w, &text, SCHEMA, status, message);
  oc_json_put_string(&w, "file", path);
  cli_json_end(&w, &text);
  return status;
}

static bool write_all(int fd, const struct oc_buf *text)
{
  const char *p = oc_buf_str(text);

  for (size_t left = text->len; left;) {
    ssize_t n = write(fd, p, left);

    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return false;
    p += n;
    left -= (size_t)n;
  }
  return true;
}

/* Beside the target, then renamed over it. */
static bool replace(struct cli *cli, const char *path, const struct oc_buf *text)
{
  const char *next = oc_arena_printf(&cli->arena, "%s.new-%d", path, (int)getpid());
  auto_close int fd =
      next ? open(next, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666) : -1;

  if (fd < 0)
    return false;
  if (write_all(fd, text) && !rename(next, path))
    return true;
  int why = errno;
  unlink(next);
  errno = why;
  return false;
}

int explain_lock(struct cli_job *j, const char *path)
{
  struct cli *cli = j->cli;
  int status = explain_status(j);
  struct oc_buf text;

  if (status || !j->report)
    return cli_refuse(cli, SCHEMA, status ? status : OMCC_REQUEST,
                      "a request with errors is not locked");
  cli_buf(&text);
  if (oc_render_lock(j->report, &text) || !replace(cli, path, &text)) {
    oc_finding_add(&cli->findings, OC_FINDING_OUTPUT_NOT_WRITABLE, path, "detail",
                   strerror(errno), NULL);
    oc_buf_clear(&text);
    return cli_refuse(cli, SCHEMA, OMCC_ENVIRONMENT, "the lock was not written");
  }
  oc_buf_clear(&text);
  status = answer(j, path, 0, "");
  cli_note(cli, "wrote the lock '%s'", path);
  return status;
}

int explain_check_lock(struct cli_job *j, const char *path)
{
  struct cli *cli = j->cli;
  int status = explain_status(j);
  struct oc_buf text;
  size_t before;
  int rc;

  if (status || !j->report)
    return cli_refuse(cli, SCHEMA, status ? status : OMCC_REQUEST,
                      "a request with errors cannot be compared");
  status = cli_read_file(cli, SCHEMA, "check_lock", path, &text);
  if (status) {
    oc_buf_clear(&text);
    return status;
  }
  before = cli->findings.n;
  rc = oc_render_check_lock(oc_buf_str(&text), text.len, path, j->report, &cli->findings);
  oc_buf_clear(&text);
  if (rc)
    return cli_refuse(cli, SCHEMA, OMCC_REQUEST, "the lock cannot be read");
  if (cli->findings.n == before)
    return answer(j, path, 0, "");
  status = answer(j, path, OMCC_DIFFERS, "the precision differs from the lock");
  cli_note(cli, "differs from the lock '%s'; to accept: omcc explain --lock='%s' -- ...",
           path, path);
  return status;
}
