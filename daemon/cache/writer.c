/* The writer thread: the only place that changes the index.
 *
 * Results are published one by one, each in its own transactions. Small jobs (memos,
 * inputs lists) and touches are gathered into one transaction. Touches and figures are
 * written a second after the first of them, so a hit never waits for a write, and a kill
 * loses at most that second of bookkeeping. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "cache/cache_internal.h"

/* Rows kept of lists that only grow; the oldest go first. */
#define INPUTS_KEEP 100000
#define MEMO_KEEP   100000

static const char *const counter_names[OC_N_COUNTERS] = {
  [OC_COUNT_ENTRIES] = "entries",
  [OC_COUNT_OBJECTS] = "objects",
  [OC_COUNT_BYTES] = "bytes",
  [OC_COUNT_SEQ] = "seq",
  [OC_COUNT_HITS] = "hits",
  [OC_COUNT_MISSES] = "misses",
  [OC_COUNT_DAMAGED] = "damaged",
  [OC_COUNT_STORED] = "stored",
  [OC_COUNT_NOT_STORED] = "not_stored",
  [OC_COUNT_EVICTED] = "evicted",
  [OC_COUNT_SAVED_MS] = "saved_ms",
};

void oc_cache_point(struct oc_cache *c, const char *name)
{
  if (c->opt.at_point)
    c->opt.at_point(c->opt.at_point_data, name);
}

/* ---------------------------------------------------------------- figures */

void oc_cache_totals(struct oc_cache *c, int64_t ret[OC_N_TOTALS])
{
  pthread_mutex_lock(&c->mutex);
  for (size_t i = 0; i < OC_N_TOTALS; i++)
    ret[i] = (int64_t)c->counters[i];
  pthread_mutex_unlock(&c->mutex);
}

void oc_cache_totals_set(struct oc_cache *c, const int64_t totals[OC_N_TOTALS])
{
  pthread_mutex_lock(&c->mutex);
  for (size_t i = 0; i < OC_N_TOTALS; i++)
    c->counters[i] = totals[i] > 0 ? (uint64_t)totals[i] : 0;
  pthread_mutex_unlock(&c->mutex);
}

/* What was counted since the last time goes to the hour that it is now. */
static int save_growth(struct oc_cache *c, const int64_t grown[OC_N_COUNTERS])
{
  for (size_t i = 0; i < OC_N_COUNTERS; i++) {
    if (grown[i] <= 0)
      continue;
    sqlite3_stmt *s = oc_sql_use(&c->writer, OC_W_FIGURE_ADD);
    sqlite3_bind_int64(s, 1, oc_cache_now_s() / 3600);
    sqlite3_bind_text(s, 2, counter_names[i], -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 3, grown[i]);
    if (oc_sql_run(s) != SQLITE_DONE)
      return OC_E_STORE;
  }
  return 0;
}

int oc_cache_counters_save(struct oc_cache *c, const int64_t totals[OC_N_TOTALS],
                           struct oc_error *err)
{
  int64_t now[OC_N_COUNTERS], grown[OC_N_COUNTERS];

  pthread_mutex_lock(&c->mutex);
  for (size_t i = 0; i < OC_N_COUNTERS; i++) {
    now[i] = i < OC_N_TOTALS ? totals[i] : (int64_t)c->counters[i];
    grown[i] = i < OC_N_TOTALS ? 0 : now[i] - (int64_t)c->saved[i];
    c->saved[i] = (uint64_t)now[i];
  }
  c->counters_dirty = false;
  pthread_mutex_unlock(&c->mutex);
  if (save_growth(c, grown) < 0)
    return oc_cache_sql_failed(c, &c->writer, err);
  for (size_t i = 0; i < OC_N_COUNTERS; i++) {
    sqlite3_stmt *s = oc_sql_use(&c->writer, OC_W_COUNTER_SET);
    sqlite3_bind_text(s, 1, counter_names[i], -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 2, now[i]);
    if (oc_sql_run(s) != SQLITE_DONE)
      return oc_cache_sql_failed(c, &c->writer, err);
  }
  return 0;
}

int oc_cache_counters_load(struct oc_cache *c, struct oc_error *err)
{
  auto_reset sqlite3_stmt *s = oc_sql_use(&c->writer, OC_W_COUNTERS);
  int rc;

  memset(c->counters, 0, sizeof(c->counters));
  memset(c->saved, 0, sizeof(c->saved));
  while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
    const char *name = (const char *)sqlite3_column_text(s, 0);
    for (size_t i = 0; name && i < OC_N_COUNTERS; i++)
      if (strcmp(name, counter_names[i]) == 0)
        c->counters[i] = c->saved[i] = (uint64_t)sqlite3_column_int64(s, 1);
  }
  return rc == SQLITE_DONE ? 0 : oc_cache_sql_failed(c, &c->writer, err);
}

/* ---------------------------------------------------------------- small jobs */

static int begin(struct oc_cache *c, bool *open, struct oc_error *err)
{
  if (*open)
    return 0;
  if (oc_sql_run(oc_sql_use(&c->writer, OC_W_BEGIN)) != SQLITE_DONE)
    return oc_cache_sql_failed(c, &c->writer, err);
  *open = true;
  return 0;
}

static void commit(struct oc_cache *c, bool *open)
{
  if (!*open)
    return;
  if (oc_sql_run(oc_sql_use(&c->writer, OC_W_COMMIT)) != SQLITE_DONE) {
    oc_cache_sql_failed(c, &c->writer, NULL);
    oc_sql_run(oc_sql_use(&c->writer, OC_W_ROLLBACK));
  }
  *open = false;
}

static int prune(struct oc_cache *c, int which, int64_t keep, struct oc_error *err)
{
  sqlite3_stmt *s = oc_sql_use(&c->writer, which);

  sqlite3_bind_int64(s, 1, keep);
  return oc_sql_run(s) == SQLITE_DONE ? 0 : oc_cache_sql_failed(c, &c->writer, err);
}

static int write_inputs(struct oc_cache *c, const struct oc_cache_job *job,
                        struct oc_error *err)
{
  sqlite3_stmt *s = oc_sql_use(&c->writer, OC_W_INPUTS_PUT);

  oc_sql_bind_digest(s, 1, job->key);
  sqlite3_bind_blob64(s, 2, job->names, job->names_len, SQLITE_STATIC);
  if (oc_sql_run(s) != SQLITE_DONE)
    return oc_cache_sql_failed(c, &c->writer, err);
  return prune(c, OC_W_INPUTS_PRUNE, INPUTS_KEEP, err);
}

static int write_memo(struct oc_cache *c, const struct oc_cache_job *job,
                      struct oc_error *err)
{
  sqlite3_stmt *s = oc_sql_use(&c->writer, OC_W_MEMO_PUT);
  const struct stat *st = &job->st;

  sqlite3_bind_int64(s, 1, (int64_t)st->st_dev);
  sqlite3_bind_int64(s, 2, (int64_t)st->st_ino);
  sqlite3_bind_int64(s, 3, st->st_size);
  sqlite3_bind_int64(s, 4, oc_cache_mtime_ns(st));
  sqlite3_bind_int64(s, 5,
                     (int64_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec);
  oc_sql_bind_digest(s, 6, job->object);
  if (oc_sql_run(s) != SQLITE_DONE)
    return oc_cache_sql_failed(c, &c->writer, err);
  return prune(c, OC_W_MEMO_PRUNE, MEMO_KEEP, err);
}

/* Writes the gathered touches, and the figures, into the transaction. */
static void write_touches(struct oc_cache *c, bool *open)
{
  struct oc_cache_touch touches[OC_CACHE_TOUCH_BATCH];
  int64_t totals[OC_N_TOTALS];
  struct oc_error err;

  pthread_mutex_lock(&c->mutex);
  size_t n = c->n_touches;
  bool dirty = c->counters_dirty;
  memcpy(touches, c->touches, n * sizeof(touches[0]));
  c->n_touches = 0;
  pthread_mutex_unlock(&c->mutex);
  if ((n == 0 && !dirty) || begin(c, open, &err) < 0)
    return;
  oc_cache_totals(c, totals);
  for (size_t i = 0; i < n; i++) {
    sqlite3_stmt *s = oc_sql_use(&c->writer, OC_W_TOUCH);
    oc_sql_bind_digest(s, 1, touches[i].key);
    sqlite3_bind_int64(s, 2, oc_cache_now_s());
    sqlite3_bind_int64(s, 3, ++totals[OC_COUNT_SEQ]);
    if (oc_sql_run(s) != SQLITE_DONE)
      oc_cache_sql_failed(c, &c->writer, NULL);
    s = oc_sql_use(&c->writer, OC_W_ASKED_ADD);
    oc_sql_bind_digest(s, 1, touches[i].key);
    sqlite3_bind_int64(s, 2, touches[i].uid);
    if (oc_sql_run(s) != SQLITE_DONE)
      oc_cache_sql_failed(c, &c->writer, NULL);
  }
  if (oc_cache_counters_save(c, totals, &err) == 0)
    oc_cache_totals_set(c, totals);
}

/* ---------------------------------------------------------------- the loop */

static void answer(struct oc_cache *c, struct oc_cache_job *job)
{
  pthread_mutex_lock(&c->mutex);
  job->reply->done = true;
  pthread_cond_broadcast(&c->idle);
  pthread_mutex_unlock(&c->mutex);
}

static void do_job(struct oc_cache *c, struct oc_cache_job *job, bool *open)
{
  struct oc_error err;

  switch (job->kind) {
  case OC_JOB_INPUTS:
    if (begin(c, open, &err) == 0)
      write_inputs(c, job, &err);
    return;
  case OC_JOB_MEMO:
    if (begin(c, open, &err) == 0)
      write_memo(c, job, &err);
    return;
  case OC_JOB_PUT:
  case OC_JOB_DROP:
  case OC_JOB_PIN:
  case OC_JOB_GC:
  case OC_JOB_ADOPT:
  case OC_JOB_SWEEP:
  case OC_JOB_ROOM:
  case OC_JOB_FLUSH: break;
  }
  write_touches(c, open); /* eviction must see the latest uses */
  commit(c, open);
  if (job->kind == OC_JOB_PUT)
    oc_cache_publish(c, job);
  else if (job->kind == OC_JOB_DROP)
    oc_cache_drop(c, job);
  else if (job->kind == OC_JOB_PIN)
    oc_cache_pin_run(c, job);
  else if (job->kind == OC_JOB_GC)
    oc_cache_gc_run(c, job);
  else if (job->kind == OC_JOB_ROOM)
    oc_cache_evict(c, -1);
  else if (job->kind == OC_JOB_ADOPT)
    oc_cache_adopt_folder(c, job);
  else if (job->kind == OC_JOB_SWEEP)
    oc_cache_sweep_folder(c, job);
  if (job->reply)
    answer(c, job);
}

/* Sleeps until there is work: a job, the end, or touches that are a second old. True to
 * go on. */
static bool wait_for_work(struct oc_cache *c, struct timespec *due)
{
  pthread_mutex_lock(&c->mutex);
  while (!c->jobs && !c->stopping && c->n_touches < OC_CACHE_TOUCH_BATCH) {
    if (!c->counters_dirty) {
      due->tv_sec = 0;
      pthread_cond_wait(&c->wake, &c->mutex);
      continue;
    }
    if (due->tv_sec == 0) {
      clock_gettime(CLOCK_MONOTONIC, due);
      due->tv_sec++;
    }
    if (pthread_cond_timedwait(&c->wake, &c->mutex, due) == ETIMEDOUT)
      break;
  }
  bool more = c->jobs || !c->stopping;
  pthread_mutex_unlock(&c->mutex);
  return more;
}

static struct oc_cache_job *take_job(struct oc_cache *c)
{
  pthread_mutex_lock(&c->mutex);
  struct oc_cache_job *job = c->jobs;
  if (job) {
    c->jobs = job->next;
    if (!c->jobs)
      c->jobs_end = &c->jobs;
  }
  pthread_mutex_unlock(&c->mutex);
  return job;
}

static void drain(struct oc_cache *c)
{
  bool open = false;

  for (struct oc_cache_job *job = take_job(c); job; job = take_job(c)) {
    bool counted = job->reply == NULL;
    do_job(c, job, &open);
    oc_cache_job_free(job);
    pthread_mutex_lock(&c->mutex);
    c->n_jobs -= counted; /* only now: a job in work still counts against the limit */
    pthread_mutex_unlock(&c->mutex);
  }
  write_touches(c, &open);
  commit(c, &open);
}

static void *run(void *arg)
{
  struct oc_cache *c = arg;
  struct timespec due = { 0 };

  while (wait_for_work(c, &due)) {
    due.tv_sec = 0;
    drain(c);
  }
  drain(c);
  return NULL;
}

int oc_cache_writer_start(struct oc_cache *c, struct oc_error *err)
{
  sigset_t all, before;

  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the caller's business */
  int rc = pthread_create(&c->thread, NULL, run, c);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (rc != 0)
    return oc_error_set(err, OC_E_NOMEM, "cannot start the writer of the cache: %s",
                        strerror(rc));
  c->thread_started = true;
  return 0;
}

void oc_cache_writer_stop(struct oc_cache *c)
{
  if (!c->thread_started)
    return;
  pthread_mutex_lock(&c->mutex);
  c->stopping = true;
  pthread_cond_signal(&c->wake);
  pthread_mutex_unlock(&c->mutex);
  pthread_join(c->thread, NULL);
  c->thread_started = false;
}
