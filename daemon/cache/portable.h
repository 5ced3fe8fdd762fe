/* The file of an export: sections, each with its digest in front of it.
 *
 *   "omcc cache 1\n"                       13 bytes
 *   section: kind (4 bytes), length (u64, little-endian), SHA-256 of the content, content
 *     "OBJT"  an object, once per file, before every record that names it
 *     "RECD"  an entry's record (record.h)
 *     "DONE"  the end: SHA-256 over the heads of all sections before it, in order
 *
 * Nothing follows DONE. A file without it is cut off; one with it is whole when every
 * digest fits. */
#ifndef OC_CACHE_PORTABLE_H
#define OC_CACHE_PORTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "digest/digest.h"

#define OC_PORTABLE_MAGIC     "omcc cache 1\n"
#define OC_PORTABLE_MAGIC_LEN (sizeof(OC_PORTABLE_MAGIC) - 1)
#define OC_PORTABLE_HEAD      (4 + 8 + OC_SHA256_LEN)

struct oc_portable_head {
  char kind[5];
  uint64_t len;
  uint8_t sha256[OC_SHA256_LEN];
};
void oc_portable_head_pack(const struct oc_portable_head *h,
                           uint8_t ret[OC_PORTABLE_HEAD]);
/* False: no kind of section. */
bool oc_portable_head_unpack(const uint8_t p[OC_PORTABLE_HEAD],
                             struct oc_portable_head *ret);

/* Objects of one file by digest, with their place in it. */
struct oc_portable_object {
  uint8_t sha256[OC_SHA256_LEN];
  uint64_t at, len; /* of the content */
};
struct oc_portable_set {
  struct oc_portable_object *items; /* open addressing; at 0: empty */
  size_t n, room;
};
const struct oc_portable_object *oc_portable_find(const struct oc_portable_set *set,
                                                  const uint8_t sha256[OC_SHA256_LEN]);
/* 0 or OC_E_NOMEM. */
int oc_portable_add(struct oc_portable_set *set, const struct oc_portable_object *o);
void oc_portable_clear(struct oc_portable_set *set);

/* pread/pwrite of all bytes; false at the end of the file or on an error. */
bool oc_portable_read(int fd, void *p, size_t len, uint64_t at);
bool oc_portable_write(int fd, const void *p, size_t len, uint64_t at);

#endif
