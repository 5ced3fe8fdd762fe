/* Writing: preallocate the whole file, then every part once; weights go in pieces from
 * the mapped model through the conversion to pwrite(), so that memory does not grow with
 * the model. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "emit_internal.h"

static int failed(struct oc_error *err, const char *what)
{
  bool full = errno == ENOSPC || errno == EDQUOT || errno == EFBIG;

  return oc_error_errno(err, full ? OC_E_LIMIT : OC_E_IO, "cannot %s the .om file", what);
}

static int preallocate(int fd, uint64_t size, struct oc_error *err)
{
  int rc;

  do
    rc = fallocate(fd, 0, 0, (off_t)size);
  while (rc != 0 && errno == EINTR);
  if (rc != 0 && (errno == EOPNOTSUPP || errno == ENOSYS)) /* some file systems cannot */
    rc = ftruncate(fd, (off_t)size);
  return rc == 0 ? 0 : failed(err, "make room for");
}

static int write_all(int fd, uint64_t at, const void *p, size_t len, struct oc_error *err)
{
  const uint8_t *from = p;

  while (len > 0) {
    ssize_t n = pwrite(fd, from, len, (off_t)at);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return failed(err, "write");
    from += n;
    at += (uint64_t)n;
    len -= (size_t)n;
  }
  return 0;
}

/* Where the constants go. */
struct weights {
  int fd;
  uint64_t at;
  struct oc_error err[EMIT_MAX_LANES]; /* the lanes' first failures */
};

static int write_piece(void *arg, unsigned lane, uint64_t i, uint64_t at, const void *p,
                       size_t len)
{
  struct weights *w = arg;

  (void)i;
  return write_all(w->fd, w->at + at, p, len, &w->err[lane]);
}

static int write_weights(const struct oc_emit_plan *p, int fd, struct oc_error *err)
{
  struct weights w = { .fd = fd, .at = p->models[0].parts[PART_WEIGHTS].at };
  int rc = emit_each_piece(p, false, write_piece, &w);

  if (rc == 0)
    return 0;
  for (unsigned lane = 0; lane < EMIT_MAX_LANES; lane++)
    if (w.err[lane].code) {
      if (err)
        *err = w.err[lane];
      return rc;
    }
  return emit_no_memory(err);
}

/* Everything of a model but the weights. */
static int write_model(const struct emit_model *m, int fd, struct oc_error *err)
{
  int rc = write_all(fd, m->at, m->front.data, m->front.len, err);

  for (uint32_t i = 0; rc == 0 && i < m->n_parts; i++) {
    const struct oc_buf *b = NULL;
    switch (m->parts[i].type) {
    case OC_OM_INOUT: b = &m->inout; break;
    case OC_OM_MODEL_DEF: b = &m->def; break;
    case OC_OM_TASK_INFO: b = &m->tasks; break;
    }
    if (b)
      rc = write_all(fd, m->parts[i].at, b->data, b->len, err);
  }
  return rc;
}

int oc_emit_write(const struct oc_emit_plan *p, int fd, struct oc_error *err)
{
  int rc = preallocate(fd, oc_emit_size(p), err);

  for (uint32_t i = 0; rc == 0 && i < p->n_models; i++)
    rc = write_model(&p->models[i], fd, err);
  if (rc == 0 && p->stats.n_stored)
    rc = write_weights(p, fd, err);
  return rc;
}
