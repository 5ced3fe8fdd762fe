/* Captures: what a sub-graph uses from outside.
 *
 * ONNX bodies may name any tensor of the graphs around them; the IR wants every such
 * tensor as an input of the op. Graphs are gone through from the innermost outwards, so
 * that what an inner body needs is known when its outer graph is looked at. Lists are
 * sorted bytewise, which is also the order in which the vendor adds the inputs. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "import/onnx/build.h"

static int by_name(const void *a, const void *b)
{
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The keys of `used` that are not in `defined`, sorted. */
static int sorted_rest(struct onnx_import *im, const struct oc_map *used,
                       const struct oc_map *defined, const char ***ret, size_t *ret_n)
{
  const char **list = OC_NEW_N(im->arena, const char *, used->n);
  size_t n = 0;
  if (!list)
    return OC_E_NOMEM;
  for (size_t i = 0; i < used->n; i++)
    if (!defined || !oc_map_has(defined, used->entries[i].key))
      list[n++] = used->entries[i].key.p;
  qsort(list, n, sizeof(*list), by_name);
  *ret = list;
  *ret_n = n;
  return OC_OK;
}

static int put_all(struct oc_map *m, const char **names, size_t n)
{
  int rc = OC_OK;
  for (size_t i = 0; i < n && !rc; i++)
    if (names[i][0] != '\0')
      rc = oc_map_puts(m, names[i], m);
  return rc;
}

/* What the sub-graphs of one node need together. */
static int node_captures(struct onnx_import *im, struct onnx_node *node)
{
  struct oc_map all = { 0 };
  int rc = OC_OK;
  bool any = false;
  for (struct onnx_attr *a = node->attrs; a && !rc; a = a->next)
    if (a->g) {
      any = true;
      rc = put_all(&all, a->g->free_names, a->g->n_free_names);
    }
  if (any && !rc)
    rc = sorted_rest(im, &all, NULL, &node->captures, &node->n_captures);
  oc_map_clear(&all);
  return rc;
}

static int collect(struct onnx_import *im, struct onnx_graph *g, struct oc_map *used,
                   struct oc_map *defined)
{
  int rc = OC_OK;
  for (size_t i = 0; i < g->n_inputs && !rc; i++)
    rc = oc_map_puts(defined, g->inputs[i].name, g);
  for (size_t i = 0; i < g->n_initializers && !rc; i++)
    rc = oc_map_puts(defined, g->initializers[i].name, g);
  for (struct onnx_node *n = g->nodes; n && !rc; n = n->next) {
    rc = node_captures(im, n);
    if (!rc)
      rc = put_all(used, n->inputs, n->n_inputs);
    if (!rc)
      rc = put_all(used, n->captures, n->n_captures);
    if (!rc)
      rc = put_all(defined, n->outputs, n->n_outputs);
  }
  for (size_t i = 0; i < g->n_outputs && !rc; i++)
    rc = put_all(used, &g->outputs[i].name, 1);
  return rc;
}

int onnx_find_captures(struct onnx_import *im)
{
  size_t n = 0;
  for (struct onnx_graph *g = im->model->graph; g; g = g->next_graph)
    n++;
  if (n == 1)
    return OC_OK; /* no sub-graphs, nothing to capture */
  auto_free struct onnx_graph **all = calloc(n, sizeof(struct onnx_graph *));
  if (!all)
    return OC_E_NOMEM;
  size_t at = 0;
  for (struct onnx_graph *g = im->model->graph; g; g = g->next_graph)
    all[at++] = g;
  int rc = OC_OK;
  while (at > 0 && !rc) {
    struct onnx_graph *g = all[--at];
    struct oc_map used = { 0 }, defined = { 0 };
    rc = collect(im, g, &used, &defined);
    if (!rc && g->parent)
      rc = sorted_rest(im, &used, &defined, &g->free_names, &g->n_free_names);
    oc_map_clear(&used);
    oc_map_clear(&defined);
  }
  return rc;
}
