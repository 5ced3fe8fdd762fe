/* schema/soc/<table>.yaml: the dtype columns of one family.
 *
 * Every tensor is one scalar, "x/opt f16 f32*2". All tensors of an op must have the same
 * number of columns; `=` stands for the columns of the op's first tensor. */
#include "optable_internal.h"

#include <string.h>

struct op_read {
  const struct oc_read *r;
  struct oc_table_op *op;
  struct oc_table_tensor *tensors;
  uint8_t *dtypes; /* n_tensors * n_columns, filled row by row */
  uint32_t n_tensors;
  uint32_t n_columns;
  const char *from; /* of the whole file, unless the op says otherwise */
};

static uint32_t items(const struct oc_tree *v)
{
  if (!v)
    return 0;
  return v->kind == OC_TREE_LIST ? (uint32_t)v->n : 1;
}

static const struct oc_tree *first_item(const struct oc_tree *v)
{
  if (!v)
    return NULL;
  return v->kind == OC_TREE_LIST ? v->first : v;
}

/* A member that is one scalar has siblings in its map, which are not its items. */
static const struct oc_tree *next_item(const struct oc_tree *v,
                                       const struct oc_tree *item)
{
  return v->kind == OC_TREE_LIST ? item->next : NULL;
}

/* "bias/opt" -> name and param. */
static int tensor_name(struct op_read *o, uint32_t line, struct oc_str w,
                       struct oc_table_tensor *ret)
{
  const char *slash = memchr(w.p, '/', w.len);

  ret->param = OC_PARAM_REQUIRED;
  if (slash) {
    struct oc_str kind = { slash + 1, w.len - (size_t)(slash + 1 - w.p) };
    if (oc_str_is(kind, "opt"))
      ret->param = OC_PARAM_OPTIONAL;
    else if (oc_str_is(kind, "dyn"))
      ret->param = OC_PARAM_DYNAMIC;
    else
      return oc_read_fail(o->r, line, "'%.*s' is not opt or dyn", (int)kind.len, kind.p);
    w.len = (size_t)(slash - w.p);
  }
  ret->name = oc_word_keep(o->r, w);
  return 0;
}

/* One row of cells into o->dtypes[row]; `=` copies row 0. */
static int tensor_cells(struct op_read *o, uint32_t line, uint32_t row, const char *p,
                        uint8_t *cells, uint32_t *n_columns)
{
  uint8_t buf[OC_MAX_COLUMNS];
  const char *q = p;
  struct oc_str w = oc_word_next(&q);

  if (oc_str_is(w, "=")) {
    if (!row)
      return oc_read_fail(o->r, line, "the first tensor has nothing to repeat");
    memcpy(cells + (size_t)row * *n_columns, cells, *n_columns);
    return 0;
  }
  int n = oc_cells_dtypes(o->r, line, p, buf, OC_MAX_COLUMNS);
  if (n < 0)
    return n;
  if (n == 0)
    return 0; /* nothing known: stays undefined */
  if ((uint32_t)n != *n_columns)
    return oc_read_fail(o->r, line, "op '%s' has rows of %u and of %d columns",
                        o->op->type, *n_columns, n);
  memcpy(cells + (size_t)row * *n_columns, buf, (size_t)n);
  return 0;
}

static int count_columns(struct op_read *o, const struct oc_tree *v, uint32_t *ret)
{
  uint8_t buf[OC_MAX_COLUMNS];

  for (const struct oc_tree *item = first_item(v); item; item = next_item(v, item)) {
    if (item->kind != OC_TREE_SCALAR)
      return oc_read_fail(o->r, item->line, "a tensor is one line of words");
    const char *p = item->text;
    oc_word_next(&p);
    const char *q = p;
    struct oc_str w = oc_word_next(&q);
    if (!w.len)
      continue;
    if (oc_str_is(w, "="))
      return oc_read_fail(o->r, item->line, "the first tensor has nothing to repeat");
    int n = oc_cells_dtypes(o->r, item->line, p, buf, OC_MAX_COLUMNS);
    if (n < 0)
      return n;
    *ret = (uint32_t)n;
    return 0;
  }
  return 0;
}

static int read_side(struct op_read *o, const struct oc_tree *v, uint32_t *row)
{
  for (const struct oc_tree *item = first_item(v); item;
       item = next_item(v, item), (*row)++) {
    if (item->kind != OC_TREE_SCALAR)
      return oc_read_fail(o->r, item->line, "a tensor is one line of words");
    const char *p = item->text;
    int rc = tensor_name(o, item->line, oc_word_next(&p), &o->tensors[*row]);
    if (!rc)
      rc = tensor_cells(o, item->line, *row, p, o->dtypes, &o->n_columns);
    if (rc)
      return rc;
  }
  return 0;
}

static int read_tensors(struct op_read *o, const struct oc_tree *v)
{
  const struct oc_tree *in = oc_tree_get(v, "in");
  const struct oc_tree *out = oc_tree_get(v, "out");
  uint32_t row = 0;

  o->op->n_inputs = items(in);
  o->op->n_outputs = items(out);
  o->n_tensors = o->op->n_inputs + o->op->n_outputs;
  int rc = count_columns(o, in, &o->n_columns);
  if (!rc && !o->n_columns)
    rc = count_columns(o, out, &o->n_columns);
  if (rc)
    return rc;
  o->tensors = OC_NEW_N(&o->r->t->arena, struct oc_table_tensor, o->n_tensors);
  o->dtypes = oc_arena_calloc(&o->r->t->arena, o->n_tensors, o->n_columns);
  if (!o->tensors || !o->dtypes)
    return oc_error_set(o->r->err, OC_E_NOMEM, "out of memory while reading '%s'",
                        o->r->name);
  rc = read_side(o, in, &row);
  if (!rc)
    rc = read_side(o, out, &row);
  o->op->tensors = o->tensors;
  return rc;
}

static int read_flags(struct op_read *o, const struct oc_tree *v)
{
  static const struct {
    const char *name;
    unsigned bit;
  } words[] = {
    { "heavy", OC_TABLE_HEAVY },
    { "check", OC_TABLE_CHECKED },
    { "dynamic", OC_TABLE_DYNAMIC },
    { "nokernel", OC_TABLE_NO_KERNEL },
  };
  const struct oc_tree *flags = oc_tree_get(v, "flags");
  const char *p = flags && flags->text ? flags->text : "";
  const char *from = oc_tree_text(v, "from", o->from);

  for (;;) {
    struct oc_str w = oc_word_next(&p);
    if (!w.len)
      break;
    size_t i = 0;
    while (i < sizeof words / sizeof *words && !oc_str_is(w, words[i].name))
      i++;
    if (i == sizeof words / sizeof *words)
      return oc_read_fail(o->r, flags->line, "'%.*s' is not a flag", (int)w.len, w.p);
    o->op->flags |= words[i].bit;
  }
  if (oc_streq(from, "code") || oc_streq(from, "def"))
    o->op->flags |= OC_TABLE_COMPUTED;
  if (!o->n_columns)
    o->op->flags |= OC_TABLE_NO_COLUMNS;
  const char *policy = oc_tree_text(v, "policy", "gray");
  if (oc_streq(policy, "white"))
    o->op->policy = OC_POLICY_WHITE;
  else if (oc_streq(policy, "black"))
    o->op->policy = OC_POLICY_BLACK;
  else if (!oc_streq(policy, "gray"))
    return oc_read_fail(o->r, v->line, "'%.40s' is not a policy", policy);
  return 0;
}

static int read_alternative(struct op_read *o, const struct oc_tree *a,
                            struct oc_table_variant *ret)
{
  const struct oc_tree *cols = oc_tree_get(a, "columns");
  const struct oc_tree *lay = oc_tree_get(a, "layouts");
  uint8_t *cells = NULL;
  uint32_t row = 0, n = 0;
  uint8_t buf[OC_MAX_COLUMNS];

  if (!cols || items(cols) != o->n_tensors || !lay || !lay->text)
    return oc_read_fail(o->r, a->line,
                        "an alternative needs layouts and one row per tensor");
  int bits = oc_cells_layouts(o->r, lay->line, lay->text);
  if (bits < 0)
    return bits;
  int got = oc_cells_dtypes(o->r, cols->line,
                            first_item(cols)->text ? first_item(cols)->text : "", buf,
                            OC_MAX_COLUMNS);
  if (got < 0)
    return got;
  n = (uint32_t)got;
  cells = oc_arena_calloc(&o->r->t->arena, o->n_tensors, n);
  if (!cells)
    return oc_error_set(o->r->err, OC_E_NOMEM, "out of memory while reading '%s'",
                        o->r->name);
  for (const struct oc_tree *c = first_item(cols); c; c = next_item(cols, c), row++) {
    int rc = tensor_cells(o, c->line, row, c->text ? c->text : "", cells, &n);
    if (rc)
      return rc;
  }
  *ret = (struct oc_table_variant){ .layouts = (unsigned)bits,
                                    .n_columns = n,
                                    .dtypes = cells };
  return 0;
}

static int read_variants(struct op_read *o, const struct oc_tree *v)
{
  const struct oc_tree *also = oc_tree_get(v, "also");
  const struct oc_tree *lay = oc_tree_get(v, "layouts");
  uint32_t n = 0;
  int bits = OC_LAYOUT_ANY;

  if (!o->n_columns)
    return 0;
  if (lay && lay->text)
    bits = oc_cells_layouts(o->r, lay->line, lay->text);
  if (bits < 0)
    return bits;
  struct oc_table_variant *vs =
      OC_NEW_N(&o->r->t->arena, struct oc_table_variant, 1 + items(also));
  if (!vs)
    return oc_error_set(o->r->err, OC_E_NOMEM, "out of memory while reading '%s'",
                        o->r->name);
  vs[n++] = (struct oc_table_variant){ .layouts = (unsigned)bits,
                                       .n_columns = o->n_columns,
                                       .dtypes = o->dtypes };
  for (const struct oc_tree *a = first_item(also); a; a = next_item(also, a)) {
    int rc = read_alternative(o, a, &vs[n]);
    if (rc)
      return rc;
    n++;
  }
  o->op->variants = vs;
  o->op->n_variants = n;
  return 0;
}

/* "x1 x2 / x3 x4": groups of fewer than two names are dropped. */
static int read_promote(struct op_read *o, const struct oc_tree *v)
{
  const char *text = oc_tree_text(v, "promote", NULL);
  struct oc_promote_group *groups;
  const char **names;
  uint32_t n_groups = 0, n_names = 0, first = 0;

  if (!text)
    return 0;
  size_t most = strlen(text) / 2 + 1;
  groups = OC_NEW_N(&o->r->t->arena, struct oc_promote_group, most);
  names = OC_NEW_N(&o->r->t->arena, const char *, most);
  if (!groups || !names)
    return oc_error_set(o->r->err, OC_E_NOMEM, "out of memory while reading '%s'",
                        o->r->name);
  for (;;) {
    struct oc_str w = oc_word_next(&text);
    if (!w.len || oc_str_is(w, "/")) {
      if (n_names - first >= 2)
        groups[n_groups++] = (struct oc_promote_group){ names + first, n_names - first };
      first = n_names;
      if (!w.len)
        break;
      continue;
    }
    names[n_names++] = oc_word_keep(o->r, w);
  }
  o->op->promote = groups;
  o->op->n_promote = n_groups;
  return 0;
}

/* The same key earlier in the file. */
static bool listed_twice(const struct oc_tree *ops, struct oc_map *seen,
                         const struct oc_tree **ret)
{
  for (const struct oc_tree *v = ops->first; v; v = v->next) {
    if (oc_map_gets(seen, v->key) || oc_map_puts(seen, v->key, (void *)(uintptr_t)v)) {
      *ret = v;
      return true;
    }
  }
  return false;
}

static int read_op(const struct oc_read *r, struct oc_table *table, const char *from,
                   const struct oc_tree *v)
{
  struct oc_table_op *op = OC_NEW(&r->t->arena, struct oc_table_op);
  struct op_read o = { .r = r, .op = op, .from = from };

  if (!op)
    return oc_error_set(r->err, OC_E_NOMEM, "out of memory while reading '%s'", r->name);
  op->type = oc_arena_strdup(&r->t->arena, v->key);
  if (v->kind != OC_TREE_MAP)
    return oc_read_fail(r, v->line, "op '%s' is not a map", v->key);
  op->flags = r->extra ? OC_TABLE_FROM_FILE : 0;
  int rc = read_tensors(&o, v);
  if (!rc)
    rc = read_flags(&o, v);
  if (!rc)
    rc = read_variants(&o, v);
  if (!rc)
    rc = read_promote(&o, v);
  if (!rc && oc_table_put(table, op))
    rc = oc_error_set(r->err, OC_E_NOMEM, "out of memory while reading '%s'", r->name);
  return rc;
}

/* The table that the file describes, or, for a user's file, the one that it adds to. */
static int table_of(const struct oc_read *r, const struct oc_tree *root, const char *id,
                    struct oc_table **ret)
{
  struct oc_table *table = oc_map_gets(&r->t->tables, id);

  if (r->extra) {
    *ret = table;
    return table ? 0
                 : oc_read_fail(r, root->line, "there is no table '%.40s' to add to", id);
  }
  if (table)
    return oc_read_fail(r, root->line, "table '%.40s' is listed twice", id);
  table = OC_NEW(&r->t->arena, struct oc_table);
  if (!table)
    return oc_error_set(r->err, OC_E_NOMEM, "out of memory while reading '%s'", r->name);
  table->id = oc_arena_strdup(&r->t->arena, id);
  table->source = oc_arena_strdup(&r->t->arena, oc_tree_text(root, "source", ""));
  table->partial = oc_streq(oc_tree_text(root, "partial", "false"), "true");
  if (oc_map_puts(&r->t->tables, table->id, table))
    return oc_error_set(r->err, OC_E_NOMEM, "out of memory while reading '%s'", r->name);
  *ret = table;
  return 0;
}

int oc_read_soc(const struct oc_read *r, const struct oc_tree *root)
{
  const struct oc_tree *ops = oc_tree_get(root, "ops"), *twice = NULL;
  const char *id = oc_tree_text(root, "id", NULL);
  struct oc_table *table = NULL;
  struct oc_map seen = { 0 };

  if (!id || !ops || ops->kind != OC_TREE_MAP)
    return oc_read_fail(r, root->line, "a table needs 'id' and 'ops'");
  int rc = table_of(r, root, id, &table);
  if (!rc && listed_twice(ops, &seen, &twice))
    rc = oc_read_fail(r, twice->line, "op '%s' is listed twice", twice->key);
  oc_map_clear(&seen);
  for (const struct oc_tree *v = ops->first; v && !rc; v = v->next)
    rc = read_op(r, table, oc_tree_text(root, "from", ""), v);
  if (!rc && r->extra)
    oc_table_note(r->t, table, "'%s' (%zu ops)", r->name, ops->n);
  return rc;
}
