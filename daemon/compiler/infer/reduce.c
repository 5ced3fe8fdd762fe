/* Reductions: axes as attribute or input, dims kept as 1 or dropped. */
#include "infer/infer_internal.h"

enum reduce {
  REDUCE_OTHER,
  REDUCE_SUM,
  REDUCE_PROD,
  REDUCE_MAX,
  REDUCE_MIN,
  REDUCE_ALL,
  REDUCE_ANY
};

/* Which axes are reduced; false when that is not known. */
static bool reduced(struct infer *in, struct oc_op *op, uint32_t rank, uint64_t *ret)
{
  const char *attr = oc_attr_find(op, "axes")   ? "axes"
                     : oc_attr_find(op, "axis") ? "axis"
                                                : NULL;
  bool all = false;

  if (!infer_axes(in, op, attr, 1, rank, ret, &all))
    return false;
  if (all && !infer_bool_attr(op, "noop_with_empty_axes", false))
    *ret = ((uint64_t)1 << rank) - 1;
  return true;
}

static bool keeps_dims(const struct oc_op *op)
{
  return infer_bool_attr(op, "keep_dims", false) ||
         infer_bool_attr(op, "keepdim", false) || infer_bool_attr(op, "keepdims", false);
}

/* The axes are open, but not how many there are. */
static void unknown_axes(struct infer *in, struct oc_op *op, enum oc_dtype dtype,
                         uint32_t rank)
{
  int64_t dims[OC_MAX_RANK];
  uint32_t axes_rank = 0;
  int64_t n = infer_rank(op, 1, &axes_rank) && axes_rank == 0 ? 1 : infer_dim(op, 1, 0);

  if (!keeps_dims(op)) {
    if (n <= 0 || n > (int64_t)rank) {
      infer_set(in, op, 0, dtype, oc_shape_unknown());
      return;
    }
    rank -= (uint32_t)n;
  }
  for (uint32_t i = 0; i < rank; i++)
    dims[i] = infer_fresh(in);
  infer_set_dims(in, op, 0, dtype, dims, rank);
}

static void reduce_shape(struct infer *in, struct oc_op *op)
{
  bool logical = in->rule->arg == REDUCE_ALL || in->rule->arg == REDUCE_ANY;
  enum oc_dtype dtype = logical ? OC_DT_BOOL : infer_dtype(op, 0);
  int64_t dims[OC_MAX_RANK];
  uint32_t rank = 0;
  uint64_t mask = 0;

  infer_set(in, op, 0, dtype, oc_shape_unknown());
  if (!infer_dims(in, op, 0, dims, &rank))
    return;
  if (!reduced(in, op, rank, &mask)) {
    if (!in->conflict)
      unknown_axes(in, op, dtype, rank);
    return;
  }

  uint32_t n = 0;

  for (uint32_t i = 0; i < rank; i++) {
    bool gone = mask >> i & 1;

    if (!gone)
      dims[n++] = dims[i];
    else if (keeps_dims(op))
      dims[n++] = 1;
  }
  for (uint32_t k = 0; k < op->n_outputs; k++)
    infer_set_dims(in, op, k, dtype, dims, n);
}

static bool join(struct infer *in, enum reduce what, struct infer_cell *acc,
                 const struct infer_cell *x, bool first)
{
  if (first) {
    *acc = *x;
    return true;
  }
  if (acc->kind == INFER_KNOWN && x->kind == INFER_KNOWN) {
    int64_t a = acc->u.i;
    int64_t b = x->u.i;

    switch (what) {
    case REDUCE_SUM: return !__builtin_add_overflow(a, b, &acc->u.i);
    case REDUCE_PROD: return !__builtin_mul_overflow(a, b, &acc->u.i);
    case REDUCE_MAX: acc->u.i = a > b ? a : b; return true;
    case REDUCE_MIN: acc->u.i = a < b ? a : b; return true;
    case REDUCE_ALL: acc->u.i = a && b; return true;
    case REDUCE_ANY: acc->u.i = a || b; return true;
    default: return false;
    }
  }
  if (acc->kind == INFER_UNKNOWN || x->kind == INFER_UNKNOWN ||
      acc->u.i == OC_DIM_UNKNOWN || x->u.i == OC_DIM_UNKNOWN ||
      (what != REDUCE_SUM && what != REDUCE_PROD))
    return false;

  int64_t d = what == REDUCE_SUM ? infer_add(in, acc->u.i, x->u.i)
                                 : infer_mul(in, acc->u.i, x->u.i);

  acc->kind = d >= 0 ? INFER_KNOWN : INFER_SYMBOL;
  acc->u.i = d;
  return true;
}

static int64_t neutral(enum reduce what)
{
  return what == REDUCE_PROD || what == REDUCE_ALL;
}

/* Index of the output element that element `i` of the input goes to. */
static size_t target(struct oc_shape x, uint64_t mask, size_t i)
{
  size_t index = 0;
  size_t stride = 1;

  for (uint32_t d = x.rank; d > 0; d--) {
    size_t size = (size_t)x.dims[d - 1];
    size_t at = i % size;

    i /= size;
    if (mask >> (d - 1) & 1)
      continue;
    index += at * stride;
    stride *= size;
  }
  return index;
}

/* Integers only: sums of floats depend on their order. */
static void reduce_value(struct infer *in, struct oc_op *op)
{
  const struct infer_cells *x = infer_content(in, op, 0);
  struct infer_cells *y = x ? infer_cells_new(in, op, 0) : NULL;
  enum reduce what = (enum reduce)in->rule->arg;
  uint64_t mask = 0;

  if (!y || x->real || what == REDUCE_OTHER || !reduced(in, op, x->shape.rank, &mask))
    return;

  bool *seen = OC_NEW_N(&in->scratch, bool, y->n);
  bool *broken = OC_NEW_N(&in->scratch, bool, y->n);

  if (!seen || !broken)
    return;
  for (size_t i = 0; i < x->n; i++) {
    size_t k = target(x->shape, mask, i);

    if (k >= y->n)
      return;
    if (!join(in, what, &y->v[k], &x->v[i], !seen[k]))
      broken[k] = true;
    seen[k] = true;
  }
  for (size_t k = 0; k < y->n; k++) {
    if (broken[k])
      y->v[k].kind = INFER_UNKNOWN;
    if (!seen[k] && what <= REDUCE_PROD)
      y->v[k] = (struct infer_cell){ .kind = INFER_KNOWN, .u.i = neutral(what) };
    if (y->v[k].kind == INFER_KNOWN)
      y->v[k].u.i = infer_wrap(y->dtype, y->v[k].u.i);
  }
  infer_store(in, op, 0, y);
}

#define REDUCE(t, a)                                                                     \
  {                                                                                      \
    .type = t, .shape = reduce_shape, .value = reduce_value, .arg = a                    \
  }

const struct infer_rule infer_reduce_rules[] = {
  REDUCE("ReduceSum", REDUCE_SUM),
  REDUCE("ReduceSumD", REDUCE_SUM),
  REDUCE("ReduceProd", REDUCE_PROD),
  REDUCE("ReduceProdD", REDUCE_PROD),
  REDUCE("ReduceMax", REDUCE_MAX),
  REDUCE("ReduceMaxD", REDUCE_MAX),
  REDUCE("ReduceMin", REDUCE_MIN),
  REDUCE("ReduceMinD", REDUCE_MIN),
  REDUCE("ReduceAll", REDUCE_ALL),
  REDUCE("ReduceAllD", REDUCE_ALL),
  REDUCE("ReduceAny", REDUCE_ANY),
  REDUCE("ReduceAnyD", REDUCE_ANY),
  REDUCE("ReduceMean", REDUCE_OTHER),
  REDUCE("ReduceMeanD", REDUCE_OTHER),
  REDUCE("ReduceLogSumExp", REDUCE_OTHER),
  REDUCE("ReduceLogSum", REDUCE_OTHER),
  REDUCE("EuclideanNorm", REDUCE_OTHER),
  REDUCE("EuclideanNormD", REDUCE_OTHER),
  REDUCE("LpNorm", REDUCE_OTHER),
  REDUCE("LpNormV2", REDUCE_OTHER),
  REDUCE("SquareSumV1", REDUCE_OTHER),
  REDUCE("ReduceStd", REDUCE_OTHER),
  { .type = NULL },
};
