/* Ops of several tensors that broadcast as numpy does. */
#include "infer/infer_internal.h"

static struct oc_shape broadcast_all(struct infer *in, struct oc_op *op, uint32_t from,
                                     uint32_t to)
{
  struct oc_shape s = infer_shape(op, from);

  for (uint32_t i = from + 1; i < to; i++)
    if (infer_has(op, i))
      s = infer_broadcast(in, op, s, infer_shape(op, i));
  return s;
}

static enum oc_dtype dtype_of(const struct oc_op *op)
{
  enum oc_dtype d = infer_dtype(op, 0);

  return d == OC_DT_UNDEFINED ? infer_dtype(op, 1) : d;
}

static void arithmetic(struct infer *in, struct oc_op *op)
{
  infer_set(in, op, 0, dtype_of(op), broadcast_all(in, op, 0, op->n_inputs));
}

/* The first two inputs broadcast, others are parameters. */
static void pair(struct infer *in, struct oc_op *op)
{
  infer_set(in, op, 0, dtype_of(op), broadcast_all(in, op, 0, 2));
}

static void compare(struct infer *in, struct oc_op *op)
{
  infer_set(in, op, 0, OC_DT_BOOL, broadcast_all(in, op, 0, 2));
}

static void select_like(struct infer *in, struct oc_op *op)
{
  infer_set(in, op, 0, infer_dtype(op, 1), broadcast_all(in, op, 0, 3));
}

/* Select of TensorFlow: the condition may be a vector over the first dim. */
static void select_first(struct infer *in, struct oc_op *op)
{
  infer_set(in, op, 0, infer_dtype(op, 1), infer_shape(op, 1));
}

static void args_shape(struct infer *in, struct oc_op *op)
{
  int64_t a = infer_dim(op, 0, 0);
  int64_t b = infer_dim(op, 1, 0);
  int64_t n = a >= 0 && b >= 0 ? (a > b ? a : b) : infer_fresh(in);

  infer_set_dims(in, op, 0, infer_dtype(op, 0), &n, 1);
}

#define MATHS(t)                                                                         \
  {                                                                                      \
    .type = t, .shape = pair, .value = infer_binary_value                                \
  }
#define COMPARE(t)                                                                       \
  {                                                                                      \
    .type = t, .shape = compare, .value = infer_binary_value                             \
  }
#define PAIR(t)                                                                          \
  {                                                                                      \
    .type = t, .shape = pair                                                             \
  }
#define ALL(t)                                                                           \
  {                                                                                      \
    .type = t, .shape = arithmetic                                                       \
  }

const struct infer_rule infer_broadcast_rules[] = {
  MATHS("Add"),
  MATHS("AddV2"),
  MATHS("Sub"),
  MATHS("Mul"),
  MATHS("RealDiv"),
  MATHS("Div"),
  MATHS("FloorDiv"),
  MATHS("TruncateDiv"),
  MATHS("Mod"),
  MATHS("FloorMod"),
  MATHS("Maximum"),
  MATHS("Minimum"),
  MATHS("Pow"),
  MATHS("BitwiseAnd"),
  MATHS("BitwiseOr"),
  MATHS("BitwiseXor"),
  COMPARE("Equal"),
  COMPARE("NotEqual"),
  COMPARE("Greater"),
  COMPARE("GreaterEqual"),
  COMPARE("Less"),
  COMPARE("LessEqual"),
  COMPARE("LogicalAnd"),
  COMPARE("LogicalOr"),
  { .type = "ApproximateEqual", .shape = compare },
  { .type = "SelectV2", .shape = select_like, .value = infer_select_value },
  { .type = "Select", .shape = select_first, .value = infer_select_value },
  { .type = "BroadcastArgs", .shape = args_shape },
  PAIR("Atan2"),
  PAIR("Axpy"),
  PAIR("AxpyV2"),
  PAIR("DivNoNan"),
  PAIR("LeftShift"),
  PAIR("MulNoNan"),
  PAIR("RightShift"),
  PAIR("SquaredDifference"),
  PAIR("TruncateMod"),
  PAIR("Xdivy"),
  PAIR("Xlog1py"),
  PAIR("Xlogy"),
  ALL("AccumulateNV2"),
  ALL("AddN"),
  ALL("Addcdiv"),
  ALL("Addcmul"),
  { .type = NULL },
};
