/* The whole import: read, name, find captures, build graph after graph, sort.
 *
 * A model cannot make the arena grow beyond a small multiple of its own size: the arena's
 * cap is lowered for the time of the import. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "import/import.h"
#include "import/onnx/build.h"

static const int64_t VENDOR_OLDEST = 8;
static const int64_t VENDOR_NEWEST = 18;

void onnx_tell(struct onnx_import *im, enum oc_finding_id id, const char *subject,
               const char *name1, const char *value1, const char *name2,
               const char *value2)
{
  import_tell(&im->rd, id, subject, name1, value1, name2, value2);
}

static int check_opset(struct onnx_import *im)
{
  const struct onnx_model *m = im->model;
  char version[24];
  im->opset = 0;
  for (size_t i = 0; i < m->n_opsets; i++)
    if (m->opsets[i].domain[0] == '\0')
      im->opset = m->opsets[i].version;
  if (m->n_opsets == 0 && m->ir_version < 3)
    im->opset = 1; /* what the format says of files that old */
  if (im->opset == 0 && m->n_opsets > 0)
    return OC_OK; /* only operators of other domains; a standard one will not be found */
  if (im->opset <= 0)
    return import_malformed(&im->rd, im->rd.base, "it does not say which opset it uses");
  (void)snprintf(version, sizeof(version), "%lld", (long long)im->opset);
  if (im->opset < VENDOR_OLDEST)
    onnx_tell(im, OC_FINDING_OPSET_OLD, version, NULL, NULL, NULL, NULL);
  else if (im->opset > VENDOR_NEWEST)
    onnx_tell(im, OC_FINDING_OPSET_NEW, version, NULL, NULL, NULL, NULL);
  return OC_OK;
}

/* OC_E_FORMAT only after everything in this graph was looked at. */
static int build_graph(struct onnx_import *im, struct onnx_graph *src)
{
  struct onnx_scope *sc = onnx_scope_new(im, src);
  if (!sc)
    return OC_E_NOMEM;
  int rc = onnx_build_inputs(sc);
  if (!rc)
    rc = onnx_build_initializers(sc);
  if (!rc)
    rc = onnx_build_nodes(sc);
  if (!rc)
    rc = onnx_build_outputs(sc);
  if (!rc)
    rc = onnx_tie(sc);
  if (rc)
    return rc;
  const char *cycle = NULL;
  rc = oc_graph_sort(sc->graph, &cycle);
  if (rc == OC_E_FORMAT)
    onnx_tell(im, OC_FINDING_MODEL_CYCLE, cycle, NULL, NULL, NULL, NULL);
  return rc;
}

static int build_all(struct onnx_import *im)
{
  struct onnx_graph *root = im->model->graph;
  root->prefix = "";
  root->target = oc_graph_new(im->arena, root->name[0] ? root->name : "model");
  if (!root->target)
    return OC_E_NOMEM;
  root->target->model_format = "onnx";
  int rc = OC_OK;
  for (struct onnx_graph *g = root; g && !rc; g = g->next_graph)
    if (g->target)
      rc = build_graph(im, g);
  return rc;
}

static int run(struct onnx_import *im)
{
  int rc = onnx_read_model(&im->rd, &im->model);
  if (!rc)
    rc = check_opset(im);
  if (!rc && im->model->functions)
    onnx_tell(im, OC_FINDING_MODEL_FUNCTIONS, "", NULL, NULL, NULL, NULL);
  if (!rc)
    rc = onnx_give_names(im);
  if (!rc)
    rc = onnx_unbatch_scans(im);
  if (!rc)
    rc = onnx_find_captures(im);
  if (!rc)
    rc = build_all(im);
  return rc;
}

static void clear(struct onnx_import *im)
{
  onnx_scopes_clear(im);
  oc_map_clear(&im->op_names);
  oc_map_clear(&im->told);
  oc_map_clear(&im->rules);
}

int oc_import_onnx(const struct oc_import_options *options, struct oc_arena *arena,
                   struct oc_graph **ret_graph, struct oc_findings *findings,
                   struct oc_error *err)
{
  struct onnx_import *im = OC_NEW(arena, struct onnx_import);
  if (!im)
    return oc_error_set(err, OC_E_NOMEM, "no memory to import the model");
  im->opt = options;
  im->arena = arena;
  im->findings = findings;
  im->rd = (struct import_reader){ .base = options->model,
                                   .len = options->model_len,
                                   .arena = arena,
                                   .findings = findings,
                                   .lenient = options->lenient,
                                   .unknown_is_row = options->unknown_is_row };
  size_t cap = arena->cap;
  arena->cap = import_cap(arena, options->model_len);
  int rc = run(im);
  clear(im);
  rc = import_end(&im->rd, cap, rc, err);
  if (!rc)
    *ret_graph = im->model->graph->target;
  return rc;
}

/* Each location once, in order of first use, over all graphs and attributes. */
static int note_location(struct oc_map *seen, const struct onnx_tensor *t)
{
  if (!t->location || oc_map_has(seen, oc_str_of(t->location)))
    return OC_OK;
  return oc_map_puts(seen, t->location, seen);
}

static int note_graph(struct oc_map *seen, const struct onnx_graph *g)
{
  int rc = OC_OK;
  for (size_t i = 0; i < g->n_initializers && !rc; i++)
    rc = note_location(seen, &g->initializers[i]);
  for (const struct onnx_node *n = g->nodes; n && !rc; n = n->next)
    for (const struct onnx_attr *a = n->attrs; a && !rc; a = a->next)
      if (a->t)
        rc = note_location(seen, a->t);
  return rc;
}

int oc_import_external(const uint8_t *model, size_t len, struct oc_arena *arena,
                       const char *const **ret_names, size_t *ret_n,
                       struct oc_findings *findings, struct oc_error *err)
{
  struct import_reader rd = {
    .base = model, .len = len, .arena = arena, .findings = findings
  };
  struct onnx_model *m = NULL;
  struct oc_map seen = { 0 };
  size_t cap = arena->cap;
  arena->cap = import_cap(arena, len);
  int rc = onnx_read_model(&rd, &m);
  for (const struct onnx_graph *g = rc ? NULL : m->graph; g && !rc; g = g->next_graph)
    rc = note_graph(&seen, g);
  const char **names = rc ? NULL : OC_NEW_N(arena, const char *, seen.n);
  for (size_t i = 0; names && i < seen.n; i++)
    names[i] = seen.entries[i].key.p;
  if (!rc && !names)
    rc = OC_E_NOMEM;
  if (!rc) {
    *ret_names = names;
    *ret_n = seen.n;
  }
  if (rc == OC_E_NOMEM)
    rc = import_no_room(&rd, err);
  arena->cap = cap;
  oc_map_clear(&seen);
  if (rc == OC_E_FORMAT)
    return oc_error_set(err, rc, "the model could not be read");
  return rc;
}
