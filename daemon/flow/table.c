/* The job table: a list in order of ids, and chains by id and by key.
 *
 * The number of buckets follows `max_jobs` once and for all, since the table never holds
 * more. Keys are digests, so their first bytes are a hash already. */
#include "flow/flow_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define MIN_BUCKETS 64u
#define MAX_BUCKETS 65536u

int flow_table_init(struct oc_flow *f)
{
  f->n_buckets = MIN_BUCKETS;
  while (f->n_buckets < f->limits.max_jobs && f->n_buckets < MAX_BUCKETS)
    f->n_buckets *= 2;
  f->ids = calloc(f->n_buckets, sizeof(struct oc_flow_job *));
  f->keys = calloc(f->n_buckets, sizeof(struct oc_flow_job *));
  if (f->ids && f->keys)
    return 0;
  flow_table_clear(f);
  return OC_E_NOMEM;
}

void flow_table_clear(struct oc_flow *f)
{
  free(f->ids);
  free(f->keys);
  free(f->shares);
  f->ids = f->keys = NULL;
  f->shares = NULL;
}

static size_t key_bucket(const struct oc_flow *f, const uint8_t key[32])
{
  uint32_t h;

  memcpy(&h, key, sizeof(h));
  return h & (f->n_buckets - 1);
}

void flow_table_add(struct oc_flow *f, struct oc_flow_job *j)
{
  size_t b = j->id & (f->n_buckets - 1);

  j->id_next = f->ids[b];
  f->ids[b] = j;
  j->prev = f->last;
  if (f->last)
    f->last->next = j;
  else
    f->first = j;
  f->last = j;
  f->n_jobs++;
  f->n_in[j->state]++;
}

static void unchain(struct oc_flow_job **at, const struct oc_flow_job *j, bool by_key)
{
  while (*at && *at != j)
    at = by_key ? &(*at)->key_next : &(*at)->id_next;
  if (*at)
    *at = by_key ? j->key_next : j->id_next;
}

void flow_table_remove(struct oc_flow *f, struct oc_flow_job *j)
{
  flow_key_remove(f, j);
  unchain(&f->ids[j->id & (f->n_buckets - 1)], j, false);
  if (j->prev)
    j->prev->next = j->next;
  else
    f->first = j->next;
  if (j->next)
    j->next->prev = j->prev;
  else
    f->last = j->prev;
  f->n_jobs--;
  f->n_in[j->state]--;
}

void flow_key_add(struct oc_flow *f, struct oc_flow_job *j)
{
  size_t b = key_bucket(f, j->key);

  j->key_next = f->keys[b];
  f->keys[b] = j;
  j->has_key = true;
}

void flow_key_remove(struct oc_flow *f, struct oc_flow_job *j)
{
  if (j->has_key)
    unchain(&f->keys[key_bucket(f, j->key)], j, true);
}

struct oc_flow_job *flow_key_find(const struct oc_flow *f, const uint8_t key[32])
{
  struct oc_flow_job *j = f->keys[key_bucket(f, key)];

  while (j && memcmp(j->key, key, sizeof(j->key)))
    j = j->key_next;
  return j;
}

struct oc_flow_job *oc_flow_job(const struct oc_flow *f, uint64_t id)
{
  struct oc_flow_job *j = f->ids[id & (f->n_buckets - 1)];

  while (j && j->id != id)
    j = j->id_next;
  return j;
}

struct share *flow_share(struct oc_flow *f, uint32_t uid)
{
  for (size_t i = 0; i < f->n_shares; i++)
    if (f->shares[i].uid == uid)
      return &f->shares[i];
  if (f->n_shares == f->room_shares) {
    size_t room = f->room_shares ? 2 * f->room_shares : 8;
    struct share *grown = realloc(f->shares, room * sizeof(*grown));

    if (!grown)
      return NULL;
    f->shares = grown;
    f->room_shares = room;
  }
  f->shares[f->n_shares] = (struct share){ .uid = uid };
  return &f->shares[f->n_shares++];
}
