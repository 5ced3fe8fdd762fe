/* Nodes of one graph: constants first (others look into them), then the rest in file
 * order, each by its row in the tables. What has no row becomes an op that says so. */
#include <string.h>

#include "base/error.h"
#include "import/onnx/build.h"

/* The value of a Constant node, from whichever attribute holds it. */
static const struct oc_value *constant_value(struct onnx_cx *cx)
{
  struct onnx_import *im = cx->im;
  if (onnx_given(cx, "value"))
    return onnx_t(cx, "value");
  const struct onnx_attr *a = cx->node->attrs;
  struct oc_value *v = OC_NEW(im->arena, struct oc_value);
  if (!a || !v) {
    onnx_refuse(cx, "it holds no value");
    return NULL;
  }
  onnx_differs(cx, "only the attribute 'value' is read there");
  int64_t dim = (int64_t)a->n;
  v->shape = oc_shape_of(im->arena, &dim, 1);
  if (strcmp(a->name, "value_float") == 0 && a->type == ONNX_ATTR_FLOAT) {
    v->dtype = OC_DT_F32;
    v->shape = oc_shape_scalar();
    v->data = oc_arena_memdup(im->arena, &a->f, sizeof(a->f));
    v->len = sizeof(a->f);
  } else if (strcmp(a->name, "value_int") == 0 && a->type == ONNX_ATTR_INT) {
    v->dtype = OC_DT_I64;
    v->shape = oc_shape_scalar();
    v->data = oc_arena_memdup(im->arena, &a->i, sizeof(a->i));
    v->len = sizeof(a->i);
  } else if (strcmp(a->name, "value_floats") == 0 && a->type == ONNX_ATTR_FLOATS) {
    v->dtype = OC_DT_F32;
    v->data = (const uint8_t *)a->floats;
    v->len = a->n * sizeof(float);
  } else if (strcmp(a->name, "value_ints") == 0 && a->type == ONNX_ATTR_INTS) {
    v->dtype = OC_DT_I64;
    v->data = (const uint8_t *)a->ints;
    v->len = a->n * sizeof(int64_t);
  } else {
    onnx_refuse(cx, "its kind of value is not supported");
    return NULL;
  }
  return v;
}

static void constant(struct onnx_cx *cx)
{
  const struct oc_value *v = constant_value(cx);
  if (!v || cx->refused)
    return;
  struct oc_op *op = onnx_value_const(cx, "", v);
  onnx_out(cx, 0, op, 0);
  if (onnx_wants(cx, 0) &&
      oc_map_puts(&cx->sc->constants, cx->node->outputs[0], (void *)v))
    cx->im->arena->failed = true;
}

static void tell_unknown(struct onnx_cx *cx, bool known)
{
  struct onnx_import *im = cx->im;
  const char *type = cx->node->op_type;
  const char *domain = cx->node->domain[0] ? cx->node->domain : "ai.onnx";
  const char *key = oc_arena_printf(im->arena, "unknown:%s:%s", domain, type);
  if (!key || oc_map_has(&im->told, oc_str_of(key)))
    return;
  (void)oc_map_puts(&im->told, key, im);
  const char *opset = oc_arena_printf(im->arena, "%lld", (long long)cx->opset);
  if (known && opset)
    onnx_tell(im, OC_FINDING_OP_OPSET, type, "op", cx->name, "opset", opset);
  else
    onnx_tell(im, OC_FINDING_OP_UNKNOWN, type, "op", cx->name, "domain", domain);
}

/* What the model itself says of a result. */
static void declare(struct onnx_cx *cx, struct oc_tensor *t, const char *name)
{
  const struct onnx_value_info *v = oc_map_gets(&cx->sc->infos, name);

  if (!v || !v->is_tensor)
    return;
  t->dtype = onnx_dtype(v->elem_type);
  t->shape = onnx_declared_shape(cx->sc, v);
}

/* An op that only stands for the node: its type as it is, and of its results what the
 * model declares. */
static int stand_in(struct onnx_cx *cx)
{
  const struct onnx_node *n = cx->node;
  struct oc_op *op =
      oc_graph_add(cx->sc->graph, cx->name, n->op_type, n->n_inputs, n->n_outputs);
  if (!op)
    return OC_E_NOMEM;
  op->source_type = n->op_type;
  import_name_tensors(cx->im->arena, op);
  onnx_set_formats(op, OC_FMT_ND);
  onnx_ins(cx, op, 0, 0, n->n_inputs);
  for (uint32_t i = 0; i < n->n_outputs; i++) {
    declare(cx, &op->outputs[i].t, n->outputs[i]);
    onnx_out(cx, i, op, i);
  }
  return onnx_enter(cx->im, op);
}

/* What a refused translation left behind goes away again. */
struct mark {
  uint32_t n_ops;
  struct onnx_link **last_link;
  size_t n_producers;
};

static void take_back(struct onnx_scope *sc, struct mark m)
{
  sc->graph->n_ops = m.n_ops;
  sc->last_link = m.last_link;
  *sc->last_link = NULL;
  for (size_t i = m.n_producers; i < sc->producers.n; i++)
    sc->producers.entries[i].value = NULL; /* a NULL value reads as absent */
}

static void vendor_refuses(struct onnx_cx *cx)
{
  bool has = cx->opset >= 0 && cx->opset < 32 && (cx->rule->vendor >> cx->opset) & 1;
  const char *key = NULL;
  bool outside = cx->opset < 8 || cx->opset > 18;
  if (has || (outside && cx->rule->vendor != ONNX_V_NONE))
    return; /* an opset that is not theirs at all is one finding for the whole model */
  key = oc_arena_printf(cx->im->arena, "vendor:%s", cx->node->op_type);
  if (!key || oc_map_has(&cx->im->told, oc_str_of(key)))
    return;
  (void)oc_map_puts(&cx->im->told, key, cx->im);
  const char *opset = oc_arena_printf(cx->im->arena, "%lld", (long long)cx->opset);
  onnx_tell(cx->im, OC_FINDING_OP_NO_PARSER, cx->node->op_type, "op", cx->name, "opset",
            opset ? opset : "");
}

static int translate(struct onnx_cx *cx)
{
  struct mark m = { cx->sc->graph->n_ops, cx->sc->last_link, cx->sc->producers.n };
  bool known = false;
  if (strcmp(cx->node->op_type, "Constant") == 0 && cx->node->domain[0] == '\0') {
    constant(cx);
  } else {
    cx->rule =
        onnx_find_rule(cx->im, cx->node->domain, cx->node->op_type, cx->opset, &known);
    if (!cx->rule) {
      tell_unknown(cx, known);
      return stand_in(cx);
    }
    if (cx->rule->fn)
      cx->rule->fn(cx);
    else
      (void)onnx_one_to_one(cx, cx->rule->to);
    if (!cx->refused)
      vendor_refuses(cx);
  }
  if (cx->im->arena->failed)
    return OC_E_NOMEM;
  if (!cx->refused)
    return onnx_finish(cx);
  take_back(cx->sc, m);
  for (const struct onnx_attr *a = cx->node->attrs; a; a = a->next)
    if (a->g)
      a->g->target = NULL;
  return stand_in(cx);
}

static int64_t opset_of(const struct onnx_import *im, const char *domain)
{
  for (size_t i = 0; i < im->model->n_opsets; i++)
    if (strcmp(im->model->opsets[i].domain, domain) == 0)
      return im->model->opsets[i].version;
  return 0;
}

static int build_node(struct onnx_scope *sc, const struct onnx_node *node)
{
  struct onnx_cx cx = { .im = sc->im, .sc = sc, .node = node };
  cx.name = onnx_full_name(sc, node->name);
  if (!cx.name)
    return OC_E_NOMEM;
  cx.opset = node->domain[0] ? opset_of(sc->im, node->domain)
             : node->opset   ? node->opset
                             : sc->im->opset;
  return translate(&cx);
}

int onnx_build_nodes(struct onnx_scope *sc)
{
  int rc = OC_OK;
  for (int round = 0; round < 2; round++)
    for (const struct onnx_node *n = sc->src->nodes; n && !rc; n = n->next) {
      bool constant_node = strcmp(n->op_type, "Constant") == 0 && n->domain[0] == '\0';
      if (constant_node == (round == 0))
        rc = build_node(sc, n);
      if (!rc && round == 0)
        rc = onnx_note_alike(sc, n);
    }
  return rc;
}
