/* ResNet-50 as exporters write it: convolutions without bias, BatchNormalization as a
 * node of its own, names after the modules. Bottleneck blocks of three convolutions. */
#include <math.h>

#include "zoo.h"

#define EXPANSION 4
#define STAGES    4u

static const char *conv(struct zoo *z, const char *x, const char *path,
                        const char *weight, int64_t in, int64_t out, int64_t kernel,
                        int64_t stride)
{
  int64_t pad = kernel / 2;
  float std = sqrtf(2.0f / (float)(in * kernel * kernel));

  zoo_attr_ints(z, "dilations", ZOO_DIMS(1, 1));
  zoo_attr_int(z, "group", 1);
  zoo_attr_ints(z, "kernel_shape", ZOO_DIMS(kernel, kernel));
  zoo_attr_ints(z, "pads", ZOO_DIMS(pad, pad, pad, pad));
  zoo_attr_ints(z, "strides", ZOO_DIMS(stride, stride));
  const char *w = zoo_weight(z, zoo_name(z, "%s.weight", weight), std,
                             ZOO_DIMS(out, in, kernel, kernel));
  return zoo_op(z, "Conv", zoo_name(z, "%s/Conv", path), x, w, NULL);
}

/* `gamma` is small on the last norm of a block, so that fifty layers do not grow without
 * end. */
static const char *norm(struct zoo *z, const char *x, const char *path,
                        const char *weight, int64_t n, float gamma)
{
  const char *scale = zoo_weight_at(z, zoo_name(z, "%s.weight", weight), gamma,
                                    gamma * 0.1f, ZOO_DIMS(n));
  const char *bias = zoo_weight(z, zoo_name(z, "%s.bias", weight), 0.02f, ZOO_DIMS(n));
  const char *mean =
      zoo_weight(z, zoo_name(z, "%s.running_mean", weight), 0.02f, ZOO_DIMS(n));
  const char *var =
      zoo_weight_at(z, zoo_name(z, "%s.running_var", weight), 1.0f, 0.1f, ZOO_DIMS(n));

  zoo_attr_float(z, "epsilon", 1e-5f);
  zoo_attr_float(z, "momentum", 0.9f);
  return zoo_op(z, "BatchNormalization", zoo_name(z, "%s/BatchNormalization", path), x,
                scale, bias, mean, var, NULL);
}

struct block {
  const char *path;   /* "/layer1/layer1.0" */
  const char *weight; /* "layer1.0" */
  int64_t in;
  int64_t mid;
  int64_t stride;
};

static const char *step(struct zoo *z, const struct block *b, const char *x, unsigned i,
                        int64_t in, int64_t out, int64_t kernel, int64_t stride)
{
  const char *y = conv(z, x, zoo_name(z, "%s/conv%u", b->path, i),
                       zoo_name(z, "%s.conv%u", b->weight, i), in, out, kernel, stride);

  return norm(z, y, zoo_name(z, "%s/bn%u", b->path, i),
              zoo_name(z, "%s.bn%u", b->weight, i), out, i == 3 ? 0.25f : 1.0f);
}

static const char *bottleneck(struct zoo *z, const struct block *b, const char *x)
{
  int64_t out = b->mid * EXPANSION;
  const char *y = step(z, b, x, 1, b->in, b->mid, 1, 1);

  y = zoo_op(z, "Relu", zoo_name(z, "%s/relu/Relu", b->path), y, NULL);
  y = step(z, b, y, 2, b->mid, b->mid, 3, b->stride);
  y = zoo_op(z, "Relu", zoo_name(z, "%s/relu_1/Relu", b->path), y, NULL);
  y = step(z, b, y, 3, b->mid, out, 1, 1);
  if (b->in != out || b->stride != 1) {
    x = conv(z, x, zoo_name(z, "%s/downsample/downsample.0", b->path),
             zoo_name(z, "%s.downsample.0", b->weight), b->in, out, 1, b->stride);
    x = norm(z, x, zoo_name(z, "%s/downsample/downsample.1", b->path),
             zoo_name(z, "%s.downsample.1", b->weight), out, 1.0f);
  }
  y = zoo_op(z, "Add", zoo_name(z, "%s/Add", b->path), y, x, NULL);
  return zoo_op(z, "Relu", zoo_name(z, "%s/relu_2/Relu", b->path), y, NULL);
}

static const char *stages(struct zoo *z, const char *x, int64_t width,
                          int64_t *ret_channels)
{
  static const int64_t depth[STAGES] = { 3, 4, 6, 3 };
  int64_t in = width;

  for (unsigned s = 0; s < STAGES; s++) {
    int64_t mid = width << s;
    int64_t n = zoo_list(z->options.layers, s, depth[s]);
    for (int64_t i = 0; i < n; i++) {
      struct block b = {
        .path = zoo_name(z, "/layer%u/layer%u.%lld", s + 1, s + 1, (long long)i),
        .weight = zoo_name(z, "layer%u.%lld", s + 1, (long long)i),
        .in = in,
        .mid = mid,
        .stride = i == 0 && s > 0 ? 2 : 1,
      };
      x = bottleneck(z, &b, x);
      in = mid * EXPANSION;
    }
  }
  *ret_channels = in;
  return x;
}

void zoo_resnet(struct zoo *z)
{
  int64_t width = zoo_or(z->options.width, 64);
  int64_t image = zoo_or(z->options.image, 224);
  int64_t classes = zoo_or(z->options.classes, 1000);
  int64_t batch = z->options.dynamic ? -1 : zoo_or(z->options.batch, 1);
  int64_t channels = 0;

  zoo_input(z, "input", z->options.type, ZOO_DIMS(batch, 3, image, image));
  const char *x = conv(z, "input", "/conv1", "conv1", 3, width, 7, 2);
  x = norm(z, x, "/bn1", "bn1", width, 1.0f);
  x = zoo_op(z, "Relu", "/relu/Relu", x, NULL);
  zoo_attr_int(z, "ceil_mode", 0);
  zoo_attr_ints(z, "kernel_shape", ZOO_DIMS(3, 3));
  zoo_attr_ints(z, "pads", ZOO_DIMS(1, 1, 1, 1));
  zoo_attr_ints(z, "strides", ZOO_DIMS(2, 2));
  x = zoo_op(z, "MaxPool", "/maxpool/MaxPool", x, NULL);
  x = stages(z, x, width, &channels);
  x = zoo_op(z, "GlobalAveragePool", "/avgpool/GlobalAveragePool", x, NULL);
  zoo_attr_int(z, "axis", 1);
  x = zoo_op(z, "Flatten", "/Flatten", x, NULL);
  const char *w = zoo_weight(z, "fc.weight", sqrtf(1.0f / (float)channels),
                             ZOO_DIMS(classes, channels));
  const char *b = zoo_weight(z, "fc.bias", 0.02f, ZOO_DIMS(classes));
  zoo_attr_float(z, "alpha", 1.0f);
  zoo_attr_float(z, "beta", 1.0f);
  zoo_attr_int(z, "transB", 1);
  zoo_op_to(z, NULL, "Gemm", "/fc/Gemm", "output", x, w, b, NULL);
  zoo_output(z, "output", z->options.type, ZOO_DIMS(batch, classes));
}
