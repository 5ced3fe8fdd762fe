/* schema/ops/retype.yaml and unsupported.yaml: lists of rows with fixed members. */
#include "optable_internal.h"

static int rows_of(const struct oc_read *r, const struct oc_tree *root,
                   const struct oc_tree **ret)
{
  const struct oc_tree *rows = oc_tree_get(root, "rows");

  if (!rows || rows->kind != OC_TREE_LIST)
    return oc_read_fail(r, root->line, "needs a list 'rows'");
  *ret = rows;
  return 0;
}

/* Every member named in `keys` must be there, and none else. */
static int members(const struct oc_read *r, const struct oc_tree *row,
                   const char *const *keys, size_t n, const char **values)
{
  if (row->kind != OC_TREE_MAP || row->n != n)
    return oc_read_fail(r, row->line, "a row has exactly %zu members", n);
  for (size_t i = 0; i < n; i++) {
    const char *text = oc_tree_text(row, keys[i], NULL);
    if (!text)
      return oc_read_fail(r, row->line, "a row needs '%s'", keys[i]);
    values[i] = oc_arena_strdup(&r->t->arena, text);
  }
  return 0;
}

int oc_read_retype(const struct oc_read *r, const struct oc_tree *root)
{
  static const char *const keys[] = { "from", "to", "how", "when", "tables", "source" };
  const struct oc_tree *rows = NULL;
  int rc = rows_of(r, root, &rows);

  if (rc)
    return rc;
  r->t->retypes = OC_NEW_N(&r->t->arena, struct oc_retype, rows->n);
  if (!r->t->retypes)
    return oc_error_set(r->err, OC_E_NOMEM, "out of memory while reading '%s'", r->name);
  r->t->n_retypes = 0;
  for (const struct oc_tree *row = rows->first; row; row = row->next) {
    const char *v[6];
    rc = members(r, row, keys, 6, v);
    if (rc)
      return rc;
    r->t->retypes[r->t->n_retypes++] =
        (struct oc_retype){ v[0], v[1], v[2], v[3], v[4], v[5] };
  }
  return 0;
}

int oc_read_unsupported(const struct oc_read *r, const struct oc_tree *root)
{
  static const char *const keys[] = { "type", "tables", "reason" };
  const struct oc_tree *rows = NULL;
  int rc = rows_of(r, root, &rows);

  if (rc)
    return rc;
  r->t->unsupported = OC_NEW_N(&r->t->arena, struct oc_unsupported, rows->n);
  if (!r->t->unsupported)
    return oc_error_set(r->err, OC_E_NOMEM, "out of memory while reading '%s'", r->name);
  r->t->n_unsupported = 0;
  for (const struct oc_tree *row = rows->first; row; row = row->next) {
    const char *v[3];
    rc = members(r, row, keys, 3, v);
    if (rc)
      return rc;
    r->t->unsupported[r->t->n_unsupported++] =
        (struct oc_unsupported){ v[0], v[1], v[2] };
  }
  return 0;
}
