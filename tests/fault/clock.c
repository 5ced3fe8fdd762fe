/* A wall clock that a test sets: stands before a program (LD_PRELOAD) and adds what the
 * file named by OMCC_CLOCK says, seconds as a signed 64-bit number. The file is mapped,
 * so the test moves the clock of a whole tree of processes by writing to it. The other
 * clocks are left alone, as they are when somebody sets a machine's time; so are the
 * times of files, which are the kernel's: these then lie in the past or the future. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SHOWN __attribute__((visibility("default")))

static int (*real_gettime)(clockid_t, struct timespec *);
static const volatile int64_t *ahead;

__attribute__((constructor(101))) static void begin(void)
{
  const char *path = getenv("OMCC_CLOCK");
  union {
    void *data;
    int (*call)(clockid_t, struct timespec *);
  } u = { .data = dlsym(RTLD_NEXT, "clock_gettime") };

  if (!u.data)
    abort();
  real_gettime = u.call;
  int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (fd < 0)
    return;
  void *p = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  if (p != MAP_FAILED)
    ahead = p;
}

SHOWN int clock_gettime(clockid_t clock, struct timespec *ret)
{
  if (!real_gettime)
    begin();
  int rc = real_gettime(clock, ret);
  if (rc == 0 && ahead && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
    ret->tv_sec += *ahead;
  return rc;
}

SHOWN time_t time(time_t *ret)
{
  struct timespec t;

  clock_gettime(CLOCK_REALTIME, &t);
  if (ret)
    *ret = t.tv_sec;
  return t.tv_sec;
}

SHOWN int gettimeofday(struct timeval *restrict ret, void *restrict zone)
{
  struct timespec t;

  (void)zone;
  clock_gettime(CLOCK_REALTIME, &t);
  ret->tv_sec = t.tv_sec;
  ret->tv_usec = t.tv_nsec / 1000;
  return 0;
}
