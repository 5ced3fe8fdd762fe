/* Scatters: a copy of the data with some elements replaced or summed up. */
#include "infer/infer_internal.h"

/* ScatterNd makes its tensor: indices, updates, shape. */
static void scatter_new(struct infer *in, struct oc_op *op)
{
  int64_t dims[OC_MAX_RANK];
  uint32_t rank = 0;

  infer_set(in, op, 0, infer_dtype(op, 1), oc_shape_unknown());
  if (infer_shape_input(in, op, 2, dims, &rank))
    infer_set_dims(in, op, 0, infer_dtype(op, 1), dims, rank);
}

/* SparseToDense: indices, output_shape, values. */
static void sparse_to_dense(struct infer *in, struct oc_op *op)
{
  int64_t dims[OC_MAX_RANK];
  uint32_t rank = 0;

  infer_set(in, op, 0, infer_dtype(op, 2), oc_shape_unknown());
  if (infer_shape_input(in, op, 1, dims, &rank))
    infer_set_dims(in, op, 0, infer_dtype(op, 2), dims, rank);
}

/* Segments: the first dims are replaced by the number of segments. */
static void unsorted_segment(struct infer *in, struct oc_op *op)
{
  const struct infer_cells *n = infer_content(in, op, 2);
  int64_t dims[OC_MAX_RANK];
  int64_t y[OC_MAX_RANK];
  uint32_t rank = 0;
  uint32_t ids = 0;
  uint32_t out = 1;

  infer_set(in, op, 0, infer_dtype(op, 0), oc_shape_unknown());
  if (!infer_dims(in, op, 0, dims, &rank) || !infer_rank(op, 1, &ids) || ids > rank)
    return;
  y[0] = n && n->n == 1 ? infer_cell_dim(in, n, 0) : infer_fresh(in);
  for (uint32_t i = ids; i < rank && out < OC_MAX_RANK; i++)
    y[out++] = dims[i];
  infer_set_dims(in, op, 0, infer_dtype(op, 0), y, out);
}

#define LIKE(t)                                                                          \
  {                                                                                      \
    .type = t, .shape = infer_like_first                                                 \
  }

const struct infer_rule infer_scatter_rules[] = {
  LIKE("ArgMaxGrad"),
  LIKE("InplaceAdd"),
  LIKE("InplaceSub"),
  LIKE("InplaceUpdate"),
  LIKE("ScatterAdd"),
  LIKE("ScatterElements"),
  LIKE("ScatterElementsV2"),
  LIKE("ScatterMax"),
  LIKE("ScatterMin"),
  LIKE("ScatterMul"),
  LIKE("ScatterNdAdd"),
  LIKE("ScatterNdMax"),
  LIKE("ScatterNdMin"),
  LIKE("ScatterNdSub"),
  LIKE("ScatterNdUpdate"),
  LIKE("ScatterSub"),
  LIKE("ScatterUpdate"),
  LIKE("TensorScatterAdd"),
  LIKE("TensorScatterMax"),
  LIKE("TensorScatterMin"),
  LIKE("TensorScatterSub"),
  LIKE("TensorScatterUpdate"),
  { .type = "ScatterNd", .shape = scatter_new },
  { .type = "SparseToDense", .shape = sparse_to_dense },
  { .type = "UnsortedSegmentSum", .shape = unsorted_segment },
  { .type = "UnsortedSegmentMax", .shape = unsorted_segment },
  { .type = "UnsortedSegmentMin", .shape = unsorted_segment },
  { .type = "UnsortedSegmentProd", .shape = unsorted_segment },
  { .type = NULL },
};
