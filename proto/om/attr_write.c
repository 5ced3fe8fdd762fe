/* Attribute maps, written plain and in one canonical way: entries sorted by key, the
 * value message always there, a oneof's member written even when it is zero (it is the
 * member that gives the type), a list always with its kind. */
#include <stdlib.h>
#include <string.h>

#include "om_internal.h"

enum { LIST_STRING = 1, LIST_INT, LIST_FLOAT, LIST_BOOL, LIST_DTYPE = 10 };

static int by_name(const void *a, const void *b)
{
  const struct oc_om_attr *x = a, *y = b;

  return oc_str_cmp(x->name, y->name);
}

static void write_strings(struct oc_buf *out, const struct oc_om_attr *a)
{
  for (size_t i = 0; i < a->n; i++)
    oc_wire_put_bytes(out, 2, a->u.strings[i].p, a->u.strings[i].len);
  oc_wire_put_varint(out, 20, LIST_STRING);
}

static void write_rows(struct oc_buf *out, const struct oc_om_attr *a, struct oc_buf *row)
{
  for (size_t i = 0; i < a->n; i++) {
    oc_buf_reset(row);
    oc_wire_put_packed_i64(row, 1, a->u.rows[i].v, a->u.rows[i].n);
    oc_wire_put_message(out, 1, row);
  }
}

static void write_list(struct oc_buf *out, const struct oc_om_attr *a)
{
  switch (a->kind) {
  case OC_OM_ATTR_STRINGS: write_strings(out, a); break;
  case OC_OM_ATTR_INTS:
    oc_wire_put_packed_i64(out, 3, a->u.ints, a->n);
    oc_wire_put_varint(out, 20, LIST_INT);
    break;
  case OC_OM_ATTR_FLOATS:
    oc_wire_put_packed_f32(out, 4, a->u.floats, a->n);
    oc_wire_put_varint(out, 20, LIST_FLOAT);
    break;
  case OC_OM_ATTR_BOOLS:
    oc_wire_put_packed_i64(out, 5, a->u.ints, a->n);
    oc_wire_put_varint(out, 20, LIST_BOOL);
    break;
  case OC_OM_ATTR_DTYPES:
    oc_wire_put_packed_i64(out, 12, a->u.ints, a->n);
    oc_wire_put_varint(out, 20, LIST_DTYPE);
    break;
  default: break;
  }
}

/* A scalar member; false when the kind is a message of its own. */
static bool write_scalar(struct oc_buf *v, const struct oc_om_attr *a)
{
  switch (a->kind) {
  case OC_OM_ATTR_STRING: oc_wire_put_bytes(v, 2, a->u.s.p, a->u.s.len); return true;
  case OC_OM_ATTR_INT: oc_wire_put_i64(v, 3, a->u.i); return true;
  case OC_OM_ATTR_FLOAT: oc_wire_put_f32(v, 4, a->u.f); return true;
  case OC_OM_ATTR_BOOL: oc_wire_put_bool(v, 5, a->u.i != 0); return true;
  case OC_OM_ATTR_BYTES: oc_wire_put_bytes(v, 7, a->u.s.p, a->u.s.len); return true;
  case OC_OM_ATTR_DTYPE: oc_wire_put_i64(v, 15, a->u.i); return true;
  default: return false;
  }
}

/* Buffers of one map, reused from entry to entry. */
struct scratch {
  struct oc_buf entry, value, inner, row;
};

static void write_value(struct scratch *s, const struct oc_om_attr *a)
{
  if (write_scalar(&s->value, a))
    return;
  oc_buf_reset(&s->inner);
  if (a->kind == OC_OM_ATTR_DESC) {
    om_write_desc(&s->inner, a->u.desc);
    oc_wire_put_message(&s->value, 11, &s->inner);
  } else if (a->kind == OC_OM_ATTR_TENSOR) {
    oc_buf_reset(&s->row);
    om_write_desc(&s->row, a->u.desc);
    oc_wire_put_message(&s->inner, 1, &s->row);
    if (a->data.len)
      oc_wire_put_bytes(&s->inner, 2, a->data.p, a->data.len);
    oc_wire_put_message(&s->value, 12, &s->inner);
  } else if (a->kind == OC_OM_ATTR_ROWS) {
    write_rows(&s->inner, a, &s->row);
    oc_wire_put_message(&s->value, 14, &s->inner);
  } else {
    write_list(&s->inner, a);
    oc_wire_put_message(&s->value, 1, &s->inner);
  }
}

int om_write_attrs(struct oc_buf *out, uint32_t number, struct oc_om_attr *attrs,
                   uint32_t n)
{
  struct scratch s;

  if (n > 1)
    qsort(attrs, n, sizeof *attrs, by_name);
  oc_buf_init(&s.entry, out->cap);
  oc_buf_init(&s.value, out->cap);
  oc_buf_init(&s.inner, out->cap);
  oc_buf_init(&s.row, out->cap);
  for (uint32_t i = 0; i < n; i++) {
    oc_buf_reset(&s.entry);
    oc_buf_reset(&s.value);
    write_value(&s, &attrs[i]);
    oc_wire_put_bytes(&s.entry, 1, attrs[i].name.p, attrs[i].name.len);
    oc_wire_put_message(&s.entry, 2, &s.value);
    oc_wire_put_message(out, number, &s.entry);
  }
  bool failed = s.entry.failed || s.value.failed || s.inner.failed || s.row.failed;
  oc_buf_clear(&s.entry);
  oc_buf_clear(&s.value);
  oc_buf_clear(&s.inner);
  oc_buf_clear(&s.row);
  return om_finish(out, failed);
}
