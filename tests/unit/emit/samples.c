/* Hand-made graphs. Every tensor's dtype before (`dtype`) and after judging (`got`) is
 * set here, and the Casts a judge would insert are there, marked as inserted. */
#include "samples.h"

#include <stdlib.h>
#include <string.h>

static void set_out(struct oc_op *op, uint32_t k, const char *name, enum oc_dtype orig,
                    enum oc_dtype got, struct oc_shape shape)
{
  struct oc_tensor *t = &op->outputs[k].t;

  t->name = name;
  t->dtype = orig;
  t->want = t->got = got;
  t->format = OC_FMT_NCHW;
  t->shape = shape;
}

static void link_to(struct oc_op *to, uint32_t i, struct oc_op *from, uint32_t k,
                    const char *name)
{
  oc_op_link(to, i, from, k);
  to->inputs[i].t = from->outputs[k].t;
  to->inputs[i].t.name = name;
  to->inputs[i].t.value = NULL;
}

static struct oc_op *add(struct oc_graph *g, const char *name, const char *type,
                         const char *source_type, uint32_t n_inputs,
                         enum oc_engine engine)
{
  struct oc_op *op = oc_graph_add(g, name, type, n_inputs, 1);

  op->source_type = source_type;
  op->engine = engine;
  return op;
}

static struct oc_op *add_data(struct oc_graph *g, const char *name, int64_t index,
                              enum oc_dtype d, struct oc_shape shape)
{
  struct oc_op *op = add(g, name, "Data", "", 1, OC_ENGINE_GRAPH);

  set_out(op, 0, "y", d, d, shape);
  op->inputs[0].t = op->outputs[0].t;
  op->inputs[0].t.name = "x";
  oc_attr_set_int(g, op, "index", index);
  return op;
}

static struct oc_op *add_cast(struct oc_graph *g, const char *name, struct oc_op *from,
                              enum oc_dtype to)
{
  struct oc_op *op = add(g, name, "Cast", "", 1, OC_ENGINE_AICORE);

  link_to(op, 0, from, 0, "x");
  set_out(op, 0, "y", from->outputs[0].t.dtype, to, from->outputs[0].t.shape);
  oc_attr_set_int(g, op, "dst_type", oc_dtype_runtime(to));
  op->inserted = true;
  return op;
}

static struct oc_op *add_end(struct oc_graph *g, const char *name, struct oc_op *from,
                             const char *tensor)
{
  struct oc_op *op = oc_graph_add(g, name, "NetOutput", 1, 0);
  struct oc_str names[] = { oc_str_of(tensor) };

  op->engine = OC_ENGINE_GRAPH;
  link_to(op, 0, from, 0, "x0");
  oc_attr_set_strings(g, op, "_output_names", names, 1);
  return op;
}

struct oc_value *sample_floats(struct oc_arena *a, const float *v, const int64_t *dims,
                               size_t rank)
{
  struct oc_value *value = OC_NEW(a, struct oc_value);
  uint64_t n;

  value->dtype = OC_DT_F32;
  value->shape = oc_shape_of(a, dims, rank);
  oc_shape_elements(value->shape, &n);
  value->len = 4 * (size_t)n;
  value->data = oc_arena_memdup(a, v, value->len);
  return value;
}

/* `n` values around zero, a different series per seed. */
static struct oc_value *series(struct oc_arena *a, uint32_t seed, const int64_t *dims,
                               size_t rank)
{
  float v[4096] = { 0 };

  for (size_t i = 0; i < sizeof v / sizeof v[0]; i++) {
    seed = seed * 1664525u + 1013904223u;
    v[i] = ((float)(seed >> 8) / 8388608.0f - 1.0f) * 0.3f;
  }
  return sample_floats(a, v, dims, rank);
}

struct oc_graph *sample_conv(struct oc_arena *a)
{
  struct oc_graph *g = oc_graph_new(a, "net");
  const int64_t in[] = { 1, 3, 8, 8 }, out[] = { 1, 4, 6, 6 }, filter[] = { 4, 3, 3, 3 };
  const int64_t four[] = { 4 }, flat[] = { 1, 144 }, one[] = { 1 };
  const float bias[] = { 0.5f, 70000.0f, 1e-9f, -1.0f }, shared[] = { 0.1f };
  const int64_t to_flat[] = { 1, 144 };
  struct oc_shape x = oc_shape_of(a, in, 4), y = oc_shape_of(a, out, 4);
  struct oc_shape z = oc_shape_of(a, flat, 2);

  g->model_format = "onnx";
  struct oc_op *image = add_data(g, "image", 0, OC_DT_F32, x);
  struct oc_op *w = oc_graph_add_const(g, "w_Initializer_2", series(a, 7, filter, 4));
  struct oc_op *b =
      oc_graph_add_const(g, "b_Initializer_0", sample_floats(a, bias, four, 1));
  struct oc_op *b2 =
      oc_graph_add_const(g, "b2_Initializer_1", sample_floats(a, bias, four, 1));
  struct oc_op *s = oc_graph_add_const(g, "s", sample_floats(a, shared, one, 1));
  struct oc_op *shape = oc_graph_add_ints(g, "shape", OC_DT_I64, to_flat, 2, false);
  struct oc_op *conv = add(g, "conv", "Conv2D", "Conv", 3, OC_ENGINE_AICORE);
  link_to(conv, 0, add_cast(g, "trans_Cast_0", image, OC_DT_F16), 0, "x");
  link_to(conv, 1, add_cast(g, "trans_Cast_1", w, OC_DT_F16), 0, "filter");
  link_to(conv, 2, add_cast(g, "trans_Cast_2", b, OC_DT_F16), 0, "bias");
  set_out(conv, 0, "y", OC_DT_F32, OC_DT_F16, y);
  const int64_t strides[] = { 1, 1, 1, 1 };
  oc_attr_set_ints(g, conv, "strides", strides, 4);
  oc_attr_set_int(g, conv, "groups", 1);
  oc_attr_set_string(g, conv, "data_format", "NCHW");
  oc_attr_set_float(g, conv, "alpha", 0.0f);

  struct oc_op *add1 = add(g, "add/1", "Add", "Add", 2, OC_ENGINE_AICORE);
  link_to(add1, 0, conv, 0, "x1");
  link_to(add1, 1, add_cast(g, "trans_Cast_3", s, OC_DT_F16), 0, "x2");
  set_out(add1, 0, "y", OC_DT_F32, OC_DT_F16, y);
  struct oc_op *relu = add(g, "relu", "Relu", "Relu", 1, OC_ENGINE_AICORE);
  link_to(relu, 0, add_cast(g, "trans_Cast_4", add1, OC_DT_F32), 0, "x");
  set_out(relu, 0, "y", OC_DT_F32, OC_DT_F32, y);
  relu->keep = true;
  struct oc_op *add2 = add(g, "add2", "Add", "Add", 2, OC_ENGINE_AICORE);
  link_to(add2, 0, relu, 0, "x1");
  link_to(add2, 1, s, 0, "x2");
  set_out(add2, 0, "y", OC_DT_F32, OC_DT_F32, y);
  struct oc_op *reshape = add(g, "reshape", "Reshape", "Reshape", 2, OC_ENGINE_GRAPH);
  link_to(reshape, 0, add2, 0, "x");
  link_to(reshape, 1, shape, 0, "shape");
  set_out(reshape, 0, "y", OC_DT_F32, OC_DT_F32, z);
  struct oc_op *scale = add(g, "scale", "BiasAdd", "Add", 2, OC_ENGINE_AICPU);
  const char *names[] = { "node_a", "node_b" };
  scale->origin_names = oc_arena_memdup(a, names, sizeof names);
  scale->n_origin_names = 2;
  link_to(scale, 0, reshape, 0, "x");
  link_to(scale, 1, add_cast(g, "trans_Cast_5", b2, OC_DT_F16), 0, "bias");
  set_out(scale, 0, "y", OC_DT_F32, OC_DT_F32, z);
  add_end(g, "Node_Output", scale, "logits");
  return g;
}

struct oc_graph *sample_dynamic(struct oc_arena *a)
{
  struct oc_graph *g = oc_graph_new(a, "dyn");
  const int64_t dims[] = { -2, 16 }, w_dims[] = { 16, 16 };
  struct oc_shape s = oc_shape_of(a, dims, 2);

  g->model_format = "onnx";
  struct oc_op *x = add_data(g, "x", 0, OC_DT_F32, s);
  struct oc_op *w = oc_graph_add_const(g, "w", series(a, 3, w_dims, 2));
  struct oc_op *mm = add(g, "mm", "MatMulV2", "MatMul", 4, OC_ENGINE_AICORE);
  link_to(mm, 0, add_cast(g, "trans_Cast_0", x, OC_DT_F16), 0, "x1");
  link_to(mm, 1, add_cast(g, "trans_Cast_1", w, OC_DT_F16), 0, "x2");
  mm->inputs[2].t.name = "bias"; /* optional ones, left out */
  mm->inputs[3].t.name = "offset_w";
  set_out(mm, 0, "y", OC_DT_F32, OC_DT_F16, s);
  struct oc_op *nz = add(g, "nz", "Unknown", "NonZero", 1, OC_ENGINE_AICORE);
  link_to(nz, 0, mm, 0, "x");
  set_out(nz, 0, "y", OC_DT_F32, OC_DT_F32, oc_shape_unknown());
  add_end(g, "Node_Output", nz, "y");
  return g;
}

static struct oc_graph *branch(struct oc_arena *a, const char *name, uint32_t seed)
{
  struct oc_graph *g = oc_graph_new(a, name);
  const int64_t dims[] = { 4, 8 };
  struct oc_shape s = oc_shape_of(a, dims, 2);
  struct oc_op *x = add_data(g, oc_arena_printf(a, "%s/x", name), 0, OC_DT_F32, s);
  struct oc_op *c =
      oc_graph_add_const(g, oc_arena_printf(a, "%s/c", name), series(a, seed, dims, 2));
  struct oc_op *t =
      add(g, oc_arena_printf(a, "%s/mul", name), "Mul", "Mul", 2, OC_ENGINE_AICORE);
  struct oc_op *u =
      add(g, oc_arena_printf(a, "%s/relu", name), "Relu", "Relu", 1, OC_ENGINE_AICORE);

  oc_attr_set_int(g, x, "_parent_node_index", 1);
  link_to(t, 0, x, 0, "x1");
  link_to(t, 1, c, 0, "x2");
  set_out(t, 0, "y", OC_DT_F32, OC_DT_F32, s);
  link_to(u, 0, t, 0, "x");
  set_out(u, 0, "y", OC_DT_F32, OC_DT_F32, s);
  add_end(g, oc_arena_printf(a, "%s/Node_Output", name), u, "out");
  return g;
}

struct oc_graph *sample_if(struct oc_arena *a)
{
  struct oc_graph *g = oc_graph_new(a, "cond");
  const int64_t dims[] = { 4, 8 };
  struct oc_shape s = oc_shape_of(a, dims, 2);

  g->model_format = "onnx";
  struct oc_op *cond = add_data(g, "cond", 0, OC_DT_BOOL, oc_shape_scalar());
  struct oc_op *x = add_data(g, "x", 1, OC_DT_F32, s);
  struct oc_op *before = add(g, "before", "Relu", "Relu", 1, OC_ENGINE_AICORE);
  link_to(before, 0, x, 0, "x");
  set_out(before, 0, "y", OC_DT_F32, OC_DT_F32, s);
  struct oc_op *op = add(g, "if", "If", "If", 2, OC_ENGINE_GRAPH);
  link_to(op, 0, cond, 0, "cond");
  link_to(op, 1, before, 0, "input0");
  set_out(op, 0, "output0", OC_DT_F32, OC_DT_F32, s);
  op->subgraphs = OC_NEW_N(a, struct oc_subgraph, 2);
  op->n_subgraphs = 2;
  for (uint32_t i = 0; i < 2; i++) {
    const char *name = i ? "if_1_else_branch" : "if_0_then_branch";
    op->subgraphs[i] = (struct oc_subgraph){ name, branch(a, name, 11) };
    op->subgraphs[i].graph->parent = g;
    op->subgraphs[i].graph->parent_op = op;
  }
  struct oc_op *after = add(g, "after", "Add", "Add", 2, OC_ENGINE_AICORE);
  link_to(after, 0, op, 0, "x1");
  link_to(after, 1, before, 0, "x2");
  set_out(after, 0, "y", OC_DT_F32, OC_DT_F32, s);
  add_end(g, "Node_Output", after, "y");
  return g;
}

struct oc_graph *sample_random(struct oc_arena *a, uint32_t n, uint32_t seed)
{
  struct oc_graph *g = oc_graph_new(a, "random");
  const int64_t first[] = { 100 };
  struct oc_op **made = OC_NEW_N(a, struct oc_op *, n + 1);

  g->model_format = "onnx";
  made[0] = add_data(g, "x", 0, OC_DT_F32, oc_shape_of(a, first, 1));
  for (uint32_t i = 1; i <= n; i++) {
    seed = seed * 1664525u + 1013904223u;
    int64_t dim = 1 + (seed >> 8) % 3000;
    uint32_t back = 1 + (seed >> 20) % 12;
    struct oc_op *from = made[i > back ? i - back : 0];
    bool rename = (seed >> 4) % 7 == 0;
    struct oc_op *op = add(g, oc_arena_printf(a, "op%u", i), rename ? "Reshape" : "Tile",
                           "", 2, rename ? OC_ENGINE_GRAPH : OC_ENGINE_AICORE);
    link_to(op, 0, from, 0, "x1");
    link_to(op, 1, made[i - 1], 0, "x2");
    set_out(op, 0, "y", OC_DT_F32, OC_DT_F32,
            rename ? from->outputs[0].t.shape : oc_shape_of(a, &dim, 1));
    made[i] = op;
  }
  add_end(g, "Node_Output", made[n], "y");
  return g;
}

struct oc_graph *sample_by_name(struct oc_arena *a, const char *name)
{
  if (strcmp(name, "conv") == 0)
    return sample_conv(a);
  if (strcmp(name, "dynamic") == 0)
    return sample_dynamic(a);
  if (strcmp(name, "if") == 0)
    return sample_if(a);
  if (strcmp(name, "random") == 0)
    return sample_random(a, 400, 5);
  return NULL;
}
