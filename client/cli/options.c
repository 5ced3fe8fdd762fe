/* The command line of a verb: flags, operands, how to show things. */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/str.h"
#include "cli/cli.h"

#define LEAST_WIDTH 40
#define UNCUT       100000

static unsigned terminal_width(int fd)
{
  const char *columns = getenv("COLUMNS");
  struct winsize size;
  uint64_t n;

  if (columns && oc_str_to_u64(oc_str_of(columns), &n) && n >= LEAST_WIDTH && n < 10000)
    return (unsigned)n;
  if (!ioctl(fd, TIOCGWINSZ, &size) && size.ws_col >= LEAST_WIDTH)
    return size.ws_col;
  return UNCUT; /* a pipe or a file: who reads that looks for whole names */
}

static bool wants_color(const struct cli *cli, int fd)
{
  const char *word = oc_flags_get(&cli->flags, "color");
  const char *term = getenv("TERM"), *none = getenv("NO_COLOR"),
             *force = getenv("FORCE_COLOR");

  if (word && strcmp(word, "auto"))
    return !strcmp(word, "always");
  if (none && *none)
    return false;
  if (force && *force && strcmp(force, "0"))
    return true;
  return isatty(fd) && term && strcmp(term, "dumb");
}

/* --lang, else what the environment says of messages. */
bool cli_wants_chinese(const struct cli *cli)
{
  static const char *const names[] = { "LC_ALL", "LC_MESSAGES", "LANG" };
  const char *word = oc_flags_get(&cli->flags, "lang");

  if (word && strcmp(word, "auto"))
    return !strcmp(word, "zh");
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    const char *value = getenv(names[i]);

    if (value && *value)
      return !strncmp(value, "zh", 2);
  }
  return false;
}

static void settle_style(struct cli *cli)
{
  bool wide = oc_flags_true(&cli->flags, "wide");
  bool zh = cli_wants_chinese(cli);

  cli->json = oc_flags_true(&cli->flags, "as_json");
  cli->quiet = oc_flags_true(&cli->flags, "quiet");
  cli->verbose = oc_flags_true(&cli->flags, "verbose");
  cli->err_is_terminal = isatty(STDERR_FILENO);
  cli->out_style = (struct oc_style){ .width = terminal_width(STDOUT_FILENO),
                                      .no_notes = cli->quiet,
                                      .wide = wide,
                                      .zh = zh,
                                      .color = wants_color(cli, STDOUT_FILENO),
                                      .places = &cli->places };
  cli->err_style = (struct oc_style){ .width = terminal_width(STDERR_FILENO),
                                      .no_notes = cli->quiet,
                                      .wide = wide,
                                      .zh = zh,
                                      .color = wants_color(cli, STDERR_FILENO),
                                      .places = &cli->places };
}

static void check_own_words(struct cli *cli)
{
  static const char *const names[] = { "backend", "color", "lang" };

  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    const struct oc_flag *flag = oc_flags_entry(&cli->flags, names[i]);
    struct oc_flags one;

    if (!flag)
      continue;
    oc_flags_init(&one, &cli->arena);
    if (!oc_flags_set(&one, flag->name, flag->value))
      oc_flags_check_own(&one, &cli->findings);
  }
}

int cli_parse(struct cli *cli, enum cli_parse how)
{
  struct oc_flags_options options = { .own = !cli->as_atc,
                                      .no_rules = how == CLI_WORDS,
                                      .no_output = how == CLI_NO_OUTPUT,
                                      .words = how == CLI_WORDS };
  struct oc_error err = { 0 };
  const char *env = getenv("OMCC_BACKEND");
  int rc = oc_flags_parse(cli->args, cli->n_args, &options, &cli->arena, &cli->flags,
                          &cli->words, &cli->n_words, &cli->findings, &err);

  settle_style(cli);
  if (rc < 0)
    return cli_refuse(cli, "omcc.error/1", OMCC_REQUEST, err.msg);
  cli->backend = oc_flags_get(&cli->flags, "backend");
  if (!cli->backend && env && *env)
    cli->backend = env;
  check_own_words(cli);
  return 0;
}
