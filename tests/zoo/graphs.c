/* Small graphs with the shapes of real ones: a two-block image net with path-like names
 * (as PyTorch's exporter writes them), a root-mean-square norm, a constant that half
 * precision cannot hold, dynamic height and width. */
#include "wire/wire.h"
#include "zoo.h"

#define OPSET_IMPORT 8

static const char *conv3(struct zoo *z, const char *name, const char *x,
                         const char *weight, int64_t in, int64_t out)
{
  const char *w =
      zoo_weight(z, zoo_name(z, "%s.weight", weight), 0.2f, ZOO_DIMS(out, in, 3, 3));
  const char *b = zoo_weight(z, zoo_name(z, "%s.bias", weight), 0.05f, ZOO_DIMS(out));

  zoo_attr_ints(z, "kernel_shape", ZOO_DIMS(3, 3));
  zoo_attr_ints(z, "pads", ZOO_DIMS(1, 1, 1, 1));
  return zoo_op(z, "Conv", name, x, w, b, NULL);
}

static void image_net(struct zoo *z, bool custom)
{
  zoo_input(z, "images", z->options.type, ZOO_DIMS(1, 3, 8, 8));
  zoo_output(z, "scores", z->options.type, ZOO_DIMS(1, 10));
  const char *x = conv3(z, "/b0/conv/Conv", "images", "b0.conv", 3, 8);
  x = zoo_op(z, "Relu", "/b0/act/Relu", x, NULL);
  if (custom) {
    zoo_op_to(z, "pkg.local", "Scramble", "/b0/scramble/Scramble",
              "/b0/scramble/Scramble_output_0", x, NULL);
    x = "/b0/scramble/Scramble_output_0";
  }
  x = conv3(z, "/b1/conv/Conv", x, "b1.conv", 8, 8);
  const char *scale = zoo_weight_at(z, "b1.norm.weight", 1.0f, 0.1f, ZOO_DIMS(8));
  const char *bias = zoo_weight(z, "b1.norm.bias", 0.1f, ZOO_DIMS(8));
  zoo_attr_float(z, "epsilon", 1e-5f);
  x = zoo_op(z, "InstanceNormalization", "/b1/norm/InstanceNormalization", x, scale, bias,
             NULL);
  x = zoo_op(z, "Flatten", "/head/Flatten", x, NULL);
  const char *w = zoo_weight(z, "head.weight", 0.05f, ZOO_DIMS(10, 512));
  const char *b = zoo_weight(z, "head.bias", 0.05f, ZOO_DIMS(10));
  zoo_attr_int(z, "transB", 1);
  zoo_op_to(z, NULL, "Gemm", "/head/Gemm", "scores", x, w, b, NULL);
}

static void g1(struct zoo *z)
{
  image_net(z, false);
}

static void g2(struct zoo *z)
{
  zoo_input(z, "x", z->options.type, ZOO_DIMS(1, 64));
  zoo_output(z, "y", z->options.type, ZOO_DIMS(1, 64));
  const char *eps = zoo_scalar(z, "norm.eps", 1e-6f);
  const char *s = zoo_op(z, "Mul", "/norm/Mul", "x", "x", NULL);
  zoo_attr_ints(z, "axes", ZOO_DIMS(-1));
  s = zoo_op(z, "ReduceMean", "/norm/ReduceMean", s, NULL);
  s = zoo_op(z, "Add", "/norm/Add", s, eps, NULL);
  s = zoo_op(z, "Sqrt", "/norm/Sqrt", s, NULL);
  zoo_op_to(z, NULL, "Div", "/norm/Div", "y", "x", s, NULL);
}

static void g3(struct zoo *z)
{
  zoo_input(z, "x", z->options.type, ZOO_DIMS(1, 4));
  zoo_output(z, "y", z->options.type, ZOO_DIMS(1, 4));
  const char *billion = zoo_scalar(z, "gnn_layers.0.big", 1e9f);
  zoo_op_to(z, NULL, "Mul", "/gnn_layers.0/Mul_2", "y", "x", billion, NULL);
}

static void g4(struct zoo *z)
{
  zoo_input(z, "x", z->options.type, ZOO_DIMS(-1, 3, 48, -1));
  zoo_output(z, "y", z->options.type, ZOO_DIMS(-1, 8, -1));
  const char *y = conv3(z, "/neck/Conv", "x", "neck", 3, 8);
  const char *shape = zoo_ints(z, "neck.shape", (int64_t[]){ 0, 8, -1 }, 3);
  zoo_op_to(z, NULL, "Reshape", "/neck/Reshape", "y", y, shape, NULL);
}

static void g5(struct zoo *z)
{
  struct oc_buf b;

  image_net(z, true);
  oc_buf_init(&b, 64);
  oc_wire_put_string(&b, 1, "pkg.local");
  oc_wire_put_i64(&b, 2, 1);
  oc_wire_put_message(&z->imports, OPSET_IMPORT, &b);
  oc_buf_clear(&b);
}

static void g6(struct zoo *z)
{
  z->opset = 19;
  image_net(z, false);
}

/* Three sums of which the middle one leaves half precision's range. */
static void addn(struct zoo *z)
{
  zoo_input(z, "a", z->options.type, ZOO_DIMS(1, 16));
  zoo_input(z, "b", z->options.type, ZOO_DIMS(1, 16));
  zoo_output(z, "y", z->options.type, ZOO_DIMS(1, 16));
  const char *s = zoo_op(z, "Add", "/first/Add", "a", "b", NULL);
  s = zoo_op(z, "Sum", "/middle/Sum", s, "a", "b", NULL);
  zoo_op_to(z, NULL, "Relu", "/last/Relu", "y", s, NULL);
}

const struct zoo_kind zoo_graph_kinds[] = {
  { "g1", "Conv, Relu, Conv, InstanceNormalization, Flatten, Gemm", g1 },
  { "g2", "a root-mean-square norm of five nodes", g2 },
  { "g3", "a Mul by 1e9", g3 },
  { "g4", "Conv and Reshape, batch and width are symbols", g4 },
  { "g5", "g1 with a node of the domain pkg.local", g5 },
  { "g6", "g1 with opset 19", g6 },
  { "addn", "Add, Sum of three, Relu", addn },
  { NULL, NULL, NULL },
};
