/* Convolutions. Spatial lists of ONNX (begin..., end...) become the IR's: strides and
 * dilations with two leading ones, pads in pairs per axis. One spatial axis becomes two
 * by an Unsqueeze around the op. auto_pad stays an attribute; inference resolves it. */
#include "import/onnx/build.h"
#include "import/onnx/spatial.h"

static void conv_attrs(struct onnx_cx *cx, struct oc_op *op, const struct onnx_spatial *s)
{
  int64_t list[2 * ONNX_MAX_SPATIAL + 2];
  size_t n = onnx_padded(s, s->strides, 1, list);
  onnx_set_ints(cx, op, "strides", list, n);
  n = onnx_padded(s, s->dilations, 1, list);
  onnx_set_ints(cx, op, "dilations", list, n);
  n = onnx_pairs(s, list);
  onnx_set_ints(cx, op, "pads", list, n);
  onnx_set_int(cx, op, "groups", onnx_i(cx, "group", 1));
  onnx_set_string(cx, op, "data_format", s->n == 3 ? "NCDHW" : "NCHW");
  if (onnx_given(cx, "auto_pad"))
    onnx_set_string(cx, op, "auto_pad", onnx_s(cx, "auto_pad", "NOTSET"));
  onnx_set_formats(op, s->n == 3 ? OC_FMT_NCDHW : OC_FMT_NCHW);
}

static struct oc_op *unsqueezed(struct onnx_cx *cx, const char *suffix, uint32_t input)
{
  int64_t axis = 2;
  struct oc_op *op = onnx_unary(cx, suffix, "Unsqueeze", input);
  onnx_set_ints(cx, op, "axes", &axis, 1);
  return op;
}

static void squeezed_out(struct onnx_cx *cx, struct oc_op *op)
{
  int64_t axis = 2;
  struct oc_op *y = onnx_behind(cx, "_SqueezeY", "Squeeze", op);
  onnx_set_ints(cx, y, "axis", &axis, 1);
  onnx_out(cx, 0, y, 0);
}

static void conv(struct onnx_cx *cx)
{
  struct onnx_spatial s;
  if (!onnx_read_spatial(cx, 1, 2, &s))
    return;
  uint32_t n_in = onnx_has(cx, 2) ? 3 : 2;
  if (s.n == 3 && s.same)
    onnx_differs(cx, "auto_pad SAME is refused there for three spatial axes");
  if (s.n != 1) {
    struct oc_op *op = onnx_add(cx, "", s.n == 3 ? "Conv3D" : "Conv2D", n_in, 0);
    onnx_ins(cx, op, 0, 0, n_in);
    conv_attrs(cx, op, &s);
    onnx_out(cx, 0, op, 0);
    return;
  }
  struct oc_op *x = unsqueezed(cx, "_UnsqueezeX", 0);
  struct oc_op *w = unsqueezed(cx, "_UnsqueezeW", 1);
  struct oc_op *op = onnx_add(cx, "_Conv2D", "Conv2D", n_in, 0);
  onnx_wire(op, 0, x, 0);
  onnx_wire(op, 1, w, 0);
  if (n_in == 3)
    onnx_in(cx, op, 2, 2);
  conv_attrs(cx, op, &s);
  squeezed_out(cx, op);
}

struct oc_op *onnx_conv_of(struct onnx_cx *cx, const struct onnx_spatial *s,
                           struct oc_op *x, struct oc_op *w, struct oc_op *bias)
{
  int64_t axis = 2;
  if (s->n == 1) {
    x = onnx_behind(cx, "_UnsqueezeX", "Unsqueeze", x);
    onnx_set_ints(cx, x, "axes", &axis, 1);
    w = onnx_behind(cx, "_UnsqueezeW", "Unsqueeze", w);
    onnx_set_ints(cx, w, "axes", &axis, 1);
  }
  bool three = s->n == 3;
  struct oc_op *op = onnx_add(cx, three ? "_Conv3D" : "_Conv2D",
                              three ? "Conv3D" : "Conv2D", bias ? 3 : 2, 0);
  onnx_wire(op, 0, x, 0);
  onnx_wire(op, 1, w, 0);
  if (bias)
    onnx_wire(op, 2, bias, 0);
  conv_attrs(cx, op, s);
  if (s->n != 1)
    return op;
  op = onnx_behind(cx, "_SqueezeY", "Squeeze", op);
  onnx_set_ints(cx, op, "axis", &axis, 1);
  return op;
}

static void transposed_attrs(struct onnx_cx *cx, struct oc_op *op,
                             const struct onnx_spatial *s)
{
  int64_t list[2 * ONNX_MAX_SPATIAL + 2];
  size_t n = 0;
  const int64_t *shape = onnx_is(cx, "output_shape", &n);
  conv_attrs(cx, op, s);
  if (shape && n) {
    /* Some exporters give batch and channel too; only the spatial tail counts. */
    size_t tail = n > s->n_given ? s->n_given : n;
    int64_t full[ONNX_MAX_SPATIAL] = { 1, 1, 1 };
    size_t lead = s->n == 1 ? 1 : 0;
    for (size_t i = 0; i < tail && lead + i < ONNX_MAX_SPATIAL; i++)
      full[lead + i] = shape[n - tail + i];
    onnx_set_ints(cx, op, "output_shape", full, lead + tail);
    if (!onnx_given(cx, "auto_pad"))
      onnx_set_string(cx, op, "auto_pad", "SAME_LOWER");
  }
  const int64_t *extra = onnx_is(cx, "output_padding", &n);
  int64_t spatial[ONNX_MAX_SPATIAL] = { 0 };
  for (size_t i = 0; extra && i < n && i < ONNX_MAX_SPATIAL; i++)
    spatial[i] = extra[i];
  size_t len = onnx_padded(s, spatial, 0, list);
  onnx_set_ints(cx, op, "output_padding", list, len);
}

static void conv_transpose(struct onnx_cx *cx)
{
  static const int64_t zeros[5] = { 0 };
  struct onnx_spatial s;
  if (!onnx_read_spatial(cx, 1, 2, &s))
    return;
  if (!onnx_given(cx, "kernel_shape"))
    onnx_differs(cx, "kernel_shape must be given there");
  uint32_t n_in = onnx_has(cx, 2) ? 4 : 3;
  bool three = s.n == 3;
  struct oc_op *size = onnx_ints(cx, "_Const", OC_DT_I64, zeros, three ? 5 : 4);
  struct oc_op *x = s.n == 1 ? unsqueezed(cx, "_UnsqueezeX", 0) : NULL;
  struct oc_op *w = s.n == 1 ? unsqueezed(cx, "_UnsqueezeW", 1) : NULL;
  struct oc_op *op = onnx_add(cx, three ? "_Conv3DTranspose" : "_Conv2DTranspose",
                              three ? "Conv3DTranspose" : "Conv2DTranspose", n_in, 0);
  onnx_wire(op, 0, size, 0);
  onnx_wire(op, 1, x, 0);
  onnx_wire(op, 2, w, 0);
  if (s.n != 1)
    onnx_ins(cx, op, 1, 0, 2);
  if (n_in == 4)
    onnx_in(cx, op, 3, 2);
  transposed_attrs(cx, op, &s);
  if (op)
    op->inputs[0].t.format = OC_FMT_ND;
  if (s.n == 1)
    squeezed_out(cx, op);
  else
    onnx_out(cx, 0, op, 0);
}

/* ONNX: x, filter, offsets, bias, mask. The IR takes offsets and mask in one tensor. */
static void deform_conv(struct onnx_cx *cx)
{
  struct onnx_spatial s;
  if (!onnx_read_spatial(cx, 1, 2, &s))
    return;
  if (s.n != 2) {
    onnx_refuse(cx, "only two spatial axes are supported");
    return;
  }
  bool mask = onnx_has(cx, 4);
  bool bias = onnx_has(cx, 3);
  struct oc_op *both = NULL;
  if (mask) {
    both = onnx_add(cx, "_ConcatD", "ConcatD", 2, 0);
    onnx_in(cx, both, 0, 2);
    onnx_in(cx, both, 1, 4);
    onnx_set_int(cx, both, "concat_dim", 1);
    onnx_set_int(cx, both, "N", 2);
  }
  struct oc_op *op =
      onnx_add(cx, "_DeformableConv2D", "DeformableConv2D", bias ? 4 : 3, 0);
  onnx_ins(cx, op, 0, 0, 2);
  if (mask)
    onnx_wire(op, 2, both, 0);
  else
    onnx_in(cx, op, 2, 2);
  if (bias)
    onnx_in(cx, op, 3, 3);
  conv_attrs(cx, op, &s);
  onnx_set_int(cx, op, "deformable_groups", onnx_i(cx, "offset_group", 1));
  onnx_set_bool(cx, op, "modulated", mask);
  onnx_out(cx, 0, op, 0);
}

const struct onnx_rule onnx_conv_rules[] = {
  { "Conv", 1, 0, conv, "Conv2D", ONNX_V_ALL },
  { "ConvTranspose", 1, 0, conv_transpose, "Conv2DTranspose", ONNX_V_ALL },
  { "DeformConv", 19, 0, deform_conv, "DeformableConv2D", ONNX_V_NONE },
  { 0 },
};
