/* The calls that stand before libc's: each asks the order, does what libc does, and
 * writes down what it did when there is a trace. Names with 64 are the same calls: a
 * file's size has 64 bits here in any case. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "order.h"
#include "trace_write.h"

#define SHOWN __attribute__((visibility("default")))
/* The same function under the name that programs with large files call. */
#define ALSO(name, other)                                                                \
  extern __typeof(name) other __attribute__((alias(#name), visibility("default")))

struct real_calls real;

static void *of_libc(const char *name)
{
  void *p = dlsym(RTLD_NEXT, name);

  if (!p)
    abort();
  return p;
}

/* A pointer to data cannot be assigned to one to a function; a union shows the same bits.
 */
#define TAKE(name)                                                                       \
  do {                                                                                   \
    union {                                                                              \
      void *data;                                                                        \
      __typeof(real.name) call;                                                          \
    } u = { .data = of_libc(#name) };                                                    \
    real.name = u.call;                                                                  \
  } while (0)

__attribute__((constructor(101))) static void begin(void)
{
  if (real.open)
    return;
  TAKE(openat);
  TAKE(mkostemp);
  TAKE(read);
  TAKE(pread);
  TAKE(write);
  TAKE(pwrite);
  TAKE(fsync);
  TAKE(fdatasync);
  TAKE(ftruncate);
  TAKE(fallocate);
  TAKE(rename);
  TAKE(renameat);
  TAKE(linkat);
  TAKE(unlink);
  TAKE(unlinkat);
  TAKE(mkdir);
  TAKE(mkdirat);
  TAKE(mmap);
  TAKE(open);
  order_load();
}

static enum verdict ask(enum fault_class class, const char *call, int dir,
                        const char *path)
{
  if (!real.open)
    begin();
  if (!order_waits(class))
    return GO_ON;
  int was = errno;
  bool mine = order_concerns(dir, path);
  errno = was;
  return mine ? order_ask(call) : GO_ON;
}

/* ---------------------------------------------------------------- opening */

static int traced_open(int dir, const char *path, int flags, mode_t mode)
{
  struct stat st;
  bool unnamed = (flags & O_TMPFILE) == O_TMPFILE;

  if (!trace_on() || !(flags & (O_CREAT | O_TRUNC) || unnamed))
    return real.openat(dir, path, flags, mode);
  trace_lock();
  bool is_new = !unnamed && fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) < 0;
  int fd = real.openat(dir, path, flags, mode);
  if (fd >= 0 && trace_concerns(fd)) {
    fstat(fd, &st);
    if (unnamed)
      trace_unnamed(fd);
    else if (is_new)
      trace_path(TRACE_NEW_FILE, dir, path, st.st_ino);
    else if (flags & O_TRUNC)
      trace_fd(TRACE_SIZE, fd, 0, NULL, 0);
  }
  trace_unlock();
  return fd;
}

static int any_open(int dir, const char *path, int flags, mode_t mode)
{
  enum verdict v = ask(FAULT_OPEN, "open", dir, path);

  if (v == FAIL)
    return -1;
  int fd = traced_open(dir, path, flags, mode);
  order_last(v);
  return fd;
}

static mode_t mode_of(int flags, va_list args)
{
  return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE
             ? (mode_t)va_arg(args, unsigned)
             : 0;
}

SHOWN int open(const char *path, int flags, ...)
{
  va_list args;

  va_start(args, flags);
  mode_t mode = mode_of(flags, args);
  va_end(args);
  return any_open(AT_FDCWD, path, flags, mode);
}
ALSO(open, open64);

SHOWN int openat(int dir, const char *path, int flags, ...)
{
  va_list args;

  va_start(args, flags);
  mode_t mode = mode_of(flags, args);
  va_end(args);
  return any_open(dir, path, flags, mode);
}
ALSO(openat, openat64);

SHOWN int mkostemp(char *path, int flags)
{
  struct stat st;
  enum verdict v = ask(FAULT_OPEN, "mkostemp", AT_FDCWD, path);

  if (v == FAIL)
    return -1;
  trace_lock();
  int fd = real.mkostemp(path, flags);
  if (fd >= 0 && trace_concerns(fd) && fstat(fd, &st) == 0)
    trace_path(TRACE_NEW_FILE, AT_FDCWD, path, st.st_ino);
  trace_unlock();
  order_last(v);
  return fd;
}
ALSO(mkostemp, mkostemp64);

/* ---------------------------------------------------------------- reading and writing */

SHOWN ssize_t read(int fd, void *to, size_t len)
{
  enum verdict v = ask(FAULT_READ, "read", fd, NULL);

  if (v == FAIL)
    return -1;
  ssize_t n = real.read(fd, to, v == HALF && len > 1 ? len / 2 : len);
  order_last(v);
  return n;
}

SHOWN ssize_t pread(int fd, void *to, size_t len, off_t at)
{
  enum verdict v = ask(FAULT_READ, "pread", fd, NULL);

  if (v == FAIL)
    return -1;
  ssize_t n = real.pread(fd, to, v == HALF && len > 1 ? len / 2 : len, at);
  order_last(v);
  return n;
}
ALSO(pread, pread64);

static ssize_t traced_write(int fd, const void *from, size_t len, off_t at, bool placed)
{
  if (!trace_concerns(fd))
    return placed ? real.pwrite(fd, from, len, at) : real.write(fd, from, len);
  trace_lock();
  if (!placed)
    at = lseek(fd, 0, SEEK_CUR);
  ssize_t n = placed ? real.pwrite(fd, from, len, at) : real.write(fd, from, len);
  if (n > 0)
    trace_fd(TRACE_WRITE, fd, (uint64_t)at, from, (size_t)n);
  trace_unlock();
  return n;
}

SHOWN ssize_t write(int fd, const void *from, size_t len)
{
  enum verdict v = ask(FAULT_WRITE, "write", fd, NULL);

  if (v == FAIL)
    return -1;
  ssize_t n = traced_write(fd, from, v == HALF && len > 1 ? len / 2 : len, 0, false);
  order_last(v);
  return n;
}

SHOWN ssize_t pwrite(int fd, const void *from, size_t len, off_t at)
{
  enum verdict v = ask(FAULT_WRITE, "pwrite", fd, NULL);

  if (v == FAIL)
    return -1;
  ssize_t n = traced_write(fd, from, v == HALF && len > 1 ? len / 2 : len, at, true);
  order_last(v);
  return n;
}
ALSO(pwrite, pwrite64);

/* ---------------------------------------------------------------- syncs and sizes */

static int any_sync(int fd, const char *call, int (*sync)(int fd))
{
  enum verdict v = ask(FAULT_SYNC, call, fd, NULL);

  if (v == FAIL)
    return -1;
  bool traced = trace_concerns(fd);
  if (traced)
    trace_lock();
  int rc = sync(fd);
  if (traced) {
    if (rc == 0)
      trace_fd(TRACE_SYNC, fd, 0, NULL, 0);
    trace_unlock();
  }
  order_last(v);
  return rc;
}

SHOWN int fsync(int fd)
{
  return any_sync(fd, "fsync", real.fsync);
}

SHOWN int fdatasync(int fd)
{
  return any_sync(fd, "fdatasync", real.fdatasync);
}

static int traced_size(int fd, int rc, uint64_t size)
{
  if (rc == 0 && trace_concerns(fd))
    trace_fd(TRACE_SIZE, fd, size, NULL, 0);
  return rc;
}

SHOWN int ftruncate(int fd, off_t len)
{
  enum verdict v = ask(FAULT_SIZE, "ftruncate", fd, NULL);

  if (v == FAIL)
    return -1;
  trace_lock();
  int rc = traced_size(fd, real.ftruncate(fd, len), (uint64_t)len);
  trace_unlock();
  order_last(v);
  return rc;
}
ALSO(ftruncate, ftruncate64);

SHOWN int fallocate(int fd, int mode, off_t at, off_t len)
{
  struct stat st;
  enum verdict v = ask(FAULT_SIZE, "fallocate", fd, NULL);

  if (v == FAIL)
    return -1;
  trace_lock();
  int rc = real.fallocate(fd, mode, at, len);
  if (rc == 0 && fstat(fd, &st) == 0)
    traced_size(fd, rc, (uint64_t)st.st_size);
  trace_unlock();
  order_last(v);
  return rc;
}
ALSO(fallocate, fallocate64);

/* ---------------------------------------------------------------- names */

SHOWN int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
  enum verdict v = ask(FAULT_NAME, "renameat", to_dir, to);

  if (v == FAIL)
    return -1;
  trace_lock();
  int rc = real.renameat(from_dir, from, to_dir, to);
  if (rc == 0 && trace_on())
    trace_rename(from_dir, from, to_dir, to);
  trace_unlock();
  order_last(v);
  return rc;
}

SHOWN int rename(const char *from, const char *to)
{
  return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

SHOWN int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
  struct stat st;
  enum verdict v = ask(FAULT_NAME, "linkat", to_dir, to);

  if (v == FAIL)
    return -1;
  trace_lock();
  int rc = real.linkat(from_dir, from, to_dir, to, flags);
  if (rc == 0 && trace_on() && fstatat(to_dir, to, &st, AT_SYMLINK_NOFOLLOW) == 0)
    trace_path(TRACE_LINK, to_dir, to, st.st_ino);
  trace_unlock();
  order_last(v);
  return rc;
}

SHOWN int unlinkat(int dir, const char *path, int flags)
{
  enum verdict v = ask(FAULT_NAME, "unlinkat", dir, path);

  if (v == FAIL)
    return -1;
  trace_lock();
  int rc = real.unlinkat(dir, path, flags);
  if (rc == 0 && trace_on())
    trace_path(TRACE_UNLINK, dir, path, 0);
  trace_unlock();
  order_last(v);
  return rc;
}

SHOWN int unlink(const char *path)
{
  return unlinkat(AT_FDCWD, path, 0);
}

SHOWN int mkdirat(int dir, const char *path, mode_t mode)
{
  struct stat st;
  enum verdict v = ask(FAULT_NAME, "mkdirat", dir, path);

  if (v == FAIL)
    return -1;
  trace_lock();
  int rc = real.mkdirat(dir, path, mode);
  if (rc == 0 && trace_on() && fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) == 0)
    trace_path(TRACE_NEW_DIR, dir, path, st.st_ino);
  trace_unlock();
  order_last(v);
  return rc;
}

SHOWN int mkdir(const char *path, mode_t mode)
{
  return mkdirat(AT_FDCWD, path, mode);
}

SHOWN void *mmap(void *at, size_t len, int prot, int flags, int fd, off_t offset)
{
  enum verdict v = fd >= 0 ? ask(FAULT_MAP, "mmap", fd, NULL) : GO_ON;

  if (!real.open)
    begin();
  if (v == FAIL)
    return MAP_FAILED;
  void *p = real.mmap(at, len, prot, flags, fd, offset);
  order_last(v);
  return p;
}
ALSO(mmap, mmap64);
