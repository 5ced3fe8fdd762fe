/* The importer's own table of IR tensor names against schema/ops/ir.yaml, which is read
 * here line by line, and the rows of the operator tables against that table. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/onnx/build.h"

enum { N_TENSORS = 40 };

static void count_words(const char *side, size_t len, uint32_t *ret_fixed,
                        uint32_t *ret_stars)
{
  for (const char *p = side; p < side + len;) {
    size_t w = strcspn(p, " \n");
    if (w > 0 && p + w <= side + len)
      (*(p[w - 1] == '*' ? ret_stars : ret_fixed))++;
    p += w + 1;
  }
}

/* Words of one side of "  Type: a b? c* -> y | attr ...", as the names of `n` tensors. */
static void expect_names(const char *type, const char *side, size_t len,
                         const struct oc_op *op, bool inputs)
{
  uint32_t at = 0;
  uint32_t fixed = 0, stars = 0;
  count_words(side, len, &fixed, &stars);
  uint32_t n = inputs ? op->n_inputs : op->n_outputs;
  for (const char *p = side; p < side + len;) {
    size_t w = strcspn(p, " \n");
    if (w == 0 || p + w > side + len) {
      p++;
      continue;
    }
    char name[80];
    bool star = p[w - 1] == '*';
    size_t bare = p[w - 1] == '?' || star ? w - 1 : w;
    (void)snprintf(name, sizeof(name), "%.*s%s", (int)bare, p, star ? "0" : "");
    ck_assert_msg(at < n, "%s has more tensors in the schema", type);
    const char *got = inputs ? op->inputs[at].t.name : op->outputs[at].t.name;
    ck_assert_msg(strcmp(got, name) == 0, "%s: '%s' is '%s' in the schema", type, got,
                  name);
    at += star ? (n - fixed) / stars : 1;
    p += w;
  }
}

static int check_line(const char *line, struct oc_graph *g)
{
  char type[80];
  const char *colon = strchr(line, ':');
  uint32_t fixed = 0;
  bool dynamic = false;
  if (strncmp(line, "  ", 2) != 0 || !colon)
    return 0;
  (void)snprintf(type, sizeof(type), "%.*s", (int)(colon - line - 2), line + 2);
  const char *arrow = strstr(colon, "->");
  if (!arrow || !import_ir_outputs(type, &fixed, &dynamic))
    return 0;
  const char *bar = strstr(arrow, " | ");
  const char *end = bar ? bar : line + strlen(line);
  uint32_t n_in = import_ir_inputs(type);
  struct oc_op *op = oc_graph_add(g, type, oc_arena_strdup(g->arena, type),
                                  n_in == UINT32_MAX ? N_TENSORS : n_in,
                                  fixed + (dynamic ? N_TENSORS : 0));
  import_name_tensors(g->arena, op);
  expect_names(type, colon + 1, (size_t)(arrow - colon - 1), op, true);
  expect_names(type, arrow + 2, (size_t)(end - arrow - 2), op, false);
  return 1;
}

START_TEST(names)
{
  char path[4096], line[4096];
  const char *root = getenv("OMCC_SOURCE_DIR");
  struct oc_arena arena;
  int n = 0;
  ck_assert_msg(root != NULL, "OMCC_SOURCE_DIR is not set");
  (void)snprintf(path, sizeof(path), "%s/schema/ops/ir.yaml", root);
  FILE *f = fopen(path, "re");
  ck_assert_msg(f != NULL, "cannot open %s", path);
  oc_arena_init(&arena, 0);
  struct oc_graph *g = oc_graph_new(&arena, "g");
  while (fgets(line, sizeof(line), f))
    n += check_line(line, g);
  (void)fclose(f);
  ck_assert_int_gt(n, 150);
  oc_arena_clear(&arena);
}
END_TEST

/* Rows of one operator stand together, and their opsets do not overlap. */
START_TEST(rows)
{
  struct oc_map seen = { 0 };
  const struct onnx_rule *last = NULL;
  size_t n = 0;
  for (const struct onnx_rule *r = NULL; (r = onnx_rule_at(n)) != NULL; n++) {
    bool again = last && strcmp(last->op, r->op) == 0;
    ck_assert_msg(again == oc_map_has(&seen, oc_str_of(r->op)), "%s", r->op);
    if (again)
      ck_assert_msg(last->until && last->until < r->since, "%s", r->op);
    ck_assert(r->fn || r->to);
    ck_assert_int_eq(oc_map_puts(&seen, r->op, (void *)r), 0);
    last = r;
  }
  ck_assert_uint_gt(seen.n, 162);
  oc_map_clear(&seen);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("import_ir");
  TCase *t = tcase_create("ir");
  tcase_add_test(t, names);
  tcase_add_test(t, rows);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
