/* Which objects were digested since the cache was opened.
 *
 * A table of fixed size: a slot holds a piece of the object's digest and the ctime its
 * file had then. Who falls out because another object has the same slot is digested once
 * more, no harm done. Every link made or removed moves a file's ctime, so for an object
 * that is linked elsewhere, or was given out to be linked, only inode, size and mtime
 * count, which the index checks. The next digest ends that when no link is left. */
#include <string.h>

#include "cache/cache_internal.h"

#define SLOTS (1u << 17) /* 2 MiB, of which the kernel gives what is touched */

struct slot {
  uint64_t tag;     /* 0: empty */
  int64_t ctime_ns; /* LINKED: says nothing */
};
#define LINKED INT64_MIN

struct oc_cache_proven {
  struct slot slots[SLOTS];
};

size_t oc_cache_proven_size(void)
{
  return sizeof(struct oc_cache_proven);
}

static int64_t ctime_ns(const struct stat *st)
{
  return (int64_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec;
}

static struct slot *slot_of(struct oc_cache *c, const uint8_t sha256[OC_SHA256_LEN],
                            uint64_t *ret_tag)
{
  uint32_t at;

  memcpy(&at, sha256, sizeof(at));
  memcpy(ret_tag, sha256 + sizeof(at), sizeof(*ret_tag));
  *ret_tag |= 1;
  return &c->proven->slots[at % SLOTS];
}

bool oc_cache_is_proven(struct oc_cache *c, const uint8_t sha256[OC_SHA256_LEN],
                        const struct stat *st)
{
  uint64_t tag;

  pthread_mutex_lock(&c->mutex);
  const struct slot *s = slot_of(c, sha256, &tag);
  bool proven = s->tag == tag && (st->st_nlink > 1 || s->ctime_ns == LINKED ||
                                  s->ctime_ns == ctime_ns(st));
  pthread_mutex_unlock(&c->mutex);
  return proven;
}

void oc_cache_note_proven(struct oc_cache *c, const uint8_t sha256[OC_SHA256_LEN],
                          const struct stat *st)
{
  uint64_t tag;

  pthread_mutex_lock(&c->mutex);
  struct slot *s = slot_of(c, sha256, &tag);
  s->tag = tag;
  s->ctime_ns = st->st_nlink > 1 ? LINKED : ctime_ns(st);
  pthread_mutex_unlock(&c->mutex);
}

void oc_cache_note_linked(struct oc_cache *c, const uint8_t sha256[OC_SHA256_LEN])
{
  uint64_t tag;

  pthread_mutex_lock(&c->mutex);
  struct slot *s = slot_of(c, sha256, &tag);
  if (s->tag == tag)
    s->ctime_ns = LINKED;
  pthread_mutex_unlock(&c->mutex);
}

void oc_cache_tell_writer(struct oc_cache *c, const uint8_t key[OC_SHA256_LEN],
                          const uint8_t *object, bool digest)
{
  struct oc_cache_job *job = oc_cache_job_new(OC_JOB_DROP);

  if (!job)
    return;
  memcpy(job->key, key, OC_SHA256_LEN);
  job->has_object = object != NULL;
  job->digest = digest;
  if (object)
    memcpy(job->object, object, OC_SHA256_LEN);
  if (!oc_cache_enqueue(c, job))
    oc_cache_job_free(job);
}

int oc_cache_prove_member(struct oc_cache *c, struct oc_cache_member *m,
                          const atomic_bool *cancel)
{
  struct stat before, after;
  uint8_t now[OC_SHA256_LEN];

  if (!m->unproven)
    return 1;
  if (fstat(m->fd, &before) < 0)
    return 0;
  pthread_mutex_lock(&c->mutex);
  c->proofs++;
  pthread_mutex_unlock(&c->mutex);
  int rc = oc_sha256_fd(m->fd, cancel, now, NULL, NULL);
  if (rc == OC_E_CLOSED)
    return rc;
  /* A link made meanwhile moves the ctime and nothing else. */
  if (rc < 0 || memcmp(now, m->sha256, sizeof(now)) != 0 || fstat(m->fd, &after) < 0 ||
      oc_cache_mtime_ns(&before) != oc_cache_mtime_ns(&after))
    return 0;
  oc_cache_note_proven(c, m->sha256, &after);
  m->unproven = false;
  return 1;
}

int oc_cache_prove(struct oc_cache *c, const uint8_t key[OC_SHA256_LEN],
                   struct oc_cache_hit *h, const atomic_bool *cancel)
{
  for (size_t i = 0; i < h->n_members; i++) {
    struct oc_cache_member *m = &h->members[i];
    int rc = oc_cache_prove_member(c, m, cancel);

    if (rc < 0)
      return rc;
    if (rc == 0) {
      oc_cache_tell_writer(c, key, m->sha256, true);
      return 0;
    }
    if (m->moved) /* restored from a backup, or touched: the row learns the new stat */
      oc_cache_tell_writer(c, key, m->sha256, true);
    m->moved = false;
  }
  h->n_unproven = 0;
  return 1;
}
