/* What the targets of the importers share. */
#ifndef OC_FUZZ_PIPELINE_H
#define OC_FUZZ_PIPELINE_H

#include "base/finding.h"

struct oc_graph;

void fuzz_pipeline(struct oc_graph *graph, struct oc_findings *findings);

#endif
