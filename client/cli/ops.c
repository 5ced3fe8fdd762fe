/* omcc ops MODEL [--type=T]: the names and types of a model's ops and the list lines that
 * mean them. Needs no target. */
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "cli/cli.h"

#define SCHEMA "omcc.ops/1"

/* --framework from the file's name, unless it was given. */
static const char *framework_of(const char *path)
{
  if (oc_ends_with(path, ".pb"))
    return "3";
  if (oc_ends_with(path, ".prototxt"))
    return "0";
  if (oc_ends_with(path, ".air"))
    return "1";
  return "5";
}

static void show_json(struct cli_job *j, const char *type, int status)
{
  struct cli *cli = j->cli;
  struct oc_json_writer w;
  struct oc_buf text;

  cli_json_begin(cli, &w, &text, SCHEMA, status, j->result->message);
  oc_json_put_string(&w, "model", cli->words[0]);
  if (j->report)
    oc_render_json_names(&w, j->report, type);
  cli_json_end(&w, &text);
}

static void show_text(struct cli_job *j, const char *type)
{
  struct oc_buf text;

  cli_print_findings(j->cli);
  cli_buf(&text);
  if (j->report)
    oc_render_names(j->report, type, &text);
  cli_out(STDOUT_FILENO, &text);
}

int verb_ops(struct cli *cli)
{
  struct cli_job j;
  int status = cli_parse(cli, CLI_WORDS);
  const char *type;

  if (status)
    return status;
  if (cli->n_words != 1)
    oc_finding_add(&cli->findings, OC_FINDING_OPERAND_MISSING, "ops", "operands",
                   "one model file", NULL);
  if (oc_findings_have_errors(&cli->findings))
    return cli_refuse(cli, SCHEMA, OMCC_REQUEST, "the command line is wrong");
  type = oc_flags_get(&cli->flags, "type");
  if (oc_flags_set(&cli->flags, "model", cli->words[0]) ||
      (!oc_flags_get(&cli->flags, "framework") &&
       oc_flags_set(&cli->flags, "framework", framework_of(cli->words[0]))))
    return cli_refuse(cli, SCHEMA, OMCC_BUG, "out of memory");
  status = cli_run_job(cli, OMCC_OPS, OMCC_START_IF_MISSING, SCHEMA, &j);
  if (!status) {
    cli_read_report(&j, true);
    status = j.result->status;
    if (!status && oc_findings_have_errors(&cli->findings))
      status = OMCC_REQUEST;
    if (cli->json)
      show_json(&j, type, status);
    else
      show_text(&j, type);
    if (status)
      cli_note(cli, "FAILED %s: %s", omcc_status_name(status), j.result->message);
  }
  cli_close_job(&j);
  return status;
}
