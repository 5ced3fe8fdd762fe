/* What is on its way: bytes that outputs will still write, and objects that somebody is
 * just being given. Both under the mutex, both in memory alone: after a kill there is
 * neither an output nor a delivery.
 *
 * A reservation counts against the limits from the moment it is announced until the
 * output is stored or given up. A hold keeps eviction away from an object: an open
 * descriptor would keep the bytes, but not the name, and so no second delivery and no
 * hard link. */
#include <string.h>

#include "cache/cache_internal.h"

uint64_t oc_cache_reserved(struct oc_cache *c)
{
  pthread_mutex_lock(&c->mutex);
  uint64_t n = c->reserved;
  pthread_mutex_unlock(&c->mutex);
  return n;
}

void oc_cache_output_reserve(struct oc_cache *c, struct oc_cache_output *o,
                             uint64_t bytes)
{
  oc_cache_unreserve(o);
  if (bytes == 0 || (c->opt.max_bytes && bytes > c->opt.max_bytes))
    return; /* what is larger than the cache will not be stored */
  pthread_mutex_lock(&c->mutex);
  c->reserved += bytes;
  bool tight =
      c->opt.max_bytes && c->counters[OC_COUNT_BYTES] + c->reserved > c->opt.max_bytes;
  pthread_mutex_unlock(&c->mutex);
  o->cache = c;
  o->reserved = bytes;
  struct oc_cache_job *job = tight ? oc_cache_job_new(OC_JOB_ROOM) : NULL;
  if (job && !oc_cache_enqueue(c, job))
    oc_cache_job_free(job); /* the jobs that fill the queue make room themselves */
}

void oc_cache_unreserve(struct oc_cache_output *o)
{
  if (!o->reserved)
    return;
  pthread_mutex_lock(&o->cache->mutex);
  o->cache->reserved -= o->reserved;
  pthread_mutex_unlock(&o->cache->mutex);
  o->reserved = 0;
}

/* ---------------------------------------------------------------- holds */

static struct oc_cache_held *find(struct oc_cache *c, const uint8_t sha256[OC_SHA256_LEN])
{
  for (size_t i = 0; i < c->n_held; i++)
    if (memcmp(c->held[i].sha256, sha256, OC_SHA256_LEN) == 0)
      return &c->held[i];
  return NULL;
}

bool oc_cache_hold(struct oc_cache *c, const uint8_t sha256[OC_SHA256_LEN])
{
  bool held = true;

  pthread_mutex_lock(&c->mutex);
  struct oc_cache_held *h = find(c, sha256);
  if (h) {
    h->n++;
  } else if (c->n_held < OC_CACHE_MAX_HELD) {
    h = &c->held[c->n_held++];
    h->n = 1;
    memcpy(h->sha256, sha256, OC_SHA256_LEN);
  } else {
    held = false;
  }
  pthread_mutex_unlock(&c->mutex);
  return held;
}

void oc_cache_release(struct oc_cache *c, const uint8_t sha256[OC_SHA256_LEN])
{
  pthread_mutex_lock(&c->mutex);
  struct oc_cache_held *h = find(c, sha256);
  if (h && --h->n == 0)
    *h = c->held[--c->n_held];
  pthread_mutex_unlock(&c->mutex);
}

bool oc_cache_is_held(struct oc_cache *c, const uint8_t sha256[OC_SHA256_LEN])
{
  pthread_mutex_lock(&c->mutex);
  bool held = find(c, sha256) != NULL;
  pthread_mutex_unlock(&c->mutex);
  return held;
}

bool oc_cache_any_hold(struct oc_cache *c)
{
  pthread_mutex_lock(&c->mutex);
  bool any = c->n_held > 0;
  pthread_mutex_unlock(&c->mutex);
  return any;
}
