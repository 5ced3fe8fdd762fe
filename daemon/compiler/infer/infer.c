/* The run: ops in order, sub-graphs on an explicit stack.
 *
 * A frame is a graph under way. When the op at hand has sub-graphs they are pushed one
 * after the other, each with its Data ops bound to the op's inputs; when the last one is
 * done the op's outputs are made from theirs (control.c), or, for loops whose carried
 * shapes changed, everything is gone through once more with the wider shapes. */
#include "infer/infer.h"

#include <stdlib.h>

#include "infer/infer_internal.h"

/* Followed elements of one run, 16 bytes each: a bound of 64 MB that no real model nears.
 */
static const size_t MOST_CELLS = 4u << 20;

static struct infer_scope *scope_new(struct infer *in, struct oc_graph *g)
{
  struct infer_scope *s = OC_NEW(&in->scratch, struct infer_scope);

  if (!s)
    return NULL;
  s->graph = g;
  s->known = OC_NEW_N(&in->scratch, struct infer_cells **, g->n_ops);
  return s->known ? s : NULL;
}

static int push(struct infer *in, struct oc_graph *g, struct oc_error *err)
{
  const char *cycle = NULL;

  if (in->depth == OC_MAX_NESTING)
    return oc_error_set(err, OC_E_LIMIT, "sub-graphs nested more than %d deep",
                        OC_MAX_NESTING);

  int rc = oc_graph_sort(g, &cycle);

  if (rc < 0)
    return oc_error_set(err, rc, "the graph has a cycle through '%s'",
                        cycle ? cycle : "?");

  struct infer_scope *s = scope_new(in, g);

  if (!s)
    return oc_error_set(err, OC_E_NOMEM, "out of memory during shape inference");
  in->frames[in->depth++] = (struct infer_frame){ .scope = s };
  return 0;
}

static void link_inputs(struct oc_op *op)
{
  for (uint32_t i = 0; i < op->n_inputs; i++) {
    const struct oc_input *from = &op->inputs[i];

    if (!from->from || from->from_out >= from->from->n_outputs)
      continue;

    const struct oc_tensor *t = &from->from->outputs[from->from_out].t;

    op->inputs[i].t.dtype = t->dtype;
    op->inputs[i].t.got = t->dtype;
    op->inputs[i].t.shape = t->shape;
    op->inputs[i].t.value = t->value;
  }
}

static enum oc_dtype first_dtype(const struct oc_op *op)
{
  for (uint32_t i = 0; i < op->n_inputs; i++)
    if (op->inputs[i].from && op->inputs[i].t.dtype != OC_DT_UNDEFINED)
      return op->inputs[i].t.dtype;
  return OC_DT_UNDEFINED;
}

/* What an op starts from: unknown shapes and the dtype of its first input. Of types that
 * are not known here, what the importer found in the model stays. */
static void reset_outputs(struct oc_op *op, bool known)
{
  enum oc_dtype dtype = first_dtype(op);

  for (uint32_t k = 0; k < op->n_outputs; k++) {
    struct oc_tensor *t = &op->outputs[k].t;

    t->value = NULL;
    if (known || t->dtype == OC_DT_UNDEFINED)
      t->dtype = dtype != OC_DT_UNDEFINED ? dtype : t->dtype;
    if (known)
      t->shape = oc_shape_unknown();
  }
}

static bool is_source(const struct oc_op *op)
{
  return oc_op_is_input(op) || oc_op_is_const(op) || oc_op_is(op, "FileConstant");
}

/* Dims without a name are told apart, so that they match themselves later. */
static void name_unknown_dims(struct infer *in, struct oc_tensor *t)
{
  int64_t dims[OC_MAX_RANK];
  bool changed = false;

  if (!t->shape.known_rank || t->shape.rank > OC_MAX_RANK)
    return;
  for (uint32_t i = 0; i < t->shape.rank; i++) {
    dims[i] = t->shape.dims[i];
    if (dims[i] == OC_DIM_UNKNOWN) {
      dims[i] = infer_fresh(in);
      changed = true;
    }
  }
  if (changed)
    t->shape = oc_shape_of(in->arena, dims, t->shape.rank);
}

static void infer_source(struct infer *in, struct oc_op *op)
{
  for (uint32_t k = 0; k < op->n_outputs; k++) {
    struct oc_tensor *t = &op->outputs[k].t;

    if (oc_op_is_const(op) && op->value) {
      t->dtype = op->value->dtype;
      t->shape = op->value->shape;
      t->value = op->value;
    }
    name_unknown_dims(in, t);
    t->got = t->dtype;
  }
  /* A Data op shows the same tensor as its input. */
  if (oc_op_is_input(op) && op->n_inputs > 0 && op->n_outputs > 0 &&
      !op->inputs[0].from) {
    op->inputs[0].t.dtype = op->outputs[0].t.dtype;
    op->inputs[0].t.got = op->outputs[0].t.dtype;
    op->inputs[0].t.shape = op->outputs[0].t.shape;
  }
}

static void report_unknown(struct infer *in, const struct oc_op *op)
{
  bool declared = true; /* by the model itself */

  in->result.n_unknown++;
  for (uint32_t k = 0; k < op->n_outputs; k++)
    declared &= op->outputs[k].t.shape.known_rank;
  if (in->findings && !declared)
    oc_finding_add(in->findings, OC_FINDING_SHAPE_UNKNOWN_OP, op->name, "type", op->type,
                   NULL);
}

static void finish_op(struct infer *in, struct oc_op *op)
{
  bool dynamic = false;

  for (uint32_t i = 0; i < op->n_inputs; i++)
    dynamic |= op->inputs[i].from && !oc_shape_is_static(op->inputs[i].t.shape);
  for (uint32_t k = 0; k < op->n_outputs; k++) {
    op->outputs[k].t.got = op->outputs[k].t.dtype;
    dynamic |= !oc_shape_is_static(op->outputs[k].t.shape);
  }
  op->dynamic_impl = dynamic;
  in->result.n_ops++;
  in->result.n_dynamic += dynamic;
}

static void run_rule(struct infer *in, struct oc_op *op)
{
  if (is_source(op)) {
    infer_source(in, op);
    finish_op(in, op);
    return;
  }
  in->conflict = false;
  in->rule = infer_find(in, op->type);
  reset_outputs(op, in->rule != NULL);
  if (!in->rule && op->n_outputs > 0)
    report_unknown(in, op);
  if (in->rule && in->rule->shape)
    in->rule->shape(in, op);
  if (in->rule && in->rule->value && !in->conflict && op->n_outputs > 0)
    in->rule->value(in, op);
  finish_op(in, op);
}

/* Starts the next sub-graph of `op`; 1 when one was pushed. */
static int enter_sub(struct infer *in, struct infer_frame *f, struct oc_op *op,
                     struct oc_error *err)
{
  if (f->next_sub == 0 && f->round == 0) {
    link_inputs(op);
    f->subs = OC_NEW_N(&in->scratch, struct infer_scope *, op->n_subgraphs);
    if (!f->subs)
      return oc_error_set(err, OC_E_NOMEM, "out of memory during shape inference");
  }
  if (f->next_sub == op->n_subgraphs)
    return 0;

  uint32_t sub = f->next_sub++;
  int rc = push(in, op->subgraphs[sub].graph, err);

  if (rc < 0)
    return rc;
  f->subs[sub] = in->frames[in->depth - 1].scope;
  infer_control_enter(in, op, sub);
  return 1;
}

static int step(struct infer *in, struct oc_error *err)
{
  struct infer_frame *f = &in->frames[in->depth - 1];

  if (f->next == f->scope->graph->n_ops) {
    in->depth--;
    return 0;
  }

  struct oc_op *op = f->scope->graph->ops[f->next];

  if (op->n_subgraphs > 0) {
    int rc = enter_sub(in, f, op, err);

    if (rc != 0)
      return rc < 0 ? rc : 0;
    in->conflict = false;
    if (f->round == 0)
      reset_outputs(op, true);
    if (infer_control_leave(in, op)) {
      f->round++;
      f->next_sub = 0;
      return 0;
    }
    finish_op(in, op);
  } else {
    link_inputs(op);
    run_rule(in, op);
  }
  f->next++;
  f->next_sub = 0;
  f->round = 0;
  f->carried = NULL;
  f->n_carried = 0;
  return 0;
}

static int run(struct oc_graph *g, struct oc_findings *findings,
               struct oc_infer_result *ret, struct oc_error *err)
{
  struct infer *in = calloc(1, sizeof(*in));

  if (!in)
    return oc_error_set(err, OC_E_NOMEM, "out of memory during shape inference");
  oc_arena_init(&in->scratch, 0);
  in->root = g;
  in->arena = g->arena;
  in->findings = findings;
  in->cells_left = MOST_CELLS;

  int rc = push(in, g, err);

  while (rc == 0 && in->depth > 0)
    rc = step(in, err);
  if (rc == 0 && (g->arena->failed || in->scratch.failed))
    rc = oc_error_set(err, OC_E_NOMEM, "out of memory during shape inference");
  if (rc == 0 && ret) {
    in->result.input_shape_hint = infer_input_hint(g);
    *ret = in->result;
  }
  oc_map_clear(&in->rules);
  oc_map_clear(&in->symbols);
  oc_map_clear(&in->defs);
  oc_arena_clear(&in->scratch);
  free(in);
  return rc;
}

/* Names of the inputs without a static shape of which --input_shape says nothing: "x,
 * mask". */
static const char *dynamic_inputs(struct oc_graph *g, const char *text)
{
  const char *list = "";

  for (uint32_t i = 0; i < g->n_ops && list; i++) {
    const struct oc_op *op = g->ops[i];

    if (oc_op_is_input(op) && op->n_outputs > 0 &&
        !oc_shape_is_static(op->outputs[0].t.shape) && !infer_shape_given(text, op->name))
      list = oc_arena_printf(g->arena, "%s%s%s", list, *list ? ", " : "", op->name);
  }
  return list ? list : "";
}

int oc_infer(struct oc_graph *g, const struct oc_infer_options *options,
             struct oc_findings *findings, struct oc_infer_result *ret,
             struct oc_error *err)
{
  const char *text = options && options->input_shape ? options->input_shape : "";
  struct oc_infer_result result = { 0 };
  int rc = *text ? oc_infer_apply_input_shape(g, text, findings, err) : 0;

  if (rc == 0)
    rc = run(g, findings, &result, err);
  if (rc < 0)
    return rc;
  const char *open = result.input_shape_hint ? dynamic_inputs(g, text) : "";
  if (!*open || (options && options->profiles))
    result.input_shape_hint = NULL;
  if (result.input_shape_hint && findings)
    oc_finding_add(findings, OC_FINDING_INPUT_DYNAMIC, result.input_shape_hint, "inputs",
                   open, NULL)
        ->flag = "input_shape";
  if (ret)
    *ret = result;
  return 0;
}

int oc_infer_again(struct oc_graph *g, struct oc_infer_result *ret, struct oc_error *err)
{
  return run(g, NULL, ret, err);
}

int oc_infer_told(struct oc_graph *g, struct oc_findings *findings, struct oc_error *err)
{
  return run(g, findings, NULL, err);
}
