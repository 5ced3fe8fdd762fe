/* What the files of aipp/ share: one block with the input it is for. */
#ifndef OC_AIPP_INTERNAL_H
#define OC_AIPP_INTERNAL_H

#include "aipp/aipp.h"

struct aipp_plan {
  const struct oc_aipp_op *conf;
  struct oc_op *data;
  bool nhwc;
  int64_t batch, height, width; /* of the model's tensor, negative: open */
  int64_t src_h, src_w;         /* of the image */
  int64_t channels;             /* bytes per pixel in a line of the image */
};

static inline int64_t aipp_int(const struct oc_aipp_op *op, enum oc_aipp_field f)
{
  return op->v[f].i;
}

/* Finds the input and checks the block against it; false with a finding. */
bool aipp_check(const struct oc_graph *g, const struct oc_aipp_op *op,
                const struct oc_aipp_options *o, struct oc_findings *fs,
                struct aipp_plan *ret);

#endif
