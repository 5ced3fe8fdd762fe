/* Operators of the domain com.microsoft that onnxruntime's optimiser writes into models
 * of transformers: each is taken apart into what it was made of. The vendor's parser
 * knows none of them. */
#include <math.h>
#include <string.h>

#include "import/onnx/build.h"

static struct oc_op *layer_norm(struct onnx_cx *cx, struct oc_op *x, uint32_t gamma)
{
  struct oc_op *op = onnx_add(cx, "_LayerNorm", "LayerNorm", 3, 0);
  onnx_wire(op, 0, x, 0);
  onnx_in(cx, op, 1, gamma);
  if (onnx_has(cx, gamma + 1))
    onnx_in(cx, op, 2, gamma + 1);
  else
    onnx_wire(op, 2, onnx_f32(cx, "_beta", 0.0f), 0);
  onnx_set_int(cx, op, "begin_norm_axis", -1);
  onnx_set_int(cx, op, "begin_params_axis", -1);
  onnx_set_float(cx, op, "epsilon", onnx_f(cx, "epsilon", 1e-12f));
  return op;
}

/* Statistics that only training reads. */
static bool wants_stats(struct onnx_cx *cx, uint32_t from, uint32_t to)
{
  for (uint32_t i = from; i < to; i++)
    if (onnx_used(cx, i)) {
      onnx_refuse(cx, "an output that only training has is read");
      return true;
    }
  return false;
}

static void skip_layer_norm(struct onnx_cx *cx)
{
  enum { INPUT, SKIP, GAMMA, BETA, BIAS };
  if (wants_stats(cx, 1, 3))
    return;
  struct oc_op *sum = onnx_add(cx, "_Add", "Add", 2, 0);
  onnx_ins(cx, sum, 0, INPUT, 2);
  if (onnx_has(cx, BIAS)) {
    struct oc_op *biased = onnx_add(cx, "_Bias", "Add", 2, 0);
    onnx_wire(biased, 0, sum, 0);
    onnx_in(cx, biased, 1, BIAS);
    sum = biased;
  }
  onnx_out(cx, 0, layer_norm(cx, sum, GAMMA), 0);
  onnx_out(cx, 3, sum, 0);
}

static struct oc_op *look_up(struct onnx_cx *cx, const char *suffix, uint32_t table,
                             uint32_t ids, struct oc_op *axis)
{
  struct oc_op *op = onnx_add(cx, suffix, "GatherV2", 3, 0);
  onnx_in(cx, op, 0, table);
  onnx_in(cx, op, 1, ids);
  onnx_wire(op, 2, axis, 0);
  return op;
}

/* Does a node read the output, or does --out_nodes name it? */
static bool is_asked_for(struct onnx_cx *cx, uint32_t output)
{
  const char *asked = cx->im->opt->out_nodes;
  return onnx_used(cx, output) ||
         (asked && onnx_wants(cx, output) && strstr(asked, cx->node->outputs[output]));
}

static void embed_layer_norm(struct onnx_cx *cx)
{
  enum { IDS, SEGMENTS, WORDS, PLACES, SEGMENT_TABLE, GAMMA, BETA, MASK, POSITIONS };
  if (!onnx_has(cx, POSITIONS)) {
    onnx_refuse(cx, "it has no position_ids");
    return;
  }
  if (is_asked_for(cx, 1)) { /* how many steps the mask leaves; none without a mask */
    static const int64_t steps[] = { 1 };
    struct oc_op *mask = onnx_has(cx, MASK) ? onnx_unary(cx, "_Mask", "Identity", MASK)
                                            : onnx_unary(cx, "_NoMask", "ZerosLike", IDS);
    struct oc_op *sum = onnx_binary(cx, "_MaskIndex", "ReduceSum", mask,
                                    onnx_ints(cx, "_steps", OC_DT_I64, steps, 1));
    onnx_out(cx, 1, sum, 0);
  }
  struct oc_op *axis = onnx_int(cx, "_axis", OC_DT_I64, 0);
  struct oc_op *sum =
      onnx_binary(cx, "_Add", "Add", look_up(cx, "_Words", WORDS, IDS, axis),
                  look_up(cx, "_Places", PLACES, POSITIONS, axis));
  if (onnx_has(cx, SEGMENTS) && onnx_has(cx, SEGMENT_TABLE))
    sum = onnx_binary(cx, "_AddSegments", "Add", sum,
                      look_up(cx, "_Segments", SEGMENT_TABLE, SEGMENTS, axis));
  onnx_out(cx, 0, layer_norm(cx, sum, GAMMA), 0);
  onnx_out(cx, 2, sum, 0);
}

/* `to` of the input, with the bias in input 1 added before when there is one. */
static void biased_gelu(struct onnx_cx *cx)
{
  if (!onnx_has(cx, 1)) {
    (void)onnx_one_to_one(cx, cx->rule->to);
    return;
  }
  struct oc_op *sum = onnx_add(cx, "_Add", "Add", 2, 0);
  onnx_ins(cx, sum, 0, 0, 2);
  onnx_out(cx, 0, onnx_behind(cx, "_Gelu", cx->rule->to, sum), 0);
}

/* An Attention under way: B batch, S steps, T steps with those before, N heads of D. */
struct attention {
  struct onnx_cx *cx;
  int64_t heads, size;
  enum oc_dtype dtype;
  float filter;
  struct oc_op *zero, *one;
};

static struct oc_op *ternary(const struct attention *a, const char *suffix,
                             const char *type, struct oc_op *x, struct oc_op *y,
                             struct oc_op *z)
{
  struct oc_op *op = onnx_add(a->cx, suffix, type, 3, 0);
  onnx_wire(op, 0, x, 0);
  onnx_wire(op, 1, y, 0);
  onnx_wire(op, 2, z, 0);
  return op;
}

static struct oc_op *gather(const struct attention *a, const char *suffix,
                            struct oc_op *from, struct oc_op *index)
{
  return ternary(a, suffix, "GatherV2", from, index, a->zero);
}

static struct oc_op *turned(const struct attention *a, const char *suffix,
                            const char *list, struct oc_op *from, const int64_t *perm,
                            size_t n)
{
  return onnx_binary(a->cx, suffix, "Transpose", from,
                     onnx_ints(a->cx, list, OC_DT_I32, perm, n));
}

/* [3, B, N, S, D] out of the input. */
static struct oc_op *project(const struct attention *a)
{
  static const int64_t perm[] = { 2, 0, 3, 1, 4 };
  const int64_t shape[] = { 0, 0, 3, a->heads, a->size };
  struct onnx_cx *cx = a->cx;
  struct oc_op *product = onnx_add(cx, "_Project", "BatchMatMulV2", 2, 0);
  onnx_ins(cx, product, 0, 0, 2);
  struct oc_op *sum = onnx_add(cx, "_Bias", "Add", 2, 0);
  onnx_wire(sum, 0, product, 0);
  onnx_in(cx, sum, 1, 2);
  struct oc_op *parts = onnx_binary(cx, "_Parts", "Reshape", sum,
                                    onnx_ints(cx, "_parts", OC_DT_I64, shape, 5));
  return turned(a, "_Heads", "_heads", parts, perm, 5);
}

/* Keys and values [2, B, N, T, D], those of earlier steps in front. */
static struct oc_op *with_past(const struct attention *a, struct oc_op *parts)
{
  static const int64_t from[] = { 1 }, to[] = { 3 };
  struct onnx_cx *cx = a->cx;
  struct oc_op *kv = onnx_add(cx, "_KeyValue", "StridedSliceV2", 3, 0);
  onnx_wire(kv, 0, parts, 0);
  onnx_wire(kv, 1, onnx_ints(cx, "_from", OC_DT_I64, from, 1), 0);
  onnx_wire(kv, 2, onnx_ints(cx, "_to", OC_DT_I64, to, 1), 0);
  if (!onnx_has(cx, 4))
    return kv;
  struct oc_op *op = onnx_add(cx, "_Past", "ConcatD", 2, 0);
  onnx_in(cx, op, 0, 4);
  onnx_wire(op, 1, kv, 0);
  onnx_set_int(cx, op, "concat_dim", 3);
  onnx_set_int(cx, op, "N", 2);
  return op;
}

/* Zero where the mask [B, T] is one, the filter value where it is zero. */
static struct oc_op *mask(const struct attention *a, struct oc_op *scores)
{
  static const int64_t axes[] = { 1, 2 };
  struct onnx_cx *cx = a->cx;
  struct oc_op *less =
      onnx_behind(cx, "_MaskLess", "Adds", onnx_cast_in(cx, "_Mask", 3, a->dtype));
  struct oc_op *scaled = onnx_behind(cx, "_MaskScale", "Muls", less);
  struct oc_op *wide = onnx_behind(cx, "_MaskWide", "Unsqueeze", scaled);
  onnx_set_float(cx, less, "value", -1.0f);
  onnx_set_float(cx, scaled, "value", -a->filter);
  onnx_set_ints(cx, wide, "axes", axes, 2);
  return onnx_binary(cx, "_Masked", "Add", scores, wide);
}

/* Size of dim 2 of a [B, N, steps, D]. */
static struct oc_op *steps_of(const struct attention *a, const char *shape,
                              const char *suffix, struct oc_op *of, struct oc_op *two)
{
  struct oc_op *op = onnx_behind(a->cx, shape, "Shape", of);
  onnx_set_dtype(a->cx, op, "dtype", OC_DT_I64);
  return gather(a, suffix, op, two);
}

static struct oc_op *counted(const struct attention *a, const char *suffix,
                             struct oc_op *from, struct oc_op *to)
{
  return ternary(a, suffix, "Range", from, to, a->one);
}

/* No step sees a later one. */
static struct oc_op *causal(const struct attention *a, struct oc_op *q, struct oc_op *k,
                            struct oc_op *scores)
{
  static const int64_t last[] = { 1 };
  struct onnx_cx *cx = a->cx;
  struct oc_op *two = onnx_int(cx, "_two", OC_DT_I64, 2);
  struct oc_op *all = steps_of(a, "_ShapeK", "_All", k, two);
  struct oc_op *now = steps_of(a, "_ShapeQ", "_Now", q, two);
  struct oc_op *before = onnx_binary(cx, "_Before", "Sub", all, now);
  struct oc_op *rows =
      onnx_behind(cx, "_Rows", "Unsqueeze", counted(a, "_RowRange", before, all));
  struct oc_op *columns = counted(a, "_Columns", a->zero, all);
  struct oc_op *seen = onnx_binary(cx, "_Seen", "GreaterEqual", rows, columns);
  struct oc_op *filter =
      onnx_cast(cx, "_Filter", onnx_f32(cx, "_filter", a->filter), a->dtype);
  onnx_set_ints(cx, rows, "axes", last, 1);
  return ternary(a, "_Causal", "SelectV2", seen, scores, filter);
}

static bool read_attention(struct attention *a)
{
  struct onnx_cx *cx = a->cx;
  int64_t all = onnx_dim_of(cx, 2, 0);
  a->heads = onnx_i(cx, "num_heads", 0);
  a->dtype = onnx_dtype_of(cx, 1);
  a->filter = onnx_f(cx, "mask_filter_value", -10000.0f);
  if (a->heads < 1 || all < 1 || all % (3 * a->heads) != 0 || a->dtype == OC_DT_UNDEFINED)
    onnx_refuse(cx, "its weights and bias are not constants that num_heads divides");
  else if (onnx_has(cx, 5) || onnx_has(cx, 6) || onnx_given(cx, "qkv_hidden_sizes") ||
           onnx_flag(cx, "do_rotary", false))
    onnx_refuse(cx, "only its plain form is supported");
  else if (onnx_has(cx, 3) && onnx_rank(cx, 3) != 2)
    onnx_refuse(cx, "its mask is not [batch, steps]");
  if (cx->refused)
    return false;
  a->size = all / (3 * a->heads);
  a->zero = onnx_int(cx, "_zero", OC_DT_I64, 0);
  a->one = onnx_int(cx, "_one", OC_DT_I64, 1);
  return true;
}

static void attention(struct onnx_cx *cx)
{
  static const int64_t perm[] = { 0, 2, 1, 3 };
  struct attention a = { .cx = cx };
  if (!read_attention(&a))
    return;
  const int64_t shape[] = { 0, 0, a.heads * a.size };
  struct oc_op *parts = project(&a);
  struct oc_op *present = with_past(&a, parts);
  struct oc_op *q = gather(&a, "_Query", parts, a.zero);
  struct oc_op *k = gather(&a, "_Key", present, a.zero);
  struct oc_op *v = gather(&a, "_Value", present, a.one);
  struct oc_op *product = onnx_binary(cx, "_Scores", "BatchMatMulV2", q, k);
  struct oc_op *scores = onnx_behind(cx, "_Scale", "Muls", product);
  onnx_set_bool(cx, product, "adj_x2", true);
  onnx_set_float(cx, scores, "value", onnx_f(cx, "scale", 1.0f / sqrtf((float)a.size)));
  if (onnx_has(cx, 3))
    scores = mask(&a, scores);
  if (onnx_flag(cx, "unidirectional", false))
    scores = causal(&a, q, k, scores);
  struct oc_op *weights = onnx_behind(cx, "_Softmax", "SoftmaxV2", scores);
  struct oc_op *context = onnx_binary(cx, "_Context", "BatchMatMulV2", weights, v);
  struct oc_op *back = turned(&a, "_Back", "_back", context, perm, 4);
  struct oc_op *flat = onnx_binary(cx, "_Flat", "Reshape", back,
                                   onnx_ints(cx, "_flat", OC_DT_I64, shape, 3));
  onnx_out(cx, 0, flat, 0);
  onnx_out(cx, 1, present, 0);
}

/* "<domain>::<operator>": some of the names are other operators in the standard domain.
 */
const struct onnx_rule onnx_microsoft_rules[] = {
  { "com.microsoft::Attention", 0, 0, attention, "BatchMatMulV2", ONNX_V_NONE },
  { "com.microsoft::BiasGelu", 0, 0, biased_gelu, "Gelu", ONNX_V_NONE },
  { "com.microsoft::EmbedLayerNormalization", 0, 0, embed_layer_norm, "LayerNorm",
    ONNX_V_NONE },
  { "com.microsoft::FastGelu", 0, 0, biased_gelu, "FastGelu", ONNX_V_NONE },
  { "com.microsoft::Gelu", 0, 0, biased_gelu, "Gelu", ONNX_V_NONE },
  { "com.microsoft::SkipLayerNormalization", 0, 0, skip_layer_norm, "LayerNorm",
    ONNX_V_NONE },
  { 0 },
};
