/* Quantised tensors. */
#include "import/tensorflow/build.h"

static void tf_tag(struct tf_cx *cx)
{
  (void)oc_attr_set_string(cx->im->graph, cx->op, "tf_tag", "tf");
}

const struct tf_rule tf_quant_rules[] = {
  { "AscendAntiQuant", "AscendAntiQuant", "scale offset dtype sqrt_mode", NULL, NULL,
    TF_BY_PLUGIN },
  { "AscendDequant", "AscendDequant", "sqrt_mode relu_flag dtype", NULL, tf_tag,
    TF_BY_PLUGIN },
  { "AscendQuant", "AscendQuant", "scale offset sqrt_mode round_mode dst_type", NULL,
    NULL, TF_BY_PLUGIN },
  { "AscendWeightQuant", "AscendWeightQuant", "dst_type", NULL, NULL, TF_BY_NAME },
  { "CompareAndBitpack", "CompareAndBitpack", "", NULL, NULL, TF_BY_NAME },
  { "Dequantize", "Dequantize", "mode", NULL, NULL, TF_BY_NAME },
  { "FakeQuantWithMinMaxArgs", "FakeQuantWithMinMaxArgs", "min max num_bits narrow_range",
    NULL, NULL, TF_BY_PLUGIN },
  { "FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVars", "num_bits narrow_range", NULL,
    NULL, TF_BY_PLUGIN },
  { "FakeQuantWithMinMaxVarsPerChannel", "FakeQuantWithMinMaxVarsPerChannel",
    "num_bits narrow_range", NULL, NULL, TF_BY_PLUGIN },
  { 0 },
};
