/* New ops in place of one: their names, tensors and what they inherit.
 *
 * A piece is named `<op>/<suffix>`, in a sub-graph `<sub-graph>/<type>/<suffix>`, and has
 * the replaced op's list of original names (its name when it has none), so that lists
 * which name the op reach every piece. The keep mark goes along, as with every pattern
 * pass of the vendor. */
#include <string.h>

#include "optable/optable.h"
#include "passes/passes_internal.h"

void pass_inherit(struct pass_run *r, struct oc_op *op, const struct oc_op *old)
{
  op->origin_names = old->origin_names;
  op->n_origin_names = old->n_origin_names;
  if (old->n_origin_names == 0) {
    op->origin_names = OC_NEW_N(r->arena, const char *, 1);
    op->n_origin_names = op->origin_names ? 1 : 0;
    if (op->origin_names)
      op->origin_names[0] = old->name;
  }
  op->source_type = old->source_type;
  op->keep = old->keep;
  op->keep_entry = old->keep_entry;
  op->keep_also = old->keep_also;
}

/* Names by the signature; a dynamic tensor's are numbered. */
static void name_ports(struct pass_run *r, struct oc_op *op)
{
  const struct oc_ir *ir = r->optable ? oc_optable_ir(r->optable, op->type) : NULL;

  for (uint32_t i = 0; i < op->n_inputs; i++) {
    const struct oc_ir_tensor *t = ir && i < ir->n_inputs ? &ir->inputs[i] : NULL;

    op->inputs[i].t.format = OC_FMT_ND;
    op->inputs[i].t.name =
        t && t->param != OC_PARAM_DYNAMIC ? t->name : oc_arena_printf(r->arena, "x%u", i);
  }
  for (uint32_t i = 0; i < op->n_outputs; i++) {
    const struct oc_ir_tensor *t = ir && i < ir->n_outputs ? &ir->outputs[i] : NULL;

    op->outputs[i].t.format = OC_FMT_ND;
    op->outputs[i].t.name =
        t && t->param != OC_PARAM_DYNAMIC ? t->name : oc_arena_printf(r->arena, "y%u", i);
  }
}

static const char *piece_name(struct pass_run *r, const struct oc_graph *g,
                              const struct oc_op *old, const char *suffix)
{
  if (g == r->graph)
    return oc_arena_printf(r->arena, "%s/%s", old->name, suffix);
  return oc_arena_printf(r->arena, "%s/%s/%s", g->name, old->type, suffix);
}

struct oc_op *pass_piece_in(struct pass_run *r, struct oc_graph *g,
                            const struct oc_op *old, const char *suffix, const char *type,
                            uint32_t n_in, uint32_t n_out)
{
  const char *name = piece_name(r, g, old, suffix);
  struct oc_op *op = name ? oc_graph_add(g, name, type, n_in, n_out) : NULL;

  if (!op)
    return NULL;
  pass_inherit(r, op, old);
  name_ports(r, op);
  return op;
}

struct oc_op *pass_piece(struct pass_run *r, const struct oc_op *old, const char *suffix,
                         const char *type, uint32_t n_in, uint32_t n_out)
{
  return pass_piece_in(r, r->graph, old, suffix, type, n_in, n_out);
}

struct oc_op *pass_piece_const(struct pass_run *r, struct oc_graph *g,
                               const struct oc_op *old, const char *suffix,
                               const struct oc_value *v)
{
  const char *name = piece_name(r, g, old, suffix);
  struct oc_op *op = name && v ? oc_graph_add_const(g, name, v) : NULL;

  if (op)
    pass_inherit(r, op, old);
  return op;
}

struct oc_op *pass_piece_ints(struct pass_run *r, struct oc_graph *g,
                              const struct oc_op *old, const char *suffix,
                              const int64_t *v, size_t n, bool scalar)
{
  const char *name = piece_name(r, g, old, suffix);
  struct oc_op *op = name ? oc_graph_add_ints(g, name, OC_DT_I64, v, n, scalar) : NULL;

  if (op)
    pass_inherit(r, op, old);
  return op;
}

void pass_wire(struct oc_op *op, uint32_t i, struct oc_op *from, uint32_t out)
{
  if (!op || !from || i >= op->n_inputs || out >= from->n_outputs)
    return;

  const char *name = op->inputs[i].t.name;
  enum oc_format format = op->inputs[i].t.format;

  oc_op_link(op, i, from, out);
  op->inputs[i].t = from->outputs[out].t;
  op->inputs[i].t.name = name;
  op->inputs[i].t.format = format;
  op->inputs[i].t.value = NULL;
}

void pass_looks(struct oc_op *op, uint32_t k, enum oc_dtype dtype, struct oc_shape shape)
{
  if (!op || k >= op->n_outputs)
    return;
  op->outputs[k].t.dtype = dtype;
  op->outputs[k].t.shape = shape;
}
