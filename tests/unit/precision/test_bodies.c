/* Branches: what goes into a body and comes out of it, and ops that two lines name. */
#include "support.h"

struct branch {
  struct oc_graph *g;
  struct oc_op *data, *op, *end;
};

/* A body of one op of type `type` behind a Data that stands for the owner's input 1. */
static struct branch body(struct bench *b, struct oc_op *owner, unsigned i,
                          const char *name, const char *type)
{
  struct oc_graph *root = b->g;
  struct branch r;

  r.g = b->g = oc_graph_new(&b->arena, name);
  r.g->parent = root;
  r.g->parent_op = owner;
  r.data = bench_data(b, oc_arena_printf(&b->arena, "%s/x", name), OC_DT_F32);
  ck_assert_int_eq(oc_attr_set_int(r.g, r.data, "_parent_node_index", 1), 0);
  r.op = bench_unary(b, oc_arena_printf(&b->arena, "%s/op", name), type, r.data);
  r.end = bench_output(b, r.op);
  owner->subgraphs[i] = (struct oc_subgraph){ name, r.g };
  b->g = root;
  return r;
}

static struct oc_op *choice(struct bench *b, struct oc_op *condition, struct oc_op *x)
{
  struct oc_op *owner = bench_binary(b, "choice", "If", condition, x);

  owner->inputs[0].t.dtype = condition->outputs[0].t.dtype;
  owner->inputs[1].t.dtype = owner->outputs[0].t.dtype = OC_DT_F32;
  owner->subgraphs = OC_NEW_N(&b->arena, struct oc_subgraph, 2);
  owner->n_subgraphs = 2;
  return owner;
}

START_TEST(bodies_follow_their_producers)
{
  struct bench b;

  bench_init(&b, "Ascend910B1", NULL, "fp16");
  struct oc_op *c = bench_data(&b, "c", OC_DT_BOOL), *x = bench_data(&b, "x", OC_DT_F32);
  struct oc_op *first = bench_unary(&b, "first", "Relu", x);
  struct oc_op *owner = choice(&b, c, first);
  struct branch yes = body(&b, owner, 0, "choice_0_then_branch", "Sqrt");
  struct branch no = body(&b, owner, 1, "choice_1_else_branch", "Exp");
  struct oc_op *last = bench_unary(&b, "last", "Relu", owner);
  bench_output(&b, last);
  bench_resolve(&b);
  ck_assert(b.result->resolved);
  ck_assert_int_eq(owner->inputs[1].t.got, OC_DT_F16);
  ck_assert_int_eq(yes.data->outputs[0].t.got, OC_DT_F16);
  ck_assert_int_eq(no.end->inputs[0].t.got, OC_DT_F16);
  ck_assert_int_eq(owner->outputs[0].t.got, OC_DT_F16);
  /* float32 at both ends of the model: nothing around or in the branches */
  ck_assert_uint_eq(b.result->casts_added, 2);
  ck_assert_str_eq(oc_rule_name(bench_result(&b, owner)->reason.rule), "follow");
  ck_assert_str_eq(oc_rule_name(bench_result(&b, yes.data)->reason.rule), "follow");
  ck_assert_str_eq(bench_result(&b, yes.data)->reason.subject, "first");
  bench_clear(&b);
}
END_TEST

START_TEST(a_kept_op_in_front_is_the_cause_inside)
{
  struct bench b;

  bench_init(&b, "Ascend910B1", NULL, "mixed_float16");
  struct oc_op *c = bench_data(&b, "c", OC_DT_BOOL), *x = bench_data(&b, "x", OC_DT_F32);
  struct oc_op *first = bench_unary(&b, "first", "Relu", x);
  struct oc_op *owner = choice(&b, c, first);
  struct branch yes = body(&b, owner, 0, "choice_0_then_branch", "Abs");
  body(&b, owner, 1, "choice_1_else_branch", "Abs");
  bench_output(&b, bench_unary(&b, "last", "Abs", owner));
  ck_assert_int_eq(bench_keep(&b, "first\n"), 0);
  bench_resolve(&b);
  ck_assert_int_eq(first->outputs[0].t.got, yes.data->outputs[0].t.got);
  if (bench_result(&b, first)->reason.rule == OC_RULE_KEEP) {
    ck_assert_uint_eq(bench_result(&b, yes.data)->reason.entry, 1);
    ck_assert_uint_eq(bench_result(&b, yes.op)->reason.entry, 1);
  }
  bench_clear(&b);
}
END_TEST

START_TEST(loop_ends_keep_their_dtypes)
{
  struct bench b;

  bench_init(&b, "Ascend910B1", NULL, "fp16");
  struct oc_op *c = bench_data(&b, "c", OC_DT_BOOL), *x = bench_data(&b, "x", OC_DT_F32);
  struct oc_op *owner = choice(&b, c, bench_unary(&b, "first", "Relu", x));
  owner->type = "While";
  struct branch round = body(&b, owner, 0, "while_body", "Sqrt");
  body(&b, owner, 1, "while_again", "Sqrt");
  ck_assert_int_eq(oc_attr_set_int(round.g, round.data, "_parent_node_index", -1), 0);
  bench_output(&b, owner);
  bench_resolve(&b);
  ck_assert_int_eq(round.data->outputs[0].t.got, OC_DT_F32);
  ck_assert_int_eq(round.end->inputs[0].t.got, OC_DT_F32);
  ck_assert_int_eq(owner->outputs[0].t.got, OC_DT_F32);
  bench_clear(&b);
}
END_TEST

/* Of two branches the last one counts, and that they disagree is said. */
START_TEST(branches_that_disagree_are_named)
{
  struct bench b;

  for (unsigned kept = 0; kept < 2; kept++) {
    bench_init(&b, "Ascend910B1", NULL, "fp16");
    struct oc_op *c = bench_data(&b, "c", OC_DT_BOOL);
    struct oc_op *owner = choice(&b, c, bench_data(&b, "x", OC_DT_F32));
    body(&b, owner, 0, "then", "Sqrt");
    body(&b, owner, 1, "else", "Exp");
    bench_output(&b, owner);
    ck_assert_int_eq(bench_keep(&b, kept ? "else/op\n" : "then/op\n"), 0);
    bench_resolve(&b);
    const struct oc_finding *f = bench_finding(&b, OC_FINDING_BRANCHES_DIFFER);
    ck_assert_msg(f != NULL, "%u", kept);
    ck_assert_str_eq(f->subject, "choice");
    ck_assert_str_eq(finding_arg(f, "first_op"), "then/op");
    ck_assert_str_eq(finding_arg(f, "first"), kept ? "float16" : "float32");
    ck_assert_str_eq(finding_arg(f, "last_op"), "else/op");
    ck_assert_str_eq(finding_arg(f, "last"), kept ? "float32" : "float16");
    ck_assert_str_eq(finding_arg(f, "lowered"), kept ? "'then/op'" : "'else/op'");
    ck_assert_int_eq(owner->outputs[0].t.got, kept ? OC_DT_F32 : OC_DT_F16);
    bench_clear(&b);
  }
  bench_init(&b, "Ascend910B1", NULL, "fp16");
  struct oc_op *owner =
      choice(&b, bench_data(&b, "c", OC_DT_BOOL), bench_data(&b, "x", OC_DT_F32));
  body(&b, owner, 0, "then", "Sqrt");
  body(&b, owner, 1, "else", "Exp");
  bench_output(&b, owner);
  bench_keep(&b, "then/op\nelse/op\n");
  bench_resolve(&b);
  ck_assert_ptr_null(bench_finding(&b, OC_FINDING_BRANCHES_DIFFER));
  bench_clear(&b);
}
END_TEST

START_TEST(two_lines_for_one_op)
{
  struct bench b;

  bench_init(&b, "Ascend910B1", NULL, "fp16");
  struct oc_op *op = bench_unary(&b, "r", "Sqrt", bench_data(&b, "in", OC_DT_F32));
  bench_output(&b, op);
  bench_keep(&b, "none\nOpType::Sqrt\nr\nr\n");
  bench_resolve(&b);
  const struct oc_reason *why = &bench_result(&b, op)->reason;
  ck_assert_str_eq(oc_rule_name(why->rule), "keep");
  ck_assert_uint_eq(why->entry, 2);
  ck_assert_uint_eq(why->also, 3);
  size_t n = 0;
  struct oc_finding_arg *args = oc_reason_args(why, &b.arena, &n);
  ck_assert_str_eq(args[n - 1].name, "also");
  ck_assert_str_eq(args[n - 1].value, "3");
  bench_clear(&b);
}
END_TEST

TCase *body_cases(void)
{
  TCase *c = tcase_create("bodies");

  tcase_add_test(c, bodies_follow_their_producers);
  tcase_add_test(c, a_kept_op_in_front_is_the_cause_inside);
  tcase_add_test(c, loop_ends_keep_their_dtypes);
  tcase_add_test(c, branches_that_disagree_are_named);
  tcase_add_test(c, two_lines_for_one_op);
  return c;
}
