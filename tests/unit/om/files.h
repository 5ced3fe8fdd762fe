/* Small .om files made from the format's description, for tests of the reader. */
#ifndef OC_TEST_OM_FILES_H
#define OC_TEST_OM_FILES_H

#include "om/om.h"

struct part {
  uint32_t type;
  struct oc_str bytes;
};
enum { OLD_HEADER = 1, NARROW = 1, DYNAMIC = 2 };

/* Header and one table; `flags`: OLD_HEADER (32-bit table) or DYNAMIC (several models:
 * `n_models` tables, each with the same `n` parts). */
void make_file(struct oc_buf *out, const struct part *parts, size_t n, uint32_t n_models,
               unsigned flags);
/* MODEL_DEF of Data -> Relu -> NetOutput named `name`, with a command line and a
 * constant. */
void make_def(struct oc_buf *out, struct oc_arena *a, const char *name, bool compressed);
/* TASK_INFO with one kernel; TBE_KERNELS with one record. */
void make_tasks(struct oc_buf *out, const char *kernel);
void make_kernels(struct oc_buf *out, const char *kernel);
struct oc_str bytes_of(const struct oc_buf *b);

#endif
