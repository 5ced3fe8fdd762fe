/* Shapes, symbols, and elements of constants of every dtype. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "graph/graph.h"

static struct oc_arena arena;

static void setup(void)
{
  oc_arena_init(&arena, 0);
}

static void teardown(void)
{
  oc_arena_clear(&arena);
}

START_TEST(shapes)
{
  const int64_t dims[] = { 2, 3 }, open[] = { 2, -5 },
                empty[] = { 0, INT64_MAX, INT64_MAX };
  const int64_t huge[] = { INT64_MAX, 2 };
  uint64_t n = 0;
  ck_assert(!oc_shape_unknown().known_rank);
  ck_assert(oc_shape_is_static(oc_shape_scalar()));
  ck_assert(oc_shape_elements(oc_shape_scalar(), &n) && n == 1);
  struct oc_shape a = oc_shape_of(&arena, dims, 2), b = oc_shape_of(&arena, open, 2);
  ck_assert(oc_shape_elements(a, &n) && n == 6);
  ck_assert(!oc_shape_elements(b, &n));
  ck_assert(!oc_shape_is_static(b));
  ck_assert(!oc_shape_is_static(oc_shape_unknown()));
  ck_assert(oc_shape_elements(oc_shape_of(&arena, empty, 3), &n) && n == 0);
  ck_assert(!oc_shape_elements(oc_shape_of(&arena, huge, 2), &n));
  ck_assert(oc_shape_eq(a, a) && !oc_shape_eq(a, b));
  ck_assert(oc_shape_eq(oc_shape_unknown(), oc_shape_unknown()));
  ck_assert(!oc_shape_eq(oc_shape_unknown(), oc_shape_scalar()));
}
END_TEST

START_TEST(symbols_are_the_root_graph_s)
{
  struct oc_graph *root = oc_graph_new(&arena, "root");
  struct oc_graph *sub = oc_graph_new(&arena, "sub");
  sub->parent = root;
  int64_t a = oc_graph_new_symbol(root);
  int64_t b = oc_graph_new_symbol(sub);
  ck_assert_int_lt(a, OC_DIM_UNKNOWN);
  ck_assert_int_lt(b, a);
  int64_t named = oc_graph_symbol(sub, oc_str_of("batch"));
  ck_assert_int_eq(oc_graph_symbol(root, oc_str_of("batch")), named);
  ck_assert_str_eq(oc_graph_symbol_name(root, named), "batch");
  ck_assert_ptr_null(oc_graph_symbol_name(root, a));
}
END_TEST

/* Two elements each; the second is read. */
static const struct {
  enum oc_dtype dtype;
  const char *bytes;
  size_t len;
  bool good;
  int64_t want;
} rows[] = {
  { OC_DT_I8, "\x01\xff", 2, true, -1 },
  { OC_DT_U8, "\x01\xff", 2, true, 255 },
  { OC_DT_BOOL, "\x00\x02", 2, true, 1 },
  { OC_DT_I16, "\0\0\xfe\xff", 4, true, -2 },
  { OC_DT_U16, "\0\0\xfe\xff", 4, true, 65534 },
  { OC_DT_I32, "\0\0\0\0\xff\xff\xff\x7f", 8, true, INT32_MAX },
  { OC_DT_U32, "\0\0\0\0\xff\xff\xff\xff", 8, true, UINT32_MAX },
  { OC_DT_I64, "\0\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\x7f", 16, true, INT64_MAX },
  { OC_DT_U64, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x80", 16, false, 0 },
  { OC_DT_F32, "\0\0\0\0\0\0\x40\x40", 8, true, 3 },
  { OC_DT_F32, "\0\0\0\0\0\0\xc0\x7f", 8, false, 0 }, /* NaN */
  { OC_DT_F32, "\0\0\0\0\0\0\x00\x5f", 8, false, 0 }, /* 2^63 */
  { OC_DT_F16, "\0\0\x00\xc2", 4, true, -3 },
  { OC_DT_BF16, "\0\0\x40\x40", 4, true, 3 },
  { OC_DT_F64, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x08\x40", 16, true, 3 },
  { OC_DT_I4, "\xe1", 1, true, -2 },
  { OC_DT_C64, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16, false, 0 },
  { OC_DT_I32, "\0\0\0\0\1\0\0", 7, false, 0 }, /* shorter than its shape */
};

START_TEST(elements)
{
  const int64_t two = 2;
  struct oc_value v = { .dtype = rows[_i].dtype,
                        .shape = oc_shape_of(&arena, &two, 1),
                        .data = (const uint8_t *)rows[_i].bytes,
                        .len = rows[_i].len };
  int64_t got = 0;
  ck_assert_msg(oc_value_int(&v, 1, &got) == rows[_i].good, "row %d", _i);
  if (rows[_i].good)
    ck_assert_msg(got == rows[_i].want, "row %d gives %lld", _i, (long long)got);
  ck_assert(!oc_value_int(&v, 2, &got));
}
END_TEST

START_TEST(lists)
{
  const int64_t two = 2, none = 0, many = 70000;
  const float whole[] = { 1.0f, -2.0f }, part[] = { 1.0f, 0.5f };
  struct oc_value v = { .dtype = OC_DT_F32,
                        .shape = oc_shape_of(&arena, &two, 1),
                        .data = (const uint8_t *)whole,
                        .len = sizeof(whole) };
  size_t n = 0;
  const int64_t *list = oc_value_ints(&arena, &v, &n);
  ck_assert_ptr_nonnull(list);
  ck_assert_uint_eq(n, 2);
  ck_assert_int_eq(list[1], -2);
  v.data = (const uint8_t *)part;
  ck_assert_ptr_null(oc_value_ints(&arena, &v, &n));
  v.shape = oc_shape_of(&arena, &none, 1);
  v.len = 0;
  ck_assert_ptr_nonnull(oc_value_ints(&arena, &v, &n));
  ck_assert_uint_eq(n, 0);
  uint8_t *big = calloc((size_t)many, 1);
  v = (struct oc_value){ OC_DT_U8, oc_shape_of(&arena, &many, 1), big, (size_t)many,
                         false };
  ck_assert_uint_eq(oc_value_count(&v), 70000);
  ck_assert_ptr_null(oc_value_ints(&arena, &v, &n));
  free(big);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("graph_values");
  TCase *t = tcase_create("values");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, shapes);
  tcase_add_test(t, symbols_are_the_root_graph_s);
  tcase_add_loop_test(t, elements, 0, (int)(sizeof(rows) / sizeof(rows[0])));
  tcase_add_test(t, lists);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
