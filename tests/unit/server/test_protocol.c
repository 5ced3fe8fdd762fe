/* Greetings, broken frames, wrong descriptors, clients that leave: the server closes what
 * it must, keeps no descriptor, and serves the next one. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "house.h"
#include "suites.h"
#include "talk.h"

static void setup(void)
{
  house_setup();
  house_open();
}

static void hello(struct talk *t, uint32_t min, uint32_t max)
{
  Omcc__V1__ToDaemon m = OMCC__V1__TO_DAEMON__INIT;
  Omcc__V1__Hello h = OMCC__V1__HELLO__INIT;

  h.min = min;
  h.max = max;
  h.build = (char *)"9.9-test";
  m.body_case = OMCC__V1__TO_DAEMON__BODY_HELLO;
  m.hello = &h;
  talk_send(t, &m, NULL, 0);
}

START_TEST(a_greeting_names_version_pid_and_uid)
{
  const Omcc__V1__Hello *h;
  struct talk t;

  talk_connect(&t);
  hello(&t, 1, 7);
  h = talk_until(&t, OMCC__V1__TO_CLIENT__BODY_HELLO)->hello;
  ck_assert_str_eq(h->build, OMCC_VERSION);
  ck_assert_uint_eq(h->pid, (uint32_t)getpid());
  ck_assert_uint_eq(h->uid, geteuid());
  talk_close(&t);
}
END_TEST

START_TEST(an_unknown_version_is_refused_with_both_names)
{
  const Omcc__V1__Refusal *r;
  struct talk t;

  talk_connect(&t);
  hello(&t, 2, 3);
  r = talk_until(&t, OMCC__V1__TO_CLIENT__BODY_REFUSAL)->refusal;
  ck_assert_str_eq(r->code, "protocol");
  ck_assert_uint_eq(r->status, 7);
  ck_assert_str_eq(r->text,
                   "omcc 9.9-test speaks protocol 2 to 3, the daemon omcc " OMCC_VERSION
                   " speaks 1 to 1");
  ck_assert(talk_ended(&t));
  talk_close(&t);
}
END_TEST

/* Greeting and request in one go: greeted first, then answered. */
START_TEST(a_request_may_come_with_the_greeting)
{
  struct ask ask = { .id = 5, .model = house_file("m", "artifact abc\n") };
  struct talk t;

  for (int round = 0; round < 3; round++) { /* a miss, then hits */
    talk_connect(&t);
    hello(&t, 1, 1);
    talk_submit(&t, &ask);
    ck_assert_int_eq(talk_next(&t)->body_case, OMCC__V1__TO_CLIENT__BODY_HELLO);
    ck_assert_uint_eq(
        talk_until(&t, OMCC__V1__TO_CLIENT__BODY_FINISHED)->finished->status, 0);
    ck_assert_uint_eq(t.last->id, 5);
    ck_assert_int_gt(strlen(talk_artifact(&t)), 0);
    talk_close(&t);
  }
}
END_TEST

/* ... and is not served when the versions do not fit. */
START_TEST(a_request_behind_a_refused_greeting_is_not_served)
{
  struct ask ask = { .id = 5, .model = house_file("m", "artifact abc\n") };
  struct talk t, other;

  talk_connect(&t);
  hello(&t, 2, 3);
  talk_submit(&t, &ask);
  talk_until(&t, OMCC__V1__TO_CLIENT__BODY_REFUSAL);
  ck_assert_str_eq(t.last->refusal->code, "protocol");
  ck_assert(talk_ended(&t));
  talk_close(&t);
  talk_open(&other);
  ck_assert_uint_eq(talk_counter(&other, "requests"), 0);
  talk_close(&other);
}
END_TEST

/* Who asks and does not read is not listened to, and when it reads at last it gets every
 * answer, in order. */
START_TEST(answers_wait_for_who_does_not_read)
{
  Omcc__V1__ToDaemon m = OMCC__V1__TO_DAEMON__INIT;
  Omcc__V1__StatusRequest status = OMCC__V1__STATUS_REQUEST__INIT;
  uint64_t sent = 0, got = 0;
  struct talk t, other;
  struct oc_buf body;

  talk_open(&t);
  m.body_case = OMCC__V1__TO_DAEMON__BODY_STATUS;
  m.status = &status;
  oc_buf_init(&body, OC_MAX_FRAME);
  while (!oc_channel_wants_write(t.channel) && sent < 200000) {
    m.id = ++sent;
    ck_assert_int_eq(oc_message_pack(&m, &body), 0);
    ck_assert_int_eq(
        oc_channel_send(t.channel, body.data, body.len, NULL, 0, false, NULL), 0);
  }
  oc_buf_clear(&body);
  ck_assert(oc_channel_wants_write(t.channel)); /* the daemon has stopped reading */
  talk_open(&other);
  talk_counter(&other, "requests"); /* and serves others meanwhile */
  talk_close(&other);
  while (got < sent) {
    ck_assert_ptr_nonnull(talk_next(&t));
    ck_assert_uint_eq(t.last->id, ++got);
    oc_channel_flush(t.channel, NULL);
  }
  talk_close(&t);
}
END_TEST

START_TEST(who_does_not_greet_is_closed)
{
  Omcc__V1__ToDaemon m = OMCC__V1__TO_DAEMON__INIT;
  Omcc__V1__StatusRequest status = OMCC__V1__STATUS_REQUEST__INIT;
  struct talk t;

  talk_connect(&t);
  m.id = 1;
  m.body_case = OMCC__V1__TO_DAEMON__BODY_STATUS;
  m.status = &status;
  talk_send(&t, &m, NULL, 0);
  ck_assert(talk_ended(&t));
  talk_close(&t);
}
END_TEST

START_TEST(who_greets_twice_is_closed)
{
  struct talk t;

  talk_open(&t);
  hello(&t, 1, 1);
  ck_assert(talk_ended(&t));
  talk_close(&t);
}
END_TEST

/* Sends raw bytes (with descriptors) on a greeted connection and expects to be closed. */
static void send_raw(const void *bytes, size_t len, size_t n_fds)
{
  struct iovec iov = { .iov_base = (void *)bytes, .iov_len = len };
  union {
    struct cmsghdr align;
    char room[CMSG_SPACE(20 * sizeof(int))];
  } control = { .room = { 0 } };
  struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
  struct talk t;

  talk_open(&t);
  if (n_fds) {
    struct cmsghdr *h;

    msg.msg_control = &control;
    msg.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
    h = CMSG_FIRSTHDR(&msg);
    h->cmsg_level = SOL_SOCKET;
    h->cmsg_type = SCM_RIGHTS;
    h->cmsg_len = CMSG_LEN(n_fds * sizeof(int));
    memset(CMSG_DATA(h), 0, n_fds * sizeof(int)); /* descriptor 0, several times */
  }
  ck_assert_int_eq(sendmsg(oc_channel_fd(t.channel), &msg, MSG_NOSIGNAL), (ssize_t)len);
  /* Descriptors that no frame claims show when the stream ends. */
  if (n_fds == 1 && len > OC_FRAME_HEADER)
    shutdown(oc_channel_fd(t.channel), SHUT_WR);
  ck_assert(talk_ended(&t));
  talk_close(&t);
}

static const struct {
  uint32_t magic;
  uint8_t version, n_fds;
  uint16_t reserved;
  uint32_t length;
  size_t sent_fds;
} headers[] = {
  { 0x12345678, 1, 0, 0, 0, 0 },
  { OC_FRAME_MAGIC, 9, 0, 0, 0, 0 },
  { OC_FRAME_MAGIC, 1, 200, 0, 0, 0 },
  { OC_FRAME_MAGIC, 1, 0, 7, 0, 0 },
  { OC_FRAME_MAGIC, 1, 0, 0, 1u << 30, 0 },
  { OC_FRAME_MAGIC, 1, 1, 0, 0, 0 },
  { OC_FRAME_MAGIC, 1, 2, 0, 0, 1 },
  { OC_FRAME_MAGIC, 1, 0, 0, 0, 1 },
  { OC_FRAME_MAGIC, 1, 16, 0, 0, 20 },
};

/* One whole request first: then every waiting child and every file of the cache is open.
 */
static size_t fds_of_a_warm_house(void)
{
  struct ask a = { .model = house_file("warm", "artifact w\n") };
  struct talk t;

  talk_open(&t);
  talk_ask(&t, &a);
  talk_await(&t, "running", 0);
  talk_await_workers(&t, house.options.workers);
  talk_close(&t);
  return house_fds();
}

START_TEST(a_broken_header_closes_the_connection)
{
  uint8_t bytes[12 + 4] = { 0 };
  size_t before = fds_of_a_warm_house();

  memcpy(bytes, &headers[_i].magic, 4);
  bytes[4] = headers[_i].version;
  bytes[5] = headers[_i].n_fds;
  memcpy(bytes + 6, &headers[_i].reserved, 2);
  memcpy(bytes + 8, &headers[_i].length, 4);
  send_raw(bytes, headers[_i].n_fds == 0 && headers[_i].sent_fds ? 16 : 12,
           headers[_i].sent_fds);
  house_await_fds(before);
}
END_TEST

START_TEST(noise_closes_the_connection_and_nothing_else)
{
  size_t before;
  struct talk t;

  srand(_i + 1);
  before = fds_of_a_warm_house();
  for (int round = 0; round < 30; round++) {
    uint8_t bytes[256];
    uint32_t magic = OC_FRAME_MAGIC, len = 200;

    for (size_t i = 0; i < sizeof(bytes); i++)
      bytes[i] = (uint8_t)rand();
    if (round % 2) { /* a right header, a body of noise */
      memcpy(bytes, &magic, 4);
      bytes[4] = 1;
      bytes[5] = bytes[6] = bytes[7] = 0;
      memcpy(bytes + 8, &len, 4);
      bytes[12] = 0xff; /* no field begins like this */
      bytes[13] = 0xff;
    }
    send_raw(bytes, round % 2 ? 212 : sizeof(bytes), 0);
  }
  house_await_fds(before);
  talk_open(&t);
  ck_assert_uint_ge(talk_counter(&t, "protocol_errors"), 30);
  talk_close(&t);
}
END_TEST

/* A Submit with a File list and descriptors of the test's choice. */
static void submit_raw(struct talk *t, size_t n_files, const uint32_t *index,
                       size_t n_fds, bool sealed)
{
  Omcc__V1__ToDaemon m = OMCC__V1__TO_DAEMON__INIT;
  Omcc__V1__Submit s = OMCC__V1__SUBMIT__INIT;
  Omcc__V1__File file[4], *files[4];
  int fds[4];

  for (size_t i = 0; i < n_files; i++) {
    omcc__v1__file__init(&file[i]);
    file[i].flag = (char *)(i ? "keep_dtype" : "model");
    file[i].fd = index[i];
    file[i].sealed = sealed;
    files[i] = &file[i];
  }
  for (size_t i = 0; i < n_fds; i++)
    fds[i] = open(house_file("m", "x"), O_RDONLY | O_CLOEXEC);
  s.files = files;
  s.n_files = n_files;
  s.backend = (char *)"builtin";
  m.id = 1;
  m.body_case = OMCC__V1__TO_DAEMON__BODY_SUBMIT;
  m.submit = &s;
  talk_send(t, &m, fds, n_fds);
  for (size_t i = 0; i < n_fds; i++)
    close(fds[i]);
}

static const struct {
  size_t n_files, n_fds;
  uint32_t index[2];
  bool sealed;
} wrong[] = {
  { 1, 0, { 0 }, false }, { 2, 1, { 0, 0 }, false }, { 1, 2, { 0 }, false },
  { 1, 1, { 5 }, false }, { 2, 2, { 1, 1 }, false }, { 0, 1, { 0 }, false },
  { 1, 1, { 0 }, true }, /* said to be sealed, and is not */
};

START_TEST(wrong_descriptors_close_the_connection)
{
  size_t before = fds_of_a_warm_house();
  struct talk t;

  talk_open(&t);
  submit_raw(&t, wrong[_i].n_files, wrong[_i].index, wrong[_i].n_fds, wrong[_i].sealed);
  ck_assert(talk_ended(&t));
  talk_close(&t);
  house_await_fds(before);
}
END_TEST

START_TEST(a_request_number_is_used_once)
{
  struct ask a = { .model = house_file("m", "sleep plan 3000\n") };
  struct talk t;

  talk_open(&t);
  talk_submit(&t, &a);
  talk_submit(&t, &a);
  while (talk_next(&t))
    continue;
  talk_close(&t);
}
END_TEST

START_TEST(an_unknown_message_is_answered_not_punished)
{
  uint8_t bytes[12 + 5] = { 0 };
  uint32_t magic = OC_FRAME_MAGIC, len = 5;
  struct talk t;

  /* Field 100, an empty message: what a newer client might send. */
  memcpy(bytes, &magic, 4);
  bytes[4] = 1;
  memcpy(bytes + 8, &len, 4);
  bytes[12] = 0x08;
  bytes[13] = 5;
  bytes[14] = 0xa2;
  bytes[15] = 0x06;
  talk_open(&t);
  ck_assert_int_eq(send(oc_channel_fd(t.channel), bytes, sizeof(bytes), MSG_NOSIGNAL),
                   17);
  ck_assert_str_eq(talk_until(&t, OMCC__V1__TO_CLIENT__BODY_REFUSAL)->refusal->code,
                   "unknown_message");
  talk_counter(&t, "requests");
  talk_close(&t);
}
END_TEST

START_TEST(external_data_nobody_asked_for_is_no_harm_without_a_request)
{
  Omcc__V1__ToDaemon m = OMCC__V1__TO_DAEMON__INIT;
  Omcc__V1__Files files = OMCC__V1__FILES__INIT;
  Omcc__V1__Detach detach = OMCC__V1__DETACH__INIT;
  Omcc__V1__Cancel cancel = OMCC__V1__CANCEL__INIT;
  struct talk t;

  talk_open(&t);
  m.id = 77;
  m.body_case = OMCC__V1__TO_DAEMON__BODY_FILES;
  m.files = &files;
  talk_send(&t, &m, NULL, 0);
  m.body_case = OMCC__V1__TO_DAEMON__BODY_DETACH;
  m.detach = &detach;
  talk_send(&t, &m, NULL, 0);
  m.body_case = OMCC__V1__TO_DAEMON__BODY_CANCEL;
  m.cancel = &cancel;
  talk_send(&t, &m, NULL, 0);
  ck_assert_uint_eq(talk_counter(&t, "protocol_errors"), 0);
  talk_close(&t);
}
END_TEST

/* How far a client goes before it is gone. */
static const char *const leaving[] = { "connect", "half a header", "hello",
                                       "submit",  "accepted",      "half a frame" };

START_TEST(a_client_may_leave_at_any_point)
{
  struct ask a = { .model = house_file("m", "sleep plan 100\nartifact a\n") };
  struct ask again = { .model = house_file("n", "artifact b\n") };
  struct talk t;
  size_t before = fds_of_a_warm_house();

  if (_i == 0 || _i == 1)
    talk_connect(&t);
  else
    talk_open(&t);
  if (_i == 1 || _i == 5)
    ck_assert_int_eq(send(oc_channel_fd(t.channel), "OMC1\1", 5, MSG_NOSIGNAL), 5);
  if (_i == 3 || _i == 4)
    talk_submit(&t, &a);
  if (_i == 4)
    talk_until(&t, OMCC__V1__TO_CLIENT__BODY_ACCEPTED);
  talk_close(&t);

  talk_open(&t);
  talk_ask(&t, &again);
  ck_assert_msg(!strcmp(talk_artifact(&t), "IMODb"), "after %s", leaving[_i]);
  talk_await(&t, "running", 0);
  talk_close(&t);
  house_await_fds(before);
}
END_TEST

START_TEST(many_requests_run_side_by_side_on_one_connection)
{
  const char *path;
  struct talk t;
  unsigned seen = 0;

  talk_open(&t);
  for (uint64_t i = 1; i <= 8; i++) {
    char name[16], text[64];

    snprintf(name, sizeof(name), "m%lu", (unsigned long)i);
    snprintf(text, sizeof(text), "artifact %lu\n", (unsigned long)i);
    path = house_file(name, text);
    talk_submit(&t, &(struct ask){ .id = i, .model = path });
  }
  for (int i = 0; i < 8; i++) {
    const Omcc__V1__ToClient *m = talk_until(&t, OMCC__V1__TO_CLIENT__BODY_FINISHED);
    char text[16];

    snprintf(text, sizeof(text), "IMOD%lu", (unsigned long)m->id);
    ck_assert_str_eq(talk_artifact(&t), text);
    seen |= 1u << m->id;
  }
  ck_assert_uint_eq(seen, 0x1fe);
  talk_close(&t);
}
END_TEST

Suite *protocol_suite(void)
{
  Suite *s = suite_create("server_protocol");
  TCase *c = tcase_create("protocol");

  tcase_set_timeout(c, 60);
  tcase_add_checked_fixture(c, setup, house_teardown);
  tcase_add_test(c, a_greeting_names_version_pid_and_uid);
  tcase_add_test(c, an_unknown_version_is_refused_with_both_names);
  tcase_add_test(c, a_request_may_come_with_the_greeting);
  tcase_add_test(c, a_request_behind_a_refused_greeting_is_not_served);
  tcase_add_test(c, answers_wait_for_who_does_not_read);
  tcase_add_test(c, who_does_not_greet_is_closed);
  tcase_add_test(c, who_greets_twice_is_closed);
  tcase_add_loop_test(c, a_broken_header_closes_the_connection, 0,
                      (int)(sizeof(headers) / sizeof(headers[0])));
  tcase_add_loop_test(c, noise_closes_the_connection_and_nothing_else, 0, 3);
  tcase_add_loop_test(c, wrong_descriptors_close_the_connection, 0,
                      (int)(sizeof(wrong) / sizeof(wrong[0])));
  tcase_add_test(c, a_request_number_is_used_once);
  tcase_add_test(c, an_unknown_message_is_answered_not_punished);
  tcase_add_test(c, external_data_nobody_asked_for_is_no_harm_without_a_request);
  tcase_add_loop_test(c, a_client_may_leave_at_any_point, 0,
                      (int)(sizeof(leaving) / sizeof(leaving[0])));
  tcase_add_test(c, many_requests_run_side_by_side_on_one_connection);
  suite_add_tcase(s, c);
  return s;
}
