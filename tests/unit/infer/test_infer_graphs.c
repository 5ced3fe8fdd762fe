/* Inference over whole graphs: chains of values, sub-graphs, --input_shape, bad graphs.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "infer/infer.h"

static struct oc_arena arena;
static struct oc_findings findings;
static struct oc_graph *g;

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

static struct oc_op *data(struct oc_graph *in, const char *name, enum oc_dtype d,
                          const int64_t *dims, size_t rank)
{
  struct oc_op *op = oc_graph_add(in, name, "Data", 1, 1);

  op->outputs[0].t.dtype = d;
  op->outputs[0].t.shape = oc_shape_of(&arena, dims, rank);
  return op;
}

static struct oc_op *add(struct oc_graph *in, const char *name, const char *type,
                         uint32_t n_out, size_t n, struct oc_op *const *from)
{
  struct oc_op *op = oc_graph_add(in, name, type, (uint32_t)n, n_out);

  for (uint32_t i = 0; i < n; i++)
    if (from[i])
      oc_op_link(op, i, from[i], 0);
  return op;
}
#define ADD(in, name, type, n_out, ...)                                                  \
  add(in, name, type, n_out, sizeof((struct oc_op *[]){ __VA_ARGS__ }) / sizeof(void *), \
      (struct oc_op *[]){ __VA_ARGS__ })

static struct oc_op *ints(const char *name, enum oc_dtype d, size_t n, const int64_t *v)
{
  return oc_graph_add_ints(g, name, d, v, n, false);
}

static void infer(const char *input_shape, struct oc_infer_result *ret)
{
  struct oc_infer_options o = { .input_shape = input_shape };
  struct oc_error err = { 0 };

  ck_assert_msg(oc_infer(g, &o, &findings, ret, &err) == 0, "%s", err.msg);
}

static const struct oc_finding *found(enum oc_finding_id id)
{
  for (size_t i = 0; i < findings.n; i++)
    if (findings.items[i].id == id)
      return &findings.items[i];
  return NULL;
}

static const char *arg(const struct oc_finding *f, const char *name)
{
  for (size_t i = 0; f && i < f->n_args; i++)
    if (strcmp(f->args[i].name, name) == 0)
      return f->args[i].value;
  return "";
}

static int64_t dim(const struct oc_op *op, uint32_t k, uint32_t i)
{
  ck_assert(op->outputs[k].t.shape.known_rank);
  ck_assert_uint_lt(i, op->outputs[k].t.shape.rank);
  return op->outputs[k].t.shape.dims[i];
}

/* x[n, 3, h, w] -> Shape -> Gather(0) -> Unsqueeze -> Concat with -1 -> Reshape(x): the
 * way exporters write flatten. */
static struct oc_op *flatten_chain(int64_t n)
{
  int64_t dims[4] = { n, 3, 4, 5 };
  struct oc_op *x = data(g, "x", OC_DT_F32, dims, 4);
  struct oc_op *shape = ADD(g, "shape", "Shape", 1, x);
  struct oc_op *zero = ints("zero", OC_DT_I64, 1, (int64_t[]){ 0 });
  struct oc_op *axis = oc_graph_add_ints(g, "axis", OC_DT_I32, (int64_t[]){ 0 }, 1, true);
  struct oc_op *pick = ADD(g, "pick", "GatherV2", 1, shape, zero, axis);
  struct oc_op *rest = ints("rest", OC_DT_I64, 1, (int64_t[]){ -1 });
  struct oc_op *want = ADD(g, "want", "ConcatD", 1, pick, rest);

  oc_attr_set_dtype(g, shape, "dtype", OC_DT_I64);
  oc_attr_set_int(g, want, "concat_dim", 0);
  return ADD(g, "y", "Reshape", 1, x, want);
}

START_TEST(chain_with_numbers)
{
  struct oc_op *y = flatten_chain(2);

  infer(NULL, NULL);
  ck_assert_int_eq(dim(y, 0, 0), 2);
  ck_assert_int_eq(dim(y, 0, 1), 60);
  ck_assert_ptr_nonnull(oc_op_input_value(y, 1));
  ck_assert(!oc_graph_find(g, "y")->dynamic_impl);
}
END_TEST

START_TEST(chain_with_a_symbol)
{
  int64_t n = oc_graph_symbol(g, oc_str_of("batch"));
  struct oc_op *y = flatten_chain(n);
  struct oc_infer_result r;

  infer(NULL, &r);
  ck_assert_int_eq(dim(y, 0, 0), n);
  ck_assert_int_eq(dim(y, 0, 1), 60);
  ck_assert_ptr_null(oc_op_input_value(y, 1));
  ck_assert(y->dynamic_impl);
  ck_assert_str_eq(r.input_shape_hint, "x:<batch>,3,4,5");
  ck_assert_ptr_nonnull(found(OC_FINDING_INPUT_DYNAMIC));
}
END_TEST

/* An input that --input_shape leaves open is open on purpose. */
START_TEST(open_dims_that_were_asked_for)
{
  struct oc_infer_result r;

  flatten_chain(oc_graph_symbol(g, oc_str_of("batch")));
  infer(" x :1~8,3,4,5", &r);
  ck_assert_ptr_null(r.input_shape_hint);
  ck_assert_ptr_null(found(OC_FINDING_INPUT_DYNAMIC));
}
END_TEST

START_TEST(equal_computations_give_equal_symbols)
{
  int64_t n = oc_graph_new_symbol(g);
  int64_t dims[4] = { 1, 8, n, n };
  struct oc_op *x = data(g, "x", OC_DT_F32, dims, 4);
  struct oc_op *a = ADD(g, "a", "MaxPoolV3", 1, x);
  struct oc_op *b = ADD(g, "b", "AvgPoolV2", 1, x);
  struct oc_op *y = ADD(g, "y", "Add", 1, a, b);

  for (int i = 0; i < 2; i++) {
    oc_attr_set_ints(g, i ? a : b, "ksize", (int64_t[]){ 1, 1, 2, 2 }, 4);
    oc_attr_set_ints(g, i ? a : b, "strides", (int64_t[]){ 1, 1, 2, 2 }, 4);
    oc_attr_set_string(g, i ? a : b, "data_format", "NCHW");
  }
  infer(NULL, NULL);
  ck_assert_int_lt(dim(a, 0, 2), OC_DIM_UNKNOWN);
  ck_assert_int_ne(dim(a, 0, 2), n);
  ck_assert_int_eq(dim(a, 0, 2), dim(b, 0, 2));
  ck_assert_int_eq(dim(y, 0, 3), dim(a, 0, 3));
}
END_TEST

START_TEST(unknown_op)
{
  struct oc_op *x = data(g, "x", OC_DT_F16, (int64_t[]){ 2 }, 1);
  struct oc_op *y = ADD(g, "y", "NoSuchOperator", 2, x);
  struct oc_infer_result r;

  infer(NULL, &r);
  ck_assert_uint_eq(r.n_unknown, 1);
  ck_assert_int_eq(y->outputs[1].t.dtype, OC_DT_F16);
  ck_assert(!y->outputs[1].t.shape.known_rank);
  ck_assert_str_eq(arg(found(OC_FINDING_SHAPE_UNKNOWN_OP), "type"), "NoSuchOperator");
  ck_assert(!oc_findings_have_errors(&findings));
}
END_TEST

START_TEST(cycle)
{
  struct oc_op *a = ADD(g, "a", "Relu", 1, NULL);
  struct oc_op *b = ADD(g, "b", "Relu", 1, a);
  struct oc_error err = { 0 };

  oc_op_link(a, 0, b, 0);
  ck_assert_int_eq(oc_infer(g, NULL, &findings, NULL, &err), OC_E_FORMAT);
  ck_assert_ptr_nonnull(strstr(err.msg, "cycle"));
}
END_TEST

/* If with a condition that only known values decide. */
static struct oc_op *two_branches(struct oc_op *cond, struct oc_op *x,
                                  const char *then_type)
{
  struct oc_op *op = ADD(g, "if", "If", 1, cond, x);

  op->subgraphs = OC_NEW_N(&arena, struct oc_subgraph, 2);
  op->n_subgraphs = 2;
  for (int i = 0; i < 2; i++) {
    struct oc_graph *sub = oc_graph_new(&arena, i ? "else" : "then");
    struct oc_op *in = oc_graph_add(sub, "in", "Data", 1, 1);
    struct oc_op *y = ADD(sub, "y", i ? "Identity" : then_type, 1, in);
    struct oc_op *end = ADD(sub, "Node_Output", "NetOutput", 0, y);

    (void)end;
    sub->parent = g;
    sub->parent_op = op;
    oc_attr_set_int(sub, in, "index", 0);
    oc_attr_set_int(sub, in, "_parent_node_index", 1);
    if (strcmp(y->type, "Squeeze") == 0)
      oc_attr_set_ints(sub, y, "axis", (int64_t[]){ 0 }, 1);
    op->subgraphs[i] = (struct oc_subgraph){ sub->name, sub };
  }
  return op;
}

START_TEST(branches_are_merged)
{
  struct oc_op *cond = data(g, "cond", OC_DT_BOOL, NULL, 0);
  struct oc_op *x = data(g, "x", OC_DT_F32, (int64_t[]){ 1, 5 }, 2);
  struct oc_op *y = two_branches(cond, x, "Relu");

  infer(NULL, NULL);
  ck_assert_int_eq(dim(y, 0, 1), 5);
  ck_assert_int_eq(y->outputs[0].t.dtype, OC_DT_F32);
}
END_TEST

START_TEST(branches_of_different_rank)
{
  struct oc_op *cond = data(g, "cond", OC_DT_BOOL, NULL, 0);
  struct oc_op *x = data(g, "x", OC_DT_F32, (int64_t[]){ 1, 5 }, 2);
  struct oc_op *y = two_branches(cond, x, "Squeeze");

  infer(NULL, NULL);
  ck_assert(!y->outputs[0].t.shape.known_rank);
}
END_TEST

START_TEST(known_condition_takes_one_branch)
{
  struct oc_value *one = OC_NEW(&arena, struct oc_value);

  *one = (struct oc_value){ .dtype = OC_DT_BOOL,
                            .shape = oc_shape_scalar(),
                            .data = (const uint8_t *)"\1",
                            .len = 1 };

  struct oc_op *cond = oc_graph_add_const(g, "cond", one);
  struct oc_op *x = data(g, "x", OC_DT_F32, (int64_t[]){ 1, 5 }, 2);
  struct oc_op *y = two_branches(cond, x, "Squeeze");

  infer(NULL, NULL);
  ck_assert_uint_eq(y->outputs[0].t.shape.rank, 1);
}
END_TEST

/* A branch that cannot run is not taken, and nobody hears of it. */
START_TEST(broken_branch_is_left_out)
{
  struct oc_op *cond = data(g, "cond", OC_DT_BOOL, NULL, 0);
  struct oc_op *x = data(g, "x", OC_DT_F32, (int64_t[]){ 3, 5 }, 2);
  struct oc_op *y = two_branches(cond, x, "Squeeze");

  infer(NULL, NULL);
  ck_assert_uint_eq(y->outputs[0].t.shape.rank, 2);
  ck_assert_uint_eq(findings.n, 0);
}
END_TEST

/* Loop whose body appends a row to the carried tensor and stacks a copy of a scalar. */
START_TEST(loop_widens_what_it_carries)
{
  struct oc_op *most = oc_graph_add_ints(g, "most", OC_DT_I64, (int64_t[]){ 4 }, 1, true);
  struct oc_op *x = data(g, "x", OC_DT_F32, (int64_t[]){ 1, 2 }, 2);
  struct oc_op *row = data(g, "row", OC_DT_F32, (int64_t[]){ 1, 2 }, 2);
  struct oc_op *op = ADD(g, "loop", "Loop", 2, most, NULL, x, row);
  struct oc_graph *body = oc_graph_new(&arena, "body");
  struct oc_op *in[4];
  static const char *const names[] = { "i", "cond", "acc", "row" };

  for (int k = 0; k < 4; k++) {
    in[k] = oc_graph_add(body, names[k], "Data", 1, 1);
    oc_attr_set_int(body, in[k], "index", k);
  }
  oc_attr_set_int(body, in[3], "_parent_node_index", 3);

  struct oc_op *go = ADD(body, "go", "Identity", 1, in[1]);
  struct oc_op *more = ADD(body, "more", "ConcatD", 1, in[2], in[3]);

  oc_attr_set_int(body, more, "concat_dim", 0);
  (void)ADD(body, "Node_Output", "NetOutput", 0, go, more, in[0]);
  body->parent = g;
  body->parent_op = op;
  op->subgraphs = OC_NEW(&arena, struct oc_subgraph);
  op->subgraphs[0] = (struct oc_subgraph){ "body", body };
  op->n_subgraphs = 1;
  infer(NULL, NULL);
  ck_assert_int_lt(dim(op, 0, 0), 0);
  ck_assert_int_eq(dim(op, 0, 1), 2);
  ck_assert_int_eq(dim(op, 1, 0), 4);
  ck_assert_int_eq(op->outputs[1].t.dtype, OC_DT_I64);
}
END_TEST

/* Tensors of a list that comes from outside, asked for inside a loop that appends to a
 * list of its own, and behind that loop. */
START_TEST(lists_from_outside)
{
  struct oc_op *most = oc_graph_add_ints(g, "most", OC_DT_I64, (int64_t[]){ 4 }, 1, true);
  struct oc_op *list = data(g, "list", OC_DT_RESOURCE, NULL, 0);
  struct oc_op *none = oc_graph_add(g, "none", "SequenceEmpty", 0, 1);
  struct oc_op *op = ADD(g, "loop", "Loop", 1, most, NULL, none, list);
  struct oc_graph *body = oc_graph_new(&arena, "body");
  struct oc_op *in[4];
  static const char *const names[] = { "i", "cond", "acc", "list" };

  oc_attr_set_dtype(g, list, OC_ATTR_ELEMENT_DTYPE, OC_DT_I8);
  oc_attr_set_ints(g, list, OC_ATTR_ELEMENT_SHAPE, (int64_t[]){ -1, 3 }, 2);
  for (int k = 0; k < 4; k++) {
    in[k] = oc_graph_add(body, names[k], "Data", 1, 1);
    oc_attr_set_int(body, in[k], "index", k);
  }
  oc_attr_set_int(body, in[3], "_parent_node_index", 3);

  struct oc_op *go = ADD(body, "go", "Identity", 1, in[1]);
  struct oc_op *at = ADD(body, "at", "SequenceAt", 1, in[3], in[0]);
  struct oc_op *more = ADD(body, "more", "SequenceInsert", 1, in[2], at);
  struct oc_op *last = ADD(g, "last", "SequenceAt", 1, op, most);

  (void)ADD(body, "Node_Output", "NetOutput", 0, go, more);
  body->parent = g;
  body->parent_op = op;
  op->subgraphs = OC_NEW(&arena, struct oc_subgraph);
  op->subgraphs[0] = (struct oc_subgraph){ "body", body };
  op->n_subgraphs = 1;
  infer(NULL, NULL);
  for (int k = 0; k < 2; k++) {
    const struct oc_op *found = k ? last : at;

    ck_assert_int_eq(found->outputs[0].t.dtype, OC_DT_I8);
    ck_assert_uint_eq(found->outputs[0].t.shape.rank, 2);
    ck_assert_int_lt(dim(found, 0, 0), 0);
    ck_assert_int_eq(dim(found, 0, 1), 3);
  }
}
END_TEST

START_TEST(scan_stacks_along_its_axis)
{
  struct oc_op *state = data(g, "state", OC_DT_F32, (int64_t[]){ 2 }, 1);
  struct oc_op *x = data(g, "x", OC_DT_F32, (int64_t[]){ 7, 2 }, 2);
  struct oc_op *op = ADD(g, "scan", "Scan", 2, state, x);
  struct oc_graph *body = oc_graph_new(&arena, "body");
  struct oc_op *a = oc_graph_add(body, "a", "Data", 1, 1);
  struct oc_op *b = oc_graph_add(body, "b", "Data", 1, 1);

  oc_attr_set_int(body, a, "index", 0);
  oc_attr_set_int(body, b, "index", 1);
  oc_attr_set_int(g, op, "num_scan_inputs", 1);

  struct oc_op *sum = ADD(body, "sum", "Add", 1, a, b);

  (void)ADD(body, "Node_Output", "NetOutput", 0, sum, sum);
  body->parent = g;
  body->parent_op = op;
  op->subgraphs = OC_NEW(&arena, struct oc_subgraph);
  op->subgraphs[0] = (struct oc_subgraph){ "body", body };
  op->n_subgraphs = 1;
  infer(NULL, NULL);
  ck_assert_int_eq(dim(op, 0, 0), 2);
  ck_assert_int_eq(dim(op, 1, 0), 7);
  ck_assert_int_eq(dim(op, 1, 1), 2);
}
END_TEST

START_TEST(input_shape_sets_and_binds)
{
  int64_t n = oc_graph_symbol(g, oc_str_of("batch"));
  struct oc_op *x = data(g, "x:0", OC_DT_F32, (int64_t[]){ n, 3 }, 2);
  struct oc_op *m = data(g, "mask", OC_DT_F32, (int64_t[]){ n, 1 }, 2);
  struct oc_op *y = ADD(g, "y", "Mul", 1, x, m);
  struct oc_infer_result r;

  infer(" x:0:4,3 ;", &r);
  ck_assert_int_eq(dim(y, 0, 0), 4);
  ck_assert_int_eq(dim(m, 0, 0), 4);
  ck_assert_ptr_null(r.input_shape_hint);
  ck_assert_uint_eq(findings.n, 0);
}
END_TEST

START_TEST(input_shape_range_stays_dynamic)
{
  struct oc_op *x = data(g, "x", OC_DT_F32, (int64_t[]){ oc_graph_new_symbol(g), 3 }, 2);
  size_t n = 0;

  infer("x:1~8,3", NULL);
  ck_assert_int_lt(dim(x, 0, 0), 0);

  const int64_t *range = oc_attr_ints(x, "_shape_range", &n);

  ck_assert_uint_eq(n, 4);
  ck_assert_int_eq(range[0], 1);
  ck_assert_int_eq(range[1], 8);
  ck_assert_int_eq(range[2], 3);
  ck_assert_int_eq(range[3], 3);
}
END_TEST

static const struct {
  const char *text;
  enum oc_finding_id id;
  const char *arg, *value;
} mistakes[] = {
  { "image:1,3", OC_FINDING_INPUT_SHAPE_NAME, "inputs", "images" },
  { "image:1,3", OC_FINDING_INPUT_SHAPE_NAME, "nearest", "images" },
  { "images:1", OC_FINDING_INPUT_SHAPE_RANK, "declared", "2" },
  { "images:2,3", OC_FINDING_INPUT_SHAPE_DIFFERS, "given", "2" },
  { "images:1,x", OC_FINDING_INPUT_SHAPE_SYNTAX, "why", "'x' is no dim" },
  { "images:1,-2", OC_FINDING_INPUT_SHAPE_SYNTAX, "why", "'-2' is no dim" },
  { "images:1,", OC_FINDING_INPUT_SHAPE_SYNTAX, "why", "'' is no dim" },
  { "images:8~1,3", OC_FINDING_INPUT_SHAPE_SYNTAX, "why", "'8~1' is no dim" },
  { "images", OC_FINDING_INPUT_SHAPE_SYNTAX, "why", "an item is <name>:<dims>" },
};

START_TEST(input_shape_mistakes)
{
  struct oc_op *x = data(g, "images", OC_DT_F32, (int64_t[]){ 1, 3 }, 2);

  (void)ADD(g, "y", "Relu", 1, x);
  infer(mistakes[_i].text, NULL);
  ck_assert_msg(found(mistakes[_i].id) != NULL, "%s", mistakes[_i].text);
  ck_assert_str_eq(arg(found(mistakes[_i].id), mistakes[_i].arg), mistakes[_i].value);
}
END_TEST

START_TEST(again_follows_changes)
{
  struct oc_op *x = data(g, "x", OC_DT_F32, (int64_t[]){ 2, 3 }, 2);
  struct oc_op *a = ADD(g, "a", "Relu", 1, x);
  struct oc_op *b = ADD(g, "b", "Flatten", 1, a);
  struct oc_error err = { 0 };

  infer(NULL, NULL);
  ck_assert_int_eq(dim(b, 0, 1), 3);
  a->type = "TransposeD";
  oc_attr_set_ints(g, a, "perm", (int64_t[]){ 1, 0 }, 2);
  ck_assert_int_eq(oc_infer_again(g, NULL, &err), 0);
  ck_assert_int_eq(dim(b, 0, 0), 3);
  ck_assert_int_eq(dim(b, 0, 1), 2);
}
END_TEST

START_TEST(overflowing_dims)
{
  int64_t big = (int64_t)1 << 40;
  struct oc_op *a = data(g, "a", OC_DT_F32, (int64_t[]){ big, 1 }, 2);
  struct oc_op *b = data(g, "b", OC_DT_F32, (int64_t[]){ 1, big }, 2);

  (void)ADD(g, "y", "Add", 1, a, b);
  infer(NULL, NULL);
  ck_assert_ptr_nonnull(found(OC_FINDING_SHAPE_CONFLICT));
}
END_TEST

START_TEST(every_type_once)
{
  size_t n = 0;

  for (; oc_infer_type_at(n); n++)
    for (size_t k = 0; k < n; k++)
      ck_assert_msg(strcmp(oc_infer_type_at(k), oc_infer_type_at(n)) != 0,
                    "%s is there twice", oc_infer_type_at(n));
  ck_assert_uint_gt(n, 300);
  ck_assert(oc_infer_knows("Conv2D"));
  ck_assert(!oc_infer_knows("conv2d"));
}
END_TEST

int main(void)
{
  Suite *s = suite_create("infer graphs");
  TCase *tc = tcase_create("graphs");

  tcase_add_checked_fixture(tc, setup, teardown);
  tcase_add_test(tc, chain_with_numbers);
  tcase_add_test(tc, chain_with_a_symbol);
  tcase_add_test(tc, open_dims_that_were_asked_for);
  tcase_add_test(tc, equal_computations_give_equal_symbols);
  tcase_add_test(tc, unknown_op);
  tcase_add_test(tc, cycle);
  tcase_add_test(tc, branches_are_merged);
  tcase_add_test(tc, branches_of_different_rank);
  tcase_add_test(tc, known_condition_takes_one_branch);
  tcase_add_test(tc, broken_branch_is_left_out);
  tcase_add_test(tc, loop_widens_what_it_carries);
  tcase_add_test(tc, lists_from_outside);
  tcase_add_test(tc, scan_stacks_along_its_axis);
  tcase_add_test(tc, input_shape_sets_and_binds);
  tcase_add_test(tc, input_shape_range_stays_dynamic);
  tcase_add_loop_test(tc, input_shape_mistakes, 0,
                      (int)(sizeof(mistakes) / sizeof(mistakes[0])));
  tcase_add_test(tc, again_follows_changes);
  tcase_add_test(tc, overflowing_dims);
  tcase_add_test(tc, every_type_once);
  suite_add_tcase(s, tc);

  SRunner *r = srunner_create(s);

  srunner_run_all(r, CK_NORMAL);

  int failed = srunner_ntests_failed(r);

  srunner_free(r);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
