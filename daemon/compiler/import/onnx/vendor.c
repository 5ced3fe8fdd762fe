/* Operators that are no ONNX operators but that the vendor's exporters write, in the
 * standard domain or in `npu`. Inputs and outputs go over in order; attributes keep their
 * names and kinds. */
#include "import/onnx/build.h"

static void copy_attr(struct onnx_cx *cx, struct oc_op *op, const struct onnx_attr *a)
{
  struct oc_graph *g = cx->sc->graph;
  switch (a->type) {
  case ONNX_ATTR_INT: (void)oc_attr_set_int(g, op, a->name, a->i); break;
  case ONNX_ATTR_FLOAT: (void)oc_attr_set_float(g, op, a->name, a->f); break;
  case ONNX_ATTR_STRING: (void)oc_attr_set_string(g, op, a->name, a->s.p); break;
  case ONNX_ATTR_INTS: (void)oc_attr_set_ints(g, op, a->name, a->ints, a->n); break;
  case ONNX_ATTR_FLOATS: (void)oc_attr_set_floats(g, op, a->name, a->floats, a->n); break;
  case ONNX_ATTR_STRINGS:
    (void)oc_attr_set_strings(g, op, a->name, a->strings, a->n);
    break;
  default: onnx_refuse(cx, "an attribute of it is of an unusual kind"); break;
  }
}

static void as_it_is(struct onnx_cx *cx)
{
  struct oc_op *op = onnx_one_to_one(cx, cx->rule->to);
  for (const struct onnx_attr *a = cx->node->attrs; a && op && !cx->refused; a = a->next)
    copy_attr(cx, op, a);
}

static void dtype_cast(struct onnx_cx *cx)
{
  enum oc_dtype d = onnx_dtype(onnx_i(cx, "to", 0));
  if (onnx_given(cx, "dst_dtype"))
    d = onnx_dtype(onnx_i(cx, "dst_dtype", 0));
  if (d == OC_DT_UNDEFINED) {
    onnx_refuse(cx, "its target type has no counterpart");
    return;
  }
  onnx_set_dtype(cx, onnx_one_to_one(cx, "Cast"), "dst_type", d);
}

#define ROW(op, to)                                                                      \
  {                                                                                      \
    op, 1, 0, as_it_is, to, 0xffffffffu                                                  \
  }

const struct onnx_rule onnx_vendor_rules[] = {
  ROW("AdaCast", "AdaCast"),
  ROW("AdaptiveAvgPool2d", "AdaptiveAvgPool2d"),
  ROW("AdaptiveMaxPool2d", "AdaptiveMaxPool2d"),
  ROW("AscendAntiQuant", "AscendAntiQuant"),
  ROW("AscendDequant", "AscendDequant"),
  ROW("AscendDequantS16", "AscendDequantS16"),
  ROW("AscendQuant", "AscendQuant"),
  ROW("AscendRequant", "AscendRequant"),
  ROW("AscendRequantS16", "AscendRequantS16"),
  ROW("BatchMatMul", "BatchMatMul"),
  ROW("BoundingBoxDecode", "BoundingBoxDecode"),
  ROW("Bucketize", "Bucketize"),
  ROW("Corr", "Correlation"),
  ROW("DeformableConv2D", "DeformableConv2D"),
  ROW("DeformableOffsets", "DeformableOffsets"),
  ROW("GroupNormRelu", "GroupNormRelu"),
  ROW("NPUAddRmsNorm", "AddRmsNorm"),
  ROW("NPUAntiQuant", "AscendAntiQuantV2"),
  ROW("NPUAscendQuantV2", "AscendQuantV2"),
  ROW("NPUBoundingBoxDecode", "BoundingBoxDecode"),
  ROW("NPUBoundingBoxEncode", "BoundingBoxEncode"),
  { "NPUDtypeCast", 1, 0, dtype_cast, "Cast", 0xffffffffu },
  ROW("NPUDynamicQuant", "DynamicQuant"),
  ROW("NPUFastGelu", "FastGelu"),
  ROW("NPUFormatCast", "Identity"),
  ROW("NPUGeglu", "GeGluV2"),
  ROW("NPUGeluV2", "GeluV2"),
  ROW("NPUGroupNormSilu", "GroupNormSilu"),
  ROW("NPUMish", "Mish"),
  ROW("NPUQuantize", "Quantize"),
  ROW("NPURmsNorm", "RmsNorm"),
  ROW("NPURotaryMul", "RotaryMul"),
  ROW("NPUScatter", "ArgMaxGrad"),
  ROW("NPUSignBitsPack", "SignBitsPack"),
  ROW("NPUSignBitsUnpack", "SignBitsUnpack"),
  ROW("NPUSlice", "Slice"),
  ROW("NPUSoftmaxCrossEntropyWithLogits", "SoftmaxCrossEntropyWithLogits"),
  ROW("QuantBatchMatMul", "QuantBatchMatmulV3"),
  ROW("RepeatWithPad", "RepeatWithPad"),
  ROW("SparseToDense", "SparseToDense"),
  ROW("Triu", "Triu"),
  ROW("WeightQuantBatchMatmulV2", "WeightQuantBatchMatmulV2"),
  { 0 },
};
