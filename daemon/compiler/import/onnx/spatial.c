/* Reading the spatial attributes of convolutions and pools.
 *
 * Every number is checked against what a tensor can have, so that arithmetic on them
 * later cannot overflow. */
#include "import/onnx/spatial.h"

static const int64_t MOST = (int64_t)1 << 31;

/* One list of `want` numbers in [least, MOST]; absent leaves the defaults. */
static bool read_list(struct onnx_cx *cx, const char *name, size_t want, int64_t least,
                      int64_t *ret, bool *ret_other, int64_t usual)
{
  size_t n = 0;
  const int64_t *v = onnx_is(cx, name, &n);
  if (cx->refused)
    return false;
  if (!v || n == 0)
    return true;
  if (n != want) {
    const char *why = oc_arena_printf(
        cx->im->arena, "'%s' has %zu numbers where %zu are wanted", name, n, want);
    onnx_refuse(cx, why ? why : "a list has another length than wanted");
    return false;
  }
  for (size_t i = 0; i < n; i++) {
    if (v[i] < least || v[i] > MOST) {
      const char *why =
          oc_arena_printf(cx->im->arena, "'%s' holds %lld", name, (long long)v[i]);
      onnx_refuse(cx, why ? why : "a number is out of range");
      return false;
    }
    ret[i] = v[i];
    if (v[i] != usual && ret_other)
      *ret_other = true;
  }
  return true;
}

static size_t length_of(struct onnx_cx *cx, const char *name)
{
  size_t n = 0;
  (void)onnx_is(cx, name, &n);
  return n;
}

static int64_t count_axes(struct onnx_cx *cx, uint32_t weights, int64_t lead)
{
  size_t n = length_of(cx, "kernel_shape");
  if (n)
    return (int64_t)n;
  int64_t rank = onnx_rank(cx, weights);
  if (rank > lead)
    return rank - lead;
  n = length_of(cx, "strides");
  if (!n)
    n = length_of(cx, "dilations");
  if (!n)
    n = length_of(cx, "pads") / 2;
  return (int64_t)n;
}

bool onnx_read_spatial(struct onnx_cx *cx, uint32_t weights, int64_t lead,
                       struct onnx_spatial *s)
{
  int64_t n = count_axes(cx, weights, lead);
  *s = (struct onnx_spatial){ 0 };
  if (cx->refused)
    return false;
  if (n < 1 || n > ONNX_MAX_SPATIAL) {
    onnx_refuse(cx, n ? "it has more than three spatial axes"
                      : "nothing says how many spatial axes it has");
    return false;
  }
  s->n = s->n_given = (size_t)n;
  for (size_t i = 0; i < s->n; i++)
    s->kernel[i] = s->strides[i] = s->dilations[i] = 1;
  s->has_kernel = onnx_given(cx, "kernel_shape");
  const char *how = onnx_s(cx, "auto_pad", "NOTSET");
  s->same = oc_streq(how, "SAME_UPPER") || oc_streq(how, "SAME_LOWER");
  s->valid = oc_streq(how, "VALID");
  return !cx->refused && read_list(cx, "kernel_shape", s->n, 1, s->kernel, NULL, 1) &&
         read_list(cx, "strides", s->n, 1, s->strides, NULL, 1) &&
         read_list(cx, "dilations", s->n, 1, s->dilations, &s->dilated, 1) &&
         read_list(cx, "pads", 2 * s->n, -MOST, s->pads, &s->padded, 0);
}

size_t onnx_padded(const struct onnx_spatial *s, const int64_t *values, int64_t fill,
                   int64_t *ret)
{
  size_t at = 0;
  ret[at++] = fill;
  ret[at++] = fill;
  if (s->n == 1)
    ret[at++] = fill;
  for (size_t i = 0; i < s->n; i++)
    ret[at++] = values[i];
  return at;
}

size_t onnx_pairs(const struct onnx_spatial *s, int64_t *ret)
{
  size_t at = 0;
  if (s->n == 1) {
    ret[at++] = 0;
    ret[at++] = 0;
  }
  for (size_t i = 0; i < s->n; i++) {
    ret[at++] = s->pads[i];
    ret[at++] = s->pads[s->n + i];
  }
  return at;
}
