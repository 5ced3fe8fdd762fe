/* keep_dtype against the graph as parsed: which ops a line names.
 *
 * A name line equals the op's name or one of its original names, a type line the IR type;
 * one line may hit many ops, one op may be hit by many lines. Data and constants are
 * marked too, to no effect. A type that is not PascalCase and names nothing stops the
 * vendor's compiler (E10003), but only among the first ten lines without a hit. */
#include "precision_internal.h"

#include <stdio.h>

#define LISTED 10u
#define CAPPED 100u

struct marking {
  const struct oc_keep_list *keep;
  struct oc_keep_marks *m;
  struct oc_map names; /* text -> index of the first entry + 1, as a pointer value */
  struct oc_map types;
  uint32_t *next; /* per entry: next entry with the same key, 0 none */
  bool *alone;    /* per type entry: it names ops that no name entry names */
};

static int index_entries(struct marking *k)
{
  for (uint32_t i = k->keep->n; i-- > 0;) {
    const struct oc_keep_entry *e = &k->keep->entries[i];
    struct oc_map *m = e->by_type ? &k->types : &k->names;
    k->next[i] = (uint32_t)(uintptr_t)oc_map_get(m, e->name);
    int rc = oc_map_put(m, e->name, (void *)(uintptr_t)(i + 1));
    if (rc)
      return rc;
  }
  return 0;
}

/* The two first entries that hit an op. */
static void note_entry(struct oc_op *op, uint32_t entry)
{
  if (!op->keep_entry || entry < op->keep_entry) {
    op->keep_also = op->keep_entry;
    op->keep_entry = entry;
  } else if (entry != op->keep_entry && (!op->keep_also || entry < op->keep_also)) {
    op->keep_also = entry;
  }
}

/* Counts a hit of every entry with this key. */
static void hit_all(struct marking *k, struct oc_op *op, uint32_t entry)
{
  for (; entry; entry = k->next[entry - 1]) {
    k->m->hits[entry - 1]++;
    note_entry(op, entry);
  }
}

static bool named(const struct marking *k, const struct oc_op *op)
{
  bool yes = oc_map_gets(&k->names, op->name) != NULL;

  for (uint32_t i = 0; i < op->n_origin_names && !yes; i++)
    yes = oc_map_gets(&k->names, op->origin_names[i]) != NULL;
  return yes;
}

/* Behind marking: a name line has nothing to add where a type line, which is needed for
 * other ops, names its op as well. */
static void cover_op(struct marking *k, const struct oc_op *op)
{
  uint32_t by_name = (uint32_t)(uintptr_t)oc_map_gets(&k->names, op->name);
  uint32_t by_type = (uint32_t)(uintptr_t)oc_map_gets(&k->types, op->type);

  if (!by_type || !k->alone[by_type - 1])
    return;
  for (uint32_t e = by_name; e; e = k->next[e - 1])
    k->m->covered[e - 1]++;
}

static void mark_op(struct marking *k, struct oc_op *op)
{
  uint32_t by_name = (uint32_t)(uintptr_t)oc_map_gets(&k->names, op->name);
  uint32_t by_type = (uint32_t)(uintptr_t)oc_map_gets(&k->types, op->type);

  hit_all(k, op, by_name);
  for (uint32_t i = 0; i < op->n_origin_names; i++) {
    uint32_t e = (uint32_t)(uintptr_t)oc_map_gets(&k->names, op->origin_names[i]);
    if (e != by_name)
      hit_all(k, op, e);
  }
  hit_all(k, op, by_type);
  if (by_type && !named(k, op))
    k->alone[by_type - 1] = true;
  op->keep = op->keep || op->keep_entry;
}

static bool pascal_case(struct oc_str s)
{
  if (!s.len || s.p[0] < 'A' || s.p[0] > 'Z')
    return false;
  for (size_t i = 0; i < s.len; i++) {
    char c = s.p[i];
    bool fine =
        (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (!fine)
      return false;
  }
  return true;
}

static void collect_missing(struct marking *k, uint32_t *list)
{
  struct oc_keep_marks *m = k->m;

  for (uint32_t i = 0; i < k->keep->n; i++) {
    const struct oc_keep_entry *e = &k->keep->entries[i];
    m->is_name[i] = e->comment && m->hits[i];
    if (!m->hits[i] && !e->comment)
      list[m->n_not_found++] = i + 1;
  }
  m->not_found = list;
}

static int explain_missing(struct marking *k, struct oc_mark_index *ix,
                           struct oc_findings *fs)
{
  struct oc_keep_marks *m = k->m;

  for (uint32_t i = 0; i < m->n_not_found; i++) {
    const struct oc_keep_entry *e = &k->keep->entries[m->not_found[i] - 1];
    bool refuse = !m->failed && i < LISTED && e->by_type && !pascal_case(e->name);
    m->failed = m->failed || refuse;
    if (i < CAPPED)
      oc_mark_explain(ix, e, m->not_found[i], refuse, fs);
  }
  if (m->n_not_found > CAPPED) {
    char more[16];
    snprintf(more, sizeof more, "%u", m->n_not_found - CAPPED);
    struct oc_finding *f =
        oc_finding_add(fs, OC_FINDING_FINDINGS_CAPPED, "keep-unmatched", "n", more, NULL);
    f->severity = OC_SEV_WARNING;
    f->flag = "keep_dtype";
  }
  return m->failed ? OC_E_FORMAT : 0;
}

static int mark_graphs(struct marking *k, struct oc_graph *g, struct oc_arena *a,
                       struct oc_findings *fs)
{
  uint32_t n_graphs = 0;
  struct oc_graph **graphs = oc_graphs_of(g, a, &n_graphs);
  uint32_t *missing = OC_NEW_N(a, uint32_t, k->keep->n);

  if (!graphs || !missing)
    return OC_E_NOMEM;
  for (uint32_t i = 0; i < n_graphs; i++)
    for (uint32_t o = 0; o < graphs[i]->n_ops; o++)
      mark_op(k, graphs[i]->ops[o]);
  for (uint32_t i = 0; i < n_graphs; i++)
    for (uint32_t o = 0; o < graphs[i]->n_ops; o++)
      cover_op(k, graphs[i]->ops[o]);
  collect_missing(k, missing);
  if (!k->m->n_not_found)
    return 0;
  struct oc_mark_index *ix = oc_mark_index_new(a, graphs, n_graphs);
  if (!ix)
    return OC_E_NOMEM;
  int rc = explain_missing(k, ix, fs);
  oc_mark_index_free(ix);
  return rc;
}

int oc_precision_mark(struct oc_graph *g, const struct oc_keep_list *keep,
                      struct oc_arena *a, struct oc_findings *fs,
                      struct oc_keep_marks **ret)
{
  struct oc_keep_marks *m = OC_NEW(a, struct oc_keep_marks);
  struct marking k = { .keep = keep,
                       .m = m,
                       .next = OC_NEW_N(a, uint32_t, keep->n),
                       .alone = OC_NEW_N(a, bool, keep->n) };
  int rc = OC_E_NOMEM;

  if (m && k.next && k.alone) {
    m->n_entries = keep->n;
    m->hits = OC_NEW_N(a, uint32_t, keep->n);
    m->covered = OC_NEW_N(a, uint32_t, keep->n);
    m->is_name = OC_NEW_N(a, bool, keep->n);
    rc = m->hits && m->covered && m->is_name ? index_entries(&k) : OC_E_NOMEM;
  }
  if (!rc)
    rc = mark_graphs(&k, g, a, fs);
  oc_map_clear(&k.names);
  oc_map_clear(&k.types);
  if (rc == 0 || rc == OC_E_FORMAT)
    *ret = m;
  return rc;
}
