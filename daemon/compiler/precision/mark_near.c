/* The nearest right line for one that names nothing.
 *
 * In this order: a slip in the prefix, the framework's type instead of the IR type, upper
 * and lower case, a type without its prefix, a tensor's or weight's name, several names
 * or a comment in one line, the edit distance, and a name behind fusion or expansion that
 * still holds an original name. */
#include "precision_internal.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define FLAG "keep_dtype"
/* Shorter names occur inside others by chance. */
#define MIN_PART 4u
/* Ops that a name behind fusion is said to cover. */
#define MAX_COVERED     4u
#define MAX_TYPES_SHOWN 12u

struct oc_mark_index {
  struct oc_arena *a;
  const char **names; /* op names and original names */
  uint32_t n_names;
  const char **types; /* of ops that compute */
  uint32_t n_types;
  struct oc_map by_type;      /* IR type -> any pointer */
  struct oc_map by_source;    /* framework type -> IR type */
  struct oc_map initializers; /* constant's name in the model -> op that reads it */
  const char *framework;
};

static int add_op(struct oc_mark_index *ix, const struct oc_op *op)
{
  int rc = 0;

  ix->names[ix->n_names++] = op->name;
  for (uint32_t i = 0; i < op->n_origin_names; i++)
    ix->names[ix->n_names++] = op->origin_names[i];
  if (!oc_map_gets(&ix->by_type, op->type)) {
    if (!oc_op_is_const(op) && !oc_op_is_input(op) && !oc_op_is(op, "NetOutput"))
      ix->types[ix->n_types++] = op->type;
    rc = oc_map_puts(&ix->by_type, op->type, (void *)(uintptr_t)op->type);
  }
  /* a piece that only helps (a generated Const or Cast) does not speak for its source
   * type */
  bool helper = oc_op_is_const(op) || (op->n_origin_names && oc_op_is(op, "Cast"));
  if (!rc && op->source_type && *op->source_type && !helper &&
      !oc_map_gets(&ix->by_source, op->source_type))
    rc = oc_map_puts(&ix->by_source, op->source_type, (void *)(uintptr_t)op->type);
  return rc;
}

/* "<name>_Initializer_<i>" -> "<name>". */
static int add_weights(struct oc_mark_index *ix, const struct oc_op *op)
{
  static const char mark[] = "_Initializer_";

  for (uint32_t i = 0; i < op->n_inputs; i++) {
    const struct oc_op *from = op->inputs[i].from;
    const char *at = from && oc_op_is_const(from) ? strstr(from->name, mark) : NULL;
    if (!at)
      continue;
    const char *name = oc_arena_strndup(ix->a, from->name, (size_t)(at - from->name));
    if (!name || oc_map_puts(&ix->initializers, name, (void *)(uintptr_t)op->name))
      return OC_E_NOMEM;
  }
  return 0;
}

struct oc_mark_index *oc_mark_index_new(struct oc_arena *a,
                                        struct oc_graph *const *graphs, uint32_t n)
{
  struct oc_mark_index *ix = OC_NEW(a, struct oc_mark_index);
  uint32_t n_names = 0, n_ops = 0;

  for (uint32_t g = 0; g < n; g++)
    for (uint32_t i = 0; i < graphs[g]->n_ops; i++) {
      n_names += 1 + graphs[g]->ops[i]->n_origin_names;
      n_ops++;
    }
  if (!ix)
    return NULL;
  ix->a = a;
  ix->framework = n && graphs[0]->model_format && *graphs[0]->model_format
                      ? graphs[0]->model_format
                      : "source";
  ix->names = OC_NEW_N(a, const char *, n_names);
  ix->types = OC_NEW_N(a, const char *, n_ops);
  int rc = ix->names && ix->types ? 0 : OC_E_NOMEM;
  for (uint32_t g = 0; g < n && !rc; g++)
    for (uint32_t i = 0; i < graphs[g]->n_ops && !rc; i++) {
      rc = add_op(ix, graphs[g]->ops[i]);
      if (!rc)
        rc = add_weights(ix, graphs[g]->ops[i]);
    }
  if (!rc)
    return ix;
  oc_mark_index_free(ix);
  return NULL;
}

void oc_mark_index_free(struct oc_mark_index *ix)
{
  if (!ix)
    return;
  oc_map_clear(&ix->by_type);
  oc_map_clear(&ix->by_source);
  oc_map_clear(&ix->initializers);
}

const char *oc_mark_nearest(struct oc_mark_index *ix, const char *word, bool by_type)
{
  if (!by_type)
    return oc_str_nearest(word, ix->names, ix->n_names);
  const char *ir = oc_map_gets(&ix->by_source, word);
  if (ir && !oc_streq(ir, word))
    return ir;
  return oc_str_nearest(word, ix->types, ix->n_types);
}

static const char *same_but_case(const char *const *list, uint32_t n, const char *word)
{
  for (uint32_t i = 0; i < n; i++)
    if (strcasecmp(list[i], word) == 0)
      return list[i];
  return NULL;
}

/* The longest op name that stands inside `word` as a part of its own. */
static const char *held_name(const struct oc_mark_index *ix, const char *word)
{
  const char *best = NULL;
  size_t best_len = MIN_PART - 1;

  for (uint32_t i = 0; i < ix->n_names; i++) {
    size_t len = strlen(ix->names[i]);
    if (len > best_len && strstr(word, ix->names[i])) {
      best = ix->names[i];
      best_len = len;
    }
  }
  return best;
}

/* Joins up to MAX_COVERED names. */
static const char *join_covered(struct oc_mark_index *ix, const char *text,
                                const char *name, uint32_t *n)
{
  (*n)++;
  if (*n == MAX_COVERED + 1)
    return oc_arena_printf(ix->a, "%s ...", text);
  if (*n > MAX_COVERED)
    return text;
  return oc_arena_printf(ix->a, "%s%s%s", text, *text ? ", " : "", name);
}

const char *oc_mark_covered(struct oc_mark_index *ix, const char *word)
{
  const char *text = "";
  uint32_t n = 0;

  for (uint32_t i = 0; text && i < ix->n_names; i++)
    if (strlen(ix->names[i]) >= MIN_PART && strstr(word, ix->names[i]))
      text = join_covered(ix, text, ix->names[i], &n);
  /* else the ops of the innermost scope that the model has */
  for (const char *slash = strrchr(word, '/'); text && !n && slash > word;) {
    size_t len = (size_t)(slash - word) + 1;

    for (uint32_t i = 0; text && i < ix->n_names; i++)
      if (strncmp(ix->names[i], word, len) == 0)
        text = join_covered(ix, text, ix->names[i], &n);
    for (slash--; slash > word && *slash != '/';)
      slash--;
  }
  return n ? text : NULL;
}

/* "<op>_output_0" and "<op>:0" are tensors of an op. */
static const char *tensor_of(const struct oc_mark_index *ix, const char *word)
{
  const char *reader = oc_map_gets(&ix->initializers, word);

  if (reader)
    return reader;
  for (uint32_t i = 0; i < ix->n_names; i++) {
    size_t len = strlen(ix->names[i]);
    if (len < 2 || strncmp(word, ix->names[i], len) != 0)
      continue;
    const char *rest = word + len;
    if (strncmp(rest, "_output_", 8) == 0 ||
        (rest[0] == ':' && rest[1] >= '0' && rest[1] <= '9'))
      return ix->names[i];
  }
  return NULL;
}

static bool is_word_end(char c)
{
  return c == ' ' || c == '\t' || c == ',' || c == ';';
}

static bool names_something(const struct oc_mark_index *ix, struct oc_str word)
{
  static const char prefix[] = "OpType::";

  if (oc_str_starts(word, prefix)) {
    word.p += sizeof prefix - 1;
    word.len -= sizeof prefix - 1;
    return oc_map_get(&ix->by_type, word) != NULL;
  }
  for (uint32_t i = 0; i < ix->n_names; i++)
    if (oc_str_is(word, ix->names[i]))
      return true;
  return false;
}

/* The lines that a line of several words was meant to be: "'a', 'b'"; a comment ends
 * them. NULL when one of the words names nothing, or when it is one word. */
static const char *right_words(const struct oc_mark_index *ix, const char *line)
{
  const char *text = "";
  const char *p = line;

  while (text && *p) {
    const char *from = p;

    while (*p && !is_word_end(*p))
      p++;
    struct oc_str word = { from, (size_t)(p - from) };
    while (is_word_end(*p))
      p++;
    if (!word.len || (*text && (*from == '#' || oc_str_is(word, "//"))))
      break;
    if (!names_something(ix, word))
      return NULL;
    text = oc_arena_printf(ix->a, "%s%s'%.*s'", text, *text ? ", " : "", (int)word.len,
                           word.p);
  }
  return text && *text && strlen(text) != strlen(line) + 2 ? text : NULL;
}

struct telling {
  struct oc_mark_index *ix;
  struct oc_findings *fs;
  uint32_t entry;
  const char *subject;
};

static void say(const struct telling *t, enum oc_finding_id id, const char *prefix,
                const char *near)
{
  const char *line = near ? oc_arena_printf(t->ix->a, "%s%s", prefix, near) : "";
  const char *fix = near && line
                        ? oc_arena_printf(t->ix->a, "write %s", line)
                        : "'omcc ops MODEL' prints the types of this model's ops";
  struct oc_finding *f =
      oc_finding_add(t->fs, id, t->subject, "near", line ? line : "", "fix",
                     fix ? fix : "", "framework", t->ix->framework, NULL);
  f->flag = FLAG;
  f->entry = t->entry;
}

static void say_types(const struct telling *t)
{
  const char *text = "";

  for (uint32_t i = 0; text && i < t->ix->n_types && i < MAX_TYPES_SHOWN; i++)
    text = oc_arena_printf(t->ix->a, "%s%s%s", text, *text ? ", " : "", t->ix->types[i]);
  if (text && t->ix->n_types > MAX_TYPES_SHOWN)
    text = oc_arena_printf(t->ix->a, "%s and %u more", text,
                           t->ix->n_types - MAX_TYPES_SHOWN);
  struct oc_finding *f = oc_finding_add(t->fs, OC_FINDING_KEEP_TYPE_UNMATCHED, t->subject,
                                        "types", text ? text : "", NULL);
  f->flag = FLAG;
  f->entry = t->entry;
}

static void explain_type(const struct telling *t, const char *type)
{
  const char *ir = oc_map_gets(&t->ix->by_source, type);
  const char *other;

  if (ir && !oc_streq(ir, type))
    say(t, OC_FINDING_KEEP_FRAMEWORK_TYPE, "OpType::", ir);
  else if ((other = same_but_case(t->ix->types, t->ix->n_types, type)) != NULL)
    say(t, OC_FINDING_KEEP_TYPE_CASE, "OpType::", other);
  else if ((other = oc_str_nearest(type, t->ix->types, t->ix->n_types)) != NULL)
    say(t, OC_FINDING_KEEP_TYPE_NEAR, "OpType::", other);
  else
    say_types(t);
}

static void explain_name(const struct telling *t, const char *name)
{
  const char *ir = oc_map_gets(&t->ix->by_source, name);
  const char *other;

  if (oc_map_gets(&t->ix->by_type, name))
    say(t, OC_FINDING_KEEP_TYPE_AS_NAME, "OpType::", name);
  else if (ir)
    say(t, OC_FINDING_KEEP_FRAMEWORK_TYPE, "OpType::", ir);
  else if ((other = same_but_case(t->ix->names, t->ix->n_names, name)) != NULL)
    say(t, OC_FINDING_KEEP_NAME_CASE, "", other);
  else if ((other = tensor_of(t->ix, name)) != NULL)
    say(t, OC_FINDING_KEEP_TENSOR_NAME, "", other);
  else if ((other = right_words(t->ix, name)) != NULL)
    say(t, OC_FINDING_KEEP_MORE_WORDS, "", other);
  else if ((other = oc_str_nearest(name, t->ix->names, t->ix->n_names)) != NULL)
    say(t, OC_FINDING_KEEP_UNMATCHED_NEAR, "", other);
  else if ((other = held_name(t->ix, name)) != NULL)
    say(t, OC_FINDING_KEEP_NAME_SUFFIX, "", other);
  else if ((other = oc_mark_covered(t->ix, name)) != NULL)
    say(t, OC_FINDING_KEEP_NAME_SCOPE, "", other);
  else
    say(t, OC_FINDING_KEEP_UNMATCHED, "", NULL);
}

/* The corrected line names a type; where the model has another spelling of it, that one.
 */
static const char *meant_type(const struct oc_mark_index *ix, struct oc_str meant)
{
  const char *type = oc_arena_strndup(ix->a, meant.p + strlen("OpType::"),
                                      meant.len - strlen("OpType::"));
  if (!type || oc_map_gets(&ix->by_type, type))
    return type;
  const char *ir = oc_map_gets(&ix->by_source, type);
  const char *other = ir ? ir : same_but_case(ix->types, ix->n_types, type);
  return other ? other : type;
}

void oc_mark_explain(struct oc_mark_index *ix, const struct oc_keep_entry *e,
                     uint32_t entry, bool refuse, struct oc_findings *fs)
{
  static const enum oc_finding_id slips[] = {
    [OC_KEEP_SLIP_PREFIX_CASE] = OC_FINDING_KEEP_PREFIX_CASE,
    [OC_KEEP_SLIP_ONE_COLON] = OC_FINDING_KEEP_PREFIX_COLON,
    [OC_KEEP_SLIP_BLANK] = OC_FINDING_KEEP_PREFIX_BLANK,
  };
  const char *name = oc_arena_strndup(ix->a, e->name.p, e->name.len);
  struct telling t = { .ix = ix, .fs = fs, .entry = entry, .subject = name };

  if (!name)
    return;
  if (e->slip != OC_KEEP_SLIP_NONE) {
    t.subject = oc_arena_strndup(ix->a, e->text.p, e->text.len);
    say(&t, refuse ? OC_FINDING_KEEP_BAD_TYPE : slips[e->slip],
        "OpType::", meant_type(ix, e->meant));
  } else if (refuse) {
    const char *other = same_but_case(ix->types, ix->n_types, name);
    const char *words = right_words(ix, oc_arena_strndup(ix->a, e->text.p, e->text.len));
    if (!other && !words)
      other = oc_str_nearest(name, ix->types, ix->n_types);
    say(&t, OC_FINDING_KEEP_BAD_TYPE, words ? "" : "OpType::", words ? words : other);
  } else if (e->by_type) {
    explain_type(&t, name);
  } else {
    explain_name(&t, name);
  }
}
