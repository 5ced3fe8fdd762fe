/* Small graphs over the shipped tables, and what the suites share. */
#ifndef OC_TESTS_PRECISION_SUPPORT_H
#define OC_TESTS_PRECISION_SUPPORT_H

#include <check.h>

#include "base/cleanup.h"
#include "precision/precision.h"

/* One test's world: a graph, findings, lists, the result. */
struct bench {
  struct oc_arena arena;
  struct oc_findings findings;
  struct oc_graph *g;
  const struct oc_optable *tables;
  struct oc_precision_options options;
  struct oc_keep_list *keep;
  struct oc_keep_marks *marks;
  struct oc_custom_list *custom;
  struct oc_mix_list *mix;
  struct oc_precision_result *result;
};

void tables_load(void);
void tables_free(void);

void bench_init(struct bench *b, const char *soc, const char *v1, const char *v2);
void bench_clear(struct bench *b);
/* An op with `n` inputs of one dtype, read from the given producers (output 0). */
struct oc_op *bench_op(struct bench *b, const char *name, const char *type,
                       enum oc_dtype d, unsigned n, struct oc_op *const *from);
struct oc_op *bench_data(struct bench *b, const char *name, enum oc_dtype d);
struct oc_op *bench_unary(struct bench *b, const char *name, const char *type,
                          struct oc_op *from);
struct oc_op *bench_binary(struct bench *b, const char *name, const char *type,
                           struct oc_op *p, struct oc_op *q);
struct oc_op *bench_output(struct bench *b, struct oc_op *from);
/* Parses and marks; the code of oc_precision_mark. */
int bench_keep(struct bench *b, const char *text);
void bench_custom(struct bench *b, const char *text);
void bench_mix(struct bench *b, const char *text);
void bench_resolve(struct bench *b);

const struct oc_finding *bench_finding(const struct bench *b, enum oc_finding_id id);
/* An argument of a finding, "" when it has none of that name. */
const char *finding_arg(const struct oc_finding *f, const char *name);
const struct oc_op_result *bench_result(const struct bench *b, const struct oc_op *op);
enum oc_dtype out_dtype(const struct oc_op *op);

TCase *mode_cases(void);
TCase *mark_cases(void);
TCase *match_cases(void);
TCase *chip_cases(void);
TCase *state_cases(void);
TCase *port_cases(void);
TCase *body_cases(void);
TCase *property_cases(void);

#endif
