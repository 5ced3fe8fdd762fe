/* SHA-256 against the published examples (FIPS 180-4), and files against bytes. */
#include <check.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/str.h"
#include "digest/digest.h"

static const struct {
  const char *text;
  const char *hex;
} examples[] = {
  { "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
  { "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
  { "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
    "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
};

static void check_hex(const uint8_t got[OC_SHA256_LEN], const char *want)
{
  char hex[OC_SHA256_TEXT];

  oc_hex(got, OC_SHA256_LEN, hex);
  ck_assert_str_eq(hex, want);
}

START_TEST(published_examples)
{
  uint8_t d[OC_SHA256_LEN];

  ck_assert_int_eq(oc_sha256_bytes(examples[_i].text, strlen(examples[_i].text), d), 0);
  check_hex(d, examples[_i].hex);
}
END_TEST

START_TEST(pieces_are_one_stream)
{
  const char *text = examples[2].text;
  uint8_t d[OC_SHA256_LEN];

  for (size_t cut = 0; cut <= strlen(text); cut++) {
    struct oc_sha256 s;
    ck_assert_int_eq(oc_sha256_init(&s), 0);
    oc_sha256_update(&s, text, cut);
    oc_sha256_update(&s, text + cut, strlen(text) - cut);
    ck_assert_int_eq(oc_sha256_final(&s, d), 0);
    check_hex(d, examples[2].hex);
  }
}
END_TEST

START_TEST(fields_do_not_run_together)
{
  uint8_t a[OC_SHA256_LEN], b[OC_SHA256_LEN];
  struct oc_sha256 s;

  ck_assert_int_eq(oc_sha256_init(&s), 0);
  oc_sha256_field(&s, "ab", 2);
  oc_sha256_field(&s, "c", 1);
  ck_assert_int_eq(oc_sha256_final(&s, a), 0);
  ck_assert_int_eq(oc_sha256_init(&s), 0);
  oc_sha256_field(&s, "a", 1);
  oc_sha256_field(&s, "bc", 2);
  ck_assert_int_eq(oc_sha256_final(&s, b), 0);
  ck_assert_int_ne(memcmp(a, b, sizeof(a)), 0);
}
END_TEST

START_TEST(clear_is_safe)
{
  struct oc_sha256 zero = { 0 }, s;
  uint8_t d[OC_SHA256_LEN];

  oc_sha256_clear(&zero);
  oc_sha256_clear(&zero);
  ck_assert_int_lt(oc_sha256_final(&zero, d), 0);
  ck_assert_int_eq(oc_sha256_init(&s), 0);
  oc_sha256_clear(&s);
  oc_sha256_clear(&s);
}
END_TEST

/* A file of `size` pseudo-random bytes, and the same bytes in memory. */
static int make_file(size_t size, uint8_t **ret)
{
  int fd = memfd_create("digest", MFD_CLOEXEC);
  uint8_t *p = malloc(size ? size : 1);
  uint32_t x = 12345;

  ck_assert_int_ge(fd, 0);
  for (size_t i = 0; i < size; i++) {
    x = x * 1664525u + 1013904223u;
    p[i] = (uint8_t)(x >> 24);
  }
  ck_assert_int_eq(write(fd, p, size), (ssize_t)size);
  *ret = p;
  return fd;
}

static const size_t sizes[] = {
  0, 1, 4096, (256u << 10) - 1, 256u << 10, (256u << 10) + 1, 1000003
};

START_TEST(a_file_is_its_bytes)
{
  uint8_t *p, a[OC_SHA256_LEN], b[OC_SHA256_LEN];
  uint64_t size = 1;
  int fd = make_file(sizes[_i], &p);

  ck_assert_int_eq(lseek(fd, 7, SEEK_SET), 7);
  ck_assert_int_eq(oc_sha256_fd(fd, NULL, a, &size, NULL), 0);
  ck_assert_uint_eq(size, sizes[_i]);
  ck_assert_int_eq(lseek(fd, 0, SEEK_CUR), 7);
  ck_assert_int_eq(oc_sha256_bytes(p, sizes[_i], b), 0);
  ck_assert_mem_eq(a, b, sizeof(a));
  free(p);
  close(fd);
}
END_TEST

START_TEST(failures)
{
  struct oc_error err = { 0 };
  uint8_t *p, d[OC_SHA256_LEN];
  int fd = make_file(10, &p), pipes[2];
  atomic_bool cancel = true;

  ck_assert_int_eq(oc_sha256_fd(fd, &cancel, d, NULL, &err), OC_E_CLOSED);
  cancel = false;
  ck_assert_int_eq(oc_sha256_fd(fd, &cancel, d, NULL, &err), 0);
  ck_assert_int_eq(pipe(pipes), 0);
  ck_assert_int_eq(oc_sha256_fd(pipes[0], NULL, d, NULL, &err), OC_E_IO);
  ck_assert_int_eq(err.code, OC_E_IO);
  ck_assert_int_eq(oc_sha256_fd(-1, NULL, d, NULL, &err), OC_E_IO);
  free(p);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("digest");
  TCase *t = tcase_create("digest");
  SRunner *r = srunner_create(s);

  tcase_add_loop_test(t, published_examples, 0, 3);
  tcase_add_test(t, pieces_are_one_stream);
  tcase_add_test(t, fields_do_not_run_together);
  tcase_add_test(t, clear_is_safe);
  tcase_add_loop_test(t, a_file_is_its_bytes, 0, (int)(sizeof(sizes) / sizeof(sizes[0])));
  tcase_add_test(t, failures);
  suite_add_tcase(s, t);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? 1 : 0;
}
