/* Quantised operators, which the vendor's parser lacks: written out in plain arithmetic,
 * so that every chip that has the plain operators can run them and every dtype decision
 * is visible. One scale per channel is stretched over the axis by a Reshape. */
#include "base/limits.h"
#include "import/onnx/build.h"
#include "import/onnx/spatial.h"

static const char *part(struct onnx_cx *cx, const char *prefix, const char *what)
{
  const char *s = oc_arena_printf(cx->im->arena, "%s%s", prefix, what);
  return s ? s : "";
}

/* How scales lie over a tensor: one for all (all zero), one per element of an axis that
 * `trailing` axes follow, or one per `block` elements of axis `axis`. */
struct spread {
  int64_t trailing;
  int64_t block;
  uint32_t axis, rank;       /* blocks only */
  int64_t dims[OC_MAX_RANK]; /* of the scales, blocks only */
};

static const struct spread one = { 0 };

/* Each scale as often as its block is long: reshape, broadcast, reshape. */
static struct oc_op *repeated(struct onnx_cx *cx, const char *prefix, struct oc_op *v,
                              const struct spread *s)
{
  int64_t column[OC_MAX_RANK + 1], table[OC_MAX_RANK + 1], full[OC_MAX_RANK];
  uint32_t at = s->axis + 1;
  for (uint32_t i = 0; i < s->rank; i++) {
    column[i + (i >= at)] = table[i + (i >= at)] = s->dims[i];
    full[i] = i == s->axis ? s->dims[i] * s->block : s->dims[i];
  }
  column[at] = 1;
  table[at] = s->block;
  v = onnx_binary(
      cx, part(cx, prefix, "_Column"), "Reshape", v,
      onnx_ints(cx, part(cx, prefix, "_column"), OC_DT_I64, column, (size_t)s->rank + 1));
  v = onnx_binary(
      cx, part(cx, prefix, "_Table"), "BroadcastTo", v,
      onnx_ints(cx, part(cx, prefix, "_table"), OC_DT_I64, table, (size_t)s->rank + 1));
  return onnx_binary(cx, part(cx, prefix, "_Full"), "Reshape", v,
                     onnx_ints(cx, part(cx, prefix, "_full"), OC_DT_I64, full, s->rank));
}

/* A float input of the node as it goes with the tensor. */
static struct oc_op *stretched(struct onnx_cx *cx, const char *prefix, uint32_t input,
                               const struct spread *s, enum oc_dtype to)
{
  int64_t dims[OC_MAX_RANK];
  enum oc_dtype has = onnx_dtype_of(cx, input);
  struct oc_op *v = has == to
                        ? onnx_unary(cx, part(cx, prefix, "_identity"), "Identity", input)
                        : onnx_cast_in(cx, part(cx, prefix, "_cast"), input, to);
  if (s->block > 0)
    return repeated(cx, prefix, v, s);
  if (s->trailing <= 0 || s->trailing >= OC_MAX_RANK)
    return v;
  dims[0] = -1;
  for (int64_t i = 1; i <= s->trailing; i++)
    dims[i] = 1;
  struct oc_op *shape =
      onnx_ints(cx, part(cx, prefix, "_shape"), OC_DT_I64, dims, (size_t)s->trailing + 1);
  return onnx_binary(cx, part(cx, prefix, "_Reshape"), "Reshape", v, shape);
}

/* Scales per block: their dims must be known, and the tensor's axis be full of blocks. */
static bool read_blocks(struct onnx_cx *cx, uint32_t x, uint32_t scale, int64_t axis,
                        struct spread *s)
{
  int64_t rank = onnx_rank(cx, scale);
  s->block = onnx_i(cx, "block_size", 0);
  if (axis < 0)
    axis += rank;
  if (s->block < 1 || rank < 1 || rank >= OC_MAX_RANK || axis < 0 || axis >= rank) {
    onnx_refuse(cx, "its blocks of scales have no size, rank or axis");
    return false;
  }
  s->rank = (uint32_t)rank;
  s->axis = (uint32_t)axis;
  for (uint32_t i = 0; i < s->rank; i++) {
    s->dims[i] = onnx_dim_of(cx, scale, i);
    if (s->dims[i] < 1)
      onnx_refuse(cx, "the dims of its scales are not known");
  }
  int64_t dim = onnx_dim_of(cx, x, s->axis);
  if (!cx->refused && dim > 0 && (dim % s->block || dim / s->block != s->dims[s->axis]))
    onnx_refuse(cx, "its blocks do not fill the axis");
  return !cx->refused;
}

static bool read_spread(struct onnx_cx *cx, uint32_t x, uint32_t scale, int64_t axis,
                        struct spread *s)
{
  int64_t scales = onnx_rank(cx, scale);
  int64_t rank = onnx_rank(cx, x);
  *s = (struct spread){ 0 };
  if (onnx_i(cx, "block_size", 0) != 0 || scales > 1)
    return read_blocks(cx, x, scale, axis, s);
  if (scales < 1 || onnx_dim_of(cx, scale, 0) == 1)
    return true;
  if (rank < 0) {
    onnx_refuse(cx, "it has a scale per channel and the rank of its input is not known");
    return false;
  }
  if (axis < 0)
    axis += rank;
  if (axis < 0 || axis >= rank) {
    onnx_refuse(cx, "its axis is out of range");
    return false;
  }
  s->trailing = rank - axis - 1;
  return true;
}

/* (x - zero) * scale */
static struct oc_op *dequantised(struct onnx_cx *cx, const char *prefix, uint32_t x,
                                 uint32_t scale, uint32_t zero, const struct spread *s)
{
  enum oc_dtype d = onnx_dtype_of(cx, scale);
  if (d == OC_DT_UNDEFINED)
    d = OC_DT_F32;
  struct oc_op *v = onnx_cast_in(cx, part(cx, prefix, "_cast"), x, d);
  if (onnx_has(cx, zero))
    v = onnx_binary(cx, part(cx, prefix, "_Sub"), "Sub", v,
                    stretched(cx, part(cx, prefix, "_zero"), zero, s, d));
  return onnx_binary(cx, part(cx, prefix, "_Mul"), "Mul", v,
                     stretched(cx, part(cx, prefix, "_scale"), scale, s, d));
}

static bool limits(enum oc_dtype d, float *ret_lo, float *ret_hi)
{
  switch (d) {
  case OC_DT_U8:
    *ret_lo = 0;
    *ret_hi = 255;
    return true;
  case OC_DT_I8:
    *ret_lo = -128;
    *ret_hi = 127;
    return true;
  case OC_DT_U16:
    *ret_lo = 0;
    *ret_hi = 65535;
    return true;
  case OC_DT_I16:
    *ret_lo = -32768;
    *ret_hi = 32767;
    return true;
  default: return false;
  }
}

/* Clipped and cast: the end of every quantisation. */
static struct oc_op *saturated(struct onnx_cx *cx, const char *prefix, struct oc_op *v,
                               enum oc_dtype to)
{
  float lo = 0, hi = 0;
  if (!limits(to, &lo, &hi)) {
    onnx_refuse(cx, "its quantised type is not supported");
    return NULL;
  }
  struct oc_op *op = onnx_add(cx, part(cx, prefix, "_ClipByValue"), "ClipByValue", 3, 0);
  onnx_wire(op, 0, v, 0);
  onnx_wire(op, 1, onnx_f32(cx, part(cx, prefix, "_min"), lo), 0);
  onnx_wire(op, 2, onnx_f32(cx, part(cx, prefix, "_max"), hi), 0);
  return onnx_cast(cx, part(cx, prefix, "_Cast"), op, to);
}

/* clip(round(x / scale) + zero) */
static struct oc_op *quantised(struct onnx_cx *cx, struct oc_op *x, uint32_t scale,
                               uint32_t zero, const struct spread *s, enum oc_dtype to)
{
  struct oc_op *v = onnx_binary(cx, "_RealDiv", "RealDiv", x,
                                stretched(cx, "_y_scale", scale, s, OC_DT_F32));
  v = onnx_behind(cx, "_Round", "Round", v);
  if (onnx_has(cx, zero))
    v = onnx_binary(cx, "_Add", "Add", v, stretched(cx, "_y_zero", zero, s, OC_DT_F32));
  return saturated(cx, "_y", v, to);
}

static enum oc_dtype quantised_type(struct onnx_cx *cx, uint32_t zero)
{
  if (onnx_given(cx, "output_dtype") && onnx_i(cx, "output_dtype", 0) != 0)
    return onnx_dtype(onnx_i(cx, "output_dtype", 0));
  enum oc_dtype d = onnx_has(cx, zero) ? onnx_dtype_of(cx, zero) : OC_DT_U8;
  return d == OC_DT_UNDEFINED ? OC_DT_U8 : d;
}

static void quantize(struct onnx_cx *cx)
{
  struct spread s;
  if (!read_spread(cx, 0, 1, onnx_i(cx, "axis", 1), &s))
    return;
  struct oc_op *x = onnx_cast_in(cx, "_x", 0, OC_DT_F32);
  onnx_out(cx, 0, quantised(cx, x, 1, 2, &s, quantised_type(cx, 2)), 0);
}

static void dequantize(struct onnx_cx *cx)
{
  struct spread s;
  if (read_spread(cx, 0, 1, onnx_i(cx, "axis", 1), &s))
    onnx_out(cx, 0, dequantised(cx, "_x", 0, 1, 2, &s), 0);
}

static struct oc_op *extreme(struct onnx_cx *cx, const char *prefix, const char *reduce,
                             const char *with_zero, struct oc_op *x, struct oc_op *zero)
{
  struct oc_op *axes = onnx_ints(cx, part(cx, prefix, "_axes"), OC_DT_I32, NULL, 0);
  struct oc_op *op = onnx_binary(cx, part(cx, prefix, "_reduce"), reduce, x, axes);
  onnx_set_bool(cx, op, "keep_dims", false);
  onnx_set_bool(cx, op, "noop_with_empty_axes", false);
  return onnx_binary(cx, part(cx, prefix, "_limit"), with_zero, op, zero);
}

/* Scale and zero point from the range of the values, zero included. */
static void dynamic_quantize(struct onnx_cx *cx)
{
  struct oc_op *x = onnx_unary(cx, "_x", "Identity", 0);
  struct oc_op *nil = onnx_f32(cx, "_nil", 0.0f);
  struct oc_op *lo = extreme(cx, "_lo", "ReduceMin", "Minimum", x, nil);
  struct oc_op *hi = extreme(cx, "_hi", "ReduceMax", "Maximum", x, nil);
  struct oc_op *scale =
      onnx_behind(cx, "_step", "Muls", onnx_binary(cx, "_range", "Sub", hi, lo));
  onnx_set_float(cx, scale, "value", 1.0f / 255.0f);
  struct oc_op *zero =
      onnx_binary(cx, "_from", "Sub", nil, onnx_binary(cx, "_low", "RealDiv", lo, scale));
  zero = onnx_behind(cx, "_zero_round", "Round", zero);
  struct oc_op *byte = saturated(cx, "_zero", zero, OC_DT_U8);
  struct oc_op *v = onnx_behind(cx, "_Round", "Round",
                                onnx_binary(cx, "_RealDiv", "RealDiv", x, scale));
  v = onnx_binary(cx, "_Add", "Add", v, zero);
  onnx_out(cx, 0, saturated(cx, "_y", v, OC_DT_U8), 0);
  onnx_out(cx, 1, scale, 0);
  onnx_out(cx, 2, byte, 0);
}

static void qlinear_matmul(struct onnx_cx *cx)
{
  if (onnx_rank(cx, 1) > 0 && onnx_dim_of(cx, 1, 0) != 1) {
    onnx_refuse(cx, "a scale per row is not supported");
    return;
  }
  if (onnx_rank(cx, 4) > 1 || onnx_rank(cx, 6) > 1) {
    onnx_refuse(cx, "only one scale per column is supported");
    return;
  }
  struct oc_op *a = dequantised(cx, "_a", 0, 1, 2, &one);
  struct oc_op *b =
      dequantised(cx, "_b", 3, 4, 5, &one); /* a list runs along the last axis */
  struct oc_op *y = onnx_binary(cx, "_BatchMatMulV2", "BatchMatMulV2", a, b);
  onnx_out(cx, 0, quantised(cx, y, 6, 7, &one, quantised_type(cx, 7)), 0);
}

/* Inputs: x, scale, zero, w, scale, zero, y's scale, zero, bias. */
static void qlinear_conv(struct onnx_cx *cx)
{
  struct onnx_spatial s;
  if (!onnx_read_spatial(cx, 3, 2, &s))
    return;
  struct spread per_filter = one;
  if (onnx_rank(cx, 4) == 1 && onnx_dim_of(cx, 4, 0) != 1)
    per_filter.trailing = (int64_t)s.n + 1;
  struct oc_op *x = dequantised(cx, "_x", 0, 1, 2, &one);
  struct oc_op *w = dequantised(cx, "_w", 3, 4, 5, &per_filter);
  struct oc_op *bias = NULL;
  if (onnx_has(cx, 8)) {
    struct oc_op *scale = onnx_binary(cx, "_bias_scale", "Mul",
                                      stretched(cx, "_bias_x", 1, &one, OC_DT_F32),
                                      stretched(cx, "_bias_w", 4, &one, OC_DT_F32));
    bias = onnx_binary(cx, "_bias", "Mul", onnx_cast_in(cx, "_bias_cast", 8, OC_DT_F32),
                       scale);
  }
  struct oc_op *y = onnx_conv_of(cx, &s, x, w, bias);
  onnx_out(cx, 0, quantised(cx, y, 6, 7, &one, quantised_type(cx, 7)), 0);
}

/* x less its zero point, in float32: integers up to 2^24 stay exact. */
static struct oc_op *centred(struct onnx_cx *cx, const char *prefix, uint32_t x,
                             uint32_t zero, const struct spread *s)
{
  struct oc_op *v = onnx_cast_in(cx, part(cx, prefix, "_cast"), x, OC_DT_F32);
  if (!onnx_has(cx, zero))
    return v;
  return onnx_binary(cx, part(cx, prefix, "_Sub"), "Sub", v,
                     stretched(cx, part(cx, prefix, "_zero"), zero, s, OC_DT_F32));
}

static void matmul_integer(struct onnx_cx *cx)
{
  struct spread rows = one;
  if (onnx_rank(cx, 2) == 1 && onnx_dim_of(cx, 2, 0) != 1)
    rows.trailing = 1;
  struct oc_op *a = centred(cx, "_a", 0, 2, &rows);
  struct oc_op *b = centred(cx, "_b", 1, 3, &one);
  struct oc_op *y = onnx_binary(cx, "_BatchMatMulV2", "BatchMatMulV2", a, b);
  onnx_out(cx, 0, onnx_cast(cx, "_Cast", y, OC_DT_I32), 0);
}

static void conv_integer(struct onnx_cx *cx)
{
  struct onnx_spatial s;
  if (!onnx_read_spatial(cx, 1, 2, &s))
    return;
  struct spread per_filter = one;
  if (onnx_rank(cx, 3) == 1 && onnx_dim_of(cx, 3, 0) != 1)
    per_filter.trailing = (int64_t)s.n + 1;
  struct oc_op *x = centred(cx, "_x", 0, 2, &one);
  struct oc_op *w = centred(cx, "_w", 1, 3, &per_filter);
  onnx_out(cx, 0, onnx_cast(cx, "_Cast", onnx_conv_of(cx, &s, x, w, NULL), OC_DT_I32), 0);
}

const struct onnx_rule onnx_quant_rules[] = {
  { "QuantizeLinear", 10, 0, quantize, "Cast", ONNX_V_NONE },
  { "DequantizeLinear", 10, 0, dequantize, "Mul", ONNX_V_NONE },
  { "DynamicQuantizeLinear", 11, 0, dynamic_quantize, "Cast", ONNX_V_NONE },
  { "QLinearMatMul", 10, 0, qlinear_matmul, "BatchMatMulV2", ONNX_V_NONE },
  { "QLinearConv", 10, 0, qlinear_conv, "Conv2D", ONNX_V_NONE },
  { "MatMulInteger", 10, 0, matmul_integer, "BatchMatMulV2", ONNX_V_NONE },
  { "ConvInteger", 10, 0, conv_integer, "Conv2D", ONNX_V_NONE },
  { 0 },
};
