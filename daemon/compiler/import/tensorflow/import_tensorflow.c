/* The whole import: read, choose outputs, mark what they need, build, close loops, sort.
 */
#include "base/error.h"
#include "import/import.h"
#include "import/tensorflow/build.h"

static int build(struct tf_import *im)
{
  const char *cycle = NULL;
  im->graph = oc_graph_new(im->arena, "model");
  if (!im->graph)
    return OC_E_NOMEM;
  im->graph->model_format = "tensorflow";
  int rc = tf_build_nodes(im);
  if (!rc)
    rc = tf_close_loops(im);
  if (!rc)
    rc = tf_add_end(im);
  if (!rc)
    rc = oc_graph_sort(im->graph, &cycle);
  if (cycle)
    import_tell(&im->rd, OC_FINDING_MODEL_CYCLE, cycle, NULL, NULL, NULL, NULL);
  return rc;
}

static int run(struct tf_import *im)
{
  int rc = tf_read_model(&im->rd, &im->model);
  if (!rc)
    rc = tf_index(im);
  if (!rc)
    rc = tf_choose_outputs(im);
  if (!rc)
    rc = tf_mark_needed(im);
  if (rc)
    return rc;
  tf_find_loops(im);
  return build(im);
}

int oc_import_tensorflow(const struct oc_import_options *options, struct oc_arena *arena,
                         struct oc_graph **ret_graph, struct oc_findings *findings,
                         struct oc_error *err)
{
  struct tf_import *im = OC_NEW(arena, struct tf_import);
  if (!im)
    return oc_error_set(err, OC_E_NOMEM, "no memory to import the model");
  im->opt = options;
  im->arena = arena;
  im->findings = findings;
  im->image = oc_streq(options->input_format, "NCHW") ? OC_FMT_NCHW : OC_FMT_NHWC;
  im->rd = (struct import_reader){ .base = options->model,
                                   .len = options->model_len,
                                   .arena = arena,
                                   .findings = findings,
                                   .lenient = options->lenient,
                                   .unknown_is_row = options->unknown_is_row };
  size_t cap = arena->cap;
  arena->cap = import_cap(arena, options->model_len);
  int rc = run(im);
  oc_map_clear(&im->nodes);
  oc_map_clear(&im->rules);
  oc_map_clear(&im->told);
  rc = import_end(&im->rd, cap, rc, err);
  if (!rc)
    *ret_graph = im->graph;
  return rc;
}
