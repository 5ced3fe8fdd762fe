/* What the way into sub-graphs and the way out of them share. */
#ifndef OC_INFER_CONTROL_H
#define OC_INFER_CONTROL_H

#include "infer/infer_internal.h"

enum infer_flow { INFER_FLOW_BRANCH, INFER_FLOW_LOOP, INFER_FLOW_SCAN, INFER_FLOW_WHILE };
enum infer_flow infer_flow_of(const struct oc_op *op);

/* Data ops that a body gets anew in each round; captured tensors have a parent index. */
uint32_t infer_own_inputs(const struct oc_graph *body);
/* Of those of a Scan, how many are carried. */
uint32_t infer_scan_states(const struct oc_op *op);
/* Entry `i` of a list of axes, 0 when it has none. */
uint32_t infer_scan_axis(struct infer *in, const struct oc_op *op, const char *attr,
                         uint32_t i, uint32_t rank);
/* The widened shape of a body's input, NULL in the first round. */
const struct oc_shape *infer_widened(const struct infer_frame *f, uint32_t i);

#endif
