/* The worker as the daemon meets it: plans, reports, builds, refusals, deaths. */
#include "play_daemon.h"

#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/dtype.h"
#include "base/str.h"

static const char *const relu_310p[] = { "soc_version", "Ascend310P3", "framework", "5",
                                         NULL };

/* Inputs, then Planned or Unplanned: returns the latter two. */
static Omcc__V1__FromWorker *plan(struct play *p, struct oc_channel *c,
                                  const struct play_order *order, struct oc_frame *frame)
{
  play_plan(c, order);
  Omcc__V1__FromWorker *m = play_hear(p, c, frame);
  ck_assert(m && m->body_case == OMCC__V1__FROM_WORKER__BODY_INPUTS);
  ck_assert(!m->inputs->wait);
  m = play_hear(p, c, frame);
  ck_assert(m != NULL);
  return m;
}

struct keep_case {
  const char *id;
  const char *model;
  const char *soc;
  const char *mode;
  const char *keep;
  const char *op;
  enum oc_dtype got;
  const char *engine;
  bool ok;
  const char *finding; /* one that must be there, NULL = do not care */
};

static const struct keep_case keep_cases[] = {
  { "default lowers", "relu", "Ascend310P3", "", "", "/op", OC_DT_F16, "aicore", true,
    NULL },
  { "kept by name", "relu", "Ascend310P3", "", "/op\n", "/op", OC_DT_F32, "aicore", true,
    NULL },
  { "kept by type", "relu", "Ascend310P3", "", "OpType::Relu\n", "/op", OC_DT_F32,
    "aicore", true, NULL },
  { "raised", "sign-bf16", "Ascend310P3", "origin", "", "/op", OC_DT_F32, "aicore", true,
    NULL },
  { "to AI CPU", "maxpool", "Ascend310P3", "", "/op\n", "/op", OC_DT_F32, "aicpu", true,
    "aicpu-fallback" },
  { "nobody", "conv", "Ascend310P3", "", "OpType::Conv2D\n", "/op", OC_DT_F32, "none",
    false, "no-engine" },
  { "kept on 910B", "conv", "Ascend910B1", "", "OpType::Conv2D\n", "/op", OC_DT_F32,
    "aicore", true, NULL },
  { "IR type", "softmax", "Ascend910B1", "", "OpType::SoftmaxV2\n", "/op", OC_DT_F32,
    "aicore", true, NULL },
  { "framework type", "softmax", "Ascend910B1", "", "OpType::Softmax\n", "/op", OC_DT_F16,
    "aicore", true, "keep-framework-type" },
  { "void", "relu", "Ascend910B1", "origin", "/op\n", "/op", OC_DT_F32, "aicore", true,
    "keep-void" },
};

START_TEST(keep_dtype_decides)
{
  const struct keep_case *k = &keep_cases[_i];
  const char *flags[] = { "soc_version",       k->soc,  "framework", "5",
                          "precision_mode_v2", k->mode, NULL };
  struct play_order order = { flags, play_model(k->model), play_text(k->keep), "builtin",
                              true };
  struct oc_frame frame;
  struct play p;

  play_start(&p);
  struct oc_channel *c = play_child(&p, NULL);
  Omcc__V1__FromWorker *m = plan(&p, c, &order, &frame);
  ck_assert_msg(m->body_case == OMCC__V1__FROM_WORKER__BODY_PLANNED, "%s: not planned",
                k->id);
  ck_assert_msg(m->planned->ok == k->ok, "%s: ok is %d", k->id, m->planned->ok);
  const Omcc__V1__Report *r = play_report(&p, &frame);
  const Omcc__V1__Op *op = play_op(r, k->op);
  ck_assert_msg(op->outputs[0]->got == (uint32_t)k->got, "%s: got %s", k->id,
                oc_dtype_name((enum oc_dtype)op->outputs[0]->got));
  ck_assert_msg(oc_streq(op->engine, k->engine), "%s: engine %s", k->id, op->engine);
  if (k->finding)
    ck_assert_msg(play_found(r->findings, r->n_findings, k->finding), "%s: no finding %s",
                  k->id, k->finding);
  close(order.model);
  close(order.keep);
  oc_channel_free(c);
  play_end(&p);
}
END_TEST

/* One build; returns the size and leaves the digest-relevant bytes in `ret`. */
static size_t build(struct play *p, const struct play_order *order, uint8_t **ret,
                    uint8_t key[32])
{
  Omcc__V1__Build order_build = OMCC__V1__BUILD__INIT;
  Omcc__V1__ToWorker go = OMCC__V1__TO_WORKER__INIT;
  struct oc_frame frame;
  struct stat st;
  struct oc_channel *c = play_child(p, NULL);
  Omcc__V1__FromWorker *m = plan(p, c, order, &frame);

  ck_assert_int_eq(m->body_case, OMCC__V1__FROM_WORKER__BODY_PLANNED);
  ck_assert(m->planned->ok);
  ck_assert_uint_eq(m->planned->plan_key.len, 32);
  memcpy(key, m->planned->plan_key.data, 32);
  uint64_t promised = m->planned->om_size;
  oc_frame_close_fds(&frame);
  int out = memfd_create("out", MFD_CLOEXEC);
  go.body_case = OMCC__V1__TO_WORKER__BODY_BUILD;
  go.build = &order_build;
  play_tell(c, &go, &out, 1);
  m = play_hear(p, c, &frame);
  ck_assert(m && m->body_case == OMCC__V1__FROM_WORKER__BODY_BUILT);
  ck_assert_int_eq(fstat(out, &st), 0);
  ck_assert_uint_eq(m->built->size, (uint64_t)st.st_size);
  ck_assert_uint_eq(promised, (uint64_t)st.st_size);
  *ret = malloc((size_t)st.st_size);
  ck_assert_int_eq((int)pread(out, *ret, (size_t)st.st_size, 0), (int)st.st_size);
  close(out);
  oc_channel_free(c);
  return (size_t)st.st_size;
}

START_TEST(equal_plans_give_equal_bytes)
{
  struct play_order order = { relu_310p, play_model("g1"), -1, "builtin", false };
  auto_free uint8_t *first = NULL, *second = NULL;
  uint8_t key1[32], key2[32];
  struct play p;

  play_start(&p);
  size_t n1 = build(&p, &order, &first, key1);
  size_t n2 = build(&p, &order, &second, key2);
  ck_assert_uint_eq(n1, n2);
  ck_assert_mem_eq(first, second, n1);
  ck_assert_mem_eq(key1, key2, 32);
  ck_assert_mem_eq(first, "IMOD", 4);
  close(order.model);
  play_end(&p);
}
END_TEST

struct refusal {
  const char *model;
  const char *soc;
  const char *framework;
  const char *finding;
};

static const struct refusal refusals[] = {
  { "cycle", "Ascend310P3", "5", "model-cycle" },
  { "missing-input", "Ascend310P3", "5", "producer-missing" },
  { "relu", "Ascend310P4", "5", "soc-unknown" },
  { "relu", "", "5", "flag-missing-soc" },
  { "relu", "Ascend310P3", "0", "framework-needs-atc" },
};

START_TEST(what_cannot_be_planned_says_why)
{
  const struct refusal *t = &refusals[_i];
  const char *flags[] = { "soc_version", t->soc, "framework", t->framework, NULL };
  struct play_order order = { flags, play_model(t->model), -1, "builtin", false };
  struct oc_frame frame;
  struct play p;

  play_start(&p);
  struct oc_channel *c = play_child(&p, NULL);
  Omcc__V1__FromWorker *m = plan(&p, c, &order, &frame);
  Omcc__V1__Finding **findings = NULL;
  size_t n = 0;
  if (m->body_case == OMCC__V1__FROM_WORKER__BODY_UNPLANNED) {
    findings = m->unplanned->findings;
    n = m->unplanned->n_findings;
    ck_assert_uint_eq(m->unplanned->status, 2);
  } else {
    ck_assert_int_eq(m->body_case, OMCC__V1__FROM_WORKER__BODY_PLANNED);
    ck_assert(!m->planned->ok);
    const Omcc__V1__Report *r = play_report(&p, &frame);
    findings = r->findings;
    n = r->n_findings;
  }
  ck_assert_msg(play_found(findings, n, t->finding), "%s on '%s': no finding %s",
                t->model, t->soc, t->finding);
  close(order.model);
  oc_channel_free(c);
  play_end(&p);
}
END_TEST

START_TEST(a_shortened_model_is_input_changed)
{
  const char *flags[] = { "soc_version", "Ascend910B1", "framework", "5", NULL };
  struct play_order order = { flags, play_model("resnet50"), -1, "builtin", false };
  Omcc__V1__Build order_build = OMCC__V1__BUILD__INIT;
  Omcc__V1__ToWorker go = OMCC__V1__TO_WORKER__INIT;
  struct oc_frame frame;
  struct play p;

  play_start(&p);
  struct oc_channel *c = play_child(&p, NULL);
  Omcc__V1__FromWorker *m = plan(&p, c, &order, &frame);
  ck_assert_int_eq(m->body_case, OMCC__V1__FROM_WORKER__BODY_PLANNED);
  oc_frame_close_fds(&frame);
  ck_assert_int_eq(ftruncate(order.model, 4096), 0);
  int out = memfd_create("out", MFD_CLOEXEC);
  go.body_case = OMCC__V1__TO_WORKER__BODY_BUILD;
  go.build = &order_build;
  play_tell(c, &go, &out, 1);
  m = play_hear(&p, c, &frame);
  ck_assert(m && m->body_case == OMCC__V1__FROM_WORKER__BODY_FAILED);
  ck_assert_str_eq(m->failed->code, "input_changed");
  close(out);
  close(order.model);
  oc_channel_free(c);
  play_end(&p);
}
END_TEST

START_TEST(a_child_dies_alone)
{
  struct oc_frame frame;
  struct play p;
  pid_t pid;

  play_start(&p);
  struct oc_channel *c = play_child(&p, &pid);
  ck_assert_int_eq(kill(pid, SIGKILL), 0);
  ck_assert_ptr_null(play_hear(&p, c, &frame));
  Omcc__V1__FromWorker *m = play_hear(&p, p.zygote, &frame);
  ck_assert(m && m->body_case == OMCC__V1__FROM_WORKER__BODY_CHILD_GONE);
  ck_assert_uint_eq(m->child_gone->pid, (uint32_t)pid);
  oc_channel_free(c);
  c = play_child(&p, NULL);
  oc_channel_free(c);
  play_end(&p);
}
END_TEST

START_TEST(children_die_with_the_zygote)
{
  struct oc_frame frame;
  struct play p;

  play_start(&p);
  struct oc_channel *c = play_child(&p, NULL);
  ck_assert_int_eq(kill(p.pid, SIGKILL), 0);
  ck_assert_ptr_null(play_hear(&p, c, &frame));
  oc_channel_free(c);
  oc_channel_free(p.zygote);
  oc_arena_clear(&p.arena);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("worker");
  TCase *t = tcase_create("worker");

  tcase_set_timeout(t, 60);
  tcase_add_loop_test(t, keep_dtype_decides, 0, (int)OC_COUNT(keep_cases));
  tcase_add_test(t, equal_plans_give_equal_bytes);
  tcase_add_loop_test(t, what_cannot_be_planned_says_why, 0, (int)OC_COUNT(refusals));
  tcase_add_test(t, a_shortened_model_is_input_changed);
  tcase_add_test(t, a_child_dies_alone);
  tcase_add_test(t, children_die_with_the_zygote);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? 1 : 0;
}
