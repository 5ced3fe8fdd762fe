/* The weights of recurrent layers as the chip's ops want them: one direction each,
 * turned, an LSTM's gates in the order i, j, f, o and both its biases added up. The file
 * is compiled without contraction, so the bytes are equal on every CPU. */
#include <string.h>

#include "base/half.h"
#include "passes/recurrent.h"

static size_t width_of(enum oc_dtype d)
{
  return d == OC_DT_F32 ? sizeof(float) : sizeof(uint16_t);
}

static struct oc_value *new_value(const struct cell *c, const int64_t *dims, size_t rank)
{
  struct oc_arena *a = c->r->arena;
  struct oc_value *v = OC_NEW(a, struct oc_value);
  struct oc_shape s = oc_shape_of(a, dims, rank);
  uint64_t n = 0;

  if (!v || !oc_shape_elements(s, &n))
    return NULL;
  *v = (struct oc_value){ .dtype = c->w->dtype, .shape = s };
  v->len = (size_t)n * width_of(v->dtype);
  v->data = oc_arena_calloc(a, v->len, 1);
  return v->data ? v : NULL;
}

/* Where ONNX has the gate that stands at place `g` here. */
static size_t gate_of(const struct cell *c, size_t g)
{
  return c->lstm && g % 2 == 1 ? LSTM_GATES - g : g;
}

/* [gates * hidden, n] of one direction, turned, into rows of `to` from `row` on. */
static void turn(const struct cell *c, const struct oc_value *from, uint32_t dir,
                 size_t n, struct oc_value *to, size_t row)
{
  size_t width = width_of(from->dtype), cols = c->gates * c->hidden;
  const uint8_t *src = from->data + (size_t)dir * cols * n * width;
  uint8_t *dst = (uint8_t *)(uintptr_t)to->data + row * cols * width;

  for (size_t g = 0; g < c->gates; g++)
    for (size_t h = 0; h < c->hidden; h++)
      for (size_t k = 0; k < n; k++)
        memcpy(dst + (k * cols + g * c->hidden + h) * width,
               src + ((gate_of(c, g) * c->hidden + h) * n + k) * width, width);
}

const struct oc_value *recurrent_lstm_weights(const struct cell *c, uint32_t dir)
{
  int64_t dims[2] = { (int64_t)(c->in + c->hidden), (int64_t)(c->gates * c->hidden) };
  struct oc_value *v = new_value(c, dims, 2);

  if (v) {
    turn(c, c->w, dir, c->in, v, 0);
    turn(c, c->rec, dir, c->hidden, v, c->in);
  }
  return v;
}

const struct oc_value *recurrent_gru_weights(const struct cell *c, uint32_t dir,
                                             const struct oc_value *from, size_t n)
{
  int64_t dims[2] = { (int64_t)n, (int64_t)(c->gates * c->hidden) };
  struct oc_value *v = new_value(c, dims, 2);

  if (v)
    turn(c, from, dir, n, v, 0);
  return v;
}

static void add_half(const uint8_t *a, const uint8_t *b, uint8_t *ret)
{
  float x, y;

  oc_convert_f16_to_f32(a, &x, 1);
  oc_convert_f16_to_f32(b, &y, 1);
  x += y;
  oc_convert_f32_to_f16(&x, ret, 1, NULL);
}

static void add_float(const uint8_t *a, const uint8_t *b, uint8_t *ret)
{
  float x, y;

  memcpy(&x, a, sizeof x);
  memcpy(&y, b, sizeof y);
  x += y;
  memcpy(ret, &x, sizeof x);
}

const struct oc_value *recurrent_lstm_bias(const struct cell *c, uint32_t dir)
{
  int64_t dim = (int64_t)(c->gates * c->hidden);
  struct oc_value *v = new_value(c, &dim, 1);
  size_t width = v ? width_of(v->dtype) : 0, half = (size_t)dim * width;

  if (!v || !c->bias)
    return v;

  const uint8_t *src = c->bias->data + 2 * dir * half;
  uint8_t *dst = (uint8_t *)(uintptr_t)v->data;

  for (size_t g = 0; g < c->gates; g++)
    for (size_t h = 0; h < c->hidden; h++) {
      size_t from = (gate_of(c, g) * c->hidden + h) * width;
      size_t to = (g * c->hidden + h) * width;

      if (width == sizeof(float))
        add_float(src + from, src + half + from, dst + to);
      else
        add_half(src + from, src + half + from, dst + to);
    }
  return v;
}

const struct oc_value *recurrent_gru_bias(const struct cell *c, uint32_t dir,
                                          uint32_t which)
{
  int64_t dim = (int64_t)(c->gates * c->hidden);
  struct oc_value *v = new_value(c, &dim, 1);

  if (v)
    memcpy((uint8_t *)(uintptr_t)v->data, c->bias->data + (2 * dir + which) * v->len,
           v->len);
  return v;
}
