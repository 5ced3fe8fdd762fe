/* risk_models SOURCES SOC MODE MODEL [KEEP]: the findings of risk analysis, one per line:
 * id, op, value. First line: `ops N`, the ops that compute in float16. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "import/import.h"
#include "infer/infer.h"
#include "passes/passes.h"
#include "precision/precision.h"
#include "risk/risk.h"
#include "shipped/shipped.h"

struct run {
  struct oc_arena arena;
  struct oc_findings findings;
  struct oc_optable *tables;
  const struct oc_soc *soc;
  struct oc_graph *graph;
  struct oc_keep_list *keep;
  struct oc_keep_marks *marks;
  struct oc_error err;
};

static int mark(struct run *r, const char *keep)
{
  size_t len = 0;
  auto_free char *text = keep ? oc_shipped_file(keep, &len) : NULL;

  if (!keep)
    return 0;
  /* A list's texts are slices of its bytes: those must live as long as the list. */
  const char *bytes = text ? oc_arena_memdup(&r->arena, text, len) : NULL;
  if (!bytes || oc_keep_parse(&r->arena, bytes, len, 0, &r->findings, &r->keep))
    return -1;
  return oc_precision_mark(r->graph, r->keep, &r->arena, &r->findings, &r->marks);
}

static int prepare(struct run *r)
{
  struct oc_pass_options passes = { .on = OC_PASSES_DEFAULT };
  struct oc_infer_options options = { 0 };
  struct oc_infer_result inferred = { 0 };
  const char *soc = r->soc->name;

  if (oc_passes_run(r->graph, OC_STAGE_PARSED, r->tables, soc, &passes, NULL,
                    &r->findings, &r->err) < 0 ||
      oc_infer(r->graph, &options, &r->findings, &inferred, &r->err) < 0)
    return -1;
  int n = oc_passes_run(r->graph, OC_STAGE_INFERRED, r->tables, soc, &passes, NULL,
                        &r->findings, &r->err);
  if (n > 0)
    n = oc_infer_again(r->graph, &inferred, &r->err);
  return n < 0 ? -1 : 0;
}

static int resolve(struct run *r, const char *mode)
{
  struct oc_precision_options o = { 0 };
  struct oc_precision_result *result = NULL;

  if (oc_precision_mode(NULL, mode, NULL, &r->findings, &o.mode))
    return -1;
  o.optable = r->tables;
  o.table = r->soc->table;
  o.soc = r->soc->name;
  o.soc_bf16 = r->soc->bf16;
  o.cube = oc_optable_cube(r->tables);
  o.keep = r->keep;
  o.marks = r->marks;
  if (oc_precision_resolve(r->graph, &o, &r->findings, &result, &r->err))
    return -1;
  return result->resolved ? 0 : -1;
}

static void print(const struct run *r, size_t before)
{
  unsigned half = 0;

  for (uint32_t i = 0; i < r->graph->n_ops; i++) {
    const struct oc_op *op = r->graph->ops[i];
    half += op->engine == OC_ENGINE_AICORE && op->n_outputs && !op->inserted &&
            op->outputs[0].t.got == OC_DT_F16;
  }
  printf("ops %u\n", half);
  for (size_t i = before; i < r->findings.n; i++) {
    const struct oc_finding *f = &r->findings.items[i];
    printf("%s %s", oc_finding_info(f->id)->id, f->subject);
    for (size_t k = 0; k < f->n_args; k++)
      printf(" %s=%s", f->args[k].name, f->args[k].value);
    printf("\n");
  }
}

static int run(struct run *r, char **argv, int argc)
{
  struct oc_import_options o = { 0 };
  size_t len = 0;

  r->tables = oc_shipped_tables(argv[1], &r->err);
  if (!r->tables)
    return -1;
  r->soc = oc_optable_soc(r->tables, argv[2]);
  auto_free char *model = oc_shipped_file(argv[4], &len);
  if (!r->soc || !model)
    return -1;
  o.model = (const uint8_t *)model;
  o.model_len = len;
  if (oc_import_onnx(&o, &r->arena, &r->graph, &r->findings, &r->err) ||
      mark(r, argc > 5 ? argv[5] : NULL) || prepare(r) || resolve(r, argv[3]))
    return -1;
  size_t before = r->findings.n;
  if (oc_risk_analyse(r->graph, OC_RISK_ALL, &r->findings, NULL, &r->err))
    return -1;
  print(r, before);
  return 0;
}

int main(int argc, char **argv)
{
  struct run r = { 0 };

  if (argc < 5) {
    fprintf(stderr, "use: risk_models SOURCES SOC MODE MODEL [KEEP]\n");
    return 2;
  }
  oc_arena_init(&r.arena, 0);
  oc_findings_init(&r.findings, &r.arena);
  int rc = run(&r, argv, argc);
  if (rc)
    fprintf(stderr, "%s: %s\n", argv[4], r.err.msg);
  oc_arena_clear(&r.arena);
  oc_optable_free(r.tables);
  return rc ? 1 : 0;
}
