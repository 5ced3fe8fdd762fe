/* Access to the tensors and attributes of the op under way.
 *
 * Importers leave optional inputs unlinked or off the end; both look the same here. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "infer/infer_internal.h"

bool infer_has(const struct oc_op *op, uint32_t i)
{
  return i < op->n_inputs && op->inputs[i].from != NULL;
}

struct oc_shape infer_shape(const struct oc_op *op, uint32_t i)
{
  return infer_has(op, i) ? op->inputs[i].t.shape : oc_shape_unknown();
}

enum oc_dtype infer_dtype(const struct oc_op *op, uint32_t i)
{
  return infer_has(op, i) ? op->inputs[i].t.dtype : OC_DT_UNDEFINED;
}

bool infer_rank(const struct oc_op *op, uint32_t i, uint32_t *ret)
{
  struct oc_shape s = infer_shape(op, i);

  if (!s.known_rank)
    return false;
  *ret = s.rank;
  return true;
}

int64_t infer_dim(const struct oc_op *op, uint32_t i, int64_t d)
{
  struct oc_shape s = infer_shape(op, i);

  if (!s.known_rank)
    return OC_DIM_UNKNOWN;
  if (d < 0)
    d += s.rank;
  return d >= 0 && d < (int64_t)s.rank ? s.dims[d] : OC_DIM_UNKNOWN;
}

void infer_set(struct infer *in, struct oc_op *op, uint32_t k, enum oc_dtype dtype,
               struct oc_shape shape)
{
  uint64_t n = 0;

  if (k >= op->n_outputs)
    return;
  if (oc_shape_is_static(shape) && !oc_shape_elements(shape, &n))
    infer_conflict(in, op, "its output has more than 2^62 elements");
  if (in->conflict)
    shape = oc_shape_unknown();
  op->outputs[k].t.dtype = dtype;
  op->outputs[k].t.shape = shape;
}

void infer_set_dims(struct infer *in, struct oc_op *op, uint32_t k, enum oc_dtype dtype,
                    const int64_t *dims, size_t rank)
{
  infer_set(in, op, k, dtype, oc_shape_of(in->arena, dims, rank));
}

bool infer_dims(struct infer *in, const struct oc_op *op, uint32_t i,
                int64_t dims[OC_MAX_RANK], uint32_t *ret_rank)
{
  struct oc_shape s = infer_shape(op, i);

  if (!s.known_rank)
    return false;
  if (s.rank > OC_MAX_RANK) {
    infer_conflict(in, op, "input %u has rank %u", i, s.rank);
    return false;
  }
  if (s.rank > 0)
    memcpy(dims, s.dims, s.rank * sizeof(*dims));
  *ret_rank = s.rank;
  return true;
}

bool infer_axis(struct infer *in, const struct oc_op *op, int64_t axis, uint32_t rank,
                uint32_t *ret)
{
  if (axis < -(int64_t)rank || axis >= (int64_t)rank) {
    infer_conflict(in, op, "axis %lld is outside of rank %u", (long long)axis, rank);
    return false;
  }
  *ret = (uint32_t)(axis < 0 ? axis + rank : axis);
  return true;
}

enum oc_dtype infer_dtype_attr(const struct oc_op *op, const char *name,
                               enum oc_dtype other)
{
  const struct oc_attr *a = oc_attr_find(op, name);

  if (a && a->kind == OC_ATTR_DTYPE)
    return a->u.dtype;
  if (a && a->kind == OC_ATTR_INT && a->u.i >= 0 && a->u.i < 64)
    return oc_dtype_from_runtime((int)a->u.i);
  return other;
}

int64_t infer_int_attr(const struct oc_op *op, const char *name, int64_t other)
{
  const struct oc_attr *a = oc_attr_find(op, name);

  if (a && a->kind == OC_ATTR_BOOL)
    return a->u.b;
  return a && a->kind == OC_ATTR_INT ? a->u.i : other;
}

bool infer_bool_attr(const struct oc_op *op, const char *name, bool other)
{
  return infer_int_attr(op, name, other) != 0;
}

static void report(struct infer *in, const struct oc_op *op, const char *why)
{
  struct infer_scope *s = in->frames[in->depth - 1].scope;

  in->conflict = true;
  if (in->depth > 1) {
    if (!s->broken) {
      s->broken = op;
      s->why = oc_arena_strdup(&in->scratch, why);
    }
  } else if (in->findings) {
    oc_finding_add(in->findings, OC_FINDING_SHAPE_CONFLICT, op->name, "type", op->type,
                   "why", why, NULL);
  }
}

void infer_conflict(struct infer *in, const struct oc_op *op, const char *fmt, ...)
{
  char text[200];
  va_list ap;

  if (in->conflict)
    return;
  va_start(ap, fmt);
  (void)vsnprintf(text, sizeof(text), fmt, ap);
  va_end(ap);
  report(in, op, text);
}

void infer_broken(struct infer *in, const struct infer_scope *sub)
{
  if (!in->conflict)
    report(in, sub->broken, sub->why ? sub->why : "");
}
