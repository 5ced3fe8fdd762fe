/* The remote tier: results of other machines, over HTTP(S).
 *
 * The protocol is that of Bazel's simple remote cache, which bazel-remote and any WebDAV
 * server speak: GET and PUT of `/ac/<key>` (a record, see remote.proto) and
 * `/cas/<sha256>` (bytes). Everything that comes is checked against its digest before
 * anybody sees it; a record that is not ours, of an older format or stored under another
 * key is a miss.
 *
 * Threads: one thread inside does all talking; nothing here waits for it but
 * oc_remote_close(). All functions belong to the caller's one thread, except that
 * `new_file` and `drop_file` are called on the tier's thread. Outcomes are fetched with
 * oc_remote_next() when oc_remote_event_fd() is readable.
 *
 * An outage costs little (breaker.h), and never a wrong byte. */
#ifndef OC_REMOTE_REMOTE_H
#define OC_REMOTE_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "digest/digest.h"
#include "remote/breaker.h"
#include "telemetry/telemetry.h"

/* Room for a reason; no sentence of libcurl is longer. */
#define OC_REMOTE_WHY 256

struct oc_remote;

/* A file that bytes are fetched into; `path` is the maker's business. */
struct oc_remote_file {
  int fd;
  char *path;
};

struct oc_remote_options {
  const char *url;         /* http:// or https://, without /ac and /cas */
  bool write;              /* put what was compiled here */
  const char *netrc;       /* file with a login, "" none */
  const char *header_file; /* file with "Name: value" lines, "" none */
  const char *ca;          /* certificates to trust instead of the system's, "" */
  uint64_t connect_ms;     /* name, connection and handshake */
  uint64_t answer_ms;      /* first byte of an answer */
  uint64_t retry_ms;       /* between probes of a remote that failed */
  uint64_t outage_ms;      /* most that failing looks may cost per minute */
  uint64_t bytes_per_s;    /* a slower remote has failed */
  uint64_t max_bytes;      /* of one result, 0: no limit */
  unsigned lanes;          /* see breaker.h */
  const struct oc_log *log;
  /* For members that are objects; 0 or a code. */
  int (*new_file)(void *ctx, struct oc_remote_file *ret);
  void (*drop_file)(void *ctx, struct oc_remote_file *f);
  void *ctx;
};

/* Looks at the settings alone: OC_E_ARG with a sentence that names the setting. */
int oc_remote_check(const struct oc_remote_options *o, struct oc_error *err);
/* 0; OC_E_ARG; OC_E_NOMEM; OC_E_IO. Connects to nothing yet. */
int oc_remote_open(const struct oc_remote_options *o, struct oc_remote **ret,
                   struct oc_error *err);
/* Ends looks at once and uploads after `wait_ms`. NULL is fine. */
void oc_remote_close(struct oc_remote *r, uint64_t wait_ms);
int oc_remote_event_fd(const struct oc_remote *r);

/* ---------------------------------------------------------------- entries */

struct oc_remote_member {
  const char *name;
  const char *kind; /* "artifact", "side", "stdout", "stderr", "report", "parts" */
  uint32_t mode;
  uint64_t size;
  uint8_t sha256[OC_SHA256_LEN];
  struct oc_remote_file file; /* fd -1: `data` has the bytes */
  const void *data;
};

struct oc_remote_facts {
  const char *model, *soc, *backend, *mode, *table_id, *toolkit; /* never NULL */
  bool device_ready;
  uint64_t compile_ms, peak_rss_bytes;
  int32_t tool_exit;
};

struct oc_remote_entry {
  uint8_t key[OC_SHA256_LEN];
  bool has_plan_key;
  uint8_t plan_key[OC_SHA256_LEN];
  struct oc_remote_facts facts;
  struct oc_remote_member *members;
  size_t n_members;
};

/* ---------------------------------------------------------------- looking */

enum oc_remote_trouble {
  OC_REMOTE_FINE,
  OC_REMOTE_DOWN,        /* no connection, no answer, a server error, too slow */
  OC_REMOTE_DENIED,      /* 401, 403 and the like */
  OC_REMOTE_CERTIFICATE, /* the server's is not to be trusted */
  OC_REMOTE_WRONG,       /* bytes that are not what their name says */
};

/* Asks for `key`; with `ask` only whether its record and all bytes are there: nothing but
 * the record is fetched, and the members of what is found have no bytes. True: an outcome
 * with `ticket` will follow. False: not now; `ret_why` is a sentence that stays valid
 * until the next call. */
bool oc_remote_look(struct oc_remote *r, const uint8_t key[OC_SHA256_LEN],
                    uint64_t ticket, bool ask, const char **ret_why);
/* No outcome is wanted any more. One that is on its way may still come. */
void oc_remote_forget(struct oc_remote *r, uint64_t ticket);

enum oc_remote_what {
  OC_REMOTE_FOUND,  /* `entry`: every member's bytes are here and right; no "parts" */
  OC_REMOTE_ABSENT, /* the remote has no such entry */
  OC_REMOTE_FAILED, /* `why`, `trouble` */
  OC_REMOTE_SLOW,   /* bytes are coming, but nobody should wait; a second outcome
                       will follow */
};
struct oc_remote_outcome {
  struct oc_remote_outcome *next;
  enum oc_remote_what what;
  uint64_t ticket;
  enum oc_remote_trouble trouble;
  char why[OC_REMOTE_WHY];
  struct oc_arena arena; /* of the entry */
  struct oc_remote_entry entry;
  void (*drop_file)(void *ctx, struct oc_remote_file *f);
  void *ctx;
};
/* NULL: no more. Give back with oc_remote_outcome_free(), which drops files that are
 * still in it (set fd to -1 for the taken ones). */
struct oc_remote_outcome *oc_remote_next(struct oc_remote *r);
void oc_remote_outcome_free(struct oc_remote_outcome *o);

/* ---------------------------------------------------------------- putting */

/* Queues an entry; strings and data are copied, descriptors duplicated. With a plan key
 * the artifact is put under that too. False: not queued (read-only, too much waits,
 * memory). */
bool oc_remote_put(struct oc_remote *r, const struct oc_remote_entry *e);

/* ---------------------------------------------------------------- state */

struct oc_remote_status {
  enum oc_breaker_state state;
  char why[OC_REMOTE_WHY]; /* the last failure, "" none since the last answer */
  enum oc_remote_trouble trouble;
  uint64_t looks, hits, misses, failures, not_asked, wrong_bytes, foreign;
  uint64_t puts, puts_failed, puts_dropped, waiting_puts;
  uint64_t bytes_in, bytes_out, opened, lost_ms;
};
void oc_remote_status(struct oc_remote *r, struct oc_remote_status *ret);

#endif
