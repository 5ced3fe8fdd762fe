/* Which operations of a mix list may stand together on one type.
 *
 * Alone: every add, and remove from black or white. Together: one add and one remove of
 * another list (gray-list to-remove only beside an add). The first type in byte order
 * that breaks this is reported, as the vendor does. */
#include "lists_internal.h"

static bool single(unsigned set)
{
  return set && !(set & (set - 1));
}

static bool allowed(const struct oc_mix_type *t)
{
  if (!t->remove)
    return single(t->add);
  if (!single(t->remove))
    return false;
  if (!t->add)
    return t->remove != 1u << OC_MIX_GRAY;
  return single(t->add) && t->add != t->remove;
}

static const char *describe(struct oc_arena *a, const struct oc_mix_type *t)
{
  const char *text = "";

  for (unsigned k = 0; text && k < 3; k++) {
    const char *name = oc_mix_list_name((enum oc_mix_list_kind)k);
    if (t->add & 1u << k)
      text = oc_arena_printf(a, "%s%s%s to-add", text, *text ? ", " : "", name);
    if (text && t->remove & 1u << k)
      text = oc_arena_printf(a, "%s%s%s to-remove", text, *text ? ", " : "", name);
  }
  return text ? text : "";
}

int oc_mix_check(const struct oc_mix_list *l, struct oc_findings *fs)
{
  for (uint32_t i = 0; i < l->n_types; i++) {
    const struct oc_mix_type *t = &l->types[i];
    if (allowed(t))
      continue;
    oc_list_place(oc_finding_add(fs, OC_FINDING_MIXLIST_CONFLICT, t->type, "operations",
                                 describe(fs->arena, t), NULL),
                  "modify_mixlist", l->entries[t->entry - 1].line, t->entry);
    return OC_E_FORMAT;
  }
  return 0;
}
