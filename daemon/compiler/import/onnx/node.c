/* Questions that translating functions ask about their node: which inputs are there,
 * what an attribute says, what the model declares about a tensor. An attribute of another
 * kind than asked for refuses the node: silently taking the default would change the
 * model's meaning. */
#include <string.h>

#include "import/onnx/build.h"

bool onnx_has(const struct onnx_cx *cx, uint32_t input)
{
  return input < cx->node->n_inputs && cx->node->inputs[input][0] != '\0';
}

bool onnx_wants(const struct onnx_cx *cx, uint32_t output)
{
  return output < cx->node->n_outputs && cx->node->outputs[output][0] != '\0';
}

uint32_t onnx_n_in(const struct onnx_cx *cx)
{
  uint32_t n = cx->node->n_inputs;
  while (n && !onnx_has(cx, n - 1))
    n--;
  return n;
}

uint32_t onnx_n_out(const struct onnx_cx *cx)
{
  uint32_t n = cx->node->n_outputs;
  while (n && !onnx_wants(cx, n - 1))
    n--;
  return n;
}

bool onnx_given(const struct onnx_cx *cx, const char *attr)
{
  return onnx_attr_find(cx->node, attr) != NULL;
}

static bool note_used(struct onnx_scope *sc)
{
  const struct onnx_graph *g = sc->src;
  int rc = oc_map_puts(&sc->used, "", sc);
  for (const struct onnx_node *n = g->nodes; n && !rc; n = n->next) {
    for (uint32_t i = 0; i < n->n_inputs && !rc; i++)
      rc = oc_map_puts(&sc->used, n->inputs[i], sc);
    for (size_t i = 0; i < n->n_captures && !rc; i++)
      rc = oc_map_puts(&sc->used, n->captures[i], sc);
  }
  for (size_t i = 0; i < g->n_outputs && !rc; i++)
    rc = oc_map_puts(&sc->used, g->outputs[i].name, sc);
  return rc == 0;
}

bool onnx_used(struct onnx_cx *cx, uint32_t output)
{
  if (!onnx_wants(cx, output))
    return false;
  if (cx->sc->used.n == 0 && !note_used(cx->sc))
    cx->im->arena->failed = true;
  return oc_map_has(&cx->sc->used, oc_str_of(cx->node->outputs[output]));
}

static const struct onnx_attr *attr_of(struct onnx_cx *cx, const char *name, int type)
{
  const struct onnx_attr *a = onnx_attr_find(cx->node, name);
  if (a && a->type != type) {
    const char *why =
        oc_arena_printf(cx->im->arena, "attribute '%s' has the wrong type", name);
    onnx_refuse(cx, why ? why : "an attribute has the wrong type");
    return NULL;
  }
  return a;
}

int64_t onnx_i(struct onnx_cx *cx, const char *attr, int64_t other)
{
  const struct onnx_attr *a = attr_of(cx, attr, ONNX_ATTR_INT);
  return a ? a->i : other;
}

bool onnx_flag(struct onnx_cx *cx, const char *attr, bool other)
{
  return onnx_i(cx, attr, other) != 0;
}

float onnx_f(struct onnx_cx *cx, const char *attr, float other)
{
  const struct onnx_attr *a = attr_of(cx, attr, ONNX_ATTR_FLOAT);
  return a ? a->f : other;
}

const char *onnx_s(struct onnx_cx *cx, const char *attr, const char *other)
{
  const struct onnx_attr *a = attr_of(cx, attr, ONNX_ATTR_STRING);
  return a ? a->s.p : other;
}

const int64_t *onnx_is(struct onnx_cx *cx, const char *attr, size_t *ret_n)
{
  const struct onnx_attr *a = attr_of(cx, attr, ONNX_ATTR_INTS);
  *ret_n = a ? a->n : 0;
  return a ? a->ints : NULL;
}

const struct oc_value *onnx_t(struct onnx_cx *cx, const char *attr)
{
  const struct onnx_attr *a = attr_of(cx, attr, ONNX_ATTR_TENSOR);
  if (!a)
    return NULL;
  const struct oc_value *v = onnx_value(cx->im, a->t);
  if (!v)
    cx->refused = true;
  return v;
}

const struct oc_value *onnx_const(const struct onnx_cx *cx, uint32_t input)
{
  if (!onnx_has(cx, input))
    return NULL;
  const char *name = cx->node->inputs[input];
  return oc_map_gets(&onnx_scope_of(cx->sc, name)->constants, name);
}

int onnx_note_alike(struct onnx_scope *sc, const struct onnx_node *node)
{
  static const char *const types[] = {
    "QuantizeLinear", "DequantizeLinear", "Cast", "Identity", "Relu",
    "Clip",           "Sigmoid",          "Tanh",
  };
  for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
    if (strcmp(node->op_type, types[i]) == 0 && node->n_inputs && node->n_outputs)
      return oc_map_puts(&sc->alike, node->outputs[0], (void *)node->inputs[0]);
  return 0;
}

/* What the model says of a tensor's dims, directly or through ops that keep them. */
struct known {
  const struct oc_value *value;
  const struct onnx_value_info *info;
};

static struct known find_known(const struct onnx_cx *cx, uint32_t input)
{
  enum { MOST_STEPS = 32 }; /* chains are short; a ring must end */
  struct known k = { 0 };
  const struct onnx_scope *sc = cx->sc;
  const char *name = onnx_has(cx, input) ? cx->node->inputs[input] : NULL;
  for (int step = 0; name && step < MOST_STEPS; step++) {
    sc = onnx_scope_of(sc, name);
    k.value = oc_map_gets(&sc->constants, name);
    k.info = oc_map_gets(&sc->infos, name);
    if (k.value || (k.info && k.info->has_shape))
      return k;
    name = oc_map_gets(&sc->alike, name);
  }
  return (struct known){ 0 };
}

int64_t onnx_rank(const struct onnx_cx *cx, uint32_t input)
{
  struct known k = find_known(cx, input);
  if (k.value)
    return k.value->shape.rank;
  return k.info ? (int64_t)k.info->n_dims : -1;
}

int64_t onnx_dim_of(const struct onnx_cx *cx, uint32_t input, uint32_t axis)
{
  struct known k = find_known(cx, input);
  if (k.value)
    return axis < k.value->shape.rank ? k.value->shape.dims[axis] : -1;
  return k.info && axis < k.info->n_dims ? k.info->dims[axis].value : -1;
}

enum oc_dtype onnx_dtype_of(const struct onnx_cx *cx, uint32_t input)
{
  const struct oc_value *v = onnx_const(cx, input);
  if (v || !onnx_has(cx, input))
    return v ? v->dtype : OC_DT_UNDEFINED;
  const char *name = cx->node->inputs[input];
  const struct onnx_value_info *i =
      oc_map_gets(&onnx_scope_of(cx->sc, name)->infos, name);
  return i && i->is_tensor ? onnx_dtype(i->elem_type) : OC_DT_UNDEFINED;
}

void onnx_refuse(struct onnx_cx *cx, const char *why)
{
  if (!cx->refused)
    onnx_tell(cx->im, OC_FINDING_NODE_REFUSED, cx->name, "type", cx->node->op_type, "why",
              why);
  cx->refused = true;
}

void onnx_differs(struct onnx_cx *cx, const char *what)
{
  const char *key =
      oc_arena_printf(cx->im->arena, "differs:%s:%s", cx->node->op_type, what);
  if (!key || oc_map_has(&cx->im->told, oc_str_of(key)))
    return;
  (void)oc_map_puts(&cx->im->told, key, cx->im);
  onnx_tell(cx->im, OC_FINDING_NODE_DIFFERS, cx->name, "type", cx->node->op_type, "what",
            what);
}
