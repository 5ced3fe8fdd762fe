/* What the files of pool share: processes, children, leases, runs.
 *
 * Every struct with handles counts the open ones and frees itself in the last close
 * callback; the pool itself waits for all of them. */
#ifndef OC_POOL_INTERNAL_H
#define OC_POOL_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "pool/link.h"
#include "pool/pool.h"

/* What waits to be sent to one process: control frames only. */
#define POOL_WRITE_CAP (4u << 20)

/* ---- tail.c: a stderr pipe, logged by lines, its end kept */

#define TAIL_KEEP 2000

struct tail {
  uv_poll_t poll;
  const struct oc_log *log;
  const char *event; /* "worker_stderr" */
  uint32_t pid;
  int fd;
  char text[TAIL_KEEP + 1];
  size_t len;
  size_t logged; /* bytes of `text` already in the log */
  bool open, closing;
  void (*closed)(void *ctx);
  void *ctx;
};

/* Takes `fd` over, also on failure. */
int tail_open(struct tail *t, uv_loop_t *loop, int fd, const struct oc_log *log,
              const char *event, uint32_t pid, void (*closed)(void *ctx), void *ctx);
/* Reads what is still in the pipe; the text is valid until the tail is closed. */
const char *tail_text(struct tail *t);
void tail_close(struct tail *t);

/* ---- process.c: one spawned program with a socket on descriptor 3 */

struct process {
  uv_poll_t exit; /* a pidfd */
  struct tail err;
  int pidfd;
  pid_t pid;
  bool running;
  int status; /* wait status once not running */
  uint64_t max_rss_bytes;
  unsigned handles;
  void (*exited)(void *ctx);
  void (*closed)(void *ctx);
  void *ctx;
};

struct process_spec {
  uv_loop_t *loop;
  const struct oc_log *log;
  const char *path; /* what is executed */
  const char *name; /* argv[0] */
  const char *event;
  struct rlimit nofile;
  void (*exited)(void *ctx);
  void (*closed)(void *ctx); /* after process_close() */
  void *ctx;
};

/* `ret_fd` is our end of the socket. On failure nothing is left and `closed` never comes.
 */
int process_spawn(struct process *p, const struct process_spec *spec, int *ret_fd,
                  struct oc_error *err);
void process_kill(struct process *p, int signal);
void process_close(struct process *p);
/* Fills signal and exit code of a wait status. */
void death_of(int wait_status, struct oc_death *ret);

/* ---- the pool */

enum child_state {
  CHILD_STARTING, /* no Hello yet */
  CHILD_WAITING,
  CHILD_PLANNING,
  CHILD_PLANNED,
  CHILD_BUILDING,
  CHILD_ENDING, /* nobody's any more: gone soon, or killed */
};

struct child {
  struct oc_pool *pool;
  struct child *next;
  struct oc_link link;
  struct tail err;
  enum child_state state;
  uint32_t pid;
  int pidfd;
  uint64_t job; /* 0: none */
  bool has_err, link_over, gone;
  int status;
  uint64_t max_rss_bytes;
  uint64_t deadline; /* loop time when a child that ends is killed, or an ended link given
                        up */
  unsigned handles;
};

/* A lease that waits for a child. */
struct order {
  struct order *next;
  uint64_t job;
  struct oc_buf plan;
  int fds[OC_MAX_FRAME_FDS];
  size_t n_fds;
};

struct run {
  struct oc_pool *pool;
  struct run *next;
  struct process process;
  struct oc_link link;
  uint64_t job; /* 0: stopped or done, only its end is awaited */
  char *dir;
  uint64_t kill_at;
  unsigned handles;
  bool link_over, done;
};

struct oc_pool {
  struct oc_pool_options o;
  char *runner_path, *jobs_dir;
  int worker_fd;
  char worker_path[32]; /* /proc/self/fd/N */
  struct process zygote;
  struct oc_link link; /* to the zygote */
  uv_timer_t timer;    /* restart, and children or runners that do not end */
  bool zygote_up, zygote_ready, link_up, timer_open;
  char broken[244];      /* why there will be no zygote, "" when there is */
  unsigned quick_deaths; /* in a row, each soon after its start */
  uint64_t started_at, restart_at;
  unsigned forking; /* asked for, not yet announced */
  struct child *children;
  struct order *orders, **orders_end;
  struct run *runs;
  unsigned removing; /* job directories on the thread pool */
  bool closing, closed;
  void (*on_closed)(void *ctx);
  void *closed_ctx;
};

/* ---- zygote.c */
int zygote_start(struct oc_pool *p, struct oc_error *err);
void zygote_want_children(struct oc_pool *p);
void zygote_restart_if_due(struct oc_pool *p);

/* ---- child.c */
/* Takes both descriptors over; `err_fd` may be -1. */
void child_new(struct oc_pool *p, uint32_t pid, int fd, int err_fd);
void child_gone(struct oc_pool *p, uint32_t pid, int status, uint64_t max_rss_bytes);
/* The zygote has gone, and with it the news of its children. */
void children_orphaned(struct oc_pool *p);
void child_kill(struct child *c);
/* The lease is over: the child has a moment to exit. */
void child_end(struct child *c);
struct child *child_of_job(struct oc_pool *p, uint64_t job);
void children_check(struct oc_pool *p, uint64_t now);

/* ---- lease.c */
void lease_assign(struct oc_pool *p);
void lease_drop_all(struct oc_pool *p);
/* Reports every waiting lease as died. */
void lease_fail_all(struct oc_pool *p, const char *why);

/* ---- runner.c */
void runs_check(struct oc_pool *p, uint64_t now);
void runs_kill(struct oc_pool *p);

/* ---- job_dir.c */
/* A new private directory; free() the path. */
int job_dir_make(const char *parent, uint64_t job, char **ret, struct oc_error *err);
/* Removes it with all it holds, on libuv's threads. Takes `path`. */
void job_dir_remove(struct oc_pool *p, char *path);

/* ---- pool.c */
/* Something was closed: the pool may be through. */
void pool_check_closed(struct oc_pool *p);
/* Looks at deadlines after `ms`. */
void pool_wake_in(struct oc_pool *p, uint64_t ms);
uint64_t pool_now(struct oc_pool *p);

#endif
