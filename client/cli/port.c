/* omcc cache export FILE [KEY] | import FILE. The daemon reads and writes through the
 * descriptor that it is given, so the file lies wherever this user may put it. An export
 * gets its name when it is whole. */
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

/* Beside its final place. */
static char *temporary(struct cli *cli, const char *path)
{
  const char *slash = strrchr(path, '/');

  return oc_arena_printf(&cli->arena, "%.*s.omcc-XXXXXX",
                         slash ? (int)(slash - path + 1) : 0, path);
}

static int export(struct cli *cli, const char *path, const char *key)
{
  struct omcc_cache_query query = {
    .size = sizeof(query), .what = OMCC_CACHE_EXPORT, .key = key, .has_fd = true
  };
  const Omcc__V1__CacheAnswer *a;
  char *temp = temporary(cli, path);
  struct stat st;
  int status;

  if (!temp)
    return cli_refuse(cli, CARE_SCHEMA, OMCC_BUG, "no memory");
  if (!stat(path, &st) && !S_ISREG(st.st_mode)) {
    errno = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
    return refuse_file(cli, "write", path);
  }
  auto_close int fd = mkostemp(temp, O_CLOEXEC);
  if (fd < 0)
    return refuse_file(cli, "write", path);
  query.fd = fd;
  status = ask(cli, &query, &a);
  /* What the store could not give is said; what it gave is whole. */
  if (!status && (!a->status || a->status == OMCC_STORE)) {
    if (fsync(fd) || rename(temp, path)) {
      status = refuse_file(cli, "write", path);
      unlink(temp);
    }
    return status ? status : care_show(cli, CARE_SCHEMA, a);
  }
  unlink(temp);
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
