/* Turns schema/flags.yaml into the C table of proto/flags.
 *
 * The file is two sequences, `atc` and `omcc`, of mappings whose values are scalars or
 * sequences of scalars. The generator walks libyaml's events, keeps one entry at a time
 * and prints it as an initialiser; anything it does not know is an error with its line,
 * so that a misspelt key cannot be lost. */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#define MAX_WORDS 16 /* the longest enumeration has nine words */

struct entry {
  char *name, *type, *normal, *hint, *help, *key, *because, *path, *builtin, *code;
  char *choices[MAX_WORDS];
  size_t n_choices;
  char *required[MAX_WORDS];
  size_t n_required;
  bool first, blanks, uncached, executes;
};

struct gen {
  yaml_parser_t parser;
  const char *in_path;
  FILE *out;
  size_t n; /* entries so far */
};

struct word {
  const char *yaml, *c;
};

static const struct word types[] = { { "bool", "OC_FLAG_BOOL" },
                                     { "int", "OC_FLAG_INT" },
                                     { "string", "OC_FLAG_STRING" } };
static const struct word keys[] = { { "value", "OC_FLAG_KEY_VALUE" },
                                    { "content", "OC_FLAG_KEY_CONTENT" },
                                    { "name", "OC_FLAG_KEY_NAME" },
                                    { "neutral", "OC_FLAG_KEY_NEUTRAL" },
                                    { "reject", "OC_FLAG_KEY_REJECT" } };
static const struct word paths[] = { { "", "OC_FLAG_NOT_A_PATH" },
                                     { "file", "OC_FLAG_FILE" },
                                     { "list", "OC_FLAG_LIST" },
                                     { "dir", "OC_FLAG_DIR" },
                                     { "out", "OC_FLAG_OUT_PATH" } };
static const struct word builtins[] = { { "effect", "OC_FLAG_EFFECT" },
                                        { "none", "OC_FLAG_NONE" },
                                        { "refuse", "OC_FLAG_REFUSE" } };

static _Noreturn void fail(const struct gen *g, const yaml_event_t *ev, const char *fmt,
                           ...) __attribute__((format(printf, 3, 4)));

static _Noreturn void fail(const struct gen *g, const yaml_event_t *ev, const char *fmt,
                           ...)
{
  va_list ap;

  fprintf(stderr, "%s:%zu: ", g->in_path, ev ? ev->start_mark.line + 1 : 0);
  va_start(ap, fmt);
  vfprintf(stderr, fmt, ap);
  va_end(ap);
  fputc('\n', stderr);
  exit(1);
}

static void next(struct gen *g, yaml_event_t *ev)
{
  if (!yaml_parser_parse(&g->parser, ev)) {
    fprintf(stderr, "%s:%zu: %s\n", g->in_path, g->parser.problem_mark.line + 1,
            g->parser.problem ? g->parser.problem : "cannot be read");
    exit(1);
  }
}

static char *scalar(struct gen *g, const yaml_event_t *ev)
{
  char *s;

  if (ev->type != YAML_SCALAR_EVENT)
    fail(g, ev, "a word is expected here");
  s = strdup((const char *)ev->data.scalar.value);
  if (!s)
    fail(g, ev, "out of memory");
  return s;
}

static size_t words(struct gen *g, char **ret)
{
  yaml_event_t ev;
  size_t n = 0;

  next(g, &ev);
  if (ev.type != YAML_SEQUENCE_START_EVENT)
    fail(g, &ev, "a list is expected here");
  for (;;) {
    yaml_event_delete(&ev);
    next(g, &ev);
    if (ev.type == YAML_SEQUENCE_END_EVENT)
      break;
    if (n == MAX_WORDS)
      fail(g, &ev, "more than %d words", MAX_WORDS);
    ret[n++] = scalar(g, &ev);
  }
  yaml_event_delete(&ev);
  return n;
}

static const char *lookup(struct gen *g, const struct entry *e, const struct word *w,
                          size_t n, const char *value)
{
  for (size_t i = 0; i < n; i++)
    if (!strcmp(w[i].yaml, value ? value : ""))
      return w[i].c;
  fprintf(stderr, "%s: flag '%s': unknown word '%s'\n", g->in_path, e->name,
          value ? value : "(nothing)");
  exit(1);
}

static void string(FILE *f, const char *s)
{
  fputc('"', f);
  for (; s && *s; s++) {
    if (*s == '"' || *s == '\\')
      fputc('\\', f);
    fputc(*s, f);
  }
  fputc('"', f);
}

#define LOOKUP(g, e, list, value)                                                        \
  lookup(g, e, list, sizeof(list) / sizeof((list)[0]), value)

static void print_entry(struct gen *g, const struct entry *e, bool ours)
{
  if (!e->name || !e->help)
    fail(g, NULL, "an entry without name or help");
  if (e->key && !strcmp(e->key, "neutral") && !e->because) {
    fprintf(stderr, "%s: flag '%s' is neutral without 'because'\n", g->in_path, e->name);
    exit(1);
  }
  fprintf(g->out, "  { .name = \"%s\", .type = %s,\n    .normal = ", e->name,
          LOOKUP(g, e, types, e->type));
  string(g->out, e->normal);
  if (e->n_choices) {
    fprintf(g->out, ",\n    .choices = (const char *const[]){ ");
    for (size_t i = 0; i < e->n_choices; i++) {
      string(g->out, e->choices[i]);
      fputs(", ", g->out);
    }
    fprintf(g->out, "}, .n_choices = %zu", e->n_choices);
  }
  fprintf(g->out, ",\n    .hint = ");
  string(g->out, e->hint);
  fprintf(g->out, ", .help = ");
  string(g->out, e->help);
  fprintf(g->out, ",\n    .key = %s, .key_reason = ", LOOKUP(g, e, keys, e->key));
  string(g->out, e->because);
  fprintf(g->out, ",\n    .content = %s, .builtin = %s, .vendor_code = ",
          LOOKUP(g, e, paths, e->path), LOOKUP(g, e, builtins, e->builtin));
  string(g->out, e->code);
  fprintf(g->out, ",\n    .required_modes = 0");
  for (size_t i = 0; i < e->n_required; i++)
    fprintf(g->out, " | OC_FLAG_MODE(%s)", e->required[i]);
  fprintf(
      g->out,
      ", .ours = %d, .first_wins = %d, .blanks = %d, .executes = %d, .uncached = %d },\n",
      ours, e->first, e->blanks, e->executes, e->uncached);
  g->n++;
}

static void free_entry(struct entry *e)
{
  char *all[] = { e->name, e->type,    e->normal, e->hint,    e->help,
                  e->key,  e->because, e->path,   e->builtin, e->code };

  for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
    free(all[i]);
  for (size_t i = 0; i < e->n_choices; i++)
    free(e->choices[i]);
  for (size_t i = 0; i < e->n_required; i++)
    free(e->required[i]);
}

static void value_of(struct gen *g, struct entry *e, const char *key,
                     const yaml_event_t *at)
{
  const struct {
    const char *name;
    char **text;
    bool *flag;
  } known[] = { { "name", &e->name, NULL },         { "type", &e->type, NULL },
                { "normal", &e->normal, NULL },     { "hint", &e->hint, NULL },
                { "help", &e->help, NULL },         { "key", &e->key, NULL },
                { "because", &e->because, NULL },   { "path", &e->path, NULL },
                { "builtin", &e->builtin, NULL },   { "code", &e->code, NULL },
                { "first", NULL, &e->first },       { "blanks", NULL, &e->blanks },
                { "uncached", NULL, &e->uncached }, { "executes", NULL, &e->executes } };
  yaml_event_t ev;

  if (!strcmp(key, "choices")) {
    e->n_choices = words(g, e->choices);
    return;
  }
  if (!strcmp(key, "required")) {
    e->n_required = words(g, e->required);
    return;
  }
  for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
    char *s;

    if (strcmp(key, known[i].name))
      continue;
    next(g, &ev);
    s = scalar(g, &ev);
    yaml_event_delete(&ev);
    if (known[i].text) {
      free(*known[i].text);
      *known[i].text = s;
    } else {
      *known[i].flag = !strcmp(s, "true");
      free(s);
    }
    return;
  }
  fail(g, at, "unknown key '%s'", key);
}

static void one_entry(struct gen *g, bool ours)
{
  struct entry e = { 0 };
  yaml_event_t ev;

  for (;;) {
    char *key;

    next(g, &ev);
    if (ev.type == YAML_MAPPING_END_EVENT)
      break;
    key = scalar(g, &ev);
    value_of(g, &e, key, &ev);
    free(key);
    yaml_event_delete(&ev);
  }
  yaml_event_delete(&ev);
  print_entry(g, &e, ours);
  free_entry(&e);
}

static void one_list(struct gen *g, bool ours)
{
  yaml_event_t ev;

  next(g, &ev);
  if (ev.type != YAML_SEQUENCE_START_EVENT)
    fail(g, &ev, "a list of flags is expected here");
  for (;;) {
    yaml_event_delete(&ev);
    next(g, &ev);
    if (ev.type == YAML_SEQUENCE_END_EVENT)
      break;
    if (ev.type != YAML_MAPPING_START_EVENT)
      fail(g, &ev, "a flag is expected here");
    one_entry(g, ours);
  }
  yaml_event_delete(&ev);
}

static void whole_file(struct gen *g)
{
  yaml_event_t ev;
  bool more = true;

  while (more) {
    next(g, &ev);
    if (ev.type == YAML_SCALAR_EVENT) {
      bool ours = !strcmp((const char *)ev.data.scalar.value, "omcc");

      if (!ours && strcmp((const char *)ev.data.scalar.value, "atc"))
        fail(g, &ev, "unknown section '%s'", (const char *)ev.data.scalar.value);
      one_list(g, ours);
    }
    more = ev.type != YAML_STREAM_END_EVENT;
    yaml_event_delete(&ev);
  }
}

int main(int argc, char **argv)
{
  struct gen g = { 0 };
  FILE *in;

  if (argc != 3) {
    fprintf(stderr, "usage: %s flags.yaml table.c\n", argv[0]);
    return 2;
  }
  g.in_path = argv[1];
  in = fopen(argv[1], "re");
  g.out = fopen(argv[2], "we");
  if (!in || !g.out || !yaml_parser_initialize(&g.parser)) {
    fprintf(stderr, "%s: cannot open '%s' or '%s': %s\n", argv[0], argv[1], argv[2],
            strerror(errno));
    return 1;
  }
  yaml_parser_set_input_file(&g.parser, in);
  fputs("/* Made from schema/flags.yaml by flags_gen. */\n#include "
        "\"flags/flags_internal.h\"\n\n"
        "const struct oc_flag_info oc_flag_rows[] = {\n",
        g.out);
  whole_file(&g);
  fprintf(g.out, "};\nconst size_t oc_flag_n_rows = %zu;\n", g.n);
  yaml_parser_delete(&g.parser);
  fclose(in);
  return fclose(g.out) ? 1 : 0;
}
