/* The job's files: descriptors become read-only mappings.
 *
 * Structure is read once from a mapping into the arena by the importer; only tensor
 * payload stays a slice of it, so that weights of any size cost no memory of their own.
 * Whatever is mapped may shrink while it is read: sandbox.c catches that. */
#include "worker/worker_internal.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/str.h"

static int map_one(int fd, struct oc_job_file *f, struct oc_error *err)
{
  struct stat st;

  if (fd < 0)
    return oc_error_set(err, OC_E_PROTO, "file '%s' came without a descriptor", f->name);
  if (fstat(fd, &st) < 0)
    return oc_error_errno(err, OC_E_IO, "cannot examine '%s'", f->name);
  if (!S_ISREG(st.st_mode))
    return oc_error_set(err, OC_E_FORMAT, "'%s' is not a regular file", f->name);
  f->len = (size_t)st.st_size;
  f->data = NULL;
  if (f->len == 0)
    return 0;
  void *p = mmap(NULL, f->len, PROT_READ, MAP_PRIVATE, fd, 0);
  if (p == MAP_FAILED)
    return oc_error_errno(err, OC_E_IO, "cannot map '%s'", f->name);
  /* Weights are read front to back, once. */
  madvise(p, f->len, MADV_SEQUENTIAL);
  f->data = p;
  return 0;
}

int oc_job_map_files(struct oc_job *job, const Omcc__V1__Plan *plan,
                     struct oc_frame *frame, struct oc_error *err)
{
  job->files = OC_NEW_N(&job->arena, struct oc_job_file, plan->n_files);
  if (!job->files)
    return oc_error_set(err, OC_E_NOMEM, "no memory for the list of files");
  for (size_t i = 0; i < plan->n_files; i++) {
    struct oc_job_file *f = &job->files[i];
    auto_close int fd = oc_frame_take_fd(frame, plan->files[i]->fd);
    f->flag = plan->files[i]->flag;
    f->name = plan->files[i]->name;
    int r = map_one(fd, f, err);
    if (r < 0)
      return r;
    job->n_files = i + 1;
  }
  return oc_job_map_external(job, plan->external, plan->n_external, frame, err);
}

int oc_job_map_external(struct oc_job *job, Omcc__V1__ExternalFile **files, size_t n,
                        struct oc_frame *frame, struct oc_error *err)
{
  if (n == 0)
    return 0;
  job->external = oc_arena_grow(&job->arena, job->external, job->n_external,
                                job->n_external + n, sizeof *job->external);
  if (!job->external)
    return oc_error_set(err, OC_E_NOMEM, "no memory for the list of external files");
  for (size_t i = 0; i < n; i++) {
    struct oc_job_file *f = &job->external[job->n_external];
    auto_close int fd = oc_frame_take_fd(frame, files[i]->fd);
    f->flag = "external";
    f->name = files[i]->name;
    int r = map_one(fd, f, err);
    if (r < 0)
      return r;
    job->n_external++;
  }
  return 0;
}

const struct oc_job_file *oc_job_file(const struct oc_job *job, const char *flag)
{
  for (size_t i = 0; i < job->n_files; i++)
    if (oc_streq(job->files[i].flag, flag))
      return &job->files[i];
  return NULL;
}

const char *oc_job_flag(const struct oc_job *job, const char *name, const char *other)
{
  for (size_t i = job->request->n_flags; i > 0; i--)
    if (oc_streq(job->request->flags[i - 1]->name, name))
      return job->request->flags[i - 1]->value;
  return other;
}
