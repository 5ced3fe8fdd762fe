/* Faults on order: a library that stands between a program and libc, counts the calls
 * that change files (or take memory), and lets the Nth of them fail, be cut short, or be
 * the last thing that the program does.
 *
 * A test links the library, or puts it before a program with LD_PRELOAD; then the order
 * is in the file that OMCC_FAULT names (struct fault_order) and concerns the program
 * whose name OMCC_FAULT_PROGRAM gives. Without an order every call goes through.
 *
 * Beside this the library can write down what a program does to files, in the order in
 * which it is done: trace.h. */
#ifndef OMCC_FAULT_H
#define OMCC_FAULT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum fault_class {
  FAULT_OPEN = 1,
  FAULT_WRITE = 2,
  FAULT_SYNC = 4,
  FAULT_NAME = 8, /* rename, link, unlink, mkdir */
  FAULT_SIZE = 16,
  FAULT_MAP = 32,
  FAULT_READ = 64,
  FAULT_FILES = 127, /* all of these */
  FAULT_MEMORY = 128,
};

enum fault_mode {
  FAULT_NONE,  /* counts only */
  FAULT_FAIL,  /* -1 with `error` */
  FAULT_SHORT, /* writes do half of it; other calls go through */
  FAULT_KILL_BEFORE,
  FAULT_KILL_AFTER,
};

/* Lies in shared memory, so that what a killed child did can be read by its parent. Only
 * calls about files below `under` count (all when it is empty); memory always counts. */
struct fault_order {
  uint32_t mode, error, classes, nth;
  uint32_t sticky; /* every call from the Nth on */
  _Atomic uint32_t armed, seen, fired;
  char under[256];
  char call[32]; /* the first that was hit */
};

#pragma GCC visibility push(default)
/* Where the order lies: shared with children that are forked later. */
struct fault_order *fault_share(void);
/* Sets the counters back and begins to count. */
void fault_arm(struct fault_order *o, enum fault_mode mode, unsigned nth);
void fault_disarm(struct fault_order *o);
#pragma GCC visibility pop

#endif
