/* Ops that search, count or order: ArgMax, TopK, NonZero, Unique and their kin. How many
 * they find is open until they run, except where the input is a followed constant. */
#include "infer/infer_internal.h"

/* Removes `axis` from input 0. */
static void without_axis(struct infer *in, struct oc_op *op, uint32_t k,
                         enum oc_dtype dtype, int64_t axis, bool keep)
{
  int64_t dims[OC_MAX_RANK];
  uint32_t rank = 0;
  uint32_t at = 0;

  if (!infer_dims(in, op, 0, dims, &rank) || !infer_axis(in, op, axis, rank, &at)) {
    infer_set(in, op, k, dtype, oc_shape_unknown());
    return;
  }
  dims[at] = 1;
  if (!keep) {
    for (uint32_t i = at; i + 1 < rank; i++)
      dims[i] = dims[i + 1];
    rank--;
  }
  infer_set_dims(in, op, k, dtype, dims, rank);
}

static void arg_shape(struct infer *in, struct oc_op *op)
{
  enum oc_dtype dtype = infer_dtype_attr(op, "dtype", OC_DT_I64);
  size_t n = 0;
  const int64_t *axis = infer_known_ints(in, op, 1, &n);
  uint32_t rank = 0;

  if (axis && n == 1) {
    without_axis(in, op, 0, dtype, axis[0], false);
  } else if (infer_rank(op, 0, &rank) && rank > 0 && rank <= OC_MAX_RANK) {
    int64_t dims[OC_MAX_RANK];

    for (uint32_t i = 0; i + 1 < rank; i++)
      dims[i] = infer_fresh(in);
    infer_set_dims(in, op, 0, dtype, dims, rank - 1);
  } else {
    infer_set(in, op, 0, dtype, oc_shape_unknown());
  }
}

static void arg_attr_shape(struct infer *in, struct oc_op *op)
{
  without_axis(in, op, 0, infer_dtype_attr(op, "dtype", OC_DT_I64),
               infer_int_attr(op, "dimension", 0), false);
}

/* ArgMaxWithValue: the index and the value found there. */
static void arg_value_shape(struct infer *in, struct oc_op *op)
{
  int64_t axis = infer_int_attr(op, "dimension", 0);
  bool keep = infer_bool_attr(op, "keep_dims", false);

  without_axis(in, op, 0, OC_DT_I32, axis, keep);
  without_axis(in, op, 1, infer_dtype(op, 0), axis, keep);
}

static void topk_shape(struct infer *in, struct oc_op *op)
{
  enum oc_dtype index = infer_dtype_attr(op, "indices_dtype", OC_DT_I32);
  const struct infer_cells *k = infer_content(in, op, 1);
  int64_t dims[OC_MAX_RANK];
  uint32_t rank = 0;
  uint32_t axis = 0;

  infer_set(in, op, 0, infer_dtype(op, 0), oc_shape_unknown());
  infer_set(in, op, 1, index, oc_shape_unknown());
  if (!infer_dims(in, op, 0, dims, &rank) ||
      !infer_axis(in, op, infer_int_attr(op, "dim", -1), rank, &axis))
    return;
  if (!infer_has(op, 1))
    dims[axis] = infer_int_attr(op, "k", OC_DIM_UNKNOWN);
  else
    dims[axis] = k && k->n == 1 ? infer_cell_dim(in, k, 0) : infer_fresh(in);
  infer_set_dims(in, op, 0, infer_dtype(op, 0), dims, rank);
  infer_set_dims(in, op, 1, index, dims, rank);
}

/* How many elements of a followed tensor are not zero. */
static int64_t count_nonzero(struct infer *in, const struct oc_op *op)
{
  const struct infer_cells *x = infer_content(in, op, 0);
  int64_t n = 0;

  for (size_t i = 0; x && i < x->n; i++) {
    double v = 0;

    if (!infer_cell_real(x, i, &v))
      return infer_fresh(in);
    n += v != 0;
  }
  return x ? n : infer_fresh(in);
}

/* NonZero: [rank, n] when transposed (ONNX), else [n, rank]; Where: [n, rank] int64. */
static void nonzero_shape(struct infer *in, struct oc_op *op)
{
  enum oc_dtype dtype = infer_dtype_attr(op, "dtype", OC_DT_I64);
  bool transpose = infer_bool_attr(op, "transpose", false);
  uint32_t rank = 0;
  bool ranked = infer_rank(op, 0, &rank);
  int64_t n = count_nonzero(in, op);
  int64_t r = ranked ? (rank ? rank : 1) : infer_fresh(in);
  int64_t dims[2] = { transpose ? r : n, transpose ? n : r };

  infer_set_dims(in, op, 0, dtype, dims, 2);
}

static void nonzero_value(struct infer *in, struct oc_op *op)
{
  const struct infer_cells *x = infer_content(in, op, 0);
  struct infer_cells *y = x ? infer_cells_new(in, op, 0) : NULL;
  bool transpose = infer_bool_attr(op, "transpose", false);

  if (!y || x->shape.rank == 0)
    return;

  size_t rank = x->shape.rank;
  size_t n = y->n / rank;
  size_t found = 0;

  for (size_t i = 0; i < x->n && found < n; i++) {
    double v = 0;

    if (!infer_cell_real(x, i, &v))
      return;
    if (v == 0)
      continue;

    size_t rest = i;

    for (size_t d = rank; d > 0; d--) {
      size_t k = transpose ? (d - 1) * n + found : found * rank + d - 1;

      y->v[k].kind = INFER_KNOWN;
      y->v[k].u.i = (int64_t)(rest % (size_t)x->shape.dims[d - 1]);
      rest /= (size_t)x->shape.dims[d - 1];
    }
    found++;
  }
  infer_store(in, op, 0, y);
}

/* Along an axis (an attribute that importers keep) whole slices are compared. */
static void unique_slices(struct infer *in, struct oc_op *op, enum oc_dtype index)
{
  int64_t dims[OC_MAX_RANK];
  uint32_t rank = 0;
  uint32_t axis = 0;
  int64_t n = infer_fresh(in);

  if (!infer_dims(in, op, 0, dims, &rank) ||
      !infer_axis(in, op, infer_int_attr(op, "axis", 0), rank, &axis))
    return;
  infer_set_dims(in, op, 1, index, &dims[axis], 1);
  infer_set_dims(in, op, 2, index, &n, 1);
  dims[axis] = n;
  infer_set_dims(in, op, 0, infer_dtype(op, 0), dims, rank);
}

/* How many different values a vector holds is open; the rest follows from it. */
static void unique_shape(struct infer *in, struct oc_op *op)
{
  enum oc_dtype index = infer_dtype_attr(op, "out_idx", OC_DT_I64);
  int64_t n = infer_fresh(in);
  int64_t all = OC_DIM_UNKNOWN;
  struct oc_shape s = infer_shape(op, 0);

  if (oc_attr_find(op, "axis")) {
    unique_slices(in, op, index);
    return;
  }
  if (s.known_rank && s.rank <= OC_MAX_RANK)
    all = infer_product(in, s.dims, 0, s.rank);
  infer_set_dims(in, op, 0, infer_dtype(op, 0), &n, 1);
  infer_set_dims(in, op, 1, index, &all, 1);
  infer_set_dims(in, op, 2, index, &n, 1);
}

static void bincount_shape(struct infer *in, struct oc_op *op)
{
  const struct infer_cells *size = infer_content(in, op, 1);
  int64_t n = size && size->n == 1 ? infer_cell_dim(in, size, 0) : infer_fresh(in);

  infer_set_dims(in, op, 0, infer_dtype(op, 2), &n, 1);
}

static void bucketize_shape(struct infer *in, struct oc_op *op)
{
  infer_set(in, op, 0, infer_dtype_attr(op, "dtype", OC_DT_I32), infer_shape(op, 0));
}

/* InTopK: one bool per row. */
static void in_topk_shape(struct infer *in, struct oc_op *op)
{
  int64_t rows = infer_dim(op, 0, 0);

  infer_set_dims(in, op, 0, OC_DT_BOOL, &rows, 1);
}

const struct infer_rule infer_count_rules[] = {
  { .type = "ArgMaxV2", .shape = arg_shape },
  { .type = "ArgMax", .shape = arg_shape },
  { .type = "ArgMin", .shape = arg_shape },
  { .type = "ArgMaxD", .shape = arg_attr_shape },
  { .type = "ArgMinD", .shape = arg_attr_shape },
  { .type = "ArgMaxWithValue", .shape = arg_value_shape },
  { .type = "ArgMinWithValue", .shape = arg_value_shape },
  { .type = "TopK", .shape = topk_shape },
  { .type = "TopKV2", .shape = topk_shape },
  { .type = "TopKD", .shape = topk_shape },
  { .type = "NonZero", .shape = nonzero_shape, .value = nonzero_value },
  { .type = "Where", .shape = nonzero_shape, .value = nonzero_value },
  { .type = "Unique", .shape = unique_shape },
  { .type = "UniqueExt2", .shape = unique_shape },
  { .type = "UniqueWithCountsExt2", .shape = unique_shape },
  { .type = "UniqueWithCountsAndSorting", .shape = unique_shape },
  { .type = "Bincount", .shape = bincount_shape },
  { .type = "Bucketize", .shape = bucketize_shape },
  { .type = "InTopK", .shape = in_topk_shape },
  { .type = "InTopKD", .shape = in_topk_shape },
  { .type = NULL },
};
