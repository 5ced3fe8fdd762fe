/* Scopes: which op makes which tensor, and the links that wait for it. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "import/onnx/build.h"

static int note_infos(struct onnx_scope *sc, const struct onnx_value_info *list, size_t n)
{
  int rc = OC_OK;
  for (size_t i = 0; i < n && !rc; i++)
    rc = oc_map_puts(&sc->infos, list[i].name, (void *)&list[i]);
  return rc;
}

struct onnx_scope *onnx_scope_new(struct onnx_import *im, struct onnx_graph *src)
{
  struct onnx_scope *sc = OC_NEW(im->arena, struct onnx_scope);
  if (!sc)
    return NULL;
  sc->im = im;
  sc->src = src;
  sc->graph = src->target;
  sc->prefix = src->prefix;
  sc->last_link = &sc->links;
  sc->next = im->scopes;
  im->scopes = sc;
  src->scope = sc;
  /* Later ones win: what the graph declares of its ends is more trusted than value_info.
   */
  int rc = note_infos(sc, src->values, src->n_values);
  if (!rc)
    rc = note_infos(sc, src->outputs, src->n_outputs);
  if (!rc)
    rc = note_infos(sc, src->inputs, src->n_inputs);
  return rc ? NULL : sc;
}

void onnx_scopes_clear(struct onnx_import *im)
{
  for (struct onnx_scope *sc = im->scopes; sc; sc = sc->next) {
    oc_map_clear(&sc->producers);
    oc_map_clear(&sc->constants);
    oc_map_clear(&sc->infos);
    oc_map_clear(&sc->used);
    oc_map_clear(&sc->alike);
  }
  im->scopes = NULL;
}

static int by_name(const void *key, const void *entry)
{
  return strcmp(key, *(const char *const *)entry);
}

const struct onnx_scope *onnx_scope_of(const struct onnx_scope *sc, const char *tensor)
{
  while (sc->src->parent && sc->src->parent->scope) {
    const struct onnx_node *n = sc->src->parent_node;
    if (!bsearch(tensor, n->captures, n->n_captures, sizeof(*n->captures), by_name))
      break;
    sc = sc->src->parent->scope;
  }
  return sc;
}

int onnx_produce(struct onnx_scope *sc, const char *tensor, struct oc_op *op,
                 uint32_t out, const struct onnx_node *node)
{
  struct onnx_producer *p = oc_map_gets(&sc->producers, tensor);
  if (p) {
    onnx_tell(sc->im, OC_FINDING_TENSOR_TWICE, node ? node->name : op->name, "tensor",
              tensor, NULL, NULL);
    return OC_OK;
  }
  p = OC_NEW(sc->im->arena, struct onnx_producer);
  if (!p)
    return OC_E_NOMEM;
  p->op = op;
  p->out = out;
  int rc = oc_map_puts(&sc->producers, tensor, p);
  if (rc)
    sc->im->arena->failed = true; /* callers look there */
  return rc;
}

int onnx_link(struct onnx_scope *sc, struct oc_op *op, uint32_t input, const char *tensor,
              const struct onnx_node *node)
{
  struct onnx_link *l = OC_NEW(sc->im->arena, struct onnx_link);
  if (!l)
    return OC_E_NOMEM;
  l->op = op;
  l->input = input;
  l->tensor = tensor;
  l->node = node;
  *sc->last_link = l;
  sc->last_link = &l->next;
  return OC_OK;
}

int onnx_tie(struct onnx_scope *sc)
{
  int rc = OC_OK;
  for (struct onnx_link *l = sc->links; l; l = l->next) {
    const struct onnx_producer *p = oc_map_gets(&sc->producers, l->tensor);
    if (p) {
      oc_op_link(l->op, l->input, p->op, p->out);
      continue;
    }
    onnx_tell(sc->im, OC_FINDING_PRODUCER_MISSING, l->node ? l->node->name : l->op->name,
              "tensor", l->tensor, NULL, NULL);
    rc = OC_E_FORMAT;
  }
  return rc;
}
