/* Magnitudes through operators. Sums of many products grow with the root of their length,
 * normalisations start again at their scale, bounded functions at 1. */
#include <math.h>
#include <string.h>

#include "risk_internal.h"

/* How far the largest of many values lies above the typical one. */
#define PEAK_OVER_RMS 6.0

typedef struct oc_estimate est;
typedef est (*estimate_fn)(const struct oc_op *op, const est *in);

static est of(double rms, double peak, bool positive)
{
  return (est){ .rms = rms, .peak = peak, .positive = positive };
}

static double dim(const struct oc_shape *s, uint32_t i)
{
  return s->known_rank && i < s->rank && s->dims[i] > 0 ? (double)s->dims[i] : 1;
}

static double product_length(const struct oc_op *op, bool convolution)
{
  const struct oc_shape *a = &op->inputs[0].t.shape, *w = &op->inputs[1].t.shape;
  double n = 1;

  if (convolution) {
    for (uint32_t i = 1; w->known_rank && i < w->rank; i++)
      n *= dim(w, i);
    return n;
  }
  bool turned = oc_attr_bool(op, "transpose_x1", false) ||
                oc_attr_bool(op, "adj_x1", false) ||
                oc_attr_bool(op, "transpose_a", false);
  if (!a->known_rank || a->rank < 2)
    return a->known_rank && a->rank == 1 ? dim(a, 0) : 1;
  return dim(a, turned ? a->rank - 2 : a->rank - 1);
}

static est products(const struct oc_op *op, const est *in)
{
  bool convolution = strstr(op->type, "Conv") != NULL;
  double n = op->n_inputs > 1 ? product_length(op, convolution) : 1;
  double rms = in[0].rms * in[1].rms * sqrt(n);
  /* one large element meets a weight of ordinary size */
  double peak = fmax(PEAK_OVER_RMS * rms, in[0].peak * in[1].rms);

  return of(rms, peak, false);
}

static bool same_source(const struct oc_op *op)
{
  return op->n_inputs > 1 && op->inputs[0].from == op->inputs[1].from &&
         op->inputs[0].from_out == op->inputs[1].from_out;
}

static est sum(const struct oc_op *op, const est *in)
{
  est r = of(hypot(in[0].rms, in[1].rms), in[0].peak + in[1].peak,
             in[0].positive && in[1].positive);
  const est *large = in[0].rms > in[1].rms ? &in[0] : &in[1];
  const est *little = large == &in[0] ? &in[1] : &in[0];
  bool constant = oc_risk_constant_of(&op->inputs[large == &in[0] ? 0 : 1]) != NULL;

  if (in[0].small > 0 && constant)
    return of(in[0].small, PEAK_OVER_RMS * in[0].small, false);
  if (constant && little->rms > 0 && large->rms > 1024 * little->rms)
    r.small = little->rms;
  return r;
}

static est difference(const struct oc_op *op, const est *in)
{
  est r = sum(op, in);

  r.positive = false;
  return r;
}

static est times(const struct oc_op *op, const est *in)
{
  if (same_source(op))
    return of(1.7 * in[0].rms * in[0].rms, in[0].peak * in[0].peak, true);
  return of(in[0].rms * in[1].rms, in[0].peak * in[1].peak,
            in[0].positive && in[1].positive);
}

static est quotient(const struct oc_op *op, const est *in)
{
  (void)op;
  if (in[1].rms <= 0)
    return in[0];
  return of(in[0].rms / in[1].rms, in[0].peak / in[1].rms,
            in[0].positive && in[1].positive);
}

static est square(const struct oc_op *op, const est *in)
{
  (void)op;
  return of(1.7 * in[0].rms * in[0].rms, in[0].peak * in[0].peak, true);
}

static est power(const struct oc_op *op, const est *in)
{
  double e = op->n_inputs > 1 && in[1].rms > 0 ? in[1].rms : 1;

  return of(pow(in[0].rms, e), pow(in[0].peak, e), fmod(e, 2) == 0 || in[0].positive);
}

static est root(const struct oc_op *op, const est *in)
{
  (void)op;
  return of(sqrt(in[0].rms), sqrt(in[0].peak), true);
}

static est inverse_root(const struct oc_op *op, const est *in)
{
  (void)op;
  double r = in[0].rms > 0 ? 1 / sqrt(in[0].rms) : 1;
  return of(r, r, true);
}

static est inverse(const struct oc_op *op, const est *in)
{
  (void)op;
  double r = in[0].rms > 0 ? 1 / in[0].rms : 1;
  return of(r, r, in[0].positive);
}

/* exp(x - max(x)) is at most 1. */
static bool below_zero(const struct oc_op *op)
{
  const struct oc_op *from = op->n_inputs ? op->inputs[0].from : NULL;

  return from && oc_op_is(from, "Sub") && from->n_inputs > 1 && from->inputs[1].from &&
         strncmp(from->inputs[1].from->type, "ReduceMax", 9) == 0;
}

static est exponential(const struct oc_op *op, const est *in)
{
  if (below_zero(op))
    return of(0.3, 1, true);
  return of(exp(fmin(in[0].rms, 700)), exp(fmin(in[0].peak, 700)), true);
}

static est logarithm(const struct oc_op *op, const est *in)
{
  (void)op;
  double r = in[0].rms > 0 ? fabs(log(in[0].rms)) + 1 : 1;
  return of(r, in[0].peak > 0 ? fmax(fabs(log(in[0].peak)), r) : r, false);
}

static est rectified(const struct oc_op *op, const est *in)
{
  double most = oc_op_is(op, "Relu6") ? 6 : in[0].peak;
  return of(fmin(0.7 * in[0].rms, most), fmin(in[0].peak, most), true);
}

static est clipped(const struct oc_op *op, const est *in)
{
  double most = in[0].peak;

  if (op->n_inputs > 2 && in[1].peak + in[2].peak > 0)
    most = fmin(most, fmax(in[1].peak, in[2].peak));
  return of(fmin(in[0].rms, most), most, in[0].positive);
}

static est bounded(const struct oc_op *op, const est *in)
{
  (void)in;
  return of(0.5, 1, oc_op_is(op, "SoftmaxV2") || oc_op_is(op, "Sigmoid"));
}

static est normalised(const struct oc_op *op, const est *in)
{
  double scale = op->n_inputs > 1 && in[1].rms > 0 ? in[1].rms : 1;
  double shift = op->n_inputs > 2 ? in[2].rms : 0;
  double rms = hypot(scale, shift);

  return of(rms, PEAK_OVER_RMS * rms, false);
}

static est averaged(const struct oc_op *op, const est *in)
{
  double n = oc_risk_length(op);
  double rms = in[0].positive ? in[0].rms : in[0].rms * fmax(1 / sqrt(n), 0.05);

  return of(rms, in[0].positive ? in[0].peak : fmax(rms, in[0].peak / n), in[0].positive);
}

static est summed(const struct oc_op *op, const est *in)
{
  double n = oc_risk_length(op);
  double rms = in[0].positive ? in[0].rms * n : in[0].rms * sqrt(n);

  return of(rms, fmax(in[0].peak, in[0].positive ? rms : PEAK_OVER_RMS * rms),
            in[0].positive);
}

static const struct {
  const char *type;
  bool prefix;
  estimate_fn fn;
} rules[] = {
  { "Conv2D", true, products },
  { "Conv3D", true, products },
  { "DepthwiseConv", true, products },
  { "MatMul", true, products },
  { "BatchMatMul", true, products },
  { "GEMM", false, products },
  { "FullyConnection", false, products },
  { "Add", false, sum },
  { "AddV2", false, sum },
  { "Sub", false, difference },
  { "Mul", false, times },
  { "RealDiv", false, quotient },
  { "Div", false, quotient },
  { "Pow", false, power },
  { "Square", false, square },
  { "Sqrt", false, root },
  { "Rsqrt", false, inverse_root },
  { "Reciprocal", false, inverse },
  { "Exp", false, exponential },
  { "Expm1", false, exponential },
  { "Log", true, logarithm },
  { "Relu", true, rectified },
  { "ClipByValue", true, clipped },
  { "Sigmoid", false, bounded },
  { "Tanh", false, bounded },
  { "Erf", false, bounded },
  { "Softmax", true, bounded },
  { "HardSigmoid", false, bounded },
  { "CommonLSTM", false, bounded },
  { "CommonGRU", false, bounded },
  { "DynamicRNN", true, bounded },
  { "DynamicGRU", true, bounded },
  { "LayerNorm", true, normalised },
  { "BatchNorm", true, normalised },
  { "BNInfer", false, normalised },
  { "InstanceNorm", true, normalised },
  { "GroupNorm", true, normalised },
  { "ReduceMean", true, averaged },
  { "AvgPool", true, averaged },
  { "GlobalAveragePool", false, averaged },
  { "ReduceSumSquare", false, summed },
  { "ReduceSum", true, summed },
};

static est widest(const struct oc_op *op, const est *in)
{
  est r = { 0 };

  for (uint32_t i = 0; i < op->n_inputs; i++) {
    if (!oc_dtype_is_float(op->inputs[i].t.dtype))
      continue;
    bool first = r.peak <= 0;
    r.rms = fmax(r.rms, in[i].rms);
    r.peak = fmax(r.peak, in[i].peak);
    r.small = fmax(r.small, in[i].small);
    r.positive = (first || r.positive) && in[i].positive;
  }
  return r;
}

void oc_risk_estimate(const struct oc_op *op, const struct oc_estimate *in,
                      struct oc_estimate *out)
{
  est r = widest(op, in);

  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
    bool match = rules[i].prefix
                     ? strncmp(op->type, rules[i].type, strlen(rules[i].type)) == 0
                     : strcmp(op->type, rules[i].type) == 0;
    uint32_t need = rules[i].fn == products || rules[i].fn == sum ||
                            rules[i].fn == difference || rules[i].fn == times ||
                            rules[i].fn == quotient
                        ? 2
                        : 1;
    if (!match)
      continue;
    if (op->n_inputs >= need)
      r = rules[i].fn(op, in);
    break;
  }
  for (uint32_t i = 0; i < op->n_outputs; i++) {
    out[i] = r;
    /* flags and indices turned into numbers are about 1 */
    if (r.peak <= 0 && oc_dtype_is_float(op->outputs[i].t.dtype))
      out[i] = of(1, 1, true);
  }
}

double oc_risk_length(const struct oc_op *op)
{
  uint64_t in = 0, out = 0;

  if (!op->n_inputs || !op->n_outputs || !oc_shape_elements(op->inputs[0].t.shape, &in) ||
      !oc_shape_elements(op->outputs[0].t.shape, &out) || !out)
    return 1;
  return fmax(1, (double)in / (double)out);
}
