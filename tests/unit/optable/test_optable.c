/* The op tables that we ship, and what malformed ones are told. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "optable/optable.h"
#include "shipped/shipped.h"

static const char *const table_ids[] = { "ascend310", "ascend310p", "ascend310b",
                                         "ascend910", "ascend910b", "ascend910_93",
                                         "ascend950" };

static struct oc_optable *shipped;

static struct oc_optable *load(void)
{
  struct oc_error err = { 0 };
  struct oc_optable *t = oc_shipped_tables(NULL, &err);

  ck_assert_msg(t != NULL, "%s", err.msg);
  return t;
}

static void setup(void)
{
  shipped = load();
}

static void teardown(void)
{
  oc_optable_free(shipped);
}

START_TEST(every_family_has_its_table)
{
  size_t n = 0;
  const struct oc_soc *const *socs = oc_optable_socs(shipped, &n);

  ck_assert_uint_gt(n, 30);
  for (size_t i = 0; i < n; i++)
    ck_assert_msg(socs[i]->table != NULL, "%s has no table", socs[i]->name);
  for (size_t i = 0; i < OC_COUNT(table_ids); i++)
    ck_assert_uint_gt(oc_optable_table(shipped, table_ids[i])->ops.n, 400);
}
END_TEST

START_TEST(socs_are_exact_strings)
{
  const struct oc_soc *old = oc_optable_soc(shipped, "Ascend910B");
  const struct oc_soc *a2 = oc_optable_soc(shipped, "Ascend910B1");

  ck_assert_str_eq(old->table_id, "ascend910");
  ck_assert_int_eq(old->arch_type, 3);
  ck_assert(!old->bf16);
  ck_assert_str_eq(a2->table_id, "ascend910b");
  ck_assert_int_eq(a2->arch_type, 4);
  ck_assert(a2->bf16);
  ck_assert_int_eq(a2->ai_cores, 24);
  ck_assert_int_eq(oc_optable_soc(shipped, "Ascend310P3")->arch_type, 1);
  ck_assert(!oc_optable_soc(shipped, "Ascend310")->listed);
  ck_assert_ptr_null(oc_optable_soc(shipped, "ascend310p3"));
  ck_assert_str_eq(oc_optable_nearest_soc(shipped, "ascend310p3"), "Ascend310P3");
  ck_assert_ptr_null(oc_optable_nearest_soc(shipped, "something else"));
}
END_TEST

/* Column k of one tensor. */
static enum oc_dtype cell(const struct oc_table_op *op, const struct oc_table_variant *v,
                          uint32_t t, uint32_t k)
{
  ck_assert_uint_lt(t, op->n_inputs + op->n_outputs);
  ck_assert_uint_lt(k, v->n_columns);
  return (enum oc_dtype)v->dtypes[(size_t)t * v->n_columns + k];
}

START_TEST(columns_of_known_ops)
{
  const struct oc_table_op *conv =
      oc_table_find(oc_optable_table(shipped, "ascend310p"), "Conv2D");
  const struct oc_table_variant *v = oc_table_variant_for(conv, OC_LAYOUT_NCHW4D);

  ck_assert_int_eq(conv->policy, OC_POLICY_WHITE);
  ck_assert_uint_eq(v->n_columns, 3);
  ck_assert_int_eq(cell(conv, v, 0, 0), OC_DT_F16);
  ck_assert_int_eq(cell(conv, v, 0, 1), OC_DT_I8);
  ck_assert_int_eq(cell(conv, v, 4, 2), OC_DT_F32);
  ck_assert_int_eq(conv->tensors[2].param, OC_PARAM_OPTIONAL);
  const struct oc_table_op *less =
      oc_table_find(oc_optable_table(shipped, "ascend910b"), "Less");
  ck_assert_uint_eq(less->n_promote, 1);
  ck_assert_str_eq(less->promote[0].names[1], "x2");
  const struct oc_table_op *reshape =
      oc_table_find(oc_optable_table(shipped, "ascend310p"), "Reshape");
  ck_assert(reshape->flags & OC_TABLE_NO_KERNEL);
  const struct oc_table_op *relu =
      oc_table_find(oc_optable_table(shipped, "ascend950"), "Relu");
  ck_assert(relu->flags & OC_TABLE_COMPUTED);
}
END_TEST

START_TEST(layouts_have_their_own_columns)
{
  const struct oc_table_op *add =
      oc_table_find(oc_optable_table(shipped, "ascend310p"), "Add");
  const struct oc_table_variant *usual = oc_table_variant_for(add, OC_LAYOUT_NCHW4D);
  const struct oc_table_variant *dynamic =
      oc_table_variant_for(add, OC_LAYOUT_UNKNOWN_DIMS);

  ck_assert(add->flags & OC_TABLE_COMPUTED);
  ck_assert_ptr_ne(usual, dynamic);
  ck_assert_uint_eq(usual->n_columns, 7);
  ck_assert_uint_eq(dynamic->n_columns, 9);
  /* the mixed column exists for unknown shapes only: float16 + float32 -> float32 */
  ck_assert_int_eq(cell(add, dynamic, 0, 7), OC_DT_F16);
  ck_assert_int_eq(cell(add, dynamic, 1, 7), OC_DT_F32);
  ck_assert_int_eq(cell(add, dynamic, 2, 7), OC_DT_F32);
}
END_TEST

START_TEST(side_tables)
{
  const struct oc_aicpu_op *pool = oc_optable_aicpu(shipped, "MaxPool");
  const struct oc_ir *conv = oc_optable_ir(shipped, "Conv2D");

  ck_assert_ptr_null(oc_optable_aicpu(shipped, "Conv2D"));
  ck_assert(pool->inputs[0].dtypes >> OC_DT_F32 & 1);
  ck_assert(!(pool->inputs[0].dtypes >> OC_DT_BF16 & 1));
  ck_assert(oc_optable_aicpu(shipped, "AddN")->inputs[0].dynamic);
  ck_assert_uint_eq(conv->n_inputs, 4);
  ck_assert_int_eq(conv->inputs[3].param, OC_PARAM_OPTIONAL);
  ck_assert_str_eq(conv->attrs[0].type, "ListInt");
  ck_assert_ptr_null(conv->attrs[0].value);
  ck_assert_str_eq(conv->attrs[4].value, "\"NHWC\"");
  ck_assert_int_eq(oc_optable_ir(shipped, "AddN")->inputs[0].param, OC_PARAM_DYNAMIC);
  ck_assert_int_eq(oc_optable_graph_kind(shipped, "Const"), OC_GRAPH_KIND_FIXED);
  ck_assert_int_eq(oc_optable_graph_kind(shipped, "Reshape"), OC_GRAPH_KIND_NO_KERNEL);
  ck_assert_int_eq(oc_optable_graph_kind(shipped, "Identity"), OC_GRAPH_KIND_DELETED);
  ck_assert_int_eq(oc_optable_graph_kind(shipped, "Conv2D"), OC_GRAPH_KIND_NONE);
  ck_assert_ptr_nonnull(oc_map_gets(oc_optable_cube(shipped), "BatchMatMulV2"));
  ck_assert_ptr_null(oc_map_gets(oc_optable_cube(shipped), "MatMulV3"));
  ck_assert_uint_eq(oc_optable_cube(shipped)->n, 27);
}
END_TEST

START_TEST(retyping_rows_lead_into_tables)
{
  size_t n = 0;
  const struct oc_retype *rows = oc_optable_retypes(shipped, &n);

  ck_assert_uint_gt(n, 10);
  for (size_t i = 0; i < n; i++) {
    ck_assert_msg(*rows[i].source != 0, "%s has no source", rows[i].from);
    for (size_t k = 0; k < OC_COUNT(table_ids); k++) {
      if (!oc_retype_applies(&rows[i], table_ids[k]))
        continue;
      bool known = oc_table_find(oc_optable_table(shipped, table_ids[k]), rows[i].to) ||
                   oc_optable_graph_kind(shipped, rows[i].to) != OC_GRAPH_KIND_NONE;
      ck_assert_msg(known, "%s -> %s is not in %s", rows[i].from, rows[i].to,
                    table_ids[k]);
    }
  }
}
END_TEST

START_TEST(unsupported_types_are_in_no_table)
{
  for (size_t k = 0; k < OC_COUNT(table_ids); k++) {
    const struct oc_table *t = oc_optable_table(shipped, table_ids[k]);
    for (size_t i = 0; i < t->ops.n; i++) {
      const struct oc_table_op *op = t->ops.entries[i].value;
      ck_assert_msg(!oc_optable_unsupported(shipped, op->type, t->id), "%s in %s",
                    op->type, t->id);
    }
  }
  ck_assert_ptr_nonnull(oc_optable_unsupported(shipped, "HardMax", "ascend310p"));
  ck_assert_ptr_null(oc_optable_unsupported(shipped, "Conv2DTranspose", "ascend310p"));
  ck_assert_ptr_nonnull(oc_optable_unsupported(shipped, "Conv2DTranspose", "ascend950"));
}
END_TEST

START_TEST(loading_is_quick)
{
  struct timespec a, b;

  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
  oc_optable_free(load());
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
  double ms = (double)(b.tv_sec - a.tv_sec) * 1e3 + (double)(b.tv_nsec - a.tv_nsec) / 1e6;
  /* 35 ms without sanitizers; the limit leaves room for them and for slow machines */
  ck_assert_msg(ms < 1500, "%.0f ms", ms);
}
END_TEST

static const struct {
  const char *id;
  const char *text;
  const char *says; /* part of the message */
} bad[] = {
  { "no schema", "id: x\n", "no 'schema'" },
  { "unknown schema", "schema: omcc/soc/9\n", "not known" },
  { "not yaml", "schema: [\n", "line" },
  { "empty", "", "empty" },
  { "uneven",
    "schema: omcc/soc/1\nid: x\nops:\n  A:\n    in: x f16 f32\n    out: y f16\n",
    "line 6" },
  { "dtype", "schema: omcc/soc/1\nid: x\nops:\n  A:\n    in: x f17\n",
    "'f17' is not a dtype" },
  { "twice",
    "schema: omcc/soc/1\nid: x\nops:\n  A:\n    in: x f16\n  A:\n    in: x f16\n",
    "twice" },
  { "flag", "schema: omcc/soc/1\nid: x\nops:\n  A:\n    in: x f16\n    flags: fast\n",
    "'fast'" },
  { "policy", "schema: omcc/soc/1\nid: x\nops:\n  A:\n    in: x f16\n    policy: red\n",
    "'red'" },
  { "param", "schema: omcc/soc/1\nid: x\nops:\n  A:\n    in: x/sometimes f16\n",
    "'sometimes'" },
  { "repeat first", "schema: omcc/soc/1\nid: x\nops:\n  A:\n    in: x =\n",
    "nothing to repeat" },
  { "too many", "schema: omcc/soc/1\nid: x\nops:\n  A:\n    in: x f16*900 f16*900\n",
    "columns" },
  { "layout",
    "schema: omcc/soc/1\nid: x\nops:\n  A:\n    in: x f16\n    layouts: round\n",
    "'round'" },
  { "alias", "schema: omcc/soc/1\nid: &a x\nops: *a\n", "not used here" },
  { "retype member", "schema: omcc/retype/1\nrows:\n- {from: A, to: B}\n", "members" },
  { "ir arrow", "schema: omcc/ir/1\nops:\n  A: x y\n", "'->'" },
  { "soc twice",
    "schema: omcc/families/1\ncube: [A]\nfamilies:\n- {id: f, bf16: true, listed: true, "
    "arch: 1, "
    "socs: [S 1 1, S 1 1]}\n",
    "twice" },
};

START_TEST(malformed_tables_are_refused)
{
  struct oc_optable *t = oc_optable_new();
  struct oc_error err = { 0 };
  int rc = oc_optable_add(t, "t.yaml", bad[_i].text, strlen(bad[_i].text), &err);

  ck_assert_msg(rc == OC_E_FORMAT, "%s: %d", bad[_i].id, rc);
  ck_assert_msg(strstr(err.msg, bad[_i].says) != NULL, "%s: %s", bad[_i].id, err.msg);
  ck_assert_msg(strstr(err.msg, "t.yaml") != NULL, "%s: %s", bad[_i].id, err.msg);
  oc_optable_free(t);
}
END_TEST

START_TEST(no_soc_is_an_error)
{
  struct oc_optable *t = oc_optable_new();
  struct oc_error err = { 0 };

  ck_assert_int_eq(oc_optable_finish(t, &err), OC_E_FORMAT);
  oc_optable_free(t);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("optable");
  TCase *ship = tcase_create("shipped");
  TCase *edge = tcase_create("malformed");

  tcase_set_timeout(ship, 60);
  tcase_add_unchecked_fixture(ship, setup, teardown);
  tcase_add_test(ship, every_family_has_its_table);
  tcase_add_test(ship, socs_are_exact_strings);
  tcase_add_test(ship, columns_of_known_ops);
  tcase_add_test(ship, layouts_have_their_own_columns);
  tcase_add_test(ship, side_tables);
  tcase_add_test(ship, retyping_rows_lead_into_tables);
  tcase_add_test(ship, unsupported_types_are_in_no_table);
  tcase_add_test(ship, loading_is_quick);
  tcase_add_loop_test(edge, malformed_tables_are_refused, 0, (int)OC_COUNT(bad));
  tcase_add_test(edge, no_soc_is_an_error);
  suite_add_tcase(s, ship);
  suite_add_tcase(s, edge);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? 1 : 0;
}
