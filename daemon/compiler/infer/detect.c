/* Regions, boxes and sampling grids. */
#include "infer/infer_internal.h"

/* How many boxes survive is open until it runs; each is (batch, class, box). */
static void suppression_shape(struct infer *in, struct oc_op *op)
{
  int64_t dims[2] = { infer_fresh(in), 3 };

  infer_set_dims(in, op, 0, OC_DT_I32, dims, 2);
}

/* One pooled image per region: features [N, C, H, W], rois [R, ...]. */
static void roi_shape(struct infer *in, struct oc_op *op)
{
  int64_t dims[4] = {
    infer_dim(op, 1, 0),
    infer_dim(op, 0, 1),
    infer_int_attr(op, "pooled_height", infer_int_attr(op, "pooled_h", OC_DIM_UNKNOWN)),
    infer_int_attr(op, "pooled_width", infer_int_attr(op, "pooled_w", OC_DIM_UNKNOWN)),
  };

  infer_set_dims(in, op, 0, infer_dtype(op, 0), dims, 4);
}

/* Sampling: batch and channels of x, space of the grid. */
static void sampler_shape(struct infer *in, struct oc_op *op)
{
  int64_t dims[OC_MAX_RANK];
  uint32_t rank = 0;
  struct oc_shape grid = infer_shape(op, 1);

  if (!infer_dims(in, op, 0, dims, &rank) || rank < 3 || !grid.known_rank)
    return;
  if (grid.rank != rank) {
    infer_conflict(in, op, "a grid of rank %u for rank %u", grid.rank, rank);
    return;
  }
  dims[0] = infer_same(in, op, dims[0], grid.dims[0]);
  for (uint32_t i = 2; i < rank; i++)
    dims[i] = grid.dims[i - 1];
  infer_set_dims(in, op, 0, infer_dtype(op, 0), dims, rank);
}

/* AffineGrid: output_size [N, C, spatial...] gives [N, spatial..., coordinates]. */
static void affine_grid_shape(struct infer *in, struct oc_op *op)
{
  int64_t size[OC_MAX_RANK];
  uint32_t n = 0;

  if (!infer_shape_input(in, op, 1, size, &n) || n < 3)
    return;
  for (uint32_t i = 1; i + 1 < n; i++)
    size[i] = size[i + 1];
  size[n - 1] = (int64_t)n - 2;
  infer_set_dims(in, op, 0, infer_dtype(op, 0), size, n);
}

/* Col2Im: x [N, C * block, L] with output and kernel size as inputs. */
static void col2im_shape(struct infer *in, struct oc_op *op)
{
  const struct infer_cells *size = infer_content(in, op, 1);
  const struct infer_cells *kernel = infer_content(in, op, 2);
  int64_t dims[OC_MAX_RANK];
  int64_t block = 1;

  if (!size || !kernel || kernel->n != size->n || size->n + 2 > OC_MAX_RANK)
    return;
  for (size_t i = 0; i < kernel->n; i++)
    block = infer_mul(in, block, infer_cell_dim(in, kernel, i));
  dims[0] = infer_dim(op, 0, 0);
  dims[1] = infer_div(in, infer_dim(op, 0, 1), block);
  if (block == 0)
    return;
  for (size_t i = 0; i < size->n; i++)
    dims[i + 2] = infer_cell_dim(in, size, i);
  infer_set_dims(in, op, 0, infer_dtype(op, 0), dims, size->n + 2);
}

const struct infer_rule infer_detect_rules[] = {
  { .type = "NonMaxSuppressionV6", .shape = suppression_shape },
  { .type = "NonMaxSuppressionV7", .shape = suppression_shape },
  { .type = "ROIAlign", .shape = roi_shape },
  { .type = "ROIPooling", .shape = roi_shape },
  { .type = "GridSampler2D", .shape = sampler_shape },
  { .type = "GridSampler3D", .shape = sampler_shape },
  { .type = "GridSample", .shape = sampler_shape },
  { .type = "AffineGrid", .shape = affine_grid_shape },
  { .type = "Col2ImV2", .shape = col2im_shape },
  { .type = "BoundingBoxDecode", .shape = infer_like_first },
  { .type = "BoundingBoxEncode", .shape = infer_like_first },
  { .type = NULL },
};
