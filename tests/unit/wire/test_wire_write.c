/* The writer: exact bytes, a round trip through the reader, and the cap. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "wire/wire.h"

static struct oc_buf out;

static void setup(void)
{
  oc_buf_init(&out, 1 << 16);
}

static void teardown(void)
{
  oc_buf_clear(&out);
}

static void expect(const char *bytes, size_t len)
{
  ck_assert_uint_eq(out.len, len);
  ck_assert_mem_eq(out.data, bytes, len);
}

START_TEST(bytes)
{
  ck_assert_int_eq(oc_wire_put_varint(&out, 1, 150), 0);
  ck_assert_int_eq(oc_wire_put_bool(&out, 2, true), 0);
  ck_assert_int_eq(oc_wire_put_f32(&out, 3, 1.5f), 0);
  ck_assert_int_eq(oc_wire_put_string(&out, 4, "hi"), 0);
  expect("\x08\x96\x01\x10\x01\x1d\x00\x00\xc0\x3f\x22\x02hi", 14);
}
END_TEST

START_TEST(negative_takes_ten_bytes)
{
  oc_wire_put_i64(&out, 16, -1);
  expect("\x80\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12);
}
END_TEST

START_TEST(packed)
{
  static const int64_t v[] = { 1, 150, -1 };
  static const float f[] = { 0.0f, 1.0f };

  oc_wire_put_packed_i64(&out, 1, v, 3);
  oc_wire_put_packed_f32(&out, 2, f, 2);
  oc_wire_put_packed_i64(&out, 3, NULL, 0); /* nothing on the wire */
  expect("\x0a\x0d\x01\x96\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
         "\x12\x08\0\0\0\0\x00\x00\x80\x3f",
         25);
}
END_TEST

START_TEST(message_round_trip)
{
  struct oc_buf child;
  struct oc_wire w;
  struct oc_field f;

  oc_buf_init(&child, 1000);
  oc_wire_put_varint(&child, 1, 7);
  oc_wire_put_message(&out, 9, &child);
  oc_buf_clear(&child);
  oc_wire_put_message(&out, 10, &child); /* an empty one */
  oc_wire_open(&w, out.data, out.len);
  ck_assert(oc_wire_next(&w, &f));
  ck_assert_uint_eq(f.number, 9);
  struct oc_wire inner;
  struct oc_field g;
  oc_wire_open(&inner, f.data, f.len);
  ck_assert(oc_wire_next(&inner, &g));
  ck_assert_uint_eq(g.u, 7);
  ck_assert(oc_wire_next(&w, &f));
  ck_assert_uint_eq(f.len, 0);
  ck_assert(!oc_wire_next(&w, &f) && !w.bad);
}
END_TEST

START_TEST(varints_of_every_length)
{
  struct oc_wire w;
  struct oc_field f;

  for (unsigned shift = 0; shift < 64; shift++) {
    oc_wire_put_varint(&out, 1, 1ull << shift);
    oc_wire_put_varint(&out, 2, (1ull << shift) - 1);
  }
  oc_wire_open(&w, out.data, out.len);
  for (unsigned shift = 0; shift < 64; shift++) {
    ck_assert(oc_wire_next(&w, &f) && f.number == 1 && f.u == 1ull << shift);
    ck_assert(oc_wire_next(&w, &f) && f.number == 2 && f.u == (1ull << shift) - 1);
  }
  ck_assert(!oc_wire_next(&w, &f) && !w.bad);
}
END_TEST

START_TEST(cap_and_failed_child)
{
  struct oc_buf small;

  oc_buf_init(&small, 4);
  ck_assert_int_eq(oc_wire_put_string(&small, 1, "too long"), OC_E_NOMEM);
  ck_assert(small.failed);
  ck_assert_int_eq(oc_wire_put_message(&out, 1, &small), OC_E_NOMEM);
  ck_assert(out.failed);
  ck_assert_uint_eq(out.len, 0);
  oc_buf_clear(&small);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("wire_write");
  TCase *t = tcase_create("wire_write");

  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, bytes);
  tcase_add_test(t, negative_takes_ten_bytes);
  tcase_add_test(t, packed);
  tcase_add_test(t, message_round_trip);
  tcase_add_test(t, varints_of_every_length);
  tcase_add_test(t, cap_and_failed_child);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
