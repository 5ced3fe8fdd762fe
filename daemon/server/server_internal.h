/* What the files of server share.
 *
 *   session   one connection; knows its requests by the client's numbers
 *   request   one Submit and who is to be told: findings about its flags, reasons of its
 * miss order     what is compiled: flags, inputs with digests, key, plan, output; the
 * data of one job of flow, freed when flow forgets the job and no thread works for it
 *
 * Sessions and requests are found by number whenever something happens later, so that a
 * client may leave at any moment. */
#ifndef OC_SERVER_INTERNAL_H
#define OC_SERVER_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/finding.h"
#include "cache/cache.h"
#include "digest/digest.h"
#include "flags/flags.h"
#include "flow/flow.h"
#include "folder/folder.h"
#include "frame/frame.h"
#include "messages/messages.h"
#include "pool/link.h"
#include "pool/pool.h"
#include "remote/remote.h"
#include "server/server.h"
#include "telemetry/telemetry.h"
#include "toolkit/toolkit.h"

#define OC_PROTOCOL_MIN 1
#define OC_PROTOCOL_MAX 1

/* What waits to be sent to one client. */
#define OC_SESSION_WRITE_CAP (4u << 20)
/* Requests of one connection at a time. */
#define OC_SESSION_REQUESTS 256
/* Objects that one connection keeps from eviction. */
#define OC_SESSION_HOLDS 64
/* Lists of sessions by number. */
#define OC_SESSION_BUCKETS 1024
/* Documented exit statuses. */
enum oc_status {
  OC_STATUS_OK = 0,
  OC_STATUS_DIFFERS = 1,
  OC_STATUS_REQUEST = 2,
  OC_STATUS_TOOL_FAILED = 3,
  OC_STATUS_ENVIRONMENT = 4,
  OC_STATUS_OOM = 5,
  OC_STATUS_STOPPED = 6,
  OC_STATUS_DAEMON = 7,
  OC_STATUS_STORE = 8,
  OC_STATUS_BUG = 70,
};
const char *oc_status_word(unsigned status);

struct session {
  struct oc_server *srv;
  struct session *prev, *next, *same_bucket;
  struct oc_link link;
  uint64_t id;
  uint32_t uid, pid;
  uint64_t opened_ms;
  uint64_t frame_since_ms; /* a frame began then and is not complete; 0: none */
  bool greeted;
  bool admin;  /* may see and change what is not its own */
  bool doomed; /* does not read: closed by server_settle() */
  struct request *requests;
  size_t n_requests;
  /* Objects delivered last, kept from eviction: the client may still be placing them.
   * NULL before the first. */
  uint8_t (*held)[OC_SHA256_LEN];
  size_t n_delivered;
};

enum want { WANT_COMPILE, WANT_EXPLAIN, WANT_LOOKUP };

struct request {
  struct request *next;
  uint64_t session, id;
  enum want want;
  uint64_t job;
  uint64_t started_ns;
  bool accepted, joined;
  struct oc_arena arena;
  struct oc_findings findings; /* about flags and files of this user */
  char **reasons;              /* why it missed */
  size_t n_reasons;
  Omcc__V1__Difference **differences; /* from the stored entry `nearest` */
  size_t n_differences;
  bool has_nearest, relabel;
  bool report_inline; /* a small report may come inside of Finished */
  bool link;          /* the artifact will be hard-linked elsewhere */
  uint8_t nearest[OC_SHA256_LEN];
};

/* A file that an order reads. */
struct input {
  const char *flag; /* "model", a list, or NULL for external data */
  const char *name; /* as the user or the model wrote it */
  int fd;           /* -1: not here yet */
  bool list;        /* sealed by the client, mapped below */
  const void *bytes;
  size_t len;
  struct oc_cache_seen seen;
  bool digested;
  uint8_t sha256[OC_SHA256_LEN];
  struct task *task; /* digesting */
};

/* A folder that a flag names. */
struct folder {
  const char *flag, *path;
  int fd;
  bool known;          /* listed and digested, or `trouble` says why not */
  const char *trouble; /* half a sentence, NULL: none */
  struct oc_folder content;
  struct task *task;
};

/* One member of a result that is ready to be delivered. */
struct member {
  const char *name, *kind;
  uint32_t mode;
  uint64_t size;
  uint8_t sha256[OC_SHA256_LEN];
  struct oc_cache_output output; /* until stored */
  int fd;                        /* read-only, for deliveries; -1 when inline */
  const void *data;              /* inline */
  bool object;                   /* in the store already */
  bool held;                     /* from eviction, until this order ends */
};

/* A file of a run before it is a member. */
struct incoming {
  const char *name, *kind;
  uint32_t mode;
  int fd; /* -1: inline */
  const void *data;
  uint64_t len;
};

struct order {
  struct oc_server *srv;
  uint64_t job;
  struct oc_arena arena;
  enum want want;
  uint32_t uid;
  struct oc_flags flags;
  const char *backend; /* resolved: "atc" or "builtin" */
  const char *stop_at;
  bool strict_lists, stopped_once, cached_only;
  bool linked;                        /* somebody hard-links the result */
  bool tool_looking;                  /* the toolkit is being looked at */
  bool tool_changed;                  /* since the key was made */
  const char *folder_changed;         /* path in a folder of the key, NULL: none did */
  uint8_t tool_sha256[OC_SHA256_LEN]; /* identity of the toolkit in the key */
  bool names_only; /* `omcc ops`: an explanation that needs no target */
  struct input *files, *external;
  size_t n_files, n_external;
  struct folder *folders;
  size_t n_folders;
  bool external_known, external_asked, external_here, external_unsure;
  bool external_looked;   /* a worker found the names */
  bool worker_waits;      /* for the external files */
  struct oc_waiter asker; /* who is asked for them */

  const char *uncached; /* why there is no key, NULL: there is one */
  bool keyed;
  uint8_t key[OC_SHA256_LEN], model[OC_SHA256_LEN], options[OC_SHA256_LEN];
  struct oc_key_parts *key_parts; /* NULL until somebody needs them */
  struct oc_buf parts;            /* the same, packed */

  bool verifying; /* the lease is for reading the finished file */

  struct oc_findings findings; /* of worker and runner */
  int report_fd;
  struct input *lists; /* normalised, for the tool */
  size_t n_lists;
  uint64_t om_size;

  const char *spare;               /* why its output is not in the cache; NULL: it is */
  bool no_room;                    /* an output in the cache was too large for the disk */
  struct oc_cache_output building; /* what the worker writes into; fd -1: none */
  struct member *members;
  size_t n_members, room_members;
  struct oc_buf captured[2]; /* what the tool said: stdout, stderr */
  struct incoming incoming[OC_MAX_MEMBERS];
  size_t n_incoming;
  struct gather *gather; /* the output is sealed and digested on a thread */
  uint64_t work_started_ns;
  uint64_t compile_ms, peak_rss_bytes;
  int tool_exit;
  bool device_ready;
  const char *toolkit;
  const char *table_id; /* of the plan, NULL without one */
  const char *hit_kind; /* "" for a fresh result */
  const char *stored, *stored_reason;

  bool looking;                      /* at the remote tier */
  bool counted_miss;                 /* of both tiers */
  bool spoke;                        /* the tool's lines went out as they came */
  struct oc_remote_outcome *fetched; /* between adoption and publishing */

  unsigned fail_status; /* 0: flow's failure decides */
  const char *fail_message;
  unsigned n_tasks; /* threads that hold this order */
  bool forgotten;
};

/* ---- digester.c: threads for everything that reads or copies whole files */

struct task {
  struct task *next;
  uint32_t uid;
  atomic_bool cancel;
  void (*run)(struct task *t); /* on a thread */
  void (*done)(
      struct task *t); /* on the loop, always, also when cancelled before it ran */
  struct order *order;
  void *ctx;
  int code;
  struct oc_error err;
};

struct digester;
int digester_open(struct oc_server *s, unsigned n_threads, struct oc_error *err);
/* Takes the task; it holds its order until done() was called. */
void digester_add(struct oc_server *s, struct task *t);
/* No task is waiting, running or to be reported. */
bool digester_idle(const struct oc_server *s);
/* Only when idle. */
void digester_close(struct oc_server *s);

/* ---- backend.c: tables, worker binary, toolkit: who compiles, and its identity */

struct table_file {
  char *name;
  int fd; /* sealed memfd */
  uint8_t sha256[OC_SHA256_LEN];
};

struct oc_key_identity;
struct oc_key_parts;
struct key_memo;

struct backends {
  int worker_fd;
  uint8_t worker_sha256[OC_SHA256_LEN];
  struct table_file *tables;
  struct oc_pool_table *pool_tables;
  size_t n_tables;
  struct oc_key_identity *identity; /* of builtin */
  struct oc_toolkit toolkit;
  bool has_toolkit;
  char toolkit_why[244]; /* why there is none */
};

int backends_load(struct oc_server *s, struct oc_error *err);
void backends_clear(struct backends *b);
/* The backend for a request that asks for `asked`: "atc", "builtin", or NULL with the
 * sentence for a refusal. */
const char *backend_choose(const struct oc_server *s, const char *asked, enum want want,
                           const char **ret_why);
/* Key parts of a backend; they live as long as arena and backends do. */
int backend_identity(const struct oc_server *s, const char *backend,
                     struct oc_arena *arena, const struct oc_key_identity **ret,
                     size_t *ret_n);

/* ---- the server */

/* How a request ended, for "why JOB". */
#define OC_RECENT_JOBS 256
struct recent {
  uint64_t job;
  uint32_t uid;
  bool keyed; /* `key` is that of its request */
  uint8_t key[OC_SHA256_LEN];
  uint8_t *bytes; /* a packed CacheAnswer, NULL: none */
  size_t len;
};
struct asked;

struct oc_server {
  struct oc_server_options o;
  struct oc_arena arena;
  uv_loop_t own_loop, *loop; /* `loop` is NULL until it is made */
  const struct oc_log *log;
  struct oc_counters count;
  uint64_t started_ns;

  uv_poll_t listener;
  int listen_fd, socket_lock;
  bool listening, bound;
  dev_t socket_dev;
  ino_t socket_ino;

  struct session *sessions; /* the newest first */
  struct session *sessions_by_id[OC_SESSION_BUCKETS];
  size_t n_sessions;
  size_t n_doomed; /* sessions to be closed by server_settle() */
  uint64_t next_session;

  struct oc_cache *cache;
  uv_poll_t cache_poll;
  bool cache_polled;
  struct oc_remote *remote; /* NULL: there is none */
  uv_poll_t remote_poll;
  bool remote_polled;
  bool through;            /* the cache directory cannot be used: nothing is stored */
  char cache_trouble[300]; /* why results are not stored now; "": they are */
  const char *jobs_dir;
  struct recent recent[OC_RECENT_JOBS];
  struct asked *asked; /* questions that the cache's threads work on */
  uint64_t n_asked;

  struct backends backends;
  struct key_memo *key_memo; /* NULL until the first key */
  struct oc_pool *pool;
  bool pool_open;
  char tables_error[244]; /* what the zygote says is wrong with the tables */
  struct oc_buf socs;     /* a packed Socs message; empty until the zygote is ready */
  struct oc_waiter *socs_waiters;
  size_t n_socs_waiters;
  struct oc_flow *flow;
  struct digester *digester;

  uv_timer_t flow_timer, idle_timer, drain_timer, patience_timer, watchdog_timer;
  uv_signal_t term, intr;
  uint64_t patience_due_ms; /* when patience_timer should come */
  unsigned n_timers;        /* open handles of this block */
  bool handles_open;
  uint64_t watchdog_ms;
  unsigned stops; /* stop requests so far */
  bool closing, settling;
};

/* ---- job_ids.c */
/* The first of this life: no id of an earlier one can come again. */
int job_ids_first(const char *cache_dir, uint64_t *ret, const struct oc_log *log,
                  struct oc_error *err);
/* A directory for job directories whose path the vendor's compiler accepts, emptied. */
int jobs_dir_choose(struct oc_server *s, struct oc_error *err);

/* Makes it, or makes sure that it is a private one of ours. */
int make_own_directory(const char *path, struct oc_error *err);

/* ---- spare.c */
#define SPARE_FULL   "the file system of the cache is full"
#define SPARE_BROKEN "the cache directory cannot be written"
/* [any thread] A file for `size` bytes (0: not known), in the cache, or elsewhere when it
 * cannot be there; `ret_spare` then says why. */
int output_open(struct oc_server *s, uint64_t size, struct oc_cache_output *ret,
                const char **ret_spare, struct oc_error *err);
int output_elsewhere(uint64_t size, struct oc_cache_output *ret, struct oc_error *err);
/* What status says of the cache; "": all is well. */
void cache_trouble(struct oc_server *s, const char *why);
/* An empty cache elsewhere, because of `why`. */
int through_open(struct oc_server *s, const struct oc_cache_options *o,
                 const struct oc_error *why, struct oc_error *err);
void through_remove(const char *dir);

uint64_t server_now_ns(void);
struct session *server_session(const struct oc_server *s, uint64_t id);
struct request *server_request(const struct oc_server *s, const struct oc_waiter *w);
/* The end of every callback of the loop: sessions that must go, deadlines, idleness, the
 * end of a drain. Never from inside flow. */
void server_settle(struct oc_server *s);

/* ---- listen.c */
/* The socket's lock, before anything else is touched. */
int listener_lock(struct oc_server *s, struct oc_error *err);
int listener_open(struct oc_server *s, struct oc_error *err);
void listener_close(struct oc_server *s);
void listener_unlock(struct oc_server *s);

/* ---- session.c */
struct ucred;
void session_accept(struct oc_server *s, int fd, const struct ucred *peer);
void session_close(struct session *c);
/* False: the session has gone, or is about to. May be called from inside flow. */
bool session_send(struct session *c, Omcc__V1__ToClient *m, const int *fds, size_t n_fds);
void session_refuse(struct session *c, uint64_t id, const char *code, const char *text,
                    unsigned status);
struct request *session_request(struct session *c, uint64_t id);
/* An object is about to be sent: held until the session ends or many others followed. */
void session_delivers(struct session *c, const uint8_t *sha256, bool link);
void session_drop_request(struct session *c, struct request *r);

/* ---- patience.c: a peer that does not greet, stops inside a frame, or does not take its
 * answers, is closed */
/* Somebody is waited for from now on. */
void patience_begin(struct oc_server *s);
/* For oc_link_events: `ctx` is the session. */
void patience_partial(void *ctx, bool in_frame);

/* ---- submit.c: a Submit becomes a request and an order */
int submit_take(struct session *c, uint64_t id, const Omcc__V1__Submit *m,
                struct oc_frame *f, struct oc_error *err);

/* ---- order.c */
struct order *order_new(struct oc_server *s, uint32_t uid);
/* When flow has forgotten it and no thread holds it. */
void order_maybe_free(struct order *o);
/* Around calls of flow that may end the job: the order stays, `forgotten` tells. */
void order_hold(struct order *o);
void order_drop(struct order *o);
struct member *order_add_member(struct order *o, const char *name, const char *kind,
                                uint32_t mode);
void order_drop_members(struct order *o);
/* Status and sentence of a failure, when more is known than flow says. */
void order_set_failure(struct order *o, unsigned status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The inputs are what they were when they were digested; false: `name` of the first. */
bool order_inputs_unchanged(const struct order *o, const char **ret_name);
void order_log(const struct order *o, enum oc_log_level level, const char *event,
               const char *text);

/* ---- reading.c: from files to the key */
void reading_start(struct order *o);
/* Names of external data, from a worker. */
int reading_inputs(struct order *o, const Omcc__V1__Inputs *m, struct oc_error *err);
/* After an event of its worker: when no plan will come, nothing more will be known of
 * external data. */
void reading_without_plan(struct order *o);
int reading_files(struct order *o, const Omcc__V1__Files *m, struct oc_frame *f,
                  struct oc_error *err);
/* External files to a worker that waits for them. */
void reading_feed_worker(struct order *o);

/* Something more is known: does what has become possible. */
void reading_step(struct order *o);

/* ---- tool_look.c: what is installed now */
int tool_look_start(struct order *o);
/* Still the toolkit of the key? From any thread. */
bool tool_look_again(const struct order *o);

/* ---- request_key.c: from an order to its key */
/* Sets key and options. 0, or the reason why there is no key. */
int request_key(struct order *o, struct oc_error *err);
/* The same, with the parts. */
int request_key_parts(struct order *o, struct oc_error *err);

/* ---- lookup.c: the key, and what the cache says */
void lookup_start(struct order *o);
/* Has no key, for this reason; goes on without. */
void lookup_uncached(struct order *o, const char *why);
/* Compiles nothing, and without a worker's look at the model there is no key: answers, or
 * lets one look when there is a remote tier to ask. */
void lookup_unseen(struct order *o);

/* ---- why.c: the reasons of a miss, and the question for them */
void why_add_reason(struct request *r, const char *text);
/* Compares with what is stored, fills reasons and differences; `r` may be NULL. */
void why_missed(struct order *o, struct request *r, const struct oc_key_parts *parts);
/* Keeps how a request went for later questions. */
void why_remember(struct order *o, const struct request *r, const char *how);
void why_forget_all(struct oc_server *s);
void why_answer(struct session *c, uint64_t id, const char *what);
/* The request key of a recent job that this user may ask about. */
bool why_job_key(const struct session *c, uint64_t job, uint8_t ret[OC_SHA256_LEN]);
/* Differences as messages that live in `arena`. */
struct oc_key_difference;
void why_messages(const struct oc_key_difference *d, size_t n, struct oc_arena *arena,
                  Omcc__V1__Difference ***ret, size_t *ret_n);

/* ---- compare.c: two finished jobs side by side, for explain --diff */
void compare_answer(struct session *c, uint64_t id, const char *a, const char *b);

/* ---- tables.c: op tables that cannot be read */
/* The tables are missing for a file of the user's own or of a toolkit. */
bool tables_are_to_blame(const struct oc_server *s);
/* Makes that the reason of the order's failure, with a finding; false when it is not. */
bool tables_blame(struct order *o);

/* ---- care.c: the cache's verbs */
/* The uid whose entries a session may see, or OC_CACHE_ANYONE. */
int64_t session_scope(const struct session *c);
void care_answer(struct session *c, uint64_t id, const Omcc__V1__CacheRequest *m,
                 struct oc_frame *f);
void care_send(struct session *c, uint64_t id, Omcc__V1__CacheAnswer *a, const int *fds,
               size_t n_fds);
void care_refuse(struct session *c, uint64_t id, unsigned status, const char *text);
/* The one entry that begins like this and that the session may see; else refused. */
bool care_find(struct session *c, uint64_t id, const char *hex,
               uint8_t ret[OC_SHA256_LEN]);

/* ---- errands.c: what the cache's threads work on for somebody */
void errand_answer(struct session *c, uint64_t id, const Omcc__V1__CacheRequest *m,
                   struct oc_frame *f);
bool errand_key_fits(const uint8_t key[OC_SHA256_LEN], const void *parts, size_t len);
/* False: the event is no answer to a question. */
bool care_done(struct oc_server *s, const struct oc_cache_event *e);
void care_forget_all(struct oc_server *s);
/* An export that nobody waits for any more ends. */
void care_session_gone(struct oc_server *s, uint64_t session);

/* ---- answer.c */
void answer_hit(struct order *o, struct request *r, struct oc_cache_hit *hit);
/* `where` it is cached: "local", "remote", "" nowhere. */
void answer_lookup(struct order *o, struct request *r, bool cached, const char *where);
void answer_job(struct order *o, struct request *r, enum oc_answer how);
/* A request that never became a job: findings say why. */
void answer_request_error(struct session *c, struct request *r, const char *message);
void answer_accepted(struct oc_server *s, struct request *r, const struct oc_flow_job *j);
void answer_progress(struct oc_server *s, const struct oc_flow_job *j, const char *phase,
                     uint64_t rss_bytes);
/* What the compiler has said so far, to somebody who joins. */
void answer_captured(struct order *o, struct request *r);
void answer_output(struct oc_server *s, const struct oc_flow_job *j, bool is_stderr,
                   const uint8_t *p, size_t len);

/* ---- effects.c, work.c, run.c: flow's effects and the pool's events */
extern const struct oc_flow_effects server_effects;
extern const struct oc_pool_events server_pool_events;
struct order *order_of_job(struct oc_server *s, uint64_t job);
/* `attempt` counts from 1. */
int work_start_plan(struct order *o, unsigned attempt);
int work_start_build(struct order *o);
void work_on_message(void *ctx, uint64_t job, const Omcc__V1__FromWorker *m,
                     struct oc_frame *f);
void work_on_death(void *ctx, uint64_t job, const struct oc_death *how);
/* Pieces of Plan and Run in an arena, NULL without memory; descriptors are appended. */
Omcc__V1__Flag **work_flags(const struct order *o, struct oc_arena *arena, size_t *ret_n);
Omcc__V1__Flag **work_vendor_flags(const struct order *o, struct oc_arena *arena,
                                   size_t *ret_n); /* without flags of ours */
Omcc__V1__File **work_files(const struct input *inputs, size_t n, struct oc_arena *arena,
                            int *fds, size_t *n_fds);
/* One frame's worth of external files from `*at` on. */
size_t work_external(const struct order *o, size_t *at, Omcc__V1__ExternalFile *room,
                     Omcc__V1__ExternalFile **list, int *fds);
int run_start(struct order *o);
void run_on_message(void *ctx, uint64_t job, const Omcc__V1__FromRunner *m,
                    struct oc_frame *f);
void run_on_death(void *ctx, uint64_t job, const struct oc_death *how);
/* Drops everything a run left so far. */
void run_clear(struct order *o);

/* ---- verify.c: what the vendor's compiler made, held against the plan */

/* False when there is nothing to compare or no worker to do it. */
bool verify_start(struct order *o);
/* The lease of a comparison is over: with its answer, or NULL when the worker died. The
 * job goes on. */
void verify_over(struct order *o, const Omcc__V1__FromWorker *m);

/* Captured lines to one waiter. */
void run_replay(struct session *c, uint64_t id, bool is_stderr, const uint8_t *p,
                size_t len);

/* ---- publish.c, store.c: outputs become results, results go into the cache */
int publish_built(struct order *o);
int publish_object(struct order *o);
int publish_twin(struct order *o, struct order *twin);
void publish_cancel(struct order *o);
/* True when the store has the bytes; the member is then part of the order. */
bool publish_object_known(struct order *o, const uint8_t *plan_key);
/* 1: nothing to wait for, 0: the cache will say. */
int publish_store(struct order *o, const uint8_t *plan_key);
void publish_on_cache_events(struct oc_server *s);

/* May what is published be stored? Says so in the order. */
void publish_decide_storing(struct order *o);

/* ---- status.c */
void status_answer(struct session *c, uint64_t id);
void status_cache(struct session *c, uint64_t id, const Omcc__V1__CacheRequest *m,
                  struct oc_frame *f);

/* ---- socs.c: targets of the op tables, as the zygote told them */
int socs_take(struct oc_server *s, const Omcc__V1__Ready *ready);
/* Now, or when the zygote is ready. */
void socs_answer(struct session *c, uint64_t id);

/* ---- stop.c: timers, signals, idleness, draining, the end */
int stop_open(struct oc_server *s, struct oc_error *err);
/* Stops jobs that a drain would wait for. */
void stop_now(struct oc_server *s);
/* Closes everything; the loop ends when it is closed. */
void stop_close(struct oc_server *s);

/* ---- notify.c: the service manager */
void notify_say(const char *text);
uint64_t notify_watchdog_ms(void);

/* ---- stop_point.c: named places where tests stop the process */
void server_stop_point(const struct oc_server *s, struct order *o, const char *here);

#include "server/ask_internal.h"

#endif
