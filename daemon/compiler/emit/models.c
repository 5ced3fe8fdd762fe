/* The models of the file: one, or with profiles the dynamic one and one for each profile.
 *
 * All of them are the same ops over the same constants; only shapes differ, and what
 * follows from them. A profile's model is laid out while the graph shows its shapes. The
 * dynamic one comes first in the file but is laid out last, because it tells the most
 * memory that a profile needs and the shapes of its outputs in each.
 *
 * Order within a model: memory decides numbers, TASK_INFO's size goes into MODEL_DEF, and
 * the table comes last. What only the laying out of a profile needs is given back behind
 * it: there may be hundreds of profiles. */
#include <string.h>

#include "base/limits.h"
#include "emit_internal.h"

#define PLATFORM "omcc " OMCC_VERSION

static void set_parts(struct oc_emit_plan *p, struct emit_model *m)
{
  m->parts[m->n_parts++] =
      (struct oc_om_part){ .type = OC_OM_INOUT, .size = m->inout.len };
  m->parts[m->n_parts++] =
      (struct oc_om_part){ .type = OC_OM_MODEL_DEF, .size = m->def.len };
  if (p->profile < 0)
    m->parts[m->n_parts++] =
        (struct oc_om_part){ .type = OC_OM_WEIGHTS, .size = p->stats.weight_size };
  m->parts[m->n_parts++] =
      (struct oc_om_part){ .type = OC_OM_TASK_INFO, .size = m->tasks.len };
}

/* The model of a profile, or with -1 the first one. */
static int lay_out(struct oc_emit_plan *p, struct emit_model *m, int profile,
                   struct oc_findings *fs, struct oc_error *err)
{
  p->model = m;
  p->profile = profile;
  if (p->opt.profiles.use)
    p->opt.profiles.use(p->opt.profiles.use_ctx, profile);
  int rc = emit_memory(p, err);
  if (rc == 0 && profile < 0 && p->stats.memory_size < p->most_memory)
    p->stats.memory_size = p->most_memory;
  if (rc == 0)
    rc = emit_tasks(p, err);
  if (rc == 0)
    rc = emit_inout(p, err);
  if (rc == 0)
    rc = emit_def(p, fs, err);
  if (rc == 0)
    set_parts(p, m);
  return rc;
}

/* The shapes that the model's outputs have now, for the first model. */
static int note_outputs(struct oc_emit_plan *p, struct oc_arena *keep,
                        struct oc_error *err)
{
  const struct emit_op *end = emit_net_output(&p->graphs[0]);
  uint32_t output = 0;

  for (uint32_t i = 0; i < end->op->n_inputs; i++) {
    struct oc_shape s = end->op->inputs[i].t.shape;
    if (!emit_producer(end, i))
      continue;
    const char *text = oc_arena_printf(keep, "%d,%u", p->profile, output++);
    for (uint32_t d = 0; text && d < s.rank; d++)
      text = oc_arena_printf(keep, "%s,%lld", text,
                             s.dims[d] < 0 ? -1LL : (long long)s.dims[d]);
    if (!text)
      return emit_no_memory(err);
    if (s.known_rank)
      p->shapes[p->n_shapes++] = text;
  }
  return 0;
}

static int lay_out_profile(struct oc_emit_plan *p, uint32_t profile,
                           struct oc_findings *fs, struct oc_error *err)
{
  struct oc_arena keep = p->arena;

  oc_arena_init(&p->arena, 0);
  int rc = lay_out(p, &p->models[1 + profile], (int)profile, fs, err);
  if (rc == 0)
    rc = note_outputs(p, &keep, err);
  oc_arena_clear(&p->arena);
  p->arena = keep;
  if (p->stats.memory_size > p->most_memory)
    p->most_memory = p->stats.memory_size;
  return rc;
}

/* Tables, from the end of the file's first model on. */
static int write_tables(struct oc_emit_plan *p, struct oc_error *err)
{
  struct oc_om_front f = {
    .name = p->opt.label,
    .platform = PLATFORM,
    .user_info = OC_OM_MARK,
    .is_unknown_model = p->dynamic,
    .n_more = p->n_models - 1,
    .n_parts = p->models[0].n_parts,
  };

  for (uint32_t i = 1; i < p->n_models; i++) {
    f.more_size += oc_om_table_size(p->models[i].n_parts);
    for (uint32_t k = 0; k < p->models[i].n_parts; k++)
      f.more_size += p->models[i].parts[k].size;
  }
  memcpy(f.parts, p->models[0].parts, sizeof p->models[0].parts);
  oc_buf_init(&p->models[0].front, OC_MAX_FRAME);
  if (oc_om_write_front(&f, &p->models[0].front) < 0)
    return emit_no_memory(err);
  memcpy(p->models[0].parts, f.parts, sizeof p->models[0].parts);
  p->size = oc_om_total_size(&f);
  uint64_t at = p->size - f.more_size;
  for (uint32_t i = 1; i < p->n_models; i++) {
    struct emit_model *m = &p->models[i];
    m->at = at;
    oc_buf_init(&m->front, OC_MAX_FRAME);
    if (oc_om_write_table(m->parts, m->n_parts, at, &m->front) < 0)
      return emit_no_memory(err);
    at = m->parts[m->n_parts - 1].at + m->parts[m->n_parts - 1].size;
  }
  return 0;
}

int emit_models(struct oc_emit_plan *p, struct oc_findings *fs, struct oc_error *err)
{
  uint32_t n = p->opt.profiles.use ? p->opt.profiles.n : 0;
  const struct emit_op *end = emit_net_output(&p->graphs[0]);
  int rc = 0;

  p->models = OC_NEW_N(&p->arena, struct emit_model, 1 + (size_t)n);
  p->shapes = OC_NEW_N(&p->arena, const char *, (size_t)n * end->op->n_inputs);
  if (!p->models || !p->shapes)
    return emit_no_memory(err);
  p->n_models = p->stats.n_models = 1 + n;
  for (uint32_t i = 0; rc == 0 && i < n; i++)
    rc = lay_out_profile(p, i, fs, err);
  if (rc < 0) {
    p->opt.profiles.use(p->opt.profiles.use_ctx, -1);
    return rc;
  }
  rc = lay_out(p, &p->models[0], -1, fs, err);
  return rc < 0 ? rc : write_tables(p, err);
}
