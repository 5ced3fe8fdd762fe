/* Taking entries from an export. The whole file is read and checked first: every section
 * against its digest, the order of sections against the last one, every record for being
 * one, for its key and for having its objects. Only then is anything stored, entry by
 * entry through the writer, each object digested once more while it is copied, since the
 * file is somebody else's and may change under us. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "cache/cache_internal.h"
#include "cache/portable.h"
#include "cache/record.h"

#define CHUNK       (1u << 20)
#define ENTRY_ARENA (160u << 20) /* the record's bytes, and what is read from them */
#define MAX_RECORDS 100000000u

struct import {
  struct oc_cache *c;
  struct oc_sql *reader;
  int fd;
  uint64_t size;
  uint8_t *chunk;
  struct oc_portable_set objects;
  struct oc_portable_object *records;
  size_t n_records, room;
  struct oc_error err;
};

static int damaged(struct import *x, const char *what)
{
  return oc_error_set(&x->err, OC_E_FORMAT, "%s", what);
}

/* ---------------------------------------------------------------- the file as a whole */

/* Digests content of the file; `to` (may be -1) gets a copy. */
static int digest_content(struct import *x, uint64_t at, uint64_t len, int to,
                          uint8_t ret[OC_SHA256_LEN])
{
  struct oc_sha256 s;
  int rc = oc_sha256_init(&s);

  for (uint64_t done = 0; rc == 0 && done < len;) {
    size_t n = len - done < CHUNK ? (size_t)(len - done) : CHUNK;
    if (oc_cache_errand_stopped(x->c))
      rc = oc_error_set(&x->err, OC_E_CLOSED, "the daemon is stopping");
    else if (!oc_portable_read(x->fd, x->chunk, n, at + done))
      rc = damaged(x, "it is cut off");
    else if (to >= 0 && !oc_portable_write(to, x->chunk, n, done))
      rc = oc_error_errno(&x->err, OC_E_IO, "cannot write an object");
    oc_sha256_update(&s, x->chunk, n);
    done += n;
  }
  if (rc == 0)
    return oc_sha256_final(&s, ret);
  oc_sha256_clear(&s);
  return rc;
}

static int add_record(struct import *x, const struct oc_portable_object *o)
{
  if (x->n_records == x->room) {
    size_t room = x->room ? x->room * 2 : 64;
    struct oc_portable_object *bigger =
        room > MAX_RECORDS ? NULL : realloc(x->records, room * sizeof(*bigger));
    if (!bigger)
      return oc_error_set(&x->err, OC_E_NOMEM, "no memory to import so many entries");
    x->records = bigger;
    x->room = room;
  }
  x->records[x->n_records++] = *o;
  return 0;
}

/* One section at `*at`; 1: it was the last one. */
static int check_section(struct import *x, uint64_t *at, struct oc_sha256 *heads)
{
  uint8_t bytes[OC_PORTABLE_HEAD], now[OC_SHA256_LEN];
  struct oc_portable_head h;

  if (x->size - *at < sizeof(bytes) ||
      !oc_portable_read(x->fd, bytes, sizeof(bytes), *at))
    return damaged(x, "it is cut off");
  if (!oc_portable_head_unpack(bytes, &h))
    return damaged(x, "it has a section of an unknown kind");
  if (h.len > x->size - *at - sizeof(bytes))
    return damaged(x, "it is cut off");
  struct oc_portable_object o = { .at = *at + sizeof(bytes), .len = h.len };
  memcpy(o.sha256, h.sha256, sizeof(o.sha256));
  *at += sizeof(bytes) + h.len;
  if (oc_streq(h.kind, "DONE")) {
    if (h.len || *at != x->size || oc_sha256_final(heads, now) < 0 ||
        memcmp(now, h.sha256, sizeof(now)) != 0)
      return damaged(x, "its end does not fit what is before it");
    return 1;
  }
  oc_sha256_update(heads, bytes, sizeof(bytes));
  bool record = oc_streq(h.kind, "RECD");
  if (h.len == 0 || (record && h.len > OC_RECORD_MAX))
    return damaged(x, "it has a section of an impossible size");
  int rc = digest_content(x, o.at, h.len, -1, now);
  if (rc == 0 && memcmp(now, h.sha256, sizeof(now)) != 0)
    rc = damaged(x, "its bytes do not fit their digest");
  if (rc == 0)
    rc = record ? add_record(x, &o) : oc_portable_add(&x->objects, &o);
  return rc;
}

static int check_file(struct import *x)
{
  char magic[OC_PORTABLE_MAGIC_LEN];
  uint64_t at = sizeof(magic);
  struct oc_sha256 heads;
  int rc = 0;

  if (!oc_portable_read(x->fd, magic, sizeof(magic), 0) ||
      memcmp(magic, OC_PORTABLE_MAGIC, sizeof(magic)) != 0)
    return damaged(x, "it does not begin as one");
  if (oc_sha256_init(&heads) < 0)
    rc = oc_error_set(&x->err, OC_E_NOMEM, "no memory for a digest");
  while (rc == 0)
    rc = check_section(x, &at, &heads);
  oc_sha256_clear(&heads);
  return rc < 0 ? rc : 0;
}

/* ---------------------------------------------------------------- its entries */

static int read_record(struct import *x, const struct oc_portable_object *at,
                       struct oc_arena *arena, struct oc_cache_record *ret)
{
  void *bytes = oc_arena_alloc(arena, at->len);

  if (!bytes || !oc_portable_read(x->fd, bytes, at->len, at->at))
    return damaged(x, "a record cannot be read");
  if (oc_cache_record_unpack(bytes, at->len, arena, ret) < 0 || ret->n_members == 0)
    return damaged(x, "a record is not what it claims to be");
  if (x->c->opt.key_fits && !x->c->opt.key_fits(ret->key, ret->parts, ret->parts_len))
    return damaged(x, "a record lies under a key that is not its own");
  for (size_t i = 0; i < ret->n_members; i++) {
    const struct oc_cache_record_member *m = &ret->members[i];
    const struct oc_portable_object *o =
        m->data ? NULL : oc_portable_find(&x->objects, m->sha256);
    if (!m->data && (!o || o->len != m->size))
      return damaged(x, "an object that a record names is not in it");
  }
  return 0;
}

static int check_records(struct import *x)
{
  struct oc_cache_record r;
  int rc = 0;

  for (size_t i = 0; i < x->n_records && rc == 0; i++) {
    struct oc_arena arena;
    oc_arena_init(&arena, ENTRY_ARENA);
    rc = read_record(x, &x->records[i], &arena, &r);
    oc_arena_clear(&arena);
  }
  return rc;
}

static bool has(struct import *x, int which, const uint8_t digest[OC_SHA256_LEN])
{
  auto_reset sqlite3_stmt *s = oc_sql_use(x->reader, which);

  oc_sql_bind_digest(s, 1, digest);
  return sqlite3_step(s) == SQLITE_ROW;
}

/* An object of the file becomes an output; one that the store has needs none. */
static int take_object(struct import *x, const struct oc_cache_record_member *m,
                       struct oc_cache_output *out)
{
  const struct oc_portable_object *o = oc_portable_find(&x->objects, m->sha256);
  uint8_t now[OC_SHA256_LEN];

  if (has(x, OC_R_HAS_OBJECT, m->sha256))
    return 0;
  int rc = oc_cache_output_new(x->c, out, &x->err);
  if (rc < 0)
    return rc;
  oc_cache_output_reserve(x->c, out, m->size);
  rc = digest_content(x, o->at, o->len, out->fd, now);
  if (rc == 0 && memcmp(now, m->sha256, sizeof(now)) != 0)
    rc = damaged(x, "it changed while it was read");
  return rc < 0 ? rc : oc_cache_output_seal(out, &x->err);
}

static int store(struct import *x, const struct oc_cache_record *r,
                 struct oc_cache_output *outputs, struct oc_cache_event *event)
{
  struct oc_cache_job *job =
      oc_cache_record_job(r, OC_CACHE_FROM_OUTPUT, outputs, &x->err);
  struct oc_cache_reply reply;

  if (!job)
    return x->err.code;
  if (!oc_cache_run_job(x->c, job, &reply))
    return oc_error_set(&x->err, OC_E_CLOSED, "the daemon is stopping");
  if (reply.rc == OC_E_LIMIT) {
    event->bad++; /* larger than this cache: the others may fit */
    return 0;
  }
  if (reply.rc < 0) {
    x->err = reply.err;
    return reply.rc;
  }
  event->count++;
  for (size_t i = 0; i < r->n_members; i++)
    event->bytes += r->members[i].size;
  return 0;
}

static int import_one(struct import *x, const struct oc_portable_object *at, uint32_t uid,
                      struct oc_cache_event *event)
{
  struct oc_cache_output outputs[OC_CACHE_MAX_MEMBERS];
  struct oc_cache_record r;
  struct oc_arena arena;

  for (size_t i = 0; i < OC_CACHE_MAX_MEMBERS; i++)
    outputs[i] = (struct oc_cache_output){ .fd = -1 };
  oc_arena_init(&arena, ENTRY_ARENA);
  int rc = read_record(x, at, &arena, &r);
  bool known = rc == 0 && has(x, OC_R_HAS_ENTRY, r.key);
  event->removed += known;
  for (size_t i = 0; rc == 0 && !known && i < r.n_members; i++)
    if (!r.members[i].data)
      rc = take_object(x, &r.members[i], &outputs[i]);
  if (rc == 0 && !known) {
    r.facts.uid = uid;
    rc = store(x, &r, outputs, event);
  }
  for (size_t i = 0; i < OC_CACHE_MAX_MEMBERS; i++)
    oc_cache_output_clear(&outputs[i]);
  oc_arena_clear(&arena);
  return rc;
}

void oc_cache_run_import(struct oc_cache *c, struct oc_sql *reader,
                         const struct oc_cache_errand *e, struct oc_cache_event *event)
{
  struct import x = { .c = c, .reader = reader, .fd = e->fd };
  struct stat st;
  int rc = fstat(e->fd, &st) == 0 && S_ISREG(st.st_mode)
               ? 0
               : damaged(&x, "it is no regular file");

  x.size = rc == 0 ? (uint64_t)st.st_size : 0;
  x.chunk = malloc(CHUNK);
  if (!x.chunk)
    rc = oc_error_set(&x.err, OC_E_NOMEM, "no memory to import");
  if (rc == 0)
    rc = check_file(&x);
  if (rc == 0)
    rc = check_records(&x);
  for (size_t i = 0; i < x.n_records && rc == 0; i++)
    rc = import_one(&x, &x.records[i], (uint32_t)e->uid, event);
  oc_portable_clear(&x.objects);
  free(x.records);
  free(x.chunk);
  event->code = rc < 0 ? rc : 0;
  if (rc < 0)
    memcpy(event->reason, x.err.msg, sizeof(event->reason) - 1);
}
