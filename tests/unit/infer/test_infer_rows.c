/* Every operator family, one op per row: what goes in and what has to come out. */
#include <stdlib.h>

#include "row.h"

static const struct row elementwise[] = {
  { "Relu", "f32[2,3]", "", "f32[2,3]" },
  { "Relu", "f16[a,3]", "", "f16[a,3]" },
  { "Relu", "f32[*]", "", "f32[*]" },
  { "Cast", "f32[2]", "dst_type:d=int64", "i64[2]" },
  { "Cast", "f32[2]", "dst_type:i=1", "f16[2]" },
  { "Cast", "f32{1.9,-1.9}", "dst_type:d=int32", "i32{1,-1}" },
  { "Cast", "i64{300}", "dst_type:d=int8", "i8{44}" },
  { "CastLike", "f32[2] i8[5]", "", "i8[2]" },
  { "LogicalNot", "b8[2]", "", "b8[2]" },
  { "IsNan", "f32[4,a]", "", "b8[4,a]" },
  { "Neg", "i64{1,-2}", "", "i64{-1,2}" },
  { "Floor", "f32{1.5,-1.5}", "", "f32{1,-2}" },
  { "ZerosLike", "i32[2]", "", "i32{0,0}" },
  { "SoftmaxV2", "f16[1,5]", "axes:I=-1", "f16[1,5]" },
};

static const struct row broadcast[] = {
  { "Add", "f32[2,3] f32[3]", "", "f32[2,3]" },
  { "Add", "f32[2,1,4] f32[3,1]", "", "f32[2,3,4]" },
  { "Add", "f32[a,1] f32[a,4]", "", "f32[a,4]" },
  { "Add", "f32[a] f32[b]", "", "f32[?]" },
  { "Add", "f32[a] f32[7]", "", "f32[7]" },
  { "Add", "f32[3] f32[4]", "", "!" },
  { "Add", "f32[*] f32[4]", "", "f32[*]" },
  { "Equal", "i64[2,1] i64[2]", "", "b8[2,2]" },
  { "SelectV2", "b8[2,1] f16[3] f16[1]", "", "f16[2,3]" },
  { "Mul", "i64{2,3} i64(4)", "", "i64{8,12}" },
  { "RealDiv", "i64{7,-7} i64(2)", "", "i64{3,-3}" },
  { "FloorDiv", "i64{7,-7} i64(2)", "", "i64{3,-4}" },
  { "FloorMod", "i64{7,-7} i64(3)", "", "i64{1,2}" },
  { "Maximum", "i32{1,5} i32{3,2}", "", "i32{3,5}" },
  { "Equal", "i64{1,2} i64{1,3}", "", "b8{1,0}" },
  { "AccumulateNV2", "f32[2,3] f32[3] f32[1]", "", "f32[2,3]" },
};

static const struct row reduce[] = {
  { "ReduceMean", "f32[2,3,4] i32{1}", "keep_dims:b=1", "f32[2,1,4]" },
  { "ReduceMean", "f32[2,3,4] i32{-1}", "keep_dims:b=0", "f32[2,3]" },
  { "ReduceSum", "f32[2,a] i64[1]", "keep_dims:b=0", "f32[?]" },
  { "ReduceSum", "f32[2,3] i64{}", "keep_dims:b=0", "f32[]" },
  { "ReduceSum", "f32[2,3] i64{}", "keep_dims:b=0 noop_with_empty_axes:b=1", "f32[2,3]" },
  { "ReduceMeanD", "f32[2,3,4] ", "axes:I=0,2 keep_dims:b=1", "f32[1,3,1]" },
  { "ReduceMax", "f32[2,3] i32{5}", "", "!" },
  { "ReduceProd", "i64{2,3,4} i32{0}", "keep_dims:b=0", "i64(24)" },
  { "SquareSumV1", "f32[2,3]", "axis:I=1 keep_dims:b=1", "f32[2,1]" },
  { "LpNormV2", "f32[2,3]", "axes:I=1 keepdim:b=1", "f32[2,1]" },
  { "ReduceAll", "b8[2,3] i32{0}", "", "b8[3]" },
  { "ArgMaxV2", "f32[2,3,4] i32(1)", "dtype:d=int64", "i64[2,4]" },
  { "TopK", "f32[2,9] i64{4}", "dim:i=-1", "f32[2,4] i32[2,4]" },
  { "TopKV2", "f32[2,9] i64[1]", "dim:i=-1", "f32[2,?] i32[2,?]" },
  { "NonZero", "f32[2,3]", "transpose:b=1", "i64[2,?]" },
  { "NonZero", "i64{0,1,1}", "transpose:b=1", "i64{1,2}" },
};

static const struct row matrix[] = {
  { "MatMulV2", "f16[2,3] f16[3,4]", "", "f16[2,4]" },
  { "MatMulV2", "f16[3,2] f16[3,4]", "transpose_x1:b=1", "f16[2,4]" },
  { "MatMulV2", "f16[2,3] f16[4,4]", "", "!" },
  { "BatchMatMulV2", "f32[8,2,3] f32[3,4]", "", "f32[8,2,4]" },
  { "BatchMatMulV2", "f32[b,1,2,3] f32[5,4,3]", "adj_x2:b=1", "f32[b,5,2,4]" },
  { "BatchMatMulV2", "f32[3] f32[3]", "", "f32[]" },
  { "BatchMatMulV2", "f32[7,2,3] f32[3]", "", "f32[7,2]" },
  { "MatMulV2", "i8[2,3] i8[3,4]", "", "i32[2,4]" },
  { "Einsum", "f32[2,3] f32[3,4]", "equation:s=ij,jk->ik", "f32[2,4]" },
  { "Einsum", "f32[5,2,3] f32[5,3,4]", "equation:s=...ij,...jk->...ik", "f32[5,2,4]" },
  { "Einsum", "f32[3,3]", "equation:s=ii->i", "f32[3]" },
  { "Einsum", "f32[2,3] f32[3,4]", "equation:s=ij,jk", "f32[2,4]" },
  { "FullyConnection", "f32[2,3,4] f32[10,12]", "num_output:i=10 axis:i=1", "f32[2,10]" },
};

static const struct row convolution[] = {
  { "Conv2D", "f32[1,3,224,224] f32[64,3,7,7]",
    "strides:I=1,1,2,2 pads:I=3,3,3,3 dilations:I=1,1,1,1 data_format:s=NCHW",
    "f32[1,64,112,112]" },
  { "Conv2D", "f32[n,3,h,w] f32[8,3,3,3]",
    "strides:I=1,1,1,1 pads:I=1,1,1,1 data_format:s=NCHW", "f32[n,8,h,w]" },
  { "Conv2D", "f32[1,8,10,10] f32[8,1,3,3]",
    "strides:I=1,1,2,2 pads:I=0,0,0,0 groups:i=8 data_format:s=NCHW", "f32[1,8,4,4]" },
  { "Conv2D", "f32[1,3,9,9] f32[4,3,3,3]",
    "strides:I=1,1,2,2 auto_pad:s=SAME_UPPER data_format:s=NCHW", "f32[1,4,5,5]" },
  { "Conv2D", "f32[1,9,9,3] f32[3,3,3,4]",
    "strides:I=1,2,2,1 padding:s=VALID data_format:s=NHWC", "f32[1,4,4,4]" },
  { "Conv2D", "f32[1,3,9,9] f32[4,2,3,3]", "strides:I=1,1,1,1 data_format:s=NCHW", "!" },
  { "Conv2D", "f32[1,3,9] f32[4,3,3,3]", "data_format:s=NCHW", "!" },
  { "Conv3D", "f16[1,2,8,8,8] f16[4,2,3,3,3]",
    "strides:I=1,1,1,1,1 pads:I=1,1,1,1,1,1 data_format:s=NCDHW", "f16[1,4,8,8,8]" },
  { "DepthwiseConv2D", "f32[1,9,9,8] f32[3,3,8,2]",
    "strides:I=1,1,1,1 padding:s=SAME data_format:s=NHWC", "f32[1,9,9,16]" },
  { "Conv2DTranspose", "i64{0,0,0,0} f32[1,4,5,5] f32[4,2,3,3]",
    "strides:I=1,1,2,2 pads:I=0,0,0,0 output_padding:I=0,0,1,1 data_format:s=NCHW",
    "f32[1,2,12,12]" },
  { "Conv2DBackpropInput", "i32{1,8,8,3} f32[3,3,3,4] f32[1,4,4,4]",
    "strides:I=1,2,2,1 data_format:s=NHWC", "f32[1,8,8,3]" },
};

static const struct row pooling[] = {
  { "MaxPoolV3", "f32[1,8,9,9]",
    "ksize:I=1,1,3,3 strides:I=1,1,2,2 padding_mode:s=CALCULATED pads:I=0,0,0,0 "
    "data_format:s=NCHW",
    "f32[1,8,4,4]" },
  { "MaxPoolV3", "f32[1,8,10,10]",
    "ksize:I=1,1,3,3 strides:I=1,1,2,2 padding_mode:s=CALCULATED ceil_mode:b=1 "
    "data_format:s=NCHW",
    "f32[1,8,5,5]" },
  { "AvgPoolV2", "f32[n,8,9,9]",
    "ksize:I=1,1,3,3 strides:I=1,1,2,2 padding_mode:s=SAME data_format:s=NCHW",
    "f32[n,8,5,5]" },
  { "AvgPool", "f32[1,9,9,8]", "ksize:I=1,3,3,1 strides:I=1,3,3,1 padding:s=VALID",
    "f32[1,3,3,8]" },
  { "MaxPool3D", "f32[1,2,8,8,8]",
    "ksize:I=1,1,2,2,2 strides:I=1,1,2,2,2 data_format:s=NCDHW", "f32[1,2,4,4,4]" },
  { "GlobalAveragePool", "f32[n,8,7,7]", "", "f32[n,8,1,1]" },
  { "MaxPoolV3", "f32[8,9,9]", "ksize:I=1,1,3,3", "!" },
  { "AdaptiveAvgPool2d", "f32[2,8,9,9]", "output_size:I=3,3", "f32[2,8,3,3]" },
};

static const struct row normalise[] = {
  { "BatchNorm", "f32[1,8,4,4] f32[8] f32[8] f32[8] f32[8]", "",
    "f32[1,8,4,4] f32[8] f32[8]" },
  { "BNInfer", "f16[1,8,4,4] f32[8] f32[8] f32[8] f32[8]", "", "f16[1,8,4,4]" },
  { "LayerNorm", "f32[2,5,8] f32[8] f32[8]", "begin_norm_axis:i=-1",
    "f32[2,5,8] f32[2,5,1] f32[2,5,1]" },
  { "InstanceNorm", "f32[2,8,4,4] f32[8] f32[8]", "data_format:s=NCHW",
    "f32[2,8,4,4] f32[2,8,1,1] f32[2,8,1,1]" },
  { "RmsNorm", "f16[2,5,8] f16[8]", "", "f16[2,5,8] f32[2,5,1]" },
};

static const struct row reshape[] = {
  { "Reshape", "f32[2,3,4] i64{0,-1}", "", "f32[2,12]" },
  { "Reshape", "f32[n,3,4] i64{0,-1}", "", "f32[n,12]" },
  { "Reshape", "f32[n,3,4] i64{-1,12}", "", "f32[n,12]" },
  { "Reshape", "f32[n,m] i64{-1}", "", "f32[?]" },
  { "Reshape", "f32[2,3] i64[2]", "", "f32[?,?]" },
  { "Reshape", "f32[2,3] i64[1]", "", "f32[6]" },
  { "Reshape", "f32[2,3] i64{4,-1}", "", "!" },
  { "Reshape", "f32[2,3] i64{7}", "", "!" },
  { "Reshape", "f32[0,3] i64{0,-1}", "allowzero:i=0", "f32[0,0]" },
  { "Reshape", "f32[*] i64{2,-1}", "", "f32[2,?]" },
  { "Flatten", "f32[2,3,n]", "axis:i=1", "f32[2,?]" },
  { "Flatten", "f32[2,3,4]", "axis:i=0", "f32[1,24]" },
  { "Squeeze", "f32[1,2,1]", "axis:I=0", "f32[2,1]" },
  { "Squeeze", "f32[1,2,1]", "", "f32[2]" },
  { "Squeeze", "f32[1,n]", "", "f32[*]" },
  { "Squeeze", "f32[1,2]", "axis:I=1", "!" },
  { "SqueezeV3", "f32[1,2,1] i64{-1}", "", "f32[1,2]" },
  { "Unsqueeze", "f32[2]", "axes:I=0,2", "f32[1,2,1]" },
  { "UnsqueezeV3", "f32[2,n] i64{-1}", "", "f32[2,n,1]" },
  { "ExpandDims", "i64{5,6} i32(0)", "", "i64{5,6}" },
};

static const struct row layout[] = {
  { "Transpose", "f32[2,3,n] i32{2,0,1}", "", "f32[n,2,3]" },
  { "Transpose", "f32[2,3] i32[2]", "", "f32[?,?]" },
  { "Transpose", "f32[2,3] i32{0,0}", "", "!" },
  { "TransposeD", "f32[2,3]", "perm:I=1,0", "f32[3,2]" },
  { "Expand", "f32[3,1] i64{2,1,6}", "", "f32[2,3,6]" },
  { "BroadcastTo", "i64(7) i64{3}", "", "i64{7,7,7}" },
  { "Tile", "f32[2,n] i64{3,2}", "", "f32[6,?]" },
  { "Tile", "i64{1,2} i64{2}", "", "i64{1,2,1,2}" },
  { "DepthToSpace", "f32[1,8,2,3]", "block_size:i=2 data_format:s=NCHW", "f32[1,2,4,6]" },
  { "SpaceToDepth", "f32[1,2,4,6]", "block_size:i=2 data_format:s=NCHW", "f32[1,8,2,3]" },
  { "SpaceToBatchND", "f32[1,4,4,1] i32{2,2} i32{0,0,0,0}", "", "f32[4,2,2,1]" },
};

static const struct row slice[] = {
  { "StridedSliceV2", "f32[10,n] i64{2} i64{8} i64{0} i64{2}", "", "f32[3,n]" },
  { "StridedSliceV2", "f32[10] i64{-3} i64{9223372036854775807} i64{0}", "", "f32[3]" },
  { "StridedSliceV2", "f32[10] i64{-1} i64{-9223372036854775807} i64{0} i64{-1}", "",
    "f32[10]" },
  { "StridedSliceV2", "f32[n] i64{0} i64{9223372036854775807} i64{0}", "", "f32[n]" },
  { "StridedSliceV2", "f32[n,4] i64[1] i64[1] i64{1}", "", "f32[n,?]" },
  { "StridedSliceV2", "i64{4,5,6,7} i64{1} i64{3} i64{0}", "", "i64{5,6}" },
  { "StridedSliceV2", "i64{4,5,6,7} i64{-1} i64{-5} i64{0} i64{-2}", "", "i64{7,5}" },
  { "StridedSliceV2", "f32[4] i64{0} i64{4} i64{0} i64{0}", "", "!" },
  { "StridedSlice", "f32[5,6,7] i32{0,1} i32{0,4} i32{1,1}",
    "begin_mask:i=1 end_mask:i=1", "f32[5,3,7]" },
  { "StridedSlice", "i32{4,5,6} i32{1} i32{2} i32{1}", "shrink_axis_mask:i=1", "i32(5)" },
  { "StridedSlice", "f32[5,6] i32{0,0} i32{0,0} i32{1,1}",
    "begin_mask:i=3 end_mask:i=3 new_axis_mask:i=2", "f32[5,1,6]" },
  { "StridedSliceD", "f32[5,6]", "begin:I=1,0 end:I=3,6 strides:I=1,2", "f32[2,3]" },
  { "Slice", "f32[5,6] i32{1,0} i32{2,-1}", "", "f32[2,6]" },
  { "Slice", "f32[5] i32{4} i32{2}", "", "!" },
  { "PadV3", "f32[2,3] i64{0,1,0,2}", "paddings_contiguous:b=0", "f32[2,6]" },
  { "PadV3", "f32[2,n] i64{0,1,0,0}", "paddings_contiguous:b=1", "f32[3,n]" },
  { "Pad", "i64{7} i32{1,1}", "", "i64{0,7,0}" },
  { "PadV3", "f32[2,3] i64{0,1}", "", "!" },
};

static const struct row gather[] = {
  { "GatherV2", "f32[5,6] i64[2,3] i32(0)", "", "f32[2,3,6]" },
  { "GatherV2", "f32[5,6] i64[] i32(1)", "", "f32[5]" },
  { "GatherV2", "i64{4,5,6} i64{2,-3} i32(0)", "", "i64{6,4}" },
  { "GatherV2", "i64{4,5,6} i64{3} i32(0)", "", "!" },
  { "GatherV2", "f32[2,5,6] i64[2,3] i32(1)", "batch_dims:i=1", "f32[2,3,6]" },
  { "GatherElements", "f32[5,6] i64[2,6]", "dim:i=0", "f32[2,6]" },
  { "GatherNd", "f32[5,6,7] i64[3,2]", "", "f32[3,7]" },
  { "ScatterElements", "f32[5,6] i64[2,6] f32[2,6]", "", "f32[5,6]" },
  { "ScatterNd", "i32[2,1] f32[2,4] i32{8,4}", "", "f32[8,4]" },
  { "OneHot", "i64[2,3] i32(5) f32(1) f32(0)", "axis:i=-1", "f32[2,3,5]" },
};

static const struct row join[] = {
  { "ConcatD", "f32[2,3] f32[2,n]", "concat_dim:i=1", "f32[2,?]" },
  { "ConcatD", "f32[2,3] f32[2,4]", "concat_dim:i=-1", "f32[2,7]" },
  { "ConcatD", "f32[2,3] f32[3,3]", "concat_dim:i=1", "!" },
  { "ConcatD", "f32[2,3] f32[3]", "concat_dim:i=0", "!" },
  { "ConcatD", "i64{1,2} i64{3}", "concat_dim:i=0", "i64{1,2,3}" },
  { "Concat", "i32(1) f32[2,3] f32[2,4]", "", "f32[2,7]" },
  { "ConcatV2", "f32[2,3] f32[2,4] i32(1)", "", "f32[2,7]" },
  { "Pack", "f32[2,3] f32[2,3]", "axis:i=1", "f32[2,2,3]" },
  { "Pack", "i64(4) i64(5)", "axis:i=0", "i64{4,5}" },
  { "Split", "i32(1) f32[2,6]", "", "f32[2,3] f32[2,3]" },
  { "SplitV", "f32[2,6] i64{1,5} i32(1)", "", "f32[2,1] f32[2,5]" },
  { "SplitV", "f32[2,6] i64{1,-1} i32(1)", "", "f32[2,1] f32[2,5]" },
  { "SplitV", "f32[2,6] i64{1,4} i32(1)", "", "! !" },
  { "SplitV", "i64{7,8,9} i64{1,2} i32(0)", "", "i64{7} i64{8,9}" },
  { "Unpack", "f32[2,3]", "axis:i=0", "f32[3] f32[3]" },
};

static const struct row others[] = {
  { "Resize", "f32[1,2,4,4] f32[0] f32{1,1,2,2.5}", "", "f32[1,2,8,10]" },
  { "Resize", "f32[n,2,h,4] f32[0] f32{1,1,2,2} i64{}", "", "f32[n,2,?,8]" },
  { "Resize", "f32[n,2,4,4] - - i64{1,2,9,9}", "", "f32[1,2,9,9]" },
  { "ResizeNearestNeighborV2", "f32[1,2,4,4] i32{8,9}", "", "f32[1,2,8,9]" },
  { "CommonLSTM", "f32[7,b,10] f32[2,80,10] f32[2,80,20]", "",
    "f32[7,2,b,20] f32[2,b,20] f32[2,b,20]" },
  { "CommonGRU", "f32[7,3,10] f32[1,60,10] f32[1,60,20]", "",
    "f32[7,1,3,20] f32[1,3,20]" },
  { "DynamicRNN", "f32[7,3,10] f32[30,80] f32[80]", "", "f32[7,3,20] f32[7,3,20]" },
  { "Shape", "f32[2,n]", "dtype:d=int64", "i64[2]" },
  { "Shape", "f32[2,3]", "dtype:d=int64", "i64{2,3}" },
  { "Shape", "f32[2,3,4]", "dtype:d=int64 start:i=1 end:i=-1", "i64{3}" },
  { "Size", "f32[2,3]", "dtype:d=int64", "i64(6)" },
  { "Rank", "f32[2,n]", "", "i32(2)" },
  { "Fill", "i64{2} i64(5)", "", "i64{5,5}" },
  { "Fill", "i64[3] f32(0)", "", "f32[?,?,?]" },
  { "Range", "i64(1) i64(7) i64(2)", "", "i64{1,3,5}" },
  { "Range", "i32(5) i32(1) i32(-2)", "", "i32{5,3}" },
  { "RandomUniform", "i64{2,3}", "dtype:d=float16", "f16[2,3]" },
  { "Multinomial", "f32[4,9] i32(3)", "dtype:d=int32", "i32[4,3]" },
  { "AscendQuant", "f32[2,3]", "dst_type:i=2", "i8[2,3]" },
  { "AscendDequant", "i32[2,3] u64[3]", "dtype:i=0", "f32[2,3]" },
  { "QuantizeLinear", "f32[2] f32[] i8[]", "", "i8[2]" },
  { "DequantizeLinear", "i8[2] f32[] i8[]", "", "f32[2]" },
  { "NonMaxSuppressionV6", "f32[1,9,4] f32[1,2,9]", "", "i32[?,3]" },
  { "ROIAlign", "f32[1,8,20,20] f32[5,5]", "pooled_height:i=7 pooled_width:i=6",
    "f32[5,8,7,6]" },
  { "GridSampler2D", "f32[1,8,20,20] f32[1,5,6,2]", "", "f32[1,8,5,6]" },
  { "SequenceLength", "f32[]", "", "i64[]" },
  { "Switch", "f32[2,n] b8[]", "", "f32[2,n] f32[2,n]" },
  { "Bitcast", "f32[2]", "type:d=int8", "i8[2,4]" },
  { "GeGluV2", "f16[2,8]", "dim:i=-1", "f16[2,4] f16[2,4]" },
};

#define ROWS(name)                                                                       \
  START_TEST(rows_##name)                                                                \
  {                                                                                      \
    check_row(&name[_i], _i);                                                            \
  }                                                                                      \
  END_TEST

ROWS(elementwise)
ROWS(broadcast)
ROWS(reduce)
ROWS(matrix)
ROWS(convolution)
ROWS(pooling)
ROWS(normalise)
ROWS(reshape)
ROWS(layout)
ROWS(slice)
ROWS(gather)
ROWS(join)
ROWS(others)

#define ADD(name)                                                                        \
  tcase_add_loop_test(tc, rows_##name, 0, (int)(sizeof(name) / sizeof(name[0])))

int main(void)
{
  Suite *s = suite_create("infer rows");
  TCase *tc = tcase_create("families");

  ADD(elementwise);
  ADD(broadcast);
  ADD(reduce);
  ADD(matrix);
  ADD(convolution);
  ADD(pooling);
  ADD(normalise);
  ADD(reshape);
  ADD(layout);
  ADD(slice);
  ADD(gather);
  ADD(join);
  ADD(others);
  suite_add_tcase(s, tc);

  SRunner *r = srunner_create(s);

  srunner_run_all(r, CK_NORMAL);

  int failed = srunner_ntests_failed(r);

  srunner_free(r);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
