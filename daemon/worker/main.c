/* omcc-worker: started by omccd only, with its socket on descriptor 3. Reads no argument
 * but --version, no environment, no configuration. */
#include "worker/worker.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/str.h"

static bool is_socket(int fd)
{
  int type = 0;
  socklen_t len = sizeof type;

  return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_STREAM;
}

int main(int argc, char **argv)
{
  if (argc == 2 && oc_streq(argv[1], "--version")) {
    printf("omcc-worker %s\n", OMCC_VERSION);
    return 0;
  }
  if (!is_socket(OC_WORKER_FD)) {
    fprintf(stderr, "omcc-worker: this program is started by omccd, not by hand\n");
    return 2;
  }
  /* The daemon's end of the socket closes when it dies; the signal covers a daemon that
   * is killed while a child of ours still holds nothing of it. */
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  /* Run from a descriptor, so that its name would be the descriptor's number. */
  prctl(PR_SET_NAME, "omcc-worker");
  return oc_worker_serve(OC_WORKER_FD);
}
