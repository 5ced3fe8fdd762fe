/* The long-lived object: which file is what, and the lookups over all of them.
 *
 * Files are told apart by their `schema:` key, so a caller may hand over a whole folder.
 */
#include "optable_internal.h"

#include <stdlib.h>
#include <string.h>

struct oc_optable *oc_optable_new(void)
{
  struct oc_optable *t = calloc(1, sizeof *t);
  if (t)
    oc_arena_init(&t->arena, 64u << 20);
  return t;
}

void oc_optable_free(struct oc_optable *t)
{
  if (!t)
    return;
  for (size_t i = 0; i < t->tables.n; i++)
    oc_table_clear(t->tables.entries[i].value);
  oc_map_clear(&t->tables);
  oc_map_clear(&t->socs);
  oc_map_clear(&t->aicpu);
  oc_map_clear(&t->ir);
  oc_map_clear(&t->graph);
  oc_map_clear(&t->cube);
  oc_arena_clear(&t->arena);
  free(t);
}

static const struct {
  const char *schema;
  int (*read)(const struct oc_read *r, const struct oc_tree *root);
} readers[] = {
  { "omcc/soc/1", oc_read_soc },
  { "omcc/families/1", oc_read_families },
  { "omcc/aicpu/1", oc_read_aicpu },
  { "omcc/graph/1", oc_read_graph },
  { "omcc/ir/1", oc_read_ir },
  { "omcc/retype/1", oc_read_retype },
  { "omcc/unsupported/1", oc_read_unsupported },
};

static int read_root(const struct oc_read *r, const struct oc_tree *root)
{
  const char *schema = oc_tree_text(root, "schema", NULL);

  if (!schema)
    return oc_read_fail(r, root->line, "no 'schema' key");
  for (size_t i = 0; i < sizeof readers / sizeof *readers; i++)
    if (oc_streq(readers[i].schema, schema))
      return readers[i].read(r, root);
  return oc_read_fail(r, root->line, "schema '%.60s' is not known here", schema);
}

static int read_extra(const struct oc_read *r, const struct oc_tree *root)
{
  const char *schema = oc_tree_text(root, "schema", "");

  if (!oc_streq(schema, "omcc/soc/1"))
    return oc_read_fail(r, root->line, "a table of your own needs 'schema: omcc/soc/1'");
  return oc_read_soc(r, root);
}

static int add_file(struct oc_optable *t, const char *name, const void *bytes, size_t len,
                    bool extra, struct oc_error *err)
{
  struct oc_arena scratch;
  struct oc_tree *root = NULL;

  oc_arena_init(&scratch, 64u << 20);
  struct oc_read r = {
    .t = t, .name = name, .extra = extra, .scratch = &scratch, .err = err
  };
  int rc = oc_tree_parse(name, bytes, len, &scratch, &root, err);
  if (!rc)
    rc = extra ? read_extra(&r, root) : read_root(&r, root);
  if (!rc && (t->arena.failed || scratch.failed))
    rc = oc_error_set(err, OC_E_NOMEM, "out of memory while reading '%s'", name);
  oc_arena_clear(&scratch);
  return rc;
}

int oc_optable_add(struct oc_optable *t, const char *name, const void *bytes, size_t len,
                   struct oc_error *err)
{
  return add_file(t, name, bytes, len, false, err);
}

int oc_optable_add_extra(struct oc_optable *t, const char *name, const void *bytes,
                         size_t len, struct oc_error *err)
{
  return add_file(t, name, bytes, len, true, err);
}

/* An op that an installed toolkit does not list is ours alone: nobody knows whether it is
 * still there. */
static int finish_table(struct oc_optable *t, struct oc_table *table)
{
  for (size_t i = 0; table->from_toolkit && i < table->ops.n; i++) {
    const struct oc_table_op *op = table->ops.entries[i].value;
    if (op->flags & OC_TABLE_FROM_FILE)
      continue;
    struct oc_table_op *copy = oc_arena_memdup(&t->arena, op, sizeof *op);
    if (!copy)
      return OC_E_NOMEM;
    copy->flags |= OC_TABLE_NO_COLUMNS;
    table->ops.entries[i].value = copy;
  }
  if (!table->used)
    return 0;
  const char *source =
      oc_arena_printf(&t->arena, "%s; other ops: %s", table->used, table->source);
  table->source = source ? source : table->source;
  return source ? 0 : OC_E_NOMEM;
}

int oc_optable_finish(struct oc_optable *t, struct oc_error *err)
{
  if (!t->n_socs)
    return oc_error_set(err, OC_E_FORMAT, "no file lists any SoC");
  for (size_t i = 0; i < t->tables.n; i++)
    if (finish_table(t, t->tables.entries[i].value))
      return oc_error_set(err, OC_E_NOMEM, "out of memory while reading the tables");
  for (size_t i = 0; i < t->n_socs; i++) {
    struct oc_soc *soc = oc_map_gets(&t->socs, t->soc_list[i]->name);
    soc->table = oc_map_gets(&t->tables, soc->table_id);
  }
  return 0;
}

const struct oc_soc *oc_optable_soc(const struct oc_optable *t, const char *name)
{
  return oc_map_gets(&t->socs, name);
}

const char *oc_optable_nearest_soc(const struct oc_optable *t, const char *name)
{
  const char **names = calloc(t->n_socs ? t->n_socs : 1, sizeof *names);
  if (!names)
    return NULL;
  for (size_t i = 0; i < t->n_socs; i++)
    names[i] = t->soc_list[i]->name;
  const char *found = oc_str_nearest(name, names, t->n_socs);
  free(names);
  return found;
}

const struct oc_soc *const *oc_optable_socs(const struct oc_optable *t, size_t *ret_n)
{
  *ret_n = t->n_socs;
  return t->soc_list;
}

const struct oc_table *oc_optable_table(const struct oc_optable *t, const char *id)
{
  return oc_map_gets(&t->tables, id);
}

const struct oc_aicpu_op *oc_optable_aicpu(const struct oc_optable *t, const char *type)
{
  return t ? oc_map_gets(&t->aicpu, type) : NULL;
}

const struct oc_ir *oc_optable_ir(const struct oc_optable *t, const char *type)
{
  return t ? oc_map_gets(&t->ir, type) : NULL;
}

enum oc_graph_kind oc_optable_graph_kind(const struct oc_optable *t, const char *type)
{
  const enum oc_graph_kind *k = t ? oc_map_gets(&t->graph, type) : NULL;
  return k ? *k : OC_GRAPH_KIND_NONE;
}

const struct oc_map *oc_optable_cube(const struct oc_optable *t)
{
  return &t->cube;
}

const struct oc_retype *oc_optable_retypes(const struct oc_optable *t, size_t *ret_n)
{
  *ret_n = t ? t->n_retypes : 0;
  return t ? t->retypes : NULL;
}

const struct oc_unsupported *
oc_optable_unsupported(const struct oc_optable *t, const char *type, const char *table_id)
{
  for (size_t i = 0; t && i < t->n_unsupported; i++)
    if (oc_streq(t->unsupported[i].type, type) &&
        oc_word_in(t->unsupported[i].tables, table_id))
      return &t->unsupported[i];
  return NULL;
}
