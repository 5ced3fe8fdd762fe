/* Random numbers: a shape as input and a dtype attribute. */
#include "infer/infer_internal.h"

/* `arg`: input that gives the dtype when no attribute does, -1 for float32. */
static void shaped(struct infer *in, struct oc_op *op)
{
  int arg = in->rule->arg;
  enum oc_dtype other = arg < 0 ? OC_DT_F32 : infer_dtype(op, (uint32_t)arg);
  enum oc_dtype dtype = infer_dtype_attr(op, "dtype", other);
  int64_t dims[OC_MAX_RANK];
  uint32_t rank = 0;

  infer_set(in, op, 0, dtype, oc_shape_unknown());
  if (infer_shape_input(in, op, 0, dims, &rank))
    infer_set_dims(in, op, 0, dtype, dims, rank);
}

/* Bernoulli: like the probabilities, in another dtype when one is named. */
static void bernoulli(struct infer *in, struct oc_op *op)
{
  enum oc_dtype dtype = infer_dtype_attr(op, "dtype", OC_DT_UNDEFINED);

  infer_set(in, op, 0, dtype == OC_DT_UNDEFINED ? infer_dtype(op, 0) : dtype,
            infer_shape(op, 0));
}

/* Multinomial: logits [batch, classes], number of samples. */
static void multinomial(struct infer *in, struct oc_op *op)
{
  const struct infer_cells *c = infer_content(in, op, 1);
  int64_t dims[2] = { infer_dim(op, 0, 0), OC_DIM_UNKNOWN };

  dims[1] = c && c->n == 1 ? infer_cell_dim(in, c, 0) : infer_fresh(in);
  infer_set_dims(in, op, 0, infer_dtype_attr(op, "dtype", OC_DT_I64), dims, 2);
}

const struct infer_rule infer_random_rules[] = {
  { .type = "RandomStandardNormal", .shape = shaped, .arg = -1 },
  { .type = "RandomUniform", .shape = shaped, .arg = -1 },
  { .type = "RandomUniformInt", .shape = shaped, .arg = 1 },
  { .type = "StatelessRandomNormalV2", .shape = shaped, .arg = -1 },
  { .type = "StatelessRandomUniformV2", .shape = shaped, .arg = -1 },
  { .type = "TruncatedNormal", .shape = shaped, .arg = -1 },
  { .type = "ParameterizedTruncatedNormal", .shape = shaped, .arg = 1 },
  { .type = "StatelessBernoulliV2", .shape = bernoulli },
  { .type = "Multinomial", .shape = multinomial },
  { .type = NULL },
};
