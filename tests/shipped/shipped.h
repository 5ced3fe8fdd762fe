/* The op tables that we ship, read from the source folder: for tests and benchmarks. */
#ifndef OC_SHIPPED_SHIPPED_H
#define OC_SHIPPED_SHIPPED_H

#include <stddef.h>

#include "base/error.h"

struct oc_optable;

/* Everything in ROOT/schema/soc and ROOT/schema/ops, finished. `root` NULL: the folder
 * that OMCC_SOURCE_DIR names, or the working directory. The caller frees it
 * (oc_optable_free). NULL and `err` when a file is missing or wrong. */
struct oc_optable *oc_shipped_tables(const char *root, struct oc_error *err);

/* A whole file with a NUL behind it; the caller frees it. NULL when it cannot be read. */
char *oc_shipped_file(const char *path, size_t *ret_len);

#endif
