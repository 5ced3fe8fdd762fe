/* Normalisation: the result looks like the input; statistics have their own shapes. */
#include "infer/infer_internal.h"

/* BatchNorm: y, then statistics shaped like scale. Without training the last reserve
 * outputs are empty, which nobody reads; they get scale's shape too. */
static void batch_norm(struct infer *in, struct oc_op *op)
{
  infer_set(in, op, 0, infer_dtype(op, 0), infer_shape(op, 0));
  for (uint32_t k = 1; k < op->n_outputs; k++)
    infer_set(in, op, k, infer_dtype(op, 1), infer_shape(op, 1));
}

/* Dims from `axis` on become 1: mean and variance of LayerNorm. */
static void statistics(struct infer *in, struct oc_op *op, uint32_t k,
                       enum oc_dtype dtype, int64_t axis)
{
  int64_t dims[OC_MAX_RANK];
  uint32_t rank = 0;
  uint32_t at = 0;

  if (k >= op->n_outputs)
    return;
  infer_set(in, op, k, dtype, oc_shape_unknown());
  if (!infer_dims(in, op, 0, dims, &rank) || !infer_axis(in, op, axis, rank, &at))
    return;
  for (uint32_t i = at; i < rank; i++)
    dims[i] = 1;
  infer_set_dims(in, op, k, dtype, dims, rank);
}

static void layer_norm(struct infer *in, struct oc_op *op)
{
  int64_t axis = infer_int_attr(op, "begin_norm_axis", 0);

  infer_set(in, op, 0, infer_dtype(op, 0), infer_shape(op, 0));
  for (uint32_t k = 1; k < op->n_outputs; k++)
    statistics(in, op, k, infer_dtype(op, 0), axis);
}

/* RmsNorm normalises over the dims that gamma has; rstd is float32. */
static void rms_norm(struct infer *in, struct oc_op *op)
{
  uint32_t gamma = in->rule->arg ? 2 : 1;
  uint32_t rank = 0;

  infer_set(in, op, 0, infer_dtype(op, 0), infer_shape(op, 0));
  if (op->n_outputs > 1 && infer_rank(op, gamma, &rank))
    statistics(in, op, 1, OC_DT_F32, -(int64_t)rank);
  infer_set(in, op, 2, infer_dtype(op, 0), infer_shape(op, 0));
}

/* InstanceNorm: statistics keep batch and channels. */
static void instance_norm(struct infer *in, struct oc_op *op)
{
  struct oc_str format = oc_attr_string(op, "data_format", "NCHW");
  bool last = oc_str_is(format, "NHWC") || oc_str_is(format, "NDHWC");
  int64_t dims[OC_MAX_RANK];
  uint32_t rank = 0;

  infer_set(in, op, 0, infer_dtype(op, 0), infer_shape(op, 0));
  if (op->n_outputs < 2 || !infer_dims(in, op, 0, dims, &rank) || rank < 2)
    return;
  for (uint32_t i = 1; i < rank; i++)
    if (i != (last ? rank - 1 : 1))
      dims[i] = 1;
  for (uint32_t k = 1; k < op->n_outputs; k++)
    infer_set_dims(in, op, k, infer_dtype(op, 0), dims, rank);
}

/* GroupNorm and its activations: statistics are [batch, groups]. */
static void group_norm(struct infer *in, struct oc_op *op)
{
  int64_t dims[2] = { infer_dim(op, 0, 0),
                      infer_int_attr(op, "num_groups", OC_DIM_UNKNOWN) };

  infer_set(in, op, 0, infer_dtype(op, 0), infer_shape(op, 0));
  for (uint32_t k = 1; k < op->n_outputs; k++)
    infer_set_dims(in, op, k, infer_dtype(op, 0), dims, 2);
}

/* L2Loss: a scalar. */
static void scalar(struct infer *in, struct oc_op *op)
{
  infer_set(in, op, 0, infer_dtype(op, 0), oc_shape_scalar());
}

/* SoftmaxCrossEntropyLoss: scores [N, C, ...], labels [N, ...]. */
static void entropy_loss(struct infer *in, struct oc_op *op)
{
  bool none = oc_str_is(oc_attr_string(op, "reduction", "mean"), "none");

  infer_set(in, op, 0, infer_dtype(op, 0), none ? infer_shape(op, 1) : oc_shape_scalar());
  infer_set(in, op, 1, infer_dtype(op, 0), infer_shape(op, 0));
}

/* NLLLoss: the labels' shape, or one number and the weights' sum. */
static void nll_loss(struct infer *in, struct oc_op *op)
{
  bool none = oc_str_is(oc_attr_string(op, "reduction", "mean"), "none");

  infer_set(in, op, 0, infer_dtype(op, 0), none ? infer_shape(op, 1) : oc_shape_scalar());
  infer_set(in, op, 1, infer_dtype(op, 0), oc_shape_scalar());
}

/* The TensorFlow pair: a loss per row and the gradient. */
static void entropy_logits(struct infer *in, struct oc_op *op)
{
  int64_t rows = infer_dim(op, 0, 0);

  infer_set_dims(in, op, 0, infer_dtype(op, 0), &rows, 1);
  infer_set(in, op, 1, infer_dtype(op, 0), infer_shape(op, 0));
}

#define LIKE(t)                                                                          \
  {                                                                                      \
    .type = t, .shape = infer_like_first                                                 \
  }

const struct infer_rule infer_normalise_rules[] = {
  { .type = "BatchNorm", .shape = batch_norm },
  { .type = "BatchNorm3D", .shape = batch_norm },
  { .type = "BatchNormV3", .shape = batch_norm },
  { .type = "BatchNormExt2", .shape = batch_norm },
  LIKE("BNInfer"),
  LIKE("BNInferD"),
  LIKE("BNInference"),
  LIKE("BNInferenceD"),
  LIKE("INInferV2"),
  LIKE("L2Normalize"),
  LIKE("MVN"),
  LIKE("MVNV2"),
  LIKE("Normalize"),
  { .type = "LayerNorm", .shape = layer_norm },
  { .type = "LayerNormV3", .shape = layer_norm },
  { .type = "LayerNormV4", .shape = layer_norm },
  { .type = "RmsNorm", .shape = rms_norm },
  { .type = "AddRmsNorm", .shape = rms_norm, .arg = 1 },
  { .type = "InstanceNorm", .shape = instance_norm },
  { .type = "InstanceNormV3", .shape = instance_norm },
  { .type = "GroupNorm", .shape = group_norm },
  { .type = "GroupNormV2", .shape = group_norm },
  { .type = "GroupNormRelu", .shape = group_norm },
  { .type = "GroupNormSilu", .shape = group_norm },
  { .type = "L2Loss", .shape = scalar },
  { .type = "SoftmaxCrossEntropyLoss", .shape = entropy_loss },
  { .type = "NLLLoss", .shape = nll_loss },
  { .type = "SoftmaxCrossEntropyWithLogits", .shape = entropy_logits },
  { .type = "SparseSoftmaxCrossEntropyWithLogits", .shape = entropy_logits },
  { .type = NULL },
};
