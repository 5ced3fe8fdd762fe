/* The way out of control flow: results of branches and bodies become the op's. */
#include <string.h>

#include "infer/control.h"

/* Rounds through a body: the second one sees the widened shapes. */
static const uint32_t MOST_ROUNDS = 2;

static const struct oc_op *net_output(const struct oc_graph *g)
{
  for (uint32_t k = g->n_ops; k > 0; k--)
    if (oc_op_is(g->ops[k - 1], "NetOutput"))
      return g->ops[k - 1];
  return NULL;
}

static const struct oc_tensor *result(const struct oc_op *op, uint32_t sub, uint32_t i)
{
  const struct oc_op *end =
      sub < op->n_subgraphs ? net_output(op->subgraphs[sub].graph) : NULL;

  return end && i < end->n_inputs && end->inputs[i].from ? &end->inputs[i].t : NULL;
}

static struct infer_cells *result_cells(struct infer *in, const struct oc_op *op,
                                        uint32_t sub, uint32_t i)
{
  const struct infer_frame *f = &in->frames[in->depth - 1];
  const struct oc_op *end = net_output(op->subgraphs[sub].graph);

  if (!end || i >= end->n_inputs || !end->inputs[i].from)
    return NULL;
  return infer_scope_cells(f->subs[sub], end->inputs[i].from, end->inputs[i].from_out);
}

static void take(struct infer *in, struct oc_op *op, uint32_t k, uint32_t sub)
{
  const struct oc_tensor *t = result(op, sub, k);

  if (!t)
    return;
  infer_set(in, op, k, t->dtype, t->shape);
  op->outputs[k].t.value = t->value;

  struct infer_cells *c = result_cells(in, op, sub, k);

  if (c)
    infer_scope_put(in, in->frames[in->depth - 1].scope, op, k, c);
}

/* The branch that is taken when the condition is known, else -1. */
static int64_t chosen(struct infer *in, const struct oc_op *op)
{
  size_t n = 0;
  const int64_t *v = infer_known_ints(in, op, 0, &n);

  if (op->n_subgraphs == 1)
    return 0;
  if (!v || n != 1)
    return -1;
  if (oc_op_is(op, "Case") || oc_op_is(op, "StatelessCase"))
    return v[0] >= 0 && v[0] < (int64_t)op->n_subgraphs ? v[0] : op->n_subgraphs - 1;
  return v[0] != 0 ? 0 : 1;
}

/* Output `k` as every branch that can run makes it. */
static void join_branches(struct infer *in, struct oc_op *op, uint32_t k)
{
  const struct infer_frame *f = &in->frames[in->depth - 1];
  const struct oc_tensor *first = NULL;
  struct oc_shape s = oc_shape_unknown();

  for (uint32_t sub = 0; sub < op->n_subgraphs; sub++) {
    const struct oc_tensor *t = f->subs[sub]->broken ? NULL : result(op, sub, k);

    if (f->subs[sub]->broken)
      continue;
    if (!first)
      s = t ? t->shape : oc_shape_unknown();
    else
      s = t ? infer_merge(in, s, t->shape) : oc_shape_unknown();
    if (!first)
      first = t;
  }
  if (first)
    infer_set(in, op, k, first->dtype, s);
}

/* The one branch that is left when the others cannot run; -1 when several are. */
static int64_t only_sound(const struct infer_frame *f, const struct oc_op *op)
{
  int64_t only = -1;

  for (uint32_t sub = 0; sub < op->n_subgraphs; sub++) {
    if (f->subs[sub]->broken)
      continue;
    if (only >= 0)
      return -1;
    only = sub;
  }
  return only;
}

static void leave_branch(struct infer *in, struct oc_op *op)
{
  const struct infer_frame *f = &in->frames[in->depth - 1];
  int64_t only = chosen(in, op);
  bool any = false;

  for (uint32_t sub = 0; sub < op->n_subgraphs; sub++)
    any |= !f->subs[sub]->broken;
  if (only >= 0 ? f->subs[only]->broken != NULL : !any) {
    infer_broken(in, f->subs[only >= 0 ? only : 0]);
    return;
  }
  if (only < 0)
    only = only_sound(f, op);
  for (uint32_t k = 0; k < op->n_outputs; k++) {
    if (only >= 0)
      take(in, op, k, (uint32_t)only);
    else
      join_branches(in, op, k);
  }
}

/* Compares what the body hands on with what it was given; true when it has to see wider
 * shapes. Carried value `first_in + j` of the body comes out at `first_out + j`. */
static bool widen(struct infer *in, struct oc_op *op, uint32_t sub, uint32_t first_in,
                  uint32_t first_out, uint32_t n)
{
  struct infer_frame *f = &in->frames[in->depth - 1];
  bool again = false;

  if (!f->carried) {
    f->carried = OC_NEW_N(&in->scratch, struct oc_shape, first_in + n);
    f->n_carried = f->carried ? first_in + n : 0;
    for (uint32_t j = 0; j < n && f->carried; j++)
      f->carried[first_in + j] = infer_shape(op, first_in + j);
  }
  for (uint32_t j = 0; j < n && f->carried; j++) {
    const struct oc_tensor *t = result(op, sub, first_out + j);
    struct oc_shape *was = &f->carried[first_in + j];

    if (!t || oc_shape_eq(*was, t->shape))
      continue;
    *was = infer_merge(in, *was, t->shape);
    again = true;
  }
  return again && f->round + 1 < MOST_ROUNDS;
}

static bool body_always_continues(struct infer *in, const struct oc_op *op)
{
  const struct oc_op *end = net_output(op->subgraphs[0].graph);
  const struct infer_cells *c = result_cells(in, op, 0, 0);
  int64_t v = 0;

  if (c && c->n == 1 && infer_cell_int(c, 0, &v))
    return v != 0;
  if (!end || end->n_inputs == 0 || !end->inputs[0].from)
    return false;

  const struct oc_op *from = end->inputs[0].from;

  while (oc_op_is(from, "Identity") && infer_has(from, 0))
    from = from->inputs[0].from;
  if (oc_op_is_const(from) && from->value && oc_value_int(from->value, 0, &v))
    return v != 0;
  return oc_op_is(from, "Data") && oc_attr_int(from, "index", -1) == 1 &&
         oc_attr_int(from, "_parent_node_index", -1) < 0;
}

/* How often a Loop runs, a fresh symbol when that is open. */
static int64_t trip_count(struct infer *in, const struct oc_op *op)
{
  size_t n = 0;
  const int64_t *most = infer_known_ints(in, op, 0, &n);

  if (!most || n != 1 || most[0] < 0)
    return infer_fresh(in);

  int64_t count = most[0];
  const int64_t *go = infer_has(op, 1) ? infer_known_ints(in, op, 1, &n) : NULL;

  if (infer_has(op, 1) && (!go || n != 1))
    return infer_fresh(in);
  if (go && go[0] == 0)
    return 0;
  return body_always_continues(in, op) ? count : infer_fresh(in);
}

static void set_stacked(struct infer *in, struct oc_op *op, uint32_t k,
                        const struct oc_tensor *t, int64_t count, uint32_t axis)
{
  int64_t dims[OC_MAX_RANK];

  if (!t->shape.known_rank || t->shape.rank >= OC_MAX_RANK || axis > t->shape.rank) {
    infer_set(in, op, k, t->dtype, oc_shape_unknown());
    return;
  }
  for (uint32_t i = 0; i < axis; i++)
    dims[i] = t->shape.dims[i];
  dims[axis] = count;
  for (uint32_t i = axis; i < t->shape.rank; i++)
    dims[i + 1] = t->shape.dims[i];
  infer_set_dims(in, op, k, t->dtype, dims, t->shape.rank + 1);
}

static void set_carried(struct infer *in, struct oc_op *op, uint32_t k, uint32_t body_in,
                        const struct oc_tensor *t)
{
  const struct infer_frame *f = &in->frames[in->depth - 1];
  const struct oc_shape *wide = infer_widened(f, body_in);

  infer_set(in, op, k, t->dtype, wide ? *wide : t->shape);
}

static bool leave_loop(struct infer *in, struct oc_op *op)
{
  const struct oc_op *end = net_output(op->subgraphs[0].graph);
  uint32_t n_out = end ? end->n_inputs : 0;
  /* The body's own inputs are iteration, condition and the carried values; it hands on
   * the condition, the carried values, then what is stacked. */
  uint32_t own = infer_own_inputs(op->subgraphs[0].graph);
  uint32_t carried = own >= 2 ? own - 2 : 0;

  if (n_out == 0 || carried > n_out - 1 || carried + 2 > op->n_inputs)
    return false;

  uint32_t scans = n_out - 1 - carried;

  if (widen(in, op, 0, 2, 1, carried))
    return true;
  for (uint32_t j = 0; j < carried; j++)
    if (result(op, 0, 1 + j))
      set_carried(in, op, j, 2 + j, result(op, 0, 1 + j));

  int64_t count = scans > 0 ? trip_count(in, op) : 0;

  for (uint32_t j = 0; j < scans; j++)
    if (result(op, 0, 1 + carried + j))
      set_stacked(in, op, carried + j, result(op, 0, 1 + carried + j), count, 0);
  return false;
}

/* Captured tensors are extra inputs behind the ones of the model. */
static int64_t scan_length(struct infer *in, const struct oc_op *op, uint32_t n_states)
{
  uint32_t rank = 0;

  if (!infer_rank(op, n_states, &rank) || rank == 0)
    return infer_fresh(in);

  int64_t d =
      infer_dim(op, n_states, infer_scan_axis(in, op, "scan_input_axes", 0, rank));

  return d == OC_DIM_UNKNOWN ? infer_fresh(in) : d;
}

static bool leave_scan(struct infer *in, struct oc_op *op)
{
  uint32_t n_states = infer_scan_states(op);
  const struct oc_op *end = net_output(op->subgraphs[0].graph);

  if (!end || n_states > end->n_inputs)
    return false;
  if (widen(in, op, 0, 0, 0, n_states))
    return true;
  for (uint32_t j = 0; j < n_states; j++)
    if (result(op, 0, j))
      set_carried(in, op, j, j, result(op, 0, j));

  int64_t count = scan_length(in, op, n_states);

  for (uint32_t k = n_states; k < end->n_inputs; k++) {
    const struct oc_tensor *t = result(op, 0, k);

    if (!t)
      continue;

    uint32_t rank = t->shape.known_rank ? t->shape.rank + 1 : 1;

    set_stacked(in, op, k, t, count,
                infer_scan_axis(in, op, "scan_output_axes", k - n_states, rank));
  }
  return false;
}

/* While: sub-graph 0 is the condition, 1 the body (cond, body). */
static bool leave_while(struct infer *in, struct oc_op *op)
{
  uint32_t body = op->n_subgraphs - 1;

  if (widen(in, op, body, 0, 0,
            op->n_outputs < op->n_inputs ? op->n_outputs : op->n_inputs))
    return true;
  for (uint32_t k = 0; k < op->n_outputs; k++)
    if (result(op, body, k))
      set_carried(in, op, k, k, result(op, body, k));
  return false;
}

bool infer_control_leave(struct infer *in, struct oc_op *op)
{
  const struct infer_frame *f = &in->frames[in->depth - 1];
  enum infer_flow flow = infer_flow_of(op);

  for (uint32_t sub = 0; flow != INFER_FLOW_BRANCH && sub < op->n_subgraphs; sub++) {
    if (f->subs[sub]->broken) {
      infer_broken(in, f->subs[sub]);
      return false;
    }
  }
  switch (flow) {
  case INFER_FLOW_LOOP: return leave_loop(in, op);
  case INFER_FLOW_SCAN: return leave_scan(in, op);
  case INFER_FLOW_WHILE: return leave_while(in, op);
  default: leave_branch(in, op); return false;
  }
}
