/* A second look at an index that was said to be damaged. SQLite says so too when a disk
 * failed to read for a moment, and setting a whole index aside would lose everything that
 * is stored. So the file is checked, as far as a start may take; what is not proven whole
 * in that time counts as damaged. */
#include <sqlite3.h>
#include <string.h>
#include <time.h>

#include "cache/cache_internal.h"

#define MOST_MS 700
/* Steps of SQLite's machine between two looks at the clock. */
#define STEPS 20000

static int64_t now_ms(void)
{
  struct timespec t;

  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int is_late(void *end)
{
  return now_ms() > *(const int64_t *)end;
}

static bool says_ok(sqlite3 *db)
{
  sqlite3_stmt *s = NULL;
  bool ok =
      sqlite3_prepare_v2(db, "PRAGMA integrity_check(1)", -1, &s, NULL) == SQLITE_OK &&
      sqlite3_step(s) == SQLITE_ROW;

  if (ok) {
    const unsigned char *text = sqlite3_column_text(s, 0);
    ok = text && strcmp((const char *)text, "ok") == 0;
  }
  sqlite3_finalize(s);
  return ok;
}

bool oc_cache_index_is_whole(const char *path)
{
  sqlite3 *db = NULL;
  int64_t end = now_ms() + MOST_MS;
  bool whole = false;

  if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) ==
      SQLITE_OK) {
    sqlite3_progress_handler(db, STEPS, is_late, &end);
    whole = says_ok(db);
  }
  sqlite3_close(db);
  return whole;
}
