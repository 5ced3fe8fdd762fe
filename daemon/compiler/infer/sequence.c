/* Sequences of tensors: a handle stands for the list; what an element looks like is found
 * by going back along the ops that made the list. */
#include <string.h>

#include "base/cleanup.h"
#include "infer/infer_internal.h"

/* Ops that one look back may visit; real models have a handful. */
static const uint32_t MOST_STEPS = 1000;

struct element {
  enum oc_dtype dtype;
  struct oc_shape shape;
  bool any;
};

static void join(struct infer *in, struct element *e, enum oc_dtype dtype,
                 struct oc_shape shape)
{
  e->shape = e->any ? infer_merge(in, e->shape, shape) : shape;
  e->dtype = dtype;
  e->any = true;
}

static void split_element(struct infer *in, const struct oc_op *op, struct element *e)
{
  const struct infer_cells *c = infer_has(op, 1) ? infer_content(in, op, 1) : NULL;
  int64_t dims[OC_MAX_RANK];
  uint32_t rank = 0;
  uint32_t axis = 0;

  if (!infer_dims(in, op, 0, dims, &rank) ||
      !infer_axis(in, op, infer_int_attr(op, "axis", 0), rank, &axis)) {
    join(in, e, infer_dtype(op, 0), oc_shape_unknown());
    return;
  }
  if (infer_has(op, 1)) {
    dims[axis] = c && c->n == 1 ? infer_cell_dim(in, c, 0) : infer_fresh(in);
  } else if (infer_bool_attr(op, "keepdims", true)) {
    dims[axis] = 1;
  } else {
    memmove(&dims[axis], &dims[axis + 1], (rank - axis - 1) * sizeof(*dims));
    rank--;
  }
  join(in, e, infer_dtype(op, 0), oc_shape_of(in->arena, dims, rank));
}

/* A list that comes from outside: what the model says of its tensors. */
static void declared_element(struct infer *in, const struct oc_op *data,
                             struct element *e)
{
  size_t rank = 0;
  const int64_t *dims = oc_attr_ints(data, OC_ATTR_ELEMENT_SHAPE, &rank);
  int64_t filled[OC_MAX_RANK];

  if (!oc_attr_find(data, OC_ATTR_ELEMENT_DTYPE))
    return;
  for (size_t i = 0; i < rank && i < OC_MAX_RANK; i++)
    filled[i] = dims[i] < 0 ? infer_fresh(in) : dims[i];
  join(in, e, infer_dtype_attr(data, OC_ATTR_ELEMENT_DTYPE, OC_DT_UNDEFINED),
       dims && rank <= OC_MAX_RANK ? oc_shape_of(in->arena, filled, (uint32_t)rank)
                                   : oc_shape_unknown());
}

/* Where a list is on its way back to its maker. */
struct way {
  const struct oc_op *op;
  uint32_t out;
  const struct oc_graph *graph; /* of the op */
};

static void go_to_input(struct way *w, const struct oc_op *op, uint32_t i)
{
  w->op = infer_has(op, i) ? op->inputs[i].from : NULL;
  w->out = w->op ? op->inputs[i].from_out : 0;
}

/* Out of a sub-graph: to what the op around it was given. */
static void leave_graph(struct way *w)
{
  const struct oc_op *outer = w->graph->parent_op;
  int64_t input = oc_attr_int(w->op, "_parent_node_index", -1);

  if (input < 0)
    input = oc_attr_int(w->op, "index", -1);
  w->graph = w->graph->parent;
  if (outer && w->graph && input >= 0 && input < (int64_t)outer->n_inputs)
    go_to_input(w, outer, (uint32_t)input);
  else
    w->op = NULL;
}

/* Into the body of a loop (or the last branch): to what makes its result `i`. */
static void enter_graph(struct way *w, uint32_t i)
{
  w->graph = w->op->subgraphs[w->op->n_subgraphs - 1].graph;
  w->op = NULL;
  for (uint32_t k = w->graph->n_ops; k > 0; k--)
    if (oc_op_is(w->graph->ops[k - 1], "NetOutput")) {
      go_to_input(w, w->graph->ops[k - 1], i);
      return;
    }
}

/* The op that made the list before this one came to it. */
static void step_back(struct way *w)
{
  if (w->op->n_subgraphs > 0)
    enter_graph(w, w->out + oc_op_is(w->op, "Loop"));
  else if (oc_op_is(w->op, "Data"))
    leave_graph(w);
  else
    go_to_input(w, w->op, 0);
}

static bool hands_on(const struct oc_op *op)
{
  static const char *const types[] = { "SequenceInsert", "SequenceErase", "Identity",
                                       "While",          "Loop",          "If" };

  for (size_t i = 0; i < OC_COUNT(types); i++)
    if (oc_op_is(op, types[i]))
      return true;
  return false;
}

static struct element element_of(struct infer *in, const struct oc_op *op)
{
  struct element e = { .shape = oc_shape_unknown() };
  struct way w = { .graph = in->frames[in->depth - 1].scope->graph };

  go_to_input(&w, op, 0);
  for (uint32_t step = 0; w.op && step < MOST_STEPS; step++) {
    const struct oc_op *from = w.op;
    bool outside = oc_op_is(from, "Data") && w.graph->parent_op;

    if (oc_op_is(from, "SequenceConstruct")) {
      for (uint32_t i = 0; i < from->n_inputs; i++)
        join(in, &e, infer_dtype(from, i), infer_shape(from, i));
    } else if (oc_op_is(from, "SplitToSequence")) {
      split_element(in, from, &e);
    } else if (oc_op_is(from, "SequenceInsert")) {
      join(in, &e, infer_dtype(from, 1), infer_shape(from, 1));
    } else if (oc_op_is(from, "Data") && !outside) {
      declared_element(in, from, &e);
    } else if (oc_op_is(from, "SequenceEmpty")) {
      if (!e.any)
        e.dtype = infer_dtype_attr(from, "dtype", OC_DT_F32);
    }
    if (!hands_on(from) && !outside)
      break;
    step_back(&w);
  }
  return e;
}

/* A list whose elements are known one by one. */
enum { MOST_ELEMENTS = 64 };
struct list {
  struct element at[MOST_ELEMENTS];
  uint32_t n;
};

/* Input `i` as a place in a list of `n`; absent: behind the last (or the last). */
static bool place(struct infer *in, const struct oc_op *op, uint32_t i, int64_t n,
                  int64_t absent, int64_t *ret)
{
  size_t count = 0;
  const int64_t *v = infer_has(op, i) ? infer_known_ints(in, op, i, &count) : NULL;

  if (infer_has(op, i) && (!v || count != 1))
    return false;
  *ret = v ? v[0] : absent;
  if (*ret < 0)
    *ret += n;
  return *ret >= 0 && *ret <= n;
}

static struct element element_in(const struct oc_op *op, uint32_t i)
{
  return (struct element){ infer_dtype(op, i), infer_shape(op, i), true };
}

/* What one op does to the list; false when that is not known. */
static bool replay(struct infer *in, const struct oc_op *op, struct list *l)
{
  int64_t at = 0;

  if (oc_op_is(op, "SequenceConstruct") && op->n_inputs <= MOST_ELEMENTS) {
    for (uint32_t i = 0; i < op->n_inputs; i++)
      l->at[l->n++] = element_in(op, i);
    return true;
  }
  if (oc_op_is(op, "SequenceEmpty") || oc_op_is(op, "Identity"))
    return true;
  if (oc_op_is(op, "SequenceInsert") && l->n < MOST_ELEMENTS &&
      place(in, op, 2, l->n, l->n, &at)) {
    memmove(&l->at[at + 1], &l->at[at], (l->n - (size_t)at) * sizeof(*l->at));
    l->at[at] = element_in(op, 1);
    l->n++;
    return true;
  }
  if (oc_op_is(op, "SequenceErase") && place(in, op, 1, l->n, (int64_t)l->n - 1, &at) &&
      at < l->n) {
    memmove(&l->at[at], &l->at[at + 1], (l->n - (size_t)at - 1) * sizeof(*l->at));
    l->n--;
    return true;
  }
  return false;
}

/* Goes back to where the list of input 0 was made and does everything again. */
static bool elements(struct infer *in, const struct oc_op *op, struct list *l)
{
  const struct oc_op *steps[MOST_ELEMENTS];
  uint32_t n = 0;

  l->n = 0;
  for (const struct oc_op *from = infer_has(op, 0) ? op->inputs[0].from : NULL; from;) {
    if (n == MOST_ELEMENTS)
      return false;
    steps[n++] = from;
    bool made = oc_op_is(from, "SequenceConstruct") || oc_op_is(from, "SequenceEmpty");
    if (!made && !infer_has(from, 0))
      return false;
    from = made ? NULL : from->inputs[0].from;
  }
  while (n > 0)
    if (!replay(in, steps[--n], l))
      return false;
  return true;
}

static void handle_shape(struct infer *in, struct oc_op *op)
{
  infer_set(in, op, 0, OC_DT_RESOURCE, oc_shape_scalar());
}

static void length_shape(struct infer *in, struct oc_op *op)
{
  infer_set(in, op, 0, OC_DT_I64, oc_shape_scalar());
}

static void at_shape(struct infer *in, struct oc_op *op)
{
  struct list l;
  int64_t at = 0;

  if (infer_has(op, 1) && elements(in, op, &l) && place(in, op, 1, l.n, 0, &at) &&
      at < l.n) {
    infer_set(in, op, 0, l.at[at].dtype, l.at[at].shape);
    return;
  }

  struct element e = element_of(in, op);

  infer_set(in, op, 0, e.dtype, e.shape);
}

/* Size along `axis` of all elements joined (or their number, for a new axis). */
static int64_t joined_size(struct infer *in, const struct oc_op *op, bool new_axis,
                           uint32_t axis)
{
  const struct oc_op *from = op->inputs[0].from;
  int64_t sum = 0;

  if (oc_attr_find(op, "_num_elements")) /* a loop's lowering knows */
    return infer_int_attr(op, "_num_elements", OC_DIM_UNKNOWN);

  if (from && oc_op_is(from, "SplitToSequence") && !new_axis &&
      infer_int_attr(from, "axis", 0) == (int64_t)axis &&
      infer_bool_attr(from, "keepdims", true))
    return infer_dim(from, 0, axis);
  if (!from || !oc_op_is(from, "SequenceConstruct"))
    return infer_fresh(in);
  if (new_axis)
    return from->n_inputs;
  for (uint32_t i = 0; i < from->n_inputs; i++) {
    int64_t d = infer_dim(from, i, axis);

    sum = infer_add(in, sum, d == OC_DIM_UNKNOWN ? infer_fresh(in) : d);
  }
  return sum;
}

static void concat_shape(struct infer *in, struct oc_op *op)
{
  struct element e = element_of(in, op);
  bool new_axis = infer_int_attr(op, "new_axis", 0) != 0;
  int64_t dims[OC_MAX_RANK];
  uint32_t axis = 0;

  infer_set(in, op, 0, e.dtype, oc_shape_unknown());
  if (!e.shape.known_rank || e.shape.rank + 1 > OC_MAX_RANK)
    return;

  uint32_t rank = e.shape.rank + new_axis;

  if (!infer_axis(in, op, infer_int_attr(op, "axis", 0), rank, &axis))
    return;
  for (uint32_t i = 0, from = 0; i < rank; i++)
    dims[i] = new_axis && i == axis ? OC_DIM_UNKNOWN : e.shape.dims[from++];
  dims[axis] = joined_size(in, op, new_axis, axis);
  infer_set_dims(in, op, 0, e.dtype, dims, rank);
}

const struct infer_rule infer_sequence_rules[] = {
  { .type = "SequenceConstruct", .shape = handle_shape },
  { .type = "SequenceEmpty", .shape = handle_shape },
  { .type = "SequenceErase", .shape = handle_shape },
  { .type = "SequenceInsert", .shape = handle_shape },
  { .type = "SplitToSequence", .shape = handle_shape },
  { .type = "SequenceLength", .shape = length_shape },
  { .type = "SequenceAt", .shape = at_shape },
  { .type = "ConcatFromSequence", .shape = concat_shape },
  { .type = NULL },
};
