/* The two steps: lay out everything but the weights in memory, then write the file once.
 *
 * The view decides names and constants, the weights their places; on those the models of
 * the file are laid out one after the other (models.c). */
#include <stdlib.h>
#include <string.h>

#include "emit_internal.h"

#define DEFAULT_LABEL "model"

static bool is_dynamic(const struct oc_emit_plan *p)
{
  for (uint32_t g = 0; g < p->n_graphs; g++)
    for (uint32_t i = 0; i < p->graphs[g].n_ops; i++) {
      const struct oc_op *op = p->graphs[g].ops[i]->op;
      for (uint32_t k = 0; k < op->n_outputs; k++)
        if (!oc_shape_is_static(op->outputs[k].t.shape))
          return true;
    }
  return false;
}

static int prepare(struct oc_emit_plan *p, struct oc_graph *root, struct oc_findings *fs,
                   struct oc_error *err)
{
  int rc = emit_view(p, root, err);

  if (rc == 0)
    rc = emit_weights(p, err);
  if (rc == 0)
    rc = emit_scan(p, err);
  if (rc < 0)
    return rc;
  emit_report_lost(p, fs);
  p->dynamic = is_dynamic(p);
  return emit_models(p, fs, err);
}

int oc_emit_prepare(struct oc_graph *root, const struct oc_emit_options *opt,
                    struct oc_findings *fs, struct oc_emit_plan **ret,
                    struct oc_error *err)
{
  struct oc_emit_plan *p = calloc(1, sizeof *p);

  if (!p)
    return emit_no_memory(err);
  oc_arena_init(&p->arena, 0);
  p->opt = *opt;
  if (!p->opt.label)
    p->opt.label = DEFAULT_LABEL;
  if (!p->opt.soc)
    p->opt.soc = "";
  int rc = prepare(p, root, fs, err);
  if (rc < 0) {
    oc_emit_free(p);
    return rc;
  }
  *ret = p;
  return 0;
}

void oc_emit_free(struct oc_emit_plan *p)
{
  if (!p)
    return;
  for (uint32_t i = 0; i < p->n_models; i++) {
    oc_buf_clear(&p->models[i].front);
    oc_buf_clear(&p->models[i].inout);
    oc_buf_clear(&p->models[i].def);
    oc_buf_clear(&p->models[i].tasks);
  }
  oc_arena_clear(&p->arena);
  free(p);
}

uint64_t oc_emit_size(const struct oc_emit_plan *p)
{
  return p->size;
}

const struct oc_emit_stats *oc_emit_stats(const struct oc_emit_plan *p)
{
  return &p->stats;
}
