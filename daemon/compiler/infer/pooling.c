/* Pooling: windows with a kernel from attributes, and pooling to a fixed size. */
#include "infer/window.h"

/* `arg`: spatial dims; 16 more: a second output with indices. */
enum { INDICES = 16 };

static enum oc_dtype index_dtype(const struct oc_op *op)
{
  return infer_dtype_attr(op, "Targmax", infer_dtype_attr(op, "dtype", OC_DT_I64));
}

static void set_all(struct infer *in, struct oc_op *op, const int64_t *dims,
                    uint32_t rank)
{
  infer_set_dims(in, op, 0, infer_dtype(op, 0), dims, rank);
  if (in->rule->arg & INDICES)
    infer_set_dims(in, op, 1, index_dtype(op), dims, rank);
}

static void pool_shape(struct infer *in, struct oc_op *op)
{
  uint32_t n = (uint32_t)in->rule->arg & 7;
  bool global = infer_bool_attr(op, "global_pooling", false);
  int64_t dims[OC_MAX_RANK];
  struct infer_window w;
  uint32_t rank = 0;

  infer_set(in, op, 0, infer_dtype(op, 0), oc_shape_unknown());
  if (!infer_dims(in, op, 0, dims, &rank))
    return;
  if (rank != n + 2) {
    infer_conflict(in, op, "input 0 has rank %u, a rank of %u is needed", rank, n + 2);
    return;
  }
  if (!infer_window_read(in, op, n, &w))
    return;
  infer_window_kernel(op, "ksize", &w);
  for (uint32_t i = 0; i < n; i++)
    dims[w.first + i] = global ? 1 : infer_window_size(in, &w, i, dims[w.first + i]);
  set_all(in, op, dims, rank);
}

/* One number per window and side in `ksize`, `strides` and `pads`, over the last dim but
 * one of an NC1HWC0-like tensor: AvgPool1D pools the width of NCHW. */
static void pool1d_shape(struct infer *in, struct oc_op *op)
{
  struct infer_window w = { .n = 1, .ceil = infer_bool_attr(op, "ceil_mode", false) };
  size_t n = 0;
  const int64_t *pads = oc_attr_ints(op, "pads", &n);
  int64_t dims[OC_MAX_RANK];
  uint32_t rank = 0;

  if (!infer_dims(in, op, 0, dims, &rank) || rank == 0)
    return;
  w.kernel[0] = infer_int_attr(op, "ksize", 1);
  w.stride[0] = infer_int_attr(op, "strides", 1);
  w.dilation[0] = 1;
  w.pad[0] = pads && n == 2 ? pads[0] + pads[1] : 0;
  if (w.kernel[0] < 1 || w.stride[0] < 1 || w.kernel[0] > INT32_MAX ||
      w.stride[0] > INT32_MAX || w.pad[0] > INT32_MAX || w.pad[0] < 0) {
    infer_conflict(in, op, "ksize, strides or pads are out of range");
    return;
  }
  dims[rank - 1] = infer_window_size(in, &w, 0, dims[rank - 1]);
  infer_set_dims(in, op, 0, infer_dtype(op, 0), dims, rank);
}

/* Global pooling of a channel-second tensor: every spatial dim becomes 1. */
static void global_shape(struct infer *in, struct oc_op *op)
{
  int64_t dims[OC_MAX_RANK];
  uint32_t rank = 0;

  if (!infer_dims(in, op, 0, dims, &rank))
    return;
  for (uint32_t i = 2; i < rank; i++)
    dims[i] = 1;
  infer_set_dims(in, op, 0, infer_dtype(op, 0), dims, rank);
}

/* The last dims become `output_size`. */
static void adaptive_shape(struct infer *in, struct oc_op *op)
{
  size_t n = 0;
  const int64_t *size = oc_attr_ints(op, "output_size", &n);
  int64_t dims[OC_MAX_RANK];
  uint32_t rank = 0;

  if (!infer_dims(in, op, 0, dims, &rank) || !size || n > rank)
    return;
  for (size_t i = 0; i < n; i++)
    if (size[i] > 0)
      dims[rank - n + i] = size[i];
  set_all(in, op, dims, rank);
}

#define POOL(t, a)                                                                       \
  {                                                                                      \
    .type = t, .shape = pool_shape, .arg = a                                             \
  }

const struct infer_rule infer_pooling_rules[] = {
  POOL("AvgPool", 2),
  POOL("AvgPoolV2", 2),
  POOL("AvgPool3D", 3),
  POOL("AvgPool3DD", 3),
  POOL("MaxPool", 2),
  POOL("MaxPoolV2", 2),
  POOL("MaxPoolV3", 2),
  POOL("MaxPool3D", 3),
  POOL("MaxPoolWithArgmax", 2 | INDICES),
  POOL("MaxPoolWithArgmaxV1", 2 | INDICES),
  POOL("MaxPoolWithArgmaxV2", 2 | INDICES),
  POOL("MaxPool3DWithArgmax", 3 | INDICES),
  { .type = "AvgPool1D", .shape = pool1d_shape },
  { .type = "GlobalAveragePool", .shape = global_shape },
  { .type = "GlobalLpPool", .shape = global_shape },
  { .type = "GlobalMaxPool", .shape = global_shape },
  { .type = "AdaptiveAvgPool2d", .shape = adaptive_shape },
  { .type = "AdaptiveAvgPool3d", .shape = adaptive_shape },
  { .type = "AdaptiveMaxPool2d", .shape = adaptive_shape, .arg = INDICES },
  { .type = NULL },
};
