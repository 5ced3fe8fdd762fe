/* Names: given ones stay byte for byte, unnamed nodes are numbered, final names are
 * unique.
 *
 * The number of an unnamed node counts unnamed nodes only, over the whole model, in the
 * order in which graphs were queued: breadth first, as the vendor's parser walks them. */
#include "base/error.h"
#include "import/onnx/build.h"

int onnx_give_names(struct onnx_import *im)
{
  unsigned long long n = 0;
  for (struct onnx_graph *g = im->model->graph; g; g = g->next_graph)
    for (struct onnx_node *node = g->nodes; node; node = node->next) {
      if (node->name[0] != '\0')
        continue;
      node->name = oc_arena_printf(im->arena, "%s_%llu", node->op_type, n++);
      if (!node->name)
        return OC_E_NOMEM;
    }
  return OC_OK;
}

const char *onnx_full_name(const struct onnx_scope *sc, const char *name)
{
  if (sc->prefix[0] == '\0')
    return name;
  return oc_arena_printf(sc->im->arena, "%s%s", sc->prefix, name);
}

int onnx_enter(struct onnx_import *im, struct oc_op *op)
{
  if (oc_map_has(&im->op_names, oc_str_of(op->name))) {
    onnx_tell(im, OC_FINDING_NAME_TWICE, op->name, NULL, NULL, NULL, NULL);
    return OC_OK;
  }
  return oc_map_puts(&im->op_names, op->name, op);
}
