/* A model of a disk that loses power. It plays a trace (trace.h) up to some record and
 * keeps apart what was synced and what was not; then it writes the files as they may be
 * found after the power has come back: what was synced, and any choice of the rest.
 *
 * Nothing is assumed of a file system but what POSIX says: fsync of a file keeps its
 * bytes and size, fsync of a directory keeps its names; whatever was done since may be
 * there or not, each piece for itself, and a write may be torn at a sector. */
#ifndef OMCC_FAULT_DISK_H
#define OMCC_FAULT_DISK_H

#include <stddef.h>
#include <stdint.h>

#include "trace.h"

struct disk_trace {
  char *bytes;
  size_t n;
  const struct trace_record **records; /* name and data follow each */
};
/* Reads a trace whole; fails the test when it cannot. `root` is the traced directory's
 * inode. */
void disk_trace_read(const char *file, struct disk_trace *ret);
void disk_trace_clear(struct disk_trace *t);

enum disk_choice {
  DISK_NOTHING, /* nothing that was not synced */
  DISK_ALL,     /* everything: as after a kill */
  DISK_SOME,    /* by lot, torn writes too */
};
/* The first `n` records happened, then the power went. Writes what is found into the
 * empty directory `to`. Returns how many unsynced pieces there were. */
size_t disk_after(const struct disk_trace *t, uint64_t root, size_t n,
                  enum disk_choice choice, uint32_t seed, const char *to);

#endif
