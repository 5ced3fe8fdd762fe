/* A folder by its content: every file in it by its name and digest, so that two folders
 * with the same list hold the same.
 *
 * Walking looks at no content. Whoever walks then fills in the digests that it does not
 * know already. Nothing outside of the folder is read: a link is good when it leads to a
 * file in the same folder. What cannot be listed faithfully (a link out of it, a link to
 * a folder, a device, something unreadable, too much of anything) is refused with a
 * sentence.
 *
 * Ownership: struct oc_folder owns its memory, no descriptors; oc_folder_clear() is safe
 * twice and on an all-zero struct. Thread: plain data, slow: for a thread of its own. */
#ifndef OC_FOLDER_FOLDER_H
#define OC_FOLDER_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/error.h"
#include "digest/digest.h"

struct oc_folder_entry {
  const char *name; /* relative, with '/' */
  bool folder;
  struct stat st; /* of a file, as it was when it was listed */
  bool digested;
  uint8_t sha256[OC_SHA256_LEN];
};

struct oc_folder {
  struct oc_arena arena;
  struct oc_folder_entry *entries; /* in the order of their names' bytes */
  size_t n, room;
  uint64_t bytes;
};

struct oc_folder_limits {
  size_t entries;
  unsigned depth; /* of names: 1 is the folder itself only */
  uint64_t bytes;
  /* Only what this user could read himself (owner or everybody; groups are not known);
   * negative: whatever can be read. */
  int64_t reader;
};

/* Lists what lies beneath `dir` (stays the caller's, any open mode). 0; OC_E_ARG or
 * OC_E_LIMIT with the reason as half a sentence ("'x' leads out of it"); OC_E_IO,
 * OC_E_NOMEM. `ret` is empty on failure. */
int oc_folder_walk(int dir, const struct oc_folder_limits *limits, struct oc_folder *ret,
                   struct oc_error *err);
/* Opens one file of the list, as walking did; -1 with errno. */
int oc_folder_open(int dir, const char *name);
/* The same names, sizes and times. False: `ret_name` (of `now`, or of `then`) is the
 * first that is not. */
bool oc_folder_same(const struct oc_folder *then, const struct oc_folder *now,
                    const char **ret_name);
void oc_folder_clear(struct oc_folder *f);

#endif
