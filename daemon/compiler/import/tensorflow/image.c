/* Images and sound: resizing, boxes, colours, spectrograms. */
#include "import/tensorflow/build.h"

static void resized(struct tf_cx *cx)
{
  tf_set_image_format(cx, OC_FMT_NHWC);
}

/* The result is float32 whatever the image is. */
static void resized_float(struct tf_cx *cx)
{
  resized(cx);
  (void)oc_attr_set_dtype(cx->im->graph, cx->op, "dtype", OC_DT_F32);
}

const struct tf_rule tf_image_rules[] = {
  { "AdjustContrastv2", "AdjustContrast", "data_format mean_mode", NULL, NULL,
    TF_BY_ENGINE },
  { "AdjustHue", "AdjustHue", "data_format", NULL, NULL, TF_BY_NAME },
  { "AdjustSaturation", "AdjustSaturation", "", NULL, NULL, TF_BY_NAME },
  { "AudioSpectrogram", "AudioSpectrogram", "window_size stride magnitude_squared", NULL,
    NULL, TF_BY_NAME },
  { "CombinedNonMaxSuppression", "CombinedNonMaxSuppression", "pad_per_class clip_boxes",
    NULL, NULL, TF_BY_NAME },
  { "CropAndResize", "CropAndResize", "extrapolation_value method", NULL, resized,
    TF_BY_NAME },
  { "DrawBoundingBoxes", "DrawBoundingBoxes", "", NULL, NULL, TF_BY_NAME },
  { "DrawBoundingBoxesV2", "DrawBoundingBoxesV2", "", NULL, NULL, TF_BY_NAME },
  { "ExtractGlimpse", "ExtractGlimpse", "centered normalized uniform_noise noise", NULL,
    NULL, TF_BY_NAME },
  { "ExtractImagePatches", "ExtractImagePatches", "ksizes strides rates padding", NULL,
    NULL, TF_BY_NAME },
  { "ExtractVolumePatches", "ExtractVolumePatches", "ksizes strides padding", NULL, NULL,
    TF_BY_NAME },
  { "HSVToRGB", "HSVToRGB", "", NULL, NULL, TF_BY_NAME },
  { "ImageProjectiveTransformV2", "ImageProjectiveTransform", "interpolation fill_mode",
    NULL, NULL, TF_BY_ENGINE },
  { "Mfcc", "Mfcc",
    "upper_frequency_limit lower_frequency_limit filterbank_channel_count "
    "dct_coefficient_count",
    NULL, NULL, TF_BY_NAME },
  { "NonMaxSuppression", "NonMaxSuppression", "iou_threshold", NULL, NULL, TF_BY_NAME },
  { "NonMaxSuppressionV2", "NonMaxSuppressionV2", "", NULL, NULL, TF_BY_NAME },
  { "NonMaxSuppressionV3", "NonMaxSuppressionV3", "offset", NULL, NULL, TF_BY_NAME },
  { "NonMaxSuppressionV4", "NonMaxSuppressionV4", "pad_to_max_output_size", NULL, NULL,
    TF_BY_NAME },
  { "NonMaxSuppressionV5", "NonMaxSuppressionV5", "pad_to_max_output_size T", NULL, NULL,
    TF_BY_NAME },
  { "NonMaxSuppressionWithOverlaps", "NonMaxSuppressionWithOverlaps", "", NULL, NULL,
    TF_BY_NAME },
  { "RGBToHSV", "RGBToHSV", "", NULL, NULL, TF_BY_NAME },
  { "ResizeArea", "ResizeArea", "align_corners", NULL, resized, TF_BY_NAME },
  { "ResizeBicubic", "ResizeBicubic", "align_corners half_pixel_centers", NULL,
    resized_float, TF_BY_NAME },
  { "ResizeBilinear", "ResizeBilinearV2", "align_corners half_pixel_centers", NULL,
    resized_float, TF_BY_ENGINE },
  { "ResizeNearestNeighbor", "ResizeNearestNeighborV2",
    "align_corners half_pixel_centers", NULL, resized, TF_BY_ENGINE },
  { "ScaleAndTranslate", "ScaleAndTranslate", "kernel_type antialias", NULL, NULL,
    TF_BY_NAME },
  { "SampleDistortedBoundingBox", "SampleDistortedBoundingBox",
    "seed seed2 min_object_covered aspect_ratio_range area_range max_attempts "
    "use_image_if_no_bounding_boxes",
    NULL, NULL, TF_BY_NAME },
  { "ROIAlign", "ROIAlign",
    "spatial_scale pooled_height pooled_width sample_num roi_end_mode pool_mode", NULL,
    NULL, TF_BY_NAME },
  { "DenseImageWarp", "DenseImageWarp", "", NULL, NULL, TF_BY_NAME },
  { "QuantizedResizeBilinear", "QuantizedResizeBilinear",
    "align_corners half_pixel_centers", NULL, resized, TF_BY_NAME },
  { 0 },
};
