/* Sequences of tensors: a handle stands for the list; what an element looks like is found
 * by going back along the ops that made the list. */
#include <string.h>

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

/* The op that made a list before `from` came to it: through the op itself, or from a
 * While's result into its body. */
static const struct oc_op *maker_before(const struct oc_op *from, uint32_t out)
{
  if (!oc_op_is(from, "While") || from->n_subgraphs == 0)
    return infer_has(from, 0) ? from->inputs[0].from : NULL;

  const struct oc_graph *body = from->subgraphs[from->n_subgraphs - 1].graph;

  for (uint32_t k = body->n_ops; k > 0; k--)
    if (oc_op_is(body->ops[k - 1], "NetOutput"))
      return infer_has(body->ops[k - 1], out) ? body->ops[k - 1]->inputs[out].from : NULL;
  return NULL;
}

static struct element element_of(struct infer *in, const struct oc_op *op)
{
  struct element e = { .shape = oc_shape_unknown() };
  const struct oc_op *from = infer_has(op, 0) ? op->inputs[0].from : NULL;
  uint32_t out = from ? op->inputs[0].from_out : 0;

  for (uint32_t step = 0; from && step < MOST_STEPS; step++) {
    if (oc_op_is(from, "SequenceConstruct")) {
      for (uint32_t i = 0; i < from->n_inputs; i++)
        join(in, &e, infer_dtype(from, i), infer_shape(from, i));
    } else if (oc_op_is(from, "SplitToSequence")) {
      split_element(in, from, &e);
    } else if (oc_op_is(from, "SequenceInsert")) {
      join(in, &e, infer_dtype(from, 1), infer_shape(from, 1));
    } else if (oc_op_is(from, "SequenceEmpty")) {
      if (!e.any)
        e.dtype = infer_dtype_attr(from, "dtype", OC_DT_F32);
    }
    if (!oc_op_is(from, "SequenceInsert") && !oc_op_is(from, "SequenceErase") &&
        !oc_op_is(from, "Identity") && !oc_op_is(from, "While"))
      break;
    from = maker_before(from, out);
    out = 0;
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
