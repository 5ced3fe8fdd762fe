/* Attributes of ops, descriptors and the model, plain (uncompressed).
 *
 * Besides the op's own ones: the names behind the indices of its inputs and outputs, the
 * history that tools follow back to the framework (original names and types, dtype and
 * shape before compilation), the keep mark, and the engine. */
#include <stdlib.h>
#include <string.h>

#include "emit_internal.h"

struct oc_om_attr *emit_attr(struct emit_attrs *l, const char *name,
                             enum oc_om_attr_kind kind)
{
  if (l->n == l->room) {
    uint32_t room = l->room ? 2 * l->room : 16;
    struct oc_om_attr *v = oc_arena_grow(l->arena, l->v, l->n, room, sizeof *v);
    if (!v) {
      l->failed = true;
      return &l->spare;
    }
    l->v = v;
    l->room = room;
  }
  struct oc_om_attr *a = &l->v[l->n++];
  memset(a, 0, sizeof *a);
  a->name = oc_str_of(name);
  a->kind = kind;
  return a;
}

static void add_string(struct emit_attrs *l, const char *name, const char *v)
{
  emit_attr(l, name, OC_OM_ATTR_STRING)->u.s = oc_str_of(v);
}

static void add_int(struct emit_attrs *l, const char *name, int64_t v)
{
  emit_attr(l, name, OC_OM_ATTR_INT)->u.i = v;
}

/* A list; an empty one has no kind of its own in the reader, so none is written. */
static void add_strings(struct emit_attrs *l, const char *name, const struct oc_str *v,
                        size_t n)
{
  if (!n)
    return;
  struct oc_om_attr *a = emit_attr(l, name, OC_OM_ATTR_STRINGS);
  a->u.strings = v;
  a->n = n;
}

static void add_ints(struct emit_attrs *l, const char *name, const int64_t *v, size_t n)
{
  struct oc_om_attr *a = emit_attr(l, name, OC_OM_ATTR_INTS);

  a->u.ints = v;
  a->n = n;
}

/* The names that tensors of an op have, and the indices they stand for. */
static void add_names(struct emit_attrs *l, const struct emit_op *e, bool outputs)
{
  uint32_t n = outputs ? e->op->n_outputs : e->op->n_inputs, k = 0;
  struct oc_str *names = OC_NEW_N(l->arena, struct oc_str, n);
  int64_t *indices = OC_NEW_N(l->arena, int64_t, n);

  if (!names || !indices) {
    l->failed = true;
    return;
  }
  for (uint32_t i = 0; i < n; i++) {
    const char *name = outputs ? e->op->outputs[i].t.name : e->op->inputs[i].t.name;
    if (!name || (!outputs && !e->op->inputs[i].from && !oc_op_is_input(e->op)))
      continue;
    names[k] = oc_str_of(name);
    indices[k++] = i;
  }
  if (!k)
    return;
  add_strings(l, outputs ? "_output_name_key" : "_input_name_key", names, k);
  add_ints(l, outputs ? "_output_name_value" : "_input_name_value", indices, k);
}

static void add_history(struct emit_attrs *l, const struct emit_op *e)
{
  const struct oc_op *op = e->op;
  bool renamed = e->name != op->name;
  uint32_t n = op->n_origin_names ? op->n_origin_names : renamed;
  struct oc_str *names = OC_NEW_N(l->arena, struct oc_str, n);
  struct oc_str *type = OC_NEW(l->arena, struct oc_str);

  if (!names || !type) {
    l->failed = true;
    return;
  }
  for (uint32_t i = 0; i < op->n_origin_names; i++)
    names[i] = oc_str_of(op->origin_names[i]);
  if (!op->n_origin_names && renamed)
    names[0] = oc_str_of(op->name);
  add_strings(l, "_datadump_original_op_names", names, n);
  if (op->source_type && *op->source_type) {
    *type = oc_str_of(op->source_type);
    add_strings(l, "_datadump_original_op_types", type, 1);
  }
}

static const char *engine_name(const struct emit_op *e)
{
  switch (e->op->engine) {
  case OC_ENGINE_AICORE: return "AIcoreEngine";
  case OC_ENGINE_AICPU: return "aicpu_ascend_kernel";
  case OC_ENGINE_NONE: return NULL;
  default: return "DNN_VM_GE_LOCAL_OP_STORE";
  }
}

/* A tensor as an attribute: described, its bytes inline. */
static bool set_value(struct oc_emit_plan *p, struct oc_om_attr *to,
                      const struct oc_value *v)
{
  struct oc_om_desc *d = OC_NEW(&p->arena, struct oc_om_desc);
  struct oc_tensor t = { .dtype = v->dtype, .format = OC_FMT_ND, .shape = v->shape };

  if (!d || !emit_desc(p, &t, v->dtype, v->dtype, d))
    return false;
  d->size = (int64_t)v->len;
  to->kind = OC_OM_ATTR_TENSOR;
  to->u.desc = d;
  to->data = (struct oc_str){ (const char *)v->data, v->len };
  return true;
}

static bool set_weight(struct oc_emit_plan *p, struct oc_om_attr *to,
                       const struct emit_op *e)
{
  struct oc_om_desc *d = OC_NEW(&p->arena, struct oc_om_desc);
  const struct emit_const *c = e->constant;

  if (!d || !emit_desc(p, &e->op->outputs[0].t, c->to, c->value->dtype, d))
    return false;
  d->size = 0;
  d->weight_size = p->profile < 0 ? (int64_t)c->size : 0;
  d->data_offset = (int64_t)c->offset;
  to->kind = OC_OM_ATTR_TENSOR;
  to->u.desc = d;
  return true;
}

/* An attribute of the graph. dtypes go out in the numbering of the C API; Cast's own is
 * an integer there. */
static bool set_own(struct oc_emit_plan *p, struct oc_om_attr *to,
                    const struct oc_attr *a)
{
  switch (a->kind) {
  case OC_ATTR_INT: to->u.i = a->u.i; break;
  case OC_ATTR_FLOAT:
    to->kind = OC_OM_ATTR_FLOAT;
    to->u.f = a->u.f;
    break;
  case OC_ATTR_BOOL:
    to->kind = OC_OM_ATTR_BOOL;
    to->u.i = a->u.b;
    break;
  case OC_ATTR_STRING:
    to->kind = OC_OM_ATTR_STRING;
    to->u.s = a->u.s;
    break;
  case OC_ATTR_INTS:
    to->kind = OC_OM_ATTR_INTS;
    to->u.ints = a->u.ints;
    break;
  case OC_ATTR_FLOATS:
    to->kind = OC_OM_ATTR_FLOATS;
    to->u.floats = a->u.floats;
    break;
  case OC_ATTR_STRINGS:
    to->kind = OC_OM_ATTR_STRINGS;
    to->u.strings = a->u.strings;
    break;
  case OC_ATTR_DTYPE:
    to->kind = strcmp(a->name, "dst_type") == 0 ? OC_OM_ATTR_INT : OC_OM_ATTR_DTYPE;
    to->u.i = oc_dtype_runtime(a->u.dtype);
    break;
  case OC_ATTR_VALUE: return set_value(p, to, a->u.value);
  }
  to->n = a->n;
  return true;
}

/* Shapes of the outputs in each profile, as the vendor's runtime reads them from the end
 * of a graph. */
static void add_output_shapes(struct oc_emit_plan *p, struct emit_attrs *l)
{
  struct oc_str *texts = OC_NEW_N(l->arena, struct oc_str, p->n_shapes);

  for (size_t i = 0; texts && i < p->n_shapes; i++)
    texts[i] = oc_str_of(p->shapes[i]);
  if (texts)
    add_strings(l, "_dynamic_output_dims", texts, p->n_shapes);
  else
    l->failed = true;
}

bool emit_op_attrs(struct oc_emit_plan *p, const struct emit_op *e, struct oc_om_op *to)
{
  struct emit_attrs l = { .arena = &p->arena };
  const char *engine = engine_name(e);
  bool ok = true;

  for (const struct oc_attr *a = e->op->attrs; a && ok; a = a->next) {
    bool ours = strcmp(a->name, OC_ATTR_OUTPUT_NAMES) == 0 ||
                (e->constant && strcmp(a->name, "value") == 0);
    if (!ours)
      ok = set_own(p, emit_attr(&l, a->name, OC_OM_ATTR_INT), a);
  }
  if (e->constant)
    ok = ok && set_weight(p, emit_attr(&l, "value", OC_OM_ATTR_TENSOR), e);
  if (e->constant && p->profile >= 0)
    add_int(&l, "_root_weight_size", (int64_t)e->constant->size);
  if (p->profile < 0 && e == emit_net_output(p->graphs))
    add_output_shapes(p, &l);
  if (oc_op_is_input(e->op) && !oc_attr_find(e->op, "index"))
    add_int(&l, "index", 0);
  add_names(&l, e, false);
  add_names(&l, e, true);
  add_history(&l, e);
  if (engine)
    add_string(&l, "_ge_attr_op_kernel_lib_name", engine);
  if (e->op->keep)
    add_int(&l, "_keep_dtype", 1);
  to->attrs = l.v;
  to->n_attrs = l.n;
  return ok && !l.failed;
}

bool emit_desc_attrs(struct oc_emit_plan *p, const struct oc_tensor *t,
                     struct oc_om_desc *d, enum oc_dtype origin)
{
  struct emit_attrs l = { .arena = &p->arena };
  const char *format = oc_format_name(t->format);

  add_int(&l, "format_for_int", oc_om_format_number(format));
  add_string(&l, "origin_format", format);
  add_int(&l, "origin_format_for_int", oc_om_format_number(format));
  if (d->rank)
    add_ints(&l, "origin_shape", d->dims, d->rank);
  emit_attr(&l, "origin_shape_initialized", OC_OM_ATTR_BOOL)->u.i = t->shape.known_rank;
  if (origin != OC_DT_UNDEFINED)
    add_string(&l, "origin_data_type", oc_om_dtype_word(origin));
  d->attrs = l.v;
  d->n_attrs = l.n;
  return !l.failed;
}

bool emit_graph_attrs(struct oc_emit_plan *p, struct oc_om_graph *to)
{
  struct emit_attrs l = { .arena = &p->arena };

  emit_attr(&l, "_dynamic_shape_partitioned", OC_OM_ATTR_BOOL)->u.i = p->dynamic;
  if (p->opt.precision_mode)
    add_string(&l, "graph_precision_mode", p->opt.precision_mode);
  to->attrs = l.v;
  to->n_attrs = l.n;
  return !l.failed;
}
