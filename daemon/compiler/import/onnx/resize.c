/* Resize and Upsample.
 *
 * Nearest over height and width becomes ResizeNearestNeighborV2 with the two sizes cut
 * out of the list; everything else becomes Resize with all four inputs. Sizes that are
 * given as scales are computed: shape times scales, rounded down. */
#include "base/limits.h"
#include "import/onnx/build.h"

/* The input holds something: exporters pass empty constants for what they leave out. */
static bool filled(const struct onnx_cx *cx, uint32_t input)
{
  const struct oc_value *v = onnx_const(cx, input);
  return onnx_has(cx, input) && !(v && v->len == 0);
}

/* Opset 18: scales of some axes only, written out for all. */
static struct oc_op *scales_of_axes(struct onnx_cx *cx, uint32_t input,
                                    const int64_t *axes, size_t n)
{
  float full[OC_MAX_RANK];
  int64_t rank = onnx_rank(cx, 0);
  const struct oc_value *v = onnx_const(cx, input);
  if (!v || v->dtype != OC_DT_F32 || oc_value_count(v) != n || rank < 1 ||
      rank > OC_MAX_RANK) {
    onnx_refuse(cx,
                "it resizes some axes only, and their scales or its rank are not known");
    return NULL;
  }
  for (int64_t i = 0; i < rank; i++)
    full[i] = 1.0f;
  for (size_t i = 0; i < n; i++) {
    int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
    if (axis < 0 || axis >= rank) {
      onnx_refuse(cx, "an axis is out of range");
      return NULL;
    }
    uint32_t bits = 0;
    for (size_t b = 0; b < 4; b++)
      bits |= (uint32_t)v->data[i * 4 + b] << (8 * b);
    __builtin_memcpy(&full[axis], &bits, sizeof(bits));
  }
  return onnx_f32s(cx, "_scales", full, (size_t)rank);
}

/* Opset 18: sizes of some axes, or sizes that bound a picture whose proportions stay:
 * worked out for all axes where they and the input's dims are known. */
static struct oc_op *sizes_of_axes(struct onnx_cx *cx, const int64_t *axes, size_t n_axes)
{
  const char *policy = onnx_s(cx, "keep_aspect_ratio_policy", "stretch");
  bool larger = oc_streq(policy, "not_smaller"), stretch = oc_streq(policy, "stretch");
  int64_t rank = onnx_rank(cx, 0), full[OC_MAX_RANK], size = 0;
  const struct oc_value *v = onnx_const(cx, 3);
  size_t n = v ? oc_value_count(v) : 0;
  double scale = 0;
  if (rank < 1 || rank > OC_MAX_RANK || n != (axes ? n_axes : (size_t)rank)) {
    onnx_refuse(cx, "its sizes or its rank are not known");
    return NULL;
  }
  for (int64_t i = 0; i < rank; i++)
    full[i] = onnx_dim_of(cx, 0, (uint32_t)i);
  for (int pass = 0; pass < 2; pass++)
    for (size_t i = 0; i < n; i++) {
      int64_t axis = axes ? axes[i] : (int64_t)i;
      axis = axis < 0 ? axis + rank : axis;
      if (axis < 0 || axis >= rank || !oc_value_int(v, i, &size) || full[axis] < 1) {
        onnx_refuse(cx, "an axis is out of range, or a dim is not known");
        return NULL;
      }
      double s = (double)size / (double)full[axis];
      if (pass == 0)
        scale = i == 0 || (larger ? s > scale : s < scale) ? s : scale;
      else
        full[axis] = stretch ? size : (int64_t)((double)full[axis] * scale + 0.5);
    }
  for (int64_t i = 0; i < rank; i++)
    if (full[i] < 0)
      onnx_refuse(cx, "a dim that keeps its size is not known");
  return onnx_ints(cx, "_sizes", OC_DT_I64, full, (size_t)rank);
}

struct target {
  struct oc_op *x, *roi, *scales, *sizes; /* sizes as int32 */
};

static bool find_target(struct onnx_cx *cx, struct target *t)
{
  uint32_t at = cx->opset < 11 ? 1 : 2; /* scales */
  size_t n_axes = 0;
  const int64_t *axes = onnx_is(cx, "axes", &n_axes);
  bool by_size = cx->opset >= 11 && filled(cx, 3);
  bool bound = !oc_streq(onnx_s(cx, "keep_aspect_ratio_policy", "stretch"), "stretch");
  if (!by_size && !filled(cx, at))
    onnx_refuse(cx, "it has neither scales nor sizes");
  if (cx->refused)
    return false;
  t->x = onnx_unary(cx, cx->opset < 11 ? "_Identity" : "_x", "Identity", 0);
  if (by_size) {
    struct oc_op *sizes = axes || bound ? sizes_of_axes(cx, axes, n_axes)
                                        : onnx_unary(cx, "_sizes", "Identity", 3);
    t->sizes = onnx_cast(cx, "_Cast0", sizes, OC_DT_I32);
    if (axes || bound)
      onnx_differs(cx, "axes and keep_aspect_ratio_policy are ignored there");
    return !cx->refused;
  }
  struct oc_op *shape = onnx_behind(cx, "_Shape", "Shape", t->x);
  onnx_set_dtype(cx, shape, "dtype", OC_DT_I64);
  struct oc_op *real = onnx_cast(cx, "_Cast0", shape, OC_DT_F32);
  t->scales = axes ? scales_of_axes(cx, at, axes, n_axes)
                   : onnx_unary(cx, "_scales", "Identity", at);
  t->sizes =
      onnx_cast(cx, "_Cast1", onnx_binary(cx, "_Mul", "Mul", real, t->scales), OC_DT_I32);
  return !cx->refused;
}

static void nearest(struct onnx_cx *cx, const struct target *t, const char *how)
{
  static const int64_t two = 2;
  struct oc_op *from = onnx_ints(cx, "_data_offsets", OC_DT_I32, &two, 1);
  struct oc_op *count = onnx_ints(cx, "_data_size", OC_DT_I32, &two, 1);
  struct oc_op *size = onnx_add(cx, "_Slice", "Slice", 3, 0);
  onnx_wire(size, 0, t->sizes, 0);
  onnx_wire(size, 1, from, 0);
  onnx_wire(size, 2, count, 0);
  struct oc_op *op =
      onnx_binary(cx, "_ResizeNearestNeighborV2", "ResizeNearestNeighborV2", t->x, size);
  onnx_set_bool(cx, op, "align_corners", oc_streq(how, "align_corners"));
  onnx_set_bool(cx, op, "half_pixel_centers", oc_streq(how, "half_pixel"));
  if (op) {
    op->inputs[0].t.format = OC_FMT_NCHW;
    op->outputs[0].t.format = OC_FMT_NCHW;
  }
  onnx_out(cx, 0, op, 0);
}

static void smooth(struct onnx_cx *cx, const struct target *t, const char *mode,
                   const char *how)
{
  struct oc_op *roi = cx->opset >= 11 && filled(cx, 1)
                          ? onnx_unary(cx, "_roi", "Identity", 1)
                          : onnx_f32s(cx, "_roi", NULL, 0);
  struct oc_op *scales = t->scales ? t->scales : onnx_f32s(cx, "_scales", NULL, 0);
  struct oc_op *op = onnx_add(cx, "_Resize", "Resize", 4, 0);
  onnx_wire(op, 0, t->x, 0);
  onnx_wire(op, 1, roi, 0);
  onnx_wire(op, 2, scales, 0);
  onnx_wire(op, 3, t->sizes, 0);
  onnx_set_string(cx, op, "coordinate_transformation_mode", how);
  onnx_set_string(cx, op, "mode", mode);
  onnx_set_string(cx, op, "resize_original_type", "onnx_resize");
  if (onnx_given(cx, "cubic_coeff_a") || onnx_flag(cx, "exclude_outside", false) ||
      onnx_given(cx, "extrapolation_value"))
    onnx_differs(
        cx,
        "cubic_coeff_a, exclude_outside and extrapolation_value are not handed on there");
  onnx_set_float(cx, op, "cubic_coeff_a", onnx_f(cx, "cubic_coeff_a", -0.75f));
  onnx_set_int(cx, op, "exclude_outside", onnx_i(cx, "exclude_outside", 0));
  onnx_set_float(cx, op, "extrapolation_value", onnx_f(cx, "extrapolation_value", 0.0f));
  onnx_set_string(cx, op, "nearest_mode",
                  onnx_s(cx, "nearest_mode", "round_prefer_floor"));
  onnx_out(cx, 0, op, 0);
}

static void resize(struct onnx_cx *cx)
{
  struct target t = { 0 };
  const char *mode = onnx_s(cx, "mode", "nearest");
  const char *how = onnx_s(cx, "coordinate_transformation_mode",
                           cx->opset < 11 ? "asymmetric" : "half_pixel");
  int64_t rank = onnx_rank(cx, 0);
  if (onnx_flag(cx, "antialias", false))
    onnx_differs(cx, "antialias is ignored there");
  if (!find_target(cx, &t))
    return;
  if (oc_streq(mode, "nearest") && (rank < 0 || rank == 4) &&
      !oc_streq(how, "tf_crop_and_resize"))
    nearest(cx, &t, how);
  else
    smooth(cx, &t, mode, how);
}

static void upsample(struct onnx_cx *cx)
{
  static const float zeros[8] = { 0 };
  const struct onnx_attr *a = onnx_attr_find(cx->node, "scales");
  const char *mode = onnx_s(cx, "mode", "nearest");
  if (cx->opset < 9 && (!a || a->type != ONNX_ATTR_FLOATS)) {
    onnx_refuse(cx, "it has no scales");
    return;
  }
  struct oc_op *roi = onnx_f32s(cx, "=Const", zeros, 8);
  struct oc_op *scales = cx->opset < 9 ? onnx_f32s(cx, "_scales", a->floats, a->n) : NULL;
  struct oc_op *op = onnx_add(cx, "=Resize", "Resize", 3, 0);
  onnx_in(cx, op, 0, 0);
  onnx_wire(op, 1, roi, 0);
  if (scales)
    onnx_wire(op, 2, scales, 0);
  else
    onnx_in(cx, op, 2, 1);
  onnx_set_string(cx, op, "mode", oc_streq(mode, "nearest") ? "nearest" : "linear");
  onnx_set_string(cx, op, "coordinate_transformation_mode", "asymmetric");
  onnx_set_string(cx, op, "nearest_mode", "floor");
  onnx_out(cx, 0, op, 0);
}

const struct onnx_rule onnx_resize_rules[] = {
  { "Resize", 10, 0, resize, "Resize", ONNX_V(10, 18) },
  { "Upsample", 7, 9, upsample, "Resize", ONNX_V(8, 9) | ONNX_V(11, 16) },
  { 0 },
};
