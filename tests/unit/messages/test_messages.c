/* Messages: packing and unpacking under caps, unknown fields, findings both ways. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "messages/messages.h"

static struct oc_arena arena;
static struct oc_buf out;

static void setup(void)
{
  oc_arena_init(&arena, 1 << 20);
  oc_buf_init(&out, 1 << 20);
}

static void teardown(void)
{
  oc_arena_clear(&arena);
  oc_buf_clear(&out);
}

static void pack_hello(void)
{
  Omcc__V1__ToDaemon m = OMCC__V1__TO_DAEMON__INIT;
  Omcc__V1__Hello hello = OMCC__V1__HELLO__INIT;

  hello.min = 1;
  hello.max = 3;
  hello.build = (char *)"0.1.0";
  m.body_case = OMCC__V1__TO_DAEMON__BODY_HELLO;
  m.hello = &hello;
  ck_assert_int_eq(oc_message_pack(&m, &out), 0);
}

static int unpack(const ProtobufCMessageDescriptor *type, ProtobufCMessage **ret,
                  struct oc_error *err)
{
  return oc_message_unpack(type, out.data, out.len, &arena, ret, err);
}

START_TEST(round_trip)
{
  ProtobufCMessage *m = NULL;

  oc_buf_puts(&out, "old content");
  pack_hello();
  ck_assert_int_eq(unpack(&omcc__v1__to_daemon__descriptor, &m, NULL), 0);
  Omcc__V1__ToDaemon *t = (Omcc__V1__ToDaemon *)m;
  ck_assert_int_eq(t->body_case, OMCC__V1__TO_DAEMON__BODY_HELLO);
  ck_assert_str_eq(t->hello->build, "0.1.0");
  ck_assert_uint_eq(t->hello->max, 3);
}
END_TEST

/* An envelope tells whose it is and gives its body away as it came; what is cut anywhere
 * is refused or has no body that reaches beyond the end. */
START_TEST(envelopes)
{
  Omcc__V1__ToClient m = OMCC__V1__TO_CLIENT__INIT;
  Omcc__V1__Status status = OMCC__V1__STATUS__INIT;
  struct oc_envelope e;
  struct oc_error err;
  ProtobufCMessage *again;

  m.id = 300;
  m.body_case = OMCC__V1__TO_CLIENT__BODY_STATUS;
  m.status = &status;
  status.pid = 4711;
  status.version = (char *)"v";
  ck_assert_int_eq(oc_message_pack(&m, &out), 0);
  ck_assert_int_eq(oc_envelope_look(out.data, out.len, &e), 0);
  ck_assert_uint_eq(e.id, 300);
  ck_assert_uint_eq(e.number, OMCC__V1__TO_CLIENT__BODY_STATUS);
  ck_assert_int_eq(oc_message_unpack(&omcc__v1__status__descriptor, e.body, e.body_len,
                                     &arena, &again, &err),
                   0);
  ck_assert_uint_eq(((Omcc__V1__Status *)again)->pid, 4711);
  for (size_t len = 0; len < out.len; len++)
    if (!oc_envelope_look(out.data, len, &e))
      ck_assert(!e.body || e.body + e.body_len <= out.data + len);
  /* Two bodies in one envelope. */
  ck_assert_int_eq(oc_buf_append(&out, "\x3a\x00", 2), 0);
  ck_assert_int_eq(oc_envelope_look(out.data, out.len, &e), OC_E_PROTO);
  ck_assert_int_eq(oc_envelope_look("\x08\x05", 2, &e), 0); /* an id and nothing else */
  ck_assert_uint_eq(e.id, 5);
  ck_assert_uint_eq(e.number, 0);
}
END_TEST

START_TEST(unknown_fields_are_no_error)
{
  ProtobufCMessage *m = NULL;

  pack_hello();
  oc_buf_append(&out, "\xfa\x3f\x03xyz", 6); /* field 1023, bytes */
  ck_assert_int_eq(unpack(&omcc__v1__to_daemon__descriptor, &m, NULL), 0);
  ck_assert_uint_eq(m->n_unknown_fields, 1);
}
END_TEST

START_TEST(malformed)
{
  struct oc_error err = { 0 };
  ProtobufCMessage *m = NULL;

  pack_hello();
  out.len--;
  ck_assert_int_eq(unpack(&omcc__v1__to_daemon__descriptor, &m, &err), OC_E_PROTO);
  ck_assert_ptr_null(m);
  ck_assert_ptr_nonnull(strstr(err.msg, "malformed"));
}
END_TEST

START_TEST(empty_body_is_a_message_without_content)
{
  ProtobufCMessage *m = NULL;

  ck_assert_int_eq(
      oc_message_unpack(&omcc__v1__to_daemon__descriptor, "", 0, &arena, &m, NULL), 0);
  ck_assert_int_eq(((Omcc__V1__ToDaemon *)m)->body_case,
                   OMCC__V1__TO_DAEMON__BODY__NOT_SET);
}
END_TEST

START_TEST(small_cap_is_an_error)
{
  struct oc_error err = { 0 };
  struct oc_arena tiny;
  ProtobufCMessage *m = NULL;

  pack_hello();
  oc_arena_init(&tiny, 32);
  ck_assert_int_eq(oc_message_unpack(&omcc__v1__to_daemon__descriptor, out.data, out.len,
                                     &tiny, &m, &err),
                   OC_E_PROTO);
  ck_assert_ptr_nonnull(strstr(err.msg, "memory"));
  oc_arena_clear(&tiny);
}
END_TEST

START_TEST(caps)
{
  Omcc__V1__Hello hello = OMCC__V1__HELLO__INIT;
  struct oc_buf small;

  ck_assert_uint_eq(oc_message_cap(0), 64 << 10);
  ck_assert_uint_eq(oc_message_cap(1 << 20), 16 << 20);
  ck_assert_uint_eq(oc_message_cap(SIZE_MAX / 2), SIZE_MAX);
  oc_buf_init(&small, 3);
  hello.build = (char *)"long";
  ck_assert_int_eq(oc_message_pack(&hello, &small), OC_E_LIMIT);
  oc_buf_clear(&small);
}
END_TEST

/* The largest growth we send: ops with tensors that hold short reasons. */
START_TEST(a_large_report_fits_its_cap)
{
  Omcc__V1__Report report = OMCC__V1__REPORT__INIT;
  Omcc__V1__Op op = OMCC__V1__OP__INIT;
  Omcc__V1__Tensor tensor = OMCC__V1__TENSOR__INIT;
  Omcc__V1__Reason reason = OMCC__V1__REASON__INIT;
  Omcc__V1__Reason *reasons[2] = { &reason, &reason };
  Omcc__V1__Tensor *tensors[3] = { &tensor, &tensor, &tensor };
  Omcc__V1__Op *ops[2000];
  ProtobufCMessage *m = NULL;
  struct oc_arena a;

  int64_t dims[4] = { 1, 64, 56, 56 };

  reason.rule = (char *)"mode";
  tensor.name = (char *)"x";
  tensor.orig = tensor.want = tensor.got = 1;
  tensor.dims = dims;
  tensor.n_dims = 4;
  tensor.reasons = reasons;
  tensor.n_reasons = 2;
  op.name = (char *)"Relu_1";
  op.type = (char *)"Relu";
  op.inputs = tensors;
  op.n_inputs = 3;
  for (size_t i = 0; i < 2000; i++)
    ops[i] = &op;
  report.ops = ops;
  report.n_ops = 2000;
  ck_assert_int_eq(oc_message_pack(&report, &out), 0);
  oc_arena_init(&a, oc_message_cap(out.len));
  ck_assert_int_eq(
      oc_message_unpack(&omcc__v1__report__descriptor, out.data, out.len, &a, &m, NULL),
      0);
  ck_assert_uint_eq(((Omcc__V1__Report *)m)->n_ops, 2000);
  oc_arena_clear(&a);
}
END_TEST

START_TEST(brief_report_has_everything_but_ops)
{
  Omcc__V1__Report report = OMCC__V1__REPORT__INIT;
  Omcc__V1__Op op = OMCC__V1__OP__INIT;
  Omcc__V1__Op *ops[2] = { &op, &op };
  Omcc__V1__Finding finding = OMCC__V1__FINDING__INIT;
  Omcc__V1__Finding *findings[1] = { &finding };
  Omcc__V1__ListEntry entry = OMCC__V1__LIST_ENTRY__INIT;
  Omcc__V1__ListEntry *entries[1] = { &entry };
  Omcc__V1__Report *brief = NULL;
  struct oc_error err = { 0 };

  op.name = (char *)"conv1";
  finding.id = (char *)"keep-unmatched";
  entry.text = (char *)"relu9";
  report.schema = 1;
  report.mode = (char *)"fp16";
  report.ops = ops;
  report.n_ops = 2;
  report.lists = entries;
  report.n_lists = 1;
  report.findings = findings;
  report.n_findings = 1;
  report.resolved = true;
  report.weights_underflowed = 300;
  ck_assert_int_eq(oc_message_pack(&report, &out), 0);
  ck_assert_int_eq(oc_report_unpack_brief(out.data, out.len, &arena, &brief, NULL), 0);
  ck_assert_uint_eq(brief->n_ops, 0);
  ck_assert_str_eq(brief->mode, "fp16");
  ck_assert_str_eq(brief->lists[0]->text, "relu9");
  ck_assert_str_eq(brief->findings[0]->id, "keep-unmatched");
  ck_assert_uint_eq(brief->weights_underflowed, 300);
  ck_assert(brief->resolved);
  for (size_t len = 1; len < out.len;
       len++) { /* cut anywhere: an error, or a shorter report */
    uint8_t *cut = malloc(len);
    memcpy(cut, out.data, len);
    int rc = oc_report_unpack_brief(cut, len, &arena, &brief, &err);
    ck_assert(rc == 0 || rc == OC_E_PROTO);
    free(cut);
  }
  ck_assert_int_eq(oc_report_unpack_brief("\x0b", 1, &arena, &brief, NULL), OC_E_PROTO);
  ck_assert_int_eq(oc_report_unpack_brief("", 0, &arena, &brief, NULL), 0);
}
END_TEST

START_TEST(finding_both_ways)
{
  struct oc_findings from;
  struct oc_findings to;
  size_t n = 0;

  oc_findings_init(&from, &arena);
  oc_findings_init(&to, &arena);
  struct oc_finding *f =
      oc_finding_add(&from, OC_FINDING_UNKNOWN_FINDING, "op1", "a", "1", "b", "2", NULL);
  f->severity = OC_SEV_ERROR;
  f->flag = "keep_dtype";
  f->file = "keep.cfg";
  f->line = 12;
  f->entry = 3;
  oc_finding_add(&from, OC_FINDING_UNKNOWN_FINDING, NULL, NULL);
  Omcc__V1__Finding **all = oc_findings_to_messages(&from, &arena, &n);
  ck_assert_uint_eq(n, 2);
  const struct oc_finding *g = oc_finding_from_message(all[0], &to);
  ck_assert_str_eq(g->subject, "op1");
  ck_assert_str_eq(g->flag, "keep_dtype");
  ck_assert_str_eq(g->file, "keep.cfg");
  ck_assert_uint_eq(g->line, 12);
  ck_assert_uint_eq(g->entry, 3);
  ck_assert_int_eq(g->severity, OC_SEV_ERROR);
  ck_assert_uint_eq(g->n_args, 2);
  ck_assert_str_eq(g->args[1].name, "b");
  ck_assert_str_eq(g->args[1].value, "2");
  ck_assert_str_eq(oc_finding_from_message(all[1], &to)->subject, "");
}
END_TEST

START_TEST(finding_of_another_build)
{
  Omcc__V1__Finding m = OMCC__V1__FINDING__INIT;
  struct oc_findings to;

  oc_findings_init(&to, &arena);
  m.id = (char *)"from-the-future";
  m.subject = (char *)"conv1";
  m.severity = 77;
  const struct oc_finding *f = oc_finding_from_message(&m, &to);
  ck_assert_int_eq(f->id, OC_FINDING_UNKNOWN_FINDING);
  ck_assert_str_eq(f->subject, "from-the-future");
  ck_assert_int_eq(f->severity, oc_finding_info(OC_FINDING_UNKNOWN_FINDING)->severity);
}
END_TEST

START_TEST(findings_without_memory)
{
  struct oc_findings from;
  struct oc_arena tiny;
  size_t n = 7;

  oc_findings_init(&from, &arena);
  oc_finding_add(&from, OC_FINDING_UNKNOWN_FINDING, "op1", NULL);
  oc_arena_init(&tiny, 48);
  ck_assert_ptr_null(oc_findings_to_messages(&from, &tiny, &n));
  oc_arena_clear(&tiny);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("messages");
  TCase *t = tcase_create("messages");

  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, round_trip);
  tcase_add_test(t, envelopes);
  tcase_add_test(t, unknown_fields_are_no_error);
  tcase_add_test(t, malformed);
  tcase_add_test(t, empty_body_is_a_message_without_content);
  tcase_add_test(t, small_cap_is_an_error);
  tcase_add_test(t, caps);
  tcase_add_test(t, a_large_report_fits_its_cap);
  tcase_add_test(t, brief_report_has_everything_but_ops);
  tcase_add_test(t, finding_both_ways);
  tcase_add_test(t, finding_of_another_build);
  tcase_add_test(t, findings_without_memory);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
