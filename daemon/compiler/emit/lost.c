/* What lowering lost, told to the user.
 *
 * Infinity in a weight ruins a result, so each such constant is named together with the
 * op that reads it. Zeros in place of tiny values are what float16 does to every trained
 * model, so they are one note with the ops that have most of them. */
#include <inttypes.h>
#include <stdio.h>

#include "emit_internal.h"

/* Findings about single constants; the rest is counted in one more. */
#define MAX_DETAILS 16
#define MAX_READERS 3

/* The op that makes use of a constant: its first reader. */
static const char *reader(const struct emit_const *c)
{
  return c->op->n_users ? c->op->users[0].to->name : c->name;
}

static void report_overflow(struct oc_emit_plan *p, const struct emit_const *c,
                            struct oc_findings *fs)
{
  struct oc_arena *a = &p->arena;

  oc_finding_add(fs, OC_FINDING_WEIGHT_OVERFLOW, c->name, "count",
                 oc_arena_printf(a, "%" PRIu64, c->lowering.overflow), "total",
                 oc_arena_printf(a, "%zu", oc_value_count(c->value)), "dtype",
                 oc_dtype_name(c->to), "largest",
                 oc_arena_printf(a, "%.6g", c->lowering.max_abs), "reader", reader(c),
                 NULL);
}

/* Constants that were converted to one dtype. */
struct lost {
  uint64_t values, total;
  uint64_t n_hit, n_all;
  const struct emit_const *most[MAX_READERS]; /* of lost values, falling */
};

static void note_underflow(struct lost *l, const struct emit_const *c)
{
  l->n_all++;
  l->total += oc_value_count(c->value);
  if (!c->lowering.underflow)
    return;
  l->n_hit++;
  l->values += c->lowering.underflow;
  for (size_t i = 0; i < MAX_READERS; i++) {
    const struct emit_const *other = l->most[i];
    if (other && other->lowering.underflow >= c->lowering.underflow)
      continue;
    l->most[i] = c;
    c = other;
    if (!c)
      return;
  }
}

static void report_underflow(struct oc_emit_plan *p, const struct lost *l,
                             enum oc_dtype to, struct oc_findings *fs)
{
  struct oc_arena *a = &p->arena;
  const char *readers = "";

  for (size_t i = 0; i < MAX_READERS && l->most[i]; i++)
    readers = oc_arena_printf(a, "%s%s'%s' (%" PRIu64 ")", readers, i ? ", " : "",
                              reader(l->most[i]), l->most[i]->lowering.underflow);
  oc_finding_add(fs, OC_FINDING_WEIGHT_UNDERFLOW, "", "hit",
                 oc_arena_printf(a, "%" PRIu64, l->n_hit), "dtype", oc_dtype_name(to),
                 "count", oc_arena_printf(a, "%" PRIu64, l->values), "total",
                 oc_arena_printf(a, "%" PRIu64, l->total), "constants",
                 oc_arena_printf(a, "%" PRIu64, l->n_all), "readers", readers, NULL);
}

void emit_report_lost(struct oc_emit_plan *p, struct oc_findings *fs)
{
  struct lost lost[OC_DT_COUNT] = { 0 };
  uint64_t n_overflow = 0;

  for (size_t i = 0; i < p->n_consts; i++) {
    const struct emit_const *c = p->consts[i];
    if (c->to == c->value->dtype)
      continue;
    note_underflow(&lost[c->to], c);
    p->stats.overflowed += c->lowering.overflow;
    p->stats.underflowed += c->lowering.underflow;
    if (c->lowering.overflow && ++n_overflow <= MAX_DETAILS)
      report_overflow(p, c, fs);
  }
  if (n_overflow > MAX_DETAILS)
    oc_finding_add(fs, OC_FINDING_WEIGHT_OVERFLOW_MORE, "", "more",
                   oc_arena_printf(&p->arena, "%" PRIu64, n_overflow - MAX_DETAILS),
                   NULL);
  for (int d = 0; d < OC_DT_COUNT; d++)
    if (lost[d].n_hit)
      report_underflow(p, &lost[d], (enum oc_dtype)d, fs);
}
