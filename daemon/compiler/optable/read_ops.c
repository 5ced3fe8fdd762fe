/* schema/ops: AI CPU sets, ops that never reach a table, IR signatures. One line per op.
 */
#include "optable_internal.h"

#include <string.h>

static int no_memory(const struct oc_read *r)
{
  return oc_error_set(r->err, OC_E_NOMEM, "out of memory while reading '%s'", r->name);
}

static int ops_of(const struct oc_read *r, const struct oc_tree *root,
                  const struct oc_tree **ret)
{
  const struct oc_tree *ops = oc_tree_get(root, "ops");

  if (!ops || ops->kind != OC_TREE_MAP)
    return oc_read_fail(r, root->line, "needs a map 'ops'");
  *ret = ops;
  return 0;
}

/* The part of *p up to `stop` (a separate word) in a buffer of its own; *p moves behind
 * it. */
static const char *part(const struct oc_read *r, const char **p, const char *stop)
{
  const char *end = strstr(*p, stop);
  const char *text;

  if (end) {
    text = oc_arena_strndup(r->scratch, *p, (size_t)(end - *p));
    *p = end + strlen(stop);
  } else {
    text = oc_arena_strdup(r->scratch, *p);
    *p += strlen(*p);
  }
  return text;
}

static uint32_t count_parts(const char *p, const char *separator)
{
  uint32_t n = *p != 0;

  while (*p == ' ')
    p++;
  if (!*p)
    return 0;
  while ((p = strstr(p, separator)) != NULL) {
    n++;
    p += strlen(separator);
  }
  return n;
}

/* ---- AI CPU */

static int aicpu_set(const struct oc_read *r, uint32_t line, const char *p,
                     uint64_t first, uint64_t *ret)
{
  uint8_t cells[OC_DT_COUNT];
  const char *q = p;

  if (oc_str_is(oc_word_next(&q), "=")) {
    *ret = first;
    return 0;
  }
  int n = oc_cells_dtypes(r, line, p, cells, OC_DT_COUNT);
  if (n < 0)
    return n;
  *ret = 0;
  for (int i = 0; i < n; i++)
    *ret |= 1ull << cells[i];
  return 0;
}

static int aicpu_side(const struct oc_read *r, uint32_t line, const char *p,
                      uint64_t *first, bool *has_first, struct oc_aicpu_tensor **ret,
                      uint32_t *ret_n)
{
  uint32_t n = count_parts(p, ", ");
  struct oc_aicpu_tensor *ts = OC_NEW_N(&r->t->arena, struct oc_aicpu_tensor, n);

  if (!ts)
    return no_memory(r);
  for (uint32_t i = 0; i < n; i++) {
    const char *one = part(r, &p, ", ");
    if (!one)
      return no_memory(r);
    struct oc_str w = oc_word_next(&one);
    if (w.len && w.p[w.len - 1] == '*') {
      ts[i].dynamic = true;
      w.len--;
    }
    ts[i].name = oc_word_keep(r, w);
    int rc = aicpu_set(r, line, one, *first, &ts[i].dtypes);
    if (rc)
      return rc;
    if (!*has_first) {
      *first = ts[i].dtypes;
      *has_first = true;
    }
  }
  *ret = ts;
  *ret_n = n;
  return 0;
}

static int read_aicpu_op(const struct oc_read *r, const struct oc_tree *v)
{
  struct oc_aicpu_op *op = OC_NEW(&r->t->arena, struct oc_aicpu_op);
  struct oc_aicpu_tensor *in = NULL, *out = NULL;
  uint64_t first = 0;
  bool has_first = false;

  if (!op || v->kind != OC_TREE_SCALAR)
    return op ? oc_read_fail(r, v->line, "op '%s' is one line", v->key) : no_memory(r);
  const char *p = v->text;
  op->type = oc_arena_strdup(&r->t->arena, v->key);
  op->engines = oc_word_keep(r, oc_word_next(&p));
  if (!strstr(p, "->"))
    return oc_read_fail(r, v->line, "op '%s' has no '->'", v->key);
  const char *left = part(r, &p, "->");
  if (!left)
    return no_memory(r);
  int rc = aicpu_side(r, v->line, left, &first, &has_first, &in, &op->n_inputs);
  if (!rc)
    rc = aicpu_side(r, v->line, p, &first, &has_first, &out, &op->n_outputs);
  if (rc)
    return rc;
  op->inputs = in;
  op->outputs = out;
  if (oc_map_gets(&r->t->aicpu, op->type))
    return oc_read_fail(r, v->line, "op '%s' is listed twice", op->type);
  return oc_map_puts(&r->t->aicpu, op->type, op) ? no_memory(r) : 0;
}

int oc_read_aicpu(const struct oc_read *r, const struct oc_tree *root)
{
  const struct oc_tree *ops = NULL;
  int rc = ops_of(r, root, &ops);

  for (const struct oc_tree *v = rc ? NULL : ops->first; v && !rc; v = v->next)
    rc = read_aicpu_op(r, v);
  return rc;
}

/* ---- ops without a table */

int oc_read_graph(const struct oc_read *r, const struct oc_tree *root)
{
  static const struct {
    const char *key;
    enum oc_graph_kind kind;
  } lists[] = {
    { "fixed", OC_GRAPH_KIND_FIXED },
    { "nokernel", OC_GRAPH_KIND_NO_KERNEL },
    { "deleted", OC_GRAPH_KIND_DELETED },
  };

  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
    const struct oc_tree *l = oc_tree_get(root, lists[i].key);
    if (!l || l->kind != OC_TREE_LIST)
      return oc_read_fail(r, root->line, "needs a list '%s'", lists[i].key);
    for (const struct oc_tree *v = l->first; v; v = v->next) {
      const char *type = oc_arena_strdup(&r->t->arena, v->text ? v->text : "");
      if (!type)
        return no_memory(r);
      if (oc_map_gets(&r->t->graph, type))
        return oc_read_fail(r, v->line, "op '%s' is listed twice", type);
      if (oc_map_puts(&r->t->graph, type, (void *)(uintptr_t)&lists[i].kind))
        return no_memory(r);
    }
  }
  return 0;
}

/* ---- IR signatures */

static int ir_side(const struct oc_read *r, const char *p, struct oc_ir_tensor **ret,
                   uint32_t *ret_n)
{
  struct oc_ir_tensor *ts =
      OC_NEW_N(&r->t->arena, struct oc_ir_tensor, strlen(p) / 2 + 1);
  uint32_t n = 0;

  if (!ts)
    return no_memory(r);
  for (;;) {
    struct oc_str w = oc_word_next(&p);
    if (!w.len)
      break;
    char last = w.p[w.len - 1];
    if (last == '?' || last == '*')
      w.len--;
    ts[n].param = last == '?'   ? OC_PARAM_OPTIONAL
                  : last == '*' ? OC_PARAM_DYNAMIC
                                : OC_PARAM_REQUIRED;
    ts[n++].name = oc_word_keep(r, w);
  }
  *ret = ts;
  *ret_n = n;
  return 0;
}

static int ir_attrs(const struct oc_read *r, uint32_t line, const char *p,
                    struct oc_ir *ir)
{
  uint32_t n = count_parts(p, " | ");
  struct oc_ir_attr *as = OC_NEW_N(&r->t->arena, struct oc_ir_attr, n);

  if (!as)
    return no_memory(r);
  for (uint32_t i = 0; i < n; i++) {
    const char *one = part(r, &p, " | ");
    if (!one)
      return no_memory(r);
    as[i].name = oc_word_keep(r, oc_word_next(&one));
    struct oc_str type = oc_word_next(&one);
    if (!type.len)
      return oc_read_fail(r, line, "attribute '%s' has no type", as[i].name);
    as[i].type = oc_word_keep(r, type);
    struct oc_str value = oc_str_trim(oc_str_of(one));
    if (value.len)
      as[i].value = oc_word_keep(r, value);
  }
  ir->attrs = as;
  ir->n_attrs = n;
  return 0;
}

static int read_ir_op(const struct oc_read *r, const struct oc_tree *v)
{
  struct oc_ir *ir = OC_NEW(&r->t->arena, struct oc_ir);
  struct oc_ir_tensor *in = NULL, *out = NULL;

  if (!ir || v->kind != OC_TREE_SCALAR)
    return ir ? oc_read_fail(r, v->line, "op '%s' is one line", v->key) : no_memory(r);
  const char *p = v->text;
  if (!strstr(p, "->"))
    return oc_read_fail(r, v->line, "op '%s' has no '->'", v->key);
  ir->type = oc_arena_strdup(&r->t->arena, v->key);
  const char *left = part(r, &p, "->");
  const char *right = part(r, &p, " | ");
  if (!ir->type || !left || !right)
    return no_memory(r);
  int rc = ir_side(r, left, &in, &ir->n_inputs);
  if (!rc)
    rc = ir_side(r, right, &out, &ir->n_outputs);
  if (!rc)
    rc = ir_attrs(r, v->line, p, ir);
  if (rc)
    return rc;
  ir->inputs = in;
  ir->outputs = out;
  if (oc_map_gets(&r->t->ir, ir->type))
    return oc_read_fail(r, v->line, "op '%s' is listed twice", ir->type);
  return oc_map_puts(&r->t->ir, ir->type, ir) ? no_memory(r) : 0;
}

int oc_read_ir(const struct oc_read *r, const struct oc_tree *root)
{
  const struct oc_tree *ops = NULL;
  int rc = ops_of(r, root, &ops);

  for (const struct oc_tree *v = rc ? NULL : ops->first; v && !rc; v = v->next)
    rc = read_ir_op(r, v);
  return rc;
}
