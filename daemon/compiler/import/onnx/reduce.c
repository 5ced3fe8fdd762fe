/* Reductions. Axes that are an attribute become a Const; axes that are an input are
 * wired. */
#include "base/limits.h"
#include "import/onnx/build.h"

static struct oc_op *reduced(struct onnx_cx *cx, const char *type)
{
  size_t n = 0;
  const int64_t *axes = onnx_is(cx, "axes", &n);
  const char *suffix = oc_arena_printf(cx->im->arena, "_%s", type);
  bool wired = cx->opset >= 13 && onnx_has(cx, 1);
  bool noop = onnx_flag(cx, "noop_with_empty_axes", false);
  struct oc_op *list = wired ? NULL : onnx_ints(cx, "_data1", OC_DT_I32, axes, n);
  struct oc_op *op = onnx_add(cx, suffix ? suffix : "", type, 2, 0);
  onnx_in(cx, op, 0, 0);
  if (wired)
    onnx_in(cx, op, 1, 1);
  else
    onnx_wire(op, 1, list, 0);
  onnx_set_bool(cx, op, "keep_dims", onnx_flag(cx, "keepdims", true));
  if (cx->opset >= 13 || oc_streq(type, "ReduceMean"))
    onnx_set_bool(cx, op, "noop_with_empty_axes", noop);
  return op;
}

static void reduce(struct onnx_cx *cx)
{
  onnx_out(cx, 0, reduced(cx, cx->rule->to), 0);
}

static void reduce_log_sum(struct onnx_cx *cx)
{
  onnx_out(cx, 0, onnx_behind(cx, "_Log", "Log", reduced(cx, "ReduceSum")), 0);
}

/* Axes as a list, from the attribute or a constant input; false when refused. */
static bool axes_list(struct onnx_cx *cx, const int64_t **ret, size_t *ret_n)
{
  *ret = onnx_is(cx, "axes", ret_n);
  if (!onnx_has(cx, 1))
    return !cx->refused;
  const struct oc_value *v = onnx_const(cx, 1);
  *ret = v ? oc_value_ints(cx->im->arena, v, ret_n) : NULL;
  onnx_differs(cx, "axes given as an input are not handled there");
  if (!*ret)
    onnx_refuse(cx, "its axes are not constant");
  return !cx->refused;
}

/* An empty list means all axes, which these types do not know. */
static void set_axes(struct onnx_cx *cx, struct oc_op *op, const char *name,
                     const int64_t *axes, size_t n)
{
  int64_t all[OC_MAX_RANK];
  int64_t rank = onnx_rank(cx, 0);
  if (n == 0 && rank > 0 && rank <= OC_MAX_RANK) {
    for (int64_t i = 0; i < rank; i++)
      all[i] = i;
    onnx_set_ints(cx, op, name, all, (size_t)rank);
    return;
  }
  onnx_set_ints(cx, op, name, axes, n);
}

static void lp_reduce(struct onnx_cx *cx)
{
  const int64_t *axes = NULL;
  size_t n = 0;
  if (!axes_list(cx, &axes, &n))
    return;
  if (onnx_flag(cx, "noop_with_empty_axes", false))
    onnx_differs(cx, "noop_with_empty_axes is ignored there");
  struct oc_op *op = onnx_unary(cx, "", "LpNormV2", 0);
  onnx_set_float(cx, op, "p", oc_streq(cx->node->op_type, "ReduceL1") ? 1.0f : 2.0f);
  onnx_set_ints(cx, op, "axes", axes, n);
  onnx_set_bool(cx, op, "keepdim", onnx_flag(cx, "keepdims", true));
  onnx_out(cx, 0, op, 0);
}

static void square_sum(struct onnx_cx *cx)
{
  const int64_t *axes = NULL;
  size_t n = 0;
  if (!axes_list(cx, &axes, &n))
    return;
  struct oc_op *op = onnx_unary(cx, "", "SquareSumV1", 0);
  set_axes(cx, op, "axis", axes, n);
  onnx_set_bool(cx, op, "keep_dims", onnx_flag(cx, "keepdims", true));
  onnx_out(cx, 0, op, 0);
}

static void arg(struct onnx_cx *cx)
{
  int64_t axis = onnx_i(cx, "axis", 0);
  const char *suffix = oc_arena_printf(cx->im->arena, "_%s", cx->rule->to);
  bool last = onnx_flag(cx, "select_last_index", false);
  struct oc_op *list = onnx_int(cx, "_const_data", OC_DT_I32, axis);
  struct oc_op *op = onnx_add(cx, suffix ? suffix : "", cx->rule->to, 2, 0);
  onnx_in(cx, op, 0, 0);
  onnx_wire(op, 1, list, 0);
  onnx_set_dtype(cx, op, "dtype", OC_DT_I64);
  if (last) {
    onnx_differs(cx, "select_last_index is refused there");
    onnx_set_bool(cx, op, "select_last_index", true);
  }
  if (onnx_flag(cx, "keepdims", true))
    op = onnx_binary(cx, "_ExpandDims", "ExpandDims", op,
                     onnx_int(cx, "_data1", OC_DT_I32, axis));
  onnx_out(cx, 0, op, 0);
}

static void running(struct onnx_cx *cx)
{
  bool exclusive = onnx_flag(cx, "exclusive", false);
  bool reverse = onnx_flag(cx, "reverse", false);
  struct oc_op *op = onnx_one_to_one(cx, cx->rule->to);
  onnx_set_bool(cx, op, "exclusive", exclusive);
  onnx_set_bool(cx, op, "reverse", reverse);
}

const struct onnx_rule onnx_reduce_rules[] = {
  { "ReduceMax", 1, 0, reduce, "ReduceMax", ONNX_V_ALL },
  { "ReduceMin", 1, 0, reduce, "ReduceMin", ONNX_V_ALL },
  { "ReduceMean", 1, 0, reduce, "ReduceMean", ONNX_V_ALL },
  { "ReduceSum", 1, 0, reduce, "ReduceSum", ONNX_V_ALL },
  { "ReduceProd", 1, 0, reduce, "ReduceProd", ONNX_V_ALL },
  { "ReduceLogSumExp", 1, 0, reduce, "ReduceLogSumExp", ONNX_V_ALL },
  { "ReduceLogSum", 1, 0, reduce_log_sum, "ReduceSum", ONNX_V_ALL },
  { "ReduceL1", 1, 0, lp_reduce, "LpNormV2", ONNX_V(8, 17) },
  { "ReduceL2", 1, 0, lp_reduce, "LpNormV2", ONNX_V(8, 17) },
  { "ReduceSumSquare", 1, 0, square_sum, "SquareSumV1", ONNX_V_ALL },
  { "ArgMax", 1, 0, arg, "ArgMaxV2", ONNX_V_ALL },
  { "ArgMin", 1, 0, arg, "ArgMin", ONNX_V_ALL },
  { "CumSum", 11, 0, running, "Cumsum", ONNX_V_ALL },
  { "CumProd", 26, 0, running, "Cumprod", ONNX_V_NONE },
  { 0 },
};
