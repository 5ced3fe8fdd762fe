/* Judging one op: one column of its table is chosen, tensor after tensor.
 *
 * The candidate set starts with all columns (or with those a customize_dtypes entry
 * leaves) and is narrowed by the inputs, constants last, then by the outputs, then by
 * formats. Its first element is the column. A tensor for which nothing fits leaves the
 * set alone, so the first tensor dominates. */
#include "precision_internal.h"

#include <stdlib.h>
#include <string.h>

/* Inputs fed by these, or by nothing, are looked at behind all others. */
#define LATE 255u

static bool comes_late(const struct oc_input *in)
{
  return !in->from || oc_op_is_const(in->from) || oc_op_is(in->from, "Variable");
}

/* Sort keys are index or index + 255; with more than 255 inputs two may be equal, and the
 * later one is then dropped, as the vendor does. */
static uint32_t order_many(const struct oc_op *op, uint32_t *order)
{
  uint32_t n = 0, n_keys = op->n_inputs + LATE;
  uint32_t *slot = calloc(n_keys, sizeof *slot);

  if (!slot)
    return 0;
  for (uint32_t i = 0; i < op->n_inputs; i++) {
    uint32_t key = comes_late(&op->inputs[i]) ? i + LATE : i;
    if (!slot[key])
      slot[key] = i + 1;
  }
  for (uint32_t k = 0; k < n_keys; k++)
    if (slot[k])
      order[n++] = slot[k] - 1;
  free(slot);
  return n;
}

static uint32_t order_inputs(const struct oc_op *op, uint32_t *order)
{
  uint32_t n = 0;

  if (op->n_inputs > LATE)
    return order_many(op, order);
  for (unsigned late = 0; late < 2; late++)
    for (uint32_t i = 0; i < op->n_inputs; i++)
      if (comes_late(&op->inputs[i]) == (bool)late)
        order[n++] = i;
  return n;
}

static void record_step(struct oc_run *r, const struct oc_step *s)
{
  struct oc_tensor *t = oc_tensor_at(s->n->op, s->tensor);
  struct oc_reason *why = oc_reason_add(r, t, s->rule);

  t->want = s->want;
  if (why) {
    why->subject = s->rule_subject;
    if (s->rule == OC_RULE_KEEP) {
      why->flag = "keep_dtype";
      why->entry = s->n->op->keep_entry;
    }
  }
  why = oc_reason_add(r, t, s->want_rule);
  if (why) {
    why->dtype = (uint8_t)s->want;
    why->forbidden = (uint8_t)s->forbid;
    why->subject = s->want_subject;
  }
  why = oc_reason_add(r, t, s->match);
  if (why && s->s->n)
    why->dtype = s->c[s->s->v[0]];
  if (why && (s->match != OC_RULE_MATCH))
    why->offered = oc_offered(s->n, s->tensor);
}

struct judging {
  struct oc_run *r;
  struct oc_op_info *n;
  const struct oc_world *w;
  bool record;
  bool sticky;
  struct oc_verdict *v;
};

static int one_tensor(struct judging *j, uint32_t tensor)
{
  struct oc_step step = {
    .r = j->r,
    .n = j->n,
    .w = j->w,
    .s = &j->r->set,
    .sticky = &j->sticky,
    .tensor = tensor,
    .is_input = tensor < j->n->op->n_inputs,
    .t = oc_tensor_at(j->n->op, tensor),
    .c = oc_columns_of(j->n, tensor),
  };
  int rc = oc_rule_apply(&step);

  if (!rc && j->record)
    record_step(j->r, &step);
  return rc;
}

/* The set is filled at most once per phase: a rule that empties it starves the rest. */
static int one_phase(struct judging *j, const uint32_t *tensors, uint32_t n)
{
  if (n && !j->r->set.n)
    oc_set_all(&j->r->set, j->n->variant->n_columns);
  for (uint32_t i = 0; i < n; i++) {
    int rc = one_tensor(j, tensors[i]);
    if (rc)
      return rc;
  }
  return 0;
}

static int dtype_pass(struct judging *j, const uint32_t *order, uint32_t n_in,
                      uint32_t n_out, bool *ret_formats)
{
  *ret_formats = true;
  if (j->n->promoted) {
    *ret_formats = oc_promote_apply(j->r, j->n, j->record);
    return 0;
  }
  int rc = one_phase(j, order, n_in);
  return rc ? rc : one_phase(j, order + n_in, n_out);
}

static void choose(struct judging *j, const uint32_t *order, uint32_t n_order,
                   bool formats)
{
  struct oc_run *r = j->r;
  uint32_t before = r->set.n ? r->set.v[0] : 0;
  bool had = r->set.n != 0;

  if (formats)
    oc_formats_apply(j->n, &r->set, order, n_order);
  if (r->set.n)
    j->v->column = r->set.v[0];
  else if (r->first.n)
    j->v->column = r->first.v[0];
  else
    j->v->column = 0;
  j->v->by_format = had && (uint32_t)j->v->column != before;
}

static void judge_columns(struct judging *j)
{
  struct oc_run *r = j->r;
  const struct oc_custom_entry *custom = oc_world_custom(j->n, j->w);
  const struct oc_op *op = j->n->op;
  uint32_t small[64], *order = small;
  bool formats;

  r->set.n = r->first.n = 0;
  if (custom) {
    bool constrains = oc_custom_columns(j->n, custom, &r->set);
    if (!constrains || !r->set.n) {
      j->v->failed = true;
      return;
    }
    memcpy(r->first.v, r->set.v, r->set.n * sizeof *r->set.v);
    r->first.n = r->set.n;
  }
  if (j->n->n_tensors > sizeof small / sizeof *small) {
    order = malloc(j->n->n_tensors * sizeof *order);
    if (!order) {
      r->failed = true;
      return;
    }
  }
  uint32_t n_in = order_inputs(op, order);
  for (uint32_t i = 0; i < op->n_outputs; i++)
    order[n_in + i] = op->n_inputs + i;
  if (dtype_pass(j, order, n_in, op->n_outputs, &formats))
    j->v->failed = true;
  else
    choose(j, order, n_in + op->n_outputs, formats);
  if (order != small)
    free(order);
}

enum oc_dtype oc_verdict_dtype(const struct oc_op_info *n, const struct oc_verdict *v,
                               uint32_t tensor)
{
  if (v->engine == OC_ENGINE_NONE || v->column < 0)
    return oc_tensor_at(n->op, tensor)->dtype;
  return (enum oc_dtype)oc_columns_of(n, tensor)[v->column];
}

void oc_judge(struct oc_run *r, struct oc_op_info *n, const struct oc_world *w,
              bool record, struct oc_verdict *ret)
{
  oc_engine_check(r, n, w, ret, &r->spare);
  if (ret->engine == OC_ENGINE_NONE || oc_op_is(n->op, "TransData"))
    return;
  const struct oc_attr *sticky = oc_attr_find(n->op, "_force_fp32_to_fp16");
  struct judging j = {
    .r = r, .n = n, .w = w, .record = record, .sticky = sticky != NULL, .v = ret
  };
  judge_columns(&j);
}
