/* What the targets of models share: the compiler's rooms one after the other. */
#ifndef OC_FUZZ_PIPELINE_H
#define OC_FUZZ_PIPELINE_H

#include "base/arena.h"
#include "base/finding.h"

struct oc_graph;
struct oc_keep_list;
struct oc_custom_list;
struct oc_mix_list;

struct fuzz_options {
  size_t pick;  /* decides about chip and mode */
  bool no_emit; /* end behind resolution: what is tried does not reach emit */
  /* Texts of flags and lists, NULL = not given. */
  const char *input_shape, *batch, *image, *dims, *fp16_nodes, *output_type;
  const struct oc_keep_list *keep;
  const struct oc_custom_list *custom;
  const struct oc_mix_list *mix;
};

/* A graph as the worker treats it after import: keep marks, clean-up, inference, all
 * passes, inference again, resolution, risks, and everything of emit but the file. */
void fuzz_pipeline(struct oc_graph *graph, const struct fuzz_options *options,
                   struct oc_arena *arena, struct oc_findings *findings);

#endif
