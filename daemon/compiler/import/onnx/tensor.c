/* Constants out of TensorProto.
 *
 * Payload that the file already holds as little-endian elements (raw_data, external data,
 * one packed run of floats or doubles) stays where it is. Numbers that protobuf holds as
 * varints are converted into the arena; every element takes at least one byte of the
 * file, so the copy is at most eight times as large as what was read. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/limits.h"
#include "import/onnx/build.h"
#include "wire/wire.h"

enum oc_dtype onnx_dtype(int64_t elem_type)
{
  static const enum oc_dtype map[] = {
    [1] = OC_DT_F32,     [2] = OC_DT_U8,      [3] = OC_DT_I8,    [4] = OC_DT_U16,
    [5] = OC_DT_I16,     [6] = OC_DT_I32,     [7] = OC_DT_I64,   [8] = OC_DT_STRING,
    [9] = OC_DT_BOOL,    [10] = OC_DT_F16,    [11] = OC_DT_F64,  [12] = OC_DT_U32,
    [13] = OC_DT_U64,    [14] = OC_DT_C64,    [15] = OC_DT_C128, [16] = OC_DT_BF16,
    [17] = OC_DT_F8E4M3, [19] = OC_DT_F8E5M2, [22] = OC_DT_I4,   [23] = OC_DT_F4E2M1,
    [24] = OC_DT_F8E8M0, [25] = OC_DT_U2,     [26] = OC_DT_I2,
  };
  if (elem_type < 0 || elem_type >= (int64_t)OC_COUNT(map))
    return OC_DT_UNDEFINED;
  return map[elem_type];
}

static const struct oc_value *bad(struct onnx_import *im, const struct onnx_tensor *t,
                                  const char *why)
{
  const char *at = oc_arena_printf(im->arena, "%zu",
                                   (size_t)((const uint8_t *)t->body.p - im->rd.base));
  onnx_tell(im, OC_FINDING_TENSOR_BAD, t->name, "why", why, "byte", at ? at : "?");
  return NULL;
}

/* Field that holds elements which are not raw. */
static uint32_t typed_field(enum oc_dtype d)
{
  switch (d) {
  case OC_DT_F32:
  case OC_DT_C64: return 4;
  case OC_DT_F64:
  case OC_DT_C128: return 10;
  case OC_DT_I64: return 7;
  case OC_DT_U32:
  case OC_DT_U64: return 11;
  default: return 5;
  }
}

static enum import_numbers kind_of(uint32_t field)
{
  return field == 4 ? IMPORT_FIXED32 : field == 10 ? IMPORT_FIXED64 : IMPORT_VARINTS;
}

static const struct oc_value *typed(struct onnx_import *im, const struct onnx_tensor *t,
                                    struct oc_value *v, uint64_t n)
{
  uint32_t field = typed_field(v->dtype);
  bool complex = v->dtype == OC_DT_C64 || v->dtype == OC_DT_C128;
  uint64_t numbers = complex ? n * 2 : n;
  uint64_t there = 0;
  uint64_t bytes = 0;
  struct oc_str run = { 0 };
  if (oc_dtype_bits(v->dtype) < 8)
    return bad(im, t, "elements under one byte must be raw_data");
  if (!import_count_numbers(t->body, field, kind_of(field), &there, &run))
    return bad(im, t, "its numbers are malformed");
  if (there != numbers || !oc_dtype_bytes(v->dtype, n, &bytes))
    return bad(im, t, "its shape and the number of its elements differ");
  v->len = (size_t)bytes;
  if (run.p && run.len == bytes) {
    v->data = (const uint8_t *)run.p;
    v->mapped = true;
    return v;
  }
  uint8_t *copy = oc_arena_alloc(im->arena, (size_t)bytes);
  if (!copy)
    return NULL;
  v->data = copy;
  if (!import_gather_numbers(t->body, field, kind_of(field), copy, (size_t)numbers,
                             numbers ? bytes / numbers : 1))
    return bad(im, t, "its numbers are malformed");
  return v;
}

static const struct oc_value *external(struct onnx_import *im,
                                       const struct onnx_tensor *t, struct oc_value *v,
                                       uint64_t bytes)
{
  const struct oc_import_file *file = NULL;
  for (size_t i = 0; i < im->opt->n_files && !file; i++)
    if (strcmp(im->opt->files[i].name, t->location) == 0)
      file = &im->opt->files[i];
  if (!file) {
    onnx_tell(im, OC_FINDING_EXTERNAL_MISSING, t->location, "tensor", t->name, NULL,
              NULL);
    return NULL;
  }
  uint64_t rest = t->offset <= file->len ? file->len - t->offset : 0;
  if (t->offset > file->len || (t->has_length && t->length > rest) || bytes > rest) {
    onnx_tell(im, OC_FINDING_EXTERNAL_RANGE, t->location, "tensor", t->name, NULL, NULL);
    return NULL;
  }
  if (t->has_length && t->length != bytes)
    return bad(im, t, "its external data has another length than its shape asks for");
  v->data = file->data + t->offset;
  v->len = (size_t)bytes;
  v->mapped = true;
  return v;
}

static const struct oc_value *raw(struct onnx_import *im, const struct onnx_tensor *t,
                                  struct oc_value *v, uint64_t bytes)
{
  if (t->raw.len != bytes)
    return bad(im, t, "its shape and the length of its data differ");
  v->data = (const uint8_t *)(bytes ? t->raw.p : "");
  v->len = (size_t)bytes;
  v->mapped = bytes != 0;
  return v;
}

static const struct oc_value *stored(struct onnx_import *im, const struct onnx_tensor *t)
{
  struct oc_value *v = OC_NEW(im->arena, struct oc_value);
  uint64_t n = 0, bytes = 0;
  if (!v)
    return NULL;
  v->dtype = onnx_dtype(t->elem_type);
  if (v->dtype == OC_DT_UNDEFINED)
    return bad(im, t, "its element type has no counterpart");
  for (size_t i = 0; i < t->n_dims; i++)
    if (t->dims[i] < 0)
      return bad(im, t, "a dim is negative");
  if (t->n_dims > OC_MAX_RANK)
    return bad(im, t, "it has more dims than any tensor");
  v->shape = oc_shape_of(im->arena, t->dims, t->n_dims);
  if (!oc_shape_elements(v->shape, &n))
    return im->arena->failed ? NULL : bad(im, t, "the number of its elements overflows");
  v->data = (const uint8_t *)"";
  if (v->dtype == OC_DT_STRING)
    return v; /* texts have no place in an .om; the shape is what counts */
  if (!oc_dtype_bytes(v->dtype, n, &bytes) || bytes > SIZE_MAX)
    return bad(im, t, "the number of its elements overflows");
  if (t->location)
    return external(im, t, v, bytes);
  if (t->has_raw)
    return raw(im, t, v, bytes);
  if (n == 0)
    return v;
  return typed(im, t, v, n);
}

/* Place of value `i` of a sparse tensor; false when it lies outside. */
static bool place_of(const struct onnx_sparse *sparse, const struct oc_value *indices,
                     size_t i, uint64_t n, uint64_t *ret)
{
  size_t width = indices->shape.rank == 2 ? sparse->n_dims : 1;
  uint64_t at = 0;
  for (size_t d = 0; d < width; d++) {
    int64_t v = 0;
    uint64_t size = indices->shape.rank == 2 ? (uint64_t)sparse->dims[d] : n;
    if (!oc_value_int(indices, i * width + d, &v) || v < 0 || (uint64_t)v >= size)
      return false;
    at = at * size + (uint64_t)v;
  }
  *ret = at;
  return at < n;
}

/* Dense bytes of a sparse tensor. The arena's cap bounds what a small file can ask for.
 */
static const struct oc_value *dense(struct onnx_import *im, const struct onnx_tensor *t)
{
  const struct onnx_sparse *sparse = t->sparse;
  const struct oc_value *values = stored(im, t);
  const struct oc_value *indices = values ? stored(im, sparse->indices) : NULL;
  struct oc_value *v = OC_NEW(im->arena, struct oc_value);
  uint64_t n = 0, bytes = 0;
  if (!indices || !v)
    return NULL;
  for (size_t i = 0; i < sparse->n_dims; i++)
    if (sparse->dims[i] < 0)
      return bad(im, t, "a dim is negative");
  if (sparse->n_dims > OC_MAX_RANK || oc_dtype_bits(values->dtype) % 8 != 0)
    return bad(im, t, "it has more dims than any tensor, or elements under one byte");
  *v = (struct oc_value){ .dtype = values->dtype };
  v->shape = oc_shape_of(im->arena, sparse->dims, sparse->n_dims);
  size_t width = oc_dtype_bits(values->dtype) / 8, count = oc_value_count(values);
  size_t per = indices->shape.rank == 2 ? sparse->n_dims : 1;
  if (!oc_shape_elements(v->shape, &n) || !oc_dtype_bytes(v->dtype, n, &bytes) ||
      !width || indices->dtype != OC_DT_I64 || oc_value_count(indices) != count * per)
    return bad(im, t, "its dims, values and indices do not fit together");
  uint8_t *data = oc_arena_calloc(im->arena, (size_t)n, width);
  if (!data)
    return NULL;
  v->data = data;
  v->len = (size_t)bytes;
  for (size_t i = 0; i < count; i++) {
    uint64_t at = 0;
    if (!place_of(sparse, indices, i, n, &at))
      return bad(im, t, "an index lies outside of it");
    memcpy(data + at * width, values->data + i * width, width);
  }
  return v;
}

const struct oc_value *onnx_value(struct onnx_import *im, const struct onnx_tensor *t)
{
  return t->sparse ? dense(im, t) : stored(im, t);
}
