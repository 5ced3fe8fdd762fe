/* BatchNorm behind a convolution goes into filter and bias.
 *
 * y = (conv(x, w) + b - mean) / sqrt(variance + epsilon) * scale + offset is a
 * convolution again: w is multiplied per output channel and b replaced. Everything is
 * computed in float32, one rounding per operation, so that the bytes are equal on every
 * CPU (the file is compiled without contraction). The convolution keeps its name and
 * takes over the other one's, keep mark included: that is what the vendor's fusion
 * framework does. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/half.h"
#include "passes/passes_internal.h"

/* The statistics of a BatchNorm, one number per channel each. */
struct batch_norm {
  const struct oc_value *scale, *offset, *mean, *variance;
  float epsilon;
  size_t n;
};

static float get_f32(const struct oc_value *v, size_t i)
{
  float f = 0;

  memcpy(&f, v->data + i * sizeof(f), sizeof(f));
  return f;
}

static bool is_f32_vector(const struct oc_value *v, size_t n)
{
  return v && v->dtype == OC_DT_F32 && oc_value_count(v) == n;
}

static bool read_norm(const struct oc_op *op, size_t n, struct batch_norm *ret)
{
  *ret = (struct batch_norm){
    .scale = oc_op_input_value(op, 1),
    .offset = oc_op_input_value(op, 2),
    .mean = oc_op_input_value(op, 3),
    .variance = oc_op_input_value(op, 4),
    .epsilon = oc_attr_float(op, "epsilon", 1e-4f),
    .n = n,
  };
  return is_f32_vector(ret->scale, n) && is_f32_vector(ret->offset, n) &&
         is_f32_vector(ret->mean, n) && is_f32_vector(ret->variance, n);
}

/* Filters are [out, ...] here; other layouts are left alone. */
static bool takes_part(const struct oc_op *conv)
{
  return (oc_op_is(conv, "Conv2D") || oc_op_is(conv, "Conv3D")) && conv->n_inputs >= 2 &&
         oc_str_starts(oc_attr_string(conv, "data_format", "NHWC"), "NC");
}

static bool is_norm(const struct oc_op *op)
{
  return (oc_op_is(op, "BatchNorm") || oc_op_is(op, "BNInfer")) && op->n_inputs >= 5 &&
         !oc_attr_bool(op, "is_training", false);
}

static struct oc_value *new_value(struct oc_arena *a, struct oc_shape shape, size_t n)
{
  struct oc_value *v = OC_NEW(a, struct oc_value);
  uint8_t *data = oc_arena_alloc(a, n * sizeof(float));

  if (!v || !data)
    return NULL;
  *v = (struct oc_value){
    .dtype = OC_DT_F32, .shape = shape, .data = data, .len = n * sizeof(float)
  };
  return v;
}

static void put_f32(struct oc_value *v, size_t i, float f)
{
  memcpy((uint8_t *)v->data + i * sizeof(f), &f, sizeof(f));
}

static float factor_of(const struct batch_norm *bn, size_t c)
{
  float deviation = sqrtf(get_f32(bn->variance, c) + bn->epsilon);

  return get_f32(bn->scale, c) / deviation;
}

static struct oc_value *fold_filter(struct oc_arena *a, const struct oc_value *w,
                                    const struct batch_norm *bn)
{
  size_t n = oc_value_count(w);
  size_t per_channel = n / bn->n;
  struct oc_value *v = new_value(a, w->shape, n);

  for (size_t i = 0; v && i < n; i++)
    put_f32(v, i, get_f32(w, i) * factor_of(bn, i / per_channel));
  return v;
}

static struct oc_value *fold_bias(struct oc_arena *a, const struct oc_value *b,
                                  const struct batch_norm *bn)
{
  int64_t dim = (int64_t)bn->n;
  struct oc_value *v = new_value(a, oc_shape_of(a, &dim, 1), bn->n);

  for (size_t c = 0; v && c < bn->n; c++) {
    float was = b ? get_f32(b, c) : 0.0f;

    put_f32(v, c,
            (was - get_f32(bn->mean, c)) * factor_of(bn, c) + get_f32(bn->offset, c));
  }
  return v;
}

/* The input is replaced by a new constant; other readers keep the old one. */
static bool put_const(struct pass_run *r, struct oc_op *conv, uint32_t i,
                      const char *what, const struct oc_value *v)
{
  const char *name = oc_arena_printf(r->arena, "%s_%s_bn", conv->name, what);
  struct oc_op *c = name && v ? oc_graph_add_const(r->graph, name, v) : NULL;
  struct oc_op *was = conv->inputs[i].from;

  if (!c)
    return false;
  c->outputs[0].t.format = conv->inputs[i].t.format;
  if (was && was->id < r->n_counted && --r->uses[was->id] == 0) {
    pass_swallow(r, c, was, false);
    was->mark = 1;
  }
  oc_op_link(conv, i, c, 0);
  conv->inputs[i].t.dtype = v->dtype;
  conv->inputs[i].t.shape = v->shape;
  return true;
}

bool pass_bias_slot(struct pass_run *r, struct oc_op *conv)
{
  if (conv->n_inputs >= 3)
    return true;

  struct oc_input *inputs =
      oc_arena_grow(r->arena, conv->inputs, conv->n_inputs, 3, sizeof(*inputs));

  if (!inputs)
    return false;
  memset(&inputs[2], 0, sizeof(inputs[2]));
  inputs[2].t.name = "bias";
  inputs[2].t.format = OC_FMT_ND;
  conv->inputs = inputs;
  conv->n_inputs = 3;
  return true;
}

static bool fold_pair(struct pass_run *r, struct oc_op *norm)
{
  struct oc_op *conv = norm->inputs[0].from;

  if (!conv || !takes_part(conv) || conv->id >= r->n_counted || r->uses[conv->id] != 1)
    return false;

  const struct oc_value *w = oc_op_input_value(conv, 1);
  const struct oc_value *b = oc_op_input_value(conv, 2);
  bool biased = conv->n_inputs > 2 && conv->inputs[2].from;
  struct batch_norm bn;

  if (!w || w->dtype != OC_DT_F32 || w->shape.rank < 3 || w->shape.dims[0] < 1 ||
      !read_norm(norm, (size_t)w->shape.dims[0], &bn) || oc_value_count(w) == 0 ||
      (biased && !is_f32_vector(b, bn.n)))
    return false;
  for (uint32_t k = 1; k < norm->n_outputs; k++)
    if (pass_reader(r, norm, k))
      return false;
  if (!pass_bias_slot(r, conv) ||
      !put_const(r, conv, 1, "filter", fold_filter(r->arena, w, &bn)) ||
      !put_const(r, conv, 2, "bias", fold_bias(r->arena, b, &bn)))
    return false;

  uint32_t readers = r->uses[norm->id];

  oc_graph_replace(r->graph, norm, 0, conv, 0);
  r->uses[conv->id] = readers + 1;
  r->uses[norm->id] = 0;
  pass_swallow(r, conv, norm, true);
  pass_drop_inputs(r, norm, 0, conv);
  norm->mark = 1;
  pass_note(r, norm, "folded into filter and bias of '%s'", conv->name);
  return true;
}

void pass_conv_bn(struct pass_run *r)
{
  struct oc_graph *g = r->graph;
  uint32_t n = g->n_ops;

  if (!pass_count_uses(r))
    return;
  for (uint32_t i = 0; i < n; i++)
    if (is_norm(g->ops[i]) && g->ops[i]->mark == 0 && g->ops[i]->n_controls == 0)
      (void)fold_pair(r, g->ops[i]);
  oc_graph_sweep(g);
}
