/* Entries lie in one array in insertion order; a second, open-addressed array of indices
 * finds them by hash. The index array is rebuilt at a load of one half. */
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define FIRST_SLOTS ((size_t)16)

uint64_t oc_hash_bytes(const void *p, size_t len)
{
  const uint8_t *bytes = p;
  uint64_t h = 0xcbf29ce484222325u; /* the published offset basis and prime of FNV-1a */

  for (size_t i = 0; i < len; i++)
    h = (h ^ bytes[i]) * 0x100000001b3u;
  return h;
}

void oc_map_clear(struct oc_map *m)
{
  free(m->entries);
  free(m->slots);
  *m = (struct oc_map){ 0 };
}

/* The slot that holds the key, or the free one where it would go. */
static size_t find_slot(const struct oc_map *m, struct oc_str key, uint64_t hash)
{
  size_t mask = m->n_slots - 1;
  size_t i = (size_t)(hash ^ hash >> 32) & mask;

  while (m->slots[i]) {
    const struct oc_map_entry *e = &m->entries[m->slots[i] - 1];
    if (e->hash == hash && oc_str_eq(e->key, key))
      break;
    i = (i + 1) & mask;
  }
  return i;
}

static const struct oc_map_entry *find(const struct oc_map *m, struct oc_str key)
{
  if (!m->n)
    return NULL;
  uint32_t slot = m->slots[find_slot(m, key, oc_hash_bytes(key.p, key.len))];
  return slot ? &m->entries[slot - 1] : NULL;
}

void *oc_map_get(const struct oc_map *m, struct oc_str key)
{
  const struct oc_map_entry *e = find(m, key);

  return e ? e->value : NULL;
}

void *oc_map_gets(const struct oc_map *m, const char *key)
{
  return oc_map_get(m, oc_str_of(key));
}

bool oc_map_has(const struct oc_map *m, struct oc_str key)
{
  return find(m, key) != NULL;
}

static int grow_slots(struct oc_map *m)
{
  size_t n = m->n_slots ? m->n_slots * 2 : FIRST_SLOTS;
  uint32_t *slots = calloc(n, sizeof(*slots));

  if (!slots)
    return OC_E_NOMEM;
  free(m->slots);
  m->slots = slots;
  m->n_slots = n;
  for (size_t i = 0; i < m->n; i++)
    slots[find_slot(m, m->entries[i].key, m->entries[i].hash)] = (uint32_t)(i + 1);
  return 0;
}

static int grow_entries(struct oc_map *m)
{
  size_t room = m->room ? m->room * 2 : FIRST_SLOTS / 2;

  if (room > UINT32_MAX)
    return OC_E_NOMEM;
  struct oc_map_entry *entries = reallocarray(m->entries, room, sizeof(*entries));
  if (!entries)
    return OC_E_NOMEM;
  m->entries = entries;
  m->room = room;
  return 0;
}

int oc_map_put(struct oc_map *m, struct oc_str key, void *value)
{
  if (m->n == m->room && grow_entries(m) < 0)
    return OC_E_NOMEM;
  if ((m->n + 1) * 2 > m->n_slots && grow_slots(m) < 0)
    return OC_E_NOMEM;
  uint64_t hash = oc_hash_bytes(key.p, key.len);
  size_t slot = find_slot(m, key, hash);
  if (m->slots[slot]) {
    m->entries[m->slots[slot] - 1].value = value;
    return 0;
  }
  m->entries[m->n++] = (struct oc_map_entry){ .key = key, .hash = hash, .value = value };
  m->slots[slot] = (uint32_t)m->n;
  return 0;
}

int oc_map_puts(struct oc_map *m, const char *key, void *value)
{
  return oc_map_put(m, oc_str_of(key), value);
}
