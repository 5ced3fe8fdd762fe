/* The processes that do the work: the zygote omcc-worker, its children, omcc-runner.
 *
 * The pool keeps `ahead` forked children waiting. A lease binds one child to one job: the
 * Plan goes out, answers come back as messages, and a child that goes away without its
 * last answer is reported with signal and the tail of its stderr. A zygote that dies is
 * started again (with a growing pause when it dies at once); leases wait for it
 * meanwhile.
 *
 * Each runner is a process of its own with frames on descriptor 3 and a private job
 * directory, which the pool makes and removes.
 *
 * Ownership: oc_pool_open / oc_pool_close (asynchronous, calls back when the last handle
 * is gone). Leases and runs are named by job id, one of each kind per job at a time.
 * Thread: the loop's. Events come from the loop, never from inside a call. */
#ifndef OC_POOL_POOL_H
#define OC_POOL_POOL_H

#include <sys/resource.h>
#include <uv.h>

#include "base/error.h"
#include "frame/frame.h"
#include "messages/messages.h"
#include "telemetry/telemetry.h"

struct oc_pool;

/* How a process ended without its last answer. */
struct oc_death {
  uint32_t pid;
  int signal;    /* 0 when it exited */
  int exit_code; /* -1 when unknown */
  uint64_t max_rss_bytes;
  const char *tail; /* last lines of its stderr, "" when silent; valid during the call */
};

struct oc_pool_events {
  /* An answer of the job's child. Descriptors belong to `f` until taken. After Unplanned,
   * Built, Failed or Verified the lease is over. */
  void (*worker)(void *ctx, uint64_t job, const Omcc__V1__FromWorker *m,
                 struct oc_frame *f);
  void (*worker_died)(void *ctx, uint64_t job, const struct oc_death *how);
  /* After RunDone without `more`, or run_died, the run is over. */
  void (*runner)(void *ctx, uint64_t job, const Omcc__V1__FromRunner *m,
                 struct oc_frame *f);
  void (*runner_died)(void *ctx, uint64_t job, const struct oc_death *how);
  /* The zygote has read the tables, or says what is wrong with them (`error` not ""). */
  void (*ready)(void *ctx, const Omcc__V1__Ready *ready);
};

/* A table file as it was digested: a sealed memfd. */
struct oc_pool_table {
  const char *name; /* "soc/ascend310p.yaml" */
  int fd;
};

struct oc_pool_options {
  uv_loop_t *loop;
  const struct oc_log *log;
  const struct oc_pool_events *events;
  void *ctx;
  int worker_fd; /* the digested binary, executed through this descriptor; borrowed */
  const char *runner_path;            /* "" when there is none: oc_pool_run fails */
  const char *jobs_dir;               /* where job directories are made */
  const struct oc_pool_table *tables; /* borrowed for the pool's life */
  size_t n_tables;
  unsigned ahead;       /* children kept waiting */
  uint32_t memory_mb;   /* limit of one child, 0: none */
  struct rlimit nofile; /* given to children: what the daemon itself was started with */
};

int oc_pool_open(const struct oc_pool_options *o, struct oc_pool **ret,
                 struct oc_error *err);
/* Kills what still works; `on_closed` (may be NULL) is called when no handle is left. */
void oc_pool_close(struct oc_pool *p, void (*on_closed)(void *ctx), void *ctx);

/* Queues `plan` (descriptors are duplicated) for the next free child. */
int oc_pool_lease(struct oc_pool *p, uint64_t job, const Omcc__V1__ToWorker *plan,
                  const int *fds, size_t n_fds, struct oc_error *err);
/* MoreFiles or Build to the job's child. OC_E_CLOSED when it is gone (its death follows).
 */
int oc_pool_tell(struct oc_pool *p, uint64_t job, const Omcc__V1__ToWorker *m,
                 const int *fds, size_t n_fds, struct oc_error *err);
/* Ends the lease; no event follows. `kill`: SIGKILL instead of Release. */
void oc_pool_release(struct oc_pool *p, uint64_t job, bool kill);

/* Starts a runner and sends `run` with job_dir filled in; `fds` are the frame's. */
int oc_pool_run(struct oc_pool *p, uint64_t job, Omcc__V1__Run *run, const int *fds,
                size_t n_fds, struct oc_error *err);
/* MoreFiles to the job's runner. OC_E_CLOSED when it is gone (its death follows). */
int oc_pool_tell_runner(struct oc_pool *p, uint64_t job, const Omcc__V1__ToRunner *m,
                        const int *fds, size_t n_fds, struct oc_error *err);
/* Stop, then SIGKILL after a second; no event follows. */
void oc_pool_stop_run(struct oc_pool *p, uint64_t job);

/* Removes job directories that an earlier life left behind, and `jobs_dir` itself.
 * Blocks. */
void oc_pool_clear_jobs(const char *jobs_dir);

struct oc_pool_worker {
  uint32_t pid;
  const char *state; /* "waiting", "planning", "planned", "building", "running" */
  uint64_t job;      /* 0 when waiting */
};
/* Fills up to `n`; returns how many there are. */
size_t oc_pool_workers(const struct oc_pool *p, struct oc_pool_worker *ret, size_t n);

#endif
