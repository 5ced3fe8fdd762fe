/* Recurrent layers.
 *
 * CommonLSTM, CommonGRU and RNN have ONNX's tensors: x [steps, batch, in], r [directions,
 * gates * hidden, hidden]; with layout 1 the batch comes first. The Dynamic ones have
 * TensorFlow's: x [steps, batch, in] and one output of [steps, batch, hidden] per gate.
 */
#include "infer/infer_internal.h"

enum { N_DIRECTIONS = 0, HIDDEN = 2 };

static void common_shape(struct infer *in, struct oc_op *op)
{
  bool batch_first = infer_int_attr(op, "layout", 0) == 1;
  enum oc_dtype dtype = infer_dtype(op, 0);
  int64_t steps = infer_dim(op, 0, batch_first ? 1 : 0);
  int64_t batch = infer_dim(op, 0, batch_first ? 0 : 1);
  int64_t dirs = infer_dim(op, 2, N_DIRECTIONS);
  int64_t hidden = infer_dim(op, 2, HIDDEN);
  int64_t y[2][4] = { { steps, dirs, batch, hidden }, { batch, steps, dirs, hidden } };
  int64_t state[2][3] = { { dirs, batch, hidden }, { batch, dirs, hidden } };

  infer_set_dims(in, op, 0, dtype, y[batch_first], 4);
  for (uint32_t k = 1; k < op->n_outputs; k++)
    infer_set_dims(in, op, k, dtype, state[batch_first], 3);
}

/* `arg`: input that has hidden as its first dim counted from the gates: DynamicRNN's bias
 * is [gates * hidden], the others' recurrent weight is [hidden, gates * hidden]. */
static void dynamic_shape(struct infer *in, struct oc_op *op)
{
  enum oc_dtype dtype = infer_dtype(op, 0);
  int64_t hidden =
      in->rule->arg ? infer_dim(op, 2, 0) : infer_div(in, infer_dim(op, 1, 1), 4);
  int64_t y[3] = { infer_dim(op, 0, 0), infer_dim(op, 0, 1), hidden };

  for (uint32_t k = 0; k < op->n_outputs; k++)
    infer_set_dims(in, op, k, dtype, y, 3);
}

/* BasicLSTMCell: one step, everything [batch, hidden] like c. */
static void cell_shape(struct infer *in, struct oc_op *op)
{
  for (uint32_t k = 0; k < op->n_outputs; k++)
    infer_set(in, op, k, infer_dtype(op, 2), infer_shape(op, 2));
}

/* RnnGenMask: lengths [batch] become a mask [steps, batch, hidden]. */
static void mask_shape(struct infer *in, struct oc_op *op)
{
  bool by_x = op->n_inputs > 1;
  int64_t steps = by_x ? infer_dim(op, 1, 0) : infer_int_attr(op, "num_step", -1);
  int64_t y[3] = { steps, infer_dim(op, 0, 0), infer_int_attr(op, "hidden_size", -1) };

  infer_set_dims(in, op, 0, by_x ? infer_dtype(op, 1) : OC_DT_F16, y, 3);
}

const struct infer_rule infer_recurrent_rules[] = {
  { .type = "CommonLSTM", .shape = common_shape },
  { .type = "CommonGRU", .shape = common_shape },
  { .type = "RNN", .shape = common_shape },
  { .type = "CommonRNN", .shape = common_shape },
  { .type = "DynamicRNN", .shape = dynamic_shape, .arg = 0 },
  { .type = "DynamicRNNV2", .shape = dynamic_shape, .arg = 1 },
  { .type = "DynamicGRUV2", .shape = dynamic_shape, .arg = 1 },
  { .type = "RnnGenMask", .shape = mask_shape },
  { .type = "RnnGenMaskV2", .shape = mask_shape },
  { .type = "BasicLSTMCell", .shape = cell_shape },
  { .type = NULL },
};
