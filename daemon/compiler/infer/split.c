/* Split, SplitV and Unpack: one tensor into several along an axis. */
#include <inttypes.h>
#include <string.h>

#include "infer/infer_internal.h"

enum kind { SPLIT, SPLIT_D, SPLIT_V, SPLIT_VD };

static uint32_t data_input(enum kind k)
{
  return k == SPLIT ? 1 : 0;
}

static bool split_axis(struct infer *in, const struct oc_op *op, enum kind k,
                       uint32_t rank, uint32_t *ret)
{
  int64_t axis = infer_int_attr(op, "split_dim", 0);

  if (k == SPLIT || k == SPLIT_V) {
    size_t n = 0;
    const int64_t *v = infer_known_ints(in, op, k == SPLIT ? 0 : 2, &n);

    if (!v || n != 1)
      return false;
    axis = v[0];
  }
  return infer_axis(in, op, axis, rank, ret);
}

/* Size of output `k` along the axis. */
static int64_t part_size(struct infer *in, const struct oc_op *op, enum kind kind,
                         uint32_t k, int64_t dim)
{
  size_t n = 0;
  const int64_t *list = kind == SPLIT_VD ? oc_attr_ints(op, "size_splits", &n) : NULL;
  const struct infer_cells *c = kind == SPLIT_V ? infer_content(in, op, 1) : NULL;

  if (kind == SPLIT || kind == SPLIT_D)
    return infer_div(in, dim, op->n_outputs);
  if (c && c->n == op->n_outputs) {
    int64_t size = infer_cell_dim(in, c, k);

    if (size != -1)
      return size;
    list = infer_known_ints(in, op, 1, &n);
  }
  if (!list || n != op->n_outputs)
    return infer_fresh(in);
  if (list[k] != -1)
    return list[k];

  int64_t rest = dim; /* -1: what the others leave */

  for (uint32_t i = 0; i < n; i++)
    if (i != k)
      rest = infer_sub(in, rest, list[i]);
  return rest;
}

static void check_sum(struct infer *in, const struct oc_op *op, int64_t dim, int64_t sum)
{
  if (dim >= 0 && sum >= 0 && dim != sum)
    infer_conflict(in, op, "parts of %" PRId64 " in all for a dim of %" PRId64, sum, dim);
}

static void split_shape(struct infer *in, struct oc_op *op)
{
  enum kind kind = (enum kind)in->rule->arg;
  uint32_t x = data_input(kind);
  int64_t dims[OC_MAX_RANK];
  uint32_t rank = 0;
  uint32_t axis = 0;

  for (uint32_t k = 0; k < op->n_outputs; k++)
    infer_set(in, op, k, infer_dtype(op, x), oc_shape_unknown());
  if (!infer_dims(in, op, x, dims, &rank) || !split_axis(in, op, kind, rank, &axis))
    return;

  int64_t dim = dims[axis];
  int64_t sum = 0;

  for (uint32_t k = 0; k < op->n_outputs; k++)
    sum = infer_add(in, sum, part_size(in, op, kind, k, dim));
  check_sum(in, op, dim, sum);
  for (uint32_t k = 0; k < op->n_outputs; k++) {
    dims[axis] = part_size(in, op, kind, k, dim);
    infer_set_dims(in, op, k, infer_dtype(op, x), dims, rank);
  }
}

/* Hands out blocks along `axis` in turn; with Unpack every block is one element wide. */
static void deal(struct infer *in, struct oc_op *op, const struct infer_cells *x,
                 uint32_t axis)
{
  size_t inner = 1;
  size_t outer = 1;
  size_t start = 0;

  for (uint32_t d = axis + 1; d < x->shape.rank; d++)
    inner *= (size_t)x->shape.dims[d];
  for (uint32_t d = 0; d < axis; d++)
    outer *= (size_t)x->shape.dims[d];
  for (uint32_t k = 0; k < op->n_outputs; k++) {
    struct infer_cells *y = infer_cells_new(in, op, k);

    if (!y || outer == 0)
      return;

    size_t block = y->n / outer;

    for (size_t i = 0; i < y->n; i++) {
      size_t from = i / block * (size_t)x->shape.dims[axis] * inner + start + i % block;

      if (from < x->n)
        infer_cell_put(y, i, x, from);
    }
    infer_store(in, op, k, y);
    start += block;
  }
}

static void split_value(struct infer *in, struct oc_op *op)
{
  enum kind kind = (enum kind)in->rule->arg;
  const struct infer_cells *x = infer_content(in, op, data_input(kind));
  uint32_t axis = 0;

  if (x && split_axis(in, op, kind, x->shape.rank, &axis))
    deal(in, op, x, axis);
}

static void unpack_shape(struct infer *in, struct oc_op *op)
{
  int64_t dims[OC_MAX_RANK];
  uint32_t rank = 0;
  uint32_t axis = 0;

  if (!infer_dims(in, op, 0, dims, &rank) ||
      !infer_axis(in, op, infer_int_attr(op, "axis", 0), rank, &axis))
    return;
  (void)infer_same(in, op, dims[axis], op->n_outputs);
  memmove(&dims[axis], &dims[axis + 1], (rank - axis - 1) * sizeof(*dims));
  for (uint32_t k = 0; k < op->n_outputs; k++)
    infer_set_dims(in, op, k, infer_dtype(op, 0), dims, rank - 1);
}

static void unpack_value(struct infer *in, struct oc_op *op)
{
  const struct infer_cells *x = infer_content(in, op, 0);
  uint32_t axis = 0;

  if (x && infer_axis(in, op, infer_int_attr(op, "axis", 0), x->shape.rank, &axis))
    deal(in, op, x, axis);
}

#define ROW(t, k)                                                                        \
  {                                                                                      \
    .type = t, .shape = split_shape, .value = split_value, .arg = k                      \
  }

const struct infer_rule infer_split_rules[] = {
  ROW("Split", SPLIT),
  ROW("SplitD", SPLIT_D),
  ROW("SplitV", SPLIT_V),
  ROW("SplitVD", SPLIT_VD),
  { .type = "Unpack", .shape = unpack_shape, .value = unpack_value },
  { .type = NULL },
};
