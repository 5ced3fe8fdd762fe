/* The order: where it lies, and whether the call at hand is the one that is meant. */
#include "order.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct fault_order *order;

static struct fault_order *map(int fd, int flags)
{
  void *p = real.mmap(NULL, sizeof(*order), PROT_READ | PROT_WRITE, flags, fd, 0);

  return p == MAP_FAILED ? NULL : p;
}

void order_load(void)
{
  const char *path = getenv("OMCC_FAULT"), *program = getenv("OMCC_FAULT_PROGRAM");
  int fd;

  if (!path || (program && strcmp(program, program_invocation_short_name) != 0))
    return;
  fd = real.open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0)
    return;
  order = map(fd, MAP_SHARED);
  close(fd);
}

struct fault_order *fault_share(void)
{
  if (!order) {
    order = map(-1, MAP_SHARED | MAP_ANONYMOUS);
    if (!order)
      abort();
  }
  return order;
}

void fault_arm(struct fault_order *o, enum fault_mode mode, unsigned nth)
{
  o->mode = mode;
  o->nth = nth;
  atomic_store(&o->seen, 0);
  atomic_store(&o->fired, 0);
  o->call[0] = '\0';
  atomic_store(&o->armed, 1);
}

void fault_disarm(struct fault_order *o)
{
  atomic_store(&o->armed, 0);
}

bool order_waits(enum fault_class class)
{
  return order && atomic_load(&order->armed) && (order->classes & class);
}

static bool starts_with_place(const char *path)
{
  size_t len = strlen(order->under);

  return strncmp(path, order->under, len) == 0 &&
         (path[len] == '/' || path[len] == '\0' || len == 0);
}

bool place_of_fd(int fd, char *ret, size_t room)
{
  char self[48];

  snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
  ssize_t n = readlink(self, ret, room - 1);
  ret[n > 0 ? n : 0] = '\0';
  return n > 0;
}

bool place_of(int dir, const char *path, char *ret, size_t room)
{
  size_t len = 0;

  ret[0] = '\0';
  if (path[0] != '/') {
    if (dir == AT_FDCWD ? !getcwd(ret, room) : !place_of_fd(dir, ret, room))
      return false;
    len = strlen(ret);
    if (len + 1 < room)
      ret[len++] = '/';
  }
  snprintf(ret + len, room - len, "%s", path);
  return true;
}

bool order_concerns(int dir, const char *path)
{
  char place[4096];

  if (!order->under[0])
    return true;
  if (path ? !place_of(dir, path, place, sizeof(place))
           : !place_of_fd(dir, place, sizeof(place)))
    return false;
  return starts_with_place(place);
}

static bool is_mine(const char *call)
{
  uint32_t seen = atomic_fetch_add(&order->seen, 1) + 1;

  if (seen != order->nth && !(order->sticky && seen > order->nth))
    return false;
  if (order->mode == FAULT_NONE)
    return false;
  if (atomic_fetch_add(&order->fired, 1) == 0)
    snprintf(order->call, sizeof(order->call), "%s", call);
  return true;
}

enum verdict order_ask(const char *call)
{
  if (!is_mine(call))
    return GO_ON;
  switch (order->mode) {
  case FAULT_FAIL: errno = (int)order->error; return FAIL;
  case FAULT_SHORT: return HALF;
  case FAULT_KILL_BEFORE: kill(getpid(), SIGKILL); return FAIL;
  case FAULT_KILL_AFTER: return LAST;
  default: return GO_ON;
  }
}

void order_last(enum verdict v)
{
  if (v == LAST)
    kill(getpid(), SIGKILL);
}
