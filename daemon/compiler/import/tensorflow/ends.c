/* The ends of the graph: Data for Placeholders and for nodes where the model is cut, and
 * one NetOutput. */
#include <string.h>

#include "base/error.h"
#include "import/tensorflow/build.h"

/* Graphs of older writers say "scalar" where they mean "anything". */
static const int64_t SCALAR_MEANS_UNKNOWN_BEFORE = 24;

bool tf_is_placeholder(const struct tf_node *n)
{
  return strcmp(n->op, "Placeholder") == 0 || strcmp(n->op, "PlaceholderV2") == 0 ||
         strcmp(n->op, "_Arg") == 0;
}

static struct oc_shape declared_shape(struct tf_import *im, const struct tf_node *n)
{
  const struct tf_attr *a =
      n->cut && !tf_is_placeholder(n) ? NULL : tf_attr_find(n, "shape");
  if (!a || a->kind != TF_ATTR_SHAPE || a->shape.unknown_rank)
    return oc_shape_unknown();
  if (a->shape.rank == 0)
    return im->model.producer < SCALAR_MEANS_UNKNOWN_BEFORE ? oc_shape_unknown()
                                                            : oc_shape_scalar();
  int64_t *dims = OC_NEW_N(im->arena, int64_t, a->shape.rank);
  for (size_t i = 0; dims && i < a->shape.rank; i++)
    dims[i] = a->shape.dims[i] < 0 ? oc_graph_new_symbol(im->graph) : a->shape.dims[i];
  if (!dims)
    return oc_shape_unknown();
  return (struct oc_shape){ true, (uint32_t)a->shape.rank, dims };
}

/* What a node gives, from its own attributes: where the model is cut nothing else says.
 */
enum oc_dtype tf_result_dtype(const struct tf_node *n)
{
  static const char *const names[] = { "dtype",       "DstT",    "out_type",
                                       "output_type", "Tparams", "T" };
  enum oc_dtype d = OC_DT_UNDEFINED;
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && d == OC_DT_UNDEFINED; i++)
    d = tf_type(n, names[i]);
  if (d == OC_DT_UNDEFINED && !tf_is_placeholder(n))
    d = OC_DT_F32; /* Mfcc and its kin have no attribute, they give float32 */
  return d;
}

static enum oc_format format_of(const struct tf_import *im, struct oc_shape s)
{
  if (s.known_rank && s.rank == 4)
    return im->image;
  return s.known_rank && s.rank == 5 ? OC_FMT_NDHWC : OC_FMT_ND;
}

static void check(struct tf_import *im, const struct tf_node *n, enum oc_dtype dtype,
                  struct oc_shape shape)
{
  uint64_t elements = 0;
  if (dtype == OC_DT_UNDEFINED)
    import_tell(&im->rd, OC_FINDING_DTYPE_UNKNOWN, n->name, NULL, NULL, NULL, NULL);
  if (oc_shape_is_static(shape) && !oc_shape_elements(shape, &elements))
    import_tell(&im->rd, OC_FINDING_DIMS_BAD, n->name, "why",
                "the number of elements overflows", NULL, NULL);
}

int tf_add_data(struct tf_import *im, struct tf_node *n, uint32_t index)
{
  struct oc_op *op = oc_graph_add(im->graph, n->name, "Data", 1, 1);
  if (!op || oc_attr_set_int(im->graph, op, "index", index))
    return OC_E_NOMEM;
  op->source_type = n->op;
  enum oc_dtype dtype = tf_result_dtype(n);
  struct oc_shape shape = declared_shape(im, n);
  check(im, n, dtype, shape);
  struct oc_tensor t = { .name = "x", .dtype = dtype, .want = dtype, .got = dtype };
  t.shape = shape;
  t.format = format_of(im, shape);
  op->inputs[0].t = t;
  t.name = "y";
  op->outputs[0].t = t;
  n->made = op;
  return OC_OK;
}

int tf_add_end(struct tf_import *im)
{
  size_t n = im->n_outputs;
  struct oc_str *texts = OC_NEW_N(im->arena, struct oc_str, n);
  const char *name = "Node_Output";
  if (oc_map_has(&im->nodes, oc_str_of(name))) {
    import_tell(&im->rd, OC_FINDING_NAME_TWICE, name, NULL, NULL, NULL, NULL);
    return OC_E_FORMAT;
  }
  struct oc_op *end =
      n <= UINT32_MAX ? oc_graph_add(im->graph, name, "NetOutput", (uint32_t)n, 0) : NULL;
  if (!texts || !end)
    return OC_E_NOMEM;
  for (uint32_t i = 0; i < n; i++) {
    const struct tf_output *o = &im->outputs[i];
    texts[i] = oc_str_of(o->name);
    end->inputs[i].t.name = oc_arena_printf(im->arena, "x%u", (unsigned)i);
    end->inputs[i].t.format = OC_FMT_ND;
    if (!end->inputs[i].t.name)
      return OC_E_NOMEM;
    if (!o->node->made || o->out >= o->node->made->n_outputs) {
      import_tell(&im->rd, OC_FINDING_OUT_NODE_UNKNOWN, o->name, NULL, NULL, NULL, NULL);
      return OC_E_FORMAT;
    }
    oc_op_link(end, i, o->node->made, o->out);
  }
  return oc_attr_set_strings(im->graph, end, OC_ATTR_OUTPUT_NAMES, texts, n);
}
