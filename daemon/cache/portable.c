/* Pieces that writing and reading an export share; portable.h has the format. */
#include "cache/portable.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/str.h"

void oc_portable_head_pack(const struct oc_portable_head *h,
                           uint8_t ret[OC_PORTABLE_HEAD])
{
  memcpy(ret, h->kind, 4);
  for (size_t i = 0; i < 8; i++)
    ret[4 + i] = (uint8_t)(h->len >> (8 * i));
  memcpy(ret + 12, h->sha256, OC_SHA256_LEN);
}

bool oc_portable_head_unpack(const uint8_t p[OC_PORTABLE_HEAD],
                             struct oc_portable_head *ret)
{
  static const char *const kinds[] = { "OBJT", "RECD", "DONE" };

  memcpy(ret->kind, p, 4);
  ret->kind[4] = '\0';
  ret->len = 0;
  for (size_t i = 0; i < 8; i++)
    ret->len |= (uint64_t)p[4 + i] << (8 * i);
  memcpy(ret->sha256, p + 12, OC_SHA256_LEN);
  for (size_t i = 0; i < OC_COUNT(kinds); i++)
    if (oc_streq(ret->kind, kinds[i]))
      return true;
  return false;
}

static struct oc_portable_object *slot_of(const struct oc_portable_set *set,
                                          const uint8_t sha256[OC_SHA256_LEN])
{
  uint64_t hash;

  memcpy(&hash, sha256, sizeof(hash));
  for (size_t i = hash & (set->room - 1);; i = (i + 1) & (set->room - 1))
    if (set->items[i].at == 0 || memcmp(set->items[i].sha256, sha256, OC_SHA256_LEN) == 0)
      return &set->items[i];
}

const struct oc_portable_object *oc_portable_find(const struct oc_portable_set *set,
                                                  const uint8_t sha256[OC_SHA256_LEN])
{
  const struct oc_portable_object *o = set->room ? slot_of(set, sha256) : NULL;

  return o && o->at ? o : NULL;
}

static int grow(struct oc_portable_set *set)
{
  struct oc_portable_set bigger = { .n = set->n, .room = set->room ? set->room * 2 : 64 };

  bigger.items = calloc(bigger.room, sizeof(*bigger.items));
  if (!bigger.items)
    return OC_E_NOMEM;
  for (size_t i = 0; i < set->room; i++)
    if (set->items[i].at)
      *slot_of(&bigger, set->items[i].sha256) = set->items[i];
  free(set->items);
  *set = bigger;
  return 0;
}

int oc_portable_add(struct oc_portable_set *set, const struct oc_portable_object *o)
{
  if (set->n * 2 >= set->room && grow(set) < 0)
    return OC_E_NOMEM;
  *slot_of(set, o->sha256) = *o;
  set->n++;
  return 0;
}

void oc_portable_clear(struct oc_portable_set *set)
{
  free(set->items);
  *set = (struct oc_portable_set){ .n = 0 };
}

bool oc_portable_read(int fd, void *p, size_t len, uint64_t at)
{
  for (size_t got = 0; got < len;) {
    ssize_t n = pread(fd, (char *)p + got, len - got, (off_t)(at + got));
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return false;
    got += (size_t)n;
  }
  return true;
}

bool oc_portable_write(int fd, const void *p, size_t len, uint64_t at)
{
  for (size_t put = 0; put < len;) {
    ssize_t n = pwrite(fd, (const char *)p + put, len - put, (off_t)(at + put));
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return false;
    put += (size_t)n;
  }
  return true;
}
