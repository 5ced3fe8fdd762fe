/* A graph as lines of text, for people and for comparing two states of it:
 *
 *   conv1 = Conv2D(x=input:0, filter=w:0) -> y float32[1,64,112,112] {strides=[1,1,2,2]}
 *
 * Ops in the order of the graph, attributes by name, sub-graphs behind the graph that
 * holds them. Unknown dims are "?"; "as float16" is what the judge made of a dtype. The
 * payload of constants is not shown, their small integers are. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "graph/graph.h"

/* Elements of an attribute or constant that are shown. */
#define SHOWN 16

static void put_shape(struct oc_buf *out, struct oc_shape s)
{
  oc_buf_puts(out, s.known_rank ? "[" : "[...");
  for (uint32_t i = 0; i < s.rank && s.known_rank; i++) {
    oc_buf_puts(out, i ? "," : "");
    if (s.dims[i] >= 0)
      oc_buf_printf(out, "%" PRId64, s.dims[i]);
    else
      oc_buf_puts(out, "?");
  }
  oc_buf_puts(out, "]");
}

static void put_value(struct oc_buf *out, const struct oc_value *v)
{
  size_t n = oc_value_count(v);
  int64_t one = 0;

  if (n > SHOWN || oc_dtype_is_float(v->dtype) || (n > 0 && !oc_value_int(v, 0, &one))) {
    oc_buf_printf(out, "<%zu bytes>", v->len);
    return;
  }
  oc_buf_puts(out, "[");
  for (size_t i = 0; i < n && oc_value_int(v, i, &one); i++)
    oc_buf_printf(out, "%s%" PRId64, i ? "," : "", one);
  oc_buf_puts(out, "]");
}

static void put_str(struct oc_buf *out, struct oc_str s)
{
  oc_buf_puts(out, "'");
  oc_buf_append(out, s.p, s.len);
  oc_buf_puts(out, "'");
}

static void put_list(struct oc_buf *out, const struct oc_attr *a)
{
  oc_buf_puts(out, "[");
  for (size_t i = 0; i < a->n && i < SHOWN; i++) {
    oc_buf_puts(out, i ? "," : "");
    if (a->kind == OC_ATTR_INTS)
      oc_buf_printf(out, "%" PRId64, a->u.ints[i]);
    else if (a->kind == OC_ATTR_FLOATS)
      oc_buf_printf(out, "%.9g", (double)a->u.floats[i]);
    else
      put_str(out, a->u.strings[i]);
  }
  oc_buf_puts(out, a->n > SHOWN ? ",...]" : "]");
}

static void put_attr(struct oc_buf *out, const struct oc_attr *a)
{
  oc_buf_printf(out, "%s=", a->name);
  switch (a->kind) {
  case OC_ATTR_INT: oc_buf_printf(out, "%" PRId64, a->u.i); break;
  case OC_ATTR_FLOAT: oc_buf_printf(out, "%.9g", (double)a->u.f); break;
  case OC_ATTR_BOOL: oc_buf_puts(out, a->u.b ? "true" : "false"); break;
  case OC_ATTR_STRING: put_str(out, a->u.s); break;
  case OC_ATTR_DTYPE: oc_buf_puts(out, oc_dtype_name(a->u.dtype)); break;
  case OC_ATTR_VALUE: put_value(out, a->u.value); break;
  default: put_list(out, a); break;
  }
}

static int by_name(const void *a, const void *b)
{
  return strcmp((*(const struct oc_attr *const *)a)->name,
                (*(const struct oc_attr *const *)b)->name);
}

static void put_attrs(struct oc_buf *out, const struct oc_op *op)
{
  size_t n = 0;

  for (const struct oc_attr *a = op->attrs; a; a = a->next)
    n++;
  if (!n)
    return;
  auto_free const struct oc_attr **list = calloc(n, sizeof(const struct oc_attr *));
  if (!list) {
    out->failed = true;
    return;
  }
  n = 0;
  for (const struct oc_attr *a = op->attrs; a; a = a->next)
    list[n++] = a;
  qsort(list, n, sizeof(const struct oc_attr *), by_name);
  oc_buf_puts(out, " {");
  for (size_t i = 0; i < n; i++) {
    oc_buf_puts(out, i ? " " : "");
    put_attr(out, list[i]);
  }
  oc_buf_puts(out, "}");
}

static void put_op(struct oc_buf *out, const struct oc_op *op)
{
  oc_buf_printf(out, "%s = %s(", op->name, op->type);
  for (uint32_t i = 0, n = 0; i < op->n_inputs; i++) {
    const struct oc_input *in = &op->inputs[i];
    if (in->from)
      oc_buf_printf(out, "%s%s=%s:%u", n++ ? ", " : "", in->t.name ? in->t.name : "?",
                    in->from->name, in->from_out);
  }
  oc_buf_puts(out, ")");
  for (uint32_t i = 0; i < op->n_outputs; i++) {
    const struct oc_tensor *t = &op->outputs[i].t;
    oc_buf_printf(out, "%s%s %s", i ? ", " : " -> ", t->name ? t->name : "?",
                  oc_dtype_name(t->dtype));
    put_shape(out, t->shape);
    if (t->got != OC_DT_UNDEFINED && t->got != t->dtype)
      oc_buf_printf(out, " as %s", oc_dtype_name(t->got));
  }
  put_attrs(out, op);
  if (oc_op_is_const(op) && op->value) {
    oc_buf_puts(out, " = ");
    put_value(out, op->value);
  }
  for (uint32_t i = 0; i < op->n_origin_names; i++)
    oc_buf_printf(out, "%s%s", i ? ", " : " <- ", op->origin_names[i]);
  oc_buf_puts(out, op->keep ? " keep\n" : "\n");
}

int oc_graph_write_text(const struct oc_graph *root, struct oc_buf *out)
{
  size_t room = 16, n = 1;
  const struct oc_graph **list = calloc(room, sizeof(const struct oc_graph *));

  if (list)
    list[0] = root;
  for (size_t i = 0; list && i < n; i++) {
    const struct oc_graph *g = list[i];
    oc_buf_printf(out, "%sgraph %s\n", i ? "\n" : "", g->name ? g->name : "?");
    for (uint32_t k = 0; k < g->n_ops; k++) {
      put_op(out, g->ops[k]);
      for (uint32_t s = 0; s < g->ops[k]->n_subgraphs; s++) {
        if (n == room) {
          const struct oc_graph **grown = reallocarray(list, 2 * room, sizeof *grown);
          if (!grown) {
            free(list);
            return OC_E_NOMEM;
          }
          list = grown;
          room *= 2;
        }
        list[n++] = g->ops[k]->subgraphs[s].graph;
      }
    }
  }
  int rc = list && !out->failed ? 0 : OC_E_NOMEM;
  free(list);
  return rc;
}
