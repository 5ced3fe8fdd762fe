/* Build: lay the artifact out, name it by its content, write it.
 *
 * The plan key is the digest of everything that decides the written bytes, constants by
 * their content, so that two requests which would write the same file share one object.
 */
#include "worker/worker_internal.h"

#include <sys/mman.h>
#include <unistd.h>

#include "builtin/builtin.h"
#include "digest/digest.h"
#include "graph/graph.h"
#include "import/import.h"
#include "om/om.h"
#include "optable/optable.h"
#include "precision/precision.h"

/* Identity of a large graph: its MODEL_DEF and 32 bytes per constant. */
#define OC_IDENTITY_CAP ((size_t)3 << 30)

/* Up to here the pages of a model stay mapped between the two walks over its weights:
 * mapping them again takes as long as converting them. They are the page cache's own. */
#define OC_KEEP_MAPPED ((uint64_t)512 << 20)

static uint64_t mapped_bytes(const struct oc_job *job)
{
  uint64_t sum = 0;

  for (size_t i = 0; i < job->n_files; i++)
    sum += job->files[i].len;
  for (size_t i = 0; i < job->n_external; i++)
    sum += job->external[i].len;
  return sum;
}

/* Weights of inputs are pages of their files: those that hold a part of `p` are given
 * back and come again from the page cache when they are read again. */
static void release_pages(void *ctx, const void *p, size_t len)
{
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  uintptr_t from = (uintptr_t)p / page * page;
  uintptr_t to = ((uintptr_t)p + len + page - 1) / page * page;

  (void)ctx;
  if (from < to)
    madvise((void *)from, to - from, MADV_DONTNEED);
}

/* The model's own names of its outputs, as the importer left them on NetOutput. */
static void name_outputs(struct oc_job *job, struct oc_builtin_options *o)
{
  const struct oc_op *end = oc_graph_find(job->graph, "Node_Output");
  const struct oc_attr *names = end ? oc_attr_find(end, OC_ATTR_OUTPUT_NAMES) : NULL;

  if (!names || names->kind != OC_ATTR_STRINGS)
    return;
  const char **list = OC_NEW_N(&job->arena, const char *, names->n);
  if (!list)
    return;
  for (size_t i = 0; i < names->n; i++)
    list[i] =
        oc_arena_strndup(&job->arena, names->u.strings[i].p, names->u.strings[i].len);
  o->output_names = list;
  o->n_output_names = names->n;
}

/* Number of the record that holds such profiles. */
static uint32_t profile_record(enum oc_profile_kind kind)
{
  switch (kind) {
  case OC_PROFILE_BATCH: return OC_OM_BATCHES;
  case OC_PROFILE_IMAGE: return OC_OM_IMAGES;
  case OC_PROFILE_DIMS: return OC_OM_DIMS;
  default: return 0;
  }
}

static void use_profile(void *ctx, int profile)
{
  oc_profiles_use(ctx, profile);
}

static void set_profiles(const struct oc_job *job, struct oc_builtin_options *o)
{
  const struct oc_profiles *p = &job->profiles;

  if (!job->profile_shapes)
    return;
  o->profile_kind = profile_record(p->kind);
  o->n_profiles = p->n;
  o->profile_width = p->width;
  o->profile_values = p->values;
  o->profile_names = p->names;
  o->n_profile_names = p->n_names;
  o->use_profile = use_profile;
  o->use_profile_ctx = job->profile_shapes;
}

int oc_job_prepare(struct oc_job *job, uint8_t ret_key[32], uint64_t *ret_size,
                   struct oc_error *err)
{
  struct oc_builtin_options options = { .digest = oc_sha256_bytes,
                                        .n_lanes = OC_LANES,
                                        .each_lane = oc_lanes_each };
  struct oc_builtin_info info;
  struct oc_buf identity;
  uint64_t start = oc_now_us();

  if (mapped_bytes(job) > OC_KEEP_MAPPED)
    options.release = release_pages;
  options.label =
      job->request->label && job->request->label[0] ? job->request->label : "model";
  options.soc = job->soc->name;
  options.arch_type = job->soc->arch_type;
  options.precision_mode = oc_mode_name(job->precision->mode.mode);
  name_outputs(job, &options);
  set_profiles(job, &options);
  oc_buf_init(&identity, OC_IDENTITY_CAP);
  int r = oc_builtin_plan(job->graph, &options, &job->findings, &job->output, err);
  if (r == 0)
    r = oc_builtin_identity(job->output, &identity, err);
  if (r == 0 && oc_sha256_bytes(identity.data, identity.len, ret_key) < 0)
    r = oc_error_set(err, OC_E_NOMEM, "no memory for the plan key");
  oc_buf_clear(&identity);
  if (r < 0)
    return r;
  oc_builtin_describe(job->output, &info);
  *ret_size = info.size;
  job->emit_us += oc_now_us() - start;
  oc_stop_point(job->request->stop_at, "after-prepare");
  return r;
}

int oc_job_build(struct oc_job *job, int output_fd, uint64_t *ret_size,
                 struct oc_error *err)
{
  struct oc_builtin_info info;
  uint64_t start = oc_now_us();

  oc_stop_point(job->request->stop_at, "before-build");
  int r = oc_builtin_build(job->output, output_fd, err);
  if (r < 0)
    return r;
  oc_stop_point(job->request->stop_at, "after-build");
  oc_builtin_describe(job->output, &info);
  *ret_size = info.size;
  job->emit_us += oc_now_us() - start;
  return 0;
}
