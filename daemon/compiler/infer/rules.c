/* From IR type to rule: the families' tables joined into one map per run. */
#include "infer/infer_internal.h"

static const struct infer_rule *const families[] = {
  infer_elementwise_rules, infer_broadcast_rules,  infer_reduce_rules,
  infer_count_rules,       infer_matrix_rules,     infer_einsum_rules,
  infer_convolution_rules, infer_transposed_rules, infer_pooling_rules,
  infer_normalise_rules,   infer_reshape_rules,    infer_layout_rules,
  infer_slice_rules,       infer_strided_rules,    infer_pad_rules,
  infer_gather_rules,      infer_scatter_rules,    infer_join_rules,
  infer_split_rules,       infer_resize_rules,     infer_recurrent_rules,
  infer_control_rules,     infer_generate_rules,   infer_random_rules,
  infer_quantise_rules,    infer_detect_rules,     infer_vendor_rules,
  infer_sequence_rules,    infer_picture_rules,    infer_tensor_array_rules,
};

enum { N_FAMILIES = sizeof(families) / sizeof(families[0]) };

static int fill(struct infer *in)
{
  for (size_t f = 0; f < N_FAMILIES; f++)
    for (const struct infer_rule *r = families[f]; r->type; r++)
      if (oc_map_puts(&in->rules, r->type, (void *)r) < 0)
        return OC_E_NOMEM;
  return 0;
}

const struct infer_rule *infer_find(struct infer *in, const char *type)
{
  if (in->rules.n == 0 && fill(in) < 0)
    return NULL;
  return oc_map_gets(&in->rules, type);
}

const char *oc_infer_type_at(size_t i)
{
  for (size_t f = 0; f < N_FAMILIES; f++)
    for (const struct infer_rule *r = families[f]; r->type; r++)
      if (i-- == 0)
        return r->type;
  return NULL;
}

bool oc_infer_knows(const char *type)
{
  for (size_t i = 0;; i++) {
    const char *known = oc_infer_type_at(i);

    if (!known)
      return false;
    if (oc_streq(known, type))
      return true;
  }
}
