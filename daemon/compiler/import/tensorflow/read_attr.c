/* AttrValue: one value of one of several kinds, or a list of them. */
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/limits.h"
#include "import/tensorflow/model.h"
#include "wire/wire.h"

enum {
  VALUE_LIST = 1,
  VALUE_S = 2,
  VALUE_I = 3,
  VALUE_F = 4,
  VALUE_B = 5,
  VALUE_TYPE = 6,
  VALUE_SHAPE = 7,
  VALUE_TENSOR = 8,
  VALUE_FUNC = 10,
};

static int64_t read_dim(struct oc_str body)
{
  struct oc_wire w;
  struct oc_field f;
  int64_t size = 0;
  oc_wire_open(&w, body.p, body.len);
  while (oc_wire_next(&w, &f))
    if (f.number == 1 && f.type == OC_WIRE_VARINT)
      size = oc_field_i64(&f);
  return size;
}

int tf_read_shape(struct import_reader *r, struct oc_str body, struct tf_shape *ret)
{
  struct oc_wire w;
  struct oc_field f;
  size_t n = import_count(r, body, 2);
  struct tf_shape s = { 0 };
  if (n == SIZE_MAX || n > OC_MAX_RANK)
    return import_malformed(r, body.p, "a shape is malformed");
  int64_t *dims = OC_NEW_N(r->arena, int64_t, n);
  if (!dims)
    return OC_E_NOMEM;
  oc_wire_open(&w, body.p, body.len);
  while (oc_wire_next(&w, &f)) {
    if (f.number == 2 && f.type == OC_WIRE_BYTES && s.rank < n)
      dims[s.rank++] = read_dim(oc_field_str(&f));
    if (f.number == 3 && f.type == OC_WIRE_VARINT)
      s.unknown_rank = f.u != 0;
  }
  s.dims = dims;
  *ret = s;
  return OC_OK;
}

static int copy_bytes(struct import_reader *r, struct oc_str s, struct oc_str *ret)
{
  const char *copy = oc_arena_strndup(r->arena, s.len ? s.p : "", s.len);
  if (!copy)
    return OC_E_NOMEM;
  *ret = (struct oc_str){ copy, s.len };
  return OC_OK;
}

static int read_strings(struct import_reader *r, struct oc_str body, struct tf_attr *a)
{
  struct oc_wire w;
  struct oc_field f;
  size_t n = import_count(r, body, VALUE_S);
  if (n == SIZE_MAX)
    return import_malformed(r, body.p, "a list of an attribute is malformed");
  struct oc_str *v = OC_NEW_N(r->arena, struct oc_str, n);
  if (!v)
    return OC_E_NOMEM;
  oc_wire_open(&w, body.p, body.len);
  while (a->n_strings < n && oc_wire_next(&w, &f)) {
    if (f.number != VALUE_S || f.type != OC_WIRE_BYTES)
      continue;
    int rc = copy_bytes(r, oc_field_str(&f), &v[a->n_strings]);
    if (rc)
      return rc;
    a->n_strings++;
  }
  a->strings = v;
  return OC_OK;
}

static int read_list(struct import_reader *r, struct oc_str body, struct tf_attr *a)
{
  static const uint32_t numbers[] = { VALUE_I, VALUE_B, VALUE_TYPE };
  int rc = read_strings(r, body, a);
  if (!rc)
    rc = import_read_floats(r, body, VALUE_F, &a->floats, &a->n_floats);
  for (size_t i = 0; i < OC_COUNT(numbers) && !rc && a->n_ints == 0; i++) {
    rc = import_read_ints(r, body, numbers[i], &a->ints, &a->n_ints);
    a->types = numbers[i] == VALUE_TYPE;
  }
  return rc;
}

/* NameAttrList: the function's name. */
static int read_func(struct import_reader *r, struct oc_str body, struct tf_attr *a)
{
  struct oc_wire w;
  struct oc_field f;
  a->s = (struct oc_str){ "", 0 };
  oc_wire_open(&w, body.p, body.len);
  while (oc_wire_next(&w, &f))
    if (f.number == 1 && f.type == OC_WIRE_BYTES)
      return copy_bytes(r, oc_field_str(&f), &a->s);
  return OC_OK;
}

static int read_value_field(struct import_reader *r, const struct oc_field *f,
                            struct tf_attr *a)
{
  bool bytes = f->type == OC_WIRE_BYTES;
  bool number = f->type == OC_WIRE_VARINT;
  if (bytes && f->number == VALUE_LIST) {
    a->kind = TF_ATTR_LIST;
    return read_list(r, oc_field_str(f), a);
  }
  if (bytes && f->number == VALUE_S) {
    a->kind = TF_ATTR_STRING;
    return copy_bytes(r, oc_field_str(f), &a->s);
  }
  if (bytes && f->number == VALUE_SHAPE) {
    a->kind = TF_ATTR_SHAPE;
    return tf_read_shape(r, oc_field_str(f), &a->shape);
  }
  if (bytes && f->number == VALUE_FUNC) {
    a->kind = TF_ATTR_FUNC;
    return read_func(r, oc_field_str(f), a);
  }
  if (bytes && f->number == VALUE_TENSOR) {
    a->kind = TF_ATTR_TENSOR;
    a->tensor = oc_field_str(f);
  } else if (number &&
             (f->number == VALUE_I || f->number == VALUE_B || f->number == VALUE_TYPE)) {
    a->kind = f->number == VALUE_I   ? TF_ATTR_INT
              : f->number == VALUE_B ? TF_ATTR_BOOL
                                     : TF_ATTR_TYPE;
    a->i = oc_field_i64(f);
  } else if (f->type == OC_WIRE_32 && f->number == VALUE_F) {
    a->kind = TF_ATTR_FLOAT;
    a->f = oc_field_f32(f);
  }
  return OC_OK;
}

static int read_value(struct import_reader *r, struct oc_str body, struct tf_attr *a)
{
  struct oc_wire w;
  struct oc_field f;
  oc_wire_open(&w, body.p, body.len);
  while (oc_wire_next(&w, &f)) {
    int rc = read_value_field(r, &f, a);
    if (rc)
      return rc;
  }
  return w.bad ? import_malformed(r, w.p, w.why) : OC_OK;
}

int tf_read_attr(struct import_reader *r, struct oc_str body, struct tf_attr **ret)
{
  struct tf_attr *a = OC_NEW(r->arena, struct tf_attr);
  struct oc_wire w;
  struct oc_field f;
  if (!a)
    return OC_E_NOMEM;
  a->name = "";
  oc_wire_open(&w, body.p, body.len);
  while (oc_wire_next(&w, &f)) {
    int rc = OC_OK;
    if (f.type != OC_WIRE_BYTES)
      continue;
    if (f.number == 1 && !(a->name = import_string(r, oc_field_str(&f))))
      rc = r->arena->failed ? OC_E_NOMEM : OC_E_FORMAT;
    else if (f.number == 2)
      rc = read_value(r, oc_field_str(&f), a);
    if (rc)
      return rc;
  }
  if (w.bad)
    return import_malformed(r, w.p, w.why);
  *ret = a;
  return OC_OK;
}
