/* The body of a loop as While wants it, and the condition in a graph of its own.
 *
 * The body counts the rounds itself, takes the slices that Scan would have handed it and
 * puts each stacked result at the end (or, backwards, at the start) of a list. */
#include "passes/loops.h"

static struct oc_op *new_data(const struct loop *l, struct oc_graph *g, const char *what,
                              const char *attr, uint32_t input, enum oc_dtype dtype,
                              struct oc_shape shape)
{
  const char *name = oc_arena_printf(l->r->arena, "%s/While/%s", g->name, what);
  struct oc_op *op = name ? oc_graph_add(g, name, "Data", 1, 1) : NULL;

  if (!op || oc_attr_set_int(g, op, attr, input) < 0)
    return NULL;
  struct oc_tensor t = { .name = "x", .dtype = dtype, .want = dtype, .got = dtype };
  t.shape = shape;
  t.format = OC_FMT_ND;
  op->inputs[0].t = t;
  t.name = "y";
  op->outputs[0].t = t;
  return op;
}

static struct oc_op *own(const struct loop *l, struct oc_graph *g, const char *what,
                         uint32_t input, enum oc_dtype dtype)
{
  return new_data(l, g, what, "index", input, dtype, oc_shape_scalar());
}

static struct oc_op *outer(const struct loop *l, struct oc_graph *g, const char *what,
                           uint32_t input)
{
  const struct oc_tensor *t = &l->op->inputs[input].t;

  return new_data(l, g, what, "_parent_node_index", input, t->dtype, t->shape);
}

static struct oc_op *piece(const struct loop *l, struct oc_graph *g, const char *type,
                           const char *what, struct oc_op *a, struct oc_op *b,
                           enum oc_dtype dtype)
{
  struct oc_op *op = pass_piece_in(l->r, g, l->op, what, type, 2, 1);

  pass_wire(op, 0, a, 0);
  pass_wire(op, 1, b, 0);
  pass_looks(op, 0, dtype, oc_shape_scalar());
  return op;
}

static struct oc_op *number(const struct loop *l, struct oc_graph *g, const char *what,
                            int64_t v)
{
  return pass_piece_ints(l->r, g, l->op, what, &v, 1, true);
}

/* The Data op that a round gets anew as number `index`. */
static struct oc_op *own_data(const struct oc_graph *body, int64_t index)
{
  uint32_t input = 0;

  for (uint32_t i = 0; i < body->n_ops; i++)
    if (oc_op_is(body->ops[i], "Data") && !loop_captured(body->ops[i], &input) &&
        oc_attr_int(body->ops[i], "index", -1) == index)
      return body->ops[i];
  return NULL;
}

/* Captured tensors have moved; a Scan's states too, its slices are made below. */
static bool renumber(const struct loop *l)
{
  for (uint32_t i = 0; i < l->body->n_ops; i++) {
    struct oc_op *op = l->body->ops[i];
    uint32_t input = 0;
    int rc = 0;

    if (!oc_op_is(op, "Data"))
      continue;
    if (loop_captured(op, &input))
      rc = oc_attr_set_int(l->body, op, "_parent_node_index",
                           (int64_t)input - l->n_model + loop_results(l));
    else if (l->scan)
      rc = oc_attr_set_int(l->body, op, "index", oc_attr_int(op, "index", 0) + 1);
    if (rc < 0)
      return false;
  }
  return true;
}

/* Slice `j` of a Scan: the Data op becomes a GatherV2 of the whole tensor. */
static bool take_slice(const struct loop *l, uint32_t j, struct oc_op *round,
                       struct oc_op *next)
{
  struct oc_graph *g = l->body;
  struct oc_op *data = own_data(g, (int64_t)l->n_carried + j + 1);
  const char *what = oc_arena_printf(l->r->arena, "scanned%u", j);
  const char *at = oc_arena_printf(l->r->arena, "from_end%u", j);
  const char *name = oc_arena_printf(l->r->arena, "axis%u", j);
  uint32_t input = loop_scanned(l) + j;
  const struct oc_shape *x = &l->op->inputs[input].t.shape;
  struct oc_op *whole = what ? outer(l, g, what, input) : NULL;

  if (!data || !whole || !at || !name)
    return false;
  if (loop_backwards(l, "scan_input_directions", j))
    round = piece(l, g, "Sub", at, outer(l, g, at, loop_limit(l)), next, OC_DT_I64);
  data->type = "GatherV2";
  data->attrs = NULL;
  data->inputs = OC_NEW_N(l->r->arena, struct oc_input, 3);
  if (!data->inputs)
    return false;
  data->n_inputs = 3;
  pass_inherit(l->r, data, l->op);
  static const char *const names[] = { "x", "indices", "axis" };
  for (uint32_t i = 0; i < 3; i++) {
    data->inputs[i].t.name = names[i];
    data->inputs[i].t.format = OC_FMT_ND;
  }
  int64_t axis = loop_axis(l, "scan_input_axes", j, x->known_rank ? x->rank : 1);
  pass_wire(data, 0, whole, 0);
  pass_wire(data, 1, round, 0);
  pass_wire(data, 2, number(l, g, name, axis), 0);
  return round != NULL;
}

static struct oc_op *put_in_list(const struct loop *l, uint32_t j, struct oc_op *value,
                                 uint32_t out)
{
  struct oc_graph *g = l->body;
  bool front = l->scan && loop_backwards(l, "scan_output_directions", j);
  const char *list = oc_arena_printf(l->r->arena, "list%u", j);
  const char *suffix = oc_arena_printf(l->r->arena, "insert%u", j);
  const char *place = oc_arena_printf(l->r->arena, "front%u", j);
  struct oc_op *op =
      suffix ? pass_piece_in(l->r, g, l->op, suffix, "SequenceInsert", front ? 3 : 2, 1)
             : NULL;

  if (!list || !place || !op)
    return NULL;
  pass_wire(op, 0, own(l, g, list, loop_lead(l) + l->n_carried + j, OC_DT_RESOURCE), 0);
  pass_wire(op, 1, value, out);
  if (front)
    pass_wire(op, 2, number(l, g, place, 0), 0);
  pass_looks(op, 0, OC_DT_RESOURCE, oc_shape_scalar());
  return op;
}

/* The end gets the next round's number in front, and lists where results were. */
static bool change_end(const struct loop *l, struct oc_op *end, struct oc_op *next)
{
  uint32_t n = end->n_inputs + 1;
  struct oc_input *inputs = OC_NEW_N(l->r->arena, struct oc_input, n);
  struct oc_str *names = OC_NEW_N(l->r->arena, struct oc_str, n);

  if (!inputs || !names || !next)
    return false;
  for (uint32_t i = 1; i < n; i++)
    inputs[i] = end->inputs[i - 1];
  for (uint32_t i = 0; i < n; i++)
    inputs[i].t.name = oc_arena_printf(l->r->arena, "x%u", i);
  inputs[0].t.format = OC_FMT_ND;
  end->inputs = inputs;
  end->n_inputs = n;
  pass_wire(end, 0, next, 0);
  for (uint32_t j = 0; j < l->n_stacked; j++) {
    uint32_t at = n - l->n_stacked + j;
    struct oc_op *list =
        inputs[at].from ? put_in_list(l, j, inputs[at].from, inputs[at].from_out) : NULL;

    if (!list)
      return false;
    pass_wire(end, at, list, 0);
  }
  for (uint32_t i = 0; i < n; i++)
    names[i] = oc_str_of(inputs[i].from ? inputs[i].from->name : "");
  return oc_attr_set_strings(l->body, end, "_output_names", names, n) == 0;
}

bool loop_change_body(const struct loop *l)
{
  struct oc_op *end = loop_end(l->body);

  if (!renumber(l))
    return false;
  struct oc_op *round =
      l->scan ? own(l, l->body, "round", 0, OC_DT_I64) : own_data(l->body, 0);
  struct oc_op *next =
      piece(l, l->body, "Add", "next", round, number(l, l->body, "one", 1), OC_DT_I64);

  if (!round || !next)
    return false;
  for (uint32_t j = 0; j < l->n_scanned; j++)
    if (!take_slice(l, j, round, next))
      return false;
  return change_end(l, end, next) && oc_graph_sort(l->body, NULL) == 0;
}

struct oc_graph *loop_condition(const struct loop *l)
{
  const char *name = oc_arena_printf(l->r->arena, "%s_1_cond", l->op->name);
  struct oc_graph *g = name ? oc_graph_new(l->r->arena, name) : NULL;
  struct oc_op *due = NULL;

  if (!g)
    return NULL;
  g->parent = l->r->graph;
  g->parent_op = l->op;
  g->model_format = l->body->model_format;
  struct oc_op *round = own(l, g, "round", 0, OC_DT_I64);
  struct oc_op *go_on = l->scan ? NULL : own(l, g, "go_on", 1, OC_DT_BOOL);
  if (l->limited)
    due = piece(l, g, "Less", "less", round, outer(l, g, "limit", loop_limit(l)),
                OC_DT_BOOL);
  if (due && go_on)
    due = piece(l, g, "LogicalAnd", "and", due, go_on, OC_DT_BOOL);
  else if (!l->limited)
    due = go_on;
  const char *end_name = oc_arena_printf(l->r->arena, "%s/Node_Output", name);
  struct oc_op *end = end_name ? oc_graph_add(g, end_name, "NetOutput", 1, 0) : NULL;

  if (!due || !end)
    return NULL;
  end->inputs[0].t.name = "x0";
  end->inputs[0].t.format = OC_FMT_ND;
  pass_wire(end, 0, due, 0);
  struct oc_str text = oc_str_of(due->name);
  return oc_attr_set_strings(g, end, "_output_names", &text, 1) == 0 &&
                 oc_graph_sort(g, NULL) == 0
             ? g
             : NULL;
}
