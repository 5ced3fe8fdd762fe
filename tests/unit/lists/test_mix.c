/* modify_mixlist: shapes, allowed combinations, canonical form. */
#include <string.h>

#include "suites.h"

static const struct {
  const char *text;
  const char *code; /* "" = fine */
  enum oc_finding_id id;
} rows[] = {
  { "{}", "", 0 },
  { "{} trailing text", "", 0 },
  { "{\"white-list\":{}}", "", 0 },
  { "{\"white-list\":{\"to-add\":[\"A\",\"A\"]}}", "", 0 },
  { "{\"black-list\":{\"to-remove\":[\"A\"]}}", "", 0 },
  { "{\"gray-list\":{\"to-add\":[\"A\"]},\"black-list\":{\"to-remove\":[\"A\"]}}", "",
    0 },
  { "{\"white-list\":{\"to-add\":[\"A\"]},\"gray-list\":{\"to-remove\":[\"A\"]}}", "",
    0 },
  { "{\"gray-list\":{\"to-remove\":[\"A\"]}}", "E20003", OC_FINDING_MIXLIST_CONFLICT },
  { "{\"white-list\":{\"to-add\":[\"A\"],\"to-remove\":[\"A\"]}}", "E20003",
    OC_FINDING_MIXLIST_CONFLICT },
  { "{\"white-list\":{\"to-remove\":[\"A\"]},\"black-list\":{\"to-remove\":[\"A\"]}}",
    "E20003", OC_FINDING_MIXLIST_CONFLICT },
  { "{\"white-list\":{\"to-add\":[\"A\"]},\"black-list\":{\"to-add\":[\"A\"]}}", "E20003",
    OC_FINDING_MIXLIST_CONFLICT },
  { "[]", "E21002", OC_FINDING_MIXLIST_SHAPE },
  { "{\"white-list\":[]}", "E21002", OC_FINDING_MIXLIST_SHAPE },
  { "{\"white-list\":{\"to-add\":\"A\"}}", "E21002", OC_FINDING_MIXLIST_SHAPE },
  { "{\"white-list\":{\"to-add\":[1]}}", "E21002", OC_FINDING_MIXLIST_SHAPE },
  { "{\"white-list\":{\"add\":[]}}", "E21002", OC_FINDING_MIXLIST_SHAPE },
  { "{\"whitelist\":{}}", "E21002", OC_FINDING_MIXLIST_SHAPE },
  { "{\"white-list\":{},}", "E21002", OC_FINDING_MIXLIST_JSON },
  { "// c\n{}", "E21002", OC_FINDING_MIXLIST_JSON },
  { "{\"white-list\":{},\"white-list\":{}}", "E21002", OC_FINDING_MIXLIST_SHAPE },
};

START_TEST(grammar)
{
  struct fixture f;
  struct oc_mix_list *l = NULL;

  fixture_init(&f);
  int rc =
      oc_mix_parse(&f.arena, rows[_i].text, strlen(rows[_i].text), 0, &f.findings, &l);
  ck_assert_msg((rc == 0) == (*rows[_i].code == 0), "%s", rows[_i].text);
  if (*rows[_i].code)
    ck_assert_msg(
        oc_streq(oc_finding_info(f.findings.items[0].id)->vendor_code, rows[_i].code),
        "%s", rows[_i].text);
  else
    ck_assert_uint_eq(f.findings.n, 0);
  if (*rows[_i].code)
    ck_assert_int_eq(f.findings.items[0].id, rows[_i].id);
  oc_mix_clear(l);
  fixture_clear(&f);
}
END_TEST

START_TEST(an_empty_file_is_told_apart)
{
  struct fixture f;
  struct oc_mix_list *l = NULL;

  fixture_init(&f);
  ck_assert_int_eq(oc_mix_parse(&f.arena, " \n", 2, 0, &f.findings, &l), OC_E_FORMAT);
  ck_assert(fixture_has(&f, OC_FINDING_MIXLIST_EMPTY));
  fixture_clear(&f);
}
END_TEST

START_TEST(the_vendor_takes_the_last_of_two_keys)
{
  static const char text[] =
      "{\"white-list\":{\"to-add\":[\"A\"]},\"white-list\":{\"to-add\":[\"B\"]}}";
  struct fixture f;
  struct oc_mix_list *l = NULL;

  fixture_init(&f);
  ck_assert_int_eq(
      oc_mix_parse(&f.arena, text, strlen(text), OC_LISTS_VENDOR, &f.findings, &l), 0);
  ck_assert_ptr_null(oc_mix_find(l, "A"));
  ck_assert_ptr_nonnull(oc_mix_find(l, "B"));
  oc_mix_clear(l);
  fixture_clear(&f);
}
END_TEST

START_TEST(canonical_order)
{
  static const char a[] = "{\"white-list\":{\"to-add\":[\"B\",\"A\",\"B\"]},\"black-"
                          "list\":{\"to-remove\":[\"A\"]}}";
  static const char b[] = "{ \"black-list\": {\"to-remove\": [\"A\"]}, \"white-list\": "
                          "{\"to-add\": [\"A\", \"B\"]} }";
  static const char *const texts[] = { a, b };
  struct fixture f;
  struct oc_buf out;

  fixture_init(&f);
  oc_buf_init(&out, 10000);
  for (size_t i = 0; i < 2; i++) {
    struct oc_mix_list *l = NULL;
    oc_buf_reset(&out);
    ck_assert_int_eq(
        oc_mix_parse(&f.arena, texts[i], strlen(texts[i]), 0, &f.findings, &l), 0);
    ck_assert_uint_eq(l->n, 3);
    ck_assert_int_eq(oc_mix_canonical(l, &out), 0);
    ck_assert_str_eq(oc_buf_str(&out), "{\"black-list\":{\"to-remove\":[\"A\"]},\"white-"
                                       "list\":{\"to-add\":[\"A\",\"B\"]}}");
    ck_assert_uint_eq(oc_mix_find(l, "A")->add, 1u << OC_MIX_WHITE);
    ck_assert_uint_eq(oc_mix_find(l, "A")->remove, 1u << OC_MIX_BLACK);
    oc_mix_clear(l);
  }
  oc_buf_clear(&out);
  fixture_clear(&f);
}
END_TEST

TCase *mix_cases(void)
{
  TCase *c = tcase_create("modify_mixlist");

  tcase_add_loop_test(c, grammar, 0, (int)OC_COUNT(rows));
  tcase_add_test(c, an_empty_file_is_told_apart);
  tcase_add_test(c, the_vendor_takes_the_last_of_two_keys);
  tcase_add_test(c, canonical_order);
  return c;
}
