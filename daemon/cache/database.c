/* The index file: opening it, bringing it to the newest form, setting a bad one aside.
 *
 * Anything that is not our database, or that SQLite finds damaged, is renamed to
 * index.sqlite.corrupt-<time> and a new index begins: a cache may forget, it may not
 * refuse to work. The exception is an index written by a newer version: that one is good,
 * and stays. Damage found while in use cannot be repaired under a running reader; a
 * marker file makes the next open check the index, and set it aside if it is damaged. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cache/cache_internal.h"

#define INDEX  "index.sqlite"
#define MARKER "index.damaged"
/* The writer waits this long for a reader's checkpoint lock; readers never wait. */
#define WRITER_BUSY_MS 5000

enum index_state { INDEX_OK, INDEX_BAD, INDEX_NEWER, INDEX_FAILED };

static bool is_damage(int rc)
{
  switch (rc & 0xff) {
  case SQLITE_CORRUPT:
  case SQLITE_NOTADB:
  case SQLITE_SCHEMA:
  case SQLITE_ERROR: /* a table or column is not there */
  case SQLITE_MISMATCH: return true;
  default: return false;
  }
}

static enum index_state state_of(int rc)
{
  return is_damage(rc) ? INDEX_BAD : INDEX_FAILED;
}

static enum index_state migrate(sqlite3 *db, int *ret_rc)
{
  int64_t version = oc_sql_number(db, "PRAGMA user_version", -1);

  for (size_t i = 0; i < oc_cache_n_migrations; i++) {
    const struct oc_cache_migration *m = &oc_cache_migrations[i];
    char stamp[96];
    if (m->number <= version)
      continue;
    snprintf(stamp, sizeof(stamp),
             "PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT",
             OC_CACHE_APPLICATION, m->number);
    *ret_rc = sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    if (*ret_rc == SQLITE_OK)
      *ret_rc = sqlite3_exec(db, m->sql, NULL, NULL, NULL);
    if (*ret_rc == SQLITE_OK)
      *ret_rc = sqlite3_exec(db, stamp, NULL, NULL, NULL);
    if (*ret_rc != SQLITE_OK) {
      sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
      return state_of(*ret_rc);
    }
  }
  return INDEX_OK;
}

/* Is it ours? A new, empty file is. */
static enum index_state identify(sqlite3 *db, int *ret_rc)
{
  *ret_rc = sqlite3_exec(db, "SELECT count(*) FROM sqlite_schema", NULL, NULL, NULL);
  if (*ret_rc != SQLITE_OK)
    return state_of(*ret_rc);
  int64_t application = oc_sql_number(db, "PRAGMA application_id", -1);
  int64_t version = oc_sql_number(db, "PRAGMA user_version", -1);
  int64_t tables = oc_sql_number(db, "SELECT count(*) FROM sqlite_schema", -1);
  if (application == 0 && version == 0 && tables == 0)
    return INDEX_OK;
  *ret_rc = SQLITE_NOTADB;
  if (application != OC_CACHE_APPLICATION || version < 1)
    return INDEX_BAD;
  if (version > oc_cache_migrations[oc_cache_n_migrations - 1].number)
    return INDEX_NEWER;
  return INDEX_OK;
}

static enum index_state open_writer(struct oc_cache *c, const char *path, int *ret_rc)
{
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;

  *ret_rc = sqlite3_open_v2(path, &c->writer.db, flags, NULL);
  if (*ret_rc != SQLITE_OK)
    return state_of(*ret_rc);
  sqlite3_extended_result_codes(c->writer.db, 1);
  sqlite3_busy_timeout(c->writer.db, WRITER_BUSY_MS);
  enum index_state state = identify(c->writer.db, ret_rc);
  if (state != INDEX_OK)
    return state;
  *ret_rc = sqlite3_exec(c->writer.db,
                         c->opt.full_durability
                             ? "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL"
                             : "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL",
                         NULL, NULL, NULL);
  if (*ret_rc != SQLITE_OK)
    return state_of(*ret_rc);
  state = migrate(c->writer.db, ret_rc);
  if (state != INDEX_OK)
    return state;
  *ret_rc = oc_sql_prepare(&c->writer, true);
  return *ret_rc == SQLITE_OK ? INDEX_OK : state_of(*ret_rc);
}

static enum index_state open_reader(struct oc_cache *c, const char *path, int *ret_rc)
{
  *ret_rc = sqlite3_open_v2(path, &c->reader.db,
                            SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);
  if (*ret_rc != SQLITE_OK)
    return state_of(*ret_rc);
  sqlite3_extended_result_codes(c->reader.db, 1);
  sqlite3_busy_timeout(c->reader.db, 0);
  *ret_rc = oc_sql_prepare(&c->reader, false);
  return *ret_rc == SQLITE_OK ? INDEX_OK : state_of(*ret_rc);
}

static enum index_state open_both(struct oc_cache *c, const char *path,
                                  struct oc_error *err)
{
  struct stat st;
  int rc = SQLITE_OK;

  bool marked = fstatat(c->dir_fd, MARKER, &st, AT_SYMLINK_NOFOLLOW) == 0;
  if (fstatat(c->dir_fd, INDEX, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(st.st_mode))
    return INDEX_BAD;
  if (marked && (!oc_cache_index_is_whole(path) || unlinkat(c->dir_fd, MARKER, 0) < 0))
    return INDEX_BAD;
  enum index_state state = open_writer(c, path, &rc);
  if (state == INDEX_OK)
    state = open_reader(c, path, &rc);
  if (state == INDEX_OK) {
    int loaded = oc_cache_counters_load(c, err);
    if (loaded < 0)
      state = atomic_load(&c->broken) ? INDEX_BAD : INDEX_FAILED;
  }
  if (state == INDEX_NEWER)
    oc_error_set(err, OC_E_STORE, "the cache '%s' was written by a newer omcc", c->dir);
  if (state == INDEX_FAILED)
    oc_error_set(err, OC_E_STORE, "cannot open the index '%s': %s", path,
                 sqlite3_errstr(rc));
  return state;
}

static int set_aside(struct oc_cache *c, struct oc_error *err)
{
  char name[96], side[112];
  long now = (long)time(NULL);

  for (int i = 0;; i++) {
    if (i == 0)
      snprintf(name, sizeof(name), INDEX ".corrupt-%ld", now);
    else
      snprintf(name, sizeof(name), INDEX ".corrupt-%ld-%d", now, i);
    if (faccessat(c->dir_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
      break;
  }
  if (renameat(c->dir_fd, INDEX, c->dir_fd, name) < 0 && errno != ENOENT)
    return oc_error_errno(err, OC_E_IO, "cannot set the damaged index of '%s' aside",
                          c->dir);
  snprintf(side, sizeof(side), "%s-wal", name);
  renameat(c->dir_fd, INDEX "-wal", c->dir_fd, side);
  unlinkat(c->dir_fd, INDEX "-shm", 0);
  unlinkat(c->dir_fd, MARKER, 0);
  atomic_store(&c->broken, false);
  struct oc_cache_event stale; /* news of the index that has just gone */
  while (oc_cache_next_event(c, &stale))
    ;
  free(c->set_aside);
  c->set_aside = strdup(name);
  return c->set_aside ? 0 : oc_error_set(err, OC_E_NOMEM, "no memory to open the cache");
}

int oc_cache_database_open(struct oc_cache *c, struct oc_error *err)
{
  auto_free char *path = NULL;

  if (asprintf(&path, "%s/" INDEX, c->dir) < 0) {
    path = NULL;
    return oc_error_set(err, OC_E_NOMEM, "no memory to open the cache");
  }
  enum index_state state = open_both(c, path, err);
  if (state == INDEX_BAD) {
    oc_cache_database_close(c);
    int rc = set_aside(c, err);
    if (rc < 0)
      return rc;
    state = open_both(c, path, err);
    if (state == INDEX_BAD)
      oc_error_set(err, OC_E_STORE, "a new index in '%s' is damaged at once", c->dir);
  }
  if (state == INDEX_OK)
    return 0;
  return state == INDEX_FAILED ? OC_E_IO : OC_E_STORE;
}

void oc_cache_database_close(struct oc_cache *c)
{
  oc_sql_close(&c->reader);
  oc_sql_close(&c->writer); /* last: it checkpoints and removes the log */
}

void oc_cache_mark_broken(struct oc_cache *c)
{
  if (atomic_exchange(&c->broken, true))
    return;
  struct oc_cache_event event = { .kind = OC_CACHE_BROKEN };
  auto_close int fd = openat(c->dir_fd, MARKER, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  snprintf(event.reason, sizeof(event.reason), "the index is damaged");
  oc_cache_post(c, &event);
}

int oc_cache_sql_failed(struct oc_cache *c, struct oc_sql *db, struct oc_error *err)
{
  int rc = sqlite3_errcode(db->db);

  if ((rc & 0xff) == SQLITE_CORRUPT || (rc & 0xff) == SQLITE_NOTADB)
    oc_cache_mark_broken(c);
  return oc_error_set(err, (rc & 0xff) == SQLITE_BUSY ? OC_E_BUSY : OC_E_STORE,
                      "the index of the cache failed: %s", sqlite3_errmsg(db->db));
}
