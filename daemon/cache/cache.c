/* Opening and closing: place, index, what a kill left behind, writer thread, in this
 * order. */
#include "cache/cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cache/cache_internal.h"

#define DEFAULT_QUEUE 1024

static struct oc_cache *new_cache(const struct oc_cache_options *opt)
{
  struct oc_cache *c = calloc(1, sizeof(*c));

  if (!c)
    return NULL;
  c->opt = *opt;
  c->opt.dir = NULL;
  if (c->opt.queue_limit == 0)
    c->opt.queue_limit = DEFAULT_QUEUE;
  c->dir_fd = c->objects_fd = c->entries_fd = c->tmp_fd = c->quarantine_fd = c->lock_fd =
      -1;
  c->event_fd = -1;
  c->jobs_end = &c->jobs;
  c->events_end = &c->events;
  atomic_store(&c->no_tmpfile, opt->no_tmpfile);
  pthread_mutex_init(&c->mutex, NULL);
  pthread_condattr_t attr;
  pthread_condattr_init(&attr);
  pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
  pthread_cond_init(&c->wake, &attr);
  pthread_cond_init(&c->idle, &attr);
  pthread_condattr_destroy(&attr);
  oc_cache_wall_look(c);
  c->dir = strdup(opt->dir);
  c->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  c->proven = calloc(1, oc_cache_proven_size());
  if (!c->dir || !c->proven || c->event_fd < 0) {
    oc_cache_close(c);
    return NULL;
  }
  return c;
}

int oc_cache_open(const struct oc_cache_options *opt, struct oc_cache **ret,
                  struct oc_error *err)
{
  struct oc_cache *c = new_cache(opt);

  if (!c)
    return oc_error_set(err, OC_E_NOMEM, "no memory to open the cache");
  int rc = oc_cache_place_open(c, err);
  if (rc == 0)
    rc = oc_cache_database_open(c, err);
  if (rc == 0)
    rc = oc_cache_limbo_clear(c, err);
  if (rc == 0)
    rc = oc_cache_writer_start(c, err);
  if (rc == 0)
    rc = oc_cache_scrub_start(c, err);
  if (rc < 0) {
    oc_cache_close(c);
    return rc;
  }
  *ret = c;
  return 0;
}

static void free_events(struct oc_cache *c)
{
  while (c->events) {
    struct oc_cache_event_node *next = c->events->next;
    free(c->events);
    c->events = next;
  }
}

void oc_cache_close(struct oc_cache *c)
{
  if (!c)
    return;
  bool clean = c->scrub && !atomic_load(&c->broken);
  oc_cache_scrub_stop(c);
  oc_cache_writer_stop(c);
  oc_cache_database_close(c);
  if (clean)
    oc_cache_place_clean(c);
  free_events(c);
  oc_close_fd(&c->event_fd);
  oc_cache_place_close(c);
  pthread_cond_destroy(&c->idle);
  pthread_cond_destroy(&c->wake);
  pthread_mutex_destroy(&c->mutex);
  free(c->proven);
  free(c->set_aside);
  free(c->dir);
  free(c);
}

const char *oc_cache_set_aside(const struct oc_cache *c)
{
  return c->set_aside;
}

const char *oc_cache_dir(const struct oc_cache *c)
{
  return c->dir;
}
