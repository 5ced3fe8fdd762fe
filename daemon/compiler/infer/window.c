/* Windows: list attributes come with n entries (spatial only) or n + 2 (the layout's
 * order), pads with 2n. Padding is given in numbers or in a word, under different names:
 * `auto_pad` (ONNX), `padding` (TensorFlow), `padding_mode` (IR pooling). */
#include "infer/window.h"

static struct oc_str word_of(const struct oc_op *op)
{
  static const char *const names[] = { "auto_pad", "padding_mode", "padding" };

  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    struct oc_str s = oc_attr_string(op, names[i], "");

    if (s.len > 0 && !oc_str_is(s, "NOTSET"))
      return s;
  }
  return (struct oc_str){ "", 0 };
}

static void spatial(const struct oc_op *op, const char *attr,
                    const struct infer_window *w, int64_t *ret, int64_t other)
{
  size_t n = 0;
  const int64_t *v = oc_attr_ints(op, attr, &n);

  for (uint32_t i = 0; i < w->n; i++) {
    ret[i] = other;
    if (v && n == w->n)
      ret[i] = v[i];
    else if (v && n == w->n + 2)
      ret[i] = v[w->first + i];
    else if (v && n == 1)
      ret[i] = v[0];
    if (ret[i] < 1)
      ret[i] = other;
  }
}

static void read_pads(const struct oc_op *op, struct infer_window *w)
{
  size_t n = 0;
  const int64_t *v = oc_attr_ints(op, "pads", &n);

  for (uint32_t i = 0; v && i < w->n; i++)
    w->pad[i] = n == 2 * (size_t)w->n ? v[2 * i] + v[2 * i + 1] : 0;
}

bool infer_window_read(struct infer *in, const struct oc_op *op, uint32_t n,
                       struct infer_window *ret)
{
  struct infer_window w = { .n = n };
  struct oc_str format = oc_attr_string(op, "data_format", "NHWC");
  struct oc_str word = word_of(op);
  bool channel_last = oc_str_is(format, "NHWC") || oc_str_is(format, "NDHWC");

  w.first = channel_last ? 1 : 2;
  w.channel = channel_last ? n + 1 : 1;
  spatial(op, "strides", &w, w.stride, 1);
  spatial(op, oc_attr_find(op, "dilations") ? "dilations" : "dilation", &w, w.dilation,
          1);
  w.ceil = infer_bool_attr(op, "ceil_mode", false);
  if (oc_str_starts(word, "SAME"))
    w.padding = INFER_PAD_SAME;
  else if (oc_str_is(word, "VALID"))
    w.padding = INFER_PAD_VALID;
  else
    read_pads(op, &w);
  for (uint32_t i = 0; i < n; i++) {
    /* Sizes beyond this cannot be right and would overflow what follows. */
    if (w.stride[i] > INT32_MAX || w.dilation[i] > INT32_MAX || w.pad[i] > INT32_MAX ||
        w.pad[i] < INT32_MIN) {
      infer_conflict(in, op, "strides, dilations or pads are out of range");
      return false;
    }
  }
  *ret = w;
  return true;
}

void infer_window_kernel(const struct oc_op *op, const char *attr, struct infer_window *w)
{
  spatial(op, attr, w, w->kernel, 1);
}

int64_t infer_window_size(struct infer *in, const struct infer_window *w, uint32_t i,
                          int64_t size)
{
  int64_t stride = w->stride[i];
  int64_t kernel = w->kernel[i];

  if (w->padding == INFER_PAD_SAME)
    return infer_div(in, infer_add(in, size, stride - 1), stride);
  if (kernel < 0)
    return infer_fresh(in);

  /* floor((size + pad - reach) / stride) + 1 with everything but `size` in one number, so
   * that a window that keeps the size keeps its symbol too. */
  int64_t reach = 0;

  if (__builtin_mul_overflow(kernel - 1, w->dilation[i], &reach) || reach > INT32_MAX)
    return infer_fresh(in);
  reach += 1 - w->pad[i] - stride - (w->ceil ? stride - 1 : 0);
  if (size >= 0 && size < reach + stride)
    return 0; /* the window does not fit once */
  size = reach >= 0 ? infer_sub(in, size, reach) : infer_add(in, size, -reach);
  return infer_div(in, size, stride);
}
