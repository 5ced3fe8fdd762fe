/* MODEL_DEF: the view as plain structures, which om/ writes.
 *
 * dims that are not known are written as -1, an unknown rank as the one dim -2. `size` is
 * the padded byte count of a tensor in memory, but the input of a Data op carries the
 * exact one; a tensor without a known size has none. Offsets of tensors without memory
 * are -1; of constants, those in WEIGHTS_DATA. */
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "emit_internal.h"

bool emit_desc(struct oc_emit_plan *p, const struct oc_tensor *t, enum oc_dtype got,
               enum oc_dtype origin, struct oc_om_desc *d)
{
  uint32_t rank = t->shape.known_rank ? t->shape.rank : 1;
  int64_t *dims = OC_NEW_N(&p->arena, int64_t, rank);
  uint64_t bytes;

  if (!dims)
    return false;
  if (!t->shape.known_rank)
    dims[0] = -2;
  else
    for (uint32_t i = 0; i < rank; i++)
      dims[i] = t->shape.dims[i] < 0 ? -1 : t->shape.dims[i];
  d->dtype = got;
  d->dims = dims;
  d->rank = rank;
  d->layout = oc_str_of(oc_format_name(t->format));
  if (emit_bytes(got, t->shape, &bytes) && bytes <= (uint64_t)INT64_MAX / 4)
    d->size = (int64_t)emit_padded(bytes);
  return emit_desc_attrs(p, t, d, origin);
}

static bool input_desc(struct oc_emit_plan *p, const struct emit_op *e, uint32_t i,
                       struct oc_om_desc *d)
{
  const struct oc_tensor *t = &e->op->inputs[i].t;
  uint64_t bytes;

  if (!oc_op_is_input(e->op) || !e->op->n_outputs)
    return emit_desc(p, t, e->op->inputs[i].from ? emit_in_dtype(e, i) : t->dtype,
                     t->dtype, d);
  t = &e->op->outputs[0].t;
  if (!emit_desc(p, t, emit_out_dtype(e, 0), t->dtype, d))
    return false;
  if (emit_bytes(d->dtype, t->shape, &bytes) && d->size)
    d->size = (int64_t)bytes;
  return true;
}

/* "producer:index" of a linked input. */
static struct oc_str edge_name(struct oc_emit_plan *p, const struct emit_op *from,
                               uint32_t out)
{
  return oc_str_of(oc_arena_printf(&p->arena, "%s:%u", from->name, out));
}

static int64_t offset_of(const struct emit_op *e, uint32_t out)
{
  if (e->constant)
    return (int64_t)e->constant->offset;
  return e->blocks[out] ? (int64_t)e->blocks[out]->offset : -1;
}

static bool set_inputs(struct oc_emit_plan *p, const struct emit_op *e,
                       struct oc_om_op *to)
{
  uint32_t n = e->constant ? 0 : e->op->n_inputs, k = 0;
  uint32_t n_ctrl = e->constant ? 0 : e->op->n_controls;
  int64_t *indices = OC_NEW_N(&p->arena, int64_t, n),
          *offsets = OC_NEW_N(&p->arena, int64_t, n);
  int64_t *is_const = OC_NEW_N(&p->arena, int64_t, n);

  to->inputs = OC_NEW_N(&p->arena, struct oc_str, (size_t)n + n_ctrl);
  to->src_names = OC_NEW_N(&p->arena, struct oc_str, n);
  to->input_descs = OC_NEW_N(&p->arena, struct oc_om_desc, n);
  if (!indices || !offsets || !is_const || !to->inputs || !to->src_names ||
      !to->input_descs)
    return false;
  for (uint32_t i = 0; i < n; i++) {
    const struct emit_op *from = emit_producer(e, i);
    if (!input_desc(p, e, i, &to->input_descs[i]))
      return false;
    if (!from)
      continue;
    uint32_t out = emit_producer_out(e, i);
    to->inputs[i] = edge_name(p, from, out);
    to->src_names[k] = oc_str_of(from->name);
    indices[k] = out;
    offsets[k] = offset_of(from, out);
    is_const[k++] = from->constant != NULL;
  }
  to->n_inputs = n;
  for (uint32_t i = 0; i < n_ctrl; i++) {
    const struct emit_op *from = e->op->controls[i]->plan;
    if (from)
      to->inputs[to->n_inputs++] =
          oc_str_of(oc_arena_printf(&p->arena, "%s:-1", from->name));
  }
  to->n_input_descs = n;
  to->n_src_names = to->n_src_indices = to->n_input_offsets = to->n_input_is_const = k;
  to->src_indices = indices;
  to->input_offsets = offsets;
  to->input_is_const = is_const;
  return true;
}

static bool set_outputs(struct oc_emit_plan *p, const struct emit_op *e,
                        struct oc_om_op *to)
{
  uint32_t n = e->op->n_outputs;
  int64_t *offsets = OC_NEW_N(&p->arena, int64_t, n);
  int64_t *indices = OC_NEW_N(&p->arena, int64_t, e->n_users);

  to->output_descs = OC_NEW_N(&p->arena, struct oc_om_desc, n);
  to->dst_names = OC_NEW_N(&p->arena, struct oc_str, e->n_users);
  if (!offsets || !indices || !to->output_descs || !to->dst_names)
    return false;
  for (uint32_t k = 0; k < n; k++) {
    const struct oc_tensor *t = &e->op->outputs[k].t;
    enum oc_dtype origin = e->constant ? e->constant->value->dtype : t->dtype;
    if (!emit_desc(p, t, emit_out_dtype(e, k), origin, &to->output_descs[k]))
      return false;
    offsets[k] = offset_of(e, k);
  }
  for (uint32_t i = 0; i < e->n_users; i++) {
    to->dst_names[i] = oc_str_of(e->users[i].to->name);
    indices[i] = e->users[i].input;
  }
  to->n_output_descs = n;
  to->n_output_offsets = e->constant ? 0 : n;
  to->output_offsets = offsets;
  to->n_dst_names = to->n_dst_indices = e->n_users;
  to->dst_indices = indices;
  return true;
}

static bool set_op(struct oc_emit_plan *p, const struct emit_op *e, struct oc_om_op *to)
{
  const struct oc_op *op = e->op;

  to->name = oc_str_of(e->name);
  to->type = oc_str_of(e->constant ? "Const" : op->type);
  to->id = e->id;
  to->subgraphs = OC_NEW_N(&p->arena, struct oc_str, op->n_subgraphs);
  if (!to->subgraphs)
    return false;
  to->n_subgraphs = op->n_subgraphs;
  for (uint32_t i = 0; i < op->n_subgraphs; i++)
    to->subgraphs[i] = oc_str_of(op->subgraphs[i].name);
  return set_inputs(p, e, to) && set_outputs(p, e, to) && emit_op_attrs(p, e, to);
}

/* Where a graph begins and ends: its Data ops, and what its NetOutput reads. */
static bool set_ends(struct oc_emit_plan *p, const struct emit_graph *g,
                     struct oc_om_graph *to)
{
  const struct emit_op *end = emit_net_output(g);
  uint32_t n_out = end ? end->op->n_inputs : 0;

  to->inputs = OC_NEW_N(&p->arena, struct oc_str, g->n_ops);
  to->outputs = OC_NEW_N(&p->arena, struct oc_str, n_out);
  if (!to->inputs || !to->outputs)
    return false;
  for (uint32_t i = 0; i < g->n_ops; i++)
    if (oc_op_is_input(g->ops[i]->op))
      to->inputs[to->n_inputs++] = edge_name(p, g->ops[i], 0);
  for (uint32_t i = 0; i < n_out; i++)
    if (emit_producer(end, i))
      to->outputs[to->n_outputs++] =
          edge_name(p, emit_producer(end, i), emit_producer_out(end, i));
  return true;
}

/* The ops of a graph are described one at a time, in memory of their own: all of them at
 * once would take several times the bytes that are written. */
struct op_source {
  struct oc_emit_plan *plan;
  const struct emit_graph *graph;
  struct oc_arena arena;
  bool failed;
};

static int op_at(void *ctx, uint32_t i, struct oc_om_op *ret)
{
  struct op_source *s = ctx;
  struct oc_arena keep = s->plan->arena;

  oc_arena_clear(&s->arena);
  s->plan->arena = s->arena;
  s->failed = !set_op(s->plan, s->graph->ops[i], ret) || s->plan->arena.failed;
  s->arena = s->plan->arena;
  s->plan->arena = keep;
  return s->failed ? OC_E_NOMEM : 0;
}

static bool set_graph(struct oc_emit_plan *p, const struct emit_graph *g,
                      struct op_source *source, struct oc_om_graph *to)
{
  bool entry = g == p->graphs;

  *source = (struct op_source){ .plan = p, .graph = g };
  to->name = oc_str_of(entry && p->profile >= 0 ? emit_profile_name(p) : g->name);
  to->n_ops = g->n_ops;
  to->op_at = op_at;
  to->ctx = source;
  return set_ends(p, g, to) && emit_graph_attrs(p, to);
}

/* Writes MODEL_DEF and lets go of the sources; `*ret_short` when memory was short. */
static int write_def(struct oc_emit_plan *p, const struct oc_om_def *def,
                     struct op_source *sources, bool *ret_short)
{
  int rc = oc_om_write_def(def, &p->model->def);

  for (uint32_t i = 0; i < p->n_graphs; i++) {
    *ret_short = *ret_short || sources[i].failed;
    oc_arena_clear(&sources[i].arena);
  }
  return rc;
}

int emit_def(struct oc_emit_plan *p, struct oc_findings *fs, struct oc_error *err)
{
  struct oc_om_def *def = OC_NEW(&p->arena, struct oc_om_def);
  struct op_source *sources = OC_NEW_N(&p->arena, struct op_source, p->n_graphs);
  bool ok = def && sources, out_of_memory = false;

  if (ok) {
    def->name = oc_str_of(p->profile < 0 ? p->opt.label : emit_profile_name(p));
    def->ir_version = 2;
    def->graphs = OC_NEW_N(&p->arena, struct oc_om_graph, p->n_graphs);
    def->n_graphs = p->n_graphs;
    ok = def->graphs != NULL;
  }
  for (uint32_t i = 0; ok && i < p->n_graphs; i++)
    ok = set_graph(p, &p->graphs[i], &sources[i], &def->graphs[i]);
  ok = ok && emit_model_attrs(p, def);
  if (!ok || p->arena.failed)
    return emit_no_memory(err);
  uint64_t max = p->opt.max_model_def ? p->opt.max_model_def : OC_MAX_MODEL_DEF;
  oc_buf_init(&p->model->def, (size_t)max);
  int rc = write_def(p, def, sources, &out_of_memory);
  if (out_of_memory)
    return emit_no_memory(err);
  if (rc < 0) {
    char limit[24];
    snprintf(limit, sizeof limit, "%llu", (unsigned long long)max);
    oc_finding_add(fs, OC_FINDING_MODEL_DEF_TOO_LARGE, p->opt.label, "limit", limit,
                   NULL);
    return oc_error_set(err, OC_E_LIMIT,
                        "the description of the model is larger than %s bytes", limit);
  }
  return 0;
}
