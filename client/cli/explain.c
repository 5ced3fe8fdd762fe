/* omcc explain -- <ATC flags>: what every operator would get and why, without a compile.
 */
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

#define SCHEMA "omcc.explain/1"

static void show_text(struct cli_job *j)
{
  struct cli *cli = j->cli;
  struct oc_buf text;

  cli_buf(&text);
  oc_render_findings(&cli->findings, &cli->out_style, &text);
  if (j->report) {
    oc_render_headline(j->report, &text);
    oc_render_lists(j->report, &cli->out_style, &text);
    oc_render_summary(j->report, &text);
    if (j->report->input_shape_hint && *j->report->input_shape_hint)
      oc_buf_printf(&text, "dynamic inputs, ready to fill in: --input_shape=\"%s\"\n",
                    j->report->input_shape_hint);
    oc_buf_putc(&text, '\n');
    oc_render_table(j->report, &cli->out_style, &text);
  }
  cli_out(STDOUT_FILENO, &text);
}

static void show_json(struct cli_job *j, int status)
{
  struct cli *cli = j->cli;
  struct oc_json_writer w;
  struct oc_buf text;

  cli_buf(&text);
  oc_json_writer_init(&w, &text, true);
  oc_render_json_begin(&w, SCHEMA, status, omcc_status_name(status), j->result->message,
                       &cli->findings, &cli->places);
  if (j->report)
    oc_render_json_report(&w, j->report, &cli->places);
  oc_render_json_end(&w);
  oc_buf_putc(&text, '\n');
  cli_out(STDOUT_FILENO, &text);
}

int verb_explain(struct cli *cli)
{
  struct cli_job j;
  int status = cli_parse(cli, CLI_NO_OUTPUT);

  if (status)
    return status;
  if (oc_flags_true(&cli->flags, "help"))
    return verb_help(cli);
  oc_flags_check_paths(&cli->flags, &cli->findings);
  if (oc_findings_have_errors(&cli->findings))
    return cli_refuse(cli, SCHEMA, OMCC_REQUEST, "the command line is wrong");
  status = cli_run_job(cli, OMCC_EXPLAIN, OMCC_START_IF_MISSING, SCHEMA, &j);
  if (!status) {
    cli_read_report(&j, true);
    status = j.result->status;
    if (!status && oc_findings_have_errors(&cli->findings))
      status = OMCC_REQUEST;
    if (cli->json)
      show_json(&j, status);
    else
      show_text(&j);
    if (status && *j.result->message)
      cli_note(cli, "FAILED %s: %s", omcc_status_name(status), j.result->message);
  }
  cli_close_job(&j);
  return status;
}
