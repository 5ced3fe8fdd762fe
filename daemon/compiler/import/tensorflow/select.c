/* Which nodes matter: the outputs that were asked for, what they need, and where the
 * model is cut. A node that --input_shape names becomes an input of the compiled model,
 * and what only fed it falls away. */
#include <string.h>

#include "base/error.h"
#include "import/tensorflow/build.h"

struct tf_node *tf_source(const struct tf_import *im, const struct tf_input *in)
{
  return oc_map_gets(&im->nodes, in->name);
}

/* Names in front of the colon of each part of --input_shape. */
static void mark_cuts(struct tf_import *im)
{
  struct oc_str rest = oc_str_of(im->opt->input_shape);
  while (rest.len) {
    const char *end = memchr(rest.p, ';', rest.len);
    struct oc_str part = { rest.p, end ? (size_t)(end - rest.p) : rest.len };
    rest.p += part.len + (end ? 1 : 0);
    rest.len -= part.len + (end ? 1 : 0);
    const char *colon = part.len ? memrchr(part.p, ':', part.len) : NULL;
    if (!colon)
      continue; /* inference says what is wrong with it */
    part.len = (size_t)(colon - part.p);
    struct tf_node *n = oc_map_get(&im->nodes, oc_str_trim(part));
    if (n)
      n->cut = true;
  }
}

int tf_index(struct tf_import *im)
{
  int rc = OC_OK;
  for (struct tf_node *n = im->model.nodes; n && !rc; n = n->next) {
    if (oc_map_has(&im->nodes, oc_str_of(n->name))) {
      import_tell(&im->rd, OC_FINDING_NAME_TWICE, n->name, NULL, NULL, NULL, NULL);
      return OC_E_FORMAT;
    }
    rc = oc_map_puts(&im->nodes, n->name, n);
  }
  if (rc)
    return rc;
  mark_cuts(im);
  for (struct tf_node *n = im->model.nodes; n; n = n->next)
    for (uint32_t i = 0; i < n->n_inputs; i++) {
      struct tf_node *from = tf_source(im, &n->inputs[i]);
      if (!from || n->inputs[i].control)
        continue;
      from->is_read = true;
      if (n->inputs[i].out >= from->most_out)
        from->most_out = n->inputs[i].out + 1;
    }
  return OC_OK;
}

static int add_output(struct tf_import *im, const struct tf_node *n, uint32_t out)
{
  struct tf_output *o = &im->outputs[im->n_outputs++];
  o->node = n;
  o->out = out;
  o->name = oc_arena_printf(im->arena, "%s:%u", n->name, (unsigned)out);
  return o->name ? OC_OK : OC_E_NOMEM;
}

/* "node:index" of --out_nodes. */
static int named_output(struct tf_import *im, struct oc_str entry)
{
  const char *colon = memrchr(entry.p, ':', entry.len);
  struct oc_str name = { entry.p, colon ? (size_t)(colon - entry.p) : 0 };
  struct tf_node *n = colon ? oc_map_get(&im->nodes, name) : NULL;
  struct oc_str digits = { colon ? colon + 1 : "",
                           entry.len - name.len - (colon ? 1 : 0) };
  uint64_t out = 0;
  if (n && oc_str_to_u64(digits, &out) && out <= UINT32_MAX)
    return add_output(im, n, (uint32_t)out);
  const char *copy = oc_arena_strndup(im->arena, entry.p, entry.len);
  import_tell(&im->rd, OC_FINDING_OUT_NODE_UNKNOWN, copy ? copy : "", NULL, NULL, NULL,
              NULL);
  return OC_E_FORMAT;
}

static int named_outputs(struct tf_import *im, const char *text)
{
  struct oc_str rest = oc_str_of(text);
  int worst = OC_OK;
  im->outputs = OC_NEW_N(im->arena, struct tf_output, rest.len);
  if (!im->outputs)
    return OC_E_NOMEM;
  while (rest.len) {
    const char *end = memchr(rest.p, ';', rest.len);
    struct oc_str entry = { rest.p, end ? (size_t)(end - rest.p) : rest.len };
    rest.p += entry.len + (end ? 1 : 0);
    rest.len -= entry.len + (end ? 1 : 0);
    entry = oc_str_trim(entry);
    int rc = entry.len ? named_output(im, entry) : OC_OK;
    if (rc == OC_E_NOMEM)
      return rc;
    if (rc)
      worst = rc;
  }
  return worst;
}

/* What nobody reads is a result, unless it has none or is only an input. */
static bool is_result(const struct tf_node *n)
{
  static const char *const not [] = {
    "Const", "NoOp", "Assert", "Placeholder", "PlaceholderWithDefault", "ControlTrigger"
  };
  if (n->is_read)
    return false;
  for (size_t i = 0; i < sizeof(not ) / sizeof(not [0]); i++)
    if (strcmp(n->op, not [i]) == 0)
      return false;
  return true;
}

int tf_choose_outputs(struct tf_import *im)
{
  int rc = OC_OK;
  if (im->opt->out_nodes && im->opt->out_nodes[0]) {
    rc = named_outputs(im, im->opt->out_nodes);
  } else {
    im->outputs = OC_NEW_N(im->arena, struct tf_output, im->model.n_nodes);
    if (!im->outputs)
      return OC_E_NOMEM;
    for (struct tf_node *n = im->model.nodes; n && !rc; n = n->next)
      if (is_result(n))
        rc = add_output(im, n, 0);
  }
  if (!rc && im->n_outputs == 0) {
    import_tell(&im->rd, OC_FINDING_NO_OUTPUTS, "", NULL, NULL, NULL, NULL);
    rc = OC_E_FORMAT;
  }
  return rc;
}

static void need(struct tf_node *n, struct tf_node **todo, size_t *n_todo)
{
  if (!n || n->needed)
    return;
  n->needed = true;
  todo[(*n_todo)++] = n;
}

int tf_mark_needed(struct tf_import *im)
{
  struct tf_node **todo = OC_NEW_N(im->arena, struct tf_node *, im->model.n_nodes);
  size_t n_todo = 0;
  if (!todo)
    return OC_E_NOMEM;
  for (size_t i = 0; i < im->n_outputs; i++)
    need((struct tf_node *)im->outputs[i].node, todo, &n_todo);
  while (n_todo) {
    const struct tf_node *n = todo[--n_todo];
    for (uint32_t i = 0; i < n->n_inputs && !n->cut; i++)
      need(tf_source(im, &n->inputs[i]), todo, &n_todo);
  }
  return OC_OK;
}
