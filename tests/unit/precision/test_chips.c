/* The shipped tables: the fallback chain of the option page on real ops. */
#include <string.h>

#include "support.h"

static struct oc_op *one(struct bench *b, const char *soc, const char *mode,
                         const char *type, enum oc_dtype d)
{
  bench_init(b, soc, NULL, mode);
  struct oc_op *in = bench_data(b, "in", d);
  struct oc_op *op =
      oc_streq(type, "Conv2D")
          ? bench_binary(b, "op", type, in, bench_op(b, "w", "Const", d, 0, NULL))
          : bench_unary(b, "op", type, in);
  bench_output(b, op);
  return op;
}

START_TEST(a_kept_relu_stays_float32)
{
  struct bench b;
  struct oc_op *op = one(&b, "Ascend310P3", "fp16", "Relu", OC_DT_F32);

  bench_keep(&b, "op\n");
  bench_resolve(&b);
  ck_assert(b.result->resolved);
  ck_assert_int_eq(op->engine, OC_ENGINE_AICORE);
  ck_assert_int_eq(out_dtype(op), OC_DT_F32);
  ck_assert_uint_eq(b.result->casts_added, 0);
  ck_assert_str_eq(oc_rule_name(bench_result(&b, op)->reason.rule), "keep");
  ck_assert_uint_eq(bench_result(&b, op)->reason.entry, 1);
  bench_clear(&b);
}
END_TEST

START_TEST(a_bfloat16_sign_is_raised)
{
  struct bench b;
  struct oc_op *op = one(&b, "Ascend310P3", "fp16", "Sign", OC_DT_BF16);

  bench_keep(&b, "OpType::Sign\n");
  bench_resolve(&b);
  ck_assert(b.result->resolved);
  ck_assert_int_eq(out_dtype(op), OC_DT_F32);
  ck_assert_int_eq(op->engine, OC_ENGINE_AICORE);
  ck_assert_ptr_nonnull(bench_finding(&b, OC_FINDING_KEEP_RAISED));
  bench_clear(&b);
}
END_TEST

START_TEST(a_kept_pool_moves_to_ai_cpu)
{
  struct bench b;
  struct oc_op *op = one(&b, "Ascend310P3", "fp16", "MaxPool", OC_DT_F32);

  bench_keep(&b, "op\n");
  bench_resolve(&b);
  ck_assert(b.result->resolved);
  ck_assert_int_eq(op->engine, OC_ENGINE_AICPU);
  ck_assert_int_eq(out_dtype(op), OC_DT_F32);
  const struct oc_finding *f = bench_finding(&b, OC_FINDING_AICPU_FALLBACK);
  ck_assert_int_eq(f->severity, OC_SEV_WARNING);
  ck_assert_uint_eq(f->entry, 1);
  ck_assert_str_eq(f->flag, "keep_dtype");
  ck_assert_str_eq(finding_arg(f, "dtype"), "float32");
  bench_clear(&b);
}
END_TEST

START_TEST(a_kept_convolution_has_no_engine)
{
  struct bench b;
  struct oc_op *op = one(&b, "Ascend310P3", "fp16", "Conv2D", OC_DT_F32);

  bench_keep(&b, "# first\nop\n");
  bench_resolve(&b);
  ck_assert(!b.result->resolved);
  ck_assert_uint_eq(b.result->n_no_engine, 1);
  ck_assert_int_eq(op->engine, OC_ENGINE_NONE);
  /* the table of all ops is there all the same */
  ck_assert_uint_eq(b.result->n_ops, 4);
  const struct oc_finding *f = bench_finding(&b, OC_FINDING_NO_ENGINE);
  ck_assert_str_eq(oc_finding_info(f->id)->vendor_code, "EZ3003");
  ck_assert_uint_eq(f->entry, 2);
  ck_assert_str_eq(f->subject, "op");
  ck_assert_str_eq(finding_arg(f, "soc"), "Ascend310P3");
  ck_assert_str_eq(finding_arg(f, "dtype"), "float32");
  ck_assert_str_eq(finding_arg(f, "offered"), "float16, int8");
  bench_clear(&b);
}
END_TEST

START_TEST(the_same_convolution_on_another_chip)
{
  struct bench b;
  struct oc_op *op = one(&b, "Ascend910B1", "fp16", "Conv2D", OC_DT_F32);

  bench_keep(&b, "op\n");
  bench_resolve(&b);
  ck_assert(b.result->resolved);
  ck_assert_int_eq(out_dtype(op), OC_DT_F32);
  ck_assert_int_eq(op->engine, OC_ENGINE_AICORE);
  ck_assert_int_eq(bench_result(&b, op)->sure, OC_SURE_COMPUTED);
  bench_clear(&b);
}
END_TEST

/* AI CPU has no MaxPoolV3; it takes the op as MaxPool when that says the same. */
START_TEST(a_kept_newer_pool)
{
  static const int64_t padded[] = { 1, 1, 1, 1 };
  struct bench b;
  bool plain = _i == 0;
  struct oc_op *op = one(&b, "Ascend310P3", "fp16", "MaxPoolV3", OC_DT_F32);

  if (_i == 1)
    ck_assert_int_eq(oc_attr_set_ints(b.g, op, "pads", padded, 4), 0);
  if (_i == 2) /* AI CPU takes the form but not this dtype */
    op->inputs[0].t.dtype = op->outputs[0].t.dtype = OC_DT_BF16;
  bench_keep(&b, "op\n");
  bench_resolve(&b);
  ck_assert_str_eq(op->type, plain ? "MaxPool" : "MaxPoolV3");
  ck_assert_int_eq(op->engine, plain ? OC_ENGINE_AICPU : OC_ENGINE_NONE);
  ck_assert_int_eq(b.result->resolved, plain);
  if (plain)
    ck_assert(oc_str_is(oc_attr_string(op, "padding", ""), "VALID"));
  else
    ck_assert_ptr_null(oc_attr_find(op, "padding"));
  bench_clear(&b);
}
END_TEST

START_TEST(reshape_has_no_kernel)
{
  struct bench b;
  struct oc_op *op = one(&b, "Ascend950PR_9599", "fp16", "Squeeze", OC_DT_F32);

  bench_resolve(&b);
  ck_assert(b.result->resolved);
  ck_assert_int_eq(op->engine, OC_ENGINE_GRAPH);
  ck_assert_int_eq(out_dtype(op), OC_DT_F32);
  ck_assert_str_eq(oc_rule_name(bench_result(&b, op)->reason.rule), "no-kernel");
  bench_clear(&b);
}
END_TEST

START_TEST(an_unknown_type)
{
  struct bench b;
  struct oc_op *op = one(&b, "Ascend310P3", "fp16", "MyOwnOp", OC_DT_F32);

  b.options.unknown_is_open = true;
  bench_resolve(&b);
  ck_assert(b.result->resolved);
  ck_assert_str_eq(oc_rule_name(bench_result(&b, op)->reason.rule), "unknown");
  ck_assert_int_eq(bench_result(&b, op)->sure, OC_SURE_OPEN);
  ck_assert_int_eq(bench_finding(&b, OC_FINDING_OP_NOT_TABLED)->severity, OC_SEV_WARNING);
  bench_clear(&b);
  op = one(&b, "Ascend310P3", "fp16", "HardMax", OC_DT_F32);
  bench_resolve(&b);
  ck_assert(!b.result->resolved);
  ck_assert_ptr_nonnull(
      strstr(finding_arg(bench_finding(&b, OC_FINDING_NO_ENGINE_TYPE), "why"), "AI CPU"));
  bench_clear(&b);
}
END_TEST

START_TEST(a_type_that_only_ai_cpu_has)
{
  struct bench b;
  struct oc_op *op = one(&b, "Ascend310P3", "fp16", "MatrixDeterminant", OC_DT_F32);

  bench_resolve(&b);
  ck_assert(b.result->resolved);
  ck_assert_int_eq(op->engine, OC_ENGINE_AICPU);
  ck_assert_int_eq(bench_finding(&b, OC_FINDING_AICPU_TYPE)->severity, OC_SEV_NOTE);
  bench_clear(&b);
}
END_TEST

/* A chip of our own, for what the shipped tables do not have. */
static void own_table(struct bench *b, struct oc_table *t, struct oc_table_op *row,
                      struct oc_table_variant *v)
{
  static const struct oc_table_tensor tensors[] = { { "x", OC_PARAM_REQUIRED },
                                                    { "y", OC_PARAM_REQUIRED } };

  row->tensors = tensors;
  row->n_inputs = row->n_outputs = 1;
  row->variants = v;
  row->n_variants = 1;
  v->layouts = OC_LAYOUT_ANY;
  ck_assert_int_eq(oc_table_put(t, row), 0);
  b->options.table = t;
}

START_TEST(a_white_op_without_its_half)
{
  static const uint8_t columns[] = { OC_DT_U8, OC_DT_F32, OC_DT_BF16,
                                     OC_DT_U8, OC_DT_F32, OC_DT_BF16 };
  struct oc_table t = { .id = "own" };
  struct oc_table_op row = { .type = "Relu", .policy = OC_POLICY_WHITE };
  struct oc_table_variant v = { .n_columns = 3, .dtypes = columns };
  struct bench b;
  struct oc_op *op = one(&b, "Ascend910B1", "mixed_float16", "Relu", OC_DT_F32);

  own_table(&b, &t, &row, &v);
  bench_resolve(&b);
  ck_assert_int_eq(out_dtype(op), OC_DT_U8);
  ck_assert_str_eq(finding_arg(bench_finding(&b, OC_FINDING_WHITE_EMPTIED), "dtype"),
                   "uint8");
  oc_table_clear(&t);
  bench_clear(&b);
}
END_TEST

START_TEST(a_kept_op_that_is_promoted)
{
  struct bench b;

  bench_init(&b, "Ascend910B1", NULL, "fp16");
  struct oc_op *p = bench_data(&b, "p", OC_DT_F32), *q = bench_data(&b, "q", OC_DT_I32);
  struct oc_op *less = bench_binary(&b, "less", "Less", p, q);
  less->inputs[1].t.dtype = OC_DT_I32;
  less->outputs[0].t.dtype = OC_DT_BOOL;
  bench_output(&b, less);
  bench_keep(&b, "less\n");
  bench_resolve(&b);
  ck_assert_int_eq(less->inputs[1].t.got, OC_DT_F32);
  ck_assert_ptr_nonnull(bench_finding(&b, OC_FINDING_KEEP_PROMOTED));
  ck_assert_int_eq(b.result->entries[0].state, OC_ENTRY_NO_EFFECT);
  bench_clear(&b);
}
END_TEST

START_TEST(a_cast_without_an_input)
{
  struct bench b;

  bench_init(&b, "Ascend910B1", NULL, "mixed_float16");
  struct oc_op *cast = bench_op(&b, "c", "Cast", OC_DT_F16, 1, NULL);
  cast->outputs[0].t.dtype = OC_DT_F32;
  bench_output(&b, bench_unary(&b, "r", "Relu", cast));
  bench_resolve(&b);
  ck_assert(!b.result->resolved);
  ck_assert_str_eq(bench_finding(&b, OC_FINDING_JUDGE_FAILED)->subject, "r");
  bench_clear(&b);
}
END_TEST

START_TEST(reasons_form_a_chain)
{
  struct bench b;
  struct oc_op *op = one(&b, "Ascend310P3", "fp16", "Relu", OC_DT_F32);
  size_t n = 0;

  bench_resolve(&b);
  ck_assert_int_eq(op->inputs[0].t.want, OC_DT_F16);
  ck_assert_int_eq(op->inputs[0].t.got, OC_DT_F16);
  const struct oc_reason *r = op->inputs[0].t.reasons->first;
  ck_assert_str_eq(oc_rule_name(r->rule), "mode");
  ck_assert_str_eq(r->subject, "fp16");
  ck_assert_str_eq(oc_rule_name(r->next->rule), "own-dtype");
  ck_assert_int_eq(r->next->dtype, OC_DT_F16);
  ck_assert_str_eq(oc_rule_name(r->next->next->rule), "match");
  struct oc_finding_arg *args = oc_reason_args(r->next, &b.arena, &n);
  ck_assert_uint_ge(n, 1);
  ck_assert_str_eq(args[0].name, "dtype");
  ck_assert_str_eq(args[0].value, "float16");
  bench_clear(&b);
}
END_TEST

START_TEST(names_of_rules_are_unique)
{
  for (int i = 0; i < OC_RULE_COUNT; i++)
    for (int k = i + 1; k < OC_RULE_COUNT; k++)
      ck_assert_str_ne(oc_rule_name((enum oc_rule)i), oc_rule_name((enum oc_rule)k));
}
END_TEST

TCase *chip_cases(void)
{
  TCase *c = tcase_create("chips");

  tcase_add_test(c, a_kept_relu_stays_float32);
  tcase_add_test(c, a_bfloat16_sign_is_raised);
  tcase_add_test(c, a_kept_pool_moves_to_ai_cpu);
  tcase_add_test(c, a_kept_convolution_has_no_engine);
  tcase_add_test(c, the_same_convolution_on_another_chip);
  tcase_add_loop_test(c, a_kept_newer_pool, 0, 3);
  tcase_add_test(c, reshape_has_no_kernel);
  tcase_add_test(c, an_unknown_type);
  tcase_add_test(c, a_type_that_only_ai_cpu_has);
  tcase_add_test(c, a_white_op_without_its_half);
  tcase_add_test(c, a_kept_op_that_is_promoted);
  tcase_add_test(c, a_cast_without_an_input);
  tcase_add_test(c, reasons_form_a_chain);
  tcase_add_test(c, names_of_rules_are_unique);
  return c;
}
