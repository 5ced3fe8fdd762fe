/* Reshape and what only adds or drops dims of 1. */
#include <inttypes.h>
#include <string.h>

#include "infer/infer_internal.h"

/* Factors of a set of dims, symbols taken apart: 4 per dim are plenty. */
struct factors {
  int64_t known;
  int64_t symbols[4 * OC_MAX_RANK];
  size_t n;
};

static void collect(const struct infer *in, struct factors *f, const int64_t *dims,
                    uint32_t rank)
{
  f->known = 1;
  f->n = 0;
  for (uint32_t i = 0; i < rank; i++) {
    int64_t parts[OC_MAX_RANK];
    size_t n = infer_factors(in, dims[i], parts, OC_MAX_RANK);

    for (size_t k = 0; k < n; k++) {
      if (parts[k] < 0 && f->n < sizeof(f->symbols) / sizeof(f->symbols[0]))
        f->symbols[f->n++] = parts[k];
      else if (parts[k] >= 0 && __builtin_mul_overflow(f->known, parts[k], &f->known))
        f->known = 0;
    }
  }
}

/* Drops factors that both sides have. */
static void cancel(struct factors *a, struct factors *b)
{
  for (size_t i = 0; i < a->n;) {
    size_t j = 0;

    while (j < b->n &&
           (b->symbols[j] != a->symbols[i] || a->symbols[i] == OC_DIM_UNKNOWN))
      j++;
    if (j == b->n) {
      i++;
      continue;
    }
    a->symbols[i] = a->symbols[--a->n];
    b->symbols[j] = b->symbols[--b->n];
  }
}

/* The dim that was left open: all elements divided by the other dims. */
static int64_t rest_of(struct infer *in, const struct oc_op *op, const int64_t *x,
                       uint32_t x_rank, const int64_t *others, uint32_t n_others)
{
  struct factors a;
  struct factors b;

  collect(in, &a, x, x_rank);
  collect(in, &b, others, n_others);
  cancel(&a, &b);
  if (b.n > 0 || b.known <= 0)
    return b.n == 0 && a.n == 0 && a.known == 0 ? 0 : infer_fresh(in);
  if (a.n == 0 && a.known % b.known != 0) {
    infer_conflict(in, op, "%" PRId64 " elements do not fill rows of %" PRId64, a.known,
                   b.known);
    return OC_DIM_UNKNOWN;
  }
  if (a.known % b.known != 0) {
    int64_t product = a.known;

    for (size_t i = 0; i < a.n; i++)
      product = infer_mul(in, product, a.symbols[i]);
    return infer_div(in, product, b.known);
  }

  int64_t product = 1;

  for (size_t i = 0; i < a.n; i++)
    product = infer_mul(in, product, a.symbols[i]);
  return infer_mul(in, a.known / b.known, product);
}

static void check_count(struct infer *in, const struct oc_op *op, struct oc_shape y)
{
  uint64_t a = 0;
  uint64_t b = 0;

  if (oc_shape_elements(infer_shape(op, 0), &a) && oc_shape_elements(y, &b) && a != b)
    infer_conflict(in, op, "%" PRIu64 " elements cannot become %" PRIu64, a, b);
}

/* Fills zeros (copy the input's dim) and the one -1. */
static void resolve(struct infer *in, struct oc_op *op, int64_t *want, uint32_t n)
{
  int64_t x[OC_MAX_RANK];
  int64_t others[OC_MAX_RANK];
  uint32_t rank = 0;
  uint32_t n_others = 0;
  uint32_t open = n;
  bool known = infer_dims(in, op, 0, x, &rank);
  bool zero_is_zero = infer_bool_attr(op, "allowzero", false);

  for (uint32_t i = 0; i < n; i++) {
    if (want[i] == 0 && !zero_is_zero)
      want[i] = known && i < rank ? x[i] : infer_fresh(in);
    if (want[i] == OC_DIM_UNKNOWN && open == n)
      open = i;
    else
      others[n_others++] = want[i];
  }
  if (open < n)
    want[open] = known ? rest_of(in, op, x, rank, others, n_others) : infer_fresh(in);
}

static void reshape_shape(struct infer *in, struct oc_op *op)
{
  int64_t want[OC_MAX_RANK];
  uint32_t n = 0;
  size_t listed = 0;
  const int64_t *list = oc_attr_ints(op, "shape", &listed);

  infer_set(in, op, 0, infer_dtype(op, 0), oc_shape_unknown());
  if (list && listed <= OC_MAX_RANK && !infer_has(op, 1)) {
    n = (uint32_t)listed;
    memcpy(want, list, listed * sizeof(*list));
  } else if (!infer_shape_input(in, op, 1, want, &n)) {
    return;
  }

  const struct infer_cells *c = infer_content(in, op, 1);
  uint64_t elements = 0;

  for (uint32_t i = 0; c && i < n; i++) {
    if (c->v[i].kind == INFER_KNOWN && want[i] < -1) {
      infer_conflict(in, op, "%" PRId64 " is no dim", want[i]);
      return;
    }
  }
  if (c || list) {
    resolve(in, op, want, n);
  } else if (n == 1 && oc_shape_elements(infer_shape(op, 0), &elements)) {
    want[0] = (int64_t)elements; /* whatever it says, there is one way */
  }
  infer_set_dims(in, op, 0, infer_dtype(op, 0), want, n);
  check_count(in, op, op->outputs[0].t.shape);
  if (in->conflict)
    infer_set(in, op, 0, infer_dtype(op, 0), oc_shape_unknown());
}

static void flatten_shape(struct infer *in, struct oc_op *op)
{
  int64_t x[OC_MAX_RANK];
  uint32_t rank = 0;
  int64_t axis = infer_int_attr(op, "axis", 1);

  infer_set(in, op, 0, infer_dtype(op, 0), oc_shape_unknown());
  if (!infer_dims(in, op, 0, x, &rank)) {
    int64_t two[2] = { infer_fresh(in), infer_fresh(in) };

    infer_set_dims(in, op, 0, infer_dtype(op, 0), two, 2);
    return;
  }
  if (axis < -(int64_t)rank || axis > (int64_t)rank) {
    infer_conflict(in, op, "axis %" PRId64 " is outside of rank %u", axis, rank);
    return;
  }

  uint32_t at = (uint32_t)(axis < 0 ? axis + rank : axis);
  int64_t dims[2] = { infer_product(in, x, 0, at), infer_product(in, x, at, rank) };

  infer_set_dims(in, op, 0, infer_dtype(op, 0), dims, 2);
}

/* FlattenV2: dims from `axis` to `end_axis` become one. */
static void flatten_range(struct infer *in, struct oc_op *op)
{
  int64_t x[OC_MAX_RANK];
  uint32_t rank = 0;
  uint32_t from = 0;
  uint32_t to = 0;

  infer_set(in, op, 0, infer_dtype(op, 0), oc_shape_unknown());
  if (!infer_dims(in, op, 0, x, &rank) || rank == 0 ||
      !infer_axis(in, op, infer_int_attr(op, "axis", 1), rank, &from) ||
      !infer_axis(in, op, infer_int_attr(op, "end_axis", -1), rank, &to) || to < from)
    return;
  x[from] = infer_product(in, x, from, to + 1);
  memmove(&x[from + 1], &x[to + 1], (rank - to - 1) * sizeof(*x));
  infer_set_dims(in, op, 0, infer_dtype(op, 0), x, rank - (to - from));
}

static void squeeze_shape(struct infer *in, struct oc_op *op)
{
  const char *attr = oc_attr_find(op, "axes") ? "axes" : "axis";
  int64_t x[OC_MAX_RANK];
  uint32_t rank = 0;
  uint32_t n = 0;
  uint64_t mask = 0;
  bool all = false;

  infer_set(in, op, 0, infer_dtype(op, 0), oc_shape_unknown());
  if (!infer_dims(in, op, 0, x, &rank) || !infer_axes(in, op, attr, 1, rank, &mask, &all))
    return;
  for (uint32_t i = 0; i < rank; i++) {
    if (all && x[i] < 0)
      return; /* may be 1 or not: not even the rank is known */
    if (all ? x[i] == 1 : (mask >> i & 1) != 0) {
      if (x[i] > 1 || x[i] == 0)
        infer_conflict(in, op, "dim %u is %" PRId64 ", only a 1 can be dropped", i, x[i]);
      continue;
    }
    x[n++] = x[i];
  }
  infer_set_dims(in, op, 0, infer_dtype(op, 0), x, n);
}

/* Inserts 1s: axes are positions in the result. */
static void insert_ones(struct infer *in, struct oc_op *op, const int64_t *axes, size_t n)
{
  int64_t x[OC_MAX_RANK];
  int64_t y[OC_MAX_RANK];
  uint32_t rank = 0;
  uint64_t mask = 0;

  if (!infer_dims(in, op, 0, x, &rank))
    return;
  if (rank + n > OC_MAX_RANK) {
    infer_conflict(in, op, "the result would have rank %zu", rank + n);
    return;
  }

  uint32_t full = rank + (uint32_t)n;

  for (size_t k = 0; k < n; k++) {
    uint32_t at = 0;

    if (!infer_axis(in, op, axes[k], full, &at))
      return;
    if (mask >> at & 1) {
      infer_conflict(in, op, "axis %" PRId64 " is given twice", axes[k]);
      return;
    }
    mask |= (uint64_t)1 << at;
  }
  for (uint32_t i = 0, from = 0; i < full; i++)
    y[i] = mask >> i & 1 ? 1 : x[from++];
  infer_set_dims(in, op, 0, infer_dtype(op, 0), y, full);
}

static void unsqueeze_shape(struct infer *in, struct oc_op *op)
{
  const char *attr = oc_attr_find(op, "axes") ? "axes" : "axis";
  size_t n = 0;
  const int64_t *axes = oc_attr_ints(op, attr, &n);
  const struct oc_attr *a = oc_attr_find(op, attr);

  infer_set(in, op, 0, infer_dtype(op, 0), oc_shape_unknown());
  if (a && a->kind == OC_ATTR_INT) {
    axes = &a->u.i;
    n = 1;
  }
  if (!axes && infer_has(op, 1))
    axes = infer_known_ints(in, op, 1, &n);
  if (axes)
    insert_ones(in, op, axes, n);
}

#define RESHAPE(t, f)                                                                    \
  {                                                                                      \
    .type = t, .shape = f, .value = infer_value_copy                                     \
  }

const struct infer_rule infer_reshape_rules[] = {
  RESHAPE("Reshape", reshape_shape),
  RESHAPE("Flatten", flatten_shape),
  RESHAPE("FlattenV2", flatten_range),
  RESHAPE("Squeeze", squeeze_shape),
  RESHAPE("SqueezeV2", squeeze_shape),
  RESHAPE("SqueezeV3", squeeze_shape),
  RESHAPE("Unsqueeze", unsqueeze_shape),
  RESHAPE("UnsqueezeV2", unsqueeze_shape),
  RESHAPE("UnsqueezeV3", unsqueeze_shape),
  RESHAPE("ExpandDims", unsqueeze_shape),
  { .type = NULL },
};
