/* The ends of a graph: Data for its inputs, Const for its initializers, one NetOutput.
 *
 * Initializers are numbered by their rank in bytewise order of names, not by their place
 * in the file, and all of them become ops, used or not. Inputs that are also initializers
 * (IR version 3) are constants only. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/limits.h"
#include "import/onnx/build.h"

/* Of the tensor, or of the tensors of a sequence. */
static struct oc_shape told_shape(struct onnx_scope *sc, const struct onnx_value_info *v)
{
  if (!v->has_shape)
    return oc_shape_unknown();
  int64_t *dims = OC_NEW_N(sc->im->arena, int64_t, v->n_dims);
  for (size_t i = 0; dims && i < v->n_dims; i++) {
    dims[i] = v->dims[i].value;
    if (dims[i] >= 0)
      continue;
    dims[i] = v->dims[i].param[0]
                  ? oc_graph_symbol(sc->graph, oc_str_of(v->dims[i].param))
                  : oc_graph_new_symbol(sc->graph);
  }
  if (!dims)
    return oc_shape_unknown();
  return v->n_dims == 0 ? oc_shape_scalar()
                        : (struct oc_shape){ true, (uint32_t)v->n_dims, dims };
}

struct oc_shape onnx_declared_shape(struct onnx_scope *sc,
                                    const struct onnx_value_info *v)
{
  return v->is_tensor ? told_shape(sc, v) : oc_shape_unknown();
}

static enum oc_format format_of_rank(struct oc_shape s)
{
  if (s.known_rank && s.rank == 4)
    return OC_FMT_NCHW;
  return s.known_rank && s.rank == 5 ? OC_FMT_NCDHW : OC_FMT_ND;
}

static void fill_data(struct oc_tensor *t, const char *name, enum oc_dtype dtype,
                      struct oc_shape shape)
{
  t->name = name;
  t->dtype = t->want = t->got = dtype;
  t->shape = shape;
  t->format = format_of_rank(shape);
}

static struct oc_op *add_data(struct onnx_scope *sc, const char *tensor, uint32_t index,
                              enum oc_dtype dtype, struct oc_shape shape)
{
  const char *name = onnx_full_name(sc, tensor);
  struct oc_op *op = name ? oc_graph_add(sc->graph, name, "Data", 1, 1) : NULL;
  if (!op || onnx_enter(sc->im, op) || oc_attr_set_int(sc->graph, op, "index", index))
    return NULL;
  fill_data(&op->inputs[0].t, "x", dtype, shape);
  fill_data(&op->outputs[0].t, "y", dtype, shape);
  return onnx_produce(sc, tensor, op, 0, NULL) ? NULL : op;
}

/* What the dtype of such an input is: a list of tensors travels as a handle. */
static enum oc_dtype declared_dtype(const struct onnx_value_info *v)
{
  if (v->is_sequence)
    return OC_DT_RESOURCE;
  return v->is_tensor ? onnx_dtype(v->elem_type) : OC_DT_UNDEFINED;
}

/* Inference asks the maker of a list what its tensors are; of one that comes from outside
 * that is the Data op. */
static int note_elements(struct onnx_scope *sc, struct oc_op *data,
                         const struct onnx_value_info *v)
{
  if (!v->has_elements)
    return OC_OK;
  struct oc_shape s = told_shape(sc, v);
  int64_t dims[OC_MAX_RANK];
  for (uint32_t i = 0; s.known_rank && i < s.rank; i++)
    dims[i] = s.dims[i] < 0 ? OC_DIM_UNKNOWN : s.dims[i];
  int rc =
      oc_attr_set_dtype(sc->graph, data, OC_ATTR_ELEMENT_DTYPE, onnx_dtype(v->elem_type));
  if (!rc && s.known_rank)
    rc = oc_attr_set_ints(sc->graph, data, OC_ATTR_ELEMENT_SHAPE, dims, s.rank);
  return rc;
}

/* What is wrong with a declared input is told here; the op is made all the same. */
static void check_input(struct onnx_scope *sc, const struct onnx_value_info *v,
                        enum oc_dtype dtype, struct oc_shape shape)
{
  uint64_t n = 0;
  if (sc->src->parent)
    return; /* bodies often declare nothing; inference finds out */
  if (!v->is_tensor && !v->is_sequence)
    onnx_tell(sc->im, OC_FINDING_INPUT_KIND, v->name, NULL, NULL, NULL, NULL);
  else if (v->is_sequence)
    onnx_tell(sc->im, OC_FINDING_INPUT_SEQUENCE, v->name, NULL, NULL, NULL, NULL);
  else if (v->is_optional)
    onnx_tell(sc->im, OC_FINDING_INPUT_OPTIONAL, v->name, NULL, NULL, NULL, NULL);
  if (v->is_tensor && dtype == OC_DT_UNDEFINED)
    onnx_tell(sc->im, OC_FINDING_DTYPE_UNKNOWN, v->name, NULL, NULL, NULL, NULL);
  for (size_t i = 0; i < v->n_dims; i++)
    if (v->dims[i].value < -1)
      onnx_tell(sc->im, OC_FINDING_DIMS_BAD, v->name, "why", "a dim is negative", NULL,
                NULL);
  if (oc_shape_is_static(shape) && !oc_shape_elements(shape, &n))
    onnx_tell(sc->im, OC_FINDING_DIMS_BAD, v->name, "why",
              "the number of elements overflows", NULL, NULL);
}

static int add_captures(struct onnx_scope *sc, uint32_t index)
{
  const struct onnx_node *node = sc->src->parent_node;
  for (size_t i = 0; i < node->n_captures; i++) {
    struct oc_op *op =
        add_data(sc, node->captures[i], index++, OC_DT_UNDEFINED, oc_shape_unknown());
    if (!op || oc_attr_set_int(sc->graph, op, OC_ATTR_PARENT_INDEX,
                               (int64_t)node->n_inputs + (int64_t)i))
      return OC_E_NOMEM;
  }
  return OC_OK;
}

int onnx_build_inputs(struct onnx_scope *sc)
{
  struct oc_map skip = { 0 };
  uint32_t index = 0;
  int rc = OC_OK;
  for (size_t i = 0; i < sc->src->n_initializers && !rc; i++)
    rc = oc_map_puts(&skip, sc->src->initializers[i].name, sc);
  for (size_t i = 0; i < sc->src->n_inputs && !rc; i++) {
    const struct onnx_value_info *v = &sc->src->inputs[i];
    if (oc_map_has(&skip, oc_str_of(v->name)))
      continue;
    enum oc_dtype dtype = declared_dtype(v);
    struct oc_shape shape =
        v->is_sequence ? oc_shape_scalar() : onnx_declared_shape(sc, v);
    check_input(sc, v, dtype, shape);
    struct oc_op *data = add_data(sc, v->name, index++, dtype, shape);
    rc = data ? note_elements(sc, data, v) : OC_E_NOMEM;
  }
  oc_map_clear(&skip);
  if (!rc && sc->src->parent)
    rc = add_captures(sc, index);
  return rc;
}

static int by_name(const void *a, const void *b)
{
  const struct onnx_tensor *x = *(const struct onnx_tensor *const *)a;
  const struct onnx_tensor *y = *(const struct onnx_tensor *const *)b;
  int c = strcmp(x->name, y->name);
  return c ? c : x < y ? -1 : x > y;
}

static int add_initializer(struct onnx_scope *sc, const struct onnx_tensor *t,
                           size_t rank)
{
  const struct oc_value *v = onnx_value(sc->im, t);
  if (!v)
    return sc->im->arena->failed ? OC_E_NOMEM : OC_E_FORMAT;
  const char *name =
      oc_arena_printf(sc->im->arena, "%s%s_Initializer_%zu", sc->prefix, t->name, rank);
  struct oc_op *op = name ? oc_graph_add_const(sc->graph, name, v) : NULL;
  if (!op)
    return OC_E_NOMEM;
  op->outputs[0].t.format = format_of_rank(v->shape);
  int rc = onnx_enter(sc->im, op);
  if (!rc)
    rc = oc_map_puts(&sc->constants, t->name, (void *)v);
  if (!rc)
    rc = onnx_produce(sc, t->name, op, 0, NULL);
  return rc;
}

/* Every bad tensor is told before giving up. */
int onnx_build_initializers(struct onnx_scope *sc)
{
  size_t n = sc->src->n_initializers;
  auto_free const struct onnx_tensor **order = calloc(n + 1, sizeof(void *));
  int worst = OC_OK;
  if (!order)
    return OC_E_NOMEM;
  for (size_t i = 0; i < n; i++)
    order[i] = &sc->src->initializers[i];
  qsort(order, n, sizeof(void *), by_name);
  for (size_t i = 0; i < n; i++) {
    int rc = add_initializer(sc, order[i], i);
    if (rc == OC_E_NOMEM)
      return rc;
    if (rc)
      worst = rc;
  }
  return worst;
}

/* The tensor that one entry of --out_nodes means; NULL when nothing in the graph does. */
static const char *out_tensor(struct onnx_scope *sc, struct oc_str entry)
{
  const char *copy = oc_arena_strndup(sc->im->arena, entry.p, entry.len);
  if (!copy)
    return NULL;
  if (oc_map_has(&sc->producers, entry))
    return copy;
  const char *colon = strrchr(copy, ':');
  uint64_t index = 0;
  if (!colon || !oc_str_to_u64(oc_str_of(colon + 1), &index))
    return NULL;
  struct oc_str name = { copy, (size_t)(colon - copy) };
  for (const struct onnx_node *n = sc->src->nodes; n; n = n->next)
    if (oc_str_is(name, n->name) && index < n->n_outputs && n->outputs[index][0])
      return n->outputs[index];
  return NULL;
}

/* Splits --out_nodes at ';'. */
static int chosen_outputs(struct onnx_scope *sc, const char *text, const char **ret,
                          size_t *ret_n)
{
  struct oc_str rest = oc_str_of(text);
  size_t n = 0;
  int rc = OC_OK;
  while (rest.len) {
    const char *end = memchr(rest.p, ';', rest.len);
    struct oc_str entry = { rest.p, end ? (size_t)(end - rest.p) : rest.len };
    rest.p += entry.len + (end ? 1 : 0);
    rest.len -= entry.len + (end ? 1 : 0);
    entry = oc_str_trim(entry);
    if (entry.len == 0)
      continue;
    ret[n] = out_tensor(sc, entry);
    if (ret[n]) {
      n++;
      continue;
    }
    const char *copy = oc_arena_strndup(sc->im->arena, entry.p, entry.len);
    onnx_tell(sc->im, OC_FINDING_OUT_NODE_UNKNOWN, copy ? copy : "", NULL, NULL, NULL,
              NULL);
    rc = OC_E_FORMAT;
  }
  *ret_n = n;
  return rc;
}

static int end_graph(struct onnx_scope *sc, const char **names, size_t n)
{
  const char *name = onnx_full_name(sc, "Node_Output");
  struct oc_str *texts = OC_NEW_N(sc->im->arena, struct oc_str, n);
  if (!name || !texts || n > UINT32_MAX)
    return OC_E_NOMEM;
  struct oc_op *op = oc_graph_add(sc->graph, name, "NetOutput", (uint32_t)n, 0);
  if (!op)
    return OC_E_NOMEM;
  for (uint32_t i = 0; i < n; i++) {
    texts[i] = oc_str_of(names[i]);
    op->inputs[i].t.name = oc_arena_printf(sc->im->arena, "x%u", (unsigned)i);
    op->inputs[i].t.format = OC_FMT_ND;
    int rc = onnx_link(sc, op, i, names[i], NULL);
    if (rc || !op->inputs[i].t.name)
      return OC_E_NOMEM;
  }
  int rc = oc_attr_set_strings(sc->graph, op, OC_ATTR_OUTPUT_NAMES, texts, n);
  return rc ? rc : onnx_enter(sc->im, op);
}

int onnx_build_outputs(struct onnx_scope *sc)
{
  const char *text = sc->src->parent ? NULL : sc->im->opt->out_nodes;
  size_t n = sc->src->n_outputs;
  size_t room = text && text[0] ? strlen(text) : n;
  const char **names = OC_NEW_N(sc->im->arena, const char *, room);
  if (!names)
    return OC_E_NOMEM;
  for (size_t i = 0; i < n && !(text && text[0]); i++)
    names[i] = sc->src->outputs[i].name;
  if (text && text[0]) {
    int rc = chosen_outputs(sc, text, names, &n);
    if (rc)
      return rc;
  }
  if (n == 0 && !sc->src->parent) {
    onnx_tell(sc->im, OC_FINDING_NO_OUTPUTS, "", NULL, NULL, NULL, NULL);
    return OC_E_FORMAT;
  }
  return end_graph(sc, names, n);
}
