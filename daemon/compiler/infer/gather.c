/* Gathers: parts of a tensor picked by indices. */
#include <string.h>

#include "infer/infer_internal.h"

/* Axis from the third input, an attribute, or 0. */
static bool gather_axis(struct infer *in, const struct oc_op *op, uint32_t rank,
                        uint32_t *ret)
{
  int64_t axis = infer_int_attr(op, "axis", 0);

  if (infer_has(op, 2)) {
    size_t n = 0;
    const int64_t *v = infer_known_ints(in, op, 2, &n);

    if (!v || n != 1)
      return false;
    axis = v[0];
  }
  return infer_axis(in, op, axis, rank, ret);
}

static void gather_shape(struct infer *in, struct oc_op *op)
{
  int64_t x[OC_MAX_RANK];
  int64_t idx[OC_MAX_RANK];
  int64_t y[OC_MAX_RANK];
  uint32_t rank = 0;
  uint32_t i_rank = 0;
  uint32_t axis = 0;
  int64_t batch = infer_int_attr(op, "batch_dims", 0);
  uint32_t n = 0;

  infer_set(in, op, 0, infer_dtype(op, 0), oc_shape_unknown());
  if (!infer_dims(in, op, 0, x, &rank) || !infer_dims(in, op, 1, idx, &i_rank) ||
      !gather_axis(in, op, rank, &axis))
    return;
  if (batch < 0)
    batch += i_rank;
  if (batch < 0 || batch > (int64_t)axis || batch > (int64_t)i_rank ||
      rank - 1 + i_rank - batch > OC_MAX_RANK) {
    infer_conflict(in, op, "batch_dims %lld with axis %u", (long long)batch, axis);
    return;
  }
  for (uint32_t i = 0; i < axis; i++)
    y[n++] = x[i];
  for (uint32_t i = (uint32_t)batch; i < i_rank; i++)
    y[n++] = idx[i];
  for (uint32_t i = axis + 1; i < rank; i++)
    y[n++] = x[i];
  infer_set_dims(in, op, 0, infer_dtype(op, 0), y, n);
}

static void gather_value(struct infer *in, struct oc_op *op)
{
  const struct infer_cells *x = infer_content(in, op, 0);
  const struct infer_cells *idx = x ? infer_content(in, op, 1) : NULL;
  struct infer_cells *y = idx ? infer_cells_new(in, op, 0) : NULL;
  uint32_t axis = 0;

  if (!y || infer_int_attr(op, "batch_dims", 0) != 0 ||
      !gather_axis(in, op, x->shape.rank, &axis))
    return;

  size_t inner = 1;
  size_t dim = (size_t)x->shape.dims[axis];

  for (uint32_t d = axis + 1; d < x->shape.rank; d++)
    inner *= (size_t)x->shape.dims[d];
  for (size_t i = 0; i < y->n; i++) {
    size_t within = i % inner;
    size_t at = i / inner % idx->n;
    size_t outer = i / inner / idx->n;
    int64_t k = 0;

    if (!infer_cell_int(idx, at, &k))
      continue;
    if (k < 0)
      k += (int64_t)dim;
    if (k < 0 || k >= (int64_t)dim) {
      infer_conflict(in, op, "index %lld is outside of %zu elements", (long long)k, dim);
      return;
    }
    infer_cell_put(y, i, x, (outer * dim + (size_t)k) * inner + within);
  }
  infer_store(in, op, 0, y);
}

/* The result looks like the index tensor. `arg`: where that one is. */
static void like_index(struct infer *in, struct oc_op *op)
{
  infer_set(in, op, 0, infer_dtype(op, 0), infer_shape(op, (uint32_t)in->rule->arg));
}

static void gather_nd_shape(struct infer *in, struct oc_op *op)
{
  int64_t x[OC_MAX_RANK];
  int64_t idx[OC_MAX_RANK];
  uint32_t rank = 0;
  uint32_t i_rank = 0;
  int64_t batch = infer_int_attr(op, "batch_dims", 0);

  infer_set(in, op, 0, infer_dtype(op, 0), oc_shape_unknown());
  if (!infer_dims(in, op, 0, x, &rank) || !infer_dims(in, op, 1, idx, &i_rank) ||
      i_rank == 0)
    return;

  int64_t depth = idx[i_rank - 1];

  if (depth < 0)
    return;
  if (batch < 0 || batch >= (int64_t)i_rank || batch + depth > (int64_t)rank ||
      i_rank - 1 + rank - (batch + depth) > OC_MAX_RANK) {
    infer_conflict(in, op, "indices of depth %lld for rank %u", (long long)depth, rank);
    return;
  }

  uint32_t n = i_rank - 1;

  for (uint32_t i = (uint32_t)(batch + depth); i < rank; i++)
    idx[n++] = x[i];
  infer_set_dims(in, op, 0, infer_dtype(op, 0), idx, n);
}

/* OneHot: a new axis of size depth. The dtype is that of the values. */
static void one_hot_shape(struct infer *in, struct oc_op *op)
{
  bool by_input = in->rule->arg == 0;
  enum oc_dtype dtype = infer_dtype(op, by_input ? 2 : 1);
  int64_t dims[OC_MAX_RANK];
  uint32_t rank = 0;
  uint32_t axis = 0;
  int64_t depth = infer_int_attr(op, "depth", OC_DIM_UNKNOWN);

  infer_set(in, op, 0, dtype, oc_shape_unknown());
  if (!infer_dims(in, op, 0, dims, &rank) || rank == OC_MAX_RANK ||
      !infer_axis(in, op, infer_int_attr(op, "axis", -1), rank + 1, &axis))
    return;
  if (by_input) {
    const struct infer_cells *c = infer_content(in, op, 1);

    depth = c && c->n == 1 ? infer_cell_dim(in, c, 0) : infer_fresh(in);
  }
  memmove(&dims[axis + 1], &dims[axis], (rank - axis) * sizeof(*dims));
  dims[axis] = depth;
  infer_set_dims(in, op, 0, dtype, dims, rank + 1);
}

const struct infer_rule infer_gather_rules[] = {
  { .type = "Gather", .shape = gather_shape, .value = gather_value },
  { .type = "GatherV2", .shape = gather_shape, .value = gather_value },
  { .type = "GatherV2D", .shape = gather_shape, .value = gather_value },
  { .type = "GatherElements", .shape = like_index, .arg = 1 },
  { .type = "GatherD", .shape = like_index, .arg = 2 },
  { .type = "GatherNd", .shape = gather_nd_shape },
  { .type = "OneHot", .shape = one_hot_shape, .arg = 0 },
  { .type = "OneHotD", .shape = one_hot_shape, .arg = 1 },
  { .type = NULL },
};
