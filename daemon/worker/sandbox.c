/* What a child gives up before it reads a user's bytes.
 *
 * The parent-death signal is set first and the parent checked afterwards: a zygote that
 * died in between would otherwise leave an orphan. Resource limits bound a hostile model:
 * no core dump (it would hold the model), few descriptors, optionally a data limit. The
 * system call filter comes on top of this later; code after this point already keeps to
 * what such a filter allows: no path is opened, nothing is executed, one thread is made.
 */
#include "worker/worker_internal.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Standard streams, the job's socket, the model, external data files, lists, output,
 * report. */
#define OC_CHILD_MAX_FDS (OC_MAX_EXTERNAL_FILES + 64)

/* The frame that the SIGBUS handler writes: made before the handler is installed, since a
 * handler may not allocate. File scope because a signal handler has no other argument. */
static uint8_t sigbus_frame[OC_FRAME_HEADER + 512];
static size_t sigbus_frame_len;
static int sigbus_fd = -1;

static int limit(int resource, rlim_t value, const char *what, struct oc_error *err)
{
  struct rlimit now;

  if (getrlimit(resource, &now) < 0)
    return oc_error_errno(err, OC_E_IO, "cannot read the limit on %s", what);
  if (now.rlim_max != RLIM_INFINITY && value > now.rlim_max)
    value = now.rlim_max;
  struct rlimit wanted = { .rlim_cur = value, .rlim_max = value };
  if (setrlimit(resource, &wanted) < 0)
    return oc_error_errno(err, OC_E_IO, "cannot limit %s", what);
  return 0;
}

static int close_all_but(int keep_fd, struct oc_error *err)
{
  if (keep_fd > STDERR_FILENO + 1 &&
      close_range(STDERR_FILENO + 1, (unsigned)keep_fd - 1, 0) < 0)
    return oc_error_errno(err, OC_E_IO, "cannot close inherited descriptors");
  if (close_range((unsigned)keep_fd + 1, ~0u, 0) < 0)
    return oc_error_errno(err, OC_E_IO, "cannot close inherited descriptors");
  return 0;
}

int oc_sandbox_enter(int keep_fd, int parent_pid, uint32_t memory_mb,
                     struct oc_error *err)
{
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
    return oc_error_errno(err, OC_E_IO, "cannot ask to die with the zygote");
  if (getppid() != parent_pid)
    return oc_error_set(err, OC_E_CLOSED, "the zygote died before its child was ready");
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
    return oc_error_errno(err, OC_E_IO, "cannot give up new privileges");
  if (chdir("/") < 0)
    return oc_error_errno(err, OC_E_IO, "cannot leave the working directory");
  umask(077);
  int r = close_all_but(keep_fd, err);
  if (r == 0)
    r = limit(RLIMIT_CORE, 0, "core dumps", err);
  if (r == 0)
    r = limit(RLIMIT_NOFILE, OC_CHILD_MAX_FDS, "descriptors", err);
  if (r == 0 && memory_mb > 0)
    r = limit(RLIMIT_DATA, (rlim_t)memory_mb << 20, "memory", err);
  return r;
}

/* write(2) and _exit(2) only. The frame is short: a stream socket with an empty queue
 * takes it whole, and a daemon that reads a part of it treats the child as dead, which it
 * is. */
static void on_sigbus(int sig)
{
  (void)sig;
  ssize_t n = write(sigbus_fd, sigbus_frame, sigbus_frame_len);
  _exit(n == (ssize_t)sigbus_frame_len ? 0 : 1);
}

static int make_sigbus_frame(struct oc_error *err)
{
  Omcc__V1__Failed failed = OMCC__V1__FAILED__INIT;
  Omcc__V1__FromWorker message = OMCC__V1__FROM_WORKER__INIT;
  uint32_t magic = OC_FRAME_MAGIC;

  failed.code = (char *)"input_changed";
  failed.message = (char *)"an input file was shortened while it was read";
  message.body_case = OMCC__V1__FROM_WORKER__BODY_FAILED;
  message.failed = &failed;
  size_t len = omcc__v1__from_worker__get_packed_size(&message);
  if (len > sizeof sigbus_frame - OC_FRAME_HEADER)
    return oc_error_set(err, OC_E_LIMIT, "the message for a shortened input is too long");
  memset(sigbus_frame, 0, OC_FRAME_HEADER);
  for (int i = 0; i < 4; i++) {
    sigbus_frame[i] = (uint8_t)(magic >> (8 * i));
    sigbus_frame[8 + i] = (uint8_t)(len >> (8 * i));
  }
  sigbus_frame[4] = OC_FRAME_VERSION;
  omcc__v1__from_worker__pack(&message, sigbus_frame + OC_FRAME_HEADER);
  sigbus_frame_len = OC_FRAME_HEADER + len;
  return 0;
}

int oc_sandbox_catch_sigbus(int fd, struct oc_error *err)
{
  struct sigaction action = { .sa_handler = on_sigbus };

  int r = make_sigbus_frame(err);
  if (r < 0)
    return r;
  sigbus_fd = fd;
  sigemptyset(&action.sa_mask);
  if (sigaction(SIGBUS, &action, NULL) < 0)
    return oc_error_errno(err, OC_E_IO, "cannot catch SIGBUS");
  return 0;
}
