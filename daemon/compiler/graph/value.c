/* Elements of constants as integers, whatever their dtype.
 *
 * Shape arithmetic, axes and sizes come as int64, int32 and sometimes as floats. Only
 * small constants are ever read element by element; weights are not touched here. */
#include "graph/graph.h"

#include <math.h>
#include <string.h>

#include "base/half.h"

static const size_t MOST_INTS = 65536; /* shapes and axes are far shorter */

size_t oc_value_count(const struct oc_value *v)
{
  uint64_t n = 0;
  uint64_t bytes = 0;
  if (!oc_shape_elements(v->shape, &n) || n > SIZE_MAX)
    return 0;
  if (!oc_dtype_bytes(v->dtype, n, &bytes) || bytes > v->len)
    return 0;
  return (size_t)n;
}

static uint64_t get_le(const uint8_t *p, size_t bytes)
{
  uint64_t v = 0;
  for (size_t i = 0; i < bytes; i++)
    v |= (uint64_t)p[i] << (8 * i);
  return v;
}

static bool from_double(double d, int64_t *ret)
{
  /* 2^63 is exact as a double; the comparison is false for NaN. */
  if (!(d >= -9223372036854775808.0 && d < 9223372036854775808.0))
    return false;
  *ret = (int64_t)d;
  return true;
}

static double bits_f32(uint32_t bits)
{
  float f = 0;
  memcpy(&f, &bits, sizeof(f));
  return (double)f;
}

static bool float_element(const struct oc_value *v, size_t i, double *ret)
{
  double d = 0;
  uint64_t bits = 0;
  switch (v->dtype) {
  case OC_DT_F32: d = bits_f32((uint32_t)get_le(v->data + i * 4, 4)); break;
  case OC_DT_F16:
    d = bits_f32(oc_f16_to_f32((uint16_t)get_le(v->data + i * 2, 2)));
    break;
  case OC_DT_BF16:
    d = bits_f32(oc_bf16_to_f32((uint16_t)get_le(v->data + i * 2, 2)));
    break;
  case OC_DT_F64:
    bits = get_le(v->data + i * 8, 8);
    memcpy(&d, &bits, sizeof(d));
    break;
  default: return false;
  }
  *ret = d;
  return true;
}

static bool int_element(const struct oc_value *v, size_t i, int64_t *ret)
{
  switch (v->dtype) {
  case OC_DT_I8: *ret = (int8_t)v->data[i]; return true;
  case OC_DT_U8: *ret = v->data[i]; return true;
  case OC_DT_BOOL: *ret = v->data[i] != 0; return true;
  case OC_DT_I16: *ret = (int16_t)get_le(v->data + i * 2, 2); return true;
  case OC_DT_U16: *ret = (int64_t)get_le(v->data + i * 2, 2); return true;
  case OC_DT_I32: *ret = (int32_t)get_le(v->data + i * 4, 4); return true;
  case OC_DT_U32: *ret = (int64_t)get_le(v->data + i * 4, 4); return true;
  case OC_DT_I64: *ret = (int64_t)get_le(v->data + i * 8, 8); return true;
  case OC_DT_U64: {
    uint64_t u = get_le(v->data + i * 8, 8);
    *ret = (int64_t)u;
    return u <= INT64_MAX;
  }
  case OC_DT_I4: {
    unsigned nibble = (v->data[i / 2] >> (i % 2 ? 4 : 0)) & 15u;
    *ret = nibble > 7 ? (int64_t)nibble - 16 : (int64_t)nibble;
    return true;
  }
  default: return false;
  }
}

bool oc_value_int(const struct oc_value *v, size_t i, int64_t *ret)
{
  if (i >= oc_value_count(v))
    return false;
  double d = 0;
  if (float_element(v, i, &d))
    return from_double(d, ret);
  return int_element(v, i, ret);
}

const int64_t *oc_value_ints(struct oc_arena *a, const struct oc_value *v, size_t *ret_n)
{
  size_t n = oc_value_count(v);
  uint64_t declared = 0;
  if (!oc_shape_elements(v->shape, &declared) || declared != n || n > MOST_INTS)
    return NULL;
  int64_t *out = OC_NEW_N(a, int64_t, n);
  for (size_t i = 0; i < n && out; i++) {
    double d = 0;
    int64_t e = 0;
    if (float_element(v, i, &d) && d != floor(d))
      return NULL;
    if (!oc_value_int(v, i, &e))
      return NULL;
    out[i] = e;
  }
  if (out)
    *ret_n = n;
  return out;
}
