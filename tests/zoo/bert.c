/* BERT as exporters of opset 13 write it: LayerNormalization as nine nodes, gelu through
 * Erf, the attention mask made of the input, positions sliced out of a table. */
#include <math.h>

#include "zoo.h"

#define POSITIONS 512
#define TYPES     2

struct bert {
  int64_t layers, hidden, heads, ffn, vocab, seq, batch;
};

static struct bert sizes(const struct zoo_options *o)
{
  return (struct bert){
    .layers = zoo_list(o->layers, 0, 12),
    .hidden = zoo_or(o->width, 768),
    .heads = zoo_or(o->heads, 12),
    .ffn = zoo_or(o->ffn, 4 * zoo_or(o->width, 768)),
    .vocab = zoo_or(o->vocab, 30522),
    .seq = zoo_or(o->seq, 128),
    .batch = o->dynamic ? -1 : zoo_or(o->batch, 1),
  };
}

static const char *layer_norm(struct zoo *z, const char *x, const char *path,
                              const char *weight, int64_t n)
{
  const char *gamma =
      zoo_weight_at(z, zoo_name(z, "%s.weight", weight), 1.0f, 0.05f, ZOO_DIMS(n));
  const char *beta = zoo_weight(z, zoo_name(z, "%s.bias", weight), 0.02f, ZOO_DIMS(n));
  const char *two = zoo_scalar(z, zoo_name(z, "%s/Constant_output_0", path), 2.0f);
  const char *eps = zoo_scalar(z, zoo_name(z, "%s/Constant_1_output_0", path), 1e-12f);

  zoo_attr_ints(z, "axes", ZOO_DIMS(-1));
  const char *mean = zoo_op(z, "ReduceMean", zoo_name(z, "%s/ReduceMean", path), x, NULL);
  const char *centred = zoo_op(z, "Sub", zoo_name(z, "%s/Sub", path), x, mean, NULL);
  const char *squared = zoo_op(z, "Pow", zoo_name(z, "%s/Pow", path), centred, two, NULL);
  zoo_attr_ints(z, "axes", ZOO_DIMS(-1));
  const char *var =
      zoo_op(z, "ReduceMean", zoo_name(z, "%s/ReduceMean_1", path), squared, NULL);
  var = zoo_op(z, "Add", zoo_name(z, "%s/Add", path), var, eps, NULL);
  var = zoo_op(z, "Sqrt", zoo_name(z, "%s/Sqrt", path), var, NULL);
  const char *y = zoo_op(z, "Div", zoo_name(z, "%s/Div", path), centred, var, NULL);
  y = zoo_op(z, "Mul", zoo_name(z, "%s/Mul", path), y, gamma, NULL);
  return zoo_op(z, "Add", zoo_name(z, "%s/Add_1", path), y, beta, NULL);
}

static const char *dense(struct zoo *z, const char *x, const char *path,
                         const char *weight, int64_t in, int64_t out)
{
  float std = sqrtf(1.0f / (float)in);
  const char *w = zoo_weight(z, zoo_name(z, "%s.weight", weight), std, ZOO_DIMS(in, out));
  const char *b = zoo_weight(z, zoo_name(z, "%s.bias", weight), 0.02f, ZOO_DIMS(out));
  const char *y = zoo_op(z, "MatMul", zoo_name(z, "%s/MatMul", path), x, w, NULL);

  return zoo_op(z, "Add", zoo_name(z, "%s/Add", path), b, y, NULL);
}

/* 0 where the mask is 1, a large negative number where it is 0, as [b, 1, 1, seq]. */
static const char *mask(struct zoo *z)
{
  const char *axes1 = zoo_ints(z, "/Constant_output_0", (int64_t[]){ 1 }, 1);
  const char *axes2 = zoo_ints(z, "/Constant_1_output_0", (int64_t[]){ 2 }, 1);
  const char *one = zoo_scalar(z, "/Constant_2_output_0", 1.0f);
  const char *least = zoo_scalar(z, "/Constant_3_output_0", -10000.0f);
  const char *m = zoo_op(z, "Unsqueeze", "/Unsqueeze", "attention_mask", axes1, NULL);

  m = zoo_op(z, "Unsqueeze", "/Unsqueeze_1", m, axes2, NULL);
  zoo_attr_int(z, "to", z->options.type);
  m = zoo_op(z, "Cast", "/Cast", m, NULL);
  m = zoo_op(z, "Sub", "/Sub", one, m, NULL);
  return zoo_op(z, "Mul", "/Mul", m, least, NULL);
}

static const char *positions(struct zoo *z, const struct bert *b)
{
  int64_t ids[POSITIONS];

  for (int64_t i = 0; i < POSITIONS; i++)
    ids[i] = i;
  const char *all = zoo_ints(z, "embeddings.position_ids", ids, POSITIONS);
  const char *start = zoo_ints(z, "/embeddings/Constant_output_0", (int64_t[]){ 0 }, 1);
  const char *end = zoo_ints(z, "/embeddings/Constant_1_output_0", &b->seq, 1);
  const char *axis = zoo_ints(z, "/embeddings/Constant_2_output_0", (int64_t[]){ 0 }, 1);
  const char *part = zoo_op(z, "Slice", "/embeddings/Slice", all, start, end, axis, NULL);
  const char *table = zoo_weight(z, "embeddings.position_embeddings.weight", 0.02f,
                                 ZOO_DIMS(POSITIONS, b->hidden));

  return zoo_op(z, "Gather", "/embeddings/position_embeddings/Gather", table, part, NULL);
}

static const char *embeddings(struct zoo *z, const struct bert *b)
{
  const char *words = zoo_weight(z, "embeddings.word_embeddings.weight", 0.02f,
                                 ZOO_DIMS(b->vocab, b->hidden));
  const char *types = zoo_weight(z, "embeddings.token_type_embeddings.weight", 0.02f,
                                 ZOO_DIMS(TYPES, b->hidden));
  const char *w =
      zoo_op(z, "Gather", "/embeddings/word_embeddings/Gather", words, "input_ids", NULL);
  const char *t = zoo_op(z, "Gather", "/embeddings/token_type_embeddings/Gather", types,
                         "token_type_ids", NULL);
  const char *x = zoo_op(z, "Add", "/embeddings/Add", w, t, NULL);

  x = zoo_op(z, "Add", "/embeddings/Add_1", x, positions(z, b), NULL);
  return layer_norm(z, x, "/embeddings/LayerNorm", "embeddings.LayerNorm", b->hidden);
}

/* [b, seq, hidden] to [b, heads, seq, size], or [b, heads, size, seq] for keys. */
static const char *split_heads(struct zoo *z, const char *x, const char *path,
                               const char *suffix, const struct bert *b, bool keys)
{
  const char *shape =
      zoo_ints(z, zoo_name(z, "%s/Constant%s_output_0", path, suffix),
               (int64_t[]){ b->batch, b->seq, b->heads, b->hidden / b->heads }, 4);
  const char *y =
      zoo_op(z, "Reshape", zoo_name(z, "%s/Reshape%s", path, suffix), x, shape, NULL);

  if (keys)
    zoo_attr_ints(z, "perm", ZOO_DIMS(0, 2, 3, 1));
  else
    zoo_attr_ints(z, "perm", ZOO_DIMS(0, 2, 1, 3));
  return zoo_op(z, "Transpose", zoo_name(z, "%s/Transpose%s", path, suffix), y, NULL);
}

static const char *attention(struct zoo *z, const char *x, const char *m,
                             const char *path, const char *weight, const struct bert *b)
{
  int64_t size = b->hidden / b->heads;
  const char *q = dense(z, x, zoo_name(z, "%s/query", path),
                        zoo_name(z, "%s.query", weight), b->hidden, b->hidden);
  const char *k = dense(z, x, zoo_name(z, "%s/key", path), zoo_name(z, "%s.key", weight),
                        b->hidden, b->hidden);
  const char *v = dense(z, x, zoo_name(z, "%s/value", path),
                        zoo_name(z, "%s.value", weight), b->hidden, b->hidden);
  const char *root =
      zoo_scalar(z, zoo_name(z, "%s/Constant_output_0", path), sqrtf((float)size));
  const char *shape = zoo_ints(z, zoo_name(z, "%s/Constant_4_output_0", path),
                               (int64_t[]){ b->batch, b->seq, b->hidden }, 3);

  q = split_heads(z, q, path, "_1", b, false);
  k = split_heads(z, k, path, "_2", b, true);
  v = split_heads(z, v, path, "_3", b, false);
  const char *s = zoo_op(z, "MatMul", zoo_name(z, "%s/MatMul", path), q, k, NULL);
  s = zoo_op(z, "Div", zoo_name(z, "%s/Div", path), s, root, NULL);
  s = zoo_op(z, "Add", zoo_name(z, "%s/Add", path), s, m, NULL);
  zoo_attr_int(z, "axis", -1);
  s = zoo_op(z, "Softmax", zoo_name(z, "%s/Softmax", path), s, NULL);
  s = zoo_op(z, "MatMul", zoo_name(z, "%s/MatMul_1", path), s, v, NULL);
  zoo_attr_ints(z, "perm", ZOO_DIMS(0, 2, 1, 3));
  s = zoo_op(z, "Transpose", zoo_name(z, "%s/Transpose", path), s, NULL);
  return zoo_op(z, "Reshape", zoo_name(z, "%s/Reshape", path), s, shape, NULL);
}

static const char *gelu(struct zoo *z, const char *x, const char *path)
{
  const char *root =
      zoo_scalar(z, zoo_name(z, "%s/Constant_output_0", path), sqrtf(2.0f));
  const char *one = zoo_scalar(z, zoo_name(z, "%s/Constant_1_output_0", path), 1.0f);
  const char *half = zoo_scalar(z, zoo_name(z, "%s/Constant_2_output_0", path), 0.5f);
  const char *y = zoo_op(z, "Div", zoo_name(z, "%s/Div", path), x, root, NULL);

  y = zoo_op(z, "Erf", zoo_name(z, "%s/Erf", path), y, NULL);
  y = zoo_op(z, "Add", zoo_name(z, "%s/Add", path), y, one, NULL);
  y = zoo_op(z, "Mul", zoo_name(z, "%s/Mul", path), x, y, NULL);
  return zoo_op(z, "Mul", zoo_name(z, "%s/Mul_1", path), y, half, NULL);
}

static const char *layer(struct zoo *z, const char *x, const char *m, int64_t i,
                         const struct bert *b)
{
  const char *path = zoo_name(z, "/encoder/layer.%lld", (long long)i);
  const char *weight = zoo_name(z, "encoder.layer.%lld", (long long)i);
  const char *a = attention(z, x, m, zoo_name(z, "%s/attention/self", path),
                            zoo_name(z, "%s.attention.self", weight), b);

  a = dense(z, a, zoo_name(z, "%s/attention/output/dense", path),
            zoo_name(z, "%s.attention.output.dense", weight), b->hidden, b->hidden);
  a = zoo_op(z, "Add", zoo_name(z, "%s/attention/output/Add", path), a, x, NULL);
  a = layer_norm(z, a, zoo_name(z, "%s/attention/output/LayerNorm", path),
                 zoo_name(z, "%s.attention.output.LayerNorm", weight), b->hidden);
  const char *f = dense(z, a, zoo_name(z, "%s/intermediate/dense", path),
                        zoo_name(z, "%s.intermediate.dense", weight), b->hidden, b->ffn);
  f = gelu(z, f, zoo_name(z, "%s/intermediate/intermediate_act_fn", path));
  f = dense(z, f, zoo_name(z, "%s/output/dense", path),
            zoo_name(z, "%s.output.dense", weight), b->ffn, b->hidden);
  f = zoo_op(z, "Add", zoo_name(z, "%s/output/Add", path), f, a, NULL);
  return layer_norm(z, f, zoo_name(z, "%s/output/LayerNorm", path),
                    zoo_name(z, "%s.output.LayerNorm", weight), b->hidden);
}

void zoo_bert(struct zoo *z)
{
  struct bert b = sizes(&z->options);

  zoo_input(z, "input_ids", ZOO_I64, ZOO_DIMS(b.batch, b.seq));
  zoo_input(z, "attention_mask", ZOO_I64, ZOO_DIMS(b.batch, b.seq));
  zoo_input(z, "token_type_ids", ZOO_I64, ZOO_DIMS(b.batch, b.seq));
  const char *m = mask(z);
  const char *x = embeddings(z, &b);
  for (int64_t i = 0; i < b.layers; i++)
    x = layer(z, x, m, i, &b);
  zoo_op_to(z, NULL, "Identity", "/Identity", "last_hidden_state", x, NULL);

  const char *index = zoo_ints(z, "/pooler/Constant_output_0", (int64_t[]){ 0 }, 1);
  const char *axis = zoo_ints(z, "/pooler/Constant_1_output_0", (int64_t[]){ 1 }, 1);
  zoo_attr_int(z, "axis", 1);
  const char *first = zoo_op(z, "Gather", "/pooler/Gather", x, index, NULL);
  first = zoo_op(z, "Squeeze", "/pooler/Squeeze", first, axis, NULL);
  const char *w = zoo_weight(z, "pooler.dense.weight", sqrtf(1.0f / (float)b.hidden),
                             ZOO_DIMS(b.hidden, b.hidden));
  const char *bias = zoo_weight(z, "pooler.dense.bias", 0.02f, ZOO_DIMS(b.hidden));
  zoo_attr_int(z, "transB", 1);
  const char *p = zoo_op(z, "Gemm", "/pooler/dense/Gemm", first, w, bias, NULL);
  zoo_op_to(z, NULL, "Tanh", "/pooler/activation/Tanh", "pooler_output", p, NULL);
  zoo_output(z, "last_hidden_state", z->options.type, ZOO_DIMS(b.batch, b.seq, b.hidden));
  zoo_output(z, "pooler_output", z->options.type, ZOO_DIMS(b.batch, b.hidden));
}
