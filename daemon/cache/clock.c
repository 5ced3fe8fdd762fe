/* The time as people read it off the wall.
 *
 * It may be set to anything at any moment, so nothing rests on it but what is said in its
 * terms: the end of a pin, the age that `gc` was given, the hour of a figure, dates.
 * Order is the logical clock's (used_seq), waiting is the monotonic clock's. A clock
 * before 1970 reads 1, since 0 means "none" in the index and a date has no sign. */
#include <time.h>

#include "cache/cache_internal.h"

int64_t oc_cache_now_s(void)
{
  int64_t now = (int64_t)time(NULL);

  return now > 0 ? now : 1;
}

int64_t oc_cache_ago_s(uint64_t seconds)
{
  int64_t now = oc_cache_now_s();

  return seconds < (uint64_t)now ? now - (int64_t)seconds : 1;
}

int64_t oc_cache_hence_s(uint64_t seconds)
{
  int64_t now = oc_cache_now_s();

  return seconds < (uint64_t)(OC_CACHE_FOR_GOOD - now) ? now + (int64_t)seconds
                                                       : OC_CACHE_FOR_GOOD;
}
