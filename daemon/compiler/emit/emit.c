/* The two steps: lay out everything but the weights in memory, then write the file once.
 *
 * Order of laying out: the view decides names and constants, weights and memory decide
 * numbers, TASK_INFO's size goes into MODEL_DEF, and the table comes last. */
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "emit_internal.h"

#define PLATFORM      "omcc " OMCC_VERSION
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

static int write_front(struct oc_emit_plan *p, struct oc_error *err)
{
  struct oc_om_front *f = &p->front;

  *f = (struct oc_om_front){
    .name = p->opt.label,
    .platform = PLATFORM,
    .user_info = OC_OM_MARK,
    .is_unknown_model = p->dynamic,
    .n_parts = N_PARTS,
    .parts = {
      [PART_INOUT] = { .type = OC_OM_INOUT, .size = p->inout.len },
      [PART_DEF] = { .type = OC_OM_MODEL_DEF, .size = p->def.len },
      [PART_WEIGHTS] = { .type = OC_OM_WEIGHTS, .size = p->stats.weight_size },
      [PART_TASKS] = { .type = OC_OM_TASK_INFO, .size = p->tasks.len },
    },
  };
  oc_buf_init(&p->head, OC_MAX_FRAME);
  return oc_om_write_front(f, &p->head) < 0 ? emit_no_memory(err) : 0;
}

static int prepare(struct oc_emit_plan *p, struct oc_graph *root, struct oc_findings *fs,
                   struct oc_error *err)
{
  int rc = emit_view(p, root, err);

  if (rc == 0)
    rc = emit_weights(p, err);
  if (rc == 0)
    rc = emit_scan(p, err);
  if (rc == 0)
    rc = emit_memory(p, err);
  if (rc < 0)
    return rc;
  emit_report_lost(p, fs);
  p->dynamic = is_dynamic(p);
  rc = emit_tasks(p, err);
  if (rc == 0)
    rc = emit_inout(p, err);
  if (rc == 0)
    rc = emit_def(p, fs, err);
  return rc < 0 ? rc : write_front(p, err);
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
  oc_buf_clear(&p->head);
  oc_buf_clear(&p->inout);
  oc_buf_clear(&p->def);
  oc_buf_clear(&p->tasks);
  oc_arena_clear(&p->arena);
  free(p);
}

uint64_t oc_emit_size(const struct oc_emit_plan *p)
{
  return oc_om_total_size(&p->front);
}

const struct oc_emit_stats *oc_emit_stats(const struct oc_emit_plan *p)
{
  return &p->stats;
}
