/* Pooling. One spatial axis becomes two by an Unsqueeze behind it, three have operators
 * of their own. Global pooling over all positions is a reduction. */
#include "base/limits.h"
#include "import/onnx/build.h"
#include "import/onnx/spatial.h"

/* Kernel, strides or dilations as the two-axis operators want them: four numbers, a
 * single axis followed by a 1. */
static size_t window(const struct onnx_spatial *s, const int64_t *v, int64_t *ret)
{
  size_t at = 0;
  ret[at++] = 1;
  ret[at++] = 1;
  for (size_t i = 0; i < s->n; i++)
    ret[at++] = v[i];
  if (s->n == 1)
    ret[at++] = 1;
  return at;
}

static size_t window_pads(const struct onnx_spatial *s, int64_t *ret)
{
  size_t at = 0;
  for (size_t i = 0; i < s->n; i++) {
    ret[at++] = s->pads[i];
    ret[at++] = s->pads[s->n + i];
  }
  if (s->n == 1) {
    ret[at++] = 0;
    ret[at++] = 0;
  }
  return at;
}

static const char *padding_mode(const struct onnx_spatial *s)
{
  return s->same ? "SAME" : s->valid ? "VALID" : "CALCULATED";
}

static struct oc_op *widened(struct onnx_cx *cx, const char *suffix, struct oc_op *from)
{
  int64_t axis = 3;
  struct oc_op *op = from ? onnx_behind(cx, suffix, "Unsqueeze", from)
                          : onnx_unary(cx, suffix, "Unsqueeze", 0);
  onnx_set_ints(cx, op, "axes", &axis, 1);
  return op;
}

static struct oc_op *narrowed(struct onnx_cx *cx, const char *suffix, struct oc_op *op,
                              uint32_t port)
{
  int64_t axis = 3;
  struct oc_op *y = onnx_add(cx, suffix, "Squeeze", 1, 0);
  onnx_wire(y, 0, op, port);
  onnx_set_ints(cx, y, "axis", &axis, 1);
  return y;
}

static bool read_window(struct onnx_cx *cx, struct onnx_spatial *s)
{
  if (!onnx_read_spatial(cx, UINT32_MAX, 0, s))
    return false;
  if (!s->has_kernel)
    onnx_refuse(cx, "it has no kernel_shape");
  return !cx->refused;
}

static void set_window(struct onnx_cx *cx, struct oc_op *op, const struct onnx_spatial *s)
{
  int64_t list[2 * ONNX_MAX_SPATIAL + 2];
  size_t n = s->n;
  if (n == 3)
    onnx_set_ints(cx, op, "ksize", s->kernel, n);
  else
    onnx_set_ints(cx, op, "ksize", list, window(s, s->kernel, list));
  if (n == 3)
    onnx_set_ints(cx, op, "strides", s->strides, n);
  else
    onnx_set_ints(cx, op, "strides", list, window(s, s->strides, list));
  onnx_set_ints(cx, op, "pads", list, window_pads(s, list));
  onnx_set_formats(op, n == 3 ? OC_FMT_NCDHW : OC_FMT_NCHW);
}

static void set_flat(struct onnx_cx *cx, struct oc_op *op, const struct onnx_spatial *s)
{
  int64_t list[ONNX_MAX_SPATIAL + 2];
  set_window(cx, op, s);
  onnx_set_string(cx, op, "padding_mode", padding_mode(s));
  if (s->same)
    onnx_set_string(cx, op, "auto_pad", onnx_s(cx, "auto_pad", ""));
  onnx_set_bool(cx, op, "ceil_mode", onnx_flag(cx, "ceil_mode", false));
  onnx_set_string(cx, op, "data_format", "NCHW");
  if (s->dilated) {
    onnx_differs(cx, "dilations are ignored there");
    onnx_set_ints(cx, op, "dilations", list, window(s, s->dilations, list));
  }
}

static struct oc_op *max_pool_indices(struct onnx_cx *cx, const struct onnx_spatial *s)
{
  int64_t list[ONNX_MAX_SPATIAL + 2];
  struct oc_op *x = s->n == 1 ? widened(cx, "_UnsqueezeX", NULL) : NULL;
  struct oc_op *op = onnx_add(cx, "_MaxPoolWithArgmaxV2", "MaxPoolWithArgmaxV2", 1, 0);
  onnx_differs(cx, "the indices are refused there");
  if (x)
    onnx_wire(op, 0, x, 0);
  else
    onnx_in(cx, op, 0, 0);
  set_flat(cx, op, s);
  onnx_set_ints(cx, op, "dilation", list, window(s, s->dilations, list));
  onnx_set_dtype(cx, op, "dtype", OC_DT_I64);
  return op;
}

static void max_pool_3d(struct onnx_cx *cx, const struct onnx_spatial *s)
{
  int64_t list[ONNX_MAX_SPATIAL + 2];
  struct oc_op *op = onnx_unary(cx, "", "MaxPool3D", 0);
  set_window(cx, op, s);
  onnx_set_string(cx, op, "padding", padding_mode(s));
  onnx_set_ints(cx, op, "dilation", list, onnx_padded(s, s->dilations, 1, list));
  onnx_set_int(cx, op, "ceil_mode", onnx_i(cx, "ceil_mode", 0));
  onnx_set_string(cx, op, "data_format", "NCDHW");
  onnx_out(cx, 0, op, 0);
}

static void flat_pool(struct onnx_cx *cx, const struct onnx_spatial *s, const char *type,
                      const char *suffix, const char *squeeze, struct oc_op **ret)
{
  struct oc_op *x = s->n == 1 ? widened(cx, "_UnsqueezeX", NULL) : NULL;
  struct oc_op *op = onnx_add(cx, suffix, type, 1, 0);
  if (x)
    onnx_wire(op, 0, x, 0);
  else
    onnx_in(cx, op, 0, 0);
  set_flat(cx, op, s);
  onnx_out(cx, 0, s->n == 1 ? narrowed(cx, squeeze, op, 0) : op, 0);
  *ret = op;
}

/* Windows that older chips' MaxPoolV3 does not take (the vendor's parser asks the same).
 */
static bool is_wide(const struct onnx_cx *cx, const struct onnx_spatial *s)
{
  enum { MOST_AREA = 255, MOST_STRIDE = 63 };
  return s->n == 2 && !cx->im->opt->wide_windows &&
         (s->kernel[0] > MOST_AREA || s->kernel[1] > MOST_AREA ||
          s->kernel[0] * s->kernel[1] > MOST_AREA || s->strides[0] > MOST_STRIDE ||
          s->strides[1] > MOST_STRIDE);
}

static struct oc_op *permuted(struct onnx_cx *cx, const char *suffix, struct oc_op *from,
                              const int64_t *perm)
{
  struct oc_op *op = from ? onnx_behind(cx, suffix, "TransposeD", from)
                          : onnx_unary(cx, suffix, "TransposeD", 0);
  onnx_set_ints(cx, op, "perm", perm, 4);
  return op;
}

/* Channels last: transpose, pad with the least float16, pool, transpose back. */
static void wide_max_pool(struct onnx_cx *cx, const struct onnx_spatial *s)
{
  static const int64_t last[] = { 0, 2, 3, 1 }, first[] = { 0, 3, 1, 2 };
  const int64_t pads[] = { 0, 0, s->pads[0], s->pads[2], s->pads[1], s->pads[3], 0, 0 };
  const int64_t ksize[] = { 1, s->kernel[0], s->kernel[1], 1 };
  const int64_t strides[] = { 1, s->strides[0], s->strides[1], 1 };
  struct oc_op *x = permuted(cx, "_permuteIn", NULL, last);
  if (s->padded && !s->same) {
    int64_t dims[] = { 4, 2 };
    struct oc_op *list = onnx_ints(cx, "_paddings", OC_DT_I32, pads, 8);
    if (list && list->value) {
      struct oc_value *v = (struct oc_value *)list->value;
      v->shape = oc_shape_of(cx->im->arena, dims, 2);
      list->outputs[0].t.shape = v->shape;
    }
    struct oc_op *least = onnx_f32(cx, "_constant_values", -65504.0f);
    if (onnx_dtype_of(cx, 0) == OC_DT_F16)
      least = onnx_cast(cx, "_least", least, OC_DT_F16);
    struct oc_op *pad = onnx_add(cx, "_PadV2", "PadV2", 3, 0);
    onnx_wire(pad, 0, x, 0);
    onnx_wire(pad, 1, list, 0);
    onnx_wire(pad, 2, least, 0);
    x = pad;
  }
  struct oc_op *op = onnx_behind(cx, "_MaxPool", "MaxPool", x);
  onnx_set_formats(op, OC_FMT_NHWC);
  onnx_set_ints(cx, op, "ksize", ksize, 4);
  onnx_set_ints(cx, op, "strides", strides, 4);
  onnx_set_string(cx, op, "padding", s->same ? "SAME" : "VALID");
  onnx_set_string(cx, op, "data_format", "NHWC");
  onnx_out(cx, 0, permuted(cx, "_permuteOut", op, first), 0);
}

static void max_pool(struct onnx_cx *cx)
{
  struct onnx_spatial s;
  struct oc_op *op = NULL;
  if (!read_window(cx, &s))
    return;
  if (onnx_i(cx, "storage_order", 0) != 0)
    onnx_differs(cx, "storage_order 1 is refused there");
  bool indices = onnx_used(cx, 1);
  if (indices && s.n == 3) {
    onnx_refuse(cx, "indices with three spatial axes are not supported");
  } else if (indices) {
    op = max_pool_indices(cx, &s);
    onnx_out(cx, 0, s.n == 1 ? narrowed(cx, "_SqueezeY", op, 0) : op, 0);
    struct oc_op *at = s.n == 1 ? narrowed(cx, "_SqueezeArgmax", op, 1) : op;
    onnx_out(cx, 1, at, s.n == 1 ? 0 : 1);
  } else if (s.n == 3) {
    max_pool_3d(cx, &s);
  } else if (is_wide(cx, &s) && !s.dilated && !onnx_flag(cx, "ceil_mode", false)) {
    wide_max_pool(cx, &s);
  } else {
    flat_pool(cx, &s, "MaxPoolV3", "_MaxPoolV3", "_SqueezeMaxpoolv3", &op);
  }
}

static void average_pool_3d(struct onnx_cx *cx, const struct onnx_spatial *s,
                            struct oc_op *op)
{
  set_window(cx, op, s);
  if (s->dilated)
    onnx_refuse(cx, "dilations with three spatial axes are not supported");
  if (s->same || s->valid)
    onnx_set_string(cx, op, "auto_pad", onnx_s(cx, "auto_pad", ""));
  onnx_set_bool(cx, op, "ceil_mode", onnx_flag(cx, "ceil_mode", false));
  onnx_set_string(cx, op, "data_format", "NCDHW");
}

static void average_pool(struct onnx_cx *cx)
{
  struct onnx_spatial s;
  struct oc_op *op = NULL;
  if (!read_window(cx, &s))
    return;
  bool include = onnx_flag(cx, "count_include_pad", false);
  if (s.n == 3) {
    op = onnx_unary(cx, "", "AvgPool3D", 0);
    average_pool_3d(cx, &s, op);
    onnx_set_bool(cx, op, "count_include_pad", include);
    onnx_out(cx, 0, op, 0);
    return;
  }
  flat_pool(cx, &s, "AvgPoolV2", "_AvgPoolV2", "_SqueezeAvgpoolv2", &op);
  onnx_set_bool(cx, op, "exclusive", !include);
}

/* (mean of |x|^p times the window's size)^(1/p) */
static void lp_pool(struct onnx_cx *cx)
{
  struct onnx_spatial s;
  if (!read_window(cx, &s))
    return;
  int64_t p = onnx_i(cx, "p", 2);
  float area = 1.0f;
  for (size_t i = 0; i < s.n; i++)
    area *= (float)s.kernel[i];
  if (p < 1) {
    onnx_refuse(cx, "p is less than one");
    return;
  }
  struct oc_op *power =
      onnx_behind(cx, "_Power_0", "Power", onnx_unary(cx, "_Abs", "Abs", 0));
  onnx_set_float(cx, power, "power", (float)p);
  struct oc_op *x = s.n == 1 ? widened(cx, "_UnsqueezeX", power) : power;
  bool three = s.n == 3;
  struct oc_op *op = onnx_behind(cx, three ? "_AvgPool3D" : "_AvgPoolV2",
                                 three ? "AvgPool3D" : "AvgPoolV2", x);
  if (three)
    average_pool_3d(cx, &s, op);
  else
    set_flat(cx, op, &s);
  onnx_set_bool(cx, op, three ? "count_include_pad" : "exclusive", three);
  struct oc_op *sum = s.n == 1 ? narrowed(cx, "_SqueezeAvgpoolv2", op, 0) : op;
  sum = onnx_behind(cx, "_Muls", "Muls", sum);
  onnx_set_float(cx, sum, "value", area);
  struct oc_op *root = onnx_behind(cx, "_Power_1", "Power", sum);
  onnx_set_float(cx, root, "power", 1.0f / (float)p);
  onnx_out(cx, 0, root, 0);
}

static void global_lp_pool(struct onnx_cx *cx)
{
  const struct onnx_attr *a = onnx_attr_find(cx->node, "p");
  float p = a && a->type == ONNX_ATTR_FLOAT ? a->f : (float)onnx_i(cx, "p", 2);
  onnx_set_float(cx, onnx_one_to_one(cx, "GlobalLpPool"), "p", p);
}

static void global_max_pool(struct onnx_cx *cx)
{
  int64_t axes[OC_MAX_RANK] = { -1, 2 };
  int64_t rank = onnx_rank(cx, 0);
  size_t n = 2;
  if (rank > 2 && rank != 4 && rank <= OC_MAX_RANK) {
    n = 0;
    for (int64_t i = 2; i < rank; i++)
      axes[n++] = i;
  }
  struct oc_op *list = onnx_ints(cx, "_Const_0", OC_DT_I32, axes, n);
  struct oc_op *op = onnx_add(cx, "_RedeceMax", "ReduceMax", 2, 0);
  onnx_in(cx, op, 0, 0);
  onnx_wire(op, 1, list, 0);
  onnx_set_bool(cx, op, "keep_dims", true);
  onnx_out(cx, 0, op, 0);
}

static void max_roi_pool(struct onnx_cx *cx)
{
  size_t n = 0;
  const int64_t *shape = onnx_is(cx, "pooled_shape", &n);
  float scale = onnx_f(cx, "spatial_scale", 1.0f);
  if (n != 2) {
    onnx_refuse(cx, "pooled_shape must have two numbers");
    return;
  }
  struct oc_op *op = onnx_one_to_one(cx, "ROIPooling");
  onnx_set_int(cx, op, "pooled_h", shape[0]);
  onnx_set_int(cx, op, "pooled_w", shape[1]);
  onnx_set_float(cx, op, "spatial_scale_h", scale);
  onnx_set_float(cx, op, "spatial_scale_w", scale);
}

/* (shape - 1) * strides + kernel - pads on the spatial axes, as shape arithmetic. */
static struct oc_op *unpooled_shape(struct onnx_cx *cx, const struct onnx_spatial *s,
                                    struct oc_op *x)
{
  int64_t one[ONNX_MAX_SPATIAL + 2] = { 0 };
  int64_t step[ONNX_MAX_SPATIAL + 2] = { 1, 1 };
  int64_t less[ONNX_MAX_SPATIAL + 2] = { 0 };
  size_t n = s->n + 2;
  for (size_t i = 0; i < s->n; i++) {
    one[i + 2] = 1;
    step[i + 2] = s->strides[i];
    less[i + 2] = s->pads[i] + s->pads[s->n + i] - s->kernel[i];
  }
  struct oc_op *shape = onnx_behind(cx, "_shape1", "Shape", x);
  onnx_set_dtype(cx, shape, "dtype", OC_DT_I64);
  struct oc_op *v =
      onnx_binary(cx, "_sub1", "Sub", shape, onnx_ints(cx, "_const1", OC_DT_I64, one, n));
  v = onnx_binary(cx, "_mul1", "Mul", v, onnx_ints(cx, "_const2", OC_DT_I64, step, n));
  return onnx_binary(cx, "_sub2", "Sub", v, onnx_ints(cx, "_const3", OC_DT_I64, less, n));
}

/* Zeros of the result's shape, flat, with the values scattered to their places. */
static void max_unpool(struct onnx_cx *cx)
{
  static const int64_t zero = 0, one = 1, flat = -1;
  struct onnx_spatial s;
  if (!read_window(cx, &s))
    return;
  struct oc_op *x = onnx_unary(cx, "_identity1", "Identity", 0);
  struct oc_op *shape = onnx_has(cx, 2) ? onnx_unary(cx, "_output_shape", "Identity", 2)
                                        : unpooled_shape(cx, &s, x);
  struct oc_op *places = onnx_unary(cx, "_identity2", "Identity", 1);
  struct oc_op *line = onnx_ints(cx, "_const_data4", OC_DT_I64, &flat, 1);
  struct oc_op *values = onnx_binary(cx, "_reshape1", "Reshape", x, line);
  struct oc_op *where = onnx_binary(cx, "_reshape2", "Reshape", places, line);
  struct oc_op *begin = onnx_ints(cx, "_const_data6", OC_DT_I64, &zero, 1);
  struct oc_op *end = onnx_ints(cx, "_const_data7", OC_DT_I64, &one, 1);
  struct oc_op *first = onnx_add(cx, "_StridedSlice1", "StridedSlice", 4, 0);
  onnx_wire(first, 0, values, 0);
  onnx_wire(first, 1, begin, 0);
  onnx_wire(first, 2, end, 0);
  onnx_wire(first, 3, end, 0);
  struct oc_op *zeros = onnx_behind(cx, "_zeroslike1", "ZerosLike", first);
  zeros = onnx_binary(cx, "_BroadcastTo1", "BroadcastTo", zeros, shape);
  zeros = onnx_binary(cx, "_reshape3", "Reshape", zeros, line);
  struct oc_op *put = onnx_add(cx, "_ScatterElements1", "ScatterElements", 3, 0);
  onnx_wire(put, 0, zeros, 0);
  onnx_wire(put, 1, where, 0);
  onnx_wire(put, 2, values, 0);
  onnx_out(cx, 0, onnx_binary(cx, "_reshape4", "Reshape", put, shape), 0);
}

const struct onnx_rule onnx_pool_rules[] = {
  { "MaxPool", 1, 0, max_pool, "MaxPoolV3", ONNX_V_ALL },
  { "AveragePool", 1, 0, average_pool, "AvgPoolV2", ONNX_V_ALL },
  { "LpPool", 2, 0, lp_pool, "AvgPoolV2", ONNX_V_ALL },
  { "GlobalAveragePool", 1, 0, NULL, "GlobalAveragePool", ONNX_V_ALL },
  { "GlobalLpPool", 1, 0, global_lp_pool, "GlobalLpPool", ONNX_V_ALL },
  { "GlobalMaxPool", 1, 0, global_max_pool, "ReduceMax", ONNX_V_ALL },
  { "MaxRoiPool", 1, 0, max_roi_pool, "ROIPooling", ONNX_V_ALL },
  { "MaxUnpool", 9, 0, max_unpool, "ScatterElements", ONNX_V(9, 9) | ONNX_V(11, 18) },
  { 0 },
};
