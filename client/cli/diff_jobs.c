/* omcc explain --diff A B: two finished jobs, by number or key. Their reports and the
 * parts of their requests are stored; nothing is explained anew. */
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "cli/entries.h"
#include "cli/explain.h"

/* A result is stored a moment after it was delivered. */
#define TRIES    40
#define RETRY_NS 50000000

/* Lines of a list that only one side has, a change each. */
static void add_lines(struct oc_arena *arena, const char *name, const char *lines,
                      bool is_a, struct diff_change *list, size_t *n)
{
  while (lines && *lines) {
    size_t len = strcspn(lines, "\n");
    const char *line = oc_arena_strndup(arena, lines, len);

    if (len)
      list[(*n)++] = (struct diff_change){ name, is_a ? line : NULL, is_a ? NULL : line };
    lines += len + (lines[len] == '\n');
  }
}

static size_t most_lines(const Omcc__V1__CacheAnswer *a)
{
  size_t n = 0;

  for (size_t i = 0; i < a->n_differences; i++)
    n += strlen(a->differences[i]->then) + strlen(a->differences[i]->now) + 2;
  return n;
}

static struct diff_change *request_changes(struct cli *cli,
                                           const Omcc__V1__CacheAnswer *a, size_t *ret_n)
{
  struct diff_change *list = OC_NEW_N(&cli->arena, struct diff_change, most_lines(a) + 1);
  size_t n = 0;

  for (size_t i = 0; list && i < a->n_differences; i++) {
    const Omcc__V1__Difference *d = a->differences[i];
    const char *then = *d->then ? d->then : NULL, *now = *d->now ? d->now : NULL;

    if (strcmp(d->kind, "content")) {
      list[n++] = (struct diff_change){ d->name, then, now };
      continue;
    }
    add_lines(&cli->arena, d->name, then, true, list, &n);
    add_lines(&cli->arena, d->name, now, false, list, &n);
  }
  *ret_n = n;
  return list;
}

static const Omcc__V1__Report *unpack(struct cli *cli, const void *p, size_t len)
{
  ProtobufCMessage *m;

  if (oc_message_unpack(&omcc__v1__report__descriptor, p, len, &cli->arena, &m, NULL))
    return NULL;
  return (const Omcc__V1__Report *)m;
}

static const Omcc__V1__Report *read_report(struct cli *cli, struct omcc *c,
                                           const Omcc__V1__Member *m)
{
  const Omcc__V1__Report *r = NULL;
  struct stat st;

  if (m->where_case == OMCC__V1__MEMBER__WHERE_INLINE)
    return unpack(cli, m->inline_.data, m->inline_.len);
  auto_close int fd = omcc_cache_take_fd(c, m->fd);
  if (fd < 0 || fstat(fd, &st) || st.st_size <= 0 || (uint64_t)st.st_size > OC_MAX_REPORT)
    return NULL;
  void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (map == MAP_FAILED)
    return NULL;
  r = unpack(cli, map, (size_t)st.st_size);
  munmap(map, (size_t)st.st_size);
  return r;
}

static int compare(struct cli *cli, struct omcc *c, const Omcc__V1__CacheAnswer *a)
{
  const Omcc__V1__Report *reports[2] = { NULL, NULL };
  struct diff_change *list;
  size_t n = 0;

  if (a->status)
    return cli_refuse(cli, DIFF_SCHEMA,
                      a->status == OMCC_DIFFERS ? OMCC_REQUEST : (int)a->status,
                      a->message);
  for (size_t i = 0; i < 2 && a->n_members == 2; i++)
    reports[i] = read_report(cli, c, a->members[i]);
  list = request_changes(cli, a, &n);
  if (!reports[0] || !reports[1] || !list)
    return cli_refuse(cli, DIFF_SCHEMA, OMCC_STORE, "a stored report cannot be read");
  return explain_show_diff(cli, list, n, reports[0], reports[1]);
}

/* Asks until both results are stored. */
static int ask(struct cli *cli, struct omcc *c, const struct omcc_cache_query *query,
               const Omcc__V1__CacheAnswer **ret)
{
  int status = care_ask(cli, query, c, DIFF_SCHEMA, ret);

  for (unsigned i = 0; i < TRIES && !status && (*ret)->status == OMCC_DIFFERS; i++) {
    nanosleep(&(struct timespec){ 0, RETRY_NS }, NULL);
    status = care_ask(cli, query, c, DIFF_SCHEMA, ret);
  }
  return status;
}

int explain_diff_jobs(struct cli *cli)
{
  struct omcc_cache_query query = { .size = sizeof(query), .what = OMCC_CACHE_COMPARE };
  struct omcc_error err = { 0 };
  const Omcc__V1__CacheAnswer *a;
  struct omcc *c;
  int status = cli_parse(cli, CLI_WORDS);

  if (status)
    return status;
  if (cli->n_words != 2)
    oc_finding_add(&cli->findings, OC_FINDING_OPERAND_MISSING, "explain --diff",
                   "operands",
                   "two finished jobs or two sets of flags: omcc explain --diff JOB JOB, "
                   "or omcc explain --diff -- <flags A> -- <flags B>",
                   NULL);
  if (oc_findings_have_errors(&cli->findings))
    return cli_refuse(cli, DIFF_SCHEMA, OMCC_REQUEST, "the command line is wrong");
  query.key = cli->words[0];
  query.other = cli->words[1];
  if (cli_connect(cli, OMCC_START_NEVER, &c, &err) < 0)
    return cli_fail(cli, DIFF_SCHEMA, &err);
  status = ask(cli, c, &query, &a);
  if (!status)
    status = compare(cli, c, a);
  omcc_close(c);
  return status;
}
