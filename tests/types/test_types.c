/* Every IR type that an importer or a pass can make is known on every chip: in the chip's
 * table, in the AI CPU list, among the ops that never reach a table, behind a retyping
 * row that always applies, or in schema/ops/unsupported.yaml with the reason that users
 * get. What an importer can make is read from its own tables and from the string literals
 * of its sources that are IR types; where a retyping row leads is checked row by row. */
#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "import/onnx/build.h"
#include "import/tensorflow/rules.h"
#include "optable/optable.h"
#include "shipped/shipped.h"

static struct oc_optable *tables;
static struct oc_arena arena;
static struct oc_map types; /* a set */

/* Calls `fn` for every file of a source folder with this ending. */
static void each_file(const char *folder, const char *ending,
                      void (*fn)(const char *name, const char *text, size_t len))
{
  const char *root = getenv("OMCC_SOURCE_DIR");
  char path[4096];

  snprintf(path, sizeof path, "%s/%s", root ? root : ".", folder);
  auto_closedir DIR *d = opendir(path);
  ck_assert_msg(d != NULL, "%s", path);
  size_t len = strlen(path);
  for (struct dirent *e = readdir(d); e; e = readdir(d)) {
    if (!oc_ends_with(e->d_name, ending))
      continue;
    size_t n = 0;
    snprintf(path + len, sizeof path - len, "/%s", e->d_name);
    auto_free char *text = oc_shipped_file(path, &n);
    ck_assert_msg(text != NULL, "%s", path);
    fn(e->d_name, text, n);
  }
}

/* The name of a model operator that no importer gives to an op. */
static bool is_source_type(const char *type)
{
  bool source = false;
  size_t n = 0;

  for (const struct onnx_rule *r; (r = onnx_rule_at(n)) != NULL; n++) {
    if (oc_streq(r->to, type))
      return false;
    source = source || oc_streq(r->op, type);
  }
  n = 0;
  for (const struct tf_rule *r; (r = tf_rule_at(n)) != NULL; n++) {
    if (oc_streq(r->to, type))
      return false;
    source = source || oc_streq(r->op, type);
  }
  return source;
}

static void add_type(const char *type, size_t len)
{
  const char *name = oc_arena_strndup(&arena, type, len);

  if (oc_optable_ir(tables, name) && !is_source_type(name))
    ck_assert_int_eq(oc_map_puts(&types, name, (void *)(uintptr_t)name), 0);
}

static void add_literals(const char *name, const char *text, size_t len)
{
  const char *end = text + len;

  (void)name;
  for (const char *p = text; (p = memchr(p, '"', (size_t)(end - p))) != NULL;) {
    size_t n = strcspn(++p, "\"\\\n");
    if (n > 1 && p[0] >= 'A' && p[0] <= 'Z')
      add_type(p, n);
    p += n + (p[n] == '"');
  }
}

static void load(void)
{
  struct oc_error err = { 0 };
  size_t n = 0;

  oc_arena_init(&arena, 0);
  tables = oc_shipped_tables(NULL, &err);
  ck_assert_msg(tables != NULL, "%s", err.msg);
  for (const struct onnx_rule *r; (r = onnx_rule_at(n)) != NULL; n++)
    if (r->to)
      add_type(r->to, strlen(r->to));
  ck_assert_uint_gt(n, 150);
  n = 0;
  for (const struct tf_rule *r; (r = tf_rule_at(n)) != NULL; n++)
    if (r->to)
      add_type(r->to, strlen(r->to));
  ck_assert_uint_gt(n, 150);
  each_file("daemon/compiler/import/onnx", ".c", add_literals);
  each_file("daemon/compiler/import/tensorflow", ".c", add_literals);
  each_file("daemon/compiler/passes", ".c", add_literals);
  ck_assert_uint_gt(types.n, 150);
}

static void unload(void)
{
  oc_map_clear(&types);
  oc_optable_free(tables);
  oc_arena_clear(&arena);
}

/* The row that always gives an op of this type another one, NULL when there is none. */
static const struct oc_retype *always_row(const char *type, const struct oc_table *t)
{
  size_t n = 0;
  const struct oc_retype *rows = oc_optable_retypes(tables, &n);

  for (size_t i = 0; i < n; i++)
    if (oc_streq(rows[i].from, type) && oc_streq(rows[i].when, "always") &&
        oc_retype_applies(&rows[i], t->id) &&
        (oc_streq(rows[i].how, "remove") || oc_table_find(t, rows[i].to)))
      return &rows[i];
  return NULL;
}

static bool is_known(const char *type, const struct oc_table *t)
{
  return oc_table_find(t, type) || oc_optable_aicpu(tables, type) ||
         oc_optable_graph_kind(tables, type) != OC_GRAPH_KIND_NONE ||
         always_row(type, t) || oc_optable_unsupported(tables, type, t->id);
}

START_TEST(every_type_is_known_on_every_chip)
{
  struct oc_buf missing;
  size_t n = 0;
  const struct oc_soc *const *socs = oc_optable_socs(tables, &n);
  const struct oc_table *last = NULL;

  oc_buf_init(&missing, 1u << 20);
  ck_assert_uint_gt(n, 20);
  for (size_t s = 0; s < n; s++) {
    ck_assert_msg(socs[s]->table != NULL, "%s has no table", socs[s]->name);
    if (socs[s]->table == last)
      continue;
    last = socs[s]->table;
    for (size_t i = 0; i < types.n; i++)
      if (!is_known(types.entries[i].value, last))
        oc_buf_printf(&missing, "%s %s\n", last->id,
                      (const char *)types.entries[i].value);
  }
  ck_assert_msg(missing.len == 0, "\n%s", oc_buf_str(&missing));
  oc_buf_clear(&missing);
}
END_TEST

/* What is listed as unsupported is not supported after all by one of the tables it
 * names. */
START_TEST(unsupported_means_unsupported)
{
  size_t n = 0;
  const struct oc_soc *const *socs = oc_optable_socs(tables, &n);

  for (size_t s = 0; s < n; s++)
    for (size_t i = 0; i < types.n; i++) {
      const char *type = types.entries[i].value;
      const struct oc_table *t = socs[s]->table;
      const struct oc_unsupported *u = oc_optable_unsupported(tables, type, t->id);
      if (!u)
        continue;
      const struct oc_table_op *row = oc_table_find(t, type);
      ck_assert_msg(!row || row->flags & OC_TABLE_NO_COLUMNS, "%s is in table %s", type,
                    t->id);
      ck_assert_msg(!always_row(type, t), "%s is retyped on %s", type, t->id);
      ck_assert_msg(strlen(u->reason) > 10, "%s has no reason", type);
    }
}
END_TEST

/* A row leads to a type that its tables have, and says where it is from. */
START_TEST(retyping_rows_lead_somewhere)
{
  size_t n = 0, n_socs = 0;
  const struct oc_retype *rows = oc_optable_retypes(tables, &n);
  const struct oc_soc *const *socs = oc_optable_socs(tables, &n_socs);

  for (size_t i = 0; i < n; i++) {
    ck_assert_msg(oc_streq(rows[i].when, "always") || oc_streq(rows[i].when, "constant"),
                  "%s", rows[i].from);
    ck_assert_uint_gt(strlen(rows[i].source), 10);
    if (oc_streq(rows[i].how, "remove"))
      continue;
    for (size_t s = 0; s < n_socs; s++) {
      if (!oc_retype_applies(&rows[i], socs[s]->table_id) ||
          oc_streq(rows[i].tables, "*"))
        continue;
      bool there = oc_streq(rows[i].how, "aicpu-form")
                       ? oc_optable_aicpu(tables, rows[i].to) != NULL
                       : oc_table_find(socs[s]->table, rows[i].to) != NULL;
      ck_assert_msg(there, "%s -> %s on %s", rows[i].from, rows[i].to, socs[s]->table_id);
    }
  }
}
END_TEST

int main(void)
{
  Suite *s = suite_create("types");
  TCase *c = tcase_create("types");

  tcase_add_unchecked_fixture(c, load, unload);
  tcase_set_timeout(c, 60);
  tcase_add_test(c, every_type_is_known_on_every_chip);
  tcase_add_test(c, unsupported_means_unsupported);
  tcase_add_test(c, retyping_rows_lead_somewhere);
  suite_add_tcase(s, c);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
