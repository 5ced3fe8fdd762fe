/* Ops of one tensor that keep its shape, and casts. */
#include <math.h>

#include "infer/infer_internal.h"

void infer_like_first(struct infer *in, struct oc_op *op)
{
  for (uint32_t k = 0; k < op->n_outputs; k++)
    infer_set(in, op, k, infer_dtype(op, 0), infer_shape(op, 0));
}

void infer_like_each(struct infer *in, struct oc_op *op)
{
  for (uint32_t k = 0; k < op->n_outputs; k++)
    infer_set(in, op, k, infer_dtype(op, k), infer_shape(op, k));
}

/* `arg` is the dtype of the result. */
static void like_first_as(struct infer *in, struct oc_op *op)
{
  infer_set(in, op, 0, (enum oc_dtype)in->rule->arg, infer_shape(op, 0));
}

static void cast_shape(struct infer *in, struct oc_op *op)
{
  infer_set(in, op, 0, infer_dtype_attr(op, "dst_type", infer_dtype(op, 0)),
            infer_shape(op, 0));
}

static void cast_like(struct infer *in, struct oc_op *op)
{
  infer_set(in, op, 0, infer_dtype(op, 1), infer_shape(op, 0));
}

static void angle_shape(struct infer *in, struct oc_op *op)
{
  infer_set(in, op, 0, infer_dtype_attr(op, "Tout", OC_DT_F32), infer_shape(op, 0));
}

static void to_int_cell(const struct infer_cells *x, size_t i, struct infer_cells *y)
{
  double f = x->v[i].u.f;

  if (y->dtype == OC_DT_BOOL)
    y->v[i].u.i = f != 0;
  else if (f >= -9223372036854775808.0 && f < 9223372036854775808.0)
    y->v[i].u.i = infer_wrap(y->dtype, (int64_t)f);
  else
    y->v[i].kind = INFER_UNKNOWN; /* out of range: the result is the device's own */
}

static void cast_value(struct infer *in, struct oc_op *op)
{
  const struct infer_cells *x = infer_content(in, op, 0);
  struct infer_cells *y = x ? infer_cells_new(in, op, 0) : NULL;

  if (!y)
    return;
  for (size_t i = 0; i < y->n && i < x->n; i++) {
    y->v[i] = x->v[i];
    if (x->v[i].kind == INFER_SYMBOL && y->dtype == OC_DT_BOOL)
      y->v[i].kind = INFER_UNKNOWN;
    if (x->v[i].kind != INFER_KNOWN)
      continue;
    if (y->real)
      y->v[i].u.f = infer_round(y->dtype, x->real ? x->v[i].u.f : (double)x->v[i].u.i);
    else if (x->real)
      to_int_cell(x, i, y);
    else
      y->v[i].u.i = infer_wrap(y->dtype, x->v[i].u.i);
  }
  infer_store(in, op, 0, y);
}

enum unary { NEGATE, ABSOLUTE, NOT, FLOOR, CEIL, SQRT, SQUARE, RECIPROCAL, ROUND, SIGN };

static bool unary_real(enum unary what, double x, double *ret)
{
  switch (what) {
  case NEGATE: *ret = -x; return true;
  case ABSOLUTE: *ret = fabs(x); return true;
  case FLOOR: *ret = floor(x); return true;
  case CEIL: *ret = ceil(x); return true;
  case SQRT: *ret = sqrt(x); return true;
  case SQUARE: *ret = x * x; return true;
  case RECIPROCAL: *ret = 1.0 / x; return true;
  case ROUND: *ret = rint(x); return true; /* half to even, the default mode */
  case SIGN: *ret = (x > 0) - (x < 0); return true;
  default: return false;
  }
}

static bool unary_int(enum unary what, int64_t x, int64_t *ret)
{
  switch (what) {
  case NEGATE: *ret = (int64_t)(0 - (uint64_t)x); return true;
  case ABSOLUTE: *ret = x < 0 ? (int64_t)(0 - (uint64_t)x) : x; return true;
  case NOT: *ret = x == 0; return true;
  case SQUARE: *ret = (int64_t)((uint64_t)x * (uint64_t)x); return true;
  case SIGN: *ret = (x > 0) - (x < 0); return true;
  case FLOOR:
  case CEIL:
  case ROUND: *ret = x; return true;
  default: return false;
  }
}

/* Which operations leave a size (a symbol, never negative) as it is. */
static bool keeps_symbol(enum unary what)
{
  return what == ABSOLUTE || what == FLOOR || what == CEIL || what == ROUND;
}

static void follow_unary(struct infer *in, struct oc_op *op, enum unary what)
{
  const struct infer_cells *x = infer_content(in, op, 0);
  struct infer_cells *y = x ? infer_cells_new(in, op, 0) : NULL;

  if (!y || y->real != x->real)
    return;
  for (size_t i = 0; i < y->n && i < x->n; i++) {
    bool ok = false;

    if (x->v[i].kind == INFER_SYMBOL && keeps_symbol(what)) {
      y->v[i] = x->v[i];
      continue;
    }
    if (x->v[i].kind != INFER_KNOWN)
      continue;
    if (x->real)
      ok = unary_real(what, x->v[i].u.f, &y->v[i].u.f);
    else
      ok = unary_int(what, x->v[i].u.i, &y->v[i].u.i);
    if (ok && y->real)
      y->v[i].u.f = infer_round(y->dtype, y->v[i].u.f);
    else if (ok)
      y->v[i].u.i = infer_wrap(y->dtype, y->v[i].u.i);
    y->v[i].kind = ok ? INFER_KNOWN : INFER_UNKNOWN;
  }
  infer_store(in, op, 0, y);
}

static void unary_value(struct infer *in, struct oc_op *op)
{
  follow_unary(in, op, (enum unary)in->rule->arg);
}

static void not_value(struct infer *in, struct oc_op *op)
{
  follow_unary(in, op, NOT);
}

/* ZerosLike and OnesLike: `arg` is the number. */
static void constant_value(struct infer *in, struct oc_op *op)
{
  struct infer_cells *y = infer_cells_new(in, op, 0);

  if (!y)
    return;
  for (size_t i = 0; i < y->n; i++) {
    y->v[i].kind = INFER_KNOWN;
    if (y->real)
      y->v[i].u.f = in->rule->arg;
    else
      y->v[i].u.i = in->rule->arg;
  }
  infer_store(in, op, 0, y);
}

#define LIKE(t)                                                                          \
  {                                                                                      \
    .type = t, .shape = infer_like_first                                                 \
  }
#define COPY(t)                                                                          \
  {                                                                                      \
    .type = t, .shape = infer_like_first, .value = infer_value_copy                      \
  }
#define UNARY(t, a)                                                                      \
  {                                                                                      \
    .type = t, .shape = infer_like_first, .value = unary_value, .arg = a                 \
  }
#define AS(t, d)                                                                         \
  {                                                                                      \
    .type = t, .shape = like_first_as, .arg = d                                          \
  }

const struct infer_rule infer_elementwise_rules[] = {
  COPY("Identity"),
  COPY("TensorMove"),
  COPY("Snapshot"),
  COPY("StopGradient"),
  COPY("PreventGradient"),
  COPY("GuaranteeConst"),
  COPY("PlaceholderWithDefault"),
  COPY("Dropout"),
  COPY("ReadVariableOp"),
  COPY("TransData"),
  COPY("Enter"),
  COPY("Exit"),
  COPY("NextIteration"),
  COPY("LoopCond"),
  { .type = "IdentityN", .shape = infer_like_each },
  { .type = "Cast", .shape = cast_shape, .value = cast_value },
  { .type = "CastLike", .shape = cast_like, .value = cast_value },
  { .type = "Angle", .shape = angle_shape },
  UNARY("Neg", NEGATE),
  UNARY("Abs", ABSOLUTE),
  UNARY("Floor", FLOOR),
  UNARY("Ceil", CEIL),
  UNARY("Sqrt", SQRT),
  UNARY("Square", SQUARE),
  UNARY("Reciprocal", RECIPROCAL),
  UNARY("Inv", RECIPROCAL),
  UNARY("Round", ROUND),
  UNARY("Rint", ROUND),
  UNARY("Sign", SIGN),
  { .type = "LogicalNot", .shape = like_first_as, .value = not_value, .arg = OC_DT_BOOL },
  { .type = "ZerosLike", .shape = infer_like_first, .value = constant_value, .arg = 0 },
  { .type = "OnesLike", .shape = infer_like_first, .value = constant_value, .arg = 1 },
  AS("IsInf", OC_DT_BOOL),
  AS("IsNan", OC_DT_BOOL),
  AS("IsFinite", OC_DT_BOOL),
  LIKE("Acos"),
  LIKE("Acosh"),
  LIKE("Adds"),
  LIKE("Asin"),
  LIKE("Asinh"),
  LIKE("Atan"),
  LIKE("Atanh"),
  LIKE("AdaCast"),
  LIKE("BNLL"),
  LIKE("BesselI0e"),
  LIKE("BesselI1e"),
  LIKE("Bias"),
  LIKE("BiasAdd"),
  LIKE("Celu"),
  LIKE("CeluV2"),
  LIKE("Cholesky"),
  LIKE("ClipByValue"),
  LIKE("Cos"),
  LIKE("Cosh"),
  LIKE("Cumprod"),
  LIKE("Cumsum"),
  LIKE("Dawsn"),
  LIKE("Digamma"),
  LIKE("DropOutDoMask"),
  LIKE("Elu"),
  LIKE("Erf"),
  LIKE("Erfc"),
  LIKE("Erfinv"),
  LIKE("Exp"),
  LIKE("Expint"),
  LIKE("Expm1"),
  LIKE("FastGelu"),
  LIKE("FastGeluV2"),
  LIKE("Gelu"),
  LIKE("GeluV2"),
  LIKE("HardMax"),
  LIKE("HardShrink"),
  LIKE("HardSigmoid"),
  LIKE("HardSwish"),
  LIKE("Invert"),
  LIKE("LeakyRelu"),
  LIKE("Lgamma"),
  LIKE("Log"),
  LIKE("Log1p"),
  LIKE("LogSigmoid"),
  LIKE("LogSoftmaxV2"),
  LIKE("LRN"),
  LIKE("MatrixInverse"),
  LIKE("Mish"),
  LIKE("Muls"),
  LIKE("PRelu"),
  LIKE("Power"),
  LIKE("Relu"),
  LIKE("Relu6"),
  LIKE("Relu6D"),
  LIKE("ReverseSequence"),
  LIKE("ReverseV2"),
  LIKE("RollV2"),
  LIKE("RotaryMul"),
  LIKE("Rsqrt"),
  LIKE("Scale"),
  LIKE("Selu"),
  LIKE("Shrink"),
  LIKE("Sigmoid"),
  LIKE("Silu"),
  LIKE("Sin"),
  LIKE("Sinh"),
  LIKE("SoftShrink"),
  LIKE("SoftmaxV2"),
  LIKE("Softplus"),
  LIKE("SoftplusV2"),
  LIKE("Softsign"),
  LIKE("Swish"),
  LIKE("Tan"),
  LIKE("Tanh"),
  LIKE("Threshold"),
  LIKE("ThresholdV2"),
  LIKE("Tril"),
  LIKE("Trilu"),
  LIKE("Triu"),
  { .type = NULL },
};
