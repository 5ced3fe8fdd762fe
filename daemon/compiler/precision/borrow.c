/* Names for the tensors of an op whose type only a table knows: a custom operator stands
 * in the graph for itself, and neither the model nor the IR names its tensors. They take
 * the table's names by position, and so its entries. */
#include "precision_internal.h"

static const char *name_at(struct oc_run *r, const struct oc_table_tensor *entries,
                           uint32_t n_entries, uint32_t n_tensors, uint32_t i)
{
  for (uint32_t e = 0; e < n_entries; e++) {
    bool dynamic = entries[e].param == OC_PARAM_DYNAMIC;
    uint32_t others = n_entries - 1;
    uint32_t takes = !dynamic ? 1 : n_tensors > others ? n_tensors - others : 0;

    if (i < takes)
      return dynamic ? oc_arena_printf(r->a, "%s%u", entries[e].name, i)
                     : entries[e].name;
    i -= takes;
  }
  return NULL;
}

void oc_borrow_names(struct oc_run *r, const struct oc_op_info *n)
{
  const struct oc_table_op *row = n->row;
  struct oc_op *op = n->op;

  if (!r->o->optable || !op->source_type || !oc_op_is(op, op->source_type) ||
      oc_optable_ir(r->o->optable, op->type))
    return;
  for (uint32_t i = 0; i < op->n_inputs; i++) {
    const char *name = name_at(r, row->tensors, row->n_inputs, op->n_inputs, i);
    op->inputs[i].t.name = name ? name : op->inputs[i].t.name;
  }
  for (uint32_t i = 0; i < op->n_outputs; i++) {
    const char *name =
        name_at(r, row->tensors + row->n_inputs, row->n_outputs, op->n_outputs, i);
    op->outputs[i].t.name = name ? name : op->outputs[i].t.name;
  }
}
