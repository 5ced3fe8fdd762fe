#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shipped/shipped.h"

static struct oc_optable *shipped;

void tables_load(void)
{
  struct oc_error err = { 0 };

  shipped = oc_shipped_tables(NULL, &err);
  ck_assert_msg(shipped != NULL, "%s", err.msg);
}

void tables_free(void)
{
  oc_optable_free(shipped);
  shipped = NULL;
}

void bench_init(struct bench *b, const char *soc, const char *v1, const char *v2)
{
  memset(b, 0, sizeof *b);
  oc_arena_init(&b->arena, 0);
  oc_findings_init(&b->findings, &b->arena);
  b->g = oc_graph_new(&b->arena, "g");
  b->g->model_format = "onnx";
  b->tables = shipped;
  const struct oc_soc *s = oc_optable_soc(shipped, soc);
  ck_assert_msg(s != NULL, "%s", soc);
  b->options.optable = shipped;
  b->options.table = s->table;
  b->options.soc = soc;
  b->options.soc_bf16 = s->bf16;
  b->options.cube = oc_optable_cube(shipped);
  ck_assert_int_eq(oc_precision_mode(v1, v2, NULL, &b->findings, &b->options.mode), 0);
}

void bench_clear(struct bench *b)
{
  oc_custom_clear(b->custom);
  oc_mix_clear(b->mix);
  oc_arena_clear(&b->arena);
}

static void fill(struct oc_tensor *t, const char *name, enum oc_dtype d)
{
  static const int64_t dims[] = { 1, 3, 8, 8 };

  t->name = name;
  t->dtype = t->want = t->got = d;
  t->format = OC_FMT_NCHW;
  t->shape = (struct oc_shape){ true, 4, dims };
}

struct oc_op *bench_op(struct bench *b, const char *name, const char *type,
                       enum oc_dtype d, unsigned n, struct oc_op *const *from)
{
  const struct oc_ir *ir = oc_optable_ir(b->tables, type);
  struct oc_op *op = oc_graph_add(b->g, name, type, n, 1);

  ck_assert_ptr_nonnull(op);
  for (unsigned i = 0; i < n; i++) {
    fill(&op->inputs[i].t, ir && i < ir->n_inputs ? ir->inputs[i].name : NULL, d);
    if (from && from[i])
      oc_op_link(op, i, from[i], 0);
  }
  fill(&op->outputs[0].t, ir && ir->n_outputs ? ir->outputs[0].name : "y", d);
  return op;
}

struct oc_op *bench_data(struct bench *b, const char *name, enum oc_dtype d)
{
  return bench_op(b, name, "Data", d, 1, NULL);
}

struct oc_op *bench_unary(struct bench *b, const char *name, const char *type,
                          struct oc_op *from)
{
  struct oc_op *list[] = { from };
  return bench_op(b, name, type, from->outputs[0].t.dtype, 1, list);
}

struct oc_op *bench_binary(struct bench *b, const char *name, const char *type,
                           struct oc_op *p, struct oc_op *q)
{
  struct oc_op *list[] = { p, q };
  return bench_op(b, name, type, p->outputs[0].t.dtype, 2, list);
}

struct oc_op *bench_output(struct bench *b, struct oc_op *from)
{
  struct oc_op *op = oc_graph_add(b->g, "Node_Output", "NetOutput", 1, 0);

  fill(&op->inputs[0].t, "x0", from->outputs[0].t.dtype);
  oc_op_link(op, 0, from, 0);
  return op;
}

int bench_keep(struct bench *b, const char *text)
{
  ck_assert_int_eq(
      oc_keep_parse(&b->arena, text, strlen(text), 0, &b->findings, &b->keep), 0);
  int rc = oc_precision_mark(b->g, b->keep, &b->arena, &b->findings, &b->marks);
  b->options.keep = b->keep;
  b->options.marks = b->marks;
  return rc;
}

void bench_custom(struct bench *b, const char *text)
{
  ck_assert_int_eq(
      oc_custom_parse(&b->arena, text, strlen(text), 0, &b->findings, &b->custom), 0);
  b->options.custom = b->custom;
}

void bench_mix(struct bench *b, const char *text)
{
  ck_assert_int_eq(oc_mix_parse(&b->arena, text, strlen(text), 0, &b->findings, &b->mix),
                   0);
  b->options.mix = b->mix;
}

void bench_resolve(struct bench *b)
{
  struct oc_error err = { 0 };

  ck_assert_msg(oc_precision_resolve(b->g, &b->options, &b->findings, &b->result, &err) ==
                    0,
                "%s", err.msg);
}

const struct oc_finding *bench_finding(const struct bench *b, enum oc_finding_id id)
{
  for (size_t i = 0; i < b->findings.n; i++)
    if (b->findings.items[i].id == id)
      return &b->findings.items[i];
  return NULL;
}

const char *finding_arg(const struct oc_finding *f, const char *name)
{
  for (size_t i = 0; f && i < f->n_args; i++)
    if (oc_streq(f->args[i].name, name))
      return f->args[i].value;
  return "";
}

const struct oc_op_result *bench_result(const struct bench *b, const struct oc_op *op)
{
  for (size_t i = 0; i < b->result->n_ops; i++)
    if (b->result->ops[i].op == op)
      return &b->result->ops[i];
  ck_abort_msg("no result for '%s'", op->name);
  return NULL;
}

enum oc_dtype out_dtype(const struct oc_op *op)
{
  return op->outputs[0].t.got;
}
