/* Prepared statements of one connection, and the few calls that make them short to use.
 *
 * A statement is taken with oc_sql_use(), which resets it; a local marked auto_reset is
 * reset at the end of its scope, so no read transaction stays open by accident. */
#ifndef OC_CACHE_SQL_H
#define OC_CACHE_SQL_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

/* Statements of the writer, then those of the reader. */
#define OC_WRITER_STATEMENTS(X)                                                          \
  X(BEGIN, "BEGIN IMMEDIATE")                                                            \
  X(COMMIT, "COMMIT")                                                                    \
  X(ROLLBACK, "ROLLBACK")                                                                \
  X(LIMBO_ADD, "INSERT OR IGNORE INTO limbo(sha256) VALUES(?1)")                         \
  X(LIMBO_DELETE, "DELETE FROM limbo WHERE sha256 = ?1")                                 \
  X(LIMBO_NEXT, "SELECT l.sha256, o.sha256 IS NOT NULL, e.id IS NOT NULL FROM limbo l"   \
                " LEFT JOIN object o ON o.sha256 = l.sha256"                             \
                " LEFT JOIN entry e ON e.key = l.sha256 WHERE l.sha256 > ?1"             \
                " ORDER BY l.sha256 LIMIT 1")                                            \
  X(OBJECT_GET, "SELECT size, ino, mtime_ns FROM object WHERE sha256 = ?1")              \
  X(OBJECT_ADD, "INSERT INTO object(sha256, size, ino, mtime_ns) VALUES(?1, ?2, ?3, ?4)" \
                " ON CONFLICT(sha256) DO UPDATE SET ino = excluded.ino, mtime_ns = "     \
                "excluded.mtime_ns")                                                     \
  X(OBJECT_DELETE, "DELETE FROM object WHERE sha256 = ?1")                               \
  X(OBJECT_STAT, "UPDATE object SET ino = ?2, mtime_ns = ?3 WHERE sha256 = ?1")          \
  X(ENTRY_ID, "SELECT id FROM entry WHERE key = ?1")                                     \
  X(ENTRY_ADD,                                                                           \
    "INSERT INTO entry(key, manifest, model_sha256, options_sha256, model, soc, "        \
    "backend, mode,"                                                                     \
    " table_id, toolkit, uid, device_ready, compile_ms, peak_rss_bytes, tool_exit, "     \
    "size,"                                                                              \
    " used_s, used_seq, created_s, record) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9,"   \
    " ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)")                           \
  X(ENTRY_RECORD, "SELECT key, record FROM entry WHERE id = ?1")                         \
  X(ENTRY_DELETE, "DELETE FROM entry WHERE id = ?1")                                     \
  X(PARTS_ADD, "INSERT INTO entry_parts(entry, parts) VALUES(?1, ?2)")                   \
  X(PARTS_DELETE, "DELETE FROM entry_parts WHERE entry = ?1")                            \
  X(MEMBER_ADD, "INSERT INTO member(id, name, kind, mode, size, sha256, data)"           \
                " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)")                                   \
  X(MEMBERS, "SELECT sha256, data IS NULL, size FROM member WHERE id BETWEEN ?1 AND ?2") \
  X(MEMBERS_DELETE, "DELETE FROM member WHERE id BETWEEN ?1 AND ?2")                     \
  X(MEMBER_OF_OBJECT,                                                                    \
    "SELECT m.id / 128, e.key FROM member m LEFT JOIN entry e"                           \
    " ON e.id = m.id / 128 WHERE m.sha256 = ?1 AND m.data IS NULL LIMIT 1")              \
  X(PLAN_ADD, "INSERT OR REPLACE INTO plan(plan_key, sha256, name, kind, mode)"          \
              " VALUES(?1, ?2, ?3, ?4, ?5)")                                             \
  X(PLAN_DELETE, "DELETE FROM plan WHERE sha256 = ?1")                                   \
  X(SHARE, "SELECT bytes FROM share WHERE uid = ?1")                                     \
  X(NEXT_VICTIM, "SELECT id, used_seq FROM entry WHERE pinned_s = 0 AND used_seq > ?1"   \
                 " AND (?2 = 0 OR used_s < ?2) AND (?3 IS NULL OR toolkit = ?3)"         \
                 " ORDER BY used_seq")                                                   \
  X(NEXT_VICTIM_OF, "SELECT id, used_seq FROM entry WHERE pinned_s = 0 AND uid = ?2"     \
                    " AND used_seq > ?1 ORDER BY used_seq")                              \
  X(PIN, "UPDATE entry SET pinned_s = ?2 WHERE key = ?1")                                \
  X(UNPIN_EXPIRED, "UPDATE entry SET pinned_s = 0"                                       \
                   " WHERE pinned_s > 0 AND pinned_s <= ?1")                             \
  X(ASKED_ADD, "INSERT OR IGNORE INTO asked(entry, uid)"                                 \
               " SELECT id, ?2 FROM entry WHERE key = ?1")                               \
  X(FIGURE_ADD, "INSERT INTO figure(hour, name, value) VALUES(?1, ?2, ?3)"               \
                " ON CONFLICT(hour, name) DO UPDATE SET value = value + excluded.value") \
  X(TOUCH,                                                                               \
    "UPDATE entry SET used_s = ?2, used_seq = ?3, hits = hits + 1 WHERE key = ?1")       \
  X(COUNTER_SET, "INSERT INTO counter(name, value) VALUES(?1, ?2)"                       \
                 " ON CONFLICT(name) DO UPDATE SET value = excluded.value")              \
  X(COUNTERS, "SELECT name, value FROM counter")                                         \
  X(INPUTS_PUT, "INSERT OR REPLACE INTO inputs(model_sha256, names) VALUES(?1, ?2)")     \
  X(INPUTS_PRUNE, "DELETE FROM inputs WHERE id <= (SELECT max(id) FROM inputs) - ?1")    \
  X(MEMO_PUT, "INSERT OR REPLACE INTO memo(dev, ino, size, mtime_ns, ctime_ns, sha256)"  \
              " VALUES(?1, ?2, ?3, ?4, ?5, ?6)")                                         \
  X(MEMO_PRUNE, "DELETE FROM memo WHERE id <= (SELECT max(id) FROM memo) - ?1")

#define OC_ENTRY_FACTS                                                                   \
  "e.model, e.soc, e.backend, e.mode, e.table_id, e.toolkit, e.uid, e.device_ready,"     \
  " e.compile_ms, e.peak_rss_bytes, e.tool_exit, e.size, e.created_s, e.used_s, e.hits"

/* Somebody of uid ?2 asked for the entry; negative: everybody sees it. */
#define OC_MAY_SEE                                                                       \
  "(?2 < 0 OR EXISTS (SELECT 1 FROM asked a WHERE a.entry = e.id AND a.uid = ?2))"

#define OC_READER_STATEMENTS(X)                                                          \
  X(READ, "BEGIN")                                                                       \
  X(READ_END, "COMMIT")                                                                  \
  X(FIND, "SELECT " OC_ENTRY_FACTS ", e.id, e.manifest, e.pinned_s"                      \
          " FROM entry e WHERE e.key = ?1")                                              \
  X(FIND_MEMBERS,                                                                        \
    "SELECT m.name, m.kind, m.mode, m.size, m.sha256, m.data IS NULL, m.data,"           \
    " o.ino, o.mtime_ns FROM member m LEFT JOIN object o"                                \
    " ON m.data IS NULL AND o.sha256 = m.sha256"                                         \
    " WHERE m.id BETWEEN ?1 AND ?2 ORDER BY m.id")                                       \
  X(FIND_PLAN,                                                                           \
    "SELECT p.name, p.kind, p.mode, p.sha256, o.size, o.ino, o.mtime_ns"                 \
    " FROM plan p JOIN object o ON o.sha256 = p.sha256 WHERE p.plan_key = ?1")           \
  X(NEAR_MODEL,                                                                          \
    "SELECT e.key, p.parts FROM entry e JOIN entry_parts p ON p.entry = e.id"            \
    " WHERE e.model_sha256 = ?1 AND " OC_MAY_SEE " ORDER BY e.id DESC LIMIT ?3")         \
  X(NEAR_OPTIONS,                                                                        \
    "SELECT e.key, p.parts FROM entry e JOIN entry_parts p ON p.entry = e.id"            \
    " WHERE e.options_sha256 = ?1 AND " OC_MAY_SEE " ORDER BY e.id DESC LIMIT ?3")       \
  X(NEAR_ANY, "SELECT e.key, p.parts FROM entry e JOIN entry_parts p ON p.entry = e.id"  \
              " WHERE ?1 IS NULL AND " OC_MAY_SEE " ORDER BY e.used_seq DESC LIMIT ?3")  \
  X(LIST, "SELECT " OC_ENTRY_FACTS ", e.key, e.pinned_s FROM entry e WHERE " OC_MAY_SEE  \
          " ORDER BY e.used_seq DESC LIMIT ?1")                                          \
  X(ASKED, "SELECT 1 FROM asked a JOIN entry e ON e.id = a.entry"                        \
           " WHERE e.key = ?1 AND a.uid = ?2")                                           \
  X(PREFIX, "SELECT key FROM entry WHERE key >= ?1 AND key <= ?2 LIMIT 2")               \
  X(PARTS, "SELECT p.parts FROM entry_parts p JOIN entry e ON e.id = p.entry"            \
           " WHERE e.key = ?1")                                                          \
  X(DIGESTS, "SELECT model_sha256, options_sha256 FROM entry WHERE key = ?1")            \
  X(BY_OBJECT, "SELECT DISTINCT e.key FROM member m JOIN entry e ON e.id = m.id / 128"   \
               " WHERE m.sha256 = ?1 AND (m.data IS NULL OR m.kind = 'artifact')"        \
               " ORDER BY e.used_seq DESC LIMIT ?2")                                     \
  X(SINCE, "SELECT name, sum(value) FROM figure WHERE hour BETWEEN ?1 AND ?2"            \
           " GROUP BY name")                                                             \
  X(PLAN_OF, "SELECT plan_key FROM plan WHERE sha256 = ?1 LIMIT 1")                      \
  X(NEXT_KEY, "SELECT e.key FROM entry e WHERE e.key > ?1 AND " OC_MAY_SEE               \
              " ORDER BY e.key LIMIT 1")                                                 \
  X(HAS_ENTRY, "SELECT 1 FROM entry WHERE key = ?1")                                     \
  X(HAS_OBJECT, "SELECT 1 FROM object WHERE sha256 = ?1")                                \
  X(OBJECT_STAT, "SELECT ino, mtime_ns FROM object WHERE sha256 = ?1")                   \
  X(NEXT_OBJECT, "SELECT sha256, size, ino, mtime_ns FROM object WHERE sha256 > ?1"      \
                 " ORDER BY sha256 LIMIT 1")                                             \
  X(INPUTS_GET, "SELECT names FROM inputs WHERE model_sha256 = ?1")                      \
  X(MEMO_GET, "SELECT sha256 FROM memo WHERE dev = ?1 AND ino = ?2 AND size = ?3"        \
              " AND mtime_ns = ?4 AND ctime_ns = ?5")

enum oc_writer_statement {
#define OC_ENUM(name, text) OC_W_##name,
  OC_WRITER_STATEMENTS(OC_ENUM)
#undef OC_ENUM
      OC_N_WRITER_STATEMENTS,
};
enum oc_reader_statement {
#define OC_ENUM(name, text) OC_R_##name,
  OC_READER_STATEMENTS(OC_ENUM)
#undef OC_ENUM
      OC_N_READER_STATEMENTS,
};

struct oc_sql {
  sqlite3 *db;
  sqlite3_stmt **statements;
  size_t n;
};

/* Prepares all statements of a role. SQLITE_OK or SQLite's code. */
int oc_sql_prepare(struct oc_sql *db, bool writer);
void oc_sql_close(struct oc_sql *db);

/* The statement, reset and without bindings. */
sqlite3_stmt *oc_sql_use(struct oc_sql *db, int which);
void oc_sql_reset(sqlite3_stmt **s);
#define auto_reset __attribute__((cleanup(oc_sql_reset)))

/* Digest columns and parameters; a column of another length gives false. */
void oc_sql_bind_digest(sqlite3_stmt *s, int at, const uint8_t sha256[32]);
bool oc_sql_digest(sqlite3_stmt *s, int column, uint8_t ret[32]);
/* Text column copied into the arena; "" for NULL. NULL when memory is short. */
const char *oc_sql_text(sqlite3_stmt *s, int column, struct oc_arena *arena);
/* Runs a statement that gives no rows and resets it. SQLITE_DONE or SQLite's code. */
int oc_sql_run(sqlite3_stmt *s);
/* A pragma or query that gives one number; `other` when it gives none. */
int64_t oc_sql_number(sqlite3 *db, const char *text, int64_t other);

#endif
