/* bench_resolve SOURCES [ROUNDS]: processor time of precision resolution for chains and
 * diamonds of 1,000, 10,000 and 100,000 ops, and of loading the tables. A row per graph:
 * name, ops, op-tensors, median milliseconds, nanoseconds per op-tensor. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "precision/precision.h"
#include "shipped/shipped.h"

#define MAX_ROUNDS 99

/* Processor time: one thread does all of it, and other load on the machine does not
 * count. */
static double now_ms(void)
{
  struct timespec t;

  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int by_value(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;

  return (x > y) - (x < y);
}

static struct oc_op *add(struct oc_graph *g, uint32_t i, const char *type, uint32_t n_in,
                         struct oc_op *a, struct oc_op *b)
{
  static const int64_t dims[] = { 1, 3, 8, 8 };
  static const char *const names[] = { "x1", "x2" };
  char name[32];

  snprintf(name, sizeof name, "op%u", i);
  struct oc_op *op = oc_graph_add(g, oc_arena_strdup(g->arena, name), type, n_in,
                                  oc_streq(type, "NetOutput") ? 0 : 1);
  if (!op)
    return NULL;
  for (uint32_t k = 0; k < n_in + op->n_outputs; k++) {
    struct oc_tensor *t = k < n_in ? &op->inputs[k].t : &op->outputs[0].t;
    t->name = k < n_in ? (n_in > 1 ? names[k] : "x") : "y";
    t->dtype = OC_DT_F32;
    t->shape = (struct oc_shape){ true, 4, dims };
  }
  if (a)
    oc_op_link(op, 0, a, 0);
  if (b)
    oc_op_link(op, 1, b, 0);
  return op;
}

/* A chain of Relu, or Relu pairs that an Add brings together again. */
static struct oc_graph *build(struct oc_arena *a, uint32_t n, bool diamonds)
{
  struct oc_graph *g = oc_graph_new(a, "g");
  struct oc_op *x = g ? add(g, 0, "Data", 1, NULL, NULL) : NULL;

  for (uint32_t i = 1; x && i < n;) {
    if (!diamonds) {
      x = add(g, i++, "Relu", 1, x, NULL);
      continue;
    }
    struct oc_op *l = add(g, i, "Relu", 1, x, NULL),
                 *r = add(g, i + 1, "Sigmoid", 1, x, NULL);
    x = l && r ? add(g, i + 2, "Add", 2, l, r) : NULL;
    i += 3;
  }
  if (!x || !add(g, n + 3, "NetOutput", 1, x, NULL))
    return NULL;
  return g;
}

static uint64_t tensors_of(const struct oc_graph *g)
{
  uint64_t n = 0;

  for (uint32_t i = 0; i < g->n_ops; i++)
    n += g->ops[i]->n_inputs + g->ops[i]->n_outputs;
  return n;
}

static int measure(const struct oc_optable *tables, const char *name, uint32_t n,
                   bool diamonds, const char *mode, int rounds)
{
  const struct oc_soc *soc = oc_optable_soc(tables, "Ascend910B1");
  double times[MAX_ROUNDS];
  uint64_t tensors = 0;

  for (int i = 0; i < rounds; i++) {
    struct oc_precision_options o = { 0 };
    struct oc_precision_result *result = NULL;
    struct oc_findings fs;
    struct oc_error err = { 0 };
    struct oc_arena a;
    oc_arena_init(&a, 0);
    oc_findings_init(&fs, &a);
    struct oc_graph *g = build(&a, n, diamonds);
    if (!g || oc_precision_mode(NULL, mode, NULL, &fs, &o.mode))
      return -1;
    tensors = tensors_of(g);
    o.optable = tables;
    o.table = soc->table;
    o.soc = soc->name;
    o.soc_bf16 = soc->bf16;
    o.cube = oc_optable_cube(tables);
    double start = now_ms();
    int rc = oc_precision_resolve(g, &o, &fs, &result, &err);
    times[i] = now_ms() - start;
    oc_arena_clear(&a);
    if (rc)
      return -1;
  }
  qsort(times, (size_t)rounds, sizeof *times, by_value);
  double median = times[rounds / 2];
  printf("%-8s %-14s %7u %8llu %9.3f %7.1f\n", name, mode, n, (unsigned long long)tensors,
         median, median * 1e6 / (double)tensors);
  return 0;
}

int main(int argc, char **argv)
{
  static const uint32_t sizes[] = { 1000, 10000, 100000 };
  static const char *const modes[] = { "fp16", "mixed_float16" };
  int rounds = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 5;
  struct oc_error err = { 0 };
  int rc = 0;

  if (argc < 2 || rounds < 1 || rounds > MAX_ROUNDS) {
    fprintf(stderr, "use: bench_resolve SOURCES [ROUNDS]\n");
    return 2;
  }
  double start = now_ms();
  struct oc_optable *tables = oc_shipped_tables(argv[1], &err);
  if (!tables) {
    fprintf(stderr, "bench_resolve: %s\n", err.msg);
    return 1;
  }
  printf("tables   %.3f ms\n", now_ms() - start);
  for (size_t m = 0; m < OC_COUNT(modes) && !rc; m++)
    for (size_t i = 0; i < OC_COUNT(sizes) && !rc; i++) {
      rc = measure(tables, "chain", sizes[i], false, modes[m], rounds);
      if (!rc)
        rc = measure(tables, "diamond", sizes[i], true, modes[m], rounds);
    }
  oc_optable_free(tables);
  return rc ? 1 : 0;
}
