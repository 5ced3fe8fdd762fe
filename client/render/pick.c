/* Which ops are shown: --filter and --op cut the rows, never the totals. */
#include <fnmatch.h>
#include <string.h>

#include "base/dtype.h"
#include "base/str.h"
#include "render/render_internal.h"

static bool fits(const char *pattern, const char *text)
{
  if (strpbrk(pattern, "*?["))
    return !fnmatch(pattern, text, 0);
  return strstr(text, pattern) != NULL;
}

static bool fits_dtype(const char *word, const Omcc__V1__Op *op)
{
  const Omcc__V1__Tensor *t = oc_render_main_tensor(op);
  enum oc_dtype d = t && t->got < OC_DT_COUNT ? (enum oc_dtype)t->got : OC_DT_UNDEFINED;

  return t && (oc_streq(word, oc_dtype_name(d)) || oc_streq(word, oc_dtype_short(d)));
}

static bool fits_name(const char *pattern, const Omcc__V1__Op *op)
{
  if (fits(pattern, op->name))
    return true;
  for (size_t i = 0; i < op->n_origin_names; i++)
    if (fits(pattern, op->origin_names[i]))
      return true;
  return false;
}

bool oc_render_filter_ok(const char *filter)
{
  static const char *const keys[] = { "name=", "type=",  "engine=",
                                      "rule=", "dtype=", "sure=" };
  const char *equals = strchr(filter, '=');
  const char *slash = strchr(filter, '/');

  if (!equals || (slash && slash < equals))
    return true;
  for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
    if (oc_starts_with(filter, keys[i]))
      return true;
  return false;
}

bool oc_render_matches(const Omcc__V1__Op *op, const char *filter)
{
  const char *value = strchr(filter, '=');

  value = value ? value + 1 : filter;
  if (oc_starts_with(filter, "name="))
    return fits_name(value, op);
  if (oc_starts_with(filter, "type="))
    return !fnmatch(value, op->type, 0) || !fnmatch(value, op->source_type, 0);
  if (oc_starts_with(filter, "engine="))
    return oc_streq(value, op->engine);
  if (oc_starts_with(filter, "rule="))
    return op->reason && oc_streq(value, op->reason->rule);
  if (oc_starts_with(filter, "sure="))
    return oc_streq(value, op->sure);
  if (oc_starts_with(filter, "dtype="))
    return fits_dtype(value, op);
  return fits_name(filter, op) || fits(filter, op->type);
}

const Omcc__V1__Op *oc_render_op(const Omcc__V1__Report *r, const char *name)
{
  const Omcc__V1__Op *behind = NULL;

  for (size_t i = 0; i < r->n_ops; i++) {
    if (oc_streq(r->ops[i]->name, name))
      return r->ops[i];
    for (size_t k = 0; k < r->ops[i]->n_origin_names && !behind; k++)
      if (oc_streq(r->ops[i]->origin_names[k], name))
        behind = r->ops[i];
  }
  return behind;
}

const char *oc_render_nearest_op(const Omcc__V1__Report *r, const char *name,
                                 struct oc_arena *arena)
{
  const char **names = OC_NEW_N(arena, const char *, r->n_ops + 1);

  for (size_t i = 0; names && i < r->n_ops; i++)
    names[i] = r->ops[i]->name;
  return names ? oc_str_nearest(name, names, r->n_ops) : NULL;
}

Omcc__V1__Report *oc_render_pick(const Omcc__V1__Report *r, const char *filter,
                                 const Omcc__V1__Op *only, struct oc_arena *arena)
{
  Omcc__V1__Report *picked = OC_NEW(arena, Omcc__V1__Report);

  if (!picked)
    return NULL;
  *picked = *r;
  picked->ops = OC_NEW_N(arena, Omcc__V1__Op *, r->n_ops + 1);
  picked->n_ops = 0;
  for (size_t i = 0; picked->ops && i < r->n_ops; i++)
    if ((!only || r->ops[i] == only) && (!filter || oc_render_matches(r->ops[i], filter)))
      picked->ops[picked->n_ops++] = r->ops[i];
  return picked;
}
