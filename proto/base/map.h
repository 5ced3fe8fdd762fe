/* A hash map from strings to pointers. Keys are borrowed: they must outlive the map.
 * Iteration order is insertion order (so results are deterministic). */
#ifndef OC_BASE_MAP_H
#define OC_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct oc_map_entry {
  struct oc_str key;
  uint64_t hash;
  void *value;
};

struct oc_map {
  struct oc_map_entry *entries; /* in insertion order */
  size_t n;
  size_t room;
  uint32_t *slots; /* index + 1 into entries, 0 = free */
  size_t n_slots;
};

/* An all-zero struct is an empty map. */
void oc_map_clear(struct oc_map *m);
/* NULL when the key is absent (or its value is NULL). */
void *oc_map_get(const struct oc_map *m, struct oc_str key);
void *oc_map_gets(const struct oc_map *m, const char *key);
bool oc_map_has(const struct oc_map *m, struct oc_str key);
/* Inserts or replaces. 0 or OC_E_NOMEM. There is no removal. */
int oc_map_put(struct oc_map *m, struct oc_str key, void *value);
int oc_map_puts(struct oc_map *m, const char *key, void *value);
/* 64-bit FNV-1a of the bytes. */
uint64_t oc_hash_bytes(const void *p, size_t len);

#endif
