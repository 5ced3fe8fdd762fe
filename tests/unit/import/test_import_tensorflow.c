/* What frozen TensorFlow graphs become: types, names, attributes, layouts, ends, loops.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "graph_text.h"
#include "infer/infer.h"
#include "tf_text.h"

static struct imported im;

static void run(const char *text, const char *shapes, const char *outs)
{
  struct oc_import_options o = { .input_shape = shapes, .out_nodes = outs };
  oc_buf_init(&im.model, 1 << 20);
  tf_graph_from(text, &im.model);
  import_bytes_with(oc_import_tensorflow, im.model.data, im.model.len, &o, &im);
}

static const char *text_of(bool all)
{
  static char copy[8192];
  struct oc_buf out;
  oc_buf_init(&out, sizeof(copy) - 1);
  ck_assert_msg(im.graph != NULL, "%s", im.findings_text);
  graph_text(im.graph, all, &out);
  (void)strncpy(copy, oc_buf_str(&out), sizeof(copy) - 1);
  oc_buf_clear(&out);
  return copy;
}

#define X "x Placeholder - dtype=t1 shape=h1;8;8;4\n"

static const struct {
  const char *id, *text, *graph;
} cases[] = {
  { "one to one", X "r Relu x T=t1\n", "r = Relu(x=x)\n" },
  { "attributes go over", X "p MaxPool x ksize=I1;2;2;1 strides=I1;2;2;1 padding=sSAME",
    "p = MaxPool(x=x) ksize=[1,2,2,1] padding=SAME strides=[1,2,2,1]\n" },
  { "renamed attributes", X "l LeakyRelu x alpha=f0.5",
    "l = LeakyRelu(x=x) "
    "negative_slope=0.5\n" },
  { "convolution",
    X "w Const - dtype=t1 value=c1:3;3;4;2:0.5\nc Conv2D x,w strides=I1;1;1;1 "
      "padding=sVALID data_format=sNHWC",
    "c = Conv2D(x=x, filter=w) data_format=NHWC padding=VALID pads=[0,0,0,0] "
    "strides=[1,1,1,1]\n" },
  { "explicit padding",
    X "w Const - value=c1:3;3;4;2:1\nc Conv2D x,w strides=I1;1;1;1 padding=sEXPLICIT "
      "explicit_paddings=I0;0;1;2;3;4;0;0",
    "c = Conv2D(x=x, filter=w) explicit_paddings=[0,0,1,2,3,4,0,0] padding=EXPLICIT "
    "pads=[1,2,3,4] strides=[1,1,1,1]\n" },
  { "softmax has axes", X "s Softmax x", "s = SoftmaxV2(x=x) axes=[-1]\n" },
  { "output index", X "a Const - value=c3::3\ns Split a,x num_split=i2\nr Relu s:1",
    "s = Split(split_dim=a, x=x) num_split=2\nr = Relu(x=s:1)\n" },
  { "dynamic inputs in front", X "y Relu x\na Const - value=c3::3\nc ConcatV2 x,y,a N=i2",
    "y = Relu(x=x)\nc = ConcatV2(x0=x, x1=y, concat_dim=a) N=2\n" },
  { "types as attributes", X "c Cast x DstT=t19", "c = Cast(x=x) dst_type=f16\n" },
  { "training norm drops mean and variance",
    X "s Const - value=c1:4:1\nb FusedBatchNormV3 x,s,s,s,s is_training=b1",
    "b = BatchNorm(x=x, scale=s, offset=s) is_training=true\n" },
  { "names stay", X "a/b/Relu_1 Relu x", "a/b/Relu_1 = Relu(x=x)\n" },
};

START_TEST(graphs)
{
  run(cases[_i].text, NULL, NULL);
  ck_assert_msg(strcmp(text_of(false), cases[_i].graph) == 0, "%s: %s %s", cases[_i].id,
                text_of(false), im.findings_text);
  ck_assert_msg(im.findings.n == 0, "%s: %s", cases[_i].id, im.findings_text);
  imported_clear(&im);
}
END_TEST

START_TEST(ends)
{
  run("version 134\n" X "y Placeholder - dtype=t3 shape=h\nr Relu x\nq Identity y\n",
      NULL, NULL);
  ck_assert_ptr_nonnull(im.graph);
  const struct oc_op *x = oc_graph_find(im.graph, "x"), *y = oc_graph_find(im.graph, "y");
  const struct oc_op *end = oc_graph_find(im.graph, "Node_Output");
  ck_assert(oc_op_is(x, "Data") && oc_op_is(y, "Data") && oc_op_is(end, "NetOutput"));
  ck_assert_int_eq(x->outputs[0].t.format, OC_FMT_NHWC);
  ck_assert_int_eq(y->outputs[0].t.dtype, OC_DT_I32);
  ck_assert(y->outputs[0].t.shape.known_rank && y->outputs[0].t.shape.rank == 0);
  ck_assert_int_eq(oc_attr_int(y, "index", -1), 1);
  ck_assert_int_eq(end->n_inputs, 2);
  ck_assert_str_eq(end->inputs[0].from->name, "r");
  ck_assert_str_eq(im.graph->model_format, "tensorflow");
  ck_assert_str_eq(oc_graph_find(im.graph, "r")->source_type, "Relu");
  imported_clear(&im);
}
END_TEST

/* A scalar shape of an old writer means that nothing is known. */
START_TEST(old_placeholders)
{
  run("version 20\nx Placeholder - dtype=t1 shape=h\nr Relu x\n", NULL, NULL);
  ck_assert(!oc_graph_find(im.graph, "x")->outputs[0].t.shape.known_rank);
  imported_clear(&im);
}
END_TEST

START_TEST(constants)
{
  int64_t v = 0;
  run("a Const - value=c3:4:7\nb Const - value=c9:2:5;-6\nz Const - value=c3:3:\n"
      "c AddN a,b,z N=i3\n",
      NULL, NULL);
  const struct oc_op *a = oc_graph_find(im.graph, "a"), *b = oc_graph_find(im.graph, "b");
  const struct oc_op *z = oc_graph_find(im.graph, "z");
  ck_assert(oc_value_int(a->value, 3, &v) && v == 7); /* the last one is repeated */
  ck_assert(oc_value_int(b->value, 1, &v) && v == -6);
  ck_assert(oc_value_int(z->value, 2, &v) && v == 0);
  ck_assert_str_eq(a->source_type, "Const");
  imported_clear(&im);
}
END_TEST

START_TEST(cuts)
{
  static const char *const graph =
      "w Placeholder - dtype=t7\nd DecodeWav w\nm Mfcc d,d:1\nr Relu m T=t1\n"
      "s Softmax r T=t1\n";
  run(graph, NULL, NULL);
  ck_assert_str_eq(im.findings_text, "tf-op-unknown(DecodeWav)");
  imported_clear(&im);
  run(graph, "m:1,49,10", "r:0");
  ck_assert_str_eq(im.findings_text, "");
  ck_assert_str_eq(text_of(true), "m = Data() index=0\nr = Relu(x=m)\nNode_Output = "
                                  "NetOutput(x0=r) _output_names=[r:0]\n");
  imported_clear(&im);
}
END_TEST

START_TEST(control_edges)
{
  run(X "a Relu x\nb Relu x,^a\n", NULL, "b:0");
  const struct oc_op *b = oc_graph_find(im.graph, "b");
  ck_assert_int_eq(b->n_inputs, 1);
  ck_assert_int_eq(b->n_controls, 1);
  ck_assert_str_eq(b->controls[0]->name, "a");
  imported_clear(&im);
}
END_TEST

START_TEST(loops)
{
  run("x Placeholder - dtype=t3 shape=h\nn Const - value=c3::9\n"
      "e Enter x T=t3 frame_name=sf is_constant=b0\nm Merge e,k T=t3 N=i2\n"
      "l Less m,n\nc LoopCond l\ns Switch m,c\no Const - value=c3::1\na Add s:1,o T=t3\n"
      "k NextIteration a T=t3\nq Exit s T=t3\n",
      NULL, NULL);
  ck_assert_str_eq(im.findings_text, "tf-loop(c)");
  const struct oc_op *m = oc_graph_find(im.graph, "m"), *q = oc_graph_find(im.graph, "q");
  ck_assert(oc_str_is(oc_attr_string(m, "_next_iteration", ""), "k"));
  ck_assert_ptr_null(m->inputs[1].from);
  ck_assert_int_eq(q->n_controls, 1);
  ck_assert_str_eq(q->controls[0]->name, "k");
  imported_clear(&im);
}
END_TEST

/* Layouts reach inference: sizes of NHWC tensors through a small net. */
START_TEST(shapes)
{
  struct oc_error err = { 0 };
  static const int64_t want[] = { 1, 2, 2, 2 };
  run(X "w Const - value=c1:3;3;4;2:1\nc Conv2D x,w strides=I1;2;2;1 padding=sSAME\n"
        "p AvgPool c ksize=I1;2;2;1 strides=I1;2;2;1 padding=sVALID\n",
      NULL, NULL);
  ck_assert_int_eq(
      oc_infer(im.graph, &(struct oc_infer_options){ 0 }, &im.findings, NULL, &err), 0);
  const struct oc_shape s = oc_graph_find(im.graph, "p")->outputs[0].t.shape;
  ck_assert(oc_shape_eq(s, (struct oc_shape){ true, 4, want }));
  imported_clear(&im);
}
END_TEST

/* twice(a) -> y: the indices of the two largest of relu(a), through a call of its own. */
START_TEST(functions_stand_in_place_of_calls)
{
  struct oc_import_options o = { 0 };
  oc_buf_init(&im.model, 1 << 20);
  tf_graph_from(X "c PartitionedCall x f=Ftwice Tout=I3\nd Abs c\n", &im.model);
  tf_function_into(&im.model, "twice", "a", "y", "k:indices:0",
                   "p StatefulPartitionedCall a f=Frelu Tout=I1\nn Const - value=c3::2\n"
                   "k TopKV2 p:output:0,n:output:0 T=t1\n");
  tf_function_into(&im.model, "relu", "b", "z", "r:activations:0", "r Relu b T=t1\n");
  import_bytes_with(oc_import_tensorflow, im.model.data, im.model.len, &o, &im);
  ck_assert_str_eq(im.findings_text, "");
  ck_assert_str_eq(text_of(false),
                   "c/twice/p/relu/r = Relu(x=x)\n"
                   "c/twice/p = Identity(x=c/twice/p/relu/r)\n"
                   "c/twice/k = TopK(x=c/twice/p, k=c/twice/n) dim=-1 largest=true\n"
                   "c = Identity(x=c/twice/k:1)\nd = Abs(x=c)\n");
  imported_clear(&im);
}
END_TEST

START_TEST(functions_without_end_are_refused)
{
  struct oc_import_options o = { 0 };
  oc_buf_init(&im.model, 1 << 20);
  tf_graph_from(X "c PartitionedCall x f=Fagain Tout=I1\n", &im.model);
  tf_function_into(&im.model, "again", "a", "y", "p:output:0",
                   "p PartitionedCall a f=Fagain Tout=I1\n");
  import_bytes_with(oc_import_tensorflow, im.model.data, im.model.len, &o, &im);
  ck_assert_int_ne(im.rc, 0);
  ck_assert_str_eq(im.findings_text, "model-malformed()");
  imported_clear(&im);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("import_tensorflow");
  TCase *c = tcase_create("tensorflow");
  tcase_add_loop_test(c, graphs, 0, (int)(sizeof(cases) / sizeof(cases[0])));
  tcase_add_test(c, functions_stand_in_place_of_calls);
  tcase_add_test(c, functions_without_end_are_refused);
  tcase_add_test(c, ends);
  tcase_add_test(c, old_placeholders);
  tcase_add_test(c, constants);
  tcase_add_test(c, cuts);
  tcase_add_test(c, control_edges);
  tcase_add_test(c, loops);
  tcase_add_test(c, shapes);
  suite_add_tcase(s, c);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed != 0;
}
