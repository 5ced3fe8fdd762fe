/* Threads for everything that reads or copies whole files.
 *
 * libuv's own pool is not used: it is shared with whatever else wants it, and a request
 * would wait there behind work that is not its own. One user gets at most half of the
 * threads (one at least), so that a queue of large models of one user does not stop the
 * small ones of the others. */
#include "server/server_internal.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

struct digester {
  struct oc_server *srv;
  uv_async_t wake;
  pthread_mutex_t mutex;
  pthread_cond_t cond;
  struct task *waiting, *done;
  uint32_t *running; /* per thread: the uid it works for */
  bool *busy;
  pthread_t *threads;
  unsigned n_threads, n_started;
  size_t n_tasks; /* added and not reported; the loop's */
  bool stop;
};

struct thread_arg {
  struct digester *d;
  unsigned index;
};

static unsigned running_for(const struct digester *d, uint32_t uid)
{
  unsigned n = 0;

  for (unsigned i = 0; i < d->n_threads; i++)
    n += d->busy[i] && d->running[i] == uid;
  return n;
}

/* The oldest task whose user may have one more thread. */
static struct task *next_task(struct digester *d)
{
  unsigned share = d->n_threads > 1 ? d->n_threads / 2 : 1;

  for (struct task **at = &d->waiting; *at; at = &(*at)->next) {
    struct task *t = *at;

    if (running_for(d, t->uid) >= share)
      continue;
    *at = t->next;
    return t;
  }
  return NULL;
}

static void *thread_main(void *arg)
{
  struct thread_arg a = *(struct thread_arg *)arg;
  struct digester *d = a.d;

  free(arg);
  pthread_mutex_lock(&d->mutex);
  for (;;) {
    struct task *t = next_task(d);

    if (!t && d->stop)
      break;
    if (!t) {
      pthread_cond_wait(&d->cond, &d->mutex);
      continue;
    }
    d->running[a.index] = t->uid;
    d->busy[a.index] = true;
    pthread_mutex_unlock(&d->mutex);
    if (atomic_load(&t->cancel))
      t->code = OC_E_CLOSED;
    else
      t->run(t);
    pthread_mutex_lock(&d->mutex);
    d->busy[a.index] = false;
    t->next = d->done;
    d->done = t;
    uv_async_send(&d->wake);
    pthread_cond_broadcast(&d->cond); /* its user may have another one waiting */
  }
  pthread_mutex_unlock(&d->mutex);
  return NULL;
}

static void on_wake(uv_async_t *async)
{
  struct digester *d = async->data;
  struct oc_server *s = d->srv;
  struct task *done, *in_order = NULL;

  pthread_mutex_lock(&d->mutex);
  done = d->done;
  d->done = NULL;
  pthread_mutex_unlock(&d->mutex);
  while (done) {
    struct task *t = done;

    done = t->next;
    t->next = in_order;
    in_order = t;
  }
  while (in_order) {
    struct task *t = in_order;
    struct order *o = t->order;

    in_order = t->next;
    d->n_tasks--;
    t->done(t);
    order_drop(o); /* taken in digester_add(): what done() ends is still there now */
  }
  server_settle(s);
}

static int start_threads(struct digester *d)
{
  sigset_t all, old;
  int r = 0;

  /* Signals are for the loop thread. */
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  for (; d->n_started < d->n_threads && !r; d->n_started += !r) {
    struct thread_arg *a = malloc(sizeof(*a));

    if (!a) {
      r = OC_E_NOMEM;
      break;
    }
    *a = (struct thread_arg){ d, d->n_started };
    r = pthread_create(&d->threads[d->n_started], NULL, thread_main, a);
    if (r)
      free(a);
  }
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  return r;
}

int digester_open(struct oc_server *s, unsigned n_threads, struct oc_error *err)
{
  struct digester *d = calloc(1, sizeof(*d));

  if (d) {
    d->running = calloc(n_threads, sizeof(*d->running));
    d->busy = calloc(n_threads, sizeof(*d->busy));
    d->threads = calloc(n_threads, sizeof(*d->threads));
  }
  if (!d || !d->running || !d->busy || !d->threads ||
      uv_async_init(s->loop, &d->wake, on_wake)) {
    if (d) {
      free(d->running);
      free(d->busy);
      free(d->threads);
    }
    free(d);
    return oc_error_set(err, OC_E_NOMEM, "no memory for digest threads");
  }
  d->srv = s;
  d->wake.data = d;
  d->n_threads = n_threads;
  pthread_mutex_init(&d->mutex, NULL);
  pthread_cond_init(&d->cond, NULL);
  s->digester = d;
  if (!start_threads(d) || d->n_started)
    return 0;
  return oc_error_set(err, OC_E_NOMEM, "cannot start a digest thread");
}

void digester_add(struct oc_server *s, struct task *t)
{
  struct digester *d = s->digester;
  struct task **at;

  t->next = NULL;
  order_hold(t->order);
  d->n_tasks++;
  pthread_mutex_lock(&d->mutex);
  for (at = &d->waiting; *at;)
    at = &(*at)->next;
  *at = t;
  pthread_cond_signal(&d->cond);
  pthread_mutex_unlock(&d->mutex);
}

static void on_closed(uv_handle_t *handle)
{
  struct digester *d = handle->data;

  pthread_mutex_destroy(&d->mutex);
  pthread_cond_destroy(&d->cond);
  free(d->running);
  free(d->busy);
  free(d->threads);
  free(d);
}

bool digester_idle(const struct oc_server *s)
{
  return !s->digester || !s->digester->n_tasks;
}

void digester_close(struct oc_server *s)
{
  struct digester *d = s->digester;

  if (!d)
    return;
  s->digester = NULL;
  pthread_mutex_lock(&d->mutex);
  assert(!d->waiting);
  d->stop = true;
  pthread_cond_broadcast(&d->cond);
  pthread_mutex_unlock(&d->mutex);
  for (unsigned i = 0; i < d->n_started; i++)
    pthread_join(d->threads[i], NULL);
  assert(!d->done);
  uv_close((uv_handle_t *)&d->wake, on_closed);
}
