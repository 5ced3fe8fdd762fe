/* compile_model [options] MODEL OUT.om: the compiler's rooms one after the other, without
 * a daemon, for the checks with the independent reader.
 *
 *   --soc=NAME --mode=WORD --keep=FILE --input_shape=TEXT --out_nodes=TEXT --times
 *   --dynamic_batch_size=TEXT --dynamic_image_size=TEXT --dynamic_dims=TEXT
 *
 * A model called *.pb is TensorFlow's, others are ONNX.
 * Prints one line per finding ("error keep-unmatched subject"). Exit status: 0 written,
 * 2 refused by findings, 1 anything else. Tables come from schema/ of the source folder.
 */
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "builtin/builtin.h"
#include "graph/graph.h"
#include "import/import.h"
#include "infer/infer.h"
#include "infer/profiles.h"
#include "lists/lists.h"
#include "optable/optable.h"
#include "passes/passes.h"
#include "precision/precision.h"
#include "shipped/shipped.h"

struct run {
  const char *soc, *mode, *keep, *input_shape, *out_nodes, *model, *out;
  bool times;
  struct oc_profile_options sizes;
  struct oc_profiles profiles;
  struct oc_arena arena;
  struct oc_findings findings;
  struct oc_optable *tables;
  struct oc_graph *graph;
  struct oc_keep_list *list;
  struct oc_keep_marks *marks;
  struct oc_precision_result *result;
  struct oc_error err;
  double started;
};

static double now_ms(void)
{
  struct timespec t;

  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void lap(struct run *r, const char *what)
{
  double now = now_ms();
  struct rusage use = { 0 };

  (void)getrusage(RUSAGE_SELF, &use);
  if (r->times)
    fprintf(stderr, "%-10s %8.1f ms, most memory %8.1f MB\n", what, now - r->started,
            (double)use.ru_maxrss / 1024);
  r->started = now;
}

static const uint8_t *map_file(const char *path, size_t *ret_len)
{
  auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
  struct stat st;

  if (fd < 0 || fstat(fd, &st) < 0 || st.st_size == 0)
    return NULL;
  void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
  *ret_len = (size_t)st.st_size;
  return p == MAP_FAILED ? NULL : p;
}

static struct oc_import_file *external_files(struct run *r, struct oc_import_options *o)
{
  const char *const *names = NULL;
  size_t n = 0;

  if (oc_import_external(o->model, o->model_len, &r->arena, &names, &n, &r->findings,
                         &r->err) < 0)
    return NULL;
  struct oc_import_file *files = OC_NEW_N(&r->arena, struct oc_import_file, n);
  for (size_t i = 0; i < n; i++) {
    char *copy = oc_arena_strdup(&r->arena, r->model);
    files[i].name = names[i];
    files[i].data = map_file(oc_arena_printf(&r->arena, "%s/%s", dirname(copy), names[i]),
                             &files[i].len);
  }
  o->files = files;
  o->n_files = n;
  return files;
}

static int import(struct run *r)
{
  struct oc_import_options o = { 0 };
  size_t len = 0;

  o.model = map_file(r->model, &o.model_len);
  o.input_shape = r->input_shape;
  o.out_nodes = r->out_nodes;
  bool tensorflow = oc_ends_with(r->model, ".pb");
  if (!o.model || (!tensorflow && !external_files(r, &o)))
    return -1;
  int rc = tensorflow
               ? oc_import_tensorflow(&o, &r->arena, &r->graph, &r->findings, &r->err)
               : oc_import_onnx(&o, &r->arena, &r->graph, &r->findings, &r->err);
  if (rc < 0 || !r->keep)
    return rc;
  const uint8_t *text = map_file(r->keep, &len);
  rc = oc_keep_parse(&r->arena, (const void *)text, len, 0, &r->findings, &r->list);
  if (rc == 0)
    rc = oc_precision_mark(r->graph, r->list, &r->arena, &r->findings, &r->marks);
  return rc;
}

static int infer(struct run *r)
{
  struct oc_pass_options passes = { .on = OC_PASSES_DEFAULT };
  struct oc_infer_options options = { .input_shape = r->input_shape };
  struct oc_infer_result inferred = { 0 };
  int rc = oc_passes_run(r->graph, OC_STAGE_PARSED, r->tables, r->soc, &passes, NULL,
                         &r->findings, &r->err);

  if (rc >= 0)
    rc = oc_infer(r->graph, &options, &r->findings, &inferred, &r->err);
  r->sizes.input_shape = r->input_shape;
  r->sizes.most = 100;
  if (rc >= 0)
    rc = oc_profiles_read(r->graph, &r->sizes, &r->findings, &r->profiles);
  if (rc >= 0)
    rc = oc_passes_run(r->graph, OC_STAGE_INFERRED, r->tables, r->soc, &passes, NULL,
                       &r->findings, &r->err);
  if (rc > 0)
    rc = oc_infer_again(r->graph, &inferred, &r->err);
  return rc;
}

static int resolve(struct run *r)
{
  const struct oc_soc *soc = oc_optable_soc(r->tables, r->soc);
  struct oc_precision_options o = {
    .optable = r->tables, .soc = r->soc, .keep = r->list, .marks = r->marks
  };

  if (!soc)
    return -1;
  if (oc_precision_mode(NULL, r->mode, NULL, &r->findings, &o.mode) < 0)
    return -1;
  o.table = soc->table;
  o.soc_bf16 = soc->bf16;
  o.cube = oc_optable_cube(r->tables);
  return oc_precision_resolve(r->graph, &o, &r->findings, &r->result, &r->err);
}

static void use_profile(void *ctx, int profile)
{
  oc_profiles_use(ctx, profile);
}

static int set_profiles(struct run *r, struct oc_builtin_options *opt)
{
  const struct oc_profiles *p = &r->profiles;
  struct oc_profile_shapes *shapes = NULL;

  if (p->kind == OC_PROFILE_NONE)
    return 0;
  int rc = oc_profiles_infer(r->graph, p, &r->findings, &shapes, &r->err);
  opt->profile_kind = p->kind == OC_PROFILE_BATCH   ? 2
                      : p->kind == OC_PROFILE_IMAGE ? 3
                                                    : 4;
  opt->n_profiles = p->n;
  opt->profile_width = p->width;
  opt->profile_values = p->values;
  opt->profile_names = p->names;
  opt->n_profile_names = p->n_names;
  opt->use_profile = use_profile;
  opt->use_profile_ctx = shapes;
  return rc;
}

static int write_file(struct run *r)
{
  struct oc_builtin_options opt = { .soc = r->soc, .precision_mode = r->mode };
  struct oc_builtin *b = NULL;
  auto_close int fd = open(r->out, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

  if (fd < 0)
    return -1;
  int rc = set_profiles(r, &opt);
  if (rc == 0)
    rc = oc_builtin_plan(r->graph, &opt, &r->findings, &b, &r->err);
  lap(r, "prepare");
  if (rc == 0)
    rc = oc_builtin_build(b, fd, &r->err);
  lap(r, "write");
  oc_builtin_free(b);
  return rc;
}

static int run(struct run *r)
{
  r->tables = oc_shipped_tables(NULL, &r->err);
  int rc = r->tables ? 0 : -1;

  lap(r, "tables");
  rc = rc < 0 ? rc : import(r);
  lap(r, "import");
  rc = rc < 0 ? rc : infer(r);
  lap(r, "infer");
  rc = rc < 0 ? rc : resolve(r);
  lap(r, "resolve");
  if (rc >= 0 && !oc_findings_have_errors(&r->findings))
    rc = write_file(r);
  return rc;
}

static void show_findings(const struct run *r)
{
  for (size_t i = 0; i < r->findings.n; i++) {
    const struct oc_finding *f = &r->findings.items[i];
    printf("%s %s %s", oc_severity_name(f->severity), oc_finding_info(f->id)->id,
           f->subject);
    for (size_t k = 0; k < f->n_args; k++)
      printf(" %s=%s", f->args[k].name, f->args[k].value);
    putchar('\n');
  }
}

int main(int argc, char **argv)
{
  struct run r = { .soc = "Ascend910B1", .mode = "fp16", .started = now_ms() };

  for (int i = 1; i < argc; i++) {
    if (oc_starts_with(argv[i], "--soc="))
      r.soc = argv[i] + 6;
    else if (oc_starts_with(argv[i], "--mode="))
      r.mode = argv[i] + 7;
    else if (oc_starts_with(argv[i], "--keep="))
      r.keep = argv[i] + 7;
    else if (oc_starts_with(argv[i], "--input_shape="))
      r.input_shape = argv[i] + 14;
    else if (oc_starts_with(argv[i], "--out_nodes="))
      r.out_nodes = argv[i] + 12;
    else if (oc_starts_with(argv[i], "--dynamic_batch_size="))
      r.sizes.batch = argv[i] + 21;
    else if (oc_starts_with(argv[i], "--dynamic_image_size="))
      r.sizes.image = argv[i] + 21;
    else if (oc_starts_with(argv[i], "--dynamic_dims="))
      r.sizes.dims = argv[i] + 15;
    else if (oc_streq(argv[i], "--times"))
      r.times = true;
    else if (!r.model)
      r.model = argv[i];
    else
      r.out = argv[i];
  }
  if (!r.out)
    return 1;
  oc_arena_init(&r.arena, 0);
  oc_findings_init(&r.findings, &r.arena);
  int rc = run(&r);
  show_findings(&r);
  if (rc < 0 && r.err.msg[0])
    fprintf(stderr, "compile_model: %s\n", r.err.msg);
  bool refused = oc_findings_have_errors(&r.findings);
  oc_optable_free(r.tables);
  oc_arena_clear(&r.arena);
  return refused ? 2 : rc < 0;
}
