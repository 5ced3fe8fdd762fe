/* Feature-map memory: where each tensor lies while it is alive.
 *
 * Time is counted in steps, one per op in the order of execution; the ops of a sub-graph
 * come before their parent's own step. A tensor lives from the step that writes it to the
 * last step that reads it. Tensors at the edge of a sub-graph live as long as the whole
 * of it, because a loop may run it again. Inputs and outputs of the model are never
 * reused and lie together at the end, so that a caller's own buffers can stand in for
 * them.
 *
 * Ops without a kernel that only rename their input (Reshape and the like) share its
 * block. The plan sweeps over the steps and gives every block the best fitting gap. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "emit_internal.h"

struct gap {
  uint64_t offset, size;
};

struct pool {
  struct gap *gaps; /* by offset, never touching */
  size_t n;
  uint64_t top; /* end of the used region */
};

/* One graph on the way down: the op that comes next, and its sub-graphs still to do. */
struct frame {
  struct emit_graph *graph;
  uint32_t next;
  bool entered;
  struct emit_graph *sub;
};

static int number_steps(struct oc_emit_plan *p, struct oc_error *err)
{
  auto_free struct frame *stack = calloc(p->n_graphs, sizeof *stack);
  uint32_t depth = 1, step = 0;

  if (!stack)
    return emit_no_memory(err);
  stack[0].graph = &p->graphs[0];
  while (depth) {
    struct frame *f = &stack[depth - 1];
    if (f->next == f->graph->n_ops) {
      depth--;
      continue;
    }
    struct emit_op *e = f->graph->ops[f->next];
    if (!f->entered) {
      e->start = step;
      f->sub = e->subs;
      f->entered = true;
    }
    if (f->sub) {
      struct emit_graph *sub = f->sub;
      f->sub = sub->sibling;
      stack[depth++] = (struct frame){ .graph = sub };
      continue;
    }
    e->step = step++;
    f->next++;
    f->entered = false;
  }
  p->n_steps = step;
  return 0;
}

static bool renames(const struct emit_op *e)
{
  static const char *const types[] = {
    "Reshape",     "Squeeze",    "SqueezeV2", "SqueezeV3", "Unsqueeze", "UnsqueezeV2",
    "UnsqueezeV3", "ExpandDims", "Flatten",   "FlattenV2", "Identity",  "ReFormat",
  };

  if (emit_is_compute(e) || e->op->n_outputs != 1 || e->op->n_inputs < 1)
    return false;
  for (size_t i = 0; i < OC_COUNT(types); i++)
    if (strcmp(types[i], e->op->type) == 0)
      return true;
  return false;
}

static struct emit_block *input_block(const struct emit_op *e, uint32_t i)
{
  const struct emit_op *from = emit_producer(e, i);

  return from ? from->blocks[emit_producer_out(e, i)] : NULL;
}

static int add_blocks(struct oc_emit_plan *p, struct emit_op *e)
{
  for (uint32_t k = 0; k < e->op->n_outputs; k++) {
    uint64_t bytes;
    if (e->constant ||
        !emit_bytes(emit_out_dtype(e, k), e->op->outputs[k].t.shape, &bytes) ||
        bytes > (uint64_t)INT64_MAX / 4)
      continue;
    struct emit_block *b = renames(e) ? input_block(e, 0) : NULL;
    if (b && b->size == emit_padded(bytes)) {
      e->blocks[k] = b;
      continue;
    }
    b = OC_NEW(&p->arena, struct emit_block);
    if (!b)
      return OC_E_NOMEM;
    *b = (struct emit_block){ .size = emit_padded(bytes),
                              .first = e->step,
                              .last = e->step,
                              .order = (uint32_t)p->n_blocks++ };
    e->blocks[k] = b;
  }
  return 0;
}

/* A tensor at the edge of a graph: of the model, or of a sub-graph. */
static void on_edge(const struct emit_graph *g, struct emit_block *b)
{
  if (!b)
    return;
  if (!g->parent) {
    b->io = true;
    return;
  }
  if (b->first > g->parent->start)
    b->first = g->parent->start;
  if (b->last < g->parent->step)
    b->last = g->parent->step;
}

static int find_lives(struct oc_emit_plan *p, struct oc_error *err)
{
  for (uint32_t g = 0; g < p->n_graphs; g++) {
    struct emit_graph *graph = &p->graphs[g];
    for (uint32_t i = 0; i < graph->n_ops; i++) {
      struct emit_op *e = graph->ops[i];
      if (add_blocks(p, e) < 0)
        return emit_no_memory(err);
      if (oc_op_is_input(e->op))
        for (uint32_t k = 0; k < e->op->n_outputs; k++)
          on_edge(graph, e->blocks[k]);
      for (uint32_t k = 0; k < e->op->n_inputs && !e->constant; k++) {
        struct emit_block *b = input_block(e, k);
        if (b && b->last < e->step)
          b->last = e->step;
        if (oc_op_is(e->op, "NetOutput"))
          on_edge(graph, b);
      }
    }
  }
  return 0;
}

static int by_first(const void *a, const void *b)
{
  const struct emit_block *x = *(struct emit_block *const *)a;
  const struct emit_block *y = *(struct emit_block *const *)b;

  if (x->first != y->first)
    return x->first < y->first ? -1 : 1;
  return (x->order > y->order) - (x->order < y->order);
}

static int by_last(const void *a, const void *b)
{
  const struct emit_block *x = *(struct emit_block *const *)a;
  const struct emit_block *y = *(struct emit_block *const *)b;

  if (x->last != y->last)
    return x->last < y->last ? -1 : 1;
  return (x->order > y->order) - (x->order < y->order);
}

static void take(struct pool *pool, struct emit_block *b)
{
  struct gap *best = NULL;

  for (size_t i = 0; i < pool->n; i++)
    if (pool->gaps[i].size >= b->size && (!best || pool->gaps[i].size < best->size))
      best = &pool->gaps[i];
  if (best) {
    b->offset = best->offset;
    best->offset += b->size;
    best->size -= b->size;
    if (!best->size) {
      pool->n--;
      memmove(best, best + 1, (size_t)(pool->gaps + pool->n - best) * sizeof *best);
    }
    return;
  }
  struct gap *last = pool->n ? &pool->gaps[pool->n - 1] : NULL;
  if (last && last->offset + last->size == pool->top) { /* grow the gap at the end */
    b->offset = last->offset;
    pool->n--;
  } else {
    b->offset = pool->top;
  }
  pool->top = b->offset + b->size;
}

static void give_back(struct pool *pool, const struct emit_block *b)
{
  size_t at = 0;

  while (at < pool->n && pool->gaps[at].offset < b->offset)
    at++;
  struct gap *g = &pool->gaps[at];
  bool left = at > 0 && g[-1].offset + g[-1].size == b->offset;
  bool right = at < pool->n && b->offset + b->size == g->offset;
  if (left && right) {
    g[-1].size += b->size + g->size;
    pool->n--;
    memmove(g, g + 1, (pool->n - at) * sizeof *g);
  } else if (left) {
    g[-1].size += b->size;
  } else if (right) {
    g->offset = b->offset;
    g->size += b->size;
  } else {
    memmove(g + 1, g, (pool->n - at) * sizeof *g);
    *g = (struct gap){ b->offset, b->size };
    pool->n++;
  }
}

/* `first` and `last`: the reusable blocks in the order in which they begin and end. */
static void sweep(struct oc_emit_plan *p, struct emit_block **first,
                  struct emit_block **last, size_t n, struct pool *pool)
{
  size_t gone = 0;
  uint64_t live = 0;

  for (size_t i = 0; i < n; i++) {
    while (gone < n && last[gone]->last < first[i]->first) {
      live -= last[gone]->size;
      give_back(pool, last[gone++]);
    }
    take(pool, first[i]);
    live += first[i]->size;
    if (live > p->stats.peak_live)
      p->stats.peak_live = live;
  }
}

/* Every block once; shared ones are seen at the op that made them. */
static void list_blocks(struct oc_emit_plan *p)
{
  for (uint32_t g = 0; g < p->n_graphs; g++)
    for (uint32_t i = 0; i < p->graphs[g].n_ops; i++) {
      const struct emit_op *e = p->graphs[g].ops[i];
      for (uint32_t k = 0; k < e->op->n_outputs; k++)
        if (e->blocks[k])
          p->list[e->blocks[k]->order] = e->blocks[k];
    }
}

/* Forgets the plan of the model before. */
static void start_anew(struct oc_emit_plan *p)
{
  p->n_blocks = 0;
  p->io_size = 0;
  p->stats.peak_live = 0;
  for (uint32_t g = 0; g < p->n_graphs; g++)
    for (uint32_t i = 0; i < p->graphs[g].n_ops; i++)
      for (uint32_t k = 0; k < p->graphs[g].ops[i]->op->n_outputs; k++)
        p->graphs[g].ops[i]->blocks[k] = NULL;
}

int emit_memory(struct oc_emit_plan *p, struct oc_error *err)
{
  start_anew(p);
  int rc = number_steps(p, err);

  if (rc == 0)
    rc = find_lives(p, err);
  if (rc < 0)
    return rc;
  p->list = OC_NEW_N(&p->arena, struct emit_block *, p->n_blocks);
  struct emit_block **first = OC_NEW_N(&p->arena, struct emit_block *, p->n_blocks);
  struct emit_block **last = OC_NEW_N(&p->arena, struct emit_block *, p->n_blocks);
  auto_free struct gap *gaps = calloc(p->n_blocks + 1, sizeof *gaps);
  struct pool pool = { .gaps = gaps };
  size_t n = 0;
  if (!p->list || !first || !last || !gaps)
    return emit_no_memory(err);
  list_blocks(p);
  for (size_t i = 0; i < p->n_blocks; i++)
    if (!p->list[i]->io)
      first[n] = last[n] = p->list[i], n++;
  if (n) {
    qsort(first, n, sizeof *first, by_first);
    qsort(last, n, sizeof *last, by_last);
  }
  sweep(p, first, last, n, &pool);
  for (size_t i = 0; i < p->n_blocks; i++)
    if (p->list[i]->io) {
      p->list[i]->offset = pool.top + p->io_size;
      p->io_size += p->list[i]->size;
    }
  p->stats.peak_live += p->io_size;
  p->stats.memory_size = pool.top + p->io_size;
  if (p->stats.memory_size > (uint64_t)INT64_MAX / 2)
    return oc_error_set(err, OC_E_LIMIT,
                        "the tensors need more memory than any device has");
  return 0;
}
