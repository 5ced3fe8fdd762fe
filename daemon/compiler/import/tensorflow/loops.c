/* While loops of TensorFlow 1: Enter, Merge, Switch, Exit, NextIteration.
 *
 * The graph is a real cycle there; ours has none. The edge from NextIteration back to
 * Merge is left out and noted on Merge as the attribute `_next_iteration`; every
 * NextIteration comes before the loop's Exits by a control edge, which is true (an Exit
 * fires after the last round) and keeps the body alive. So a loop's ops are judged once,
 * with the shapes of the first round. */
#include <string.h>

#include "base/error.h"
#include "import/tensorflow/build.h"

static bool is(const struct tf_node *n, const char *type)
{
  return n && (strcmp(n->op, type) == 0 ||
               (strncmp(n->op, "Ref", 3) == 0 && strcmp(n->op + 3, type) == 0));
}

static struct tf_node *input_of(const struct tf_import *im, const struct tf_node *n,
                                uint32_t i)
{
  return i < n->n_inputs && !n->inputs[i].control ? tf_source(im, &n->inputs[i]) : NULL;
}

bool tf_is_back_edge(const struct tf_import *im, const struct tf_node *n, uint32_t i)
{
  return is(n, "Merge") && is(input_of(im, n, i), "NextIteration");
}

void tf_find_loops(struct tf_import *im)
{
  for (struct tf_node *n = im->model.nodes; n; n = n->next) {
    struct tf_node *cond = is(n, "Switch") && n->needed ? input_of(im, n, 1) : NULL;
    if (!is(cond, "LoopCond"))
      continue;
    struct tf_node *merge = input_of(im, n, 0);
    n->loop = cond;
    if (is(merge, "Merge"))
      merge->loop = cond;
  }
  for (struct tf_node *n = im->model.nodes; n; n = n->next) {
    struct tf_node *sw = is(n, "Exit") && n->needed ? input_of(im, n, 0) : NULL;
    if (!is(sw, "Switch") || !sw->loop)
      continue;
    n->next_exit = sw->loop->exits;
    sw->loop->exits = n;
  }
}

static int add_control(struct tf_import *im, struct oc_op *op, struct oc_op *before)
{
  struct oc_op **grown = oc_arena_grow(im->arena, op->controls, op->n_controls,
                                       (size_t)op->n_controls + 1, sizeof(*grown));
  if (!grown)
    return OC_E_NOMEM;
  grown[op->n_controls++] = before;
  op->controls = grown;
  return OC_OK;
}

static int close_one(struct tf_import *im, const struct tf_node *merge,
                     const struct tf_node *next)
{
  int rc = OC_OK;
  if (!merge->made || !next->made)
    return OC_OK;
  rc = oc_attr_set_string(im->graph, merge->made, "_next_iteration", next->name);
  for (struct tf_node *e = merge->loop ? merge->loop->exits : NULL; e && !rc;
       e = e->next_exit)
    if (e->made)
      rc = add_control(im, e->made, next->made);
  return rc;
}

int tf_close_loops(struct tf_import *im)
{
  int rc = OC_OK;
  for (struct tf_node *n = im->model.nodes; n && !rc; n = n->next) {
    for (uint32_t i = 0; n->made && !n->cut && i < n->n_inputs && !rc; i++)
      if (tf_is_back_edge(im, n, i))
        rc = close_one(im, n, tf_source(im, &n->inputs[i]));
    if (n->exits && n->made)
      import_tell(&im->rd, OC_FINDING_TF_LOOP, n->name, NULL, NULL, NULL, NULL);
  }
  return rc;
}
