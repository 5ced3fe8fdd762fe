/* Frames over a real socket pair. A raw peer writes what a hostile one would; after each
 * test no descriptor may be left, counted in /proc/self/fd. */
#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "frame/frame.h"

static int fds_before;
static struct oc_channel *a;
static struct oc_channel *b;
static int raw; /* the other end of `a` in tests with a hostile peer, else -1 */

static int count_fds(void)
{
  DIR *d = opendir("/proc/self/fd");
  int n = 0;

  while (readdir(d))
    n++;
  closedir(d);
  return n;
}

static void setup(void)
{
  int pair[2];

  fds_before = count_fds();
  ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  a = oc_channel_new(pair[0], 4 << 20);
  b = oc_channel_new(pair[1], 4 << 20);
  raw = -1;
}

static void setup_raw(void)
{
  int pair[2];

  fds_before = count_fds();
  ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  a = oc_channel_new(pair[0], 4 << 20);
  b = NULL;
  raw = pair[1];
}

static void teardown(void)
{
  oc_channel_free(a);
  oc_channel_free(b);
  if (raw >= 0)
    close(raw);
  ck_assert_int_eq(count_fds(), fds_before);
}

static int open_null(void)
{
  return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void header(uint8_t *to, uint32_t len, unsigned n_fds)
{
  memcpy(to, "OMC1\1\0\0\0", 8);
  to[5] = (uint8_t)n_fds;
  for (int i = 0; i < 4; i++)
    to[8 + i] = (uint8_t)(len >> 8 * i);
}

/* Sends bytes with descriptors, without any of our code. */
static void raw_send(const void *p, size_t len, int n_fds)
{
  union {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(sizeof(int) * 64)];
  } control = { 0 };
  struct iovec iov = { (void *)(uintptr_t)p, len };
  struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
  int fds[64];

  if (n_fds) {
    msg.msg_control = &control;
    msg.msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)n_fds);
    struct cmsghdr *h = CMSG_FIRSTHDR(&msg);
    h->cmsg_level = SOL_SOCKET;
    h->cmsg_type = SCM_RIGHTS;
    h->cmsg_len = CMSG_LEN(sizeof(int) * (size_t)n_fds);
    for (int i = 0; i < n_fds; i++)
      fds[i] = open_null();
    memcpy(CMSG_DATA(h), fds, sizeof(int) * (size_t)n_fds);
  }
  ck_assert_int_eq(sendmsg(raw, &msg, 0), (ssize_t)len);
  for (int i = 0; i < n_fds; i++)
    close(fds[i]);
}

/* Reads and takes frames until something is wrong or nothing is left; the last code. */
static int pump(int *ret_frames)
{
  struct oc_error err = { 0 };
  struct oc_frame f;
  int rc = 1;

  *ret_frames = 0;
  for (;;) {
    rc = oc_channel_next(a, &f, &err);
    if (rc == 1) {
      (*ret_frames)++;
      oc_frame_close_fds(&f);
      continue;
    }
    if (rc < 0)
      return rc;
    rc = oc_channel_read(a, &err);
    if (rc <= 0)
      return rc;
  }
}

START_TEST(frames_of_many_sizes)
{
  static const size_t sizes[] = { 0,    1,     11,    12,    13,
                                  4096, 16383, 16384, 65536, OC_MAX_FRAME };
  uint8_t *body = malloc(OC_MAX_FRAME);

  for (size_t i = 0; i < OC_MAX_FRAME; i++)
    body[i] = (uint8_t)(i * 31);
  for (size_t i = 0; i < 10; i++) {
    struct oc_frame f;
    ck_assert_int_eq(oc_channel_send(a, body, sizes[i], NULL, 0, false, NULL), 0);
    int rc = 0;
    while (rc == 0) {
      ck_assert_int_ge(oc_channel_flush(a, NULL), 0);
      ck_assert_int_ge(oc_channel_read(b, NULL), 0);
      rc = oc_channel_next(b, &f, NULL);
    }
    ck_assert_int_eq(rc, 1);
    ck_assert_uint_eq(f.len, sizes[i]);
    ck_assert(!sizes[i] || !memcmp(f.body, body, sizes[i]));
    ck_assert_uint_eq(f.n_fds, 0);
  }
  ck_assert(!oc_channel_wants_write(a));
  free(body);
}
END_TEST

START_TEST(descriptors_go_with_their_frame)
{
  int fds[OC_MAX_FRAME_FDS];
  struct oc_frame f;

  for (int k = 0; k <= OC_MAX_FRAME_FDS; k += 4) {
    for (int i = 0; i < k; i++)
      fds[i] = open_null();
    ck_assert_int_eq(oc_channel_send(a, "x", 1, fds, (size_t)k, k % 8 == 0, NULL), 0);
    if (k % 8 != 0) {
      for (int i = 0; i < k; i++)
        close(fds[i]);
    }
  }
  for (int k = 0; k <= OC_MAX_FRAME_FDS; k += 4) {
    ck_assert_int_eq(oc_channel_wait(b, 1000, &f, NULL), 1);
    ck_assert_uint_eq(f.n_fds, k);
    for (int i = 0; i < k; i++)
      ck_assert_int_eq(fcntl(f.fds[i], F_GETFD), FD_CLOEXEC);
    if (k) {
      int taken = oc_frame_take_fd(&f, 0);
      ck_assert_int_ge(taken, 0);
      ck_assert_int_eq(oc_frame_take_fd(&f, 0), -1);
      close(taken);
    }
    ck_assert_int_eq(oc_frame_take_fd(&f, (size_t)k), -1);
    oc_frame_close_fds(&f);
    oc_frame_close_fds(&f);
  }
}
END_TEST

START_TEST(untaken_descriptors_die_with_the_channel)
{
  int fds[3] = { open_null(), open_null(), open_null() };

  ck_assert_int_eq(oc_channel_send(a, "x", 1, fds, 3, true, NULL), 0);
  ck_assert_int_eq(oc_channel_read(b, NULL), 1);
  ck_assert_int_eq(oc_channel_read(b, NULL),
                   0); /* a frame waits: nothing is read ahead */
}
END_TEST

START_TEST(limits_of_sending)
{
  struct oc_error err = { 0 };
  int fds[OC_MAX_FRAME_FDS + 1];
  uint8_t *body = calloc(1, OC_MAX_FRAME + 1);

  ck_assert_int_eq(oc_channel_send(a, body, OC_MAX_FRAME + 1, NULL, 0, false, &err),
                   OC_E_LIMIT);
  for (int i = 0; i <= OC_MAX_FRAME_FDS; i++)
    fds[i] = open_null();
  ck_assert_int_eq(oc_channel_send(a, body, 1, fds, OC_MAX_FRAME_FDS + 1, true, &err),
                   OC_E_LIMIT);
  int rc = 0;
  for (int i = 0; i < 10 && rc == 0; i++)
    rc = oc_channel_send(a, body, OC_MAX_FRAME, NULL, 0, false, &err);
  ck_assert_int_eq(rc, OC_E_LIMIT); /* nobody reads: the queue is full before 10 MiB */
  int fd = open_null();
  ck_assert_int_eq(oc_channel_send(a, body, OC_MAX_FRAME, &fd, 1, true, &err),
                   OC_E_LIMIT);
  ck_assert_int_eq(fcntl(fd, F_GETFD), -1); /* taken over and closed, on failure too */
  ck_assert(oc_channel_wants_write(a));
  ck_assert_int_eq(oc_channel_drain(a, 20, &err), OC_E_BUSY);
  free(body);
}
END_TEST

START_TEST(bad_descriptor_to_duplicate)
{
  int fds[2] = { open_null(), -1 };

  ck_assert_int_eq(oc_channel_send(a, "x", 1, fds, 2, false, NULL), OC_E_IO);
  close(fds[0]);
  struct oc_frame f;
  ck_assert_int_eq(oc_channel_wait(b, 10, &f, NULL), OC_E_BUSY);
}
END_TEST

/* The stream goes on as if nothing had been sent. */
START_TEST(a_bad_descriptor_leaves_the_stream_whole)
{
  int fds[2] = { open_null(), -1 };
  struct oc_frame f;

  ck_assert_int_eq(oc_channel_send(a, "x", 1, fds, 2, false, NULL), OC_E_IO);
  ck_assert_int_eq(oc_channel_send(a, "yz", 2, fds, 1, true, NULL), 0);
  ck_assert_int_eq(oc_channel_wait(b, 1000, &f, NULL), 1);
  ck_assert_uint_eq(f.len, 2);
  ck_assert_uint_eq(f.n_fds, 1);
  oc_frame_close_fds(&f);
}
END_TEST

START_TEST(a_queued_frame_leaves_with_the_next)
{
  struct oc_frame f;
  int fd = open_null();

  ck_assert_int_eq(oc_channel_queue(a, "hello", 5, NULL), 0);
  ck_assert(oc_channel_wants_write(a));
  ck_assert_uint_eq(oc_channel_queued(a), OC_FRAME_HEADER + 5);
  ck_assert_int_eq(oc_channel_read(b, NULL), 0); /* nothing has gone */
  ck_assert_int_eq(oc_channel_send(a, "submit", 6, &fd, 1, true, NULL), 0);
  ck_assert(!oc_channel_wants_write(a));
  ck_assert_int_eq(oc_channel_read(b, NULL), 1); /* one read brings both */
  ck_assert_int_eq(oc_channel_next(b, &f, NULL), 1);
  ck_assert_uint_eq(f.len, 5);
  ck_assert_uint_eq(f.n_fds, 0);
  ck_assert_int_eq(oc_channel_next(b, &f, NULL), 1);
  ck_assert_uint_eq(f.len, 6);
  ck_assert_uint_eq(f.n_fds, 1);
  oc_frame_close_fds(&f);
}
END_TEST

/* Order, bytes and descriptors of queued frames of any size, into a socket that fills up.
 */
START_TEST(queued_frames_keep_their_order)
{
  uint8_t *body = calloc(1, 200000);
  struct oc_frame f;
  int got = 0;

  for (int i = 0; i < 20; i++) {
    int fd = open_null();
    size_t len = i % 3 ? 200000 : 100;

    body[0] = (uint8_t)(2 * i);
    ck_assert_int_eq(oc_channel_queue(a, body, i % 2 ? 40 : 3000, NULL), 0);
    body[0] = (uint8_t)(2 * i + 1);
    ck_assert_int_eq(oc_channel_send(a, body, len, &fd, 1, true, NULL), 0);
  }
  ck_assert(oc_channel_wants_write(a));
  while (got < 40) {
    ck_assert_int_ge(oc_channel_flush(a, NULL), 0);
    int rc = oc_channel_next(b, &f, NULL);
    ck_assert_int_ge(rc, 0);
    if (rc == 0) {
      ck_assert_int_ge(oc_channel_read(b, NULL), 0);
      continue;
    }
    ck_assert_int_eq(f.body[0], got);
    ck_assert_uint_eq(f.n_fds, got % 2);
    oc_frame_close_fds(&f);
    got++;
  }
  ck_assert_uint_eq(oc_channel_queued(a), 0);
  free(body);
}
END_TEST

START_TEST(a_full_socket_and_a_slow_reader)
{
  uint8_t *body = calloc(1, 300000);
  struct oc_frame f;
  int fd = open_null();
  int got = 0;

  for (int i = 0; i < 8; i++) {
    body[0] = (uint8_t)i;
    ck_assert_int_eq(oc_channel_send(a, body, 300000, &fd, 1, false, NULL), 0);
  }
  close(fd);
  ck_assert(oc_channel_wants_write(a));
  while (got < 8) {
    oc_channel_flush(a, NULL);
    int rc = oc_channel_next(b, &f, NULL);
    ck_assert_int_ge(rc, 0);
    if (rc == 0) {
      ck_assert_int_ge(oc_channel_read(b, NULL), 0);
      continue;
    }
    ck_assert_int_eq(f.body[0], got);
    ck_assert_uint_eq(f.n_fds, 1);
    oc_frame_close_fds(&f);
    got++;
  }
  ck_assert_int_eq(oc_channel_drain(a, 1000, NULL), 0);
  free(body);
}
END_TEST

START_TEST(last_words_are_read_after_the_peer_has_gone)
{
  struct oc_error err = { 0 };
  struct oc_frame f;

  ck_assert_int_eq(oc_channel_send(b, "refused", 7, NULL, 0, false, NULL), 0);
  oc_channel_free(b);
  b = NULL;
  ck_assert_int_eq(oc_channel_send(a, "hello", 5, NULL, 0, false, &err), OC_E_CLOSED);
  ck_assert_int_eq(oc_channel_send(a, "hello", 5, NULL, 0, false, &err), OC_E_CLOSED);
  ck_assert(!oc_channel_wants_write(a));
  ck_assert_int_eq(oc_channel_wait(a, 1000, &f, &err), 1);
  ck_assert_mem_eq(f.body, "refused", 7);
  ck_assert_int_eq(oc_channel_wait(a, 1000, &f, &err), OC_E_CLOSED);
  ck_assert_int_eq(oc_channel_read(a, &err), OC_E_CLOSED);
}
END_TEST

START_TEST(peer_that_leaves_unread_data_is_an_orderly_end)
{
  struct oc_frame f;

  ck_assert_int_eq(oc_channel_send(a, "unread", 6, NULL, 0, false, NULL), 0);
  oc_channel_free(b);
  b = NULL;
  ck_assert_int_eq(oc_channel_wait(a, 1000, &f, NULL), OC_E_CLOSED);
}
END_TEST

START_TEST(waiting_ends_in_time)
{
  struct oc_frame f;
  struct oc_error err = { 0 };

  ck_assert_int_eq(oc_channel_wait(a, 0, &f, &err), OC_E_BUSY);
  ck_assert_int_eq(oc_channel_wait(a, 15, &f, &err), OC_E_BUSY);
}
END_TEST

START_TEST(one_byte_at_a_time)
{
  uint8_t bytes[2 * (OC_FRAME_HEADER + 3)];
  int frames = 0;
  int total = 0;

  header(bytes, 3, 0);
  memcpy(bytes + 12, "abc", 3);
  header(bytes + 15, 3, 1);
  memcpy(bytes + 27, "def", 3);
  for (size_t i = 0; i < sizeof(bytes); i++) {
    raw_send(bytes + i, 1, i == 15);
    ck_assert_int_ge(pump(&frames), 0);
    total += frames;
  }
  ck_assert_int_eq(total, 2);
}
END_TEST

/* Hostile or broken input: bytes, length, descriptors sent with them. */
static const struct {
  const char *what;
  const char *bytes;
  size_t len;
  int n_fds;
  bool end; /* the peer closes afterwards */
  int want;
  int frames;
} hostile[] = {
  { "wrong magic", "HTTP/1.1 200", 12, 0, false, OC_E_PROTO, 0 },
  { "wrong version", "OMC1\2\0\0\0\0\0\0\0", 12, 0, false, OC_E_PROTO, 0 },
  { "reserved bits", "OMC1\1\0\1\0\0\0\0\0", 12, 0, false, OC_E_PROTO, 0 },
  { "17 descriptors announced", "OMC1\1\x11\0\0\0\0\0\0", 12, 0, false, OC_E_PROTO, 0 },
  { "a body over the limit", "OMC1\1\0\0\0\1\0\x10\0", 12, 0, false, OC_E_PROTO, 0 },
  { "a body of 4 GiB", "OMC1\1\0\0\0\xff\xff\xff\xff", 12, 0, false, OC_E_PROTO, 0 },
  { "too few descriptors", "OMC1\1\2\0\0\0\0\0\0", 12, 1, false, OC_E_PROTO, 0 },
  { "none at all", "OMC1\1\1\0\0\0\0\0\0", 12, 0, false, OC_E_PROTO, 0 },
  { "too many descriptors", "OMC1\1\1\0\0\0\0\0\0", 12, 2, false, OC_E_PROTO, 0 },
  { "unannounced descriptors", "OMC1\1\0\0\0\0\0\0\0", 12, 1, false, OC_E_PROTO, 0 },
  { "more than any frame may have", "OMC1\1\x10\0\0\0\0\0\0", 12, 17, false, OC_E_PROTO,
    0 },
  { "many more", "OMC1\1\x10\0\0\0\0\0\0", 12, 60, false, OC_E_PROTO, 0 },
  { "end inside a header", "OMC1\1", 5, 0, true, OC_E_PROTO, 0 },
  { "end inside a header with a descriptor", "OMC1\1", 5, 1, true, OC_E_PROTO, 0 },
  { "end inside a body", "OMC1\1\0\0\0\4\0\0\0abc", 15, 0, true, OC_E_PROTO, 0 },
  { "end at once", "", 0, 0, true, OC_E_CLOSED, 0 },
  { "end after a frame", "OMC1\1\0\0\0\3\0\0\0abc", 15, 0, true, OC_E_CLOSED, 1 },
  { "frame with its descriptor", "OMC1\1\1\0\0\3\0\0\0abc", 15, 1, true, OC_E_CLOSED, 1 },
  { "incomplete, still open", "OMC1\1\0\0\0\3\0\0\0ab", 14, 0, false, 0, 0 },
};

START_TEST(hostile_peer)
{
  int frames = 0;

  if (hostile[_i].len)
    raw_send(hostile[_i].bytes, hostile[_i].len, hostile[_i].n_fds);
  if (hostile[_i].end)
    shutdown(raw, SHUT_WR);
  int rc = pump(&frames);
  ck_assert_msg(rc == hostile[_i].want, "%s: %d", hostile[_i].what, rc);
  ck_assert_int_eq(frames, hostile[_i].frames);
  if (rc == OC_E_PROTO) {
    struct oc_frame f;
    ck_assert_int_eq(oc_channel_next(a, &f, NULL), OC_E_PROTO); /* broken for good */
    ck_assert_int_lt(oc_channel_read(a, NULL), 0);
  }
}
END_TEST

START_TEST(descriptors_with_every_byte)
{
  uint8_t bytes[OC_FRAME_HEADER];
  int frames = 0;
  int rc = 0;

  header(bytes, 0, 16);
  for (size_t i = 0; i < sizeof(bytes) && rc >= 0; i++) {
    raw_send(bytes + i, 1, 16);
    rc = pump(&frames);
  }
  ck_assert_int_eq(rc, OC_E_PROTO);
  ck_assert_int_eq(frames, 0);
}
END_TEST

START_TEST(control_buffer_truncated_by_a_full_table)
{
  /* A process at its descriptor limit gets MSG_CTRUNC from the kernel. */
  uint8_t bytes[OC_FRAME_HEADER];
  int frames = 0;
  int filler[1024];
  int n = 0;

  header(bytes, 0, 4);
  raw_send(bytes, sizeof(bytes), 4);
  for (int fd = open_null(); fd >= 0 && n < 1024; fd = open_null())
    filler[n++] = fd;
  ck_assert_int_gt(n, 2);
  if (n < 1024) {
    close(filler[--n]);
    close(filler[--n]); /* room for two of four */
  }
  int rc = pump(&frames);
  while (n)
    close(filler[--n]);
  ck_assert_int_eq(rc, OC_E_PROTO);
  ck_assert_int_eq(frames, 0);
}
END_TEST

static void setup_few_fds(void)
{
  struct rlimit limit = { 200, 200 };

  setrlimit(RLIMIT_NOFILE, &limit);
  setup_raw();
}

int main(void)
{
  Suite *s = suite_create("frame");
  TCase *t = tcase_create("two channels");
  TCase *u = tcase_create("hostile peer");
  TCase *v = tcase_create("full descriptor table");

  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, frames_of_many_sizes);
  tcase_add_test(t, descriptors_go_with_their_frame);
  tcase_add_test(t, untaken_descriptors_die_with_the_channel);
  tcase_add_test(t, limits_of_sending);
  tcase_add_test(t, bad_descriptor_to_duplicate);
  tcase_add_test(t, a_bad_descriptor_leaves_the_stream_whole);
  tcase_add_test(t, a_queued_frame_leaves_with_the_next);
  tcase_add_test(t, queued_frames_keep_their_order);
  tcase_add_test(t, a_full_socket_and_a_slow_reader);
  tcase_add_test(t, last_words_are_read_after_the_peer_has_gone);
  tcase_add_test(t, peer_that_leaves_unread_data_is_an_orderly_end);
  tcase_add_test(t, waiting_ends_in_time);
  suite_add_tcase(s, t);
  tcase_add_checked_fixture(u, setup_raw, teardown);
  tcase_add_test(u, one_byte_at_a_time);
  tcase_add_loop_test(u, hostile_peer, 0, sizeof(hostile) / sizeof(hostile[0]));
  tcase_add_test(u, descriptors_with_every_byte);
  suite_add_tcase(s, u);
  tcase_add_checked_fixture(v, setup_few_fds, teardown);
  tcase_add_test(v, control_buffer_truncated_by_a_full_table);
  suite_add_tcase(s, v);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
