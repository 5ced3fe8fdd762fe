/* omcc explain --diff -- <flags A> -- <flags B>: what differs in the two requests, then
 * which ops come out differently, by type. Status 1 when an op differs. */
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "cli/explain.h"

#define SCHEMA "omcc.diff/1"

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

struct change {
  const char *name, *a, *b; /* NULL: not given, or a default */
};

static const char *value_of(const struct oc_flag_normal *list, size_t n, const char *name)
{
  for (size_t i = 0; i < n; i++)
    if (oc_streq(list[i].name, name))
      return list[i].value;
  return NULL;
}

static bool add_normal(struct side *a, struct side *b, struct oc_arena *arena,
                       struct change *list, size_t room, size_t *n)
{
  struct oc_flag_normal *na, *nb;
  size_t n_a, n_b;

  if (oc_flags_normal(&a->cli.flags, arena, &na, &n_a) ||
      oc_flags_normal(&b->cli.flags, arena, &nb, &n_b))
    return false;
  for (size_t i = 0; i < n_a && *n < room; i++) {
    const char *other = value_of(nb, n_b, na[i].name);

    if (!oc_streq(na[i].value, other))
      list[(*n)++] = (struct change){ na[i].name, na[i].value, other };
  }
  for (size_t i = 0; i < n_b && *n < room; i++)
    if (!value_of(na, n_a, nb[i].name))
      list[(*n)++] = (struct change){ nb[i].name, NULL, nb[i].value };
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
                      bool is_a, struct change *list, size_t room, size_t *n)
{
  for (size_t i = 0; i < of->n_lists && *n < room; i++) {
    const Omcc__V1__ListEntry *e = of->lists[i];

    if (!find_line(other, e))
      list[(*n)++] =
          (struct change){ e->flag, is_a ? e->text : NULL, is_a ? NULL : e->text };
  }
}

static struct change *request_changes(struct side *a, struct side *b,
                                      struct oc_arena *arena, size_t *ret_n)
{
  const Omcc__V1__Report *ra = a->job.report, *rb = b->job.report;
  size_t n_flags, n = 0;
  size_t room = (oc_flag_table(&n_flags), n_flags) + a->cli.flags.n + b->cli.flags.n +
                ra->n_lists + rb->n_lists;
  struct change *list = OC_NEW_N(arena, struct change, room + 1);
  const char *model_a = oc_flags_get(&a->cli.flags, "model");
  const char *model_b = oc_flags_get(&b->cli.flags, "model");

  if (!list)
    return NULL;
  if (!oc_streq(model_a, model_b))
    list[n++] = (struct change){ "model", model_a, model_b };
  if (!add_normal(a, b, arena, list, room, &n))
    return NULL;
  add_lines(ra, rb, true, list, room, &n);
  add_lines(rb, ra, false, list, room, &n);
  *ret_n = n;
  return list;
}

/* ---- showing */

static void change_value(const char *value, struct oc_buf *out)
{
  if (value && *value)
    oc_render_plain(value, out);
  else
    oc_buf_puts(out, "(not given)");
}

static void show_text(const struct change *list, size_t n, const struct oc_diff *d)
{
  struct oc_buf text;

  cli_buf(&text);
  if (!n)
    oc_buf_puts(&text, "the requests do not differ\n");
  for (size_t i = 0; i < n; i++) {
    oc_buf_printf(&text, "--%s: ", list[i].name);
    change_value(list[i].a, &text);
    oc_buf_puts(&text, " -> ");
    change_value(list[i].b, &text);
    oc_buf_putc(&text, '\n');
  }
  oc_buf_putc(&text, '\n');
  oc_render_diff(d, &text);
  cli_out(STDOUT_FILENO, &text);
}

static void put_value(struct oc_json_writer *w, const char *key, const char *value)
{
  if (value)
    oc_json_put_string(w, key, value);
  else
    oc_json_put_null(w, key);
}

static void show_json(struct cli *cli, const struct change *list, size_t n,
                      const struct oc_diff *d)
{
  struct oc_json_writer w;
  struct oc_buf text;
  int status = d->n ? OMCC_DIFFERS : 0;

  cli_json_begin(cli, &w, &text, SCHEMA, status, d->n ? "the results differ" : "");
  oc_json_begin_array(&w, "request");
  for (size_t i = 0; i < n; i++) {
    oc_json_begin_object(&w, NULL);
    oc_json_put_string(&w, "name", list[i].name);
    put_value(&w, "a", list[i].a);
    put_value(&w, "b", list[i].b);
    oc_json_end_object(&w);
  }
  oc_json_end_array(&w);
  oc_render_json_diff(&w, d);
  cli_json_end(&w, &text);
}

static int compare(struct cli *cli, struct side *a, struct side *b)
{
  struct oc_diff d = { 0 };
  size_t n = 0;
  struct change *list = request_changes(a, b, &cli->arena, &n);

  if (!list || oc_render_compare(a->job.report, b->job.report, &cli->arena, &d))
    return cli_refuse(cli, SCHEMA, OMCC_BUG, "out of memory");
  if (cli->json)
    show_json(cli, list, n, &d);
  else
    show_text(list, n, &d);
  return d.n ? OMCC_DIFFERS : 0;
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
  if (second >= cli->n_args) {
    for (size_t i = 0; i < first; i++)
      cli->json = cli->json || oc_streq(cli->args[i], "--json");
    oc_finding_add(
        &cli->findings, OC_FINDING_OPERAND_MISSING, "explain --diff", "operands",
        "two sets of flags: omcc explain --diff -- <flags A> -- <flags B>", NULL);
    return cli_refuse(cli, SCHEMA, OMCC_REQUEST, "the command line is wrong");
  }
  status = begin(cli, &a, first, first + 1, second);
  if (!status)
    status = begin(cli, &b, first, second + 1, cli->n_args);
  if (!status)
    status = compare(cli, &a, &b);
  end(&b);
  end(&a);
  return status;
}
