/* Recurrent layers and loops as the chip has them: weights in another order, directions
 * of their own, While with its condition. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "graph/graph.h"
#include "passes/passes.h"
#include "tables.h"

static struct oc_arena arena, paths;
static struct oc_findings findings;
static struct oc_graph *g;
static struct oc_optable *tables;

static void setup(void)
{
  oc_arena_init(&arena, 0);
  oc_findings_init(&findings, &arena);
  g = oc_graph_new(&arena, "test");
}

static void teardown(void)
{
  oc_arena_clear(&arena);
}

static void setup_tables(void)
{
  oc_arena_init(&paths, 0);
  tables = load_tables(&paths);
}

static void teardown_tables(void)
{
  oc_optable_free(tables);
  oc_arena_clear(&paths);
}

static struct oc_op *data(const char *name, const int64_t *dims, size_t rank)
{
  struct oc_op *op = oc_graph_add(g, name, "Data", 1, 1);

  op->outputs[0].t.dtype = OC_DT_F32;
  op->outputs[0].t.shape = oc_shape_of(&arena, dims, rank);
  return op;
}

/* A constant with the numbers first, first + 1, ... */
static struct oc_op *counted(const char *name, const int64_t *dims, float first)
{
  struct oc_value *v = OC_NEW(&arena, struct oc_value);
  size_t rank = dims[2] ? 3 : 2, n = 1;

  for (size_t i = 0; i < rank; i++)
    n *= (size_t)dims[i];
  float *f = OC_NEW_N(&arena, float, n);
  for (size_t i = 0; i < n; i++)
    f[i] = first + (float)i;
  *v = (struct oc_value){ .dtype = OC_DT_F32,
                          .shape = oc_shape_of(&arena, dims, rank),
                          .data = (const uint8_t *)f,
                          .len = n * sizeof(*f) };
  return oc_graph_add_const(g, name, v);
}

static void link_all(struct oc_op *op, struct oc_op *const *from, uint32_t n)
{
  for (uint32_t i = 0; i < n; i++) {
    if (!from[i])
      continue;
    oc_op_link(op, i, from[i], 0);
    op->inputs[i].t = from[i]->outputs[0].t;
  }
}

static void end_with(struct oc_op *op)
{
  struct oc_op *end = oc_graph_add(g, "Node_Output", "NetOutput", op->n_outputs, 0);

  for (uint32_t k = 0; k < op->n_outputs; k++)
    oc_op_link(end, k, op, k);
}

static void run(void)
{
  struct oc_pass_options o = { .on = OC_PASSES_DEFAULT };
  struct oc_error err = { 0 };
  int rc = oc_passes_run(g, OC_STAGE_INFERRED, tables, "Ascend910B1", &o, NULL, &findings,
                         &err);

  ck_assert_msg(rc >= 0, "%s", err.msg);
}

static struct oc_op *find(const char *name)
{
  struct oc_op *op = oc_graph_find(g, name);

  ck_assert_msg(op != NULL, "no op '%s'", name);
  return op;
}

/* Input called `port` as floats. */
static const float *content(const struct oc_op *op, const char *port, size_t n)
{
  for (uint32_t i = 0; i < op->n_inputs; i++) {
    if (strcmp(op->inputs[i].t.name, port) != 0)
      continue;
    const struct oc_value *v = oc_op_input_value(op, i);
    ck_assert_ptr_nonnull(v);
    ck_assert_uint_eq(oc_value_count(v), n);
    return (const float *)(const void *)v->data;
  }
  ck_abort_msg("'%s' has no input '%s'", op->name, port);
}

static void check_floats(const float *got, const float *want, size_t n)
{
  for (size_t i = 0; i < n; i++)
    ck_assert_msg(got[i] == want[i], "element %zu is %g, not %g", i, (double)got[i],
                  (double)want[i]);
}

/* 3 steps of batch 1, 2 numbers in, 1 hidden. */
static struct oc_op *recurrent(const char *type, int64_t directions, bool constant)
{
  int64_t gates = strcmp(type, "CommonLSTM") == 0 ? 4 : 3;
  struct oc_op *x = data("x", (int64_t[]){ 3, 1, 2 }, 3);
  struct oc_op *w = counted("w", (int64_t[]){ directions, gates, 2 }, 1);
  struct oc_op *r = constant ? counted("r", (int64_t[]){ directions, gates, 1 }, 100)
                             : data("r", (int64_t[]){ directions, gates, 1 }, 3);
  struct oc_op *b = counted("b", (int64_t[]){ directions, 2 * gates, 0 }, 10);
  struct oc_op *op = oc_graph_add(g, "rnn", type, 4, gates == 4 ? 3 : 2);

  link_all(op, (struct oc_op *[]){ x, w, r, b }, 4);
  op->keep = true;
  op->keep_entry = 2;
  (void)oc_attr_set_string(g, op, "direction",
                           directions == 2 ? "bidirectional" : "forward");
  int64_t y[4] = { 3, directions, 1, 1 };
  for (uint32_t k = 0; k < op->n_outputs; k++) {
    op->outputs[k].t.dtype = OC_DT_F32;
    op->outputs[k].t.shape = oc_shape_of(&arena, k ? y + 1 : y, k ? 3 : 4);
  }
  end_with(op);
  return op;
}

START_TEST(an_lstm_gets_its_weights_turned)
{
  static const float w[] = { 1, 7, 5, 3, 2, 8, 6, 4, 100, 103, 102, 101 };
  static const float b[] = { 24, 30, 28, 26 };

  (void)recurrent("CommonLSTM", 1, true);
  run();
  struct oc_op *op = find("rnn/DynamicRnn");
  ck_assert_str_eq(op->type, "DynamicRNN");
  check_floats(content(op, "w", 12), w, 12);
  check_floats(content(op, "b", 4), b, 4);
  ck_assert(op->keep);
  ck_assert_uint_eq(op->keep_entry, 2);
  bool named = false;
  for (uint32_t i = 0; i < op->n_origin_names; i++)
    named |= strcmp(op->origin_names[i], "rnn") == 0;
  ck_assert(named);
  ck_assert(oc_str_is(oc_attr_string(op, "direction", ""), "UNIDIRECTIONAL"));
  /* The last step of h and c. */
  const struct oc_op *end = find("Node_Output");
  ck_assert_str_eq(end->inputs[0].from->type, "Unsqueeze");
  for (uint32_t k = 1; k < 3; k++) {
    size_t n = 0;
    const struct oc_op *last = end->inputs[k].from;
    ck_assert_str_eq(last->type, "StridedSliceD");
    ck_assert_int_eq(oc_attr_ints(last, "begin", &n)[0], -1);
    ck_assert_ptr_eq(last->inputs[0].from, op);
    ck_assert_uint_eq(last->inputs[0].from_out, k);
  }
  ck_assert_ptr_null(oc_graph_find(g, "rnn"));
}
END_TEST

START_TEST(two_directions_are_two_ops)
{
  static const float back[] = { 7, 9, 11, 8, 10, 12 };
  static const float hidden[] = { 19, 20, 21 };

  (void)recurrent("CommonGRU", 2, true);
  run();
  struct oc_op *forward = find("rnn/DynamicGRUV2Forward");
  struct oc_op *reverse = find("rnn/DynamicGRUV2Reverse");
  check_floats(content(reverse, "weight_input", 6), back, 6);
  check_floats(content(reverse, "bias_hidden", 3), hidden, 3);
  ck_assert(oc_str_is(oc_attr_string(forward, "direction", ""), "UNIDIRECTIONAL"));
  ck_assert(oc_str_is(oc_attr_string(reverse, "direction", ""), "REDIRECTIONAL"));
  const struct oc_op *end = find("Node_Output");
  ck_assert_int_eq(oc_attr_int(end->inputs[0].from, "concat_dim", -1), 1);
  ck_assert_int_eq(oc_attr_int(end->inputs[1].from, "concat_dim", -1), 0);
  /* The reversed run ends at the first step. */
  size_t n = 0;
  const struct oc_op *last = end->inputs[1].from->inputs[1].from;
  ck_assert_int_eq(oc_attr_ints(last, "begin", &n)[0], 0);
  ck_assert_int_eq(oc_attr_ints(last, "end", &n)[0], 1);
}
END_TEST

START_TEST(what_the_chip_cannot_take_stays)
{
  struct oc_op *op = recurrent("CommonLSTM", 1, _i != 0);
  static const char *const names[] = { "Relu", "Tanh", "Tanh" };
  struct oc_str list[3];

  for (size_t i = 0; i < 3; i++)
    list[i] = oc_str_of(names[i]);
  if (_i == 1)
    (void)oc_attr_set_strings(g, op, "activations", list, 3);
  run();
  bool stays = _i < 2;
  ck_assert_int_eq(oc_graph_find(g, "rnn") != NULL, stays);
  ck_assert_int_eq(oc_graph_find(g, "rnn/DynamicRnn") != NULL, !stays);
}
END_TEST

static struct oc_op *body_data(struct oc_graph *body, const char *name, const char *attr,
                               int64_t i, enum oc_dtype dtype)
{
  struct oc_op *op = oc_graph_add(body, name, "Data", 1, 1);

  op->outputs[0].t.dtype = dtype;
  op->outputs[0].t.shape = oc_shape_scalar();
  (void)oc_attr_set_int(body, op, attr, i);
  return op;
}

/* for i in range(limit): sum += step; stacked.append(sum) */
static struct oc_op *counting_loop(void)
{
  struct oc_op *limit =
      oc_graph_add_ints(g, "limit", OC_DT_I64, (int64_t[]){ 4 }, 1, true);
  struct oc_op *sum = data("sum", (int64_t[]){ 2 }, 1);
  struct oc_op *step = data("step", (int64_t[]){ 2 }, 1);
  struct oc_op *op = oc_graph_add(g, "loop", "Loop", 4, 2);
  struct oc_graph *body = oc_graph_new(&arena, "loop_0_body");

  link_all(op, (struct oc_op *[]){ limit, NULL, sum, step }, 4);
  op->subgraphs = OC_NEW_N(&arena, struct oc_subgraph, 1);
  op->subgraphs[0] = (struct oc_subgraph){ body->name, body };
  op->n_subgraphs = 1;
  body->parent = g;
  body->parent_op = op;
  (void)body_data(body, "i", "index", 0, OC_DT_I64);
  struct oc_op *go = body_data(body, "go", "index", 1, OC_DT_BOOL);
  struct oc_op *was = body_data(body, "was", "index", 2, OC_DT_F32);
  struct oc_op *by = body_data(body, "by", "_parent_node_index", 3, OC_DT_F32);
  struct oc_op *add = oc_graph_add(body, "add", "Add", 2, 1);
  struct oc_op *end = oc_graph_add(body, "loop_0_body/Node_Output", "NetOutput", 3, 0);
  link_all(add, (struct oc_op *[]){ was, by }, 2);
  link_all(end, (struct oc_op *[]){ go, add, add }, 3);
  op->outputs[0].t.shape = oc_shape_of(&arena, (int64_t[]){ 2 }, 1);
  op->outputs[1].t.shape = oc_shape_of(&arena, (int64_t[]){ 4, 2 }, 2);
  op->outputs[1].t.dtype = OC_DT_F32;
  end_with(op);
  return op;
}

START_TEST(a_loop_becomes_while)
{
  struct oc_op *op = counting_loop();

  run();
  ck_assert_str_eq(op->type, "While");
  ck_assert_str_eq(op->name, "loop");
  /* round, go on, sum, list, then step and limit, which no round changes */
  ck_assert_uint_eq(op->n_inputs, 6);
  ck_assert_uint_eq(op->n_outputs, 4);
  ck_assert_str_eq(op->inputs[3].from->type, "SequenceEmpty");
  ck_assert_str_eq(op->inputs[4].from->name, "step");
  ck_assert_str_eq(op->inputs[5].from->name, "limit");
  ck_assert_uint_eq(op->n_subgraphs, 2);
  const struct oc_graph *cond = op->subgraphs[0].graph, *body = op->subgraphs[1].graph;
  ck_assert_ptr_nonnull(oc_graph_find(cond, "loop_1_cond/Loop/less"));
  const struct oc_op *end = oc_graph_find(body, "loop_0_body/Node_Output");
  ck_assert_uint_eq(end->n_inputs, 4);
  ck_assert_str_eq(end->inputs[0].from->name, "loop_0_body/Loop/next");
  ck_assert_str_eq(end->inputs[3].from->type, "SequenceInsert");
  ck_assert_int_eq(oc_attr_int(oc_graph_find(body, "by"), "_parent_node_index", -1), 4);
  const struct oc_op *root = find("Node_Output");
  ck_assert_ptr_eq(root->inputs[0].from, op);
  ck_assert_uint_eq(root->inputs[0].from_out, 2);
  const struct oc_op *stack = root->inputs[1].from;
  ck_assert_str_eq(stack->type, "ConcatFromSequence");
  ck_assert_ptr_eq(stack->inputs[0].from, op);
  ck_assert_uint_eq(stack->inputs[0].from_out, 3);
  ck_assert_int_eq(oc_attr_int(stack, "_num_elements", -1), 4);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("lowering");
  TCase *tc = tcase_create("lowering");

  tcase_set_timeout(tc, 60);
  tcase_add_unchecked_fixture(tc, setup_tables, teardown_tables);
  tcase_add_checked_fixture(tc, setup, teardown);
  tcase_add_test(tc, an_lstm_gets_its_weights_turned);
  tcase_add_test(tc, two_directions_are_two_ops);
  tcase_add_loop_test(tc, what_the_chip_cannot_take_stays, 0, 3);
  tcase_add_test(tc, a_loop_becomes_while);
  suite_add_tcase(s, tc);

  SRunner *r = srunner_create(s);

  srunner_run_all(r, CK_NORMAL);

  int failed = srunner_ntests_failed(r);

  srunner_free(r);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
