/* A result on its way to the writer: checked, copied, taken over. Runs on the caller's
 * thread and does no slow thing; outputs and copies go along as descriptors. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/str.h"
#include "cache/cache_internal.h"

static bool may_be_empty(const char *kind)
{
  return oc_streq(kind, "stdout") || oc_streq(kind, "stderr") || oc_streq(kind, "report");
}

/* Relative, without "." or ".." or empty pieces: a name that a client may put below its
 * target. */
static bool name_is_safe(const char *name)
{
  size_t piece = 0;

  if (name[0] == '\0' || strlen(name) > 255)
    return false;
  for (const char *p = name;; p++) {
    if (*p != '/' && *p != '\0') {
      piece++;
      continue;
    }
    const char *start = p - piece;
    if (piece == 0 || (piece == 1 && start[0] == '.') ||
        (piece == 2 && start[0] == '.' && start[1] == '.'))
      return false;
    piece = 0;
    if (*p == '\0')
      return true;
  }
}

static int check(const struct oc_cache_put *put, struct oc_error *err)
{
  if (put->n_members == 0 || put->n_members > OC_CACHE_MAX_MEMBERS)
    return oc_error_set(err, OC_E_ARG, "a result has %zu members", put->n_members);
  for (size_t i = 0; i < put->n_members; i++) {
    const struct oc_cache_put_member *m = &put->members[i];
    if (!name_is_safe(m->name))
      return oc_error_set(err, OC_E_ARG, "the member name '%.100s' is not usable",
                          m->name);
    for (size_t k = 0; k < i; k++)
      if (oc_streq(m->name, put->members[k].name))
        return oc_error_set(err, OC_E_ARG, "the member '%.100s' is there twice", m->name);
    if (m->from != OC_CACHE_FROM_COPY && m->size == 0 && !may_be_empty(m->kind))
      return oc_error_set(err, OC_E_ARG, "the member '%.100s' is empty", m->name);
  }
  return 0;
}

/* Reads a small output into the job, so that it needs no file. */
static int pull_inline(struct oc_cache_job *job, struct oc_cache_job_member *m,
                       const struct oc_cache_put_member *from, struct oc_error *err)
{
  size_t got = 0;

  m->data = oc_arena_alloc(&job->arena, from->size);
  if (!m->data)
    return oc_error_set(err, OC_E_NOMEM, "no memory to store a result");
  while (got < from->size) {
    ssize_t n =
        pread(from->output->fd, (char *)m->data + got, from->size - got, (off_t)got);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return oc_error_set(err, OC_E_IO, "the output '%s' is shorter than it was",
                          m->name);
    got += (size_t)n;
  }
  return 0;
}

static int take_member(struct oc_cache_job *job, struct oc_cache_job_member *m,
                       const struct oc_cache_put_member *from, struct oc_error *err)
{
  m->name = oc_arena_strdup(&job->arena, from->name);
  m->kind = oc_arena_strdup(&job->arena, from->kind);
  m->mode = from->mode & 07777;
  m->size = from->size;
  m->from = from->from;
  m->linked = from->linked;
  memcpy(m->sha256, from->sha256, sizeof(m->sha256));
  switch (from->from) {
  case OC_CACHE_FROM_DATA:
    m->data = oc_arena_memdup(&job->arena, from->data, from->size);
    return m->data && oc_sha256_bytes(from->data, from->size, m->sha256) == 0
               ? 0
               : oc_error_set(err, OC_E_NOMEM, "no memory to store a result");
  case OC_CACHE_FROM_OUTPUT:
    /* An artifact is an object however small: a plan key names it, a link may point to
     * it. */
    if (from->size <= OC_INLINE_MEMBER && !oc_streq(from->kind, "artifact"))
      return pull_inline(job, m, from, err);
    m->output = *from->output;
    *from->output = (struct oc_cache_output){ .fd = -1 };
    return 0;
  case OC_CACHE_FROM_COPY:
    m->fd = fcntl(from->fd, F_DUPFD_CLOEXEC, 0);
    return m->fd >= 0 ? 0 : oc_error_errno(err, OC_E_IO, "cannot keep a file to store");
  case OC_CACHE_FROM_OBJECT:
  case OC_CACHE_FROM_FOUND: return 0;
  }
  return oc_error_set(err, OC_E_ARG, "a member comes from nowhere");
}

static int take_facts(struct oc_cache_job *job, const struct oc_cache_facts *from)
{
  struct oc_cache_facts *f = &job->put.facts;

  *f = *from;
  f->model = oc_arena_strdup(&job->arena, from->model ? from->model : "");
  f->soc = oc_arena_strdup(&job->arena, from->soc ? from->soc : "");
  f->backend = oc_arena_strdup(&job->arena, from->backend ? from->backend : "");
  f->mode = oc_arena_strdup(&job->arena, from->mode ? from->mode : "");
  f->table_id = oc_arena_strdup(&job->arena, from->table_id ? from->table_id : "");
  f->toolkit = oc_arena_strdup(&job->arena, from->toolkit ? from->toolkit : "");
  return job->arena.failed ? OC_E_NOMEM : 0;
}

static int fill(struct oc_cache_job *job, const struct oc_cache_put *put,
                struct oc_error *err)
{
  struct oc_cache_put_job *p = &job->put;

  p->members = OC_NEW_N(&job->arena, struct oc_cache_job_member, put->n_members);
  p->parts = oc_arena_memdup(&job->arena, put->parts, put->parts_len);
  p->parts_len = put->parts_len;
  if (!p->members || !p->parts || take_facts(job, &put->facts) < 0)
    return oc_error_set(err, OC_E_NOMEM, "no memory to store a result");
  memcpy(job->key, put->key, sizeof(job->key));
  memcpy(p->model, put->model, sizeof(p->model));
  memcpy(p->options, put->options, sizeof(p->options));
  memcpy(p->plan_key, put->plan_key, sizeof(p->plan_key));
  p->has_plan_key = put->has_plan_key;
  p->created_s = put->created_s;
  for (size_t i = 0; i < put->n_members; i++) {
    p->members[i].fd = -1;
    p->members[i].output.fd = -1;
    p->n_members = i + 1;
    int rc = take_member(job, &p->members[i], &put->members[i], err);
    if (rc < 0)
      return rc;
  }
  return job->arena.failed ? oc_error_set(err, OC_E_NOMEM, "no memory to store a result")
                           : 0;
}

/* Whatever happened, the outputs are no longer the caller's. */
static void release_outputs(const struct oc_cache_put *put)
{
  for (size_t i = 0; i < put->n_members; i++)
    if (put->members[i].from == OC_CACHE_FROM_OUTPUT && put->members[i].output)
      oc_cache_output_clear(put->members[i].output);
}

static int new_job(const struct oc_cache_put *put, struct oc_cache_job **ret,
                   struct oc_error *err)
{
  struct oc_cache_job *job = NULL;
  int rc = check(put, err);

  if (rc == 0) {
    job = oc_cache_job_new(OC_JOB_PUT);
    rc = job ? fill(job, put, err)
             : oc_error_set(err, OC_E_NOMEM, "no memory to store a result");
  }
  release_outputs(put);
  if (rc < 0) {
    oc_cache_job_free(job);
    return rc;
  }
  *ret = job;
  return 0;
}

struct oc_cache_job *oc_cache_put_job_new(const struct oc_cache_put *put,
                                          struct oc_error *err)
{
  struct oc_cache_job *job = NULL;

  return new_job(put, &job, err) == 0 ? job : NULL;
}

int oc_cache_put(struct oc_cache *c, const struct oc_cache_put *put, uint64_t ticket,
                 struct oc_error *err)
{
  struct oc_cache_job *job = NULL;
  int rc = new_job(put, &job, err);

  if (rc == 0 && atomic_load(&c->broken))
    rc = oc_error_set(err, OC_E_STORE, "the index of the cache is damaged");
  if (rc == 0) {
    job->put.ticket = ticket;
    if (oc_cache_enqueue(c, job))
      job = NULL;
    else
      rc = oc_error_set(err, OC_E_BUSY, "the writer of the cache is behind");
  }
  if (rc < 0)
    oc_cache_count(c, OC_COUNT_NOT_STORED, 1);
  oc_cache_job_free(job);
  return rc;
}
