/* The cache: an SQLite index beside immutable objects, which are files named by the
 * SHA-256 of their bytes.
 *
 * Threads: oc_cache_open/close, the lookups, stats and list belong to one thread, the
 * caller's (a read-only connection; busy means miss). One writer thread inside takes
 * everything that changes: results, touches, inputs lists, memos, eviction. The functions
 * marked [any] may be called from every thread. Completions are fetched with
 * oc_cache_next_event() when oc_cache_event_fd() is readable.
 *
 * Promises: a row is committed only after its objects are on disk under their names; rows
 * go before files; a kill at any moment leaves neither a row without its object nor an
 * object nobody will remove. An object that is missing, empty, of the wrong size or not
 * ours is a miss, and the writer drops its rows and moves the file to quarantine/.
 *
 * Places under the directory: index.sqlite, lock (the daemon's pid), objects/xx/<sha256>,
 * entries/xx/<key> (records: what the index says of an entry, for the day it is lost),
 * tmp/ (emptied at open), quarantine/. Modes 0700 and 0400/0444, for the owner alone. */
#ifndef OC_CACHE_CACHE_H
#define OC_CACHE_CACHE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/error.h"
#include "digest/digest.h"

struct oc_cache;

struct oc_cache_options {
  const char *dir;         /* made when absent (0700) */
  uint64_t max_bytes;      /* 0: no limit */
  uint64_t max_entries;    /* 0: no limit */
  uint64_t min_free_bytes; /* of the file system; below it nothing is stored */
  size_t queue_limit;      /* jobs waiting for the writer, 0: 1024 */
  bool full_durability;    /* survive a power loss too, not only a kill */
  bool allow_network_fs;
  bool memo_on_network;       /* memoise digests of files on network file systems */
  uint64_t max_user_bytes;    /* of one uid's entries, 0: no limit */
  uint64_t scrub_bytes_per_s; /* read in the background to find damage, 0: none */
  uint32_t scrub_delay_ms;    /* after open, 0: a minute */
  uint32_t tidy_pause_ms;     /* between steps after an unclean end, 0: a tenth of a s */
  bool no_tmpfile;            /* use the fallback for file systems without O_TMPFILE */
  /* True when the key is the digest over these parts; asked before an entry is taken up
   * from a record or an import, on any thread. NULL: not asked. */
  bool (*key_fits)(const uint8_t key[OC_SHA256_LEN], const void *parts, size_t len);
  /* Test hook: called on the writer thread at named points ("put-linked", ...); NULL:
   * none. */
  void (*at_point)(void *data, const char *point);
  void *at_point_data;
};

/* 0; OC_E_BUSY: another daemon has it, the message names its pid; OC_E_STORE: refused
 * (network file system, written by a newer version); OC_E_IO. A bad or foreign database
 * is set aside as index.sqlite.corrupt-<time>, see oc_cache_set_aside(). */
int oc_cache_open(const struct oc_cache_options *opt, struct oc_cache **ret,
                  struct oc_error *err);
/* Writes what is queued, closes, gives the lock back. NULL is fine. */
void oc_cache_close(struct oc_cache *c);
/* Name the damaged database was moved to when this cache was opened, or NULL. */
const char *oc_cache_set_aside(const struct oc_cache *c);
const char *oc_cache_dir(const struct oc_cache *c);

/* ------------------------------------------------------------------ lookup */

struct oc_cache_member {
  const char *name; /* relative, neutral: "model.om", "weight/weight_1" */
  const char *kind; /* "artifact", "side", "stdout", "stderr", "report" */
  uint32_t mode;    /* permission bits for the delivered file */
  uint64_t size;
  uint8_t sha256[OC_SHA256_LEN];
  int fd;           /* object: open read-only; -1 when the bytes are inline */
  const void *data; /* inline bytes, NULL for an object */
  bool unproven;    /* its bytes were not digested since the cache was opened, or since
                       its stat changed */
  bool moved;       /* its stat is not what the index says; unproven too */
};

/* What the index knows of an entry besides its members. Strings are never NULL. */
struct oc_cache_facts {
  const char *model; /* base name as submitted */
  const char *soc;
  const char *backend;
  const char *mode; /* precision mode text */
  const char *table_id;
  const char *toolkit;
  uint32_t uid; /* who asked for it first */
  bool device_ready;
  uint64_t compile_ms;
  uint64_t peak_rss_bytes;
  int32_t tool_exit; /* -1: no vendor compiler ran */
};

struct oc_cache_hit {
  struct oc_arena arena; /* holds everything below */
  struct oc_cache_facts facts;
  struct oc_cache_member *members;
  size_t n_members;
  uint64_t size; /* of all members */
  uint64_t created_s, used_s, hits, pinned_s;
  size_t n_unproven; /* members that oc_cache_prove() must look at before delivery */
};

enum oc_cache_miss {
  OC_CACHE_MISS_ABSENT,  /* no entry under this key */
  OC_CACHE_MISS_DAMAGED, /* entry found, object missing or not what it was: dropped */
  OC_CACHE_MISS_BUSY,    /* the index could not be read now */
};
const char *oc_cache_miss_text(enum oc_cache_miss m);

/* Reads in between see one state of the index and are cheaper together. Nothing may wait
 * for the writer meanwhile; a lookup that needs a newer state ends it early. */
void oc_cache_reads_begin(struct oc_cache *c);
void oc_cache_reads_end(struct oc_cache *c);

/* 1: `ret` filled, touch for `uid` queued; 0: miss, `ret_miss` says of which sort (may be
 * NULL). Never fails: what goes wrong is a miss. Small objects are proven at once; when
 * ret->n_unproven is not 0 the bytes are to be proven before anybody gets them. */
int oc_cache_lookup(struct oc_cache *c, const uint8_t key[OC_SHA256_LEN], uint32_t uid,
                    struct oc_cache_hit *ret, enum oc_cache_miss *ret_miss);
/* [any] Digests the unproven members of a hit. 1: all right, 0: one is damaged (the
 * writer was told, this is a miss now), OC_E_CLOSED: cancelled. Slow: reads every byte.
 */
int oc_cache_prove(struct oc_cache *c, const uint8_t key[OC_SHA256_LEN],
                   struct oc_cache_hit *h, const atomic_bool *cancel);
/* The same for one object with an open descriptor (oc_cache_find_plan). */
int oc_cache_prove_member(struct oc_cache *c, struct oc_cache_member *m,
                          const atomic_bool *cancel);
/* Closes descriptors nobody took (set fd to -1 when you take one), frees. */
void oc_cache_hit_clear(struct oc_cache_hit *h);
/* Same question, no descriptors, no touch: 1 cached and intact, 0 not. */
int oc_cache_has(struct oc_cache *c, const uint8_t key[OC_SHA256_LEN],
                 enum oc_cache_miss *ret_miss);
/* The object that Build would write again: 1 and a member with an open fd, or 0. The
 * name and kind are those it was stored under. Strings live in `arena`. */
int oc_cache_find_plan(struct oc_cache *c, const uint8_t plan_key[OC_SHA256_LEN],
                       struct oc_arena *arena, struct oc_cache_member *ret);

/* Candidates for "why": stored part lists of entries with the same model (newest first),
 * then with the same options, then any newest; at most `max`, of those that `uid` asked
 * for (OC_CACHE_ANYONE: of all). Blobs live in `arena`. */
struct oc_cache_candidate {
  uint8_t key[OC_SHA256_LEN];
  const void *parts;
  size_t parts_len;
};
int oc_cache_candidates(struct oc_cache *c, const uint8_t model[OC_SHA256_LEN],
                        const uint8_t options[OC_SHA256_LEN], int64_t uid, size_t max,
                        struct oc_arena *arena, struct oc_cache_candidate **ret,
                        size_t *ret_n);

/* Stored part lists of entries with this model alone, newest first, whoever asked for
 * them; as above. 0 or a code. */
int oc_cache_of_model(struct oc_cache *c, const uint8_t model[OC_SHA256_LEN], size_t max,
                      struct oc_arena *arena, struct oc_cache_candidate **ret,
                      size_t *ret_n);

/* [any] Keeps eviction away from an object while it is delivered; as many times as it is
 * released. False: too many are held, and this one is not. */
bool oc_cache_hold(struct oc_cache *c, const uint8_t sha256[OC_SHA256_LEN]);
void oc_cache_release(struct oc_cache *c, const uint8_t sha256[OC_SHA256_LEN]);
/* [any] Somebody will hard-link this object elsewhere: from now on its ctime, which every
 * link moves, says nothing about its bytes, until they are digested again. */
void oc_cache_note_linked(struct oc_cache *c, const uint8_t sha256[OC_SHA256_LEN]);

/* ------------------------------------------------------------------ output and
 * publishing */

/* A file for a worker to write into, on the objects' file system. */
struct oc_cache_output {
  int fd;                 /* read and write; owned by the caller */
  char *path;             /* NULL with O_TMPFILE; else its temporary name (free with
                             oc_cache_output_clear) */
  struct oc_cache *cache; /* of the reservation */
  uint64_t reserved;      /* bytes, 0: none announced */
};
/* [any] 0 or OC_E_IO. */
int oc_cache_output_new(struct oc_cache *c, struct oc_cache_output *ret,
                        struct oc_error *err);
/* [any] Announces that so many bytes will be written into it: they count against the
 * limits from now on, and the writer makes room for them. Again: another number. */
void oc_cache_output_reserve(struct oc_cache *c, struct oc_cache_output *o,
                             uint64_t bytes);
/* [any] Closes and removes what is left, gives the reservation back. Safe twice. */
void oc_cache_output_clear(struct oc_cache_output *o);
/* Gives up the right to write: closes the descriptor, reopens it read-only, and where the
 * kernel allows it makes sure that nobody has it open for writing (read lease). OC_E_BUSY
 * when somebody still has. The output then keeps the read-only descriptor. */
int oc_cache_output_seal(struct oc_cache_output *o, struct oc_error *err);

/* Where the bytes of a member come from. */
enum oc_cache_from {
  OC_CACHE_FROM_DATA = 1, /* `data`, `size`: copied at once */
  OC_CACHE_FROM_OUTPUT,   /* `output`: sealed, taken over; `size` and `sha256` are its own
                           */
  OC_CACHE_FROM_COPY, /* `fd`: duplicated; the writer copies and digests what it holds */
  OC_CACHE_FROM_OBJECT, /* `sha256`, `size`: an object that is there (oc_cache_find_plan)
                         */
  OC_CACHE_FROM_FOUND,  /* `sha256`, `size`: a file under objects/ that has no row yet */
};
struct oc_cache_put_member {
  const char *name;
  const char *kind; /* "stdout", "stderr" and "report" may be empty, the others may not */
  uint32_t mode;
  enum oc_cache_from from;
  const void *data;
  struct oc_cache_output *output;
  int fd;
  uint64_t size;
  uint8_t sha256[OC_SHA256_LEN];
  bool linked; /* as oc_cache_note_linked() once it is an object */
};

struct oc_cache_put {
  uint8_t key[OC_SHA256_LEN];
  uint8_t model[OC_SHA256_LEN];
  uint8_t options[OC_SHA256_LEN];
  bool has_plan_key; /* names the member of kind "artifact" */
  uint8_t plan_key[OC_SHA256_LEN];
  const void *parts; /* oc_key_parts_pack() */
  size_t parts_len;
  struct oc_cache_facts facts;
  uint64_t created_s; /* 0: now */
  const struct oc_cache_put_member *members;
  size_t n_members;
};

/* Queues one result; everything is copied or taken over, also on failure. `ticket` comes
 * back in the event. 0; OC_E_BUSY: the queue is full, nothing will be stored; OC_E_ARG: a
 * member is empty or the manifest too long; OC_E_NOMEM. [any] */
int oc_cache_put(struct oc_cache *c, const struct oc_cache_put *put, uint64_t ticket,
                 struct oc_error *err);

enum oc_cache_event_kind {
  OC_CACHE_STORED = 1,
  OC_CACHE_NOT_STORED, /* `reason` says why */
  OC_CACHE_EVICTED,    /* `count` entries went to make room */
  OC_CACHE_DAMAGED,    /* an object went to quarantine or a row was wrong; `key` names an
                          entry lost */
  OC_CACHE_DONE,   /* a pin, gc or errand: `count`, `bytes`, `bad`, `removed`; `reason`
                      when it did not reach its end, `code` then says why */
  OC_CACHE_TIDIED, /* after an unclean end: `count` entries taken up again, `removed`
                      objects that no entry named */
  OC_CACHE_BROKEN, /* the index is damaged: all is a miss until the next open sets it
                      aside */
};
struct oc_cache_event {
  enum oc_cache_event_kind kind;
  uint64_t ticket;
  uint8_t key[OC_SHA256_LEN];
  uint64_t count, bytes, bad, removed;
  int code;
  char reason[160];
};
/* An eventfd; readable while events wait. Poll it, then call next_event until it gives
 * false. */
int oc_cache_event_fd(const struct oc_cache *c);
bool oc_cache_next_event(struct oc_cache *c, struct oc_cache_event *ret);
/* Waits until everything queued before this call is done (tests, orderly stop). */
void oc_cache_flush(struct oc_cache *c);

/* ------------------------------------------------------------------ inputs lists and
 * digest memo */

/* Names of further files that a model needs: 1 known (n may be 0), 0 unknown. */
int oc_cache_inputs_get(struct oc_cache *c, const uint8_t model[OC_SHA256_LEN],
                        struct oc_arena *arena, const char *const **ret, size_t *ret_n);
/* [any] Queued; lost when the queue is full, which costs a question later. */
void oc_cache_inputs_put(struct oc_cache *c, const uint8_t model[OC_SHA256_LEN],
                         const char *const *names, size_t n);

enum oc_cache_writers {
  OC_CACHE_WRITERS_UNKNOWN, /* nobody asked, or leases are not permitted here */
  OC_CACHE_NO_WRITER,
  OC_CACHE_HAS_WRITER,
};
/* A file as it was at a moment: its stat, the wall clock then, and the clock that nobody
 * sets. */
struct oc_cache_seen {
  struct stat st;
  int64_t at_ns, boot_ns;
  enum oc_cache_writers writers;
};
/* Looks at `fd` now. 0 or OC_E_IO; OC_E_ARG when it is no regular file. [any] */
int oc_cache_see(int fd, struct oc_cache_seen *ret);
/* Asks by a read lease, given back at once, whether anybody has the file open for
 * writing; before its first byte is hashed. SIGIO must be ignored. [any] */
void oc_cache_see_writers(int fd, struct oc_cache_seen *seen);
/* The digest of a file that is unchanged since it was memoised, by device, inode, size,
 * mtime and ctime. 1 known, 0 not. */
int oc_cache_memo_get(struct oc_cache *c, int fd, const struct oc_cache_seen *seen,
                      uint8_t ret[OC_SHA256_LEN]);
/* [any] After hashing `fd`, which was `before` the first byte was read. Memoised only
 * when nothing changed since, nobody had it open for writing and it had been at rest for
 * 2 s then (for 60 s where that is not known, 60 s of a wall clock that nobody has set),
 * and it is on a local file system (or memo_on_network). True when queued. */
bool oc_cache_memo_put(struct oc_cache *c, int fd, const struct oc_cache_seen *before,
                       const uint8_t sha256[OC_SHA256_LEN]);

/* ------------------------------------------------------------------ figures */

struct oc_cache_stats {
  uint64_t entries, objects, bytes, max_bytes, max_entries;
  uint64_t hits, misses, damaged, stored, not_stored, evicted; /* lifetime of the cache */
  uint64_t memo_hits, memo_misses;                             /* since open */
  uint64_t saved_ms; /* compile time of all hits */
  uint64_t queued;
  uint64_t proofs; /* objects digested because somebody wanted them, since open */
};
void oc_cache_stats(struct oc_cache *c, struct oc_cache_stats *ret);

struct oc_cache_entry {
  uint8_t key[OC_SHA256_LEN];
  struct oc_cache_facts facts;
  uint64_t size, created_s, used_s, hits, pinned_s;
};
/* Most recently used first; at most `limit`. Only entries that `uid` asked for, unless it
 * is OC_CACHE_ANYONE. `ret_more`: there are more. */
int oc_cache_list(struct oc_cache *c, int64_t uid, size_t limit, struct oc_arena *arena,
                  struct oc_cache_entry **ret, size_t *ret_n, bool *ret_more);
#define OC_CACHE_ANYONE (-1)

/* How much the counters grew in the last `seconds` (by whole hours). 0 or a code. */
struct oc_cache_figure {
  const char *name;
  uint64_t value;
};
int oc_cache_figures(struct oc_cache *c, uint64_t seconds, struct oc_arena *arena,
                     struct oc_cache_figure **ret, size_t *ret_n);

/* ------------------------------------------------------------------ single entries */

/* The one entry whose key begins with these hex digits: 1; 0 none, 2 several. */
int oc_cache_find_key(struct oc_cache *c, const char *hex, uint8_t ret[OC_SHA256_LEN]);
/* True when somebody of this uid asked for the entry (always for OC_CACHE_ANYONE). */
bool oc_cache_may_see(struct oc_cache *c, const uint8_t key[OC_SHA256_LEN], int64_t uid);
/* Facts and members, no touch: 1 or 0. `ret` is cleared as for oc_cache_lookup(). */
int oc_cache_show(struct oc_cache *c, const uint8_t key[OC_SHA256_LEN],
                  struct oc_cache_hit *ret);
/* The packed key parts, the model's digest and that of the options: 1 or 0. */
int oc_cache_parts(struct oc_cache *c, const uint8_t key[OC_SHA256_LEN],
                   struct oc_arena *arena, struct oc_cache_candidate *ret,
                   uint8_t ret_model[OC_SHA256_LEN], uint8_t ret_options[OC_SHA256_LEN]);
/* Entries that hold this file, newest first. */
int oc_cache_whence(struct oc_cache *c, const uint8_t sha256[OC_SHA256_LEN], size_t max,
                    uint8_t (*ret)[OC_SHA256_LEN], size_t *ret_n);

/* ------------------------------------------------------------------ care */

/* Keeps an entry until `until_s` (0: no longer). An event OC_CACHE_DONE follows, its
 * count says whether there was one. [any] False: the queue is full. */
bool oc_cache_pin(struct oc_cache *c, const uint8_t key[OC_SHA256_LEN], int64_t until_s,
                  uint64_t ticket);
#define OC_CACHE_FOR_GOOD INT64_MAX

/* Seconds since 1970, so many before, so many behind (at most OC_CACHE_FOR_GOOD): never
 * less than 1, whatever the wall clock says. [any] */
int64_t oc_cache_now_s(void);
int64_t oc_cache_ago_s(uint64_t seconds);
int64_t oc_cache_hence_s(uint64_t seconds);

/* Drops entries that fit all rules, least recently used first, until no more than
 * `max_bytes` are left (when has_max). Pinned ones stay. An event OC_CACHE_DONE follows,
 * with the number and bytes dropped, or that would be. [any] False: the queue is full. */
struct oc_cache_gc {
  bool has_max, dry_run;
  uint64_t max_bytes;
  uint64_t unused_s;   /* not used for so long; 0: any */
  const char *toolkit; /* of this toolkit; NULL: any */
};
bool oc_cache_gc(struct oc_cache *c, const struct oc_cache_gc *rules, uint64_t ticket);

/* Digests every object now, without a rate limit; damaged ones are quarantined. An event
 * OC_CACHE_DONE follows, with the number of objects looked at, their bytes and how many
 * were bad. False: one is at work already. [any] */
bool oc_cache_verify(struct oc_cache *c, uint64_t ticket);

/* Takes up every entry that has a record and its objects but no row, as after a lost
 * index; objects without an entry are removed. Sizes are compared; the bytes are digested
 * at the first hit, as after every start. DONE: `count` entries and their `bytes` taken
 * up, `bad` records that could not be, `removed` objects. False: an errand is at work.
 * [any]
 */
bool oc_cache_rebuild(struct oc_cache *c, uint64_t ticket);

/* Writes every entry that `uid` may see (or the one with `key`, when not NULL) into a
 * regular file, digesting what it reads; docs/cache.md has the format. `fd` is taken
 * over. DONE: `count` entries, `bytes` written, `bad` entries left out as damaged. [any]
 */
bool oc_cache_export(struct oc_cache *c, int fd, int64_t uid, const uint8_t *key,
                     uint64_t ticket);
/* The export with this ticket is of no use any more: it ends soon, with an error. */
void oc_cache_export_cancel(struct oc_cache *c, uint64_t ticket);
/* Reads all of such a file and checks every digest in it before the first entry is
 * stored; entries that are here already stay. They belong to `uid` from then on. `fd` is
 * taken over. DONE: `count` entries stored, `bytes` of them, `removed` ones that were
 * here already, `bad` that the limits of this cache did not take; code OC_E_FORMAT: the
 * file is damaged, nothing was stored. [any] */
bool oc_cache_import(struct oc_cache *c, int fd, uint32_t uid, uint64_t ticket);

#endif
