/* What the files of cache/ share: the struct, the jobs of the writer, and who does what.
 *
 * Lock order: `mutex` protects queue, events, touches and counters; nothing slow happens
 * under it. `reader` belongs to the caller's thread, `writer` to the writer thread. */
#ifndef OC_CACHE_INTERNAL_H
#define OC_CACHE_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/limits.h"
#include "cache/cache.h"
#include "cache/sql.h"

#define OC_CACHE_APPLICATION 0x6f6d6363 /* "omcc", PRAGMA application_id */
/* Members of an entry share one range of row ids (schema/cache says so too): a result's
 * OC_MAX_MEMBERS files, and report and captured output beside them. */
#define OC_CACHE_MEMBER_SPAN 128
#define OC_CACHE_MAX_MEMBERS (OC_MAX_MEMBERS + 8)
/* Touches gathered before the writer is woken; fewer are written after a second. */
#define OC_CACHE_TOUCH_BATCH 256

struct oc_cache_migration {
  int number;
  const char *name;
  const char *sql;
};
extern const struct oc_cache_migration oc_cache_migrations[];
extern const size_t oc_cache_n_migrations;

/* ---------------------------------------------------------------- jobs of the writer */

enum oc_cache_job_kind {
  OC_JOB_PUT,
  OC_JOB_DROP, /* an object or a row looked damaged: look again, then act */
  OC_JOB_INPUTS,
  OC_JOB_MEMO,
  OC_JOB_FLUSH,
  OC_JOB_PIN,
  OC_JOB_GC,
};

struct oc_cache_job_member {
  char *name;
  char *kind;
  uint32_t mode;
  uint64_t size;
  uint8_t sha256[OC_SHA256_LEN];
  enum oc_cache_from from;
  void *data;                    /* inline bytes; NULL: an object */
  struct oc_cache_output output; /* FROM_OUTPUT, and what the writer copied */
  int fd;                        /* FROM_COPY, else -1 */
  /* What stat says once the object has its name. */
  uint64_t ino;
  int64_t mtime_ns;
};

struct oc_cache_put_job {
  uint64_t ticket;
  uint8_t model[OC_SHA256_LEN];
  uint8_t options[OC_SHA256_LEN];
  bool has_plan_key;
  uint8_t plan_key[OC_SHA256_LEN];
  void *parts;
  size_t parts_len;
  struct oc_cache_facts facts; /* strings in the job's arena */
  struct oc_cache_job_member *members;
  size_t n_members;
};

struct oc_cache_touch {
  uint8_t key[OC_SHA256_LEN];
  uint32_t uid;
};

struct oc_cache_job {
  struct oc_cache_job *next;
  struct oc_arena arena; /* everything but descriptors */
  enum oc_cache_job_kind kind;
  uint8_t key[OC_SHA256_LEN];    /* PUT, DROP: entry; INPUTS: model */
  uint8_t object[OC_SHA256_LEN]; /* DROP, when has_object; MEMO: digest */
  bool has_object;
  bool digest;     /* DROP: what stat says is not enough */
  uint64_t ticket; /* PIN, GC */
  int64_t until_s; /* PIN */
  struct oc_cache_gc gc;
  struct oc_cache_put_job put;
  void *names; /* INPUTS */
  size_t names_len;
  struct stat st; /* MEMO */
  bool *done;     /* FLUSH: set under the mutex */
};

struct oc_cache_event_node {
  struct oc_cache_event_node *next;
  struct oc_cache_event event;
};

/* Figures kept in table `counter`. */
enum oc_cache_counter {
  OC_COUNT_ENTRIES,
  OC_COUNT_OBJECTS,
  OC_COUNT_BYTES,
  OC_COUNT_SEQ, /* logical clock of the last touch */
  OC_COUNT_HITS,
  OC_COUNT_MISSES,
  OC_COUNT_DAMAGED,
  OC_COUNT_STORED,
  OC_COUNT_NOT_STORED,
  OC_COUNT_EVICTED,
  OC_COUNT_SAVED_MS,
  OC_N_COUNTERS,
};
/* The first ones change only inside the writer's transactions. */
#define OC_N_TOTALS (OC_COUNT_SEQ + 1)

struct oc_cache {
  struct oc_cache_options opt;
  char *dir;
  int dir_fd, objects_fd, tmp_fd, quarantine_fd, lock_fd;
  int event_fd;
  char *set_aside;
  atomic_bool
      broken; /* the index turned out damaged while in use: everything is a miss */
  atomic_bool no_tmpfile; /* O_TMPFILE is missing here */

  struct oc_sql reader; /* caller's thread */
  struct oc_sql writer; /* writer thread (before it starts: the opener) */

  pthread_t thread;
  bool thread_started;
  pthread_mutex_t mutex;
  pthread_cond_t wake; /* for the writer */
  pthread_cond_t idle; /* for oc_cache_flush() */
  struct oc_cache_job *jobs, **jobs_end;
  size_t n_jobs;
  bool stopping;
  struct oc_cache_event_node *events, **events_end;
  struct oc_cache_touch touches[OC_CACHE_TOUCH_BATCH];
  size_t n_touches;
  uint64_t counters[OC_N_COUNTERS];
  uint64_t saved[OC_N_COUNTERS]; /* as last written: the growth goes into table figure */
  bool counters_dirty;
  struct oc_cache_proven *proven;
  struct oc_cache_scrub *scrub;
  uint64_t memo_hits, memo_misses;
};

/* place.c: directories, the lock, network file systems. */
int oc_cache_place_open(struct oc_cache *c, struct oc_error *err);
void oc_cache_place_close(struct oc_cache *c);
bool oc_cache_is_network_fs(int fd);

/* database.c: the index file; sets a bad one aside. */
int oc_cache_database_open(struct oc_cache *c, struct oc_error *err);
void oc_cache_database_close(struct oc_cache *c);
/* Called on any result of SQLite that says the file is damaged. */
void oc_cache_mark_broken(struct oc_cache *c);
/* Fills err from the connection, notices damage; returns OC_E_STORE (OC_E_BUSY when
 * busy). */
int oc_cache_sql_failed(struct oc_cache *c, struct oc_sql *db, struct oc_error *err);

/* recheck.c: true when a file said to be damaged turns out whole, in the time a start
 * has.
 */
bool oc_cache_index_is_whole(const char *path);

/* object.c: files under objects/. */
enum oc_cache_object_state {
  OC_OBJECT_GOOD,
  OC_OBJECT_MISSING,
  OC_OBJECT_CHANGED, /* right size and kind, other inode or time */
  OC_OBJECT_WRONG,   /* wrong size, empty, no regular file, not ours */
};
/* Opens and checks; `ret_fd` (may be NULL) is set for GOOD and CHANGED. `ret_proven` (may
 * be NULL): GOOD, and digested in this life. */
enum oc_cache_object_state oc_cache_object_open(struct oc_cache *c,
                                                const uint8_t sha256[OC_SHA256_LEN],
                                                uint64_t size, uint64_t ino,
                                                int64_t mtime_ns, int *ret_fd,
                                                bool *ret_proven);
/* Gives the sealed output its name; fills ino and mtime. Replaces what has no row. */
int oc_cache_object_link(struct oc_cache *c, struct oc_cache_job_member *m,
                         struct oc_error *err);
/* True when it is gone. */
bool oc_cache_object_unlink(struct oc_cache *c, const uint8_t sha256[OC_SHA256_LEN]);
void oc_cache_object_quarantine(struct oc_cache *c, const uint8_t sha256[OC_SHA256_LEN]);
/* True when the file's bytes have this digest; fills the stat it now has. */
bool oc_cache_object_verify(struct oc_cache *c, const uint8_t sha256[OC_SHA256_LEN],
                            struct stat *ret_st);
int64_t oc_cache_mtime_ns(const struct stat *st);

/* queue.c: jobs in, events out. */
struct oc_cache_job *oc_cache_job_new(enum oc_cache_job_kind kind);
void oc_cache_job_free(struct oc_cache_job *job);
/* Takes the job over on success; false when the queue is full. */
bool oc_cache_enqueue(struct oc_cache *c, struct oc_cache_job *job);
void oc_cache_post(struct oc_cache *c, const struct oc_cache_event *event);
void oc_cache_count(struct oc_cache *c, enum oc_cache_counter which, uint64_t n);
/* A hit: remembers the touch, wakes the writer when a batch is full. */
void oc_cache_note_hit(struct oc_cache *c, const uint8_t key[OC_SHA256_LEN], uint32_t uid,
                       uint64_t saved_ms);

/* proven.c: objects digested since open. */
size_t oc_cache_proven_size(void);
bool oc_cache_is_proven(struct oc_cache *c, const uint8_t sha256[OC_SHA256_LEN],
                        const struct stat *st);
void oc_cache_note_proven(struct oc_cache *c, const uint8_t sha256[OC_SHA256_LEN],
                          const struct stat *st);
/* The writer looks at an object (or, NULL, at the row of `key`) and drops what is wrong;
 * `digest`: by its bytes, whatever stat says. */
void oc_cache_tell_writer(struct oc_cache *c, const uint8_t key[OC_SHA256_LEN],
                          const uint8_t *object, bool digest);

/* scrub.c: the thread that looks for damage. */
int oc_cache_scrub_start(struct oc_cache *c, struct oc_error *err);
void oc_cache_scrub_stop(struct oc_cache *c);

/* gc.c: eviction by rule, and pins. */
void oc_cache_gc_run(struct oc_cache *c, struct oc_cache_job *job);
void oc_cache_pin_run(struct oc_cache *c, struct oc_cache_job *job);
int oc_cache_unpin_expired(struct oc_cache *c, struct oc_error *err);

/* writer.c: the thread. */
int oc_cache_writer_start(struct oc_cache *c, struct oc_error *err);
void oc_cache_writer_stop(struct oc_cache *c);
void oc_cache_point(struct oc_cache *c, const char *name);
/* Writes the counters inside the running transaction; totals are passed. */
int oc_cache_counters_save(struct oc_cache *c, const int64_t totals[OC_N_TOTALS],
                           struct oc_error *err);
int oc_cache_counters_load(struct oc_cache *c, struct oc_error *err);
void oc_cache_totals(struct oc_cache *c, int64_t ret[OC_N_TOTALS]);
void oc_cache_totals_set(struct oc_cache *c, const int64_t totals[OC_N_TOTALS]);

/* transaction.c. `totals` may be NULL when the transaction does not change them; _end
 * commits when rc is 0, else rolls back, and returns what came of it. */
int oc_cache_begin(struct oc_cache *c, struct oc_error *err);
int oc_cache_end(struct oc_cache *c, int rc, const int64_t *totals, struct oc_error *err);
int oc_cache_run_digest(struct oc_cache *c, int which,
                        const uint8_t sha256[OC_SHA256_LEN], struct oc_error *err);

/* settle.c, rows.c: the pieces of publish.c. */
int oc_cache_settle(struct oc_cache *c, struct oc_cache_job *job,
                    struct oc_cache_job_member *m, struct oc_error *err);
int oc_cache_add_rows(struct oc_cache *c, const struct oc_cache_job *job,
                      int64_t totals[OC_N_TOTALS], struct oc_error *err);

/* publish.c, evict.c: what the thread does with the larger jobs. */
void oc_cache_publish(struct oc_cache *c, struct oc_cache_job *job);
/* Makes room: for the user's share, then for the limits of the cache. */
void oc_cache_evict(struct oc_cache *c, uint32_t uid);
void oc_cache_drop(struct oc_cache *c, struct oc_cache_job *job);
/* Inside a transaction: removes an entry's rows; objects nobody names go to limbo. */
int oc_cache_entry_delete(struct oc_cache *c, int64_t id, int64_t totals[OC_N_TOTALS],
                          struct oc_error *err);
/* Outside of transactions: removes files and rows of limbo that no object row claims. */
int oc_cache_limbo_clear(struct oc_cache *c, struct oc_error *err);

/* figures.c: the first eleven columns of OC_ENTRY_FACTS. */
void oc_cache_read_facts(sqlite3_stmt *s, struct oc_arena *arena,
                         struct oc_cache_facts *ret);

/* lookup.c and rows.c agree on this: digest over key, facts and manifest. */
int oc_cache_manifest_begin(struct oc_sha256 *s, const uint8_t key[OC_SHA256_LEN],
                            const struct oc_cache_facts *facts);
void oc_cache_manifest_member(struct oc_sha256 *s, const char *name, const char *kind,
                              uint32_t mode, uint64_t size,
                              const uint8_t sha256[OC_SHA256_LEN], bool is_object);

#endif
