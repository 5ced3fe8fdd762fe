/* --insert_op_conf: preprocessing of images (AIPP) as text, in protobuf's text format:
 *
 *   aipp_op {
 *     aipp_mode: static
 *     related_input_rank: 0
 *     input_format: YUV420SP_U8
 *     src_image_size_w: 640
 *     ...
 *   }
 *
 * Fields and their types are those of the vendor's public schema. What a value means for
 * a model is not looked at here. */
#ifndef OC_LISTS_AIPP_H
#define OC_LISTS_AIPP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/finding.h"

enum oc_aipp_mode { OC_AIPP_UNDEFINED, OC_AIPP_STATIC, OC_AIPP_DYNAMIC };

/* Image formats, in the vendor's numbering. */
enum oc_aipp_format {
  OC_AIPP_NO_FORMAT,
  OC_AIPP_YUV420SP_U8,
  OC_AIPP_XRGB8888_U8,
  OC_AIPP_RGB888_U8,
  OC_AIPP_YUV400_U8,
  OC_AIPP_NC1HWC0DI_FP16,
  OC_AIPP_NC1HWC0DI_S8,
  OC_AIPP_ARGB8888_U8,
  OC_AIPP_YUYV_U8,
  OC_AIPP_YUV422SP_U8,
  OC_AIPP_AYUV444_U8,
  OC_AIPP_RAW10,
  OC_AIPP_RAW12,
  OC_AIPP_RAW16,
  OC_AIPP_RAW24,
  OC_AIPP_N_FORMATS,
};
const char *oc_aipp_format_name(enum oc_aipp_format f); /* "RGB888_U8" */

enum oc_aipp_kind {
  OC_AIPP_INT,  /* 32 bits with a sign */
  OC_AIPP_UINT, /* 32 bits without */
  OC_AIPP_FLOAT,
  OC_AIPP_BOOL,
  OC_AIPP_MODE,
  OC_AIPP_FORMAT,
};

/* The vendor's fields: name and kind. */
/* clang-format off */
#define OC_AIPP_FIELDS(X) \
  X(aipp_mode, MODE) X(related_input_rank, UINT) X(input_edge_idx, UINT) \
  X(max_src_image_size, UINT) X(support_rotation, BOOL) X(input_format, FORMAT) \
  X(csc_switch, BOOL) X(cpadding_value, FLOAT) X(rbuv_swap_switch, BOOL) \
  X(ax_swap_switch, BOOL) X(single_line_mode, BOOL) X(src_image_size_w, INT) \
  X(src_image_size_h, INT) X(crop, BOOL) X(load_start_pos_w, INT) \
  X(load_start_pos_h, INT) X(crop_size_w, INT) X(crop_size_h, INT) X(resize, BOOL) \
  X(resize_output_w, INT) X(resize_output_h, INT) X(padding, BOOL) \
  X(left_padding_size, INT) X(right_padding_size, INT) X(top_padding_size, INT) \
  X(bottom_padding_size, INT) X(mean_chn_0, INT) X(mean_chn_1, INT) \
  X(mean_chn_2, INT) X(mean_chn_3, INT) X(min_chn_0, FLOAT) X(min_chn_1, FLOAT) \
  X(min_chn_2, FLOAT) X(min_chn_3, FLOAT) X(var_reci_chn_0, FLOAT) \
  X(var_reci_chn_1, FLOAT) X(var_reci_chn_2, FLOAT) X(var_reci_chn_3, FLOAT) \
  X(matrix_r0c0, INT) X(matrix_r0c1, INT) X(matrix_r0c2, INT) X(matrix_r1c0, INT) \
  X(matrix_r1c1, INT) X(matrix_r1c2, INT) X(matrix_r2c0, INT) X(matrix_r2c1, INT) \
  X(matrix_r2c2, INT) X(output_bias_0, INT) X(output_bias_1, INT) \
  X(output_bias_2, INT) X(input_bias_0, INT) X(input_bias_1, INT) \
  X(input_bias_2, INT)
/* clang-format on */

enum oc_aipp_field {
#define X(name, kind) OC_AIPP_##name,
  OC_AIPP_FIELDS(X)
#undef X
      OC_AIPP_N_FIELDS,
};
const char *oc_aipp_field_name(enum oc_aipp_field f);
enum oc_aipp_kind oc_aipp_field_kind(enum oc_aipp_field f);

struct oc_aipp_value {
  uint32_t line; /* 0: not given */
  int64_t i;     /* all kinds but FLOAT */
  double f;
};

struct oc_aipp_op {
  uint32_t line;
  struct oc_aipp_value v[OC_AIPP_N_FIELDS];
};

struct oc_aipp_list {
  struct oc_aipp_op *ops;
  size_t n;
};

/* Lives in `arena`. OC_E_FORMAT and findings with the line when the text is wrong;
 * OC_E_NOMEM. */
int oc_aipp_parse(struct oc_arena *arena, const void *bytes, size_t len,
                  struct oc_findings *fs, struct oc_aipp_list *ret);

#endif
