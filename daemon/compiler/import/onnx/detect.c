/* Regions, grids and losses. */
#include "import/onnx/build.h"

static void non_max_suppression(struct onnx_cx *cx)
{
  uint32_t n = onnx_n_in(cx);
  struct oc_op *op = onnx_add(cx, "=NonMaxSuppressionV6", "NonMaxSuppressionV6", n, 0);
  if (n > 5) {
    onnx_refuse(cx, "it has too many inputs");
    return;
  }
  onnx_ins(cx, op, 0, 0, n);
  onnx_set_int(cx, op, "center_point_box", onnx_i(cx, "center_point_box", 0));
  onnx_out(cx, 0, onnx_cast(cx, "=Cast", op, OC_DT_I64), 0);
}

static void roi_align(struct onnx_cx *cx)
{
  int64_t axis = 1;
  const char *how = onnx_s(cx, "coordinate_transformation_mode", "half_pixel");
  int64_t end_mode = cx->opset < 16 || oc_streq(how, "output_half_pixel") ? 0 : 2;
  struct oc_op *dim = onnx_int(cx, "=Const", OC_DT_I32, axis);
  struct oc_op *batch = onnx_unary(cx, "=Unsqueeze", "Unsqueeze", 2);
  onnx_set_ints(cx, batch, "axes", &axis, 1);
  batch = onnx_cast(cx, "=Cast", batch, OC_DT_F32);
  struct oc_op *boxes = onnx_cast_in(cx, "=Cast", 1, OC_DT_F32);
  struct oc_op *rois = onnx_add(cx, "=Concat", "Concat", 3, 0);
  onnx_wire(rois, 0, dim, 0);
  onnx_wire(rois, 1, batch, 0);
  onnx_wire(rois, 2, boxes, 0);
  onnx_set_int(cx, rois, "N", 2);
  struct oc_op *op = onnx_add(cx, "=ROIAlign", "ROIAlign", 2, 0);
  onnx_in(cx, op, 0, 0);
  onnx_wire(op, 1, rois, 0);
  onnx_set_float(cx, op, "spatial_scale", onnx_f(cx, "spatial_scale", 1.0f));
  onnx_set_int(cx, op, "pooled_height", onnx_i(cx, "output_height", 1));
  onnx_set_int(cx, op, "pooled_width", onnx_i(cx, "output_width", 1));
  onnx_set_int(cx, op, "sample_num", onnx_i(cx, "sampling_ratio", 0));
  onnx_set_int(cx, op, "roi_end_mode", end_mode);
  onnx_set_string(cx, op, "pool_mode", onnx_s(cx, "mode", "avg"));
  onnx_out(cx, 0, op, 0);
}

static void grid_sample(struct onnx_cx *cx)
{
  bool three = onnx_rank(cx, 0) == 5 || onnx_rank(cx, 1) == 5;
  const char *mode = onnx_s(cx, "mode", cx->opset < 20 ? "bilinear" : "linear");
  const char *padding = onnx_s(cx, "padding_mode", "zeros");
  bool align = onnx_flag(cx, "align_corners", false);
  if (oc_streq(mode, "linear"))
    mode = "bilinear";
  if (oc_streq(mode, "cubic"))
    mode = "bicubic";
  struct oc_op *op = onnx_one_to_one(cx, three ? "GridSampler3D" : "GridSampler2D");
  onnx_set_string(cx, op, "interpolation_mode", mode);
  onnx_set_string(cx, op, "padding_mode", padding);
  onnx_set_bool(cx, op, "align_corners", align);
  if (three)
    onnx_set_string(cx, op, "data_format", "NCDHW");
  onnx_set_formats(op, three ? OC_FMT_NCDHW : OC_FMT_NCHW);
}

static void affine_grid(struct onnx_cx *cx)
{
  bool align = onnx_flag(cx, "align_corners", false);
  onnx_set_bool(cx, onnx_one_to_one(cx, "AffineGrid"), "align_corners", align);
}

static void set_pair(struct onnx_cx *cx, struct oc_op *op, const char *from,
                     const char *to, int64_t other)
{
  int64_t usual[2] = { other, other };
  size_t n = 0;
  const int64_t *v = onnx_is(cx, from, &n);
  if (v && n == 4 && v[0] == v[2] && v[1] == v[3])
    n = 2; /* begin and end alike */
  if (v && n != 2)
    onnx_refuse(cx, "only two spatial axes with equal pads on both sides are supported");
  onnx_set_ints(cx, op, to, v && n == 2 ? v : usual, 2);
}

static void col2im(struct onnx_cx *cx)
{
  struct oc_op *size = onnx_cast_in(cx, "=Cast", 1, OC_DT_I32);
  struct oc_op *op = onnx_add(cx, "=Col2ImV2", "Col2ImV2", 3, 0);
  onnx_in(cx, op, 0, 0);
  onnx_wire(op, 1, size, 0);
  onnx_in(cx, op, 2, 2);
  set_pair(cx, op, "dilations", "dilation", 1);
  set_pair(cx, op, "pads", "padding", 0);
  set_pair(cx, op, "strides", "stride", 1);
  onnx_out(cx, 0, op, 0);
}

static void loss_attrs(struct onnx_cx *cx, struct oc_op *op)
{
  onnx_set_string(cx, op, "reduction", onnx_s(cx, "reduction", "mean"));
  if (onnx_given(cx, "ignore_index"))
    onnx_set_int(cx, op, "ignore_index", onnx_i(cx, "ignore_index", 0));
}

static void loss(struct onnx_cx *cx)
{
  struct oc_op *op = onnx_one_to_one(cx, cx->rule->to);
  loss_attrs(cx, op);
}

const struct onnx_rule onnx_detect_rules[] = {
  { "NonMaxSuppression", 10, 0, non_max_suppression, "NonMaxSuppressionV6",
    ONNX_V(10, 18) },
  { "RoiAlign", 10, 0, roi_align, "ROIAlign", ONNX_V_ALL },
  { "GridSample", 16, 0, grid_sample, "GridSampler2D", ONNX_V(11, 11) | ONNX_V(16, 18) },
  { "AffineGrid", 20, 0, affine_grid, "AffineGrid", ONNX_V(8, 16) },
  { "Col2Im", 18, 0, col2im, "Col2ImV2", ONNX_V(18, 18) },
  { "SoftmaxCrossEntropyLoss", 12, 0, loss, "SoftmaxCrossEntropyLoss", ONNX_V(12, 18) },
  { "NegativeLogLikelihoodLoss", 12, 0, loss, "NLLLoss", ONNX_V_NONE },
  { 0 },
};
