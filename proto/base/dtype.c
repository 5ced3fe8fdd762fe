/* One row per type: the words, the number in the C API's numbering and the width. Long
 * words have a few second spellings; everything else is looked up in the row. */
#include "base/dtype.h"

#include "base/cleanup.h"

#define RUNTIME_UNDEFINED 28

enum kind { KIND_OTHER, KIND_FLOAT, KIND_INT, KIND_COMPLEX };

struct row {
  const char *name;
  const char *code;
  uint8_t runtime;
  uint8_t bits;
  uint8_t kind;
};

static const struct row rows[OC_DT_COUNT] = {
  [OC_DT_UNDEFINED] = { "undefined", "na", RUNTIME_UNDEFINED, 0, KIND_OTHER },
  [OC_DT_F32] = { "float32", "f32", 0, 32, KIND_FLOAT },
  [OC_DT_F16] = { "float16", "f16", 1, 16, KIND_FLOAT },
  [OC_DT_I8] = { "int8", "i8", 2, 8, KIND_INT },
  [OC_DT_U8] = { "uint8", "u8", 4, 8, KIND_INT },
  [OC_DT_I16] = { "int16", "i16", 6, 16, KIND_INT },
  [OC_DT_U16] = { "uint16", "u16", 7, 16, KIND_INT },
  [OC_DT_I32] = { "int32", "i32", 3, 32, KIND_INT },
  [OC_DT_I64] = { "int64", "i64", 9, 64, KIND_INT },
  [OC_DT_U32] = { "uint32", "u32", 8, 32, KIND_INT },
  [OC_DT_U64] = { "uint64", "u64", 10, 64, KIND_INT },
  [OC_DT_BOOL] = { "bool", "b8", 12, 8, KIND_OTHER },
  [OC_DT_F64] = { "double", "f64", 11, 64, KIND_FLOAT },
  [OC_DT_STRING] = { "string", "str", 13, 0, KIND_OTHER },
  [OC_DT_DUAL_SUB_I8] = { "dual_sub_int8", "dsi8", 14, 8, KIND_OTHER },
  [OC_DT_DUAL_SUB_U8] = { "dual_sub_uint8", "dsu8", 15, 8, KIND_OTHER },
  [OC_DT_C64] = { "complex64", "c64", 16, 64, KIND_COMPLEX },
  [OC_DT_C128] = { "complex128", "c128", 17, 128, KIND_COMPLEX },
  [OC_DT_QI8] = { "qint8", "qi8", 18, 8, KIND_OTHER },
  [OC_DT_QI16] = { "qint16", "qi16", 19, 16, KIND_OTHER },
  [OC_DT_QI32] = { "qint32", "qi32", 20, 32, KIND_OTHER },
  [OC_DT_QU8] = { "quint8", "qu8", 21, 8, KIND_OTHER },
  [OC_DT_QU16] = { "quint16", "qu16", 22, 16, KIND_OTHER },
  [OC_DT_RESOURCE] = { "resource", "res", 23, 0, KIND_OTHER },
  [OC_DT_STRING_REF] = { "string_ref", "sref", 24, 0, KIND_OTHER },
  [OC_DT_DUAL] = { "dual", "dual", 25, 0, KIND_OTHER },
  [OC_DT_VARIANT] = { "variant", "var", 26, 0, KIND_OTHER },
  [OC_DT_BF16] = { "bfloat16", "bf16", 27, 16, KIND_FLOAT },
  [OC_DT_I4] = { "int4", "i4", 29, 4, KIND_INT },
  [OC_DT_U1] = { "uint1", "u1", 30, 1, KIND_INT },
  [OC_DT_I2] = { "int2", "i2", 31, 2, KIND_INT },
  [OC_DT_U2] = { "uint2", "u2", 32, 2, KIND_INT },
  [OC_DT_C32] = { "complex32", "c32", 33, 32, KIND_COMPLEX },
  [OC_DT_HIF8] = { "hifloat8", "hf8", 34, 8, KIND_FLOAT },
  [OC_DT_F8E5M2] = { "float8_e5m2", "e5m2", 35, 8, KIND_FLOAT },
  [OC_DT_F8E4M3] = { "float8_e4m3fn", "e4m3", 36, 8, KIND_FLOAT },
  [OC_DT_F8E8M0] = { "float8_e8m0", "e8m0", 37, 8, KIND_FLOAT },
  [OC_DT_F6E3M2] = { "float6_e3m2", "f6e3m2", 38, 6, KIND_FLOAT },
  [OC_DT_F6E2M3] = { "float6_e2m3", "f6e2m3", 39, 6, KIND_FLOAT },
  [OC_DT_F4E2M1] = { "float4_e2m1", "f4e2m1", 40, 4, KIND_FLOAT },
  [OC_DT_F4E1M2] = { "float4_e1m2", "f4e1m2", 41, 4, KIND_FLOAT },
  [OC_DT_HIF4] = { "hifloat4", "hf4", 42, 4, KIND_FLOAT },
};

static const struct {
  const char *name;
  enum oc_dtype dtype;
} second_spellings[] = {
  { "float", OC_DT_F32 },
  { "float64", OC_DT_F64 },
};

static const struct row *row_of(enum oc_dtype d)
{
  return (unsigned)d < OC_DT_COUNT ? &rows[d] : &rows[OC_DT_UNDEFINED];
}

const char *oc_dtype_name(enum oc_dtype d)
{
  return row_of(d)->name;
}

const char *oc_dtype_short(enum oc_dtype d)
{
  return row_of(d)->code;
}

bool oc_dtype_parse(struct oc_str word, enum oc_dtype *ret)
{
  for (unsigned i = 1; i < OC_DT_COUNT; i++) {
    if (oc_str_is(word, rows[i].name)) {
      *ret = (enum oc_dtype)i;
      return true;
    }
  }
  for (size_t i = 0; i < OC_COUNT(second_spellings); i++) {
    if (oc_str_is(word, second_spellings[i].name)) {
      *ret = second_spellings[i].dtype;
      return true;
    }
  }
  return false;
}

bool oc_dtype_parse_short(struct oc_str code, enum oc_dtype *ret)
{
  for (unsigned i = 0; i < OC_DT_COUNT; i++) {
    if (oc_str_is(code, rows[i].code)) {
      *ret = (enum oc_dtype)i;
      return true;
    }
  }
  return oc_dtype_parse(code, ret);
}

int oc_dtype_runtime(enum oc_dtype d)
{
  return row_of(d)->runtime;
}

enum oc_dtype oc_dtype_from_runtime(int r)
{
  for (unsigned i = 0; i < OC_DT_COUNT; i++) {
    if (rows[i].runtime == r)
      return (enum oc_dtype)i;
  }
  return OC_DT_UNDEFINED;
}

unsigned oc_dtype_bits(enum oc_dtype d)
{
  return row_of(d)->bits;
}

bool oc_dtype_is_float3(enum oc_dtype d)
{
  return d == OC_DT_F32 || d == OC_DT_F16 || d == OC_DT_BF16;
}

bool oc_dtype_is_float(enum oc_dtype d)
{
  return row_of(d)->kind == KIND_FLOAT;
}

bool oc_dtype_is_int(enum oc_dtype d)
{
  return row_of(d)->kind == KIND_INT;
}

bool oc_dtype_is_complex(enum oc_dtype d)
{
  return row_of(d)->kind == KIND_COMPLEX;
}

bool oc_dtype_bytes(enum oc_dtype d, uint64_t n, uint64_t *ret)
{
  unsigned bits = oc_dtype_bits(d);
  uint64_t bytes = 0;

  if (!bits)
    return false;
  if (bits >= 8) {
    if (__builtin_mul_overflow(n, (uint64_t)bits / 8, &bytes))
      return false;
  } else {
    /* n = 8 q + r elements of `bits` bits are q * bits bytes and a rest. */
    bytes = n / 8 * bits + (n % 8 * bits + 7) / 8;
  }
  *ret = bytes;
  return true;
}
