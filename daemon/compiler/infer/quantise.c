/* Quantisation: shapes stay, dtypes change as the attributes say. */
#include "infer/infer_internal.h"

/* `arg`: dtype when the attribute (dst_type, dtype or out_dtype) does not say. */
static enum oc_dtype asked(const struct oc_op *op, enum oc_dtype other)
{
  static const char *const names[] = { "dst_type", "dtype", "output_dtype", "out_dtype" };

  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    enum oc_dtype d = infer_dtype_attr(op, names[i], OC_DT_UNDEFINED);

    if (d != OC_DT_UNDEFINED)
      return d;
  }
  return other;
}

static void to_dtype(struct infer *in, struct oc_op *op)
{
  infer_set(in, op, 0, asked(op, (enum oc_dtype)in->rule->arg), infer_shape(op, 0));
}

/* Quantize names its dtype in words of another framework. */
static void quantize_words(struct infer *in, struct oc_op *op)
{
  struct oc_str word = oc_attr_string(op, "dtype", "");
  enum oc_dtype d = oc_str_is(word, "torch.quint8")   ? OC_DT_U8
                    : oc_str_is(word, "torch.qint32") ? OC_DT_I32
                                                      : asked(op, OC_DT_I8);

  infer_set(in, op, 0, d, infer_shape(op, 0));
}

/* QuantizeLinear: the zero point's dtype, uint8 without one. */
static void quantize_linear(struct infer *in, struct oc_op *op)
{
  enum oc_dtype d = infer_has(op, 2) ? infer_dtype(op, 2) : OC_DT_U8;

  infer_set(in, op, 0, asked(op, d), infer_shape(op, 0));
}

/* DequantizeLinear: the scale's dtype. */
static void dequantize_linear(struct infer *in, struct oc_op *op)
{
  infer_set(in, op, 0, asked(op, infer_dtype(op, 1)), infer_shape(op, 0));
}

/* DynamicQuantizeLinear: y, scale, zero point. */
static void dynamic_linear(struct infer *in, struct oc_op *op)
{
  infer_set(in, op, 0, OC_DT_U8, infer_shape(op, 0));
  infer_set(in, op, 1, OC_DT_F32, oc_shape_scalar());
  infer_set(in, op, 2, OC_DT_U8, oc_shape_scalar());
}

/* DynamicQuant: y, and a scale (and offset) per row. */
static void dynamic_quant(struct infer *in, struct oc_op *op)
{
  struct oc_shape s = infer_shape(op, 0);

  infer_set(in, op, 0, asked(op, OC_DT_I8), s);
  for (uint32_t k = 1; k < op->n_outputs; k++) {
    infer_set(in, op, k, OC_DT_F32, oc_shape_unknown());
    if (s.known_rank && s.rank > 0)
      infer_set_dims(in, op, k, OC_DT_F32, s.dims, s.rank - 1);
  }
}

/* AscendRequantS16: the same twice, 8 and 16 bits wide. */
static void requant_s16(struct infer *in, struct oc_op *op)
{
  infer_set(in, op, 0, OC_DT_I8, infer_shape(op, 0));
  infer_set(in, op, 1, OC_DT_I16, infer_shape(op, 0));
}

#define TO(t, d)                                                                         \
  {                                                                                      \
    .type = t, .shape = to_dtype, .arg = d                                               \
  }
#define LIKE(t)                                                                          \
  {                                                                                      \
    .type = t, .shape = infer_like_first                                                 \
  }

const struct infer_rule infer_quantise_rules[] = {
  TO("AscendQuant", OC_DT_I8),
  TO("AscendQuantV2", OC_DT_I8),
  TO("AscendDequant", OC_DT_F32),
  TO("AscendDequantS16", OC_DT_I16),
  TO("AscendAntiQuant", OC_DT_F32),
  TO("AscendAntiQuantV2", OC_DT_F16),
  TO("AscendRequant", OC_DT_I8),
  TO("AscendWeightQuant", OC_DT_I8),
  TO("GroupQuant", OC_DT_I8),
  TO("Dequantize", OC_DT_F32),
  { .type = "Quantize", .shape = quantize_words },
  { .type = "QuantizeLinear", .shape = quantize_linear },
  { .type = "DequantizeLinear", .shape = dequantize_linear },
  { .type = "DynamicQuantizeLinear", .shape = dynamic_linear },
  { .type = "DynamicQuant", .shape = dynamic_quant },
  { .type = "DynamicQuantV2", .shape = dynamic_quant },
  { .type = "AscendRequantS16", .shape = requant_s16 },
  LIKE("FakeQuantWithMinMaxArgs"),
  LIKE("FakeQuantWithMinMaxVars"),
  LIKE("FakeQuantWithMinMaxVarsPerChannel"),
  { .type = NULL },
};
