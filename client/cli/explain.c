/* omcc explain -- <ATC flags>: what every operator would get and why, without a compile.
 *
 * One report serves several questions: the whole table or some of its rows (--filter),
 * one op with all its reasons (--op), a lock file written or checked. Two reports:
 * --diff. When a list or a flag could not be read there is no report: it would show what
 * nobody asked for. */
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "cli/cli.h"
#include "cli/explain.h"

#define SCHEMA "omcc.explain/1"

/* Errors that are results about ops, although they name the list line that asked. */
static bool is_result(enum oc_finding_id id)
{
  return id == OC_FINDING_NO_ENGINE || id == OC_FINDING_NO_ENGINE_TYPE ||
         id == OC_FINDING_JUDGE_FAILED || id == OC_FINDING_CUSTOMIZE_NOTHING;
}

/* A list or a flag was refused, so the report does not follow it. */
static bool was_refused(const struct oc_findings *fs)
{
  for (size_t i = 0; i < fs->n; i++) {
    const struct oc_finding *f = &fs->items[i];

    if (*f->flag && oc_finding_info(f->id)->severity == OC_SEV_ERROR && !is_result(f->id))
      return true;
  }
  return false;
}

/* What is shown of a report. */
struct shown {
  const Omcc__V1__Op *op; /* --op */
  const char *filter;
  const Omcc__V1__Report *rows;
};

static void show_text(struct cli_job *j, const struct shown *s)
{
  struct cli *cli = j->cli;
  struct oc_buf text;

  cli_buf(&text);
  oc_render_findings(&cli->findings, &cli->out_style, &text);
  if (j->report) {
    oc_render_headline(j->report, &text);
    oc_render_lists(j->report, &cli->out_style, &text);
    oc_render_summary(j->report, &text);
    oc_render_totals(j->report, &text);
    if (j->report->input_shape_hint && *j->report->input_shape_hint)
      oc_buf_printf(&text, "dynamic inputs, ready to fill in: --input_shape=\"%s\"\n",
                    j->report->input_shape_hint);
    oc_buf_putc(&text, '\n');
    if (s->op)
      oc_render_chain(j->report, s->op, &cli->out_style, &text);
    else
      oc_render_table(s->rows, &cli->out_style, &text);
  }
  cli_out(STDOUT_FILENO, &text);
}

static void show_json(struct cli_job *j, const struct shown *s, int status)
{
  struct cli *cli = j->cli;
  struct oc_json_writer w;
  struct oc_buf text;

  cli_json_begin(cli, &w, &text, SCHEMA, status, j->result->message);
  if (j->report)
    oc_render_json_report(&w, j->report, s->rows, s->op != NULL, &cli->places);
  cli_json_end(&w, &text);
}

/* False: no op has the name. */
static bool pick(struct cli_job *j, struct shown *s)
{
  struct cli *cli = j->cli;
  const char *name = oc_flags_get(&cli->flags, "op");

  s->filter = oc_flags_get(&cli->flags, "filter");
  s->rows = j->report;
  if (!j->report || (!name && !s->filter))
    return true;
  if (name) {
    s->op = oc_render_op(j->report, name);
    if (!s->op) {
      const char *near = oc_render_nearest_op(j->report, name, &cli->arena);

      oc_finding_add(&cli->findings, OC_FINDING_EXPLAIN_OP_UNKNOWN, name, "hint",
                     near ? oc_arena_printf(&cli->arena, "write --op='%s'", near)
                          : "'omcc ops MODEL' lists the names",
                     NULL);
      return false;
    }
  }
  s->rows = oc_render_pick(j->report, s->filter, s->op, &cli->arena);
  return s->rows != NULL;
}

int explain_status(struct cli_job *j)
{
  if (j->result->status)
    return j->result->status;
  return oc_findings_have_errors(&j->cli->findings) ? OMCC_REQUEST : 0;
}

static int show(struct cli_job *j)
{
  struct cli *cli = j->cli;
  struct shown s = { NULL };
  bool found = pick(j, &s);
  int status = explain_status(j);

  if (!found)
    return cli_refuse(cli, SCHEMA, OMCC_REQUEST, "the model has no such op");
  if (cli->json)
    show_json(j, &s, status);
  else
    show_text(j, &s);
  if (status && *j->result->message)
    cli_note(cli, "FAILED %s: %s", omcc_status_name(status), j->result->message);
  return status;
}

static void check_words(struct cli *cli)
{
  const char *filter = oc_flags_get(&cli->flags, "filter");

  oc_flags_check_paths(&cli->flags, &cli->findings);
  if (filter && !oc_render_filter_ok(filter))
    oc_finding_add(&cli->findings, OC_FINDING_FILTER_BAD, filter, NULL);
}

/* Is one of our bool flags given before the flags of atc begin? */
static bool asks_for(const struct cli *cli, const char *flag)
{
  for (size_t i = 0; i < cli->n_args && strcmp(cli->args[i], "--"); i++) {
    const char *word = cli->args[i];

    while (*word == '-')
      word++;
    if (word == cli->args[i] || strlen(word) != strlen(flag))
      continue;
    size_t k = 0;
    while (flag[k] && (word[k] == flag[k] || (word[k] == '-' && flag[k] == '_')))
      k++;
    if (!flag[k])
      return true;
  }
  return false;
}

int verb_explain(struct cli *cli)
{
  struct cli_job j;
  int status;

  if (asks_for(cli, "list_socs"))
    return explain_list_socs(cli);
  if (asks_for(cli, "diff"))
    return explain_diff(cli);
  status = cli_parse(cli, CLI_NO_OUTPUT);
  if (status)
    return status;
  if (oc_flags_true(&cli->flags, "help"))
    return verb_help(cli);
  check_words(cli);
  if (oc_findings_have_errors(&cli->findings))
    return cli_refuse(cli, SCHEMA, OMCC_REQUEST, "the command line is wrong");
  status = cli_run_job(cli, OMCC_EXPLAIN, OMCC_START_IF_MISSING, SCHEMA, &j);
  if (!status) {
    cli_read_report(&j, true);
    cli_write_dumps(&j);
    if (was_refused(&cli->findings))
      j.report = NULL;
    if (oc_flags_get(&cli->flags, "lock"))
      status = explain_lock(&j, oc_flags_get(&cli->flags, "lock"));
    else if (oc_flags_get(&cli->flags, "check_lock"))
      status = explain_check_lock(&j, oc_flags_get(&cli->flags, "check_lock"));
    else
      status = show(&j);
  }
  cli_close_job(&j);
  return status;
}
