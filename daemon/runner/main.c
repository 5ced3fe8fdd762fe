/* The program omcc-runner; see runner.h. It has no options: who starts it by hand is told
 * so. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "runner/runner.h"

#define DAEMON_FD 3

int main(void)
{
  int type = 0;
  socklen_t len = sizeof(type);

  if (getsockopt(DAEMON_FD, SOL_SOCKET, SO_TYPE, &type, &len) < 0 ||
      type != SOCK_STREAM) {
    fputs("omcc-runner: started by omccd, not by hand\n", stderr);
    return 1;
  }
  signal(SIGPIPE, SIG_IGN);
  prctl(PR_SET_NAME, "omcc-runner"); /* also when it was run from a descriptor */
  return oc_runner_serve(DAEMON_FD);
}
