/* The tables of all operator groups, and how a row is found. */
#include <string.h>

#include "import/onnx/build.h"

static const struct onnx_rule *const groups[] = {
  onnx_elementwise_rules, onnx_activation_rules, onnx_conv_rules,
  onnx_pool_rules,        onnx_norm_rules,       onnx_matmul_rules,
  onnx_reduce_rules,      onnx_layout_rules,     onnx_slice_rules,
  onnx_index_rules,       onnx_resize_rules,     onnx_recurrent_rules,
  onnx_random_rules,      onnx_sequence_rules,   onnx_quant_rules,
  onnx_detect_rules,      onnx_control_rules,    onnx_vendor_rules,
  onnx_microsoft_rules,
};

enum { N_GROUPS = sizeof(groups) / sizeof(groups[0]) };

const struct onnx_rule *onnx_rule_at(size_t i)
{
  for (size_t g = 0; g < N_GROUPS; g++)
    for (const struct onnx_rule *r = groups[g]; r->op; r++)
      if (i-- == 0)
        return r;
  return NULL;
}

/* Rows of one operator stand together; the map holds the first. */
static bool index_rules(struct oc_map *m)
{
  for (size_t g = 0; g < N_GROUPS; g++)
    for (const struct onnx_rule *r = groups[g]; r->op; r++)
      if (!oc_map_has(m, oc_str_of(r->op)) && oc_map_puts(m, r->op, (void *)r))
        return false;
  return true;
}

const struct onnx_rule *onnx_find_rule(struct onnx_import *im, const char *domain,
                                       const char *op, int64_t opset, bool *ret_known)
{
  *ret_known = false;
  if (im->rules.n == 0 && !index_rules(&im->rules)) {
    im->arena->failed = true;
    return NULL;
  }
  bool npu = strcmp(domain, "npu") == 0;
  if (domain[0] != '\0' && !npu) {
    op = oc_arena_printf(im->arena, "%s::%s", domain, op);
    if (!op)
      return NULL;
  }
  const struct onnx_rule *r = oc_map_gets(&im->rules, op);
  for (; r && r->op && strcmp(r->op, op) == 0; r++) {
    if (npu && strncmp(op, "NPU", 3) != 0 && strcmp(op, "WeightQuantBatchMatmulV2") != 0)
      break;
    *ret_known = true;
    if (npu || (opset >= r->since && (r->until == 0 || opset <= r->until)))
      return r;
  }
  return NULL;
}
