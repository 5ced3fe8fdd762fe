/* The stored constants as pieces of one size: in the order of their places, converted,
 * with the zeros between them.
 *
 * They are made twice, once to be digested and once to be written: converting again costs
 * less than keeping half a model in memory. What is made of a piece stays where it was
 * made: a lane converts into a buffer that fits its core's cache and digests or writes it
 * from there. Handing pieces over to another core costs as much as making them. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "emit_internal.h"

/* Pieces that a lane takes at a time. Mapped bytes behind them are let go together. */
#define GROUP 16u

struct pieces {
  const struct oc_emit_plan *p;
  emit_piece_fn work;
  void *arg;
  struct emit_const **stored; /* by place */
  size_t n_stored;
  uint64_t end;             /* place behind the last stored byte */
  uint8_t *buffers;         /* a piece per lane */
  struct oc_lowering *lost; /* a row of `n_stored` per lane; NULL: not counted */
};

uint64_t emit_n_pieces(const struct oc_emit_plan *p)
{
  uint64_t end = 0;

  for (size_t i = 0; i < p->n_consts; i++)
    if (p->consts[i]->stored)
      end = p->consts[i]->offset + p->consts[i]->size - OC_OM_WEIGHT_ALIGN;
  return (end + EMIT_PIECE - 1) / EMIT_PIECE;
}

/* The last constant that begins at `place` or before it. */
static size_t constant_at(const struct pieces *s, uint64_t place)
{
  size_t low = 0, high = s->n_stored;

  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;
    if (s->stored[middle]->offset <= place)
      low = middle;
    else
      high = middle;
  }
  return low;
}

/* Bytes [from, to) of the file's weights. Places are multiples of 512, as pieces are, so
 * an element is never cut. */
static void make(const struct pieces *s, unsigned lane, uint64_t from, uint64_t to,
                 uint8_t *buffer)
{
  uint64_t made = from;

  for (size_t k = constant_at(s, from); k < s->n_stored && made < to; k++) {
    const struct emit_const *c = s->stored[k];
    struct oc_lowering *lost = s->lost ? &s->lost[lane * s->n_stored + k] : NULL;
    uint64_t end = c->offset + c->size < to ? c->offset + c->size : to;

    if (c->offset > made) {
      uint64_t gap = (c->offset < to ? c->offset : to) - made;
      memset(buffer + (made - from), 0, (size_t)gap);
      made += gap;
    }
    if (made >= end)
      continue;
    uint8_t *at = buffer + (made - from);
    const uint8_t *bytes =
        emit_stored(c, made - c->offset, (size_t)(end - made), at, lost);
    if (bytes != at)
      memcpy(at, bytes, (size_t)(end - made));
    made = end;
  }
}

/* Mapped bytes behind what was made of [from, to) are not needed for now. */
static void release(const struct pieces *s, uint64_t from, uint64_t to)
{
  const struct oc_emit_plan *p = s->p;

  if (!p->opt.release)
    return;
  for (size_t k = constant_at(s, from); k < s->n_stored && s->stored[k]->offset < to;
       k++) {
    const struct emit_const *c = s->stored[k];
    uint64_t begin = c->offset < from ? from - c->offset : 0;
    uint64_t end = c->offset + c->size < to ? c->size : to - c->offset;

    if (begin < end)
      emit_release(p, c, begin, end);
  }
}

static int make_group(void *arg, unsigned lane, uint64_t group)
{
  const struct pieces *s = arg;
  uint8_t *buffer = s->buffers + (size_t)lane * EMIT_PIECE;
  uint64_t from = OC_OM_WEIGHT_ALIGN + group * GROUP * EMIT_PIECE, to = from;
  uint64_t i = group * GROUP;
  int rc = 0;

  for (; rc == 0 && to < s->end && i < (group + 1) * GROUP; i++) {
    uint64_t at = to;
    to = s->end - at < EMIT_PIECE ? s->end : at + EMIT_PIECE;
    make(s, lane, at, to, buffer);
    rc = s->work(s->arg, lane, i, at, buffer, (size_t)(to - at));
  }
  release(s, from, to);
  return rc;
}

static void add_lost(const struct pieces *s, unsigned n_lanes)
{
  for (size_t k = 0; s->lost && k < s->n_stored; k++)
    for (unsigned lane = 0; lane < n_lanes; lane++) {
      const struct oc_lowering *l = &s->lost[lane * s->n_stored + k];
      struct oc_lowering *sum = &s->stored[k]->lowering;
      sum->overflow += l->overflow;
      sum->underflow += l->underflow;
      if (l->max_abs > sum->max_abs)
        sum->max_abs = l->max_abs;
    }
}

static int one_after_the_other(struct pieces *s, uint64_t n)
{
  int rc = 0;

  for (uint64_t i = 0; rc == 0 && i < n; i++)
    rc = make_group(s, 0, i);
  return rc;
}

int emit_each_piece(const struct oc_emit_plan *p, bool count, emit_piece_fn work,
                    void *arg)
{
  const struct oc_emit_lanes *lanes = p->opt.lanes;
  unsigned n_lanes = lanes && lanes->n < EMIT_MAX_LANES ? lanes->n : EMIT_MAX_LANES;
  if (!lanes)
    n_lanes = 1;
  auto_free uint8_t *buffers = malloc((size_t)n_lanes * EMIT_PIECE);
  auto_free struct emit_const **stored = calloc(p->n_consts + 1, sizeof *stored);
  auto_free struct oc_lowering *lost =
      count ? calloc((p->n_consts + 1) * n_lanes, sizeof *lost) : NULL;
  struct pieces s = { .p = p, .work = work, .arg = arg };

  if (!buffers || !stored || (count && !lost))
    return OC_E_NOMEM;
  s.buffers = buffers;
  s.stored = stored;
  s.lost = lost;
  for (size_t i = 0; i < p->n_consts; i++)
    if (p->consts[i]->stored)
      stored[s.n_stored++] = p->consts[i];
  if (!s.n_stored)
    return 0;
  s.end = stored[s.n_stored - 1]->offset + stored[s.n_stored - 1]->size;
  uint64_t n = (emit_n_pieces(p) + GROUP - 1) / GROUP;
  int rc = n_lanes > 1 && n > 1 ? lanes->each(lanes->ctx, n_lanes, n, make_group, &s)
                                : one_after_the_other(&s, n);
  add_lost(&s, n_lanes);
  return rc;
}
