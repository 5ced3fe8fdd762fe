/* Graphs and findings as text. */
#include "graph_text.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onnx_text.h"

enum { MOST = 1 << 20 };

void import_bytes_with(import_fn fn, const void *p, size_t len,
                       const struct oc_import_options *opt, struct imported *ret)
{
  struct oc_import_options o = opt ? *opt : (struct oc_import_options){ 0 };
  struct oc_error err = { 0 };
  size_t at = 0;
  o.model = p;
  o.model_len = len;
  oc_arena_init(&ret->arena, 0);
  oc_findings_init(&ret->findings, &ret->arena);
  ret->graph = NULL;
  ret->rc = fn(&o, &ret->arena, &ret->graph, &ret->findings, &err);
  ck_assert_int_eq(ret->rc, err.code);
  ck_assert((ret->rc == 0) == (ret->graph != NULL));
  ret->findings_text[0] = '\0';
  for (size_t i = 0; i < ret->findings.n && at < sizeof(ret->findings_text); i++) {
    const struct oc_finding *f = &ret->findings.items[i];
    at += (size_t)snprintf(ret->findings_text + at, sizeof(ret->findings_text) - at,
                           "%s%s(%s)", i ? " " : "", oc_finding_info(f->id)->id,
                           f->subject);
  }
}

void import_bytes(const void *p, size_t len, const struct oc_import_options *opt,
                  struct imported *ret)
{
  import_bytes_with(oc_import_onnx, p, len, opt, ret);
}

void import_text(const char *text, const struct oc_import_options *opt,
                 struct imported *ret)
{
  oc_buf_init(&ret->model, MOST);
  onnx_text(text, &ret->model);
  import_bytes(ret->model.data, ret->model.len, opt, ret);
}

void imported_clear(struct imported *im)
{
  oc_arena_clear(&im->arena);
  oc_buf_clear(&im->model);
}

static void attr_text(const struct oc_attr *a, struct oc_buf *out)
{
  oc_buf_printf(out, " %s=", a->name);
  switch (a->kind) {
  case OC_ATTR_INT: oc_buf_printf(out, "%lld", (long long)a->u.i); return;
  case OC_ATTR_FLOAT: oc_buf_printf(out, "%g", (double)a->u.f); return;
  case OC_ATTR_BOOL: oc_buf_puts(out, a->u.b ? "true" : "false"); return;
  case OC_ATTR_STRING: oc_buf_printf(out, "%.*s", (int)a->u.s.len, a->u.s.p); return;
  case OC_ATTR_DTYPE: oc_buf_puts(out, oc_dtype_short(a->u.dtype)); return;
  case OC_ATTR_VALUE: oc_buf_puts(out, "<value>"); return;
  default: break;
  }
  oc_buf_putc(out, '[');
  for (size_t i = 0; i < a->n; i++) {
    if (i)
      oc_buf_putc(out, ',');
    if (a->kind == OC_ATTR_INTS)
      oc_buf_printf(out, "%lld", (long long)a->u.ints[i]);
    else if (a->kind == OC_ATTR_FLOATS)
      oc_buf_printf(out, "%g", (double)a->u.floats[i]);
    else
      oc_buf_printf(out, "%.*s", (int)a->u.strings[i].len, a->u.strings[i].p);
  }
  oc_buf_putc(out, ']');
}

static int by_name(const void *a, const void *b)
{
  return strcmp((*(const struct oc_attr *const *)a)->name,
                (*(const struct oc_attr *const *)b)->name);
}

static void attrs_text(const struct oc_op *op, struct oc_buf *out)
{
  const struct oc_attr *list[64];
  size_t n = 0;
  for (const struct oc_attr *a = op->attrs; a && n < 64; a = a->next)
    list[n++] = a;
  qsort(list, n, sizeof(list[0]), by_name);
  for (size_t i = 0; i < n; i++)
    attr_text(list[i], out);
}

static void const_text(const struct oc_op *op, struct oc_buf *out)
{
  int64_t v = 0;
  oc_buf_printf(out, " %s{", oc_dtype_short(op->value->dtype));
  for (size_t i = 0; i < 8 && oc_value_int(op->value, i, &v); i++)
    oc_buf_printf(out, "%s%lld", i ? "," : "", (long long)v);
  oc_buf_putc(out, '}');
}

static void op_text(const struct oc_op *op, struct oc_buf *out)
{
  oc_buf_printf(out, "%s = %s(", op->name, op->type);
  const char *comma = "";
  for (uint32_t i = 0; i < op->n_inputs; i++) {
    const struct oc_input *in = &op->inputs[i];
    if (!in->from)
      continue;
    oc_buf_printf(out, "%s%s=%s", comma, in->t.name, in->from->name);
    if (in->from_out)
      oc_buf_printf(out, ":%u", (unsigned)in->from_out);
    comma = ", ";
  }
  oc_buf_putc(out, ')');
  if (op->value)
    const_text(op, out);
  attrs_text(op, out);
  for (uint32_t i = 0; i < op->n_origin_names; i++)
    oc_buf_printf(out, " <%s>", op->origin_names[i]);
  for (uint32_t i = 0; i < op->n_subgraphs; i++)
    oc_buf_printf(out, " {%s}", op->subgraphs[i].name);
  oc_buf_putc(out, '\n');
}

void graph_text(const struct oc_graph *g, bool all, struct oc_buf *out)
{
  for (uint32_t i = 0; i < g->n_ops; i++) {
    const struct oc_op *op = g->ops[i];
    bool end = oc_op_is(op, "Data") || oc_op_is(op, "NetOutput") || oc_op_is_const(op);
    if (all || !end)
      op_text(op, out);
  }
}
