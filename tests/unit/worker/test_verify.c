/* Verify: a finished file against the report that predicted it. */
#include "play_daemon.h"

#include <check.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"

struct planned {
  int file;   /* the .om, -1 when only the report was wanted */
  int report; /* the report's own descriptor */
};

/* Plans (and with `build` writes) one model; the answers' descriptors are kept. */
static struct planned make(struct play *p, const char *kind, const char *mode, bool build)
{
  const char *flags[] = { "soc_version",       "Ascend910B1", "framework", "5",
                          "precision_mode_v2", mode,          NULL };
  struct play_order order = { flags, play_model(kind), -1, "builtin", !build };
  Omcc__V1__Build what = OMCC__V1__BUILD__INIT;
  Omcc__V1__ToWorker go = OMCC__V1__TO_WORKER__INIT;
  struct planned made = { -1, -1 };
  struct oc_frame frame;
  struct oc_channel *c = play_child(p, NULL);

  play_plan(c, &order);
  Omcc__V1__FromWorker *m = play_hear(p, c, &frame);
  ck_assert(m && m->body_case == OMCC__V1__FROM_WORKER__BODY_INPUTS);
  m = play_hear(p, c, &frame);
  ck_assert(m && m->body_case == OMCC__V1__FROM_WORKER__BODY_PLANNED);
  ck_assert(m->planned->ok);
  made.report = oc_frame_take_fd(&frame, 0);
  if (build) {
    made.file = memfd_create("om", MFD_CLOEXEC);
    go.body_case = OMCC__V1__TO_WORKER__BODY_BUILD;
    go.build = &what;
    play_tell(c, &go, &made.file, 1);
    m = play_hear(p, c, &frame);
    ck_assert(m && m->body_case == OMCC__V1__FROM_WORKER__BODY_BUILT);
  }
  close(order.model);
  oc_channel_free(c);
  return made;
}

static const Omcc__V1__Verified *verify(struct play *p, int file, int report)
{
  Omcc__V1__Verify what = OMCC__V1__VERIFY__INIT;
  Omcc__V1__ToWorker go = OMCC__V1__TO_WORKER__INIT;
  int fds[] = { file, report };
  struct oc_frame frame;
  struct oc_channel *c = play_child(p, NULL);

  what.report_fd = 1;
  go.body_case = OMCC__V1__TO_WORKER__BODY_VERIFY;
  go.verify = &what;
  play_tell(c, &go, fds, 2);
  Omcc__V1__FromWorker *m = play_hear(p, c, &frame);
  ck_assert(m && m->body_case == OMCC__V1__FROM_WORKER__BODY_VERIFIED);
  oc_channel_free(c);
  return m->verified;
}

START_TEST(a_file_agrees_with_its_own_report)
{
  struct play p;

  play_start(&p);
  struct planned made = make(&p, "g1", "fp16", true);
  const Omcc__V1__Verified *v = verify(&p, made.file, made.report);
  ck_assert(v->readable);
  ck_assert(!v->device_ready);
  ck_assert_uint_gt(v->agreed, 3);
  ck_assert_uint_eq(v->differed, 0);
  /* Nothing but the count, which is a note. */
  ck_assert_uint_eq(v->n_findings, 1);
  ck_assert_str_eq(v->findings[0]->id, "prediction-agreed");
  ck_assert_uint_eq(v->findings[0]->severity, 0);
  close(made.file);
  close(made.report);
  play_end(&p);
}
END_TEST

START_TEST(another_precision_is_named)
{
  struct play p;

  play_start(&p);
  struct planned built = make(&p, "relu", "origin", true);
  struct planned predicted = make(&p, "relu", "fp16", false);
  const Omcc__V1__Verified *v = verify(&p, built.file, predicted.report);
  ck_assert(v->readable);
  ck_assert_uint_eq(v->differed, 1);
  ck_assert(play_found(v->findings, v->n_findings, "prediction-differs"));
  ck_assert_str_eq(v->findings[0]->subject, "/op");
  close(built.file);
  close(built.report);
  close(predicted.report);
  play_end(&p);
}
END_TEST

START_TEST(a_broken_file_is_said_to_be_broken)
{
  struct play p;

  play_start(&p);
  struct planned predicted = make(&p, "relu", "fp16", false);
  int file = play_text("this is no .om file");
  const Omcc__V1__Verified *v = verify(&p, file, predicted.report);
  ck_assert(!v->readable);
  ck_assert(play_found(v->findings, v->n_findings, "artifact-unreadable"));
  close(file);
  close(predicted.report);
  play_end(&p);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("verify");
  TCase *t = tcase_create("verify");

  tcase_set_timeout(t, 60);
  tcase_add_test(t, a_file_agrees_with_its_own_report);
  tcase_add_test(t, another_precision_is_named);
  tcase_add_test(t, a_broken_file_is_said_to_be_broken);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? 1 : 0;
}
