/* Random numbers: a standard generator, then scale and shift. */
#include "import/onnx/build.h"

static int64_t seed_of(struct onnx_cx *cx)
{
  /* ONNX holds the seed as a float; what fits no integer is as good as none. */
  float seed = onnx_f(cx, "seed", 0.0f);
  return seed > -9e18f && seed < 9e18f ? (int64_t)seed : 0;
}

static enum oc_dtype wanted(struct onnx_cx *cx, enum oc_dtype other)
{
  if (!onnx_given(cx, "dtype"))
    return other;
  enum oc_dtype d = onnx_dtype(onnx_i(cx, "dtype", 1));
  if (d == OC_DT_UNDEFINED)
    onnx_refuse(cx, "its dtype has no counterpart");
  return d;
}

static void generator_attrs(struct onnx_cx *cx, struct oc_op *op, enum oc_dtype d)
{
  onnx_set_dtype(cx, op, "dtype", d);
  onnx_set_int(cx, op, "seed", seed_of(cx));
  onnx_set_int(cx, op, "seed2", seed_of(cx));
}

static void scale_shift(struct onnx_cx *cx, bool normal, float *ret_scale,
                        float *ret_shift)
{
  if (normal) {
    *ret_scale = onnx_f(cx, "scale", 1.0f);
    *ret_shift = onnx_f(cx, "mean", 0.0f);
    return;
  }
  *ret_shift = onnx_f(cx, "low", 0.0f);
  *ret_scale = onnx_f(cx, "high", 1.0f) - *ret_shift;
}

static void by_shape(struct onnx_cx *cx)
{
  bool normal = oc_streq(cx->rule->to, "RandomStandardNormal");
  size_t n = 0;
  const int64_t *dims = onnx_is(cx, "shape", &n);
  enum oc_dtype d = wanted(cx, OC_DT_F32);
  float scale = 1.0f, shift = 0.0f;
  if (!dims) {
    onnx_refuse(cx, "it has no shape");
    return;
  }
  scale_shift(cx, normal, &scale, &shift);
  struct oc_op *shape =
      onnx_ints(cx, normal ? "_input_shape" : "_data0", OC_DT_I64, dims, n);
  struct oc_op *op =
      onnx_behind(cx, normal ? "_randomNormal" : "_RandomUniform", cx->rule->to, shape);
  generator_attrs(cx, op, d);
  op = onnx_behind(cx, normal ? "_mul" : "_Muls", "Muls", op);
  onnx_set_float(cx, op, "value", scale);
  op = onnx_behind(cx, normal ? "_add" : "_Adds", "Adds", op);
  onnx_set_float(cx, op, "value", shift);
  onnx_out(cx, 0, op, 0);
}

static void like(struct onnx_cx *cx)
{
  bool normal = oc_streq(cx->rule->to, "RandomStandardNormal");
  enum oc_dtype d = wanted(cx, onnx_dtype_of(cx, 0));
  float scale = 1.0f, shift = 0.0f;
  if (d == OC_DT_UNDEFINED)
    d = OC_DT_F32;
  scale_shift(cx, normal, &scale, &shift);
  struct oc_op *shape = onnx_unary(cx, "_shape", "Shape", 0);
  onnx_set_dtype(cx, shape, "dtype", OC_DT_I64);
  struct oc_op *op = onnx_behind(
      cx, normal ? "_random_standard_normal" : "_random_uniform", cx->rule->to, shape);
  generator_attrs(cx, op, d);
  struct oc_op *a = onnx_f32(cx, "_const_scale", scale);
  struct oc_op *b = onnx_f32(cx, "_const_mean", shift);
  b = onnx_cast(cx, "_cast_mean", b, d);
  a = onnx_cast(cx, "_cast_scale", a, d);
  op = onnx_binary(cx, "_mul", "Mul", op, a);
  onnx_out(cx, 0, onnx_binary(cx, "_add", "Add", op, b), 0);
}

static void bernoulli(struct onnx_cx *cx)
{
  enum oc_dtype d = wanted(cx, onnx_dtype_of(cx, 0));
  int64_t seed = seed_of(cx), zero[2] = { 0, 0 };
  struct oc_op *first = onnx_ints(cx, "data1", OC_DT_I64, &seed, 1);
  struct oc_op *second = onnx_ints(cx, "data2", OC_DT_I64, zero, 2);
  struct oc_op *op = onnx_add(cx, "StatelessBernoulliV2", "StatelessBernoulliV2", 3, 0);
  onnx_in(cx, op, 0, 0);
  onnx_wire(op, 1, first, 0);
  onnx_wire(op, 2, second, 0);
  onnx_set_dtype(cx, op, "dtype", d == OC_DT_UNDEFINED ? OC_DT_F32 : d);
  onnx_out(cx, 0, op, 0);
}

static void multinomial(struct onnx_cx *cx)
{
  enum oc_dtype d = wanted(cx, OC_DT_I32);
  struct oc_op *n = onnx_int(cx, "_data1", OC_DT_I32, onnx_i(cx, "sample_size", 1));
  struct oc_op *op = onnx_add(cx, "_Muti", "Multinomial", 2, 0);
  onnx_in(cx, op, 0, 0);
  onnx_wire(op, 1, n, 0);
  generator_attrs(cx, op, d);
  onnx_out(cx, 0, op, 0);
}

const struct onnx_rule onnx_random_rules[] = {
  { "RandomNormal", 1, 0, by_shape, "RandomStandardNormal", ONNX_V_ALL },
  { "RandomUniform", 1, 0, by_shape, "RandomUniform", ONNX_V_ALL },
  { "RandomNormalLike", 1, 0, like, "RandomStandardNormal", ONNX_V_ALL },
  { "RandomUniformLike", 1, 0, like, "RandomUniform", ONNX_V_ALL },
  { "Bernoulli", 15, 0, bernoulli, "StatelessBernoulliV2", ONNX_V(15, 18) },
  { "Multinomial", 7, 0, multinomial, "Multinomial", ONNX_V_ALL },
  { 0 },
};
