/* The modify_mixlist file: JSON with operations on the white, black and gray lists.
 *
 * Text behind the first value is ignored, as the vendor's reader does; anything unknown
 * inside it is refused. Entries are put into a canonical order, so that two files that
 * say the same have the same bytes and the same entry numbers. */
#include "lists_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"

static const char flag[] = "modify_mixlist";
static const char *const list_names[] = { "black-list", "white-list", "gray-list" };
static const char *const op_names[] = { "to-add", "to-remove" };

struct reader {
  struct oc_arena *a;
  struct oc_findings *fs;
  struct oc_mix_list *l;
  bool vendor;
  uint32_t room;
};

const char *oc_mix_list_name(enum oc_mix_list_kind k)
{
  return list_names[k];
}

static int refuse(const struct reader *r, const char *what, const char *why,
                  uint32_t line)
{
  oc_list_place(oc_finding_add(r->fs, OC_FINDING_MIXLIST_SHAPE, what, "why", why, NULL),
                flag, line, 0);
  return OC_E_FORMAT;
}

static int index_of(const char *word, const char *const *names, size_t n)
{
  for (size_t i = 0; i < n; i++)
    if (oc_streq(word, names[i]))
      return (int)i;
  return -1;
}

/* A key that occurs twice: the vendor's parser keeps the last one, people are told. */
static bool superseded(const struct oc_json *v)
{
  for (const struct oc_json *later = v->next; later; later = later->next)
    if (oc_streq(later->key, v->key))
      return true;
  return false;
}

static int read_types(struct reader *r, const struct oc_json *array,
                      enum oc_mix_list_kind list, bool remove)
{
  if (array->kind != OC_JSON_ARRAY)
    return refuse(r, op_names[remove], "it must be a list of type names", array->line);
  for (const struct oc_json *v = array->first; v; v = v->next) {
    if (v->kind != OC_JSON_STRING)
      return refuse(r, op_names[remove], "it holds something that is not a string",
                    v->line);
    if (r->l->n == r->room) {
      uint32_t room = r->room ? 2 * r->room : 32;
      void *grown =
          oc_arena_grow(r->a, r->l->entries, r->l->n, room, sizeof *r->l->entries);
      if (!grown)
        return OC_E_NOMEM;
      r->l->entries = grown;
      r->room = room;
    }
    r->l->entries[r->l->n++] =
        (struct oc_mix_entry){ .type = oc_arena_strndup(r->a, v->text.p, v->text.len),
                               .list = list,
                               .remove = remove,
                               .line = v->line };
  }
  return 0;
}

static int read_operations(struct reader *r, const struct oc_json *o,
                           enum oc_mix_list_kind list)
{
  if (o->kind != OC_JSON_OBJECT)
    return refuse(r, list_names[list], "it must be an object with to-add and to-remove",
                  o->line);
  for (const struct oc_json *v = o->first; v; v = v->next) {
    int op = index_of(v->key, op_names, 2);
    if (op < 0)
      return refuse(r, v->key, "inside a list only to-add and to-remove are known",
                    v->line);
    if (superseded(v)) {
      if (!r->vendor)
        return refuse(r, v->key, "the key occurs twice", v->line);
      continue;
    }
    int rc = read_types(r, v, list, op == 1);
    if (rc)
      return rc;
  }
  return 0;
}

static int read_lists(struct reader *r, const struct oc_json *root)
{
  if (root->kind != OC_JSON_OBJECT)
    return refuse(r, "the file", "its value must be an object", root->line);
  for (const struct oc_json *v = root->first; v; v = v->next) {
    int list = index_of(v->key, list_names, 3);
    if (list < 0)
      return refuse(r, v->key, "only black-list, white-list and gray-list are known",
                    v->line);
    if (superseded(v)) {
      if (!r->vendor)
        return refuse(r, v->key, "the key occurs twice", v->line);
      continue;
    }
    int rc = read_operations(r, v, (enum oc_mix_list_kind)list);
    if (rc)
      return rc;
  }
  return 0;
}

static int entry_order(const void *pa, const void *pb)
{
  const struct oc_mix_entry *a = pa, *b = pb;

  if (a->list != b->list)
    return a->list < b->list ? -1 : 1;
  if (a->remove != b->remove)
    return a->remove ? 1 : -1;
  int c = strcmp(a->type, b->type);
  return c ? c : (a->line > b->line) - (a->line < b->line);
}

static int type_order(const void *pa, const void *pb)
{
  const struct oc_mix_type *a = pa, *b = pb;
  return strcmp(a->type, b->type);
}

/* Sorts, drops repetitions, and collects the operations per type. */
static int collect(struct oc_arena *a, struct oc_mix_list *l)
{
  uint32_t n = 0;

  if (l->n)
    qsort(l->entries, l->n, sizeof *l->entries, entry_order);
  for (uint32_t i = 0; i < l->n; i++) {
    const struct oc_mix_entry *e = &l->entries[i], *last = n ? &l->entries[n - 1] : NULL;
    if (!last || last->list != e->list || last->remove != e->remove ||
        strcmp(last->type, e->type) != 0)
      l->entries[n++] = *e;
  }
  l->n = n;
  l->types = OC_NEW_N(a, struct oc_mix_type, n);
  if (!l->types)
    return OC_E_NOMEM;
  struct oc_map seen = { 0 };
  for (uint32_t i = 0; i < n; i++) {
    const struct oc_mix_entry *e = &l->entries[i];
    struct oc_mix_type *t = oc_map_gets(&seen, e->type);
    if (!t) {
      t = &l->types[l->n_types++];
      *t = (struct oc_mix_type){ .type = e->type, .entry = i + 1 };
      if (oc_map_puts(&seen, e->type, t))
        break;
    }
    *(e->remove ? &t->remove : &t->add) |= 1u << e->list;
  }
  bool complete = seen.n == l->n_types;
  oc_map_clear(&seen);
  if (l->n_types)
    qsort(l->types, l->n_types, sizeof *l->types, type_order);
  for (uint32_t i = 0; complete && i < l->n_types; i++)
    complete = oc_map_puts(&l->by_type, l->types[i].type, &l->types[i]) == 0;
  return complete ? 0 : OC_E_NOMEM;
}

static int read_file(struct reader *r, const char *text, size_t len)
{
  struct oc_error err = { 0 };
  struct oc_json *root;

  int rc = oc_json_parse(text, len, OC_JSON_ALLOW_REST, r->a, &root, &err);
  if (rc == OC_E_NOMEM)
    return rc;
  if (rc) {
    oc_list_place(
        oc_finding_add(r->fs, OC_FINDING_MIXLIST_JSON, flag, "why", err.msg, NULL), flag,
        0, 0);
    return OC_E_FORMAT;
  }
  rc = read_lists(r, root);
  if (!rc)
    rc = collect(r->a, r->l);
  return rc ? rc : oc_mix_check(r->l, r->fs);
}

int oc_mix_parse(struct oc_arena *a, const void *bytes, size_t len, unsigned flags,
                 struct oc_findings *fs, struct oc_mix_list **ret)
{
  struct oc_mix_list *l = OC_NEW(a, struct oc_mix_list);
  struct oc_lines lines;
  bool bom;

  if (!l)
    return OC_E_NOMEM;
  int rc = oc_lines_open(&lines, flag, bytes, len, flags, fs, &bom);
  if (rc)
    return rc;
  struct oc_str text = { lines.p, (size_t)(lines.end - lines.p) };
  if (oc_list_blank(text)) {
    oc_list_place(oc_finding_add(fs, OC_FINDING_MIXLIST_EMPTY, flag, NULL), flag, 0, 0);
    return OC_E_FORMAT;
  }
  struct reader r = { .a = a, .fs = fs, .l = l, .vendor = flags & OC_LISTS_VENDOR };
  rc = read_file(&r, text.p, text.len);
  if (rc) {
    oc_mix_clear(l);
    return rc;
  }
  if (bom)
    oc_list_note(fs, OC_FINDING_LIST_BOM, flag, 1);
  *ret = l;
  return 0;
}

void oc_mix_clear(struct oc_mix_list *l)
{
  if (l)
    oc_map_clear(&l->by_type);
}

const struct oc_mix_type *oc_mix_find(const struct oc_mix_list *l, const char *type)
{
  return l ? oc_map_gets(&l->by_type, type) : NULL;
}

int oc_mix_canonical(const struct oc_mix_list *l, struct oc_buf *out)
{
  struct oc_json_writer w;
  uint32_t i = 0;

  oc_json_writer_init(&w, out, false);
  oc_json_begin_object(&w, NULL);
  while (i < l->n) {
    enum oc_mix_list_kind list = l->entries[i].list;
    oc_json_begin_object(&w, list_names[list]);
    while (i < l->n && l->entries[i].list == list) {
      bool remove = l->entries[i].remove;
      oc_json_begin_array(&w, op_names[remove]);
      for (; i < l->n && l->entries[i].list == list && l->entries[i].remove == remove;
           i++)
        oc_json_put_string(&w, NULL, l->entries[i].type);
      oc_json_end_array(&w);
    }
    oc_json_end_object(&w);
  }
  oc_json_end_object(&w);
  return out->failed ? OC_E_NOMEM : 0;
}
