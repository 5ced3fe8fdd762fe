/* Named stop points: "in the middle" is a place, not a sleep.
 *
 * A test asks for a place by name (OMCC_STOP_AT travels with the request); the process
 * stops itself there with SIGSTOP, so that the test can kill it and look at what is left.
 * Builds without OMCC_STOP_POINTS have none of this. */
#include "worker/worker_internal.h"

#include <signal.h>
#include <time.h>

#include "base/str.h"

void oc_stop_point(const char *wanted, const char *here)
{
#ifdef OMCC_STOP_POINTS
  if (wanted && oc_streq(wanted, here))
    raise(SIGSTOP);
#else
  (void)wanted;
  (void)here;
#endif
}

uint64_t oc_now_us(void)
{
  struct timespec t;

  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}
