/* Names: what the vendor's parser would call things. Each row is a model and every op of
 * the graph it must become, in order. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph_text.h"

static const struct {
  const char *model;
  const char *want;
} rows[] = {
  { /* names byte for byte; initializers ranked by their names; inputs keep theirs */
    "opset 13\nin x:0 f32 1,4\ninit zz f32 4\ninit a/b f32 4\n"
    "node Add /m/Add:1.0 x:0,zz -> t\nnode Mul second t,a/b -> y\nout y\n",
    "x:0 = Data() index=0\n"
    "a/b_Initializer_0 = Const() f32{0,0,0,0}\n"
    "zz_Initializer_1 = Const() f32{0,0,0,0}\n"
    "/m/Add:1.0 = Add(x1=x:0, x2=zz_Initializer_1)\n"
    "second = Mul(x1=/m/Add:1.0, x2=a/b_Initializer_0)\n"
    "Node_Output = NetOutput(x0=second) _output_names=[y]\n" },
  { /* unnamed nodes count only themselves; unused initializers stay */
    "opset 13\nin x f32 2\ninit u f32 1\nnode Relu _ x -> a\nnode Abs n a -> b\n"
    "node Relu _ b -> y\nout y\n",
    "x = Data() index=0\n"
    "u_Initializer_0 = Const() f32{0}\n"
    "Relu_0 = Relu(x=x)\n"
    "n = Abs(x=Relu_0)\n"
    "Relu_1 = Relu(x=n)\n"
    "Node_Output = NetOutput(x0=Relu_1) _output_names=[y]\n" },
  { /* IR 3: an input that is also an initializer is a constant */
    "ir 3\nopset 8\nin x f32 2\nin w f32 2\ninit w f32 2\nnode Add n x,w -> y\nout y\n",
    "x = Data() index=0\n"
    "w_Initializer_0 = Const() f32{0,0}\n"
    "n = Add(x1=x, x2=w_Initializer_0)\n"
    "Node_Output = NetOutput(x0=n) _output_names=[y]\n" },
  { /* a Constant node keeps its name; nodes may come in any order */
    "opset 13\nin x f32 2\nnode Add n x,c -> y\nnode Constant c1 -> c "
    "value=tf32:1;2\nout y\n",
    "x = Data() index=0\n"
    "c1 = Const() f32{1,2}\n"
    "n = Add(x1=x, x2=c1)\n"
    "Node_Output = NetOutput(x0=n) _output_names=[y]\n" },
  { /* several pieces: the node's name lives on in their origin; k counts inputs too and
       goes on in the next expansion */
    "opset 13\nin x f32 2,3\nnode Transpose t x -> a perm=I1;0\nnode Transpose u a -> y "
    "perm=I1;0\n"
    "out y\n",
    "x = Data() index=0\n"
    "PartitionedCall_t_Const_1 = Const() i32{1,0} <t>\n"
    "PartitionedCall_t_Transpose_2 = Transpose(x=x, perm=PartitionedCall_t_Const_1) <t>\n"
    "PartitionedCall_u_Const_4 = Const() i32{1,0} <u>\n"
    "PartitionedCall_u_Transpose_5 = Transpose(x=PartitionedCall_t_Transpose_2, "
    "perm=PartitionedCall_u_Const_4) <u>\n"
    "Node_Output = NetOutput(x0=PartitionedCall_u_Transpose_5) _output_names=[y]\n" },
  { /* several outputs, one of them unused, and a model output in the middle */
    "opset 13\nin x f32 4\nnode Split s x -> a,b\nnode Relu r a -> y\nout y\nout b\n",
    "x = Data() index=0\n"
    "PartitionedCall_s_split_dim_1 = Const() i32{0} <s>\n"
    "PartitionedCall_s_Split_2 = Split(split_dim=PartitionedCall_s_split_dim_1, x=x) "
    "num_split=2 <s>\n"
    "r = Relu(x=PartitionedCall_s_Split_2)\n"
    "Node_Output = NetOutput(x0=r, x1=PartitionedCall_s_Split_2:1) "
    "_output_names=[y,b]\n" },
};

START_TEST(whole_graphs)
{
  struct imported im;
  struct oc_buf got;
  import_text(rows[_i].model, NULL, &im);
  ck_assert_msg(im.rc == 0, "row %d: %s", _i, im.findings_text);
  oc_buf_init(&got, 1 << 16);
  graph_text(im.graph, true, &got);
  ck_assert_msg(strcmp(oc_buf_str(&got), rows[_i].want) == 0, "row %d gives\n%s", _i,
                oc_buf_str(&got));
  oc_buf_clear(&got);
  imported_clear(&im);
}
END_TEST

static void expect_sub(const struct oc_graph *g, const char *op, uint32_t i,
                       const char *want)
{
  const struct oc_op *o = oc_graph_find(g, op);
  struct oc_buf got;
  ck_assert_msg(o && i < o->n_subgraphs, "no sub-graph of %s", op);
  oc_buf_init(&got, 1 << 16);
  graph_text(o->subgraphs[i].graph, true, &got);
  ck_assert_msg(strcmp(oc_buf_str(&got), want) == 0, "%s %u gives\n%s", op, i,
                oc_buf_str(&got));
  ck_assert_ptr_eq(o->subgraphs[i].graph->parent, g);
  ck_assert_ptr_eq(o->subgraphs[i].graph->parent_op, o);
  oc_buf_clear(&got);
}

/* Branches nest: names chain, captured tensors are sorted and go through every level, in
 * both branches; unnamed nodes are numbered breadth first. */
START_TEST(branches)
{
  struct imported im;
  struct oc_buf got;
  import_text(
      "opset 13\nin c b8 -\nin x f32 2\nin a f32 2\n"
      "graph t2\nnode Relu _ x -> r\nout r\nend\n"
      "graph e2\nnode Identity i2 a -> r\nout r\nend\n"
      "graph t1\nnode If inner c -> z then_branch=gt2 else_branch=ge2\nout z\nend\n"
      "graph e1\ninit k f32 2\nnode Add _ x,k -> z\nout z\nend\n"
      "node Abs _ x -> q\n"
      "node If if1 c -> y else_branch=ge1 then_branch=gt1\nout y\n",
      NULL, &im);
  ck_assert_msg(im.rc == 0, "%s", im.findings_text);
  oc_buf_init(&got, 1 << 16);
  graph_text(im.graph, false, &got);
  ck_assert_str_eq(oc_buf_str(&got),
                   "Abs_0 = Abs(x=x)\n"
                   "if1 = If(cond=c, input0=a, input1=c, input2=x) {if1_0_then_branch} "
                   "{if1_1_else_branch}\n");
  oc_buf_clear(&got);
  expect_sub(im.graph, "if1", 1,
             "if1_1_else_branch/a = Data() _parent_node_index=1 index=0\n"
             "if1_1_else_branch/c = Data() _parent_node_index=2 index=1\n"
             "if1_1_else_branch/x = Data() _parent_node_index=3 index=2\n"
             "if1_1_else_branch/k_Initializer_0 = Const() f32{0,0}\n"
             "if1_1_else_branch/Add_1 = Add(x1=if1_1_else_branch/x, "
             "x2=if1_1_else_branch/k_Initializer_0)\n"
             "if1_1_else_branch/Node_Output = NetOutput(x0=if1_1_else_branch/Add_1) "
             "_output_names=[z]\n");
  const struct oc_graph *then = oc_graph_find(im.graph, "if1")->subgraphs[0].graph;
  expect_sub(
      then, "if1_0_then_branch/inner", 0,
      "if1_0_then_branch/inner_0_then_branch/a = Data() _parent_node_index=1 index=0\n"
      "if1_0_then_branch/inner_0_then_branch/x = Data() _parent_node_index=2 index=1\n"
      "if1_0_then_branch/inner_0_then_branch/Relu_2 = "
      "Relu(x=if1_0_then_branch/inner_0_then_branch/x)\n"
      "if1_0_then_branch/inner_0_then_branch/Node_Output = "
      "NetOutput(x0=if1_0_then_branch/inner_0_then_branch/Relu_2) _output_names=[r]\n");
  imported_clear(&im);
}
END_TEST

/* A body's own inputs carry no parent index; captured ones follow the op's inputs. */
START_TEST(loop_body)
{
  struct imported im;
  import_text("opset 13\nin m i64 -\nin c b8 -\nin v f32 2\nin w f32 2\n"
              "graph b\nin i i64 -\nin k b8 -\nin s f32 2\nnode Identity ki k -> ko\n"
              "node Add add s,w -> so\nout ko\nout so\nend\n"
              "node Loop lp m,c,v -> y body=gb\nout y\n",
              NULL, &im);
  ck_assert_msg(im.rc == 0, "%s", im.findings_text);
  ck_assert_str_eq(im.findings_text, "op-no-parser(Loop)");
  expect_sub(
      im.graph, "lp", 0,
      "lp_0_body/i = Data() index=0\nlp_0_body/k = Data() index=1\n"
      "lp_0_body/s = Data() index=2\nlp_0_body/w = Data() _parent_node_index=3 index=3\n"
      "lp_0_body/ki = Identity(x=lp_0_body/k)\n"
      "lp_0_body/add = Add(x1=lp_0_body/s, x2=lp_0_body/w)\n"
      "lp_0_body/Node_Output = NetOutput(x0=lp_0_body/ki, x1=lp_0_body/add) "
      "_output_names=[ko,so]\n");
  imported_clear(&im);
}
END_TEST

/* The batched Scan of opset 8 is a Scan over the batch around a Scan over the sequence;
 * what the body takes from outside goes through both. */
START_TEST(scan_of_opset_8)
{
  struct imported im;
  import_text("opset 8\nin s f32 2,3\nin x f32 2,5,3\nin w f32 3\n"
              "graph b\nin a f32 3\nin v f32 3\nnode Add add a,v -> n\n"
              "node Mul mul v,w -> o\nout n\nout o\nend\n"
              "node Scan sc _,s,x -> f,z body=gb num_scan_inputs=i1 directions=I1\n"
              "out f\nout z\n",
              NULL, &im);
  ck_assert_msg(im.rc == 0, "%s", im.findings_text);
  ck_assert_str_eq(im.findings_text, "op-no-parser(Scan)");
  const struct oc_op *outer = oc_graph_find(im.graph, "sc");
  ck_assert_uint_eq(outer->n_inputs, 3);
  ck_assert_str_eq(outer->inputs[0].from->name, "s");
  ck_assert_str_eq(outer->inputs[2].from->name, "w");
  ck_assert_int_eq(oc_attr_int(outer, "num_scan_inputs", 0), 2);
  const struct oc_graph *batch = outer->subgraphs[0].graph;
  const struct oc_op *inner = oc_graph_find(batch, "sc_0_body/sc");
  ck_assert_ptr_nonnull(inner);
  ck_assert_ptr_eq(inner->subgraphs[0].graph->parent, batch);
  ck_assert_int_eq(oc_attr_int(inner, "num_scan_inputs", 0), 1);
  size_t n = 0;
  const int64_t *ways = oc_attr_ints(inner, "scan_input_directions", &n);
  ck_assert(n == 1 && ways[0] == 1);
  ck_assert_ptr_null(oc_attr_find(outer, "scan_input_directions"));
  expect_sub(batch, "sc_0_body/sc", 0,
             "sc_0_body/sc_0_body/a = Data() index=0\n"
             "sc_0_body/sc_0_body/v = Data() index=1\n"
             "sc_0_body/sc_0_body/w = Data() _parent_node_index=2 index=2\n"
             "sc_0_body/sc_0_body/add = Add(x1=sc_0_body/sc_0_body/a, "
             "x2=sc_0_body/sc_0_body/v)\n"
             "sc_0_body/sc_0_body/mul = Mul(x1=sc_0_body/sc_0_body/v, "
             "x2=sc_0_body/sc_0_body/w)\n"
             "sc_0_body/sc_0_body/Node_Output = NetOutput(x0=sc_0_body/sc_0_body/add, "
             "x1=sc_0_body/sc_0_body/mul) _output_names=[n,o]\n");
  imported_clear(&im);
}
END_TEST

/* A branch may use constants and declared shapes of the graphs around it. */
START_TEST(outer_constants)
{
  struct imported im;
  import_text("opset 13\nin c b8 -\nin x f32 1,2,8\ninit w f32 2,2,3\n"
              "graph t\nnode Conv cv x,w -> q\nout q\nend\n"
              "graph e\nnode Transpose tr x -> q\nout q\nend\n"
              "node If i c -> y then_branch=gt else_branch=ge\nout y\n",
              NULL, &im);
  ck_assert_int_eq(im.rc, 0);
  ck_assert_str_eq(im.findings_text, "node-differs(i_1_else_branch/tr)");
  const struct oc_op *op = oc_graph_find(im.graph, "i");
  ck_assert_ptr_nonnull(oc_graph_find(op->subgraphs[0].graph,
                                      "PartitionedCall_i_0_then_branch/cv_Conv2D_4"));
  imported_clear(&im);
}
END_TEST

static const struct {
  const char *out_nodes, *want; /* what NetOutput reads, or the finding */
} outs[] = {
  { "", "r" },
  { "a:0", "a" },
  { "s:1;r:0", "PartitionedCall_s_Split_2:1,r" },
  { " t2 ; ", "PartitionedCall_s_Split_2:1" },
  { "x", "x" },
  { "a:1", "!out-node-unknown(a:1)" },
  { "nothing", "!out-node-unknown(nothing)" },
  { ";", "!no-outputs()" },
};

START_TEST(out_nodes)
{
  struct imported im;
  struct oc_import_options opt = { .out_nodes = outs[_i].out_nodes };
  char got[256] = "";
  import_text("opset 13\nin x f32 4\nnode Abs a x -> t\nnode Split s t -> t1,t2\n"
              "node Relu r t1 -> y\nout y\n",
              &opt, &im);
  if (outs[_i].want[0] == '!') {
    ck_assert_str_eq(im.findings_text, outs[_i].want + 1);
  } else {
    const struct oc_op *end = oc_graph_find(im.graph, "Node_Output");
    for (uint32_t i = 0; i < end->n_inputs; i++) {
      size_t at = strlen(got);
      (void)snprintf(got + at, sizeof(got) - at, "%s%s%s", i ? "," : "",
                     end->inputs[i].from->name, end->inputs[i].from_out ? ":1" : "");
    }
    ck_assert_str_eq(got, outs[_i].want);
  }
  imported_clear(&im);
}
END_TEST

START_TEST(open_dims_are_symbols)
{
  struct imported im;
  import_text("opset 13\nin x f32 N,3,?,-1\nin y f32 N,3\nin z f32 ?\nin s f32 -\n"
              "node Abs a x -> t\nout t\n",
              NULL, &im);
  ck_assert_int_eq(im.rc, 0);
  struct oc_shape x = im.graph->ops[0]->outputs[0].t.shape;
  struct oc_shape y = im.graph->ops[1]->outputs[0].t.shape;
  ck_assert_uint_eq(x.rank, 4);
  ck_assert_int_lt(x.dims[0], OC_DIM_UNKNOWN);
  ck_assert_int_eq(x.dims[0], y.dims[0]);
  ck_assert_int_eq(x.dims[1], 3);
  ck_assert_int_lt(x.dims[2], OC_DIM_UNKNOWN);
  ck_assert_int_ne(x.dims[2], x.dims[3]);
  ck_assert_str_eq(oc_graph_symbol_name(im.graph, x.dims[0]), "N");
  ck_assert(!im.graph->ops[2]->outputs[0].t.shape.known_rank);
  ck_assert(oc_shape_is_static(im.graph->ops[3]->outputs[0].t.shape));
  ck_assert_int_eq(im.graph->ops[0]->outputs[0].t.format, OC_FMT_NCHW);
  ck_assert_int_eq(im.graph->ops[0]->outputs[0].t.dtype, OC_DT_F32);
  imported_clear(&im);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("import_names");
  TCase *t = tcase_create("names");
  tcase_add_loop_test(t, whole_graphs, 0, (int)(sizeof(rows) / sizeof(rows[0])));
  tcase_add_test(t, branches);
  tcase_add_test(t, loop_body);
  tcase_add_test(t, scan_of_opset_8);
  tcase_add_test(t, outer_constants);
  tcase_add_loop_test(t, out_nodes, 0, (int)(sizeof(outs) / sizeof(outs[0])));
  tcase_add_test(t, open_dims_are_symbols);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
