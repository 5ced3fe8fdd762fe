/* Model-local functions: their nodes take the place of each call.
 *
 * A function's nodes are read anew for every call. Tensors that the function declares are
 * those of the call; all others get a prefix of their own, in sub-graphs as well. An
 * attribute may stand for one of the call's. Nodes keep the call's name in front, and the
 * call's name in their list of original names. */
#include <string.h>

#include "base/error.h"
#include "base/limits.h"
#include "import/onnx/model.h"
#include "wire/wire.h"

enum { NAME = 1, INPUT = 4, OUTPUT = 5, NODE = 7, OPSET = 9, DOMAIN = 10, DEFAULT = 11 };

static int read_default(struct import_reader *r, struct oc_str body,
                        struct onnx_function *fn)
{
  struct oc_str graph = { 0 };
  struct onnx_attr *a = NULL;
  int rc = onnx_read_attr(r, body, &a, &graph);
  if (rc)
    return rc;
  a->next = fn->defaults;
  fn->defaults = a;
  return OC_OK;
}

static int read_word(struct import_reader *r, const struct oc_field *f, const char **ret)
{
  *ret = import_string(r, oc_field_str(f));
  return *ret ? OC_OK : r->arena->failed ? OC_E_NOMEM : OC_E_FORMAT;
}

static int read_field(struct import_reader *r, const struct oc_field *f,
                      struct onnx_function *fn)
{
  struct onnx_opset opset = { 0 };
  int rc = OC_OK;
  switch (f->number) {
  case NAME: return read_word(r, f, &fn->name);
  case DOMAIN: return read_word(r, f, &fn->domain);
  case DEFAULT: return read_default(r, oc_field_str(f), fn);
  case OPSET:
    rc = onnx_read_opset(r, oc_field_str(f), &opset);
    if (!rc && opset.domain[0] == '\0')
      fn->opset = opset.version;
    return rc;
  default: return OC_OK;
  }
}

int onnx_read_function(struct import_reader *r, struct oc_str body,
                       struct onnx_function **ret)
{
  struct onnx_function *fn = OC_NEW(r->arena, struct onnx_function);
  struct oc_wire w;
  struct oc_field f;
  if (!fn)
    return OC_E_NOMEM;
  fn->name = fn->domain = "";
  fn->body = body;
  oc_wire_open(&w, body.p, body.len);
  while (oc_wire_next(&w, &f)) {
    int rc = f.type == OC_WIRE_BYTES ? read_field(r, &f, fn) : OC_OK;
    if (rc)
      return rc;
  }
  if (w.bad)
    return import_malformed(r, w.p, w.why);
  int rc = onnx_read_names(r, body, INPUT, &fn->inputs, &fn->n_inputs);
  if (!rc)
    rc = onnx_read_names(r, body, OUTPUT, &fn->outputs, &fn->n_outputs);
  *ret = fn;
  return rc;
}

/* One call under way. */
struct call {
  struct import_reader *r;
  const struct onnx_function *fn;
  const struct onnx_node *node;
  const char *prefix; /* of tensors that are the function's own */
};

static const char *actual(const struct call *c, const char *name)
{
  if (name[0] == '\0')
    return name;
  for (uint32_t i = 0; i < c->fn->n_inputs; i++)
    if (strcmp(name, c->fn->inputs[i]) == 0)
      return i < c->node->n_inputs ? c->node->inputs[i] : "";
  for (uint32_t i = 0; i < c->fn->n_outputs && i < c->node->n_outputs; i++)
    if (strcmp(name, c->fn->outputs[i]) == 0 && c->node->outputs[i][0] != '\0')
      return c->node->outputs[i];
  const char *own = oc_arena_printf(c->r->arena, "%s%s", c->prefix, name);
  return own ? own : name;
}

static const struct onnx_attr *find(const struct onnx_attr *a, const char *name)
{
  while (a && strcmp(a->name, name) != 0)
    a = a->next;
  return a;
}

/* Attributes that stand for the call's get their value, or go when there is none. */
static void fill_attrs(const struct call *c, struct onnx_node *n)
{
  for (struct onnx_attr **at = &n->attrs; *at;) {
    struct onnx_attr *a = *at;
    const struct onnx_attr *from = a->ref ? find(c->node->attrs, a->ref) : NULL;
    if (a->ref && !from)
      from = find(c->fn->defaults, a->ref);
    if (a->ref && !from) {
      *at = a->next;
      continue;
    }
    if (from) {
      struct onnx_attr value = *from;
      value.next = a->next;
      value.name = a->name;
      *a = value;
    }
    at = &a->next;
  }
}

static void rename_node(const struct call *c, struct onnx_node *n)
{
  const char *call = c->node->name;
  for (uint32_t i = 0; i < n->n_inputs; i++)
    n->inputs[i] = actual(c, n->inputs[i]);
  for (uint32_t i = 0; i < n->n_outputs; i++)
    n->outputs[i] = actual(c, n->outputs[i]);
  if (n->name[0] != '\0' && call[0] != '\0')
    n->name = oc_arena_printf(c->r->arena, "%s/%s", call, n->name);
  if (!n->name)
    n->name = "";
  n->called = c->node->called ? c->node->called : call[0] != '\0' ? call : NULL;
  n->opset = c->fn->opset;
  n->calls = c->node->calls + 1;
  fill_attrs(c, n);
}

static void rename_values(const struct call *c, struct onnx_value_info *v, size_t n)
{
  for (size_t i = 0; i < n; i++)
    v[i].name = actual(c, v[i].name);
}

static void rename_graph(const struct call *c, struct onnx_graph *g)
{
  rename_values(c, g->inputs, g->n_inputs);
  rename_values(c, g->outputs, g->n_outputs);
  rename_values(c, g->values, g->n_values);
  for (size_t i = 0; i < g->n_initializers; i++)
    g->initializers[i].name = actual(c, g->initializers[i].name);
  for (struct onnx_node *n = g->nodes; n; n = n->next)
    rename_node(c, n);
}

/* Puts the function's nodes where `*at` stands. */
static int expand(struct import_reader *r, struct onnx_queue *q, struct onnx_graph *g,
                  const struct onnx_function *fn, uint64_t k, struct onnx_node **at)
{
  struct call c = { r, fn, *at, NULL };
  struct onnx_graph **inner = q->last_graph;
  struct onnx_node *nodes = NULL;
  c.prefix = oc_arena_printf(r->arena, "%s/%llu/", fn->name, (unsigned long long)k);
  if (!c.prefix)
    return OC_E_NOMEM;
  if (c.node->calls >= OC_MAX_NESTING)
    return import_malformed(r, fn->body.p, "its functions call each other too deeply");
  int rc = onnx_read_nodes(r, q, fn->body, NODE, g, &nodes);
  if (rc)
    return rc;
  struct onnx_node **last = &nodes;
  for (; *last; last = &(*last)->next)
    rename_node(&c, *last);
  for (struct onnx_graph *sub = *inner; sub; sub = sub->next_graph)
    rename_graph(&c, sub);
  *last = c.node->next;
  *at = nodes;
  return r->arena->failed ? OC_E_NOMEM : OC_OK;
}

static const struct onnx_function *called(const struct onnx_model *m,
                                          const struct onnx_node *n)
{
  const struct onnx_function *fn = n->domain[0] ? m->functions : NULL;
  while (fn && (strcmp(fn->name, n->op_type) != 0 || strcmp(fn->domain, n->domain) != 0))
    fn = fn->next;
  return fn;
}

int onnx_inline_functions(struct import_reader *r, struct onnx_queue *q,
                          struct onnx_model *m)
{
  uint64_t k = 0;
  for (struct onnx_graph *g = m->graph; g; g = g->next_graph)
    for (struct onnx_node **at = &g->nodes; *at;) {
      const struct onnx_function *fn = called(m, *at);
      if (!fn) {
        at = &(*at)->next;
        continue;
      }
      int rc = expand(r, q, g, fn, k++, at);
      if (rc)
        return rc;
    }
  return OC_OK;
}
