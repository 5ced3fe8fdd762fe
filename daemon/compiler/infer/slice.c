/* Slices: begin, end and step per axis.
 *
 * StridedSliceV2 follows ONNX (axes and steps are inputs, negative ends count from
 * behind, everything is clamped); StridedSlice follows TensorFlow (masks); Slice takes
 * offsets and sizes. A slice of a symbolic dim keeps the symbol when it takes all of it,
 * and is a number when begin and end are on one side. */
#include <inttypes.h>

#include "infer/span.h"

static int64_t clamp(int64_t v, int64_t lo, int64_t hi)
{
  return v < lo ? lo : v > hi ? hi : v;
}

static struct infer_span known_span(int64_t dim, int64_t begin, int64_t end, int64_t step)
{
  struct infer_span s = { .known = true };
  int64_t n = 0;

  /* Steps beyond any dim all take one element; keeps -step and products in range. */
  step = clamp(step, -INT32_MAX, INT32_MAX);
  s.step = step;
  if (begin < 0)
    begin = begin < -dim ? -1 : begin + dim;
  else if (begin > dim)
    begin = dim;
  if (end < 0)
    end = end < -dim ? -1 : end + dim;
  if (step > 0) {
    begin = clamp(begin, 0, dim);
    end = clamp(end, 0, dim);
    n = end > begin ? (end - begin - 1) / step + 1 : 0;
  } else {
    begin = clamp(begin, -1, dim - 1);
    end = clamp(end, -1, dim - 1);
    n = begin > end ? (begin - end - 1) / -step + 1 : 0;
  }
  s.begin = begin;
  s.size = n;
  return s;
}

/* `dim` is a symbol. A huge end means "to the end". */
static int64_t symbolic_size(struct infer *in, int64_t dim, int64_t begin, int64_t end,
                             int64_t step)
{
  bool to_end = end >= INT32_MAX;

  if (step == -1 && begin == -1 && end <= INT32_MIN)
    return dim;
  if (step < 1)
    return infer_fresh(in);

  int64_t n = OC_DIM_UNKNOWN;

  if (begin == 0 && to_end)
    n = dim;
  else if (begin > 0 && to_end)
    n = infer_sub(in, dim, begin);
  else if (begin < 0 && to_end && begin > INT32_MIN)
    n = -begin; /* the last few; fewer when the dim is smaller, which no model means */
  else if (begin == 0 && end < 0 && end > INT32_MIN)
    n = infer_sub(in, dim, -end);
  else if (begin >= 0 && end < 0 && end > INT32_MIN)
    n = infer_sub(in, dim, begin - end);
  else if (begin < 0 && end < 0 && begin > INT32_MIN)
    n = end > begin ? end - begin : 0;
  else
    return infer_fresh(in); /* from the front to the front: may be clamped */
  return step == 1 ? n : infer_div(in, infer_add(in, n, step - 1), step);
}

static bool cell_bound(const struct infer_cells *c, size_t i, int64_t *ret)
{
  return c && infer_cell_int(c, i, ret);
}

/* One axis with bounds from cells: numbers, or symbols that name the dim itself. */
struct infer_span infer_span_of(struct infer *in, int64_t dim,
                                const struct infer_cells *b, const struct infer_cells *e,
                                size_t i, int64_t step)
{
  int64_t begin = 0;
  int64_t end = 0;
  bool has_begin = cell_bound(b, i, &begin);
  bool has_end = cell_bound(e, i, &end);

  if (!has_end && e && i < e->n && e->v[i].kind == INFER_SYMBOL) {
    int64_t symbol = e->v[i].u.i;

    if (has_begin && symbol == dim) {
      end = INT64_MAX;
      has_end = true;
    } else if (has_begin && begin == 0 && step == 1) {
      return (struct infer_span){ .size = symbol }; /* x[:n], n at most the dim */
    } else if (has_begin && begin > 0 && step == 1) {
      return (struct infer_span){ .size = infer_sub(in, symbol, begin) };
    }
  }
  if (!has_begin || !has_end || step == 0)
    return (struct infer_span){ .size = infer_fresh(in) };
  if (dim >= 0)
    return known_span(dim, begin, end, step);
  return (struct infer_span){ .size = symbolic_size(in, dim, begin, end, step) };
}

/* Spans of StridedSliceV2 for every dim of the input; false when axes are not known. */
static bool onnx_spans(struct infer *in, struct oc_op *op, struct infer_span *spans,
                       uint32_t rank)
{
  const struct infer_cells *b = infer_content(in, op, 1);
  const struct infer_cells *e = infer_content(in, op, 2);
  size_t n_axes = 0;
  size_t n_steps = 0;
  const int64_t *axes = infer_has(op, 3) ? infer_known_ints(in, op, 3, &n_axes) : NULL;
  const int64_t *steps = infer_has(op, 4) ? infer_known_ints(in, op, 4, &n_steps) : NULL;
  int64_t n = b ? (int64_t)b->n : infer_dim(op, 1, 0);

  if (n < 0 || n > (int64_t)rank || (infer_has(op, 3) && (!axes || n_axes != (size_t)n)))
    return false;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t at = i;
    bool open = infer_has(op, 4) && (!steps || i >= n_steps);
    int64_t step = steps && i < n_steps ? steps[i] : 1;

    if (axes && !infer_axis(in, op, axes[i], rank, &at))
      return false;
    if (step == 0)
      infer_conflict(in, op, "a step of 0");
    spans[at] = infer_span_of(in, infer_dim(op, 0, at), b, e, i, open ? 0 : step);
  }
  return true;
}

void infer_whole(const struct oc_op *op, struct infer_span *spans, uint32_t rank)
{
  for (uint32_t i = 0; i < rank; i++) {
    int64_t d = infer_dim(op, 0, i);

    spans[i] = (struct infer_span){ .known = d >= 0, .begin = 0, .step = 1, .size = d };
  }
}

void infer_set_spans(struct infer *in, struct oc_op *op, const struct infer_span *spans,
                     uint32_t rank)
{
  int64_t dims[OC_MAX_RANK];

  for (uint32_t i = 0; i < rank; i++)
    dims[i] = spans[i].size;
  infer_set_dims(in, op, 0, infer_dtype(op, 0), dims, rank);
}

static void unknown_dims(struct infer *in, struct oc_op *op, uint32_t rank)
{
  int64_t dims[OC_MAX_RANK];

  for (uint32_t i = 0; i < rank; i++)
    dims[i] = infer_fresh(in);
  infer_set_dims(in, op, 0, infer_dtype(op, 0), dims, rank);
}

static void onnx_slice_shape(struct infer *in, struct oc_op *op)
{
  struct infer_span spans[OC_MAX_RANK];
  uint32_t rank = 0;

  if (!infer_rank(op, 0, &rank) || rank > OC_MAX_RANK)
    return;
  infer_whole(op, spans, rank);
  if (onnx_spans(in, op, spans, rank))
    infer_set_spans(in, op, spans, rank);
  else
    unknown_dims(in, op, rank);
}

/* Copies the elements that the spans select; every span has to be known. */
void infer_copy_spans(struct infer *in, struct oc_op *op, const struct infer_span *spans,
                      uint32_t rank)
{
  const struct infer_cells *x = infer_content(in, op, 0);
  struct infer_cells *y = x ? infer_cells_new(in, op, 0) : NULL;

  if (!y)
    return;
  for (uint32_t d = 0; d < rank; d++)
    if (!spans[d].known)
      return;
  for (size_t i = 0; i < y->n; i++) {
    size_t rest = i;
    size_t from = 0;
    size_t stride = 1;

    for (uint32_t d = rank; d > 0; d--) {
      size_t size = (size_t)spans[d - 1].size;
      int64_t at = spans[d - 1].begin + (int64_t)(rest % size) * spans[d - 1].step;

      rest /= size;
      from += (size_t)at * stride;
      stride *= (size_t)x->shape.dims[d - 1];
    }
    if (from >= x->n)
      return;
    infer_cell_put(y, i, x, from);
  }
  infer_store(in, op, 0, y);
}

static void onnx_slice_value(struct infer *in, struct oc_op *op)
{
  struct infer_span spans[OC_MAX_RANK];
  uint32_t rank = 0;

  if (!infer_content(in, op, 0) || !infer_rank(op, 0, &rank) || rank > OC_MAX_RANK)
    return;
  infer_whole(op, spans, rank);
  if (onnx_spans(in, op, spans, rank))
    infer_copy_spans(in, op, spans, rank);
}

static bool sized_spans(struct infer *in, struct oc_op *op, struct infer_span *spans,
                        uint32_t rank)
{
  const struct infer_cells *b = infer_content(in, op, 1);
  const struct infer_cells *n = infer_content(in, op, 2);

  if (!n || n->n != rank)
    return false;
  for (uint32_t i = 0; i < rank; i++) {
    int64_t dim = infer_dim(op, 0, i);
    int64_t begin = 0;
    bool has = cell_bound(b, i, &begin);
    int64_t size = 0;
    bool rest = infer_cell_int(n, i, &size) && size == -1;

    spans[i] = (struct infer_span){ .step = 1, .begin = begin };
    spans[i].size = !rest ? infer_cell_dim(in, n, i)
                    : has ? infer_sub(in, dim, begin)
                          : infer_fresh(in);
    spans[i].known = has && dim >= 0 && begin >= 0 && spans[i].size >= 0 &&
                     begin <= dim - spans[i].size;
    if (has && dim >= 0 && !spans[i].known && spans[i].size >= 0)
      infer_conflict(in, op,
                     "%" PRId64 " elements from %" PRId64 " on, the dim has %" PRId64,
                     spans[i].size, begin, dim);
  }
  return true;
}

static void sized_slice_shape(struct infer *in, struct oc_op *op)
{
  struct infer_span spans[OC_MAX_RANK];
  uint32_t rank = 0;

  if (!infer_rank(op, 0, &rank) || rank > OC_MAX_RANK)
    return;
  if (sized_spans(in, op, spans, rank))
    infer_set_spans(in, op, spans, rank);
  else
    unknown_dims(in, op, rank);
}

static void sized_slice_value(struct infer *in, struct oc_op *op)
{
  struct infer_span spans[OC_MAX_RANK];
  uint32_t rank = 0;

  if (infer_content(in, op, 0) && infer_rank(op, 0, &rank) && rank <= OC_MAX_RANK &&
      sized_spans(in, op, spans, rank))
    infer_copy_spans(in, op, spans, rank);
}

const struct infer_rule infer_slice_rules[] = {
  { .type = "StridedSliceV2", .shape = onnx_slice_shape, .value = onnx_slice_value },
  { .type = "Slice", .shape = sized_slice_shape, .value = sized_slice_value },
  { .type = NULL },
};
