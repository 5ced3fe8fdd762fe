/* Attributes: a short list per op, newest first. Lists and texts are copied into the
 * arena, names are borrowed. A second set of the same name reuses the cell. */
#include "graph/graph.h"

#include <string.h>

#include "base/error.h"

static struct oc_attr *cell(struct oc_graph *g, struct oc_op *op, const char *name,
                            enum oc_attr_kind kind)
{
  struct oc_attr *a = op->attrs;
  while (a && strcmp(a->name, name) != 0)
    a = a->next;
  if (!a) {
    a = OC_NEW(g->arena, struct oc_attr);
    if (!a)
      return NULL;
    a->name = name;
    a->next = op->attrs;
    op->attrs = a;
  }
  a->kind = kind;
  a->n = 1;
  return a;
}

int oc_attr_set_int(struct oc_graph *g, struct oc_op *op, const char *name, int64_t v)
{
  struct oc_attr *a = cell(g, op, name, OC_ATTR_INT);
  if (!a)
    return OC_E_NOMEM;
  a->u.i = v;
  return OC_OK;
}

int oc_attr_set_float(struct oc_graph *g, struct oc_op *op, const char *name, float v)
{
  struct oc_attr *a = cell(g, op, name, OC_ATTR_FLOAT);
  if (!a)
    return OC_E_NOMEM;
  a->u.f = v;
  return OC_OK;
}

int oc_attr_set_bool(struct oc_graph *g, struct oc_op *op, const char *name, bool v)
{
  struct oc_attr *a = cell(g, op, name, OC_ATTR_BOOL);
  if (!a)
    return OC_E_NOMEM;
  a->u.b = v;
  return OC_OK;
}

int oc_attr_set_string(struct oc_graph *g, struct oc_op *op, const char *name,
                       const char *v)
{
  const char *copy = oc_arena_strdup(g->arena, v);
  struct oc_attr *a = copy ? cell(g, op, name, OC_ATTR_STRING) : NULL;
  if (!a)
    return OC_E_NOMEM;
  a->u.s = oc_str_of(copy);
  return OC_OK;
}

int oc_attr_set_ints(struct oc_graph *g, struct oc_op *op, const char *name,
                     const int64_t *v, size_t n)
{
  const int64_t *copy = oc_arena_grow(g->arena, v, n, n, sizeof(*v));
  struct oc_attr *a = copy ? cell(g, op, name, OC_ATTR_INTS) : NULL;
  if (!a)
    return OC_E_NOMEM;
  a->u.ints = copy;
  a->n = n;
  return OC_OK;
}

int oc_attr_set_floats(struct oc_graph *g, struct oc_op *op, const char *name,
                       const float *v, size_t n)
{
  const float *copy = oc_arena_grow(g->arena, v, n, n, sizeof(*v));
  struct oc_attr *a = copy ? cell(g, op, name, OC_ATTR_FLOATS) : NULL;
  if (!a)
    return OC_E_NOMEM;
  a->u.floats = copy;
  a->n = n;
  return OC_OK;
}

int oc_attr_set_strings(struct oc_graph *g, struct oc_op *op, const char *name,
                        const struct oc_str *v, size_t n)
{
  struct oc_str *copy = OC_NEW_N(g->arena, struct oc_str, n);
  if (!copy)
    return OC_E_NOMEM;
  for (size_t i = 0; i < n; i++) {
    copy[i].p = oc_arena_strndup(g->arena, v[i].p, v[i].len);
    copy[i].len = v[i].len;
    if (!copy[i].p)
      return OC_E_NOMEM;
  }
  struct oc_attr *a = cell(g, op, name, OC_ATTR_STRINGS);
  if (!a)
    return OC_E_NOMEM;
  a->u.strings = copy;
  a->n = n;
  return OC_OK;
}

int oc_attr_set_dtype(struct oc_graph *g, struct oc_op *op, const char *name,
                      enum oc_dtype v)
{
  struct oc_attr *a = cell(g, op, name, OC_ATTR_DTYPE);
  if (!a)
    return OC_E_NOMEM;
  a->u.dtype = v;
  return OC_OK;
}

int oc_attr_set_value(struct oc_graph *g, struct oc_op *op, const char *name,
                      const struct oc_value *v)
{
  struct oc_attr *a = cell(g, op, name, OC_ATTR_VALUE);
  if (!a)
    return OC_E_NOMEM;
  a->u.value = v;
  return OC_OK;
}

const struct oc_attr *oc_attr_find(const struct oc_op *op, const char *name)
{
  for (const struct oc_attr *a = op->attrs; a; a = a->next)
    if (strcmp(a->name, name) == 0)
      return a;
  return NULL;
}

static const struct oc_attr *of_kind(const struct oc_op *op, const char *name,
                                     enum oc_attr_kind kind)
{
  const struct oc_attr *a = oc_attr_find(op, name);
  return a && a->kind == kind ? a : NULL;
}

int64_t oc_attr_int(const struct oc_op *op, const char *name, int64_t other)
{
  const struct oc_attr *a = of_kind(op, name, OC_ATTR_INT);
  return a ? a->u.i : other;
}

float oc_attr_float(const struct oc_op *op, const char *name, float other)
{
  const struct oc_attr *a = of_kind(op, name, OC_ATTR_FLOAT);
  return a ? a->u.f : other;
}

bool oc_attr_bool(const struct oc_op *op, const char *name, bool other)
{
  const struct oc_attr *a = of_kind(op, name, OC_ATTR_BOOL);
  return a ? a->u.b : other;
}

struct oc_str oc_attr_string(const struct oc_op *op, const char *name, const char *other)
{
  const struct oc_attr *a = of_kind(op, name, OC_ATTR_STRING);
  return a ? a->u.s : oc_str_of(other);
}

const int64_t *oc_attr_ints(const struct oc_op *op, const char *name, size_t *ret_n)
{
  const struct oc_attr *a = of_kind(op, name, OC_ATTR_INTS);
  *ret_n = a ? a->n : 0;
  return a ? a->u.ints : NULL;
}

enum oc_dtype oc_attr_dtype(const struct oc_op *op, const char *name, enum oc_dtype other)
{
  const struct oc_attr *a = of_kind(op, name, OC_ATTR_DTYPE);
  return a ? a->u.dtype : other;
}
