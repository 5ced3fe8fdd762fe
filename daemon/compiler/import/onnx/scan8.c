/* Scan of opset 8 in the words of opset 9.
 *
 * The old form has a batch: axis 0 of every input and result, axis 1 is the one that is
 * scanned. That is a Scan over the batch whose body is a Scan over the sequence: the
 * outer one carries nothing, takes states and sequences of one member of the batch along
 * axis 0 and stacks what the inner one ends with. So a graph is put between the node and
 * its body. Both nodes have the model's name, before which the second has its
 * sub-graph's.
 *
 * Lengths of single sequences (input 0) have no counterpart there: such a node stays as
 * it is and is refused where it is translated. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/limits.h"
#include "import/onnx/build.h"

static const int64_t UNBATCHED = 9;

static struct onnx_attr *find(struct onnx_node *n, const char *name)
{
  struct onnx_attr *a = n->attrs;
  while (a && strcmp(a->name, name) != 0)
    a = a->next;
  return a;
}

static bool is_batched(const struct onnx_import *im, const struct onnx_node *n)
{
  int64_t opset = n->opset ? n->opset : im->opset;
  return !n->unbatched && opset < UNBATCHED && n->domain[0] == '\0' &&
         strcmp(n->op_type, "Scan") == 0;
}

/* Names that no tensor of the model is likely to have; short, for there may be many. */
static struct onnx_value_info *values(struct onnx_import *im, const struct onnx_node *n,
                                      const char *what, uint32_t count)
{
  struct onnx_value_info *list = OC_NEW_N(im->arena, struct onnx_value_info, count);
  for (uint32_t i = 0; list && i < count; i++) {
    list[i].name = oc_arena_printf(im->arena, "scan@%zu/%s%u", n->at, what, (unsigned)i);
    list[i].is_tensor = true;
    if (!list[i].name)
      return NULL;
  }
  return list;
}

static const char **names_of(struct onnx_import *im, const struct onnx_value_info *v,
                             uint32_t n)
{
  const char **list = OC_NEW_N(im->arena, const char *, n);
  for (uint32_t i = 0; list && i < n; i++)
    list[i] = v[i].name;
  return list;
}

static struct onnx_attr *int_attr(struct onnx_import *im, const char *name, int64_t v)
{
  struct onnx_attr *a = OC_NEW(im->arena, struct onnx_attr);
  if (!a)
    return NULL;
  a->name = name;
  a->type = ONNX_ATTR_INT;
  a->i = v;
  return a;
}

/* The node that goes along the sequence: the old one's body and directions. */
static struct onnx_node *inner_node(struct onnx_import *im, const struct onnx_node *old,
                                    const struct onnx_graph *g)
{
  struct onnx_node *n = OC_NEW(im->arena, struct onnx_node);
  if (!n)
    return NULL;
  *n = *old;
  n->next = NULL;
  n->unbatched = true;
  n->inputs = names_of(im, g->inputs, (uint32_t)g->n_inputs);
  n->n_inputs = (uint32_t)g->n_inputs;
  n->outputs = names_of(im, g->outputs, (uint32_t)g->n_outputs);
  struct onnx_attr *ways = find(n, "directions");
  if (ways)
    ways->name = "scan_input_directions";
  return n->inputs && n->outputs ? n : NULL;
}

/* The graph between `n` and `body`; it is chained behind `g`, before everything inside.
 */
static struct onnx_graph *between(struct onnx_import *im, struct onnx_graph *g,
                                  struct onnx_node *n, struct onnx_graph *body)
{
  struct onnx_graph *mid = OC_NEW(im->arena, struct onnx_graph);
  if (!mid)
    return NULL;
  mid->name = body->name;
  mid->parent = g;
  mid->parent_node = n;
  mid->n_inputs = n->n_inputs - 1;
  mid->inputs = values(im, n, "in", n->n_inputs - 1);
  mid->n_outputs = n->n_outputs;
  mid->outputs = values(im, n, "out", n->n_outputs);
  if (!mid->inputs || !mid->outputs)
    return NULL;
  mid->nodes = inner_node(im, n, mid);
  mid->n_nodes = 1;
  body->parent = mid;
  body->parent_node = mid->nodes;
  mid->next_graph = g->next_graph;
  g->next_graph = mid;
  return mid->nodes ? mid : NULL;
}

static int unbatch(struct onnx_import *im, struct onnx_graph *g, struct onnx_node *n)
{
  const struct onnx_attr *body = find(n, "body"), *scans = find(n, "num_scan_inputs");
  if (!body || !body->g || !scans || n->n_inputs < 2 || n->inputs[0][0] != '\0' ||
      scans->i < 1 || scans->i >= n->n_inputs)
    return OC_OK;
  struct onnx_graph *mid = between(im, g, n, body->g);
  struct onnx_attr *graph = OC_NEW(im->arena, struct onnx_attr);
  if (!mid || !graph)
    return OC_E_NOMEM;
  graph->name = "body";
  graph->type = ONNX_ATTR_GRAPH;
  graph->g = mid;
  graph->next = int_attr(im, "num_scan_inputs", (int64_t)n->n_inputs - 1);
  n->attrs = graph;
  n->inputs++;
  n->n_inputs--;
  n->unbatched = true;
  return graph->next ? OC_OK : OC_E_NOMEM;
}

static int check_depth(struct onnx_import *im, struct onnx_graph *g)
{
  char limit[16];
  g->depth = g->parent ? g->parent->depth + 1 : 0;
  if (g->depth <= OC_MAX_NESTING)
    return OC_OK;
  (void)snprintf(limit, sizeof(limit), "%d", OC_MAX_NESTING);
  onnx_tell(im, OC_FINDING_MODEL_NESTING, g->parent_node->op_type, "limit", limit, NULL,
            NULL);
  return OC_E_FORMAT;
}

int onnx_unbatch_scans(struct onnx_import *im)
{
  for (struct onnx_graph *g = im->model->graph; g; g = g->next_graph) {
    int rc = check_depth(im, g);
    for (struct onnx_node *n = g->nodes; n && !rc; n = n->next)
      if (is_batched(im, n))
        rc = unbatch(im, g, n);
    if (rc)
      return rc;
  }
  return OC_OK;
}
