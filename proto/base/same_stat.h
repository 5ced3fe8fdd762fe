/* Whether a file is still what it was. */
#ifndef OC_BASE_SAME_STAT_H
#define OC_BASE_SAME_STAT_H

#include <stdbool.h>
#include <sys/stat.h>

/* Same file, same size, same times of its bytes and of its inode, to the nanosecond. What
 * a shared mapping writes may change none of these for seconds. Thread: any. */
bool oc_same_stat(const struct stat *a, const struct stat *b);

#endif
