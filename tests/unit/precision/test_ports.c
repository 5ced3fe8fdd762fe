/* Graph inputs and outputs, and the Casts around them. */
#include <string.h>

#include "support.h"

static struct oc_op *build(struct bench *b, const char *mode)
{
  bench_init(b, "Ascend910B1", NULL, mode);
  struct oc_op *relu = bench_unary(b, "a:b", "Relu", bench_data(b, "in", OC_DT_F32));
  bench_output(b, relu);
  return relu;
}

static unsigned n_casts(const struct bench *b)
{
  unsigned n = 0;

  for (uint32_t i = 0; i < b->g->n_ops; i++)
    n += b->g->ops[i]->inserted;
  return n;
}

START_TEST(output_type_for_all)
{
  struct bench b;

  build(&b, "fp16");
  b.options.output_type = "FP16";
  bench_resolve(&b);
  ck_assert_uint_eq(n_casts(&b), 1);
  ck_assert_int_eq(oc_graph_find(b.g, "Node_Output")->inputs[0].t.got, OC_DT_F16);
  bench_clear(&b);
}
END_TEST

START_TEST(output_type_for_one)
{
  struct bench b;

  build(&b, "origin");
  b.options.output_type = "a:b:0:UINT8";
  bench_resolve(&b);
  ck_assert(b.result->resolved);
  ck_assert_int_eq(oc_graph_find(b.g, "Node_Output")->inputs[0].t.got, OC_DT_U8);
  ck_assert_uint_eq(n_casts(&b), 1);
  bench_clear(&b);
}
END_TEST

static const char *const bad_outputs[] = { "INT32", "fp16", "a:b:1:FP16", "zz:0:FP16",
                                           "a:b:x:FP16" };

START_TEST(output_types_that_are_refused)
{
  struct bench b;

  build(&b, "fp16");
  b.options.output_type = bad_outputs[_i];
  bench_resolve(&b);
  ck_assert(!b.result->resolved);
  ck_assert_str_eq(
      oc_finding_info(bench_finding(&b, OC_FINDING_OUTPUT_TYPE_BAD)->id)->vendor_code,
      "E10001");
  bench_clear(&b);
}
END_TEST

START_TEST(input_fp16_nodes)
{
  struct bench b;
  struct oc_op *relu = build(&b, "origin");

  b.options.input_fp16_nodes = "in";
  bench_resolve(&b);
  ck_assert(b.result->resolved);
  ck_assert_int_eq(out_dtype(oc_graph_find(b.g, "in")), OC_DT_F16);
  /* the consumer keeps the model's dtype, a Cast bridges */
  ck_assert_int_eq(out_dtype(relu), OC_DT_F32);
  ck_assert(relu->inputs[0].from->inserted);
  ck_assert_str_eq(relu->inputs[0].from->name, "trans_Cast_0");
  ck_assert_int_eq(oc_attr_int(relu->inputs[0].from, "dst_type", -1), 0);
  bench_clear(&b);
}
END_TEST

START_TEST(input_nodes_must_be_inputs)
{
  struct bench b;

  build(&b, "fp16");
  b.options.input_fp16_nodes = "a:b;nope";
  bench_resolve(&b);
  ck_assert(!b.result->resolved);
  ck_assert_ptr_nonnull(bench_finding(&b, OC_FINDING_INPUT_NODE_NOT_INPUT));
  ck_assert_str_eq(
      finding_arg(bench_finding(&b, OC_FINDING_INPUT_NODE_UNKNOWN), "inputs"), "in");
  bench_clear(&b);
}
END_TEST

TCase *port_cases(void)
{
  TCase *c = tcase_create("ports");

  tcase_add_test(c, output_type_for_all);
  tcase_add_test(c, output_type_for_one);
  tcase_add_loop_test(c, output_types_that_are_refused, 0, (int)OC_COUNT(bad_outputs));
  tcase_add_test(c, input_fp16_nodes);
  tcase_add_test(c, input_nodes_must_be_inputs);
  return c;
}
