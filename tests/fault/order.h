/* What the files of the shim share: libc's own functions, and the order's answer. */
#ifndef OMCC_FAULT_ORDER_H
#define OMCC_FAULT_ORDER_H

#include <stddef.h>
#include <sys/types.h>

#include "fault.h"

struct real_calls {
  int (*open)(const char *path, int flags, ...);
  int (*openat)(int dir, const char *path, int flags, ...);
  int (*mkostemp)(char *path, int flags);
  ssize_t (*read)(int fd, void *to, size_t len);
  ssize_t (*pread)(int fd, void *to, size_t len, off_t at);
  ssize_t (*write)(int fd, const void *from, size_t len);
  ssize_t (*pwrite)(int fd, const void *from, size_t len, off_t at);
  int (*fsync)(int fd);
  int (*fdatasync)(int fd);
  int (*ftruncate)(int fd, off_t len);
  int (*fallocate)(int fd, int mode, off_t at, off_t len);
  int (*rename)(const char *from, const char *to);
  int (*renameat)(int from_dir, const char *from, int to_dir, const char *to);
  int (*linkat)(int from_dir, const char *from, int to_dir, const char *to, int flags);
  int (*unlink)(const char *path);
  int (*unlinkat)(int dir, const char *path, int flags);
  int (*mkdir)(const char *path, mode_t mode);
  int (*mkdirat)(int dir, const char *path, mode_t mode);
  void *(*mmap)(void *at, size_t len, int prot, int flags, int fd, off_t offset);
};
extern struct real_calls real;

enum verdict {
  GO_ON,
  FAIL, /* errno is set */
  HALF,
  LAST, /* go on, then order_last() */
};

/* The order of OMCC_FAULT, when there is one. */
void order_load(void);
/* True when calls of this class are counted now; a cheap first question. */
bool order_waits(enum fault_class class);
/* Whether the file (path NULL: of the descriptor `dir`) is meant. */
bool order_concerns(int dir, const char *path);
/* Counts the call and says what is to become of it. */
enum verdict order_ask(const char *call);
void order_last(enum verdict v);

/* The absolute name of a descriptor, or of a path below a directory. */
bool place_of_fd(int fd, char *ret, size_t room);
bool place_of(int dir, const char *path, char *ret, size_t room);

#endif
