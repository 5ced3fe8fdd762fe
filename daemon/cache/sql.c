/* Preparing, taking and giving back statements.
 *
 * Each connection has a fixed set, prepared once when the cache is opened: an index whose
 * tables are not what we expect shows there and then, not in the middle of a request. */
#include "cache/sql.h"

#include <stdlib.h>
#include <string.h>

static const char *const writer_text[] = {
#define OC_TEXT(name, text) text,
  OC_WRITER_STATEMENTS(OC_TEXT)
#undef OC_TEXT
};
static const char *const reader_text[] = {
#define OC_TEXT(name, text) text,
  OC_READER_STATEMENTS(OC_TEXT)
#undef OC_TEXT
};

int oc_sql_prepare(struct oc_sql *db, bool writer)
{
  const char *const *text = writer ? writer_text : reader_text;
  size_t n = writer ? OC_N_WRITER_STATEMENTS : OC_N_READER_STATEMENTS;

  db->statements = calloc(n, sizeof(sqlite3_stmt *));
  if (!db->statements)
    return SQLITE_NOMEM;
  db->n = n;
  for (size_t i = 0; i < n; i++) {
    int rc = sqlite3_prepare_v3(db->db, text[i], -1, SQLITE_PREPARE_PERSISTENT,
                                &db->statements[i], NULL);
    if (rc != SQLITE_OK)
      return rc;
  }
  return SQLITE_OK;
}

void oc_sql_close(struct oc_sql *db)
{
  for (size_t i = 0; i < db->n; i++)
    sqlite3_finalize(db->statements[i]);
  free(db->statements);
  sqlite3_close(db->db);
  memset(db, 0, sizeof(*db));
}

sqlite3_stmt *oc_sql_use(struct oc_sql *db, int which)
{
  sqlite3_stmt *s = db->statements[which];

  sqlite3_reset(s);
  sqlite3_clear_bindings(s);
  return s;
}

void oc_sql_reset(sqlite3_stmt **s)
{
  sqlite3_reset(*s);
}

void oc_sql_bind_digest(sqlite3_stmt *s, int at, const uint8_t sha256[32])
{
  sqlite3_bind_blob(s, at, sha256, 32, SQLITE_STATIC);
}

bool oc_sql_digest(sqlite3_stmt *s, int column, uint8_t ret[32])
{
  const void *p = sqlite3_column_blob(s, column);

  if (!p || sqlite3_column_bytes(s, column) != 32)
    return false;
  memcpy(ret, p, 32);
  return true;
}

const char *oc_sql_text(sqlite3_stmt *s, int column, struct oc_arena *arena)
{
  const unsigned char *p = sqlite3_column_text(s, column);

  return oc_arena_strdup(arena, p ? (const char *)p : "");
}

int oc_sql_run(sqlite3_stmt *s)
{
  int rc = sqlite3_step(s);

  sqlite3_reset(s);
  return rc;
}

int64_t oc_sql_number(sqlite3 *db, const char *text, int64_t other)
{
  sqlite3_stmt *s = NULL;
  int64_t n = other;

  if (sqlite3_prepare_v2(db, text, -1, &s, NULL) == SQLITE_OK &&
      sqlite3_step(s) == SQLITE_ROW)
    n = sqlite3_column_int64(s, 0);
  sqlite3_finalize(s);
  return n;
}
