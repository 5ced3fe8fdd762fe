/* omcc: which verb, then the verb. Called under the name `atc` there are no verbs, and
 * every failure ends with atc's own status. */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "cli/cli.h"

#define ATC_FAILURE 255

struct verb {
  const char *name;
  int (*run)(struct cli *cli);
};

static const struct verb verbs[] = {
  { "compile", verb_compile }, { "explain", verb_explain },
  { "status", verb_status },   { "cache", verb_cache },
  { "why", verb_why },         { "whence", verb_whence },
  { "inspect", verb_inspect }, { "daemon", verb_daemon },
  { "ops", verb_ops },         { "lint-lists", verb_lint_lists },
  { "help", verb_help },       { "version", verb_version },
};

static const char *base_name(const char *path)
{
  const char *slash = path ? strrchr(path, '/') : NULL;

  return slash ? slash + 1 : path ? path : "";
}

static int unknown_verb(struct cli *cli, const char *word)
{
  const char *names[sizeof(verbs) / sizeof(verbs[0])];
  const char *near;

  for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
    names[i] = verbs[i].name;
  near = oc_str_nearest(word, names, sizeof(names) / sizeof(names[0]));
  oc_finding_add(&cli->findings, OC_FINDING_VERB_UNKNOWN, word, "hint",
                 near ? oc_arena_printf(&cli->arena, "did you mean 'omcc %s'", near)
                      : "'omcc help' lists the commands",
                 NULL);
  return cli_refuse(cli, "omcc.error/1", OMCC_REQUEST, "unknown command");
}

/* Flags that every verb takes; NULL-terminated, those with a value end in '='. */
static const char *const global_flags[] = { "--json",   "--quiet", "--verbose", "--wide",
                                            "--color=", "--lang=", NULL };

/* How many words the flag takes that `args` begins with; 0: it is not one for all verbs.
 */
static size_t global_flag(const char *const *args, size_t n)
{
  for (size_t i = 0; global_flags[i]; i++) {
    size_t len = strlen(global_flags[i]);

    if (global_flags[i][len - 1] != '=') {
      if (oc_streq(args[0], global_flags[i]))
        return 1;
    } else if (!strncmp(args[0], global_flags[i], len)) {
      return 1;
    } else if (!strncmp(args[0], global_flags[i], len - 1) && !args[0][len - 1]) {
      return n > 1 ? 2 : 1;
    }
  }
  return 0;
}

/* `omcc --json status` is `omcc status --json`: flags for all verbs may stand in front of
 * one. A command line without a verb stays as it is: a compile. */
static void verb_to_front(struct cli *cli)
{
  const char **args;
  size_t at = 0, step = 1, n = 1;

  while (at < cli->n_args && step) {
    step = global_flag(cli->args + at, cli->n_args - at);
    at += step;
  }
  if (!at || at >= cli->n_args || cli->args[at][0] == '-')
    return;
  args = OC_NEW_N(&cli->arena, const char *, cli->n_args);
  if (!args)
    return;
  if (at + 1 < cli->n_args && cli->args[at + 1][0] != '-' &&
      (oc_streq(cli->args[at], "cache") || oc_streq(cli->args[at], "daemon")))
    n = 2; /* the verb is two words */
  memcpy(args, cli->args + at, n * sizeof(*args));
  memcpy(args + n, cli->args, at * sizeof(*args));
  memcpy(args + n + at, cli->args + at + n, (cli->n_args - at - n) * sizeof(*args));
  for (size_t i = 0; i < at; i++)
    cli->json |= oc_streq(cli->args[i], "--json");
  cli->args = args;
}

static int run(struct cli *cli, int argc, char **argv)
{
  const char *first;

  cli->args = (const char *const *)argv + 1;
  cli->n_args = argc > 1 ? (size_t)argc - 1 : 0;
  if (cli->as_atc)
    return verb_compile(cli);
  verb_to_front(cli);
  first = cli->n_args ? cli->args[0] : NULL;
  if (!first)
    return verb_help(cli);
  if (first[0] == '-')
    return verb_compile(cli);
  for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
    if (strcmp(first, verbs[i].name))
      continue;
    cli->args++;
    cli->n_args--;
    return verbs[i].run(cli);
  }
  return unknown_verb(cli, first);
}

int main(int argc, char **argv)
{
  struct cli cli = { .as_atc = oc_streq(base_name(argv[0]), "atc") };
  int status;

  oc_arena_init(&cli.arena, 0);
  oc_findings_init(&cli.findings, &cli.arena);
  oc_flags_init(&cli.flags, &cli.arena);
  status = run(&cli, argc, argv);
  oc_arena_clear(&cli.arena);
  if (cli_lost_output()) {
    fprintf(stderr, "omcc: FAILED environment: the output could not be written: %s\n",
            strerror(cli_lost_output()));
    status = status ? status : OMCC_ENVIRONMENT;
  }
  return cli.as_atc && status && status < 128 ? ATC_FAILURE : status;
}
