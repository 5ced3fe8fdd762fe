/* What the files of risk/ share: an estimate per tensor. */
#ifndef OC_RISK_INTERNAL_H
#define OC_RISK_INTERNAL_H

#include "risk/risk.h"

#define OC_F16_MAX 65504.0
/* Four times the smallest number with all its digits: below it a good part of the values
 * around has lost some. */
#define OC_F16_NORMAL   2.44e-4
#define OC_F16_SMALLEST 5.96e-8 /* below half of it nothing is left */

struct oc_estimate {
  double rms;    /* typical magnitude, 0 for an all-zero tensor */
  double peak;   /* the largest to be expected */
  bool positive; /* no negative elements: sums grow with their length */
  double small;  /* not 0: a large constant was added to something of this magnitude */
};

/* What is known about a constant's elements. */
struct oc_const_stats {
  uint64_t n;
  uint64_t over;  /* finite, and infinite in float16 */
  uint64_t flush; /* not zero, and zero in float16 */
  double max_abs;
  struct oc_estimate estimate;
};

/* constants.c: false when it holds no floating point numbers (or over `most` elements).
 */
bool oc_risk_constant(const struct oc_value *v, uint64_t most,
                      struct oc_const_stats *ret);

/* estimate.c: outputs of an op from its inputs. `in` has one element per input (all zero
 * when unknown). */
void oc_risk_estimate(const struct oc_op *op, const struct oc_estimate *in,
                      struct oc_estimate *out);
/* The constant behind an input, through Casts; NULL when it is none. */
const struct oc_op *oc_risk_constant_of(const struct oc_input *in);
/* Elements that one result of a reduction or product is made of; 1 when not known. */
double oc_risk_length(const struct oc_op *op);

#endif
