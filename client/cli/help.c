/* omcc help, help flags, help findings: made from the same tables that everything else
 * reads. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

static const char general[] =
    "usage: omcc --model=FILE --framework=5 --soc_version=CHIP --output=PATH [flags of "
    "atc]\n"
    "       omcc explain [--wide] [--filter=F] [--op=NAME] [--json] -- <flags of atc>\n"
    "       omcc explain --diff JOB JOB | -- <flags A> -- <flags B>\n"
    "       omcc explain --lock=FILE | --check-lock=FILE -- <flags of atc>\n"
    "       omcc explain --list-socs\n"
    "       omcc lint-lists -- <flags of atc>\n"
    "       omcc ops [--type=T] MODEL\n"
    "       omcc why JOB | KEY | -- <flags of atc>\n"
    "       omcc whence FILE.om\n"
    "       omcc cache stats [--since TIME] | list | has -- <flags of atc>\n"
    "       omcc cache show KEY | get KEY -o FILE | pin KEY [--for TIME] | unpin KEY\n"
    "       omcc cache verify | rebuild | clear\n"
    "       omcc cache gc [--max SIZE] [--older-than TIME] [--toolkit VERSION] "
    "[--dry-run]\n"
    "       omcc cache export FILE [KEY] | import FILE\n"
    "       omcc inspect [--json | --display | --check-list=LIST] FILE.om\n"
    "       omcc status\n"
    "       omcc daemon start | stop [--now] | run [flags of omccd]\n"
    "       omcc help [flags | findings | status]\n"
    "\n"
    "Compiles a model to an .om file through a daemon that keeps results. Takes the "
    "flags\n"
    "of atc as they are; linked as `atc` it stands in for it. The summary line on "
    "stderr\n"
    "begins with `hit` or `miss`.\n"
    "\n"
    "Backends: atc drives an installed CANN toolkit; builtin needs none, resolves the\n"
    "precision of every operator and writes an .om without kernels, which no device "
    "runs.\n"
    "\n"
    "flags of omcc:\n";

static const char statuses[] =
    "  0 ok           done, the file is in place\n"
    "  1 differs      not cached (cache has); a difference (--diff, --check-lock,\n"
    "                 --check-list); something was found (lint-lists)\n"
    "  2 request      a flag, file, list or model is wrong\n"
    "  3 tool_failed  the vendor's compiler failed\n"
    "  4 environment  no toolkit, no space\n"
    "  5 oom          memory ran out\n"
    "  6 stopped      time limit, cancelled, drained\n"
    "  7 daemon       cannot be reached, or speaks another protocol\n"
    "  8 store        the cache cannot be used\n"
    " 70 bug          please report\n"
    "130, 143         interrupted, terminated\n"
    "under the name atc every failure is 255\n";

static void choices(const struct oc_flag_info *info, struct oc_buf *out)
{
  for (size_t i = 0; i < info->n_choices; i++)
    oc_buf_printf(out, "%s%s", i ? "|" : "=", info->choices[i]);
  if (!info->n_choices && *info->hint)
    oc_buf_printf(out, "=%s", info->hint);
}

void help_flags(struct oc_buf *out, bool ours)
{
  size_t n;
  const struct oc_flag_info *rows = oc_flag_table(&n);

  for (size_t i = 0; i < n; i++) {
    if (rows[i].ours != ours)
      continue;
    oc_buf_printf(out, "  --%s", rows[i].name);
    choices(&rows[i], out);
    oc_buf_printf(out, "\n      %s", rows[i].help);
    if (*rows[i].normal && rows[i].type != OC_FLAG_BOOL)
      oc_buf_printf(out, " (default %s)", rows[i].normal);
    oc_buf_putc(out, '\n');
  }
}

static void help_findings(struct oc_buf *out, bool zh)
{
  for (int id = 0; id < OC_FINDING_COUNT; id++) {
    const struct oc_finding_info *info = oc_finding_info((enum oc_finding_id)id);

    oc_buf_printf(out, "%s (%s%s%s)\n  %s\n", info->id, oc_severity_name(info->severity),
                  *info->vendor_code ? ", " : "", info->vendor_code,
                  zh && *info->text_zh ? info->text_zh : info->text);
    if (*info->fix)
      oc_buf_printf(out, "  fix: %s\n", zh && *info->fix_zh ? info->fix_zh : info->fix);
  }
}

int verb_help(struct cli *cli)
{
  const char *topic = cli->n_args && cli->args[0][0] != '-' ? cli->args[0] : "";
  struct oc_buf text;

  cli_buf(&text);
  if (!strcmp(topic, "flags") || cli->as_atc)
    help_flags(&text, false);
  else if (!strcmp(topic, "findings"))
    help_findings(&text, cli_wants_chinese(cli));
  else if (!strcmp(topic, "status"))
    oc_buf_puts(&text, statuses);
  else {
    oc_buf_puts(&text, general);
    help_flags(&text, true);
  }
  cli_out(STDOUT_FILENO, &text);
  return 0;
}

int verb_version(struct cli *cli)
{
  struct oc_buf text;

  (void)cli;
  cli_buf(&text);
  oc_buf_printf(&text, "omcc %s\n", OMCC_VERSION);
  cli_out(STDOUT_FILENO, &text);
  return 0;
}
