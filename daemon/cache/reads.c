/* Several reads as one: they share one state of the index, and what a transaction costs
 * (two locks and a look at the log) is paid once. */
#include "cache/cache_internal.h"

void oc_cache_reads_begin(struct oc_cache *c)
{
  if (!c->reading && !atomic_load(&c->broken))
    c->reading = oc_sql_run(oc_sql_use(&c->reader, OC_R_READ)) == SQLITE_DONE;
}

void oc_cache_reads_end(struct oc_cache *c)
{
  if (c->reading)
    oc_sql_run(oc_sql_use(&c->reader, OC_R_READ_END));
  c->reading = false;
}
