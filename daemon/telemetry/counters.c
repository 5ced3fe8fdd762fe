/* Counters: one list gives the numbers their names, so that status, log and later the
 * metrics page cannot disagree about what a counter is called. */
#include "telemetry/telemetry.h"

#include <assert.h>

static const char *const names[OC_COUNTER_N] = {
#define OC_COUNTER_NAME(id, name) [OC_COUNT_##id] = name,
  OC_COUNTERS(OC_COUNTER_NAME)
#undef OC_COUNTER_NAME
};

void oc_counter_add(struct oc_counters *c, enum oc_counter id, uint64_t n)
{
  assert(id < OC_COUNTER_N);
  c->value[id] += n;
}

const char *oc_counter_name(enum oc_counter id)
{
  assert(id < OC_COUNTER_N);
  return names[id];
}
