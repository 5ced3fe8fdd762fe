/* Ops and edges.
 *
 * An op is one arena object that never moves, so pointers to ops are the edges. Only the
 * array `graph->ops` grows; its order is the order in which importer and passes added
 * ops, until oc_graph_sort() makes it topological. Nothing is freed: a removed op merely
 * leaves the array. */
#include "graph/graph.h"

#include <assert.h>
#include <string.h>

#include "base/limits.h"

static const uint32_t FIRST_ROOM = 64;
/* A node of a model becomes several ops at most; a pass that never ended would be seen
 * here. */
static const uint32_t OPS_PER_NODE = 8;

struct oc_graph *oc_graph_new(struct oc_arena *arena, const char *name)
{
  struct oc_graph *g = OC_NEW(arena, struct oc_graph);
  if (!g)
    return NULL;
  g->arena = arena;
  g->name = name;
  g->model_format = "";
  g->next_symbol = OC_DIM_UNKNOWN - 1;
  return g;
}

static bool make_room(struct oc_graph *g)
{
  if (g->n_ops < g->room)
    return true;
  uint32_t room = g->room ? g->room * 2 : FIRST_ROOM;
  struct oc_op **ops = oc_arena_grow(g->arena, g->ops, g->n_ops, room, sizeof(*ops));
  if (!ops)
    return false;
  g->ops = ops;
  g->room = room;
  return true;
}

struct oc_op *oc_graph_add(struct oc_graph *g, const char *name, const char *type,
                           uint32_t n_inputs, uint32_t n_outputs)
{
  if (g->n_ops / OPS_PER_NODE >= OC_MAX_OPS || !make_room(g))
    return NULL;
  struct oc_op *op = OC_NEW(g->arena, struct oc_op);
  if (!op)
    return NULL;
  op->inputs = OC_NEW_N(g->arena, struct oc_input, n_inputs);
  op->outputs = OC_NEW_N(g->arena, struct oc_output, n_outputs);
  if (!op->inputs || !op->outputs)
    return NULL;
  op->name = name;
  op->type = type;
  op->source_type = "";
  op->n_inputs = n_inputs;
  op->n_outputs = n_outputs;
  op->column = -1;
  op->id = g->n_ops;
  g->ops[g->n_ops++] = op;
  return op;
}

struct oc_op *oc_graph_add_const(struct oc_graph *g, const char *name,
                                 const struct oc_value *value)
{
  struct oc_op *op = oc_graph_add(g, name, "Const", 0, 1);
  if (!op)
    return NULL;
  struct oc_tensor *t = &op->outputs[0].t;
  op->value = value;
  t->name = "y";
  t->dtype = value->dtype;
  t->want = value->dtype;
  t->got = value->dtype;
  t->format = OC_FMT_ND;
  t->shape = value->shape;
  t->value = value;
  return op;
}

static void put_le(uint8_t *p, uint64_t v, size_t bytes)
{
  for (size_t i = 0; i < bytes; i++)
    p[i] = (uint8_t)(v >> (8 * i));
}

struct oc_op *oc_graph_add_ints(struct oc_graph *g, const char *name, enum oc_dtype dtype,
                                const int64_t *v, size_t n, bool scalar)
{
  assert(dtype == OC_DT_I64 || dtype == OC_DT_I32);
  assert(!scalar || n == 1);
  size_t width = dtype == OC_DT_I64 ? sizeof(int64_t) : sizeof(int32_t);
  int64_t dim = (int64_t)n;
  struct oc_value *value = OC_NEW(g->arena, struct oc_value);
  uint8_t *data = oc_arena_calloc(g->arena, n, width);
  if (!value || !data)
    return NULL;
  for (size_t i = 0; i < n; i++)
    put_le(data + i * width, (uint64_t)v[i], width);
  value->dtype = dtype;
  value->shape = scalar ? oc_shape_scalar() : oc_shape_of(g->arena, &dim, 1);
  value->data = data;
  value->len = n * width;
  if (!value->shape.known_rank)
    return NULL;
  return oc_graph_add_const(g, name, value);
}

void oc_op_link(struct oc_op *to, uint32_t input, struct oc_op *from, uint32_t output)
{
  assert(input < to->n_inputs);
  assert(!from || output < from->n_outputs);
  to->inputs[input].from = from;
  to->inputs[input].from_out = output;
}

void oc_graph_sweep(struct oc_graph *g)
{
  uint32_t kept = 0;
  for (uint32_t i = 0; i < g->n_ops; i++) {
    struct oc_op *op = g->ops[i];
    bool drop = op->mark == 1;
    op->mark = 0;
    if (!drop)
      g->ops[kept++] = op;
  }
  g->n_ops = kept;
}

void oc_graph_replace(struct oc_graph *g, struct oc_op *from, uint32_t k,
                      struct oc_op *to, uint32_t m)
{
  for (uint32_t i = 0; i < g->n_ops; i++) {
    struct oc_op *op = g->ops[i];
    for (uint32_t j = 0; j < op->n_inputs; j++)
      if (op->inputs[j].from == from && op->inputs[j].from_out == k)
        oc_op_link(op, j, to, m);
  }
}

struct oc_op *oc_graph_find(const struct oc_graph *g, const char *name)
{
  for (uint32_t i = 0; i < g->n_ops; i++)
    if (strcmp(g->ops[i]->name, name) == 0)
      return g->ops[i];
  return NULL;
}

bool oc_op_is(const struct oc_op *op, const char *type)
{
  /* Asked so often that most calls of strcmp() are worth sparing. */
  return op->type[0] == type[0] && strcmp(op->type, type) == 0;
}

bool oc_op_is_input(const struct oc_op *op)
{
  return oc_op_is(op, "Data") || oc_op_is(op, "AippData");
}

bool oc_op_is_const(const struct oc_op *op)
{
  return oc_op_is(op, "Const") || oc_op_is(op, "Constant");
}

const struct oc_value *oc_op_input_value(const struct oc_op *op, uint32_t i)
{
  if (i >= op->n_inputs || !op->inputs[i].from)
    return NULL;
  const struct oc_input *in = &op->inputs[i];
  return in->from->outputs[in->from_out].t.value;
}

const char *oc_format_name(enum oc_format f)
{
  static const char *const names[] = {
    [OC_FMT_NCHW] = "NCHW",   [OC_FMT_NHWC] = "NHWC",   [OC_FMT_ND] = "ND",
    [OC_FMT_NCDHW] = "NCDHW", [OC_FMT_NDHWC] = "NDHWC", [OC_FMT_HWCN] = "HWCN",
    [OC_FMT_DHWCN] = "DHWCN",
  };
  return (size_t)f < sizeof(names) / sizeof(names[0]) ? names[f] : "ND";
}
