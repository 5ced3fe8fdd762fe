/* How the shim writes the trace. Between trace_lock() and trace_unlock() lie the call and
 * its record. */
#ifndef OMCC_FAULT_TRACE_WRITE_H
#define OMCC_FAULT_TRACE_WRITE_H

#include "trace.h"

bool trace_on(void);
void trace_lock(void);
void trace_unlock(void);
/* Whether the descriptor's file lies below the traced directory. */
bool trace_concerns(int fd);
void trace_fd(enum trace_kind kind, int fd, uint64_t at, const void *data, size_t len);
void trace_path(enum trace_kind kind, int dir, const char *path, uint64_t inode);
void trace_unnamed(int fd);
void trace_rename(int from_dir, const char *from, int to_dir, const char *to);

#endif
