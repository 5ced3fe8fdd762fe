/* The tables of all operator groups, and how a row is found. */
#include "import/tensorflow/rules.h"

#include "base/cleanup.h"
#include "base/map.h"
#include "import/tensorflow/build.h"

static const struct tf_rule *const groups[] = {
  tf_elementwise_rules, tf_nn_rules,      tf_matrix_rules, tf_reduce_rules,
  tf_layout_rules,      tf_index_rules,   tf_image_rules,  tf_random_rules,
  tf_quant_rules,       tf_control_rules,
};

const struct tf_rule *tf_rule_at(size_t i)
{
  for (size_t g = 0; g < OC_COUNT(groups); g++)
    for (const struct tf_rule *r = groups[g]; r->op; r++)
      if (i-- == 0)
        return r;
  return NULL;
}

static bool index_rules(struct oc_map *m)
{
  for (size_t g = 0; g < OC_COUNT(groups); g++)
    for (const struct tf_rule *r = groups[g]; r->op; r++)
      if (oc_map_puts(m, r->op, (void *)r))
        return false;
  return true;
}

const struct tf_rule *tf_find_rule(struct tf_import *im, const char *op)
{
  if (im->rules.n == 0 && !index_rules(&im->rules)) {
    im->arena->failed = true;
    return NULL;
  }
  return oc_map_gets(&im->rules, op);
}
