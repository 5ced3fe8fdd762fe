/* ModelProto, GraphProto, NodeProto: structure from the map into the arena.
 *
 * Each message is walked twice, once to count and once to fill, and the fill is bounded
 * by the count: the file may change between the two. Sub-graphs are not walked where they
 * are met but queued with their depth, so nesting costs no stack and each byte is read on
 * its own level only. Arrays are exactly as long as what the file holds. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/limits.h"
#include "import/onnx/model.h"
#include "wire/wire.h"

/* A graph whose bytes still wait to be read. */
struct onnx_waiting {
  struct onnx_waiting *next;
  struct onnx_graph *graph;
  struct oc_str body;
};

static int queue_graph(struct import_reader *r, struct onnx_queue *q, struct oc_str body,
                       struct onnx_graph *parent, struct onnx_node *node,
                       struct onnx_graph **ret)
{
  struct onnx_waiting *w = OC_NEW(r->arena, struct onnx_waiting);
  struct onnx_graph *g = OC_NEW(r->arena, struct onnx_graph);
  if (!w || !g)
    return OC_E_NOMEM;
  g->parent = parent;
  g->parent_node = node;
  g->depth = parent ? parent->depth + 1 : 0;
  if (g->depth > OC_MAX_NESTING) {
    char limit[16];
    (void)snprintf(limit, sizeof(limit), "%d", OC_MAX_NESTING);
    import_lower(r, oc_finding_add(r->findings, OC_FINDING_MODEL_NESTING,
                                   node ? node->op_type : "", "limit", limit, NULL));
    return OC_E_FORMAT;
  }
  w->graph = g;
  w->body = body;
  *q->last = w;
  q->last = &w->next;
  *q->last_graph = g;
  q->last_graph = &g->next_graph;
  *ret = g;
  return OC_OK;
}

static int read_attrs(struct import_reader *r, struct onnx_queue *q, struct oc_str body,
                      struct onnx_graph *g, struct onnx_node *n)
{
  struct onnx_attr **tail = &n->attrs;
  struct oc_wire w;
  struct oc_field f;
  oc_wire_open(&w, body.p, body.len);
  while (oc_wire_next(&w, &f)) {
    if (f.number != 5 || f.type != OC_WIRE_BYTES)
      continue;
    struct oc_str graph = { 0 };
    int rc = onnx_read_attr(r, oc_field_str(&f), tail, &graph);
    if (rc)
      return rc;
    if (graph.p)
      rc = queue_graph(r, q, graph, g, n, &(*tail)->g);
    if (rc)
      return rc;
    tail = &(*tail)->next;
  }
  return w.bad ? import_malformed(r, w.p, w.why) : OC_OK;
}

int onnx_read_names(struct import_reader *r, struct oc_str body, uint32_t field,
                    const char ***ret, uint32_t *ret_n)
{
  size_t n = import_count(r, body, field);
  if (n == SIZE_MAX)
    return import_malformed(r, body.p, "a node is malformed");
  if (n > OC_MAX_PORTS)
    return import_malformed(r, body.p, "a node has more than 65536 inputs or outputs");
  const char **names = OC_NEW_N(r->arena, const char *, n);
  if (!names)
    return OC_E_NOMEM;
  struct oc_wire w;
  struct oc_field f;
  uint32_t at = 0;
  oc_wire_open(&w, body.p, body.len);
  while (at < n && oc_wire_next(&w, &f))
    if (f.number == field && f.type == OC_WIRE_BYTES) {
      names[at] = import_string(r, oc_field_str(&f));
      if (!names[at++])
        return r->arena->failed ? OC_E_NOMEM : OC_E_FORMAT;
    }
  *ret = names;
  *ret_n = at;
  return OC_OK;
}

static int read_node_words(struct import_reader *r, struct oc_str body,
                           struct onnx_node *n)
{
  struct oc_wire w;
  struct oc_field f;
  n->name = n->op_type = n->domain = "";
  oc_wire_open(&w, body.p, body.len);
  while (oc_wire_next(&w, &f)) {
    const char **word = f.number == 3   ? &n->name
                        : f.number == 4 ? &n->op_type
                        : f.number == 7 ? &n->domain
                                        : NULL;
    if (!word || f.type != OC_WIRE_BYTES)
      continue;
    *word = import_string(r, oc_field_str(&f));
    if (!*word)
      return r->arena->failed ? OC_E_NOMEM : OC_E_FORMAT;
  }
  if (w.bad)
    return import_malformed(r, w.p, w.why);
  if (strcmp(n->domain, "ai.onnx") == 0)
    n->domain = "";
  if (n->op_type[0] == '\0')
    return import_malformed(r, body.p, "a node has no op type");
  return OC_OK;
}

static int read_node(struct import_reader *r, struct onnx_queue *q, struct oc_str body,
                     struct onnx_graph *g, struct onnx_node **ret)
{
  struct onnx_node *n = OC_NEW(r->arena, struct onnx_node);
  if (!n)
    return OC_E_NOMEM;
  n->at = (size_t)((const uint8_t *)body.p - r->base);
  int rc = read_node_words(r, body, n);
  if (!rc)
    rc = onnx_read_names(r, body, 1, &n->inputs, &n->n_inputs);
  if (!rc)
    rc = onnx_read_names(r, body, 2, &n->outputs, &n->n_outputs);
  if (!rc)
    rc = read_attrs(r, q, body, g, n);
  *ret = n;
  return rc;
}

static int read_graph_name(struct import_reader *r, struct oc_str body,
                           struct onnx_graph *g)
{
  struct oc_wire w;
  struct oc_field f;
  g->name = "";
  oc_wire_open(&w, body.p, body.len);
  while (oc_wire_next(&w, &f)) {
    if (f.type != OC_WIRE_BYTES || f.number != 2)
      continue;
    g->name = import_string(r, oc_field_str(&f));
    if (!g->name)
      return r->arena->failed ? OC_E_NOMEM : OC_E_FORMAT;
  }
  return w.bad ? import_malformed(r, w.p, w.why) : OC_OK;
}

static int read_nodes(struct import_reader *r, struct onnx_queue *q, struct oc_str body,
                      uint32_t field, struct onnx_graph *g, struct onnx_node **tail)
{
  struct oc_wire w;
  struct oc_field f;
  oc_wire_open(&w, body.p, body.len);
  while (oc_wire_next(&w, &f)) {
    if (f.type != OC_WIRE_BYTES || f.number != field)
      continue;
    if (++r->total_nodes > OC_MAX_OPS)
      return import_malformed(r, f.data, "there are more nodes than any model has");
    int rc = read_node(r, q, oc_field_str(&f), g, tail);
    if (rc)
      return rc;
    tail = &(*tail)->next;
    g->n_nodes++;
  }
  return w.bad ? import_malformed(r, w.p, w.why) : OC_OK;
}

static int read_graph(struct import_reader *r, struct onnx_queue *q, struct oc_str body,
                      struct onnx_graph *g)
{
  int rc = read_graph_name(r, body, g);
  if (!rc)
    rc = read_nodes(r, q, body, 1, g, &g->nodes);
  if (!rc)
    rc = onnx_read_tensors(r, body, 5, &g->initializers, &g->n_initializers);
  if (!rc)
    rc = onnx_read_value_infos(r, body, 11, &g->inputs, &g->n_inputs);
  if (!rc)
    rc = onnx_read_value_infos(r, body, 12, &g->outputs, &g->n_outputs);
  if (!rc && g->n_outputs > OC_MAX_PORTS)
    rc = import_malformed(r, body.p, "a graph has more than 65536 outputs");
  if (!rc)
    rc = onnx_read_value_infos(r, body, 13, &g->values, &g->n_values);
  if (!rc)
    rc = onnx_read_sparse(r, body, 15, &g->initializers, &g->n_initializers);
  return rc;
}

int onnx_read_opset(struct import_reader *r, struct oc_str body, struct onnx_opset *ret)
{
  struct oc_wire w;
  struct oc_field f;
  ret->domain = "";
  oc_wire_open(&w, body.p, body.len);
  while (oc_wire_next(&w, &f)) {
    if (f.number == 1 && f.type == OC_WIRE_BYTES)
      ret->domain = import_string(r, oc_field_str(&f));
    else if (f.number == 2 && f.type == OC_WIRE_VARINT)
      ret->version = oc_field_i64(&f);
    if (!ret->domain)
      return r->arena->failed ? OC_E_NOMEM : OC_E_FORMAT;
  }
  if (strcmp(ret->domain, "ai.onnx") == 0)
    ret->domain = "";
  return w.bad ? import_malformed(r, w.p, w.why) : OC_OK;
}

/* The small fields of the model; the graph's bytes are handed back. */
static int read_top(struct import_reader *r, struct oc_str body, struct onnx_model *m,
                    struct oc_str *ret_graph)
{
  size_t room = import_count(r, body, 8);
  struct onnx_function **last = &m->functions;
  struct oc_wire w;
  struct oc_field f;
  if (room == SIZE_MAX)
    room = 0; /* the walk below says where it is malformed */
  m->opsets = OC_NEW_N(r->arena, struct onnx_opset, room);
  if (!m->opsets)
    return OC_E_NOMEM;
  oc_wire_open(&w, body.p, body.len);
  while (oc_wire_next(&w, &f)) {
    int rc = OC_OK;
    if (f.number == 1 && f.type == OC_WIRE_VARINT)
      m->ir_version = oc_field_i64(&f);
    else if (f.type != OC_WIRE_BYTES)
      continue;
    else if (f.number == 7)
      *ret_graph = oc_field_str(&f);
    else if (f.number == 8 && m->n_opsets < room)
      rc = onnx_read_opset(r, oc_field_str(&f), &m->opsets[m->n_opsets++]);
    else if (f.number == 25) {
      rc = onnx_read_function(r, oc_field_str(&f), last);
      if (!rc)
        last = &(*last)->next;
    }
    if (rc)
      return rc;
  }
  return w.bad ? import_malformed(r, w.p, w.why) : OC_OK;
}

/* Reads what waits; the queue is empty then. */
static int read_queue(struct import_reader *r, struct onnx_queue *q)
{
  for (struct onnx_waiting *w = q->first; w; w = w->next) {
    int rc = read_graph(r, q, w->body, w->graph);
    if (rc)
      return rc;
  }
  q->first = NULL;
  q->last = &q->first;
  return OC_OK;
}

int onnx_read_nodes(struct import_reader *r, struct onnx_queue *q, struct oc_str body,
                    uint32_t field, struct onnx_graph *g, struct onnx_node **ret)
{
  *ret = NULL;
  int rc = read_nodes(r, q, body, field, g, ret);
  return rc ? rc : read_queue(r, q);
}

int onnx_read_model(struct import_reader *r, struct onnx_model **ret)
{
  struct oc_str body = { (const char *)r->base, r->len };
  struct oc_str graph = { 0 };
  struct onnx_model *m = OC_NEW(r->arena, struct onnx_model);
  struct onnx_graph *chain = NULL;
  struct onnx_queue q = { .first = NULL, .last = &q.first, .last_graph = &chain };
  if (!m)
    return OC_E_NOMEM;
  if (r->len == 0) {
    import_lower(r, oc_finding_add(r->findings, OC_FINDING_MODEL_EMPTY, "", NULL));
    return OC_E_FORMAT;
  }
  int rc = read_top(r, body, m, &graph);
  if (rc)
    return rc;
  if (!graph.p)
    return import_malformed(r, r->base, "there is no graph in it");
  rc = queue_graph(r, &q, graph, NULL, NULL, &m->graph);
  if (!rc)
    rc = read_queue(r, &q);
  if (!rc && m->functions)
    rc = onnx_inline_functions(r, &q, m);
  if (!rc)
    *ret = m;
  return rc;
}
