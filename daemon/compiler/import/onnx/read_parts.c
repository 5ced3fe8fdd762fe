/* TensorProto headers and ValueInfoProto. Payload of tensors is not touched here. */
#include "base/error.h"
#include "base/limits.h"
#include "import/onnx/model.h"
#include "wire/wire.h"

/* One StringStringEntry of external_data. */
static int read_external(struct import_reader *r, struct oc_str body,
                         struct onnx_tensor *t)
{
  struct oc_wire w;
  struct oc_field f;
  struct oc_str key = { 0 }, value = { 0 };
  oc_wire_open(&w, body.p, body.len);
  while (oc_wire_next(&w, &f))
    if (f.type == OC_WIRE_BYTES && (f.number == 1 || f.number == 2)) {
      const char *copy = import_string(r, oc_field_str(&f));
      if (!copy)
        return r->arena->failed ? OC_E_NOMEM : OC_E_FORMAT;
      *(f.number == 1 ? &key : &value) = oc_str_of(copy);
    }
  if (w.bad)
    return import_malformed(r, w.p, w.why);
  bool good = true;
  if (oc_str_is(key, "location"))
    t->location = value.p ? value.p : "";
  else if (oc_str_is(key, "offset"))
    good = oc_str_to_u64(value, &t->offset);
  else if (oc_str_is(key, "length"))
    good = t->has_length = oc_str_to_u64(value, &t->length);
  return good ? OC_OK
              : import_malformed(r, body.p, "an external data entry is no number");
}

int onnx_read_tensor(struct import_reader *r, struct oc_str body, struct onnx_tensor *t)
{
  struct oc_wire w;
  struct oc_field f;
  bool external = false;
  t->name = "";
  t->body = body;
  oc_wire_open(&w, body.p, body.len);
  while (oc_wire_next(&w, &f)) {
    int rc = OC_OK;
    if (f.number == 2 && f.type == OC_WIRE_VARINT)
      t->elem_type = (int32_t)f.u;
    else if (f.number == 14 && f.type == OC_WIRE_VARINT)
      external = f.u == 1;
    else if (f.type != OC_WIRE_BYTES)
      continue;
    else if (f.number == 8 && !(t->name = import_string(r, oc_field_str(&f))))
      rc = r->arena->failed ? OC_E_NOMEM : OC_E_FORMAT;
    else if (f.number == 9) {
      t->raw = oc_field_str(&f);
      t->has_raw = true;
    } else if (f.number == 13)
      rc = read_external(r, oc_field_str(&f), t);
    if (rc)
      return rc;
  }
  if (w.bad)
    return import_malformed(r, w.p, w.why);
  if (!external)
    t->location = NULL;
  else if (!t->location)
    return import_malformed(r, body.p, "external data without a location");
  return import_read_ints(r, body, 1, &t->dims, &t->n_dims);
}

int onnx_read_tensors(struct import_reader *r, struct oc_str body, uint32_t field,
                      struct onnx_tensor **ret, size_t *ret_n)
{
  size_t n = import_count(r, body, field);
  if (n == SIZE_MAX)
    return import_malformed(r, body.p, NULL);
  struct onnx_tensor *list = OC_NEW_N(r->arena, struct onnx_tensor, n);
  if (!list)
    return OC_E_NOMEM;
  struct oc_wire w;
  struct oc_field f;
  size_t at = 0;
  oc_wire_open(&w, body.p, body.len);
  while (at < n && oc_wire_next(&w, &f)) {
    if (f.number != field || f.type != OC_WIRE_BYTES)
      continue;
    int rc = onnx_read_tensor(r, oc_field_str(&f), &list[at++]);
    if (rc)
      return rc;
  }
  *ret = list;
  *ret_n = at;
  return OC_OK;
}

/* SparseTensorProto: values (with the name), indices, dims. */
static int read_sparse(struct import_reader *r, struct oc_str body, struct onnx_tensor *t)
{
  struct onnx_sparse *sparse = OC_NEW(r->arena, struct onnx_sparse);
  struct onnx_tensor *indices = OC_NEW(r->arena, struct onnx_tensor);
  struct oc_wire w;
  struct oc_field f;
  bool values = false, places = false;
  if (!sparse || !indices)
    return OC_E_NOMEM;
  oc_wire_open(&w, body.p, body.len);
  while (oc_wire_next(&w, &f)) {
    if (f.type != OC_WIRE_BYTES || f.number > 2)
      continue;
    int rc = onnx_read_tensor(r, oc_field_str(&f), f.number == 1 ? t : indices);
    if (rc)
      return rc;
    *(f.number == 1 ? &values : &places) = true;
  }
  if (w.bad || !values || !places)
    return import_malformed(r, body.p, "a sparse tensor has no values or no indices");
  sparse->indices = indices;
  t->sparse = sparse;
  return import_read_ints(r, body, 3, &sparse->dims, &sparse->n_dims);
}

int onnx_read_sparse(struct import_reader *r, struct oc_str body, uint32_t field,
                     struct onnx_tensor **ret, size_t *ret_n)
{
  size_t n = import_count(r, body, field);
  if (n == SIZE_MAX)
    return import_malformed(r, body.p, NULL);
  if (n == 0)
    return OC_OK;
  struct onnx_tensor *list =
      oc_arena_grow(r->arena, *ret, *ret_n, *ret_n + n, sizeof(*list));
  if (!list)
    return OC_E_NOMEM;
  struct oc_wire w;
  struct oc_field f;
  size_t at = *ret_n, end = *ret_n + n;
  oc_wire_open(&w, body.p, body.len);
  while (at < end && oc_wire_next(&w, &f)) {
    if (f.number != field || f.type != OC_WIRE_BYTES)
      continue;
    list[at] = (struct onnx_tensor){ .name = "" };
    int rc = read_sparse(r, oc_field_str(&f), &list[at++]);
    if (rc)
      return rc;
  }
  *ret = list;
  *ret_n = at;
  return OC_OK;
}

static int read_dim(struct import_reader *r, struct oc_str body, struct onnx_dim *d)
{
  struct oc_wire w;
  struct oc_field f;
  d->value = -1;
  d->param = "";
  oc_wire_open(&w, body.p, body.len);
  while (oc_wire_next(&w, &f)) {
    if (f.number == 1 && f.type == OC_WIRE_VARINT)
      d->value = oc_field_i64(&f);
    else if (f.number == 2 && f.type == OC_WIRE_BYTES)
      d->param = import_string(r, oc_field_str(&f));
    if (!d->param)
      return r->arena->failed ? OC_E_NOMEM : OC_E_FORMAT;
  }
  return w.bad ? import_malformed(r, w.p, w.why) : OC_OK;
}

static int read_shape(struct import_reader *r, struct oc_str body,
                      struct onnx_value_info *v)
{
  size_t n = import_count(r, body, 1);
  if (n == SIZE_MAX)
    return import_malformed(r, body.p, NULL);
  if (n > OC_MAX_RANK)
    return import_malformed(r, body.p, "a shape has more dims than any tensor");
  v->dims = OC_NEW_N(r->arena, struct onnx_dim, n);
  if (!v->dims)
    return OC_E_NOMEM;
  v->has_shape = true;
  v->n_dims = 0;
  struct oc_wire w;
  struct oc_field f;
  oc_wire_open(&w, body.p, body.len);
  while (v->n_dims < n && oc_wire_next(&w, &f)) {
    if (f.number != 1 || f.type != OC_WIRE_BYTES)
      continue;
    int rc = read_dim(r, oc_field_str(&f), &v->dims[v->n_dims++]);
    if (rc)
      return rc;
  }
  return OC_OK;
}

static int read_tensor_type(struct import_reader *r, struct oc_str body,
                            struct onnx_value_info *v)
{
  struct oc_wire w;
  struct oc_field f;
  oc_wire_open(&w, body.p, body.len);
  while (oc_wire_next(&w, &f)) {
    int rc = OC_OK;
    if (f.number == 1 && f.type == OC_WIRE_VARINT)
      v->elem_type = (int32_t)f.u;
    if (f.number == 2 && f.type == OC_WIRE_BYTES)
      rc = read_shape(r, oc_field_str(&f), v);
    if (rc)
      return rc;
  }
  return w.bad ? import_malformed(r, w.p, w.why) : OC_OK;
}

/* The type that a sequence or an optional (both: field 1) is of; empty when it says none.
 */
static struct oc_str inner_type(struct oc_str body)
{
  struct oc_str found = { 0 };
  struct oc_wire w;
  struct oc_field f;
  oc_wire_open(&w, body.p, body.len);
  while (oc_wire_next(&w, &f))
    if (f.number == 1 && f.type == OC_WIRE_BYTES)
      found = oc_field_str(&f);
  return w.bad ? (struct oc_str){ 0 } : found;
}

/* TypeProto: tensors, sequences of them, and either of these that may be absent. What is
 * wrapped otherwise (maps, sequences of sequences...) is of no kind. */
static int read_type(struct import_reader *r, struct oc_str body,
                     struct onnx_value_info *v)
{
  enum { TENSOR = 1, SEQUENCE = 4, MAP = 5, SPARSE = 8, OPTIONAL = 9 };
  struct oc_str inner = body;
  for (int level = 0; level < 3 && inner.p; level++) {
    struct oc_str type = inner;
    struct oc_wire w;
    struct oc_field f;
    inner = (struct oc_str){ 0 };
    oc_wire_open(&w, type.p, type.len);
    while (oc_wire_next(&w, &f)) {
      if (f.type != OC_WIRE_BYTES)
        continue;
      int rc = OC_OK;
      if (f.number == TENSOR) {
        v->is_tensor = !v->is_sequence;
        v->has_elements = v->is_sequence;
        rc = read_tensor_type(r, oc_field_str(&f), v);
      } else if (f.number == SEQUENCE && !v->is_sequence) {
        v->is_sequence = true;
        inner = inner_type(oc_field_str(&f));
      } else if (f.number == OPTIONAL && level == 0) {
        v->is_optional = true;
        inner = inner_type(oc_field_str(&f));
      } else if (f.number == SEQUENCE || f.number == MAP || f.number == SPARSE ||
                 f.number == OPTIONAL) {
        v->is_tensor = v->is_sequence = v->has_elements = false;
        return OC_OK;
      }
      if (rc)
        return rc;
    }
    if (w.bad)
      return import_malformed(r, w.p, w.why);
  }
  return OC_OK;
}

static int read_value_info(struct import_reader *r, struct oc_str body,
                           struct onnx_value_info *v)
{
  struct oc_wire w;
  struct oc_field f;
  v->name = "";
  v->at = (size_t)((const uint8_t *)body.p - r->base);
  oc_wire_open(&w, body.p, body.len);
  while (oc_wire_next(&w, &f)) {
    if (f.type != OC_WIRE_BYTES)
      continue;
    int rc = OC_OK;
    if (f.number == 1 && !(v->name = import_string(r, oc_field_str(&f))))
      rc = r->arena->failed ? OC_E_NOMEM : OC_E_FORMAT;
    else if (f.number == 2)
      rc = read_type(r, oc_field_str(&f), v);
    if (rc)
      return rc;
  }
  return w.bad ? import_malformed(r, w.p, w.why) : OC_OK;
}

int onnx_read_value_infos(struct import_reader *r, struct oc_str body, uint32_t field,
                          struct onnx_value_info **ret, size_t *ret_n)
{
  size_t n = import_count(r, body, field);
  if (n == SIZE_MAX)
    return import_malformed(r, body.p, NULL);
  struct onnx_value_info *list = OC_NEW_N(r->arena, struct onnx_value_info, n);
  if (!list)
    return OC_E_NOMEM;
  struct oc_wire w;
  struct oc_field f;
  size_t at = 0;
  oc_wire_open(&w, body.p, body.len);
  while (at < n && oc_wire_next(&w, &f)) {
    if (f.number != field || f.type != OC_WIRE_BYTES)
      continue;
    int rc = read_value_info(r, oc_field_str(&f), &list[at++]);
    if (rc)
      return rc;
  }
  *ret = list;
  *ret_n = at;
  return OC_OK;
}
