/* Words of a command line into flags.
 *
 * The language is the vendor's (getopt_long with prefixes), with two differences that
 * cannot change the meaning of a right command line: a flag whose value would be the next
 * flag is a mistake here, and everything that is wrong is told at once. Our own flags may
 * stand among ATC's under the name `omcc`; `--json` is both ATC's (with a path) and ours
 * (without), told apart by whether a value follows; behind `--` it is always ATC's. */
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/str.h"
#include "flags/flags_internal.h"

#define OWN_PREFIX "omcc_"
/* Names longer than this are no flag of anybody. */
#define MAX_NAME 128

struct parser {
  const char *const *argv;
  size_t n, i;
  const struct oc_flags_options *options;
  struct oc_arena *arena;
  struct oc_flags *flags;
  struct oc_findings *findings;
  const char **words;
  size_t n_words;
  bool behind_dashes; /* `--` was seen */
  const char
      *empty_before; /* the flag whose value was empty, when it was the word before */
};

/* A word of the command line taken apart. */
struct option {
  char name[MAX_NAME]; /* '-' already '_' */
  const char *value;   /* behind '=', NULL when there is none */
};

static bool is_option(const char *word)
{
  return word[0] == '-' && word[1] != '\0' && strcmp(word, "--") != 0;
}

static bool take_apart(const char *word, struct option *ret)
{
  const char *name = word + (word[1] == '-' ? 2 : 1);
  const char *eq = strchr(name, '=');
  size_t len = eq ? (size_t)(eq - name) : strlen(name);

  if (len >= MAX_NAME)
    return false;
  for (size_t i = 0; i < len; i++)
    ret->name[i] = name[i] == '-' ? '_' : name[i];
  ret->name[len] = '\0';
  ret->value = eq ? eq + 1 : NULL;
  return true;
}

/* True when the word is an option that the table knows: then it is no value of another.
 */
static bool is_known_option(const struct parser *p, const char *word)
{
  const struct oc_flag_info *info;
  char names[256];
  struct option o;

  if (!is_option(word) || word[1] != '-' || !take_apart(word, &o))
    return false;
  return oc_flag_resolve(o.name, &info, names, sizeof(names)) == OC_FLAG_ONE_MATCH ||
         (p->options->own && oc_flag_find_own(o.name));
}

/* Our flag for this word, NULL when it is ATC's or nobody's. */
static const struct oc_flag_info *own_flag(const struct parser *p, const struct option *o)
{
  const char *next = p->i + 1 < p->n ? p->argv[p->i + 1] : NULL;

  if (oc_starts_with(o->name, OWN_PREFIX))
    return oc_flag_find_own(o->name + strlen(OWN_PREFIX));
  if (!p->options->own)
    return NULL;
  /* Also names (or beginnings of names) of ATC's flags, which take a value there. */
  if (!strcmp(o->name, "json") || !strcmp(o->name, "display")) {
    bool bare = !o->value && (!next || next[0] == '-' || p->options->words);

    if (!bare || p->behind_dashes)
      return NULL;
    return oc_flag_find_own(o->name[0] == 'j' ? "as_json" : "as_display");
  }
  return oc_flag_find_own(o->name);
}

static void say_unambiguous(struct parser *p, const char *name, const char *names)
{
  oc_finding_add(p->findings, OC_FINDING_FLAG_AMBIGUOUS, name, "names", names, NULL);
}

/* The value of the option at p->i: behind '=', the next word, or none. */
static int value_of(struct parser *p, const struct option *o, struct oc_flag *flag)
{
  const char *next = p->i + 1 < p->n ? p->argv[p->i + 1] : NULL;
  bool is_bool = flag->info && flag->info->type == OC_FLAG_BOOL;
  const char *value = o->value;

  if (!value && !is_bool && next && strcmp(next, "--") != 0 &&
      (flag->info ? !is_known_option(p, next) : next[0] != '-')) {
    value = next;
    flag->from_next = true;
    p->i++;
  }
  if (!value) {
    if (flag->info && !is_bool) {
      oc_finding_add(p->findings, OC_FINDING_FLAG_NO_VALUE, flag->name, NULL)->flag =
          flag->name;
      return 0;
    }
    flag->bare = true;
    value = "true";
  }
  flag->value = value;
  if (oc_flag_trap(flag, p->findings))
    p->empty_before = *value ? NULL : flag->name;
  flag->value = oc_flag_clean(value, flag->info && flag->info->blanks, p->arena);
  return flag->value ? oc_flags_put(p->flags, flag) : OC_E_NOMEM;
}

static int parse_option(struct parser *p, const char *word)
{
  struct oc_flag flag = { 0 };
  struct option o;
  char names[256];

  if (!take_apart(word, &o)) {
    oc_finding_add(p->findings, OC_FINDING_WORD_STRAY, word, NULL);
    return 0;
  }
  if (!strcmp(o.name, "h"))
    snprintf(o.name, sizeof(o.name), "help");
  flag.info = own_flag(p, &o);
  if (!flag.info &&
      oc_flag_resolve(o.name, &flag.info, names, sizeof(names)) == OC_FLAG_SEVERAL) {
    say_unambiguous(p, o.name, names);
    return 0;
  }
  flag.name = flag.info ? flag.info->name : oc_arena_strdup(p->arena, o.name);
  if (!flag.name)
    return OC_E_NOMEM;
  return value_of(p, &o, &flag);
}

static void parse_word(struct parser *p, const char *word, const char *empty_before)
{
  if (oc_flag_only_blanks(word)) {
    oc_finding_add(p->findings, OC_FINDING_WORD_BLANK, word, NULL);
  } else if (empty_before) {
    /* `--model= m.onnx`: the finding about the empty value says it all */
  } else if (p->options->words && !p->behind_dashes) {
    p->words[p->n_words++] = word;
  } else {
    oc_finding_add(p->findings, OC_FINDING_WORD_STRAY, word, NULL);
  }
}

static int parse_all(struct parser *p)
{
  for (p->i = 0; p->i < p->n; p->i++) {
    const char *word = p->argv[p->i];
    const char *empty_before = p->empty_before;

    p->empty_before = NULL;
    if (!strcmp(word, "--") && !p->behind_dashes) {
      p->behind_dashes = true;
    } else if (is_option(word)) {
      int r = parse_option(p, word);

      if (r < 0)
        return r;
    } else {
      parse_word(p, word, empty_before);
    }
  }
  return 0;
}

int oc_flags_parse(const char *const *argv, size_t n,
                   const struct oc_flags_options *options, struct oc_arena *arena,
                   struct oc_flags *ret, const char ***ret_words, size_t *ret_n_words,
                   struct oc_findings *findings, struct oc_error *err)
{
  struct parser p = { .argv = argv,
                      .n = n,
                      .options = options,
                      .arena = arena,
                      .flags = ret,
                      .findings = findings };
  int r;

  if (n > OC_MAX_ARGS)
    return oc_error_set(err, OC_E_LIMIT, "%zu words on the command line, %d are allowed",
                        n, OC_MAX_ARGS);
  oc_flags_init(ret, arena);
  p.words = OC_NEW_N(arena, const char *, n + 1);
  if (!p.words)
    return oc_error_set(err, OC_E_NOMEM, "no memory for the command line");
  r = parse_all(&p);
  if (r < 0 || arena->failed)
    return oc_error_set(err, OC_E_NOMEM, "no memory for the command line");
  for (size_t i = 0; i < ret->n; i++)
    oc_flag_check_type(&ret->items[i], findings);
  if (!options->no_rules && !oc_flags_true(ret, "help") && !oc_flags_true(ret, "version"))
    oc_flags_rules(ret, !options->no_output, findings);
  if (ret_words) {
    *ret_words = p.words;
    *ret_n_words = p.n_words;
  }
  return 0;
}
