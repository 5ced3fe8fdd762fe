/* libomcc: ask a compilation daemon for .om files from inside a program.
 *
 * The library has no globals, starts no threads, prints nothing and never exits. A
 * connection and all its jobs belong to one thread at a time. Callbacks run inside
 * omcc_dispatch() and omcc_wait(). A program with its own event loop watches omcc_fd()
 * for omcc_events() and calls omcc_dispatch() when it fires; others call omcc_wait().
 *
 *   struct omcc *c;
 *   struct omcc_job *job;
 *   omcc_connect(&(struct omcc_options){ .size = sizeof(struct omcc_options) }, &c,
 * &err); omcc_submit(c, &(struct omcc_request){ .size = sizeof(struct omcc_request), ...
 * }, &callbacks, user, &job, &err); while (!done) omcc_wait(c, -1, &err);
 *   omcc_place(&result, "out/model.om", &options, &placed, &err);
 *
 * Functions return 0 or a positive documented value, or a negative OMCC_E_* with `err`
 * filled. Structs that callers fill begin with `size`, so that they can grow. */
#ifndef OMCC_H
#define OMCC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum omcc_code {
  OMCC_E_NOMEM = -1,
  OMCC_E_IO = -2,
  OMCC_E_FORMAT = -3,
  OMCC_E_ARG = -4,
  OMCC_E_PROTO = -5,
  OMCC_E_LIMIT = -6,
  OMCC_E_BUSY = -7,
  OMCC_E_CLOSED = -9, /* the daemon has gone; omcc_reconnect() may help */
};

/* Documented exit statuses, also the status of a result. */
enum omcc_status {
  OMCC_OK = 0,
  OMCC_DIFFERS = 1,
  OMCC_REQUEST = 2,     /* flag, file, list or model is wrong */
  OMCC_TOOL_FAILED = 3, /* the vendor's compiler failed */
  OMCC_ENVIRONMENT = 4, /* toolkit, disk or permissions */
  OMCC_OOM = 5,
  OMCC_STOPPED = 6, /* time limit, cancelled, drained */
  OMCC_DAEMON = 7,
  OMCC_STORE = 8,
  OMCC_BUG = 70,
};
/* "ok", "request", "tool_failed", ...; "bug" for anything unknown. */
const char *omcc_status_name(int status);

struct omcc_error {
  int code;      /* OMCC_E_... */
  int status;    /* the documented status this failure should end a program with */
  char id[32];   /* finding id when the mistake is the user's ("file-missing"), else "" */
  char flag[40]; /* the flag it is about, "" when none */
  char subject[512]; /* file or word it is about */
  char detail[256];  /* what the finding's text calls {detail} */
  char msg[512];     /* one sentence */
  char fix[256];     /* what to do, "" when there is nothing to say */
};

struct omcc;
struct omcc_job;

/* ------------------------------------------------------------------ connecting */

enum omcc_start {
  OMCC_START_IF_MISSING =
      0, /* a private daemon, when the socket lies in a directory of ours */
  OMCC_START_NEVER = 1,
};

struct omcc_options {
  size_t size;
  const char *socket; /* NULL: OMCC_SOCKET, $XDG_RUNTIME_DIR/omcc/omccd.sock,
                         /tmp/omcc-$UID/omccd.sock */
  enum omcc_start start;
  const char *daemon;  /* path of omccd, NULL: beside the running program, then PATH */
  uint32_t idle_s;     /* idle time after which a private daemon ends, 0: 30 minutes */
  uint32_t timeout_ms; /* for connecting and starting, 0: 20 s */
  /* Do not wait for the greeting of a daemon that listens: the first request travels
   * along with ours, and whatever is wrong is told by omcc_wait() or omcc_dispatch(). One
   * round trip less for who asks once. */
  bool early;
};

/* What lies at the socket path. */
enum omcc_socket_state {
  OMCC_LISTENING,
  OMCC_STALE,
  OMCC_MISSING,
  OMCC_BUSY,
  OMCC_DENIED
};

/* Blocks at most timeout_ms. */
int omcc_connect(const struct omcc_options *options, struct omcc **ret,
                 struct omcc_error *err);
/* Ends every unfinished job's interest and frees the connection. */
void omcc_close(struct omcc *c);
/* After OMCC_E_CLOSED: connects again (starting a private daemon when allowed) and
 * submits every unfinished job once more; each job at most once in its life, not counting
 * a daemon that went away before it greeted. Blocks as omcc_connect, and for the greeting
 * too. */
int omcc_reconnect(struct omcc *c, struct omcc_error *err);

/* Fills `ret` (room bytes) with the socket path that omcc_connect would use. */
int omcc_socket_path(const struct omcc_options *options, char *ret, size_t room,
                     struct omcc_error *err);
/* Looks without starting or waiting; `ret` gets an omcc_socket_state. */
int omcc_socket_probe(const char *path, enum omcc_socket_state *ret,
                      struct omcc_error *err);

/* Path of the program omccd: beside the running program, else the first in PATH. */
int omcc_daemon_path(char *ret, size_t room, struct omcc_error *err);

int omcc_fd(const struct omcc *c);
short omcc_events(const struct omcc *c); /* POLLIN, POLLOUT */
/* Does what can be done without blocking and runs callbacks. */
int omcc_dispatch(struct omcc *c, struct omcc_error *err);
/* poll(), then omcc_dispatch(). 0 also when the time is over or a signal came. */
int omcc_wait(struct omcc *c, int timeout_ms, struct omcc_error *err);

struct omcc_peer {
  uint32_t pid; /* from the daemon's own Hello: with socket activation the kernel names
                   systemd */
  uint32_t uid;
  const char *build;
  const char *socket;
  bool started; /* this connection started it */
};
/* All zero but `socket` as long as the daemon has not greeted. */
void omcc_peer(const struct omcc *c, struct omcc_peer *ret);

/* ------------------------------------------------------------------ jobs */

/* OMCC_OPS: names and types of the model's ops as a report; no target needed. */
enum omcc_want { OMCC_COMPILE = 0, OMCC_EXPLAIN = 1, OMCC_LOOKUP = 2, OMCC_OPS = 3 };

struct omcc_flag {
  const char *name; /* canonical name without dashes ("soc_version") */
  const char *value;
};

/* Every file that a flag names is opened inside omcc_submit(), relative to the current
 * directory; names and values are copied. */
struct omcc_request {
  size_t size;
  enum omcc_want want;
  const struct omcc_flag *flags;
  size_t n_flags;
  const char *backend; /* NULL, "auto", "atc", "builtin" */
  bool strict_lists;
  bool relabel;
  bool verbose;
  const char *stop_at; /* test hook, NULL */
  bool cached_only;    /* a miss starts nothing: status OMCC_DIFFERS */
  bool link; /* the artifact will be placed with .link: tells the daemon that links may
                come and go */
  bool report_inline; /* a small report may come as bytes instead of as a descriptor */
};

struct omcc_progress {
  const char *phase; /* queued, reading, planning, building, compiling, storing */
  uint32_t step, steps;
  uint64_t elapsed_ms;
  uint64_t rss_bytes;
};

struct omcc_member {
  const char *name; /* "model.om", "weight/weight_1", ... relative */
  const char *kind; /* artifact, side, stdout, stderr */
  uint32_t mode;
  uint64_t bytes;
  uint8_t sha256[32];
  int fd;              /* read-only, owned by the result; -1 when inline */
  const uint8_t *data; /* inline content, NULL when `fd` */
};

/* Valid inside the callback and until omcc_job_free(). */
struct omcc_result {
  int status;          /* enum omcc_status */
  const char *code;    /* its name */
  const char *message; /* "" when ok */
  const char *result;  /* hit, miss, joined, cached, uncached */
  const char *backend;
  bool device_ready;
  uint8_t key[32];
  bool has_key;
  const char *stored, *stored_reason;
  uint64_t elapsed_ms, compile_ms, saved_ms;
  struct omcc_member *members;
  size_t n_members;
  int report_fd; /* Report message (report.proto), -1 when there is none or it came as
                    bytes */
  const uint8_t
      *message_bytes; /* the whole Finished message (omcc.proto), for those who know it */
  size_t message_len;
  const uint8_t *report; /* with `report_inline`: a small report, NULL */
  size_t report_len;
};

struct omcc_callbacks {
  size_t size;
  void (*accepted)(void *user, struct omcc_job *job, uint64_t id, bool joined);
  void (*progress)(void *user, struct omcc_job *job, const struct omcc_progress *p);
  /* A line of the vendor's compiler as it runs or is replayed. */
  void (*output)(void *user, struct omcc_job *job, bool is_stderr, const void *data,
                 size_t len);
  void (*finished)(void *user, struct omcc_job *job, const struct omcc_result *result);
};

int omcc_submit(struct omcc *c, const struct omcc_request *request,
                const struct omcc_callbacks *callbacks, void *user, struct omcc_job **ret,
                struct omcc_error *err);
/* The daemon's number of the job, 0 while it is not known. */
uint64_t omcc_job_id(const struct omcc_job *job);
/* The job goes on in the daemon without us. */
int omcc_job_detach(struct omcc_job *job, struct omcc_error *err);
/* Asks the daemon to stop the job unless others wait for it; `finished` follows. */
int omcc_job_cancel(struct omcc_job *job, struct omcc_error *err);
void omcc_job_free(struct omcc_job *job);
/* Bytes of a list file as they were submitted (the client's own copy), NULL when the flag
 * named none. Valid until omcc_job_free(). */
const char *omcc_job_list(const struct omcc_job *job, const char *flag, size_t *ret_len);

/* ------------------------------------------------------------------ placing files */

struct omcc_place_options {
  size_t size;
  bool link;         /* hard link to the store's object where possible */
  uint32_t mode;     /* permission bits, 0: 0600 */
  const char *label; /* name to put into an .om (--relabel), NULL: bytes as they are */
};
struct omcc_placed {
  const char *how;        /* link, reflink, copy, relabelled */
  char link_refused[160]; /* why --link fell back to a copy, "" otherwise */
};
/* Puts one member at `path`: complete or not at all. Missing directories are made. */
int omcc_place(const struct omcc *c, const struct omcc_member *m, const char *path,
               const struct omcc_place_options *options, struct omcc_placed *ret,
               struct omcc_error *err);
/* Can a file be put at `path`, as far as one can see before? Changes nothing. */
int omcc_place_check(const char *path, struct omcc_error *err);

/* ------------------------------------------------------------------ questions to the
 * daemon */

/* Ask and wait (at most timeout_ms); `ret` is the answer's message (omcc.proto: Status,
 * CacheStats, CacheList, Stopping, Socs), free() it. */
enum omcc_question {
  OMCC_ASK_STATUS,
  OMCC_ASK_CACHE_STATS,
  OMCC_ASK_CACHE_LIST,
  OMCC_ASK_STOP,
  OMCC_ASK_STOP_NOW,
  OMCC_ASK_SOCS
};
int omcc_ask(struct omcc *c, enum omcc_question what, uint32_t limit, int timeout_ms,
             uint8_t **ret, size_t *ret_len, struct omcc_error *err);

/* What can be asked of the cache; numbers as in omcc.proto (CacheRequest.What). */
enum omcc_cache_what {
  OMCC_CACHE_STATS = 0,
  OMCC_CACHE_LIST = 1,
  OMCC_CACHE_SHOW = 2,
  OMCC_CACHE_GET = 3,
  OMCC_CACHE_PIN = 4,
  OMCC_CACHE_UNPIN = 5,
  OMCC_CACHE_VERIFY = 6,
  OMCC_CACHE_GC = 7,
  OMCC_CACHE_CLEAR = 8,
  OMCC_CACHE_REBUILD = 9,
  OMCC_CACHE_WHENCE = 10,
  OMCC_CACHE_WHY = 11,
  OMCC_CACHE_EXPORT = 12, /* `key` NULL: everything that may be seen */
  OMCC_CACHE_IMPORT = 13,
  OMCC_CACHE_COMPARE = 60,
};
struct omcc_cache_query {
  size_t size;
  enum omcc_cache_what what;
  uint32_t limit;
  const char *key; /* hex digits; for WHY and COMPARE also a job number */
  bool has_max, dry_run;
  uint64_t max_bytes, older_than_s, pin_s;
  const char *toolkit;
  bool has_fd; /* WHENCE, EXPORT, IMPORT: the file's descriptor, which stays the caller's
                */
  int fd;
  uint32_t skip;     /* GET: members that earlier answers brought (CacheAnswer.more) */
  const char *other; /* COMPARE: the second, as `key` */
};
/* As omcc_ask(): `ret` is a CacheStats, CacheList or CacheAnswer. */
int omcc_cache_ask(struct omcc *c, const struct omcc_cache_query *query, int timeout_ms,
                   uint8_t **ret, size_t *ret_len, struct omcc_error *err);
/* A descriptor of the last answer (GET, COMPARE: Member.fd), the caller's from then on;
 * -1. */
int omcc_cache_take_fd(struct omcc *c, size_t index);

#ifdef __cplusplus
}
#endif
#endif
