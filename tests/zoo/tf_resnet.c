/* ResNet-50 as a frozen TensorFlow graph: NHWC, Conv2D without bias, FusedBatchNorm, and
 * the Relu ops in one name scope, numbered as TensorFlow numbers equal names:
 * fp32_vars/Relu, fp32_vars/Relu_1 and so on. */
#include <math.h>

#include "tf.h"

#define SCOPE     "fp32_vars"
#define EXPANSION 4
#define STAGES    4u

/* How often each name was given. */
struct counters {
  unsigned conv, norm, relu, add;
};

static const char *numbered(struct zoo *z, const char *base, unsigned *n)
{
  unsigned i = (*n)++;

  return i ? zoo_name(z, SCOPE "/%s_%u", base, i) : zoo_name(z, SCOPE "/%s", base);
}

static const char *conv(struct zoo *z, struct counters *c, const char *x, int64_t in,
                        int64_t out, int64_t kernel, int64_t stride)
{
  const char *path = numbered(z, "conv2d", &c->conv);
  float std = sqrtf(2.0f / (float)(in * kernel * kernel));
  const char *w = zoo_weight(z, zoo_name(z, "%s/kernel", path), std,
                             ZOO_DIMS(kernel, kernel, in, out));

  tf_attr_type(z, "T", TF_FLOAT);
  tf_attr_string(z, "data_format", "NHWC");
  tf_attr_ints(z, "dilations", ZOO_DIMS(1, 1, 1, 1));
  tf_attr_ints(z, "explicit_paddings", NULL, 0);
  tf_attr_string(z, "padding", "SAME");
  tf_attr_ints(z, "strides", ZOO_DIMS(1, stride, stride, 1));
  tf_attr_bool(z, "use_cudnn_on_gpu", true);
  return tf_op(z, "Conv2D", zoo_name(z, "%s/Conv2D", path), x, w, NULL);
}

static const char *norm(struct zoo *z, struct counters *c, const char *x, int64_t n,
                        float gamma)
{
  const char *path = numbered(z, "batch_normalization", &c->norm);
  const char *scale =
      zoo_weight_at(z, zoo_name(z, "%s/gamma", path), gamma, gamma * 0.1f, ZOO_DIMS(n));
  const char *shift = zoo_weight(z, zoo_name(z, "%s/beta", path), 0.02f, ZOO_DIMS(n));
  const char *mean =
      zoo_weight(z, zoo_name(z, "%s/moving_mean", path), 0.02f, ZOO_DIMS(n));
  const char *variance =
      zoo_weight_at(z, zoo_name(z, "%s/moving_variance", path), 1.0f, 0.1f, ZOO_DIMS(n));

  tf_attr_type(z, "T", TF_FLOAT);
  tf_attr_string(z, "data_format", "NHWC");
  tf_attr_float(z, "epsilon", 1e-5f);
  tf_attr_bool(z, "is_training", false);
  return tf_op(z, "FusedBatchNorm", zoo_name(z, "%s/FusedBatchNorm", path), x, scale,
               shift, mean, variance, NULL);
}

static const char *relu(struct zoo *z, struct counters *c, const char *x)
{
  tf_attr_type(z, "T", TF_FLOAT);
  return tf_op(z, "Relu", numbered(z, "Relu", &c->relu), x, NULL);
}

static const char *bottleneck(struct zoo *z, struct counters *c, const char *x,
                              int64_t in, int64_t mid, int64_t stride)
{
  int64_t out = mid * EXPANSION;
  const char *y = relu(z, c, norm(z, c, conv(z, c, x, in, mid, 1, 1), mid, 1.0f));

  y = relu(z, c, norm(z, c, conv(z, c, y, mid, mid, 3, stride), mid, 1.0f));
  y = norm(z, c, conv(z, c, y, mid, out, 1, 1), out, 0.25f);
  if (in != out || stride != 1)
    x = norm(z, c, conv(z, c, x, in, out, 1, stride), out, 1.0f);
  tf_attr_type(z, "T", TF_FLOAT);
  return relu(z, c, tf_op(z, "Add", numbered(z, "add", &c->add), y, x, NULL));
}

static const char *stages(struct zoo *z, struct counters *c, const char *x, int64_t width,
                          int64_t *ret_channels)
{
  static const int64_t depth[STAGES] = { 3, 4, 6, 3 };
  int64_t in = width;

  for (unsigned s = 0; s < STAGES; s++) {
    int64_t n = zoo_list(z->options.layers, s, depth[s]);
    for (int64_t i = 0; i < n; i++) {
      x = bottleneck(z, c, x, in, width << s, i == 0 && s > 0 ? 2 : 1);
      in = (width << s) * EXPANSION;
    }
  }
  *ret_channels = in;
  return x;
}

/* Mean over height and width, then one dense layer. */
static void head(struct zoo *z, const char *x, int64_t channels, int64_t classes)
{
  const char *where = zoo_int32s(z, SCOPE "/Mean/reduction_indices", ZOO_DIMS(1, 2));
  const char *w = zoo_weight(z, SCOPE "/dense/kernel", sqrtf(1.0f / (float)channels),
                             ZOO_DIMS(channels, classes));
  const char *b = zoo_weight(z, SCOPE "/dense/bias", 0.02f, ZOO_DIMS(classes));

  tf_attr_type(z, "T", TF_FLOAT);
  tf_attr_type(z, "Tidx", TF_INT32);
  tf_attr_bool(z, "keep_dims", false);
  x = tf_op(z, "Mean", SCOPE "/Mean", x, where, NULL);
  tf_attr_type(z, "T", TF_FLOAT);
  tf_attr_bool(z, "transpose_a", false);
  tf_attr_bool(z, "transpose_b", false);
  x = tf_op(z, "MatMul", SCOPE "/dense/MatMul", x, w, NULL);
  tf_attr_type(z, "T", TF_FLOAT);
  tf_attr_string(z, "data_format", "NHWC");
  x = tf_op(z, "BiasAdd", SCOPE "/dense/BiasAdd", x, b, NULL);
  tf_attr_type(z, "T", TF_FLOAT);
  tf_op(z, "Identity", SCOPE "/final_dense", x, NULL);
}

void tf_resnet(struct zoo *z)
{
  int64_t width = zoo_or(z->options.width, 64);
  int64_t image = zoo_or(z->options.image, 224);
  int64_t batch = z->options.dynamic ? -1 : zoo_or(z->options.batch, 1);
  int64_t channels = 0;
  struct counters c = { 0 };

  tf_attr_type(z, "dtype", TF_FLOAT);
  tf_attr_shape(z, "shape", ZOO_DIMS(batch, image, image, 3));
  const char *x = tf_op(z, "Placeholder", "input_data", NULL);
  x = relu(z, &c, norm(z, &c, conv(z, &c, x, 3, width, 7, 2), width, 1.0f));
  tf_attr_type(z, "T", TF_FLOAT);
  tf_attr_string(z, "data_format", "NHWC");
  tf_attr_ints(z, "ksize", ZOO_DIMS(1, 3, 3, 1));
  tf_attr_string(z, "padding", "SAME");
  tf_attr_ints(z, "strides", ZOO_DIMS(1, 2, 2, 1));
  x = tf_op(z, "MaxPool", SCOPE "/max_pooling2d/MaxPool", x, NULL);
  x = stages(z, &c, x, width, &channels);
  head(z, x, channels, zoo_or(z->options.classes, 1001));
}
