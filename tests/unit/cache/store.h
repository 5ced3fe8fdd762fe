/* What the cache tests share: a folder, results to put, and a check of all invariants. */
#ifndef OC_TEST_STORE_H
#define OC_TEST_STORE_H

#include <stdbool.h>

#include "cache/cache.h"

/* A fresh folder under $TMPDIR or /tmp; removed by store_remove(). */
char *store_folder(void);
/* The same on a file system without a disk, where there is one: for tests of many lives.
 */
char *store_folder_in_memory(void);
void store_remove(char *folder);
char *store_path(const char *folder, const char *name);

struct oc_cache *store_open(const char *folder);
struct oc_cache *store_open_with(struct oc_cache_options *opt, const char *folder);

/* The bytes of this content. */
void store_fill(unsigned content, uint8_t *to, size_t size);
/* The key of test entry `n`; its object is `size` bytes that only depend on `n`. */
void store_key(unsigned n, uint8_t ret[OC_SHA256_LEN]);
void store_object_digest(unsigned content, size_t size, uint8_t ret[OC_SHA256_LEN]);
char *store_object_path(const char *folder, unsigned content, size_t size);
/* Queues entry `n` with an object of content `content` and an inline member. */
int store_put(struct oc_cache *c, unsigned n, unsigned content, size_t size);
/* Puts and waits; true when it was stored. */
bool store_put_wait(struct oc_cache *c, unsigned n, unsigned content, size_t size);
/* Waits for the event of a put. */
struct oc_cache_event store_event(struct oc_cache *c, enum oc_cache_event_kind kind);
/* 1 when the entry is there and every byte of its members is right, 0 when it is absent;
 * fails the test when it is wrong. */
int store_check(struct oc_cache *c, unsigned n, unsigned content, size_t size);

/* With the cache closed: rows, files, references and totals agree; fails the test if not.
 * Returns the number of entries. */
int store_invariants(const char *folder);
size_t store_count_files(const char *folder, const char *sub);

#endif
