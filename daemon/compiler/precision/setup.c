/* What a run knows before judging: all graphs, one info per op, and the worlds.
 *
 * Nothing here depends on the order of ops. `mark` of every op is its number plus one
 * while the run lasts. */
#include "precision_internal.h"

#include <stdlib.h>

struct oc_graph **oc_graphs_of(struct oc_graph *g, struct oc_arena *a, uint32_t *ret_n)
{
  uint32_t n = 1, room = 8;
  struct oc_graph **list = OC_NEW_N(a, struct oc_graph *, room);

  if (!list)
    return NULL;
  list[0] = g;
  for (uint32_t at = 0; at < n; at++)
    for (uint32_t i = 0; i < list[at]->n_ops; i++)
      for (uint32_t s = 0; s < list[at]->ops[i]->n_subgraphs; s++) {
        if (n == room) {
          list = oc_arena_grow(a, list, n, 2 * room, sizeof(struct oc_graph *));
          room *= 2;
          if (!list)
            return NULL;
        }
        list[n++] = list[at]->ops[i]->subgraphs[s].graph;
      }
  *ret_n = n;
  return list;
}

static unsigned layout_of(const struct oc_op *op)
{
  const struct oc_tensor *t = NULL;

  for (uint32_t i = 0; i < op->n_inputs; i++)
    if (op->inputs[i].from && !oc_op_is_const(op->inputs[i].from)) {
      t = &op->inputs[i].t;
      break;
    }
  if (!t && op->n_inputs)
    t = &op->inputs[0].t;
  if (!t && op->n_outputs)
    t = &op->outputs[0].t;
  if (!t)
    return OC_LAYOUT_ND2D;
  if (!t->shape.known_rank)
    return OC_LAYOUT_UNKNOWN_RANK;
  if (!oc_shape_is_static(t->shape))
    return OC_LAYOUT_UNKNOWN_DIMS;
  switch (t->shape.rank) {
  case 3: return OC_LAYOUT_ND3D;
  case 4: return t->format == OC_FMT_NHWC ? OC_LAYOUT_NHWC4D : OC_LAYOUT_NCHW4D;
  case 5: return t->format == OC_FMT_NDHWC ? OC_LAYOUT_NDHWC5D : OC_LAYOUT_NCDHW5D;
  default: return OC_LAYOUT_ND2D;
  }
}

static bool fixed_type(const struct oc_run *r, const struct oc_op *op)
{
  static const char *const always[] = { "Data",     "Const",     "Constant",
                                        "Variable", "NetOutput", "AippData" };

  for (size_t i = 0; i < sizeof always / sizeof *always; i++)
    if (oc_op_is(op, always[i]))
      return true;
  return oc_optable_graph_kind(r->o->optable, op->type) == OC_GRAPH_KIND_FIXED;
}

static bool any_complex(struct oc_op *op, uint32_t n)
{
  for (uint32_t i = 0; i < n; i++)
    if (oc_dtype_is_complex(oc_tensor_at(op, i)->dtype))
      return true;
  return false;
}

static bool has_cube_fp16_in(const struct oc_op_info *n)
{
  if (!n->op->n_inputs || !n->op->n_outputs)
    return false;
  const uint8_t *in = oc_columns_of(n, 0), *out = oc_columns_of(n, n->op->n_inputs);
  for (uint32_t k = 0; k < n->variant->n_columns; k++)
    if (in[k] == OC_DT_F16 && out[k] == OC_DT_F32)
      return true;
  return false;
}

static void set_info(struct oc_run *r, struct oc_op *op, struct oc_op_info *n)
{
  n->op = op;
  n->n_tensors = op->n_inputs + op->n_outputs;
  n->fixed = fixed_type(r, op);
  n->kind = oc_optable_graph_kind(r->o->optable, op->type);
  for (uint32_t i = 0; i < n->n_tensors; i++) {
    struct oc_tensor *t = oc_tensor_at(op, i);
    t->want = t->got = t->dtype;
    t->reasons = NULL;
  }
  op->column = -1;
  op->engine = OC_ENGINE_GRAPH;
  if (n->fixed)
    return;
  n->sensitive = oc_op_is(op, "Cast") || any_complex(op, n->n_tensors);
  n->cube = r->o->cube && oc_map_gets(r->o->cube, op->type);
  n->custom = oc_custom_find(r->o->custom, op->name, op->type);
  n->custom_type = r->o->custom ? oc_map_gets(&r->o->custom->by_type, op->type) : NULL;
  if (n->custom)
    n->custom_entry = (uint32_t)(n->custom - r->o->custom->entries) + 1;
  n->row = oc_table_find(r->o->table, op->type);
  if (!n->row || !n->row->n_variants)
    return;
  n->variant = oc_table_variant_for(n->row, layout_of(op));
  oc_borrow_names(r, n);
  oc_bind(r, n);
  if (!n->bind)
    return;
  n->promoted = oc_promote_needed(n);
  n->cube_fp16_in = n->cube && has_cube_fp16_in(n);
}

/* Numbers the ops and says whether every producer stands before its consumers. */
static bool in_order(struct oc_graph *g)
{
  for (uint32_t i = 0; i < g->n_ops; i++)
    g->ops[i]->id = i;
  for (uint32_t i = 0; i < g->n_ops; i++) {
    const struct oc_op *op = g->ops[i];
    for (uint32_t k = 0; k < op->n_inputs; k++)
      if (op->inputs[k].from && op->inputs[k].from->id >= i)
        return false;
    for (uint32_t k = 0; k < op->n_controls; k++)
      if (op->controls[k]->id >= i)
        return false;
  }
  return true;
}

/* A place in the walk over all graphs. */
struct walk {
  struct oc_graph *g;
  uint32_t op, body;
};

/* Every op, the bodies of an op right behind it: what a body hands out is known before
 * the op's readers are judged. */
static bool add_infos(struct oc_run *r)
{
  struct walk *stack = OC_NEW_N(r->a, struct walk, r->n_graphs);
  uint32_t depth = 1;

  if (!stack)
    return false;
  stack[0] = (struct walk){ r->g, 0, 0 };
  while (depth) {
    struct walk *w = &stack[depth - 1];
    if (w->op == w->g->n_ops) {
      depth--;
      continue;
    }
    struct oc_op *op = w->g->ops[w->op];
    if (!w->body) {
      struct oc_op_info *n = &r->infos[r->n_infos++];
      op->mark = r->n_infos;
      n->graph = w->g;
      set_info(r, op, n);
    }
    if (w->body < op->n_subgraphs) {
      stack[depth++] = (struct walk){ op->subgraphs[w->body++].graph, 0, 0 };
    } else {
      w->op++;
      w->body = 0;
    }
  }
  return true;
}

static uint16_t *columns_room(struct oc_run *r)
{
  return OC_NEW_N(r->a, uint16_t, 1024);
}

static int no_memory(struct oc_error *err)
{
  return oc_error_set(err, OC_E_NOMEM, "out of memory while resolving dtypes");
}

int oc_run_setup(struct oc_run *r, struct oc_error *err)
{
  uint32_t total = 0;

  r->graphs = oc_graphs_of(r->g, r->a, &r->n_graphs);
  r->set.v = columns_room(r);
  r->first.v = columns_room(r);
  r->spare.v = columns_room(r);
  r->finding_counts = OC_NEW_N(r->a, uint32_t, OC_FINDING_COUNT);
  if (!r->graphs || !r->set.v || !r->first.v || !r->spare.v || !r->finding_counts)
    return no_memory(err);
  for (uint32_t g = 0; g < r->n_graphs; g++) {
    const char *cycle = NULL;
    int rc = in_order(r->graphs[g]) ? 0 : oc_graph_sort(r->graphs[g], &cycle);
    if (rc == OC_E_FORMAT)
      return oc_error_set(err, rc, "the graph has a cycle through '%s'",
                          cycle ? cycle : "");
    if (rc)
      return no_memory(err);
    total += r->graphs[g]->n_ops;
  }
  r->infos = OC_NEW_N(r->a, struct oc_op_info, total);
  if (!r->infos || !add_infos(r))
    return no_memory(err);
  return r->failed ? no_memory(err) : 0;
}

/* ---- worlds: what holds when one list entry is taken away */

bool oc_cite_same(struct oc_cite a, struct oc_cite b)
{
  return a.flag && a.flag == b.flag && a.entry == b.entry;
}

const char *oc_cite_flag(struct oc_cite c)
{
  switch (c.flag) {
  case 'k': return "keep_dtype";
  case 'c': return "customize_dtypes";
  case 'm': return "modify_mixlist";
  default: return NULL;
  }
}

bool oc_world_kept(const struct oc_op_info *n, const struct oc_world *w)
{
  return n->op->keep &&
         !(w->without.flag == 'k' && w->without.entry == n->op->keep_entry);
}

const struct oc_custom_entry *oc_world_custom(const struct oc_op_info *n,
                                              const struct oc_world *w)
{
  if (w->without.flag != 'c' || n->custom_entry != w->without.entry)
    return n->custom;
  return n->custom == n->custom_type ? NULL : n->custom_type;
}

enum oc_policy oc_world_policy(const struct oc_run *r, const struct oc_op_info *n,
                               const struct oc_world *w)
{
  enum oc_policy p = n->row ? n->row->policy : OC_POLICY_GRAY;
  const struct oc_mix_type *m = oc_mix_find(r->o->mix, n->op->type);

  if (!m)
    return p;
  unsigned add = m->add, remove = m->remove;
  if (w->without.flag == 'm') {
    const struct oc_mix_entry *e = &r->o->mix->entries[w->without.entry - 1];
    if (oc_streq(e->type, n->op->type)) {
      unsigned *set = e->remove ? &remove : &add;
      *set &= ~(1u << e->list);
    }
  }
  if ((p == OC_POLICY_BLACK && remove & 1u << OC_MIX_BLACK) ||
      (p == OC_POLICY_WHITE && remove & 1u << OC_MIX_WHITE))
    p = OC_POLICY_GRAY;
  if (add & 1u << OC_MIX_BLACK)
    return OC_POLICY_BLACK;
  return add & 1u << OC_MIX_WHITE ? OC_POLICY_WHITE : p;
}

enum oc_dtype oc_world_delivers(const struct oc_run *r, const struct oc_op *from,
                                uint32_t out, const struct oc_world *w)
{
  if (w->without.flag && from->mark) {
    const struct oc_op_info *n = oc_info(r, from);
    if (n->alt && oc_cite_same(n->cite, w->without))
      return (enum oc_dtype)n->alt[out];
  }
  return from->outputs[out].t.got;
}
