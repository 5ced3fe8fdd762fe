/* Ops that move or repeat elements without computing: Transpose, Expand, Tile, and the
 * trades between channels, batches and space. */
#include <inttypes.h>

#include "infer/infer_internal.h"

/* The permutation as attribute or second input; the reverse order when absent. */
static bool permutation(struct infer *in, const struct oc_op *op, uint32_t rank,
                        uint32_t ret[OC_MAX_RANK])
{
  size_t n = 0;
  const int64_t *perm = oc_attr_ints(op, "perm", &n);
  uint64_t seen = 0;

  if (!perm && infer_has(op, 1)) {
    perm = infer_known_ints(in, op, 1, &n);
    if (!perm)
      return false;
  }
  if (!perm) {
    for (uint32_t i = 0; i < rank; i++)
      ret[i] = rank - 1 - i;
    return true;
  }
  if (n != rank) {
    infer_conflict(in, op, "a permutation of %zu axes for rank %u", n, rank);
    return false;
  }
  for (uint32_t i = 0; i < rank; i++) {
    if (!infer_axis(in, op, perm[i], rank, &ret[i]))
      return false;
    if (seen >> ret[i] & 1) {
      infer_conflict(in, op, "axis %u twice in the permutation", ret[i]);
      return false;
    }
    seen |= (uint64_t)1 << ret[i];
  }
  return true;
}

static void transpose_shape(struct infer *in, struct oc_op *op)
{
  int64_t x[OC_MAX_RANK];
  int64_t y[OC_MAX_RANK];
  uint32_t perm[OC_MAX_RANK];
  uint32_t rank = 0;

  if (!infer_dims(in, op, 0, x, &rank))
    return;
  if (!permutation(in, op, rank, perm)) {
    for (uint32_t i = 0; i < rank && !in->conflict; i++)
      y[i] = infer_fresh(in);
    if (!in->conflict)
      infer_set_dims(in, op, 0, infer_dtype(op, 0), y, rank);
    return;
  }
  for (uint32_t i = 0; i < rank; i++)
    y[i] = x[perm[i]];
  infer_set_dims(in, op, 0, infer_dtype(op, 0), y, rank);
}

static void transpose_value(struct infer *in, struct oc_op *op)
{
  const struct infer_cells *x = infer_content(in, op, 0);
  struct infer_cells *y = x ? infer_cells_new(in, op, 0) : NULL;
  uint32_t perm[OC_MAX_RANK];
  size_t stride[OC_MAX_RANK];

  if (!y || y->n != x->n || !permutation(in, op, x->shape.rank, perm))
    return;

  uint32_t rank = x->shape.rank;
  size_t step = 1;

  for (uint32_t d = rank; d > 0; d--) {
    stride[d - 1] = step;
    step *= (size_t)x->shape.dims[d - 1];
  }
  for (size_t i = 0; i < y->n; i++) {
    size_t rest = i;
    size_t from = 0;

    for (uint32_t d = rank; d > 0; d--) {
      size_t size = (size_t)y->shape.dims[d - 1];

      from += rest % size * stride[perm[d - 1]];
      rest /= size;
    }
    infer_cell_put(y, i, x, from);
  }
  infer_store(in, op, 0, y);
}

/* Expand broadcasts both ways; BroadcastTo gives exactly the shape asked for. */
static void expand_shape(struct infer *in, struct oc_op *op)
{
  int64_t want[OC_MAX_RANK];
  uint32_t n = 0;
  size_t listed = 0;
  const int64_t *list = oc_attr_ints(op, "shape", &listed);

  infer_set(in, op, 0, infer_dtype(op, 0), oc_shape_unknown());
  if (list && listed <= OC_MAX_RANK && !infer_has(op, 1)) {
    for (n = 0; n < listed; n++)
      want[n] = list[n];
  } else if (!infer_shape_input(in, op, 1, want, &n)) {
    return;
  }

  struct oc_shape x = infer_shape(op, 0);
  const struct infer_cells *c = infer_content(in, op, 1);

  if (!c && !list) {
    /* Only the number of dims is known. */
    uint32_t rank = x.known_rank && x.rank > n ? x.rank : n;

    for (uint32_t i = 0; i < rank && rank <= OC_MAX_RANK && x.known_rank; i++)
      want[i] = infer_fresh(in);
    if (x.known_rank && rank <= OC_MAX_RANK)
      infer_set_dims(in, op, 0, infer_dtype(op, 0), want, rank);
    return;
  }
  /* -1 keeps the input's dim. */
  for (uint32_t i = 0; i < n; i++)
    if (want[i] == OC_DIM_UNKNOWN)
      want[i] = 1;
  infer_set(in, op, 0, infer_dtype(op, 0),
            infer_broadcast(in, op, x, oc_shape_of(in->arena, want, n)));
}

static void expand_value(struct infer *in, struct oc_op *op)
{
  const struct infer_cells *x = infer_content(in, op, 0);
  struct infer_cells *y = x && x->n > 0 ? infer_cells_new(in, op, 0) : NULL;

  if (!y)
    return;
  for (size_t i = 0; i < y->n; i++)
    infer_cell_put(y, i, x, infer_broadcast_index(y->shape, x->shape, i));
  infer_store(in, op, 0, y);
}

static void tile_shape(struct infer *in, struct oc_op *op)
{
  size_t n = 0;
  const int64_t *list = oc_attr_ints(op, "multiples", &n);
  const struct infer_cells *c = list ? NULL : infer_content(in, op, 1);
  int64_t x[OC_MAX_RANK];
  uint32_t rank = 0;

  infer_set(in, op, 0, infer_dtype(op, 0), oc_shape_unknown());
  if (!infer_dims(in, op, 0, x, &rank))
    return;
  if ((list && n != rank) || (c && c->n != rank)) {
    infer_conflict(in, op, "%zu repeats for rank %u", list ? n : c->n, rank);
    return;
  }
  for (uint32_t i = 0; i < rank; i++) {
    if (list)
      x[i] = infer_mul(in, x[i], list[i]);
    else
      x[i] = c ? infer_mul(in, x[i], infer_cell_dim(in, c, i)) : infer_fresh(in);
  }
  infer_set_dims(in, op, 0, infer_dtype(op, 0), x, rank);
}

static void tile_value(struct infer *in, struct oc_op *op)
{
  const struct infer_cells *x = infer_content(in, op, 0);
  struct infer_cells *y = x && x->n > 0 ? infer_cells_new(in, op, 0) : NULL;

  if (!y || y->shape.rank != x->shape.rank)
    return;
  for (size_t i = 0; i < y->n; i++) {
    size_t rest = i;
    size_t from = 0;
    size_t stride = 1;

    for (uint32_t d = x->shape.rank; d > 0; d--) {
      size_t size = (size_t)x->shape.dims[d - 1];

      from += rest % (size_t)y->shape.dims[d - 1] % size * stride;
      rest /= (size_t)y->shape.dims[d - 1];
      stride *= size;
    }
    infer_cell_put(y, i, x, from);
  }
  infer_store(in, op, 0, y);
}

/* DepthToSpace (`arg` 1) and SpaceToDepth (0), NCHW or NHWC. */
static void depth_shape(struct infer *in, struct oc_op *op)
{
  bool to_space = in->rule->arg != 0;
  bool last = oc_str_is(oc_attr_string(op, "data_format", "NHWC"), "NHWC");
  int64_t block = infer_int_attr(op, "block_size", infer_int_attr(op, "blocksize", 0));
  int64_t x[OC_MAX_RANK];
  uint32_t rank = 0;

  infer_set(in, op, 0, infer_dtype(op, 0), oc_shape_unknown());
  if (!infer_dims(in, op, 0, x, &rank))
    return;
  if (rank != 4 || block < 1 || block > INT32_MAX) {
    infer_conflict(in, op, "rank %u with block size %" PRId64, rank, block);
    return;
  }

  uint32_t c = last ? 3 : 1;
  uint32_t h = last ? 1 : 2;

  if (to_space) {
    x[c] = infer_div(in, x[c], block * block);
    x[h] = infer_mul(in, x[h], block);
    x[h + 1] = infer_mul(in, x[h + 1], block);
  } else {
    x[c] = infer_mul(in, x[c], block * block);
    x[h] = infer_div(in, x[h], block);
    x[h + 1] = infer_div(in, x[h + 1], block);
  }
  infer_set_dims(in, op, 0, infer_dtype(op, 0), x, rank);
}

/* SpaceToBatchND (`arg` 1: the other way): batch times blocks, space with pads or crops.
 */
static void batch_shape(struct infer *in, struct oc_op *op)
{
  bool to_space = in->rule->arg != 0;
  size_t n = 0;
  size_t n_pads = 0;
  const int64_t *block = infer_known_ints(in, op, 1, &n);
  const int64_t *pads = infer_known_ints(in, op, 2, &n_pads);
  int64_t x[OC_MAX_RANK];
  uint32_t rank = 0;

  infer_set(in, op, 0, infer_dtype(op, 0), oc_shape_unknown());
  if (!infer_dims(in, op, 0, x, &rank) || rank == 0)
    return;
  if (!block || !pads || n_pads != 2 * n || n + 1 > rank) {
    for (uint32_t i = 0; i < rank; i++)
      x[i] = infer_fresh(in);
    infer_set_dims(in, op, 0, infer_dtype(op, 0), x, rank);
    return;
  }
  for (size_t i = 0; i < n; i++) {
    int64_t both = pads[2 * i] + pads[2 * i + 1];

    if (block[i] < 1 || both < 0) {
      infer_conflict(in, op, "block %" PRId64 " with %" PRId64 " pads", block[i], both);
      return;
    }
    if (to_space) {
      x[0] = infer_div(in, x[0], block[i]);
      x[i + 1] = infer_sub(in, infer_mul(in, x[i + 1], block[i]), both);
    } else {
      x[0] = infer_mul(in, x[0], block[i]);
      x[i + 1] = infer_div(in, infer_add(in, x[i + 1], both), block[i]);
    }
  }
  infer_set_dims(in, op, 0, infer_dtype(op, 0), x, rank);
}

const struct infer_rule infer_layout_rules[] = {
  { .type = "Transpose", .shape = transpose_shape, .value = transpose_value },
  { .type = "TransposeD", .shape = transpose_shape, .value = transpose_value },
  { .type = "ConjugateTranspose", .shape = transpose_shape },
  { .type = "Expand", .shape = expand_shape, .value = expand_value },
  { .type = "ExpandD", .shape = expand_shape, .value = expand_value },
  { .type = "BroadcastTo", .shape = expand_shape, .value = expand_value },
  { .type = "BroadcastToD", .shape = expand_shape, .value = expand_value },
  { .type = "Tile", .shape = tile_shape, .value = tile_value },
  { .type = "TileD", .shape = tile_shape, .value = tile_value },
  { .type = "DepthToSpace", .shape = depth_shape, .arg = 1 },
  { .type = "SpaceToDepth", .shape = depth_shape, .arg = 0 },
  { .type = "SpaceToBatchND", .shape = batch_shape, .arg = 0 },
  { .type = "BatchToSpaceND", .shape = batch_shape, .arg = 1 },
  { .type = NULL },
};
