/* Rows, chains, totals, differences and locks of the sample report. */
#include <string.h>

#include "base/dtype.h"
#include "suites.h"

static struct oc_arena arena;
static struct oc_buf out;
static struct oc_findings findings;

static void set_up(void)
{
  oc_arena_init(&arena, 0);
  oc_buf_init(&out, 1 << 20);
  oc_findings_init(&findings, &arena);
}

static void tear_down(void)
{
  oc_buf_clear(&out);
  oc_arena_clear(&arena);
}

static void has(const char *text)
{
  ck_assert_msg(strstr(oc_buf_str(&out), text) != NULL, "no '%s' in\n%s", text,
                oc_buf_str(&out));
}

static const struct {
  const char *filter;
  unsigned n; /* of five ops */
} filters[] = {
  { "Relu", 1 },       { "conv", 1 },          { "type=Conv2D", 1 },
  { "type=*", 5 },     { "engine=aicpu", 1 },  { "rule=mode", 1 },
  { "dtype=f16", 1 },  { "dtype=float32", 4 }, { "sure=exact", 5 },
  { "name=/b0/*", 2 }, { "nothing-like", 0 },
};

START_TEST(filter)
{
  const Omcc__V1__Report *r = sample_report(&arena);
  const Omcc__V1__Report *rows = oc_render_pick(r, filters[_i].filter, NULL, &arena);

  ck_assert(oc_render_filter_ok(filters[_i].filter));
  ck_assert_msg(rows->n_ops == filters[_i].n, "%s: %zu", filters[_i].filter, rows->n_ops);
  ck_assert_uint_eq(r->n_ops, 5);
}
END_TEST

START_TEST(bad_filter)
{
  ck_assert(!oc_render_filter_ok("colour=red"));
  ck_assert(oc_render_filter_ok("/a/b=c")); /* a name may hold the sign */
}
END_TEST

START_TEST(by_name)
{
  Omcc__V1__Report *r = (Omcc__V1__Report *)(uintptr_t)sample_report(&arena);
  char *origin[] = { (char *)"old" };

  r->ops[1]->origin_names = origin;
  r->ops[1]->n_origin_names = 1;
  ck_assert_ptr_eq(oc_render_op(r, "/b0/act/Relu"), r->ops[2]);
  ck_assert_ptr_eq(oc_render_op(r, "old"), r->ops[1]);
  ck_assert_ptr_null(oc_render_op(r, "/b0/act/Rel"));
  ck_assert_str_eq(oc_render_nearest_op(r, "/b0/act/Rel", &arena), "/b0/act/Relu");
}
END_TEST

START_TEST(totals)
{
  ck_assert_int_eq(oc_render_totals(sample_report(&arena), &out), 0);
  ck_assert_str_eq(oc_buf_str(&out), "by dtype: float32 2, float16 1\n"
                                     "by rule:  aicpu 1, keep 1, mode 1\n"
                                     "how sure: exact 3\n");
}
END_TEST

static void add_reason(Omcc__V1__Tensor *t, const char *rule, const char *value)
{
  Omcc__V1__Reason *m = OC_NEW(&arena, Omcc__V1__Reason);
  Omcc__V1__Reason **list = OC_NEW_N(&arena, Omcc__V1__Reason *, t->n_reasons + 1);

  omcc__v1__reason__init(m);
  m->rule = (char *)rule;
  if (value) {
    m->args = OC_NEW_N(&arena, Omcc__V1__Argument *, 1);
    m->args[0] = OC_NEW(&arena, Omcc__V1__Argument);
    omcc__v1__argument__init(m->args[0]);
    m->args[0]->name = (char *)"dtype";
    m->args[0]->value = (char *)value;
    m->n_args = 1;
  }
  for (size_t i = 0; i < t->n_reasons; i++)
    list[i] = t->reasons[i];
  list[t->n_reasons++] = m;
  t->reasons = list;
}

START_TEST(chain)
{
  const Omcc__V1__Report *r = sample_report(&arena);
  struct oc_style style = { .places = &sample_places };

  add_reason(r->ops[1]->inputs[0], "own-dtype", "float32");
  add_reason(r->ops[1]->inputs[0], "match", "float16");
  ck_assert_int_eq(oc_render_chain(r, r->ops[1], &style, &out), 0);
  has("/b0/conv/Conv: Conv2D, engine aicore, sure: exact\n");
  has("  input x: float32 in the model, wanted float16, gets float16\n"
      "    - the model's own dtype float32 is asked for\n"
      "    - the table offers float16\n");
  has("next: to keep the model's dtypes, add this line to the --keep_dtype list: "
      "/b0/conv/Conv\n");
  has("--customize_dtypes: /b0/conv/Conv::InputDtype:float32,OutputDtype:float32\n");
  ck_assert(strstr(oc_buf_str(&out), "keep_dtype list") <
            strstr(oc_buf_str(&out), "--customize_dtypes"));
}
END_TEST

/* What is not computed has no next step. */
START_TEST(chain_of_data)
{
  const Omcc__V1__Report *r = sample_report(&arena);
  struct oc_style style = { .width = 80 };

  ck_assert_int_eq(oc_render_chain(r, r->ops[0], &style, &out), 0);
  ck_assert_ptr_null(strstr(oc_buf_str(&out), "next:"));
}
END_TEST

START_TEST(names)
{
  ck_assert_int_eq(oc_render_names(sample_report(&arena), "Relu", &out), 0);
  ck_assert_str_eq(oc_buf_str(&out),
                   "/b0/act/Relu\n  type      Relu\n  keep      /b0/act/Relu\n"
                   "            OpType::Relu\n"
                   "  customize /b0/act/Relu::InputDtype:float32,OutputDtype:float32\n");
}
END_TEST

START_TEST(same_reports)
{
  struct oc_diff d;

  ck_assert_int_eq(
      oc_render_compare(sample_report(&arena), sample_report(&arena), &arena, &d), 0);
  ck_assert_uint_eq(d.n, 0);
  ck_assert_int_eq(oc_render_diff(&d, &out), 0);
  ck_assert_str_eq(oc_buf_str(&out), "no op differs\n");
}
END_TEST

START_TEST(different_reports)
{
  const Omcc__V1__Report *a = sample_report(&arena);
  Omcc__V1__Report *b = (Omcc__V1__Report *)(uintptr_t)sample_report(&arena);
  struct oc_diff d;

  b->ops[2]->outputs[0]->got = OC_DT_F16;
  b->ops[1]->name = (char *)"/b0/conv/Other";
  ck_assert_int_eq(oc_render_compare(a, b, &arena, &d), 0);
  ck_assert_uint_eq(d.n, 3);
  ck_assert_int_eq(oc_render_diff(&d, &out), 0);
  ck_assert_str_eq(oc_buf_str(&out), "Conv2D: 2 ops differ\n"
                                     "  /b0/conv/Conv: only in A (float16)\n"
                                     "  /b0/conv/Other: only in B (float16)\n"
                                     "Relu: 1 op differs\n"
                                     "  /b0/act/Relu\n"
                                     "    output y: float32 -> float16\n");
}
END_TEST

/* ---- locks */

static int check(const char *text, const Omcc__V1__Report *r)
{
  return oc_render_check_lock(text, strlen(text), "m.lock", r, &findings);
}

static bool found(enum oc_finding_id id, const char *subject)
{
  for (size_t i = 0; i < findings.n; i++)
    if (findings.items[i].id == id && !strcmp(findings.items[i].subject, subject))
      return true;
  return false;
}

START_TEST(lock_is_stable)
{
  Omcc__V1__Report *r = (Omcc__V1__Report *)(uintptr_t)sample_report(&arena);
  const char *text;

  ck_assert_int_eq(oc_render_lock(r, &out), 0);
  text = oc_arena_strdup(&arena, oc_buf_str(&out));
  has("\nop\t/b0/act/Relu\tRelu\taicore\tfloat32\tfloat32\n");
  has("\ndead\tkeep_dtype\tunmatched\t/b0/conv/Con\n");
  ck_assert_int_eq(check(text, r), 0);
  /* In another order. */
  Omcc__V1__Op *op = r->ops[1];
  r->ops[1] = r->ops[3];
  r->ops[3] = op;
  ck_assert_int_eq(check(text, r), 0);
  ck_assert_uint_eq(findings.n, 0);
  oc_buf_reset(&out);
  ck_assert_int_eq(oc_render_lock(r, &out), 0);
  ck_assert_str_eq(oc_buf_str(&out), text);
}
END_TEST

START_TEST(lock_differs)
{
  Omcc__V1__Report *r = (Omcc__V1__Report *)(uintptr_t)sample_report(&arena);
  const char *text;

  ck_assert_int_eq(oc_render_lock(r, &out), 0);
  text = oc_arena_strdup(&arena, oc_buf_str(&out));
  r->ops[2]->outputs[0]->got = OC_DT_F16;
  r->ops[1]->name = (char *)"a name\twith a tab";
  r->lists[0]->state = (char *)"redundant";
  ck_assert_int_eq(check(text, r), 0);
  ck_assert_uint_eq(findings.n, 4);
  ck_assert(found(OC_FINDING_LOCK_DTYPE, "/b0/act/Relu"));
  ck_assert(found(OC_FINDING_LOCK_OP_GONE, "/b0/conv/Conv"));
  ck_assert(found(OC_FINDING_LOCK_OP_NEW, "a name\\twith a tab"));
  ck_assert(found(OC_FINDING_LOCK_LIST_DEAD, "OpType::Relu"));
}
END_TEST

static const char *const bad_locks[] = {
  "",
  "# another file\n",
  "# omcc precision lock 1\nop\ttoo few\n",
  "# omcc precision lock 1\nwhat\tis\tthis\t?\n",
};

START_TEST(bad_lock)
{
  ck_assert_int_eq(check(bad_locks[_i], sample_report(&arena)), OC_E_FORMAT);
  ck_assert(found(OC_FINDING_LOCK_UNREADABLE, "m.lock"));
}
END_TEST

/* A thousand new ops are a hundred findings and a number. */
START_TEST(lock_caps)
{
  Omcc__V1__Report r = *sample_report(&arena);
  Omcc__V1__Op *ops[1000];

  for (size_t i = 0; i < 1000; i++) {
    ops[i] = OC_NEW(&arena, Omcc__V1__Op);
    *ops[i] = *r.ops[2];
    ops[i]->name = oc_arena_printf(&arena, "op%zu", i);
  }
  r.ops = ops;
  r.n_ops = 1000;
  r.n_lists = 0;
  ck_assert_int_eq(check("# omcc precision lock 1\n", &r), 0);
  ck_assert_uint_eq(findings.n, 101);
  ck_assert_int_eq((int)findings.items[100].id, OC_FINDING_FINDINGS_CAPPED);
}
END_TEST

START_TEST(chinese)
{
  struct oc_style style = { .width = 80, .zh = true };
  struct oc_finding *f = oc_finding_add(&findings, OC_FINDING_FLAG_UNKNOWN, "keep_dtpye",
                                        "hint", "--keep_dtype", NULL);

  ck_assert_int_eq(oc_render_finding(f, &style, &out), 0);
  ck_assert_str_eq(oc_buf_str(&out),
                   "error: '--keep_dtpye' 既不是 atc 的参数，也不是 omcc 的参数 "
                   "[flag-unknown]\n  fix: --keep_dtype\n");
}
END_TEST

TCase *explain_cases(void)
{
  TCase *c = tcase_create("explain");

  tcase_add_checked_fixture(c, set_up, tear_down);
  tcase_add_loop_test(c, filter, 0, sizeof(filters) / sizeof(filters[0]));
  tcase_add_test(c, bad_filter);
  tcase_add_test(c, by_name);
  tcase_add_test(c, totals);
  tcase_add_test(c, chain);
  tcase_add_test(c, chain_of_data);
  tcase_add_test(c, names);
  tcase_add_test(c, same_reports);
  tcase_add_test(c, different_reports);
  tcase_add_test(c, lock_is_stable);
  tcase_add_test(c, lock_differs);
  tcase_add_loop_test(c, bad_lock, 0, sizeof(bad_locks) / sizeof(bad_locks[0]));
  tcase_add_test(c, lock_caps);
  tcase_add_test(c, chinese);
  return c;
}
