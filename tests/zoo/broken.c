/* Models that are wrong on purpose; each is well-formed protobuf and wrong in one point.
 */
#include <stdio.h>

#include "wire/wire.h"
#include "zoo.h"

#define DEPTH          20000
#define ATTR_NAME      1
#define ATTR_GRAPH     6
#define ATTR_TYPE      20
#define KIND_GRAPH     5
#define NODE_NAME      3
#define NODE_TYPE      4
#define NODE_ATTRIBUTE 5
#define GRAPH_NODE     1

static void in_out(struct zoo *z)
{
  zoo_input(z, "x", ZOO_F32, ZOO_DIMS(1, 4));
  zoo_output(z, "y", ZOO_F32, ZOO_DIMS(1, 4));
}

static void cycle(struct zoo *z)
{
  in_out(z);
  zoo_op_to(z, NULL, "Add", "/a", "a", "x", "c", NULL);
  zoo_op_to(z, NULL, "Relu", "/b", "b", "a", NULL);
  zoo_op_to(z, NULL, "Relu", "/c", "c", "b", NULL);
  zoo_op_to(z, NULL, "Relu", "/d", "y", "c", NULL);
}

static void missing_input(struct zoo *z)
{
  in_out(z);
  zoo_op_to(z, NULL, "Add", "/op", "y", "x", "nobody", NULL);
}

static void duplicate_output(struct zoo *z)
{
  in_out(z);
  zoo_op_to(z, NULL, "Relu", "/a", "t", "x", NULL);
  zoo_op_to(z, NULL, "Sigmoid", "/b", "t", "x", NULL);
  zoo_op_to(z, NULL, "Relu", "/c", "y", "t", NULL);
}

/* Legal in ONNX, where node names are only for people. */
static void duplicate_names(struct zoo *z)
{
  in_out(z);
  zoo_op_to(z, NULL, "Relu", "/same", "t", "x", NULL);
  zoo_op_to(z, NULL, "Sigmoid", "/same", "y", "t", NULL);
}

static void unsorted(struct zoo *z)
{
  in_out(z);
  zoo_op_to(z, NULL, "Sigmoid", "/second", "y", "t", NULL);
  zoo_op_to(z, NULL, "Relu", "/first", "t", "x", NULL);
}

/* An Add with a weight whose dims are replaced after its one element was counted. */
static void weight_with_dims(struct zoo *z, int64_t first, int64_t second)
{
  in_out(z);
  zoo_weight(z, "w", 0.1f, ZOO_DIMS(1, 1));
  struct zoo_weight *w = zoo_last_weight(z);
  w->dims[0] = first;
  w->dims[1] = second;
  zoo_op_to(z, NULL, "Add", "/op", "y", "x", "w", NULL);
}

static void negative_dim(struct zoo *z)
{
  weight_with_dims(z, -5, 1);
}

static void huge_dims(struct zoo *z)
{
  weight_with_dims(z, (int64_t)1 << 40, (int64_t)1 << 40);
}

static void short_weight(struct zoo *z)
{
  weight_with_dims(z, 1, 4);
}

/* What stands in front of a graph inside an attribute inside an If node, whose rest is
 * `inner` bytes long. */
static void put_level(struct oc_buf *out, size_t inner)
{
  struct oc_buf graph;
  struct oc_buf attr;

  oc_buf_init(&graph, 64);
  oc_buf_init(&attr, 64);
  oc_wire_put_tag(&graph, GRAPH_NODE, OC_WIRE_BYTES);
  oc_wire_put_raw_varint(&graph, inner);
  oc_wire_put_string(&attr, ATTR_NAME, "then_branch");
  oc_wire_put_i64(&attr, ATTR_TYPE, KIND_GRAPH);
  oc_wire_put_tag(&attr, ATTR_GRAPH, OC_WIRE_BYTES);
  oc_wire_put_raw_varint(&attr, graph.len + inner);
  oc_wire_put_string(out, NODE_TYPE, "If");
  oc_wire_put_tag(out, NODE_ATTRIBUTE, OC_WIRE_BYTES);
  oc_wire_put_raw_varint(out, attr.len + graph.len + inner);
  oc_buf_append(out, attr.data, attr.len);
  oc_buf_append(out, graph.data, graph.len);
  oc_buf_clear(&graph);
  oc_buf_clear(&attr);
}

/* Graphs in attributes of nodes of graphs: lengths from the inside, bytes from the
 * outside. */
static void deep(struct zoo *z)
{
  struct oc_buf node;
  size_t *inner = oc_arena_alloc(&z->arena, (DEPTH + 1) * sizeof(*inner));

  in_out(z);
  zoo_op_to(z, NULL, "Relu", "/op", "y", "x", NULL);
  oc_buf_init(&node, 64 << 20);
  inner[0] = 4; /* the innermost node: its type and nothing else */
  for (size_t i = 0; i < DEPTH; i++) {
    put_level(&node, inner[i]);
    inner[i + 1] = inner[i] + node.len;
    oc_buf_reset(&node);
  }
  for (size_t i = DEPTH; i-- > 0;)
    put_level(&node, inner[i]);
  oc_wire_put_string(&node, NODE_TYPE, "If");
  zoo_add_node(z, &node);
  oc_buf_clear(&node);
}

static void external_model(struct zoo *z)
{
  z->external = true;
  zoo_input(z, "x", ZOO_F32, ZOO_DIMS(1, 16));
  zoo_output(z, "y", ZOO_F32, ZOO_DIMS(1, 16));
  const char *w = zoo_weight(z, "w", 0.1f, ZOO_DIMS(16, 16));
  zoo_op_to(z, NULL, "MatMul", "/op", "y", "x", w, NULL);
}

static void external_outside(struct zoo *z)
{
  external_model(z);
  z->external_name = "../outside.data";
}

static void external_absolute(struct zoo *z)
{
  external_model(z);
  z->external_name = "/etc/passwd";
}

static void external_missing(struct zoo *z)
{
  external_model(z);
  z->external_name = "not-there.data";
}

static void external_past_end(struct zoo *z)
{
  external_model(z);
  z->external_shift = 4096;
}

static void external_overflow(struct zoo *z)
{
  external_model(z);
  z->external_shift = UINT64_MAX - 15;
}

static void no_graph_outputs(struct zoo *z)
{
  zoo_input(z, "x", ZOO_F32, ZOO_DIMS(1, 4));
  zoo_op_to(z, NULL, "Relu", "/op", "y", "x", NULL);
}

const struct zoo_kind zoo_broken_kinds[] = {
  { "cycle", "three nodes in a circle", cycle },
  { "missing-input", "a node reads what nobody writes", missing_input },
  { "duplicate-output", "two nodes write the same tensor", duplicate_output },
  { "duplicate-names", "two nodes have the same name (legal)", duplicate_names },
  { "unsorted", "a consumer before its producer", unsorted },
  { "negative-dim", "a weight with a dim of -5", negative_dim },
  { "huge-dims", "a weight of 2^80 elements", huge_dims },
  { "short-weight", "a weight with a quarter of its bytes", short_weight },
  { "deep", "20,000 graphs inside each other", deep },
  { "external-outside", "external data in '../outside.data'", external_outside },
  { "external-absolute", "external data in '/etc/passwd'", external_absolute },
  { "external-missing", "external data in a file that is not there", external_missing },
  { "external-past-end", "external data behind the end of its file", external_past_end },
  { "external-overflow", "an external offset near 2^64", external_overflow },
  { "no-outputs", "a graph without outputs", no_graph_outputs },
  { NULL, NULL, NULL },
};
