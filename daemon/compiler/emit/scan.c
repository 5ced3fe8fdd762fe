/* One walk over the constants before anything is written: the bytes that will be stored
 * are digested, and what lowering loses is counted. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "emit_internal.h"

void emit_release(const struct oc_emit_plan *p, const struct emit_const *c, uint64_t from,
                  uint64_t to)
{
  uint64_t of = oc_dtype_bits(c->value->dtype), as = oc_dtype_bits(c->to);

  if (!p->opt.release || !c->value->mapped)
    return;
  uint64_t begin = from * of / as, end = to * of / as;
  p->opt.release(p->opt.release_ctx, c->value->data + begin, (size_t)(end - begin));
}

static int digest_piece(void *arg, unsigned lane, uint64_t i, uint64_t at, const void *p,
                        size_t len)
{
  const struct oc_emit_plan *plan = arg;

  (void)lane;
  (void)at;
  return plan->opt.digest(p, len, plan->digests + 32 * i);
}

static int only_count(void *arg, unsigned lane, uint64_t i, uint64_t at, const void *p,
                      size_t len)
{
  (void)arg, (void)lane, (void)i, (void)at, (void)p, (void)len;
  return 0;
}

/* Of a constant that is not stored: another one has its bytes, made from other values. */
static void count(const struct oc_emit_plan *p, struct emit_const *c, uint8_t *scratch)
{
  if (c->to == c->value->dtype)
    return;
  for (uint64_t at = 0; at < c->size; at += EMIT_CHUNK) {
    size_t len = c->size - at < EMIT_CHUNK ? (size_t)(c->size - at) : EMIT_CHUNK;
    emit_stored(c, at, len, scratch, &c->lowering);
    emit_release(p, c, at, at + len);
  }
}

int emit_scan(struct oc_emit_plan *p, struct oc_error *err)
{
  auto_free uint8_t *scratch = malloc(EMIT_CHUNK);

  if (p->opt.digest)
    p->digests = oc_arena_alloc(&p->arena, 32 * (size_t)emit_n_pieces(p) + 1);
  if (!scratch || (p->opt.digest && !p->digests))
    return emit_no_memory(err);
  if (emit_each_piece(p, true, p->opt.digest ? digest_piece : only_count, p) < 0)
    return oc_error_set(err, OC_E_IO, "cannot digest the constants");
  for (size_t i = 0; i < p->n_consts; i++) {
    struct emit_const *c = p->consts[i];
    if (c->share && c->share->value == c->value && c->share->to == c->to)
      c->lowering = c->share->lowering;
    else if (c->share)
      count(p, c, scratch);
  }
  return 0;
}
