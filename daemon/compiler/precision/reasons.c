/* Chains of reasons, shared between tensors.
 *
 * Most tensors of a model have the same chain, so one copy of each is kept. While an op
 * is judged its reasons live in a pool; oc_reasons_keep() then swaps every chain for the
 * shared copy. The cache is direct-mapped: a collision costs memory, never truth. */
#include "precision_internal.h"

#include <stdlib.h>
#include <string.h>

#define CACHE_SLOTS 1024u
/* Rule, want, match, column, refusal, port: at most these per tensor, besides promotion.
 */
#define PER_TENSOR 6u

struct oc_reason_pool {
  struct oc_reason *reasons;
  uint32_t n, room;
  struct oc_reason_list *lists;
  uint32_t n_lists, lists_room;
  const struct oc_reason_list *cache[CACHE_SLOTS];
};

struct oc_reason_pool *oc_reason_pool_new(void)
{
  return calloc(1, sizeof(struct oc_reason_pool));
}

void oc_reason_pool_free(struct oc_reason_pool *p)
{
  if (!p)
    return;
  free(p->reasons);
  free(p->lists);
  free(p);
}

void oc_reasons_begin(struct oc_run *r, uint32_t n_tensors, uint32_t n_groups)
{
  struct oc_reason_pool *p = r->pool;
  uint32_t want = n_tensors * (PER_TENSOR + n_groups);

  p->n = p->n_lists = 0;
  if (want > p->room) {
    struct oc_reason *grown = realloc(p->reasons, want * sizeof *grown);
    if (!grown) {
      r->failed = true;
      return;
    }
    p->reasons = grown;
    p->room = want;
  }
  if (n_tensors > p->lists_room) {
    struct oc_reason_list *grown = realloc(p->lists, n_tensors * sizeof *grown);
    if (!grown) {
      r->failed = true;
      return;
    }
    p->lists = grown;
    p->lists_room = n_tensors;
  }
}

struct oc_reason *oc_reason_add(struct oc_run *r, struct oc_tensor *t, enum oc_rule rule)
{
  struct oc_reason_pool *p = r->pool;

  if (r->failed || p->n == p->room || (!t->reasons && p->n_lists == p->lists_room))
    return NULL; /* without a chain the dtype is still right */
  if (!t->reasons) {
    t->reasons = &p->lists[p->n_lists++];
    *t->reasons = (struct oc_reason_list){ NULL, NULL };
  }
  struct oc_reason *reason = &p->reasons[p->n++];
  *reason = (struct oc_reason){ .rule = rule, .column = -1 };
  if (t->reasons->last)
    t->reasons->last->next = reason;
  else
    t->reasons->first = reason;
  t->reasons->last = reason;
  return reason;
}

static bool same_reason(const struct oc_reason *a, const struct oc_reason *b)
{
  return a->rule == b->rule && a->dtype == b->dtype && a->forbidden == b->forbidden &&
         a->column == b->column && a->entry == b->entry && a->also == b->also &&
         a->flag == b->flag && a->subject == b->subject && a->offered == b->offered;
}

static bool same_chain(const struct oc_reason *a, const struct oc_reason *b)
{
  while (a && b && same_reason(a, b)) {
    a = a->next;
    b = b->next;
  }
  return !a && !b;
}

static uint64_t hash_chain(const struct oc_reason *c)
{
  uint64_t h = 1469598103934665603u;

  for (; c; c = c->next) {
    const uint64_t parts[] = { (uint64_t)c->rule << 32 | c->entry,
                               (uint64_t)(uint32_t)c->column << 16 |
                                   (uint64_t)c->dtype << 8 | c->forbidden,
                               (uint64_t)(uintptr_t)c->subject, c->offered };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
      h = (h ^ parts[i]) * 1099511628211u;
  }
  return h ^ h >> 29;
}

static struct oc_reason_list *copy_chain(struct oc_run *r, const struct oc_reason_list *l)
{
  struct oc_reason_list *copy = OC_NEW(r->a, struct oc_reason_list);
  struct oc_reason **tail = copy ? &copy->first : NULL;

  for (const struct oc_reason *c = l->first; copy && c; c = c->next) {
    struct oc_reason *one = oc_arena_memdup(r->a, c, sizeof *c);
    if (!one) {
      r->failed = true;
      return NULL;
    }
    one->next = NULL;
    *tail = one;
    tail = &one->next;
    copy->last = one;
  }
  r->failed = r->failed || !copy;
  return copy;
}

void oc_reasons_keep(struct oc_run *r, struct oc_tensor *t)
{
  if (!t->reasons)
    return;
  const struct oc_reason_list **slot =
      &r->pool->cache[hash_chain(t->reasons->first) % CACHE_SLOTS];
  if (!*slot || !same_chain((*slot)->first, t->reasons->first))
    *slot = copy_chain(r, t->reasons);
  t->reasons = (struct oc_reason_list *)(uintptr_t)*slot;
}
