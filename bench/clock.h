/* The clock of the measuring programs: microseconds that only go up. */
#ifndef OC_BENCH_CLOCK_H
#define OC_BENCH_CLOCK_H

#include <time.h>

static inline double now_us(void)
{
  struct timespec t;

  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

#endif
