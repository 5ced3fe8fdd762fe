/* MODEL_INOUT_INFO: the model's inputs in the order of their indices, and its outputs. */
#include <string.h>

#include "base/limits.h"
#include "emit_internal.h"

static bool set_io(struct oc_emit_plan *p, const struct oc_tensor *t, enum oc_dtype got,
                   const char *name, struct oc_om_io *io)
{
  struct oc_om_desc d = { 0 };
  uint64_t bytes = 0;

  if (!name || !emit_desc(p, t, got, t->dtype, &d))
    return false;
  if (!emit_bytes(got, t->shape, &bytes))
    bytes = 0;
  *io = (struct oc_om_io){
    .name = name,
    .dtype = got,
    .format = oc_om_format_number(oc_format_name(t->format)),
    .bytes = bytes,
    .dims = d.dims,
    .rank = d.rank,
  };
  return true;
}

int emit_inout(struct oc_emit_plan *p, struct oc_error *err)
{
  const struct emit_graph *g = &p->graphs[0];
  const struct emit_op *end = emit_net_output(g);
  const struct emit_op **data = OC_NEW_N(&p->arena, const struct emit_op *, g->n_ops);
  struct oc_om_io *ins = OC_NEW_N(&p->arena, struct oc_om_io, g->n_ops);
  struct oc_om_io *outs = OC_NEW_N(&p->arena, struct oc_om_io, end->op->n_inputs);
  size_t n = 0, n_out = 0;
  bool ok = data && ins && outs;

  for (uint32_t i = 0; ok && i < g->n_ops; i++) {
    if (!oc_op_is_input(g->ops[i]->op) || !g->ops[i]->op->n_outputs)
      continue;
    int64_t index = oc_attr_int(g->ops[i]->op, "index", 0);
    size_t at = n++;
    for (; at > 0 && oc_attr_int(data[at - 1]->op, "index", 0) > index; at--)
      data[at] = data[at - 1];
    data[at] = g->ops[i];
  }
  for (size_t i = 0; ok && i < n; i++)
    ok = set_io(p, &data[i]->op->outputs[0].t, emit_out_dtype(data[i], 0), data[i]->name,
                &ins[i]);
  for (uint32_t i = 0; ok && i < end->op->n_inputs; i++)
    if (emit_producer(end, i))
      ok = set_io(p, &end->op->inputs[i].t, emit_in_dtype(end, i),
                  emit_output_name(p, end, i), &outs[n_out++]);
  if (!ok)
    return emit_no_memory(err);
  oc_buf_init(&p->model->inout, OC_MAX_MODEL_DEF);
  const struct oc_emit_profiles *from = &p->opt.profiles;
  const struct oc_om_profiles profiles = {
    .kind = p->profile < 0 ? from->kind : 0,
    .n = from->n,
    .width = from->width,
    .values = from->values,
    .names = from->names,
    .n_names = from->n_names,
    .shapes = p->shapes,
    .n_shapes = p->n_shapes,
  };
  if (oc_om_write_inout(&p->model->inout, ins, n, outs, n_out) < 0 ||
      (profiles.kind && oc_om_write_profiles(&p->model->inout, &profiles) < 0))
    return emit_no_memory(err);
  return 0;
}
