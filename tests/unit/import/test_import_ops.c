/* Operators: one node in, the ops that it must become out (constants are left out of the
 * listing unless the row begins with "*"). Rows follow the vendor's mapping. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph_text.h"

static const struct {
  const char *model; /* without opset 13 and x, which are added */
  const char *want;
} rows[] = {
  { "node Div d x,x -> y", "d = RealDiv(x1=x, x2=x)\n" },
  { "node Where w c,x,z -> y", "w = SelectV2(condition=c, then=x, else=z)\n" },
  { "node com.microsoft::FastGelu g x -> y", "g = FastGelu(x=x)\n" },
  { "node com.microsoft::FastGelu g x,m1 -> y",
    "PartitionedCall_g_Add_2 = Add(x1=x, x2=m1) <g>\n"
    "PartitionedCall_g_Gelu_3 = FastGelu(x=PartitionedCall_g_Add_2) <g>\n" },
  { "node com.microsoft::SkipLayerNormalization s x,z,m1,n1 -> y,_,_,sum epsilon=f0.5",
    "PartitionedCall_s_Add_4 = Add(x1=x, x2=z) <s>\n"
    "PartitionedCall_s_LayerNorm_5 = LayerNorm(x=PartitionedCall_s_Add_4, gamma=m1, "
    "beta=n1) begin_norm_axis=-1 begin_params_axis=-1 epsilon=0.5 <s>\n" },
  { "node LeakyRelu l x -> y alpha=f0.25", "l = LeakyRelu(x=x) negative_slope=0.25\n" },
  { "node LeakyRelu l x -> y", "l = LeakyRelu(x=x) negative_slope=0.01\n" },
  { "node Softmax s x -> y", "s = SoftmaxV2(x=x) axes=[-1]\n" },
  { "node Cast s x -> y to=i16", "s = Cast(x=x) dst_type=bf16\n" },
  { "node Clip s x,m1,n1 -> y",
    "s = ClipByValue(x=x, clip_value_min=m1, clip_value_max=n1)\n" },
  { "node Clip s x,_,n1 -> y", "s = Minimum(x1=x, x2=n1)\n" },
  { "node Clip s x,m1 -> y", "s = Maximum(x1=x, x2=m1)\n" },
  { "node Max s x,z -> y", "s = Maximum(x1=x, x2=z)\n" },
  { "node Max s x -> y", "s = Identity(x=x)\n" },
  { "node Max s x,z,m1 -> y", "PartitionedCall_s_Maximum_0_3 = Maximum(x1=x, x2=z) <s>\n"
                              "PartitionedCall_s_Maximum_1_4 = "
                              "Maximum(x1=PartitionedCall_s_Maximum_0_3, x2=m1) <s>\n" },
  { "node Sum s x,z,m1 -> y", "s = AccumulateNV2(x0=x, x1=z, x2=m1) N=3\n" },
  { "node Conv v x,w,b -> y kernel_shape=I3;3 strides=I2;2 pads=I1;2;3;4 group=i1",
    "v = Conv2D(x=x, filter=w_Initializer_1, bias=b_Initializer_0) data_format=NCHW "
    "dilations=[1,1,1,1] groups=1 pads=[1,3,2,4] strides=[1,1,2,2]\n" },
  { "node Conv v x,w -> y auto_pad=sSAME_UPPER",
    "v = Conv2D(x=x, filter=w_Initializer_1) auto_pad=SAME_UPPER data_format=NCHW "
    "dilations=[1,1,1,1] groups=1 pads=[0,0,0,0] strides=[1,1,1,1]\n" },
  { "node Conv v x3,w -> y kernel_shape=I3 pads=I1;1",
    "PartitionedCall_v_UnsqueezeX_2 = Unsqueeze(x=x3) axes=[2] <v>\n"
    "PartitionedCall_v_UnsqueezeW_3 = Unsqueeze(x=w_Initializer_1) axes=[2] <v>\n"
    "PartitionedCall_v_Conv2D_4 = Conv2D(x=PartitionedCall_v_UnsqueezeX_2, "
    "filter=PartitionedCall_v_UnsqueezeW_3) data_format=NCHW dilations=[1,1,1,1] "
    "groups=1 "
    "pads=[0,0,1,1] strides=[1,1,1,1] <v>\n"
    "PartitionedCall_v_SqueezeY_5 = Squeeze(x=PartitionedCall_v_Conv2D_4) axis=[2] "
    "<v>\n" },
  { "node ConvTranspose v x,w -> y kernel_shape=I2;2 strides=I2;2 output_padding=I1;0",
    "PartitionedCall_v_Conv2DTranspose_3 = "
    "Conv2DTranspose(input_size=PartitionedCall_v_Const_2, "
    "x=x, filter=w_Initializer_1) data_format=NCHW dilations=[1,1,1,1] groups=1 "
    "output_padding=[0,0,1,0] pads=[0,0,0,0] strides=[1,1,2,2] <v>\n" },
  { "node MaxPool p x -> y kernel_shape=I3;2 strides=I2;1 pads=I0;1;0;1",
    "p = MaxPoolV3(x=x) ceil_mode=false data_format=NCHW ksize=[1,1,3,2] "
    "padding_mode=CALCULATED pads=[0,0,1,1] strides=[1,1,2,1]\n" },
  { "node MaxPool p x -> y kernel_shape=I16;16 pads=I1;2;3;4",
    "PartitionedCall_p_permuteIn_1 = TransposeD(x=x) perm=[0,2,3,1] <p>\n"
    "PartitionedCall_p_PadV2_4 = PadV2(x=PartitionedCall_p_permuteIn_1, "
    "paddings=PartitionedCall_p_paddings_2, "
    "constant_values=PartitionedCall_p_constant_values_3) <p>\n"
    "PartitionedCall_p_MaxPool_5 = MaxPool(x=PartitionedCall_p_PadV2_4) data_format=NHWC "
    "ksize=[1,16,16,1] padding=VALID strides=[1,1,1,1] <p>\n"
    "PartitionedCall_p_permuteOut_6 = TransposeD(x=PartitionedCall_p_MaxPool_5) "
    "perm=[0,3,1,2] <p>\n" },
  { "node AveragePool p x -> y kernel_shape=I2;2 count_include_pad=i1 auto_pad=sVALID",
    "p = AvgPoolV2(x=x) ceil_mode=false data_format=NCHW exclusive=false ksize=[1,1,2,2] "
    "padding_mode=VALID pads=[0,0,0,0] strides=[1,1,1,1]\n" },
  { "node AveragePool p x3 -> y kernel_shape=I2",
    "PartitionedCall_p_UnsqueezeX_1 = Unsqueeze(x=x3) axes=[3] <p>\n"
    "PartitionedCall_p_AvgPoolV2_2 = AvgPoolV2(x=PartitionedCall_p_UnsqueezeX_1) "
    "ceil_mode=false data_format=NCHW exclusive=true ksize=[1,1,2,1] "
    "padding_mode=CALCULATED "
    "pads=[0,0,0,0] strides=[1,1,1,1] <p>\n"
    "PartitionedCall_p_SqueezeAvgpoolv2_3 = Squeeze(x=PartitionedCall_p_AvgPoolV2_2) "
    "axis=[3] "
    "<p>\n" },
  { "node MaxPool p x5 -> y kernel_shape=I2;2;2",
    "p = MaxPool3D(x=x5) ceil_mode=0 data_format=NCDHW dilation=[1,1,1,1,1] "
    "ksize=[2,2,2] "
    "padding=CALCULATED pads=[0,0,0,0,0,0] strides=[1,1,1]\n" },
  { "node GlobalAveragePool p x -> y", "p = GlobalAveragePool(x=x)\n" },
  { "node GlobalMaxPool p x -> y",
    "PartitionedCall_p_RedeceMax_2 = ReduceMax(x=x, axes=PartitionedCall_p_Const_0_1) "
    "keep_dims=true <p>\n" },
  { "node BatchNormalization n x,b,b,b,b -> y epsilon=f0.5",
    "n = BatchNorm(x=x, scale=b_Initializer_0, offset=b_Initializer_0, "
    "mean=b_Initializer_0, "
    "variance=b_Initializer_0) data_format=NCHW epsilon=0.5 is_training=false "
    "onnx=onnx\n" },
  { "node LRN n x -> y size=i5 alpha=f0.5",
    "n = LRN(x=x) alpha=0.1 beta=0.75 bias=1 depth_radius=2 "
    "norm_region=ACROSS_CHANNELS\n" },
  { "node MatMul m x,z -> y",
    "m = BatchMatMulV2(x1=x, x2=z) adj_x1=false adj_x2=false\n" },
  { "node Gemm m x,z -> y transB=i1",
    "m = MatMulV2(x1=x, x2=z) transpose_x1=false transpose_x2=true\n" },
  { "node Gemm m x,z,m1 -> y",
    "PartitionedCall_m_MatMulV2_3 = MatMulV2(x1=x, x2=z) transpose_x1=false "
    "transpose_x2=false <m>\n"
    "PartitionedCall_m_add_4 = Add(x1=PartitionedCall_m_MatMulV2_3, x2=m1) <m>\n" },
  { "node Gemm g x,z,n1 -> y alpha=f0.5",
    "PartitionedCall_g_MatMulV2_3 = MatMulV2(x1=x, x2=z) transpose_x1=false "
    "transpose_x2=false <g>\n"
    "PartitionedCall_g_Muls1_4 = Muls(x=PartitionedCall_g_MatMulV2_3) value=0.5 <g>\n"
    "PartitionedCall_g_Muls2_5 = Muls(x=n1) value=1 <g>\n"
    "PartitionedCall_g_add_6 = Add(x1=PartitionedCall_g_Muls1_4, "
    "x2=PartitionedCall_g_Muls2_5) "
    "<g>\n" },
  { "node ReduceMean r x -> y axes=I2;3",
    "PartitionedCall_r_ReduceMean_2 = ReduceMean(x=x, axes=PartitionedCall_r_data1_1) "
    "keep_dims=true noop_with_empty_axes=false <r>\n" },
  { "node ReduceSum r x,i -> y keepdims=i0",
    "r = ReduceSum(x=x, axes=i) keep_dims=false noop_with_empty_axes=false\n" },
  { "node ReduceL2 r x -> y axes=I1 keepdims=i0",
    "r = LpNormV2(x=x) axes=[1] keepdim=false p=2\n" },
  { "node ArgMax r x -> y axis=i1 keepdims=i0",
    "PartitionedCall_r_ArgMaxV2_2 = ArgMaxV2(x=x, "
    "dimension=PartitionedCall_r_const_data_1) "
    "dtype=i64 <r>\n" },
  { "node Reshape r x,i -> y", "r = Reshape(x=x, shape=i) allowzero=0\n" },
  { "node Unsqueeze r x,i -> y", "r = UnsqueezeV3(x=x, axes=i)\n" },
  { "node Squeeze r x -> y", "r = SqueezeV3(x=x)\n" },
  { "node Expand r x,i -> y", "r = Expand(x=x, shape=i)\n" },
  { "node Tile r x,i -> y", "r = Tile(x=x, multiples=i)\n" },
  { "node Concat r x,z -> y axis=i-1", "r = ConcatD(x0=x, x1=z) N=2 concat_dim=-1\n" },
  { "node Slice r x,i,i,_,i -> y",
    "r = StridedSliceV2(x=x, begin=i, end=i, strides=i)\n" },
  { "*node Gather r x,i -> y axis=i1",
    "PartitionedCall_r_const_data_2 = Const() i32{1} <r>\n"
    "PartitionedCall_r_gatherv2_3 = GatherV2(x=x, indices=i, "
    "axis=PartitionedCall_r_const_data_2) negative_index_support=true <r>\n" },
  { "node Pad r x,i,m1 -> y mode=sreflect",
    "r = PadV3(x=x, paddings=i, constant_values=m1) mode=reflect "
    "paddings_contiguous=false\n" },
  { "*node ConstantOfShape r i -> y value=ti64:7",
    "PartitionedCall_r_data1_1 = Const() i64{7} <r>\n"
    "PartitionedCall_r_Fill_2 = Fill(dims=i, value=PartitionedCall_r_data1_1) <r>\n" },
  { "node Shape r x -> y", "r = Shape(x=x) dtype=i64\n" },
  { "node TopK r x,i -> y,n2 largest=i0",
    "r = TopK(x=x, k=i) dim=-1 largest=false sorted=true\n" },
  { "*node Split r x -> y,y2 split=I1;2",
    "PartitionedCall_r_size_splits_1 = Const() i64{1,2} <r>\n"
    "PartitionedCall_r_split_dim_2 = Const() i32{0} <r>\n"
    "PartitionedCall_r_SplitV_3 = SplitV(x=x, "
    "size_splits=PartitionedCall_r_size_splits_1, "
    "split_dim=PartitionedCall_r_split_dim_2) num_split=2 <r>\n" },
  { "node NonZero r x -> y", "r = NonZero(x=x) transpose=true\n" },
  { "node ScatterND r x,i,z -> y",
    "r = TensorScatterUpdate(x=x, indices=i, updates=z)\n" },
  { "node DepthToSpace r x -> y blocksize=i2",
    "r = DepthToSpace(x=x) block_size=2 data_format=NCHW mode=DCR\n" },
  { "node LSTM r x3,w,w,_,_,z -> y,_,yc hidden_size=i8 direction=sreverse",
    "r = CommonLSTM(x=x3, w=w_Initializer_1, r=w_Initializer_1, initial_h=z) "
    "direction=reverse hidden_size=8\n" },
  { "node GRU r x3,w,w -> y hidden_size=i8 linear_before_reset=i1",
    "r = CommonGRU(x=x3, w=w_Initializer_1, r=w_Initializer_1) direction=forward "
    "hidden_size=8 linear_before_reset=1\n" },
  { "node Resize r x,_,_,i -> y mode=snearest",
    "PartitionedCall_r_x_4 = Identity(x=x) <r>\n"
    "PartitionedCall_r_sizes_5 = Identity(x=i) <r>\n"
    "PartitionedCall_r_Cast0_6 = Cast(x=PartitionedCall_r_sizes_5) dst_type=i32 <r>\n"
    "PartitionedCall_r_Slice_9 = Slice(x=PartitionedCall_r_Cast0_6, "
    "offsets=PartitionedCall_r_data_offsets_7, size=PartitionedCall_r_data_size_8) <r>\n"
    "PartitionedCall_r_ResizeNearestNeighborV2_10 = "
    "ResizeNearestNeighborV2(x=PartitionedCall_r_x_4, size=PartitionedCall_r_Slice_9) "
    "align_corners=false half_pixel_centers=true <r>\n" },
  { "node Dropout r x -> y,mask", "r = Dropout(x=x)\n" },
  { "node Xor r c,c -> y",
    "PartitionedCall_r_Cast_a_2 = Cast(x=c) dst_type=i32 <r>\n"
    "PartitionedCall_r_Cast_b_3 = Cast(x=c) dst_type=i32 <r>\n"
    "PartitionedCall_r_Xor_4 = BitwiseXor(x1=PartitionedCall_r_Cast_a_2, "
    "x2=PartitionedCall_r_Cast_b_3) <r>\n"
    "PartitionedCall_r_Cast_out_5 = Cast(x=PartitionedCall_r_Xor_4) dst_type=b8 <r>\n" },
  { "node NPUMish r x -> y", "r = Mish(x=x)\n" },
  { "node npu::NPURmsNorm r x,z -> y epsilon=f0.5",
    "r = RmsNorm(x=x, gamma=z) epsilon=0.5\n" },
  { "node QuantizeLinear r x,s1 -> y",
    "PartitionedCall_r_x_2 = Cast(x=x) dst_type=f32 <r>\n"
    "PartitionedCall_r_y_scale_identity_3 = Identity(x=s1) <r>\n"
    "PartitionedCall_r_RealDiv_4 = RealDiv(x1=PartitionedCall_r_x_2, "
    "x2=PartitionedCall_r_y_scale_identity_3) <r>\n"
    "PartitionedCall_r_Round_5 = Round(x=PartitionedCall_r_RealDiv_4) <r>\n"
    "PartitionedCall_r_y_ClipByValue_6 = ClipByValue(x=PartitionedCall_r_Round_5, "
    "clip_value_min=PartitionedCall_r_y_min_7, clip_value_max=PartitionedCall_r_y_max_8) "
    "<r>\n"
    "PartitionedCall_r_y_Cast_9 = Cast(x=PartitionedCall_r_y_ClipByValue_6) dst_type=u8 "
    "<r>\n" },
};

static const char HEAD[] =
    "opset 13\nopset npu 1\nin x f32 1,8,16,16\nin z f32 8\nin x3 f32 1,8,16\n"
    "in x5 f32 1,2,8,8,8\nin m1 f32 -\nin n1 f32 -\nin c b8 2\nin i i64 ?\nin s1 f32 -\n"
    "init w f32 8,8,3,3\ninit b f32 8\n";

/* All but NetOutput, Data and the constants of HEAD. */
static void listing(const struct oc_graph *g, bool constants, struct oc_buf *out)
{
  struct oc_buf all;
  oc_buf_init(&all, 1 << 20);
  graph_text(g, constants, &all);
  for (const char *p = oc_buf_str(&all); *p;) {
    size_t len = strcspn(p, "\n") + 1;
    bool skip = memmem(p, len, "= Data(", 7) || memmem(p, len, "= NetOutput(", 12) ||
                strncmp(p, "w_Init", 6) == 0 || strncmp(p, "b_Init", 6) == 0;
    if (!skip)
      oc_buf_append(out, p, len);
    p += len;
  }
  oc_buf_clear(&all);
}

START_TEST(translation)
{
  struct imported im;
  struct oc_buf text, got;
  bool constants = rows[_i].model[0] == '*';
  oc_buf_init(&text, 1 << 16);
  oc_buf_init(&got, 1 << 16);
  oc_buf_printf(&text, "%s%s\nout y\n", HEAD, rows[_i].model + constants);
  import_text(oc_buf_str(&text), NULL, &im);
  ck_assert_msg(im.rc == 0, "row %d: %s", _i, im.findings_text);
  ck_assert_msg(!oc_findings_have_errors(&im.findings), "row %d: %s", _i,
                im.findings_text);
  listing(im.graph, constants, &got);
  ck_assert_msg(strcmp(oc_buf_str(&got), rows[_i].want) == 0, "row %d gives\n%s", _i,
                oc_buf_str(&got));
  oc_buf_clear(&text);
  oc_buf_clear(&got);
  imported_clear(&im);
}
END_TEST

/* The same operator in older opsets. */
static const struct {
  int opset;
  const char *node, *want;
} old[] = {
  { 21, "init sc f32 1,8,16,4\nnode DequantizeLinear d x,sc -> y axis=i-1 block_size=i4",
    "sc_Initializer_0 = Const() f32{0,0,0,0,0,0,0,0}\n"
    "PartitionedCall_d_x_cast_2 = Cast(x=x) dst_type=f32 <d>\n"
    "PartitionedCall_d_x_scale_identity_3 = Identity(x=sc_Initializer_0) <d>\n"
    "PartitionedCall_d_x_scale_column_4 = Const() i64{1,8,16,4,1} <d>\n"
    "PartitionedCall_d_x_scale_Column_5 = "
    "Reshape(x=PartitionedCall_d_x_scale_identity_3, "
    "shape=PartitionedCall_d_x_scale_column_4) <d>\n"
    "PartitionedCall_d_x_scale_table_6 = Const() i64{1,8,16,4,4} <d>\n"
    "PartitionedCall_d_x_scale_Table_7 = "
    "BroadcastTo(x=PartitionedCall_d_x_scale_Column_5, "
    "shape=PartitionedCall_d_x_scale_table_6) <d>\n"
    "PartitionedCall_d_x_scale_full_8 = Const() i64{1,8,16,16} <d>\n"
    "PartitionedCall_d_x_scale_Full_9 = Reshape(x=PartitionedCall_d_x_scale_Table_7, "
    "shape=PartitionedCall_d_x_scale_full_8) <d>\n"
    "PartitionedCall_d_x_Mul_10 = Mul(x1=PartitionedCall_d_x_cast_2, "
    "x2=PartitionedCall_d_x_scale_Full_9) <d>\n" },
  { 18,
    "init sz i64 2 32 24\nnode Resize r x,_,_,sz -> y axes=I2;3 mode=slinear "
    "keep_aspect_ratio_policy=snot_larger",
    "sz_Initializer_0 = Const() i64{32,24}\n"
    "PartitionedCall_r_x_4 = Identity(x=x) <r>\n"
    "PartitionedCall_r_sizes_5 = Const() i64{1,8,24,24} <r>\n"
    "PartitionedCall_r_Cast0_6 = Cast(x=PartitionedCall_r_sizes_5) dst_type=i32 <r>\n"
    "PartitionedCall_r_roi_7 = Const() f32{} <r>\n"
    "PartitionedCall_r_scales_8 = Const() f32{} <r>\n"
    "PartitionedCall_r_Resize_9 = Resize(x=PartitionedCall_r_x_4, "
    "roi=PartitionedCall_r_roi_7, scales=PartitionedCall_r_scales_8, "
    "sizes=PartitionedCall_r_Cast0_6) coordinate_transformation_mode=half_pixel "
    "cubic_coeff_a=-0.75 exclude_outside=0 extrapolation_value=0 mode=linear "
    "nearest_mode=round_prefer_floor resize_original_type=onnx_resize <r>\n" },
  { 10, "node Clip s x -> y min=f0 max=f6",
    "PartitionedCall_s_data1_1 = Const() f32{0} <s>\n"
    "PartitionedCall_s_data2_2 = Const() f32{6} <s>\n"
    "PartitionedCall_s_cast_3 = Cast(x=x) dst_type=f32 <s>\n"
    "PartitionedCall_s_ClipByValue_4 = ClipByValue(x=PartitionedCall_s_cast_3, "
    "clip_value_min=PartitionedCall_s_data1_1, clip_value_max=PartitionedCall_s_data2_2) "
    "<s>\n" },
  { 9, "node Slice s x -> y starts=I0 ends=I2 axes=I1",
    "PartitionedCall_begin_1 = Const() i64{0} <s>\n"
    "PartitionedCall_end_2 = Const() i64{2} <s>\n"
    "PartitionedCall_axes_3 = Const() i64{1} <s>\n"
    "PartitionedCall_s_StridedSliceV2_4 = StridedSliceV2(x=x, "
    "begin=PartitionedCall_begin_1, "
    "end=PartitionedCall_end_2, axes=PartitionedCall_axes_3) <s>\n" },
  { 10, "node Pad s x -> y pads=I0;0;1;2;0;0;3;4",
    "PartitionedCall_s_data1_1 = Const() i32{0,0,0,0,1,3,2,4} <s>\n"
    "PartitionedCall_s_data2_2 = Const() f32{0} <s>\n"
    "PartitionedCall_s_PadV3_3 = PadV3(x=x, paddings=PartitionedCall_s_data1_1, "
    "constant_values=PartitionedCall_s_data2_2) mode=constant <s>\n" },
  { 12, "node Squeeze s x -> y axes=I0", "s = Squeeze(x=x) axis=[0]\n" },
  { 12, "node Unsqueeze s x -> y axes=I0", "s = Unsqueeze(x=x) axes=[0]\n" },
  { 12, "node Softmax s x -> y", "s = SoftmaxV2(x=x) axes=[1] need_fusion=1\n" },
  { 9, "node TopK s x -> y,z k=i3 axis=i1",
    "PartitionedCall_s_data1_1 = Const() i32{3} <s>\n"
    "PartitionedCall_s_TopK_2 = TopK(x=x, k=PartitionedCall_s_data1_1) dim=1 "
    "largest=true "
    "sorted=true <s>\n" },
  { 12, "node ReduceSum s x -> y axes=I1",
    "PartitionedCall_s_data1_1 = Const() i32{1} <s>\n"
    "PartitionedCall_s_ReduceSum_2 = ReduceSum(x=x, axes=PartitionedCall_s_data1_1) "
    "keep_dims=true <s>\n" },
};

START_TEST(older_opsets)
{
  struct imported im;
  struct oc_buf text, got;
  oc_buf_init(&text, 1 << 16);
  oc_buf_init(&got, 1 << 16);
  oc_buf_printf(&text, "opset %d\nin x f32 1,8,16,16\n%s\nout y\n", old[_i].opset,
                old[_i].node);
  import_text(oc_buf_str(&text), NULL, &im);
  ck_assert_msg(im.rc == 0, "row %d: %s", _i, im.findings_text);
  listing(im.graph, true, &got);
  ck_assert_msg(strcmp(oc_buf_str(&got), old[_i].want) == 0, "row %d gives\n%s", _i,
                oc_buf_str(&got));
  oc_buf_clear(&text);
  oc_buf_clear(&got);
  imported_clear(&im);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("import_ops");
  TCase *t = tcase_create("ops");
  tcase_add_loop_test(t, translation, 0, (int)(sizeof(rows) / sizeof(rows[0])));
  tcase_add_loop_test(t, older_opsets, 0, (int)(sizeof(old) / sizeof(old[0])));
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
