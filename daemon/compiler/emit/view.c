/* The graph as it will be written.
 *
 * Constants do not change dtype in the judge: a consumer that wants another one got a
 * Cast in between. Such a Cast is folded here: the constant is stored in the dtype that
 * is read. Read in several dtypes, it becomes several constants: the one with the
 * constant's own name is the one that is read directly, or else the first Cast's; the
 * others have the name of the Cast they replace. */
#include <assert.h>
#include <string.h>

#include "emit_internal.h"

int emit_no_memory(struct oc_error *err)
{
  return oc_error_set(err, OC_E_NOMEM, "not enough memory to lay out the .om file");
}

bool emit_is_compute(const struct emit_op *e)
{
  return e->op->engine == OC_ENGINE_AICORE || e->op->engine == OC_ENGINE_AICPU ||
         e->op->engine == OC_ENGINE_NONE;
}

struct emit_op *emit_producer(const struct emit_op *e, uint32_t i)
{
  struct oc_op *from = e->op->inputs[i].from;

  return from ? from->plan : NULL;
}

uint32_t emit_producer_out(const struct emit_op *e, uint32_t i)
{
  const struct emit_op *from = emit_producer(e, i);

  return from && from->constant ? 0 : e->op->inputs[i].from_out;
}

static enum oc_dtype got(const struct oc_tensor *t)
{
  return t->got != OC_DT_UNDEFINED ? t->got : t->dtype;
}

enum oc_dtype emit_out_dtype(const struct emit_op *e, uint32_t k)
{
  return e->constant ? e->constant->to : got(&e->op->outputs[k].t);
}

/* Ops that nobody judges take what they are given. */
enum oc_dtype emit_in_dtype(const struct emit_op *e, uint32_t i)
{
  const struct emit_op *from = emit_producer(e, i);

  if (from && e->op->engine == OC_ENGINE_GRAPH)
    return emit_out_dtype(from, emit_producer_out(e, i));
  return got(&e->op->inputs[i].t);
}

bool emit_bytes(enum oc_dtype d, struct oc_shape s, uint64_t *ret)
{
  uint64_t n;

  return oc_shape_elements(s, &n) && oc_dtype_bytes(d, n, ret);
}

uint64_t emit_padded(uint64_t bytes)
{
  return (bytes + EMIT_MEM_ALIGN - 1) / EMIT_MEM_ALIGN * EMIT_MEM_ALIGN + EMIT_MEM_ALIGN;
}

struct emit_op *emit_net_output(const struct emit_graph *g)
{
  for (uint32_t i = g->n_ops; i-- > 0;)
    if (oc_op_is(g->ops[i]->op, "NetOutput"))
      return g->ops[i];
  return NULL;
}

/* A Cast that the judge put behind a constant and whose work we can do now. */
static bool folds(const struct oc_op *op)
{
  const struct oc_op *from = op->n_inputs == 1 ? op->inputs[0].from : NULL;

  return op->inserted && oc_op_is(op, "Cast") && from && oc_op_is_const(from) &&
         from->value && emit_can_convert(from->value->dtype, got(&op->outputs[0].t));
}

static struct emit_op *new_op(struct oc_emit_plan *p, struct emit_graph *g,
                              struct oc_op *op)
{
  struct emit_op *e = OC_NEW(&p->arena, struct emit_op);

  if (!e)
    return NULL;
  e->op = op;
  e->graph = g;
  e->name = op->name;
  e->blocks = OC_NEW_N(&p->arena, struct emit_block *, op->n_outputs);
  return e->blocks ? e : NULL;
}

static struct emit_op *new_const(struct oc_emit_plan *p, struct emit_graph *g,
                                 struct oc_op *op, const char *name, enum oc_dtype to)
{
  struct emit_op *e = new_op(p, g, op);
  struct emit_const *c = OC_NEW(&p->arena, struct emit_const);

  if (!e || !c)
    return NULL;
  e->name = name;
  e->constant = c;
  *c = (struct emit_const){ .value = op->value,
                            .name = name,
                            .op = e,
                            .to = to,
                            .graph = (uint32_t)(g - p->graphs) };
  g->ops[g->n_ops++] = e;
  p->n_consts++;
  return e;
}

/* First reader of a constant in each dtype, in the order of the graph. */
struct readers {
  struct oc_op *direct;             /* an op that reads it as it is */
  struct oc_op *casts[OC_DT_COUNT]; /* folded Casts by dtype */
  enum oc_dtype order[OC_DT_COUNT];
  uint32_t n;
};

/* `marks[i]` of the op numbered i: the readers of a constant. */
static int find_readers(struct oc_emit_plan *p, struct oc_graph *g,
                        struct readers **by_mark)
{
  for (uint32_t i = 0; i < g->n_ops; i++) {
    struct oc_op *op = g->ops[i];
    for (uint32_t k = 0; k < op->n_inputs; k++) {
      struct oc_op *from = op->inputs[k].from;
      if (!from || !oc_op_is_const(from) || !from->value)
        continue;
      struct readers **r = &by_mark[from->mark];
      if (!*r)
        *r = OC_NEW(&p->arena, struct readers);
      if (!*r)
        return OC_E_NOMEM;
      enum oc_dtype to = got(&op->outputs[0].t);
      if (!folds(op)) {
        (*r)->direct = (*r)->direct ? (*r)->direct : op;
      } else if (!(*r)->casts[to]) {
        (*r)->casts[to] = op;
        (*r)->order[(*r)->n++] = to;
      }
    }
  }
  return 0;
}

static int add_const(struct oc_emit_plan *p, struct emit_graph *g, struct oc_op *op,
                     const struct readers *r)
{
  enum oc_dtype own = got(&op->outputs[0].t);
  bool named = !r || r->direct || r->n == 0;

  if (named) {
    op->plan = new_const(p, g, op, op->name, own);
    if (!op->plan)
      return OC_E_NOMEM;
  }
  for (uint32_t i = 0; r && i < r->n; i++) {
    enum oc_dtype to = r->order[i];
    struct oc_op *cast = r->casts[to];
    if (named && to == own) {
      cast->plan = op->plan;
      continue;
    }
    struct emit_op *e = new_const(p, g, op, named ? cast->name : op->name, to);
    if (!e)
      return OC_E_NOMEM;
    cast->plan = e;
    if (!named)
      op->plan = e;
    named = true;
  }
  return 0;
}

static int view_graph(struct oc_emit_plan *p, struct emit_graph *g, struct oc_error *err)
{
  struct oc_graph *src = g->graph;
  const char *cycle = NULL;
  if (oc_graph_sort(src, &cycle) < 0)
    return oc_error_set(err, OC_E_FORMAT, "'%s' depends on itself",
                        cycle ? cycle : src->name);
  struct readers **by_mark = OC_NEW_N(&p->arena, struct readers *, src->n_ops);

  g->ops = OC_NEW_N(&p->arena, struct emit_op *, src->n_ops);
  if (!by_mark || !g->ops)
    return emit_no_memory(err);
  for (uint32_t i = 0; i < src->n_ops; i++) {
    src->ops[i]->mark = i;
    src->ops[i]->plan = NULL;
  }
  int rc = find_readers(p, src, by_mark);
  for (uint32_t i = 0; rc == 0 && i < src->n_ops; i++) {
    struct oc_op *op = src->ops[i];
    if (oc_op_is_const(op) && op->value) {
      rc = add_const(p, g, op, by_mark[i]);
    } else if (folds(op)) {
      const struct readers *r = by_mark[op->inputs[0].from->mark];
      op->plan = r->casts[got(&op->outputs[0].t)]->plan;
    } else {
      op->plan = g->ops[g->n_ops] = new_op(p, g, op);
      rc = g->ops[g->n_ops++] ? 0 : OC_E_NOMEM;
    }
  }
  for (uint32_t i = 0; i < src->n_ops; i++)
    src->ops[i]->mark = 0;
  return rc < 0 ? emit_no_memory(err) : 0;
}

/* Consumers of every op, in the order of the graph. */
static int link_users(struct oc_emit_plan *p, struct emit_graph *g)
{
  for (uint32_t pass = 0; pass < 2; pass++)
    for (uint32_t i = 0; i < g->n_ops; i++) {
      struct emit_op *e = g->ops[i];
      if (pass == 1 && !e->users && e->n_users) {
        e->users = OC_NEW_N(&p->arena, struct emit_edge, e->n_users);
        e->n_users = 0;
        if (!e->users)
          return OC_E_NOMEM;
      }
      for (uint32_t k = 0; k < e->op->n_inputs && !e->constant; k++) {
        struct emit_op *from = emit_producer(e, k);
        if (!from)
          continue;
        assert(pass == 0 || from->users);
        if (pass == 1)
          from->users[from->n_users] = (struct emit_edge){ e, k };
        from->n_users++;
      }
    }
  return 0;
}

/* Every linked input must read what its producer gives: the judge left no gap. */
static int check_edges(const struct emit_graph *g, struct oc_error *err)
{
  for (uint32_t i = 0; i < g->n_ops; i++) {
    const struct emit_op *e = g->ops[i];
    for (uint32_t k = 0; k < e->op->n_inputs && !e->constant; k++) {
      const struct emit_op *from = emit_producer(e, k);
      if (!from)
        continue;
      enum oc_dtype have = emit_out_dtype(from, emit_producer_out(e, k));
      enum oc_dtype want = emit_in_dtype(e, k);
      if (have != want)
        return oc_error_set(err, OC_E_FORMAT,
                            "'%s' takes %s at input %u, but '%s' gives %s", e->name,
                            oc_dtype_name(want), k, from->name, oc_dtype_name(have));
    }
    if (e->constant && e->constant->to != e->constant->value->dtype &&
        !emit_can_convert(e->constant->value->dtype, e->constant->to))
      return oc_error_set(err, OC_E_FORMAT, "constant '%s' cannot be stored as %s",
                          e->name, oc_dtype_name(e->constant->to));
  }
  return 0;
}

/* Graphs breadth first: the root, its sub-graphs in order, theirs. */
static int collect_graphs(struct oc_emit_plan *p, struct oc_graph *root,
                          struct oc_error *err)
{
  uint32_t room = 16;

  p->graphs = OC_NEW_N(&p->arena, struct emit_graph, room);
  if (!p->graphs)
    return emit_no_memory(err);
  p->graphs[p->n_graphs++] =
      (struct emit_graph){ .graph = root,
                           .name = oc_arena_printf(&p->arena, "%s_0", p->opt.label) };
  for (uint32_t i = 0; i < p->n_graphs; i++) {
    const struct oc_graph *g = p->graphs[i].graph;
    for (uint32_t k = 0; k < g->n_ops; k++)
      for (uint32_t s = 0; s < g->ops[k]->n_subgraphs; s++) {
        if (p->n_graphs == room) {
          p->graphs = oc_arena_grow(&p->arena, p->graphs, room, 2 * (size_t)room,
                                    sizeof *p->graphs);
          if (!p->graphs)
            return emit_no_memory(err);
          room *= 2;
        }
        struct oc_subgraph *sub = &g->ops[k]->subgraphs[s];
        p->graphs[p->n_graphs++] = (struct emit_graph){ .graph = sub->graph,
                                                        .name = sub->name,
                                                        .parent_op = g->ops[k] };
      }
  }
  return 0;
}

/* The parent's graph comes before in breadth-first order, so its ops exist already. */
static void join_parent(struct emit_graph *g)
{
  g->parent = g->parent_op->plan;
  struct emit_graph **last = &g->parent->subs;
  while (*last)
    last = &(*last)->sibling;
  *last = g;
}

int emit_view(struct oc_emit_plan *p, struct oc_graph *root, struct oc_error *err)
{
  uint32_t id = 0;
  int rc = collect_graphs(p, root, err);

  for (uint32_t i = 0; rc == 0 && i < p->n_graphs; i++) {
    struct emit_graph *g = &p->graphs[i];
    rc = view_graph(p, g, err);
    if (rc == 0)
      rc = link_users(p, g) < 0 ? emit_no_memory(err) : 0;
    if (rc == 0)
      rc = check_edges(g, err);
    if (i && rc == 0)
      join_parent(g);
    for (uint32_t k = 0; rc == 0 && k < g->n_ops; k++)
      g->ops[k]->id = id++;
  }
  if (rc == 0 && !emit_net_output(&p->graphs[0]))
    rc = oc_error_set(err, OC_E_FORMAT, "the graph has no NetOutput");
  return rc;
}
