/* What the lowering of recurrent layers and its weights share. */
#ifndef OC_PASSES_RECURRENT_H
#define OC_PASSES_RECURRENT_H

#include "passes/passes_internal.h"

enum { X, W, R, B, SEQUENCE_LENS, INITIAL_H, INITIAL_C, PEEPHOLES };
enum { MOST_DIRECTIONS = 2, LSTM_GATES = 4, GRU_GATES = 3 };

/* A layer under way. */
struct cell {
  struct pass_run *r;
  struct oc_op *op;
  bool lstm;
  const char *to;
  uint32_t gates;
  uint32_t directions;
  size_t in, hidden; /* sizes */
  int64_t steps, batch;
  const struct oc_value *w, *rec, *bias; /* bias may be NULL */
};

/* New constants for direction `dir`; NULL when memory is short. */
/* [in + hidden, 4 * hidden]: input weights, then recurrent ones. */
const struct oc_value *recurrent_lstm_weights(const struct cell *c, uint32_t dir);
/* [4 * hidden]: both biases as one, zeros when there are none. */
const struct oc_value *recurrent_lstm_bias(const struct cell *c, uint32_t dir);
/* [n, 3 * hidden] out of [directions, 3 * hidden, n]. */
const struct oc_value *recurrent_gru_weights(const struct cell *c, uint32_t dir,
                                             const struct oc_value *from, size_t n);
/* [3 * hidden]: bias `which` (0 input, 1 recurrent); there must be one. */
const struct oc_value *recurrent_gru_bias(const struct cell *c, uint32_t dir,
                                          uint32_t which);

#endif
