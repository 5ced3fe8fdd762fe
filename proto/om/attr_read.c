/* Attribute maps, with the compression that current compilers use undone.
 *
 * Compressed: a key is a zero byte and the number of the name in base 127, least
 * significant digit first, every digit plus one. The dictionary (three lists among the
 * model's attributes) gives the name, and says for which names a string value is stored
 * as its number in the list of values. */
#include <math.h>
#include <string.h>

#include "om_internal.h"

enum { KIND_STRING = 1, KIND_INT, KIND_FLOAT, KIND_BOOL, KIND_BYTES, KIND_DTYPE = 10 };

static int read_floats(struct om_reader *r, struct oc_str msg, struct oc_om_attr *a)
{
  struct oc_wire w;
  struct oc_field f;
  size_t n = 0, at = 0;

  oc_wire_open(&w, msg.p, msg.len);
  while (oc_wire_next(&w, &f))
    if (f.number == 4) {
      size_t k = oc_field_fixed32s(&f, NULL, 0);
      if (k == SIZE_MAX)
        return om_bad(r, "a list of floats is malformed");
      n += k;
    }
  float *v = om_alloc(r, n, sizeof *v);
  if (!v)
    return OC_E_NOMEM;
  oc_wire_open(&w, msg.p, msg.len);
  while (oc_wire_next(&w, &f))
    if (f.number == 4)
      at += oc_field_fixed32s(&f, (uint32_t *)(void *)(v + at), n - at);
  a->kind = n ? OC_OM_ATTR_FLOATS : OC_OM_ATTR_EMPTY;
  a->u.floats = v;
  a->n = n;
  return 0;
}

static int read_int_list(struct om_reader *r, struct oc_str msg, uint32_t number,
                         enum oc_om_attr_kind kind, struct oc_om_attr *a)
{
  uint32_t n;
  int rc = om_read_ints(r, msg, number, &a->u.ints, &n);

  if (rc < 0)
    return rc;
  a->kind = n ? kind : OC_OM_ATTR_EMPTY;
  a->n = n;
  return 0;
}

static int read_list(struct om_reader *r, struct oc_str msg, struct oc_om_attr *a)
{
  struct oc_wire w;
  struct oc_field f;
  uint32_t first = 0, kind = 0;

  oc_wire_open(&w, msg.p, msg.len);
  while (oc_wire_next(&w, &f)) {
    if (f.number == 20)
      kind = (uint32_t)f.u;
    else if (!first)
      first = f.number;
  }
  if (w.bad)
    return om_bad(r, w.why);
  if (first == 2 || (!first && kind == KIND_STRING)) {
    struct oc_str *v;
    uint32_t n;
    int rc = om_read_strings(r, msg, 2, &v, &n);
    if (rc < 0)
      return rc;
    a->kind = n ? OC_OM_ATTR_STRINGS : OC_OM_ATTR_EMPTY;
    a->u.strings = v;
    a->n = n;
    return 0;
  }
  switch (first) {
  case 0: a->kind = OC_OM_ATTR_EMPTY; return 0;
  case 3: return read_int_list(r, msg, 3, OC_OM_ATTR_INTS, a);
  case 4: return read_floats(r, msg, a);
  case 5: return read_int_list(r, msg, 5, OC_OM_ATTR_BOOLS, a);
  case 12: return read_int_list(r, msg, 12, OC_OM_ATTR_DTYPES, a);
  default:
    a->kind = OC_OM_ATTR_OTHER;
    a->u.s = msg;
    return 0;
  }
}

static int read_rows(struct om_reader *r, struct oc_str msg, struct oc_om_attr *a)
{
  struct oc_str *rows;
  uint32_t n;
  int rc = om_read_strings(r, msg, 1, &rows, &n);

  if (rc < 0)
    return rc;
  struct oc_om_row *v = om_alloc(r, n, sizeof *v);
  if (!v)
    return OC_E_NOMEM;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t len;
    rc = om_read_ints(r, rows[i], 1, &v[i].v, &len);
    if (rc < 0)
      return rc;
    v[i].n = len;
  }
  a->kind = OC_OM_ATTR_ROWS;
  a->u.rows = v;
  a->n = n;
  return 0;
}

/* A tensor descriptor, alone or with inline bytes. */
static int read_tensor(struct om_reader *r, struct oc_str msg, bool alone,
                       struct oc_om_attr *a)
{
  struct oc_om_desc *d = om_alloc(r, 1, sizeof *d);
  struct oc_wire w;
  struct oc_field f;

  if (!d)
    return OC_E_NOMEM;
  a->kind = alone ? OC_OM_ATTR_DESC : OC_OM_ATTR_TENSOR;
  a->u.desc = d;
  if (alone)
    return om_read_desc(r, msg, d);
  oc_wire_open(&w, msg.p, msg.len);
  while (oc_wire_next(&w, &f)) {
    if (f.number == 1) {
      int rc = om_read_desc(r, oc_field_str(&f), d);
      if (rc < 0)
        return rc;
    } else if (f.number == 2) {
      a->data = oc_field_str(&f);
    }
  }
  return w.bad ? om_bad(r, w.why) : 0;
}

static int read_field(struct om_reader *r, const struct oc_field *f, bool deep,
                      struct oc_om_attr *a)
{
  struct oc_str s = oc_field_str(f);

  a->u.s = s;
  switch (f->number) {
  case 1: return read_list(r, s, a);
  case 2: a->kind = OC_OM_ATTR_STRING; return 0;
  case 3:
    a->kind = OC_OM_ATTR_INT;
    a->u.i = oc_field_i64(f);
    return 0;
  case 4:
    a->kind = OC_OM_ATTR_FLOAT;
    a->u.f = oc_field_f32(f);
    return 0;
  case 5:
    a->kind = OC_OM_ATTR_BOOL;
    a->u.i = f->u != 0;
    return 0;
  case 7: a->kind = OC_OM_ATTR_BYTES; return 0;
  case 11:
  case 12:
    if (deep)
      return read_tensor(r, s, f->number == 11, a);
    break;
  case 14: return read_rows(r, s, a);
  case 15:
    a->kind = OC_OM_ATTR_DTYPE;
    a->u.i = oc_field_i64(f);
    return 0;
  }
  a->kind = OC_OM_ATTR_OTHER;
  return 0;
}

/* A word of the dictionary; `what` is not in it, or its words are more than they may be.
 */
static int dict_string(struct om_reader *r, const struct oc_om_attr *list, int64_t i,
                       const char *what, struct oc_str *ret)
{
  if (!list || list->kind != OC_OM_ATTR_STRINGS || i < 0 || (uint64_t)i >= list->n)
    return om_bad(r, what);
  *ret = list->u.strings[i];
  if (ret->len > r->words_left)
    return om_bad(r, "the dictionary's words take more room than the file justifies");
  r->words_left -= ret->len;
  return 0;
}

static int decompress(struct om_reader *r, struct oc_om_attr *a)
{
  static const char no_name[] = "an attribute name is outside the file's dictionary";
  static const char no_value[] = "an attribute value is outside the file's dictionary";
  uint64_t p = 0, weight = 1;
  int rc;

  if (a->name.len < 2 || a->name.p[0] != '\0')
    return 0;
  for (size_t i = 1; i < a->name.len; i++) {
    unsigned digit = (unsigned char)a->name.p[i];
    if (digit < 1 || digit > 127 || i > 8)
      return om_bad(r, "a compressed attribute name is malformed");
    p += (digit - 1) * weight;
    weight *= 127;
  }
  rc = dict_string(r, r->names, (int64_t)p, no_name, &a->name);
  if (rc < 0)
    return rc;
  if (!r->is_string || r->is_string->kind != OC_OM_ATTR_BOOLS || p >= r->is_string->n ||
      !r->is_string->u.ints[p])
    return 0;
  if (a->kind == OC_OM_ATTR_INT || a->kind == OC_OM_ATTR_NONE) {
    int64_t i = a->kind == OC_OM_ATTR_INT ? a->u.i : 0;
    a->kind = OC_OM_ATTR_STRING;
    rc = dict_string(r, r->values, i, no_value, &a->u.s);
  } else if (a->kind == OC_OM_ATTR_INTS) {
    struct oc_str *v = om_alloc(r, a->n, sizeof *v);
    if (!v)
      return OC_E_NOMEM;
    for (size_t i = 0; i < a->n && rc == 0; i++)
      rc = dict_string(r, r->values, a->u.ints[i], no_value, &v[i]);
    a->kind = OC_OM_ATTR_STRINGS;
    a->u.strings = v;
  }
  return rc;
}

/* One entry of the map: key 1, value 2. */
static int read_entry(struct om_reader *r, struct oc_str msg, bool deep,
                      struct oc_om_attr *a)
{
  struct oc_wire w, v;
  struct oc_field f, g;

  oc_wire_open(&w, msg.p, msg.len);
  while (oc_wire_next(&w, &f)) {
    if (f.number == 1) {
      a->name = oc_field_str(&f);
    } else if (f.number == 2) {
      oc_wire_open(&v, f.data, f.type == OC_WIRE_BYTES ? f.len : 0);
      while (oc_wire_next(&v, &g)) {
        int rc = read_field(r, &g, deep, a);
        if (rc < 0)
          return rc;
      }
      if (v.bad)
        return om_bad(r, v.why);
    }
  }
  return w.bad ? om_bad(r, w.why) : decompress(r, a);
}

int om_read_attrs(struct om_reader *r, struct oc_str msg, uint32_t number, bool deep,
                  struct oc_om_attr **ret, uint32_t *ret_n)
{
  struct oc_wire w;
  struct oc_field f;
  uint32_t n, at = 0;
  int rc = om_count(r, msg, number, &n);

  if (rc < 0)
    return rc;
  struct oc_om_attr *attrs = om_alloc(r, n, sizeof *attrs);
  if (!attrs)
    return OC_E_NOMEM;
  oc_wire_open(&w, msg.p, msg.len);
  while (oc_wire_next(&w, &f)) {
    if (f.number != number)
      continue;
    rc = read_entry(r, oc_field_str(&f), deep, &attrs[at++]);
    if (rc < 0)
      return rc;
  }
  *ret = attrs;
  *ret_n = n;
  return 0;
}

const struct oc_om_attr *oc_om_attr_find(const struct oc_om_attr *attrs, uint32_t n,
                                         const char *name)
{
  for (uint32_t i = 0; i < n; i++)
    if (oc_str_is(attrs[i].name, name))
      return &attrs[i];
  return NULL;
}

int64_t oc_om_attr_int(const struct oc_om_attr *attrs, uint32_t n, const char *name,
                       int64_t other)
{
  const struct oc_om_attr *a = oc_om_attr_find(attrs, n, name);

  return a && a->kind == OC_OM_ATTR_INT ? a->u.i : other;
}

struct oc_str oc_om_attr_str(const struct oc_om_attr *attrs, uint32_t n, const char *name)
{
  const struct oc_om_attr *a = oc_om_attr_find(attrs, n, name);

  return a && a->kind == OC_OM_ATTR_STRING ? a->u.s : oc_str_of("");
}
