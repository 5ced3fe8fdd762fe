/* The order of the worker's plan (daemon/worker/plan.c), with every pass on. */
#include "pipeline.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "emit/emit.h"
#include "infer/infer.h"
#include "infer/profiles.h"
#include "passes/passes.h"
#include "precision/precision.h"
#include "risk/risk.h"
#include "shipped/shipped.h"

struct run {
  struct oc_graph *graph;
  struct oc_arena *arena;
  struct oc_findings *findings;
  const struct fuzz_options *options;
  const struct oc_optable *tables;
  const struct oc_soc *soc;
  struct oc_error err;
};

/* Read once and never freed: reachable to the end. */
static const struct oc_optable *all_tables(void)
{
  static const struct oc_optable *tables;
  struct oc_error err = { 0 };

  if (!tables)
    tables = oc_shipped_tables(FUZZ_SOURCES, &err);
  if (!tables) {
    fprintf(stderr, "%s\n", err.msg);
    abort();
  }
  return tables;
}

static int prepare(struct run *r)
{
  const struct oc_pass_options passes = { .on = (1u << OC_PASS_COUNT) - 1 };
  const struct oc_infer_options infer = { .input_shape = r->options->input_shape };
  const struct oc_profile_options asked = { .batch = r->options->batch,
                                            .image = r->options->image,
                                            .dims = r->options->dims,
                                            .input_shape = r->options->input_shape,
                                            .most = 100 };
  struct oc_profiles profiles;

  int rc = oc_passes_run(r->graph, OC_STAGE_PARSED, r->tables, r->soc->name, &passes,
                         NULL, r->findings, &r->err);
  if (rc >= 0)
    rc = oc_infer(r->graph, &infer, r->findings, NULL, &r->err);
  if (rc >= 0)
    rc = oc_profiles_read(r->graph, &asked, r->findings, &profiles);
  if (rc >= 0)
    rc = oc_passes_run(r->graph, OC_STAGE_INFERRED, r->tables, r->soc->name, &passes,
                       NULL, r->findings, &r->err);
  return rc > 0 ? oc_infer_again(r->graph, NULL, &r->err) : rc;
}

static int resolve(struct run *r, const struct oc_keep_marks *marks)
{
  static const char *const modes[] = { "fp16",         "origin",     "mixed_float16",
                                       "fp32_to_bf16", "force_fp32", "mixed_bfloat16" };
  struct oc_precision_result *result = NULL;
  struct oc_precision_options o = { 0 };

  if (oc_precision_mode(NULL, modes[r->options->pick / 3 % OC_COUNT(modes)], NULL,
                        r->findings, &o.mode) < 0)
    return -1;
  o.optable = r->tables;
  o.table = r->soc->table;
  o.soc = r->soc->name;
  o.soc_bf16 = r->soc->bf16;
  o.cube = oc_optable_cube(r->tables);
  o.keep = r->options->keep;
  o.marks = marks;
  o.custom = r->options->custom;
  o.mix = r->options->mix;
  o.input_fp16_nodes = r->options->fp16_nodes;
  o.output_type = r->options->output_type;
  int rc = oc_precision_resolve(r->graph, &o, r->findings, &result, &r->err);
  if (rc == 0 && result->resolved)
    rc = oc_risk_analyse(r->graph, OC_RISK_ALL, r->findings, NULL, &r->err);
  return rc;
}

void fuzz_pipeline(struct oc_graph *graph, const struct fuzz_options *options,
                   struct oc_arena *arena, struct oc_findings *findings)
{
  static const char *const socs[] = { "Ascend310P3", "Ascend910B1", "Ascend310" };
  const struct oc_optable *tables = all_tables();
  struct run r = { graph, arena, findings, options, tables, NULL, { 0 } };
  const struct oc_emit_options emit = { .soc = "Ascend310P3" };
  struct oc_keep_marks *marks = NULL;
  struct oc_emit_plan *plan = NULL;
  int rc = 0;

  r.soc = oc_optable_soc(tables, socs[options->pick % OC_COUNT(socs)]);
  if (options->keep)
    rc = oc_precision_mark(graph, options->keep, arena, findings, &marks);
  if (rc == 0 || rc == OC_E_FORMAT)
    rc = prepare(&r);
  if (rc >= 0)
    rc = resolve(&r, marks);
  if (rc >= 0 && !options->no_emit &&
      oc_emit_prepare(graph, &emit, findings, &plan, &r.err) == 0)
    oc_emit_free(plan);
}
