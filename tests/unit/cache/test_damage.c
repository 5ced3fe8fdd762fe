/* Damage of every sort is a miss, is cleaned up, and never a wrong answer: objects that
 * are gone, empty, short, changed, replaced or foreign; rows that changed; index files
 * that are no database, another program's, a newer version's, or broken in the middle. */
#include <check.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "store.h"

#define BIG 40000u

static char *folder;

static void setup(void)
{
  folder = store_folder();
}

static void teardown(void)
{
  store_remove(folder);
}

/* ---------------------------------------------------------------- objects */

static void remove_object(const char *path)
{
  ck_assert_int_eq(unlink(path), 0);
}

static void empty_object(const char *path)
{
  chmod(path, 0600);
  ck_assert_int_eq(truncate(path, 0), 0);
}

static void shorten_object(const char *path)
{
  chmod(path, 0600);
  ck_assert_int_eq(truncate(path, BIG - 1), 0);
}

static void flip_bit(const char *path)
{
  char byte;

  chmod(path, 0600);
  int fd = open(path, O_RDWR);
  ck_assert_int_eq(pread(fd, &byte, 1, 1234), 1);
  byte ^= 4;
  ck_assert_int_eq(pwrite(fd, &byte, 1, 1234), 1);
  close(fd);
}

static void replace_by_folder(const char *path)
{
  unlink(path);
  ck_assert_int_eq(mkdir(path, 0700), 0);
}

static void replace_by_link(const char *path)
{
  unlink(path);
  ck_assert_int_eq(symlink("/etc/passwd", path), 0);
}

static void replace_by_fifo(const char *path)
{
  unlink(path);
  ck_assert_int_eq(mkfifo(path, 0600), 0);
}

static const struct {
  const char *what;
  void (*damage)(const char *path);
} object_damages[] = {
  { "removed", remove_object },      { "emptied", empty_object },
  { "shortened", shorten_object },   { "one bit flipped", flip_bit },
  { "a folder", replace_by_folder }, { "a symbolic link", replace_by_link },
  { "a fifo", replace_by_fifo },
};

START_TEST(damaged_object)
{
  struct oc_cache *c = store_open(folder);
  enum oc_cache_miss miss = OC_CACHE_MISS_ABSENT;
  uint8_t key[OC_SHA256_LEN];
  struct oc_cache_hit hit;
  struct oc_cache_stats stats;
  auto_free char *path = store_object_path(folder, 1, BIG);

  ck_assert(store_put_wait(c, 1, 1, BIG));
  ck_assert(store_put_wait(c, 2, 1, BIG)); /* shares the object */
  ck_assert(store_put_wait(c, 3, 3, BIG));
  object_damages[_i].damage(path);
  store_key(1, key);
  ck_assert_msg(oc_cache_lookup(c, key, 0, &hit, &miss) == 0, "%s",
                object_damages[_i].what);
  ck_assert_int_eq(miss, OC_CACHE_MISS_DAMAGED);
  oc_cache_flush(c);
  ck_assert_uint_eq(store_event(c, OC_CACHE_DAMAGED).count, 2);
  store_key(2, key);
  ck_assert_int_eq(oc_cache_lookup(c, key, 0, &hit, &miss), 0);
  ck_assert_int_eq(miss, OC_CACHE_MISS_ABSENT);
  ck_assert_int_eq(store_check(c, 3, 3, BIG), 1);
  oc_cache_stats(c, &stats);
  ck_assert_uint_eq(stats.damaged, 1);
  ck_assert_uint_eq(stats.entries, 1);
  /* Compiled and stored anew, it is a hit again. */
  ck_assert(store_put_wait(c, 1, 1, BIG));
  ck_assert_int_eq(store_check(c, 1, 1, BIG), 1);
  oc_cache_close(c);
  ck_assert_int_eq(store_invariants(folder), 2);
}
END_TEST

START_TEST(restored_object_is_kept)
{
  struct oc_cache *c = store_open(folder);
  auto_free char *path = store_object_path(folder, 1, BIG);
  struct timespec times[2] = { { .tv_sec = 1500000000 }, { .tv_sec = 1500000000 } };

  ck_assert(store_put_wait(c, 1, 1, BIG));
  ck_assert_int_eq(utimensat(AT_FDCWD, path, times, 0), 0);
  ck_assert_int_eq(store_check(c, 1, 1, BIG),
                   1); /* other times, but its bytes are right */
  oc_cache_flush(c);
  ck_assert_int_eq(store_check(c, 1, 1, BIG), 1);
  oc_cache_close(c);
  ck_assert_int_eq(store_invariants(folder), 1);
}
END_TEST

START_TEST(quarantine_is_bounded)
{
  struct oc_cache *c = store_open(folder);

  for (unsigned n = 0; n < 20; n++) {
    auto_free char *path = store_object_path(folder, n, BIG);
    ck_assert(store_put_wait(c, n, n, BIG));
    flip_bit(path);
    ck_assert_int_eq(store_check(c, n, n, BIG), 0);
    oc_cache_flush(c);
  }
  oc_cache_close(c);
  ck_assert_uint_eq(store_count_files(folder, "quarantine"), 16);
  ck_assert_int_eq(store_invariants(folder), 0);
}
END_TEST

/* ---------------------------------------------------------------- rows */

static void run_sql(const char *sql)
{
  auto_free char *path = store_path(folder, "index.sqlite");
  sqlite3 *db = NULL;
  char *msg = NULL;

  ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
  ck_assert_msg(sqlite3_exec(db, sql, NULL, NULL, &msg) == SQLITE_OK, "%s", msg);
  sqlite3_close(db);
}

static const char *const row_damages[] = {
  "UPDATE member SET data = zeroblob(size) WHERE data IS NOT NULL",
  "UPDATE member SET size = size - 1 WHERE data IS NOT NULL",
  "UPDATE member SET name = 'model.ox' WHERE name = 'model.om'",
  "UPDATE member SET mode = 4095 WHERE name = 'model.om'",
  "UPDATE member SET sha256 = x'00' WHERE data IS NOT NULL",
  "UPDATE entry SET manifest = zeroblob(32)",
  "UPDATE entry SET manifest = x''",
  "DELETE FROM member WHERE name = 'stdout'",
  "INSERT INTO member SELECT id + 7, 'extra', kind, mode, size, sha256, data FROM member"
  " WHERE name = 'stdout'",
};

START_TEST(damaged_row)
{
  struct oc_cache *c = store_open(folder);

  ck_assert(store_put_wait(c, 1, 1, BIG));
  oc_cache_close(c);
  run_sql(row_damages[_i]);
  c = store_open(folder);
  ck_assert_msg(store_check(c, 1, 1, BIG) == 0, "%s", row_damages[_i]);
  oc_cache_flush(c);
  store_event(c, OC_CACHE_DAMAGED);
  ck_assert(store_put_wait(c, 1, 1, BIG));
  ck_assert_int_eq(store_check(c, 1, 1, BIG), 1);
  oc_cache_close(c);
}
END_TEST

START_TEST(row_of_another_object)
{
  struct oc_cache *c = store_open(folder);

  ck_assert(store_put_wait(c, 1, 1, BIG));
  ck_assert(store_put_wait(c, 2, 2, BIG));
  oc_cache_close(c);
  run_sql("UPDATE member SET sha256 = (SELECT sha256 FROM member WHERE id / 128 = 2 AND "
          "data IS NULL)"
          " WHERE id / 128 = 1 AND data IS NULL");
  c = store_open(folder);
  ck_assert_int_eq(store_check(c, 1, 1, BIG), 0);
  oc_cache_flush(c);
  ck_assert_int_eq(store_check(c, 2, 2, BIG), 1);
  oc_cache_close(c);
}
END_TEST

/* ---------------------------------------------------------------- the index file */

static void write_index(const void *p, size_t len)
{
  auto_free char *path = store_path(folder, "index.sqlite");
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

  ck_assert_int_ge(fd, 0);
  ck_assert_int_eq(write(fd, p, len), (ssize_t)len);
  close(fd);
}

static void not_a_database(void)
{
  char text[5000];

  memset(text, 'x', sizeof(text));
  write_index(text, sizeof(text));
}

static void cut_after_header(void)
{
  auto_free char *path = store_path(folder, "index.sqlite");

  ck_assert_int_eq(truncate(path, 100), 0);
}

static void another_program(void)
{
  auto_free char *path = store_path(folder, "index.sqlite");

  unlink(path);
  run_sql("CREATE TABLE entry(x); PRAGMA application_id = 42");
}

static void unmarked_database(void)
{
  auto_free char *path = store_path(folder, "index.sqlite");

  unlink(path);
  run_sql("CREATE TABLE notes(x)");
}

static void table_missing(void)
{
  run_sql("DROP TABLE object");
}

static void column_missing(void)
{
  run_sql("ALTER TABLE entry DROP COLUMN toolkit");
}

static void a_folder(void)
{
  auto_free char *path = store_path(folder, "index.sqlite");

  unlink(path);
  ck_assert_int_eq(mkdir(path, 0700), 0);
}

static void (*const index_damages[])(void) = {
  not_a_database, cut_after_header, another_program, unmarked_database,
  table_missing,  column_missing,   a_folder,
};

START_TEST(damaged_index)
{
  struct oc_cache *c = store_open(folder);
  char name[300];
  struct stat st;

  ck_assert(store_put_wait(c, 1, 1, BIG));
  oc_cache_close(c);
  index_damages[_i]();
  c = store_open(folder);
  ck_assert_ptr_nonnull(oc_cache_set_aside(c));
  ck_assert(oc_starts_with(oc_cache_set_aside(c), "index.sqlite.corrupt-"));
  snprintf(name, sizeof(name), "%s/%s", folder, oc_cache_set_aside(c));
  ck_assert_int_eq(lstat(name, &st), 0);
  ck_assert_int_eq(store_check(c, 1, 1, BIG), 0);
  ck_assert(store_put_wait(c, 1, 1, BIG));
  ck_assert_int_eq(store_check(c, 1, 1, BIG), 1);
  oc_cache_close(c);
  ck_assert_int_eq(store_invariants(folder), 1);
  c = store_open(folder);
  ck_assert_ptr_null(oc_cache_set_aside(c)); /* once is enough */
  ck_assert_int_eq(store_check(c, 1, 1, BIG), 1);
  oc_cache_close(c);
}
END_TEST

START_TEST(newer_index_stays)
{
  struct oc_cache_options opt = { .dir = folder };
  struct oc_error err = { 0 };
  struct oc_cache *c = store_open(folder);

  ck_assert(store_put_wait(c, 1, 1, BIG));
  oc_cache_close(c);
  run_sql("PRAGMA user_version = 9999");
  ck_assert_int_eq(oc_cache_open(&opt, &c, &err), OC_E_STORE);
  ck_assert_msg(strstr(err.msg, "newer") != NULL, "%s", err.msg);
  run_sql("PRAGMA user_version = 3");
  c = store_open(folder);
  ck_assert_int_eq(store_check(c, 1, 1, BIG), 1);
  oc_cache_close(c);
}
END_TEST

/* Pages in the middle overwritten: whatever SQLite notices and when, no wrong answer
 * comes, and after at most one more open the cache works again. */
START_TEST(damage_in_the_middle)
{
  auto_free char *path = store_path(folder, "index.sqlite");
  struct oc_cache *c = store_open(folder);
  struct stat st;
  uint32_t x = 77u + (uint32_t)_i;

  for (unsigned n = 0; n < 60; n++)
    ck_assert(store_put_wait(c, n, n, n % 2 ? BIG : 3000));
  oc_cache_close(c);
  ck_assert_int_eq(stat(path, &st), 0);
  int fd = open(path, O_RDWR);
  for (int i = 0; i < 1 + _i * 3; i++) {
    uint8_t noise[64];
    for (size_t k = 0; k < sizeof(noise); k++) {
      x = x * 1664525u + 1013904223u;
      noise[k] = (uint8_t)(x >> 24);
    }
    x = x * 1664525u + 1013904223u;
    off_t at = 4096 + (off_t)(x % (uint32_t)(st.st_size - 4096 - 64));
    ck_assert_int_eq(pwrite(fd, noise, sizeof(noise), at), (ssize_t)sizeof(noise));
  }
  close(fd);
  for (int life = 0; life < 3; life++) {
    c = store_open(folder);
    for (unsigned n = 0; n < 60; n++) {
      if (store_check(c, n, n, n % 2 ? BIG : 3000) == 0)
        store_put(c, n, n, n % 2 ? BIG : 3000); /* refused while the index is broken */
    }
    oc_cache_flush(c);
    oc_cache_close(c);
  }
  c = store_open(folder);
  for (unsigned n = 0; n < 60; n++)
    ck_assert_msg(store_check(c, n, n, n % 2 ? BIG : 3000) == 1,
                  "entry %u never came back", n);
  oc_cache_close(c);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("cache_damage");
  TCase *t = tcase_create("damage");
  SRunner *r = srunner_create(s);

  tcase_add_checked_fixture(t, setup, teardown);
  tcase_set_timeout(t, 120);
  tcase_add_loop_test(t, damaged_object, 0, (int)OC_COUNT(object_damages));
  tcase_add_test(t, restored_object_is_kept);
  tcase_add_test(t, quarantine_is_bounded);
  tcase_add_loop_test(t, damaged_row, 0, (int)OC_COUNT(row_damages));
  tcase_add_test(t, row_of_another_object);
  tcase_add_loop_test(t, damaged_index, 0, (int)OC_COUNT(index_damages));
  tcase_add_test(t, newer_index_stays);
  tcase_add_loop_test(t, damage_in_the_middle, 0, 12);
  suite_add_tcase(s, t);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? 1 : 0;
}
