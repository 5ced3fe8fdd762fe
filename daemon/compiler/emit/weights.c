/* WEIGHTS_DATA: which constant lies where.
 *
 * Constants in the order of their names; the first starts at 512, each further one at the
 * next multiple of 512; at the end 32 are added and the sum is rounded up to 512.
 * Constants whose stored bytes are equal share one place. To find those without hashing
 * every byte, a fingerprint over the size and a few samples sorts out nearly all; what is
 * left is compared in full. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "emit_internal.h"

#define SAMPLES      16
#define SAMPLE_BYTES 64
#define TAIL         32

static int by_name(const void *a, const void *b)
{
  const struct emit_const *x = *(struct emit_const *const *)a;
  const struct emit_const *y = *(struct emit_const *const *)b;
  int c = strcmp(x->name, y->name);

  return c ? c : (x->graph > y->graph) - (x->graph < y->graph);
}

static int by_fingerprint(const void *a, const void *b)
{
  const struct emit_const *x = *(struct emit_const *const *)a;
  const struct emit_const *y = *(struct emit_const *const *)b;

  if (x->fingerprint != y->fingerprint)
    return x->fingerprint < y->fingerprint ? -1 : 1;
  return by_name(a, b);
}

static int set_sizes(struct emit_const *c, struct oc_error *err)
{
  uint64_t need = 0;

  c->size = c->value->len;
  if (emit_bytes(c->value->dtype, c->value->shape, &need) && need != c->value->len)
    return oc_error_set(err, OC_E_FORMAT,
                        "constant '%s' has %zu bytes, its shape needs %llu", c->name,
                        c->value->len, (unsigned long long)need);
  if (c->to != c->value->dtype)
    c->size =
        c->value->len / (oc_dtype_bits(c->value->dtype) / 8) * (oc_dtype_bits(c->to) / 8);
  return 0;
}

static void set_fingerprint(struct emit_const *c, uint8_t *scratch)
{
  uint64_t h = c->size * 0x9E3779B97F4A7C15ull;
  uint64_t step = c->size / SAMPLES / SAMPLE_BYTES * SAMPLE_BYTES;

  for (unsigned i = 0; i < SAMPLES; i++) {
    uint64_t at = i * step;
    size_t len = c->size - at < SAMPLE_BYTES ? (size_t)(c->size - at) : SAMPLE_BYTES;
    if (len)
      h = (h ^ oc_hash_bytes(emit_stored(c, at, len, scratch, NULL), len)) *
          0x100000001B3ull;
    if (!step)
      break;
  }
  c->fingerprint = h;
}

static bool same_bytes(const struct emit_const *a, const struct emit_const *b,
                       uint8_t *scratch)
{
  if (a->size != b->size)
    return false;
  if (a->value == b->value && a->to == b->to)
    return true;
  for (uint64_t at = 0; at < a->size; at += EMIT_CHUNK) {
    size_t len = a->size - at < EMIT_CHUNK ? (size_t)(a->size - at) : EMIT_CHUNK;
    const uint8_t *x = emit_stored(a, at, len, scratch, NULL);
    const uint8_t *y = emit_stored(b, at, len, scratch + EMIT_CHUNK, NULL);
    if (memcmp(x, y, len) != 0)
      return false;
  }
  return true;
}

/* Among constants with one fingerprint: whom each one shares its bytes with. The first of
 * equal ones by name stores them. */
static void find_equal(struct emit_const **sorted, size_t n, uint8_t *scratch)
{
  size_t group = 0;

  for (size_t i = 0; i < n; i++) {
    if (sorted[i]->fingerprint != sorted[group]->fingerprint)
      group = i;
    sorted[i]->stored = true;
    for (size_t k = group; k < i && sorted[i]->stored; k++)
      if (sorted[k]->stored && same_bytes(sorted[k], sorted[i], scratch)) {
        sorted[i]->stored = false;
        sorted[i]->share = sorted[k];
      }
  }
}

static uint64_t round_up(uint64_t v)
{
  return (v + OC_OM_WEIGHT_ALIGN - 1) / OC_OM_WEIGHT_ALIGN * OC_OM_WEIGHT_ALIGN;
}

static int place(struct oc_emit_plan *p)
{
  uint64_t at = OC_OM_WEIGHT_ALIGN;

  for (size_t i = 0; i < p->n_consts; i++) {
    struct emit_const *c = p->consts[i];
    if (!c->stored)
      continue;
    if (c->size > (uint64_t)INT64_MAX / 2 - at)
      return OC_E_LIMIT;
    c->offset = at;
    at = round_up(at + c->size);
    p->stats.n_stored++;
  }
  for (size_t i = 0; i < p->n_consts; i++)
    if (p->consts[i]->share)
      p->consts[i]->offset = p->consts[i]->share->offset;
  p->stats.n_constants = p->n_consts;
  p->stats.weight_size = p->n_consts ? round_up(at + TAIL) : 0;
  return 0;
}

int emit_weights(struct oc_emit_plan *p, struct oc_error *err)
{
  auto_free uint8_t *scratch = malloc(2 * (size_t)EMIT_CHUNK);
  size_t n = 0;

  p->consts = OC_NEW_N(&p->arena, struct emit_const *, p->n_consts);
  struct emit_const **sorted = OC_NEW_N(&p->arena, struct emit_const *, p->n_consts);
  if (!scratch || !p->consts || !sorted)
    return emit_no_memory(err);
  for (uint32_t g = 0; g < p->n_graphs; g++)
    for (uint32_t i = 0; i < p->graphs[g].n_ops; i++)
      if (p->graphs[g].ops[i]->constant)
        p->consts[n++] = p->graphs[g].ops[i]->constant;
  for (size_t i = 0; i < n; i++) {
    int rc = set_sizes(p->consts[i], err);
    if (rc < 0)
      return rc;
    set_fingerprint(p->consts[i], scratch);
    sorted[i] = p->consts[i];
  }
  if (n) {
    qsort(p->consts, n, sizeof *p->consts, by_name);
    qsort(sorted, n, sizeof *sorted, by_fingerprint);
  }
  find_equal(sorted, n, scratch);
  if (place(p) < 0)
    return oc_error_set(err, OC_E_LIMIT, "the constants are larger than any file");
  return 0;
}
