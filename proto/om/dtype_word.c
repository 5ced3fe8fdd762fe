/* The words that dtypes have inside the format ("DT_FLOAT16"): attributes of descriptors
 * that record the framework's dtype use them. */
#include "base/cleanup.h"
#include "om_internal.h"

static const char *const words[] = {
  [OC_DT_UNDEFINED] = "DT_UNDEFINED",
  [OC_DT_F32] = "DT_FLOAT",
  [OC_DT_F16] = "DT_FLOAT16",
  [OC_DT_I8] = "DT_INT8",
  [OC_DT_U8] = "DT_UINT8",
  [OC_DT_I16] = "DT_INT16",
  [OC_DT_U16] = "DT_UINT16",
  [OC_DT_I32] = "DT_INT32",
  [OC_DT_I64] = "DT_INT64",
  [OC_DT_U32] = "DT_UINT32",
  [OC_DT_U64] = "DT_UINT64",
  [OC_DT_BOOL] = "DT_BOOL",
  [OC_DT_F64] = "DT_DOUBLE",
  [OC_DT_STRING] = "DT_STRING",
  [OC_DT_DUAL_SUB_I8] = "DT_DUAL_SUB_INT8",
  [OC_DT_DUAL_SUB_U8] = "DT_DUAL_SUB_UINT8",
  [OC_DT_C64] = "DT_COMPLEX64",
  [OC_DT_C128] = "DT_COMPLEX128",
  [OC_DT_QI8] = "DT_QINT8",
  [OC_DT_QI16] = "DT_QINT16",
  [OC_DT_QI32] = "DT_QINT32",
  [OC_DT_QU8] = "DT_QUINT8",
  [OC_DT_QU16] = "DT_QUINT16",
  [OC_DT_RESOURCE] = "DT_RESOURCE",
  [OC_DT_STRING_REF] = "DT_STRING_REF",
  [OC_DT_DUAL] = "DT_DUAL",
  [OC_DT_VARIANT] = "DT_VARIANT",
  [OC_DT_BF16] = "DT_BF16",
  [OC_DT_I4] = "DT_INT4",
  [OC_DT_U1] = "DT_UINT1",
  [OC_DT_I2] = "DT_INT2",
  [OC_DT_U2] = "DT_UINT2",
  [OC_DT_C32] = "DT_COMPLEX32",
  [OC_DT_HIF8] = "DT_HIFLOAT8",
  [OC_DT_F8E5M2] = "DT_FLOAT8_E5M2",
  [OC_DT_F8E4M3] = "DT_FLOAT8_E4M3FN",
  [OC_DT_F8E8M0] = "DT_FLOAT8_E8M0",
  [OC_DT_F6E3M2] = "DT_FLOAT6_E3M2",
  [OC_DT_F6E2M3] = "DT_FLOAT6_E2M3",
  [OC_DT_F4E2M1] = "DT_FLOAT4_E2M1",
  [OC_DT_F4E1M2] = "DT_FLOAT4_E1M2",
  [OC_DT_HIF4] = "DT_HIFLOAT4",
};

_Static_assert(OC_COUNT(words) == OC_DT_COUNT, "one word per dtype");

const char *oc_om_dtype_word(enum oc_dtype d)
{
  return (unsigned)d < OC_DT_COUNT ? words[d] : words[OC_DT_UNDEFINED];
}
