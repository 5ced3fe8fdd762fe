/* keep_dtype: grammar, tolerances, canonical bytes, slips of the prefix. */
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "suites.h"

static struct oc_keep_list *parse(struct fixture *f, const char *text, unsigned flags)
{
  struct oc_keep_list *l = NULL;

  ck_assert_int_eq(oc_keep_parse(&f->arena, text, strlen(text), flags, &f->findings, &l),
                   0);
  return l;
}

static const char *canonical(struct fixture *f, const struct oc_keep_list *l)
{
  struct oc_buf b;

  oc_buf_init(&b, 1u << 20);
  ck_assert_int_eq(oc_keep_canonical(l, &b), 0);
  const char *text = oc_arena_strdup(&f->arena, oc_buf_str(&b));
  oc_buf_clear(&b);
  return text;
}

static const char *const same[] = {
  "a\nOpType::Relu\nb c\n",
  "a\r\nOpType::Relu\r\nb c\r\n",
  "a\rOpType::Relu\rb c",
  "\xef\xbb\xbf"
  "a\nOpType::Relu\nb c\n",
  "\n\n a \n  \t\n\tOpType::Relu \nb c",
  "a\nOpType::Relu\nb c",
  "a\r\nOpType::Relu\rb c\n",
};

START_TEST(equal_content_has_equal_bytes)
{
  struct fixture f;

  fixture_init(&f);
  struct oc_keep_list *l = parse(&f, same[_i], 0);
  ck_assert_uint_eq(l->n, 3);
  ck_assert(l->entries[1].by_type);
  ck_assert(oc_str_is(l->entries[1].name, "Relu"));
  ck_assert(oc_str_is(l->entries[2].name, "b c"));
  ck_assert_str_eq(canonical(&f, l), "a\nOpType::Relu\nb c\n");
  fixture_clear(&f);
}
END_TEST

START_TEST(lines_are_counted_as_in_the_file)
{
  struct fixture f;

  fixture_init(&f);
  struct oc_keep_list *l = parse(&f, "\n\na\n \nb\n", 0);
  ck_assert_uint_eq(l->entries[0].line, 3);
  ck_assert_uint_eq(l->entries[1].line, 5);
  ck_assert_uint_eq(l->n_blank_lines, 1);
  ck_assert(fixture_has(&f, OC_FINDING_LIST_BLANK_LINES));
  fixture_clear(&f);
}
END_TEST

START_TEST(a_clean_list_is_silent)
{
  struct fixture f;

  fixture_init(&f);
  parse(&f, "a\n\nOpType::Relu\r\n", 0);
  ck_assert_uint_eq(f.findings.n, 0);
  fixture_clear(&f);
}
END_TEST

START_TEST(vendor_reading_has_no_tolerance)
{
  struct fixture f;

  fixture_init(&f);
  struct oc_keep_list *l = parse(&f,
                                 "\xef\xbb\xbf"
                                 "a\n \n# x\n\nOptype::R\n",
                                 OC_LISTS_VENDOR);
  ck_assert_uint_eq(l->n, 4);
  ck_assert(oc_str_is(l->entries[0].name, "\xef\xbb\xbf"
                                          "a"));
  ck_assert_uint_eq(l->entries[1].name.len, 0);
  ck_assert(!l->entries[2].comment);
  ck_assert_int_eq(l->entries[3].slip, OC_KEEP_SLIP_NONE);
  ck_assert_uint_eq(f.findings.n, 0);
  fixture_clear(&f);
}
END_TEST

static bool is_hash_name(void *arg, const struct oc_keep_entry *e)
{
  return oc_str_is(e->text, arg);
}

START_TEST(comments_go_unless_an_op_has_that_name)
{
  struct fixture f;
  struct oc_buf b;

  fixture_init(&f);
  struct oc_keep_list *l = parse(&f, "# note\nOpType::Relu\n#3\n", 0);
  ck_assert_uint_eq(l->n_comments, 2);
  ck_assert(fixture_has(&f, OC_FINDING_LIST_COMMENTS));
  oc_buf_init(&b, 1000);
  oc_keep_backend_text(l, NULL, NULL, &b);
  ck_assert_str_eq(oc_buf_str(&b), "OpType::Relu\n");
  oc_buf_reset(&b);
  char name[] = "#3";
  oc_keep_backend_text(l, is_hash_name, name, &b);
  ck_assert_str_eq(oc_buf_str(&b), "OpType::Relu\n#3\n");
  oc_buf_clear(&b);
  fixture_clear(&f);
}
END_TEST

static const struct {
  const char *line;
  enum oc_keep_slip slip;
  const char *meant;
} slips[] = {
  { "Optype::Relu", OC_KEEP_SLIP_PREFIX_CASE, "OpType::Relu" },
  { "optype::Relu", OC_KEEP_SLIP_PREFIX_CASE, "OpType::Relu" },
  { "OpType:Relu", OC_KEEP_SLIP_ONE_COLON, "OpType::Relu" },
  { "OpType:: Relu", OC_KEEP_SLIP_BLANK, "OpType::Relu" },
  { "OpType ::Relu", OC_KEEP_SLIP_BLANK, "OpType::Relu" },
  { "OPTYPE:Relu", OC_KEEP_SLIP_PREFIX_CASE, "OpType::Relu" },
  { "OpType::Relu", OC_KEEP_SLIP_NONE, "" },
  { "OpTypes/conv", OC_KEEP_SLIP_NONE, "" },
  { "OpType", OC_KEEP_SLIP_NONE, "" },
  { "OpType::", OC_KEEP_SLIP_NONE, "" },
  { "a/OpType:Relu", OC_KEEP_SLIP_NONE, "" },
};

START_TEST(slips_of_the_prefix)
{
  struct fixture f;

  fixture_init(&f);
  struct oc_keep_list *l = parse(&f, slips[_i].line, 0);
  ck_assert_msg(l->entries[0].slip == slips[_i].slip, "%s", slips[_i].line);
  if (slips[_i].slip != OC_KEEP_SLIP_NONE)
    ck_assert_msg(oc_str_is(l->entries[0].meant, slips[_i].meant), "%s", slips[_i].line);
  fixture_clear(&f);
}
END_TEST

static const struct {
  const char *id;
  const char *bytes;
  size_t len;
  enum oc_finding_id finding;
  uint32_t line;
} bad[] = {
  { "utf-16 with mark",
    "\xff\xfe"
    "a\0b\0",
    6, OC_FINDING_LIST_UTF16, 1 },
  { "utf-16 without", "a\0b\0\n\0", 6, OC_FINDING_LIST_UTF16, 1 },
  { "nul", "abc\nx\0y\n", 8, OC_FINDING_LIST_NUL, 2 },
  { "latin-1", "abc\n\xe9t\xe9\n", 8, OC_FINDING_LIST_NOT_UTF8, 2 },
};

START_TEST(what_is_no_text_list)
{
  struct fixture f;
  struct oc_keep_list *l = NULL;

  fixture_init(&f);
  ck_assert_msg(oc_keep_parse(&f.arena, bad[_i].bytes, bad[_i].len, 0, &f.findings, &l) ==
                    OC_E_FORMAT,
                "%s", bad[_i].id);
  ck_assert_ptr_null(l);
  ck_assert_uint_eq(f.findings.n, 1);
  ck_assert_msg(f.findings.items[0].id == bad[_i].finding, "%s", bad[_i].id);
  ck_assert_uint_eq(f.findings.items[0].line, bad[_i].line);
  ck_assert_str_eq(f.findings.items[0].flag, "keep_dtype");
  fixture_clear(&f);
}
END_TEST

START_TEST(a_comment_may_be_in_any_encoding)
{
  struct fixture f;

  fixture_init(&f);
  ck_assert_uint_eq(parse(&f, "# caf\xe9\na\n", 0)->n, 2);
  fixture_clear(&f);
}
END_TEST

START_TEST(a_million_lines)
{
  const size_t n = 1000000;
  auto_free char *text = malloc(2 * n);
  struct fixture f;
  struct oc_keep_list *l = NULL;

  fixture_init(&f);
  for (size_t i = 0; i < n; i++)
    memcpy(text + 2 * i, "a\n", 2);
  ck_assert_int_eq(oc_keep_parse(&f.arena, text, 2 * n, 0, &f.findings, &l), 0);
  ck_assert_uint_eq(l->n, n);
  ck_assert_uint_eq(l->entries[n - 1].line, n);
  fixture_clear(&f);
}
END_TEST

START_TEST(a_megabyte_line)
{
  const size_t n = 1u << 20;
  auto_free char *text = malloc(n);
  struct fixture f;
  struct oc_keep_list *l = NULL;

  fixture_init(&f);
  memset(text, 'x', n);
  ck_assert_int_eq(oc_keep_parse(&f.arena, text, n, 0, &f.findings, &l), 0);
  ck_assert_uint_eq(l->entries[0].name.len, n);
  fixture_clear(&f);
}
END_TEST

START_TEST(tolerances_are_noted_once)
{
  struct fixture f;

  fixture_init(&f);
  parse(&f,
        "\xef\xbb\xbf"
        "a\rb\rc",
        0);
  ck_assert(fixture_has(&f, OC_FINDING_LIST_BOM));
  ck_assert(fixture_has(&f, OC_FINDING_LIST_BARE_CR));
  ck_assert(fixture_has(&f, OC_FINDING_LIST_NO_NEWLINE));
  ck_assert_uint_eq(f.findings.n, 3);
  for (size_t i = 0; i < f.findings.n; i++)
    ck_assert_int_eq(f.findings.items[i].severity, OC_SEV_NOTE);
  fixture_clear(&f);
}
END_TEST

START_TEST(a_model_given_as_a_list)
{
  struct fixture f;
  struct oc_keep_list *l = NULL;

  fixture_init(&f);
  /* the size is looked at before any byte */
  ck_assert_int_eq(
      oc_keep_parse(&f.arena, "a", OC_MAX_LIST_BYTES + 1u, 0, &f.findings, &l),
      OC_E_FORMAT);
  ck_assert(fixture_has(&f, OC_FINDING_LIST_TOO_LARGE));
  fixture_clear(&f);
}
END_TEST

START_TEST(an_empty_file_is_an_empty_list)
{
  struct fixture f;

  fixture_init(&f);
  ck_assert_uint_eq(parse(&f, "", 0)->n, 0);
  ck_assert_uint_eq(f.findings.n, 0);
  fixture_clear(&f);
}
END_TEST

TCase *keep_cases(void)
{
  TCase *c = tcase_create("keep_dtype");

  tcase_add_loop_test(c, equal_content_has_equal_bytes, 0, (int)OC_COUNT(same));
  tcase_add_test(c, lines_are_counted_as_in_the_file);
  tcase_add_test(c, a_clean_list_is_silent);
  tcase_add_test(c, vendor_reading_has_no_tolerance);
  tcase_add_test(c, comments_go_unless_an_op_has_that_name);
  tcase_add_loop_test(c, slips_of_the_prefix, 0, (int)OC_COUNT(slips));
  tcase_add_loop_test(c, what_is_no_text_list, 0, (int)OC_COUNT(bad));
  tcase_add_test(c, a_comment_may_be_in_any_encoding);
  tcase_add_test(c, a_million_lines);
  tcase_add_test(c, a_megabyte_line);
  tcase_add_test(c, tolerances_are_noted_once);
  tcase_add_test(c, a_model_given_as_a_list);
  tcase_add_test(c, an_empty_file_is_an_empty_list);
  return c;
}
