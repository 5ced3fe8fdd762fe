/* Members of a result in one of two forms: inline bytes, or a file ready to be named.
 *
 * What came as a foreign descriptor is copied and digested here, on the writer thread: it
 * may lie on another file system, and its owner may still change it. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/str.h"
#include "cache/cache_internal.h"

#define COPY_CHUNK (256u << 10)

static int write_all(int fd, const void *p, size_t len)
{
  for (size_t at = 0; at < len;) {
    ssize_t n = write(fd, (const char *)p + at, len - at);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return -1;
    at += (size_t)n;
  }
  return 0;
}

/* Copies what `from` holds into `to`, digesting on the way. */
static int copy_all(int from, int to, uint64_t *ret_size, uint8_t ret[OC_SHA256_LEN],
                    struct oc_error *err)
{
  struct oc_sha256 s;
  uint64_t at = 0;
  auto_free uint8_t *chunk = malloc(COPY_CHUNK);
  int rc = oc_sha256_init(&s);

  if (!chunk)
    rc = OC_E_NOMEM;
  if (rc < 0)
    oc_error_set(err, rc, "no memory to store a file");
  while (rc == 0) {
    ssize_t n = pread(from, chunk, COPY_CHUNK, (off_t)at);
    if (n < 0 && errno == EINTR)
      continue;
    if (n == 0)
      break;
    if (n < 0 || write_all(to, chunk, (size_t)n) < 0) {
      rc = oc_error_errno(err, OC_E_IO, "cannot copy a file into the cache");
      break;
    }
    oc_sha256_update(&s, chunk, (size_t)n);
    at += (uint64_t)n;
  }
  if (rc < 0) {
    oc_sha256_clear(&s);
    return rc;
  }
  *ret_size = at;
  return oc_sha256_final(&s, ret) < 0
             ? oc_error_set(err, OC_E_NOMEM, "no memory for a digest")
             : 0;
}

/* A copied file that turned out small goes inline. */
static int shrink(struct oc_cache_job *job, struct oc_cache_job_member *m,
                  struct oc_error *err)
{
  m->data = oc_arena_alloc(&job->arena, m->size);
  if (!m->data)
    return oc_error_set(err, OC_E_NOMEM, "no memory to store a file");
  if (m->size && pread(m->output.fd, m->data, m->size, 0) != (ssize_t)m->size)
    return oc_error_errno(err, OC_E_IO, "cannot read back a small file");
  oc_cache_output_clear(&m->output);
  return 0;
}

/* Brings every member into one of two forms: inline bytes, or an output ready to be
 * named. */
int oc_cache_settle(struct oc_cache *c, struct oc_cache_job *job,
                    struct oc_cache_job_member *m, struct oc_error *err)
{
  int rc = 0;

  if (m->from == OC_CACHE_FROM_DATA && m->size > OC_INLINE_MEMBER) {
    rc = oc_cache_output_new(c, &m->output, err);
    if (rc == 0 && write_all(m->output.fd, m->data, m->size) < 0)
      rc = oc_error_errno(err, OC_E_IO, "cannot write '%s' into the cache", m->name);
    m->data = NULL;
  } else if (m->from == OC_CACHE_FROM_COPY) {
    rc = oc_cache_output_new(c, &m->output, err);
    if (rc == 0)
      rc = copy_all(m->fd, m->output.fd, &m->size, m->sha256, err);
    if (rc == 0 && m->size == 0 && oc_streq(m->kind, "artifact"))
      rc = oc_error_set(err, OC_E_ARG, "the member '%s' is empty", m->name);
    if (rc == 0 && m->size <= OC_INLINE_MEMBER)
      rc = shrink(job, m, err);
  }
  return rc;
}
