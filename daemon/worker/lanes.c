/* Lanes of emit: the caller and one thread beside it take numbers from one counter until
 * there are none, or until a work fails. The thread lives as long as the call; without
 * one (a limit of the system) the caller does everything. */
#include "worker/worker_internal.h"

#include <pthread.h>
#include <stdatomic.h>

#define STACK_SIZE (256u << 10)

struct run {
  atomic_uint_fast64_t next;
  uint64_t n;
  int (*work)(void *arg, unsigned lane, uint64_t i);
  void *arg;
  atomic_int result; /* of the first that failed */
};

static void take(struct run *r, unsigned lane)
{
  while (atomic_load(&r->result) == 0) {
    uint64_t i = atomic_fetch_add(&r->next, 1);
    if (i >= r->n)
      break;
    int rc = r->work(r->arg, lane, i), none = 0;
    if (rc < 0)
      (void)atomic_compare_exchange_strong(&r->result, &none, rc);
  }
}

static void *second(void *run)
{
  take(run, 1);
  return NULL;
}

int oc_lanes_each(void *ctx, unsigned n_lanes, uint64_t n,
                  int (*work)(void *arg, unsigned lane, uint64_t i), void *arg)
{
  struct run r = { .n = n, .work = work, .arg = arg };
  pthread_attr_t attr;
  pthread_t thread;
  bool two = n_lanes > 1 && pthread_attr_init(&attr) == 0;

  (void)ctx;
  if (two) {
    pthread_attr_setstacksize(&attr, STACK_SIZE);
    two = pthread_create(&thread, &attr, second, &r) == 0;
    pthread_attr_destroy(&attr);
  }
  take(&r, 0);
  if (two)
    pthread_join(thread, NULL);
  return atomic_load(&r.result);
}
