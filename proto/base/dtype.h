/* Element types of tensors.
 *
 * Words: `float16 float32 bfloat16` in lists, JSON and files (oc_dtype_name); `f16 f32
 * bf16` in terminal tables and in schema/soc (oc_dtype_short). Two numberings occur in
 * an .om file: S in tensor descriptors, R (the C API's) everywhere else. */
#ifndef OC_BASE_DTYPE_H
#define OC_BASE_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/* The numbers are S, the serialised numbering, so no table is needed for it. */
enum oc_dtype {
  OC_DT_UNDEFINED = 0,
  OC_DT_F32 = 1,
  OC_DT_F16 = 2,
  OC_DT_I8 = 3,
  OC_DT_U8 = 4,
  OC_DT_I16 = 5,
  OC_DT_U16 = 6,
  OC_DT_I32 = 7,
  OC_DT_I64 = 8,
  OC_DT_U32 = 9,
  OC_DT_U64 = 10,
  OC_DT_BOOL = 11,
  OC_DT_F64 = 12,
  OC_DT_STRING = 13,
  OC_DT_DUAL_SUB_I8 = 14,
  OC_DT_DUAL_SUB_U8 = 15,
  OC_DT_C64 = 16,
  OC_DT_C128 = 17,
  OC_DT_QI8 = 18,
  OC_DT_QI16 = 19,
  OC_DT_QI32 = 20,
  OC_DT_QU8 = 21,
  OC_DT_QU16 = 22,
  OC_DT_RESOURCE = 23,
  OC_DT_STRING_REF = 24,
  OC_DT_DUAL = 25,
  OC_DT_VARIANT = 26,
  OC_DT_BF16 = 27,
  OC_DT_I4 = 28,
  OC_DT_U1 = 29,
  OC_DT_I2 = 30,
  OC_DT_U2 = 31,
  OC_DT_C32 = 32,
  OC_DT_HIF8 = 33,
  OC_DT_F8E5M2 = 34,
  OC_DT_F8E4M3 = 35,
  OC_DT_F8E8M0 = 36,
  OC_DT_F6E3M2 = 37,
  OC_DT_F6E2M3 = 38,
  OC_DT_F4E2M1 = 39,
  OC_DT_F4E1M2 = 40,
  OC_DT_HIF4 = 41,
  OC_DT_COUNT = 42,
};

/* "float16"; "undefined" for anything out of range. */
const char *oc_dtype_name(enum oc_dtype d);
/* "f16"; the code of the terminal tables and of schema/soc. */
const char *oc_dtype_short(enum oc_dtype d);
/* Long words ("float16", "float", "float32", "double", "float64", "hifloat8", ...), exact
 * case. */
bool oc_dtype_parse(struct oc_str word, enum oc_dtype *ret);
/* Short codes ("f16", "b8" for bool, "hf8", "e4m3", "na" = undefined, ...), exact case.
 */
bool oc_dtype_parse_short(struct oc_str code, enum oc_dtype *ret);
/* R numbering (aclDataType); 28 for undefined. */
int oc_dtype_runtime(enum oc_dtype d);
enum oc_dtype oc_dtype_from_runtime(int r);
/* Bits of one element, 0 for strings, resources and undefined. */
unsigned oc_dtype_bits(enum oc_dtype d);
/* float32, float16 or bfloat16: the three that precision modes raise and lower. */
bool oc_dtype_is_float3(enum oc_dtype d);
/* Any floating point type, 8-bit and smaller ones included; not complex. */
bool oc_dtype_is_float(enum oc_dtype d);
bool oc_dtype_is_int(enum oc_dtype d);
bool oc_dtype_is_complex(enum oc_dtype d);
/* Bytes of `n` elements, rounded up; false on overflow or for types without a size. */
bool oc_dtype_bytes(enum oc_dtype d, uint64_t n, uint64_t *ret);

#endif
