/* Kernel, strides, pads and dilations of convolutions and pools, checked. */
#ifndef OC_IMPORT_ONNX_SPATIAL_H
#define OC_IMPORT_ONNX_SPATIAL_H

#include "import/onnx/build.h"

enum { ONNX_MAX_SPATIAL = 3 };

struct onnx_spatial {
  size_t n;       /* 1, 2 or 3 spatial axes */
  size_t n_given; /* the same; kept for lists that may be longer */
  bool has_kernel;
  bool same;    /* auto_pad SAME_UPPER or SAME_LOWER */
  bool valid;   /* auto_pad VALID */
  bool dilated; /* some dilation is not 1 */
  bool padded;  /* some pad is not 0 */
  int64_t kernel[ONNX_MAX_SPATIAL];
  int64_t strides[ONNX_MAX_SPATIAL];
  int64_t dilations[ONNX_MAX_SPATIAL];
  int64_t pads[2 * ONNX_MAX_SPATIAL]; /* begin..., end... */
};

/* Reads the attributes. The number of axes comes from kernel_shape, else from the rank of
 * input `weights` less `lead`, else from the longest list. False when refused. */
bool onnx_read_spatial(struct onnx_cx *cx, uint32_t weights, int64_t lead,
                       struct onnx_spatial *ret);
/* Two leading `fill`s and the values; a single axis becomes (fill, value). Returns the
 * length. */
size_t onnx_padded(const struct onnx_spatial *s, const int64_t *values, int64_t fill,
                   int64_t *ret);
/* Pads as pairs per axis, a single axis with a pair of zeros in front. */
size_t onnx_pairs(const struct onnx_spatial *s, int64_t *ret);
/* Conv2D or Conv3D of three pieces (bias may be NULL), one axis turned into two and back.
 */
struct oc_op *onnx_conv_of(struct onnx_cx *cx, const struct onnx_spatial *s,
                           struct oc_op *x, struct oc_op *w, struct oc_op *bias);

#endif
