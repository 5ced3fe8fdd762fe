/* Topological order, stable and without recursion.
 *
 * Kahn's algorithm with a binary heap of ready ops keyed by their old position, so that
 * of several ready ops the one that came first stays first. Edges that come from another
 * graph (a sub-graph never has any, but passes may be half-way) do not count. What is
 * left over at the end waits for itself: walking to any waiting producer as many times as
 * there are ops ends on a cycle, and the op found there is named. */
#include "graph/graph.h"

#include <assert.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"

struct sorter {
  struct oc_graph *g;
  uint32_t *waits; /* per op: edges whose producer is not placed yet */
  size_t *first;   /* per op: where its consumers start in `users`; n + 1 values */
  uint32_t *users; /* consumers by old position */
  uint32_t *heap;  /* ready ops by old position */
  uint32_t n_heap;
};

static struct oc_op *local(const struct oc_graph *g, struct oc_op *from)
{
  return from && from->id < g->n_ops && g->ops[from->id] == from ? from : NULL;
}

static uint32_t n_edges(const struct oc_op *op)
{
  return op->n_inputs + op->n_controls;
}

static struct oc_op *edge(const struct sorter *s, const struct oc_op *op, uint32_t i)
{
  if (i < op->n_inputs)
    return local(s->g, op->inputs[i].from);
  return local(s->g, op->controls[i - op->n_inputs]);
}

static void heap_push(struct sorter *s, uint32_t v)
{
  uint32_t i = s->n_heap++;
  while (i > 0) {
    uint32_t up = (i - 1) / 2;
    if (s->heap[up] <= v)
      break;
    s->heap[i] = s->heap[up];
    i = up;
  }
  s->heap[i] = v;
}

static uint32_t heap_pop(struct sorter *s)
{
  uint32_t top = s->heap[0];
  uint32_t v = s->heap[--s->n_heap];
  uint32_t i = 0;
  for (;;) {
    uint32_t child = 2 * i + 1;
    if (child >= s->n_heap)
      break;
    if (child + 1 < s->n_heap && s->heap[child + 1] < s->heap[child])
      child++;
    if (s->heap[child] >= v)
      break;
    s->heap[i] = s->heap[child];
    i = child;
  }
  s->heap[i] = v;
  return top;
}

/* Counts, then fills, the consumer lists. */
static bool index_edges(struct sorter *s)
{
  struct oc_graph *g = s->g;
  size_t total = 0;
  for (uint32_t i = 0; i < g->n_ops; i++)
    for (uint32_t k = 0; k < n_edges(g->ops[i]); k++) {
      const struct oc_op *from = edge(s, g->ops[i], k);
      if (!from)
        continue;
      s->first[from->id + 1]++;
      s->waits[i]++;
      total++;
    }
  for (uint32_t i = 0; i < g->n_ops; i++)
    s->first[i + 1] += s->first[i];
  s->users = calloc(total + 1, sizeof(*s->users));
  auto_free size_t *at = calloc((size_t)g->n_ops + 1, sizeof(*at));
  if (!s->users || !at)
    return false;
  for (uint32_t i = 0; i < g->n_ops; i++)
    for (uint32_t k = 0; k < n_edges(g->ops[i]); k++) {
      const struct oc_op *from = edge(s, g->ops[i], k);
      if (from)
        s->users[s->first[from->id] + at[from->id]++] = i;
    }
  return true;
}

static const char *name_cycle(const struct sorter *s)
{
  const struct oc_graph *g = s->g;
  const struct oc_op *op = NULL;
  for (uint32_t i = 0; i < g->n_ops && !op; i++)
    if (s->waits[i])
      op = g->ops[i];
  assert(op);
  for (uint32_t step = 0; step < g->n_ops; step++)
    for (uint32_t k = 0; k < n_edges(op); k++) {
      const struct oc_op *from = edge(s, op, k);
      if (from && s->waits[from->id]) {
        op = from;
        break;
      }
    }
  return op->name;
}

static int place(struct sorter *s, struct oc_op **order, const char **ret_cycle)
{
  struct oc_graph *g = s->g;
  uint32_t n = 0;
  for (uint32_t i = 0; i < g->n_ops; i++)
    if (s->waits[i] == 0)
      heap_push(s, i);
  while (s->n_heap) {
    uint32_t i = heap_pop(s);
    order[n++] = g->ops[i];
    for (size_t k = s->first[i]; k < s->first[i + 1]; k++)
      if (--s->waits[s->users[k]] == 0)
        heap_push(s, s->users[k]);
  }
  if (n == g->n_ops)
    return OC_OK;
  if (ret_cycle)
    *ret_cycle = name_cycle(s);
  return OC_E_FORMAT;
}

int oc_graph_sort(struct oc_graph *g, const char **ret_cycle)
{
  size_t n = g->n_ops;
  auto_free uint32_t *waits = calloc(n + 1, sizeof(*waits));
  auto_free size_t *first = calloc(n + 2, sizeof(*first));
  auto_free uint32_t *heap = calloc(n + 1, sizeof(*heap));
  auto_free struct oc_op **order = calloc(n + 1, sizeof(struct oc_op *));
  if (!waits || !first || !heap || !order)
    return OC_E_NOMEM;
  struct sorter s = { .g = g, .waits = waits, .first = first, .heap = heap };
  for (uint32_t i = 0; i < n; i++)
    g->ops[i]->id = i;
  int rc = index_edges(&s) ? place(&s, order, ret_cycle) : OC_E_NOMEM;
  free(s.users);
  if (rc)
    return rc;
  for (uint32_t i = 0; i < n; i++) {
    g->ops[i] = order[i];
    g->ops[i]->id = i;
  }
  return OC_OK;
}
