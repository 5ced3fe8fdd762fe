/* A case's op table and graph as the compiler's own structs. */
#include <string.h>

#include "vectors.h"

static const char *const default_cube[] = {
  "MatMul",
  "MatMulV2",
  "BatchMatMul",
  "BatchMatMulV2",
  "Conv2DBackpropFilterD",
  "Conv2DBackpropFilter",
  "Conv2DBackpropInputD",
  "Conv2DBackpropInput",
  "Conv2DTransposeD",
  "Conv2DTranspose",
  "Conv2D",
  "DepthwiseConv2D",
  "DepthwiseConv2DBackpropFilterD",
  "DepthwiseConv2DBackpropFilter",
  "DepthwiseConv2DBackpropInputD",
  "DepthwiseConv2DBackpropInput",
  "Conv2DCompress",
  "FullyConnection",
  "GEMM",
  "Conv3D",
  "Conv3DBackpropInputD",
  "Conv3DTransposeD",
  "Conv3DBackpropInput",
  "Conv3DTranspose",
  "Conv3DBackpropFilter",
  "Conv3DBackpropFilterD",
  "Deconvolution",
};

static size_t count(const struct oc_json *v)
{
  return v ? v->n : 0;
}

static const struct oc_json *first(const struct oc_json *v)
{
  return v ? v->first : NULL;
}

static bool dtype(const struct oc_json *v, enum oc_dtype *ret)
{
  return oc_dtype_parse(oc_str_of(oc_json_string(v, "")), ret);
}

/* ---- the table */

static int table_tensor(struct vec_case *c, const struct oc_json *v,
                        struct oc_table_tensor *t, uint8_t *dtypes, uint8_t *formats,
                        uint32_t n_columns)
{
  const char *param = oc_json_string(oc_json_get(v, "param"), "required");
  const struct oc_json *f = first(oc_json_get(v, "formats"));
  uint32_t k = 0;

  (void)c;
  t->name = oc_json_string(oc_json_get(v, "name"), "");
  t->param = oc_streq(param, "dynamic")    ? OC_PARAM_DYNAMIC
             : oc_streq(param, "optional") ? OC_PARAM_OPTIONAL
                                           : OC_PARAM_REQUIRED;
  for (const struct oc_json *d = first(oc_json_get(v, "dtypes")); d; d = d->next, k++) {
    enum oc_dtype value;
    if (k == n_columns || !dtype(d, &value))
      return -1;
    dtypes[k] = (uint8_t)value;
    formats[k] = f ? (uint8_t)oc_table_format_parse(oc_json_string(f, "ND")) : OC_TF_ND;
    f = f ? f->next : NULL;
  }
  return k == n_columns ? 0 : -1;
}

static int table_rows(struct vec_case *c, const struct oc_json *v, struct oc_table_op *op)
{
  const struct oc_json *sides[2] = { oc_json_get(v, "inputs"),
                                     oc_json_get(v, "outputs") };
  uint32_t n = (uint32_t)(count(sides[0]) + count(sides[1])), row = 0;
  const struct oc_json *any = first(sides[0]) ? first(sides[0]) : first(sides[1]);
  uint32_t columns = (uint32_t)count(oc_json_get(any, "dtypes"));
  struct oc_table_tensor *ts = OC_NEW_N(c->a, struct oc_table_tensor, n);
  struct oc_table_variant *var = OC_NEW(c->a, struct oc_table_variant);
  uint8_t *dtypes = oc_arena_calloc(c->a, n, columns),
          *formats = oc_arena_calloc(c->a, n, columns);

  if (!ts || !var || !dtypes || !formats)
    return -1;
  for (unsigned s = 0; s < 2; s++)
    for (const struct oc_json *t = first(sides[s]); t; t = t->next, row++)
      if (table_tensor(c, t, &ts[row], dtypes + (size_t)row * columns,
                       formats + (size_t)row * columns, columns))
        return -1;
  *var = (struct oc_table_variant){ OC_LAYOUT_ANY, columns, dtypes, formats };
  op->tensors = ts;
  op->n_inputs = (uint32_t)count(sides[0]);
  op->n_outputs = (uint32_t)count(sides[1]);
  op->variants = var;
  op->n_variants = columns ? 1 : 0;
  return 0;
}

static int table_promote(struct vec_case *c, const struct oc_json *v,
                         struct oc_table_op *op)
{
  struct oc_promote_group *groups = OC_NEW_N(c->a, struct oc_promote_group, count(v));

  if (!groups)
    return -1;
  for (const struct oc_json *g = first(v); g; g = g->next) {
    const char **names = OC_NEW_N(c->a, const char *, count(g));
    uint32_t n = 0;
    for (const struct oc_json *m = first(g); names && m; m = m->next)
      names[n++] = oc_json_string(m, "");
    if (names && n >= 2)
      groups[op->n_promote++] = (struct oc_promote_group){ names, n };
  }
  op->promote = groups;
  return 0;
}

static int table_op(struct vec_case *c, const struct oc_json *v)
{
  struct oc_table_op *op = OC_NEW(c->a, struct oc_table_op);
  const char *policy = oc_json_string(oc_json_get(v, "policy"), "gray");
  const char *file = oc_json_string(oc_json_get(v, "op_file"), "");

  if (!op)
    return -1;
  op->type = v->key;
  op->policy = oc_streq(policy, "white")   ? OC_POLICY_WHITE
               : oc_streq(policy, "black") ? OC_POLICY_BLACK
                                           : OC_POLICY_GRAY;
  if (oc_streq(file, "Null") || oc_streq(file, "AICore_Null"))
    op->flags |= OC_TABLE_NO_KERNEL;
  if (table_rows(c, v, op) || table_promote(c, oc_json_get(v, "promote"), op))
    return -1;
  return oc_table_put(&c->table, op);
}

/* ---- the graph */

static enum oc_format format(const struct oc_json *v)
{
  static const enum oc_format all[] = { OC_FMT_NCHW,  OC_FMT_NHWC,  OC_FMT_ND,
                                        OC_FMT_NCDHW, OC_FMT_NDHWC, OC_FMT_HWCN,
                                        OC_FMT_DHWCN };
  const char *word = oc_json_string(v, "ND");

  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (oc_streq(oc_format_name(all[i]), word))
      return all[i];
  return OC_FMT_ND;
}

/* The tensor's own name, else the table entry's at its place, else x0, x1 ... */
static const char *tensor_name(struct vec_case *c, const struct oc_op *op,
                               const struct oc_json *v, bool input, uint32_t i)
{
  const char *name = oc_json_string(oc_json_get(v, "name"), NULL);
  const struct oc_table_op *row = oc_table_find(&c->table, op->type);

  if (name)
    return name;
  if (row && input && i < row->n_inputs)
    return row->tensors[i].name;
  if (row && !input && i < row->n_outputs)
    return row->tensors[row->n_inputs + i].name;
  return oc_arena_printf(c->a, "%c%u", input ? 'x' : 'y', i);
}

static int fill(struct vec_case *c, const struct oc_op *op, const struct oc_json *v,
                bool input, uint32_t i, struct oc_tensor *t)
{
  static const int64_t dims[] = { 2, 3, 4, 5 };

  if (!dtype(oc_json_get(v, "dtype"), &t->dtype))
    return -1;
  t->name = tensor_name(c, op, v, input, i);
  t->format = format(oc_json_get(v, "format"));
  t->shape = (struct oc_shape){ true, 4, dims };
  t->want = t->got = t->dtype;
  t->continuous = oc_json_get(oc_json_get(v, "attrs"), "_format_continuous") != NULL;
  return 0;
}

static int link(struct vec_case *c, struct oc_op *op, uint32_t i, const char *from)
{
  const char *colon = strrchr(from, ':');
  uint64_t out;

  if (!colon || !oc_str_to_u64(oc_str_of(colon + 1), &out))
    return -1;
  struct oc_op *p =
      oc_map_get(&c->nodes, (struct oc_str){ from, (size_t)(colon - from) });
  if (!p || out >= p->n_outputs)
    return -1;
  oc_op_link(op, i, p, (uint32_t)out);
  c->edges[c->n_edges++] = (struct vec_edge){ op, i, p, (uint32_t)out };
  return 0;
}

static int attributes(struct vec_case *c, struct oc_op *op, const struct oc_json *attrs)
{
  for (const struct oc_json *v = first(attrs); v; v = v->next) {
    if (oc_streq(v->key, "_keep_dtype"))
      c->kept_by_attribute[c->n_kept_by_attribute++] = op;
    else if (oc_attr_set_bool(c->graph, op, v->key, true))
      return -1;
  }
  return 0;
}

static int node(struct vec_case *c, const struct oc_json *v)
{
  const struct oc_json *in = oc_json_get(v, "inputs"), *out = oc_json_get(v, "outputs");
  struct oc_op *op = oc_graph_add(c->graph, oc_json_string(oc_json_get(v, "name"), ""),
                                  oc_json_string(oc_json_get(v, "type"), ""),
                                  (uint32_t)count(in), (uint32_t)count(out));
  uint32_t i = 0;

  if (!op || oc_map_puts(&c->nodes, op->name, op))
    return -1;
  for (const struct oc_json *t = first(in); t; t = t->next, i++) {
    const char *from = oc_json_string(oc_json_get(t, "from"), NULL);
    if (fill(c, op, t, true, i, &op->inputs[i].t) || (from && link(c, op, i, from)))
      return -1;
  }
  i = 0;
  for (const struct oc_json *t = first(out); t; t = t->next, i++)
    if (fill(c, op, t, false, i, &op->outputs[i].t))
      return -1;
  return attributes(c, op, oc_json_get(v, "attrs"));
}

static int graph(struct vec_case *c, const struct oc_json *nodes)
{
  size_t n_inputs = 0;

  for (const struct oc_json *v = first(nodes); v; v = v->next)
    n_inputs += count(oc_json_get(v, "inputs"));
  c->graph = oc_graph_new(c->a, "case");
  c->edges = OC_NEW_N(c->a, struct vec_edge, n_inputs);
  c->kept_by_attribute = OC_NEW_N(c->a, const struct oc_op *, count(nodes));
  if (!c->graph || !c->edges || !c->kept_by_attribute)
    return -1;
  for (const struct oc_json *v = first(nodes); v; v = v->next)
    if (node(c, v))
      return -1;
  return 0;
}

static int cube(struct vec_case *c, const struct oc_json *list)
{
  static const char present = 1;
  void *value = (void *)(uintptr_t)&present;

  for (const struct oc_json *v = first(list); v; v = v->next)
    if (oc_map_puts(&c->cube, oc_json_string(v, ""), value))
      return -1;
  for (size_t i = 0; !list && i < sizeof default_cube / sizeof *default_cube; i++)
    if (oc_map_puts(&c->cube, default_cube[i], value))
      return -1;
  return 0;
}

int vec_build(struct vec_case *c, const struct oc_json *json, struct oc_arena *a,
              const char **why)
{
  *c = (struct vec_case){ .json = json, .a = a };
  c->id = oc_json_string(oc_json_get(json, "id"), "?");
  for (const struct oc_json *v = first(oc_json_get(json, "op_table")); v; v = v->next)
    if (table_op(c, v)) {
      *why = "bad op_table";
      return -1;
    }
  if (graph(c, oc_json_get(json, "graph"))) {
    *why = "bad graph";
    return -1;
  }
  if (cube(c, oc_json_get(json, "cube_ops"))) {
    *why = "bad cube_ops";
    return -1;
  }
  return 0;
}

void vec_clear(struct vec_case *c)
{
  oc_table_clear(&c->table);
  oc_map_clear(&c->nodes);
  oc_map_clear(&c->cube);
}
