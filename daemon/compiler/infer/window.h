/* Windows that slide over spatial dims: what convolution and pooling share. */
#ifndef OC_INFER_WINDOW_H
#define OC_INFER_WINDOW_H

#include "infer/infer_internal.h"

enum infer_padding { INFER_PAD_GIVEN, INFER_PAD_SAME, INFER_PAD_VALID };

/* How a window moves along each of up to three spatial dims. */
struct infer_window {
  uint32_t n;       /* spatial dims: rank - 2 */
  uint32_t first;   /* where they start: 2 (NCHW) or 1 (NHWC) */
  uint32_t channel; /* 1 or rank - 1 */
  int64_t kernel[3], stride[3], dilation[3];
  int64_t pad[3]; /* both ends together */
  enum infer_padding padding;
  bool ceil;
};

/* Reads layout, strides, dilations, pads and the padding words from the op's attributes.
 * False (and a conflict) when the rank of `x` is known and not `n` + 2. */
bool infer_window_read(struct infer *in, const struct oc_op *op, uint32_t n,
                       struct infer_window *ret);
/* Fills kernel from a list attribute that is n or n + 2 long. */
void infer_window_kernel(const struct oc_op *op, const char *attr,
                         struct infer_window *w);
/* Size of the result along spatial dim `i`. */
int64_t infer_window_size(struct infer *in, const struct infer_window *w, uint32_t i,
                          int64_t size);

#endif
