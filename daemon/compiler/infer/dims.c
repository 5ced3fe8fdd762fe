/* Arithmetic on dims that may be symbols.
 *
 * Equal computations on equal symbols give equal symbols: every sum, difference, product
 * and quotient is remembered under its text, so that two branches that halve the same
 * unknown height still match when they are added again. Definitions are kept too, which
 * lets (a * b) / b be a and lets Reshape cancel factors. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "infer/infer_internal.h"

int64_t infer_fresh(struct infer *in)
{
  return oc_graph_new_symbol(in->root);
}

static struct oc_str key_text(struct infer *in, char op, int64_t a, int64_t b)
{
  char text[64];
  int n = snprintf(text, sizeof(text), "%c%" PRId64 ":%" PRId64, op, a, b);
  char *copy = oc_arena_strndup(&in->scratch, text, (size_t)n);

  return (struct oc_str){ copy ? copy : "", copy ? (size_t)n : 0 };
}

static const struct infer_symbol_def *def_of(const struct infer *in, int64_t symbol)
{
  char text[32];
  int n = snprintf(text, sizeof(text), "%" PRId64, symbol);

  return oc_map_get(&in->defs, (struct oc_str){ text, (size_t)n });
}

/* What is kept for "op:a:b": the symbol that stands for it. */
struct made {
  int64_t symbol;
  struct infer_symbol_def def;
};

static int64_t made_symbol(struct infer *in, char op, int64_t a, int64_t b)
{
  /* An unnamed unknown is equal to nothing, so nothing is remembered about it. */
  if (a == OC_DIM_UNKNOWN || b == OC_DIM_UNKNOWN)
    return infer_fresh(in);

  struct oc_str key = key_text(in, op, a, b);
  struct made *m = oc_map_get(&in->symbols, key);

  if (m)
    return m->symbol;
  m = OC_NEW(&in->scratch, struct made);
  if (!m)
    return OC_DIM_UNKNOWN;
  m->symbol = infer_fresh(in);
  m->def = (struct infer_symbol_def){ .op = op, .a = a, .b = b };

  char text[32];
  int n = snprintf(text, sizeof(text), "%" PRId64, m->symbol);
  char *name = oc_arena_strndup(&in->scratch, text, (size_t)n);

  if (!name || oc_map_put(&in->symbols, key, m) < 0 ||
      oc_map_put(&in->defs, (struct oc_str){ name, (size_t)n }, &m->def) < 0)
    return OC_DIM_UNKNOWN;
  return m->symbol;
}

static void order(int64_t *a, int64_t *b)
{
  if (*a < *b) {
    int64_t t = *a;
    *a = *b;
    *b = t;
  }
}

int64_t infer_add(struct infer *in, int64_t a, int64_t b)
{
  int64_t sum = 0;

  if (a >= 0 && b >= 0)
    return __builtin_add_overflow(a, b, &sum) ? infer_fresh(in) : sum;
  if (a == 0)
    return b;
  if (b == 0)
    return a;
  order(&a, &b);
  return made_symbol(in, '+', a, b);
}

int64_t infer_sub(struct infer *in, int64_t a, int64_t b)
{
  if (b == 0)
    return a;
  if (a == b && a < OC_DIM_UNKNOWN)
    return 0;
  if (a >= 0 && b >= 0)
    return a >= b ? a - b : infer_fresh(in);

  const struct infer_symbol_def *d = a < OC_DIM_UNKNOWN ? def_of(in, a) : NULL;

  if (d && d->op == '+' && b != OC_DIM_UNKNOWN) {
    if (d->a == b)
      return d->b;
    if (d->b == b)
      return d->a;
  }
  return made_symbol(in, '-', a, b);
}

int64_t infer_mul(struct infer *in, int64_t a, int64_t b)
{
  int64_t product = 0;

  if (a == 0 || b == 0)
    return 0;
  if (a > 0 && b > 0)
    return __builtin_mul_overflow(a, b, &product) ? infer_fresh(in) : product;
  if (a == 1)
    return b;
  if (b == 1)
    return a;
  order(&a, &b);
  return made_symbol(in, '*', a, b);
}

int64_t infer_div(struct infer *in, int64_t a, int64_t b)
{
  if (b == 1)
    return a;
  if (a >= 0 && b > 0)
    return a / b;
  if (a == b && a < OC_DIM_UNKNOWN)
    return 1;

  const struct infer_symbol_def *d = a < OC_DIM_UNKNOWN ? def_of(in, a) : NULL;

  if (d && d->op == '*' && b != OC_DIM_UNKNOWN) {
    if (d->a == b)
      return d->b;
    if (d->b == b)
      return d->a;
    if (d->a > 0 && b > 0 && d->a % b == 0)
      return infer_mul(in, d->a / b, d->b);
  }
  return made_symbol(in, '/', a, b);
}

int64_t infer_same(struct infer *in, const struct oc_op *op, int64_t a, int64_t b)
{
  if (a >= 0 && b >= 0 && a != b)
    infer_conflict(in, op, "dims %" PRId64 " and %" PRId64 " have to be equal", a, b);
  if (a >= 0)
    return a;
  if (b >= 0)
    return b;
  return a < OC_DIM_UNKNOWN ? a : b;
}

int64_t infer_broadcast_dim(struct infer *in, const struct oc_op *op, int64_t a,
                            int64_t b)
{
  if (a == b && a != OC_DIM_UNKNOWN)
    return a;
  if (a == 1)
    return b;
  if (b == 1)
    return a;
  if (a >= 0 && b >= 0) {
    infer_conflict(in, op, "dims %" PRId64 " and %" PRId64 " do not broadcast", a, b);
    return OC_DIM_UNKNOWN;
  }
  if (a >= 0)
    return a;
  if (b >= 0)
    return b;
  order(&a, &b);
  return made_symbol(in, '|', a, b);
}

struct oc_shape infer_broadcast(struct infer *in, const struct oc_op *op,
                                struct oc_shape a, struct oc_shape b)
{
  int64_t dims[OC_MAX_RANK];

  if (!a.known_rank || !b.known_rank)
    return oc_shape_unknown();
  if (oc_shape_eq(a, b) && oc_shape_is_static(a))
    return a;
  if (a.rank > OC_MAX_RANK || b.rank > OC_MAX_RANK) {
    infer_conflict(in, op, "rank over %d", OC_MAX_RANK);
    return oc_shape_unknown();
  }

  uint32_t rank = a.rank > b.rank ? a.rank : b.rank;

  for (uint32_t i = 0; i < rank; i++) {
    int64_t da = i < a.rank ? a.dims[a.rank - 1 - i] : 1;
    int64_t db = i < b.rank ? b.dims[b.rank - 1 - i] : 1;

    dims[rank - 1 - i] = infer_broadcast_dim(in, op, da, db);
  }
  return oc_shape_of(in->arena, dims, rank);
}

int64_t infer_product(struct infer *in, const int64_t *dims, uint32_t from, uint32_t to)
{
  int64_t known = 1;
  int64_t rest = 1;

  /* Known factors first, so that the product has one spelling. */
  for (uint32_t i = from; i < to; i++) {
    if (dims[i] >= 0)
      known = infer_mul(in, known, dims[i]);
    else
      rest = infer_mul(in, rest, dims[i]);
  }
  return infer_mul(in, known, rest);
}

size_t infer_factors(const struct infer *in, int64_t dim, int64_t *ret, size_t room)
{
  int64_t stack[OC_MAX_RANK] = { dim };
  size_t depth = 1;
  size_t n = 0;

  while (depth > 0 && n < room) {
    int64_t d = stack[--depth];
    const struct infer_symbol_def *def = d < OC_DIM_UNKNOWN ? def_of(in, d) : NULL;

    if (def && def->op == '*' && depth + 2 <= OC_MAX_RANK) {
      stack[depth++] = def->a;
      stack[depth++] = def->b;
    } else {
      ret[n++] = d;
    }
  }
  return depth == 0 ? n : 0;
}

struct oc_shape infer_merge(struct infer *in, struct oc_shape a, struct oc_shape b)
{
  int64_t dims[OC_MAX_RANK];

  if (!a.known_rank || !b.known_rank || a.rank != b.rank || a.rank > OC_MAX_RANK)
    return oc_shape_unknown();
  if (oc_shape_eq(a, b))
    return a;
  for (uint32_t i = 0; i < a.rank; i++) {
    bool same = a.dims[i] == b.dims[i] && a.dims[i] != OC_DIM_UNKNOWN;

    dims[i] = same ? a.dims[i] : infer_fresh(in);
  }
  return oc_shape_of(in->arena, dims, a.rank);
}
