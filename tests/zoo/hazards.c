/* Half-precision hazards with known answers: graphs that are harmless in float32 and fail
 * in float16. Scales are powers of two and are undone again, so the float32 function is
 * the plain one. The nodes that must stay float32 are named `hot...`; what looks
 * dangerous and is not is named `tame...`. */
#include <math.h>

#include "zoo.h"

#define HIDDEN 128

static const char *conv(struct zoo *z, const char *x, const char *name, int64_t kernel,
                        float std)
{
  int64_t pad = kernel / 2;

  zoo_attr_ints(z, "kernel_shape", ZOO_DIMS(kernel, kernel));
  zoo_attr_ints(z, "pads", ZOO_DIMS(pad, pad, pad, pad));
  const char *w =
      zoo_weight(z, zoo_name(z, "%s.w", name), std, ZOO_DIMS(16, 16, kernel, kernel));
  return zoo_op(z, "Conv", name, x, w, NULL);
}

/* ReLU between two convolutions is homogeneous: up in front, down behind. */
static void scaled_convs(struct zoo *z, float up)
{
  float std = sqrtf(2.0f / (16 * 9));

  zoo_input(z, "x", z->options.type, ZOO_DIMS(1, 16, 16, 16));
  const char *x = zoo_op(z, "Relu", "relu0", conv(z, "x", "conv0", 3, std), NULL);
  x = conv(z, x, "hot_conv", 3, std * up);
  x = zoo_op(z, "Relu", "hot_relu", x, NULL);
  x = conv(z, x, "hot_conv_back", 3, std / up);
  zoo_op_to(z, NULL, "Relu", "relu1", "y", x, NULL);
  zoo_output(z, "y", z->options.type, ZOO_DIMS(1, 16, 16, 16));
}

static void overflow(struct zoo *z)
{
  scaled_convs(z, 16384.0f);
}

static void underflow(struct zoo *z)
{
  scaled_convs(z, 1.0f / 262144.0f);
}

/* A layer normalization as nodes, whose names begin with `prefix`. */
static const char *norm(struct zoo *z, const char *x, const char *prefix)
{
  const char *two = zoo_scalar(z, zoo_name(z, "%s.two", prefix), 2.0f);
  const char *eps = zoo_scalar(z, zoo_name(z, "%s.eps", prefix), 1e-12f);

  zoo_attr_ints(z, "axes", ZOO_DIMS(-1));
  const char *mean = zoo_op(z, "ReduceMean", zoo_name(z, "%s_mean", prefix), x, NULL);
  const char *c = zoo_op(z, "Sub", zoo_name(z, "%s_sub", prefix), x, mean, NULL);
  const char *v = zoo_op(z, "Pow", zoo_name(z, "%s_pow", prefix), c, two, NULL);
  zoo_attr_ints(z, "axes", ZOO_DIMS(-1));
  v = zoo_op(z, "ReduceMean", zoo_name(z, "%s_var", prefix), v, NULL);
  v = zoo_op(z, "Add", zoo_name(z, "%s_eps", prefix), v, eps, NULL);
  v = zoo_op(z, "Sqrt", zoo_name(z, "%s_sqrt", prefix), v, NULL);
  return zoo_op(z, "Div", zoo_name(z, "%s_div", prefix), c, v, NULL);
}

static const char *dense(struct zoo *z, const char *x, const char *name, float std)
{
  const char *w = zoo_weight(z, zoo_name(z, "%s.w", name), std, ZOO_DIMS(HIDDEN, HIDDEN));
  return zoo_op(z, "MatMul", name, x, w, NULL);
}

static void residual_input(struct zoo *z)
{
  zoo_input(z, "x", z->options.type, ZOO_DIMS(1, 32, HIDDEN));
}

static void residual_output(struct zoo *z, const char *x)
{
  zoo_op_to(z, NULL, "Relu", "last", "y", x, NULL);
  zoo_output(z, "y", z->options.type, ZOO_DIMS(1, 32, HIDDEN));
}

/* A residual sum scaled by `up`, which the normalization behind hides. */
static void scaled_residual(struct zoo *z, float up)
{
  float std = sqrtf(1.0f / HIDDEN);

  residual_input(z);
  const char *a = norm(z, dense(z, "x", "fc1", std), "ln");
  const char *s = zoo_scalar(z, "scale", up);
  const char *r = zoo_op(z, "Mul", "hot_scale", a, s, NULL);
  const char *f = dense(z, a, "hot_fc2", std * up);
  r = zoo_op(z, "Add", "hot_residual", r, f, NULL);
  residual_output(z, norm(z, r, "hot_ln"));
}

static void residual_overflow(struct zoo *z)
{
  scaled_residual(z, 131072.0f);
}

static void variance_underflow(struct zoo *z)
{
  scaled_residual(z, 1.0f / 16384.0f);
}

/* (x + 2^13) - 2^13 */
static void cancel(struct zoo *z)
{
  residual_input(z);
  const char *big = zoo_scalar(z, "big", 8192.0f);
  const char *x = dense(z, "x", "fc1", sqrtf(1.0f / HIDDEN));

  x = zoo_op(z, "Add", "hot_big", x, big, NULL);
  x = zoo_op(z, "Sub", "hot_back", x, big, NULL);
  residual_output(z, x);
}

/* An attention mask of -3.4e38. */
static void mask(struct zoo *z)
{
  residual_input(z);
  zoo_input(z, "mask", z->options.type, ZOO_DIMS(1, 1, HIDDEN));
  const char *least = zoo_scalar(z, "least", -3.4028235e38f);
  const char *m = zoo_op(z, "Mul", "hot_mask", "mask", least, NULL);
  const char *x = zoo_op(z, "Add", "hot_add", "x", m, NULL);

  zoo_attr_int(z, "axis", -1);
  residual_output(z, zoo_op(z, "Softmax", "softmax", x, NULL));
}

/* One channel becomes huge and stays so along the residual path. */
static void massive(struct zoo *z)
{
  float std = sqrtf(1.0f / HIDDEN);

  residual_input(z);
  const char *add = zoo_weight(z, "channel", 0.0f, ZOO_DIMS(HIDDEN));
  zoo_last_weight(z)->outlier = 131072.0f;
  const char *y = zoo_op(z, "Add", "hot_massive", dense(z, "x", "fc1", std), add, NULL);
  y = zoo_op(z, "Add", "hot_residual", "x", y, NULL);
  const char *n = norm(z, y, "hot_ln");
  y = zoo_op(z, "Add", "hot_residual2", y, dense(z, n, "fc2", std), NULL);
  residual_output(z, norm(z, y, "hot_ln2"));
}

/* log(sum(exp(x))) without the largest value taken off. */
static void log_sum(struct zoo *z)
{
  residual_input(z);
  const char *t = zoo_scalar(z, "temperature", 16.0f);
  const char *x = zoo_op(z, "Mul", "temper", dense(z, "x", "fc1", 0.05f), t, NULL);
  const char *e = zoo_op(z, "Exp", "hot_exp", x, NULL);
  const char *axes = zoo_ints(z, "axes", (int64_t[]){ -1 }, 1);

  zoo_attr_int(z, "keepdims", 1);
  const char *s = zoo_op(z, "ReduceSum", "hot_sum", e, axes, NULL);
  s = zoo_op(z, "Log", "hot_log", s, NULL);
  residual_output(z, zoo_op(z, "Sub", "lse_sub", x, s, NULL));
}

/* The cube inside a tanh gelu leaves the range; tanh saturates, nothing is lost. */
static void gelu_power(struct zoo *z)
{
  residual_input(z);
  const char *x = dense(z, "x", "fc1", 64.0f * sqrtf(1.0f / HIDDEN));
  const char *p = zoo_op(z, "Pow", "tame_pow", x, zoo_scalar(z, "three", 3.0f), NULL);

  p = zoo_op(z, "Mul", "tame_mul", p, zoo_scalar(z, "c0", 0.044715f), NULL);
  p = zoo_op(z, "Add", "tame_add", x, p, NULL);
  p = zoo_op(z, "Mul", "tame_mul1", p, zoo_scalar(z, "c1", 0.79788456f), NULL);
  p = zoo_op(z, "Tanh", "tanh", p, NULL);
  p = zoo_op(z, "Add", "plus_one", p, zoo_scalar(z, "one", 1.0f), NULL);
  p = zoo_op(z, "Mul", "times_x", x, p, NULL);
  residual_output(z, dense(z, p, "fc2", 1.0f / 64.0f * sqrtf(1.0f / HIDDEN)));
}

/* A sum of 200,000 numbers that are not negative. */
static void long_sum(struct zoo *z)
{
  zoo_input(z, "x", z->options.type, ZOO_DIMS(1, 200000));
  zoo_output(z, "y", z->options.type, ZOO_DIMS(1, 1));
  const char *axes = zoo_ints(z, "axes", (int64_t[]){ 1 }, 1);
  const char *x = zoo_op(z, "Relu", "relu", "x", NULL);

  zoo_attr_int(z, "keepdims", 1);
  x = zoo_op(z, "ReduceSum", "hot_sum", x, axes, NULL);
  zoo_op_to(z, NULL, "Sqrt", "hot_root", "y", x, NULL);
}

const struct zoo_kind zoo_hazard_kinds[] = {
  { "hz-overflow", "values beyond float16 between two convolutions", overflow },
  { "hz-underflow", "values that vanish in float16 between two convolutions", underflow },
  { "hz-residual", "a residual sum beyond float16, hidden by a layer norm",
    residual_overflow },
  { "hz-variance", "a variance that vanishes in float16", variance_underflow },
  { "hz-cancel", "a large constant added and taken off again", cancel },
  { "hz-mask", "an attention mask of -3.4e38", mask },
  { "hz-massive", "one huge channel along the residual path", massive },
  { "hz-logsum", "log of a sum of exponentials of large values", log_sum },
  { "hz-longsum", "a sum so long that it leaves float16", long_sum },
  { "hz-gelu", "a cube beyond float16 that tanh makes harmless", gelu_power },
  { NULL, NULL, NULL },
};
