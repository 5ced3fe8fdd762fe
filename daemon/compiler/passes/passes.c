/* Which passes there are, and how they are run: one after the other, each over the root
 * graph and every sub-graph, with the order of ops restored behind those that added some.
 */
#include "passes/passes.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "optable/optable.h"
#include "passes/passes_internal.h"

static const struct {
  struct oc_pass_info info;
  pass_fn run;
} passes[OC_PASS_COUNT] = {
  [OC_PASS_IDENTITY] = { { "identity", "remove ops that only hand on their input",
                           OC_STAGE_PARSED },
                         pass_identity },
  [OC_PASS_CAST] = { { "cast", "remove casts that change nothing", OC_STAGE_INFERRED },
                     pass_cast },
  [OC_PASS_FOLD] = { { "fold", "turn known integers into constants", OC_STAGE_INFERRED },
                     pass_fold },
  [OC_PASS_FOLD_REAL] = { { "fold-real",
                            "turn known floating point values into constants",
                            OC_STAGE_INFERRED },
                          pass_fold_real },
  [OC_PASS_RESHAPE] = { { "reshape", "join reshapes and transposes, drop useless ones",
                          OC_STAGE_INFERRED },
                        pass_reshape },
  [OC_PASS_PAD_CONV] = { { "pad-conv", "let a convolution do the padding before it",
                           OC_STAGE_INFERRED },
                         pass_pad_conv },
  [OC_PASS_CONV_BN] = { { "conv-bn",
                          "fold batch normalisation into the convolution before",
                          OC_STAGE_INFERRED },
                        pass_conv_bn },
  [OC_PASS_BIAS] = { { "bias",
                       "make a constant added behind a convolution or product its bias",
                       OC_STAGE_INFERRED },
                     pass_bias },
  [OC_PASS_LOOPS] = { { "loops", "make the loops of ONNX While", OC_STAGE_INFERRED },
                      pass_loops },
  [OC_PASS_RECURRENT] = { { "recurrent", "make recurrent layers what the chip has",
                            OC_STAGE_INFERRED },
                          pass_recurrent },
  [OC_PASS_RETYPE] = { { "retype", "use the types that the chip's table has",
                         OC_STAGE_INFERRED },
                       pass_retype },
  [OC_PASS_EPILOGUE] = { { "epilogue",
                           "note which elementwise ops could run with a cube op",
                           OC_STAGE_INFERRED },
                         pass_epilogue },
  [OC_PASS_DEAD] = { { "dead", "remove ops that no output needs", OC_STAGE_INFERRED },
                     pass_dead },
};

const struct oc_pass_info *oc_pass_info(enum oc_pass p)
{
  return (unsigned)p < OC_PASS_COUNT ? &passes[p].info : NULL;
}

bool oc_pass_by_name(const char *name, enum oc_pass *ret)
{
  for (int p = 0; p < OC_PASS_COUNT; p++) {
    if (strcmp(passes[p].info.name, name) == 0) {
      *ret = (enum oc_pass)p;
      return true;
    }
  }
  return false;
}

/* Root and sub-graphs, parents first. */
static struct oc_graph **all_graphs(struct oc_graph *root, size_t *ret_n)
{
  size_t room = 16;
  size_t n = 0;
  struct oc_graph **list = calloc(room, sizeof(struct oc_graph *));

  if (list)
    list[n++] = root;
  for (size_t i = 0; list && i < n; i++) {
    for (uint32_t k = 0; k < list[i]->n_ops; k++) {
      const struct oc_op *op = list[i]->ops[k];

      for (uint32_t s = 0; s < op->n_subgraphs; s++) {
        if (n == room) {
          struct oc_graph **grown =
              reallocarray(list, room * 2, sizeof(struct oc_graph *));

          if (!grown) {
            free(list);
            return NULL;
          }
          list = grown;
          room *= 2;
        }
        list[n++] = op->subgraphs[s].graph;
      }
    }
  }
  *ret_n = n;
  return list;
}

static int run_pass(struct pass_run *r, enum oc_pass pass, struct oc_graph *root,
                    const struct oc_pass_options *options)
{
  size_t n = 0;
  auto_free struct oc_graph **graphs = all_graphs(root, &n);
  uint32_t before = r->n_changes;

  if (!graphs)
    return OC_E_NOMEM;
  r->pass = pass;
  for (size_t i = 0; i < n; i++) {
    uint32_t changes = r->n_changes;

    r->graph = graphs[i];
    oc_arena_init(&r->scratch, 0);
    passes[pass].run(r);

    bool failed = r->scratch.failed || r->arena->failed;

    oc_arena_clear(&r->scratch);
    r->uses = NULL;
    if (failed)
      return OC_E_NOMEM;
    if (r->n_changes == changes)
      continue;

    int rc = oc_graph_sort(graphs[i], NULL);

    if (rc < 0)
      return rc;
  }
  if (r->n_changes > before && options->after)
    options->after(options->ctx, pass, root);
  return 0;
}

int oc_passes_run(struct oc_graph *g, enum oc_stage stage,
                  const struct oc_optable *optable, const char *soc,
                  const struct oc_pass_options *options, struct oc_pass_log *log,
                  struct oc_findings *findings, struct oc_error *err)
{
  struct pass_run r = { .arena = g->arena, .log = log, .optable = optable, .soc = soc };

  (void)findings;
  if (optable && soc) {
    const struct oc_soc *s = oc_optable_soc(optable, soc);

    if (!s)
      return oc_error_set(err, OC_E_ARG, "no op table for soc_version '%s'", soc);
    r.table_id = s->table_id;
  }
  for (int p = 0; p < OC_PASS_COUNT; p++) {
    if (passes[p].info.stage != stage || !(options->on >> p & 1))
      continue;

    int rc = run_pass(&r, (enum oc_pass)p, g, options);

    if (rc < 0)
      return oc_error_set(err, rc, "pass '%s' failed: %s", passes[p].info.name,
                          oc_code_name(rc));
  }
  return (int)r.n_changes;
}
