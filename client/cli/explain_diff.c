/* omcc explain --diff -- <flags A> -- <flags B>: two requests that are explained now. */
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "cli/explain.h"

#define SCHEMA DIFF_SCHEMA

struct side {
  struct cli cli; /* shares the arena of the command's own */
  struct cli_job job;
};

/* The words of one side: our own flags, then that side's. */
static bool side_args(const struct cli *cli, size_t own, size_t from, size_t to,
                      struct cli *ret)
{
  const char **args = OC_NEW_N(&ret->arena, const char *, own + to - from + 1);

  if (!args)
    return false;
  for (size_t i = 0; i < own; i++)
    args[ret->n_args++] = cli->args[i];
  args[ret->n_args++] = "--";
  for (size_t i = from; i < to; i++)
    args[ret->n_args++] = cli->args[i];
  ret->args = args;
  return true;
}

static int begin(struct cli *cli, struct side *s, size_t own, size_t from, size_t to)
{
  int status;

  oc_arena_init(&s->cli.arena, 0);
  oc_findings_init(&s->cli.findings, &s->cli.arena);
  oc_flags_init(&s->cli.flags, &s->cli.arena);
  if (!side_args(cli, own, from, to, &s->cli))
    return OMCC_BUG;
  status = cli_parse(&s->cli, CLI_NO_OUTPUT);
  cli->json = s->cli.json;
  cli->quiet = s->cli.quiet;
  if (!status && oc_findings_have_errors(&s->cli.findings))
    status = cli_refuse(&s->cli, SCHEMA, OMCC_REQUEST, "the flags of one side are wrong");
  if (!status)
    status = cli_run_job(&s->cli, OMCC_EXPLAIN, OMCC_START_IF_MISSING, SCHEMA, &s->job);
  if (status)
    return status;
  cli_read_report(&s->job, true);
  if (!s->job.report)
    return cli_refuse(&s->cli, SCHEMA,
                      explain_status(&s->job) ? explain_status(&s->job) : OMCC_REQUEST,
                      "one side cannot be planned");
  return 0;
}

static void end(struct side *s)
{
  cli_close_job(&s->job);
  oc_arena_clear(&s->cli.arena);
}

/* ---- the requests */

static const char *value_of(const struct oc_flag_normal *list, size_t n, const char *name)
{
  for (size_t i = 0; i < n; i++)
    if (oc_streq(list[i].name, name))
      return list[i].value;
  return NULL;
}

static bool add_normal(struct side *a, struct side *b, struct oc_arena *arena,
                       struct diff_change *list, size_t room, size_t *n)
{
  struct oc_flag_normal *na, *nb;
  size_t n_a, n_b;

  if (oc_flags_normal(&a->cli.flags, arena, &na, &n_a) ||
      oc_flags_normal(&b->cli.flags, arena, &nb, &n_b))
    return false;
  for (size_t i = 0; i < n_a && *n < room; i++) {
    const char *other = value_of(nb, n_b, na[i].name);

    if (!oc_streq(na[i].value, other))
      list[(*n)++] = (struct diff_change){ na[i].name, na[i].value, other };
  }
  for (size_t i = 0; i < n_b && *n < room; i++)
    if (!value_of(na, n_a, nb[i].name))
      list[(*n)++] = (struct diff_change){ nb[i].name, NULL, nb[i].value };
  return true;
}

static const Omcc__V1__ListEntry *find_line(const Omcc__V1__Report *r,
                                            const Omcc__V1__ListEntry *e)
{
  for (size_t i = 0; i < r->n_lists; i++)
    if (oc_streq(r->lists[i]->flag, e->flag) && oc_streq(r->lists[i]->text, e->text))
      return r->lists[i];
  return NULL;
}

/* Lines of lists that only one side has. */
static void add_lines(const Omcc__V1__Report *of, const Omcc__V1__Report *other,
                      bool is_a, struct diff_change *list, size_t room, size_t *n)
{
  for (size_t i = 0; i < of->n_lists && *n < room; i++) {
    const Omcc__V1__ListEntry *e = of->lists[i];

    if (!find_line(other, e))
      list[(*n)++] =
          (struct diff_change){ e->flag, is_a ? e->text : NULL, is_a ? NULL : e->text };
  }
}

static struct diff_change *request_changes(struct side *a, struct side *b,
                                           struct oc_arena *arena, size_t *ret_n)
{
  const Omcc__V1__Report *ra = a->job.report, *rb = b->job.report;
  size_t n_flags, n = 0;
  size_t room = (oc_flag_table(&n_flags), n_flags) + a->cli.flags.n + b->cli.flags.n +
                ra->n_lists + rb->n_lists;
  struct diff_change *list = OC_NEW_N(arena, struct diff_change, room + 1);
  const char *model_a = oc_flags_get(&a->cli.flags, "model");
  const char *model_b = oc_flags_get(&b->cli.flags, "model");

  if (!list)
    return NULL;
  if (!oc_streq(model_a, model_b))
    list[n++] = (struct diff_change){ "model", model_a, model_b };
  if (!add_normal(a, b, arena, list, room, &n))
    return NULL;
  add_lines(ra, rb, true, list, room, &n);
  add_lines(rb, ra, false, list, room, &n);
  *ret_n = n;
  return list;
}

static int compare(struct cli *cli, struct side *a, struct side *b)
{
  size_t n = 0;
  struct diff_change *list = request_changes(a, b, &cli->arena, &n);

  if (!list)
    return cli_refuse(cli, SCHEMA, OMCC_BUG, "out of memory");
  return explain_show_diff(cli, list, n, a->job.report, b->job.report);
}

int explain_diff(struct cli *cli)
{
  struct side a = { .cli = { .as_atc = false } }, b = { .cli = { .as_atc = false } };
  size_t first = 0, second;
  int status;

  while (first < cli->n_args && strcmp(cli->args[first], "--"))
    first++;
  second = first + 1;
  while (second < cli->n_args && strcmp(cli->args[second], "--"))
    second++;
  if (second >= cli->n_args)
    return explain_diff_jobs(cli);
  status = begin(cli, &a, first, first + 1, second);
  if (!status)
    status = begin(cli, &b, first, second + 1, cli->n_args);
  if (!status)
    status = compare(cli, &a, &b);
  end(&b);
  end(&a);
  return status;
}
