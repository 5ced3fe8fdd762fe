/* omcc lint-lists -- <ATC flags>: what is wrong with the precision lists of a request,
 * and nothing else. Status 1 when something was found, 0 for clean lists. */
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "cli/cli.h"

#define SCHEMA "omcc.lint-lists/1"

static const char *const list_flags[] = { "keep_dtype", "customize_dtypes",
                                          "modify_mixlist", "op_precision_mode" };
#define N_LISTS (sizeof(list_flags) / sizeof(list_flags[0]))

/* About a list itself, not about what became of an op that a good line names. */
static bool about_lists(const struct oc_finding *f)
{
  if (f->id == OC_FINDING_KEEP_RAISED || f->id == OC_FINDING_AICPU_FALLBACK)
    return false;
  if (f->severity == OC_SEV_ERROR)
    return true;
  for (size_t i = 0; i < N_LISTS; i++)
    if (oc_streq(f->flag, list_flags[i]))
      return true;
  return false;
}

static void only_lists(struct cli *cli)
{
  size_t n = 0;

  for (size_t i = 0; i < cli->findings.n; i++)
    if (about_lists(&cli->findings.items[i]))
      cli->findings.items[n++] = cli->findings.items[i];
  cli->findings.n = n;
}

static void show(struct cli_job *j, int status)
{
  struct cli *cli = j->cli;
  struct oc_json_writer w;
  struct oc_buf text;

  if (cli->json) {
    cli_json_begin(cli, &w, &text, SCHEMA, status,
                   status ? "the lists are not clean" : "");
    if (j->report)
      oc_render_json_lists(&w, j->report, &cli->places);
    cli_json_end(&w, &text);
    return;
  }
  cli_buf(&text);
  oc_render_findings(&cli->findings, &cli->out_style, &text);
  if (j->report)
    oc_render_lists(j->report, &cli->out_style, &text);
  cli_out(STDOUT_FILENO, &text);
}

static int lint(struct cli_job *j)
{
  struct cli *cli = j->cli;
  int status = j->result->status;

  if (status && status != OMCC_REQUEST)
    return cli_refuse(cli, SCHEMA, status, j->result->message);
  if (!j->report)
    return cli_refuse(cli, SCHEMA, OMCC_REQUEST, "the model cannot be planned");
  only_lists(cli);
  status = cli->findings.n ? OMCC_DIFFERS : 0;
  show(j, status);
  return status;
}

int verb_lint_lists(struct cli *cli)
{
  struct cli_job j;
  bool any = false;
  int status = cli_parse(cli, CLI_NO_OUTPUT);

  if (status)
    return status;
  for (size_t i = 0; i < N_LISTS; i++)
    any = any || oc_flags_get(&cli->flags, list_flags[i]);
  if (!any)
    oc_finding_add(&cli->findings, OC_FINDING_OPERAND_MISSING, "lint-lists", "operands",
                   "flags of atc with a list: omcc lint-lists -- --model=... "
                   "--keep_dtype=FILE",
                   NULL);
  if (oc_findings_have_errors(&cli->findings))
    return cli_refuse(cli, SCHEMA, OMCC_REQUEST, "the command line is wrong");
  status = cli_run_job(cli, OMCC_EXPLAIN, OMCC_START_IF_MISSING, SCHEMA, &j);
  if (!status) {
    cli_read_report(&j, true);
    status = lint(&j);
  }
  cli_close_job(&j);
  return status;
}
