/* Zeros that a Pad puts around an image become the pads of the convolution behind it.
 *
 * Only spatial, non-negative pads of zero, and a convolution that counts its own pads
 * (no auto_pad). The convolution keeps its name and takes over the Pad's. */
#include "passes/passes_internal.h"

#define MOST_AXES 5

static bool pads_zero(const struct oc_op *pad)
{
  const struct oc_value *v = pad->n_inputs > 2 ? oc_op_input_value(pad, 2) : NULL;

  if (!oc_str_is(oc_attr_string(pad, "mode", "constant"), "constant"))
    return false;
  if (pad->n_inputs < 3 || !pad->inputs[2].from)
    return true;
  for (size_t i = 0; v && i < v->len; i++)
    if (v->data[i])
      return false;
  return v != NULL;
}

/* Begin and end per axis; false when the values are not known or cut. */
static bool read_pads(struct pass_run *r, const struct oc_op *pad, uint32_t rank,
                      int64_t *ret)
{
  const struct oc_value *v = oc_op_input_value(pad, 1);
  bool pairs = oc_attr_bool(pad, "paddings_contiguous", true);
  size_t n = 0;
  const int64_t *p = v ? oc_value_ints(&r->scratch, v, &n) : NULL;

  if (!p || n != 2 * (size_t)rank)
    return false;
  for (uint32_t axis = 0; axis < rank; axis++)
    for (uint32_t end = 0; end < 2; end++) {
      int64_t one = pairs ? p[2 * axis + end] : p[axis + end * rank];
      if (one < 0 || one > INT32_MAX)
        return false;
      ret[2 * axis + end] = one;
    }
  return true;
}

static bool counts_pads(const struct oc_op *conv, size_t *ret_n)
{
  struct oc_str automatic = oc_attr_string(conv, "auto_pad", "NOTSET");
  bool conv2 = oc_op_is(conv, "Conv2D") || oc_op_is(conv, "DepthwiseConv2D");

  return (conv2 || oc_op_is(conv, "Conv3D")) && oc_str_is(automatic, "NOTSET") &&
         !oc_attr_find(conv, "padding") && oc_attr_ints(conv, "pads", ret_n);
}

static bool merge(struct pass_run *r, struct oc_op *conv)
{
  struct oc_op *pad = conv->n_inputs ? conv->inputs[0].from : NULL;
  size_t n = 0;
  int64_t pads[2 * MOST_AXES], sum[2 * MOST_AXES];

  if (!pad || !(oc_op_is(pad, "PadV3") || oc_op_is(pad, "Pad")) || pad->n_inputs < 2 ||
      pad->id >= r->n_counted || r->uses[pad->id] != 1 || pad->n_controls ||
      !counts_pads(conv, &n) || !pads_zero(pad))
    return false;
  uint32_t rank = (uint32_t)(n / 2 + 2);
  bool channels_first = oc_str_starts(oc_attr_string(conv, "data_format", "NHWC"), "NC");
  uint32_t first = channels_first ? 2 : 1, channels = channels_first ? 1 : rank - 1;
  if (n % 2 || rank > MOST_AXES || !read_pads(r, pad, rank, pads) || pads[0] || pads[1] ||
      pads[2 * channels] || pads[2 * channels + 1])
    return false;
  const int64_t *own = oc_attr_ints(conv, "pads", &n);
  for (size_t i = 0; i < n; i++) {
    if (own[i] < 0 || own[i] > INT32_MAX)
      return false;
    sum[i] = own[i] + pads[2 * first + i];
  }
  struct oc_op *from = pad->inputs[0].from;
  if (!from || from->id >= r->n_counted ||
      oc_attr_set_ints(r->graph, conv, "pads", sum, n) < 0)
    return false;
  r->uses[from->id]++;
  oc_op_link(conv, 0, from, pad->inputs[0].from_out);
  conv->inputs[0].t.shape = pad->inputs[0].t.shape;
  r->uses[pad->id] = 0;
  pass_swallow(r, conv, pad, true);
  pass_drop_inputs(r, pad, 0, conv);
  pad->mark = 1;
  pass_note(r, pad, "became the pads of '%s'", conv->name);
  return true;
}

void pass_pad_conv(struct pass_run *r)
{
  struct oc_graph *g = r->graph;

  if (!pass_count_uses(r))
    return;
  for (uint32_t i = 0; i < r->n_counted; i++)
    if (g->ops[i]->mark == 0)
      (void)merge(r, g->ops[i]);
  oc_graph_sweep(g);
}
