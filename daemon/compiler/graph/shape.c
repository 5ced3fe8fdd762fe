/* Shapes: a rank and dims that are never changed once shared. A shape of unknown rank is
 * the all-zero struct, which is also what oc_shape_of() gives when memory is short. */
#include "graph/graph.h"

#include "base/limits.h"

static const uint64_t MOST_ELEMENTS = (uint64_t)1 << 62;

struct oc_shape oc_shape_unknown(void)
{
  return (struct oc_shape){ 0 };
}

struct oc_shape oc_shape_scalar(void)
{
  static const int64_t none[1];
  return (struct oc_shape){ .known_rank = true, .rank = 0, .dims = none };
}

struct oc_shape oc_shape_of(struct oc_arena *a, const int64_t *dims, size_t rank)
{
  if (rank == 0)
    return oc_shape_scalar();
  if (rank > UINT32_MAX)
    return oc_shape_unknown();
  const int64_t *copy = oc_arena_grow(a, dims, rank, rank, sizeof(*dims));
  if (!copy)
    return oc_shape_unknown();
  return (struct oc_shape){ .known_rank = true, .rank = (uint32_t)rank, .dims = copy };
}

bool oc_shape_is_static(struct oc_shape s)
{
  if (!s.known_rank)
    return false;
  for (uint32_t i = 0; i < s.rank; i++)
    if (s.dims[i] < 0)
      return false;
  return true;
}

bool oc_shape_eq(struct oc_shape a, struct oc_shape b)
{
  if (a.known_rank != b.known_rank)
    return false;
  if (!a.known_rank)
    return true;
  if (a.rank != b.rank)
    return false;
  for (uint32_t i = 0; i < a.rank; i++)
    if (a.dims[i] != b.dims[i])
      return false;
  return true;
}

bool oc_shape_elements(struct oc_shape s, uint64_t *ret)
{
  if (!oc_shape_is_static(s))
    return false;
  uint64_t n = 1;
  for (uint32_t i = 0; i < s.rank; i++)
    if (s.dims[i] == 0)
      n = 0;
  for (uint32_t i = 0; i < s.rank && n; i++)
    if (__builtin_mul_overflow(n, (uint64_t)s.dims[i], &n) || n > MOST_ELEMENTS)
      return false;
  *ret = n;
  return true;
}

int64_t oc_graph_new_symbol(struct oc_graph *g)
{
  /* Nesting of sub-graphs is bounded by the importers, so is this walk. */
  while (g->parent)
    g = g->parent;
  return g->next_symbol--;
}
