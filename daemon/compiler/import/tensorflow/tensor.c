/* Constants out of TensorProto.
 *
 * `tensor_content` already holds little-endian elements and stays where it is. Typed
 * numbers are converted, and where there are fewer than elements the last one stands for
 * the rest (none at all: zeros), so a constant can be much larger than its bytes in the
 * file: the arena's bound applies. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/limits.h"
#include "import/tensorflow/build.h"
#include "wire/wire.h"

enum { TENSOR_DTYPE = 1, TENSOR_SHAPE = 2, TENSOR_CONTENT = 4 };
/* One constant may repeat a value this often in bytes, besides what the file's size
 * allows. */
static const uint64_t MOST_REPEATED = 8u << 20;

enum oc_dtype tf_dtype(int64_t type)
{
  static const enum oc_dtype map[] = {
    [1] = OC_DT_F32,      [2] = OC_DT_F64,   [3] = OC_DT_I32,    [4] = OC_DT_U8,
    [5] = OC_DT_I16,      [6] = OC_DT_I8,    [7] = OC_DT_STRING, [8] = OC_DT_C64,
    [9] = OC_DT_I64,      [10] = OC_DT_BOOL, [11] = OC_DT_QI8,   [12] = OC_DT_QU8,
    [13] = OC_DT_QI32,    [14] = OC_DT_BF16, [15] = OC_DT_QI16,  [16] = OC_DT_QU16,
    [17] = OC_DT_U16,     [18] = OC_DT_C128, [19] = OC_DT_F16,   [20] = OC_DT_RESOURCE,
    [21] = OC_DT_VARIANT, [22] = OC_DT_U32,  [23] = OC_DT_U64,
  };
  if (type > 100)
    type -= 100; /* a reference to one */
  if (type < 0 || type >= (int64_t)OC_COUNT(map))
    return OC_DT_UNDEFINED;
  return map[type];
}

/* Where a dtype's numbers are and how the wire writes them. */
struct place {
  uint32_t field;
  enum import_numbers kind;
  uint32_t per_element;
};

static struct place place_of(enum oc_dtype d)
{
  switch (d) {
  case OC_DT_F32: return (struct place){ 5, IMPORT_FIXED32, 1 };
  case OC_DT_F64: return (struct place){ 6, IMPORT_FIXED64, 1 };
  case OC_DT_C64: return (struct place){ 9, IMPORT_FIXED32, 2 };
  case OC_DT_C128: return (struct place){ 12, IMPORT_FIXED64, 2 };
  case OC_DT_I64: return (struct place){ 10, IMPORT_VARINTS, 1 };
  case OC_DT_BOOL: return (struct place){ 11, IMPORT_VARINTS, 1 };
  case OC_DT_F16:
  case OC_DT_BF16: return (struct place){ 13, IMPORT_VARINTS, 1 };
  case OC_DT_U32: return (struct place){ 16, IMPORT_VARINTS, 1 };
  case OC_DT_U64: return (struct place){ 17, IMPORT_VARINTS, 1 };
  default: return (struct place){ 7, IMPORT_VARINTS, 1 };
  }
}

static const struct oc_value *bad(struct tf_import *im, const struct tf_node *n,
                                  const char *why)
{
  char at[24];
  (void)snprintf(at, sizeof(at), "%zu", n->at);
  import_tell(&im->rd, OC_FINDING_TENSOR_BAD, n->name, "why", why, "byte", at);
  return NULL;
}

/* The last number stands for the elements that are not written. */
static void repeat_last(uint8_t *data, size_t there, size_t n, size_t width)
{
  if (there == 0) {
    memset(data, 0, n * width);
    return;
  }
  for (size_t i = there; i < n; i++)
    memcpy(data + i * width, data + (there - 1) * width, width);
}

static const struct oc_value *typed(struct tf_import *im, const struct tf_node *node,
                                    struct oc_str body, struct oc_value *v, uint64_t n)
{
  struct place p = place_of(v->dtype);
  struct oc_str run = { 0 };
  uint64_t there = 0;
  size_t width = n ? (size_t)(v->len / n) : 1;
  if (!import_count_numbers(body, p.field, p.kind, &there, &run))
    return bad(im, node, "its numbers are malformed");
  if (run.p && run.len == v->len && there == n * p.per_element) {
    v->data = (const uint8_t *)run.p;
    v->mapped = true;
    return v;
  }
  there /= p.per_element;
  if (there > n)
    return bad(im, node, "its shape and the number of its elements differ");
  if (there < n && v->len > MOST_REPEATED && v->len / 16 > im->rd.len)
    return bad(im, node, "it repeats one value too often for the size of the file");
  uint8_t *data = oc_arena_alloc(im->arena, v->len);
  if (!data)
    return NULL;
  if (!import_gather_numbers(body, p.field, p.kind, data, (size_t)there * p.per_element,
                             width / p.per_element))
    return bad(im, node, "its numbers are malformed");
  repeat_last(data, (size_t)there, (size_t)n, width);
  v->data = data;
  return v;
}

/* Header of the tensor; false with a finding. */
static bool read_header(struct tf_import *im, const struct tf_node *node,
                        struct oc_str body, struct oc_value *v, struct oc_str *content)
{
  struct tf_shape shape = { 0 };
  struct oc_wire w;
  struct oc_field f;
  oc_wire_open(&w, body.p, body.len);
  while (oc_wire_next(&w, &f)) {
    if (f.number == TENSOR_DTYPE && f.type == OC_WIRE_VARINT)
      v->dtype = tf_dtype(oc_field_i64(&f));
    if (f.number == TENSOR_CONTENT && f.type == OC_WIRE_BYTES)
      *content = oc_field_str(&f);
    if (f.number == TENSOR_SHAPE && f.type == OC_WIRE_BYTES &&
        tf_read_shape(&im->rd, oc_field_str(&f), &shape))
      return false;
  }
  if (w.bad || shape.unknown_rank)
    return bad(im, node, "its tensor is malformed") != NULL;
  for (size_t i = 0; i < shape.rank; i++)
    if (shape.dims[i] < 0)
      return bad(im, node, "a dim is negative") != NULL;
  v->shape = oc_shape_of(im->arena, shape.dims, shape.rank);
  return true;
}

const struct oc_value *tf_value(struct tf_import *im, const struct tf_node *node,
                                struct oc_str body)
{
  struct oc_value *v = OC_NEW(im->arena, struct oc_value);
  struct oc_str content = { 0 };
  uint64_t n = 0, bytes = 0;
  if (!v || !read_header(im, node, body, v, &content))
    return NULL;
  if (v->dtype == OC_DT_UNDEFINED || v->dtype == OC_DT_RESOURCE ||
      v->dtype == OC_DT_VARIANT)
    return bad(im, node, "its element type has no counterpart");
  if (!oc_shape_elements(v->shape, &n))
    return im->arena->failed ? NULL
                             : bad(im, node, "the number of its elements overflows");
  v->data = (const uint8_t *)"";
  if (v->dtype == OC_DT_STRING)
    return v; /* texts have no place in an .om; the shape is what counts */
  if (!oc_dtype_bytes(v->dtype, n, &bytes) || bytes > SIZE_MAX / 2)
    return bad(im, node, "the number of its elements overflows");
  v->len = (size_t)bytes;
  if (n == 0)
    return v;
  if (content.len == 0)
    return typed(im, node, body, v, n);
  if (content.len != bytes)
    return bad(im, node, "its shape and the length of its data differ");
  v->data = (const uint8_t *)content.p;
  v->mapped = true;
  return v;
}
