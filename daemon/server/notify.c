/* The service manager's protocol, by hand: one datagram per message. */
#include "server/server_internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"

void notify_say(const char *text)
{
  const char *path = getenv("NOTIFY_SOCKET");
  struct sockaddr_un addr = { .sun_family = AF_UNIX };
  size_t len = path ? strlen(path) : 0;
  auto_close int fd = -1;

  if (!len || len >= sizeof(addr.sun_path) || (path[0] != '/' && path[0] != '@'))
    return;
  memcpy(addr.sun_path, path, len);
  if (addr.sun_path[0] == '@')
    addr.sun_path[0] = '\0'; /* the abstract name space */
  fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0)
    return;
  sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&addr,
         (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
}

/* Half of what the manager allows, 0 when it does not watch this process. */
uint64_t notify_watchdog_ms(void)
{
  const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
  uint64_t us, who;

  if (!usec || !oc_str_to_u64(oc_str_of(usec), &us))
    return 0;
  if (pid && (!oc_str_to_u64(oc_str_of(pid), &who) || who != (uint64_t)getpid()))
    return 0;
  return us / 2000;
}
