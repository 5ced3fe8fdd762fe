/* op_precision_mode: sections, first wins, unknown modes. */
#include <string.h>

#include "suites.h"

START_TEST(sections_and_order)
{
  static const char text[] =
      "Add = high_precision\n# c\n\n[ ByNodeName ]\nn1=high_performance\n"
      "[ByOpType]\nAdd=high_performance\nMul=very_fast\n";
  struct fixture f;
  struct oc_impl_list *l = NULL;
  struct oc_buf out;

  fixture_init(&f);
  ck_assert_int_eq(oc_impl_parse(&f.arena, text, strlen(text), 0, &f.findings, &l), 0);
  ck_assert_uint_eq(l->n, 4);
  ck_assert(!l->entries[0].by_name);
  ck_assert(l->entries[1].by_name);
  ck_assert(l->entries[2].ignored);
  ck_assert(l->entries[3].ignored);
  ck_assert(fixture_has(&f, OC_FINDING_IMPL_MODE_UNKNOWN));
  oc_buf_init(&out, 1000);
  ck_assert_int_eq(oc_impl_canonical(l, &out), 0);
  ck_assert_str_eq(oc_buf_str(&out),
                   "[ByOpType]\nAdd=high_precision\n[ByNodeName]\nn1=high_performance\n");
  oc_buf_clear(&out);
  fixture_clear(&f);
}
END_TEST

START_TEST(a_line_without_a_mode)
{
  struct fixture f;
  struct oc_impl_list *l = NULL;

  fixture_init(&f);
  ck_assert_int_eq(
      oc_impl_parse(&f.arena, "Add=high_precision\nMul\n", 23, 0, &f.findings, &l),
      OC_E_FORMAT);
  ck_assert_int_eq(f.findings.items[0].id, OC_FINDING_IMPL_MODE_LINE);
  ck_assert_uint_eq(f.findings.items[0].line, 2);
  fixture_clear(&f);
}
END_TEST

TCase *impl_cases(void)
{
  TCase *c = tcase_create("op_precision_mode");

  tcase_add_test(c, sections_and_order);
  tcase_add_test(c, a_line_without_a_mode);
  return c;
}
