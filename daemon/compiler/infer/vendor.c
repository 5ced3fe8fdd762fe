/* Ops without a counterpart in ONNX's standard set: the vendor's own, and what frozen
 * TensorFlow graphs bring along. */
#include <string.h>

#include "infer/infer_internal.h"

/* Merge hands on whichever input comes first, and which one that was. */
static void merge_shape(struct infer *in, struct oc_op *op)
{
  struct oc_shape s = infer_shape(op, 0);

  for (uint32_t i = 1; i < op->n_inputs; i++)
    s = infer_merge(in, s, infer_shape(op, i));
  infer_set(in, op, 0, infer_dtype(op, 0), s);
  infer_set(in, op, 1, OC_DT_I32, oc_shape_scalar());
}

/* Bitcast: the last dim takes up the difference in width. */
static void bitcast_shape(struct infer *in, struct oc_op *op)
{
  enum oc_dtype to = infer_dtype_attr(op, "type", infer_dtype(op, 0));
  unsigned have = oc_dtype_bits(infer_dtype(op, 0));
  unsigned want = oc_dtype_bits(to);
  int64_t dims[OC_MAX_RANK];
  uint32_t rank = 0;

  infer_set(in, op, 0, to, oc_shape_unknown());
  if (!infer_dims(in, op, 0, dims, &rank) || have == 0 || want == 0)
    return;
  if (have > want && rank < OC_MAX_RANK)
    dims[rank++] = have / want;
  else if (have < want && rank > 0)
    rank--;
  infer_set_dims(in, op, 0, to, dims, rank);
}

/* BatchToSpace (`arg` 1) and SpaceToBatch: one block size for height and width of NHWC.
 */
static void batch_block_shape(struct infer *in, struct oc_op *op)
{
  int64_t block = infer_int_attr(op, "block_size", 0);
  size_t n = 0;
  const int64_t *pads = infer_known_ints(in, op, 1, &n);
  int64_t x[OC_MAX_RANK];
  uint32_t rank = 0;

  if (!infer_dims(in, op, 0, x, &rank))
    return;
  if (rank != 4 || block < 1 || block > INT32_MAX) {
    infer_conflict(in, op, "rank %u with block size %lld", rank, (long long)block);
    return;
  }
  x[0] = in->rule->arg ? infer_div(in, x[0], block * block)
                       : infer_mul(in, x[0], block * block);
  for (uint32_t i = 0; i < 2; i++) {
    int64_t both = pads && n == 4 ? pads[2 * i] + pads[2 * i + 1] : OC_DIM_UNKNOWN;

    if (both < 0)
      x[i + 1] = infer_fresh(in);
    else if (in->rule->arg)
      x[i + 1] = infer_sub(in, infer_mul(in, x[i + 1], block), both);
    else
      x[i + 1] = infer_div(in, infer_add(in, x[i + 1], both), block);
  }
  infer_set_dims(in, op, 0, infer_dtype(op, 0), x, rank);
}

/* Gated units: one half of a dim gates the other. */
static void gated_shape(struct infer *in, struct oc_op *op)
{
  int64_t dims[OC_MAX_RANK];
  uint32_t rank = 0;
  uint32_t at = 0;

  if (!infer_dims(in, op, 0, dims, &rank) ||
      !infer_axis(in, op, infer_int_attr(op, "dim", -1), rank, &at))
    return;
  dims[at] = infer_div(in, dims[at], 2);
  for (uint32_t k = 0; k < op->n_outputs; k++)
    infer_set_dims(in, op, k, infer_dtype(op, 0), dims, rank);
}

/* Aipp gives what the model takes; dims that are open there follow the image (NHWC). */
static void aipp_shape(struct infer *in, struct oc_op *op)
{
  static const uint32_t nchw[] = { 0, 3, 1, 2 };
  bool nhwc = op->outputs[0].t.format == OC_FMT_NHWC;
  size_t n = 0;
  const int64_t *model = oc_attr_ints(op, OC_ATTR_FEATURES_SHAPE, &n);
  int64_t dims[4];

  if (n != 4)
    return;
  for (uint32_t d = 0; d < 4; d++)
    dims[d] = model[d] >= 0 ? model[d] : infer_dim(op, 0, nhwc ? d : nchw[d]);
  infer_set_dims(in, op, 0, OC_DT_F32, dims, 4);
}

static void sign_pack_shape(struct infer *in, struct oc_op *op)
{
  int64_t size = infer_int_attr(op, "size", 1);
  int64_t bytes = infer_div(in, infer_add(in, infer_dim(op, 0, 0), 7), 8);
  int64_t dims[2] = { size, size > 0 ? infer_div(in, bytes, size) : OC_DIM_UNKNOWN };

  infer_set_dims(in, op, 0, OC_DT_U8, dims, 2);
}

static void sign_unpack_shape(struct infer *in, struct oc_op *op)
{
  int64_t size = infer_int_attr(op, "size", 1);
  int64_t bits = infer_mul(in, infer_dim(op, 0, 0), 8);
  int64_t dims[2] = { size, size > 0 ? infer_div(in, bits, size) : OC_DIM_UNKNOWN };

  infer_set_dims(in, op, 0, infer_dtype_attr(op, "dtype", OC_DT_F32), dims, 2);
}

/* Diag puts a tensor on the diagonal of one with every dim twice; DiagPart takes it out.
 */
static void diag_shape(struct infer *in, struct oc_op *op)
{
  int64_t dims[OC_MAX_RANK];
  uint32_t rank = 0;

  if (!infer_dims(in, op, 0, dims, &rank) || 2 * rank > OC_MAX_RANK)
    return;
  memcpy(&dims[rank], dims, rank * sizeof(*dims));
  infer_set_dims(in, op, 0, infer_dtype(op, 0), dims, (size_t)rank * 2);
}

static void diag_part_shape(struct infer *in, struct oc_op *op)
{
  int64_t dims[OC_MAX_RANK];
  uint32_t rank = 0;

  if (infer_dims(in, op, 0, dims, &rank))
    infer_set_dims(in, op, 0, infer_dtype(op, 0), dims, rank / 2);
}

/* SegmentSum: as many rows as the last segment id says. */
static void segment_shape(struct infer *in, struct oc_op *op)
{
  int64_t dims[OC_MAX_RANK];
  uint32_t rank = 0;

  if (!infer_dims(in, op, 0, dims, &rank) || rank == 0)
    return;
  dims[0] = infer_fresh(in);
  infer_set_dims(in, op, 0, infer_dtype(op, 0), dims, rank);
}

#define LIKE(t)                                                                          \
  {                                                                                      \
    .type = t, .shape = infer_like_first                                                 \
  }

const struct infer_rule infer_vendor_rules[] = {
  LIKE("Switch"),
  LIKE("RefSwitch"),
  LIKE("RefEnter"),
  LIKE("RefExit"),
  LIKE("RefNextIteration"),
  { .type = "Merge", .shape = merge_shape },
  { .type = "RefMerge", .shape = merge_shape },
  { .type = "Bitcast", .shape = bitcast_shape },
  { .type = "BatchToSpace", .shape = batch_block_shape, .arg = 1 },
  { .type = "SpaceToBatch", .shape = batch_block_shape, .arg = 0 },
  { .type = "Aipp", .shape = aipp_shape },
  { .type = "GLU", .shape = gated_shape },
  { .type = "GeGluV2", .shape = gated_shape },
  { .type = "SwiGlu", .shape = gated_shape },
  { .type = "SignBitsPack", .shape = sign_pack_shape },
  { .type = "SignBitsUnpack", .shape = sign_unpack_shape },
  { .type = "Diag", .shape = diag_shape },
  { .type = "DiagPart", .shape = diag_part_shape },
  { .type = "SegmentSum", .shape = segment_shape },
  LIKE("Cross"),
  LIKE("DataFormatDimMap"),
  LIKE("FresnelCos"),
  LIKE("FresnelSin"),
  LIKE("InvertPermutation"),
  LIKE("Ndtri"),
  LIKE("Spence"),
  { .type = NULL },
};
