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
  OC_JOB_ADOPT, /* entries of one folder of records that have no row */
  OC_JOB_SWEEP, /* objects of one folder that have no row */
  OC_JOB_ROOM,  /* an output has announced bytes: evict down to the limits */
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
  bool linked;
  /* What stat says once the object has its name. */
  uint64_t ino;
  int64_t mtime_ns;
};

struct oc_cache_put_job {
  uint64_t ticket;
  uint64_t created_s, record_len;
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
  struct stat st;  /* MEMO */
  unsigned folder; /* ADOPT, SWEEP: 0 to 255 */
  /* Somebody waits for the end of it, on another thread: it is not counted, nor refused
   * when the queue is full, and tells nobody else. */
  struct oc_cache_reply *reply;
};

struct oc_cache_reply {
  bool done; /* set under the mutex, last */
  int rc;
  struct oc_error err;
  uint64_t count, bytes, bad, removed;
};

/* An object that is being delivered, so many times. */
#define OC_CACHE_MAX_HELD 1024
struct oc_cache_held {
  uint8_t sha256[OC_SHA256_LEN];
  unsigned n;
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
  int dir_fd, objects_fd, entries_fd, tmp_fd, quarantine_fd, lock_fd;
  int event_fd;
  char *set_aside;
  atomic_bool
      broken; /* the index turned out damaged while in use: everything is a miss */
  atomic_bool no_tmpfile; /* O_TMPFILE is missing here */

  struct oc_sql reader; /* caller's thread */
  bool reading;         /* between oc_cache_reads_begin() and _end() */
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
  uint64_t reserved; /* bytes that outputs have announced */
  struct oc_cache_held held[OC_CACHE_MAX_HELD];
  size_t n_held;
  struct oc_cache_proven *proven;
  struct oc_cache_scrub *scrub;
  bool unclean; /* the life before this one did not close the cache */
  uint64_t tidied, tidy_removed;
  bool tidy_failed;
  uint64_t memo_hits, memo_misses, proofs;
  /* memo.c: how far the wall clock is ahead of the one that nobody sets, and when (by
   * that one) it was last seen to have been set. */
  int64_t wall_ahead_ns, wall_set_ns;
};

/* place.c: directories, the lock, network file systems. */
int oc_cache_place_open(struct oc_cache *c, struct oc_error *err);
void oc_cache_place_close(struct oc_cache *c);
/* Everything is written: the next life need not look for what this one left. */
void oc_cache_place_clean(struct oc_cache *c);
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

/* "ab/abcdef...": objects and records lie in 256 folders each. */
struct oc_cache_name {
  char folder[3];
  char path[3 + OC_SHA256_TEXT];
};
void oc_cache_name_of(const uint8_t sha256[OC_SHA256_LEN], struct oc_cache_name *ret);

/* Puts the name on the bytes: a hard link to the unnamed file, or a rename of the named
 * one. What has the name already goes. */
int oc_cache_give_name(int folder, const char *base, const struct oc_cache_output *o);
/* Removes a file below objects/ or entries/; true when it is gone. */
bool oc_cache_file_remove(struct oc_cache *c, int parent,
                          const struct oc_cache_name *name);

/* record_file.c: entries/xx/<key>. */
bool oc_cache_record_write(struct oc_cache *c, const uint8_t key[OC_SHA256_LEN],
                           const void *p, size_t len);
struct oc_buf;
bool oc_cache_record_read(struct oc_cache *c, const uint8_t key[OC_SHA256_LEN],
                          struct oc_buf *out);
bool oc_cache_record_unlink(struct oc_cache *c, const uint8_t key[OC_SHA256_LEN]);

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
/* A file of this name and size is there without a row: fills ino and mtime. Its bytes are
 * not looked at. */
bool oc_cache_object_found(struct oc_cache *c, struct oc_cache_job_member *m);
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
/* Takes the job over and waits for its end, not on the writer thread. False: the cache is
 * closing. */
bool oc_cache_run_job(struct oc_cache *c, struct oc_cache_job *job,
                      struct oc_cache_reply *reply);
/* put.c: the job of oc_cache_put(), outputs taken over. NULL with err. */
struct oc_cache_job *oc_cache_put_job_new(const struct oc_cache_put *put,
                                          struct oc_error *err);
void oc_cache_post(struct oc_cache *c, const struct oc_cache_event *event);
void oc_cache_count(struct oc_cache *c, enum oc_cache_counter which, uint64_t n);
/* A hit: remembers the touch, wakes the writer when a batch is full. */
void oc_cache_note_hit(struct oc_cache *c, const uint8_t key[OC_SHA256_LEN], uint32_t uid,
                       uint64_t saved_ms);

/* memo.c: before anybody asks. */
void oc_cache_wall_look(struct oc_cache *c);

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

/* scrub.c: the thread that looks for damage and runs errands. */
int oc_cache_scrub_start(struct oc_cache *c, struct oc_error *err);
void oc_cache_scrub_stop(struct oc_cache *c);

/* Something long that is done beside the requests, one at a time. */
enum oc_cache_errand_kind {
  OC_ERRAND_VERIFY,
  OC_ERRAND_REBUILD,
  OC_ERRAND_EXPORT,
  OC_ERRAND_IMPORT
};
struct oc_cache_errand {
  enum oc_cache_errand_kind kind;
  uint64_t ticket;
  int fd;      /* EXPORT, IMPORT: owned */
  int64_t uid; /* EXPORT: entries this one may see; IMPORT: whose they become */
  bool has_key;
  uint8_t key[OC_SHA256_LEN]; /* EXPORT: only this entry */
};
/* The cache is being closed: an errand ends early. */
bool oc_cache_errand_stopped(struct oc_cache *c);
/* rebuild.c, export.c, import.c: on the thread of errands, with its connection. */
void oc_cache_run_rebuild(struct oc_cache *c, struct oc_cache_event *event);
/* One of the steps of a slow rebuild. */
#define OC_CACHE_TIDY_STEPS 512u
void oc_cache_tidy(struct oc_cache *c, unsigned step);
void oc_cache_run_export(struct oc_cache *c, struct oc_sql *reader,
                         const struct oc_cache_errand *e, struct oc_cache_event *event);
void oc_cache_run_import(struct oc_cache *c, struct oc_sql *reader,
                         const struct oc_cache_errand *e, struct oc_cache_event *event);
/* rebuild.c: on the writer thread. */
void oc_cache_adopt_folder(struct oc_cache *c, struct oc_cache_job *job);
void oc_cache_sweep_folder(struct oc_cache *c, struct oc_cache_job *job);

/* hold.c */
uint64_t oc_cache_reserved(struct oc_cache *c);
void oc_cache_unreserve(struct oc_cache_output *o);
bool oc_cache_is_held(struct oc_cache *c, const uint8_t sha256[OC_SHA256_LEN]);
bool oc_cache_any_hold(struct oc_cache *c);

/* room.c: who may go, and until when. */
struct oc_cache_room {
  int64_t uid;           /* only entries of this user; negative: of all */
  int64_t used_before_s; /* not used since then, 0: any (not with uid) */
  const char *toolkit;   /* of this one, NULL: any (not with uid) */
  bool spare_held;       /* pass over what is being delivered */
  bool has_max;
  uint64_t max_bytes; /* for `enough` */
  bool (*enough)(struct oc_cache *c, const struct oc_cache_room *r,
                 const int64_t totals[OC_N_TOTALS]);
  int64_t at; /* clock of the last one looked at */
  uint64_t gone, gone_bytes;
};
/* 0, or a code when it stopped early; `undo`: only counts. */
int oc_cache_make_room(struct oc_cache *c, struct oc_cache_room *r, bool undo,
                       struct oc_error *err);

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

/* publish.c, room.c, damage.c: what the thread does with the larger jobs. */
void oc_cache_publish(struct oc_cache *c, struct oc_cache_job *job);
int oc_cache_publish_rows(struct oc_cache *c, struct oc_cache_job *job,
                          struct oc_error *err);
/* Makes room: for the user's share (unless negative), then for the limits of the cache.
 */
void oc_cache_evict(struct oc_cache *c, int64_t uid);
void oc_cache_drop(struct oc_cache *c, struct oc_cache_job *job);
/* evict.c: an entry that names the object: 1 with id and key, 0 when none is left. */
int oc_cache_next_user(struct oc_cache *c, const uint8_t sha256[OC_SHA256_LEN],
                       int64_t *ret_id, uint8_t ret_key[OC_SHA256_LEN],
                       struct oc_error *err);
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
