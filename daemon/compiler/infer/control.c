/* Control flow: If and Case join branches, Loop, Scan and While carry values round.
 *
 * A branch sees the op's inputs as they are, known content included. A body sees carried
 * values without content (they change from round to round) and with the shape of the
 * initial value; when the body hands on another shape the dims that differ become unknown
 * and the body is gone through once more. Importers number a body's own Data ops with the
 * attribute `index` and say which input of the op a Data stands for (captured tensors and
 * branches) with `_parent_node_index`. Of a While, inputs behind the last output are the
 * same in every round. */
#include <string.h>

#include "infer/control.h"

enum infer_flow infer_flow_of(const struct oc_op *op)
{
  if (oc_op_is(op, "Loop"))
    return INFER_FLOW_LOOP;
  if (oc_op_is(op, "Scan"))
    return INFER_FLOW_SCAN;
  if (oc_op_is(op, "While") || oc_op_is(op, "StatelessWhile") || oc_op_is(op, "For"))
    return INFER_FLOW_WHILE;
  return INFER_FLOW_BRANCH;
}

static const struct infer_cells *outer_content(struct infer *in, const struct oc_op *op,
                                               uint32_t i)
{
  /* Content is looked up in the frame on top; the op belongs to the one below. */
  in->depth--;

  const struct infer_cells *c = infer_content(in, op, i);

  in->depth++;
  return c;
}

/* What the body declares stays where the outside knows nothing. */
static void bind(struct oc_op *data, enum oc_dtype dtype, struct oc_shape shape)
{
  if (data->n_outputs == 0)
    return;
  if (dtype != OC_DT_UNDEFINED)
    data->outputs[0].t.dtype = dtype;
  if (shape.known_rank)
    data->outputs[0].t.shape = shape;
  data->outputs[0].t.value = NULL;
}

/* A captured tensor, or an input of a branch. */
static void bind_outer(struct infer *in, struct oc_op *op, struct oc_op *data, uint32_t i,
                       bool with_content)
{
  bind(data, infer_dtype(op, i), infer_shape(op, i));
  if (!with_content || data->n_outputs == 0 || !infer_has(op, i))
    return;

  const struct infer_cells *c = outer_content(in, op, i);

  data->outputs[0].t.value = op->inputs[i].t.value;
  if (c)
    infer_scope_put(in, in->frames[in->depth - 1].scope, data, 0,
                    (struct infer_cells *)c);
}

uint32_t infer_scan_axis(struct infer *in, const struct oc_op *op, const char *attr,
                         uint32_t i, uint32_t rank)
{
  size_t n = 0;
  const int64_t *axes = oc_attr_ints(op, attr, &n);
  uint32_t axis = 0;

  if (axes && i < n)
    (void)infer_axis(in, op, axes[i], rank, &axis);
  return axis;
}

/* Data ops that a body gets anew in each round; captured tensors have a parent index. */
uint32_t infer_own_inputs(const struct oc_graph *body)
{
  uint32_t n = 0;

  for (uint32_t k = 0; k < body->n_ops; k++)
    n += oc_op_is(body->ops[k], "Data") &&
         oc_attr_int(body->ops[k], "_parent_node_index", -1) < 0;
  return n;
}

uint32_t infer_scan_states(const struct oc_op *op)
{
  int64_t scans = oc_attr_int(op, "num_scan_inputs", 0);
  uint32_t n = infer_own_inputs(op->subgraphs[0].graph);

  return scans >= 0 && scans <= (int64_t)n ? n - (uint32_t)scans : 0;
}

const struct oc_shape *infer_widened(const struct infer_frame *f, uint32_t i)
{
  return f->carried && i < f->n_carried ? &f->carried[i] : NULL;
}

static void bind_scanned(struct infer *in, struct oc_op *op, struct oc_op *data,
                         uint32_t i, uint32_t n_states)
{
  int64_t dims[OC_MAX_RANK];
  uint32_t rank = 0;

  if (!infer_dims(in, op, i, dims, &rank) || rank == 0) {
    bind(data, infer_dtype(op, i), oc_shape_unknown());
    return;
  }

  uint32_t axis = infer_scan_axis(in, op, "scan_input_axes", i - n_states, rank);

  memmove(&dims[axis], &dims[axis + 1], (rank - axis - 1) * sizeof(*dims));
  bind(data, infer_dtype(op, i), oc_shape_of(in->arena, dims, rank - 1));
}

/* A body's own input `i`, by the op's kind. */
static void bind_round(struct infer *in, struct oc_op *op, struct oc_op *data, uint32_t i)
{
  const struct infer_frame *f = &in->frames[in->depth - 2];
  enum infer_flow flow = infer_flow_of(op);
  const struct oc_shape *wide = infer_widened(f, i);

  if (flow == INFER_FLOW_LOOP && i == 0) {
    bind(data, OC_DT_I64, oc_shape_scalar());
  } else if (flow == INFER_FLOW_LOOP && i == 1) {
    bind(data, OC_DT_BOOL, oc_shape_scalar());
  } else if (flow == INFER_FLOW_SCAN && i >= infer_scan_states(op)) {
    bind_scanned(in, op, data, i, infer_scan_states(op));
  } else {
    bind(data, infer_dtype(op, i), wide ? *wide : infer_shape(op, i));
    if (wide && data->n_outputs > 0)
      data->outputs[0].t.shape = *wide;
  }
}

void infer_control_enter(struct infer *in, struct oc_op *op, uint32_t sub)
{
  struct oc_graph *g = op->subgraphs[sub].graph;
  enum infer_flow flow = infer_flow_of(op);

  in->conflict = false;
  for (uint32_t k = 0; k < g->n_ops; k++) {
    struct oc_op *data = g->ops[k];

    if (!oc_op_is(data, "Data"))
      continue;

    int64_t index = oc_attr_int(data, "index", -1);
    int64_t outer = oc_attr_int(data, "_parent_node_index", -1);

    bool carried = flow == INFER_FLOW_WHILE && outer < (int64_t)op->n_outputs;

    if (outer >= 0 && outer < (int64_t)op->n_inputs && carried)
      bind_round(in, op, data, (uint32_t)outer);
    else if (outer >= 0 && outer < (int64_t)op->n_inputs)
      bind_outer(in, op, data, (uint32_t)outer, true);
    else if (index >= 0 && index < (int64_t)op->n_inputs)
      bind_round(in, op, data, (uint32_t)index);
  }
}

const struct infer_rule infer_control_rules[] = {
  { .type = "If" },
  { .type = "StatelessIf" },
  { .type = "Case" },
  { .type = "StatelessCase" },
  { .type = "Loop" },
  { .type = "Scan" },
  { .type = "While" },
  { .type = "StatelessWhile" },
  { .type = "For" },
  { .type = "PartitionedCall" },
  { .type = "StatefulPartitionedCall" },
  { .type = "NetOutput" },
  { .type = "NoOp" },
  { .type = "ControlTrigger" },
  { .type = NULL },
};
