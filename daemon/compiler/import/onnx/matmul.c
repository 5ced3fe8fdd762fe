/* Matrix products. MatMul is BatchMatMulV2 whatever the rank; Gemm is MatMulV2 and an
 * Add. */
#include "import/onnx/build.h"

static void matmul(struct onnx_cx *cx)
{
  bool a = onnx_flag(cx, "transA", false);
  bool b = onnx_flag(cx, "transB", false);
  struct oc_op *op = onnx_one_to_one(cx, "BatchMatMulV2");
  onnx_set_bool(cx, op, "adj_x1", a);
  onnx_set_bool(cx, op, "adj_x2", b);
}

static struct oc_op *scaled(struct onnx_cx *cx, const char *suffix, struct oc_op *from,
                            uint32_t input, float by)
{
  struct oc_op *op = from ? onnx_behind(cx, suffix, "Muls", from)
                          : onnx_unary(cx, suffix, "Muls", input);
  onnx_set_float(cx, op, "value", by);
  return op;
}

static void gemm(struct onnx_cx *cx)
{
  float alpha = onnx_f(cx, "alpha", 1.0f);
  float beta = onnx_f(cx, "beta", 1.0f);
  bool scale = alpha != 1.0f || beta != 1.0f;
  struct oc_op *op = onnx_add(cx, "_MatMulV2", "MatMulV2", 2, 0);
  onnx_ins(cx, op, 0, 0, 2);
  onnx_set_bool(cx, op, "transpose_x1", onnx_flag(cx, "transA", false));
  onnx_set_bool(cx, op, "transpose_x2", onnx_flag(cx, "transB", false));
  if (!onnx_has(cx, 2)) {
    if (alpha != 1.0f) {
      onnx_differs(cx, "alpha is ignored there when C is left out");
      op = scaled(cx, "_Muls1", op, 0, alpha);
    }
    onnx_out(cx, 0, op, 0);
    return;
  }
  struct oc_op *product = scale ? scaled(cx, "_Muls1", op, 0, alpha) : op;
  struct oc_op *c = scale ? scaled(cx, "_Muls2", NULL, 2, beta) : NULL;
  struct oc_op *sum = onnx_add(cx, "_add", "Add", 2, 0);
  onnx_wire(sum, 0, product, 0);
  if (c)
    onnx_wire(sum, 1, c, 0);
  else
    onnx_in(cx, sum, 1, 2);
  onnx_out(cx, 0, sum, 0);
}

static void einsum(struct onnx_cx *cx)
{
  const char *equation = onnx_s(cx, "equation", "");
  struct oc_op *op = onnx_one_to_one(cx, "Einsum");
  onnx_set_string(cx, op, "equation", equation);
  onnx_set_int(cx, op, "N", onnx_n_in(cx));
}

const struct onnx_rule onnx_matmul_rules[] = {
  { "MatMul", 1, 0, matmul, "BatchMatMulV2", ONNX_V_ALL },
  { "Gemm", 1, 0, gemm, "MatMulV2", ONNX_V_ALL },
  { "Einsum", 12, 0, einsum, "Einsum", ONNX_V_ALL },
  { "Det", 11, 0, NULL, "MatrixDeterminant", ONNX_V_ALL },
  { 0 },
};
