/* The table itself, and what each backend says about well-formed flags. */
#include <string.h>

#include "base/buf.h"
#include "base/str.h"
#include "flags/flags.h"
#include "suites.h"

START_TEST(rows_are_whole)
{
  size_t n, n_atc = 0;
  const struct oc_flag_info *rows = oc_flag_table(&n);

  for (size_t i = 0; i < n; i++) {
    const struct oc_flag_info *row = &rows[i];

    n_atc += !row->ours;
    ck_assert_msg(oc_flag_find(row->name) == row, "%s is there twice", row->name);
    ck_assert_msg(!strchr(row->name, '-'), "%s", row->name);
    ck_assert_msg(row->key != OC_FLAG_KEY_NEUTRAL || *row->key_reason, "%s", row->name);
    ck_assert_msg((row->key == OC_FLAG_KEY_CONTENT) ==
                      (row->content == OC_FLAG_FILE || row->content == OC_FLAG_LIST ||
                       row->content == OC_FLAG_DIR),
                  "%s: content key and path kind disagree", row->name);
    if (row->n_choices && *row->normal) {
      bool found = false;

      for (size_t c = 0; c < row->n_choices; c++)
        found = found || !strcmp(row->choices[c], row->normal);
      ck_assert_msg(found, "%s: default '%s' is no choice", row->name, row->normal);
    }
  }
  ck_assert_uint_eq(n_atc, 90); /* 85 defined flags and five registered options */
}
END_TEST

struct row {
  const char *name, *value;
  enum oc_flags_backend backend;
  const char *finding; /* "" = none */
};

static const struct row rows[] = {
  { "new_flag", "1", OC_FLAGS_BUILTIN, "flag-unknown" },
  { "new_flag", "1", OC_FLAGS_ATC, "flag-passed-on" },
  { "precision_mode", "force_fp61", OC_FLAGS_BUILTIN, "flag-bad-word" },
  { "precision_mode", "force_fp61", OC_FLAGS_ATC, "flag-word-passed-on" },
  { "precision_mode", "force_fp32", OC_FLAGS_BUILTIN, "" },
  { "external_weight", "1", OC_FLAGS_BUILTIN, "flag-refused" },
  { "external_weight", "1", OC_FLAGS_ATC, "" },
  { "insert_op_conf", "f", OC_FLAGS_BUILTIN, "" },
  { "buffer_optimize", "off_optimize", OC_FLAGS_BUILTIN, "flag-no-effect" },
  { "buffer_optimize", "l2_optimize", OC_FLAGS_BUILTIN, "" },
  { "buffer_optimize", "off_optimize", OC_FLAGS_ATC, "" },
  { "log", "debug", OC_FLAGS_BUILTIN, "" },
  { "mode", "0", OC_FLAGS_BUILTIN, "" },
  { "mode", "3", OC_FLAGS_BUILTIN, "flag-mode-refused" },
  { "mode", "3", OC_FLAGS_ATC, "" },
  { "input_format", "NCHW", OC_FLAGS_BUILTIN, "" },
  { "input_format", "NHWC", OC_FLAGS_BUILTIN, "" },
};

START_TEST(backends)
{
  const struct row *row = &rows[_i];
  struct oc_arena arena;
  struct oc_findings findings;
  struct oc_flags flags;

  oc_arena_init(&arena, 1 << 20);
  oc_findings_init(&findings, &arena);
  oc_flags_init(&flags, &arena);
  ck_assert_int_eq(oc_flags_set(&flags, row->name, row->value), 0);
  oc_flags_check_backend(&flags, row->backend, &findings);
  ck_assert_uint_le(findings.n, 1);
  ck_assert_str_eq(findings.n ? oc_finding_info(findings.items[0].id)->id : "",
                   row->finding);
  ck_assert(row->backend == OC_FLAGS_BUILTIN || !oc_findings_have_errors(&findings));
  oc_arena_clear(&arena);
}
END_TEST

START_TEST(nearest)
{
  struct oc_arena arena;
  struct oc_findings findings;
  struct oc_flags flags;
  struct oc_buf text;

  oc_arena_init(&arena, 1 << 20);
  oc_findings_init(&findings, &arena);
  oc_flags_init(&flags, &arena);
  oc_buf_init(&text, 1000);
  ck_assert_str_eq(oc_flag_nearest("keep_dtpye", false), "keep_dtype");
  ck_assert_int_eq(oc_flags_set(&flags, "keep_dtpye", "f"), 0);
  oc_flags_check_backend(&flags, OC_FLAGS_BUILTIN, &findings);
  ck_assert_int_eq(oc_finding_format(oc_finding_info(findings.items[0].id)->fix,
                                     &findings.items[0], &text),
                   0);
  ck_assert_str_eq(oc_buf_str(&text), "did you mean '--keep_dtype'");
  oc_buf_clear(&text);
  oc_arena_clear(&arena);
}
END_TEST

TCase *table_cases(void)
{
  TCase *t = tcase_create("table");

  tcase_add_test(t, rows_are_whole);
  tcase_add_loop_test(t, backends, 0, sizeof(rows) / sizeof(rows[0]));
  tcase_add_test(t, nearest);
  return t;
}
