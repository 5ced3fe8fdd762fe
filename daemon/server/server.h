/* The daemon: listener, sessions, digest threads, and the effects of flow.
 *
 * Ownership: oc_server_open / oc_server_close (asynchronous). Strings of the options are
 * copied. Thread: the server belongs to the
 * thread that runs it. */
#ifndef OC_SERVER_SERVER_H
#define OC_SERVER_SERVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

#include "base/error.h"
#include "remote/remote.h"
#include "telemetry/telemetry.h"

struct oc_server;

struct oc_server_options {
  const struct oc_log *log;

  const char *socket_path; /* "" with listen_fd */
  int listen_fd;           /* passed by the service manager, -1: bind socket_path */
  uint32_t socket_mode;    /* 0600, or 0660 for a shared daemon */
  const char *cache_dir;
  uint64_t cache_limit_bytes;
  bool cache_on_network;        /* allow a network file system */
  const char *cache_durability; /* "normal" or "full" */
  uint64_t cache_entries;       /* 0: no limit */
  uint64_t cache_user_bytes;    /* of one user, 0: no limit */
  uint64_t cache_free_bytes;    /* kept free on the file system */
  uint64_t cache_scrub_bytes_per_s;
  bool cache_memo_on_network;
  bool deliver_link; /* by hard link where possible, without being asked */
  int64_t admin_gid; /* group that may see and change everything, negative: none */

  const char *worker_path;
  const char *runner_path;  /* "" none */
  const char *tables_dir;   /* holds soc/ and ops/ */
  const char *tables_extra; /* the user's own tables, NULL or "" none */
  const char *backend;      /* "auto", "atc", "builtin" */
  const char *toolkit;      /* directory, "" look in ASCEND_HOME_PATH */

  unsigned workers;
  unsigned digest_threads;
  unsigned max_jobs;
  unsigned max_jobs_per_uid;
  unsigned max_connections;
  uint64_t orphan_grace_ms;
  uint64_t idle_exit_ms;   /* 0: never */
  uint64_t drain_limit_ms; /* 0: as long as it takes */
  uint64_t worker_memory_bytes;
  uint64_t plan_limit_ms;
  uint64_t build_limit_ms;
  uint64_t run_limit_ms;
  uint64_t run_memory_bytes;
  struct rlimit nofile; /* as the process was started: given back to children */
  struct oc_remote_options remote; /* settings only; url "" or NULL: none */
  const char *stop_at;             /* test hook, builds with stop points only; "" none */
};

/* Takes both locks, binds, starts the zygote. On failure nothing is left behind and the
 * message names what holds a lock. */
int oc_server_open(const struct oc_server_options *o, struct oc_server **ret,
                   struct oc_error *err);
/* Serves until it is stopped and everything is closed. */
void oc_server_run(struct oc_server *s);
/* Drains: no new request, jobs go on; a second call stops them. From the server's thread,
 * as its own signal handlers do. */
void oc_server_stop(struct oc_server *s);
/* After oc_server_run(). 0, or OC_E_BUSY when something was still in the loop, which is a
 * bug. NULL is fine. */
int oc_server_free(struct oc_server *s);

#endif
