/* Writing: preallocate the whole file, then every part once, in order.
 *
 * Weights go in chunks from the mapped model through the conversion to pwrite(), so that
 * memory does not grow with the model. Gaps between them are the zeros of the new file.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
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
    if (n < 0 && errno == EFAULT)
      return oc_error_set(err, OC_E_CHANGED, "the model file changed while it was read");
    if (n < 0)
      return failed(err, "write");
    from += n;
    at += (uint64_t)n;
    len -= (size_t)n;
  }
  return 0;
}

static int write_const(const struct oc_emit_plan *p, const struct emit_const *c, int fd,
                       uint8_t *scratch, struct oc_error *err)
{
  /* Unconverted bytes need no scratch, so they may go in larger pieces. */
  uint64_t chunk = c->to == c->value->dtype ? 16ull * EMIT_CHUNK : EMIT_CHUNK;
  uint64_t base = p->models[0].parts[PART_WEIGHTS].at + c->offset, released = 0;

  for (uint64_t at = 0; at < c->size; at += chunk) {
    size_t len = c->size - at < chunk ? (size_t)(c->size - at) : (size_t)chunk;
    const uint8_t *bytes = emit_stored(c, at, len, scratch, NULL);
    int rc = write_all(fd, base + at, bytes, len, err);
    if (rc < 0)
      return rc;
    emit_release(p, c, &released, at + len);
  }
  return 0;
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
  auto_free uint8_t *scratch = malloc(EMIT_CHUNK);

  if (!scratch)
    return emit_no_memory(err);
  int rc = preallocate(fd, oc_emit_size(p), err);
  for (uint32_t i = 0; rc == 0 && i < p->n_models; i++)
    rc = write_model(&p->models[i], fd, err);
  for (size_t i = 0; rc == 0 && i < p->n_consts; i++)
    if (p->consts[i]->stored)
      rc = write_const(p, p->consts[i], fd, scratch, err);
  return rc;
}
