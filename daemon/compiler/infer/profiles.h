/* Profiles of a dynamic model: --dynamic_batch_size, --dynamic_image_size and
 * --dynamic_dims name the values that the -1 dims of --input_shape may take.
 *
 * The graph stays dynamic; the values are checked against its inputs by the vendor's
 * rules (option pages of the three flags) and travel into the file, where tools find
 * them. What breaks a rule is an error finding with the vendor's code. */
#ifndef OC_INFER_PROFILES_H
#define OC_INFER_PROFILES_H

#include <stdint.h>

#include "base/error.h"
#include "base/finding.h"
#include "graph/graph.h"

enum oc_profile_kind {
  OC_PROFILE_NONE,
  OC_PROFILE_BATCH, /* one value: dim 0 */
  OC_PROFILE_IMAGE, /* two values: height and width */
  OC_PROFILE_DIMS,  /* a value per -1 dim, inputs in the order of --input_shape */
};

struct oc_profiles {
  enum oc_profile_kind kind;
  const char *flag;      /* that gives them */
  uint32_t n;            /* profiles */
  uint32_t width;        /* values of one profile */
  const int64_t *values; /* n * width, profile after profile */
  const char **names;    /* dynamic inputs in the order of --input_shape */
  uint32_t n_names;
};

struct oc_profile_options {
  const char *batch, *image, *dims; /* values of the flags, NULL or "" = not given */
  const char *input_shape;
  const char *input_format; /* "NCHW", "NHWC"...: where height and width are */
  uint32_t most;            /* profiles that the chip takes: 100, or 256 */
};

/* Reads and checks; the graph's inputs have their shapes from --input_shape already.
 * `*ret` is complete when no error was added to `findings`. 0 or OC_E_NOMEM. */
int oc_profiles_read(struct oc_graph *g, const struct oc_profile_options *o,
                     struct oc_findings *findings, struct oc_profiles *ret);

/* The shapes that the tensors of a graph have in each profile; lives in the graph's
 * arena. */
struct oc_profile_shapes;

/* Infers them; the graph is as before afterwards. A profile whose sizes contradict the
 * model is a finding. 0, or a code with `err` filled. */
int oc_profiles_infer(struct oc_graph *g, const struct oc_profiles *p,
                      struct oc_findings *findings, struct oc_profile_shapes **ret,
                      struct oc_error *err);
/* Every tensor has its own shape again, and Casts that the judge has put in meanwhile
 * that of what they read. 0 or OC_E_NOMEM. */
int oc_profiles_leave(struct oc_profile_shapes *s, struct oc_error *err);
/* Gives every tensor its shape in profile `profile`, or with -1 its own again. No op may
 * have been added or removed since. */
void oc_profiles_use(struct oc_profile_shapes *s, int profile);

#endif
