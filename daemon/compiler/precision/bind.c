/* Which table entry belongs to which tensor of an op.
 *
 * By name first (a dynamic entry takes its name followed by nothing or a number), then by
 * position where the counts allow it. An op that does not fit is refused by the AI Core.
 */
#include "precision_internal.h"

#include <ctype.h>
#include <string.h>

static bool name_fits(const struct oc_table_tensor *e, const char *name)
{
  size_t n = strlen(e->name);

  if (!name || strncmp(name, e->name, n) != 0)
    return false;
  if (!name[n])
    return true;
  if (e->param != OC_PARAM_DYNAMIC)
    return false;
  for (const char *p = name + n; *p; p++)
    if (!isdigit((unsigned char)*p))
      return false;
  return true;
}

struct side {
  const struct oc_table_tensor *entries;
  uint32_t n_entries;
  uint32_t n_tensors;
  uint32_t n_optional;
  int only_dynamic; /* index of the single dynamic entry, else -1 */
  bool dynamic_first;
};

static int by_name(const struct side *s, const char *name)
{
  for (uint32_t e = 0; e < s->n_entries; e++)
    if (name_fits(&s->entries[e], name))
      return (int)e;
  return -1;
}

static int entry_of(const struct side *s, const char *name, uint32_t i)
{
  if (s->dynamic_first && s->only_dynamic >= 0)
    return s->only_dynamic;
  int e = by_name(s, name);
  if (e >= 0)
    return e;
  if (s->n_tensors == s->n_entries)
    return (int)i;
  if (s->only_dynamic >= 0)
    return s->only_dynamic;
  if (s->n_tensors < s->n_entries && s->n_tensors >= s->n_entries - s->n_optional)
    return (int)i;
  return -1;
}

static struct side side_of(const struct oc_table_tensor *entries, uint32_t n_entries,
                           uint32_t n_tensors)
{
  struct side s = {
    .entries = entries, .n_entries = n_entries, .n_tensors = n_tensors, .only_dynamic = -1
  };

  for (uint32_t e = 0; e < n_entries; e++)
    s.n_optional += entries[e].param == OC_PARAM_OPTIONAL;
  if (n_entries == 1 && entries[0].param == OC_PARAM_DYNAMIC)
    s.only_dynamic = 0;
  return s;
}

/* A required entry has exactly one tensor, a dynamic one at least one. */
static bool quantities_fit(const struct side *s, const uint16_t *bind, uint32_t base)
{
  for (uint32_t e = 0; e < s->n_entries; e++) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->n_tensors; i++)
      count += bind[i] == base + e;
    if (s->entries[e].param == OC_PARAM_REQUIRED && count != 1)
      return false;
    if (s->entries[e].param == OC_PARAM_DYNAMIC && !count)
      return false;
  }
  return true;
}

static bool bind_side(const struct side *s, struct oc_op_info *n, uint32_t first,
                      uint32_t base, uint16_t *bind)
{
  for (uint32_t i = 0; i < s->n_tensors; i++) {
    int e = entry_of(s, oc_tensor_at(n->op, first + i)->name, i);
    if (e < 0)
      return false;
    bind[first + i] = (uint16_t)(base + (uint32_t)e);
  }
  return quantities_fit(s, bind + first, base);
}

void oc_bind(struct oc_run *r, struct oc_op_info *n)
{
  const struct oc_table_op *row = n->row;
  struct side in = side_of(row->tensors, row->n_inputs, n->op->n_inputs);
  struct side out =
      side_of(row->tensors + row->n_inputs, row->n_outputs, n->op->n_outputs);
  uint16_t *bind = OC_NEW_N(r->a, uint16_t, n->n_tensors);

  out.dynamic_first = true;
  if (!bind) {
    r->failed = true;
    return;
  }
  if (bind_side(&in, n, 0, 0, bind) &&
      bind_side(&out, n, n->op->n_inputs, row->n_inputs, bind))
    n->bind = bind;
}
