/* The order of ops: rows of edges, the order they must give, and cycles. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph/graph.h"

static struct oc_arena arena;
static struct oc_graph *g;

static void setup(void)
{
  oc_arena_init(&arena, 0);
  g = oc_graph_new(&arena, "g");
}

static void teardown(void)
{
  oc_arena_clear(&arena);
}

/* Ops are letters in the order they are added; an edge "ab" means a before b. Ops have
 * eight inputs each. */
static const struct {
  const char *ops, *edges, *order; /* order "!" and the letters a cycle may be named by */
} rows[] = {
  { "", "", "" },
  { "a", "", "a" },
  { "abc", "", "abc" },
  { "abc", "ab bc", "abc" },
  { "abc", "cb ba", "cba" },
  { "abcd", "da", "bcda" },
  { "abcd", "db", "acdb" },
  { "abcde", "ea ec", "bdeac" },
  { "abc", "ab ab ab bc", "abc" },
  { "a", "aa", "!a" },
  { "abc", "bc cb", "!bc" },
  { "abcde", "ab bc cb cd de", "!bc" },
  { "abcd", "ba cb dc ad", "!abcd" },
};

static void link_edges(const char *edges)
{
  uint32_t used[26] = { 0 };
  for (const char *p = edges; *p; p += p[2] ? 3 : 2) {
    char from[2] = { p[0], 0 }, to[2] = { p[1], 0 };
    oc_op_link(oc_graph_find(g, to), used[p[1] - 'a']++, oc_graph_find(g, from), 0);
  }
}

START_TEST(order)
{
  static const char *const letters[] = { "a", "b", "c", "d", "e" };
  const char *cycle = NULL;
  char got[8] = "";
  for (size_t i = 0; i < strlen(rows[_i].ops); i++)
    ck_assert_ptr_nonnull(oc_graph_add(g, letters[i], "Op", 8, 1));
  link_edges(rows[_i].edges);
  int rc = oc_graph_sort(g, &cycle);
  if (rows[_i].order[0] == '!') {
    ck_assert_int_eq(rc, OC_E_FORMAT);
    ck_assert_msg(strstr(rows[_i].order, cycle) != NULL, "row %d names %s", _i, cycle);
    return;
  }
  ck_assert_int_eq(rc, 0);
  for (uint32_t i = 0; i < g->n_ops; i++) {
    got[i] = g->ops[i]->name[0];
    ck_assert_uint_eq(g->ops[i]->id, i);
  }
  ck_assert_str_eq(got, rows[_i].order);
}
END_TEST

START_TEST(control_edges_count)
{
  struct oc_op *a = oc_graph_add(g, "a", "Op", 0, 0);
  struct oc_op *b = oc_graph_add(g, "b", "Op", 0, 0);
  struct oc_op *first[] = { b };
  a->controls = first;
  a->n_controls = 1;
  ck_assert_int_eq(oc_graph_sort(g, NULL), 0);
  ck_assert_ptr_eq(g->ops[0], b);
}
END_TEST

START_TEST(edges_from_elsewhere_do_not_count)
{
  struct oc_graph *other = oc_graph_new(&arena, "other");
  struct oc_op *far = oc_graph_add(other, "far", "Op", 0, 1);
  struct oc_op *a = oc_graph_add(g, "a", "Op", 1, 1);
  oc_op_link(a, 0, far, 0);
  ck_assert_int_eq(oc_graph_sort(g, NULL), 0);
  ck_assert_uint_eq(g->n_ops, 1);
}
END_TEST

/* A chain of 200000 in reverse order: no recursion, no quadratic time. */
START_TEST(long_chain)
{
  const uint32_t n = 200000;
  struct oc_op *later = NULL;
  for (uint32_t i = 0; i < n; i++) {
    struct oc_op *op = oc_graph_add(g, "op", "Op", 1, 1);
    if (later)
      oc_op_link(later, 0, op, 0);
    later = op;
  }
  ck_assert_int_eq(oc_graph_sort(g, NULL), 0);
  ck_assert_ptr_eq(g->ops[0], later);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("graph_sort");
  TCase *t = tcase_create("sort");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_loop_test(t, order, 0, (int)(sizeof(rows) / sizeof(rows[0])));
  tcase_add_test(t, control_edges_count);
  tcase_add_test(t, edges_from_elsewhere_do_not_count);
  tcase_add_test(t, long_chain);
  tcase_set_timeout(t, 60);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
