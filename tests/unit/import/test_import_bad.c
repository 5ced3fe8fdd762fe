/* Bad models: each is a finding, none is a crash, none makes the importer take much more
 * memory than the file is large. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph_text.h"
#include "onnx_text.h"
#include "wire/wire.h"

#define H "opset 13\nin x f32 1,2,4,4\n"

static const struct {
  const char *model;
  bool graph; /* a graph is built all the same */
  const char *want;
} rows[] = {
  { H "node Relu a x -> y\nout y\n", true, "" },
  { H "node Relu a y2 -> y\nnode Relu b y -> y2\nout y\n", false, "model-cycle(a)" },
  { H "node Relu a a1 -> a1\nout a1\n", false, "model-cycle(a)" },
  { H "node Relu a gone -> y\nout y\n", false, "producer-missing(a)" },
  { H "node Relu a x -> y\nout z\n", false, "producer-missing(Node_Output)" },
  { H "node Relu a x -> y\nnode Abs a y -> z\nout z\n", true, "name-twice(a)" },
  { H "node Relu a x -> y\nnode Abs b x -> y\nout y\n", true, "tensor-twice(b)" },
  { H "in x f32 2\nnode Relu a x -> y\nout y\n", true, "name-twice(x) tensor-twice(x)" },
  { H "node Relu a x -> y\n", false, "no-outputs()" },
  { "in x f32 2\nnode Relu a x -> y\nout y\n", false, "model-malformed()" },
  { "opset 0\nin x f32 2\nnode Relu a x -> y\nout y\n", true, "op-opset(Relu)" },
  { "opset 7\nin x f32 2\nnode Relu a x -> y\nout y\n", true, "opset-old(7)" },
  { "opset 21\nin x f32 2\nnode Relu a x -> y\nout y\n", true, "opset-new(21)" },
  { H "node Fancy a x -> y\nnode Fancy b y -> z\nout z\n", true, "op-unknown(Fancy)" },
  { H "node com.example::Relu a x -> y\nout y\n", true, "op-unknown(Relu)" },
  { H "node Upsample a x,x -> y\nout y\n", true, "op-opset(Upsample)" },
  { H "node Gelu a x -> y\nout y\n", true, "op-opset(Gelu)" },
  { "opset 20\nin x f32 2\nnode Gelu a x -> y\nout y\n", true,
    "opset-new(20) op-no-parser(Gelu)" },
  { "opset 1\nin x f32 N,M,-7\nnode Relu a x -> y\nout y\n", true,
    "opset-old(1) dims-bad(x)" },
  { H "in big f32 9223372036854775807,2\nnode Relu a x -> y\nout y\n", true,
    "dims-bad(big)" },
  { H "in q u4 2\nnode Relu a x -> y\nout y\n", true, "dtype-unknown(q)" },
  { H "in q\nnode Relu a x -> y\nout y\n", true, "input-kind(q)" },
  { H "in q seq:f32 2\nnode SequenceLength a q -> y\nout y\n", true,
    "input-sequence(q)" },
  { H "in q opt:seq:i64 ?\nnode Identity a q -> y\nout y\n", true, "input-sequence(q)" },
  { H "in q seq:seq:f32 2\nnode Identity a q -> y\nout y\n", true, "input-kind(q)" },
  { H "in q opt:seq:seq:f32 2\nnode Identity a q -> y\nout y\n", true, "input-kind(q)" },
  { H "in q opt:f32 2\nnode Relu a q -> y\nout y\n", true, "input-optional(q)" },
  { H "in q opt:u4 2\nnode Relu a q -> y\nout y\n", true,
    "input-optional(q) dtype-unknown(q)" },
  { H "node Shape a x -> y start=i1\nout y\n", true, "node-differs(a)" },
  { H "node Conv a x,x -> y kernel_shape=I3 strides=I1;1\nout y\n", true,
    "node-refused(a)" },
  { H "node Conv a x,x -> y kernel_shape=I3;0\nout y\n", true, "node-refused(a)" },
  { H "node Conv a x,x -> y pads=I1;1;1;9223372036854775807\nout y\n", true,
    "node-refused(a)" },
  { H "node Conv a x,x -> y group=f1\nout y\n", true, "node-refused(a)" },
  { H "node MaxPool a x -> y\nout y\n", true, "node-refused(a)" },
  { H "node Relu a x,x -> y\nout y\n", true, "node-refused(a)" },
  { H "node Relu a x -> y,z\nout y\n", true, "node-refused(a)" },
  { H "node If a x -> y\nout y\n", true, "node-refused(a)" },
  { H "graph g\nnode Relu r x -> q\nout q\nend\n"
      "node If a x -> y,z then_branch=gg else_branch=gg\nout y\n",
    true, "node-refused(a)" },
  { H "graph g\nnode Relu r gone -> q\nout q\nend\n"
      "node If a x -> y then_branch=gg else_branch=gg\nout y\n",
    false, "producer-missing(a)" },
  { H "node Scan a x -> y num_scan_inputs=i9\nout y\n", true, "node-refused(a)" },
#define SCAN8(inputs, n)                                                                 \
  "opset 8\nin l i64 2\nin s f32 2,3\nin x f32 2,5,3\ngraph b\nin a f32 3\n"             \
  "in v f32 3\nnode Add add a,v -> n\nout n\nend\n"                                      \
  "node Scan sc " inputs " -> f body=gb num_scan_inputs=i" n "\nout f\n"
  { SCAN8("_,s,x", "1"), true, "op-no-parser(Scan)" },
  { SCAN8("l,s,x", "1"), true, "node-refused(sc)" }, /* lengths of sequences */
  { SCAN8("_,s,x", "0"), true, "node-refused(sc)" },
  { SCAN8("_,s,x", "3"), true, "node-refused(sc)" },
  { SCAN8("_", "1"), true, "node-refused(sc)" },
  { "opset 8\nin x f32 2,5,3\nnode Scan sc _,x -> f num_scan_inputs=i1\nout f\n", true,
    "node-refused(sc)" },
  { H "node Constant a -> y\nout y\n", true, "node-refused(a)" },
  { H "node Constant a -> y value=tu4:1\nout y\n", true, "tensor-bad()" },
};

START_TEST(models)
{
  struct imported im;
  import_text(rows[_i].model, NULL, &im);
  ck_assert_msg(strcmp(im.findings_text, rows[_i].want) == 0, "row %d: %s", _i,
                im.findings_text);
  ck_assert_msg((im.graph != NULL) == rows[_i].graph, "row %d", _i);
  imported_clear(&im);
}
END_TEST

/* The same findings never stop another compiler: no errors. */
START_TEST(lenient)
{
  struct imported im;
  const struct oc_import_options opt = { .lenient = true };
  import_text(rows[_i].model, &opt, &im);
  ck_assert_msg(strcmp(im.findings_text, rows[_i].want) == 0, "row %d: %s", _i,
                im.findings_text);
  ck_assert_msg(!oc_findings_have_errors(&im.findings), "row %d", _i);
  imported_clear(&im);
}
END_TEST

/* A node of one input and output; `attr` is the message of an attribute or NULL. */
static void put_node(struct oc_buf *fn, const char *name, const char *domain,
                     const char *type, const char *in, const char *out, const char *attr)
{
  struct oc_buf node;
  oc_buf_init(&node, 1 << 12);
  oc_wire_put_string(&node, 1, in);
  oc_wire_put_string(&node, 2, out);
  oc_wire_put_string(&node, 3, name);
  oc_wire_put_string(&node, 4, type);
  if (attr)
    oc_wire_put_string(&node, 5, attr);
  if (domain)
    oc_wire_put_string(&node, 7, domain);
  oc_wire_put_message(fn, 7, &node);
  oc_buf_clear(&node);
}

/* my::Both(p) -> q: t = Relu(p); q = LeakyRelu(t), alpha is the call's `slope`; with
 * `again` the second node is a call of the function itself. */
static void put_function(struct oc_buf *model, bool again)
{
  struct oc_buf fn;
  oc_buf_init(&fn, 1 << 12);
  oc_wire_put_string(&fn, 1, "Both");
  oc_wire_put_string(&fn, 4, "p");
  oc_wire_put_string(&fn, 5, "q");
  put_node(&fn, "first", NULL, "Relu", "p", "t", NULL);
  if (again)
    put_node(&fn, "second", "my", "Both", "t", "q", NULL);
  else
    put_node(&fn, "second", NULL, "LeakyRelu", "t", "q",
             "\x0a\x05"
             "alpha\xaa\x01\x05"
             "slope");
  oc_wire_put_string(&fn, 10, "my");
  oc_wire_put_message(model, 25, &fn);
  oc_buf_clear(&fn);
}

START_TEST(functions_stand_in_place_of_calls)
{
  struct oc_buf model;
  struct imported im = { 0 };
  oc_buf_init(&model, 1 << 16);
  onnx_text(H "node my::Both c x -> t slope=f0.5\nnode my::Both d t -> y slope=f0.25\n"
              "out y\n",
            &model);
  put_function(&model, false);
  import_bytes(model.data, model.len, NULL, &im);
  ck_assert_int_eq(im.rc, 0);
  ck_assert_str_eq(im.findings_text, "model-functions()");
  const struct oc_op *first = oc_graph_find(im.graph, "c/first");
  const struct oc_op *second = oc_graph_find(im.graph, "c/second");
  const struct oc_op *last = oc_graph_find(im.graph, "d/second");
  ck_assert(first && second && last);
  ck_assert_ptr_eq(second->inputs[0].from, first);
  ck_assert_ptr_eq(last->inputs[0].from->inputs[0].from, second);
  ck_assert(oc_attr_float(second, "negative_slope", 0) == 0.5f);
  ck_assert(oc_attr_float(last, "negative_slope", 0) == 0.25f);
  ck_assert_uint_eq(second->n_origin_names, 2);
  ck_assert_str_eq(second->origin_names[1], "c");
  oc_buf_clear(&model);
  imported_clear(&im);
}
END_TEST

START_TEST(functions_without_end_are_refused)
{
  struct oc_buf model;
  struct imported im = { 0 };
  oc_buf_init(&model, 1 << 16);
  onnx_text(H "node my::Both c x -> y\nout y\n", &model);
  put_function(&model, true);
  import_bytes(model.data, model.len, NULL, &im);
  ck_assert_int_ne(im.rc, 0);
  ck_assert_ptr_nonnull(strstr(im.findings_text, "model-malformed"));
  oc_buf_clear(&model);
  imported_clear(&im);
}
END_TEST

static void put_ints(struct oc_buf *tensor, const int64_t *v, size_t n)
{
  int64_t dim = (int64_t)n;
  oc_wire_put_packed_i64(tensor, 1, &dim, 1);
  oc_wire_put_varint(tensor, 2, 7);
  oc_wire_put_packed_i64(tensor, 7, v, n);
}

/* w: 2 x 3 with 5 at `place` (linear) and 6 at 4; int64. */
static void put_sparse(struct oc_buf *graph, int64_t place)
{
  struct oc_buf values, indices, sparse;
  oc_buf_init(&values, 1 << 12);
  oc_buf_init(&indices, 1 << 12);
  oc_buf_init(&sparse, 1 << 12);
  put_ints(&values, (const int64_t[]){ 5, 6 }, 2);
  oc_wire_put_string(&values, 8, "w");
  put_ints(&indices, (const int64_t[]){ place, 4 }, 2);
  oc_wire_put_message(&sparse, 1, &values);
  oc_wire_put_message(&sparse, 2, &indices);
  oc_wire_put_packed_i64(&sparse, 3, (const int64_t[]){ 2, 3 }, 2);
  oc_wire_put_message(graph, 15, &sparse);
  oc_buf_clear(&values);
  oc_buf_clear(&indices);
  oc_buf_clear(&sparse);
}

START_TEST(sparse_weights_are_dense)
{
  static const int64_t want[] = { 0, 5, 0, 0, 6, 0 };
  struct oc_buf text, model, graph;
  struct imported im = { 0 };
  bool inside = _i == 0;
  oc_buf_init(&text, 1 << 16);
  oc_buf_init(&model, 1 << 16);
  oc_buf_init(&graph, 1 << 16);
  onnx_text(H "node Add a x,w -> y\nout y\n", &text);
  struct oc_wire w0;
  struct oc_field f;
  oc_wire_open(&w0, text.data, text.len);
  while (oc_wire_next(&w0, &f))
    if (f.number == 7)
      oc_buf_append(&graph, f.data, f.len);
    else if (f.type == OC_WIRE_BYTES)
      oc_wire_put_bytes(&model, f.number, f.data, f.len);
    else
      oc_wire_put_varint(&model, f.number, f.u);
  put_sparse(&graph, inside ? 1 : 6);
  oc_wire_put_message(&model, 7, &graph);
  import_bytes(model.data, model.len, NULL, &im);
  ck_assert_int_eq(im.rc == 0, inside);
  const struct oc_op *w = inside ? oc_graph_find(im.graph, "w_Initializer_0") : NULL;
  ck_assert(!inside || w);
  for (size_t i = 0; i < 6 && inside; i++) {
    int64_t v = -1;
    ck_assert(oc_value_int(w->value, i, &v));
    ck_assert_int_eq(v, want[i]);
  }
  oc_buf_clear(&text);
  oc_buf_clear(&model);
  oc_buf_clear(&graph);
  imported_clear(&im);
}
END_TEST

/* What stands for an unknown op still hangs in the graph. */
START_TEST(unknown_ops_stand_in)
{
  struct imported im;
  struct oc_buf got;
  import_text(H "node Fancy a x,x -> y,z\nnode Relu b z -> w\nout w\n", NULL, &im);
  oc_buf_init(&got, 1 << 16);
  graph_text(im.graph, false, &got);
  ck_assert_str_eq(oc_buf_str(&got), "a = Fancy(x0=x, x1=x)\nb = Relu(x=a:1)\n");
  ck_assert_int_eq(im.graph->ops[1]->outputs[0].t.dtype, OC_DT_UNDEFINED);
  oc_buf_clear(&got);
  imported_clear(&im);
}
END_TEST

START_TEST(many_findings_are_counted)
{
  struct imported im;
  struct oc_buf text;
  oc_buf_init(&text, 1 << 20);
  oc_buf_puts(&text, H);
  for (int i = 0; i < 100; i++)
    oc_buf_printf(&text, "node Relu n%d gone%d -> t%d\n", i, i, i);
  oc_buf_puts(&text, "out t0\n");
  import_text(oc_buf_str(&text), NULL, &im);
  ck_assert_uint_eq(im.findings.n, 17);
  ck_assert_int_eq(im.findings.items[16].id, OC_FINDING_MORE_OF_THESE);
  ck_assert_str_eq(im.findings.items[16].args[0].value, "84");
  oc_buf_clear(&text);
  imported_clear(&im);
}
END_TEST

static void check_room(const struct imported *im, size_t len)
{
  ck_assert_uint_le(im->arena.used, 24 * len + (16u << 20) + 65536);
}

START_TEST(no_file_at_all)
{
  struct imported im = { 0 };
  import_bytes("", 0, NULL, &im);
  ck_assert_str_eq(im.findings_text, "model-empty()");
  imported_clear(&im);
}
END_TEST

static size_t varint_size(size_t v)
{
  size_t n = 1;
  for (; v > 127; v >>= 7)
    n++;
  return n;
}

enum { DEPTH = 20000 };

/* A graph with one If, whose branch is such a graph, DEPTH levels. The branch is the last
 * field of everything around it, so the file is a row of beginnings; their lengths are
 * counted from the inside. */
static void nested(struct oc_buf *out)
{
  static size_t attr[DEPTH], node[DEPTH], graph[DEPTH + 1];
  static const char name[] = "\x0a\x0bthen_branch\xa0\x01\x05"; /* name and type */
  static const char type[] = "\x22\x02If";
  graph[DEPTH] = 0;
  for (int i = DEPTH - 1; i >= 0; i--) {
    attr[i] = sizeof(name) - 1 + 1 + varint_size(graph[i + 1]) + graph[i + 1];
    node[i] = sizeof(type) - 1 + 1 + varint_size(attr[i]) + attr[i];
    graph[i] = 1 + varint_size(node[i]) + node[i];
  }
  oc_wire_put_i64(out, 1, 8);
  oc_wire_put_bytes(out, 8, "\x10\x0d", 2);
  oc_wire_put_tag(out, 7, OC_WIRE_BYTES);
  oc_wire_put_raw_varint(out, graph[0]);
  for (int i = 0; i < DEPTH; i++) {
    oc_wire_put_tag(out, 1, OC_WIRE_BYTES);
    oc_wire_put_raw_varint(out, node[i]);
    oc_buf_append(out, type, sizeof(type) - 1);
    oc_wire_put_tag(out, 5, OC_WIRE_BYTES);
    oc_wire_put_raw_varint(out, attr[i]);
    oc_buf_append(out, name, sizeof(name) - 1);
    oc_wire_put_tag(out, 6, OC_WIRE_BYTES);
    oc_wire_put_raw_varint(out, graph[i + 1]);
  }
}

START_TEST(deep_nesting)
{
  struct oc_buf model;
  struct imported im = { 0 };
  oc_buf_init(&model, 4u << 20);
  nested(&model);
  import_bytes(model.data, model.len, NULL, &im);
  ck_assert_str_eq(im.findings_text, "model-nesting(If)");
  check_room(&im, model.len);
  oc_buf_clear(&model);
  imported_clear(&im);
}
END_TEST

/* As many tiny nodes as fit: memory stays a small multiple of the file. */
START_TEST(swarm_of_nodes)
{
  struct oc_buf graph, model;
  struct imported im = { 0 };
  oc_buf_init(&graph, 16u << 20);
  oc_buf_init(&model, 16u << 20);
  for (int i = 0; i < 300000; i++)
    oc_wire_put_bytes(&graph, 1, "\x22\x01Z", 3);
  oc_wire_put_message(&model, 7, &graph);
  oc_wire_put_bytes(&model, 8, "\x10\x0d", 2);
  import_bytes(model.data, model.len, NULL, &im);
  ck_assert_int_ne(im.rc, 0);
  check_room(&im, model.len);
  oc_buf_clear(&graph);
  oc_buf_clear(&model);
  imported_clear(&im);
}
END_TEST

static const char RICH[] =
    "opset 13\nopset npu 1\nin x f32 N,8,16,16\nin c b8 -\ninit w f32 8,8,3,3\ninit b "
    "f32 8\n"
    "init i i64 2 1 2\ngraph g1\nnode Relu _ x -> q\nout q\nend\n"
    "graph g2\ninit k f32 1\nnode Mul _ x,k -> q\nout q\nend\n"
    "graph g3\nin n i64 -\nin d b8 -\nin v f32 ?\nnode Identity _ d -> d2\n"
    "node Add _ v,x -> v2\nout d2\nout v2\nend\n"
    "node Conv v x,w,b -> a kernel_shape=I3;3 strides=I2;2 pads=I1;1;1;1\n"
    "node Transpose t a -> e perm=I0;2;3;1\nnode Constant k -> f value=tf32:1;2\n"
    "node Add _ e,f -> h\nnode If if1 c -> o then_branch=gg1 else_branch=gg2\n"
    "node Loop lp i,c,x -> z body=gg3\nnode LSTM l x,w,w -> _,_,p hidden_size=i4 "
    "activations=SSigmoid;Tanh\nnode npu::NPUMish m h -> r\nout r\nout o\nout z\n";

START_TEST(truncated_anywhere)
{
  struct oc_buf model;
  oc_buf_init(&model, 1 << 20);
  onnx_text(RICH, &model);
  for (size_t len = 0; len < model.len; len++) {
    /* An exact copy, so that reading one byte too many is seen. */
    uint8_t *copy = malloc(len ? len : 1);
    struct imported im = { 0 };
    memcpy(copy, model.data, len);
    import_bytes(copy, len, NULL, &im);
    ck_assert_msg(im.rc == 0 || im.findings.n > 0, "cut at %zu", len);
    imported_clear(&im);
    free(copy);
  }
  oc_buf_clear(&model);
}
END_TEST

START_TEST(damaged_anywhere)
{
  static const uint8_t values[] = { 0x00, 0x7f, 0x80, 0xff };
  struct oc_buf model;
  oc_buf_init(&model, 1 << 20);
  onnx_text(RICH, &model);
  uint8_t *copy = malloc(model.len);
  for (size_t at = 0; at < model.len; at++)
    for (size_t k = 0; k < sizeof(values) + 1; k++) {
      struct imported im = { 0 };
      memcpy(copy, model.data, model.len);
      copy[at] = k < sizeof(values) ? values[k] : (uint8_t)(copy[at] ^ 1u);
      import_bytes(copy, model.len, NULL, &im);
      ck_assert_msg(im.rc == 0 || im.findings.n > 0, "byte %zu", at);
      check_room(&im, model.len);
      imported_clear(&im);
    }
  free(copy);
  oc_buf_clear(&model);
}
END_TEST

START_TEST(noise)
{
  uint32_t seed = 1;
  uint8_t bytes[512];
  for (int round = 0; round < 1000; round++) {
    struct imported im = { 0 };
    size_t len = (size_t)(round % (int)sizeof(bytes)) + 1;
    for (size_t i = 0; i < len; i++) {
      seed = seed * 1664525u + 1013904223u;
      bytes[i] = (uint8_t)(seed >> 24);
    }
    import_bytes(bytes, len, NULL, &im);
    ck_assert_int_ne(im.rc, 0);
    ck_assert_uint_gt(im.findings.n, 0);
    imported_clear(&im);
  }
}
END_TEST

int main(void)
{
  Suite *s = suite_create("import_bad");
  TCase *t = tcase_create("bad");
  tcase_add_loop_test(t, models, 0, (int)(sizeof(rows) / sizeof(rows[0])));
  tcase_add_loop_test(t, lenient, 0, (int)(sizeof(rows) / sizeof(rows[0])));
  tcase_add_test(t, functions_stand_in_place_of_calls);
  tcase_add_loop_test(t, sparse_weights_are_dense, 0, 2);
  tcase_add_test(t, functions_without_end_are_refused);
  tcase_add_test(t, unknown_ops_stand_in);
  tcase_add_test(t, many_findings_are_counted);
  tcase_add_test(t, no_file_at_all);
  tcase_add_test(t, deep_nesting);
  tcase_add_test(t, swarm_of_nodes);
  tcase_add_test(t, truncated_anywhere);
  tcase_add_test(t, damaged_anywhere);
  tcase_add_test(t, noise);
  tcase_set_timeout(t, 240);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
