/* The walk: an estimate for every tensor, and a finding for every op that computes in
 * float16 and should not. One finding per op, the plainest cause first. */
#include "risk/risk.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "risk_internal.h"

#define MAX_PER_ID     100u
#define SMALL_CONSTANT 1024u
#define MANY_FLUSHED   0.01 /* of a weight's elements */

struct risk {
  struct oc_graph *g;
  struct oc_findings *fs;
  enum oc_risk_depth depth;
  struct oc_estimate *all;          /* outputs of all ops */
  size_t *first;                    /* per op: index of its first output */
  struct oc_const_stats *constants; /* per op, filled for constants */
  uint32_t counts[OC_FINDING_COUNT];
  uint32_t n_ops;
};

static const char *line_of(struct risk *r, const struct oc_op *op)
{
  (void)r;
  return op->n_origin_names ? op->origin_names[0] : op->name;
}

static bool told(struct risk *r, enum oc_finding_id id, const struct oc_op *op,
                 const char *tensor, const char *value, const char *count)
{
  if (r->counts[id]++ >= MAX_PER_ID)
    return true;
  oc_finding_add(r->fs, id, op->name, "tensor", tensor ? tensor : "a tensor", "value",
                 value, "count", count, "type", op->type, "line", line_of(r, op), NULL);
  return true;
}

static const char *number(struct risk *r, double v)
{
  return oc_arena_printf(r->g->arena, "%.4g", v);
}

static bool in_half(const struct oc_tensor *t)
{
  return t->got == OC_DT_F16;
}

static const struct oc_estimate *input_estimate(const struct risk *r,
                                                const struct oc_op *op, uint32_t i)
{
  const struct oc_input *in = &op->inputs[i];

  return in->from && in->from->mark ? &r->all[r->first[in->from->mark - 1] + in->from_out]
                                    : NULL;
}

/* Constants that float16 cannot hold, or holds as nothing. */
static bool check_constants(struct risk *r, const struct oc_op *op)
{
  for (uint32_t i = 0; i < op->n_inputs; i++) {
    const struct oc_op *c = oc_risk_constant_of(&op->inputs[i]);
    const struct oc_const_stats *s = c && c->mark ? &r->constants[c->mark - 1] : NULL;
    if (!s || !s->n || !in_half(&op->inputs[i].t))
      continue;
    const char *count = oc_arena_printf(
        r->g->arena, "%llu of %llu", (unsigned long long)(s->over ? s->over : s->flush),
        (unsigned long long)s->n);
    if (s->over)
      return told(r, OC_FINDING_CONSTANT_OUT_OF_FP16_RANGE, op, c->name,
                  number(r, s->max_abs), count);
    if (r->depth == OC_RISK_ALL && s->n >= 16 &&
        (double)s->flush > MANY_FLUSHED * (double)s->n)
      return told(r, OC_FINDING_RISK_WEIGHTS_VANISH, op, c->name,
                  number(r, s->estimate.rms), count);
  }
  return false;
}

static bool may_be_small(const struct oc_op *op)
{
  return strncmp(op->type, "Softmax", 7) == 0 || oc_op_is(op, "Sigmoid");
}

/* What leaves the range, or vanishes, among the op's own tensors. */
static bool check_range(struct risk *r, const struct oc_op *op, const struct oc_tensor *t,
                        const struct oc_estimate *e, bool constant)
{
  if (!in_half(t) || !e)
    return false;
  if (e->peak > OC_F16_MAX)
    return told(r,
                strncmp(op->type, "Exp", 3) == 0 ? OC_FINDING_RISK_EXP
                                                 : OC_FINDING_RISK_OVERFLOW,
                op, t->name, number(r, e->peak), "");
  if (!constant && e->rms > 0 && e->rms < OC_F16_NORMAL && !may_be_small(op))
    return told(r, OC_FINDING_RISK_UNDERFLOW, op, t->name, number(r, e->rms), "");
  return false;
}

static bool check_sums(struct risk *r, const struct oc_op *op)
{
  const struct oc_estimate *e = op->n_inputs ? input_estimate(r, op, 0) : NULL;
  bool reduces =
      strncmp(op->type, "ReduceSum", 9) == 0 || strncmp(op->type, "ReduceMean", 10) == 0;

  if (!e || !in_half(&op->inputs[0].t))
    return false;
  double n = oc_risk_length(op);
  if (reduces && e->positive && n * e->rms > OC_F16_MAX)
    return told(r, OC_FINDING_RISK_LONG_SUM, op, op->inputs[0].t.name,
                number(r, n * e->rms), number(r, n));
  bool adds = oc_op_is(op, "Add") || oc_op_is(op, "Sub") || oc_op_is(op, "AddV2");
  const struct oc_estimate *out = &r->all[r->first[op->mark - 1]];
  if (adds && (out->small > 0 || e->small > 0))
    return told(r, OC_FINDING_RISK_ABSORBED, op, op->inputs[0].t.name,
                number(r, out->small > 0 ? out->small : e->small), "");
  return false;
}

static bool check_op(struct risk *r, const struct oc_op *op)
{
  if (oc_op_is(op, "Cast") || oc_op_is_const(op) || !op->n_outputs)
    return false;
  if (check_constants(r, op))
    return true;
  if (r->depth != OC_RISK_ALL)
    return false;
  if (check_sums(r, op))
    return true;
  for (uint32_t i = 0; i < op->n_outputs; i++)
    if (check_range(r, op, &op->outputs[i].t, &r->all[r->first[op->mark - 1] + i], false))
      return true;
  for (uint32_t i = 0; i < op->n_inputs; i++)
    if (check_range(r, op, &op->inputs[i].t, input_estimate(r, op, i),
                    oc_risk_constant_of(&op->inputs[i]) != NULL))
      return true;
  return false;
}

static int estimate_op(struct risk *r, const struct oc_op *op)
{
  struct oc_estimate few[16], *in = few;
  struct oc_estimate *out = &r->all[r->first[op->mark - 1]];

  if (oc_op_is_const(op) && op->value) {
    struct oc_const_stats *s = &r->constants[op->mark - 1];
    uint64_t most = r->depth == OC_RISK_ALL ? UINT64_MAX : SMALL_CONSTANT;
    if (oc_risk_constant(op->value, most, s) && op->n_outputs)
      out[0] = s->estimate;
    return 0;
  }
  if (r->depth != OC_RISK_ALL)
    return 0;
  if (op->n_inputs > sizeof few / sizeof *few) {
    in = calloc(op->n_inputs, sizeof *in);
    if (!in)
      return OC_E_NOMEM;
  } else {
    memset(few, 0, sizeof few);
  }
  for (uint32_t i = 0; i < op->n_inputs; i++) {
    const struct oc_estimate *e = input_estimate(r, op, i);
    if (e)
      in[i] = *e;
  }
  oc_risk_estimate(op, in, out);
  if (oc_op_is(op, "Data") && op->n_outputs)
    out[0] = (struct oc_estimate){ .rms = 1, .peak = 4 };
  if (in != few)
    free(in);
  return 0;
}

static void tell_rest(struct risk *r)
{
  for (unsigned id = 0; id < OC_FINDING_COUNT; id++) {
    if (r->counts[id] <= MAX_PER_ID)
      continue;
    const struct oc_finding_info *info = oc_finding_info((enum oc_finding_id)id);
    const char *more = oc_arena_printf(r->g->arena, "%u", r->counts[id] - MAX_PER_ID);
    oc_finding_add(r->fs, OC_FINDING_FINDINGS_CAPPED, info->id, "n", more, NULL)
        ->severity = info->severity;
  }
}

static int walk(struct risk *r)
{
  int rc = 0;

  for (uint32_t i = 0; i < r->g->n_ops && !rc; i++)
    rc = estimate_op(r, r->g->ops[i]);
  for (uint32_t i = 0; i < r->g->n_ops && !rc; i++)
    r->n_ops += check_op(r, r->g->ops[i]);
  tell_rest(r);
  return rc;
}

int oc_risk_analyse(struct oc_graph *g, enum oc_risk_depth depth, struct oc_findings *fs,
                    struct oc_risk_result *ret, struct oc_error *err)
{
  struct risk r = { .g = g, .fs = fs, .depth = depth };
  size_t n = 0;
  int rc = OC_E_NOMEM;

  for (uint32_t i = 0; i < g->n_ops; i++)
    n += g->ops[i]->n_outputs;
  r.all = calloc(n + 1, sizeof *r.all);
  r.first = calloc((size_t)g->n_ops + 1, sizeof *r.first);
  r.constants = calloc((size_t)g->n_ops + 1, sizeof *r.constants);
  if (r.all && r.first && r.constants) {
    n = 0;
    for (uint32_t i = 0; i < g->n_ops; i++) {
      g->ops[i]->mark = i + 1;
      r.first[i] = n;
      n += g->ops[i]->n_outputs;
    }
    rc = walk(&r);
    for (uint32_t i = 0; i < g->n_ops; i++)
      g->ops[i]->mark = 0;
  }
  free(r.all);
  free(r.first);
  free(r.constants);
  if (rc || g->arena->failed)
    return oc_error_set(err, OC_E_NOMEM, "out of memory while looking for risks");
  if (ret)
    ret->n_ops = r.n_ops;
  return 0;
}
