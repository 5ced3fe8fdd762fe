/* Pads: two numbers per axis, pair by pair or, as ONNX has it, all begins and then all
 * ends. Negative pads cut. */
#include <inttypes.h>

#include "infer/infer_internal.h"

struct pads {
  const struct infer_cells *cells;
  uint32_t rank;
  bool pairs;
};

static bool read_pads(struct infer *in, const struct oc_op *op, uint32_t rank,
                      struct pads *ret)
{
  const struct infer_cells *c = infer_content(in, op, 1);

  if (!c)
    return false;
  if (c->n != 2 * (size_t)rank) {
    infer_conflict(in, op, "%zu pads for rank %u", c->n, rank);
    return false;
  }
  *ret = (struct pads){ c, rank, infer_bool_attr(op, "paddings_contiguous", true) };
  return true;
}

static size_t place(const struct pads *p, uint32_t axis, bool end)
{
  if (p->pairs)
    return 2 * (size_t)axis + end;
  return axis + (end ? (size_t)p->rank : 0);
}

static int64_t padded(struct infer *in, const struct oc_op *op, const struct pads *p,
                      uint32_t axis, int64_t dim)
{
  for (int end = 0; end < 2; end++) {
    size_t i = place(p, axis, end != 0);
    int64_t v = 0;

    if (infer_cell_int(p->cells, i, &v) && v < 0 && v > -INT64_MAX) {
      if (dim >= 0 && dim < -v) {
        infer_conflict(in, op, "pads cut %" PRId64 " of %" PRId64, -v, dim);
        return OC_DIM_UNKNOWN;
      }
      dim = infer_sub(in, dim, -v);
    } else {
      dim = infer_add(in, dim, infer_cell_dim(in, p->cells, i));
    }
  }
  return dim;
}

static void pad_shape(struct infer *in, struct oc_op *op)
{
  int64_t dims[OC_MAX_RANK];
  uint32_t rank = 0;
  struct pads p;

  infer_set(in, op, 0, infer_dtype(op, 0), oc_shape_unknown());
  if (!infer_dims(in, op, 0, dims, &rank))
    return;

  bool known = read_pads(in, op, rank, &p);

  for (uint32_t i = 0; i < rank && !in->conflict; i++)
    dims[i] = known ? padded(in, op, &p, i, dims[i]) : infer_fresh(in);
  infer_set_dims(in, op, 0, infer_dtype(op, 0), dims, rank);
}

/* Constant mode only. */
static void pad_value(struct infer *in, struct oc_op *op)
{
  const struct infer_cells *x = infer_content(in, op, 0);
  const struct infer_cells *fill = infer_has(op, 2) ? infer_content(in, op, 2) : NULL;
  struct infer_cells *y = x ? infer_cells_new(in, op, 0) : NULL;
  struct pads p;

  if (!y || !oc_str_is(oc_attr_string(op, "mode", "constant"), "constant") ||
      oc_op_is(op, "MirrorPad") || !read_pads(in, op, x->shape.rank, &p) ||
      (infer_has(op, 2) && (!fill || fill->n != 1 || fill->real != y->real)))
    return;
  for (size_t i = 0; i < y->n; i++) {
    size_t rest = i;
    size_t from = 0;
    size_t stride = 1;
    bool inside = true;

    for (uint32_t d = x->shape.rank; d > 0; d--) {
      int64_t begin = 0;
      int64_t at = (int64_t)(rest % (size_t)y->shape.dims[d - 1]);

      if (!infer_cell_int(p.cells, place(&p, d - 1, false), &begin))
        return;
      rest /= (size_t)y->shape.dims[d - 1];
      at -= begin;
      inside = inside && at >= 0 && at < x->shape.dims[d - 1];
      from += inside ? (size_t)at * stride : 0;
      stride *= (size_t)x->shape.dims[d - 1];
    }
    if (inside)
      infer_cell_put(y, i, x, from);
    else if (fill)
      infer_cell_put(y, i, fill, 0);
    else
      y->v[i] = (struct infer_cell){ .kind = INFER_KNOWN };
  }
  infer_store(in, op, 0, y);
}

const struct infer_rule infer_pad_rules[] = {
  { .type = "Pad", .shape = pad_shape, .value = pad_value },
  { .type = "PadV2", .shape = pad_shape, .value = pad_value },
  { .type = "PadV3", .shape = pad_shape, .value = pad_value },
  { .type = "MirrorPad", .shape = pad_shape },
  { .type = NULL },
};
