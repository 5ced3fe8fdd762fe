/* Job directories: private, named by job, removed with everything in them.
 *
 * A compiler leaves thousands of small files behind, so the removal runs on libuv's
 * threads; nothing of a request's answer waits for it. Links are not followed. */
#include "pool/pool_internal.h"

#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Descriptors that one removal may hold open at a time. */
#define OPEN_DIRS 16

struct removal {
  uv_work_t work;
  struct oc_pool *pool;
  char *path;
};

int job_dir_make(const char *parent, uint64_t job, char **ret, struct oc_error *err)
{
  char *path;

  if (mkdir(parent, 0700) && errno != EEXIST)
    return oc_error_errno(err, OC_E_IO, "cannot make the directory '%s'", parent);
  if (asprintf(&path, "%s/%" PRIu64 "-XXXXXX", parent, job) < 0)
    return oc_error_set(err, OC_E_NOMEM, "no memory for a job directory");
  if (!mkdtemp(path)) {
    oc_error_errno(err, OC_E_IO, "cannot make a job directory in '%s'", parent);
    free(path);
    return OC_E_IO;
  }
  *ret = path;
  return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
  (void)st;
  (void)at;
  if (type == FTW_DNR)
    return 0; /* what cannot be read is reported by its parent's rmdir */
  remove(path);
  return 0;
}

void oc_pool_clear_jobs(const char *jobs_dir)
{
  nftw(jobs_dir, remove_one, OPEN_DIRS, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

static void do_remove(uv_work_t *work)
{
  struct removal *r = work->data;

  oc_pool_clear_jobs(r->path);
}

static void removed(uv_work_t *work, int status)
{
  struct removal *r = work->data;
  struct oc_pool *p = r->pool;

  (void)status;
  if (!access(r->path, F_OK))
    oc_log_event(p->o.log, OC_LOG_WARNING, "job_directory_left", 0, r->path);
  free(r->path);
  free(r);
  p->removing--;
  pool_check_closed(p);
}

void job_dir_remove(struct oc_pool *p, char *path)
{
  struct removal *r = malloc(sizeof(*r));

  if (!r) {
    free(path);
    return;
  }
  r->pool = p;
  r->path = path;
  r->work.data = r;
  p->removing++;
  if (uv_queue_work(p->o.loop, &r->work, do_remove, removed)) {
    p->removing--;
    free(path);
    free(r);
  }
}
