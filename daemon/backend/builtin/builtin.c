/* The backend is emit under another name: a plan is an emit plan, building is writing it.
 */
#include "builtin/builtin.h"

#include <stdlib.h>

#include "emit/emit.h"

struct oc_builtin {
  struct oc_emit_plan *plan;
  struct oc_emit_lanes lanes;
};

int oc_builtin_plan(struct oc_graph *graph, const struct oc_builtin_options *opt,
                    struct oc_findings *fs, struct oc_builtin **ret, struct oc_error *err)
{
  struct oc_builtin *b = calloc(1, sizeof *b);

  if (!b)
    return oc_error_set(err, OC_E_NOMEM, "not enough memory");
  b->lanes = (struct oc_emit_lanes){ opt->n_lanes, opt->each_lane, opt->lanes_ctx };
  struct oc_emit_options emit = {
    .label = opt->label,
    .soc = opt->soc,
    .arch_type = opt->arch_type,
    .cmdline = opt->cmdline,
    .precision_mode = opt->precision_mode,
    .output_names = opt->output_names,
    .n_output_names = opt->n_output_names,
    .profiles = { opt->profile_kind, opt->n_profiles, opt->profile_width,
                  opt->profile_values, opt->profile_names, opt->n_profile_names,
                  opt->use_profile, opt->use_profile_ctx },
    .digest = opt->digest,
    .lanes = opt->n_lanes ? &b->lanes : NULL,
    .release = opt->release,
    .release_ctx = opt->release_ctx,
  };
  int rc = oc_emit_prepare(graph, &emit, fs, &b->plan, err);
  if (rc < 0) {
    free(b);
    return rc;
  }
  *ret = b;
  return 0;
}

void oc_builtin_free(struct oc_builtin *b)
{
  if (!b)
    return;
  oc_emit_free(b->plan);
  free(b);
}

void oc_builtin_describe(const struct oc_builtin *b, struct oc_builtin_info *ret)
{
  const struct oc_emit_stats *s = oc_emit_stats(b->plan);

  *ret = (struct oc_builtin_info){
    .size = oc_emit_size(b->plan),
    .overflowed = s->overflowed,
    .underflowed = s->underflowed,
    .device_ready = false,
  };
}

int oc_builtin_identity(const struct oc_builtin *b, struct oc_buf *out,
                        struct oc_error *err)
{
  return oc_emit_identity(b->plan, out, err);
}

int oc_builtin_build(const struct oc_builtin *b, int fd, struct oc_error *err)
{
  return oc_emit_write(b->plan, fd, err);
}
