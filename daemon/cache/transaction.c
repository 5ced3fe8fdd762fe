/* Transactions of the writer that keep the totals: they are changed in a copy, saved with
 * the rows, and taken over only when the commit has worked. */
#include "cache/cache_internal.h"

int oc_cache_begin(struct oc_cache *c, struct oc_error *err)
{
  return oc_sql_run(oc_sql_use(&c->writer, OC_W_BEGIN)) == SQLITE_DONE
             ? 0
             : oc_cache_sql_failed(c, &c->writer, err);
}

int oc_cache_end(struct oc_cache *c, int rc, const int64_t *totals, struct oc_error *err)
{
  if (rc == 0 && totals)
    rc = oc_cache_counters_save(c, totals, err);
  if (rc == 0 && oc_sql_run(oc_sql_use(&c->writer, OC_W_COMMIT)) != SQLITE_DONE)
    rc = oc_cache_sql_failed(c, &c->writer, err);
  if (rc < 0)
    oc_sql_run(oc_sql_use(&c->writer, OC_W_ROLLBACK));
  else if (totals)
    oc_cache_totals_set(c, totals);
  return rc;
}

int oc_cache_run_digest(struct oc_cache *c, int which,
                        const uint8_t sha256[OC_SHA256_LEN], struct oc_error *err)
{
  sqlite3_stmt *s = oc_sql_use(&c->writer, which);

  oc_sql_bind_digest(s, 1, sha256);
  return oc_sql_run(s) == SQLITE_DONE ? 0 : oc_cache_sql_failed(c, &c->writer, err);
}
