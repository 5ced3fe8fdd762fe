/* The records of profiles: byte by byte, read back, and broken in every place. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "om/om.h"

static const int64_t values[] = { 1, 2, 3, 4 };
static const char *const names[] = { "image", "mask" };

static const char *const shapes[] = { "0,0,7,9", "1,0,9", "1,1" };

static const struct oc_om_profiles samples[] = {
  { OC_OM_BATCHES, 4, 1, values, names, 1, NULL, 0 },
  { OC_OM_IMAGES, 2, 2, values, names, 1, shapes, 3 },
  { OC_OM_DIMS, 2, 2, values, names, 2, NULL, 0 },
};

static struct oc_buf write(const struct oc_om_profiles *p)
{
  struct oc_buf out;

  oc_buf_init(&out, 4096);
  ck_assert_int_eq(oc_om_write_profiles(&out, p), 0);
  return out;
}

START_TEST(bytes)
{
  static const uint8_t want[] = {
    4,   0,   0,   0,   44,  0,   0,   0,   2,   0, 0, 0, 2, 0, 0, 0,
    2,   0,   0,   0, /* type, length, counts */
    1,   0,   0,   0,   0,   0,   0,   0,   2,   0, 0, 0, 0, 0, 0, 0, /* first profile */
    3,   0,   0,   0,   0,   0,   0,   0,   4,   0, 0, 0, 0, 0, 0, 0, /* second */
    6,   0,   0,   0,   21,  0,   0,   0,   2,   0, 0, 0, 5, 0, 0, 0,
    4,   0,   0,   0, /* order of inputs */
    'i', 'm', 'a', 'g', 'e', 'm', 'a', 's', 'k',
  };
  struct oc_buf out = write(&samples[2]);

  ck_assert_uint_eq(out.len, sizeof want);
  ck_assert_int_eq(memcmp(out.data, want, sizeof want), 0);
  oc_buf_clear(&out);
}
END_TEST

/* Shapes of outputs are texts, like names. */
START_TEST(bytes_of_shapes)
{
  static const uint8_t want[] = {
    3,   0,   0,   0,   44,  0,   0,   0,   2,   0,   0,   0,   2,   0,   0,
    0,   2,   0,   0,   0, /* type, length, counts */
    1,   0,   0,   0,   0,   0,   0,   0,   2,   0,   0,   0,   0,   0,   0,
    0,   3,   0,   0,   0,   0,   0,   0,   0,   4,   0,   0,   0,   0,   0,
    0,   0,   5,   0,   0,   0,   31,  0,   0,   0,   3,   0,   0,   0,   7,
    0,   0,   0,   5,   0,   0,   0,   3,   0,   0,   0, /* type, length, counts */
    '0', ',', '0', ',', '7', ',', '9', '1', ',', '0', ',', '9', '1', ',', '1',
  };
  struct oc_buf out = write(&samples[1]);

  ck_assert_uint_gt(out.len, sizeof want);
  ck_assert_int_eq(memcmp(out.data, want, sizeof want), 0);
  oc_buf_clear(&out);
}
END_TEST

START_TEST(read_back)
{
  const struct oc_om_profiles *p = &samples[_i];
  struct oc_buf out = write(p);
  struct oc_om_profiles got;
  struct oc_arena arena;

  oc_arena_init(&arena, 0);
  ck_assert_int_eq(oc_om_read_profiles((struct oc_str){ (char *)out.data, out.len },
                                       &arena, &got, NULL),
                   0);
  ck_assert(got.kind == p->kind && got.n == p->n && got.width == p->width);
  ck_assert_int_eq(memcmp(got.values, values, sizeof values), 0);
  ck_assert_uint_eq(got.n_names, p->n_names);
  for (size_t i = 0; i < got.n_names; i++)
    ck_assert_str_eq(got.names[i], names[i]);
  ck_assert_uint_eq(got.n_shapes, p->n_shapes);
  for (size_t i = 0; i < got.n_shapes; i++)
    ck_assert_str_eq(got.shapes[i], shapes[i]);
  oc_arena_clear(&arena);
  oc_buf_clear(&out);
}
END_TEST

/* Cut anywhere or with any byte changed: an error or other profiles, never a crash. */
START_TEST(broken)
{
  struct oc_buf out = write(&samples[_i]);
  struct oc_om_profiles got;
  struct oc_arena arena;
  size_t refused = 0;

  for (size_t i = 0; i < out.len; i++) {
    oc_arena_init(&arena, 0);
    refused += oc_om_read_profiles((struct oc_str){ (char *)out.data, i }, &arena, &got,
                                   NULL) < 0;
    out.data[i] ^= 0xff;
    (void)oc_om_read_profiles((struct oc_str){ (char *)out.data, out.len }, &arena, &got,
                              NULL);
    out.data[i] ^= 0xff;
    oc_arena_clear(&arena);
  }
  ck_assert_uint_gt(refused, out.len / 2);
  oc_buf_clear(&out);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("om profiles");
  TCase *t = tcase_create("all");

  tcase_add_test(t, bytes);
  tcase_add_test(t, bytes_of_shapes);
  tcase_add_loop_test(t, read_back, 0, 3);
  tcase_add_loop_test(t, broken, 0, 3);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
