/* Ops, edges and attributes. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "graph/graph.h"

static struct oc_arena arena;
static struct oc_graph *g;

static void setup(void)
{
  oc_arena_init(&arena, 0);
  g = oc_graph_new(&arena, "g");
  ck_assert_ptr_nonnull(g);
}

static void teardown(void)
{
  oc_arena_clear(&arena);
}

START_TEST(ops_never_move)
{
  struct oc_op *first = oc_graph_add(g, "a", "Relu", 1, 1);
  for (int i = 0; i < 1000; i++)
    ck_assert_ptr_nonnull(oc_graph_add(g, "b", "Relu", 1, 1));
  ck_assert_uint_eq(g->n_ops, 1001);
  ck_assert_ptr_eq(g->ops[0], first);
  ck_assert_str_eq(first->source_type, "");
  ck_assert_ptr_null(first->inputs[0].from);
  ck_assert_int_eq(first->column, -1);
}
END_TEST

START_TEST(constants_know_their_value)
{
  const int64_t v[] = { 3, -1 };
  struct oc_op *c = oc_graph_add_ints(g, "axes", OC_DT_I32, v, 2, false);
  struct oc_op *use = oc_graph_add(g, "use", "Squeeze", 2, 1);
  int64_t e = 0;
  oc_op_link(use, 1, c, 0);
  ck_assert(oc_op_is_const(c));
  ck_assert(!oc_op_is_const(use));
  ck_assert_uint_eq(c->value->len, 8);
  ck_assert_uint_eq(c->outputs[0].t.shape.rank, 1);
  ck_assert_ptr_eq(oc_op_input_value(use, 1), c->value);
  ck_assert_ptr_null(oc_op_input_value(use, 0));
  ck_assert_ptr_null(oc_op_input_value(use, 2));
  ck_assert(oc_value_int(c->value, 1, &e));
  ck_assert_int_eq(e, -1);
  struct oc_op *s = oc_graph_add_ints(g, "one", OC_DT_I64, v, 1, true);
  ck_assert(s->outputs[0].t.shape.known_rank);
  ck_assert_uint_eq(s->outputs[0].t.shape.rank, 0);
}
END_TEST

START_TEST(sweep_and_replace)
{
  struct oc_op *a = oc_graph_add(g, "a", "Data", 0, 2);
  struct oc_op *id = oc_graph_add(g, "id", "Identity", 1, 1);
  struct oc_op *x = oc_graph_add(g, "x", "Add", 2, 1);
  oc_op_link(id, 0, a, 1);
  oc_op_link(x, 0, id, 0);
  oc_op_link(x, 1, a, 0);
  oc_graph_replace(g, id, 0, a, 1);
  ck_assert_ptr_eq(x->inputs[0].from, a);
  ck_assert_uint_eq(x->inputs[0].from_out, 1);
  ck_assert_uint_eq(x->inputs[1].from_out, 0);
  id->mark = 1;
  a->mark = 2;
  oc_graph_sweep(g);
  ck_assert_uint_eq(g->n_ops, 2);
  ck_assert_ptr_eq(g->ops[1], x);
  ck_assert_uint_eq(a->mark, 0);
  ck_assert_ptr_null(oc_graph_find(g, "id"));
  ck_assert_ptr_eq(oc_graph_find(g, "x"), x);
}
END_TEST

START_TEST(attributes)
{
  struct oc_op *op = oc_graph_add(g, "a", "Conv2D", 2, 1);
  const int64_t strides[] = { 1, 1, 2, 2 };
  const float list[] = { 0.5f };
  const struct oc_str words[] = { { "ab", 2 }, { "c", 1 } };
  char text[] = "NCHW";
  size_t n = 0;
  ck_assert_int_eq(oc_attr_set_ints(g, op, "strides", strides, 4), 0);
  ck_assert_int_eq(oc_attr_set_string(g, op, "data_format", text), 0);
  ck_assert_int_eq(oc_attr_set_int(g, op, "groups", 1), 0);
  ck_assert_int_eq(oc_attr_set_int(g, op, "groups", 2), 0);
  ck_assert_int_eq(oc_attr_set_bool(g, op, "keep", true), 0);
  ck_assert_int_eq(oc_attr_set_float(g, op, "eps", 0.25f), 0);
  ck_assert_int_eq(oc_attr_set_floats(g, op, "list", list, 1), 0);
  ck_assert_int_eq(oc_attr_set_strings(g, op, "words", words, 2), 0);
  ck_assert_int_eq(oc_attr_set_dtype(g, op, "dst", OC_DT_BF16), 0);
  text[0] = 'X';
  ck_assert(oc_str_is(oc_attr_string(op, "data_format", ""), "NCHW"));
  ck_assert_int_eq(oc_attr_int(op, "groups", 9), 2);
  ck_assert_int_eq(oc_attr_int(op, "none", 9), 9);
  ck_assert_int_eq(oc_attr_int(op, "keep", 9), 9); /* another kind */
  ck_assert(oc_attr_bool(op, "keep", false));
  ck_assert(oc_attr_float(op, "eps", 0) == 0.25f);
  ck_assert_int_eq(oc_attr_dtype(op, "dst", OC_DT_F32), OC_DT_BF16);
  ck_assert_int_eq(oc_attr_dtype(op, "none", OC_DT_F32), OC_DT_F32);
  ck_assert_int_eq(oc_attr_ints(op, "strides", &n)[3], 2);
  ck_assert_uint_eq(n, 4);
  ck_assert_ptr_null(oc_attr_ints(op, "groups", &n));
  ck_assert_uint_eq(n, 0);
  ck_assert(oc_str_is(oc_attr_find(op, "words")->u.strings[1], "c"));
  int count = 0;
  for (const struct oc_attr *a = op->attrs; a; a = a->next)
    count++;
  ck_assert_int_eq(count, 8);
}
END_TEST

START_TEST(memory_is_checked)
{
  struct oc_arena small;
  oc_arena_init(&small, 4096);
  struct oc_graph *tight = oc_graph_new(&small, "t");
  int added = 0;
  while (tight && oc_graph_add(tight, "op", "Relu", 1, 1))
    ck_assert_int_lt(++added, 100);
  ck_assert(small.failed);
  oc_arena_clear(&small);
}
END_TEST

START_TEST(formats)
{
  ck_assert_str_eq(oc_format_name(OC_FMT_NCHW), "NCHW");
  ck_assert_str_eq(oc_format_name(OC_FMT_DHWCN), "DHWCN");
  ck_assert_str_eq(oc_format_name((enum oc_format)99), "ND");
}
END_TEST

int main(void)
{
  Suite *s = suite_create("graph_ops");
  TCase *t = tcase_create("ops");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, ops_never_move);
  tcase_add_test(t, constants_know_their_value);
  tcase_add_test(t, sweep_and_replace);
  tcase_add_test(t, attributes);
  tcase_add_test(t, memory_is_checked);
  tcase_add_test(t, formats);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
