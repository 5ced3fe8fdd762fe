/* A toolkit's own op file (aic-<soc>-ops-info*.json): one member per op type.
 *
 * Types with dtype lists replace ours. Types that compute their columns
 * (dynamicFormat) have none there: ours are kept, with the file's policy and flags. An
 * op that cannot be read (lists of uneven length, a dtype nobody knows, the same op
 * twice) refuses the whole file, with its line: half a table would give wrong answers,
 * and the vendor's reader stops there, too. Names of members: the public reader of these
 * files. */
#include "optable_internal.h"

#include <string.h>

#include "base/json.h"

#define MAX_TENSORS 64u

struct info_read {
  struct oc_optable *t;
  struct oc_table *table;
  const struct oc_json *v; /* the op */
  struct oc_table_op *op;
  struct oc_table_tensor tensors[MAX_TENSORS];
  const struct oc_json *sources[MAX_TENSORS];
  uint32_t n_tensors;
  uint32_t n_columns;
  const char *why; /* what is wrong with the op */
};

static const char *text_of(const struct oc_json *v, const char *member, const char *key)
{
  return oc_json_string(oc_json_get(oc_json_get(v, member), key), NULL);
}

static bool is_true(const struct oc_json *v, const char *member)
{
  return oc_streq(text_of(v, member, "flag"), "true");
}

/* "input0" or "Input0" with the number `i`. */
static const struct oc_json *side_member(const struct oc_json *v, const char *side,
                                         uint32_t i)
{
  for (const struct oc_json *m = v->first; m; m = m->next) {
    uint64_t n;
    size_t len = strlen(side);
    const char *k = m->key;
    if (!k || strncasecmp(k, side, len) != 0 || strncmp(k + 1, side + 1, len - 1) != 0)
      continue;
    if (oc_str_to_u64(oc_str_of(k + len), &n) && n == i && m->kind == OC_JSON_OBJECT)
      return m;
  }
  return NULL;
}

static enum oc_param param_of(const struct oc_json *m)
{
  const char *word = oc_json_string(oc_json_get(m, "paramType"), "required");

  return oc_streq(word, "optional")  ? OC_PARAM_OPTIONAL
         : oc_streq(word, "dynamic") ? OC_PARAM_DYNAMIC
                                     : OC_PARAM_REQUIRED;
}

static uint32_t read_side(struct info_read *o, const char *side)
{
  uint32_t n = 0;
  const struct oc_json *m;

  while (o->n_tensors < MAX_TENSORS && (m = side_member(o->v, side, n)) != NULL) {
    const char *name = oc_json_string(oc_json_get(m, "name"), "");
    o->tensors[o->n_tensors].name = oc_arena_strdup(&o->t->arena, name);
    o->tensors[o->n_tensors].param = param_of(m);
    o->sources[o->n_tensors++] = m;
    n++;
  }
  return n;
}

/* Next item of a comma list, trimmed; false behind the last. */
static bool next_item(const char **p, struct oc_str *ret)
{
  if (!*p)
    return false;
  const char *comma = strchr(*p, ',');
  size_t len = comma ? (size_t)(comma - *p) : strlen(*p);
  *ret = oc_str_trim((struct oc_str){ *p, len });
  *p = comma ? comma + 1 : NULL;
  return true;
}

static uint32_t count_items(const char *p)
{
  struct oc_str w;
  uint32_t n = 0;

  while (next_item(&p, &w))
    n++;
  return n;
}

static bool fill_dtypes(struct info_read *o, uint8_t *cells)
{
  for (uint32_t t = 0; t < o->n_tensors; t++) {
    const char *p = oc_json_string(oc_json_get(o->sources[t], "dtype"), NULL);
    struct oc_str w;
    uint32_t k = 0;
    if (!p || !*p || count_items(p) != o->n_columns) {
      o->why = "its dtype lists have different lengths";
      return false;
    }
    for (; next_item(&p, &w); k++) {
      enum oc_dtype d;
      if (!oc_dtype_parse(w, &d)) {
        o->why = "it has a dtype that is not known here";
        return false;
      }
      cells[(size_t)t * o->n_columns + k] = (uint8_t)d;
    }
  }
  return true;
}

/* Formats per tensor and column; NULL when the op computes them or lists none. */
static uint8_t *read_formats(struct info_read *o, const char *key)
{
  uint8_t *cells = oc_arena_calloc(&o->t->arena, o->n_tensors, o->n_columns);

  for (uint32_t t = 0; cells && t < o->n_tensors; t++) {
    const char *p = oc_json_string(oc_json_get(o->sources[t], key), NULL);
    struct oc_str w;
    uint32_t k = 0;
    if (!p || !*p || count_items(p) != o->n_columns)
      return NULL;
    for (; next_item(&p, &w); k++) {
      char word[32];
      size_t len = w.len < sizeof word ? w.len : sizeof word - 1;
      memcpy(word, w.p, len);
      word[len] = '\0';
      cells[(size_t)t * o->n_columns + k] = (uint8_t)oc_table_format_parse(word);
    }
  }
  return cells;
}

/* The plain lists, and those for unknown shapes where they say other formats. */
static bool read_columns(struct info_read *o)
{
  const char *first =
      o->n_tensors ? oc_json_string(oc_json_get(o->sources[0], "dtype"), NULL) : NULL;
  const char *pattern = text_of(o->v, "op", "pattern");

  if (!first || !*first) {
    o->op->flags |= OC_TABLE_NO_COLUMNS;
    return true;
  }
  o->n_columns = count_items(first);
  struct oc_table_variant *vs = OC_NEW_N(&o->t->arena, struct oc_table_variant, 2);
  uint8_t *cells = oc_arena_calloc(&o->t->arena, o->n_tensors, o->n_columns);
  if (!vs || !cells || o->n_columns > OC_MAX_COLUMNS || !fill_dtypes(o, cells)) {
    if (!o->why)
      o->why = "it has too many columns";
    return false;
  }
  uint8_t *formats = pattern ? NULL : read_formats(o, "format");
  uint8_t *unknown = pattern ? NULL : read_formats(o, "unknownshape_format");
  if (unknown && is_true(o->v, "dynamicCompileStatic"))
    formats = unknown;
  uint32_t n = 0;
  if (unknown && unknown != formats)
    vs[n++] = (struct oc_table_variant){ OC_LAYOUT_UNKNOWN_DIMS | OC_LAYOUT_UNKNOWN_RANK,
                                         o->n_columns, cells, unknown };
  vs[n++] = (struct oc_table_variant){ OC_LAYOUT_ANY, o->n_columns, cells, formats };
  o->op->variants = vs;
  o->op->n_variants = n;
  return true;
}

static void read_flags(struct info_read *o)
{
  const char *policy = text_of(o->v, "precision_reduce", "flag");
  const char *kernel = text_of(o->v, "opFile", "value");
  const struct {
    const char *member;
    unsigned bit;
  } flags[] = {
    { "heavyOp", OC_TABLE_HEAVY },
    { "needCheckSupport", OC_TABLE_CHECKED },
    { "dynamicShapeSupport", OC_TABLE_DYNAMIC },
  };

  o->op->policy = oc_streq(policy, "true")    ? OC_POLICY_WHITE
                  : oc_streq(policy, "false") ? OC_POLICY_BLACK
                                              : OC_POLICY_GRAY;
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
    if (is_true(o->v, flags[i].member))
      o->op->flags |= flags[i].bit;
  if (oc_streq(kernel, "Null") || oc_streq(kernel, "AICore_Null"))
    o->op->flags |= OC_TABLE_NO_KERNEL;
}

/* "x1,x2;x3,x4": groups of fewer than two names are dropped. */
static void read_promote(struct info_read *o)
{
  const char *text = text_of(o->v, "promoteType", "value");
  size_t most = text ? strlen(text) / 2 + 1 : 0;
  struct oc_promote_group *groups =
      most ? OC_NEW_N(&o->t->arena, struct oc_promote_group, most) : NULL;
  const char **names = most ? OC_NEW_N(&o->t->arena, const char *, most) : NULL;
  uint32_t n = 0, n_groups = 0;

  if (!groups || !names || oc_streq(text, "dynamic"))
    return;
  while (*text) {
    size_t len = strcspn(text, ";");
    const char *group = oc_arena_strndup(&o->t->arena, text, len);
    struct oc_str w;
    uint32_t first = n;
    while (group && next_item(&group, &w))
      if (w.len)
        names[n++] = oc_arena_strndup(&o->t->arena, w.p, w.len);
    if (n - first >= 2)
      groups[n_groups++] = (struct oc_promote_group){ names + first, n - first };
    text += len + (text[len] == ';');
  }
  o->op->promote = groups;
  o->op->n_promote = n_groups;
}

/* Columns of ours for a type whose columns the toolkit computes, or could not be read. */
static void keep_ours(struct info_read *o, const struct oc_table_op *ours)
{
  if (!ours || !ours->n_variants)
    return;
  o->op->tensors = ours->tensors;
  o->op->n_inputs = ours->n_inputs;
  o->op->n_outputs = ours->n_outputs;
  o->op->variants = ours->variants;
  o->op->n_variants = ours->n_variants;
  o->op->flags &= ~(unsigned)OC_TABLE_NO_COLUMNS;
  o->op->flags |= OC_TABLE_COMPUTED;
}

static int read_op(struct info_read *o)
{
  const struct oc_table_op *ours = oc_table_find(o->table, o->v->key);

  o->op->type = oc_arena_strdup(&o->t->arena, o->v->key);
  o->op->n_inputs = read_side(o, "input");
  o->op->n_outputs = read_side(o, "output");
  o->op->tensors =
      oc_arena_memdup(&o->t->arena, o->tensors, o->n_tensors * sizeof *o->tensors);
  read_flags(o);
  read_promote(o);
  o->op->flags |= OC_TABLE_FROM_FILE;
  if (!read_columns(o))
    return o->t->arena.failed ? OC_E_NOMEM : OC_E_FORMAT;
  if (o->op->flags & OC_TABLE_NO_COLUMNS)
    keep_ours(o, ours);
  if (o->t->arena.failed)
    return OC_E_NOMEM;
  return oc_table_put(o->table, o->op);
}

/* The same key earlier in the file. */
static const struct oc_json *listed_twice(const struct oc_json *root)
{
  const struct oc_json *twice = NULL;
  struct oc_map seen = { 0 };

  for (const struct oc_json *v = root->first; v && !twice; v = v->next)
    if (oc_map_gets(&seen, v->key) || oc_map_puts(&seen, v->key, (void *)(uintptr_t)v))
      twice = v;
  oc_map_clear(&seen);
  return twice;
}

static int read_ops(struct oc_optable *t, struct oc_table *table, const char *name,
                    const struct oc_json *root, struct oc_error *err)
{
  const struct oc_json *twice = listed_twice(root);
  uint32_t n = 0;

  if (twice)
    return oc_error_set(err, OC_E_FORMAT, "'%s' line %u: op '%.40s' is listed twice",
                        name, twice->line, twice->key);
  for (const struct oc_json *v = root->first; v; v = v->next) {
    struct oc_table_op *op = OC_NEW(&t->arena, struct oc_table_op);
    struct info_read o = { .t = t, .table = table, .v = v, .op = op };
    if (v->kind != OC_JSON_OBJECT)
      continue;
    int r = op ? read_op(&o) : OC_E_NOMEM;
    if (r == OC_E_FORMAT)
      return oc_error_set(err, r, "'%s' line %u: op '%.40s': %s", name, v->line, op->type,
                          o.why);
    if (r)
      return oc_error_set(err, OC_E_NOMEM, "out of memory while reading '%s'", name);
    n++;
  }
  table->from_toolkit = table->from_toolkit || !oc_starts_with(name, "custom/");
  oc_table_note(t, table, "'%s' (%u ops)", name, n);
  return 0;
}

int oc_optable_add_ops_info(struct oc_optable *t, const char *table_id, const char *name,
                            const void *bytes, size_t len, struct oc_error *err)
{
  struct oc_table *table = oc_map_gets(&t->tables, table_id);
  struct oc_error why = { 0 };
  struct oc_json *root = NULL;
  struct oc_arena scratch;

  if (!table)
    return 0; /* a chip that no target of ours is of */
  oc_arena_init(&scratch, (size_t)512 << 20);
  int r = oc_json_parse(bytes, len, OC_JSON_TRAILING_COMMAS, &scratch, &root, &why);
  if (r == OC_E_NOMEM)
    r = oc_error_set(err, r, "out of memory while reading '%s'", name);
  else if (!r && root->kind == OC_JSON_OBJECT)
    r = read_ops(t, table, name, root, err);
  else if (!r)
    r = oc_error_set(err, OC_E_FORMAT, "'%s' line %u: it is no object", name, root->line);
  else
    r = oc_error_set(err, r, "'%s' %s", name, why.msg);
  oc_arena_clear(&scratch);
  return r;
}
