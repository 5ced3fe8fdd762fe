/* The daemon's side of a runner, for tests: starts the program, sends a Run, gathers the
 * answers. */
#ifndef OC_TEST_DAEMON_H
#define OC_TEST_DAEMON_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "frame/frame.h"
#include "messages/messages.h"

struct got_member {
  char name[128];
  char kind[16];
  uint32_t mode;
  uint64_t size;
  int fd;
};

/* One runner and what it has said. */
struct runner {
  pid_t pid;
  struct oc_channel *channel;
  char dir[256]; /* job directory */
  struct oc_buf out, err;
  bool done, closed;
  int32_t exit_status;
  uint32_t signal;
  bool timed_out, out_of_memory;
  uint64_t peak_rss_bytes, elapsed_ms;
  unsigned progress, done_frames;
  char error[256];
  struct got_member members[64];
  size_t n_members;
};

/* What a Run is made of; strings are "name=value". */
struct order {
  const char *toolkit; /* NULL: the stand-in */
  const char *flags[16];
  const char *env[16];
  struct {
    const char *flag, *name, *text;
  } files[8];
  struct {
    const char *name, *text;
  } external[4];
  uint64_t memory_limit_bytes, time_limit_ms;
  bool more;
  const char *job_dir; /* NULL: a fresh one */
};

void runner_start(struct runner *r, const struct order *o);
/* Sends one MoreFiles frame. */
void runner_more(struct runner *r, const char *const *names, size_t n, bool last);
void runner_stop(struct runner *r);
/* Takes frames until RunDone, the end of the socket, or the time is over. */
#define PATIENCE_MS 120000 /* for what hangs */
void runner_wait(struct runner *r, int timeout_ms);
/* Waits for the process; its exit status, -signal, or 1000 when it did not end in time.
 */
int runner_exit(struct runner *r, int timeout_ms);
void runner_clear(struct runner *r);

/* Processes whose environment names this job directory. */
size_t processes_of(const struct runner *r);
/* Waits until there is none; false when some are left after `timeout_ms`. */
bool processes_gone(const struct runner *r, int timeout_ms);
char *read_fd(int fd, size_t *ret_len);

#endif
