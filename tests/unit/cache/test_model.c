/* The cache against a model of it: an array of what was put, with the order of use.
 * Random operations (put, look up, pin, collect, close, kill) run against both; whatever
 * the cache gives must be what the model has, and what the model kept as stored and not
 * evicted must be there. A kill may lose the last second of uses, never a stored result
 * or its bytes.
 *
 * OMCC_MODEL_OPS sets how many operations; 1e5 without it. */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "store.h"

#define KEYS       24u
#define LIMIT      16u
#define CONTENTS   41u /* 1 to 40 */
#define DEFAULT    100000u
#define OPS_A_LIFE 500u

/* Shared with the child that works on the cache: what it knew to be stored. */
struct known {
  unsigned content[KEYS]; /* 0: nothing was ever stored under this key */
  bool maybe[KEYS];       /* a put was under way when the life ended */
  unsigned maybe_content[KEYS];
  uint64_t operations;
  unsigned hits, puts, lives, kills, collected;
};

static uint32_t next(uint32_t *x)
{
  *x = *x * 1664525u + 1013904223u;
  return *x >> 8;
}

/* Small, so that the operations are the index's and not the bytes'. */
static size_t size_of(unsigned content)
{
  return content % 3 ? 2000 + content * 10 : 300;
}

static uint8_t digests[CONTENTS][OC_SHA256_LEN];

/* What came must be what was stored, or (when it was under way) what was being put. */
static int check_key(struct oc_cache *c, const struct known *k, unsigned n)
{
  uint8_t key[OC_SHA256_LEN], digest[OC_SHA256_LEN];
  struct oc_cache_hit hit;
  bool right = false;

  store_key(n, key);
  if (oc_cache_lookup(c, key, 0, &hit, NULL) == 0)
    return 0;
  ck_assert_int_eq(oc_cache_prove(c, key, &hit, NULL), 1);
  for (int which = 0; which < 2; which++) {
    unsigned content = which ? k->maybe_content[n] : k->content[n];
    if (!content || (which && !k->maybe[n]))
      continue;
    right |= memcmp(digests[content], hit.members[0].sha256, sizeof(digest)) == 0;
  }
  ck_assert_msg(right, "key %u gives something that was never put under it", n);
  ck_assert_int_eq(oc_sha256_fd(hit.members[0].fd, NULL, digest, NULL, NULL), 0);
  ck_assert_mem_eq(digest, hit.members[0].sha256, sizeof(digest));
  oc_cache_hit_clear(&hit);
  return 1;
}

/* Writes down first, so that a kill in the middle is known as such. */
static void put_one(struct oc_cache *c, struct known *k, unsigned n, unsigned content)
{
  k->maybe_content[n] = content;
  k->maybe[n] = true;
  ck_assert(store_put_wait(c, n, content, size_of(content)));
  k->content[n] = content;
  k->maybe[n] = false;
  k->puts++;
}

static void collect(struct oc_cache *c, struct known *k)
{
  struct oc_cache_gc half = { .has_max = true, .max_bytes = 10000 };

  ck_assert(oc_cache_gc(c, &half, 7777777));
  struct oc_cache_event e = store_event(c, OC_CACHE_DONE);
  ck_assert_str_eq(e.reason, "");
  k->collected += (unsigned)e.count;
}

static void one_operation(struct oc_cache *c, struct known *k, uint32_t *x)
{
  unsigned n = next(x) % KEYS, what = next(x) % 100;
  uint8_t key[OC_SHA256_LEN];

  if (what < 14) {
    put_one(c, k, n, 1 + next(x) % 40);
  } else if (what < 95) {
    k->hits += (unsigned)check_key(c, k, n);
  } else if (what < 98) {
    store_key(n, key);
    ck_assert(oc_cache_pin(c, key, what == 95 ? 0 : 1, 8888888));
    store_event(c, OC_CACHE_DONE);
  } else {
    collect(c, k);
  }
}

static void kill_now(void *data, const char *point)
{
  int *left = data;

  (void)point;
  if (*left > 0 && --*left == 0)
    kill(getpid(), SIGKILL);
}

/* One life of the cache in a child; it ends by itself or by a kill at some point. */
static void live(const char *folder, struct known *k, uint32_t seed, bool dies)
{
  int left = dies ? (int)(1 + seed % 700) : 0;
  struct oc_cache_options opt = { .max_entries = LIMIT,
                                  .at_point = kill_now,
                                  .at_point_data = &left };
  struct oc_cache *c = store_open_with(&opt, folder);
  uint32_t x = seed;

  for (unsigned i = 0; i < OPS_A_LIFE; i++, k->operations++)
    one_operation(c, k, &x);
  oc_cache_close(c);
  _exit(0);
}

START_TEST(random_operations)
{
  const char *text = getenv("OMCC_MODEL_OPS");
  uint64_t ops = DEFAULT;
  char *folder = store_folder_in_memory();
  struct known *k =
      mmap(NULL, sizeof(*k), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  uint32_t x = 20260301;

  ck_assert(k != MAP_FAILED);
  if (text)
    ck_assert(oc_str_to_u64(oc_str_of(text), &ops));
  for (unsigned content = 1; content < CONTENTS; content++)
    store_object_digest(content, size_of(content), digests[content]);
  while (k->operations < ops) {
    uint32_t seed = next(&x);
    bool dies = seed % 2 != 0;
    int status = 0;
    pid_t pid = fork();
    if (pid == 0)
      live(folder, k, seed, dies);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL && dies : status == 0);
    k->lives++;
    k->kills += WIFSIGNALED(status) != 0;
    struct oc_cache *c = store_open(folder);
    ck_assert_ptr_null(oc_cache_set_aside(c));
    for (unsigned n = 0; n < KEYS; n++)
      check_key(c, k, n);
    oc_cache_close(c);
    int entries = store_invariants(folder);
    ck_assert_int_le(entries, (int)LIMIT + 1);
  }
  printf("figure model operations=%llu puts=%u hits=%u lives=%u kills=%u wrong=0\n",
         (unsigned long long)k->operations, k->puts, k->hits, k->lives, k->kills);
  ck_assert_uint_gt(k->hits, 0);
  ck_assert_uint_gt(k->kills, 0);
  munmap(k, sizeof(*k));
  store_remove(folder);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("cache_model");
  TCase *t = tcase_create("model");
  SRunner *r = srunner_create(s);

  tcase_set_timeout(t, 7200);
  tcase_add_test(t, random_operations);
  suite_add_tcase(s, t);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? 1 : 0;
}
