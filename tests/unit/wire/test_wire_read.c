/* The reader over bytes written down by hand, good and malformed. Each row says what the
 * cursor must give, as text: "number:type=value" per field, then "!" when malformed. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/wire.h"

#define N(a) (int)(sizeof(a) / sizeof((a)[0]))

static void render(struct oc_wire *w, struct oc_buf *out)
{
  struct oc_field f;

  while (oc_wire_next(w, &f)) {
    if (f.type == OC_WIRE_BYTES)
      oc_buf_printf(out, "%u:b=%.*s ", f.number, (int)f.len, (const char *)f.data);
    else
      oc_buf_printf(out, "%u:%u=%llx ", f.number, (unsigned)f.type,
                    (unsigned long long)f.u);
  }
  if (w->bad)
    oc_buf_puts(out, "!");
}

static const struct {
  const char *bytes;
  size_t len;
  const char *want;
} rows[] = {
  { "", 0, "" },
  { "\x08\x00", 2, "1:0=0 " },
  { "\x08\x96\x01", 3, "1:0=96 " },
  { "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, "1:0=ffffffffffffffff " },
  { "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 11, "!" },     /* 65 bits */
  { "\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 12, "!" }, /* eleven bytes */
  { "\x08\x80\x80\x00", 4, "1:0=0 " }, /* longer than needed is legal */
  { "\x08", 1, "!" },
  { "\x08\x80", 2, "!" },
  { "\x80", 1, "!" },
  { "\x00\x00", 2, "!" },                              /* field number 0 */
  { "\xf8\xff\xff\xff\x0f\x01", 6, "536870911:0=1 " }, /* the largest number */
  { "\x80\x80\x80\x80\x10\x01", 6, "!" },              /* one more */
  { "\x0d\x01\x02\x03\x04", 5, "1:5=4030201 " },
  { "\x0d\x01\x02\x03", 4, "!" },
  { "\x09\x01\x02\x03\x04\x05\x06\x07\x08", 9, "1:1=807060504030201 " },
  { "\x09\x01\x02\x03\x04\x05\x06\x07", 8, "!" },
  { "\x12\x03"
    "abc\x08\x01",
    7, "2:b=abc 1:0=1 " },
  { "\x12\x00", 2, "2:b= " },
  { "\x12\x04"
    "abc",
    5, "!" },
  { "\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
    "abc",
    14, "!" }, /* a length of 2^64 - 1 */
  { "\x12\xff\xff\xff\xff\xff\xff\xff\xff\x7f"
    "abc",
    13, "!" }, /* a length of 2^63 - 1 */
  { "\x12", 1, "!" },
  { "\x0b\x0c", 2, "!" }, /* groups */
  { "\x0e\x00", 2, "!" },
  { "\x0f\x00", 2, "!" },
  { "\x08\x01\x0b\x08\x01", 5, "1:0=1 !" }, /* stays bad: nothing comes behind it */
};

START_TEST(row)
{
  struct oc_wire w;
  struct oc_buf out;
  /* An exact-size heap copy: a read behind the end is seen by the sanitizer. */
  uint8_t *copy = malloc(rows[_i].len ? rows[_i].len : 1);

  memcpy(copy, rows[_i].bytes, rows[_i].len);
  oc_buf_init(&out, 1000);
  oc_wire_open(&w, copy, rows[_i].len);
  render(&w, &out);
  ck_assert_str_eq(oc_buf_str(&out), rows[_i].want);
  ck_assert(w.bad == (w.why != NULL));
  struct oc_field f;
  ck_assert(!oc_wire_next(&w, &f));
  oc_buf_clear(&out);
  free(copy);
}
END_TEST

START_TEST(every_truncation_is_safe)
{
  static const uint8_t whole[] = { 0x08, 0x96, 0x01, 0x12, 0x02, 'h', 'i', 0x1d, 1, 2, 3,
                                   4,    0x21, 1,    2,    3,    4,   5,   6,    7, 8 };
  static const size_t ends[] = { 0, 3, 7, 12, 21 };

  for (size_t len = 0; len <= sizeof(whole); len++) {
    uint8_t *copy = malloc(len ? len : 1);
    struct oc_wire w;
    struct oc_field f;
    bool boundary = false;
    memcpy(copy, whole, len);
    for (size_t i = 0; i < 5; i++)
      boundary |= ends[i] == len;
    oc_wire_open(&w, copy, len);
    while (oc_wire_next(&w, &f))
      ck_assert(f.number >= 1 && f.number <= 4);
    ck_assert_msg(w.bad == !boundary, "%zu bytes", len);
    free(copy);
  }
}
END_TEST

START_TEST(null_is_empty)
{
  struct oc_wire w;
  struct oc_field f;

  oc_wire_open(&w, NULL, 0);
  ck_assert(!oc_wire_next(&w, &f));
  ck_assert(!w.bad);
}
END_TEST

START_TEST(values_of_the_wrong_type_are_zero)
{
  struct oc_field bytes = { .type = OC_WIRE_BYTES,
                            .data = (const uint8_t *)"x",
                            .len = 1 };
  struct oc_field varint = { .type = OC_WIRE_VARINT, .u = UINT64_MAX };
  struct oc_field f32 = { .type = OC_WIRE_32, .u = 0x3fc00000 };
  struct oc_field f64 = { .type = OC_WIRE_64, .u = 0x4004000000000000u };

  ck_assert_int_eq(oc_field_i64(&varint), -1);
  ck_assert_int_eq(oc_field_i64(&bytes), 0);
  ck_assert(oc_field_f32(&f32) == 1.5f);
  ck_assert(oc_field_f32(&f64) == 0.0f);
  ck_assert(oc_field_f64(&f64) == 2.5);
  ck_assert(oc_field_f64(&varint) == 0.0);
  ck_assert_uint_eq(oc_field_str(&varint).len, 0);
  ck_assert(oc_str_is(oc_field_str(&bytes), "x"));
}
END_TEST

START_TEST(repeated_values)
{
  int64_t v[4] = { 9, 9, 9, 9 };
  uint32_t u32[2] = { 9, 9 };
  uint64_t u64[2] = { 9, 9 };
  struct oc_field packed = { .type = OC_WIRE_BYTES,
                             .data = (const uint8_t *)"\x01\x96\x01\x02",
                             .len = 4 };
  struct oc_field one = { .type = OC_WIRE_VARINT, .u = 7 };
  struct oc_field cut = { .type = OC_WIRE_BYTES,
                          .data = (const uint8_t *)"\x01\x96",
                          .len = 2 };
  struct oc_field words = { .type = OC_WIRE_BYTES,
                            .data = (const uint8_t *)"\1\0\0\0\2\0\0\0",
                            .len = 8 };
  struct oc_field odd = { .type = OC_WIRE_BYTES,
                          .data = (const uint8_t *)"\1\0\0",
                          .len = 3 };
  struct oc_field fixed = { .type = OC_WIRE_32, .u = 5 };

  ck_assert_uint_eq(oc_field_varints(&packed, NULL, 0), 3);
  ck_assert_uint_eq(oc_field_varints(&packed, v, 2), 3);
  ck_assert_int_eq(v[1], 150);
  ck_assert_int_eq(v[2], 9); /* not written: no room */
  ck_assert_uint_eq(oc_field_varints(&one, v, 4), 1);
  ck_assert_int_eq(v[0], 7);
  ck_assert_uint_eq(oc_field_varints(&cut, v, 4), SIZE_MAX);
  ck_assert_uint_eq(oc_field_varints(&fixed, v, 4), SIZE_MAX);
  ck_assert_uint_eq(oc_field_fixed32s(&words, u32, 2), 2);
  ck_assert_uint_eq(u32[1], 2);
  ck_assert_uint_eq(oc_field_fixed32s(&fixed, u32, 2), 1);
  ck_assert_uint_eq(u32[0], 5);
  ck_assert_uint_eq(oc_field_fixed32s(&odd, u32, 2), SIZE_MAX);
  ck_assert_uint_eq(oc_field_fixed64s(&words, u64, 2), 1);
  ck_assert_uint_eq(u64[0], 0x200000001u);
  ck_assert_uint_eq(oc_field_fixed64s(&odd, u64, 2), SIZE_MAX);
  ck_assert_uint_eq(oc_field_fixed64s(&fixed, u64, 2), SIZE_MAX);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("wire_read");
  TCase *t = tcase_create("wire_read");

  tcase_add_loop_test(t, row, 0, N(rows));
  tcase_add_test(t, every_truncation_is_safe);
  tcase_add_test(t, null_is_empty);
  tcase_add_test(t, values_of_the_wrong_type_are_zero);
  tcase_add_test(t, repeated_values);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
