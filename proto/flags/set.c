/* The set of flags of one request: each name once, the last occurrence wins (the first
 * for the vendor's five registered options), in the order of first appearance. */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "flags/flags_internal.h"

void oc_flags_init(struct oc_flags *f, struct oc_arena *arena)
{
  *f = (struct oc_flags){ .arena = arena };
}

static struct oc_flag *find(const struct oc_flags *f, const char *name)
{
  for (size_t i = 0; i < f->n; i++)
    if (oc_streq(f->items[i].name, name))
      return &f->items[i];
  return NULL;
}

int oc_flags_put(struct oc_flags *f, const struct oc_flag *flag)
{
  struct oc_flag *old = find(f, flag->name);

  if (old) {
    if (!old->info || !old->info->first_wins)
      *old = *flag;
    return 0;
  }
  if (f->n == f->room) {
    size_t room = f->room ? f->room * 2 : 16;
    struct oc_flag *items = oc_arena_grow(f->arena, f->items, f->n, room, sizeof(*items));

    if (!items)
      return OC_E_NOMEM;
    f->items = items;
    f->room = room;
  }
  f->items[f->n++] = *flag;
  return 0;
}

int oc_flags_set(struct oc_flags *f, const char *name, const char *value)
{
  const struct oc_flag_info *info = oc_flag_find(name);
  struct oc_flag flag = { .info = info };

  flag.name = info ? info->name : oc_arena_strdup(f->arena, name);
  flag.value = oc_flag_clean(value, info && info->blanks, f->arena);
  if (!flag.name || !flag.value)
    return OC_E_NOMEM;
  return oc_flags_put(f, &flag);
}

const struct oc_flag *oc_flags_entry(const struct oc_flags *f, const char *name)
{
  return find(f, name);
}

const char *oc_flags_get(const struct oc_flags *f, const char *name)
{
  const struct oc_flag *flag = find(f, name);

  return flag && flag->value && *flag->value ? flag->value : NULL;
}

bool oc_flags_true(const struct oc_flags *f, const char *name)
{
  const char *value = oc_flags_get(f, name);

  return value && oc_flag_bool_word(value) == 1;
}

int oc_flags_mode(const struct oc_flags *f)
{
  const char *text = oc_flags_get(f, "mode");
  int64_t mode = 0;

  if (!text || !oc_str_to_i64(oc_str_of(text), &mode) || mode < 0 || mode > 1000)
    return 0;
  return (int)mode;
}

const char *oc_flags_uncached(const struct oc_flags *f)
{
  int mode = oc_flags_mode(f);

  if (mode != 0 && mode != 7 && mode != 30)
    return "mode";
  for (size_t i = 0; i < f->n; i++) {
    const struct oc_flag *flag = &f->items[i];

    if (!flag->value || !*flag->value)
      continue;
    if (!flag->info)
      return flag->name;
    if (flag->info->uncached && strcmp(flag->value, flag->info->normal))
      return flag->name;
  }
  return NULL;
}
