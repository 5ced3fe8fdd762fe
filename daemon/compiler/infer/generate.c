/* Ops whose result is about a shape or made from one: Shape, Size, Rank, Fill, Range. */
#include <math.h>

#include "infer/infer_internal.h"

/* ONNX's start and end, kept by importers that know them; clamped, negative from behind.
 */
static void shape_range(const struct oc_op *op, int64_t rank, int64_t *ret_from,
                        int64_t *ret_to)
{
  int64_t from = infer_int_attr(op, "start", 0);
  int64_t to = infer_int_attr(op, "end", rank);

  from = from < 0 ? from + rank : from;
  to = to < 0 ? to + rank : to;
  from = from < 0 ? 0 : from > rank ? rank : from;
  to = to < from ? from : to > rank ? rank : to;
  *ret_from = from;
  *ret_to = to;
}

static void shape_shape(struct infer *in, struct oc_op *op)
{
  for (uint32_t k = 0; k < op->n_outputs; k++) {
    enum oc_dtype dtype = infer_dtype_attr(op, "dtype", OC_DT_I32);
    uint32_t rank = 0;
    int64_t n = infer_fresh(in);
    int64_t from = 0;

    if (infer_rank(op, k, &rank)) {
      shape_range(op, rank, &from, &n);
      n -= from;
    }
    infer_set_dims(in, op, k, dtype, &n, 1);
  }
}

static void put_dim(struct infer_cells *y, size_t i, int64_t dim)
{
  if (dim == OC_DIM_UNKNOWN)
    return;
  y->v[i].kind = dim >= 0 ? INFER_KNOWN : INFER_SYMBOL;
  y->v[i].u.i = dim;
}

static void shape_value(struct infer *in, struct oc_op *op)
{
  for (uint32_t k = 0; k < op->n_outputs; k++) {
    struct oc_shape s = infer_shape(op, k);
    struct infer_cells *y = s.known_rank ? infer_cells_new(in, op, k) : NULL;
    int64_t from = 0;
    int64_t to = 0;

    if (!y || y->real)
      return;
    shape_range(op, s.rank, &from, &to);
    for (size_t i = 0; i < y->n; i++)
      put_dim(y, i, s.dims[(size_t)from + i]);
    infer_store(in, op, k, y);
  }
}

static void scalar_shape(struct infer *in, struct oc_op *op)
{
  infer_set(in, op, 0, infer_dtype_attr(op, "dtype", OC_DT_I32), oc_shape_scalar());
}

static void size_value(struct infer *in, struct oc_op *op)
{
  struct oc_shape s = infer_shape(op, 0);
  struct infer_cells *y = s.known_rank ? infer_cells_new(in, op, 0) : NULL;

  if (!y || s.rank > OC_MAX_RANK)
    return;
  put_dim(y, 0, infer_product(in, s.dims, 0, s.rank));
  infer_store(in, op, 0, y);
}

static void rank_value(struct infer *in, struct oc_op *op)
{
  struct oc_shape s = infer_shape(op, 0);
  struct infer_cells *y = s.known_rank ? infer_cells_new(in, op, 0) : NULL;

  if (!y)
    return;
  put_dim(y, 0, s.rank);
  infer_store(in, op, 0, y);
}

/* Fill: dims, value. */
static void fill_shape(struct infer *in, struct oc_op *op)
{
  enum oc_dtype dtype = infer_dtype(op, 1);
  int64_t dims[OC_MAX_RANK];
  uint32_t rank = 0;

  infer_set(in, op, 0, dtype, oc_shape_unknown());
  if (infer_shape_input(in, op, 0, dims, &rank))
    infer_set_dims(in, op, 0, dtype, dims, rank);
}

static void fill_value(struct infer *in, struct oc_op *op)
{
  const struct infer_cells *v = infer_content(in, op, 1);
  struct infer_cells *y = v && v->n == 1 ? infer_cells_new(in, op, 0) : NULL;

  if (!y || y->real != v->real)
    return;
  for (size_t i = 0; i < y->n; i++)
    infer_cell_put(y, i, v, 0);
  infer_store(in, op, 0, y);
}

/* Empty: a shape and a dtype attribute, no content. */
static void empty_shape(struct infer *in, struct oc_op *op)
{
  enum oc_dtype dtype = infer_dtype_attr(op, "dtype", OC_DT_I32);
  int64_t dims[OC_MAX_RANK];
  uint32_t rank = 0;

  infer_set(in, op, 0, dtype, oc_shape_unknown());
  if (infer_shape_input(in, op, 0, dims, &rank))
    infer_set_dims(in, op, 0, dtype, dims, rank);
}

/* max(ceil((limit - start) / delta), 0), a symbol when that can be said of one. */
static int64_t range_count(struct infer *in, const struct oc_op *op)
{
  const struct infer_cells *a = infer_content(in, op, 0);
  const struct infer_cells *b = infer_content(in, op, 1);
  const struct infer_cells *d = infer_content(in, op, 2);
  double start = 0;
  double limit = 0;
  double delta = 0;
  int64_t from = 0;

  if (!a || !b || !d || a->n != 1 || b->n != 1 || d->n != 1 ||
      !infer_cell_real(d, 0, &delta) || delta == 0)
    return infer_fresh(in);
  if (infer_cell_real(a, 0, &start) && infer_cell_real(b, 0, &limit)) {
    double n = ceil((limit - start) / delta);

    return !(n > 0) ? 0 : n < 4e18 ? (int64_t)n : infer_fresh(in);
  }
  if (b->v[0].kind == INFER_SYMBOL && delta == 1 && infer_cell_int(a, 0, &from) &&
      from >= 0)
    return infer_sub(in, b->v[0].u.i, from);
  return infer_fresh(in);
}

static void range_shape(struct infer *in, struct oc_op *op)
{
  int64_t n = range_count(in, op);

  infer_set_dims(in, op, 0, infer_dtype(op, 0), &n, 1);
}

static void range_value(struct infer *in, struct oc_op *op)
{
  const struct infer_cells *a = infer_content(in, op, 0);
  const struct infer_cells *d = infer_content(in, op, 2);
  struct infer_cells *y = a && d ? infer_cells_new(in, op, 0) : NULL;
  int64_t start = 0;
  int64_t delta = 0;

  if (!y || y->real || a->n != 1 || d->n != 1 || !infer_cell_int(a, 0, &start) ||
      !infer_cell_int(d, 0, &delta))
    return;
  for (size_t i = 0; i < y->n; i++) {
    y->v[i].kind = INFER_KNOWN;
    y->v[i].u.i =
        infer_wrap(y->dtype, (int64_t)((uint64_t)start + (uint64_t)delta * (uint64_t)i));
  }
  infer_store(in, op, 0, y);
}

/* LinSpace: start, stop, num. */
static void linspace_shape(struct infer *in, struct oc_op *op)
{
  const struct infer_cells *c = infer_content(in, op, 2);
  int64_t n = c && c->n == 1 ? infer_cell_dim(in, c, 0) : infer_fresh(in);

  infer_set_dims(in, op, 0, infer_dtype(op, 0), &n, 1);
}

const struct infer_rule infer_generate_rules[] = {
  { .type = "Shape", .shape = shape_shape, .value = shape_value },
  { .type = "ShapeN", .shape = shape_shape, .value = shape_value },
  { .type = "Size", .shape = scalar_shape, .value = size_value },
  { .type = "Rank", .shape = scalar_shape, .value = rank_value },
  { .type = "Fill", .shape = fill_shape, .value = fill_value },
  { .type = "Empty", .shape = empty_shape },
  { .type = "Range", .shape = range_shape, .value = range_value },
  { .type = "LinSpace", .shape = linspace_shape },
  { .type = NULL },
};
