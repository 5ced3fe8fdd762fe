/* Writing entries into one file, from a connection of its own: the store goes on working.
 * Each entry is read as the index has it and held against its digest, each object is
 * digested on the way; what is damaged is left out and told to the writer. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cache/cache_internal.h"
#include "cache/portable.h"
#include "cache/record.h"

#define CHUNK       (1u << 20)
#define ENTRY_ARENA (96u << 20)

struct export
{
  struct oc_cache *c;
  struct oc_sql *reader;
  int fd;
  uint64_t at; /* end of what is written */
  struct oc_sha256 heads;
  struct oc_portable_set objects;
  uint8_t *chunk;
  struct oc_error err; /* set: nothing more can be written */
};

/* What writing one entry came to. */
enum outcome { WRITTEN, LEFT_OUT, STOPPED };

static enum outcome stop(struct export *x, const char *what)
{
  oc_error_errno(&x->err, OC_E_IO, "%s", what);
  return STOPPED;
}

/* The head of a section whose content is written already. */
static enum outcome close_section(struct export *x, const char *kind, uint64_t len,
                                  const uint8_t sha256[OC_SHA256_LEN])
{
  struct oc_portable_head head = { .len = len };
  uint8_t bytes[OC_PORTABLE_HEAD];

  memcpy(head.kind, kind, sizeof(head.kind));
  memcpy(head.sha256, sha256, OC_SHA256_LEN);
  oc_portable_head_pack(&head, bytes);
  if (!oc_portable_write(x->fd, bytes, sizeof(bytes), x->at))
    return stop(x, "cannot write the export");
  if (len) /* DONE is not among the heads it is the digest of */
    oc_sha256_update(&x->heads, bytes, sizeof(bytes));
  x->at += OC_PORTABLE_HEAD + len;
  return WRITTEN;
}

/* Copies the object behind the place of its head; the head follows when the digest fits.
 */
static enum outcome copy_object(struct export *x, int from,
                                const struct oc_cache_record_member *m)
{
  struct oc_portable_object o = { .at = x->at + OC_PORTABLE_HEAD, .len = m->size };
  uint8_t now[OC_SHA256_LEN];
  struct oc_sha256 s;
  uint64_t done = 0;

  if (oc_sha256_init(&s) < 0) {
    oc_sha256_clear(&s);
    return LEFT_OUT;
  }
  while (done < m->size && !oc_cache_errand_stopped(x->c)) {
    size_t n = m->size - done < CHUNK ? (size_t)(m->size - done) : CHUNK;
    if (!oc_portable_read(from, x->chunk, n, done))
      break;
    oc_sha256_update(&s, x->chunk, n);
    if (!oc_portable_write(x->fd, x->chunk, n, o.at + done)) {
      oc_sha256_clear(&s);
      return stop(x, "cannot write the export");
    }
    done += n;
  }
  if (done < m->size && oc_cache_errand_stopped(x->c)) {
    oc_sha256_clear(&s);
    oc_error_set(&x->err, OC_E_CLOSED, "it was stopped");
    return STOPPED;
  }
  bool good = oc_sha256_final(&s, now) == 0 && done == m->size &&
              memcmp(now, m->sha256, sizeof(now)) == 0;
  memcpy(o.sha256, m->sha256, sizeof(o.sha256));
  if (good && oc_portable_add(&x->objects, &o) == 0)
    return close_section(x, "OBJT", m->size, m->sha256);
  return LEFT_OUT;
}

static enum outcome put_object(struct export *x, const struct oc_cache_record *r,
                               const struct oc_cache_record_member *m)
{
  auto_reset sqlite3_stmt *s = NULL;

  if (m->data || oc_portable_find(&x->objects, m->sha256))
    return WRITTEN;
  auto_close int fd = -1;
  s = oc_sql_use(x->reader, OC_R_OBJECT_STAT);
  oc_sql_bind_digest(s, 1, m->sha256);
  if (sqlite3_step(s) != SQLITE_ROW)
    return LEFT_OUT; /* evicted meanwhile */
  oc_cache_object_open(x->c, m->sha256, m->size, (uint64_t)sqlite3_column_int64(s, 0),
                       sqlite3_column_int64(s, 1), &fd, NULL);
  enum outcome how = fd < 0 ? LEFT_OUT : copy_object(x, fd, m);
  if (how == LEFT_OUT)
    oc_cache_tell_writer(x->c, r->key, m->sha256, true);
  return how;
}

static enum outcome put_entry(struct export *x, const struct oc_cache_record *r)
{
  enum outcome how = WRITTEN;
  uint8_t digest[OC_SHA256_LEN];
  struct oc_buf bytes;

  for (size_t i = 0; i < r->n_members && how == WRITTEN; i++)
    how = put_object(x, r, &r->members[i]);
  if (how != WRITTEN)
    return how;
  oc_buf_init(&bytes, OC_RECORD_MAX);
  if (oc_cache_record_pack(r, &bytes) < 0 ||
      oc_sha256_bytes(bytes.data, bytes.len, digest) < 0)
    how = LEFT_OUT;
  else if (!oc_portable_write(x->fd, bytes.data, bytes.len, x->at + OC_PORTABLE_HEAD))
    how = stop(x, "cannot write the export");
  else
    how = close_section(x, "RECD", bytes.len, digest);
  oc_buf_clear(&bytes);
  return how;
}

/* One entry by its key; one that has gone since is none. */
static enum outcome export_key(struct export *x, const uint8_t key[OC_SHA256_LEN],
                               struct oc_cache_event *event)
{
  struct oc_cache_record r;
  struct oc_arena arena;

  oc_arena_init(&arena, ENTRY_ARENA);
  int rc = oc_cache_record_of_row(x->reader, key, &arena, &r);
  enum outcome how = rc == 1 ? put_entry(x, &r) : LEFT_OUT;
  oc_arena_clear(&arena);
  event->count += how == WRITTEN;
  event->bad += how == LEFT_OUT && rc != 0;
  return how;
}

static int next_key(struct export *x, int64_t uid, uint8_t key[OC_SHA256_LEN])
{
  auto_reset sqlite3_stmt *s = oc_sql_use(x->reader, OC_R_NEXT_KEY);
  uint8_t next[OC_SHA256_LEN];

  oc_sql_bind_digest(s, 1, key);
  sqlite3_bind_int64(s, 2, uid);
  int rc = sqlite3_step(s);
  if (rc != SQLITE_ROW || !oc_sql_digest(s, 0, next))
    return rc == SQLITE_DONE ? 0 : oc_cache_sql_failed(x->c, x->reader, &x->err);
  memcpy(key, next, sizeof(next));
  return 1;
}

static void export_all(struct export *x, const struct oc_cache_errand *e,
                       struct oc_cache_event *event)
{
  uint8_t key[OC_SHA256_LEN] = { 0 };

  if (!oc_portable_write(x->fd, OC_PORTABLE_MAGIC, OC_PORTABLE_MAGIC_LEN, 0)) {
    stop(x, "cannot write the export");
    return;
  }
  x->at = OC_PORTABLE_MAGIC_LEN;
  if (e->has_key)
    export_key(x, e->key, event);
  while (!e->has_key && next_key(x, e->uid, key) == 1)
    if (oc_cache_errand_stopped(x->c) || export_key(x, key, event) == STOPPED)
      break;
  if (x->err.code == 0 && oc_cache_errand_stopped(x->c))
    oc_error_set(&x->err, OC_E_CLOSED, "it was stopped");
}

/* The last section, and what a left-out object may have written behind it. */
static void finish(struct export *x)
{
  uint8_t digest[OC_SHA256_LEN];

  if (x->err.code == 0 && oc_sha256_final(&x->heads, digest) < 0)
    oc_error_set(&x->err, OC_E_NOMEM, "no memory for a digest");
  if (x->err.code == 0 && close_section(x, "DONE", 0, digest) == WRITTEN &&
      ftruncate(x->fd, (off_t)x->at) < 0)
    stop(x, "cannot write the export");
}

void oc_cache_run_export(struct oc_cache *c, struct oc_sql *reader,
                         const struct oc_cache_errand *e, struct oc_cache_event *event)
{
  struct export x = { .c = c, .reader = reader, .fd = e->fd };

  x.chunk = malloc(CHUNK);
  if (oc_sha256_init(&x.heads) < 0 || !x.chunk)
    oc_error_set(&x.err, OC_E_NOMEM, "no memory to export");
  else
    export_all(&x, e, event);
  if (x.err.code == 0)
    finish(&x);
  oc_sha256_clear(&x.heads);
  oc_portable_clear(&x.objects);
  free(x.chunk);
  event->bytes = x.at;
  event->code = x.err.code;
  memcpy(event->reason, x.err.msg, sizeof(event->reason) - 1);
}
