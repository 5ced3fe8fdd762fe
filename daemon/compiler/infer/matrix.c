/* Matrix products. */
#include <inttypes.h>

#include "infer/infer_internal.h"

struct side {
  int64_t dims[OC_MAX_RANK];
  uint32_t rank;
};

static bool flag(const struct oc_op *op, const char *a, const char *b)
{
  return infer_bool_attr(op, a, false) || infer_bool_attr(op, b, false);
}

static void swap_last(struct side *s)
{
  int64_t t = s->dims[s->rank - 1];

  s->dims[s->rank - 1] = s->dims[s->rank - 2];
  s->dims[s->rank - 2] = t;
}

/* What 8-bit products are summed up in. */
static enum oc_dtype sum_dtype(const struct oc_op *op)
{
  enum oc_dtype d = infer_dtype(op, 0);

  return d == OC_DT_I8 || d == OC_DT_U8 || d == OC_DT_I4 ? OC_DT_I32 : d;
}

static int64_t batch_dim(struct infer *in, const struct oc_op *op, const struct side *a,
                         const struct side *b, uint32_t i, uint32_t rank)
{
  uint32_t behind = rank - i; /* counted from the end, 3 is the first batch dim */
  int64_t da = a->rank >= behind ? a->dims[a->rank - behind] : 1;
  int64_t db = b->rank >= behind ? b->dims[b->rank - behind] : 1;

  return infer_broadcast_dim(in, op, da, db);
}

static void matmul_shape(struct infer *in, struct oc_op *op)
{
  enum oc_dtype dtype = sum_dtype(op);
  struct side a;
  struct side b;
  int64_t dims[OC_MAX_RANK];
  uint32_t rank = 0;

  infer_set(in, op, 0, dtype, oc_shape_unknown());
  if (!infer_dims(in, op, 0, a.dims, &a.rank) || !infer_dims(in, op, 1, b.dims, &b.rank))
    return;
  if (a.rank == 0 || b.rank == 0) {
    infer_conflict(in, op, "a scalar is no matrix");
    return;
  }

  bool row = a.rank == 1;
  bool column = b.rank == 1;

  if (row) { /* as 1 x k; the 1 is dropped again */
    a.dims[1] = a.dims[0];
    a.dims[0] = 1;
    a.rank = 2;
  } else if (flag(op, "transpose_x1", "adj_x1")) {
    swap_last(&a);
  }
  if (column) {
    b.dims[1] = 1;
    b.rank = 2;
  } else if (flag(op, "transpose_x2", "adj_x2")) {
    swap_last(&b);
  }
  (void)infer_same(in, op, a.dims[a.rank - 1], b.dims[b.rank - 2]);

  uint32_t full = a.rank > b.rank ? a.rank : b.rank;

  for (uint32_t i = 0; i + 2 < full; i++)
    dims[rank++] = batch_dim(in, op, &a, &b, i, full);
  if (!row)
    dims[rank++] = a.dims[a.rank - 2];
  if (!column)
    dims[rank++] = b.dims[b.rank - 1];
  infer_set_dims(in, op, 0, dtype, dims, rank);
}

/* GEMM: a x b plus c, no batches. */
static void gemm_shape(struct infer *in, struct oc_op *op)
{
  bool ta = flag(op, "transpose_a", "transpose_x1");
  bool tb = flag(op, "transpose_b", "transpose_x2");
  int64_t dims[2] = { infer_dim(op, 0, ta ? 1 : 0), infer_dim(op, 1, tb ? 0 : 1) };

  (void)infer_same(in, op, infer_dim(op, 0, ta ? 0 : 1), infer_dim(op, 1, tb ? 1 : 0));
  infer_set_dims(in, op, 0, sum_dtype(op), dims, 2);
}

/* FullyConnection flattens from `axis` on and multiplies by w [num_output, k]. */
static void fully_shape(struct infer *in, struct oc_op *op)
{
  int64_t dims[OC_MAX_RANK];
  uint32_t rank = 0;
  uint32_t axis = 0;
  bool transpose = infer_bool_attr(op, "transpose", false);
  int64_t n = infer_int_attr(op, "num_output", infer_dim(op, 1, transpose ? 1 : 0));

  infer_set(in, op, 0, sum_dtype(op), oc_shape_unknown());
  if (!infer_dims(in, op, 0, dims, &rank) ||
      !infer_axis(in, op, infer_int_attr(op, "axis", 1), rank, &axis))
    return;
  dims[axis] = n;
  infer_set_dims(in, op, 0, sum_dtype(op), dims, axis + 1);
}

/* Products with quantised operands: the result's dtype is an attribute or the first
 * input's. */
static void quantised_shape(struct infer *in, struct oc_op *op)
{
  matmul_shape(in, op);
  if (op->n_outputs > 0)
    op->outputs[0].t.dtype = infer_dtype_attr(op, "dtype", infer_dtype(op, 0));
}

/* WeightQuantBatchMatmulV2 spells its flags differently. */
static void weight_quantised_shape(struct infer *in, struct oc_op *op)
{
  bool ta = infer_bool_attr(op, "transpose_x", false);
  bool tb = infer_bool_attr(op, "transpose_weight", false);
  int64_t dims[2] = { infer_dim(op, 0, ta ? 1 : 0), infer_dim(op, 1, tb ? 0 : 1) };

  infer_set_dims(in, op, 0, infer_dtype(op, 0), dims, 2);
}

/* MatrixDeterminant: the last two dims go. */
static void determinant_shape(struct infer *in, struct oc_op *op)
{
  struct oc_shape s = infer_shape(op, 0);

  if (!s.known_rank)
    return;
  if (s.rank < 2) {
    infer_conflict(in, op, "rank %u is no matrix", s.rank);
    return;
  }
  (void)infer_same(in, op, s.dims[s.rank - 1], s.dims[s.rank - 2]);
  infer_set_dims(in, op, 0, infer_dtype(op, 0), s.dims, s.rank - 2);
}

/* MatrixDiagV2: diagonal [..., n] to [..., rows, cols]. */
static void diag_shape(struct infer *in, struct oc_op *op)
{
  const struct infer_cells *k = infer_content(in, op, 1);
  const struct infer_cells *rows = infer_content(in, op, 2);
  const struct infer_cells *cols = infer_content(in, op, 3);
  int64_t dims[OC_MAX_RANK];
  int64_t shift = 0;
  uint32_t rank = 0;

  if (!infer_dims(in, op, 0, dims, &rank) || rank == 0 || rank + 1 > OC_MAX_RANK)
    return;

  int64_t n = dims[rank - 1];
  int64_t r = rows && rows->n == 1 ? infer_cell_dim(in, rows, 0) : OC_DIM_UNKNOWN;
  int64_t c = cols && cols->n == 1 ? infer_cell_dim(in, cols, 0) : OC_DIM_UNKNOWN;
  bool one = k && k->n == 1 && infer_cell_int(k, 0, &shift) && shift >= INT32_MIN &&
             shift <= INT32_MAX;

  if (r == OC_DIM_UNKNOWN)
    r = one ? infer_add(in, n, shift < 0 ? -shift : 0) : infer_fresh(in);
  if (c == OC_DIM_UNKNOWN)
    c = one ? infer_add(in, n, shift > 0 ? shift : 0) : infer_fresh(in);
  dims[rank - 1] = r;
  dims[rank] = c;
  infer_set_dims(in, op, 0, infer_dtype(op, 0), dims, rank + 1);
}

#define MATMUL(t)                                                                        \
  {                                                                                      \
    .type = t, .shape = matmul_shape                                                     \
  }

const struct infer_rule infer_matrix_rules[] = {
  MATMUL("MatMul"),
  MATMUL("MatMulV2"),
  MATMUL("MatMulV3"),
  MATMUL("BatchMatMul"),
  MATMUL("BatchMatMulV2"),
  MATMUL("BatchMatMulV3"),
  { .type = "GEMM", .shape = gemm_shape },
  { .type = "FullyConnection", .shape = fully_shape },
  { .type = "QuantBatchMatmulV3", .shape = quantised_shape },
  { .type = "WeightQuantBatchMatmulV2", .shape = weight_quantised_shape },
  { .type = "MatrixDeterminant", .shape = determinant_shape },
  { .type = "MatrixDiagV2", .shape = diag_shape },
  { .type = NULL },
};
