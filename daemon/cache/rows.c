/* The rows of one result: entry, members, objects, parts, plan key. Inside one
 * transaction of the writer; the caller begins and ends it. */
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "cache/cache_internal.h"

static int add_object_row(struct oc_cache *c, const struct oc_cache_job_member *m,
                          int64_t totals[OC_N_TOTALS], struct oc_error *err)
{
  auto_reset sqlite3_stmt *get = oc_sql_use(&c->writer, OC_W_OBJECT_GET);

  oc_sql_bind_digest(get, 1, m->sha256);
  int rc = sqlite3_step(get);
  if (rc == SQLITE_DONE) {
    totals[OC_COUNT_OBJECTS]++;
    totals[OC_COUNT_BYTES] += (int64_t)m->size;
  } else if (rc != SQLITE_ROW) {
    return oc_cache_sql_failed(c, &c->writer, err);
  }
  sqlite3_reset(get);
  sqlite3_stmt *add = oc_sql_use(&c->writer, OC_W_OBJECT_ADD);
  oc_sql_bind_digest(add, 1, m->sha256);
  sqlite3_bind_int64(add, 2, (int64_t)m->size);
  sqlite3_bind_int64(add, 3, (int64_t)m->ino);
  sqlite3_bind_int64(add, 4, m->mtime_ns);
  if (oc_sql_run(add) != SQLITE_DONE)
    return oc_cache_sql_failed(c, &c->writer, err);
  return oc_cache_run_digest(c, OC_W_LIMBO_DELETE, m->sha256, err);
}

static int add_member_row(struct oc_cache *c, int64_t id,
                          const struct oc_cache_job_member *m,
                          int64_t totals[OC_N_TOTALS], struct oc_error *err)
{
  sqlite3_stmt *s = oc_sql_use(&c->writer, OC_W_MEMBER_ADD);

  sqlite3_bind_int64(s, 1, id);
  sqlite3_bind_text(s, 2, m->name, -1, SQLITE_STATIC);
  sqlite3_bind_text(s, 3, m->kind, -1, SQLITE_STATIC);
  sqlite3_bind_int64(s, 4, m->mode);
  sqlite3_bind_int64(s, 5, (int64_t)m->size);
  oc_sql_bind_digest(s, 6, m->sha256);
  if (m->data)
    sqlite3_bind_blob64(s, 7, m->data, m->size, SQLITE_STATIC);
  if (oc_sql_run(s) != SQLITE_DONE)
    return oc_cache_sql_failed(c, &c->writer, err);
  if (!m->data)
    return add_object_row(c, m, totals, err);
  totals[OC_COUNT_BYTES] += (int64_t)m->size;
  return 0;
}

static int manifest_digest(const struct oc_cache_job *job, uint8_t ret[OC_SHA256_LEN])
{
  struct oc_sha256 s;
  int rc = oc_cache_manifest_begin(&s, job->key, &job->put.facts);

  for (size_t i = 0; i < job->put.n_members && rc == 0; i++) {
    const struct oc_cache_job_member *m = &job->put.members[i];
    oc_cache_manifest_member(&s, m->name, m->kind, m->mode, m->size, m->sha256, !m->data);
  }
  if (rc < 0) {
    oc_sha256_clear(&s);
    return rc;
  }
  return oc_sha256_final(&s, ret);
}

static int add_entry_row(struct oc_cache *c, const struct oc_cache_job *job, int64_t seq,
                         int64_t *ret_id, struct oc_error *err)
{
  const struct oc_cache_facts *f = &job->put.facts;
  const char *const texts[] = { f->model, f->soc,      f->backend,
                                f->mode,  f->table_id, f->toolkit };
  sqlite3_stmt *s = oc_sql_use(&c->writer, OC_W_ENTRY_ADD);
  uint8_t manifest[OC_SHA256_LEN];
  uint64_t size = 0;

  for (size_t i = 0; i < job->put.n_members; i++)
    size += job->put.members[i].size;
  if (manifest_digest(job, manifest) < 0)
    return oc_error_set(err, OC_E_NOMEM, "no memory for a digest");
  oc_sql_bind_digest(s, 1, job->key);
  oc_sql_bind_digest(s, 2, manifest);
  oc_sql_bind_digest(s, 3, job->put.model);
  oc_sql_bind_digest(s, 4, job->put.options);
  for (size_t i = 0; i < OC_COUNT(texts); i++)
    sqlite3_bind_text(s, 5 + (int)i, texts[i], -1, SQLITE_STATIC);
  sqlite3_bind_int64(s, 11, f->uid);
  sqlite3_bind_int64(s, 12, f->device_ready);
  sqlite3_bind_int64(s, 13, (int64_t)f->compile_ms);
  sqlite3_bind_int64(s, 14, (int64_t)f->peak_rss_bytes);
  sqlite3_bind_int64(s, 15, f->tool_exit);
  sqlite3_bind_int64(s, 16, (int64_t)size);
  sqlite3_bind_int64(s, 17, oc_cache_now_s());
  sqlite3_bind_int64(s, 18, seq);
  sqlite3_bind_int64(s, 19, (int64_t)job->put.created_s);
  sqlite3_bind_int64(s, 20, (int64_t)job->put.record_len);
  if (oc_sql_run(s) != SQLITE_DONE)
    return oc_cache_sql_failed(c, &c->writer, err);
  *ret_id = sqlite3_last_insert_rowid(c->writer.db);
  return 0;
}

static int add_parts_row(struct oc_cache *c, int64_t id, const struct oc_cache_put_job *p,
                         struct oc_error *err)
{
  sqlite3_stmt *s = oc_sql_use(&c->writer, OC_W_PARTS_ADD);

  sqlite3_bind_int64(s, 1, id);
  sqlite3_bind_blob64(s, 2, p->parts, p->parts_len, SQLITE_STATIC);
  return oc_sql_run(s) == SQLITE_DONE ? 0 : oc_cache_sql_failed(c, &c->writer, err);
}

/* The plan key names the artifact, when that is an object. */
static int add_plan_row(struct oc_cache *c, const struct oc_cache_put_job *p,
                        struct oc_error *err)
{
  for (size_t i = 0; p->has_plan_key && i < p->n_members; i++) {
    const struct oc_cache_job_member *m = &p->members[i];
    if (m->data || !oc_streq(m->kind, "artifact"))
      continue;
    sqlite3_stmt *s = oc_sql_use(&c->writer, OC_W_PLAN_ADD);
    oc_sql_bind_digest(s, 1, p->plan_key);
    oc_sql_bind_digest(s, 2, m->sha256);
    sqlite3_bind_text(s, 3, m->name, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 4, m->kind, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 5, m->mode);
    return oc_sql_run(s) == SQLITE_DONE ? 0 : oc_cache_sql_failed(c, &c->writer, err);
  }
  return 0;
}

/* An older result under the same key goes first. */
static int replace_old(struct oc_cache *c, const uint8_t key[OC_SHA256_LEN],
                       int64_t totals[OC_N_TOTALS], struct oc_error *err)
{
  sqlite3_stmt *s = oc_sql_use(&c->writer, OC_W_ENTRY_ID);

  oc_sql_bind_digest(s, 1, key);
  int rc = sqlite3_step(s);
  int64_t id = rc == SQLITE_ROW ? sqlite3_column_int64(s, 0) : 0;
  sqlite3_reset(s);
  if (rc == SQLITE_DONE)
    return 0;
  if (rc != SQLITE_ROW)
    return oc_cache_sql_failed(c, &c->writer, err);
  return oc_cache_entry_delete(c, id, totals, err);
}

int oc_cache_add_rows(struct oc_cache *c, const struct oc_cache_job *job,
                      int64_t totals[OC_N_TOTALS], struct oc_error *err)
{
  int64_t id = 0;
  int rc = replace_old(c, job->key, totals, err);

  if (rc == 0)
    rc = add_entry_row(c, job, ++totals[OC_COUNT_SEQ], &id, err);
  for (size_t i = 0; i < job->put.n_members && rc == 0; i++)
    rc = add_member_row(c, id * OC_CACHE_MEMBER_SPAN + (int64_t)i, &job->put.members[i],
                        totals, err);
  if (rc == 0)
    rc = add_parts_row(c, id, &job->put, err);
  if (rc == 0)
    rc = add_plan_row(c, &job->put, err);
  if (rc == 0)
    rc = oc_cache_run_digest(c, OC_W_LIMBO_DELETE, job->key, err);
  totals[OC_COUNT_BYTES] += (int64_t)job->put.record_len;
  totals[OC_COUNT_ENTRIES]++;
  return rc;
}
