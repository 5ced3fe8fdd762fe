/* Symbolic dims.
 *
 * A dim that the model leaves open is a negative number below OC_DIM_UNKNOWN, handed out
 * by the root graph so that sub-graphs share the numbering. Dims that the model names
 * alike are the same number. Models have a handful of names, so a list is enough; its
 * length is bounded, and names beyond the bound get numbers without a name. */
#include "graph/graph.h"

/* No model has this many named dims; a hostile one must not make lookups quadratic. */
#define MAX_NAMED 1024u

static const struct oc_graph *root_of(const struct oc_graph *g)
{
  while (g->parent)
    g = g->parent;
  return g;
}

int64_t oc_graph_symbol(struct oc_graph *g, struct oc_str name)
{
  struct oc_graph *root = (struct oc_graph *)root_of(g);

  for (uint32_t i = 0; i < root->n_symbols; i++)
    if (oc_str_is(name, root->symbols[i].name))
      return root->symbols[i].dim;
  if (root->n_symbols == MAX_NAMED)
    return oc_graph_new_symbol(g);
  if (root->n_symbols == root->symbol_room) {
    uint32_t room = root->symbol_room ? root->symbol_room * 2 : 8;
    struct oc_symbol *grown =
        oc_arena_grow(root->arena, root->symbols, root->n_symbols, room, sizeof(*grown));

    if (!grown)
      return OC_DIM_UNKNOWN;
    root->symbols = grown;
    root->symbol_room = room;
  }

  const char *copy = oc_arena_strndup(root->arena, name.p, name.len);

  if (!copy)
    return OC_DIM_UNKNOWN;
  root->symbols[root->n_symbols].name = copy;
  root->symbols[root->n_symbols].dim = oc_graph_new_symbol(g);
  return root->symbols[root->n_symbols++].dim;
}

const char *oc_graph_symbol_name(const struct oc_graph *g, int64_t dim)
{
  const struct oc_graph *root = root_of(g);

  for (uint32_t i = 0; i < root->n_symbols; i++)
    if (root->symbols[i].dim == dim)
      return root->symbols[i].name;
  return NULL;
}
