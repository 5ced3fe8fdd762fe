/* What a slice takes of each dim: shared by the kinds of slices. */
#ifndef OC_INFER_SPAN_H
#define OC_INFER_SPAN_H

#include "infer/infer_internal.h"

struct infer_span {
  bool known;
  int64_t begin,
      step;     /* `begin` clamped; with a negative step the last element comes first */
  int64_t size; /* of the result; a symbol or unknown when open */
};

/* One axis with bounds from entry `i` of the cells: numbers, or symbols that name the dim
 * itself. A step of 0 means that it is not known. */
struct infer_span infer_span_of(struct infer *in, int64_t dim,
                                const struct infer_cells *b, const struct infer_cells *e,
                                size_t i, int64_t step);
/* Every dim of input 0 as it is. */
void infer_whole(const struct oc_op *op, struct infer_span *spans, uint32_t rank);
void infer_set_spans(struct infer *in, struct oc_op *op, const struct infer_span *spans,
                     uint32_t rank);
/* Follows the elements that the spans select; every span has to be known. */
void infer_copy_spans(struct infer *in, struct oc_op *op, const struct infer_span *spans,
                      uint32_t rank);

#endif
