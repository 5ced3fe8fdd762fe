/* Shape and place of elements: reshape, transpose, concatenate, split, pad, fill. */
#include <string.h>

#include "base/limits.h"
#include "import/onnx/build.h"

static void reshape_attr(struct onnx_cx *cx)
{
  size_t n = 0;
  const int64_t *shape = onnx_is(cx, "shape", &n);
  struct oc_op *list = onnx_ints(cx, "_shape", OC_DT_I64, shape, n);
  struct oc_op *op = onnx_add(cx, "_Reshape", "Reshape", 2, 0);
  onnx_in(cx, op, 0, 0);
  onnx_wire(op, 1, list, 0);
  onnx_out(cx, 0, op, 0);
}

static void reshape(struct onnx_cx *cx)
{
  int64_t zero = onnx_i(cx, "allowzero", 0);
  onnx_set_int(cx, onnx_one_to_one(cx, "Reshape"), "allowzero", zero);
}

static void flatten(struct onnx_cx *cx)
{
  int64_t axis = onnx_i(cx, "axis", 1);
  onnx_set_int(cx, onnx_one_to_one(cx, "Flatten"), "axis", axis);
}

static void transpose(struct onnx_cx *cx)
{
  int64_t back[OC_MAX_RANK];
  size_t n = 0;
  const int64_t *perm = onnx_is(cx, "perm", &n);
  if (!perm) {
    int64_t rank = onnx_rank(cx, 0);
    onnx_differs(cx, "perm must be given there");
    if (rank < 0 || rank > OC_MAX_RANK) {
      onnx_refuse(cx, "it has no perm and the rank of its input is not known");
      return;
    }
    n = (size_t)rank;
    for (size_t i = 0; i < n; i++)
      back[i] = (int64_t)(n - 1 - i);
    perm = back;
  }
  struct oc_op *list = onnx_ints(cx, "_Const", OC_DT_I32, perm, n);
  struct oc_op *op = onnx_add(cx, "_Transpose", "Transpose", 2, 0);
  onnx_in(cx, op, 0, 0);
  onnx_wire(op, 1, list, 0);
  onnx_out(cx, 0, op, 0);
}

static void squeeze_attr(struct onnx_cx *cx)
{
  size_t n = 0;
  const int64_t *axes = onnx_is(cx, "axes", &n);
  struct oc_op *op = onnx_one_to_one(cx, "Squeeze");
  onnx_set_ints(cx, op, "axis", axes, n);
}

static void unsqueeze_attr(struct onnx_cx *cx)
{
  size_t n = 0;
  const int64_t *axes = onnx_is(cx, "axes", &n);
  if (!axes) {
    onnx_refuse(cx, "it has no axes");
    return;
  }
  struct oc_op *op = onnx_one_to_one(cx, "Unsqueeze");
  onnx_set_ints(cx, op, "axes", axes, n);
}

static void block(struct onnx_cx *cx)
{
  int64_t size = onnx_i(cx, "blocksize", 0);
  const char *mode = onnx_s(cx, "mode", "DCR");
  bool to_space = oc_streq(cx->rule->to, "DepthToSpace");
  if (size < 1) {
    onnx_refuse(cx, "its blocksize is not positive");
    return;
  }
  struct oc_op *op = onnx_one_to_one(cx, cx->rule->to);
  onnx_set_int(cx, op, "block_size", size);
  onnx_set_string(cx, op, "data_format", "NCHW");
  if (to_space)
    onnx_set_string(cx, op, "mode", mode);
  onnx_set_formats(op, OC_FMT_NCHW);
}

static void concat(struct onnx_cx *cx)
{
  uint32_t n = onnx_n_in(cx);
  if (n == 1) {
    onnx_out(cx, 0, onnx_unary(cx, "_identity", "Identity", 0), 0);
    return;
  }
  int64_t axis = onnx_i(cx, "axis", cx->opset < 4 ? 1 : 0);
  struct oc_op *op = onnx_one_to_one(cx, "ConcatD");
  onnx_set_int(cx, op, "concat_dim", axis);
  onnx_set_int(cx, op, "N", n);
}

/* Equal parts. */
static void split_even(struct onnx_cx *cx, int64_t axis, uint32_t n)
{
  struct oc_op *dim = onnx_int(cx, "_split_dim", OC_DT_I32, axis);
  struct oc_op *op = onnx_add(cx, "_Split", "Split", 2, n);
  onnx_wire(op, 0, dim, 0);
  onnx_in(cx, op, 1, 0);
  onnx_set_int(cx, op, "num_split", n);
  for (uint32_t i = 0; i < n; i++)
    onnx_out(cx, i, op, i);
}

/* Parts of given sizes: a generated Const, or the node's input 1 when `sizes` is NULL. */
static void split_sized(struct onnx_cx *cx, int64_t axis, uint32_t n,
                        const int64_t *sizes)
{
  struct oc_op *list = sizes ? onnx_ints(cx, "_size_splits", OC_DT_I64, sizes, n) : NULL;
  struct oc_op *dim = onnx_int(cx, "_split_dim", OC_DT_I32, axis);
  struct oc_op *op = onnx_add(cx, "_SplitV", "SplitV", 3, n);
  onnx_in(cx, op, 0, 0);
  if (sizes)
    onnx_wire(op, 1, list, 0);
  else
    onnx_in(cx, op, 1, 1);
  onnx_wire(op, 2, dim, 0);
  onnx_set_int(cx, op, "num_split", n);
  for (uint32_t i = 0; i < n; i++)
    onnx_out(cx, i, op, i);
}

/* num_outputs that do not divide the axis: the last part is smaller. */
static void split_uneven(struct onnx_cx *cx, int64_t axis, uint32_t n)
{
  int64_t rank = onnx_rank(cx, 0);
  int64_t at = axis < 0 ? axis + rank : axis;
  int64_t size = rank > 0 && at >= 0 && at < rank ? onnx_dim_of(cx, 0, (uint32_t)at) : -1;
  if (size < 0 || size % n == 0) {
    split_even(cx, axis, n);
    return;
  }
  int64_t part = size / n + 1;
  int64_t *sizes = OC_NEW_N(cx->im->arena, int64_t, n);
  for (uint32_t i = 0; sizes && i < n; i++) {
    sizes[i] = part < size ? part : size;
    size -= sizes[i];
  }
  if (sizes)
    split_sized(cx, axis, n, sizes);
}

static void split(struct onnx_cx *cx)
{
  int64_t axis = onnx_i(cx, "axis", 0);
  uint32_t n = cx->node->n_outputs;
  size_t n_sizes = 0;
  const int64_t *sizes = onnx_is(cx, "split", &n_sizes);
  if (n == 0 || (sizes && n_sizes != n)) {
    onnx_refuse(cx, "the number of its outputs does not fit");
    return;
  }
  if (onnx_has(cx, 1))
    split_sized(cx, axis, n, NULL);
  else if (sizes)
    split_sized(cx, axis, n, sizes);
  else
    split_uneven(cx, axis, n);
}

static void shape(struct onnx_cx *cx)
{
  struct oc_op *op = onnx_unary(cx, "_Shape", "Shape", 0);
  onnx_set_dtype(cx, op, "dtype", OC_DT_I64);
  if (onnx_given(cx, "start") || onnx_given(cx, "end")) {
    int64_t start = onnx_i(cx, "start", 0);
    int64_t end = onnx_i(cx, "end", INT64_MAX);
    onnx_differs(cx, "start and end are ignored there");
    struct oc_op *from = onnx_ints(cx, "_start", OC_DT_I64, &start, 1);
    struct oc_op *to = onnx_ints(cx, "_end", OC_DT_I64, &end, 1);
    struct oc_op *part = onnx_add(cx, "_StridedSliceV2", "StridedSliceV2", 3, 0);
    onnx_wire(part, 0, op, 0);
    onnx_wire(part, 1, from, 0);
    onnx_wire(part, 2, to, 0);
    op = part;
  }
  onnx_out(cx, 0, op, 0);
}

static void size(struct onnx_cx *cx)
{
  onnx_set_dtype(cx, onnx_one_to_one(cx, "Size"), "dtype", OC_DT_I64);
}

/* Begin..., end... to pairs per axis, as an n by 2 constant. */
static struct oc_op *pad_pairs(struct onnx_cx *cx, const int64_t *pads, size_t n)
{
  int64_t *pairs = OC_NEW_N(cx->im->arena, int64_t, n);
  int64_t dims[2] = { (int64_t)(n / 2), 2 };
  for (size_t i = 0; pairs && i < n / 2; i++) {
    pairs[2 * i] = pads[i];
    pairs[2 * i + 1] = pads[n / 2 + i];
  }
  struct oc_op *op = pairs ? onnx_ints(cx, "_data1", OC_DT_I32, pairs, n) : NULL;
  if (!op)
    return NULL;
  struct oc_value *v = OC_NEW(cx->im->arena, struct oc_value);
  if (!v)
    return NULL;
  *v = *op->value;
  v->shape = oc_shape_of(cx->im->arena, dims, 2);
  op->value = op->outputs[0].t.value = v;
  op->outputs[0].t.shape = v->shape;
  return op;
}

static void pad_attr(struct onnx_cx *cx)
{
  size_t n = 0;
  const int64_t *pads = onnx_is(cx, onnx_given(cx, "pads") ? "pads" : "paddings", &n);
  const char *mode = onnx_s(cx, "mode", "constant");
  bool reflect = oc_streq(mode, "reflect");
  if (!pads || n == 0 || n % 2) {
    onnx_refuse(cx, "its pads are not pairs");
    return;
  }
  struct oc_op *list = pad_pairs(cx, pads, n);
  struct oc_op *value =
      reflect ? NULL : onnx_f32(cx, "_data2", onnx_f(cx, "value", 0.0f));
  struct oc_op *op = reflect ? onnx_add(cx, "_MirrorPad", "MirrorPad", 2, 0)
                             : onnx_add(cx, "_PadV3", "PadV3", 3, 0);
  onnx_in(cx, op, 0, 0);
  onnx_wire(op, 1, list, 0);
  if (!reflect)
    onnx_wire(op, 2, value, 0);
  onnx_set_string(cx, op, "mode", reflect ? "REFLECT" : mode);
  if (oc_streq(mode, "edge"))
    onnx_differs(cx, "mode edge is taken for constant there in this opset");
  onnx_out(cx, 0, op, 0);
}

/* Opset 18: pads of some axes only. All axes are written out. */
static struct oc_op *pads_of_axes(struct onnx_cx *cx)
{
  size_t n = 0, n_axes = 0;
  int64_t full[2 * OC_MAX_RANK] = { 0 };
  int64_t rank = onnx_rank(cx, 0);
  const struct oc_value *pads = onnx_const(cx, 1), *axes = onnx_const(cx, 3);
  const int64_t *p = pads ? oc_value_ints(cx->im->arena, pads, &n) : NULL;
  const int64_t *a = axes ? oc_value_ints(cx->im->arena, axes, &n_axes) : NULL;
  onnx_differs(cx, "axes are ignored there");
  if (!p || !a || rank < 1 || rank > OC_MAX_RANK || n != 2 * n_axes) {
    onnx_refuse(cx, "its axes and pads are not constant, or its rank is not known");
    return NULL;
  }
  for (size_t i = 0; i < n_axes; i++) {
    int64_t axis = a[i] < 0 ? a[i] + rank : a[i];
    if (axis < 0 || axis >= rank) {
      onnx_refuse(cx, "an axis is out of range");
      return NULL;
    }
    full[axis] = p[i];
    full[rank + axis] = p[n_axes + i];
  }
  return onnx_ints(cx, "_pads", OC_DT_I64, full, (size_t)(2 * rank));
}

static void pad(struct onnx_cx *cx)
{
  const char *mode = onnx_s(cx, "mode", "constant");
  bool by_axes = onnx_has(cx, 3);
  struct oc_op *pads = by_axes ? pads_of_axes(cx) : NULL;
  struct oc_op *op = onnx_add(cx, "_PadV3", "PadV3", onnx_has(cx, 2) ? 3 : 2, 0);
  onnx_in(cx, op, 0, 0);
  if (by_axes)
    onnx_wire(op, 1, pads, 0);
  else
    onnx_in(cx, op, 1, 1);
  if (onnx_has(cx, 2))
    onnx_in(cx, op, 2, 2);
  onnx_set_string(cx, op, "mode", mode);
  onnx_set_bool(cx, op, "paddings_contiguous", false);
  onnx_out(cx, 0, op, 0);
}

static void constant_of_shape(struct onnx_cx *cx)
{
  struct oc_op *value = NULL;
  const struct oc_value *given = onnx_t(cx, "value");
  if (cx->refused)
    return;
  if (given) {
    struct oc_value *scalar = OC_NEW(cx->im->arena, struct oc_value);
    if (!scalar)
      return;
    if (oc_value_count(given) != 1) {
      onnx_refuse(cx, "its value has not exactly one element");
      return;
    }
    *scalar = *given;
    scalar->shape = oc_shape_scalar();
    value = onnx_value_const(cx, "_data1", scalar);
  } else {
    value = onnx_f32(cx, "_data1", 0.0f);
  }
  struct oc_op *op = onnx_add(cx, "_Fill", "Fill", 2, 0);
  onnx_in(cx, op, 0, 0);
  onnx_wire(op, 1, value, 0);
  onnx_out(cx, 0, op, 0);
}

static struct oc_op *first_of(struct onnx_cx *cx, const char *suffix, struct oc_op *from,
                              uint32_t port)
{
  int64_t axis = 0;
  struct oc_op *op = onnx_add(cx, suffix, "Squeeze", 1, 0);
  onnx_wire(op, 0, from, port);
  onnx_set_ints(cx, op, "axis", &axis, 1);
  return op;
}

/* A diagonal of ones, `k` beside the main one, in a matrix of the input's shape. */
static void eye_like(struct onnx_cx *cx)
{
  int64_t k = onnx_i(cx, "k", 0);
  int64_t rows = onnx_dim_of(cx, 0, 0), cols = onnx_dim_of(cx, 0, 1);
  enum oc_dtype d =
      onnx_given(cx, "dtype") ? onnx_dtype(onnx_i(cx, "dtype", 1)) : onnx_dtype_of(cx, 0);
  int64_t less = k < 0 ? k : -k; /* how much shorter than the rows, as far as known */
  if (rows > 0 && cols > 0) {
    int64_t down = k < 0 ? rows + k : rows, right = k > 0 ? cols - k : cols;
    int64_t length = down < right ? down : right;
    less = (length > 0 ? length : 0) - rows;
  }
  struct oc_op *dim = onnx_int(cx, "_const", OC_DT_I32, 0);
  struct oc_op *shp = onnx_unary(cx, "_shape", "Shape", 0);
  onnx_set_dtype(cx, shp, "dtype", OC_DT_I32);
  struct oc_op *parts = onnx_add(cx, "_split", "Split", 2, 2);
  onnx_wire(parts, 0, dim, 0);
  onnx_wire(parts, 1, shp, 0);
  onnx_set_int(cx, parts, "num_split", 2);
  struct oc_op *length = onnx_behind(cx, "_add", "Adds", parts);
  onnx_set_float(cx, length, "value", (float)less);
  struct oc_op *ones =
      onnx_binary(cx, "_fill", "Fill", length, onnx_f32(cx, "_const2", 1.0f));
  ones = onnx_cast(cx, "_cast", ones, d == OC_DT_UNDEFINED ? OC_DT_F32 : d);
  struct oc_op *op = onnx_add(cx, "_matrix_diagv2", "MatrixDiagV2", 5, 0);
  onnx_wire(op, 0, ones, 0);
  onnx_wire(op, 1, onnx_int(cx, "_const3", OC_DT_I32, k), 0);
  onnx_wire(op, 2, first_of(cx, "_squeeze", parts, 0), 0);
  onnx_wire(op, 3, first_of(cx, "_squeeze1", parts, 1), 0);
  onnx_wire(op, 4,
            onnx_cast(cx, "_padding", onnx_f32(cx, "_const1", 0.0f),
                      d == OC_DT_UNDEFINED ? OC_DT_F32 : d),
            0);
  onnx_out(cx, 0, op, 0);
}

static void trilu(struct onnx_cx *cx)
{
  bool upper = onnx_flag(cx, "upper", true);
  onnx_set_int(cx, onnx_one_to_one(cx, "Trilu"), "upper", upper);
}

static void reverse_sequence(struct onnx_cx *cx)
{
  int64_t batch = onnx_i(cx, "batch_axis", 1);
  int64_t time = onnx_i(cx, "time_axis", 0);
  struct oc_op *op = onnx_one_to_one(cx, "ReverseSequence");
  onnx_set_int(cx, op, "batch_dim", batch == 1);
  onnx_set_int(cx, op, "seq_dim", time);
}

const struct onnx_rule onnx_layout_rules[] = {
  { "Reshape", 1, 4, reshape_attr, "Reshape", ONNX_V_NONE },
  { "Reshape", 5, 0, reshape, "Reshape", ONNX_V_ALL },
  { "Flatten", 1, 0, flatten, "Flatten", ONNX_V_ALL },
  { "Transpose", 1, 0, transpose, "Transpose", ONNX_V_ALL },
  { "Squeeze", 1, 12, squeeze_attr, "Squeeze", ONNX_V_ALL },
  { "Squeeze", 13, 0, NULL, "SqueezeV3", ONNX_V_ALL },
  { "Unsqueeze", 1, 12, unsqueeze_attr, "Unsqueeze", ONNX_V_ALL },
  { "Unsqueeze", 13, 0, NULL, "UnsqueezeV3", ONNX_V_ALL },
  { "Expand", 8, 0, NULL, "Expand", ONNX_V_ALL },
  { "Tile", 6, 0, NULL, "Tile", ONNX_V_ALL },
  { "Range", 11, 0, NULL, "Range", ONNX_V_ALL },
  { "DepthToSpace", 1, 0, block, "DepthToSpace", ONNX_V_ALL },
  { "SpaceToDepth", 1, 0, block, "SpaceToDepth", ONNX_V_ALL },
  { "Concat", 1, 0, concat, "ConcatD", ONNX_V_ALL },
  { "Split", 1, 0, split, "SplitV", ONNX_V_ALL },
  { "Shape", 1, 0, shape, "Shape", ONNX_V_ALL },
  { "Size", 1, 0, size, "Size", ONNX_V_ALL },
  { "Pad", 1, 10, pad_attr, "PadV3", ONNX_V_ALL },
  { "Pad", 11, 0, pad, "PadV3", ONNX_V_ALL },
  { "ConstantOfShape", 9, 0, constant_of_shape, "Fill", ONNX_V_ALL },
  { "EyeLike", 9, 0, eye_like, "MatrixDiagV2", ONNX_V_ALL },
  { "Trilu", 14, 0, trilu, "Trilu", ONNX_V(14, 18) },
  { "ReverseSequence", 10, 0, reverse_sequence, "ReverseSequence", ONNX_V(10, 18) },
  { 0 },
};
