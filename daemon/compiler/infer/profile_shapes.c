/* Shapes per profile: inference run once for each, on the graph as the judge left it.
 *
 * A run writes dtypes, shapes and values into the graph, and the judge's results are
 * there already. So every tensor is remembered first; behind each run only the shapes are
 * taken, and everything else is put back. Where a profile tells less than the dynamic
 * graph (a type without a rule), the dynamic graph's shape stays. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "infer/infer.h"
#include "infer/profiles.h"

struct oc_profile_shapes {
  struct oc_graph *graph;
  uint32_t n; /* profiles */
  struct oc_op **ops;
  struct oc_tensor **tensors; /* of all ops: inputs, then outputs */
  struct oc_tensor *before;
  bool *dynamic; /* dynamic_impl of each op */
  size_t n_ops, n_tensors;
  struct oc_shape **shapes; /* per profile, one per tensor */
};

static int no_memory(struct oc_error *err)
{
  return oc_error_set(err, OC_E_NOMEM, "not enough memory for the shapes of profiles");
}

/* Every op of the graph and its sub-graphs; sub-graphs come behind their parents. */
static struct oc_op **all_ops(struct oc_graph *root, size_t *ret_n)
{
  struct oc_op **list = NULL;
  size_t n = 0, room = 0, next = 0;
  const struct oc_graph *g = root;

  for (uint32_t sub = 0; g;) {
    if (room - n < g->n_ops) {
      room = 2 * room + g->n_ops;
      struct oc_op **grown = reallocarray(list, room, sizeof(struct oc_op *));
      if (!grown) {
        free(list);
        return NULL;
      }
      list = grown;
    }
    if (g->n_ops)
      memcpy(list + n, g->ops, g->n_ops * sizeof(struct oc_op *));
    n += g->n_ops;
    while (next < n && sub == list[next]->n_subgraphs) {
      next++;
      sub = 0;
    }
    g = next < n ? list[next]->subgraphs[sub++].graph : NULL;
  }
  *ret_n = n;
  return list;
}

static int remember(struct oc_profile_shapes *s, struct oc_error *err)
{
  struct oc_arena *a = s->graph->arena;
  auto_free struct oc_op **list = all_ops(s->graph, &s->n_ops);
  size_t k = 0;

  if (!list)
    return no_memory(err);
  s->ops = oc_arena_memdup(a, list, s->n_ops * sizeof(struct oc_op *));
  s->dynamic = OC_NEW_N(a, bool, s->n_ops);
  for (size_t i = 0; i < s->n_ops; i++)
    s->n_tensors += (size_t)list[i]->n_inputs + list[i]->n_outputs;
  s->tensors = OC_NEW_N(a, struct oc_tensor *, s->n_tensors);
  s->before = OC_NEW_N(a, struct oc_tensor, s->n_tensors);
  s->shapes = OC_NEW_N(a, struct oc_shape *, s->n);
  if (!s->ops || !s->dynamic || !s->tensors || !s->before || !s->shapes)
    return no_memory(err);
  for (size_t i = 0; i < s->n_ops; i++) {
    s->dynamic[i] = list[i]->dynamic_impl;
    for (uint32_t t = 0; t < list[i]->n_inputs; t++)
      s->tensors[k++] = &list[i]->inputs[t].t;
    for (uint32_t t = 0; t < list[i]->n_outputs; t++)
      s->tensors[k++] = &list[i]->outputs[t].t;
  }
  for (k = 0; k < s->n_tensors; k++)
    s->before[k] = *s->tensors[k];
  return 0;
}

static void put_back(const struct oc_profile_shapes *s)
{
  for (size_t k = 0; k < s->n_tensors; k++)
    *s->tensors[k] = s->before[k];
  for (size_t i = 0; i < s->n_ops; i++)
    s->ops[i]->dynamic_impl = s->dynamic[i];
}

/* The open dims of one input take their values; returns how many values were used. */
static uint32_t fill_dims(const struct oc_graph *g, struct oc_op *op,
                          const struct oc_profiles *p, const int64_t *values,
                          uint32_t used)
{
  struct oc_shape was = op->outputs[0].t.shape;
  int64_t dims[OC_MAX_RANK];

  if (!was.known_rank || was.rank > OC_MAX_RANK)
    return used;
  used = p->kind == OC_PROFILE_DIMS ? used : 0;
  for (uint32_t i = 0; i < was.rank; i++) {
    dims[i] = was.dims[i];
    if (dims[i] < 0 && used < p->width)
      dims[i] = values[used++];
  }
  op->outputs[0].t.shape = oc_shape_of(g->arena, dims, was.rank);
  return used;
}

/* Contradictions of one profile; the dynamic graph's own were told before. */
static void tell_conflicts(const struct oc_profiles *p, uint32_t profile,
                           const struct oc_findings *heard, struct oc_findings *findings)
{
  const char *number = oc_arena_printf(findings->arena, "%u", profile + 1);

  for (size_t i = 0; i < heard->n && number; i++) {
    const struct oc_finding *f = &heard->items[i];
    if (f->id == OC_FINDING_SHAPE_CONFLICT)
      oc_finding_add(findings, OC_FINDING_PROFILE_CONFLICT, f->subject, "flag", p->flag,
                     "profile", number, f->args[0].name, f->args[0].value,
                     f->args[1].name, f->args[1].value, NULL)
          ->flag = p->flag;
  }
}

static int run_profile(struct oc_profile_shapes *s, const struct oc_profiles *p,
                       uint32_t profile, struct oc_findings *findings,
                       struct oc_error *err)
{
  struct oc_findings heard;

  const int64_t *values = p->values + (size_t)profile * p->width;
  struct oc_shape *shapes = OC_NEW_N(s->graph->arena, struct oc_shape, s->n_tensors);
  uint32_t used = 0;

  if (!shapes)
    return no_memory(err);
  for (uint32_t i = 0; i < p->n_names; i++) {
    struct oc_op *op = oc_graph_find(s->graph, p->names[i]);
    if (op && op->n_outputs)
      used = fill_dims(s->graph, op, p, values, used);
  }
  oc_findings_init(&heard, s->graph->arena);
  int rc = oc_infer_told(s->graph, &heard, err);
  tell_conflicts(p, profile, &heard, findings);
  for (size_t k = 0; k < s->n_tensors; k++) {
    struct oc_shape now = s->tensors[k]->shape;
    shapes[k] = now.known_rank ? now : s->before[k].shape;
  }
  put_back(s);
  s->shapes[profile] = shapes;
  return rc < 0 ? rc : 0;
}

int oc_profiles_infer(struct oc_graph *g, const struct oc_profiles *p,
                      struct oc_findings *findings, struct oc_profile_shapes **ret,
                      struct oc_error *err)
{
  struct oc_profile_shapes *s = OC_NEW(g->arena, struct oc_profile_shapes);

  if (!s)
    return no_memory(err);
  s->graph = g;
  s->n = p->n;
  int rc = remember(s, err);
  for (uint32_t i = 0; rc == 0 && i < p->n; i++)
    rc = run_profile(s, p, i, findings, err);
  if (rc == 0)
    *ret = s;
  return rc;
}

void oc_profiles_use(struct oc_profile_shapes *s, int profile)
{
  for (size_t k = 0; k < s->n_tensors; k++)
    s->tensors[k]->shape = profile < 0 ? s->before[k].shape : s->shapes[profile][k];
}

int oc_profiles_leave(struct oc_profile_shapes *s, struct oc_error *err)
{
  size_t n = 0;
  auto_free struct oc_op **list = all_ops(s->graph, &n);

  if (!list)
    return no_memory(err);
  oc_profiles_use(s, -1);
  for (size_t i = 0; i < n; i++) {
    struct oc_op *op = list[i], *from = op;
    uint32_t out = 0;
    if (!op->inserted)
      continue;
    while (from && from->inserted) {
      out = from->inputs[0].from_out;
      from = from->inputs[0].from;
    }
    if (!from)
      continue;
    op->inputs[0].t.shape = op->outputs[0].t.shape = from->outputs[out].t.shape;
  }
  return 0;
}
