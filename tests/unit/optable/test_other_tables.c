/* Tables from elsewhere: an installed toolkit's op files and the user's own. */
#include <check.h>
#include <string.h>

#include "base/cleanup.h"
#include "optable/optable.h"

static const char families[] = "schema: omcc/families/1\ncube: [MatMul]\nfamilies:\n"
                               "- id: f\n  product: P\n  product_zh: P\n  table: chip\n"
                               "  short: Chip\n  aic: A\n  bf16: true\n  listed: true\n"
                               "  arch: 1\n  socs:\n  - Chip1 1 1\n";
static const char ours[] = "schema: omcc/soc/1\nid: chip\nsource: \"our facts\"\nops:\n"
                           "  Relu:\n    in: x f16\n    out: y =\n"
                           "  Gone:\n    in: x f16\n    out: y =\n"
                           "  Mul:\n    in: [x1 f16 f32, x2 =]\n    out: y =\n"
                           "    from: code\n"
                           "  Odd:\n    in: x f16\n    out: y =\n";
/* Trailing commas as toolkits have them. */
static const char info[] =
    "{\n"
    "\"Relu\": {\"input0\": {\"name\": \"x\", \"dtype\": \"float16, float,bfloat16\", "
    "\"format\": \"NC1HWC0,ND,ND\", \"unknownshape_format\": \"ND,ND,ND\", "
    "\"paramType\": \"required\"},\n"
    "  \"output0\": {\"name\": \"y\", \"dtype\": \"float16,float,bfloat16\", "
    "\"format\": \"NC1HWC0,ND,ND\", \"unknownshape_format\": \"ND,ND,ND\"},\n"
    "  \"precision_reduce\": {\"flag\": \"true\"}, \"heavyOp\": {\"flag\": \"true\"},},\n"
    "\"Mul\": {\"input0\": {\"name\": \"x1\"}, \"input1\": {\"name\": \"x2\"}, "
    "\"output0\": {\"name\": \"y\"}, \"dynamicFormat\": {\"flag\": \"true\"}, "
    "\"precision_reduce\": {\"flag\": \"false\"}},\n"
    "\"Less\": {\"Input0\": {\"name\": \"x1\", \"dtype\": \"float16,float32\"}, "
    "\"Input1\": {\"name\": \"x2\", \"dtype\": \"float16,float32\"}, "
    "\"Output0\": {\"name\": \"y\", \"dtype\": \"bool,bool\"}, "
    "\"promoteType\": {\"value\": \"x1,x2;x1\"}, \"op\": {\"pattern\": \"broadcast\"}, "
    "\"opFile\": {\"value\": \"Null\"}},\n"
    "}\n";

static struct oc_optable *t;
static struct oc_error err;

static void setup(void)
{
  memset(&err, 0, sizeof err);
  t = oc_optable_new();
  ck_assert_int_eq(oc_optable_add(t, "f", families, strlen(families), &err), 0);
  ck_assert_msg(oc_optable_add(t, "o", ours, strlen(ours), &err) == 0, "%s", err.msg);
}

static void teardown(void)
{
  oc_optable_free(t);
}

static const struct oc_table *finish(void)
{
  ck_assert_int_eq(oc_optable_finish(t, &err), 0);
  return oc_optable_table(t, "chip");
}

static const struct oc_table_op *op(const struct oc_table *table, const char *type)
{
  const struct oc_table_op *o = oc_table_find(table, type);

  ck_assert_msg(o != NULL, "%s", type);
  return o;
}

START_TEST(a_toolkit_replaces_ours)
{
  ck_assert_int_eq(oc_optable_add_ops_info(t, "chip",
                                           "toolkit/chip/aic-chip-ops-info.json", info,
                                           strlen(info), &err),
                   0);
  const struct oc_table *table = finish();
  const struct oc_table_op *relu = op(table, "Relu");
  ck_assert_uint_eq(relu->variants[0].n_columns, 3);
  ck_assert_int_eq(relu->variants[0].dtypes[1], OC_DT_F32);
  ck_assert_int_eq(relu->variants[0].dtypes[5], OC_DT_BF16);
  ck_assert_int_eq(relu->policy, OC_POLICY_WHITE);
  ck_assert_uint_eq(relu->flags, OC_TABLE_FROM_FILE | OC_TABLE_HEAVY);
  /* plain formats and those for unknown shapes */
  const struct oc_table_variant *v = oc_table_variant_for(relu, OC_LAYOUT_NCHW4D);
  ck_assert_int_eq(v->formats[0], OC_TF_NC1HWC0);
  v = oc_table_variant_for(relu, OC_LAYOUT_UNKNOWN_DIMS);
  ck_assert_int_eq(v->formats[0], OC_TF_ND);
  ck_assert_ptr_nonnull(strstr(table->source, "aic-chip-ops-info.json"));
  ck_assert_ptr_nonnull(strstr(table->source, "our facts"));
}
END_TEST

START_TEST(computed_columns_stay_ours)
{
  ck_assert_int_eq(
      oc_optable_add_ops_info(t, "chip", "toolkit/chip/a.json", info, strlen(info), &err),
      0);
  const struct oc_table *table = finish();
  const struct oc_table_op *mul = op(table, "Mul");
  ck_assert_uint_eq(mul->variants[0].n_columns, 2);
  ck_assert_int_eq(mul->policy, OC_POLICY_BLACK);
  ck_assert_uint_eq(mul->flags, OC_TABLE_FROM_FILE | OC_TABLE_COMPUTED);
  const struct oc_table_op *less = op(table, "Less");
  ck_assert_uint_eq(less->n_promote, 1);
  ck_assert_str_eq(less->promote[0].names[1], "x2");
  ck_assert_ptr_null(less->variants[0].formats);
  ck_assert_uint_ne(less->flags & OC_TABLE_NO_KERNEL, 0);
}
END_TEST

START_TEST(what_the_file_lacks_is_open)
{
  ck_assert_int_eq(
      oc_optable_add_ops_info(t, "chip", "toolkit/chip/a.json", info, strlen(info), &err),
      0);
  const struct oc_table *table = finish();
  ck_assert_uint_ne(op(table, "Gone")->flags & OC_TABLE_NO_COLUMNS, 0);
}
END_TEST

#define OP_INFO(name, more)                                                              \
  "\"" name "\": {\"input0\": {\"name\": \"x\", \"dtype\": \"float16\"}, "               \
  "\"output0\": {\"name\": \"y\", \"dtype\": \"float16" more "\"}}"

/* Half a table would give wrong answers: the whole file is refused, with its line. */
static const struct {
  const char *text, *says;
} bad_info[] = {
  { "", "line 1" },
  { "[]", "line 1: it is no object" },
  { "{\"Relu\": ", "line 1" },
  { "\xff", "line 1" },
  { "{" OP_INFO("A", "") ",\n" OP_INFO("B", ",float") "}",
    "line 2: op 'B': its dtype lists have different lengths" },
  { "{" OP_INFO(
        "A", "") ",\n\n\"B\": {\"input0\": {\"name\": \"x\", \"dtype\": \"float99\"}}}",
    "line 3: op 'B': it has a dtype that is not known here" },
  { "{" OP_INFO("A", "") ",\n" OP_INFO("B", "") ",\n" OP_INFO("A", "") "}", "line 3" },
};

START_TEST(files_that_are_no_tables)
{
  int r = oc_optable_add_ops_info(t, "chip", "toolkit/chip/a.json", bad_info[_i].text,
                                  strlen(bad_info[_i].text), &err);

  ck_assert_int_eq(r, OC_E_FORMAT);
  ck_assert_msg(strstr(err.msg, "'toolkit/chip/a.json' line ") == err.msg, "%s", err.msg);
  ck_assert_msg(strstr(err.msg, bad_info[_i].says) != NULL, "%s", err.msg);
}
END_TEST

/* Files of chips that no target of ours is of, and members that are no ops. */
START_TEST(files_of_other_chips_are_passed_over)
{
  ck_assert_int_eq(oc_optable_add_ops_info(t, "unknown", "x", "[]", 2, &err), 0);
  ck_assert_int_eq(oc_optable_add_ops_info(t, "chip", "toolkit/chip/a.json",
                                           "{\"Relu\": 1}", 11, &err),
                   0);
  ck_assert_uint_eq(op(finish(), "Relu")->variants[0].n_columns, 1);
}
END_TEST

START_TEST(custom_operators_win)
{
  static const char custom[] =
      "{\"Relu\": {\"input0\": {\"name\": \"x\", \"dtype\": \"int8\"}, "
      "\"output0\": {\"name\": \"y\", \"dtype\": \"int8\"}}}";

  ck_assert_int_eq(oc_optable_add_ops_info(t, "chip", "custom/mine/chip/a.json", custom,
                                           strlen(custom), &err),
                   0);
  const struct oc_table *table = finish();
  ck_assert_int_eq(op(table, "Relu")->variants[0].dtypes[0], OC_DT_I8);
  /* no toolkit's own file: our other ops are as sure as before */
  ck_assert_uint_eq(op(table, "Gone")->flags & OC_TABLE_NO_COLUMNS, 0);
}
END_TEST

START_TEST(a_user_adds_and_replaces)
{
  static const char extra[] = "schema: omcc/soc/1\nid: chip\nops:\n"
                              "  Mine:\n    in: x f16 f32\n    out: y =\n"
                              "  Relu:\n    in: x f32\n    out: y =\n";

  ck_assert_msg(oc_optable_add_extra(t, "extra/mine.yaml", extra, strlen(extra), &err) ==
                    0,
                "%s", err.msg);
  const struct oc_table *table = finish();
  ck_assert_uint_eq(op(table, "Mine")->variants[0].n_columns, 2);
  ck_assert_int_eq(op(table, "Relu")->variants[0].dtypes[0], OC_DT_F32);
  ck_assert_uint_eq(op(table, "Relu")->flags, OC_TABLE_FROM_FILE);
  ck_assert_str_eq(table->source, "'extra/mine.yaml' (2 ops); other ops: our facts");
}
END_TEST

static const struct {
  const char *text, *says;
} broken[] = {
  { "schema: omcc/soc/1\nid: other\nops: {}\n", "line 1: there is no table 'other'" },
  { "schema: omcc/ops/1\nid: chip\nops: {}\n", "line 1: a table of your own needs" },
  { "schema: omcc/soc/1\nid: chip\nops:\n  A:\n    in: x f16\n    out: y f16 f32\n",
    "line 6: op 'A' has rows of 1 and of 2 columns" },
  { "schema: omcc/soc/1\nid: chip\nops:\n  A:\n    in: x f17\n",
    "line 5: 'f17' is not a dtype" },
  { "schema: omcc/soc/1\nid: chip\nops:\n  A:\n    in: x f16\n  A:\n    in: x f16\n",
    "line " },
  { "ops: [\n", "line " },
};

START_TEST(mistakes_have_file_and_line)
{
  int r = oc_optable_add_extra(t, "extra/mine.yaml", broken[_i].text,
                               strlen(broken[_i].text), &err);

  ck_assert_int_eq(r, OC_E_FORMAT);
  ck_assert_msg(strstr(err.msg, "'extra/mine.yaml'") != NULL, "%s", err.msg);
  ck_assert_msg(strstr(err.msg, broken[_i].says) != NULL, "%s", err.msg);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("other tables");
  TCase *c = tcase_create("other tables");

  tcase_add_checked_fixture(c, setup, teardown);
  tcase_add_test(c, a_toolkit_replaces_ours);
  tcase_add_test(c, computed_columns_stay_ours);
  tcase_add_test(c, what_the_file_lacks_is_open);
  tcase_add_loop_test(c, files_that_are_no_tables, 0, (int)OC_COUNT(bad_info));
  tcase_add_test(c, files_of_other_chips_are_passed_over);
  tcase_add_test(c, custom_operators_win);
  tcase_add_test(c, a_user_adds_and_replaces);
  tcase_add_loop_test(c, mistakes_have_file_and_line, 0, (int)OC_COUNT(broken));
  suite_add_tcase(s, c);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? 1 : 0;
}
