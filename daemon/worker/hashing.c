/* Digests beside the conversion: a thread of its own hashes one piece while the next one
 * is made, which takes about as long.
 *
 * One slot: update() waits until the piece before is done, puts the next one there and
 * returns; so a piece must stay as it is until the update behind the next has returned,
 * or end(). Small pieces are not worth a hand-over and are hashed at once. Without a
 * thread (a limit of the system) everything is hashed at once. */
#include "worker/worker_internal.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/cleanup.h"

#define HAND_OVER  (64u << 10)
#define STACK_SIZE (256u << 10)

struct oc_hashing {
  struct oc_sha256 sha;
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  const void *p; /* the piece under way; NULL: none */
  size_t len;
  bool threaded, quit;
};

static void *work(void *arg)
{
  struct oc_hashing *h = arg;

  pthread_mutex_lock(&h->lock);
  for (;;) {
    while (!h->p && !h->quit)
      pthread_cond_wait(&h->changed, &h->lock);
    if (!h->p)
      break;
    pthread_mutex_unlock(&h->lock);
    oc_sha256_update(&h->sha, h->p, h->len);
    pthread_mutex_lock(&h->lock);
    h->p = NULL;
    pthread_cond_signal(&h->changed);
  }
  pthread_mutex_unlock(&h->lock);
  return NULL;
}

static void wait_idle(struct oc_hashing *h)
{
  while (h->p)
    pthread_cond_wait(&h->changed, &h->lock);
}

struct oc_hashing *oc_hashing_new(void)
{
  struct oc_hashing *h = calloc(1, sizeof *h);
  pthread_attr_t attr;

  if (!h)
    return NULL;
  pthread_mutex_init(&h->lock, NULL);
  pthread_cond_init(&h->changed, NULL);
  if (pthread_attr_init(&attr) != 0)
    return h;
  pthread_attr_setstacksize(&attr, STACK_SIZE);
  h->threaded = pthread_create(&h->thread, &attr, work, h) == 0;
  pthread_attr_destroy(&attr);
  return h;
}

void oc_hashing_free(struct oc_hashing *h)
{
  if (!h)
    return;
  pthread_mutex_lock(&h->lock);
  h->quit = true;
  pthread_cond_signal(&h->changed);
  pthread_mutex_unlock(&h->lock);
  if (h->threaded)
    pthread_join(h->thread, NULL);
  oc_sha256_clear(&h->sha);
  pthread_cond_destroy(&h->changed);
  pthread_mutex_destroy(&h->lock);
  free(h);
}

void oc_hashing_begin(void *ctx)
{
  struct oc_hashing *h = ctx;

  pthread_mutex_lock(&h->lock);
  wait_idle(h);
  pthread_mutex_unlock(&h->lock);
  oc_sha256_clear(&h->sha);
  if (oc_sha256_init(&h->sha) < 0)
    h->sha.failed = true; /* told by the end */
}

void oc_hashing_update(void *ctx, const void *p, size_t len)
{
  struct oc_hashing *h = ctx;
  bool hand_over = h->threaded && len >= HAND_OVER;

  pthread_mutex_lock(&h->lock);
  wait_idle(h);
  if (hand_over) {
    h->p = p;
    h->len = len;
    pthread_cond_signal(&h->changed);
  }
  pthread_mutex_unlock(&h->lock);
  if (!hand_over)
    oc_sha256_update(&h->sha, p, len);
}

int oc_hashing_end(void *ctx, uint8_t ret[32])
{
  struct oc_hashing *h = ctx;

  pthread_mutex_lock(&h->lock);
  wait_idle(h);
  pthread_mutex_unlock(&h->lock);
  return oc_sha256_final(&h->sha, ret);
}
