/* One Cast on every edge whose two ends differ.
 *
 * Three consumers that need another dtype get three Casts; equal siblings are merged when
 * the file is written. Constants get Casts as well; they are folded into the weights. */
#include "precision_internal.h"

static struct oc_op *new_cast(struct oc_run *r, struct oc_graph *g,
                              const struct oc_tensor *from, enum oc_dtype to)
{
  const char *name = oc_arena_printf(r->a, "trans_Cast_%u", r->next_cast++);
  struct oc_op *cast = name ? oc_graph_add(g, name, "Cast", 1, 1) : NULL;

  if (!cast)
    return NULL;
  cast->inserted = true;
  cast->engine = OC_ENGINE_AICORE;
  cast->mark = 0;
  cast->inputs[0].t = *from;
  cast->inputs[0].t.name = "x";
  cast->inputs[0].t.dtype = cast->inputs[0].t.want = from->got;
  cast->inputs[0].t.reasons = NULL;
  cast->outputs[0].t = cast->inputs[0].t;
  cast->outputs[0].t.name = "y";
  cast->outputs[0].t.dtype = cast->outputs[0].t.want = cast->outputs[0].t.got = to;
  cast->outputs[0].t.value = NULL;
  cast->outputs[0].t.reasons = NULL;
  oc_reasons_begin(r, 1, 0);
  struct oc_reason *why = oc_reason_add(r, &cast->outputs[0].t, OC_RULE_CAST_INSERTED);
  if (why)
    why->dtype = (uint8_t)to;
  oc_reasons_keep(r, &cast->outputs[0].t);
  int rc = oc_attr_set_dtype(g, cast, "SrcT", from->got);
  if (!rc)
    rc = oc_attr_set_dtype(g, cast, "DstT", to);
  if (!rc)
    rc = oc_attr_set_int(g, cast, "dst_type", oc_dtype_runtime(to));
  if (!rc)
    rc = oc_attr_set_bool(g, cast, "truncate", false);
  return rc ? NULL : cast;
}

/* New Casts stand at the end of the list, in the order of their consumers: each moves to
 * the place right in front of its consumer, and the list stays topological. */
static int put_in_order(struct oc_run *r, struct oc_graph *g, uint32_t n_ops)
{
  struct oc_op **order = OC_NEW_N(r->a, struct oc_op *, g->n_ops);
  uint32_t n = 0, next = n_ops;

  if (!order)
    return OC_E_NOMEM;
  for (uint32_t i = 0; i < n_ops; i++) {
    struct oc_op *op = g->ops[i];
    for (uint32_t k = 0; k < op->n_inputs; k++)
      if (next < g->n_ops && op->inputs[k].from == g->ops[next])
        order[n++] = g->ops[next++];
    order[n++] = op;
  }
  g->ops = order;
  g->room = g->n_ops;
  return 0;
}

int oc_casts_insert(struct oc_run *r, struct oc_graph *g)
{
  uint32_t n_ops = g->n_ops; /* ops behind these are Casts of our own */

  for (uint32_t i = 0; i < n_ops; i++) {
    struct oc_op *op = g->ops[i];
    for (uint32_t k = 0; k < op->n_inputs; k++) {
      struct oc_input *in = &op->inputs[k];
      if (!in->from)
        continue;
      const struct oc_tensor *out = &in->from->outputs[in->from_out].t;
      if (out->got == in->t.got)
        continue;
      struct oc_op *cast = new_cast(r, g, out, in->t.got);
      if (!cast)
        return OC_E_NOMEM;
      oc_op_link(cast, 0, in->from, in->from_out);
      oc_op_link(op, k, cast, 0);
      r->result->casts_added++;
    }
  }
  return g->n_ops == n_ops ? 0 : put_in_order(r, g, n_ops);
}
