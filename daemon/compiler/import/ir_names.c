/* Names of the inputs and outputs of the IR types that the importer makes.
 *
 * Facts of the toolkit's public operator prototypes, blank-separated in their order; a
 * star marks a dynamic one, whose tensors are numbered from 0. Loop, Scan and Trilu are
 * not among the prototypes. A test compares the table with schema/ops/ir.yaml. */
#include <stdlib.h>
#include <string.h>

#include "import/reader.h"

struct signature {
  const char *type;
  const char *inputs;
  const char *outputs;
};

/* Sorted by type. */
static const struct signature table[] = {
  { "Abs", "x", "y" },
  { "AccumulateNV2", "x*", "y" },
  { "Acos", "x", "y" },
  { "Acosh", "x", "y" },
  { "AdaCast", "x", "y" },
  { "AdaptiveAvgPool2d", "x", "y" },
  { "AdaptiveMaxPool2d", "x", "y argmax" },
  { "Add", "x1 x2", "y" },
  { "AddRmsNorm", "x1 x2 gamma", "y rstd x" },
  { "Adds", "x", "y" },
  { "AffineGrid", "theta output_size", "y" },
  { "ArgMaxGrad", "var indices updates", "y" },
  { "ArgMaxV2", "x dimension", "y" },
  { "ArgMin", "x dimension", "y" },
  { "AscendAntiQuant", "x", "y" },
  { "AscendAntiQuantV2", "x scale offset", "y" },
  { "AscendDequant", "x deq_scale", "y" },
  { "AscendDequantS16", "x0 deq_scale x1", "y" },
  { "AscendQuant", "x", "y" },
  { "AscendQuantV2", "x scale offset", "y" },
  { "AscendRequant", "x req_scale", "y" },
  { "AscendRequantS16", "x0 req_scale x1", "y0 y1" },
  { "Asin", "x", "y" },
  { "Asinh", "x", "y" },
  { "Atan", "x", "y" },
  { "Atanh", "x", "y" },
  { "AvgPool3D", "x", "y" },
  { "AvgPoolV2", "x", "y" },
  { "BatchMatMul", "x1 x2", "y" },
  { "BatchMatMulV2", "x1 x2 bias offset_w", "y" },
  { "BatchNorm", "x scale offset mean variance",
    "y batch_mean batch_variance reserve_space_1 reserve_space_2 reserve_space_3" },
  { "BitwiseAnd", "x1 x2", "y" },
  { "BitwiseOr", "x1 x2", "y" },
  { "BitwiseXor", "x1 x2", "y" },
  { "BoundingBoxDecode", "rois deltas", "bboxes" },
  { "BoundingBoxEncode", "anchor_box ground_truth_box", "delats" },
  { "BroadcastTo", "x shape", "y" },
  { "Bucketize", "x", "y" },
  { "Cast", "x", "y" },
  { "CastLike", "x target", "y" },
  { "Ceil", "x", "y" },
  { "Celu", "x", "y" },
  { "ClipByValue", "x clip_value_min clip_value_max", "y" },
  { "Col2ImV2", "x output_size kernel_size", "y" },
  { "CommonGRU", "x w r b sequence_lens initial_h", "y y_h" },
  { "CommonLSTM", "x w r b sequence_lens initial_h initial_c p", "y y_h y_c" },
  { "Concat", "concat_dim x*", "y" },
  { "ConcatD", "x*", "y" },
  { "ConcatFromSequence", "handle", "y" },
  { "Constant", "", "y" },
  { "Conv2D", "x filter bias offset_w", "y" },
  { "Conv2DTranspose", "input_size x filter bias offset_w", "y" },
  { "Conv3D", "x filter bias offset_w", "y" },
  { "Conv3DTranspose", "input_size x filter bias offset_w", "y" },
  { "Correlation", "filter x", "y" },
  { "Cos", "x", "y" },
  { "Cosh", "x", "y" },
  { "Cumprod", "x axis", "y" },
  { "Cumsum", "x axis", "y" },
  { "DeformableConv2D", "x filter offsets bias", "y" },
  { "DeformableOffsets", "x offsets", "y" },
  { "DepthToSpace", "x", "y" },
  { "Div", "x1 x2", "y" },
  { "Dropout", "x", "y" },
  { "DynamicQuant", "x smooth_scales group_index", "y scale" },
  { "Einsum", "x*", "y" },
  { "Elu", "x", "y" },
  { "Empty", "shape", "y" },
  { "Equal", "x1 x2", "y" },
  { "Erf", "x", "y" },
  { "Exp", "x", "y" },
  { "Expand", "x shape", "y" },
  { "ExpandDims", "x axis", "y" },
  { "FastGelu", "x", "y" },
  { "Fill", "dims value", "y" },
  { "Flatten", "x", "y" },
  { "Floor", "x", "y" },
  { "Gather", "x indices", "y" },
  { "GatherElements", "x index", "y" },
  { "GatherNd", "x indices", "y" },
  { "GatherV2", "x indices axis", "y" },
  { "GeGluV2", "x", "y gelu" },
  { "Gelu", "x", "y" },
  { "GlobalAveragePool", "x", "y" },
  { "GlobalLpPool", "x", "y" },
  { "Greater", "x1 x2", "y" },
  { "GreaterEqual", "x1 x2", "y" },
  { "GridSampler2D", "x grid", "y" },
  { "GridSampler3D", "x grid", "y" },
  { "GroupNorm", "x gamma beta", "y mean variance" },
  { "GroupNormRelu", "x gamma beta", "y" },
  { "GroupNormSilu", "x gamma beta", "y mean rstd" },
  { "HardMax", "x", "y" },
  { "HardSigmoid", "input_x", "output_y" },
  { "HardSwish", "x", "y" },
  { "Identity", "x", "y" },
  { "If", "cond input*", "output*" },
  { "InstanceNorm", "x gamma beta", "y mean variance" },
  { "Invert", "x", "y" },
  { "IsInf", "x", "y" },
  { "IsNan", "x", "y" },
  { "LRN", "x", "y" },
  { "LSTM", "x cont w_x bias w_h x_static h_0 c_0 w_x_static", "h h_t c_t" },
  { "LayerNorm", "x gamma beta", "y mean variance" },
  { "LeakyRelu", "x", "y" },
  { "LeftShift", "x y", "z" },
  { "Less", "x1 x2", "y" },
  { "LessEqual", "x1 x2", "y" },
  { "Log", "x", "y" },
  { "LogSoftmaxV2", "logits", "logsoftmax" },
  { "LogicalAnd", "x1 x2", "y" },
  { "LogicalNot", "x", "y" },
  { "LogicalOr", "x1 x2", "y" },
  { "Loop", "M cond v*", "y*" },
  { "LpNormV2", "x", "y" },
  { "MVNV2", "x", "y" },
  { "MatMul", "x1 x2 bias", "y" },
  { "MatMulV2", "x1 x2 bias offset_w", "y" },
  { "MatrixDeterminant", "x", "y" },
  { "MatrixDiagV2", "diagonal k num_rows num_cols padding_value", "output" },
  { "MaxPool", "x", "y" },
  { "MaxPool3D", "x", "y" },
  { "MaxPoolV3", "x", "y" },
  { "MaxPoolWithArgmaxV2", "x", "y argmax" },
  { "Maximum", "x1 x2", "y" },
  { "Minimum", "x1 x2", "y" },
  { "MirrorPad", "x paddings", "y" },
  { "Mish", "x", "y" },
  { "Mod", "x1 x2", "y" },
  { "Mul", "x1 x2", "y" },
  { "Muls", "x", "y" },
  { "Multinomial", "logits num_samples", "y" },
  { "NLLLoss", "x target weight", "y total_weight" },
  { "Neg", "x", "y" },
  { "NonMaxSuppression", "boxes scores max_output_size", "selected_indices" },
  { "NonMaxSuppressionV6", "boxes scores max_output_size iou_threshold score_threshold",
    "selected_indices" },
  { "NonZero", "x", "y" },
  { "OneHot", "x depth on_value off_value", "y" },
  { "OnesLike", "x", "y" },
  { "PRelu", "x weight", "y" },
  { "Pad", "x paddings", "y" },
  { "PadV3", "x paddings constant_values", "y" },
  { "Pow", "x1 x2", "y" },
  { "Power", "x", "y" },
  { "QuantBatchMatmulV3", "x1 x2 scale offset bias pertoken_scale", "y" },
  { "Quantize", "x scales zero_points", "y" },
  { "ROIAlign", "features rois rois_n", "y" },
  { "ROIPooling", "x rois roi_actual_num", "y" },
  { "RandomStandardNormal", "shape", "y" },
  { "RandomUniform", "shape", "y" },
  { "Range", "start limit delta", "y" },
  { "RealDiv", "x1 x2", "y" },
  { "Reciprocal", "x", "y" },
  { "ReduceLogSum", "x axes", "y" },
  { "ReduceLogSumExp", "x axes", "y" },
  { "ReduceMax", "x axes", "y" },
  { "ReduceMean", "x axes", "y" },
  { "ReduceMin", "x axes", "y" },
  { "ReduceProd", "x axes", "y" },
  { "ReduceSum", "x axes", "y" },
  { "Relu", "x", "y" },
  { "Reshape", "x shape", "y" },
  { "Resize", "x roi scales sizes", "y" },
  { "ResizeNearestNeighborV2", "x size", "y" },
  { "ReverseSequence", "x seq_lengths", "y" },
  { "RightShift", "x y", "z" },
  { "RmsNorm", "x gamma", "y rstd" },
  { "RotaryMul", "x r1 r2", "y" },
  { "Round", "x", "y" },
  { "Rsqrt", "x", "y" },
  { "Scan", "x*", "y*" },
  { "Scatter", "var indices updates", "var" },
  { "ScatterElements", "data indices updates", "y" },
  { "ScatterNdAdd", "var indices updates", "var" },
  { "ScatterNdMax", "var indices updates", "var" },
  { "ScatterNdMin", "var indices updates", "var" },
  { "SelectV2", "condition then else", "result" },
  { "Selu", "x", "y" },
  { "SequenceAt", "handle index", "y" },
  { "SequenceConstruct", "inputs*", "handle" },
  { "SequenceEmpty", "", "handle" },
  { "SequenceErase", "handle index", "handle_y" },
  { "SequenceInsert", "handle value index", "handle_y" },
  { "SequenceLength", "handle", "length" },
  { "Shape", "x", "y" },
  { "Shrink", "input_x", "output_y" },
  { "Sigmoid", "x", "y" },
  { "Sign", "x", "y" },
  { "SignBitsPack", "x", "y" },
  { "SignBitsUnpack", "x", "y" },
  { "Sin", "x", "y" },
  { "Sinh", "x", "y" },
  { "Size", "x", "y" },
  { "Slice", "x offsets size", "y" },
  { "SoftmaxCrossEntropyLoss", "scores labels weights", "loss log_prop" },
  { "SoftmaxCrossEntropyWithLogits", "features labels", "loss backprop" },
  { "SoftmaxV2", "x", "y" },
  { "Softplus", "x", "y" },
  { "Softsign", "x", "y" },
  { "SpaceToDepth", "x", "y" },
  { "SparseToDense", "indices output_shape values default_value", "y" },
  { "Split", "split_dim x", "y*" },
  { "SplitToSequence", "x split", "handle" },
  { "SplitV", "x size_splits split_dim", "y*" },
  { "Sqrt", "x", "y" },
  { "SquareSumV1", "x", "y" },
  { "Squeeze", "x", "y" },
  { "SqueezeV3", "x axes", "y" },
  { "StatelessBernoulliV2", "x seed offset", "y" },
  { "StridedSlice", "x begin end strides", "y" },
  { "StridedSliceV2", "x begin end axes strides", "y" },
  { "Sub", "x1 x2", "y" },
  { "Swish", "x", "y" },
  { "Tan", "x", "y" },
  { "Tanh", "x", "y" },
  { "TensorMove", "x", "y" },
  { "TensorScatterUpdate", "x indices updates", "y" },
  { "Threshold", "x", "y" },
  { "Tile", "x multiples", "y" },
  { "TopK", "x k", "values indices" },
  { "Transpose", "x perm", "y" },
  { "Trilu", "x k", "y" },
  { "Triu", "x", "y" },
  { "Unique", "x", "y idx" },
  { "UniqueWithCountsAndSorting", "x", "y indices counts" },
  { "Unsqueeze", "x", "y" },
  { "UnsqueezeV3", "x axes", "y" },
  { "Upsample", "x", "y" },
  { "WeightQuantBatchMatmulV2",
    "x weight antiquant_scale antiquant_offset quant_scale quant_offset bias", "y" },
  { "Where", "x", "y" },
  { "ZerosLike", "x", "y" },
};

static int compare(const void *key, const void *row)
{
  return strcmp(key, ((const struct signature *)row)->type);
}

static const struct signature *find(const char *type)
{
  return bsearch(type, table, sizeof(table) / sizeof(table[0]), sizeof(table[0]),
                 compare);
}

/* The next word of a list; false at its end. */
static bool next_word(const char **p, struct oc_str *ret)
{
  *p += strspn(*p, " ");
  size_t n = strcspn(*p, " ");
  if (n == 0)
    return false;
  *ret = (struct oc_str){ *p, n };
  *p += n;
  return true;
}

static bool starred(struct oc_str w)
{
  return w.p[w.len - 1] == '*';
}

static uint32_t count(const char *list, bool *ret_dynamic)
{
  struct oc_str w;
  uint32_t n = 0;
  *ret_dynamic = false;
  while (next_word(&list, &w)) {
    if (starred(w))
      *ret_dynamic = true;
    else
      n++;
  }
  return n;
}

bool import_ir_outputs(const char *type, uint32_t *ret_fixed, bool *ret_dynamic)
{
  const struct signature *s = find(type);
  if (s)
    *ret_fixed = count(s->outputs, ret_dynamic);
  return s != NULL;
}

uint32_t import_ir_inputs(const char *type)
{
  const struct signature *s = find(type);
  bool dynamic = true;
  uint32_t n = s ? count(s->inputs, &dynamic) : 0;
  return dynamic ? UINT32_MAX : n;
}

/* Name of tensor `i` of `n`: fixed words in order, the starred one takes what is left. */
static const char *name_at(struct oc_arena *a, const char *list, uint32_t i, uint32_t n)
{
  bool dynamic = false;
  uint32_t fixed = count(list, &dynamic);
  uint32_t spread = dynamic && n > fixed ? n - fixed : 0;
  struct oc_str w;
  while (next_word(&list, &w)) {
    uint32_t takes = starred(w) ? spread : 1;
    if (i >= takes) {
      i -= takes;
      continue;
    }
    if (starred(w))
      return oc_arena_printf(a, "%.*s%u", (int)w.len - 1, w.p, (unsigned)i);
    return oc_arena_strndup(a, w.p, w.len);
  }
  return NULL;
}

void import_name_tensors(struct oc_arena *a, struct oc_op *op)
{
  const struct signature *s = find(op->type);
  for (uint32_t i = 0; i < op->n_inputs; i++) {
    op->inputs[i].t.name = s ? name_at(a, s->inputs, i, op->n_inputs) : NULL;
    if (!op->inputs[i].t.name)
      op->inputs[i].t.name = oc_arena_printf(a, "x%u", (unsigned)i);
  }
  for (uint32_t i = 0; i < op->n_outputs; i++) {
    op->outputs[i].t.name = s ? name_at(a, s->outputs, i, op->n_outputs) : NULL;
    if (!op->outputs[i].t.name)
      op->outputs[i].t.name = oc_arena_printf(a, "y%u", (unsigned)i);
  }
}
