/* The memory plan, checked from the written file by a checker that shares nothing with
 * the planner: it follows the edges by name, takes offsets and sizes from the file, and
 * compares every pair of tensors. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/map.h"
#include "emit/emit.h"
#include "om/om.h"
#include "samples.h"

struct life {
  const struct oc_om_op *op;
  struct life *same; /* a renamed tensor: the one it stands for */
  uint64_t at, size;
  size_t first, last;
};

/* Sizes as the format says: rounded up to 32, plus 32. */
static uint64_t padded_bytes(const struct oc_om_desc *d)
{
  uint64_t n = oc_dtype_bits(d->dtype) / 8;

  for (uint32_t i = 0; i < d->rank; i++)
    n *= (uint64_t)d->dims[i];
  return (n + 31) / 32 * 32 + 32;
}

static struct life *producer(struct oc_map *by_name, struct oc_str input)
{
  size_t k = input.len;

  while (k > 0 && input.p[k - 1] != ':')
    k--;
  return k ? oc_map_get(by_name, (struct oc_str){ input.p, k - 1 }) : NULL;
}

/* Lives of the single-output ops of one graph. */
static size_t lives_of(const struct oc_om_graph *g, struct life *v,
                       struct oc_map *by_name)
{
  for (uint32_t i = 0; i < g->n_ops; i++) {
    const struct oc_om_op *op = &g->ops[i];
    bool has = op->n_output_descs == 1 && !oc_str_is(op->type, "Const");
    v[i] = (struct life){ .op = op, .first = i, .last = i };
    if (has) {
      v[i].at = (uint64_t)op->output_offsets[0];
      v[i].size = padded_bytes(&op->output_descs[0]);
      if (oc_str_is(op->type, "Data"))
        v[i].first = 0, v[i].last = g->n_ops;
    }
    for (uint32_t k = 0; k < op->n_inputs; k++) {
      struct life *from = producer(by_name, op->inputs[k]);
      if (!from)
        continue;
      while (from->same)
        from = from->same;
      if (from->last < i)
        from->last = i;
      if (oc_str_is(op->type, "NetOutput"))
        from->first = 0, from->last = g->n_ops;
      if (k == 0 && oc_str_is(op->type, "Reshape") && from->at == v[i].at)
        v[i].same = from;
    }
    ck_assert_int_eq(oc_map_put(by_name, op->name, &v[i]), 0);
  }
  return g->n_ops;
}

static void check_pairs(const struct life *v, size_t n, uint64_t memory)
{
  for (size_t i = 0; i < n; i++) {
    if (!v[i].size || v[i].same)
      continue;
    ck_assert_uint_eq(v[i].at % 32, 0);
    ck_assert_uint_le(v[i].at + v[i].size, memory);
    for (size_t k = i + 1; k < n; k++) {
      if (!v[k].size || v[k].same)
        continue;
      bool together = v[i].first <= v[k].last && v[k].first <= v[i].last;
      bool overlap = v[i].at < v[k].at + v[k].size && v[k].at < v[i].at + v[i].size;
      if (together && overlap)
        ck_abort_msg("'%.*s' and '%.*s' share memory", (int)v[i].op->name.len,
                     v[i].op->name.p, (int)v[k].op->name.len, v[k].op->name.p);
    }
  }
}

static uint64_t most_live(const struct life *v, size_t n)
{
  uint64_t peak = 0;

  for (size_t step = 0; step < n; step++) {
    uint64_t live = 0;
    for (size_t i = 0; i < n; i++)
      if (v[i].size && !v[i].same && v[i].first <= step && step <= v[i].last)
        live += v[i].size;
    peak = live > peak ? live : peak;
  }
  return peak;
}

static struct oc_om_info *compile(struct oc_arena *a, struct oc_graph *g,
                                  struct oc_emit_stats *stats)
{
  const struct oc_emit_options opt = { .soc = "Ascend910B1" };
  struct oc_findings fs;
  struct oc_error err = { 0 };
  struct oc_emit_plan *p = NULL;
  struct oc_om_source src;
  struct oc_om_info *info = NULL;
  int fd = memfd_create("om", MFD_CLOEXEC);

  oc_findings_init(&fs, a);
  ck_assert_msg(oc_emit_prepare(g, &opt, &fs, &p, &err) == 0, "%s", err.msg);
  ck_assert_msg(oc_emit_write(p, fd, &err) == 0, "%s", err.msg);
  ck_assert_msg(oc_om_source_fd(fd, &src, &err) == 0, "%s", err.msg);
  ck_assert_msg(oc_om_inspect(src, a, &info, &err) == 0, "%s", err.msg);
  *stats = *oc_emit_stats(p);
  oc_emit_free(p);
  close(fd);
  return info;
}

START_TEST(no_two_live_tensors_overlap)
{
  struct oc_arena a;
  struct oc_map by_name = { 0 };
  struct oc_emit_stats stats;

  oc_arena_init(&a, 0);
  struct oc_graph *g =
      _i == 0 ? sample_conv(&a) : sample_random(&a, 40 * (uint32_t)_i, (uint32_t)_i);
  struct oc_om_info *info = compile(&a, g, &stats);
  const struct oc_om_graph *graph = &info->views[0].def->graphs[0];
  struct life *v = OC_NEW_N(&a, struct life, graph->n_ops);
  size_t n = lives_of(graph, v, &by_name);
  check_pairs(v, n, stats.memory_size);
  ck_assert_uint_eq(most_live(v, n), stats.peak_live);
  ck_assert_uint_ge(stats.memory_size, stats.peak_live);
  oc_map_clear(&by_name);
  oc_arena_clear(&a);
}
END_TEST

START_TEST(memory_is_reused)
{
  struct oc_arena a;
  struct oc_emit_stats stats;
  uint64_t all = 0;

  oc_arena_init(&a, 0);
  struct oc_om_info *info = compile(&a, sample_random(&a, 400, 5), &stats);
  const struct oc_om_graph *graph = &info->views[0].def->graphs[0];
  for (uint32_t i = 0; i < graph->n_ops; i++)
    if (graph->ops[i].n_output_descs)
      all += padded_bytes(&graph->ops[i].output_descs[0]);
  /* without reuse it would be all of them; a good plan is near what lives at one time */
  ck_assert_uint_lt(stats.memory_size, all / 10);
  ck_assert_uint_lt(stats.memory_size, stats.peak_live * 2);
  oc_arena_clear(&a);
}
END_TEST

START_TEST(branches_do_not_overwrite_what_lives_outside)
{
  struct oc_arena a;
  struct oc_emit_stats stats;
  uint64_t at = 0, size = 0;

  oc_arena_init(&a, 0);
  struct oc_om_info *info = compile(&a, sample_if(&a), &stats);
  const struct oc_om_def *def = info->views[0].def;
  for (uint32_t i = 0; i < def->graphs[0].n_ops; i++)
    if (oc_str_is(def->graphs[0].ops[i].name, "before")) { /* read again behind the If */
      at = (uint64_t)def->graphs[0].ops[i].output_offsets[0];
      size = padded_bytes(&def->graphs[0].ops[i].output_descs[0]);
    }
  ck_assert_uint_ne(size, 0);
  for (uint32_t g = 1; g < def->n_graphs; g++)
    for (uint32_t i = 0; i < def->graphs[g].n_ops; i++) {
      const struct oc_om_op *op = &def->graphs[g].ops[i];
      if (!op->n_output_descs || oc_str_is(op->type, "Const"))
        continue;
      uint64_t o = (uint64_t)op->output_offsets[0],
               s = padded_bytes(&op->output_descs[0]);
      ck_assert(o + s <= at || at + size <= o);
    }
  oc_arena_clear(&a);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("emit memory");
  TCase *t = tcase_create("plan");

  tcase_add_loop_test(t, no_two_live_tensors_overlap, 0, 12);
  tcase_add_test(t, memory_is_reused);
  tcase_add_test(t, branches_do_not_overwrite_what_lives_outside);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_ENV);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
