/* TensorFlow's strided slices: masks say which entries of begin and end do not count,
 * which are new dims, which dims go, and where the dims in between stand. */
#include "infer/span.h"

/* TensorFlow's masks: bit i speaks of entry i of begin, end and strides. */
struct masks {
  int64_t begin, end, ellipsis, new_axis, shrink;
};

/* Begin, end and strides with their masks: inputs 1 to 3, or attributes (StridedSliceD).
 */
struct strided {
  struct masks m;
  const struct infer_cells *begin, *end, *strides;
  bool has_strides;
  uint32_t n;
};

static const struct infer_cells *list_cells(struct infer *in, const struct oc_op *op,
                                            const char *attr, uint32_t i)
{
  size_t n = 0;
  const int64_t *list = oc_attr_ints(op, attr, &n);

  if (!list)
    return infer_has(op, i) ? infer_content(in, op, i) : NULL;

  struct infer_cells *c = OC_NEW(&in->scratch, struct infer_cells);

  if (c)
    c->v = OC_NEW_N(&in->scratch, struct infer_cell, n);
  if (!c || !c->v)
    return NULL;
  c->n = n;
  for (size_t k = 0; k < n; k++)
    c->v[k] = (struct infer_cell){ .kind = INFER_KNOWN, .u.i = list[k] };
  return c;
}

static bool read_strided(struct infer *in, const struct oc_op *op, struct strided *ret)
{
  int64_t n = 0;

  *ret = (struct strided){
    .m = { infer_int_attr(op, "begin_mask", 0), infer_int_attr(op, "end_mask", 0),
           infer_int_attr(op, "ellipsis_mask", 0), infer_int_attr(op, "new_axis_mask", 0),
           infer_int_attr(op, "shrink_axis_mask", 0) },
    .begin = list_cells(in, op, "begin", 1),
    .end = list_cells(in, op, "end", 2),
    .strides = list_cells(in, op, "strides", 3),
    .has_strides = infer_has(op, 3) || oc_attr_find(op, "strides"),
  };
  n = ret->begin ? (int64_t)ret->begin->n : infer_dim(op, 1, 0);
  if (n < 0 || n > OC_MAX_RANK)
    return false;
  ret->n = (uint32_t)n;
  return true;
}

static struct infer_cell bound_cell(const struct infer_cells *c, uint32_t i, bool masked,
                                    int64_t whole_end)
{
  if (masked)
    return (struct infer_cell){ .kind = INFER_KNOWN, .u.i = whole_end };
  return c && i < c->n ? c->v[i] : (struct infer_cell){ .kind = INFER_UNKNOWN };
}

/* One entry that stands for dim `at`. */
static struct infer_span entry_span(struct infer *in, const struct oc_op *op,
                                    const struct strided *s, uint32_t i, uint32_t at)
{
  int64_t step = 1;
  int64_t dim = infer_dim(op, 0, at);
  bool open = s->has_strides && !(s->strides && infer_cell_int(s->strides, i, &step));
  struct infer_cell begin =
      bound_cell(s->begin, i, s->m.begin >> i & 1, step < 0 ? INT64_MAX : 0);
  struct infer_cell end =
      bound_cell(s->end, i, s->m.end >> i & 1, step < 0 ? INT64_MIN : INT64_MAX);
  struct infer_cells b = { .n = 1, .v = &begin };
  struct infer_cells e = { .n = 1, .v = &end };

  if (!(s->m.shrink >> i & 1))
    return infer_span_of(in, dim, &b, &e, 0, open ? 0 : step);

  struct infer_span one = { .step = 1, .size = 1 };
  int64_t first = 0;

  if (infer_cell_int(&b, 0, &first) && dim >= 0) {
    one.begin = first < 0 ? first + dim : first;
    one.known = one.begin >= 0 && one.begin < dim;
  }
  return one;
}

/* Walks the entries; `dims` gets the result, `spans` what is taken of each input dim. */
static bool tf_spans(struct infer *in, struct oc_op *op, uint32_t rank,
                     struct infer_span *spans, int64_t *dims, uint32_t *ret_rank)
{
  struct strided s;
  uint32_t at = 0;
  uint32_t out = 0;
  uint32_t taken = 0; /* entries that stand for one input dim */

  if (!read_strided(in, op, &s))
    return false;
  for (uint32_t i = 0; i < s.n; i++)
    taken += !(s.m.ellipsis >> i & 1) && !(s.m.new_axis >> i & 1);
  for (uint32_t i = 0; i < s.n; i++) {
    if (s.m.ellipsis >> i & 1) {
      for (uint32_t k = taken; k < rank && at < rank && out < OC_MAX_RANK; k++, at++)
        dims[out++] = infer_dim(op, 0, at);
      continue;
    }
    if (out == OC_MAX_RANK)
      return false;
    if (s.m.new_axis >> i & 1) {
      dims[out++] = 1;
      continue;
    }
    if (at == rank)
      return false;
    spans[at] = entry_span(in, op, &s, i, at);
    if (!(s.m.shrink >> i & 1))
      dims[out++] = spans[at].size;
    at++;
  }
  while (at < rank && out < OC_MAX_RANK)
    dims[out++] = infer_dim(op, 0, at++);
  *ret_rank = out;
  return true;
}

static void tf_slice_shape(struct infer *in, struct oc_op *op)
{
  struct infer_span spans[OC_MAX_RANK];
  int64_t dims[OC_MAX_RANK];
  uint32_t rank = 0;
  uint32_t out = 0;

  if (!infer_rank(op, 0, &rank) || rank > OC_MAX_RANK)
    return;
  infer_whole(op, spans, rank);
  if (tf_spans(in, op, rank, spans, dims, &out))
    infer_set_dims(in, op, 0, infer_dtype(op, 0), dims, out);
}

static void tf_slice_value(struct infer *in, struct oc_op *op)
{
  struct infer_span spans[OC_MAX_RANK];
  int64_t dims[OC_MAX_RANK];
  uint32_t rank = 0;
  uint32_t out = 0;

  if (!infer_content(in, op, 0) || !infer_rank(op, 0, &rank) || rank > OC_MAX_RANK)
    return;
  infer_whole(op, spans, rank);
  if (tf_spans(in, op, rank, spans, dims, &out))
    infer_copy_spans(in, op, spans, rank);
}

const struct infer_rule infer_strided_rules[] = {
  { .type = "StridedSlice", .shape = tf_slice_shape, .value = tf_slice_value },
  { .type = "StridedSliceD", .shape = tf_slice_shape, .value = tf_slice_value },
  { .type = NULL },
};
