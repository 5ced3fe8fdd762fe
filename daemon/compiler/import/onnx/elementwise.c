/* Element by element: arithmetic, comparison, logic, casts. Most rows are one to one. */
#include <float.h>

#include "import/onnx/build.h"

/* Before opset 7 `broadcast` and `axis` say how B is stretched over A. */
static void old_broadcast(struct onnx_cx *cx)
{
  if (onnx_flag(cx, "broadcast", false) && onnx_given(cx, "axis"))
    onnx_refuse(cx, "it broadcasts by axis, as only opset 6 and older do");
  else
    (void)onnx_one_to_one(cx, cx->rule->to);
}

static void cast(struct onnx_cx *cx)
{
  int64_t to = onnx_i(cx, "to", 0);
  enum oc_dtype d = onnx_dtype(to);
  if (d == OC_DT_UNDEFINED) {
    onnx_refuse(cx, "its target type has no counterpart");
    return;
  }
  struct oc_op *op = onnx_one_to_one(cx, "Cast");
  onnx_set_dtype(cx, op, "dst_type", d);
}

/* Attributes: constants, and the input is cast to float32 first. */
static void clip_attrs(struct onnx_cx *cx)
{
  struct oc_op *lo = onnx_f32(cx, "_data1", onnx_f(cx, "min", -FLT_MAX));
  struct oc_op *hi = onnx_f32(cx, "_data2", onnx_f(cx, "max", FLT_MAX));
  struct oc_op *x = onnx_cast_in(cx, "_cast", 0, OC_DT_F32);
  struct oc_op *op = onnx_add(cx, "_ClipByValue", "ClipByValue", 3, 0);
  onnx_wire(op, 0, x, 0);
  onnx_wire(op, 1, lo, 0);
  onnx_wire(op, 2, hi, 0);
  onnx_out(cx, 0, op, 0);
}

static void clip(struct onnx_cx *cx)
{
  bool lo = onnx_has(cx, 1);
  bool hi = onnx_has(cx, 2);
  const char *type = lo && hi ? "ClipByValue"
                     : hi     ? "Minimum"
                     : lo     ? "Maximum"
                              : "Identity";
  if (!lo && !hi)
    onnx_differs(cx, "a Clip without limits is refused there");
  struct oc_op *op = onnx_add(cx, "", type, lo && hi ? 3 : lo || hi ? 2 : 1, 0);
  onnx_in(cx, op, 0, 0);
  if (lo)
    onnx_in(cx, op, 1, 1);
  if (hi)
    onnx_in(cx, op, lo ? 2 : 1, 2);
  onnx_out(cx, 0, op, 0);
}

/* N inputs become N-1 ops of two. */
static void chain(struct onnx_cx *cx)
{
  uint32_t n = onnx_n_in(cx);
  if (n == 0) {
    onnx_refuse(cx, "it has no inputs");
    return;
  }
  if (n == 1) {
    onnx_out(cx, 0, onnx_unary(cx, "_identity", "Identity", 0), 0);
    return;
  }
  struct oc_op *last = NULL;
  for (uint32_t i = 1; i < n && !cx->refused; i++) {
    const char *suffix =
        oc_arena_printf(cx->im->arena, "_%s_%u", cx->rule->to, (unsigned)(i - 1));
    struct oc_op *op = onnx_add(cx, suffix ? suffix : "", cx->rule->to, 2, 0);
    if (last)
      onnx_wire(op, 0, last, 0);
    else
      onnx_in(cx, op, 0, 0);
    onnx_in(cx, op, 1, i);
    last = op;
  }
  onnx_out(cx, 0, last, 0);
}

static struct oc_op *accumulate(struct onnx_cx *cx, const char *suffix)
{
  uint32_t n = onnx_n_in(cx);
  struct oc_op *op = onnx_add(cx, suffix, "AccumulateNV2", n, 0);
  onnx_ins(cx, op, 0, 0, n);
  onnx_set_int(cx, op, "N", n);
  return op;
}

static void sum(struct onnx_cx *cx)
{
  onnx_out(cx, 0, accumulate(cx, ""), 0);
}

static void mean(struct onnx_cx *cx)
{
  uint32_t n = onnx_n_in(cx);
  struct oc_op *op = onnx_behind(cx, "_Muls", "Muls", accumulate(cx, "_AccumulateNV2"));
  onnx_set_float(cx, op, "value", n ? 1.0f / (float)n : 1.0f);
  onnx_out(cx, 0, op, 0);
}

static void xor_bits(struct onnx_cx *cx)
{
  struct oc_op *a = onnx_cast_in(cx, "_Cast_a", 0, OC_DT_I32);
  struct oc_op *b = onnx_cast_in(cx, "_Cast_b", 1, OC_DT_I32);
  struct oc_op *op = onnx_binary(cx, "_Xor", "BitwiseXor", a, b);
  onnx_out(cx, 0, onnx_cast(cx, "_Cast_out", op, OC_DT_BOOL), 0);
}

static void bit_shift(struct onnx_cx *cx)
{
  bool right = oc_streq(onnx_s(cx, "direction", ""), "RIGHT");
  if (!right && !oc_streq(onnx_s(cx, "direction", ""), "LEFT"))
    onnx_refuse(cx, "its direction is neither LEFT nor RIGHT");
  else
    (void)onnx_one_to_one(cx, right ? "RightShift" : "LeftShift");
}

/* One sign only: compared with that infinity. */
static void is_inf(struct onnx_cx *cx)
{
  bool neg = onnx_flag(cx, "detect_negative", true);
  bool pos = onnx_flag(cx, "detect_positive", true);
  if (neg && pos) {
    (void)onnx_one_to_one(cx, "IsInf");
    return;
  }
  onnx_differs(cx, "only both signs together are accepted there");
  if (!neg && !pos) {
    onnx_refuse(cx, "it looks for no sign at all");
    return;
  }
  struct oc_op *x = onnx_cast_in(cx, "_cast", 0, OC_DT_F32);
  struct oc_op *inf =
      onnx_f32(cx, "_infinity", neg ? -__builtin_inff() : __builtin_inff());
  onnx_out(cx, 0, onnx_binary(cx, "_Equal", "Equal", x, inf), 0);
}

static void mod(struct onnx_cx *cx)
{
  if (onnx_flag(cx, "fmod", false))
    onnx_differs(cx, "fmod is ignored there");
  (void)onnx_one_to_one(cx, "Mod");
}

/* Inference only; a mask that somebody reads is all true. */
static void dropout(struct onnx_cx *cx)
{
  bool mask = onnx_used(cx, 1);
  struct oc_op *op = onnx_unary(cx, "_Dropout", "Dropout", 0);
  onnx_out(cx, 0, op, 0);
  if (!mask)
    return;
  onnx_differs(cx, "the mask is not produced there");
  struct oc_op *ones = onnx_unary(cx, "_ones", "OnesLike", 0);
  enum oc_dtype d = cx->opset < 10 ? onnx_dtype_of(cx, 0) : OC_DT_BOOL;
  onnx_out(cx, 1, d == OC_DT_UNDEFINED ? ones : onnx_cast(cx, "_mask", ones, d), 0);
}

#define ONE(op, since, to, vendor)                                                       \
  {                                                                                      \
    op, since, 0, NULL, to, vendor                                                       \
  }

const struct onnx_rule onnx_elementwise_rules[] = {
  ONE("Abs", 1, "Abs", ONNX_V_ALL),
  ONE("Acos", 7, "Acos", ONNX_V_ALL),
  ONE("Acosh", 9, "Acosh", ONNX_V_ALL),
  ONE("Asin", 7, "Asin", ONNX_V_ALL),
  ONE("Asinh", 9, "Asinh", ONNX_V_ALL),
  ONE("Atan", 7, "Atan", ONNX_V_ALL),
  ONE("Atanh", 9, "Atanh", ONNX_V_ALL),
  ONE("Ceil", 1, "Ceil", ONNX_V_ALL),
  ONE("Cos", 7, "Cos", ONNX_V_ALL),
  ONE("Cosh", 9, "Cosh", ONNX_V_ALL),
  ONE("Erf", 9, "Erf", ONNX_V_ALL),
  ONE("Exp", 1, "Exp", ONNX_V_ALL),
  ONE("Floor", 1, "Floor", ONNX_V_ALL),
  ONE("Log", 1, "Log", ONNX_V_ALL),
  ONE("Neg", 1, "Neg", ONNX_V_ALL),
  ONE("Reciprocal", 1, "Reciprocal", ONNX_V_ALL),
  ONE("Round", 11, "Round", ONNX_V_ALL),
  ONE("Sign", 9, "Sign", ONNX_V_ALL),
  ONE("Sin", 7, "Sin", ONNX_V_ALL),
  ONE("Sinh", 9, "Sinh", ONNX_V_ALL),
  ONE("Sqrt", 1, "Sqrt", ONNX_V_ALL),
  ONE("Tan", 7, "Tan", ONNX_V_ALL),
  ONE("IsNaN", 9, "IsNan", ONNX_V(9, 18)),
  ONE("Not", 1, "LogicalNot", ONNX_V_ALL),
  ONE("BitwiseAnd", 18, "BitwiseAnd", ONNX_V(18, 18)),
  ONE("BitwiseNot", 18, "Invert", ONNX_V(18, 18)),
  ONE("BitwiseOr", 18, "BitwiseOr", ONNX_V(18, 18)),
  ONE("BitwiseXor", 18, "BitwiseXor", ONNX_V(18, 18)),
  ONE("CastLike", 15, "CastLike", ONNX_V(15, 18)),
  ONE("Identity", 1, "Identity", ONNX_V_ALL),
  ONE("Where", 9, "SelectV2", ONNX_V_ALL),
  ONE("GreaterOrEqual", 12, "GreaterEqual", ONNX_V(8, 8) | ONNX_V(12, 18)),
  ONE("LessOrEqual", 12, "LessEqual", ONNX_V_ALL),
  { "Add", 1, 6, old_broadcast, "Add", ONNX_V_NONE },
  ONE("Add", 7, "Add", ONNX_V_ALL),
  { "Sub", 1, 6, old_broadcast, "Sub", ONNX_V_NONE },
  ONE("Sub", 7, "Sub", ONNX_V_ALL),
  { "Mul", 1, 6, old_broadcast, "Mul", ONNX_V_NONE },
  ONE("Mul", 7, "Mul", ONNX_V_ALL),
  { "Div", 1, 6, old_broadcast, "RealDiv", ONNX_V_NONE },
  ONE("Div", 7, "RealDiv", ONNX_V_ALL),
  { "Pow", 1, 6, old_broadcast, "Pow", ONNX_V_NONE },
  ONE("Pow", 7, "Pow", ONNX_V_ALL),
  { "And", 1, 6, old_broadcast, "LogicalAnd", ONNX_V_NONE },
  ONE("And", 7, "LogicalAnd", ONNX_V_ALL),
  { "Or", 1, 6, old_broadcast, "LogicalOr", ONNX_V_NONE },
  ONE("Or", 7, "LogicalOr", ONNX_V_ALL),
  { "Equal", 1, 6, old_broadcast, "Equal", ONNX_V_NONE },
  ONE("Equal", 7, "Equal", ONNX_V_ALL),
  { "Greater", 1, 6, old_broadcast, "Greater", ONNX_V_NONE },
  ONE("Greater", 7, "Greater", ONNX_V_ALL),
  { "Less", 1, 6, old_broadcast, "Less", ONNX_V_NONE },
  ONE("Less", 7, "Less", ONNX_V_ALL),
  { "Xor", 1, 0, xor_bits, "BitwiseXor", ONNX_V_ALL },
  { "Cast", 6, 0, cast, "Cast", ONNX_V_ALL },
  { "Clip", 1, 10, clip_attrs, "ClipByValue", ONNX_V_ALL },
  { "Clip", 11, 0, clip, "ClipByValue", ONNX_V_ALL },
  { "Max", 1, 0, chain, "Maximum", ONNX_V_ALL },
  { "Min", 1, 0, chain, "Minimum", ONNX_V_ALL },
  { "Sum", 1, 0, sum, "AccumulateNV2", ONNX_V_ALL },
  { "Mean", 1, 0, mean, "AccumulateNV2", ONNX_V_ALL },
  { "BitShift", 11, 0, bit_shift, "RightShift", ONNX_V(11, 18) },
  { "IsInf", 10, 0, is_inf, "IsInf", ONNX_V(10, 18) },
  { "Mod", 10, 0, mod, "Mod", ONNX_V(10, 18) },
  { "Dropout", 1, 0, dropout, "Dropout", ONNX_V_ALL },
  { 0 },
};
