/* Tensor arrays of TensorFlow: a handle, and a scalar that carries the order of accesses.
 *
 * What an element looks like is looked up where the array was filled: along the flow,
 * back over the ops of a loop that hand it on. */
#include "infer/infer_internal.h"

/* Longer chains of hand-overs exist in no real model. */
enum { MOST_STEPS = 64 };

static void handle_shape(struct infer *in, struct oc_op *op)
{
  infer_set(in, op, 0, OC_DT_RESOURCE, oc_shape_scalar());
  infer_set(in, op, 1, OC_DT_F32, oc_shape_scalar());
}

static void flow_shape(struct infer *in, struct oc_op *op)
{
  infer_set(in, op, 0, OC_DT_F32, oc_shape_scalar());
}

static void size_shape(struct infer *in, struct oc_op *op)
{
  infer_set(in, op, 0, OC_DT_I32, oc_shape_scalar());
}

/* The op that last filled the array in front of input `i`; NULL when it is not seen. */
static const struct oc_op *filler(const struct oc_op *op, uint32_t i)
{
  static const char *const hand_on[] = { "Enter", "Merge", "Switch", "Identity", "Exit" };

  for (uint32_t step = 0; step < MOST_STEPS; step++) {
    bool goes_on = false;

    if (i >= op->n_inputs || !op->inputs[i].from)
      return NULL;
    op = op->inputs[i].from;
    i = 0;
    if (oc_op_is(op, "TensorArrayScatter") || oc_op_is(op, "TensorArrayWrite"))
      return op;
    for (size_t k = 0; k < sizeof(hand_on) / sizeof(hand_on[0]); k++)
      goes_on = goes_on || oc_op_is(op, hand_on[k]);
    if (!goes_on)
      return NULL;
  }
  return NULL;
}

static struct oc_shape element_shape(struct infer *in, const struct oc_op *op,
                                     uint32_t flow)
{
  const struct oc_op *from = filler(op, flow);
  int64_t dims[OC_MAX_RANK];
  uint32_t rank = 0;

  if (!from || !infer_dims(in, from, 2, dims, &rank))
    return oc_shape_unknown();
  if (oc_op_is(from, "TensorArrayWrite"))
    return oc_shape_of(in->arena, dims, rank);
  return rank ? oc_shape_of(in->arena, &dims[1], rank - 1) : oc_shape_unknown();
}

static void read_shape(struct infer *in, struct oc_op *op)
{
  infer_set(in, op, 0, infer_dtype_attr(op, "dtype", OC_DT_UNDEFINED),
            element_shape(in, op, 2));
}

/* All elements along a new first dim. */
static void gather_shape(struct infer *in, struct oc_op *op)
{
  struct oc_shape element = element_shape(in, op, 2);
  enum oc_dtype dtype = infer_dtype_attr(op, "dtype", OC_DT_UNDEFINED);
  int64_t dims[OC_MAX_RANK];
  size_t n = 0;
  const int64_t *given = oc_attr_ints(op, "element_shape", &n);

  if (!element.known_rank && given && n < OC_MAX_RANK)
    element = oc_shape_of(in->arena, given, n);
  infer_set(in, op, 0, dtype, oc_shape_unknown());
  if (!element.known_rank || element.rank + 1 > OC_MAX_RANK)
    return;
  dims[0] = infer_dim(op, 1, 0);
  for (uint32_t i = 0; i < element.rank; i++)
    dims[i + 1] = element.dims[i] == OC_DIM_UNKNOWN ? infer_fresh(in) : element.dims[i];
  infer_set_dims(in, op, 0, dtype, dims, element.rank + 1);
}

const struct infer_rule infer_tensor_array_rules[] = {
  { .type = "TensorArray", .shape = handle_shape },
  { .type = "TensorArrayScatter", .shape = flow_shape },
  { .type = "TensorArrayWrite", .shape = flow_shape },
  { .type = "TensorArraySplit", .shape = flow_shape },
  { .type = "TensorArrayRead", .shape = read_shape },
  { .type = "TensorArrayGather", .shape = gather_shape },
  { .type = "TensorArraySize", .shape = size_shape },
  { .type = NULL },
};
