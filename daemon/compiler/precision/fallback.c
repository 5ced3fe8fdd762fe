/* Who takes an op that the AI Core refused.
 *
 * Ops that never had a kernel stay in the graph. AI CPU looks at the model's dtypes, one
 * tensor at a time, and only at tensors whose name its table knows. */
#include "precision_internal.h"

#include <ctype.h>
#include <string.h>

static bool fits(const struct oc_aicpu_tensor *e, const char *name)
{
  size_t n = strlen(e->name);

  if (strncmp(name, e->name, n) != 0)
    return false;
  for (const char *p = name + n; *p; p++)
    if (!e->dynamic || !isdigit((unsigned char)*p))
      return false;
  return true;
}

static const struct oc_aicpu_tensor *entry_for(const struct oc_aicpu_tensor *list,
                                               uint32_t n, const struct oc_tensor *t,
                                               uint32_t i)
{
  if (!t->name)
    return i < n ? &list[i] : NULL;
  for (uint32_t k = 0; k < n; k++)
    if (fits(&list[k], t->name))
      return &list[k];
  return NULL;
}

static bool takes(struct oc_run *r, struct oc_op_info *n,
                  const struct oc_aicpu_tensor *list, uint32_t n_list, uint32_t i,
                  uint32_t position)
{
  const struct oc_tensor *t = oc_tensor_at(n->op, i);
  const struct oc_aicpu_tensor *e = entry_for(list, n_list, t, position);

  if (!e || !e->dtypes || e->dtypes >> t->dtype & 1)
    return true;
  n->aicpu_why =
      oc_arena_printf(r->a, "takes %s for %s", oc_dtype_list(r->a, e->dtypes), e->name);
  return false;
}

/* Padding that the older pooling type can say: none, or SAME and VALID by name. */
static const char *plain_padding(const struct oc_op *op)
{
  size_t n = 0;
  struct oc_str mode = oc_attr_string(op, "padding_mode", "CALCULATED");
  const int64_t *pads = oc_attr_ints(op, "pads", &n);

  if (oc_str_is(mode, "SAME") || oc_str_is(mode, "VALID"))
    return oc_str_is(mode, "SAME") ? "SAME" : "VALID";
  for (size_t i = 0; i < n; i++)
    if (pads[i] != 0)
      return NULL;
  return oc_attr_bool(op, "ceil_mode", false) ? NULL : "VALID";
}

/* The row for the older type under which AI CPU knows the op (`aicpu-form` of the
 * retyping table), NULL when there is none. */
static const struct oc_retype *aicpu_form(const struct oc_run *r, const struct oc_op *op)
{
  size_t n_rows = 0;
  const struct oc_retype *rows = oc_optable_retypes(r->o->optable, &n_rows);

  for (size_t i = 0; r->o->table && i < n_rows; i++)
    if (oc_streq(rows[i].how, "aicpu-form") && oc_streq(rows[i].from, op->type) &&
        oc_retype_applies(&rows[i], r->o->table->id))
      return &rows[i];
  return NULL;
}

static bool aicpu_takes(struct oc_run *r, struct oc_op_info *n)
{
  const struct oc_aicpu_op *cpu = oc_optable_aicpu(r->o->optable, n->op->type);
  const struct oc_op *op = n->op;

  if (!cpu) {
    n->aicpu_why = "has no such op";
    return false;
  }
  for (uint32_t i = 0; i < op->n_inputs; i++)
    if (op->inputs[i].from && !takes(r, n, cpu->inputs, cpu->n_inputs, i, i))
      return false;
  for (uint32_t i = 0; i < op->n_outputs; i++)
    if (!takes(r, n, cpu->outputs, cpu->n_outputs, op->n_inputs + i, i))
      return false;
  return true;
}

/* The op becomes the older type when it says the same there and AI CPU takes it so;
 * else it stays what it is. */
static bool takes_older_form(struct oc_run *r, struct oc_op_info *n)
{
  const struct oc_retype *row = aicpu_form(r, n->op);
  const char *newer = n->op->type;
  const char *padding = row ? plain_padding(n->op) : NULL;

  if (!padding)
    return false;
  n->op->type = row->to;
  if (aicpu_takes(r, n) && oc_attr_set_string(r->g, n->op, "padding", padding) == 0) {
    n->op->type_inferred |= oc_retype_inferred(row);
    return true;
  }
  n->op->type = newer;
  return false;
}

void oc_fallback(struct oc_run *r, struct oc_op_info *n)
{
  if (n->kind == OC_GRAPH_KIND_NO_KERNEL || n->kind == OC_GRAPH_KIND_DELETED)
    n->op->engine = OC_ENGINE_GRAPH;
  else
    n->op->engine =
        aicpu_takes(r, n) || takes_older_form(r, n) ? OC_ENGINE_AICPU : OC_ENGINE_NONE;
}
