/* What the written bytes depend on, and nothing else: the finished parts by their
 * digests, and the constants as they will be stored by the digests of their pieces. */
#include <string.h>

#include "base/cleanup.h"
#include "emit_internal.h"

/* Changes when the same parts would be written differently. */
#define IDENTITY_HEAD "omcc emit 3\n"

static void put64(struct oc_buf *out, uint64_t v)
{
  uint8_t b[8];

  for (int i = 0; i < 8; i++)
    b[i] = (uint8_t)(v >> (8 * i));
  oc_buf_append(out, b, sizeof b);
}

static int put_digest(const struct oc_emit_plan *p, struct oc_buf *out, const void *data,
                      size_t len, struct oc_error *err)
{
  uint8_t digest[32];

  if (p->opt.digest(data, len, digest) < 0)
    return oc_error_set(err, OC_E_IO, "cannot digest a part of the .om file");
  put64(out, len);
  oc_buf_append(out, digest, sizeof digest);
  return 0;
}

int oc_emit_identity(const struct oc_emit_plan *p, struct oc_buf *out,
                     struct oc_error *err)
{
  if (!p->opt.digest)
    return oc_error_set(err, OC_E_ARG, "no digest function was given");
  oc_buf_puts(out, IDENTITY_HEAD);
  for (uint32_t m = 0; m < p->n_models; m++) {
    const struct emit_model *model = &p->models[m];
    const struct oc_buf *parts[] = { &model->front, &model->inout, &model->def,
                                     &model->tasks };
    for (size_t i = 0; i < OC_COUNT(parts); i++) {
      int rc = put_digest(p, out, parts[i]->data, parts[i]->len, err);
      if (rc < 0)
        return rc;
    }
  }
  put64(out, p->stats.weight_size);
  oc_buf_append(out, p->digests, 32 * (size_t)emit_n_pieces(p));
  return out->failed ? emit_no_memory(err) : 0;
}
