/* Convolutions over two or three spatial dims. */
#include "infer/window.h"

/* Filters are [out, in/groups, spatial...] with NCHW and [spatial..., in/groups, out]
 * with TensorFlow's layouts. */
static bool filter_spatial_first(const struct oc_op *op, const struct infer_window *w,
                                 uint32_t filter)
{
  enum oc_format f = op->inputs[filter].t.format;

  return w->first == 1 || f == OC_FMT_HWCN || f == OC_FMT_DHWCN;
}

static enum oc_dtype sum_dtype(enum oc_dtype d)
{
  return d == OC_DT_I8 || d == OC_DT_U8 || d == OC_DT_I4 ? OC_DT_I32 : d;
}

static bool check_rank(struct infer *in, const struct oc_op *op, uint32_t i,
                       uint32_t want)
{
  uint32_t rank = 0;

  if (!infer_rank(op, i, &rank))
    return false;
  if (rank != want)
    infer_conflict(in, op, "input %u has rank %u, a rank of %u is needed", i, rank, want);
  return rank == want;
}

/* `arg`: spatial dims. */
static void conv_shape(struct infer *in, struct oc_op *op)
{
  uint32_t n = (uint32_t)in->rule->arg;
  enum oc_dtype dtype = sum_dtype(infer_dtype(op, 0));
  struct infer_window w;
  int64_t dims[OC_MAX_RANK];
  uint32_t rank = 0;

  infer_set(in, op, 0, dtype, oc_shape_unknown());
  if (!check_rank(in, op, 0, n + 2) || !infer_window_read(in, op, n, &w) ||
      !infer_dims(in, op, 0, dims, &rank))
    return;

  bool hwcn = infer_has(op, 1) && filter_spatial_first(op, &w, 1);
  int64_t in_channels = infer_dim(op, 1, hwcn ? n : 1);

  if (infer_has(op, 1) && infer_shape(op, 1).known_rank && !check_rank(in, op, 1, n + 2))
    return;
  if (in_channels >= 0) {
    int64_t groups = infer_int_attr(op, "groups", 1);

    if (hwcn && groups == 1 && dims[w.channel] >= 0 && in_channels > 0)
      groups = dims[w.channel] / in_channels; /* TensorFlow's grouped convolution */
    (void)infer_same(in, op, dims[w.channel], infer_mul(in, in_channels, groups));
  }
  for (uint32_t i = 0; i < n; i++) {
    w.kernel[i] = infer_dim(op, 1, hwcn ? i : 2 + i);
    dims[w.first + i] = infer_window_size(in, &w, i, dims[w.first + i]);
  }
  dims[w.channel] = infer_dim(op, 1, hwcn ? n + 1 : 0);
  infer_set_dims(in, op, 0, dtype, dims, rank);
}

/* DepthwiseConv2D: filter [kh, kw, channels, multiplier], or NCHW [channels * multiplier,
 * 1, ...]. */
static void depthwise_shape(struct infer *in, struct oc_op *op)
{
  struct infer_window w;
  int64_t dims[OC_MAX_RANK];
  uint32_t rank = 0;

  infer_set(in, op, 0, sum_dtype(infer_dtype(op, 0)), oc_shape_unknown());
  if (!check_rank(in, op, 0, 4) || !infer_window_read(in, op, 2, &w) ||
      !infer_dims(in, op, 0, dims, &rank))
    return;

  bool hwcn = infer_has(op, 1) && filter_spatial_first(op, &w, 1);

  for (uint32_t i = 0; i < 2; i++) {
    w.kernel[i] = infer_dim(op, 1, hwcn ? i : 2 + i);
    dims[w.first + i] = infer_window_size(in, &w, i, dims[w.first + i]);
  }
  dims[w.channel] = hwcn ? infer_mul(in, infer_dim(op, 1, 2), infer_dim(op, 1, 3))
                         : infer_dim(op, 1, 0);
  infer_set_dims(in, op, 0, sum_dtype(infer_dtype(op, 0)), dims, rank);
}

/* DeformableOffsets spreads every window out: sizes times kernel. */
static void deformable_offsets_shape(struct infer *in, struct oc_op *op)
{
  struct infer_window w;
  int64_t dims[OC_MAX_RANK];
  uint32_t rank = 0;

  infer_set(in, op, 0, infer_dtype(op, 0), oc_shape_unknown());
  if (!check_rank(in, op, 0, 4) || !infer_window_read(in, op, 2, &w) ||
      !infer_dims(in, op, 0, dims, &rank))
    return;
  infer_window_kernel(op, "ksize", &w);
  for (uint32_t i = 0; i < 2; i++) {
    int64_t n = infer_window_size(in, &w, i, dims[w.first + i]);

    dims[w.first + i] = infer_mul(in, n, w.kernel[i]);
  }
  infer_set_dims(in, op, 0, infer_dtype(op, 0), dims, rank);
}

const struct infer_rule infer_convolution_rules[] = {
  { .type = "Conv2D", .shape = conv_shape, .arg = 2 },
  { .type = "Conv2DV2", .shape = conv_shape, .arg = 2 },
  { .type = "Conv3D", .shape = conv_shape, .arg = 3 },
  { .type = "Conv3DV2", .shape = conv_shape, .arg = 3 },
  { .type = "DepthwiseConv2D", .shape = depthwise_shape },
  { .type = "DeformableConv2D", .shape = conv_shape, .arg = 2 },
  { .type = "DeformableOffsets", .shape = deformable_offsets_shape },
  { .type = NULL },
};
