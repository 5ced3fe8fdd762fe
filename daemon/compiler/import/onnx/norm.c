/* Normalisation. */
#include "import/onnx/build.h"

static void batch_norm(struct onnx_cx *cx)
{
  if (onnx_n_in(cx) != 5 || onnx_i(cx, "spatial", 1) != 1) {
    onnx_refuse(cx, "statistics per element are not supported");
    return;
  }
  float epsilon = onnx_f(cx, "epsilon", 1e-5f);
  bool training = onnx_flag(cx, "training_mode", false);
  struct oc_op *op = onnx_add(cx, "", "BatchNorm", 5, 0);
  onnx_ins(cx, op, 0, 0, 5);
  onnx_set_float(cx, op, "epsilon", epsilon);
  onnx_set_string(cx, op, "data_format", "NCHW");
  onnx_set_bool(cx, op, "is_training", training);
  onnx_set_string(cx, op, "onnx", "onnx"); /* the vendor's mark of where it came from */
  onnx_set_formats(op, OC_FMT_NCHW);
  for (uint32_t i = 0; i < onnx_n_out(cx) && i < 5; i++)
    onnx_out(cx, i, op, i);
}

static void instance_norm(struct onnx_cx *cx)
{
  float epsilon = onnx_f(cx, "epsilon", 1e-5f);
  struct oc_op *op = onnx_one_to_one(cx, "InstanceNorm");
  onnx_set_float(cx, op, "epsilon", epsilon);
  onnx_set_string(cx, op, "data_format", "NCHW");
  onnx_set_formats(op, OC_FMT_NCHW);
}

static struct oc_op *broadcast(struct onnx_cx *cx, const char *suffix, struct oc_op *from,
                               struct oc_op *shape)
{
  return onnx_binary(cx, suffix, "BroadcastTo", from, shape);
}

/* Mean and 1/std come out in float32 unless stash_type says otherwise. */
static void layer_norm_stats(struct onnx_cx *cx, struct oc_op *norm, float epsilon)
{
  struct oc_op *sum = onnx_add(cx, "_Adds", "Adds", 1, 0);
  onnx_wire(sum, 0, norm, 2);
  onnx_set_float(cx, sum, "value", epsilon);
  struct oc_op *inverse = onnx_behind(cx, "_Rsqrt", "Rsqrt", sum);
  bool cast = onnx_i(cx, "stash_type", 1) == 1;
  struct oc_op *mean =
      onnx_add(cx, cast ? "_cast1" : "_Identity3", cast ? "Cast" : "Identity", 1, 0);
  onnx_wire(mean, 0, norm, 1);
  struct oc_op *dev = onnx_behind(cx, cast ? "_cast2" : "_Identity4",
                                  cast ? "Cast" : "Identity", inverse);
  if (cast) {
    onnx_set_dtype(cx, mean, "dst_type", OC_DT_F32);
    onnx_set_dtype(cx, dev, "dst_type", OC_DT_F32);
  }
  onnx_out(cx, 1, mean, 0);
  onnx_out(cx, 2, dev, 0);
}

static void layer_norm(struct onnx_cx *cx)
{
  float epsilon = onnx_f(cx, "epsilon", 1e-5f);
  struct oc_op *x = onnx_unary(cx, "=identity_0", "Identity", 0);
  struct oc_op *shape = onnx_behind(cx, "_shape", "Shape", x);
  onnx_set_dtype(cx, shape, "dtype", OC_DT_I64);
  struct oc_op *gamma = onnx_unary(cx, "=identity_1", "Identity", 1);
  gamma = broadcast(cx, "_broadcastto1", gamma, shape);
  struct oc_op *beta = onnx_has(cx, 2) ? onnx_unary(cx, "=identity_2", "Identity", 2)
                                       : onnx_f32(cx, "_beta", 0.0f);
  beta = broadcast(cx, "_broadcastto2", beta, shape);
  struct oc_op *op = onnx_add(cx, "_LayerNorm", "LayerNorm", 3, 0);
  onnx_wire(op, 0, x, 0);
  onnx_wire(op, 1, gamma, 0);
  onnx_wire(op, 2, beta, 0);
  onnx_set_int(cx, op, "begin_norm_axis", onnx_i(cx, "axis", -1));
  onnx_set_int(cx, op, "begin_params_axis", 0);
  onnx_set_float(cx, op, "epsilon", epsilon);
  onnx_out(cx, 0, op, 0);
  if (onnx_wants(cx, 1) || onnx_wants(cx, 2))
    layer_norm_stats(cx, op, epsilon);
}

/* One scale per group (opset 18 to 20) becomes one per channel. */
static struct oc_op *per_channel(struct onnx_cx *cx, const char *suffix, uint32_t input,
                                 int64_t groups, int64_t channels)
{
  const int64_t column[2] = { groups, 1 }, table[2] = { groups, channels / groups };
  const int64_t line = -1;
  const char *name[6];
  static const char *const parts[] = { "column", "unfold", "table",
                                       "spread", "line",   "flat" };
  for (size_t i = 0; i < 6; i++) {
    name[i] = oc_arena_printf(cx->im->arena, "%s_%s", suffix, parts[i]);
    if (!name[i])
      return NULL;
  }
  struct oc_op *shape = onnx_ints(cx, name[0], OC_DT_I64, column, 2);
  struct oc_op *op = onnx_add(cx, name[1], "Reshape", 2, 0);
  onnx_in(cx, op, 0, input);
  onnx_wire(op, 1, shape, 0);
  op = broadcast(cx, name[3], op, onnx_ints(cx, name[2], OC_DT_I64, table, 2));
  return onnx_binary(cx, name[5], "Reshape", op,
                     onnx_ints(cx, name[4], OC_DT_I64, &line, 1));
}

static void group_norm(struct onnx_cx *cx)
{
  int64_t groups = onnx_i(cx, "num_groups", 0);
  int64_t channels = onnx_dim_of(cx, 0, 1);
  bool by_group = cx->opset < 21;
  if (groups < 1 || (channels > 0 && channels % groups != 0)) {
    onnx_refuse(cx, "num_groups does not divide the channels");
    return;
  }
  if (by_group && channels < 1 && onnx_dim_of(cx, 1, 0) != 1) {
    onnx_refuse(cx, "the number of channels is not known");
    return;
  }
  struct oc_op *gamma =
      by_group && channels > 0 ? per_channel(cx, "_gamma", 1, groups, channels) : NULL;
  struct oc_op *beta =
      by_group && channels > 0 ? per_channel(cx, "_beta", 2, groups, channels) : NULL;
  struct oc_op *op = onnx_add(cx, "_GroupNorm", "GroupNorm", 3, 0);
  onnx_in(cx, op, 0, 0);
  if (gamma && beta) {
    onnx_wire(op, 1, gamma, 0);
    onnx_wire(op, 2, beta, 0);
  } else {
    onnx_ins(cx, op, 1, 1, 2);
  }
  onnx_set_int(cx, op, "num_groups", groups);
  onnx_set_float(cx, op, "eps", onnx_f(cx, "epsilon", 1e-5f));
  onnx_set_string(cx, op, "data_format", "NCHW");
  onnx_set_bool(cx, op, "is_training", false);
  onnx_set_formats(op, OC_FMT_NCHW);
  onnx_out(cx, 0, op, 0);
}

static void rms_norm(struct onnx_cx *cx)
{
  float epsilon = onnx_f(cx, "epsilon", 1e-5f);
  onnx_set_float(cx, onnx_one_to_one(cx, "RmsNorm"), "epsilon", epsilon);
}

static void lrn(struct onnx_cx *cx)
{
  int64_t size = onnx_i(cx, "size", 0);
  if (size < 1) {
    onnx_refuse(cx, "its size is not positive");
    return;
  }
  float alpha = onnx_f(cx, "alpha", 1e-4f) / (float)size;
  float beta = onnx_f(cx, "beta", 0.75f);
  float bias = onnx_f(cx, "bias", 1.0f);
  struct oc_op *op = onnx_one_to_one(cx, "LRN");
  onnx_set_int(cx, op, "depth_radius", (size - 1) / 2);
  onnx_set_float(cx, op, "alpha", alpha);
  onnx_set_float(cx, op, "beta", beta);
  onnx_set_float(cx, op, "bias", bias);
  onnx_set_string(cx, op, "norm_region", "ACROSS_CHANNELS");
  onnx_set_formats(op, OC_FMT_NCHW);
}

static void lp_norm(struct onnx_cx *cx)
{
  int64_t axis = onnx_i(cx, "axis", -1);
  struct oc_op *x = onnx_unary(cx, "_Identity", "Identity", 0);
  struct oc_op *norm = onnx_behind(cx, "_LpNormV2", "LpNormV2", x);
  onnx_set_float(cx, norm, "p", (float)onnx_i(cx, "p", 2));
  onnx_set_ints(cx, norm, "axes", &axis, 1);
  onnx_set_bool(cx, norm, "keepdim", true);
  onnx_set_float(cx, norm, "epsilon", 0.0f);
  onnx_out(cx, 0, onnx_binary(cx, "_Div", "Div", x, norm), 0);
}

static void mean_variance_norm(struct onnx_cx *cx)
{
  static const int64_t usual[] = { 0, 2, 3 };
  size_t n = 0;
  const int64_t *axes = onnx_is(cx, "axes", &n);
  struct oc_op *op = onnx_one_to_one(cx, "MVNV2");
  onnx_set_ints(cx, op, "axes", axes ? axes : usual, axes ? n : 3);
}

const struct onnx_rule onnx_norm_rules[] = {
  { "BatchNormalization", 1, 0, batch_norm, "BatchNorm", ONNX_V_ALL },
  { "InstanceNormalization", 1, 0, instance_norm, "InstanceNorm", ONNX_V_ALL },
  { "LayerNormalization", 17, 0, layer_norm, "LayerNorm", ONNX_V(17, 18) },
  { "GroupNormalization", 18, 0, group_norm, "GroupNorm", ONNX_V_NONE },
  { "RMSNormalization", 23, 0, rms_norm, "RmsNorm", ONNX_V_NONE },
  { "LRN", 1, 0, lrn, "LRN", ONNX_V_ALL },
  { "LpNormalization", 1, 0, lp_norm, "LpNormV2", ONNX_V_ALL },
  { "MeanVarianceNormalization", 9, 0, mean_variance_norm, "MVNV2", ONNX_V(9, 18) },
  { 0 },
};
