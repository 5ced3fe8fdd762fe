/* The passes that wait to be asked for: reshape, pad-conv, bias, epilogue; how they are
 * asked for, and the graph as text. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "graph/graph.h"
#include "passes/passes.h"

static struct oc_arena arena;
static struct oc_findings findings;
static struct oc_graph *g;
static struct oc_pass_log notes;

static void setup(void)
{
  oc_arena_init(&arena, 0);
  oc_findings_init(&findings, &arena);
  g = oc_graph_new(&arena, "test");
  memset(&notes, 0, sizeof(notes));
}

static void teardown(void)
{
  oc_arena_clear(&arena);
}

static struct oc_op *add(const char *name, const char *type, const int64_t *dims,
                         size_t rank, size_t n, struct oc_op *const *from)
{
  struct oc_op *op = oc_graph_add(g, name, type, (uint32_t)n, rank > 0);

  for (uint32_t i = 0; i < n; i++) {
    oc_op_link(op, i, from[i], 0);
    op->inputs[i].t.dtype = from[i]->outputs[0].t.dtype;
    op->inputs[i].t.shape = from[i]->outputs[0].t.shape;
  }
  if (rank) {
    op->outputs[0].t.dtype = OC_DT_F32;
    op->outputs[0].t.shape = oc_shape_of(&arena, dims, rank);
  }
  return op;
}
#define DIMS(...)                                                                        \
  (const int64_t[]){ __VA_ARGS__ }, sizeof((const int64_t[]){ __VA_ARGS__ }) / 8
#define ADD(name, type, shape, ...)                                                      \
  add(name, type, shape, sizeof((struct oc_op *[]){ __VA_ARGS__ }) / sizeof(void *),     \
      (struct oc_op *[]){ __VA_ARGS__ })

static struct oc_op *input(const char *name, const int64_t *dims, size_t rank)
{
  return add(name, "Data", dims, rank, 0, NULL);
}

static struct oc_op *zeros(const char *name, const int64_t *dims, size_t rank)
{
  struct oc_value *v = OC_NEW(&arena, struct oc_value);
  uint64_t n = 0;

  v->dtype = OC_DT_F32;
  v->shape = oc_shape_of(&arena, dims, rank);
  ck_assert(oc_shape_elements(v->shape, &n));
  v->len = 4 * (size_t)n;
  v->data = oc_arena_alloc(&arena, v->len);
  memset((uint8_t *)v->data, 0, v->len);
  return oc_graph_add_const(g, name, v);
}

static struct oc_op *ints(const char *name, const int64_t *v, size_t n)
{
  return oc_graph_add_ints(g, name, OC_DT_I64, v, n, false);
}

static void end(struct oc_op *op)
{
  (void)add("Node_Output", "NetOutput", NULL, 0, 1, (struct oc_op *[]){ op });
}

static int run(enum oc_pass pass)
{
  const struct oc_pass_options o = { .on = OC_PASS_BIT(pass) };
  struct oc_error err = { 0 };
  int rc = oc_passes_run(g, OC_STAGE_INFERRED, NULL, NULL, &o, &notes, &findings, &err);

  ck_assert_msg(rc >= 0, "%s", err.msg);
  return rc;
}

static bool has_origin(const struct oc_op *op, const char *name)
{
  for (uint32_t i = 0; i < op->n_origin_names; i++)
    if (strcmp(op->origin_names[i], name) == 0)
      return true;
  return false;
}

static struct oc_op *read_by_end(void)
{
  return oc_graph_find(g, "Node_Output")->inputs[0].from;
}

/* ---------------------------------------------------------------- bias */

static struct oc_op *conv_and_add(const int64_t *dims, size_t rank)
{
  struct oc_op *conv = ADD("conv", "Conv2D", DIMS(1, 3, 4, 4),
                           input("x", DIMS(1, 2, 4, 4)), zeros("w", DIMS(3, 2, 1, 1)));
  struct oc_op *sum = ADD("sum", "Add", DIMS(1, 3, 4, 4), conv, zeros("b", dims, rank));

  oc_attr_set_string(g, conv, "data_format", "NCHW");
  sum->keep = true;
  end(sum);
  return conv;
}

START_TEST(an_added_constant_becomes_the_bias)
{
  struct oc_op *conv = _i ? conv_and_add(DIMS(3, 1, 1)) : conv_and_add(DIMS(1, 3, 1, 1));

  ck_assert_int_eq(run(OC_PASS_BIAS), 1);
  ck_assert_ptr_eq(read_by_end(), conv);
  ck_assert_uint_eq(conv->n_inputs, 3);
  ck_assert_uint_eq(oc_op_input_value(conv, 2)->shape.rank, 1);
  ck_assert_int_eq(oc_op_input_value(conv, 2)->shape.dims[0], 3);
  ck_assert_ptr_null(oc_graph_find(g, "sum"));
  ck_assert_ptr_null(oc_graph_find(g, "b"));
  ck_assert(conv->keep && has_origin(conv, "sum"));
}
END_TEST

START_TEST(only_channels_make_a_bias)
{
  switch (_i) {
  case 0: (void)conv_and_add(DIMS(1, 1, 4, 4)); break;
  case 1: (void)conv_and_add(DIMS(1, 3, 4, 4)); break;
  default: /* somebody else wants the product without it */
    (void)ADD("other", "Relu", DIMS(1, 3, 4, 4), conv_and_add(DIMS(3, 1, 1)));
  }
  ck_assert_int_eq(run(OC_PASS_BIAS), 0);
  ck_assert_ptr_eq(read_by_end(), oc_graph_find(g, "sum"));
}
END_TEST

START_TEST(a_product_takes_a_bias_on_either_side)
{
  struct oc_op *mm =
      ADD("mm", "MatMulV2", DIMS(2, 5), input("x", DIMS(2, 3)), zeros("w", DIMS(3, 5)));

  end(ADD("sum", "Add", DIMS(2, 5), zeros("b", DIMS(5)), mm));
  ck_assert_int_eq(run(OC_PASS_BIAS), 1);
  ck_assert_ptr_eq(read_by_end(), mm);
}
END_TEST

/* ---------------------------------------------------------------- pad-conv */

static struct oc_op *pad_and_conv(const int64_t *pads, const char *automatic)
{
  struct oc_op *pad = ADD("pad", "PadV3", DIMS(1, 2, 6, 7), input("x", DIMS(1, 2, 4, 4)),
                          ints("p", pads, 8));
  struct oc_op *conv =
      ADD("conv", "Conv2D", DIMS(1, 3, 6, 7), pad, zeros("w", DIMS(3, 2, 1, 1)));

  oc_attr_set_bool(g, pad, "paddings_contiguous", false);
  oc_attr_set_string(g, conv, "data_format", "NCHW");
  oc_attr_set_ints(g, conv, "pads", DIMS(1, 0, 0, 0));
  if (automatic)
    oc_attr_set_string(g, conv, "auto_pad", automatic);
  end(conv);
  return conv;
}

START_TEST(a_pad_becomes_pads)
{
  struct oc_op *conv = pad_and_conv((int64_t[]){ 0, 0, 1, 1, 0, 0, 1, 2 }, NULL);
  size_t n = 0;

  ck_assert_int_eq(run(OC_PASS_PAD_CONV), 1);
  const int64_t *pads = oc_attr_ints(conv, "pads", &n);
  ck_assert_uint_eq(n, 4);
  ck_assert(pads[0] == 2 && pads[1] == 1 && pads[2] == 1 && pads[3] == 2);
  ck_assert_str_eq(conv->inputs[0].from->name, "x");
  ck_assert_ptr_null(oc_graph_find(g, "pad"));
  ck_assert(has_origin(conv, "pad"));
}
END_TEST

START_TEST(other_pads_stay)
{
  static const int64_t channels[] = { 0, 1, 1, 1, 0, 0, 1, 2 };
  static const int64_t cuts[] = { 0, 0, -1, 1, 0, 0, 1, 2 };
  static const int64_t plain[] = { 0, 0, 1, 1, 0, 0, 1, 2 };
  static const int64_t *const pads[] = { channels, cuts, plain };

  (void)pad_and_conv(pads[_i], _i == 2 ? "SAME_UPPER" : NULL);
  ck_assert_int_eq(run(OC_PASS_PAD_CONV), 0);
  ck_assert_ptr_nonnull(oc_graph_find(g, "pad"));
}
END_TEST

/* ---------------------------------------------------------------- reshape */

START_TEST(reshapes_become_one)
{
  struct oc_op *x = ADD("x1", "Relu", DIMS(2, 12), input("x", DIMS(2, 12)));
  struct oc_op *a = ADD("a", "Reshape", DIMS(4, 6), x, ints("s1", DIMS(4, 6)));
  struct oc_op *b = ADD("b", "Reshape", DIMS(3, 8), a, ints("s2", DIMS(3, -1)));

  end(b);
  ck_assert_int_eq(run(OC_PASS_RESHAPE), 1);
  ck_assert_ptr_eq(b->inputs[0].from, x);
  ck_assert_ptr_null(oc_graph_find(g, "a"));
  ck_assert_ptr_null(oc_graph_find(g, "s1"));
  ck_assert(has_origin(b, "a"));
}
END_TEST

START_TEST(a_reshape_that_copies_a_dim_stays)
{
  struct oc_op *x = ADD("x1", "Relu", DIMS(2, 12), input("x", DIMS(2, 12)));
  struct oc_op *a = ADD("a", "Reshape", DIMS(4, 6), x, ints("s1", DIMS(4, 6)));

  end(ADD("b", "Reshape", DIMS(4, 2, 3), a, ints("s2", DIMS(0, 2, 3))));
  ck_assert_int_eq(run(OC_PASS_RESHAPE), 0);
}
END_TEST

START_TEST(a_reshape_to_the_same_shape_goes)
{
  struct oc_op *x = ADD("x1", "Relu", DIMS(2, 12), input("x", DIMS(2, 12)));

  end(ADD("a", "Reshape", DIMS(2, 12), x, ints("s1", DIMS(2, 12))));
  ck_assert_int_eq(run(OC_PASS_RESHAPE), 1);
  ck_assert_ptr_eq(read_by_end(), x);
  ck_assert(has_origin(x, "a"));
}
END_TEST

START_TEST(transposes_are_composed)
{
  struct oc_op *x = ADD("x1", "Relu", DIMS(2, 3, 4), input("x", DIMS(2, 3, 4)));
  struct oc_op *a = ADD("a", "Transpose", DIMS(4, 2, 3), x, ints("p", DIMS(2, 0, 1)));
  struct oc_op *b = ADD("b", "Transpose", DIMS(2, 4, 3), a, ints("q", DIMS(1, 0, 2)));
  size_t n = 0;

  end(ADD("y", "Relu", DIMS(2, 4, 3), b));
  ck_assert_int_eq(run(OC_PASS_RESHAPE), 1);
  ck_assert_ptr_eq(b->inputs[0].from, x);
  const int64_t *p = oc_value_ints(&arena, oc_op_input_value(b, 1), &n);
  ck_assert(n == 3 && p[0] == 0 && p[1] == 2 && p[2] == 1);
}
END_TEST

START_TEST(transposes_that_undo_each_other_go)
{
  struct oc_op *x = ADD("x1", "Relu", DIMS(2, 3, 4), input("x", DIMS(2, 3, 4)));
  struct oc_op *a = ADD("a", "Transpose", DIMS(4, 2, 3), x, ints("p", DIMS(2, 0, 1)));
  struct oc_op *b = ADD("b", "Transpose", DIMS(2, 3, 4), a, ints("q", DIMS(1, 2, 0)));
  struct oc_op *y = ADD("y", "Relu", DIMS(2, 3, 4), b);

  end(y);
  ck_assert_int_eq(run(OC_PASS_RESHAPE), 2);
  ck_assert_ptr_eq(y->inputs[0].from, x);
}
END_TEST

/* ---------------------------------------------------------------- epilogue */

START_TEST(elementwise_ops_are_noted)
{
  struct oc_op *mm =
      ADD("mm", "MatMulV2", DIMS(2, 5), input("x", DIMS(2, 3)), zeros("w", DIMS(3, 5)));
  struct oc_op *sum = ADD("sum", "Add", DIMS(2, 5), mm, zeros("b", DIMS(5)));

  end(ADD("soft", "SoftmaxV2", DIMS(2, 5), ADD("act", "Relu", DIMS(2, 5), sum)));
  ck_assert_int_eq(run(OC_PASS_EPILOGUE), 1);
  const struct oc_attr *a = oc_attr_find(mm, "_fusable_elementwise");
  ck_assert_ptr_nonnull(a);
  ck_assert_uint_eq(a->n, 2);
  ck_assert(oc_str_is(a->u.strings[0], "sum") && oc_str_is(a->u.strings[1], "act"));
  ck_assert_int_eq(run(OC_PASS_EPILOGUE), 0); /* noted already */
}
END_TEST

/* ---------------------------------------------------------------- asking, text */

START_TEST(passes_are_asked_for_by_name)
{
  uint32_t on = oc_passes_select(OC_PASSES_DEFAULT, " conv-bn, -fold,bias", &findings);

  ck_assert_uint_eq(
      on, (OC_PASSES_DEFAULT | OC_PASS_BIT(OC_PASS_CONV_BN) | OC_PASS_BIT(OC_PASS_BIAS)) &
              ~OC_PASS_BIT(OC_PASS_FOLD));
  ck_assert_uint_eq(findings.n, 0);
  ck_assert_uint_eq(oc_passes_select(on, "-con-bn", &findings), on);
  ck_assert_uint_eq(findings.n, 1);
  ck_assert_int_eq(findings.items[0].id, OC_FINDING_PASS_UNKNOWN);
  ck_assert_str_eq(findings.items[0].args[0].value, "conv-bn");
  ck_assert_uint_eq(oc_passes_select(on, "", &findings), on);
}
END_TEST

START_TEST(a_graph_as_text)
{
  struct oc_op *x = input("x", DIMS(-2, 12));
  struct oc_op *a = ADD("a", "Reshape", DIMS(4, 6), x, ints("s", DIMS(4, 6)));
  const char *origin[] = { "node" };
  struct oc_buf out;

  oc_attr_set_int(g, a, "num_axes", -1);
  oc_attr_set_int(g, a, "axis", 0);
  a->outputs[0].t.name = "y";
  a->outputs[0].t.got = OC_DT_F16;
  a->origin_names = origin;
  a->n_origin_names = 1;
  end(a);
  oc_buf_init(&out, 4096);
  ck_assert_int_eq(oc_graph_write_text(g, &out), 0);
  ck_assert_str_eq(oc_buf_str(&out),
                   "graph test\n"
                   "x = Data() -> ? float32[?,12]\n"
                   "s = Const() -> y int64[2] = [4,6]\n"
                   "a = Reshape(?=x:0, ?=s:0) -> y float32[4,6] as float16 {axis=0 "
                   "num_axes=-1} <- node\n"
                   "Node_Output = NetOutput(?=a:0)\n");
  oc_buf_clear(&out);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("optional passes");
  TCase *t = tcase_create("all");

  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_loop_test(t, an_added_constant_becomes_the_bias, 0, 2);
  tcase_add_loop_test(t, only_channels_make_a_bias, 0, 3);
  tcase_add_test(t, a_product_takes_a_bias_on_either_side);
  tcase_add_test(t, a_pad_becomes_pads);
  tcase_add_loop_test(t, other_pads_stay, 0, 3);
  tcase_add_test(t, reshapes_become_one);
  tcase_add_test(t, a_reshape_that_copies_a_dim_stays);
  tcase_add_test(t, a_reshape_to_the_same_shape_goes);
  tcase_add_test(t, transposes_are_composed);
  tcase_add_test(t, transposes_that_undo_each_other_go);
  tcase_add_test(t, elementwise_ops_are_noted);
  tcase_add_test(t, passes_are_asked_for_by_name);
  tcase_add_test(t, a_graph_as_text);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
