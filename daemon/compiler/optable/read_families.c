/* schema/soc/families.yaml: exact target strings, their family, and the cube list. */
#include "optable_internal.h"

static int flag(const struct oc_read *r, const struct oc_tree *v, const char *key,
                bool *ret)
{
  const char *text = oc_tree_text(v, key, "");

  *ret = oc_streq(text, "true");
  if (!*ret && !oc_streq(text, "false"))
    return oc_read_fail(r, v->line, "'%s' must be true or false", key);
  return 0;
}

static int number(const struct oc_read *r, uint32_t line, struct oc_str w, int *ret)
{
  int64_t n;

  if (!oc_str_to_i64(w, &n) || n < -1 || n > 100000)
    return oc_read_fail(r, line, "'%.*s' is not a number in range", (int)w.len, w.p);
  *ret = (int)n;
  return 0;
}

static int add_soc(const struct oc_read *r, uint32_t line, const struct oc_soc *soc)
{
  struct oc_optable *t = r->t;
  struct oc_soc *copy = oc_arena_memdup(&t->arena, soc, sizeof *soc);

  if (!copy)
    return oc_error_set(r->err, OC_E_NOMEM, "out of memory while reading '%s'", r->name);
  if (oc_map_gets(&t->socs, copy->name))
    return oc_read_fail(r, line, "SoC '%s' is listed twice", copy->name);
  if (t->n_socs == t->room_socs) {
    size_t room = t->room_socs ? 2 * t->room_socs : 64;
    const struct oc_soc **grown =
        oc_arena_grow(&t->arena, t->soc_list, t->n_socs, room, sizeof *grown);
    if (!grown)
      return oc_error_set(r->err, OC_E_NOMEM, "out of memory while reading '%s'",
                          r->name);
    t->soc_list = grown;
    t->room_socs = room;
  }
  t->soc_list[t->n_socs++] = copy;
  if (oc_map_puts(&t->socs, copy->name, copy))
    return oc_error_set(r->err, OC_E_NOMEM, "out of memory while reading '%s'", r->name);
  return 0;
}

static const char *keep_text(const struct oc_read *r, const struct oc_tree *v,
                             const char *key)
{
  return oc_arena_strdup(&r->t->arena, oc_tree_text(v, key, ""));
}

static int read_socs(const struct oc_read *r, const struct oc_tree *list,
                     struct oc_soc *soc)
{
  if (!list || list->kind != OC_TREE_LIST)
    return oc_read_fail(r, list ? list->line : 0, "a family needs a list 'socs'");
  for (const struct oc_tree *s = list->first; s; s = s->next) {
    const char *p = s->text ? s->text : "";
    soc->name = oc_word_keep(r, oc_word_next(&p));
    int rc = number(r, s->line, oc_word_next(&p), &soc->ai_cores);
    if (!rc)
      rc = number(r, s->line, oc_word_next(&p), &soc->vector_cores);
    if (!rc)
      rc = add_soc(r, s->line, soc);
    if (rc)
      return rc;
  }
  return 0;
}

static int read_family(const struct oc_read *r, const struct oc_tree *v)
{
  struct oc_soc soc = {
    .family = keep_text(r, v, "id"),
    .product = keep_text(r, v, "product"),
    .product_zh = keep_text(r, v, "product_zh"),
    .table_id = keep_text(r, v, "table"),
    .short_name = keep_text(r, v, "short"),
    .aic_version = keep_text(r, v, "aic"),
  };
  int rc = flag(r, v, "bf16", &soc.bf16);

  if (!rc)
    rc = flag(r, v, "listed", &soc.listed);
  if (!rc)
    rc = number(r, v->line, oc_str_of(oc_tree_text(v, "arch", "")), &soc.arch_type);
  return rc ? rc : read_socs(r, oc_tree_get(v, "socs"), &soc);
}

int oc_read_families(const struct oc_read *r, const struct oc_tree *root)
{
  const struct oc_tree *families = oc_tree_get(root, "families");
  const struct oc_tree *cube = oc_tree_get(root, "cube");
  static const char present = 1; /* any address serves as the value of a set */

  if (!families || families->kind != OC_TREE_LIST || !cube || cube->kind != OC_TREE_LIST)
    return oc_read_fail(r, root->line, "needs the lists 'cube' and 'families'");
  for (const struct oc_tree *c = cube->first; c; c = c->next) {
    const char *type = oc_arena_strdup(&r->t->arena, c->text ? c->text : "");
    if (!type || oc_map_puts(&r->t->cube, type, (void *)(uintptr_t)&present))
      return oc_error_set(r->err, OC_E_NOMEM, "out of memory while reading '%s'",
                          r->name);
  }
  for (const struct oc_tree *f = families->first; f; f = f->next) {
    int rc = read_family(r, f);
    if (rc)
      return rc;
  }
  return 0;
}
