/* Values of binary ops, for shape arithmetic mostly: known numbers, and what can be said
 * about sizes that are only symbols. A symbol is a size and so never negative. */
#include <math.h>
#include <string.h>

#include "infer/infer_internal.h"

enum binary {
  ADD,
  SUB,
  MUL,
  DIV,
  FLOOR_DIV,
  MOD,
  FLOOR_MOD,
  MAXIMUM,
  MINIMUM,
  POWER,
  AND,
  OR,
  XOR,
  EQUAL,
  NOT_EQUAL,
  GREATER,
  GREATER_EQUAL,
  LESS,
  LESS_EQUAL,
};

static const struct {
  const char *type;
  enum binary what;
} binaries[] = {
  { "Add", ADD },         { "AddV2", ADD },
  { "Sub", SUB },         { "Mul", MUL },
  { "RealDiv", DIV },     { "Div", DIV },
  { "TruncateDiv", DIV }, { "FloorDiv", FLOOR_DIV },
  { "Mod", MOD },         { "FloorMod", FLOOR_MOD },
  { "Maximum", MAXIMUM }, { "Minimum", MINIMUM },
  { "Pow", POWER },       { "BitwiseAnd", AND },
  { "LogicalAnd", AND },  { "BitwiseOr", OR },
  { "LogicalOr", OR },    { "BitwiseXor", XOR },
  { "Equal", EQUAL },     { "NotEqual", NOT_EQUAL },
  { "Greater", GREATER }, { "GreaterEqual", GREATER_EQUAL },
  { "Less", LESS },       { "LessEqual", LESS_EQUAL },
};

static bool what_of(const char *type, enum binary *ret)
{
  for (size_t i = 0; i < sizeof(binaries) / sizeof(binaries[0]); i++) {
    if (oc_streq(binaries[i].type, type)) {
      *ret = binaries[i].what;
      return true;
    }
  }
  return false;
}

size_t infer_broadcast_index(struct oc_shape to, struct oc_shape from, size_t i)
{
  size_t index = 0;
  size_t stride = 1;

  for (uint32_t d = 0; d < to.rank; d++) {
    size_t size = (size_t)to.dims[to.rank - 1 - d];
    size_t at = size ? i % size : 0;

    i = size ? i / size : 0;
    if (d >= from.rank)
      continue;

    size_t own = (size_t)from.dims[from.rank - 1 - d];

    index += (own == 1 ? 0 : at) * stride;
    stride *= own;
  }
  return index;
}

static int64_t floor_mod(int64_t a, int64_t b)
{
  int64_t r = b == -1 ? 0 : a % b;

  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static bool int_power(int64_t a, int64_t b, int64_t *ret)
{
  int64_t r = 1;

  if (b < 0 || b > 64)
    return false;
  for (int64_t k = 0; k < b; k++)
    if (__builtin_mul_overflow(r, a, &r))
      return false;
  *ret = r;
  return true;
}

static bool divide(enum binary what, int64_t a, int64_t b, int64_t *ret)
{
  if (b == 0 || (a == INT64_MIN && b == -1))
    return false;
  switch (what) {
  case DIV: *ret = a / b; return true;
  case FLOOR_DIV: *ret = a / b - (a % b != 0 && (a < 0) != (b < 0)); return true;
  case FLOOR_MOD: *ret = floor_mod(a, b); return true;
  /* Which sign the rest has depends on who wrote the op: only the plain case is followed.
   */
  default: *ret = floor_mod(a, b); return (a < 0) == (b < 0);
  }
}

static bool binary_int(enum binary what, int64_t a, int64_t b, int64_t *ret)
{
  switch (what) {
  case ADD: return !__builtin_add_overflow(a, b, ret);
  case SUB: return !__builtin_sub_overflow(a, b, ret);
  case MUL: return !__builtin_mul_overflow(a, b, ret);
  case DIV:
  case FLOOR_DIV:
  case MOD:
  case FLOOR_MOD: return divide(what, a, b, ret);
  case MAXIMUM: *ret = a > b ? a : b; return true;
  case MINIMUM: *ret = a < b ? a : b; return true;
  case POWER: return int_power(a, b, ret);
  case AND: *ret = a & b; return true;
  case OR: *ret = a | b; return true;
  case XOR: *ret = a ^ b; return true;
  case EQUAL: *ret = a == b; return true;
  case NOT_EQUAL: *ret = a != b; return true;
  case GREATER: *ret = a > b; return true;
  case GREATER_EQUAL: *ret = a >= b; return true;
  case LESS: *ret = a < b; return true;
  case LESS_EQUAL: *ret = a <= b; return true;
  }
  return false;
}

static bool compare_real(enum binary what, double a, double b, int64_t *ret)
{
  switch (what) {
  case EQUAL: *ret = a == b; return true;
  case NOT_EQUAL: *ret = a != b; return true;
  case GREATER: *ret = a > b; return true;
  case GREATER_EQUAL: *ret = a >= b; return true;
  case LESS: *ret = a < b; return true;
  case LESS_EQUAL: *ret = a <= b; return true;
  default: return false;
  }
}

static bool binary_real(enum binary what, double a, double b, double *ret)
{
  switch (what) {
  case ADD: *ret = a + b; return true;
  case SUB: *ret = a - b; return true;
  case MUL: *ret = a * b; return true;
  case DIV: *ret = a / b; return true;
  case FLOOR_DIV: *ret = floor(a / b); return true;
  case MAXIMUM: *ret = a > b ? a : b; return true;
  case MINIMUM: *ret = a < b ? a : b; return true;
  default: return false;
  }
}

static void put_int(const struct infer_cells *y, struct infer_cell *c, int64_t v)
{
  c->kind = INFER_KNOWN;
  if (y->real)
    c->u.f = (double)v;
  else
    c->u.i = infer_wrap(y->dtype, v);
}

static void known_pair(enum binary what, const struct infer_cells *a, size_t i,
                       const struct infer_cells *b, size_t j, struct infer_cells *y,
                       size_t k)
{
  int64_t v = 0;
  double f = 0;

  if (!a->real) {
    if (binary_int(what, a->v[i].u.i, b->v[j].u.i, &v))
      put_int(y, &y->v[k], v);
  } else if (y->real) {
    if (binary_real(what, a->v[i].u.f, b->v[j].u.f, &f)) {
      y->v[k].kind = INFER_KNOWN;
      y->v[k].u.f = infer_round(y->dtype, f);
    }
  } else if (compare_real(what, a->v[i].u.f, b->v[j].u.f, &v)) {
    put_int(y, &y->v[k], v);
  }
}

static void put_dim(struct infer_cells *y, size_t k, int64_t dim)
{
  if (dim >= 0) {
    put_int(y, &y->v[k], dim);
  } else {
    y->v[k].kind = INFER_SYMBOL;
    y->v[k].u.i = dim;
  }
}

/* The cell as a size: false when it is unknown, negative or broken. */
static bool as_dim(const struct infer_cells *c, size_t i, int64_t *ret)
{
  if (c->v[i].kind == INFER_SYMBOL) {
    *ret = c->v[i].u.i;
    return true;
  }
  return infer_cell_int(c, i, ret) && *ret >= 0;
}

static void symbolic_compare(enum binary what, int64_t a, int64_t b,
                             struct infer_cells *y, size_t k)
{
  if (a == b && (what == EQUAL || what == GREATER_EQUAL || what == LESS_EQUAL))
    put_int(y, &y->v[k], 1);
  else if (a == b && (what == NOT_EQUAL || what == GREATER || what == LESS))
    put_int(y, &y->v[k], 0);
}

/* One of the two is a symbol. */
static void symbolic_pair(struct infer *in, enum binary what, const struct infer_cells *a,
                          size_t i, const struct infer_cells *b, size_t j,
                          struct infer_cells *y, size_t k)
{
  int64_t x = 0;
  int64_t z = 0;
  int64_t number = 0;

  if (infer_cell_int(b, j, &number) && number < 0) {
    /* A size against a negative number, as in Equal(shape, -1). */
    if (what == EQUAL || what == LESS || what == LESS_EQUAL)
      put_int(y, &y->v[k], 0);
    else if (what == NOT_EQUAL || what == GREATER || what == GREATER_EQUAL)
      put_int(y, &y->v[k], 1);
    else if (what == MAXIMUM)
      y->v[k] = a->v[i];
    return;
  }
  if (!as_dim(a, i, &x) || !as_dim(b, j, &z))
    return;
  switch (what) {
  case ADD: put_dim(y, k, infer_add(in, x, z)); break;
  case SUB: put_dim(y, k, infer_sub(in, x, z)); break;
  case MUL: put_dim(y, k, infer_mul(in, x, z)); break;
  case DIV:
    if (z != 0 && (!y->real || z == 1))
      put_dim(y, k, infer_div(in, x, z));
    break;
  case FLOOR_DIV:
    if (z != 0)
      put_dim(y, k, infer_div(in, x, z));
    break;
  case MAXIMUM:
  case MINIMUM:
    if (x == z)
      put_dim(y, k, x);
    break;
  default: symbolic_compare(what, x, z, y, k); break;
  }
}

void infer_binary_value(struct infer *in, struct oc_op *op)
{
  const struct infer_cells *a = infer_content(in, op, 0);
  const struct infer_cells *b = a ? infer_content(in, op, 1) : NULL;
  struct infer_cells *y = b ? infer_cells_new(in, op, 0) : NULL;
  enum binary what = ADD;

  if (!y || a->real != b->real || !what_of(op->type, &what) || a->n == 0 || b->n == 0)
    return;
  for (size_t k = 0; k < y->n; k++) {
    size_t i = infer_broadcast_index(y->shape, a->shape, k);
    size_t j = infer_broadcast_index(y->shape, b->shape, k);
    enum infer_cell_kind p = a->v[i].kind;
    enum infer_cell_kind q = b->v[j].kind;

    if (p == INFER_KNOWN && q == INFER_KNOWN)
      known_pair(what, a, i, b, j, y, k);
    else if (p != INFER_UNKNOWN && q != INFER_UNKNOWN)
      symbolic_pair(in, what, a, i, b, j, y, k);
  }
  infer_store(in, op, 0, y);
}

void infer_select_value(struct infer *in, struct oc_op *op)
{
  const struct infer_cells *c = infer_content(in, op, 0);
  const struct infer_cells *x[2] = { infer_content(in, op, 1), infer_content(in, op, 2) };
  struct infer_cells *y = c && x[0] && x[1] ? infer_cells_new(in, op, 0) : NULL;

  if (!y || c->n == 0 || x[0]->n == 0 || x[1]->n == 0 || x[0]->real != x[1]->real)
    return;
  if (oc_op_is(op, "Select") && c->shape.rank != y->shape.rank && c->n != 1)
    return; /* its condition runs along the first dim instead of broadcasting */
  for (size_t k = 0; k < y->n; k++) {
    int64_t yes = 0;

    if (!infer_cell_int(c, infer_broadcast_index(y->shape, c->shape, k), &yes))
      continue;

    const struct infer_cells *from = x[yes ? 0 : 1];

    infer_cell_put(y, k, from, infer_broadcast_index(y->shape, from->shape, k));
  }
  infer_store(in, op, 0, y);
}
