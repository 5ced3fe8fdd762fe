/* The register as the build-time program writes it. */
#ifndef OC_BASE_FINDING_INTERNAL_H
#define OC_BASE_FINDING_INTERNAL_H

#include "base/finding.h"

/* OC_FINDING_COUNT rows, indexed by id. */
extern const struct oc_finding_info oc_finding_table[];

#endif
