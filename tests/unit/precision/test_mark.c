/* Keep marks, and the nearest right line for one that names nothing. */
#include <string.h>

#include "support.h"

/* in -> /b0/conv/Conv -> /b0/act/Relu -> SoftmaxV2 (from Softmax) -> InstanceNorm. */
static void graph(struct bench *b)
{
  bench_init(b, "Ascend310P3", NULL, "fp16");
  struct oc_op *in = bench_data(b, "images", OC_DT_F32);
  struct oc_op *w = bench_op(b, "w1_Initializer_0", "Const", OC_DT_F32, 0, NULL);
  struct oc_op *conv = bench_binary(b, "/b0/conv/Conv", "Conv2D", in, w);
  struct oc_op *relu = bench_unary(b, "/b0/act/Relu", "Relu", conv);
  struct oc_op *soft = bench_unary(b, "/b0/Softmax", "SoftmaxV2", relu);
  struct oc_op *norm =
      bench_unary(b, "PartitionedCall_/head/Gemm_add_3", "InstanceNorm", soft);
  static const char *origin[] = { "/head/Gemm" };

  conv->source_type = "Conv";
  relu->source_type = "Relu";
  soft->source_type = "Softmax";
  norm->source_type = "InstanceNormalization";
  norm->origin_names = origin;
  norm->n_origin_names = 1;
  bench_output(b, norm);
}

static const struct {
  const char *line;
  enum oc_finding_id id;
  const char *near; /* the line to write, "" when none is known */
} rows[] = {
  { "/b0/conv/Con", OC_FINDING_KEEP_UNMATCHED_NEAR, "/b0/conv/Conv" },
  { "/B0/conv/Conv", OC_FINDING_KEEP_NAME_CASE, "/b0/conv/Conv" },
  { "/b0/act/Relu_output_0", OC_FINDING_KEEP_TENSOR_NAME, "/b0/act/Relu" },
  { "/b0/act/Relu:0", OC_FINDING_KEEP_TENSOR_NAME, "/b0/act/Relu" },
  { "w1", OC_FINDING_KEEP_TENSOR_NAME, "/b0/conv/Conv" },
  { "trans_Cast_/b0/conv/Conv/fused_abcdefgh", OC_FINDING_KEEP_NAME_SUFFIX,
    "/b0/conv/Conv" },
  { "nothing_like_it_at_all", OC_FINDING_KEEP_UNMATCHED, "" },
  { "Relu", OC_FINDING_KEEP_TYPE_AS_NAME, "OpType::Relu" },
  { "Softmax", OC_FINDING_KEEP_FRAMEWORK_TYPE, "OpType::SoftmaxV2" },
  { "OpType::Softmax", OC_FINDING_KEEP_FRAMEWORK_TYPE, "OpType::SoftmaxV2" },
  { "OpType::InstanceNormalization", OC_FINDING_KEEP_FRAMEWORK_TYPE,
    "OpType::InstanceNorm" },
  { "OpType::RELU", OC_FINDING_KEEP_TYPE_CASE, "OpType::Relu" },
  { "OpType::Reluu", OC_FINDING_KEEP_TYPE_NEAR, "OpType::Relu" },
  { "OpType::Einsum", OC_FINDING_KEEP_TYPE_UNMATCHED, "" },
  { "/b0/act/Relu, /b0/conv/Conv", OC_FINDING_KEEP_MORE_WORDS,
    "'/b0/act/Relu', '/b0/conv/Conv'" },
  { "/b0/act/Relu OpType::Conv2D", OC_FINDING_KEEP_MORE_WORDS,
    "'/b0/act/Relu', 'OpType::Conv2D'" },
  { "/b0/act/Relu # loses accuracy", OC_FINDING_KEEP_MORE_WORDS, "'/b0/act/Relu'" },
  { "/b0/act/Relu x", OC_FINDING_KEEP_UNMATCHED_NEAR, "/b0/act/Relu" },
  { "Optype::Relu", OC_FINDING_KEEP_PREFIX_CASE, "OpType::Relu" },
  { "optype::softmax", OC_FINDING_KEEP_PREFIX_CASE, "OpType::Softmax" },
  { "OpType:Relu", OC_FINDING_KEEP_PREFIX_COLON, "OpType::Relu" },
  { "OpType ::Relu", OC_FINDING_KEEP_PREFIX_BLANK, "OpType::Relu" },
};

START_TEST(dead_lines_have_a_cause)
{
  struct bench b;

  graph(&b);
  ck_assert_int_eq(bench_keep(&b, oc_arena_printf(&b.arena, "%s\n", rows[_i].line)), 0);
  ck_assert_uint_eq(b.findings.n, 1);
  const struct oc_finding *f = &b.findings.items[0];
  ck_assert_msg(f->id == rows[_i].id, "%s: %s", rows[_i].line,
                oc_finding_info(f->id)->id);
  ck_assert_uint_eq(f->entry, 1);
  ck_assert_str_eq(f->flag, "keep_dtype");
  if (oc_streq(rows[_i].line, "optype::softmax"))
    ck_assert_str_eq(finding_arg(f, "near"), "OpType::softmax");
  else
    ck_assert_msg(oc_streq(finding_arg(f, "near"), rows[_i].near), "%s: %s",
                  rows[_i].line, finding_arg(f, "near"));
  bench_clear(&b);
}
END_TEST

START_TEST(names_types_and_original_names_mark)
{
  struct bench b;

  graph(&b);
  ck_assert_int_eq(bench_keep(&b, "/head/Gemm\nOpType::Conv2D\n/b0/conv/Conv\nimages\n"),
                   0);
  ck_assert_uint_eq(b.findings.n, 0);
  ck_assert(oc_graph_find(b.g, "PartitionedCall_/head/Gemm_add_3")->keep);
  ck_assert(oc_graph_find(b.g, "/b0/conv/Conv")->keep);
  ck_assert_uint_eq(oc_graph_find(b.g, "/b0/conv/Conv")->keep_entry, 2);
  ck_assert(oc_graph_find(b.g, "images")->keep);
  ck_assert(!oc_graph_find(b.g, "/b0/act/Relu")->keep);
  ck_assert_uint_eq(b.marks->hits[2], 1);
  ck_assert_uint_eq(b.marks->n_not_found, 0);
  bench_clear(&b);
}
END_TEST

static const struct {
  const char *line;
  const char *fix;
} refused[] = {
  { "OpType::relu", "write OpType::Relu" },
  { "OpType:: Relu", "write OpType::Relu" },
  { "OpType::", "'omcc ops MODEL' prints the types of this model's ops" },
  { "OpType::So_ftmax", "'omcc ops MODEL' prints the types of this model's ops" },
  { "OpType::Relu # loud", "write 'OpType::Relu'" },
  { "OpType::Relu,/b0/conv/Conv", "write 'OpType::Relu', '/b0/conv/Conv'" },
};

START_TEST(a_type_that_cannot_be_one_stops)
{
  struct bench b;

  graph(&b);
  ck_assert_int_eq(
      bench_keep(&b, oc_arena_printf(&b.arena, "%s\n/b0/act/Relu\n", refused[_i].line)),
      OC_E_FORMAT);
  ck_assert_int_eq(b.findings.items[0].id, OC_FINDING_KEEP_BAD_TYPE);
  ck_assert_str_eq(oc_finding_info(b.findings.items[0].id)->vendor_code, "E10003");
  ck_assert_str_eq(finding_arg(&b.findings.items[0], "fix"), refused[_i].fix);
  /* what is right is marked all the same */
  ck_assert(oc_graph_find(b.g, "/b0/act/Relu")->keep);
  bench_clear(&b);
}
END_TEST

START_TEST(a_comment_that_is_a_name_counts)
{
  struct bench b;

  graph(&b);
  bench_unary(&b, "#7", "Relu", oc_graph_find(b.g, "/b0/act/Relu"));
  ck_assert_int_eq(bench_keep(&b, "#7\n# other\n"), 0);
  ck_assert(oc_graph_find(b.g, "#7")->keep);
  ck_assert(b.marks->is_name[0]);
  ck_assert(!b.marks->is_name[1]);
  ck_assert_uint_eq(b.marks->n_not_found, 0);
  bench_clear(&b);
}
END_TEST

START_TEST(many_dead_lines_are_counted)
{
  struct bench b;
  struct oc_buf text;

  graph(&b);
  oc_buf_init(&text, 1u << 20);
  for (unsigned i = 0; i < 1000; i++)
    oc_buf_printf(&text, "zzzzzzzzzzzzzzzz%u\n", i);
  ck_assert_int_eq(bench_keep(&b, oc_buf_str(&text)), 0);
  ck_assert_uint_eq(b.marks->n_not_found, 1000);
  ck_assert_uint_eq(b.findings.n, 101);
  ck_assert_int_eq(b.findings.items[100].id, OC_FINDING_FINDINGS_CAPPED);
  ck_assert_str_eq(finding_arg(&b.findings.items[100], "n"), "900");
  oc_buf_clear(&text);
  bench_clear(&b);
}
END_TEST

TCase *mark_cases(void)
{
  TCase *c = tcase_create("mark");

  tcase_add_loop_test(c, dead_lines_have_a_cause, 0, (int)OC_COUNT(rows));
  tcase_add_test(c, names_types_and_original_names_mark);
  tcase_add_loop_test(c, a_type_that_cannot_be_one_stops, 0, (int)OC_COUNT(refused));
  tcase_add_test(c, a_comment_that_is_a_name_counts);
  tcase_add_test(c, many_dead_lines_are_counted);
  return c;
}
