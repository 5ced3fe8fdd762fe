/* customize_dtypes: one row per rule of its grammar. */
#include <string.h>

#include "suites.h"

static const struct {
  const char *text;
  unsigned n;       /* entries when it is right */
  const char *code; /* of the last finding when it is wrong */
} rows[] = {
  { "a:InputDtype:float16", 1, "" },
  { "a::InputDtype:float16,OutputDtype:float32\n", 1, "" },
  { "OpType::Relu:InputDtype:float16\r\n", 1, "" },
  { "a:OutputDtype:float16", 1, "" },
  { "a:InputDtype:", 1, "" },
  { "a:InputDtype:,,float16", 1, "" },
  { "a:InputDtype:float16OutputDtype:int8", 1, "" },
  { "a:InputDtype:FLOAT16", 1, "" },
  { "a:InputDtype:hifloat8", 1, "" },
  { "a b:InputDtype:double", 1, "" },
  { "a:InputDtype:float16\na:InputDtype:float32", 2, "" },
  { "a:InputDtype:float64", 0, "E20101" },
  { "a:InputDtype:fp16", 0, "E20101" },
  { "a:InputDtype:DT_FLOAT16", 0, "E20101" },
  { "a:InputDtype:undefined", 0, "E20101" },
  { "a:OutputDtype:float16,InputDtype:float16", 0, "E20101" },
  { "a:InputDtype", 0, "E20101" },
  { "a:float16", 0, "E20101" },
  { ":InputDtype:float16", 0, "E20101" },
  { "a", 0, "E20101" },
};

START_TEST(grammar)
{
  struct fixture f;
  struct oc_custom_list *l = NULL;

  fixture_init(&f);
  int rc = oc_custom_parse(&f.arena, rows[_i].text, strlen(rows[_i].text),
                           OC_LISTS_VENDOR, &f.findings, &l);
  ck_assert_msg((rc == 0) == (rows[_i].n > 0), "%s", rows[_i].text);
  if (rows[_i].n) {
    ck_assert_uint_eq(l->n, rows[_i].n);
  } else {
    const struct oc_finding *last = &f.findings.items[f.findings.n - 1];
    ck_assert_str_eq(oc_finding_info(last->id)->vendor_code, rows[_i].code);
    ck_assert_int_eq(last->id, OC_FINDING_CUSTOMIZE_SYNTAX);
    ck_assert_uint_eq(last->line, 1);
  }
  oc_custom_clear(l);
  fixture_clear(&f);
}
END_TEST

START_TEST(entries_and_lookup)
{
  static const char text[] = "OpType::Relu:InputDtype:float16\n"
                             "r1:InputDtype:float32,int8,OutputDtype:bfloat16\n"
                             "r1:InputDtype:int8\n"
                             " OpType::Add:InputDtype:int8\n";
  struct fixture f;
  struct oc_custom_list *l = NULL;

  fixture_init(&f);
  ck_assert_int_eq(oc_custom_parse(&f.arena, text, strlen(text), 0, &f.findings, &l), 0);
  const struct oc_custom_entry *e = oc_custom_find(l, "r1", "Relu");
  ck_assert_uint_eq(e->line, 2);
  ck_assert_uint_ge(e->n_inputs, 2);
  ck_assert_int_eq(e->inputs[0], OC_DT_F32);
  ck_assert_int_eq(e->inputs[1], OC_DT_I8);
  ck_assert_int_eq(e->outputs[0], OC_DT_BF16);
  ck_assert_uint_eq(oc_custom_find(l, "r2", "Relu")->line, 1);
  ck_assert(l->entries[2].ignored);
  ck_assert(fixture_has(&f, OC_FINDING_CUSTOMIZE_TWICE));
  /* behind a blank the prefix is no prefix: the name ends at the first colon */
  ck_assert_ptr_null(oc_custom_find(l, "x", "Add"));
  ck_assert_ptr_nonnull(oc_custom_find(l, "OpType", "x"));
  oc_custom_clear(l);
  fixture_clear(&f);
}
END_TEST

START_TEST(canonical_bytes_read_back_the_same)
{
  static const char text[] =
      "\xef\xbb\xbf# c\n\n OpType::Add:InputDtype:int8 \r\nOpType::Mul:OutputDtype:int8";
  struct fixture f;
  struct oc_custom_list *a = NULL, *b = NULL;
  struct oc_buf bytes;

  fixture_init(&f);
  ck_assert_int_eq(oc_custom_parse(&f.arena, text, strlen(text), 0, &f.findings, &a), 0);
  ck_assert_uint_eq(a->n, 2);
  ck_assert(fixture_has(&f, OC_FINDING_LIST_BOM));
  ck_assert(fixture_has(&f, OC_FINDING_LIST_COMMENTS));
  oc_buf_init(&bytes, 10000);
  ck_assert_int_eq(oc_custom_canonical(a, &bytes), 0);
  ck_assert_int_eq(
      oc_custom_parse(&f.arena, bytes.data, bytes.len, OC_LISTS_VENDOR, &f.findings, &b),
      0);
  ck_assert_uint_eq(b->n, 2);
  ck_assert_uint_eq(b->entries[0].by_type, a->entries[0].by_type);
  ck_assert_uint_eq(b->entries[1].by_type, 1);
  oc_buf_clear(&bytes);
  oc_custom_clear(a);
  oc_custom_clear(b);
  fixture_clear(&f);
}
END_TEST

START_TEST(reading_stops_at_a_long_line)
{
  char text[3000];
  struct fixture f;
  struct oc_custom_list *l = NULL;

  fixture_init(&f);
  memset(text, 'x', sizeof text);
  memcpy(text, "a:InputDtype:int8\n", 18);
  memcpy(text + 2000, "\nb:InputDtype:int8", 18);
  ck_assert_int_eq(oc_custom_parse(&f.arena, text, 2018, 0, &f.findings, &l), 0);
  ck_assert_uint_eq(l->n, 1);
  ck_assert(fixture_has(&f, OC_FINDING_CUSTOMIZE_LONG_LINE));
  oc_custom_clear(l);
  fixture_clear(&f);
}
END_TEST

START_TEST(wrong_words_have_a_right_one)
{
  static const char text[] = "a:InputDtype:FP16";
  struct fixture f;
  struct oc_custom_list *l = NULL;

  fixture_init(&f);
  ck_assert_int_eq(oc_custom_parse(&f.arena, text, strlen(text), 0, &f.findings, &l),
                   OC_E_FORMAT);
  ck_assert_int_eq(f.findings.items[0].id, OC_FINDING_CUSTOMIZE_DTYPE);
  ck_assert_str_eq(f.findings.items[0].args[0].value, "float16");
  fixture_clear(&f);
}
END_TEST

TCase *custom_cases(void)
{
  TCase *c = tcase_create("customize_dtypes");

  tcase_add_loop_test(c, grammar, 0, (int)OC_COUNT(rows));
  tcase_add_test(c, entries_and_lookup);
  tcase_add_test(c, canonical_bytes_read_back_the_same);
  tcase_add_test(c, reading_stops_at_a_long_line);
  tcase_add_test(c, wrong_words_have_a_right_one);
  return c;
}
