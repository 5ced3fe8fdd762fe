/* The words of the cache's verbs: sizes, ages, a file. They are no flags of a compile, so
 * they are taken out before the flags are parsed. */
#include <string.h>

#include "base/str.h"
#include "cli/entries.h"

enum word_kind { WORD_TEXT, WORD_SIZE, WORD_AGE, WORD_SWITCH };

/* A number and its unit, as a factor; 0 when it is none. */
static uint64_t factor_of(const char *unit, enum word_kind kind)
{
  static const struct {
    enum word_kind kind;
    const char *unit;
    uint64_t factor;
  } units[] = {
    { WORD_SIZE, "", 1 },           { WORD_SIZE, "K", 1u << 10 },
    { WORD_SIZE, "M", 1u << 20 },   { WORD_SIZE, "G", 1u << 30 },
    { WORD_SIZE, "T", 1ull << 40 }, { WORD_AGE, "s", 1 },
    { WORD_AGE, "min", 60 },        { WORD_AGE, "h", 3600 },
    { WORD_AGE, "d", 86400 },       { WORD_AGE, "w", 604800 },
  };

  for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
    if (units[i].kind == kind && !strcmp(units[i].unit, unit))
      return units[i].factor;
  return 0;
}

static bool read_number(const char *text, enum word_kind kind, uint64_t *ret)
{
  size_t digits = strspn(text, "0123456789");
  uint64_t factor = factor_of(text + digits, kind), n;

  if (!factor || !oc_str_to_u64((struct oc_str){ text, digits }, &n) ||
      n > UINT64_MAX / factor)
    return false;
  *ret = n * factor;
  return true;
}

struct word {
  const char *name;
  enum word_kind kind;
  const char **text;
  uint64_t *number;
  bool *given;
};

/* 0 taken, 1 not one of ours, else an exit status. */
static int take(struct cli *cli, const struct word *words, size_t n, size_t *at)
{
  const char *arg = cli->args[*at];
  char name[64];
  size_t len = strcspn(arg, "=");

  if (arg[0] != '-' || len >= sizeof(name))
    return 1;
  for (size_t i = 0; i <= len; i++)
    name[i] = i == len ? '\0' : i > 1 && arg[i] == '_' ? '-' : arg[i];
  for (size_t i = 0; i < n; i++) {
    const struct word *w = &words[i];
    const char *value = arg[len] ? arg + len + 1 : NULL;

    if (strcmp(w->name, name))
      continue;
    if (w->given)
      *w->given = true;
    if (w->kind == WORD_SWITCH)
      return 0;
    if (!value && *at + 1 < cli->n_args)
      value = cli->args[++*at];
    if (value && w->kind == WORD_TEXT)
      *w->text = value;
    else if (!value || !read_number(value, w->kind, w->number))
      return cli_refuse(cli, CARE_SCHEMA, OMCC_REQUEST,
                        oc_arena_printf(&cli->arena, "'%s' wants %s", name,
                                        w->kind == WORD_SIZE  ? "a size such as 20G"
                                        : w->kind == WORD_AGE ? "a time such as 12h or 7d"
                                                              : "a value"));
    return 0;
  }
  return 1;
}

int care_take_words(struct cli *cli, struct care_words *ret)
{
  const struct word words[] = {
    { "-o", WORD_TEXT, &ret->output, NULL, NULL },
    { "--output", WORD_TEXT, &ret->output, NULL, NULL },
    { "--toolkit", WORD_TEXT, &ret->toolkit, NULL, NULL },
    { "--max", WORD_SIZE, NULL, &ret->max_bytes, &ret->has_max },
    { "--older-than", WORD_AGE, NULL, &ret->older_than_s, NULL },
    { "--since", WORD_AGE, NULL, &ret->since_s, NULL },
    { "--for", WORD_AGE, NULL, &ret->pin_s, NULL },
    { "--dry-run", WORD_SWITCH, NULL, NULL, &ret->dry_run },
  };
  const char **rest = OC_NEW_N(&cli->arena, const char *, cli->n_args + 1);
  size_t n = 0;

  if (!rest)
    return cli_refuse(cli, CARE_SCHEMA, OMCC_BUG, "no memory");
  for (size_t i = 0; i < cli->n_args; i++) {
    int status = 1;

    if (!strcmp(cli->args[i], "--")) {
      while (i < cli->n_args)
        rest[n++] = cli->args[i++];
      break;
    }
    status = take(cli, words, sizeof(words) / sizeof(words[0]), &i);
    if (status > 1)
      return status;
    if (status == 1)
      rest[n++] = cli->args[i];
  }
  cli->args = rest;
  cli->n_args = n;
  return 0;
}
