/* Golden cases of precision resolution: read one, run it, compare everything it expects.
 */
#ifndef OC_TESTS_VECTORS_H
#define OC_TESTS_VECTORS_H

#include "base/json.h"
#include "precision/precision.h"

/* An edge of the case's graph as it was before anything ran. */
struct vec_edge {
  const struct oc_op *to;
  uint32_t input;
  const struct oc_op *from;
  uint32_t from_out;
};

struct vec_case {
  const struct oc_json *json;
  const char *id;
  struct oc_arena *a;
  struct oc_table table;
  struct oc_graph *graph;
  struct oc_map nodes; /* name -> op */
  struct oc_map cube;
  struct vec_edge *edges;
  size_t n_edges;
  const struct oc_op **kept_by_attribute;
  size_t n_kept_by_attribute;
};

/* What running it gave. */
struct vec_outcome {
  const char *status; /* "ok", "option_error", ... */
  struct oc_findings findings;
  struct oc_mode_choice mode;
  const struct oc_keep_list *keep;
  const struct oc_keep_marks *marks;
  const struct oc_op **marked;
  size_t n_marked;
  const struct oc_precision_result *result;
};

/* build.c: 0, or -1 with `why` when the case is not well-formed. */
int vec_build(struct vec_case *c, const struct oc_json *json, struct oc_arena *a,
              const char **why);
void vec_clear(struct vec_case *c);

/* run.c */
int vec_run(struct vec_case *c, struct vec_outcome *o, const char **why);

/* compare.c, compare_edges.c: differences as lines in `out`. */
void vec_compare(const struct vec_case *c, const struct vec_outcome *o,
                 struct oc_buf *out);
void vec_compare_edges(const struct vec_case *c, const struct vec_outcome *o,
                       const struct oc_json *expect, struct oc_buf *out);

#endif
