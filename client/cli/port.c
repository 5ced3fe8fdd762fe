/* omcc cache export FILE [KEY] | import FILE. The daemon reads and writes through the
 * descriptor that it is given, so the file lies wherever this user may put it. An export
 * has no name before it is whole, so that nothing is left of one that is interrupted; the
 * daemon then stops writing, too. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/entries.h"

static int refuse_file(struct cli *cli, const char *what, const char *path)
{
  return cli_refuse(
      cli, CARE_SCHEMA, OMCC_REQUEST,
      oc_arena_printf(&cli->arena, "cannot %s '%s': %s", what, path, strerror(errno)));
}

/* 0 with the answer, or an exit status. */
static int ask(struct cli *cli, const struct omcc_cache_query *query,
               const Omcc__V1__CacheAnswer **ret)
{
  struct omcc_error err = { 0 };
  struct omcc *c;
  int status;

  if (cli_connect(cli, OMCC_START_NEVER, &c, &err) < 0)
    return cli_fail(cli, CARE_SCHEMA, &err);
  status = care_ask(cli, query, c, CARE_SCHEMA, ret);
  omcc_close(c);
  return status;
}

/* A file on its way; its name, if it needs one, lies beside its final place. */
struct draft {
  const char *path;
  char *temp;
  bool named;
  int fd;
};

static int draft_open(struct cli *cli, const char *path, struct draft *d)
{
  const char *slash = strrchr(path, '/');
  int len = slash ? (int)(slash - path + 1) : 0;
  const char *dir = oc_arena_printf(&cli->arena, "%.*s.", len, path);

  *d = (struct draft){ .path = path, .fd = -1 };
  d->temp = oc_arena_printf(&cli->arena, "%.*s.omcc-XXXXXX", len, path);
  if (!dir || !d->temp)
    return ENOMEM;
  d->fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (d->fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR)) {
    d->fd = mkostemp(d->temp, O_CLOEXEC);
    d->named = d->fd >= 0;
  }
  return d->fd < 0 ? errno : 0;
}

/* A name of its own, then the final one over whatever has it. 0 or -1 with errno. */
static int draft_keep(struct draft *d)
{
  char self[48];

  if (fsync(d->fd))
    return -1;
  if (!d->named) {
    int taken = mkostemp(d->temp, O_CLOEXEC);

    if (taken < 0)
      return -1;
    close(taken);
    unlink(d->temp);
    snprintf(self, sizeof(self), "/proc/self/fd/%d", d->fd);
    if (linkat(AT_FDCWD, self, AT_FDCWD, d->temp, AT_SYMLINK_FOLLOW))
      return -1;
    d->named = true;
  }
  if (rename(d->temp, d->path))
    return -1;
  d->named = false;
  return 0;
}

static void draft_clear(struct draft *d)
{
  if (d->named)
    unlink(d->temp);
  oc_close_fd(&d->fd);
}

static int export(struct cli *cli, const char *path, const char *key)
{
  struct omcc_cache_query query = {
    .size = sizeof(query), .what = OMCC_CACHE_EXPORT, .key = key, .has_fd = true
  };
  const Omcc__V1__CacheAnswer *a;
  struct draft d;
  struct stat st;
  int status;

  if (!stat(path, &st) && !S_ISREG(st.st_mode)) {
    errno = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
    return refuse_file(cli, "write", path);
  }
  errno = draft_open(cli, path, &d);
  if (errno)
    return refuse_file(cli, "write", path);
  query.fd = d.fd;
  status = ask(cli, &query, &a);
  /* What the store could not give is said; what it gave is whole. */
  if (!status && (!a->status || a->status == OMCC_STORE) && draft_keep(&d))
    status = refuse_file(cli, "write", path);
  draft_clear(&d);
  return status ? status : care_show(cli, CARE_SCHEMA, a);
}

static int import(struct cli *cli, const char *path)
{
  struct omcc_cache_query query = { .size = sizeof(query),
                                    .what = OMCC_CACHE_IMPORT,
                                    .has_fd = true };
  const Omcc__V1__CacheAnswer *a;
  struct stat st;
  int status;

  auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0 || fstat(fd, &st))
    return refuse_file(cli, "open", path);
  query.fd = fd;
  status = ask(cli, &query, &a);
  if (status || a->status != OMCC_REQUEST)
    return status ? status : care_show(cli, CARE_SCHEMA, a);
  oc_finding_add(&cli->findings, OC_FINDING_EXPORT_DAMAGED, path, "reason", a->message,
                 NULL);
  return cli_refuse(cli, CARE_SCHEMA, OMCC_REQUEST, "nothing was imported");
}

int port_verb(struct cli *cli, const char *what)
{
  bool out = !strcmp(what, "export");

  if (!out && strcmp(what, "import"))
    return -1;
  if (cli->n_words < 1 || cli->n_words > (out ? 2u : 1u))
    return cli_refuse(cli, CARE_SCHEMA, OMCC_REQUEST,
                      out ? "name a file: omcc cache export FILE [KEY]"
                          : "name a file: omcc cache import FILE");
  return out ? export(cli, cli->words[0], cli->n_words > 1 ? cli->words[1] : NULL)
             : import(cli, cli->words[0]);
}
