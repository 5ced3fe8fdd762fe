/* Concat and Pack. The axis is an attribute or an input before or behind the tensors. */
#include <inttypes.h>

#include "infer/infer_internal.h"

enum kind { AXIS_ATTR, AXIS_FIRST, AXIS_LAST };

/* The tensors that are joined: inputs [from, to). */
static void range_of(const struct oc_op *op, enum kind k, uint32_t *ret_from,
                     uint32_t *ret_to)
{
  *ret_from = k == AXIS_FIRST ? 1 : 0;
  *ret_to = op->n_inputs - (k == AXIS_LAST && op->n_inputs > 0 ? 1 : 0);
  if (*ret_from > *ret_to)
    *ret_from = *ret_to;
}

static bool concat_axis(struct infer *in, const struct oc_op *op, enum kind k,
                        uint32_t rank, uint32_t *ret)
{
  int64_t axis = infer_int_attr(op, "concat_dim", infer_int_attr(op, "axis", 0));

  if (k != AXIS_ATTR) {
    uint32_t at = k == AXIS_FIRST ? 0 : op->n_inputs - 1;
    size_t n = 0;
    const int64_t *v = infer_known_ints(in, op, at, &n);

    if (!v || n != 1)
      return false;
    axis = v[0];
  }
  return infer_axis(in, op, axis, rank, ret);
}

static void concat_shape(struct infer *in, struct oc_op *op)
{
  enum kind kind = (enum kind)in->rule->arg;
  int64_t dims[OC_MAX_RANK];
  uint32_t rank = 0;
  uint32_t axis = 0;
  uint32_t from = 0;
  uint32_t to = 0;

  range_of(op, kind, &from, &to);
  if (from == to)
    return;
  infer_set(in, op, 0, infer_dtype(op, from), oc_shape_unknown());
  if (!infer_dims(in, op, from, dims, &rank) || !concat_axis(in, op, kind, rank, &axis))
    return;
  for (uint32_t i = from + 1; i < to; i++) {
    struct oc_shape s = infer_shape(op, i);

    if (!s.known_rank) {
      dims[axis] = infer_fresh(in);
      continue;
    }
    if (s.rank != rank) {
      infer_conflict(in, op, "ranks %u and %u are joined", rank, s.rank);
      return;
    }
    for (uint32_t d = 0; d < rank; d++)
      dims[d] = d == axis ? infer_add(in, dims[d], s.dims[d])
                          : infer_same(in, op, dims[d], s.dims[d]);
  }
  infer_set_dims(in, op, 0, infer_dtype(op, from), dims, rank);
}

/* Input `i` as cells; when nothing is known of it, as so many unknown ones. */
static const struct infer_cells *part(struct infer *in, const struct oc_op *op,
                                      uint32_t i, struct infer_cells *blank)
{
  const struct infer_cells *c = infer_content(in, op, i);
  uint64_t n = 0;

  if (c || !oc_shape_elements(infer_shape(op, i), &n) || n > OC_INFER_MAX_VALUE)
    return c;
  blank->shape = infer_shape(op, i);
  blank->n = (size_t)n;
  blank->v = OC_NEW_N(&in->scratch, struct infer_cell, n);
  return blank->v ? blank : NULL;
}

static bool any_content(struct infer *in, const struct oc_op *op, uint32_t from,
                        uint32_t to)
{
  for (uint32_t i = from; i < to; i++)
    if (infer_content(in, op, i))
      return true;
  return false;
}

/* Both joins: `outer` blocks, each made of one block of every part. */
static void join_value(struct infer *in, struct oc_op *op, uint32_t from, uint32_t to,
                       uint32_t axis)
{
  struct infer_cells *y =
      any_content(in, op, from, to) ? infer_cells_new(in, op, 0) : NULL;
  size_t outer = 1;
  size_t done = 0;

  if (!y)
    return;
  for (uint32_t d = 0; d < axis; d++)
    outer *= (size_t)y->shape.dims[d];
  for (size_t o = 0; o < outer; o++) {
    for (uint32_t i = from; i < to; i++) {
      struct infer_cells blank = { .real = y->real };
      const struct infer_cells *x = part(in, op, i, &blank);

      if (!x || x->real != y->real)
        return;

      size_t block = x->n / outer;

      for (size_t k = 0; k < block && done < y->n; k++)
        infer_cell_put(y, done++, x, o * block + k);
    }
  }
  infer_store(in, op, 0, y);
}

static void concat_value(struct infer *in, struct oc_op *op)
{
  enum kind kind = (enum kind)in->rule->arg;
  struct oc_shape s = op->outputs[0].t.shape;
  uint32_t from = 0;
  uint32_t to = 0;
  uint32_t axis = 0;

  range_of(op, kind, &from, &to);
  if (s.known_rank && oc_shape_is_static(s) && concat_axis(in, op, kind, s.rank, &axis))
    join_value(in, op, from, to, axis);
}

static bool pack_axis(struct infer *in, const struct oc_op *op, uint32_t rank,
                      uint32_t *ret)
{
  return infer_axis(in, op, infer_int_attr(op, "axis", 0), rank + 1, ret);
}

static void pack_shape(struct infer *in, struct oc_op *op)
{
  int64_t x[OC_MAX_RANK];
  int64_t y[OC_MAX_RANK];
  uint32_t rank = 0;
  uint32_t axis = 0;

  if (!infer_dims(in, op, 0, x, &rank) || rank == OC_MAX_RANK ||
      !pack_axis(in, op, rank, &axis))
    return;
  for (uint32_t i = 1; i < op->n_inputs; i++) {
    struct oc_shape s = infer_shape(op, i);

    if (s.known_rank && s.rank != rank) {
      infer_conflict(in, op, "ranks %u and %u are packed", rank, s.rank);
      return;
    }
    for (uint32_t d = 0; d < rank && s.known_rank; d++)
      x[d] = infer_same(in, op, x[d], s.dims[d]);
  }
  for (uint32_t d = 0, from = 0; d < rank + 1; d++)
    y[d] = d == axis ? (int64_t)op->n_inputs : x[from++];
  infer_set_dims(in, op, 0, infer_dtype(op, 0), y, rank + 1);
}

static void pack_value(struct infer *in, struct oc_op *op)
{
  struct oc_shape s = op->outputs[0].t.shape;
  uint32_t axis = 0;

  if (oc_shape_is_static(s) && s.rank > 0 && pack_axis(in, op, s.rank - 1, &axis))
    join_value(in, op, 0, op->n_inputs, axis);
}

const struct infer_rule infer_join_rules[] = {
  { .type = "ConcatD", .shape = concat_shape, .value = concat_value, .arg = AXIS_ATTR },
  { .type = "ConcatV2D", .shape = concat_shape, .value = concat_value, .arg = AXIS_ATTR },
  { .type = "Concat", .shape = concat_shape, .value = concat_value, .arg = AXIS_FIRST },
  { .type = "ConcatV2", .shape = concat_shape, .value = concat_value, .arg = AXIS_LAST },
  { .type = "Pack", .shape = pack_shape, .value = pack_value },
  { .type = NULL },
};
