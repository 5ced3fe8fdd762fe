/* What became of list entries, and whether cited lines are causes. */
#include <string.h>

#include "support.h"

/* in -> Square -> Add(Square, in) -> Sqrt; all gray or white on 910B. */
struct net {
  struct oc_op *square, *add, *sqrt;
};

static struct net build(struct bench *b, const char *mode)
{
  struct net n;

  bench_init(b, "Ascend910B1", NULL, mode);
  struct oc_op *in = bench_data(b, "in", OC_DT_F32);
  n.square = bench_unary(b, "sq", "Square", in);
  n.add = bench_binary(b, "add", "Add", n.square, in);
  n.sqrt = bench_unary(b, "root", "Sqrt", n.add);
  bench_output(b, n.sqrt);
  return n;
}

static enum oc_entry_state state(const struct bench *b, uint32_t entry)
{
  for (size_t i = 0; i < b->result->n_entries; i++)
    if (b->result->entries[i].entry == entry)
      return b->result->entries[i].state;
  ck_abort_msg("no entry %u", entry);
  return OC_ENTRY_USED;
}

START_TEST(states_of_keep_lines)
{
  struct bench b;

  build(&b, "fp16");
  bench_keep(&b, "sq\nOpType::Square\nnone_of_it\nin\nOpType::Sqrt\n");
  bench_custom(&b, "root:InputDtype:float32,OutputDtype:float32\n");
  bench_resolve(&b);
  ck_assert_int_eq(state(&b, 1), OC_ENTRY_USED);
  ck_assert_int_eq(b.result->entries[1].state, OC_ENTRY_SHADOWED);
  ck_assert_int_eq(b.result->entries[2].state, OC_ENTRY_UNMATCHED);
  ck_assert_int_eq(b.result->entries[3].state, OC_ENTRY_NO_EFFECT);
  ck_assert_int_eq(b.result->entries[4].state, OC_ENTRY_SHADOWED);
  ck_assert_ptr_nonnull(bench_finding(&b, OC_FINDING_KEEP_SHADOWED));
  ck_assert_ptr_nonnull(bench_finding(&b, OC_FINDING_KEEP_NO_EFFECT));
  ck_assert_ptr_nonnull(bench_finding(&b, OC_FINDING_KEEP_BY_CUSTOMIZE));
  ck_assert_int_eq(b.result->entries[5].state, OC_ENTRY_USED);
  bench_clear(&b);
}
END_TEST

START_TEST(a_line_that_changes_nothing_is_redundant)
{
  struct bench b;

  bench_init(&b, "Ascend910B1", "allow_fp32_to_fp16", NULL);
  struct oc_op *relu = bench_unary(&b, "r", "Relu", bench_data(&b, "in", OC_DT_F32));
  bench_output(&b, relu);
  bench_keep(&b, "r\n");
  bench_resolve(&b);
  ck_assert_int_eq(state(&b, 1), OC_ENTRY_REDUNDANT);
  ck_assert_int_eq(bench_finding(&b, OC_FINDING_KEEP_REDUNDANT)->severity, OC_SEV_NOTE);
  ck_assert_str_eq(oc_rule_name(bench_result(&b, relu)->reason.rule), "keep-same");
  ck_assert_uint_eq(bench_result(&b, relu)->reason.entry, 1);
  bench_clear(&b);
}
END_TEST

/* Dtypes of the three ops with a list. */
static void dtypes(const char *mode, const char *list, enum oc_dtype ret[3],
                   uint32_t cites[3])
{
  struct bench b;
  struct net n = build(&b, mode);
  const struct oc_op *ops[] = { n.square, n.add, n.sqrt };

  bench_keep(&b, list);
  bench_resolve(&b);
  for (unsigned i = 0; i < 3; i++) {
    const struct oc_reason *r = &bench_result(&b, ops[i])->reason;
    ret[i] = out_dtype(ops[i]);
    /* "the same without the line" is no claim that the line is the cause */
    bool same = r->rule == OC_RULE_KEEP_SAME;
    cites[i] = oc_streq(r->flag, "keep_dtype") && !same ? r->entry : 0;
  }
  bench_clear(&b);
}

static const char *const modes[] = { "fp16", "mixed_float16", "origin",
                                     "cube_fp16in_fp32out" };
static const char *const lists[] = { "sq\nroot\n", "add\n", "OpType::Sqrt\nadd\n",
                                     "sq\nadd\nroot\n" };

START_TEST(a_cited_line_is_a_cause)
{
  const char *mode = modes[_i % 4], *list = lists[_i / 4];
  enum oc_dtype with[3], without[3];
  uint32_t cites[3], other[3];

  dtypes(mode, list, with, cites);
  uint32_t n_lines = 0;
  for (const char *p = list; *p; p++)
    n_lines += *p == '\n';
  for (uint32_t drop = 1; drop <= n_lines; drop++) {
    char text[100] = "";
    uint32_t line = 1;
    size_t at = 0;
    for (const char *p = list; *p; p++) {
      if (line != drop)
        text[at++] = *p;
      line += *p == '\n';
    }
    text[at] = 0;
    dtypes(mode, text, without, other);
    for (unsigned i = 0; i < 3; i++)
      ck_assert_msg((with[i] != without[i]) == (cites[i] == drop),
                    "mode %s, op %u, without line %u of '%s'", mode, i, drop, list);
  }
}
END_TEST

START_TEST(followers_cite_the_line_too)
{
  struct bench b;
  struct net n = build(&b, "mixed_float16");

  bench_mix(&b, "{\"black-list\":{\"to-add\":[\"Square\"]},\"white-list\":{\"to-add\":["
                "\"Sqrt\"]}}");
  bench_resolve(&b);
  ck_assert_int_eq(out_dtype(n.square), OC_DT_F32);
  ck_assert_int_eq(out_dtype(n.add), OC_DT_F32);
  ck_assert_int_eq(out_dtype(n.sqrt), OC_DT_F16);
  ck_assert_str_eq(oc_rule_name(bench_result(&b, n.add)->reason.rule), "gray");
  ck_assert_str_eq(bench_result(&b, n.add)->reason.subject, "sq");
  ck_assert_str_eq(bench_result(&b, n.sqrt)->reason.flag, "modify_mixlist");
  ck_assert_str_eq(oc_rule_name(bench_result(&b, n.sqrt)->reason.rule), "mixlist");
  bench_clear(&b);
}
END_TEST

START_TEST(origin_makes_the_list_void)
{
  struct bench b;

  build(&b, "origin");
  bench_keep(&b, "sq\n");
  bench_resolve(&b);
  ck_assert(b.result->resolved);
  ck_assert_int_eq(state(&b, 1), OC_ENTRY_VOID);
  ck_assert_ptr_nonnull(bench_finding(&b, OC_FINDING_KEEP_VOID));
  ck_assert_ptr_null(bench_finding(&b, OC_FINDING_KEEP_VOID_DIFFERS));
  bench_clear(&b);
}
END_TEST

START_TEST(mixlist_entries_that_do_nothing)
{
  struct bench b;

  build(&b, "mixed_float16");
  bench_mix(
      &b,
      "{\"gray-list\":{\"to-add\":[\"Add\"]},\"black-list\":{\"to-remove\":[\"Square\"],"
      "\"to-add\":[\"Sofmax\",\"Sin\",\"Sqrtt\"]}}");
  bench_resolve(&b);
  ck_assert_ptr_nonnull(bench_finding(&b, OC_FINDING_MIXLIST_NO_EFFECT));
  ck_assert_ptr_nonnull(bench_finding(&b, OC_FINDING_MIXLIST_UNKNOWN_TYPE));
  ck_assert_ptr_nonnull(bench_finding(&b, OC_FINDING_MIXLIST_UNMATCHED));
  ck_assert_str_eq(
      finding_arg(bench_finding(&b, OC_FINDING_MIXLIST_UNKNOWN_NEAR), "near"), "Sqrt");
  bench_clear(&b);
}
END_TEST

START_TEST(customize_entries)
{
  struct bench b;
  struct net n = build(&b, "fp16");

  bench_custom(&b, "sq:InputDtype:int64,OutputDtype:int64\nrooot:InputDtype:"
                   "float32\nOpType::Sqrt:InputDtype:float16\n"
                   "something_quite_different:InputDtype:float16\n");
  bench_resolve(&b);
  ck_assert_int_eq(bench_finding(&b, OC_FINDING_CUSTOMIZE_UNMATCHED_NEAR)->entry, 2);
  ck_assert_str_eq(
      finding_arg(bench_finding(&b, OC_FINDING_CUSTOMIZE_UNMATCHED_NEAR), "near"),
      "root:InputDtype:float32");
  ck_assert_int_eq(state(&b, 3), OC_ENTRY_REDUNDANT);
  ck_assert_int_eq(bench_finding(&b, OC_FINDING_CUSTOMIZE_REDUNDANT)->entry, 3);
  ck_assert_int_eq(bench_finding(&b, OC_FINDING_CUSTOMIZE_UNMATCHED)->entry, 4);
  if (n.square->engine != OC_ENGINE_AICORE)
    ck_assert_ptr_nonnull(bench_finding(&b, OC_FINDING_CUSTOMIZE_IMPOSSIBLE));
  bench_clear(&b);
}
END_TEST

START_TEST(a_type_whose_ops_have_lines_is_shadowed)
{
  struct bench b;

  build(&b, "fp16");
  bench_custom(&b, "OpType::Sqrt:InputDtype:float32\nroot:InputDtype:float16\n"
                   "root:InputDtype:float32\n");
  bench_resolve(&b);
  const struct oc_finding *f = bench_finding(&b, OC_FINDING_CUSTOMIZE_SHADOWED);
  ck_assert_ptr_nonnull(f);
  ck_assert_int_eq(f->entry, 1);
  ck_assert_str_eq(f->subject, "OpType::Sqrt:InputDtype:float32");
  /* the second line for one name has a finding of its own, and this is not it */
  ck_assert_int_eq(state(&b, 3), OC_ENTRY_SHADOWED);
  for (size_t i = 0; i < b.findings.n; i++)
    ck_assert(b.findings.items[i].id != OC_FINDING_CUSTOMIZE_SHADOWED ||
              b.findings.items[i].entry == 1);
  bench_clear(&b);
}
END_TEST

START_TEST(an_entry_without_dtypes_stops)
{
  struct bench b;

  build(&b, "fp16");
  bench_custom(&b, "sq:InputDtype:\n");
  bench_resolve(&b);
  ck_assert(!b.result->resolved);
  ck_assert_uint_eq(b.result->n_judge_failed, 1);
  ck_assert_ptr_nonnull(bench_finding(&b, OC_FINDING_CUSTOMIZE_NOTHING));
  bench_clear(&b);
}
END_TEST

START_TEST(marks_are_clear_behind_a_run)
{
  struct bench b;

  build(&b, "fp16");
  bench_resolve(&b);
  for (uint32_t i = 0; i < b.g->n_ops; i++)
    ck_assert_uint_eq(b.g->ops[i]->mark, 0);
  bench_clear(&b);
}
END_TEST

TCase *state_cases(void)
{
  TCase *c = tcase_create("states");

  tcase_add_test(c, states_of_keep_lines);
  tcase_add_test(c, a_line_that_changes_nothing_is_redundant);
  tcase_add_loop_test(c, a_cited_line_is_a_cause, 0, 16);
  tcase_add_test(c, followers_cite_the_line_too);
  tcase_add_test(c, origin_makes_the_list_void);
  tcase_add_test(c, mixlist_entries_that_do_nothing);
  tcase_add_test(c, customize_entries);
  tcase_add_test(c, a_type_whose_ops_have_lines_is_shadowed);
  tcase_add_test(c, an_entry_without_dtypes_stops);
  tcase_add_test(c, marks_are_clear_behind_a_run);
  return c;
}
