/* Models of one operator, for tests that look at one decision. All are named after their
 * operator: node "/op", input "x", output "y". --type sets the element type, --width the
 * channels, --image the side. */
#include "zoo.h"

#define CHANNELS 4
#define SIDE     8

static int64_t channels(const struct zoo *z)
{
  return zoo_or(z->options.width, CHANNELS);
}

static int64_t side(const struct zoo *z)
{
  return zoo_or(z->options.image, SIDE);
}

static int64_t batch(const struct zoo *z)
{
  return z->options.dynamic ? -1 : zoo_or(z->options.batch, 1);
}

static void image_in_out(struct zoo *z, int64_t out_channels, int64_t out_side)
{
  zoo_input(z, "x", z->options.type, ZOO_DIMS(batch(z), channels(z), side(z), side(z)));
  zoo_output(z, "y", z->options.type,
             ZOO_DIMS(batch(z), out_channels, out_side, out_side));
}

static void unary(struct zoo *z, const char *type)
{
  image_in_out(z, channels(z), side(z));
  zoo_op_to(z, NULL, type, "/op", "y", "x", NULL);
}

static void relu(struct zoo *z)
{
  unary(z, "Relu");
}

static void sigmoid(struct zoo *z)
{
  unary(z, "Sigmoid");
}

static void erf_op(struct zoo *z)
{
  unary(z, "Erf");
}

static void identity(struct zoo *z)
{
  unary(z, "Identity");
}

static void sign_bf16(struct zoo *z)
{
  z->options.type = ZOO_BF16;
  unary(z, "Sign");
}

static void softmax(struct zoo *z)
{
  zoo_attr_int(z, "axis", -1);
  unary(z, "Softmax");
}

static void unknown_op(struct zoo *z)
{
  unary(z, "NoSuchOperator");
}

static void maxpool(struct zoo *z)
{
  image_in_out(z, channels(z), side(z) / 2);
  zoo_attr_ints(z, "kernel_shape", ZOO_DIMS(2, 2));
  zoo_attr_ints(z, "strides", ZOO_DIMS(2, 2));
  zoo_op_to(z, NULL, "MaxPool", "/op", "y", "x", NULL);
}

static void global_pool(struct zoo *z)
{
  image_in_out(z, channels(z), 1);
  zoo_op_to(z, NULL, "GlobalAveragePool", "/op", "y", "x", NULL);
}

static void conv_with(struct zoo *z, float outlier)
{
  int64_t c = channels(z);

  image_in_out(z, c, side(z));
  const char *w = zoo_weight(z, "w", 0.1f, ZOO_DIMS(c, c, 3, 3));
  zoo_last_weight(z)->outlier = outlier;
  const char *b = zoo_weight(z, "b", 0.1f, ZOO_DIMS(c));
  zoo_attr_ints(z, "kernel_shape", ZOO_DIMS(3, 3));
  zoo_attr_ints(z, "pads", ZOO_DIMS(1, 1, 1, 1));
  zoo_op_to(z, NULL, "Conv", "/op", "y", "x", w, b, NULL);
}

static void conv(struct zoo *z)
{
  conv_with(z, 0);
}

static void conv_overflow(struct zoo *z)
{
  conv_with(z, 1e6f);
}

static void matmul(struct zoo *z)
{
  int64_t n = zoo_or(z->options.width, 16);
  int64_t rows = z->options.dynamic ? -1 : zoo_or(z->options.batch, 4);

  zoo_input(z, "x", z->options.type, ZOO_DIMS(rows, n));
  zoo_output(z, "y", z->options.type, ZOO_DIMS(rows, n));
  const char *w = zoo_weight(z, "w", 0.1f, ZOO_DIMS(n, n));
  zoo_op_to(z, NULL, "MatMul", "/op", "y", "x", w, NULL);
}

static void binary(struct zoo *z, const char *type)
{
  int64_t c = channels(z);
  int64_t s = side(z);

  image_in_out(z, c, s);
  zoo_input(z, "x2", z->options.type, ZOO_DIMS(batch(z), c, s, s));
  zoo_op_to(z, NULL, type, "/op", "y", "x", "x2", NULL);
}

static void add(struct zoo *z)
{
  binary(z, "Add");
}

static void sum(struct zoo *z)
{
  binary(z, "Sum");
}

static void cast_f16(struct zoo *z)
{
  zoo_input(z, "x", z->options.type, ZOO_DIMS(batch(z), channels(z)));
  zoo_output(z, "y", ZOO_F16, ZOO_DIMS(batch(z), channels(z)));
  zoo_attr_int(z, "to", ZOO_F16);
  zoo_op_to(z, NULL, "Cast", "/op", "y", "x", NULL);
}

static void external(struct zoo *z)
{
  z->external = true;
  matmul(z);
}

/* Two tensors that make a file of --megabytes (default 2200, over what one protobuf
 * message can hold). */
static void big_external(struct zoo *z)
{
  int64_t n = 1024;
  int64_t columns = zoo_or(z->options.megabytes, 2200) * 1048576 / 4 / n / 2;

  z->external = true;
  zoo_input(z, "x", ZOO_F32, ZOO_DIMS(1, n));
  zoo_output(z, "y", ZOO_F32, ZOO_DIMS(1, n));
  const char *w1 = zoo_weight(z, "w1", 0.03f, ZOO_DIMS(n, columns));
  const char *w2 = zoo_weight(z, "w2", 0.03f, ZOO_DIMS(columns, n));
  const char *h = zoo_op(z, "MatMul", "/up", "x", w1, NULL);
  zoo_op_to(z, NULL, "MatMul", "/down", "y", h, w2, NULL);
}

static void dynamic(struct zoo *z)
{
  z->options.dynamic = true;
  conv(z);
}

const struct zoo_kind zoo_one_op_kinds[] = {
  { "relu", "one Relu", relu },
  { "sigmoid", "one Sigmoid", sigmoid },
  { "erf", "one Erf", erf_op },
  { "identity", "one Identity", identity },
  { "sign-bf16", "one Sign in bfloat16", sign_bf16 },
  { "softmax", "one Softmax over the last axis", softmax },
  { "maxpool", "one MaxPool", maxpool },
  { "global-pool", "one GlobalAveragePool", global_pool },
  { "conv", "one Conv with bias", conv },
  { "conv-overflow", "the same, one weight is 1e6", conv_overflow },
  { "matmul", "one MatMul with a weight", matmul },
  { "add", "one Add of two inputs", add },
  { "sum", "one Sum of two inputs", sum },
  { "cast-f16", "one Cast to float16", cast_f16 },
  { "dynamic", "one Conv, the batch is a symbol", dynamic },
  { "external", "one MatMul whose weight is in FILE.data", external },
  { "big-external", "two MatMuls, --megabytes of weights in FILE.data", big_external },
  { "unknown-op", "one node of a type nobody knows", unknown_op },
  { NULL, NULL, NULL },
};
