/* The numbers of the format that people read as words: partition types and layouts.
 *
 * In MODEL_DEF a layout is its word; the numbers stand in MODEL_INOUT_INFO and in the
 * integer attributes beside it. */
#include <string.h>

#include "base/cleanup.h"
#include "om_internal.h"

static const char *const part_names[] = {
  [0] = "MODEL_DEF",
  [1] = "WEIGHTS_DATA",
  [2] = "TASK_INFO",
  [3] = "TBE_KERNELS",
  [4] = "CUST_AICPU_KERNELS",
  [5] = "SO_BINS",
  [6] = "FLOW_MODEL",
  [7] = "FLOW_SUBMODEL",
  [8] = "MODEL_INOUT_INFO",
  [9] = "STATIC_TASK_DESC",
  [10] = "DYNAMIC_TASK_DESC",
  [11] = "TASK_PARAM",
  [12] = "TILING_DATA",
  [20] = "PRE_MODEL_DESC",
  [21] = "PRE_MODEL_SQE",
  [22] = "PRE_KERNEL_ARGS",
  [23] = "PRE_MODEL_DESC_EXTEND",
  [24] = "BUNDLE_MODEL_INFO",
  [25] = "BUNDLE_MODEL_VAR_INFO",
  [26] = "CUSTOM_OPS",
};

static const char *const formats[] = {
  "NCHW", "NHWC", "ND", "NC1HWC0", "FRACTAL_Z", "NC1C0HWPAD", "NHWC1C0", "FSR_NCHW",
};

static const struct {
  const char *name;
  int32_t number;
} sparse_formats[] = {
  { "NC1HWC0_C04", 12 }, { "FRACTAL_Z_C04", 13 }, { "CHWN", 14 },  { "HWCN", 16 },
  { "NDHWC", 27 },       { "FRACTAL_NZ", 29 },    { "NCDHW", 30 }, { "DHWCN", 31 },
  { "NDC1HWC0", 32 },    { "FRACTAL_Z_3D", 33 },  { "CN", 34 },    { "NC", 35 },
  { "DHWNC", 36 },       { "NCL", 47 },
};

const char *oc_om_part_name(uint32_t type)
{
  return type < OC_COUNT(part_names) ? part_names[type] : NULL;
}

int32_t oc_om_format_number(const char *layout)
{
  for (size_t i = 0; i < OC_COUNT(formats); i++)
    if (strcmp(formats[i], layout) == 0)
      return (int32_t)i;
  for (size_t i = 0; i < OC_COUNT(sparse_formats); i++)
    if (strcmp(sparse_formats[i].name, layout) == 0)
      return sparse_formats[i].number;
  return 2;
}
