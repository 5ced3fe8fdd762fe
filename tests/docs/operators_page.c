/* operators_page: docs/operators.md from the importers' tables.
 *
 *   operators_page docs/operators.md          writes it (the target docs-operators)
 *   operators_page --check docs/operators.md  exit status 1 when the page is another one
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "import/onnx/build.h"
#include "import/tensorflow/rules.h"
#include "infer/infer.h"

enum { MOST = 1 << 20, LAST_OPSET = 31 };

/* Every operator of ONNX's standard domain up to opset 22 but Constant, which has no row:
 * it is read before the table is asked. */
static const char onnx_operators[] =
    "Abs Acos Acosh Add AffineGrid And ArgMax ArgMin Asin Asinh Atan Atanh AveragePool "
    "BatchNormalization Bernoulli BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor "
    "BlackmanWindow Cast CastLike Ceil Celu CenterCropPad Clip Col2Im Compress Concat "
    "ConcatFromSequence ConstantOfShape Conv ConvInteger ConvTranspose Cos Cosh "
    "CumSum DFT DeformConv DepthToSpace DequantizeLinear Det Div Dropout "
    "DynamicQuantizeLinear Einsum Elu Equal Erf Exp Expand EyeLike Flatten Floor GRU "
    "Gather GatherElements GatherND Gelu Gemm GlobalAveragePool GlobalLpPool "
    "GlobalMaxPool Greater GreaterOrEqual GridSample GroupNormalization HammingWindow "
    "HannWindow HardSigmoid HardSwish Hardmax Identity If ImageDecoder "
    "InstanceNormalization IsInf IsNaN LRN LSTM LayerNormalization LeakyRelu Less "
    "LessOrEqual Log LogSoftmax Loop LpNormalization LpPool MatMul MatMulInteger Max "
    "MaxPool MaxRoiPool MaxUnpool Mean MeanVarianceNormalization MelWeightMatrix Min "
    "Mish "
    "Mod Mul Multinomial Neg NegativeLogLikelihoodLoss NonMaxSuppression NonZero Not "
    "OneHot Optional OptionalGetElement OptionalHasElement Or PRelu Pad Pow QLinearConv "
    "QLinearMatMul QuantizeLinear RNN RandomNormal RandomNormalLike RandomUniform "
    "RandomUniformLike Range Reciprocal ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp "
    "ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare RegexFullMatch "
    "Relu Reshape Resize ReverseSequence RoiAlign Round STFT Scan Scatter "
    "ScatterElements "
    "ScatterND Selu SequenceAt SequenceConstruct SequenceEmpty SequenceErase "
    "SequenceInsert SequenceLength SequenceMap Shape Shrink Sigmoid Sign Sin Sinh Size "
    "Slice Softmax SoftmaxCrossEntropyLoss Softplus Softsign SpaceToDepth Split "
    "SplitToSequence Sqrt Squeeze StringConcat StringNormalizer StringSplit Sub Sum Tan "
    "Tanh TfIdfVectorizer ThresholdedRelu Tile TopK Transpose Trilu Unique Unsqueeze "
    "Upsample Where Xor";

static void put_opsets(struct oc_buf *out, uint32_t bits)
{
  const char *comma = "";
  if (bits == 0) {
    oc_buf_puts(out, "none");
    return;
  }
  if (bits == UINT32_MAX) {
    oc_buf_puts(out, "any");
    return;
  }
  for (int from = 0; from <= LAST_OPSET; from++) {
    int to = from;
    if (!(bits >> from & 1))
      continue;
    while (to < LAST_OPSET && (bits >> (to + 1) & 1))
      to++;
    oc_buf_printf(out, from == to ? "%s%d" : "%s%d to %d", comma, from, to);
    comma = ", ";
    from = to;
  }
}

static void onnx_table(struct oc_buf *out)
{
  oc_buf_puts(out, "## ONNX\n\n"
                   "| operator | opsets | becomes | opsets of the vendor's parser |\n"
                   "| --- | --- | --- | --- |\n"
                   "| Constant | 1 to newest | Const | any |\n");
  for (size_t i = 0; onnx_rule_at(i); i++) {
    const struct onnx_rule *r = onnx_rule_at(i);
    oc_buf_printf(out, "| %s | %d to ", r->op, r->since);
    if (r->until)
      oc_buf_printf(out, "%d", r->until);
    else
      oc_buf_puts(out, "newest");
    oc_buf_printf(out, " | %s%s | ", r->to, r->fn ? "" : " (as it is)");
    put_opsets(out, r->vendor);
    oc_buf_puts(out, " |\n");
  }
}

static bool onnx_has_row(const char *op, size_t len)
{
  for (size_t i = 0; onnx_rule_at(i); i++)
    if (strlen(onnx_rule_at(i)->op) == len && !memcmp(onnx_rule_at(i)->op, op, len))
      return true;
  return false;
}

static void onnx_unsupported(struct oc_buf *out)
{
  const char *comma = "";
  oc_buf_puts(out,
              "\n### Operators of the standard domain that are not imported\n\n"
              "Users get the finding `op-unknown`: an error where builtin compiles, a "
              "warning with `omcc explain`\n(the operator is a row `unknown`, or has the "
              "columns of a table of the user's own) and with\n`--backend=atc`, whose "
              "parser decides by itself. That parser has none of these either:\n");
  for (const char *p = onnx_operators; *p;) {
    size_t n = strcspn(p, " ");
    if (!onnx_has_row(p, n)) {
      oc_buf_printf(out, "%s %.*s", comma, (int)n, p);
      comma = ",";
    }
    p += n + (p[n] == ' ');
  }
  oc_buf_puts(out,
              ".\n\nOperators of other domains than the standard one, `npu` and those "
              "listed get it too.\n");
}

static const char *vendor_text(enum tf_vendor v)
{
  switch (v) {
  case TF_BY_PLUGIN: return "plugin";
  case TF_BY_PARSER: return "parser";
  case TF_BY_NAME: return "by name";
  case TF_BY_ENGINE: return "by the kernel engine's table";
  }
  return "";
}

static void tf_table(struct oc_buf *out)
{
  oc_buf_puts(
      out,
      "\n## TensorFlow\n\n"
      "The last column says whether shapes are inferred; where they are not, users get "
      "the finding\n`shape-unknown-op`.\n\n"
      "| operator | becomes | how the vendor's parser comes to it | shapes |\n"
      "| --- | --- | --- | --- |\n"
      "| Placeholder, PlaceholderV2, _Arg | Data | parser | yes |\n"
      "| Const | Const | parser | yes |\n");
  for (size_t i = 0; tf_rule_at(i); i++) {
    const struct tf_rule *r = tf_rule_at(i);
    oc_buf_printf(out, "| %s | %s | %s | %s |\n", r->op, r->to, vendor_text(r->vendor),
                  oc_infer_knows(r->to) ? "yes" : "no");
  }
  oc_buf_puts(
      out,
      "\n### What is not imported\n\n"
      "- variables (`VariableV2`, `VarHandleOp`, `ReadVariableOp` and their kin): "
      "`tf-not-frozen`\n"
      "- control flow and other work that calls functions (`StatelessIf`, `While` and "
      "every other node with a\n  function as attribute): `tf-function`; plain calls "
      "(`PartitionedCall`, `StatefulPartitionedCall`) are\n  inlined, their nodes are "
      "named `<call>/<function>/<node>`\n"
      "- every other operator: `tf-op-unknown`\n"
      "- a SavedModel instead of a frozen graph: `tf-saved-model`; a graph in text form: "
      "`tf-text`\n"
      "- while loops of TensorFlow 1 are imported and resolved once: `tf-loop`\n");
}

static void page(struct oc_buf *out)
{
  oc_buf_puts(out,
              "# Operators\n\n"
              "What each operator of a model becomes, by the tables of the importers. "
              "This page is generated:\nbuild the target `docs-operators`; a test "
              "compares it. Whether a target can run what an operator\nbecomes is "
              "another question: `omcc explain` answers it for a model.\n\n");
  onnx_table(out);
  onnx_unsupported(out);
  tf_table(out);
}

static int check(const char *path, const struct oc_buf *want)
{
  FILE *f = fopen(path, "re");
  char *text = calloc(1, MOST);
  size_t n = f && text ? fread(text, 1, MOST - 1, f) : 0;
  bool same = n == want->len && memcmp(text, want->data, n) == 0;
  if (!same)
    fprintf(stderr, "%s is not what the tables give: build the target docs-operators\n",
            path);
  if (f)
    (void)fclose(f);
  free(text);
  return !same;
}

static int write_page(const char *path, const struct oc_buf *text)
{
  FILE *f = fopen(path, "we");
  bool fine = f && fwrite(text->data, 1, text->len, f) == text->len;
  if (f && fclose(f))
    fine = false;
  return !fine;
}

int main(int argc, char **argv)
{
  struct oc_buf out;
  int rc = 0;
  oc_buf_init(&out, MOST);
  page(&out);
  if (out.failed)
    rc = 1;
  else if (argc == 3 && strcmp(argv[1], "--check") == 0)
    rc = check(argv[2], &out);
  else if (argc == 2)
    rc = write_page(argv[1], &out);
  else
    rc = 2;
  oc_buf_clear(&out);
  return rc;
}
