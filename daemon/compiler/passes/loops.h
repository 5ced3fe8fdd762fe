/* What the lowering of loops and of their bodies share. */
#ifndef OC_PASSES_LOOPS_H
#define OC_PASSES_LOOPS_H

#include "passes/passes_internal.h"

/* A Loop or Scan under way. Its While has the inputs: round, condition (Loop only),
 * carried values, one list per stacked result, captured tensors, scanned tensors (Scan
 * only), number of rounds (when there is one). Only what stands in front of the captured
 * tensors comes out again; the rest is the same in every round. */
struct loop {
  struct pass_run *r;
  struct oc_op *op;
  struct oc_graph *body;
  bool scan;
  uint32_t n_carried;
  uint32_t n_stacked;
  uint32_t n_scanned;  /* Scan: tensors that a round sees one slice of */
  uint32_t n_model;    /* inputs of the old op that are the model's */
  uint32_t n_captured; /* those behind them */
  bool limited;        /* a number of rounds is given */
};

/* Places in the While's list of inputs. */
static inline uint32_t loop_lead(const struct loop *l)
{
  return l->scan ? 1 : 2;
}
static inline uint32_t loop_results(const struct loop *l)
{
  return loop_lead(l) + l->n_carried + l->n_stacked;
}
static inline uint32_t loop_scanned(const struct loop *l)
{
  return loop_results(l) + l->n_captured;
}
static inline uint32_t loop_limit(const struct loop *l)
{
  return loop_scanned(l) + l->n_scanned;
}

/* The NetOutput of a graph, NULL when it has none. */
struct oc_op *loop_end(const struct oc_graph *g);
/* Does the Data op stand for a tensor from outside (and for which input)? */
bool loop_captured(const struct oc_op *data, uint32_t *ret_input);
/* Axis `i` of an attribute list, made non-negative for `rank`. */
int64_t loop_axis(const struct loop *l, const char *attr, uint32_t i, uint32_t rank);
/* Is entry `i` of an attribute list 1 (backwards)? */
bool loop_backwards(const struct loop *l, const char *attr, uint32_t i);

/* Rewrites the body (loop_body.c); false when memory is short. */
bool loop_change_body(const struct loop *l);
/* The graph that says whether another round is due; NULL when memory is short. */
struct oc_graph *loop_condition(const struct loop *l);

#endif
