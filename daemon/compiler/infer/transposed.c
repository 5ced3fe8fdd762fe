/* Transposed convolutions: the size comes from the first input when that is given, from
 * `output_shape`, or from strides, kernel, pads and `output_padding`. */
#include "infer/window.h"

/* Where an IR type has its tensors. */
struct places {
  int32_t size; /* -1: attribute input_size */
  uint32_t x;
  uint32_t filter;
};

enum kind { TRANSPOSE, TRANSPOSE_D, BACKPROP, BACKPROP_D };

static struct places places_of(enum kind k)
{
  switch (k) {
  case TRANSPOSE_D: return (struct places){ -1, 0, 1 };
  case BACKPROP: return (struct places){ 0, 2, 1 };
  case BACKPROP_D: return (struct places){ -1, 1, 0 };
  default: return (struct places){ 0, 1, 2 };
  }
}

/* The whole shape, when input_size says it; zeros mean that it is to be computed. */
static bool size_given(struct infer *in, const struct oc_op *op, struct places p,
                       uint32_t rank, int64_t *dims)
{
  size_t n = 0;
  const int64_t *list = p.size < 0 ? oc_attr_ints(op, "input_size", &n) : NULL;
  const struct infer_cells *c =
      p.size < 0 ? NULL : infer_content(in, op, (uint32_t)p.size);
  bool any = false;

  if (!list && !c)
    return false;
  if ((c ? c->n : n) != rank)
    return false;
  for (uint32_t i = 0; i < rank; i++) {
    dims[i] = c ? infer_cell_dim(in, c, i) : list[i];
    any |= dims[i] != 0;
  }
  return any;
}

static int64_t extra(const struct oc_op *op, const char *attr,
                     const struct infer_window *w, uint32_t i)
{
  size_t n = 0;
  const int64_t *v = oc_attr_ints(op, attr, &n);

  if (v && n == w->n)
    return v[i];
  return v && n == w->n + 2 ? v[w->first + i] : 0;
}

static int64_t grown(struct infer *in, const struct oc_op *op,
                     const struct infer_window *w, uint32_t i, int64_t size)
{
  int64_t asked = extra(op, "output_shape", w, i);
  int64_t reach = 0;

  if (asked > 0)
    return asked;
  if (w->padding == INFER_PAD_SAME)
    return infer_mul(in, size, w->stride[i]);
  if (w->kernel[i] < 0 ||
      __builtin_mul_overflow(w->kernel[i] - 1, w->dilation[i], &reach) ||
      reach > INT32_MAX)
    return infer_fresh(in);

  /* (size - 1) * stride + reach + 1 + output_padding - pads */
  int64_t rest = reach + 1 + extra(op, "output_padding", w, i) - w->pad[i] - w->stride[i];
  int64_t spread = infer_mul(in, size, w->stride[i]);

  if (spread >= 0 && spread + rest < 0) {
    infer_conflict(in, op, "pads are larger than the result");
    return OC_DIM_UNKNOWN;
  }
  return rest >= 0 ? infer_add(in, spread, rest) : infer_sub(in, spread, -rest);
}

/* `arg`: kind, plus 8 for three spatial dims. */
static void transposed_shape(struct infer *in, struct oc_op *op)
{
  struct places p = places_of((enum kind)(in->rule->arg & 7));
  uint32_t n = in->rule->arg & 8 ? 3 : 2;
  enum oc_dtype dtype = infer_dtype(op, p.x);
  int64_t dims[OC_MAX_RANK];
  struct infer_window w;
  uint32_t rank = 0;

  infer_set(in, op, 0, dtype, oc_shape_unknown());
  if (size_given(in, op, p, n + 2, dims)) {
    infer_set_dims(in, op, 0, dtype, dims, n + 2);
    return;
  }
  if (!infer_dims(in, op, p.x, dims, &rank))
    return;
  if (rank != n + 2) {
    infer_conflict(in, op, "input %u has rank %u, a rank of %u is needed", p.x, rank,
                   n + 2);
    return;
  }
  if (!infer_window_read(in, op, n, &w))
    return;

  bool hwcn = w.first == 1;

  for (uint32_t i = 0; i < n; i++) {
    w.kernel[i] = infer_dim(op, p.filter, hwcn ? i : 2 + i);
    dims[w.first + i] = grown(in, op, &w, i, dims[w.first + i]);
  }
  dims[w.channel] = infer_mul(in, infer_dim(op, p.filter, hwcn ? n : 1),
                              infer_int_attr(op, "groups", 1));
  infer_set_dims(in, op, 0, dtype, dims, rank);
}

#define ROW(t, k)                                                                        \
  {                                                                                      \
    .type = t, .shape = transposed_shape, .arg = k                                       \
  }

const struct infer_rule infer_transposed_rules[] = {
  ROW("Conv2DTranspose", TRANSPOSE),        ROW("Conv2DTransposeV2", TRANSPOSE),
  ROW("Conv2DTransposeD", TRANSPOSE_D),     ROW("Conv3DTranspose", TRANSPOSE | 8),
  ROW("Conv3DTransposeV2", TRANSPOSE | 8),  ROW("Conv3DTransposeD", TRANSPOSE_D | 8),
  ROW("Conv2DBackpropInput", BACKPROP),     ROW("Conv2DBackpropInputD", BACKPROP_D),
  ROW("Conv3DBackpropInput", BACKPROP | 8), { .type = NULL },
};
