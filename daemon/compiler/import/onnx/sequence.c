/* Sequences of tensors: host operators, attributes under the same names. */
#include "import/onnx/build.h"

static void empty(struct onnx_cx *cx)
{
  enum oc_dtype d = onnx_dtype(onnx_i(cx, "dtype", 1));
  if (d == OC_DT_UNDEFINED) {
    onnx_refuse(cx, "its dtype has no counterpart");
    return;
  }
  onnx_set_dtype(cx, onnx_one_to_one(cx, "SequenceEmpty"), "dtype", d);
}

static void split_to(struct onnx_cx *cx)
{
  int64_t axis = onnx_i(cx, "axis", 0);
  bool keep = onnx_flag(cx, "keepdims", true);
  struct oc_op *op = onnx_one_to_one(cx, "SplitToSequence");
  onnx_set_int(cx, op, "axis", axis);
  onnx_set_bool(cx, op, "keepdims", keep);
}

static void concat_from(struct onnx_cx *cx)
{
  int64_t axis = onnx_i(cx, "axis", 0);
  int64_t fresh = onnx_i(cx, "new_axis", 0);
  struct oc_op *op = onnx_one_to_one(cx, "ConcatFromSequence");
  onnx_set_int(cx, op, "axis", axis);
  onnx_set_int(cx, op, "new_axis", fresh);
}

const struct onnx_rule onnx_sequence_rules[] = {
  { "SequenceAt", 11, 0, NULL, "SequenceAt", ONNX_V(11, 18) },
  { "SequenceConstruct", 11, 0, NULL, "SequenceConstruct", ONNX_V(11, 18) },
  { "SequenceEmpty", 11, 0, empty, "SequenceEmpty", ONNX_V(11, 18) },
  { "SequenceErase", 11, 0, NULL, "SequenceErase", ONNX_V(11, 18) },
  { "SequenceInsert", 11, 0, NULL, "SequenceInsert", ONNX_V(11, 18) },
  { "SequenceLength", 11, 0, NULL, "SequenceLength", ONNX_V(11, 18) },
  { "SplitToSequence", 11, 0, split_to, "SplitToSequence", ONNX_V(11, 18) },
  { "ConcatFromSequence", 11, 0, concat_from, "ConcatFromSequence", ONNX_V(11, 18) },
  { 0 },
};
