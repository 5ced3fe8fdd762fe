/* MODEL_DEF from plain structures.
 *
 * Children first: a finished child is copied behind its length. Buffers of one level are
 * reused, so a model costs a few buffers and not one per message. What every descriptor
 * carries (device NPU, the count of real dims) is written here. */
#include <string.h>

#include "om_internal.h"

static void put_str(struct oc_buf *out, uint32_t number, struct oc_str s)
{
  if (s.len)
    oc_wire_put_bytes(out, number, s.p, s.len);
}

static void put_strs(struct oc_buf *out, uint32_t number, const struct oc_str *v,
                     uint32_t n)
{
  for (uint32_t i = 0; i < n; i++)
    oc_wire_put_bytes(out, number, v[i].p, v[i].len);
}

static void put_i64(struct oc_buf *out, uint32_t number, int64_t v)
{
  if (v)
    oc_wire_put_i64(out, number, v);
}

static void put_ints(struct oc_buf *out, uint32_t number, const int64_t *v, uint32_t n)
{
  if (n)
    oc_wire_put_packed_i64(out, number, v, n);
}

int om_write_desc(struct oc_buf *out, const struct oc_om_desc *d)
{
  struct oc_buf shape;

  oc_buf_init(&shape, out->cap);
  put_str(out, 1, d->name);
  put_i64(out, 2, d->dtype);
  put_ints(&shape, 1, d->dims, d->rank);
  oc_wire_put_message(out, 3, &shape);
  put_str(out, 4, d->layout);
  om_write_attrs(out, 5, d->attrs, d->n_attrs);
  put_i64(out, 10, d->size);
  put_i64(out, 11, d->weight_size);
  oc_wire_put_string(out, 14, "NPU");
  put_i64(out, 16, d->rank);
  put_i64(out, 18, d->data_offset);
  bool failed = shape.failed;
  oc_buf_clear(&shape);
  return om_finish(out, failed);
}

static void write_descs(struct oc_buf *out, uint32_t number, const struct oc_om_desc *d,
                        uint32_t n, struct oc_buf *child)
{
  for (uint32_t i = 0; i < n; i++) {
    oc_buf_reset(child);
    om_write_desc(child, &d[i]);
    oc_wire_put_message(out, number, child);
  }
}

static void write_op(struct oc_buf *out, struct oc_om_op *op, struct oc_buf *child)
{
  put_str(out, 1, op->name);
  put_str(out, 2, op->type);
  put_strs(out, 5, op->inputs, op->n_inputs);
  om_write_attrs(out, 10, op->attrs, op->n_attrs);
  oc_wire_put_bool(out, 20, true);
  put_i64(out, 21, op->id);
  put_i64(out, 22, op->stream_id);
  put_strs(out, 24, op->src_names, op->n_src_names);
  put_ints(out, 25, op->src_indices, op->n_src_indices);
  put_strs(out, 26, op->dst_names, op->n_dst_names);
  put_ints(out, 27, op->dst_indices, op->n_dst_indices);
  put_ints(out, 28, op->input_offsets, op->n_input_offsets);
  put_ints(out, 29, op->output_offsets, op->n_output_offsets);
  put_ints(out, 32, op->input_is_const, op->n_input_is_const);
  write_descs(out, 33, op->input_descs, op->n_input_descs, child);
  write_descs(out, 34, op->output_descs, op->n_output_descs, child);
  put_strs(out, 35, op->subgraphs, op->n_subgraphs);
}

static void write_graph(struct oc_buf *out, struct oc_om_graph *g, struct oc_buf *op,
                        struct oc_buf *child)
{
  put_str(out, 1, g->name);
  put_strs(out, 4, g->inputs, g->n_inputs);
  put_strs(out, 5, g->outputs, g->n_outputs);
  for (uint32_t i = 0; i < g->n_ops && !out->failed; i++) {
    struct oc_om_op one = { 0 };
    if (!g->ops && g->op_at(g->ctx, i, &one) < 0) {
      out->failed = true;
      return;
    }
    oc_buf_reset(op);
    write_op(op, g->ops ? &g->ops[i] : &one, child);
    oc_wire_put_message(out, 6, op);
  }
  om_write_attrs(out, 11, g->attrs, g->n_attrs);
}

int oc_om_write_def(const struct oc_om_def *def, struct oc_buf *out)
{
  struct oc_buf graph, op, child;

  oc_buf_init(&graph, out->cap);
  oc_buf_init(&op, out->cap);
  oc_buf_init(&child, out->cap);
  put_str(out, 1, def->name);
  put_i64(out, 2, def->ir_version);
  put_str(out, 3, def->platform);
  for (uint32_t i = 0; i < def->n_graphs; i++) {
    oc_buf_reset(&graph);
    write_graph(&graph, &def->graphs[i], &op, &child);
    oc_wire_put_message(out, 7, &graph);
  }
  om_write_attrs(out, 11, def->attrs, def->n_attrs);
  bool failed = graph.failed || op.failed || child.failed;
  oc_buf_clear(&graph);
  oc_buf_clear(&op);
  oc_buf_clear(&child);
  return om_finish(out, failed);
}
