/* Publishing one result, on the writer thread. The order is the promise:
 *
 *   1. limbo rows: these digests may soon be files without a row (committed)
 *   2. objects: fdatasync, name, fsync of the folder
 *   3. one transaction: entry, members, object rows, plan row; limbo rows go
 *
 * A kill after 1 or 2 leaves files that limbo names, and the next open removes them. A
 * kill during 3 is a rollback. No row ever names an object that is not on disk. */
#include <string.h>
#include <sys/statvfs.h>

#include "base/cleanup.h"
#include "cache/cache_internal.h"
#include "cache/record.h"

static int check_room(struct oc_cache *c, const struct oc_cache_put_job *p,
                      struct oc_error *err)
{
  struct statvfs fs;
  uint64_t bytes = 0;

  for (size_t i = 0; i < p->n_members; i++)
    bytes += p->members[i].size;
  if (c->opt.max_bytes && bytes > c->opt.max_bytes)
    return oc_error_set(err, OC_E_LIMIT,
                        "the result (%llu bytes) is larger than the cache",
                        (unsigned long long)bytes);
  if (c->opt.min_free_bytes && fstatvfs(c->dir_fd, &fs) == 0 &&
      (uint64_t)fs.f_bavail * fs.f_frsize < c->opt.min_free_bytes)
    return oc_error_set(err, OC_E_LIMIT,
                        "the file system has less free space than is kept");
  return 0;
}

static int announce(struct oc_cache *c, const struct oc_cache_job *job,
                    struct oc_error *err)
{
  const struct oc_cache_put_job *p = &job->put;
  int rc = oc_cache_begin(c, err);

  if (rc < 0)
    return rc;
  /* What is found on disk stays there when this is given up. */
  if (!p->record_len)
    rc = oc_cache_run_digest(c, OC_W_LIMBO_ADD, job->key, err);
  for (size_t i = 0; i < p->n_members && rc == 0; i++)
    if (!p->members[i].data && p->members[i].from != OC_CACHE_FROM_FOUND)
      rc = oc_cache_run_digest(c, OC_W_LIMBO_ADD, p->members[i].sha256, err);
  return oc_cache_end(c, rc, NULL, err);
}

/* One object: the stored one when it is there and good, else ours under its name. */
static int place_object(struct oc_cache *c, struct oc_cache_job_member *m,
                        struct oc_error *err)
{
  auto_reset sqlite3_stmt *s = oc_sql_use(&c->writer, OC_W_OBJECT_GET);
  bool proven = false;

  oc_sql_bind_digest(s, 1, m->sha256);
  int rc = sqlite3_step(s);
  if (rc != SQLITE_ROW && rc != SQLITE_DONE)
    return oc_cache_sql_failed(c, &c->writer, err);
  if (rc == SQLITE_ROW) {
    m->ino = (uint64_t)sqlite3_column_int64(s, 1);
    m->mtime_ns = sqlite3_column_int64(s, 2);
    if ((uint64_t)sqlite3_column_int64(s, 0) == m->size &&
        oc_cache_object_open(c, m->sha256, m->size, m->ino, m->mtime_ns, NULL, &proven) ==
            OC_OBJECT_GOOD &&
        (proven || m->output.fd < 0))
      return 0; /* one that was not digested in this life gives way to ours */
  }
  if (m->from == OC_CACHE_FROM_FOUND && oc_cache_object_found(c, m))
    return 0;
  if (m->from == OC_CACHE_FROM_OBJECT || m->from == OC_CACHE_FROM_FOUND)
    return oc_error_set(err, OC_E_STORE, "the object of '%s' has gone", m->name);
  return oc_cache_object_link(c, m, err);
}

/* Beside the index; a found result has its record already. */
static void keep_record(struct oc_cache *c, struct oc_cache_job *job)
{
  struct oc_cache_record record;
  struct oc_arena arena;
  struct oc_buf bytes;

  oc_arena_init(&arena, 1u << 20);
  oc_buf_init(&bytes, OC_RECORD_MAX);
  if (oc_cache_record_of_job(job, &arena, &record) == 0 &&
      oc_cache_record_pack(&record, &bytes) == 0 &&
      oc_cache_record_write(c, job->key, bytes.data, bytes.len))
    job->put.record_len = bytes.len;
  oc_buf_clear(&bytes);
  oc_arena_clear(&arena);
}

static int commit_rows(struct oc_cache *c, const struct oc_cache_job *job,
                       struct oc_error *err)
{
  int64_t totals[OC_N_TOTALS];
  int rc = oc_cache_begin(c, err);

  if (rc < 0)
    return rc;
  oc_cache_totals(c, totals);
  rc = oc_cache_add_rows(c, job, totals, err);
  oc_cache_point(c, "put-rows");
  return oc_cache_end(c, rc, totals, err);
}

int oc_cache_publish_rows(struct oc_cache *c, struct oc_cache_job *job,
                          struct oc_error *err)
{
  struct oc_cache_put_job *p = &job->put;
  int rc = 0;

  if (!p->created_s)
    p->created_s = (uint64_t)oc_cache_now_s();
  oc_cache_point(c, "put-begin");
  for (size_t i = 0; i < p->n_members && rc == 0; i++)
    rc = oc_cache_settle(c, job, &p->members[i], err);
  if (rc == 0)
    rc = check_room(c, p, err);
  if (rc == 0)
    rc = announce(c, job, err);
  if (rc < 0)
    return rc;
  oc_cache_point(c, "put-announced");
  for (size_t i = 0; i < p->n_members && rc == 0; i++)
    if (!p->members[i].data)
      rc = place_object(c, &p->members[i], err);
  oc_cache_point(c, "put-linked");
  if (rc == 0 && !p->record_len)
    keep_record(c, job);
  oc_cache_point(c, "put-recorded");
  if (rc == 0)
    rc = commit_rows(c, job, err);
  oc_cache_point(c, "put-committed");
  return rc;
}

void oc_cache_publish(struct oc_cache *c, struct oc_cache_job *job)
{
  struct oc_cache_event event = { .kind = OC_CACHE_STORED, .ticket = job->put.ticket };
  struct oc_error err = { 0 };

  memcpy(event.key, job->key, sizeof(event.key));
  int rc = oc_cache_publish_rows(c, job, &err);
  if (rc < 0) {
    event.kind = OC_CACHE_NOT_STORED;
    memcpy(event.reason, err.msg, sizeof(event.reason) - 1);
  }
  oc_cache_count(c, event.kind == OC_CACHE_STORED ? OC_COUNT_STORED : OC_COUNT_NOT_STORED,
                 1);
  if (job->reply) {
    job->reply->rc = rc;
    job->reply->err = err;
  } else {
    oc_cache_post(c, &event);
  }
  /* What a replaced entry or a failed publication left behind. */
  oc_cache_limbo_clear(c, NULL);
  for (size_t i = 0; i < job->put.n_members; i++) /* counted as stored by now, or never */
    oc_cache_unreserve(&job->put.members[i].output);
  oc_cache_evict(c, job->put.facts.uid);
}
