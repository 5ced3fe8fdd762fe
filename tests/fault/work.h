/* A small life of the cache that passes every step of storing, finding, replacing,
 * evicting and closing, and goes on when something fails; with what it knew to be stored.
 */
#ifndef OMCC_FAULT_WORK_H
#define OMCC_FAULT_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cache/cache.h"

#define WORK_ENTRIES 6u /* keys 0 to 5; only the newest WORK_KEPT stay */
#define WORK_KEPT    4u
#define WORK_SIZE    5000u

/* Shared with the process that lives it. */
struct work_known {
  unsigned n_acks;
  unsigned char acks[16]; /* keys, in the order in which they were said to be stored */
  unsigned tried[WORK_ENTRIES][4], n_tried[WORK_ENTRIES]; /* contents, in their order */
  unsigned stored[WORK_ENTRIES]; /* which of them was said to be stored last, from one */
  unsigned hits, failures;
  bool opened, recovered, ended;
  char reason[256]; /* of the last failure */
};
struct work_known *work_share(void);

/* Lives it in this process; `acked` (or NULL) is called when a result is known to be
 * stored, with its key and its place among what was tried for it. After its last step
 * `calm` is called, and one more result must be stored, if the cache could be opened at
 * all. */
void work_live(const char *folder, unsigned seed, bool full, struct work_known *k,
               void (*acked)(unsigned n, unsigned place), void (*calm)(void));
/* Takes note that the `place`th content tried for key `n` was said to be stored. */
void work_acked(struct work_known *k, unsigned n, unsigned place);

/* The life after: opens, looks at every key; fails the test when something is wrong or
 * (unless `may_lose`) lost. Returns microseconds until the first answer; `ret_there`: how
 * many keys are there. */
uint64_t work_check(const char *folder, const struct work_known *k, bool may_lose,
                    unsigned *ret_there);

#endif
