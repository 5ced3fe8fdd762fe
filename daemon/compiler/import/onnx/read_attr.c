/* AttributeProto. The declared type decides which field counts; files of IR version 1
 * have none, there the field that is present decides. */
#include <string.h>

#include "base/error.h"
#include "import/onnx/model.h"
#include "wire/wire.h"

/* What a file without declared types means by a field. */
static int type_of_field(uint32_t field)
{
  switch (field) {
  case 2: return ONNX_ATTR_FLOAT;
  case 3: return ONNX_ATTR_INT;
  case 4: return ONNX_ATTR_STRING;
  case 5: return ONNX_ATTR_TENSOR;
  case 6: return ONNX_ATTR_GRAPH;
  case 7: return ONNX_ATTR_FLOATS;
  case 8: return ONNX_ATTR_INTS;
  case 9: return ONNX_ATTR_STRINGS;
  default: return ONNX_ATTR_OTHER;
  }
}

static int read_strings(struct import_reader *r, struct oc_str body, struct onnx_attr *a)
{
  size_t n = import_count(r, body, 9);
  struct oc_str *list = OC_NEW_N(r->arena, struct oc_str, n == SIZE_MAX ? 0 : n);
  if (!list)
    return OC_E_NOMEM;
  struct oc_wire w;
  struct oc_field f;
  size_t at = 0;
  oc_wire_open(&w, body.p, body.len);
  while (n != SIZE_MAX && at < n && oc_wire_next(&w, &f)) {
    if (f.number != 9 || f.type != OC_WIRE_BYTES)
      continue;
    list[at].p = oc_arena_strndup(r->arena, f.len ? (const char *)f.data : "", f.len);
    list[at].len = f.len;
    if (!list[at++].p)
      return OC_E_NOMEM;
  }
  a->strings = list;
  a->n = at;
  return OC_OK;
}

/* One field of the attribute; `*ret_last` is the last value field seen. */
static int read_field(struct import_reader *r, const struct oc_field *f,
                      struct onnx_attr *a, struct oc_str *ret_graph,
                      struct oc_str *ret_tensor, int *ret_type)
{
  if (f->number == 1 && f->type == OC_WIRE_BYTES) {
    a->name = import_string(r, oc_field_str(f));
    return a->name ? OC_OK : r->arena->failed ? OC_E_NOMEM : OC_E_FORMAT;
  }
  if (f->number == 21 && f->type == OC_WIRE_BYTES && f->len > 0) {
    a->ref = import_string(r, oc_field_str(f));
    return a->ref ? OC_OK : r->arena->failed ? OC_E_NOMEM : OC_E_FORMAT;
  }
  if (f->number == 20 && f->type == OC_WIRE_VARINT) {
    a->type = f->u <= ONNX_ATTR_STRINGS ? (int)f->u : ONNX_ATTR_OTHER;
    return OC_OK;
  }
  if (f->number < 2 || f->number > 11)
    return OC_OK;
  if (f->number == 2 && f->type == OC_WIRE_32)
    a->f = oc_field_f32(f);
  else if (f->number == 3 && f->type == OC_WIRE_VARINT)
    a->i = oc_field_i64(f);
  else if (f->number == 4 && f->type == OC_WIRE_BYTES) {
    a->s.p = oc_arena_strndup(r->arena, f->len ? (const char *)f->data : "", f->len);
    a->s.len = f->len;
    if (!a->s.p)
      return OC_E_NOMEM;
  } else if (f->number == 5 && f->type == OC_WIRE_BYTES)
    *ret_tensor = oc_field_str(f);
  else if (f->number == 6 && f->type == OC_WIRE_BYTES)
    *ret_graph = oc_field_str(f);
  *ret_type = type_of_field(f->number);
  return OC_OK;
}

static int read_value(struct import_reader *r, struct oc_str body, struct onnx_attr *a,
                      struct oc_str tensor)
{
  switch (a->type) {
  case ONNX_ATTR_INTS: return import_read_ints(r, body, 8, &a->ints, &a->n);
  case ONNX_ATTR_FLOATS: return import_read_floats(r, body, 7, &a->floats, &a->n);
  case ONNX_ATTR_STRINGS: return read_strings(r, body, a);
  case ONNX_ATTR_STRING:
    if (!a->s.p)
      a->s = oc_str_of("");
    return OC_OK;
  case ONNX_ATTR_TENSOR:
    if (!tensor.p)
      return import_malformed(r, body.p, "a tensor attribute has no tensor");
    a->t = OC_NEW(r->arena, struct onnx_tensor);
    return a->t ? onnx_read_tensor(r, tensor, a->t) : OC_E_NOMEM;
  default: return OC_OK;
  }
}

int onnx_read_attr(struct import_reader *r, struct oc_str body, struct onnx_attr **ret,
                   struct oc_str *ret_graph)
{
  struct onnx_attr *a = OC_NEW(r->arena, struct onnx_attr);
  struct oc_str tensor = { 0 }, graph = { 0 };
  int seen = ONNX_ATTR_UNDEFINED;
  struct oc_wire w;
  struct oc_field f;
  if (!a)
    return OC_E_NOMEM;
  a->name = "";
  oc_wire_open(&w, body.p, body.len);
  while (oc_wire_next(&w, &f)) {
    int rc = read_field(r, &f, a, &graph, &tensor, &seen);
    if (rc)
      return rc;
  }
  if (w.bad)
    return import_malformed(r, w.p, w.why);
  if (a->type == ONNX_ATTR_UNDEFINED)
    a->type = seen;
  *ret = a;
  if (a->ref)
    return OC_OK; /* its value stands elsewhere */
  if (a->type == ONNX_ATTR_GRAPH) {
    if (!graph.p)
      return import_malformed(r, body.p, "a graph attribute has no graph");
    *ret_graph = graph;
  }
  return read_value(r, body, a, tensor);
}

const struct onnx_attr *onnx_attr_find(const struct onnx_node *n, const char *name)
{
  for (const struct onnx_attr *a = n->attrs; a; a = a->next)
    if (strcmp(a->name, name) == 0)
      return a;
  return NULL;
}
