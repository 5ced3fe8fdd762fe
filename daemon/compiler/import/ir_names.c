/* Looks IR types up in the table of signatures and names the tensors of an op. */
#include <stdlib.h>
#include <string.h>

#include "import/ir_table.h"
#include "import/reader.h"

static int compare(const void *key, const void *row)
{
  return strcmp(key, ((const struct import_signature *)row)->type);
}

static const struct import_signature *find(const char *type)
{
  return bsearch(type, import_ir_table, import_n_ir_types, sizeof(import_ir_table[0]),
                 compare);
}

/* The next word of a list; false at its end. */
static bool next_word(const char **p, struct oc_str *ret)
{
  *p += strspn(*p, " ");
  size_t n = strcspn(*p, " ");
  if (n == 0)
    return false;
  *ret = (struct oc_str){ *p, n };
  *p += n;
  return true;
}

static bool starred(struct oc_str w)
{
  return w.p[w.len - 1] == '*';
}

/* Words without a star; how many have one. */
static uint32_t count(const char *list, uint32_t *ret_stars)
{
  struct oc_str w;
  uint32_t n = 0;
  *ret_stars = 0;
  while (next_word(&list, &w)) {
    if (starred(w))
      (*ret_stars)++;
    else
      n++;
  }
  return n;
}

bool import_ir_outputs(const char *type, uint32_t *ret_fixed, bool *ret_dynamic)
{
  const struct import_signature *s = find(type);
  uint32_t stars = 0;
  if (!s)
    return false;
  *ret_fixed = count(s->outputs, &stars);
  *ret_dynamic = stars > 0;
  return true;
}

uint32_t import_ir_inputs(const char *type)
{
  const struct import_signature *s = find(type);
  uint32_t stars = 1;
  uint32_t n = s ? count(s->inputs, &stars) : 0;
  return stars ? UINT32_MAX : n;
}

/* Name of tensor `i` of `n`: fixed words in order, the starred ones share what is left.
 */
static const char *name_at(struct oc_arena *a, const char *list, uint32_t i, uint32_t n)
{
  uint32_t stars = 0;
  uint32_t fixed = count(list, &stars);
  uint32_t spread = stars && n > fixed ? (n - fixed) / stars : 0;
  struct oc_str w;
  while (next_word(&list, &w)) {
    uint32_t takes = starred(w) ? spread : 1;
    if (i >= takes) {
      i -= takes;
      continue;
    }
    if (starred(w))
      return oc_arena_printf(a, "%.*s%u", (int)w.len - 1, w.p, (unsigned)i);
    return oc_arena_strndup(a, w.p, w.len);
  }
  return NULL;
}

void import_name_tensors(struct oc_arena *a, struct oc_op *op)
{
  const struct import_signature *s = find(op->type);
  for (uint32_t i = 0; i < op->n_inputs; i++) {
    op->inputs[i].t.name = s ? name_at(a, s->inputs, i, op->n_inputs) : NULL;
    if (!op->inputs[i].t.name)
      op->inputs[i].t.name = oc_arena_printf(a, "x%u", (unsigned)i);
  }
  for (uint32_t i = 0; i < op->n_outputs; i++) {
    op->outputs[i].t.name = s ? name_at(a, s->outputs, i, op->n_outputs) : NULL;
    if (!op->outputs[i].t.name)
      op->outputs[i].t.name = oc_arena_printf(a, "y%u", (unsigned)i);
  }
}
