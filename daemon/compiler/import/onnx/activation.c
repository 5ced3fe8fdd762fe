/* Activations and softmax. */
#include <math.h>

#include "import/onnx/build.h"

static void one_float(struct onnx_cx *cx, const char *attr, float other, const char *name)
{
  float v = onnx_f(cx, attr, other);
  onnx_set_float(cx, onnx_one_to_one(cx, cx->rule->to), name, v);
}

static void elu(struct onnx_cx *cx)
{
  one_float(cx, "alpha", 1.0f, "alpha");
}

static void leaky_relu(struct onnx_cx *cx)
{
  one_float(cx, "alpha", 0.01f, "negative_slope");
}

static void celu(struct onnx_cx *cx)
{
  float alpha = onnx_f(cx, "alpha", 1.0f);
  struct oc_op *op = onnx_one_to_one(cx, "Celu");
  onnx_set_float(cx, op, "alpha1", alpha);
  onnx_set_float(cx, op, "alpha2", alpha);
  onnx_set_float(cx, op, "alpha3", 1.0f);
}

/* The IR's Selu has the usual constants built in. Others: gamma times Elu. */
static void selu(struct onnx_cx *cx)
{
  const float usual_alpha = 1.67326319f, usual_gamma = 1.05070102f, close = 1e-5f;
  float alpha = onnx_f(cx, "alpha", usual_alpha);
  float gamma = onnx_f(cx, "gamma", usual_gamma);
  if (fabsf(alpha - usual_alpha) < close && fabsf(gamma - usual_gamma) < close) {
    (void)onnx_one_to_one(cx, "Selu");
    return;
  }
  onnx_differs(cx, "other values than the usual alpha and gamma are refused there");
  struct oc_op *op = onnx_unary(cx, "_Elu", "Elu", 0);
  onnx_set_float(cx, op, "alpha", alpha);
  struct oc_op *scaled = onnx_behind(cx, "_Muls", "Muls", op);
  onnx_set_float(cx, scaled, "value", gamma);
  onnx_out(cx, 0, scaled, 0);
}

static void hard_sigmoid(struct onnx_cx *cx)
{
  float alpha = onnx_f(cx, "alpha", 0.2f);
  float beta = onnx_f(cx, "beta", 0.5f);
  struct oc_op *op = onnx_one_to_one(cx, "HardSigmoid");
  onnx_set_float(cx, op, "alpha", alpha);
  onnx_set_float(cx, op, "beta", beta);
}

static void shrink(struct onnx_cx *cx)
{
  float bias = onnx_f(cx, "bias", 0.0f);
  float lambd = onnx_f(cx, "lambd", 0.5f);
  struct oc_op *op = onnx_one_to_one(cx, "Shrink");
  onnx_set_float(cx, op, "bias", bias);
  onnx_set_float(cx, op, "lambd", lambd);
}

static void thresholded_relu(struct onnx_cx *cx)
{
  struct oc_op *x = onnx_unary(cx, "_identity", "Identity", 0);
  struct oc_op *mask = onnx_behind(cx, "_threshold", "Threshold", x);
  onnx_set_float(cx, mask, "threshold", onnx_f(cx, "alpha", 1.0f));
  onnx_out(cx, 0, onnx_binary(cx, "_mul", "Mul", x, mask), 0);
}

static void softmax(struct onnx_cx *cx)
{
  int64_t axis = onnx_i(cx, "axis", cx->opset < 13 ? 1 : -1);
  struct oc_op *op = onnx_one_to_one(cx, "SoftmaxV2");
  onnx_set_ints(cx, op, "axes", &axis, 1);
  if (cx->opset < 13)
    onnx_set_int(cx, op, "need_fusion",
                 1); /* the flattening of old opsets, for later passes */
}

static void log_softmax(struct onnx_cx *cx)
{
  int64_t axis = onnx_i(cx, "axis", -1);
  struct oc_op *op = onnx_one_to_one(cx, "LogSoftmaxV2");
  onnx_set_ints(cx, op, "axes", &axis, 1);
}

static void hardmax(struct onnx_cx *cx)
{
  int64_t axis = onnx_i(cx, "axis", -1);
  onnx_set_int(cx, onnx_one_to_one(cx, "HardMax"), "axis", axis);
}

/* x * sigmoid(alpha * x) */
static void swish(struct onnx_cx *cx)
{
  one_float(cx, "alpha", 1.0f, "scale");
}

static void gelu(struct onnx_cx *cx)
{
  const char *how = onnx_s(cx, "approximate", "none");
  onnx_set_string(cx, onnx_one_to_one(cx, "Gelu"), "approximate", how);
}

const struct onnx_rule onnx_activation_rules[] = {
  { "Relu", 1, 0, NULL, "Relu", ONNX_V_ALL },
  { "Sigmoid", 1, 0, NULL, "Sigmoid", ONNX_V_ALL },
  { "Tanh", 1, 0, NULL, "Tanh", ONNX_V_ALL },
  { "Softplus", 1, 0, NULL, "Softplus", ONNX_V_ALL },
  { "Softsign", 1, 0, NULL, "Softsign", ONNX_V_ALL },
  { "PRelu", 1, 0, NULL, "PRelu", ONNX_V_ALL },
  { "HardSwish", 14, 0, NULL, "HardSwish", ONNX_V(14, 18) },
  { "Mish", 18, 0, NULL, "Mish", ONNX_V(18, 18) },
  { "Elu", 1, 0, elu, "Elu", ONNX_V_ALL },
  { "LeakyRelu", 1, 0, leaky_relu, "LeakyRelu", ONNX_V_ALL },
  { "Celu", 12, 0, celu, "Celu", ONNX_V_ALL },
  { "Selu", 1, 0, selu, "Selu", ONNX_V_ALL },
  { "HardSigmoid", 1, 0, hard_sigmoid, "HardSigmoid", ONNX_V_ALL },
  { "Shrink", 9, 0, shrink, "Shrink", ONNX_V(9, 18) },
  { "ThresholdedRelu", 1, 0, thresholded_relu, "Threshold", ONNX_V(10, 18) },
  { "Softmax", 1, 0, softmax, "SoftmaxV2", ONNX_V_ALL },
  { "LogSoftmax", 1, 0, log_softmax, "LogSoftmaxV2", ONNX_V_ALL },
  { "Hardmax", 1, 0, hardmax, "HardMax", ONNX_V_ALL },
  { "Gelu", 20, 0, gelu, "Gelu", ONNX_V_NONE },
  { "Swish", 24, 0, swish, "Swish", ONNX_V_NONE },
  { 0 },
};
