/* Between the threads: jobs go in, events come out, touches and counters are gathered.
 *
 * The queue is bounded: when the disk is slower than the compilers, results are answered
 * but not stored, and say so; the daemon's memory stays what it is. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cache/cache_internal.h"

/* Bytes that one queued result may hold in memory (inline members, parts). */
#define JOB_ARENA (64u << 20)

struct oc_cache_job *oc_cache_job_new(enum oc_cache_job_kind kind)
{
  struct oc_cache_job *job = calloc(1, sizeof(*job));

  if (!job)
    return NULL;
  oc_arena_init(&job->arena, JOB_ARENA);
  job->kind = kind;
  return job;
}

void oc_cache_job_free(struct oc_cache_job *job)
{
  if (!job)
    return;
  for (size_t i = 0; i < job->put.n_members; i++) {
    oc_close_fd(&job->put.members[i].fd);
    oc_cache_output_clear(&job->put.members[i].output);
  }
  oc_arena_clear(&job->arena);
  free(job);
}

bool oc_cache_enqueue(struct oc_cache *c, struct oc_cache_job *job)
{
  bool room;

  pthread_mutex_lock(&c->mutex);
  /* Who waits for the end is answered whatever else waits. */
  room = !c->stopping && (job->reply || c->n_jobs < c->opt.queue_limit);
  if (room) {
    job->next = NULL;
    *c->jobs_end = job;
    c->jobs_end = &job->next;
    c->n_jobs += job->reply == NULL;
    pthread_cond_signal(&c->wake);
  }
  pthread_mutex_unlock(&c->mutex);
  return room;
}

void oc_cache_post(struct oc_cache *c, const struct oc_cache_event *event)
{
  struct oc_cache_event_node *node = calloc(1, sizeof(*node));
  uint64_t one = 1;

  if (!node)
    return; /* an event is news, never the only record of what happened */
  node->event = *event;
  pthread_mutex_lock(&c->mutex);
  *c->events_end = node;
  c->events_end = &node->next;
  pthread_mutex_unlock(&c->mutex);
  while (write(c->event_fd, &one, sizeof(one)) < 0 && errno == EINTR)
    ;
}

int oc_cache_event_fd(const struct oc_cache *c)
{
  return c->event_fd;
}

bool oc_cache_next_event(struct oc_cache *c, struct oc_cache_event *ret)
{
  uint64_t n;

  pthread_mutex_lock(&c->mutex);
  struct oc_cache_event_node *node = c->events;
  if (node) {
    c->events = node->next;
    if (!c->events)
      c->events_end = &c->events;
  } else if (read(c->event_fd, &n, sizeof(n)) < 0) {
    /* Nothing was pending: the descriptor does not block. */
  }
  pthread_mutex_unlock(&c->mutex);
  if (!node)
    return false;
  *ret = node->event;
  free(node);
  return true;
}

bool oc_cache_run_job(struct oc_cache *c, struct oc_cache_job *job,
                      struct oc_cache_reply *reply)
{
  *reply = (struct oc_cache_reply){ .done = false };
  job->reply = reply;
  if (!oc_cache_enqueue(c, job)) {
    oc_cache_job_free(job);
    return false;
  }
  pthread_mutex_lock(&c->mutex);
  while (!reply->done)
    pthread_cond_wait(&c->idle, &c->mutex);
  pthread_mutex_unlock(&c->mutex);
  return true;
}

void oc_cache_flush(struct oc_cache *c)
{
  struct oc_cache_job *job = oc_cache_job_new(OC_JOB_FLUSH);
  struct oc_cache_reply reply;

  if (job)
    oc_cache_run_job(c, job, &reply);
}

void oc_cache_count(struct oc_cache *c, enum oc_cache_counter which, uint64_t n)
{
  pthread_mutex_lock(&c->mutex);
  c->counters[which] += n;
  if (!c->counters_dirty)
    pthread_cond_signal(&c->wake); /* starts the second after which figures are saved */
  c->counters_dirty = true;
  pthread_mutex_unlock(&c->mutex);
}

void oc_cache_note_hit(struct oc_cache *c, const uint8_t key[OC_SHA256_LEN], uint32_t uid,
                       uint64_t saved_ms)
{
  pthread_mutex_lock(&c->mutex);
  c->counters[OC_COUNT_HITS]++;
  c->counters[OC_COUNT_SAVED_MS] += saved_ms;
  /* A touch that finds the batch full is lost: eviction order then errs by one use. */
  if (c->n_touches < OC_CACHE_TOUCH_BATCH) {
    struct oc_cache_touch *t = &c->touches[c->n_touches++];
    t->uid = uid;
    memcpy(t->key, key, OC_SHA256_LEN);
  }
  if (!c->counters_dirty || c->n_touches == OC_CACHE_TOUCH_BATCH)
    pthread_cond_signal(&c->wake);
  c->counters_dirty = true;
  pthread_mutex_unlock(&c->mutex);
}
