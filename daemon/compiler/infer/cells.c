/* Followed values: small tensors element by element, known and symbolic ones mixed.
 *
 * Content is loaded from constants when somebody asks for it and dropped at the end of
 * the run; only outputs whose elements are all known leave a trace, their `value`.
 * Arithmetic is done in 64 bits (integers) or double (floating point) and then brought to
 * what the dtype holds. For float32 that is the correctly rounded result of one
 * operation. */
#include <math.h>
#include <string.h>

#include "base/half.h"
#include "infer/infer_internal.h"

/* Elements that one run may hold: 24 bytes each at most, so under 100 MB. */
double infer_round(enum oc_dtype dtype, double v)
{
  uint32_t bits = 0;
  float f = (float)v;

  if (dtype == OC_DT_F64)
    return v;
  memcpy(&bits, &f, sizeof(bits));
  if (dtype == OC_DT_F16)
    bits = oc_f16_to_f32(oc_f32_to_f16(bits));
  else if (dtype == OC_DT_BF16)
    bits = oc_bf16_to_f32(oc_f32_to_bf16(bits));
  memcpy(&f, &bits, sizeof(f));
  return (double)f;
}

int64_t infer_wrap(enum oc_dtype dtype, int64_t v)
{
  switch (dtype) {
  case OC_DT_BOOL: return v != 0;
  case OC_DT_I8: return (int8_t)(uint8_t)(uint64_t)v;
  case OC_DT_U8: return (uint8_t)(uint64_t)v;
  case OC_DT_I16: return (int16_t)(uint16_t)(uint64_t)v;
  case OC_DT_U16: return (uint16_t)(uint64_t)v;
  case OC_DT_I32: return (int32_t)(uint32_t)(uint64_t)v;
  case OC_DT_U32: return (uint32_t)(uint64_t)v;
  default: return v;
  }
}

static bool followable(enum oc_dtype d)
{
  switch (d) {
  case OC_DT_F16:
  case OC_DT_BF16:
  case OC_DT_F32:
  case OC_DT_F64:
  case OC_DT_BOOL:
  case OC_DT_I8:
  case OC_DT_U8:
  case OC_DT_I16:
  case OC_DT_U16:
  case OC_DT_I32:
  case OC_DT_U32:
  case OC_DT_I64: return true;
  default: return false;
  }
}

static struct infer_cells *cells_for(struct infer *in, enum oc_dtype dtype,
                                     struct oc_shape shape)
{
  uint64_t n = 0;

  if (!followable(dtype) || !oc_shape_elements(shape, &n) || n > OC_INFER_MAX_VALUE ||
      n > in->cells_left)
    return NULL;

  struct infer_cells *c = OC_NEW(&in->scratch, struct infer_cells);

  if (!c)
    return NULL;
  c->v = OC_NEW_N(&in->scratch, struct infer_cell, n);
  if (!c->v)
    return NULL;
  in->cells_left -= n;
  c->dtype = dtype;
  c->real = oc_dtype_is_float(dtype);
  c->shape = shape;
  c->n = n;
  return c;
}

static double load_real(enum oc_dtype dtype, const uint8_t *p)
{
  uint16_t half = 0;
  uint32_t bits = 0;
  float f = 0;
  double d = 0;

  switch (dtype) {
  case OC_DT_F64: memcpy(&d, p, sizeof(d)); return d;
  case OC_DT_F32: memcpy(&bits, p, sizeof(bits)); break;
  case OC_DT_F16:
    memcpy(&half, p, sizeof(half));
    bits = oc_f16_to_f32(half);
    break;
  default:
    memcpy(&half, p, sizeof(half));
    bits = oc_bf16_to_f32(half);
    break;
  }
  memcpy(&f, &bits, sizeof(f));
  return (double)f;
}

static struct infer_cells *load(struct infer *in, const struct oc_value *v)
{
  struct infer_cells *c = cells_for(in, v->dtype, v->shape);
  size_t size = oc_dtype_bits(v->dtype) / 8;

  if (!c || c->n * size > v->len)
    return NULL;
  for (size_t i = 0; i < c->n; i++) {
    c->v[i].kind = INFER_KNOWN;
    if (c->real)
      c->v[i].u.f = load_real(v->dtype, v->data + i * size);
    else if (!oc_value_int(v, i, &c->v[i].u.i))
      c->v[i].kind = INFER_UNKNOWN;
  }
  return c;
}

struct infer_cells *infer_scope_cells(const struct infer_scope *s, const struct oc_op *op,
                                      uint32_t k)
{
  if (op->id >= s->graph->n_ops || !s->known[op->id] || k >= op->n_outputs)
    return NULL;
  return s->known[op->id][k];
}

void infer_scope_put(struct infer *in, struct infer_scope *s, const struct oc_op *op,
                     uint32_t k, struct infer_cells *c)
{
  if (op->id >= s->graph->n_ops || k >= op->n_outputs)
    return;
  if (!s->known[op->id])
    s->known[op->id] = OC_NEW_N(&in->scratch, struct infer_cells *, op->n_outputs);
  if (s->known[op->id])
    s->known[op->id][k] = c;
}

const struct infer_cells *infer_content(struct infer *in, const struct oc_op *op,
                                        uint32_t i)
{
  if (!infer_has(op, i))
    return NULL;

  struct infer_scope *s = in->frames[in->depth - 1].scope;
  const struct oc_op *from = op->inputs[i].from;
  uint32_t k = op->inputs[i].from_out;
  struct infer_cells *c = infer_scope_cells(s, from, k);

  if (c)
    return c;
  if (k >= from->n_outputs)
    return NULL;

  const struct oc_value *v = from->outputs[k].t.value;

  if (!v && oc_op_is_const(from))
    v = from->value;
  c = v ? load(in, v) : NULL;
  if (c)
    infer_scope_put(in, s, from, k, c);
  return c;
}

struct infer_cells *infer_cells_new(struct infer *in, const struct oc_op *op, uint32_t k)
{
  if (k >= op->n_outputs || in->conflict)
    return NULL;
  return cells_for(in, op->outputs[k].t.dtype, op->outputs[k].t.shape);
}

static void save_one(const struct infer_cells *c, size_t i, uint8_t *p)
{
  size_t size = oc_dtype_bits(c->dtype) / 8;
  float f = (float)c->v[i].u.f;
  uint32_t bits = 0;
  uint16_t half = 0;

  if (!c->real) {
    for (size_t b = 0; b < size; b++)
      p[b] = (uint8_t)((uint64_t)c->v[i].u.i >> (8 * b));
    return;
  }
  memcpy(&bits, &f, sizeof(bits));
  switch (c->dtype) {
  case OC_DT_F64: memcpy(p, &c->v[i].u.f, sizeof(c->v[i].u.f)); break;
  case OC_DT_F32: memcpy(p, &bits, sizeof(bits)); break;
  case OC_DT_F16:
    half = oc_f32_to_f16(bits);
    memcpy(p, &half, sizeof(half));
    break;
  default:
    half = oc_f32_to_bf16(bits);
    memcpy(p, &half, sizeof(half));
    break;
  }
}

void infer_store(struct infer *in, struct oc_op *op, uint32_t k, struct infer_cells *c)
{
  infer_scope_put(in, in->frames[in->depth - 1].scope, op, k, c);
  for (size_t i = 0; i < c->n; i++)
    if (c->v[i].kind != INFER_KNOWN)
      return;

  size_t size = oc_dtype_bits(c->dtype) / 8;
  struct oc_value *v = OC_NEW(in->arena, struct oc_value);
  uint8_t *data = oc_arena_alloc(in->arena, c->n * size);

  if (!v || !data)
    return;
  for (size_t i = 0; i < c->n; i++)
    save_one(c, i, data + i * size);
  *v = (struct oc_value){
    .dtype = c->dtype, .shape = c->shape, .data = data, .len = c->n * size
  };
  op->outputs[k].t.value = v;
}

void infer_cell_put(struct infer_cells *to, size_t i, const struct infer_cells *from,
                    size_t j)
{
  to->v[i] = from->v[j];
}

void infer_value_copy(struct infer *in, struct oc_op *op)
{
  const struct infer_cells *x = infer_content(in, op, 0);

  if (!x)
    return;

  struct infer_cells *y = infer_cells_new(in, op, 0);

  if (!y || y->n != x->n || y->real != x->real)
    return;
  for (size_t i = 0; i < y->n; i++)
    y->v[i] = x->v[i];
  infer_store(in, op, 0, y);
}

bool infer_cell_int(const struct infer_cells *c, size_t i, int64_t *ret)
{
  if (i >= c->n || c->v[i].kind != INFER_KNOWN)
    return false;
  if (!c->real) {
    *ret = c->v[i].u.i;
    return true;
  }

  double f = c->v[i].u.f;

  if (!(f >= -9007199254740992.0 && f <= 9007199254740992.0) || f != floor(f))
    return false;
  *ret = (int64_t)f;
  return true;
}

bool infer_cell_real(const struct infer_cells *c, size_t i, double *ret)
{
  if (i >= c->n || c->v[i].kind != INFER_KNOWN)
    return false;
  *ret = c->real ? c->v[i].u.f : (double)c->v[i].u.i;
  return true;
}

int64_t infer_cell_dim(struct infer *in, const struct infer_cells *c, size_t i)
{
  int64_t v = 0;

  if (i < c->n && c->v[i].kind == INFER_SYMBOL)
    return c->v[i].u.i;
  return infer_cell_int(c, i, &v) ? v : infer_fresh(in);
}

const int64_t *infer_known_ints(struct infer *in, const struct oc_op *op, uint32_t i,
                                size_t *ret_n)
{
  const struct infer_cells *c = infer_content(in, op, i);
  int64_t *out = c ? OC_NEW_N(&in->scratch, int64_t, c->n) : NULL;

  if (!out)
    return NULL;
  for (size_t k = 0; k < c->n; k++)
    if (!infer_cell_int(c, k, &out[k]))
      return NULL;
  *ret_n = c->n;
  return out;
}

bool infer_shape_input(struct infer *in, const struct oc_op *op, uint32_t i,
                       int64_t dims[OC_MAX_RANK], uint32_t *ret_rank)
{
  const struct infer_cells *c = infer_content(in, op, i);
  int64_t n = c ? (int64_t)c->n : infer_dim(op, i, 0);

  if (n < 0)
    return false;
  if (n > OC_MAX_RANK) {
    infer_conflict(in, op, "a shape of %lld dims", (long long)n);
    return false;
  }
  for (uint32_t k = 0; k < n; k++)
    dims[k] = c ? infer_cell_dim(in, c, k) : infer_fresh(in);
  *ret_rank = (uint32_t)n;
  return true;
}

bool infer_axes(struct infer *in, const struct oc_op *op, const char *attr, int32_t i,
                uint32_t rank, uint64_t *ret_mask, bool *ret_all)
{
  size_t n = 0;
  const int64_t *list = attr ? oc_attr_ints(op, attr, &n) : NULL;
  int64_t single = 0;
  const struct oc_attr *a = attr ? oc_attr_find(op, attr) : NULL;
  uint64_t mask = 0;

  if (a && a->kind == OC_ATTR_INT) {
    single = a->u.i;
    list = &single;
    n = 1;
  }
  if (!list && i >= 0 && infer_has(op, (uint32_t)i)) {
    list = infer_known_ints(in, op, (uint32_t)i, &n);
    if (!list)
      return infer_dim(op, (uint32_t)i, 0) == 0 ? (*ret_mask = 0, *ret_all = true)
                                                : false;
  }
  for (size_t k = 0; k < n; k++) {
    uint32_t axis = 0;

    if (!infer_axis(in, op, list[k], rank, &axis))
      return false;
    mask |= (uint64_t)1 << axis;
  }
  *ret_mask = mask;
  *ret_all = n == 0;
  return true;
}
