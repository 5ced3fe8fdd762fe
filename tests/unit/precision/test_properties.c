/* Properties of resolution on random graphs of real operators over the shipped tables:
 * bounded and seeded, so that a failure can be had again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

#define N_OPS  24u
#define TRIALS 40

static const char *const unary[] = { "Relu",    "Sqrt", "Exp", "Abs",   "Square",
                                     "Sigmoid", "Tanh", "Neg", "Floor", "Sign" };
static const char *const binary[] = { "Add", "Mul", "Sub", "Maximum", "RealDiv" };
static const char *const modes[] = { "fp16", "origin", "mixed_float16", "mixed_bfloat16",
                                     "cube_fp16in_fp32out" };
static const char *const socs[] = { "Ascend910B1", "Ascend310P3" };

static uint32_t next_random(uint64_t *s)
{
  *s = *s * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*s >> 33);
}

/* What decided the shape of one trial. */
struct trial {
  uint64_t seed;
  const char *soc, *mode;
  char keep[2048];
};

static struct trial trial_of(int i)
{
  struct trial t = { .seed = 1000u + (unsigned)i };
  uint64_t s = t.seed;

  t.soc = socs[next_random(&s) % OC_COUNT(socs)];
  do
    t.mode = modes[next_random(&s) % OC_COUNT(modes)];
  while (oc_streq(t.mode, "mixed_bfloat16") && oc_streq(t.soc, "Ascend310P3"));
  for (unsigned k = 0; k < 1 + next_random(&s) % 5; k++) {
    char line[64];
    if (next_random(&s) % 3)
      snprintf(line, sizeof line, "op%u\n", next_random(&s) % N_OPS);
    else
      snprintf(line, sizeof line, "OpType::%s\n",
               unary[next_random(&s) % OC_COUNT(unary)]);
    strncat(t.keep, line, sizeof t.keep - strlen(t.keep) - 1);
  }
  return t;
}

static void build(struct bench *b, const struct trial *t)
{
  uint64_t s = t->seed * 77;
  struct oc_op *made[N_OPS + 2];
  unsigned n = 0;

  bench_init(b, t->soc, NULL, t->mode);
  made[n++] = bench_data(b, "in0", OC_DT_F32);
  made[n++] = bench_data(b, "in1", next_random(&s) % 2 ? OC_DT_F16 : OC_DT_F32);
  for (unsigned i = 0; i < N_OPS; i++) {
    const char *name = oc_arena_printf(&b->arena, "op%u", i);
    struct oc_op *p = made[next_random(&s) % n];
    if (next_random(&s) % 3) {
      made[n++] = bench_unary(b, name, unary[next_random(&s) % OC_COUNT(unary)], p);
    } else {
      struct oc_op *q = p;
      for (unsigned k = 0; k < n; k++)
        if (made[k]->outputs[0].t.dtype == p->outputs[0].t.dtype && next_random(&s) % 2)
          q = made[k];
      made[n++] = bench_binary(b, name, binary[next_random(&s) % OC_COUNT(binary)], p, q);
    }
  }
  bench_output(b, made[n - 1]);
}

/* Dtypes and engines of every op by name, as bytes. */
struct picture {
  char name[16];
  uint8_t engine, in0, in1, out;
  bool keep;
  uint32_t entry, also;
  char flag;
};

static unsigned picture_of(const struct bench *b, struct picture *ret)
{
  unsigned n = 0;

  for (size_t i = 0; i < b->result->n_ops; i++) {
    const struct oc_op_result *r = &b->result->ops[i];
    if (!oc_starts_with(r->op->name, "op"))
      continue;
    struct picture *p = &ret[n++];
    memset(p, 0, sizeof *p);
    snprintf(p->name, sizeof p->name, "%s", r->op->name);
    p->engine = (uint8_t)r->op->engine;
    p->in0 = (uint8_t)r->op->inputs[0].t.got;
    p->in1 = (uint8_t)r->op->inputs[r->op->n_inputs - 1].t.got;
    p->out = (uint8_t)r->op->outputs[0].t.got;
    p->keep = r->op->keep;
    /* "the same without the line" is no claim that the line is the cause */
    if (!r->reason.flag || r->reason.rule == OC_RULE_KEEP_SAME)
      continue;
    p->entry = r->reason.entry;
    p->also = r->reason.also;
    p->flag = r->reason.flag[0];
  }
  return n;
}

static bool same_result(const struct picture *a, const struct picture *b)
{
  return a->engine == b->engine && a->in0 == b->in0 && a->in1 == b->in1 &&
         a->out == b->out;
}

static unsigned run(const struct trial *t, const char *keep, struct picture *ret)
{
  struct bench b;

  build(&b, t);
  if (keep && *keep)
    ck_assert_int_eq(bench_keep(&b, keep), 0);
  bench_resolve(&b);
  unsigned n = picture_of(&b, ret);
  bench_clear(&b);
  return n;
}

/* The text without its line number `skip` (from 1). */
static void without_line(const char *text, unsigned skip, char *ret)
{
  unsigned line = 1;

  *ret = '\0';
  while (*text) {
    size_t len = strcspn(text, "\n") + 1;
    if (line++ != skip)
      strncat(ret, text, len);
    text += len;
  }
}

static unsigned count_lines(const char *text)
{
  unsigned n = 0;

  for (; *text; text++)
    n += *text == '\n';
  return n;
}

/* Deleting the line that a reason cites changes exactly the ops that cite it. */
START_TEST(cited_lines_are_causes)
{
  struct trial t = trial_of(_i);
  struct picture with[N_OPS], without[N_OPS];
  unsigned n = run(&t, t.keep, with);

  ck_assert_uint_eq(n, N_OPS);
  for (unsigned line = 1; line <= count_lines(t.keep); line++) {
    char less[sizeof t.keep];
    without_line(t.keep, line, less);
    run(&t, less, without);
    for (unsigned i = 0; i < n; i++) {
      bool cites = with[i].flag == 'k' && with[i].entry == line;
      if (with[i].also && (cites || with[i].also == line))
        continue; /* only both lines together are the cause */
      ck_assert_msg(cites == !same_result(&with[i], &without[i]),
                    "seed %llu %s %s line %u: %s %s it but %s",
                    (unsigned long long)t.seed, t.soc, t.mode, line, with[i].name,
                    cites ? "cites" : "does not cite",
                    cites ? "does not change" : "changes");
    }
  }
}
END_TEST

/* One list of the other two kinds with entry `skip` left out (from 1; 0: none). */
static void other_list(struct bench *b, const struct trial *t, bool mix, unsigned n,
                       unsigned skip)
{
  uint64_t s = t->seed * 31;
  char text[2048] = "";

  for (unsigned k = 1; k <= n; k++) {
    const char *type = unary[(next_random(&s) + k) % OC_COUNT(unary)];
    unsigned op = ((unsigned)t->seed + 7 * k) % N_OPS; /* no op twice */
    char line[128];

    if (mix)
      snprintf(line, sizeof line, "%s\"%s\"", *text ? ", " : "", unary[k - 1]);
    else if (k == 1)
      snprintf(line, sizeof line, "OpType::%s:InputDtype:float32,OutputDtype:float32\n",
               type);
    else
      snprintf(line, sizeof line, "op%u:OutputDtype:%s\n", op,
               op % 2 ? "float32" : "float16");
    if (k != skip)
      strncat(text, line, sizeof text - strlen(text) - 1);
  }
  if (mix)
    bench_mix(b,
              oc_arena_printf(&b->arena, "{\"black-list\": {\"to-add\": [%s]}}", text));
  else
    bench_custom(b, oc_arena_strdup(&b->arena, text)); /* the list points into it */
}

static void run_other(const struct trial *t, bool mix, unsigned n, unsigned skip,
                      struct picture *ret)
{
  struct bench b;

  build(&b, t);
  other_list(&b, t, mix, n, skip);
  bench_resolve(&b);
  picture_of(&b, ret);
  bench_clear(&b);
}

/* The same for customize_dtypes (even numbers) and modify_mixlist (odd ones): what cites
 * an entry changes without it, what cites no entry at all never changes. */
START_TEST(cited_entries_of_other_lists_are_causes)
{
  struct trial t = trial_of(_i / 2);
  bool mix = _i % 2;
  struct picture with[N_OPS], without[N_OPS];
  unsigned n = 4;

  if (mix)
    t.mode = "mixed_float16";
  run_other(&t, mix, n, 0, with);
  for (unsigned entry = 1; entry <= n; entry++) {
    run_other(&t, mix, n, entry, without);
    for (unsigned i = 0; i < N_OPS; i++) {
      bool changes = !same_result(&with[i], &without[i]);
      bool cites = with[i].flag == (mix ? 'm' : 'c') && with[i].entry == entry;
      ck_assert_msg(cites ? changes : !changes || with[i].flag,
                    "seed %llu %s %s entry %u: %s %s it but %s",
                    (unsigned long long)t.seed, t.soc, t.mode, entry, with[i].name,
                    cites ? "cites" : "does not cite",
                    changes ? "changes" : "does not change");
    }
  }
}
END_TEST

/* Order and repetition of lines mean nothing to marks and results. */
START_TEST(order_and_repetition_mean_nothing)
{
  struct trial t = trial_of(_i);
  struct picture a[N_OPS], b[N_OPS];
  char turned[2 * sizeof t.keep] = "";

  for (unsigned line = count_lines(t.keep); line > 0; line--) {
    const char *p = t.keep;
    for (unsigned k = 1; k < line; k++)
      p += strcspn(p, "\n") + 1;
    strncat(turned, p, strcspn(p, "\n") + 1);
    strncat(turned, p, strcspn(p, "\n") + 1);
  }
  run(&t, t.keep, a);
  run(&t, turned, b);
  for (unsigned i = 0; i < N_OPS; i++)
    ck_assert_msg(a[i].keep == b[i].keep && same_result(&a[i], &b[i]), "seed %llu: %s",
                  (unsigned long long)t.seed, a[i].name);
}
END_TEST

/* A well-formed line that names nothing changes findings only. */
START_TEST(lines_without_a_match_change_nothing)
{
  struct trial t = trial_of(_i);
  struct picture a[N_OPS], b[N_OPS];
  char more[2 * sizeof t.keep];

  snprintf(more, sizeof more, "%snobody\nOpType::Nothing\n", t.keep);
  run(&t, t.keep, a);
  run(&t, more, b);
  for (unsigned i = 0; i < N_OPS; i++)
    ck_assert(same_result(&a[i], &b[i]) && a[i].entry == b[i].entry);
}
END_TEST

/* What an op on the AI Core got is one column of its table. */
START_TEST(results_are_columns)
{
  struct trial t = trial_of(_i);
  struct bench b;

  build(&b, &t);
  ck_assert_int_eq(bench_keep(&b, t.keep), 0);
  b.options.no_casts = true;
  bench_resolve(&b);
  for (size_t i = 0; i < b.result->n_ops; i++) {
    const struct oc_op *op = b.result->ops[i].op;
    const struct oc_table_op *row = oc_table_find(b.options.table, op->type);
    if ((op->engine != OC_ENGINE_AICORE && op->engine != OC_ENGINE_FRAMEWORK) || !row)
      continue;
    const struct oc_table_variant *v = oc_table_variant_for(row, OC_LAYOUT_NCHW4D);
    ck_assert_int_ge(op->column, 0);
    uint32_t n = v->n_columns, k = (uint32_t)op->column;
    ck_assert_uint_lt(k, n);
    for (uint32_t x = 0; x < op->n_inputs; x++)
      ck_assert_int_eq(op->inputs[x].t.got, v->dtypes[x * n + k]);
    ck_assert_int_eq(op->outputs[0].t.got, v->dtypes[row->n_inputs * n + k]);
  }
  bench_clear(&b);
}
END_TEST

/* In mode origin the list is void: every op whose result it changes is named. */
START_TEST(origin_names_every_difference)
{
  struct trial t = trial_of(_i);
  struct picture a[N_OPS], b[N_OPS];
  struct bench with;

  t.mode = "origin";
  run(&t, "", a);
  build(&with, &t);
  ck_assert_int_eq(bench_keep(&with, t.keep), 0);
  bench_resolve(&with);
  picture_of(&with, b);
  for (unsigned i = 0; i < N_OPS; i++) {
    bool named = false;
    for (size_t f = 0; f < with.findings.n; f++)
      named = named || (with.findings.items[f].id == OC_FINDING_KEEP_VOID_DIFFERS &&
                        oc_streq(with.findings.items[f].subject, b[i].name));
    ck_assert_msg(same_result(&a[i], &b[i]) || named, "seed %llu: %s",
                  (unsigned long long)t.seed, b[i].name);
  }
  bench_clear(&with);
}
END_TEST

/* A kept op is never lowered (there are no promotion groups among these types). */
START_TEST(kept_ops_are_not_lowered)
{
  struct trial t = trial_of(_i);
  struct bench b;

  build(&b, &t);
  ck_assert_int_eq(bench_keep(&b, t.keep), 0);
  bench_resolve(&b);
  for (size_t i = 0; i < b.result->n_ops; i++) {
    const struct oc_op *op = b.result->ops[i].op;
    if (!op->keep || op->engine != OC_ENGINE_AICORE)
      continue;
    /* an input may be lowered only after another one fixed the column */
    bool all_float32 = true;
    for (uint32_t k = 0; k < op->n_inputs; k++)
      all_float32 = all_float32 && op->inputs[k].t.dtype == OC_DT_F32;
    if (op->inputs[0].t.dtype == OC_DT_F32)
      ck_assert_int_eq(op->inputs[0].t.got, OC_DT_F32);
    for (uint32_t k = 0; all_float32 && k < op->n_inputs; k++)
      ck_assert_int_eq(op->inputs[k].t.got, OC_DT_F32);
    if (all_float32)
      ck_assert_int_eq(op->outputs[0].t.got, OC_DT_F32);
  }
  bench_clear(&b);
}
END_TEST

/* A full customize entry is obeyed, or the op leaves the AI Core. */
START_TEST(a_full_customize_entry_is_obeyed)
{
  static const char *const words[] = { "float32", "float16", "int8", "double" };
  static const enum oc_dtype dtypes[] = { OC_DT_F32, OC_DT_F16, OC_DT_I8, OC_DT_F64 };
  struct trial t = trial_of(_i);
  struct bench b;
  char line[128];
  unsigned word = (unsigned)_i % 4, which = (unsigned)_i % N_OPS;

  build(&b, &t);
  const struct oc_op *op = oc_graph_find(b.g, oc_arena_printf(&b.arena, "op%u", which));
  snprintf(line, sizeof line, "%s:InputDtype:%s%s%s,OutputDtype:%s\n", op->name,
           words[word], op->n_inputs > 1 ? "," : "", op->n_inputs > 1 ? words[word] : "",
           words[word]);
  bench_custom(&b, line);
  bench_resolve(&b);
  if (op->engine == OC_ENGINE_AICORE) {
    ck_assert_int_eq(op->outputs[0].t.got, dtypes[word]);
    for (uint32_t i = 0; i < op->n_inputs; i++)
      ck_assert_int_eq(op->inputs[i].t.got, dtypes[word]);
  }
  bench_clear(&b);
}
END_TEST

TCase *property_cases(void)
{
  TCase *c = tcase_create("properties");

  tcase_add_loop_test(c, cited_lines_are_causes, 0, TRIALS);
  tcase_add_loop_test(c, cited_entries_of_other_lists_are_causes, 0, 2 * TRIALS);
  tcase_add_loop_test(c, order_and_repetition_mean_nothing, 0, TRIALS);
  tcase_add_loop_test(c, lines_without_a_match_change_nothing, 0, TRIALS);
  tcase_add_loop_test(c, results_are_columns, 0, TRIALS);
  tcase_add_loop_test(c, origin_names_every_difference, 0, TRIALS);
  tcase_add_loop_test(c, kept_ops_are_not_lowered, 0, TRIALS);
  tcase_add_loop_test(c, a_full_customize_entry_is_obeyed, 0, TRIALS);
  return c;
}
