/* A graph as the worker treats it after import: clean-up, inference, all passes,
 * inference again, and everything of emit but the file. */
#include "pipeline.h"

#include "emit/emit.h"
#include "infer/infer.h"
#include "passes/passes.h"

void fuzz_pipeline(struct oc_graph *graph, struct oc_findings *findings)
{
  const struct oc_pass_options passes = { .on = (1u << OC_PASS_COUNT) - 1 };
  const struct oc_emit_options options = { .soc = "Ascend310P3" };
  struct oc_emit_plan *plan = NULL;
  struct oc_error err = { 0 };

  int rc =
      oc_passes_run(graph, OC_STAGE_PARSED, NULL, NULL, &passes, NULL, findings, &err);
  if (rc >= 0)
    rc = oc_infer(graph, NULL, findings, NULL, &err);
  if (rc >= 0)
    rc = oc_passes_run(graph, OC_STAGE_INFERRED, NULL, NULL, &passes, NULL, findings,
                       &err);
  if (rc >= 0)
    rc = oc_infer_again(graph, NULL, &err);
  if (rc >= 0 && oc_emit_prepare(graph, &options, findings, &plan, &err) == 0)
    oc_emit_free(plan);
}
