/* Elements by index: gather, scatter, one-hot, top-k, unique. */
#include "import/onnx/build.h"

static void gather(struct onnx_cx *cx)
{
  struct oc_op *axis = onnx_int(cx, "_const_data", OC_DT_I32, onnx_i(cx, "axis", 0));
  struct oc_op *op = onnx_add(cx, "_gatherv2", "GatherV2", 3, 0);
  onnx_ins(cx, op, 0, 0, 2);
  onnx_wire(op, 2, axis, 0);
  onnx_set_bool(cx, op, "negative_index_support", true);
  onnx_out(cx, 0, op, 0);
}

static void gather_elements(struct onnx_cx *cx)
{
  int64_t axis = onnx_i(cx, "axis", 0);
  onnx_set_int(cx, onnx_one_to_one(cx, "GatherElements"), "dim", axis);
}

static void gather_nd(struct onnx_cx *cx)
{
  int64_t dims = onnx_i(cx, "batch_dims", 0);
  onnx_set_int(cx, onnx_one_to_one(cx, "GatherNd"), "batch_dims", dims);
}

static void scatter_elements(struct onnx_cx *cx)
{
  int64_t axis = onnx_i(cx, "axis", 0);
  const char *how = onnx_s(cx, "reduction", "none");
  struct oc_op *op = onnx_one_to_one(cx, "ScatterElements");
  onnx_set_int(cx, op, "axis", axis);
  onnx_set_string(cx, op, "reduction", how);
}

/* Plain updates are one op; the others work on a copy in place. */
static void scatter_nd(struct onnx_cx *cx)
{
  const char *how = onnx_s(cx, "reduction", "none");
  if (oc_streq(how, "none")) {
    (void)onnx_one_to_one(cx, "TensorScatterUpdate");
    return;
  }
  const char *type = oc_streq(how, "add")   ? "ScatterNdAdd"
                     : oc_streq(how, "max") ? "ScatterNdMax"
                     : oc_streq(how, "min") ? "ScatterNdMin"
                                            : NULL;
  if (!type) {
    onnx_refuse(cx, "its reduction is not supported");
    return;
  }
  const char *suffix = oc_arena_printf(cx->im->arena, "_%s", type);
  struct oc_op *copy = onnx_unary(cx, "_TensorMove", "TensorMove", 0);
  struct oc_op *op = onnx_add(cx, suffix ? suffix : "", type, 3, 0);
  onnx_wire(op, 0, copy, 0);
  onnx_ins(cx, op, 1, 1, 2);
  onnx_out(cx, 0, op, 0);
}

/* values = [off, on]; negative indices are wrapped. */
static void one_hot(struct onnx_cx *cx)
{
  struct oc_op *dim = onnx_int(cx, "_split_dim", OC_DT_I32, 0);
  struct oc_op *both = onnx_add(cx, "_Split", "Split", 2, 2);
  onnx_wire(both, 0, dim, 0);
  onnx_in(cx, both, 1, 2);
  onnx_set_int(cx, both, "num_split", 2);
  struct oc_op *indices = onnx_unary(cx, "_identity_1", "Identity", 0);
  struct oc_op *depth = onnx_unary(cx, "_identity_2", "Identity", 1);
  struct oc_op *sum = onnx_binary(cx, "_Add", "Add", indices, depth);
  struct oc_op *wrapped = onnx_binary(cx, "_Mod", "Mod", sum, depth);
  struct oc_op *op = onnx_add(cx, "_OneHot", "OneHot", 4, 0);
  onnx_wire(op, 0, wrapped, 0);
  onnx_wire(op, 1, depth, 0);
  onnx_wire(op, 2, both, 1);
  onnx_wire(op, 3, both, 0);
  onnx_set_int(cx, op, "axis", onnx_i(cx, "axis", -1));
  onnx_out(cx, 0, op, 0);
}

static void non_zero(struct onnx_cx *cx)
{
  onnx_set_bool(cx, onnx_one_to_one(cx, "NonZero"), "transpose", true);
}

static void top_k_attrs(struct onnx_cx *cx, struct oc_op *op)
{
  onnx_set_int(cx, op, "dim", onnx_i(cx, "axis", -1));
  onnx_set_bool(cx, op, "largest", onnx_flag(cx, "largest", true));
  onnx_set_bool(cx, op, "sorted", onnx_flag(cx, "sorted", true));
}

static void top_k_attr(struct onnx_cx *cx)
{
  struct oc_op *k = onnx_int(cx, "_data1", OC_DT_I32, onnx_i(cx, "k", 1));
  struct oc_op *op = onnx_add(cx, "_TopK", "TopK", 2, 0);
  onnx_in(cx, op, 0, 0);
  onnx_wire(op, 1, k, 0);
  top_k_attrs(cx, op);
  onnx_out(cx, 0, op, 0);
  onnx_out(cx, 1, op, 1);
}

static void top_k(struct onnx_cx *cx)
{
  top_k_attrs(cx, onnx_one_to_one(cx, "TopK"));
}

/* ONNX: values, first places, inverse, counts. The IR has no first places. */
static void unique(struct onnx_cx *cx)
{
  bool sorted = onnx_flag(cx, "sorted", true);
  if (onnx_given(cx, "axis"))
    onnx_differs(cx, "axis is ignored there");
  struct oc_op *op =
      onnx_unary(cx, "_UniqueWithCountsAndSorting", "UniqueWithCountsAndSorting", 0);
  onnx_set_bool(cx, op, "return_inverse", onnx_wants(cx, 2));
  onnx_set_bool(cx, op, "return_counts", onnx_wants(cx, 3));
  onnx_set_bool(cx, op, "sorted", sorted);
  if (onnx_given(cx, "axis"))
    onnx_set_int(cx, op, "axis", onnx_i(cx, "axis", 0));
  onnx_out(cx, 0, op, 0);
  if (onnx_wants(cx, 1)) {
    struct oc_op *shape = onnx_add(cx, "_shape", "Shape", 1, 0);
    onnx_wire(shape, 0, op, 2);
    onnx_set_dtype(cx, shape, "dtype", OC_DT_I64);
    struct oc_op *none = onnx_behind(cx, "_empty", "Empty", shape);
    onnx_set_dtype(cx, none, "dtype", OC_DT_I64);
    onnx_out(cx, 1, none, 0);
  }
  onnx_out(cx, 2, op, 1);
  onnx_out(cx, 3, op, 2);
}

static struct oc_op *squeezed(struct onnx_cx *cx, const char *suffix, struct oc_op *from,
                              int64_t axis)
{
  struct oc_op *op = onnx_behind(cx, suffix, "Squeeze", from);
  onnx_set_ints(cx, op, "axis", &axis, 1);
  return op;
}

/* The places where the condition holds, gathered. */
static void compress(struct onnx_cx *cx)
{
  bool flat = !onnx_given(cx, "axis");
  struct oc_op *axis = onnx_int(cx, "_axis_data", OC_DT_I32, onnx_i(cx, "axis", 0));
  struct oc_op *where = onnx_unary(cx, "_compress_condition", "Where", 1);
  where = squeezed(cx, "_squeeze_where", where, 1);
  struct oc_op *x = NULL;
  if (flat) {
    x = onnx_unary(cx, "_compress_flatten", "Flatten", 0);
    onnx_set_int(cx, x, "axis", 0);
    x = squeezed(cx, "_squeeze", x, 0);
  }
  struct oc_op *op = onnx_add(cx, "_compress", "GatherV2", 3, 0);
  if (flat)
    onnx_wire(op, 0, x, 0);
  else
    onnx_in(cx, op, 0, 0);
  onnx_wire(op, 1, where, 0);
  onnx_wire(op, 2, axis, 0);
  onnx_out(cx, 0, op, 0);
}

const struct onnx_rule onnx_index_rules[] = {
  { "Gather", 1, 0, gather, "GatherV2", ONNX_V_ALL },
  { "GatherElements", 11, 0, gather_elements, "GatherElements", ONNX_V_ALL },
  { "GatherND", 11, 0, gather_nd, "GatherNd", ONNX_V_ALL },
  { "Scatter", 9, 10, scatter_elements, "ScatterElements", ONNX_V(9, 11) },
  { "ScatterElements", 11, 0, scatter_elements, "ScatterElements", ONNX_V(11, 18) },
  { "ScatterND", 11, 0, scatter_nd, "TensorScatterUpdate", ONNX_V_ALL },
  { "OneHot", 9, 0, one_hot, "OneHot", ONNX_V(9, 18) },
  { "NonZero", 9, 0, non_zero, "NonZero", ONNX_V(9, 18) },
  { "TopK", 1, 9, top_k_attr, "TopK", ONNX_V_ALL },
  { "TopK", 10, 0, top_k, "TopK", ONNX_V_ALL },
  { "Unique", 11, 0, unique, "UniqueWithCountsAndSorting", ONNX_V(11, 18) },
  { "Compress", 9, 0, compress, "GatherV2", ONNX_V(9, 18) },
  { 0 },
};
