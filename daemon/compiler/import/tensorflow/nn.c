/* Convolutions, pooling, normalisation, activations, losses. */
#include "import/tensorflow/build.h"

/* The format that `data_format` spells; images are NHWC where nothing is said. */
static bool image_format(struct tf_cx *cx, const char *other, enum oc_format *ret)
{
  static const struct {
    const char *word;
    enum oc_format format;
  } words[] = { { "NHWC", OC_FMT_NHWC },
                { "NCHW", OC_FMT_NCHW },
                { "NDHWC", OC_FMT_NDHWC },
                { "NCDHW", OC_FMT_NCDHW } };
  struct oc_str word = tf_text(cx, "data_format", other);
  for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
    if (oc_str_is(word, words[i].word)) {
      *ret = words[i].format;
      return true;
    }
  tf_refuse(cx, "its data_format is not supported");
  return false;
}

void tf_image(struct tf_cx *cx)
{
  enum oc_format f = OC_FMT_NHWC;
  if (image_format(cx, "NHWC", &f))
    tf_set_image_format(cx, f);
}

/* Eight numbers in the layout's order become top, bottom, left, right. */
static void explicit_pads(struct tf_cx *cx, enum oc_format f, int64_t pads[4])
{
  const struct tf_attr *a = tf_attr_find(cx->node, "explicit_paddings");
  size_t first = f == OC_FMT_NHWC ? 2 : 4;
  if (!a || a->kind != TF_ATTR_LIST || a->n_ints != 8) {
    tf_refuse(cx, "explicit padding needs eight numbers");
    return;
  }
  for (size_t i = 0; i < 4; i++)
    pads[i] = a->ints[first + i];
}

static void convolution_of(struct tf_cx *cx, uint32_t image, enum oc_format *ret)
{
  int64_t pads[4] = { 0 };
  if (!image_format(cx, "NHWC", ret))
    return;
  if (oc_str_is(tf_text(cx, "padding", ""), "EXPLICIT"))
    explicit_pads(cx, *ret, pads);
  tf_set_ints(cx, "pads", pads, 4);
  if (cx->op->n_inputs > 1)
    cx->op->inputs[1].t.format = OC_FMT_HWCN;
  if (image < cx->op->n_inputs)
    cx->op->inputs[image].t.format = *ret;
  if (cx->op->n_outputs)
    cx->op->outputs[0].t.format = *ret;
}

/* Filters stay as they are: height, width, channels, and last what comes out. */
static void convolution(struct tf_cx *cx)
{
  enum oc_format f = OC_FMT_NHWC;
  convolution_of(cx, 0, &f);
}

/* Inputs: size of the result, filter, what is spread out. */
static void transposed(struct tf_cx *cx)
{
  enum oc_format f = OC_FMT_NHWC;
  convolution_of(cx, 2, &f);
}

static void six_pads(struct tf_cx *cx)
{
  static const int64_t none[6] = { 0 };
  enum oc_format f = OC_FMT_NDHWC;
  if (!image_format(cx, "NDHWC", &f))
    return;
  tf_set_ints(cx, "pads", none, 6);
  tf_set_image_format(cx, f);
}

static void convolution_3d(struct tf_cx *cx)
{
  six_pads(cx);
  if (cx->op->n_inputs > 1)
    cx->op->inputs[1].t.format = OC_FMT_DHWCN;
}

static void pool_3d(struct tf_cx *cx)
{
  six_pads(cx);
}

/* Mean and variance are computed in training, not given. */
static void batch_norm(struct tf_cx *cx)
{
  tf_image(cx);
  if (tf_flag(cx, "is_training", true) && cx->op->n_inputs > 3)
    cx->op->n_inputs = 3;
}

static void softmax(struct tf_cx *cx)
{
  static const int64_t last = -1;
  tf_set_ints(cx, "axes", &last, 1);
}

const struct tf_rule tf_nn_rules[] = {
  { "AvgPool", "AvgPool", "ksize strides padding data_format", NULL, tf_image,
    TF_BY_PLUGIN },
  { "AvgPool3D", "AvgPool3D", "ksize strides data_format padding", NULL, pool_3d,
    TF_BY_NAME },
  { "BiasAdd", "BiasAdd", "data_format", NULL, tf_image, TF_BY_PLUGIN },
  { "Conv2D", "Conv2D", "strides dilations data_format padding explicit_paddings", NULL,
    convolution, TF_BY_PLUGIN },
  { "Conv3D", "Conv3D", "strides dilations data_format padding", NULL, convolution_3d,
    TF_BY_NAME },
  { "DepthwiseConv2dNative", "DepthwiseConv2D",
    "strides dilations data_format padding explicit_paddings", NULL, convolution,
    TF_BY_PLUGIN },
  { "Dilation2D", "Dilation2D", "strides rates padding_mode pads ceil_mode data_format",
    NULL, NULL, TF_BY_NAME },
  { "FastGelu", "FastGelu", "", NULL, NULL, TF_BY_PLUGIN },
  { "FastGeluV2", "FastGeluV2", "", NULL, NULL, TF_BY_PLUGIN },
  { "FractionalAvgPool", "FractionalAvgPool",
    "pooling_ratio pseudo_random overlapping deterministic seed seed2", NULL, NULL,
    TF_BY_NAME },
  { "FractionalMaxPool", "FractionalMaxPool",
    "pooling_ratio pseudo_random overlapping deterministic seed seed2", NULL, NULL,
    TF_BY_NAME },
  { "FusedBatchNorm", "BatchNorm", "epsilon data_format is_training", NULL, batch_norm,
    TF_BY_PLUGIN },
  { "FusedBatchNormV2", "BatchNorm", "epsilon data_format is_training", NULL, batch_norm,
    TF_BY_PLUGIN },
  { "FusedBatchNormV3", "BatchNorm", "epsilon data_format is_training", NULL, batch_norm,
    TF_BY_PLUGIN },
  { "Gelu", "Gelu", "", NULL, NULL, TF_BY_PLUGIN },
  { "InstanceNorm", "InstanceNorm", "data_format epsilon", NULL, NULL, TF_BY_PLUGIN },
  { "L2Loss", "L2Loss", "", NULL, NULL, TF_BY_PLUGIN },
  { "LRN", "LRN", "depth_radius bias alpha beta norm_region", NULL, tf_image,
    TF_BY_NAME },
  { "LayerNorm", "LayerNorm", "begin_norm_axis begin_params_axis epsilon", NULL, NULL,
    TF_BY_PLUGIN },
  { "LeakyRelu", "LeakyRelu", "alpha>negative_slope", NULL, NULL, TF_BY_PLUGIN },
  { "LogSoftmax", "LogSoftmaxV2", "", NULL, softmax, TF_BY_PLUGIN },
  { "MaxPool", "MaxPool", "ksize strides padding data_format", NULL, tf_image,
    TF_BY_PLUGIN },
  { "MaxPool3D", "MaxPool3D", "ksize strides padding data_format", NULL, pool_3d,
    TF_BY_PLUGIN },
  { "MaxPoolV2", "MaxPoolV2", "padding data_format", NULL, tf_image, TF_BY_NAME },
  { "MaxPoolWithArgmax", "MaxPoolWithArgmax", "ksize strides padding Targmax", NULL,
    tf_image, TF_BY_PLUGIN },
  { "PRelu", "PRelu", "", NULL, NULL, TF_BY_PLUGIN },
  { "Relu", "Relu", "", NULL, NULL, TF_BY_PLUGIN },
  { "Relu6", "Relu6", "", NULL, NULL, TF_BY_PLUGIN },
  { "Selu", "Selu", "", NULL, NULL, TF_BY_PLUGIN },
  { "Softmax", "SoftmaxV2", "", NULL, softmax, TF_BY_PLUGIN },
  { "Softplus", "Softplus", "", NULL, NULL, TF_BY_PLUGIN },
  { "Softsign", "Softsign", "", NULL, NULL, TF_BY_PLUGIN },
  { "SoftmaxCrossEntropyWithLogits", "SoftmaxCrossEntropyWithLogits", "", NULL, NULL,
    TF_BY_PLUGIN },
  { "SparseSoftmaxCrossEntropyWithLogits", "SparseSoftmaxCrossEntropyWithLogits", "",
    NULL, NULL, TF_BY_PLUGIN },
  { "DropOutDoMask", "DropOutDoMask", "", NULL, NULL, TF_BY_PLUGIN },
  { "Conv2DBackpropInput", "Conv2DBackpropInput",
    "strides dilations data_format padding explicit_paddings", NULL, transposed,
    TF_BY_PLUGIN },
  { "BNInfer", "BNInfer", "epsilon", NULL, NULL, TF_BY_PLUGIN },
  { "CTCGreedyDecoder", "CTCGreedyDecoder", "merge_repeated", NULL, NULL, TF_BY_NAME },
  { "CTCLoss", "CTCLoss",
    "preprocess_collapse_repeated ctc_merge_repeated ignore_longer_outputs_than_inputs",
    NULL, NULL, TF_BY_NAME },
  { "NthElement", "NthElement", "reverse", NULL, NULL, TF_BY_NAME },
  { 0 },
};
