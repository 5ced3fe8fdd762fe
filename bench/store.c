/* bench_store fill DIR ENTRIES
 * bench_store look DIR ENTRIES ROUNDS
 *
 * A store with very many entries, made through its own interface: each entry has its key,
 * its parts and an artifact; a thousand entries share one object, so that a million of
 * them fit on a small disk while the index is as large as it would be. `look` opens the
 * store and prints one line of each: "open_us N", "rss_kb N", then "hit N" and "absent N"
 * for every look-up, in microseconds. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cache/cache.h"

#include "clock.h"

#define OBJECT_BYTES 4096
#define PARTS_BYTES  900
#define PER_OBJECT   1000

static void key_of(uint64_t i, const char *what, uint8_t ret[OC_SHA256_LEN])
{
  char text[64];
  int n = snprintf(text, sizeof(text), "%s %" PRIu64, what, i);

  if (oc_sha256_bytes(text, (size_t)n, ret))
    abort();
}

static struct oc_cache *open_store(const char *dir)
{
  struct oc_cache_options o = { .dir = dir };
  struct oc_error err = { 0 };
  struct oc_cache *c;

  if (!oc_cache_open(&o, &c, &err))
    return c;
  fprintf(stderr, "bench_store: %s\n", err.msg);
  exit(1);
}

/* An object that a thousand entries share, stored with the first of them. */
static void object_of(uint64_t i, uint8_t *bytes, uint8_t ret[OC_SHA256_LEN])
{
  uint64_t number = i / PER_OBJECT;

  memset(bytes, 0x5a, OBJECT_BYTES);
  memcpy(bytes, &number, sizeof(number));
  if (oc_sha256_bytes(bytes, OBJECT_BYTES, ret))
    abort();
}

/* The object's file; 0 or negative. */
static int write_object(struct oc_cache *c, const uint8_t *bytes,
                        struct oc_cache_output *ret)
{
  if (oc_cache_output_new(c, ret, NULL))
    return -1;
  if (write(ret->fd, bytes, OBJECT_BYTES) == OBJECT_BYTES &&
      !oc_cache_output_seal(ret, NULL))
    return 0;
  oc_cache_output_clear(ret);
  return -1;
}

static int put(struct oc_cache *c, uint64_t i)
{
  static uint8_t bytes[OBJECT_BYTES], parts[PARTS_BYTES];
  struct oc_cache_put_member m = {
    .name = "model.om", .kind = "artifact", .mode = 0600, .fd = -1, .size = OBJECT_BYTES
  };
  struct oc_cache_put p = { .parts = parts, .parts_len = sizeof(parts) };
  struct oc_cache_output output = { .fd = -1 };

  object_of(i, bytes, m.sha256);
  m.from = OC_CACHE_FROM_OBJECT;
  if (i % PER_OBJECT == 0) {
    m.from = OC_CACHE_FROM_OUTPUT;
    m.output = &output;
    if (write_object(c, bytes, &output))
      return OC_E_IO;
  }
  key_of(i, "key", p.key);
  key_of(i / 4, "model", p.model);
  key_of(i % 50, "options", p.options);
  memcpy(parts, p.key, OC_SHA256_LEN);
  p.facts =
      (struct oc_cache_facts){ "model.onnx", "Ascend310P3", "builtin", "fp16",   "", "",
                               1000,         false,         1500,      1u << 26, -1 };
  p.members = &m;
  p.n_members = 1;
  return oc_cache_put(c, &p, i, NULL);
}

static void drain(struct oc_cache *c)
{
  struct oc_cache_event e;

  while (oc_cache_next_event(c, &e)) {
    if (e.kind == OC_CACHE_STORED)
      continue;
    fprintf(stderr, "bench_store: %s\n", e.reason);
    exit(1);
  }
}

static int fill(const char *dir, uint64_t n)
{
  struct oc_cache *c = open_store(dir);

  for (uint64_t i = 0; i < n; i++) {
    int r = put(c, i);

    while (r == OC_E_BUSY) {
      oc_cache_flush(c);
      r = put(c, i);
    }
    if (r)
      return 1;
    if (i % 500 == 0) {
      /* The object must be there before others name it. */
      oc_cache_flush(c);
      drain(c);
    }
  }
  oc_cache_flush(c);
  drain(c);
  oc_cache_close(c);
  return 0;
}

static unsigned long rss_kb(void)
{
  auto_fclose FILE *f = fopen("/proc/self/statm", "re");
  unsigned long size, resident = 0;

  if (!f || fscanf(f, "%lu %lu", &size, &resident) != 2)
    return 0;
  return resident * (unsigned long)sysconf(_SC_PAGESIZE) / 1024;
}

static int look(const char *dir, uint64_t n, uint64_t rounds)
{
  double start = now_us();
  struct oc_cache *c = open_store(dir);
  uint64_t at = 1;

  printf("open_us %.1f\n", now_us() - start);
  for (uint64_t i = 0; i < rounds; i++) {
    uint8_t key[OC_SHA256_LEN], absent[OC_SHA256_LEN];
    struct oc_cache_hit hit;
    int r;

    at = (at * 6364136223846793005u + 1442695040888963407u);
    key_of((at >> 20) % n, "key", key);
    key_of(at, "absent", absent);
    start = now_us();
    r = oc_cache_lookup(c, key, 1000, &hit, NULL);
    printf("hit %.1f\n", now_us() - start);
    if (r != 1)
      return 1;
    oc_cache_hit_clear(&hit);
    start = now_us();
    r = oc_cache_lookup(c, absent, 1000, &hit, NULL);
    printf("absent %.1f\n", now_us() - start);
    if (r)
      return 1;
  }
  printf("rss_kb %lu\n", rss_kb());
  oc_cache_close(c);
  return 0;
}

int main(int argc, char **argv)
{
  if (argc == 4 && !strcmp(argv[1], "fill"))
    return fill(argv[2], strtoull(argv[3], NULL, 10));
  if (argc == 5 && !strcmp(argv[1], "look"))
    return look(argv[2], strtoull(argv[3], NULL, 10), strtoull(argv[4], NULL, 10));
  fputs("use: bench_store fill DIR ENTRIES | look DIR ENTRIES ROUNDS\n", stderr);
  return 2;
}
