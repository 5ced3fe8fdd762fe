/* Ops that are likely to fail in half precision, found without running the model.
 *
 * Magnitudes are carried through the judged graph: exactly for constants, as an estimate
 * (root mean square and peak) for everything else, with graph inputs taken as about 1. An
 * op that computes in float16 is told of when something it reads or makes leaves
 * float16's range, vanishes in it, or loses its digits to a large constant. An estimate
 * is not a proof: a saturating function behind may make an overflow harmless, and data
 * that is not about 1 moves everything. Bodies of control flow are not looked into.
 *
 * Pure: reads the graph after oc_precision_resolve(), adds findings. `mark` of every op
 * is used while it runs and 0 afterwards. */
#ifndef OC_RISK_RISK_H
#define OC_RISK_RISK_H

#include <stdint.h>

#include "base/error.h"
#include "base/finding.h"
#include "graph/graph.h"

enum oc_risk_depth {
  OC_RISK_SMALL_CONSTANTS, /* only constants of few elements: cheap, for every plan */
  OC_RISK_ALL,
};

struct oc_risk_result {
  uint32_t n_ops; /* ops with a finding */
};

/* Findings name the op, why, and the keep_dtype line. At most 100 per id, then a count.
 * OC_E_NOMEM. */
int oc_risk_analyse(struct oc_graph *g, enum oc_risk_depth depth, struct oc_findings *fs,
                    struct oc_risk_result *ret, struct oc_error *err);

#endif
