/* The thread that looks for damage nobody has noticed yet: it digests object after object
 * at a limited rate, beginning anywhere, once around per day. What is not right is told
 * to the writer, which looks for itself and puts it into quarantine. After an end that
 * was none it first tidies up (rebuild.c), step by step. Between two objects
 * it runs errands: "verify" is the same round without the limit; rebuilding, exporting
 * and importing read as much.
 *
 * It has a read-only connection of its own and no other access to the index. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/cleanup.h"
#include "cache/cache_internal.h"

#define ROUND_S       86400
#define DEFAULT_DELAY 60000
#define IDLE_NS       3600000000000u
/* Between two steps of tidying: all of them take about a minute, and no step is long. */
#define TIDY_MS 100

struct oc_cache_scrub {
  struct oc_cache *cache;
  struct oc_sql reader;
  pthread_t thread;
  pthread_mutex_t mutex;
  pthread_cond_t wake;
  bool stopping, busy; /* under the mutex */
  bool cancelled;      /* the errand is of no use any more; under the mutex */
  unsigned tidy_step;
  struct oc_cache_errand errand;
};

/* Sleeps; false when it is time to do something else. */
static bool pause_ns(struct oc_cache_scrub *s, uint64_t ns)
{
  struct timespec until;

  clock_gettime(CLOCK_MONOTONIC, &until);
  ns += (uint64_t)until.tv_nsec;
  until.tv_sec += (time_t)(ns / 1000000000u);
  until.tv_nsec = (long)(ns % 1000000000u);
  pthread_mutex_lock(&s->mutex);
  while (!s->stopping && !s->busy)
    if (pthread_cond_timedwait(&s->wake, &s->mutex, &until) == ETIMEDOUT)
      break;
  bool go_on = !s->stopping && !s->busy;
  pthread_mutex_unlock(&s->mutex);
  return go_on;
}

/* The object behind `at` in the order of digests: 1 and its size, 0 at the end. */
static int next_object(struct oc_cache_scrub *s, uint8_t at[OC_SHA256_LEN],
                       uint64_t *ret_size)
{
  auto_reset sqlite3_stmt *q = oc_sql_use(&s->reader, OC_R_NEXT_OBJECT);
  uint8_t next[OC_SHA256_LEN];

  oc_sql_bind_digest(q, 1, at);
  if (sqlite3_step(q) != SQLITE_ROW || !oc_sql_digest(q, 0, next))
    return 0;
  *ret_size = (uint64_t)sqlite3_column_int64(q, 1);
  memcpy(at, next, sizeof(next));
  return 1;
}

/* True when the bytes are right; one that was evicted meanwhile counts as right. */
static bool look_at(struct oc_cache_scrub *s, const uint8_t sha256[OC_SHA256_LEN])
{
  struct oc_cache *c = s->cache;
  struct stat st;

  if (oc_cache_object_verify(c, sha256, &st)) {
    oc_cache_note_proven(c, sha256, &st);
    return true;
  }
  auto_reset sqlite3_stmt *q = oc_sql_use(&s->reader, OC_R_HAS_OBJECT);
  oc_sql_bind_digest(q, 1, sha256);
  if (sqlite3_step(q) != SQLITE_ROW)
    return true;
  oc_cache_tell_writer(c, sha256, sha256, true);
  return false;
}

static bool stopping(struct oc_cache_scrub *s)
{
  pthread_mutex_lock(&s->mutex);
  bool stop = s->stopping;
  pthread_mutex_unlock(&s->mutex);
  return stop;
}

bool oc_cache_errand_stopped(struct oc_cache *c)
{
  struct oc_cache_scrub *s = c->scrub;

  pthread_mutex_lock(&s->mutex);
  bool stop = s->stopping || s->cancelled;
  pthread_mutex_unlock(&s->mutex);
  return stop;
}

void oc_cache_export_cancel(struct oc_cache *c, uint64_t ticket)
{
  struct oc_cache_scrub *s = c->scrub;

  pthread_mutex_lock(&s->mutex);
  if (s->busy && s->errand.kind == OC_ERRAND_EXPORT && s->errand.ticket == ticket)
    s->cancelled = true;
  pthread_mutex_unlock(&s->mutex);
}

static void verify_all(struct oc_cache_scrub *s, struct oc_cache_event *event)
{
  uint8_t at[OC_SHA256_LEN] = { 0 };
  uint64_t size = 0;

  while (!stopping(s) && next_object(s, at, &size)) {
    event->count++;
    event->bytes += size;
    event->bad += !look_at(s, at);
  }
  if (event->bad)
    oc_cache_flush(s->cache); /* what was found is out of the way when this is told */
}

static void run_errand(struct oc_cache_scrub *s)
{
  struct oc_cache_errand e = s->errand; /* nobody writes it while `busy` */
  struct oc_cache_event event = { .kind = OC_CACHE_DONE, .ticket = e.ticket };

  switch (e.kind) {
  case OC_ERRAND_VERIFY: verify_all(s, &event); break;
  case OC_ERRAND_REBUILD: oc_cache_run_rebuild(s->cache, &event); break;
  case OC_ERRAND_EXPORT: oc_cache_run_export(s->cache, &s->reader, &e, &event); break;
  case OC_ERRAND_IMPORT: oc_cache_run_import(s->cache, &s->reader, &e, &event); break;
  }
  oc_close_fd(&e.fd);
  pthread_mutex_lock(&s->mutex);
  s->busy = s->cancelled = false;
  pthread_mutex_unlock(&s->mutex);
  oc_cache_post(s->cache, &event);
}

/* Once around all digests, from `start` back to it. */
struct round {
  uint8_t start[OC_SHA256_LEN], at[OC_SHA256_LEN];
  bool wrapped;
  uint64_t left_ns; /* of the day */
};

static void begin_round(struct round *r)
{
  if (getrandom(r->start, sizeof(r->start), 0) < 0)
    memset(r->start, 0, sizeof(r->start));
  memcpy(r->at, r->start, sizeof(r->at));
  r->wrapped = false;
  r->left_ns = (uint64_t)ROUND_S * 1000000000u;
}

/* The next object of the round: 1, or 0 when it is over. */
static int next_of_round(struct oc_cache_scrub *s, struct round *r, uint64_t *ret_size)
{
  int found = next_object(s, r->at, ret_size);

  if (!found && !r->wrapped) {
    r->wrapped = true;
    memset(r->at, 0, sizeof(r->at));
    found = next_object(s, r->at, ret_size);
  }
  return found && (!r->wrapped || memcmp(r->at, r->start, sizeof(r->at)) <= 0);
}

/* One object, and the pause that its size asks for; true to go on. */
static bool scrub_one(struct oc_cache_scrub *s, struct round *r)
{
  uint64_t rate = s->cache->opt.scrub_bytes_per_s, size = 0;

  if (!next_of_round(s, r, &size)) {
    uint64_t rest = r->left_ns;
    begin_round(r);
    return pause_ns(s, rest ? rest : 1000000000u);
  }
  look_at(s, r->at);
  uint64_t ns = (uint64_t)((double)size / (double)rate * 1e9);
  r->left_ns -= ns < r->left_ns ? ns : r->left_ns;
  return pause_ns(s, ns);
}

/* One step of what follows an end that was none; true to go on. */
static bool tidy_one(struct oc_cache_scrub *s)
{
  uint64_t ms = s->cache->opt.tidy_pause_ms;

  oc_cache_tidy(s->cache, s->tidy_step++);
  return pause_ns(s, (ms ? ms : TIDY_MS) * 1000000u);
}

static void *run(void *arg)
{
  struct oc_cache_scrub *s = arg;
  const struct oc_cache_options *o = &s->cache->opt;
  uint64_t delay = o->scrub_delay_ms ? o->scrub_delay_ms : DEFAULT_DELAY;
  struct round r;

  begin_round(&r);
  bool quiet = pause_ns(s, delay * 1000000u);
  while (!stopping(s)) {
    if (!quiet)
      run_errand(s);
    if (s->tidy_step < OC_CACHE_TIDY_STEPS && !atomic_load(&s->cache->broken)) {
      quiet = tidy_one(s);
      continue;
    }
    quiet = o->scrub_bytes_per_s && !atomic_load(&s->cache->broken)
                ? scrub_one(s, &r)
                : pause_ns(s, IDLE_NS);
  }
  return NULL;
}

static int open_reader(struct oc_cache_scrub *s)
{
  auto_free char *path = NULL;

  if (asprintf(&path, "%s/index.sqlite", s->cache->dir) < 0) {
    path = NULL;
    return SQLITE_NOMEM;
  }
  int rc = sqlite3_open_v2(path, &s->reader.db,
                           SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);
  if (rc == SQLITE_OK)
    rc = oc_sql_prepare(&s->reader, false);
  return rc;
}

static void scrub_free(struct oc_cache_scrub *s)
{
  oc_sql_close(&s->reader);
  pthread_cond_destroy(&s->wake);
  pthread_mutex_destroy(&s->mutex);
  free(s);
}

int oc_cache_scrub_start(struct oc_cache *c, struct oc_error *err)
{
  struct oc_cache_scrub *s = calloc(1, sizeof(*s));
  pthread_condattr_t attr;
  sigset_t all, before;

  if (!s)
    return oc_error_set(err, OC_E_NOMEM, "no memory to open the cache");
  s->cache = c;
  s->tidy_step = c->unclean ? 0 : OC_CACHE_TIDY_STEPS;
  pthread_mutex_init(&s->mutex, NULL);
  pthread_condattr_init(&attr);
  pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
  pthread_cond_init(&s->wake, &attr);
  pthread_condattr_destroy(&attr);
  int rc = open_reader(s);
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  if (rc == SQLITE_OK)
    rc = pthread_create(&s->thread, NULL, run, s) ? SQLITE_NOMEM : SQLITE_OK;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (rc != SQLITE_OK) {
    scrub_free(s);
    return oc_error_set(err, OC_E_STORE, "cannot watch over the objects of '%s'", c->dir);
  }
  c->scrub = s;
  return 0;
}

void oc_cache_scrub_stop(struct oc_cache *c)
{
  struct oc_cache_scrub *s = c->scrub;

  if (!s)
    return;
  pthread_mutex_lock(&s->mutex);
  s->stopping = true;
  pthread_cond_signal(&s->wake);
  pthread_mutex_unlock(&s->mutex);
  pthread_join(s->thread, NULL);
  if (s->busy) /* an errand that never began */
    oc_close_fd(&s->errand.fd);
  scrub_free(s);
  c->scrub = NULL;
}

/* ---------------------------------------------------------------- errands */

static bool start(struct oc_cache *c, struct oc_cache_errand *e)
{
  struct oc_cache_scrub *s = c->scrub;

  pthread_mutex_lock(&s->mutex);
  bool free_to_go = !s->busy && !s->stopping;
  if (free_to_go) {
    s->busy = true;
    s->cancelled = false;
    s->errand = *e;
    pthread_cond_signal(&s->wake);
  }
  pthread_mutex_unlock(&s->mutex);
  if (!free_to_go)
    oc_close_fd(&e->fd);
  return free_to_go;
}

bool oc_cache_verify(struct oc_cache *c, uint64_t ticket)
{
  struct oc_cache_errand e = { .kind = OC_ERRAND_VERIFY, .ticket = ticket, .fd = -1 };

  return start(c, &e);
}

bool oc_cache_rebuild(struct oc_cache *c, uint64_t ticket)
{
  struct oc_cache_errand e = { .kind = OC_ERRAND_REBUILD, .ticket = ticket, .fd = -1 };

  return start(c, &e);
}

bool oc_cache_export(struct oc_cache *c, int fd, int64_t uid, const uint8_t *key,
                     uint64_t ticket)
{
  struct oc_cache_errand e = { .kind = OC_ERRAND_EXPORT,
                               .ticket = ticket,
                               .fd = fd,
                               .uid = uid,
                               .has_key = key != NULL };

  if (key)
    memcpy(e.key, key, sizeof(e.key));
  return start(c, &e);
}

bool oc_cache_import(struct oc_cache *c, int fd, uint32_t uid, uint64_t ticket)
{
  struct oc_cache_errand e = {
    .kind = OC_ERRAND_IMPORT, .ticket = ticket, .fd = fd, .uid = uid
  };

  return start(c, &e);
}
