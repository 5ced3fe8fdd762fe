/* The trace: what a program did to files below one directory, in the order in which it
 * was done, with the bytes. The model of a disk (disk.h) reads it.
 *
 * A record is a struct trace_record, then `name_len` bytes of name and `len` bytes of
 * data. Files and directories go by inode number. */
#ifndef OMCC_FAULT_TRACE_H
#define OMCC_FAULT_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum trace_kind {
  TRACE_NEW_FILE = 1, /* `inode`, in `dir` under its name; without a name when dir is 0 */
  TRACE_NEW_DIR,
  TRACE_WRITE, /* `len` bytes at `at` */
  TRACE_SIZE,  /* cut or grown to `at` */
  TRACE_SYNC,  /* of a file or of a directory */
  TRACE_LINK,  /* `inode` gets a name in `dir` */
  TRACE_UNLINK,
  TRACE_RENAME, /* from `dir`, `name`, to `other_dir`, the name after the NUL */
  TRACE_MARK,   /* the program says `at`: from here on something is promised */
};

struct trace_record {
  uint32_t kind, name_len;
  uint64_t inode, dir, other_dir, at, len;
};

#pragma GCC visibility push(default)
/* Begins to write down what happens below `under` into the file; the directory exists. */
void trace_start(const char *under, const char *file);
void trace_stop(void);
void trace_mark(uint64_t what);
#pragma GCC visibility pop

#endif
