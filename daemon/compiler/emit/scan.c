/* One walk over the constants before anything is written: the bytes that will be stored
 * are made in cache-sized chunks, digested, counted, and forgotten. Converting twice
 * (again when the file is written) costs less than keeping half a model in memory. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "emit_internal.h"

/* Bytes of the file that are let go at a time: enough that asking costs nothing. */
#define RELEASE_STEP (4u << 20)

void emit_release(const struct oc_emit_plan *p, const struct emit_const *c,
                  uint64_t *done, uint64_t at)
{
  uint64_t from = oc_dtype_bits(c->value->dtype), to = oc_dtype_bits(c->to);

  if (!p->opt.release || !c->value->mapped || (at - *done < RELEASE_STEP && at < c->size))
    return;
  uint64_t begin = *done * from / to, end = at * from / to;
  p->opt.release(p->opt.release_ctx, c->value->data + begin, (size_t)(end - begin));
  *done = at;
}

/* Two pieces of scratch in turn: while one is converted, the other may be digested.
 * Constants that share bytes are only counted: they may come from other values. */
static int scan_one(const struct oc_emit_plan *p, struct emit_const *c, uint8_t *scratch)
{
  const struct oc_emit_hash *h = c->stored ? p->opt.hash : NULL;
  uint64_t released = 0;

  if (!h && c->to == c->value->dtype)
    return 0;
  if (h)
    h->begin(h->ctx);
  for (uint64_t at = 0; at < c->size; at += EMIT_CHUNK) {
    size_t len = c->size - at < EMIT_CHUNK ? (size_t)(c->size - at) : EMIT_CHUNK;
    uint8_t *to = scratch + (at / EMIT_CHUNK % 2) * EMIT_CHUNK;
    const uint8_t *bytes = emit_stored(c, at, len, to, &c->lowering);
    if (h)
      h->update(h->ctx, bytes, len);
    emit_release(p, c, &released, at + len);
  }
  return h ? h->end(h->ctx, c->digest) : 0;
}

int emit_scan(struct oc_emit_plan *p, struct oc_error *err)
{
  auto_free uint8_t *scratch = malloc(2 * (size_t)EMIT_CHUNK);

  if (!scratch)
    return emit_no_memory(err);
  for (size_t i = 0; i < p->n_consts; i++) {
    struct emit_const *c = p->consts[i];
    if (c->share && c->share->value == c->value && c->share->to == c->to)
      c->lowering = c->share->lowering;
    else if (scan_one(p, c, scratch) < 0)
      return oc_error_set(err, OC_E_IO, "cannot digest constant '%s'", c->name);
  }
  return 0;
}
