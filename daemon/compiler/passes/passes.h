/* Passes: small rewrites of the graph, one file each, each with a switch and a log.
 *
 * No pass renames an op that survives. Who swallows an op takes over its name: the
 * swallower's original-name list receives the swallowed op's own list if it has one, else
 * its name (the rule of the vendor's public sources, so lists stay flat over repeated
 * fusion). The keep mark is inherited where the vendor's fusion framework does it: by ops
 * that a pattern pass makes out of several ("fusing"); removal of an op that does nothing
 * does not carry it.
 *
 * Two stages: OC_STAGE_PARSED runs before inference and needs no shapes,
 * OC_STAGE_INFERRED runs behind it; after the latter call oc_infer_again() when
 * oc_passes_run() says so. */
#ifndef OC_PASSES_PASSES_H
#define OC_PASSES_PASSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/finding.h"
#include "graph/graph.h"

struct oc_optable; /* optable/optable.h */

enum oc_pass {
  OC_PASS_IDENTITY,  /* Identity, Dropout, StopGradient...: consumers read the producer */
  OC_PASS_CAST,      /* a Cast to the dtype its input already has */
  OC_PASS_FOLD,      /* integer and bool outputs that inference knows become Const */
  OC_PASS_FOLD_REAL, /* the same for floating point outputs */
  OC_PASS_RESHAPE,   /* reshapes and transposes that cancel or can be one */
  OC_PASS_PAD_CONV,  /* zeros of a Pad become the pads of the convolution behind it */
  OC_PASS_CONV_BN,   /* BatchNorm behind a convolution goes into filter and bias */
  OC_PASS_BIAS,      /* a constant added behind a convolution or product is its bias */
  OC_PASS_LOOPS,     /* Loop and Scan of ONNX become the IR's While */
  OC_PASS_RECURRENT, /* CommonLSTM and CommonGRU become what the chip has */
  OC_PASS_RETYPE,    /* rows of schema/ops/retype.yaml */
  OC_PASS_EPILOGUE,  /* elementwise ops behind a cube op, noted on it */
  OC_PASS_DEAD,      /* ops that no output needs */
  OC_PASS_COUNT,
};

enum oc_stage { OC_STAGE_PARSED, OC_STAGE_INFERRED };

/* What runs unless the caller says otherwise: what the vendor always does and the op
 * tables rely on. Those that change constants or the set of ops wait to be asked for. */
#define OC_PASS_BIT(p) (1u << (p))
#define OC_PASSES_DEFAULT                                                                \
  (OC_PASS_BIT(OC_PASS_IDENTITY) | OC_PASS_BIT(OC_PASS_CAST) |                           \
   OC_PASS_BIT(OC_PASS_FOLD) | OC_PASS_BIT(OC_PASS_LOOPS) |                              \
   OC_PASS_BIT(OC_PASS_RECURRENT) | OC_PASS_BIT(OC_PASS_RETYPE) |                        \
   OC_PASS_BIT(OC_PASS_DEAD))

/* What makes one op of several: --oo_level=O1 runs none of them. */
#define OC_PASSES_FUSION                                                                 \
  (OC_PASS_BIT(OC_PASS_RESHAPE) | OC_PASS_BIT(OC_PASS_PAD_CONV) |                        \
   OC_PASS_BIT(OC_PASS_CONV_BN) | OC_PASS_BIT(OC_PASS_BIAS) |                            \
   OC_PASS_BIT(OC_PASS_EPILOGUE))

struct oc_pass_info {
  const char *name; /* "identity" */
  const char *text; /* one line for help */
  enum oc_stage stage;
};
const struct oc_pass_info *oc_pass_info(enum oc_pass p);
/* False when no pass has this name. */
bool oc_pass_by_name(const char *name, enum oc_pass *ret);

/* `on` changed as a text says: names of passes separated by commas, with '-' in front
 * those that do not run. Names that no pass has are findings (pass-unknown). */
uint32_t oc_passes_select(uint32_t on, const char *text, struct oc_findings *findings);

/* What the passes did, in order. Grows in the graph's arena. */
struct oc_pass_note {
  enum oc_pass pass;
  const char *op;   /* the op that was changed or removed */
  const char *what; /* "removed, 'conv1' hands on its result", "GlobalAveragePool ->
                       ReduceMean" */
};
struct oc_pass_log {
  struct oc_pass_note *items;
  size_t n;
  size_t room;
};

struct oc_pass_options {
  uint32_t on; /* bits of the passes that run; OC_PASSES_DEFAULT */
  /* After every pass that changed something (dumps); may be NULL. */
  void (*after)(void *ctx, enum oc_pass pass, const struct oc_graph *g);
  void *ctx;
};

/* Runs the passes of one stage that are on, in the order of enum oc_pass. `optable` and
 * `soc` serve the retype pass (NULL: it is skipped). `log` may be NULL. Returns the
 * number of changes, OC_E_NOMEM, or OC_E_ARG when the table does not know the SoC. */
int oc_passes_run(struct oc_graph *g, enum oc_stage stage,
                  const struct oc_optable *optable, const char *soc,
                  const struct oc_pass_options *options, struct oc_pass_log *log,
                  struct oc_findings *findings, struct oc_error *err);

#endif
