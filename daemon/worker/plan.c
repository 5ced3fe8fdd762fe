/* Plan: model bytes and options in, a judged graph with reasons out.
 *
 * The order is the vendor's: import, keep marks on the graph as parsed, clean-up,
 * inference, retyping, engine check and judge. What the user did wrong becomes findings
 * and planning goes on as long as a table of ops can still be shown; only a model that
 * gives no graph ends it. */
#include "worker/worker_internal.h"

#include <stdlib.h>
#include <string.h>

#include "aipp/aipp.h"
#include "base/str.h"
#include "graph/graph.h"
#include "import/import.h"
#include "infer/infer.h"
#include "lists/lists.h"
#include "optable/optable.h"
#include "passes/passes.h"
#include "precision/precision.h"
#include "risk/risk.h"

/* Values of --framework. */
#define OC_FRAMEWORK_TENSORFLOW "3"
#define OC_FRAMEWORK_ONNX       "5"

struct lists {
  struct oc_keep_list *keep;
  struct oc_custom_list *custom;
  struct oc_mix_list *mix;
  struct oc_impl_list *impl;
  struct oc_keep_marks *marks;
};

static const char *framework_name(const char *number)
{
  static const char *const names[][2] = {
    { "0", "Caffe" }, { "1", "MindSpore" }, { "3", "TensorFlow" }, { "5", "ONNX" }
  };

  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (oc_streq(number, names[i][0]))
      return names[i][1];
  return "unknown";
}

static bool is_framework(const struct oc_job *job, const char *number)
{
  return oc_streq(oc_job_flag(job, "framework", OC_FRAMEWORK_ONNX), number);
}

/* True when this binary imports the request's model format. */
static bool importable(const struct oc_job *job)
{
  return is_framework(job, OC_FRAMEWORK_ONNX) ||
         is_framework(job, OC_FRAMEWORK_TENSORFLOW);
}

/* Names go to the daemon in one frame, files as descriptors. */
#define MOST_NAME_BYTES (OC_MAX_FRAME / 2)

static int check_external(struct oc_job *job, const char *const *names, size_t n,
                          struct oc_error *err)
{
  struct oc_arena *a = &job->arena;
  size_t bytes = 0;

  for (size_t i = 0; i < n; i++)
    bytes += strlen(names[i]);
  if (n <= OC_MAX_EXTERNAL_FILES && bytes <= MOST_NAME_BYTES)
    return 0;
  oc_finding_add(&job->findings, OC_FINDING_EXTERNAL_TOO_MANY, "", "count",
                 oc_arena_printf(a, "%zu", n), "bytes", oc_arena_printf(a, "%zu", bytes),
                 "limit", oc_arena_printf(a, "%d", OC_MAX_EXTERNAL_FILES), "limit_bytes",
                 oc_arena_printf(a, "%u", MOST_NAME_BYTES), NULL)
      ->flag = "model";
  return oc_error_set(err, OC_E_LIMIT, "the model names too many external data files");
}

int oc_job_needed(struct oc_job *job, const char *const **ret_names, size_t *ret_n,
                  struct oc_error *err)
{
  const struct oc_job_file *model = oc_job_file(job, "model");
  struct oc_findings unheard; /* planning finds the same again and reports it then */

  *ret_names = NULL;
  *ret_n = 0;
  if (!model || model->len == 0 || !is_framework(job, OC_FRAMEWORK_ONNX))
    return 0;
  oc_findings_init(&unheard, &job->arena);
  int r = oc_import_external(model->data, model->len, &job->arena, ret_names, ret_n,
                             &unheard, err);
  if (r == OC_E_FORMAT) {
    *ret_n = 0;
    return 0;
  }
  return r < 0 ? r : check_external(job, *ret_names, *ret_n, err);
}

int oc_job_import(struct oc_job *job, struct oc_error *err)
{
  const struct oc_job_file *model = oc_job_file(job, "model");
  const char *framework = oc_job_flag(job, "framework", OC_FRAMEWORK_ONNX);
  struct oc_import_options options = { 0 };

  if (!model) {
    oc_finding_add(&job->findings, OC_FINDING_FLAG_MISSING, "model", NULL)->flag =
        "model";
    return OC_E_FORMAT;
  }
  if (!importable(job)) {
    oc_finding_add(&job->findings, OC_FINDING_FRAMEWORK_NEEDS_ATC, framework, "format",
                   framework_name(framework), NULL)
        ->flag = "framework";
    return OC_E_FORMAT;
  }
  if (model->len == 0) {
    oc_finding_add(&job->findings, OC_FINDING_MODEL_EMPTY, model->name, NULL)->flag =
        "model";
    return OC_E_FORMAT;
  }
  struct oc_import_file *files =
      OC_NEW_N(&job->arena, struct oc_import_file, job->n_external);
  if (!files)
    return oc_error_set(err, OC_E_NOMEM, "no memory for the list of external files");
  for (size_t i = 0; i < job->n_external; i++)
    files[i] = (struct oc_import_file){ job->external[i].name, job->external[i].data,
                                        job->external[i].len };
  options.model = model->data;
  options.model_len = model->len;
  options.files = files;
  options.n_files = job->n_external;
  options.out_nodes = oc_job_flag(job, "out_nodes", NULL);
  options.lenient = !oc_streq(job->request->backend, "builtin");
  options.unknown_is_row = job->request->explain_only || job->request->names_only;
  options.wide_windows = job->soc && oc_starts_with(job->soc->name, "Ascend950");
  options.input_shape = oc_job_flag(job, "input_shape", NULL);
  options.input_format = oc_job_flag(job, "input_format", NULL);
  if (is_framework(job, OC_FRAMEWORK_TENSORFLOW))
    return oc_import_tensorflow(&options, &job->arena, &job->graph, &job->findings, err);
  return oc_import_onnx(&options, &job->arena, &job->graph, &job->findings, err);
}

/* A list that does not parse leaves NULL and findings; the table is shown without it. */
static int parse_lists(struct oc_job *job, struct lists *l)
{
  const struct oc_job_file *f;
  int r = 0;

  if ((f = oc_job_file(job, "keep_dtype")))
    r = oc_keep_parse(&job->arena, f->data, f->len, 0, &job->findings, &l->keep);
  if ((r == 0 || r == OC_E_FORMAT) && (f = oc_job_file(job, "customize_dtypes")))
    r = oc_custom_parse(&job->arena, f->data, f->len, 0, &job->findings, &l->custom);
  if ((r == 0 || r == OC_E_FORMAT) && (f = oc_job_file(job, "modify_mixlist")))
    r = oc_mix_parse(&job->arena, f->data, f->len, 0, &job->findings, &l->mix);
  if ((r == 0 || r == OC_E_FORMAT) && (f = oc_job_file(job, "op_precision_mode")))
    r = oc_impl_parse(&job->arena, f->data, f->len, 0, &job->findings, &l->impl);
  return r == OC_E_FORMAT ? 0 : r;
}

static const struct oc_soc *find_soc(struct oc_job *job)
{
  const char *name = oc_job_flag(job, "soc_version", "");
  const struct oc_soc *soc = oc_optable_soc(job->tables, name);

  if (soc && soc->table)
    return soc;
  if (name[0] == '\0') {
    oc_finding_add(&job->findings, OC_FINDING_FLAG_MISSING_SOC, "soc_version", NULL)
        ->flag = "soc_version";
    return NULL;
  }
  const char *nearest = oc_optable_nearest_soc(job->tables, name);
  oc_finding_add(&job->findings, OC_FINDING_SOC_UNKNOWN, name, "nearest",
                 nearest ? nearest : "Ascend310P3", NULL)
      ->flag = "soc_version";
  return NULL;
}

/* Profiles that a chip takes, by the vendor's option pages. */
enum { PROFILES_MOST = 100, PROFILES_MOST_950 = 256 };

static int read_profiles(struct oc_job *job)
{
  struct oc_profile_options o = {
    .batch = oc_job_flag(job, "dynamic_batch_size", NULL),
    .image = oc_job_flag(job, "dynamic_image_size", NULL),
    .dims = oc_job_flag(job, "dynamic_dims", NULL),
    .input_shape = oc_job_flag(job, "input_shape", NULL),
    .input_format = oc_job_flag(job, "input_format", NULL),
    .most = job->soc && oc_starts_with(job->soc->name, "Ascend950") ? PROFILES_MOST_950
                                                                    : PROFILES_MOST,
  };

  return oc_profiles_read(job->graph, &o, &job->findings, &job->profiles);
}

/* Images in front of the model; a file that is wrong leaves the graph as it is. */
static int insert_aipp(struct oc_job *job, struct oc_error *err)
{
  const struct oc_job_file *f = oc_job_file(job, "insert_op_conf");
  struct oc_aipp_list list = { 0 };
  struct oc_aipp_options o = { oc_job_flag(job, "input_fp16_nodes", NULL) };

  if (!f || !oc_streq(job->request->backend, "builtin"))
    return 0;
  int r = oc_aipp_parse(&job->arena, f->data, f->len, &job->findings, &list);
  if (r == OC_E_FORMAT)
    return 0;
  if (r == 0)
    r = oc_aipp_insert(job->graph, &list, &o, &job->findings);
  if (r > 0)
    r = oc_infer_again(job->graph, NULL, err);
  return r == OC_E_NOMEM ? oc_error_set(err, r, "not enough memory for AIPP") : r;
}

/* Clean-up, inference, what inference makes possible, and inference of that. */
static int prepare_graph(struct oc_job *job, struct oc_error *err)
{
  struct oc_pass_options passes;
  struct oc_infer_options options = {
    .input_shape = oc_job_flag(job, "input_shape", NULL),
    .profiles = oc_job_flag(job, "dynamic_batch_size", NULL) ||
                oc_job_flag(job, "dynamic_image_size", NULL) ||
                oc_job_flag(job, "dynamic_dims", NULL),
  };
  struct oc_infer_result inferred = { 0 };
  const char *soc = job->soc ? job->soc->name : NULL;
  const struct oc_optable *tables = job->soc ? job->tables : NULL;

  oc_job_passes(job, &passes);
  oc_job_dump(job, "import", job->graph);
  int r = oc_passes_run(job->graph, OC_STAGE_PARSED, tables, soc, &passes, &job->pass_log,
                        &job->findings, err);
  if (r >= 0)
    r = oc_infer(job->graph, &options, &job->findings, &inferred, err);
  if (r >= 0)
    r = read_profiles(job);
  if (r >= 0)
    r = insert_aipp(job, err);
  if (r >= 0)
    oc_job_dump(job, "infer", job->graph);
  oc_stop_point(job->request->stop_at, "after-infer");
  job->shape_hint = inferred.input_shape_hint;
  if (r >= 0)
    r = oc_passes_run(job->graph, OC_STAGE_INFERRED, tables, soc, &passes, &job->pass_log,
                      &job->findings, err);
  if (r > 0)
    r = oc_infer_again(job->graph, &inferred, err);
  return r < 0 ? r : 0;
}

static int resolve(struct oc_job *job, const struct lists *l,
                   const struct oc_mode_choice *mode, struct oc_error *err)
{
  struct oc_precision_options o = { .mode = *mode };

  o.optable = job->tables;
  o.table = job->soc->table;
  o.soc = job->soc->name;
  o.soc_bf16 = job->soc->bf16;
  o.cube = oc_optable_cube(job->tables);
  o.keep = l->keep;
  o.marks = l->marks;
  o.custom = l->custom;
  o.mix = l->mix;
  o.input_fp16_nodes = oc_job_flag(job, "input_fp16_nodes", NULL);
  o.output_type = oc_job_flag(job, "output_type", NULL);
  o.unknown_is_open = !oc_streq(job->request->backend, "builtin");
  o.unknown_is_row = job->request->explain_only;
  return oc_precision_resolve(job->graph, &o, &job->findings, &job->precision, err);
}

/* --strict-lists: what a list says in vain is an error, so nothing is built. */
static void apply_strictness(struct oc_job *job)
{
  static const char *const lists[] = { "keep_dtype", "customize_dtypes", "modify_mixlist",
                                       "op_precision_mode" };

  if (!job->request->strict_lists)
    return;
  for (size_t i = 0; i < job->findings.n; i++) {
    struct oc_finding *f = &job->findings.items[i];
    for (size_t k = 0; k < sizeof lists / sizeof lists[0]; k++)
      if (f->severity == OC_SEV_WARNING && oc_streq(f->flag, lists[k]))
        f->severity = OC_SEV_ERROR;
  }
}

static int judge(struct oc_job *job, struct lists *l, struct oc_error *err)
{
  struct oc_mode_choice mode = { 0 };
  const struct oc_job_file *mixlist = oc_job_file(job, "modify_mixlist");

  int r = oc_precision_mode(oc_job_flag(job, "precision_mode", NULL),
                            oc_job_flag(job, "precision_mode_v2", NULL),
                            mixlist ? mixlist->name : NULL, &job->findings, &mode);
  if (r == OC_E_ARG || !job->soc)
    return 0;
  uint64_t start = oc_now_us();
  if (r == 0)
    r = resolve(job, l, &mode, err);
  if (r == 0 && job->precision && job->precision->resolved)
    r = oc_risk_analyse(job->graph,
                        oc_streq(oc_job_flag(job, "risk", ""), "true")
                            ? OC_RISK_ALL
                            : OC_RISK_SMALL_CONSTANTS,
                        &job->findings, NULL, err);
  if (r >= 0)
    oc_job_dump(job, "precision", job->graph);
  job->resolve_us = oc_now_us() - start;
  return r < 0 ? r : 1;
}

/* Of a model with profiles the vendor's compiler judges each profile as a graph of fixed
 * sizes. Tables ask whether dims are known and how many there are, never how large they
 * are, so the first profile's sizes stand for all of them. */
static int judge_profile(struct oc_job *job, struct lists *l, struct oc_error *err)
{
  struct oc_profiles first = job->profiles;
  struct oc_profile_shapes *shapes = NULL;
  struct oc_findings unheard; /* told when all profiles are looked at */

  if (first.kind == OC_PROFILE_NONE || first.n == 0 || !job->soc)
    return judge(job, l, err);
  first.n = 1;
  oc_findings_init(&unheard, &job->arena);
  int r = oc_profiles_infer(job->graph, &first, &unheard, &shapes, err);
  if (r < 0)
    return r;
  oc_profiles_use(shapes, 0);
  r = judge(job, l, err);
  int left = oc_profiles_leave(shapes, err);
  return left < 0 ? left : r;
}

int oc_job_plan(struct oc_job *job, struct oc_error *err)
{
  struct lists lists = { 0 };
  uint64_t start = oc_now_us();

  job->soc = find_soc(job);
  int r = parse_lists(job, &lists);
  if (r == 0)
    r = oc_job_import(job, err);
  oc_stop_point(job->request->stop_at, "after-import");
  if (r == OC_E_FORMAT)
    return 0;
  if (r == 0 && lists.keep)
    r = oc_precision_mark(job->graph, lists.keep, &job->arena, &job->findings,
                          &lists.marks);
  if (r < 0 && r != OC_E_FORMAT)
    return r;
  job->import_us = oc_now_us() - start;
  start = oc_now_us();
  r = prepare_graph(job, err);
  if (r == OC_E_FORMAT)
    return 0;
  job->infer_us = oc_now_us() - start;
  if (r == 0)
    r = judge_profile(job, &lists, err);
  if (r > 0 && job->profiles.kind != OC_PROFILE_NONE &&
      oc_profiles_infer(job->graph, &job->profiles, &job->findings, &job->profile_shapes,
                        err) < 0)
    return OC_E_NOMEM;
  if (r > 0)
    apply_strictness(job);
  oc_stop_point(job->request->stop_at, "after-resolve");
  return r;
}
