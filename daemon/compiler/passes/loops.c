/* Loop and Scan become While, which is the only loop that the IR has.
 *
 * While hands every value round and back, so the round's number is a value of its own,
 * and what ONNX stacks is put into a list (SequenceEmpty, SequenceInsert) that is joined
 * behind the loop (ConcatFromSequence). A condition graph compares the round's number
 * with the limit. The op keeps its name, and what is new has the name in its list. */
#include "passes/loops.h"

#include <string.h>

struct oc_op *loop_end(const struct oc_graph *g)
{
  for (uint32_t k = g->n_ops; k > 0; k--)
    if (oc_op_is(g->ops[k - 1], "NetOutput"))
      return g->ops[k - 1];
  return NULL;
}

bool loop_captured(const struct oc_op *data, uint32_t *ret_input)
{
  int64_t i = oc_attr_int(data, "_parent_node_index", -1);

  if (i < 0)
    return false;
  *ret_input = (uint32_t)i;
  return true;
}

int64_t loop_axis(const struct loop *l, const char *attr, uint32_t i, uint32_t rank)
{
  size_t n = 0;
  const int64_t *axes = oc_attr_ints(l->op, attr, &n);
  int64_t axis = axes && i < n ? axes[i] : 0;

  return axis < 0 ? axis + rank : axis;
}

bool loop_backwards(const struct loop *l, const char *attr, uint32_t i)
{
  size_t n = 0;
  const int64_t *ways = oc_attr_ints(l->op, attr, &n);

  return ways && i < n && ways[i] == 1;
}

/* How many Data ops a round gets anew, and where the captured inputs begin. */
static void count_inputs(struct loop *l, uint32_t *ret_own)
{
  uint32_t input = 0;

  l->n_model = l->op->n_inputs;
  *ret_own = 0;
  for (uint32_t i = 0; i < l->body->n_ops; i++) {
    const struct oc_op *op = l->body->ops[i];

    if (!oc_op_is(op, "Data"))
      continue;
    if (!loop_captured(op, &input))
      ++*ret_own;
    else if (input < l->n_model)
      l->n_model = input;
  }
  l->n_captured = l->op->n_inputs - l->n_model;
}

static bool has(const struct oc_op *op, uint32_t i)
{
  return i < op->n_inputs && op->inputs[i].from;
}

/* False for one whose parts do not fit together; it stays what it is. */
static bool read_loop(struct loop *l)
{
  struct oc_op *op = l->op;
  const struct oc_op *end = loop_end(l->body);
  uint32_t own = 0;

  if (!end)
    return false;
  count_inputs(l, &own);
  if (l->scan) {
    int64_t scanned = oc_attr_int(op, "num_scan_inputs", 0);
    if (scanned < 1 || scanned > own || l->n_model != own)
      return false;
    l->n_scanned = (uint32_t)scanned;
    l->n_carried = own - l->n_scanned;
    l->limited = true;
  } else {
    if (own < 2 || (l->n_model > 2 ? l->n_model : 2) != own)
      return false;
    l->n_carried = own - 2;
    l->limited = has(op, 0) && l->n_model > 0;
  }
  uint32_t lead = l->scan ? 0 : 1;
  if (end->n_inputs < lead + l->n_carried || op->n_outputs > end->n_inputs - lead)
    return false;
  l->n_stacked = end->n_inputs - lead - l->n_carried;
  for (uint32_t i = 0; i < l->n_carried + l->n_scanned; i++)
    if (!has(op, (l->scan ? 0 : 2) + i))
      return false;
  return true;
}

static struct oc_op *number(const struct loop *l, const char *what, int64_t v)
{
  return pass_piece_ints(l->r, l->r->graph, l->op, what, &v, 1, true);
}

static struct oc_op *yes(const struct loop *l)
{
  static const uint8_t one[] = { 1 };
  struct oc_value *v = OC_NEW(l->r->arena, struct oc_value);

  if (!v)
    return NULL;
  *v = (struct oc_value){ .dtype = OC_DT_BOOL, .data = one, .len = 1 };
  v->shape = oc_shape_scalar();
  return pass_piece_const(l->r, l->r->graph, l->op, "go_on", v);
}

static struct oc_op *new_list(const struct loop *l, uint32_t j)
{
  const char *name = oc_arena_printf(l->r->arena, "list%u", j);
  struct oc_op *end = loop_end(l->body);
  const struct oc_tensor *t = &end->inputs[end->n_inputs - l->n_stacked + j].t;
  struct oc_op *op = name ? pass_piece(l->r, l->op, name, "SequenceEmpty", 0, 1) : NULL;

  if (!op || oc_attr_set_dtype(l->r->graph, op, "dtype", t->dtype) < 0)
    return NULL;
  pass_looks(op, 0, OC_DT_RESOURCE, oc_shape_scalar());
  return op;
}

/* How many rounds a Scan makes: the size of what it goes along. */
static struct oc_op *scan_length(const struct loop *l)
{
  struct oc_op *op = l->op;
  uint32_t input = l->n_carried;
  struct oc_shape x = op->inputs[input].t.shape;
  int64_t axis = loop_axis(l, "scan_input_axes", 0, x.known_rank ? x.rank : 1);

  if (x.known_rank && axis >= 0 && axis < x.rank && x.dims[axis] >= 0)
    return number(l, "rounds", x.dims[axis]);
  struct oc_op *shape = pass_piece(l->r, op, "shape", "Shape", 1, 1);
  struct oc_op *size = pass_piece(l->r, op, "rounds", "GatherV2", 3, 1);
  int64_t rank = x.known_rank ? (int64_t)x.rank : OC_DIM_UNKNOWN;
  if (!shape || !size || oc_attr_set_dtype(l->r->graph, shape, "dtype", OC_DT_I64) < 0)
    return NULL;
  pass_wire(shape, 0, op->inputs[input].from, op->inputs[input].from_out);
  pass_looks(shape, 0, OC_DT_I64, oc_shape_of(l->r->arena, &rank, 1));
  pass_wire(size, 0, shape, 0);
  pass_wire(size, 1, number(l, "rounds_of", axis), 0);
  pass_wire(size, 2, number(l, "rounds_axis", 0), 0);
  pass_looks(size, 0, OC_DT_I64, oc_shape_scalar());
  return size;
}

/* The While's inputs; NULL when memory is short. */
static struct oc_input *new_inputs(const struct loop *l)
{
  const struct oc_op *op = l->op;
  uint32_t n = loop_limit(l) + l->limited, first = l->scan ? 0 : 2, at = 0;
  struct oc_input *to = OC_NEW_N(l->r->arena, struct oc_input, n);
  struct oc_op maker = { .inputs = to, .n_inputs = n };

  if (!to)
    return NULL;
  pass_wire(&maker, at++, number(l, "round", 0), 0);
  if (!l->scan) {
    if (has(op, 1) && l->n_model > 1)
      to[at] = op->inputs[1];
    else
      pass_wire(&maker, at, yes(l), 0);
    at++;
  }
  for (uint32_t j = 0; j < l->n_carried; j++)
    to[at++] = op->inputs[first + j];
  for (uint32_t j = 0; j < l->n_stacked; j++)
    pass_wire(&maker, at++, new_list(l, j), 0);
  for (uint32_t j = 0; j < l->n_captured; j++)
    to[at++] = op->inputs[l->n_model + j];
  for (uint32_t j = 0; j < l->n_scanned; j++)
    to[at++] = op->inputs[l->n_carried + j];
  if (l->scan)
    pass_wire(&maker, at++, scan_length(l), 0);
  else if (l->limited)
    to[at++] = op->inputs[0];
  for (uint32_t i = 0; i < n; i++) {
    to[i].t.name = oc_arena_printf(l->r->arena, "x%u", i);
    to[i].t.format = OC_FMT_ND;
  }
  return to;
}

static struct oc_output *new_outputs(const struct loop *l, const struct oc_input *in)
{
  uint32_t n = loop_results(l);
  struct oc_output *to = OC_NEW_N(l->r->arena, struct oc_output, n);

  for (uint32_t i = 0; to && i < n; i++) {
    uint32_t old = i - loop_lead(l);

    to[i].t = in[i].t;
    if (i >= loop_lead(l) && old < l->n_carried && old < l->op->n_outputs)
      to[i].t = l->op->outputs[old].t;
    to[i].t.name = oc_arena_printf(l->r->arena, "y%u", i);
    to[i].t.value = NULL;
  }
  return to;
}

/* What was stacked comes out of the list now. */
static struct oc_op *join_list(const struct loop *l, uint32_t j,
                               const struct oc_tensor *was)
{
  const char *name = oc_arena_printf(l->r->arena, "stack%u", j);
  struct oc_op *op =
      name ? pass_piece(l->r, l->op, name, "ConcatFromSequence", 1, 1) : NULL;
  struct oc_graph *g = l->r->graph;
  struct oc_shape s = was->shape;
  int64_t axis =
      l->scan ? loop_axis(l, "scan_output_axes", j, s.known_rank ? s.rank : 1) : 0;

  if (!op || oc_attr_set_int(g, op, "axis", axis) < 0 ||
      oc_attr_set_int(g, op, "new_axis", 1) < 0)
    return NULL;
  /* Inference knows the number of rounds from the loop, not from the list. */
  if (s.known_rank && axis >= 0 && axis < s.rank &&
      oc_attr_set_int(g, op, "_num_elements", s.dims[axis]) < 0)
    return NULL;
  pass_looks(op, 0, was->dtype, s);
  return op;
}

/* Readers of the old outputs read the new ones: stacked ones first, then carried ones
 * from the last, so that none is moved twice. */
static bool move_readers(const struct loop *l, const struct oc_output *was, uint32_t n)
{
  struct oc_graph *g = l->r->graph;

  for (uint32_t j = 0; l->n_carried + j < n; j++) {
    struct oc_op *stack = join_list(l, j, &was[l->n_carried + j].t);

    if (!stack)
      return false;
    oc_graph_replace(g, l->op, l->n_carried + j, stack, 0);
  }
  for (uint32_t k = l->n_carried < n ? l->n_carried : n; k > 0; k--)
    oc_graph_replace(g, l->op, k - 1, l->op, k - 1 + loop_lead(l));
  for (uint32_t j = 0; j < l->n_stacked; j++) {
    const char *name = oc_arena_printf(l->r->arena, "%s/stack%u", l->op->name, j);
    struct oc_op *stack = name ? oc_graph_find(g, name) : NULL;

    if (stack)
      pass_wire(stack, 0, l->op, loop_lead(l) + l->n_carried + j);
  }
  return true;
}

static bool lower(struct loop *l)
{
  struct oc_op *op = l->op;
  const struct oc_output *was = op->outputs;
  uint32_t n_was = op->n_outputs;
  struct oc_input *inputs = new_inputs(l);
  struct oc_output *outputs = inputs ? new_outputs(l, inputs) : NULL;
  struct oc_subgraph *subs = OC_NEW_N(l->r->arena, struct oc_subgraph, 2);

  if (!outputs || !subs)
    return false;
  op->inputs = inputs;
  op->n_inputs = loop_limit(l) + l->limited;
  op->outputs = outputs;
  op->n_outputs = loop_results(l);
  if (!loop_change_body(l) || !move_readers(l, was, n_was))
    return false;
  subs[0].graph = loop_condition(l);
  if (!subs[0].graph)
    return false;
  subs[0].name = subs[0].graph->name;
  subs[1] = op->subgraphs[0];
  op->subgraphs = subs;
  op->n_subgraphs = 2;
  pass_note(l->r, op, "%s -> While", op->type);
  op->type = "While";
  op->attrs = NULL;
  return true;
}

void pass_loops(struct pass_run *r)
{
  struct oc_graph *g = r->graph;
  uint32_t n = g->n_ops;

  for (uint32_t i = 0; i < n; i++) {
    struct loop l = { .r = r, .op = g->ops[i] };

    l.scan = oc_op_is(l.op, "Scan");
    if ((!l.scan && !oc_op_is(l.op, "Loop")) || l.op->n_subgraphs != 1)
      continue;
    l.body = l.op->subgraphs[0].graph;
    if (read_loop(&l) && !lower(&l))
      r->arena->failed = true;
  }
}
