/* Slices: StridedSliceV2 takes ONNX's lists as they are, as inputs. */
#include "import/onnx/build.h"

static void slice_attrs(struct onnx_cx *cx)
{
  size_t n = 0, n_ends = 0, n_axes = 0;
  const int64_t *starts = onnx_is(cx, "starts", &n);
  const int64_t *ends = onnx_is(cx, "ends", &n_ends);
  const int64_t *axes = onnx_is(cx, "axes", &n_axes);
  if (!starts || !ends || n != n_ends || (axes && n_axes != n)) {
    onnx_refuse(cx, "starts, ends and axes do not fit");
    return;
  }
  struct oc_op *begin = onnx_ints(cx, "=begin", OC_DT_I64, starts, n);
  struct oc_op *end = onnx_ints(cx, "=end", OC_DT_I64, ends, n);
  struct oc_op *list = axes ? onnx_ints(cx, "=axes", OC_DT_I64, axes, n) : NULL;
  struct oc_op *op = onnx_add(cx, "_StridedSliceV2", "StridedSliceV2", axes ? 4 : 3, 0);
  onnx_in(cx, op, 0, 0);
  onnx_wire(op, 1, begin, 0);
  onnx_wire(op, 2, end, 0);
  if (list)
    onnx_wire(op, 3, list, 0);
  onnx_out(cx, 0, op, 0);
}

const struct onnx_rule onnx_slice_rules[] = {
  { "Slice", 1, 9, slice_attrs, "StridedSliceV2", ONNX_V_ALL },
  { "Slice", 10, 0, NULL, "StridedSliceV2", ONNX_V_ALL },
  { 0 },
};
