/* A store of very many entries: opened without a scan, small in memory, and as quick to
 * ask as a small one. The rows are written by SQL, as the writer would leave them, with
 * one object of real bytes for all.
 *
 * OMCC_MANY sets how many; 20 000 without it. */
#include <check.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "store.h"

#define DEFAULT 20000u
#define LOOKS   2000u
#define SIZE    3000u

static uint64_t now_us(void)
{
  struct timespec t;

  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

static uint64_t cpu_us(void)
{
  struct timespec t;

  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

static uint64_t rss_bytes(void)
{
  auto_fclose FILE *f = fopen("/proc/self/statm", "re");
  unsigned long size = 0, resident = 0;

  ck_assert_ptr_nonnull(f);
  ck_assert_int_eq(fscanf(f, "%lu %lu", &size, &resident), 2);
  return (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Copies entry 1 under `many` other keys: 4 bytes of the number, then those of entry 1.
 */
static void multiply(const char *folder, unsigned many)
{
  static const char *const steps[] = {
    "INSERT INTO entry(id, key, manifest, model_sha256, options_sha256, model, soc, "
    "backend,"
    " mode, table_id, toolkit, uid, device_ready, compile_ms, peak_rss_bytes, tool_exit, "
    "size,"
    " created_s, used_s, used_seq) SELECT i + 1000, CAST(printf('%032d', i) AS BLOB),"
    " manifest, CAST(printf('%032d', i / 3) AS BLOB), options_sha256, model, soc, "
    "backend,"
    " mode, table_id, toolkit, uid, device_ready, compile_ms, peak_rss_bytes, tool_exit, "
    "size,"
    " created_s, used_s, i FROM n, entry WHERE entry.id = 1",
    "INSERT INTO entry_parts SELECT i + 1000, zeroblob(300) FROM n",
    "INSERT INTO member SELECT (i + 1000) * 128 + m.id % 128, name, kind, mode, size, "
    "sha256,"
    " data FROM n, member m WHERE m.id / 128 = 1",
    "UPDATE counter SET value = value + (SELECT count(*) FROM n) WHERE name = 'entries'",
    "COMMIT",
    "PRAGMA wal_checkpoint(TRUNCATE)",
  };
  auto_free char *path = store_path(folder, "index.sqlite");
  char numbers[300];
  sqlite3 *db = NULL;

  ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
  snprintf(numbers, sizeof(numbers),
           "PRAGMA synchronous = OFF; PRAGMA cache_size = -200000; BEGIN;"
           "CREATE TEMP TABLE n AS WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL"
           " SELECT i + 1 FROM r LIMIT %u) SELECT i FROM r",
           many);
  ck_assert_int_eq(sqlite3_exec(db, numbers, NULL, NULL, NULL), SQLITE_OK);
  for (size_t i = 0; i < OC_COUNT(steps); i++) {
    char *msg = NULL;
    ck_assert_msg(sqlite3_exec(db, steps[i], NULL, NULL, &msg) == SQLITE_OK, "%s", msg);
  }
  sqlite3_close(db);
}

/* In a process of its own, whose memory is not the cache's. */
static void multiply_apart(const char *folder, unsigned many)
{
  int status = 0;
  pid_t pid = fork();

  if (pid == 0) {
    multiply(folder, many);
    _exit(0);
  }
  ck_assert_int_eq(waitpid(pid, &status, 0), pid);
  ck_assert_int_eq(status, 0);
}

static int by_value(const void *a, const void *b)
{
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

  return x < y ? -1 : x > y;
}

/* Rows by number: that the facts are read is enough, their manifest is entry 1's. */
static void look(struct oc_cache *c, unsigned many, uint64_t *ret_p50, uint64_t *ret_p99)
{
  static uint64_t took[LOOKS];
  uint32_t x = 5;

  for (unsigned i = 0; i < LOOKS; i++) {
    char hex[OC_SHA256_TEXT], text[40];
    uint8_t key[OC_SHA256_LEN];
    x = x * 1664525u + 1013904223u;
    snprintf(text, sizeof(text), "%032u", 1 + (x >> 4) % many);
    memcpy(key, text, sizeof(key));
    oc_hex(key, sizeof(key), hex);
    uint64_t begun = now_us();
    ck_assert_int_eq(oc_cache_find_key(c, hex, key), 1);
    ck_assert(oc_cache_may_see(c, key, 0));
    took[i] = now_us() - begun;
  }
  qsort(took, LOOKS, sizeof(took[0]), by_value);
  *ret_p50 = took[LOOKS / 2];
  *ret_p99 = took[LOOKS * 99 / 100];
}

START_TEST(many_entries)
{
  const char *text = getenv("OMCC_MANY");
  uint64_t many = DEFAULT, p50, p99, hit;
  char *folder = store_folder_in_memory();
  struct oc_cache_stats stats;
  struct oc_cache *c = store_open(folder);

  if (text)
    ck_assert(oc_str_to_u64(oc_str_of(text), &many));
  ck_assert(store_put_wait(c, 1, 1, SIZE));
  oc_cache_close(c);
  multiply_apart(folder, (unsigned)many);
  uint64_t before = rss_bytes(), begun = now_us(), worked = cpu_us();
  c = store_open(folder);
  uint64_t opened = now_us() - begun;
  worked = cpu_us() - worked;
  begun = now_us();
  ck_assert_int_eq(store_check(c, 1, 1, SIZE), 1);
  hit = now_us() - begun;
  look(c, (unsigned)many, &p50, &p99);
  for (unsigned n = 2; n < 12; n++)
    ck_assert(store_put_wait(c, n, n, SIZE));
  oc_cache_stats(c, &stats);
  uint64_t rss = rss_bytes();
  ck_assert_uint_eq(stats.entries, many + 11);
  printf("figure R13 entries=%llu open_ms=%.1f first_hit_us=%llu find_us p50=%llu "
         "p99=%llu "
         "rss_mib=%.1f grown_mib=%.1f\n",
         (unsigned long long)many, (double)opened / 1e3, (unsigned long long)hit,
         (unsigned long long)p50, (unsigned long long)p99, (double)rss / 1048576,
         (double)(rss > before ? rss - before : 0) / 1048576);
  ck_assert_uint_lt(rss > before ? rss - before : 0, 64u << 20);
  /* A scan would be work, which a busy machine does not change. */
  ck_assert_uint_lt(worked, 1000000);
  oc_cache_close(c);
  store_remove(folder);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("cache_many");
  TCase *t = tcase_create("many");
  SRunner *r = srunner_create(s);

  tcase_set_timeout(t, 1200);
  tcase_add_test(t, many_entries);
  suite_add_tcase(s, t);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? 1 : 0;
}
