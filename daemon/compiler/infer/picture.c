/* Pictures and sound: boxes, crops, colours, spectrograms. */
#include "infer/infer_internal.h"

/* Boxes that stay: how many is known when the op runs. `arg`: outputs in front of the
 * number of valid ones that have one entry per box; the first holds indices. */
static void boxes_shape(struct infer *in, struct oc_op *op)
{
  uint32_t n = (uint32_t)in->rule->arg;
  int64_t kept = infer_fresh(in);
  int64_t most = 0;
  const struct infer_cells *c = infer_content(in, op, 2);

  if (infer_bool_attr(op, "pad_to_max_output_size", false) && c &&
      infer_cell_int(c, 0, &most) && most >= 0)
    kept = most;
  for (uint32_t k = 0; k < op->n_outputs; k++) {
    if (k < n)
      infer_set_dims(in, op, k, k == 0 ? OC_DT_I32 : infer_dtype(op, 1), &kept, 1);
    else
      infer_set(in, op, k, OC_DT_I32, oc_shape_scalar());
  }
}

/* Every box gives one crop of the same size; layout is NHWC. */
static void crop_shape(struct infer *in, struct oc_op *op)
{
  const struct infer_cells *size = infer_content(in, op, 3);
  int64_t dims[4] = { infer_dim(op, 1, 0), OC_DIM_UNKNOWN, OC_DIM_UNKNOWN,
                      infer_dim(op, 0, 3) };

  for (uint32_t i = 0; i < 2; i++)
    dims[1 + i] = size && size->n == 2 ? infer_cell_dim(in, size, i) : infer_fresh(in);
  infer_set_dims(in, op, 0, OC_DT_F32, dims, 4);
}

static int64_t power_of_two(int64_t n)
{
  int64_t p = 1;

  while (p < n && p < INT32_MAX)
    p *= 2;
  return p;
}

/* [samples, channels] -> [channels, windows, frequencies]. */
static void spectrogram_shape(struct infer *in, struct oc_op *op)
{
  int64_t window = infer_int_attr(op, "window_size", 0);
  int64_t stride = infer_int_attr(op, "stride", 0);

  infer_set(in, op, 0, OC_DT_F32, oc_shape_unknown());
  if (window < 1 || stride < 1 || window > INT32_MAX || stride > INT32_MAX) {
    infer_conflict(in, op, "window_size or stride are out of range");
    return;
  }

  int64_t samples = infer_dim(op, 0, 0);
  int64_t windows = infer_div(in, infer_sub(in, samples, window), stride);
  int64_t dims[3] = { infer_dim(op, 0, 1), infer_add(in, windows, 1),
                      1 + power_of_two(window) / 2 };

  if (samples >= 0 && samples < window)
    dims[1] = 0;
  infer_set_dims(in, op, 0, OC_DT_F32, dims, 3);
}

static void mfcc_shape(struct infer *in, struct oc_op *op)
{
  int64_t dims[3] = { infer_dim(op, 0, 0), infer_dim(op, 0, 1),
                      infer_int_attr(op, "dct_coefficient_count", 13) };

  if (dims[2] < 0)
    infer_conflict(in, op, "dct_coefficient_count is negative");
  else
    infer_set_dims(in, op, 0, OC_DT_F32, dims, 3);
}

#define LIKE(t)                                                                          \
  {                                                                                      \
    .type = t, .shape = infer_like_first                                                 \
  }

const struct infer_rule infer_picture_rules[] = {
  { .type = "NonMaxSuppression", .shape = boxes_shape, .arg = 1 },
  { .type = "NonMaxSuppressionV2", .shape = boxes_shape, .arg = 1 },
  { .type = "NonMaxSuppressionV3", .shape = boxes_shape, .arg = 1 },
  { .type = "NonMaxSuppressionV4", .shape = boxes_shape, .arg = 1 },
  { .type = "NonMaxSuppressionV5", .shape = boxes_shape, .arg = 2 },
  { .type = "CropAndResize", .shape = crop_shape },
  { .type = "AudioSpectrogram", .shape = spectrogram_shape },
  { .type = "Mfcc", .shape = mfcc_shape },
  LIKE("AdjustContrast"),
  LIKE("AdjustHue"),
  LIKE("AdjustSaturation"),
  LIKE("HSVToRGB"),
  LIKE("RGBToHSV"),
  LIKE("DrawBoundingBoxes"),
  LIKE("DrawBoundingBoxesV2"),
  LIKE("CheckNumerics"),
  LIKE("Conj"),
  LIKE("CumulativeLogsumexp"),
  LIKE("FFT"),
  LIKE("FFT2D"),
  LIKE("IFFT"),
  LIKE("IFFT2D"),
  LIKE("MatrixBandPart"),
  LIKE("RandomShuffle"),
  { .type = NULL },
};
