/* Resizes: a new height and width as input or attribute, or scales. */
#include <math.h>
#include <string.h>

#include "infer/infer_internal.h"

/* First spatial dim of a 4-D image tensor. */
static uint32_t height_at(const struct oc_op *op)
{
  bool last = op->n_inputs > 0 && op->inputs[0].t.format == OC_FMT_NHWC;

  return last ? 1 : 2;
}

/* `size` holds height and width, or as many numbers as the image has dims. */
static void sized_shape(struct infer *in, struct oc_op *op)
{
  size_t n = 0;
  const int64_t *list = oc_attr_ints(op, "size", &n);
  const struct infer_cells *c = list ? NULL : infer_content(in, op, 1);
  enum oc_dtype dtype = infer_dtype_attr(op, "dtype", infer_dtype(op, 0));
  int64_t dims[OC_MAX_RANK];
  uint32_t rank = 0;

  infer_set(in, op, 0, dtype, oc_shape_unknown());
  if (!infer_dims(in, op, 0, dims, &rank))
    return;
  if (c)
    n = c->n;
  if (!list && !c)
    n = rank > 2 ? 2 : 0;
  if (n > rank) {
    infer_conflict(in, op, "%zu sizes for rank %u", n, rank);
    return;
  }

  uint32_t first = n == rank ? 0 : rank == n + 2 ? height_at(op) : rank - (uint32_t)n;

  for (uint32_t i = 0; i < n; i++)
    dims[first + i] = list ? list[i] : c ? infer_cell_dim(in, c, i) : infer_fresh(in);
  infer_set_dims(in, op, 0, dtype, dims, rank);
}

/* floor(dim * scale) in float32, as the ONNX operator does it. */
static int64_t scaled(struct infer *in, int64_t dim, const struct infer_cells *scales,
                      uint32_t i)
{
  double scale = 0;
  double whole = 0;

  if (!infer_cell_real(scales, i, &scale) || !(scale > 0) || scale > 1e9)
    return infer_fresh(in);
  if (scale == 1.0)
    return dim;
  if (dim < 0 && modf(scale, &whole) == 0.0)
    return infer_mul(in, dim, (int64_t)whole);
  if (dim < 0 || dim > INT32_MAX)
    return infer_fresh(in);
  return (int64_t)floorf((float)dim * (float)scale);
}

static bool attr_axes(struct infer *in, const struct oc_op *op, uint32_t rank, size_t n,
                      uint32_t ret[OC_MAX_RANK])
{
  size_t n_axes = 0;
  const int64_t *axes = oc_attr_ints(op, "axes", &n_axes);

  if (n > rank || (axes && n_axes != n) || (!axes && n != rank)) {
    infer_conflict(in, op, "%zu sizes or scales for rank %u", n, rank);
    return false;
  }
  for (uint32_t i = 0; i < n; i++) {
    ret[i] = i;
    if (axes && !infer_axis(in, op, axes[i], rank, &ret[i]))
      return false;
  }
  return true;
}

/* Resize: x, roi, scales, sizes; the one of the last two that is not empty counts. */
static void resize_shape(struct infer *in, struct oc_op *op)
{
  const struct infer_cells *scales = infer_has(op, 2) ? infer_content(in, op, 2) : NULL;
  const struct infer_cells *sizes = infer_has(op, 3) ? infer_content(in, op, 3) : NULL;
  const struct infer_cells *c = sizes && sizes->n > 0 ? sizes : scales;
  int64_t dims[OC_MAX_RANK];
  uint32_t axes[OC_MAX_RANK];
  uint32_t rank = 0;

  if (!infer_dims(in, op, 0, dims, &rank))
    return;
  if (!c || c->n == 0) {
    for (uint32_t i = 0; i < rank; i++)
      dims[i] = infer_fresh(in);
    infer_set_dims(in, op, 0, infer_dtype(op, 0), dims, rank);
    return;
  }
  if (!attr_axes(in, op, rank, c->n, axes))
    return;
  for (uint32_t i = 0; i < c->n; i++)
    dims[axes[i]] =
        c == sizes ? infer_cell_dim(in, c, i) : scaled(in, dims[axes[i]], c, i);
  infer_set_dims(in, op, 0, infer_dtype(op, 0), dims, rank);
}

#define SIZED(t)                                                                         \
  {                                                                                      \
    .type = t, .shape = sized_shape                                                      \
  }

const struct infer_rule infer_resize_rules[] = {
  { .type = "Resize", .shape = resize_shape },
  SIZED("ResizeArea"),
  SIZED("ResizeBicubic"),
  SIZED("ResizeBicubicV2"),
  SIZED("ResizeBilinear"),
  SIZED("ResizeBilinearD"),
  SIZED("ResizeBilinearV2"),
  SIZED("ResizeBilinearV2D"),
  SIZED("ResizeNearestNeighbor"),
  SIZED("ResizeNearestNeighborD"),
  SIZED("ResizeNearestNeighborV2"),
  SIZED("ResizeNearestNeighborV2D"),
  SIZED("SyncResizeBilinearV2"),
  { .type = NULL },
};
