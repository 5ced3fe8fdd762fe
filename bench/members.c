/* Where should a member of a result lie: in a row of the index or in a file beside it?
 *
 * For each size: the time to have the bytes at hand from a row (statement, blob copied),
 * and the time to have a descriptor of a file (open, fstat), which is all that delivery
 * needs; then the time to store one, with the syncs that each way needs. The size from
 * which the file wins is the limit for inline members. */
#include <fcntl.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FILES 64
#define READS 2000

static uint64_t now_ns(void)
{
  struct timespec t;

  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void fail(const char *what)
{
  fprintf(stderr, "members: %s failed\n", what);
  exit(1);
}

static double store_rows(sqlite3 *db, const char *bytes, size_t size)
{
  sqlite3_stmt *s = NULL;
  uint64_t begun = now_ns();

  if (sqlite3_prepare_v2(db, "INSERT INTO m(id, data) VALUES(?1, ?2)", -1, &s, NULL))
    fail("prepare");
  for (int i = 0; i < FILES; i++) {
    sqlite3_bind_int(s, 1, i);
    sqlite3_bind_blob(s, 2, bytes, (int)size, SQLITE_STATIC);
    if (sqlite3_step(s) != SQLITE_DONE)
      fail("insert");
    sqlite3_reset(s);
  }
  sqlite3_finalize(s);
  return (double)(now_ns() - begun) / FILES / 1000;
}

static double read_rows(sqlite3 *db, char *copy)
{
  sqlite3_stmt *s = NULL;
  uint64_t begun = now_ns();

  if (sqlite3_prepare_v2(db, "SELECT data FROM m WHERE id = ?1", -1, &s, NULL))
    fail("prepare");
  for (int i = 0; i < READS; i++) {
    sqlite3_bind_int(s, 1, i % FILES);
    if (sqlite3_step(s) != SQLITE_ROW)
      fail("select");
    memcpy(copy, sqlite3_column_blob(s, 0), (size_t)sqlite3_column_bytes(s, 0));
    sqlite3_reset(s);
  }
  sqlite3_finalize(s);
  return (double)(now_ns() - begun) / READS / 1000;
}

static double store_files(int dir, const char *bytes, size_t size)
{
  uint64_t begun = now_ns();

  for (int i = 0; i < FILES; i++) {
    char name[16];
    snprintf(name, sizeof(name), "f%d", i);
    int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size || fdatasync(fd) || close(fd) ||
        fsync(dir))
      fail("write");
  }
  return (double)(now_ns() - begun) / FILES / 1000;
}

static double read_files(int dir)
{
  uint64_t begun = now_ns();

  for (int i = 0; i < READS; i++) {
    char name[16];
    struct stat st;
    snprintf(name, sizeof(name), "f%d", i % FILES);
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st))
      fail("open");
    close(fd);
  }
  return (double)(now_ns() - begun) / READS / 1000;
}

static void one_size(int dir, const char *folder, size_t size)
{
  char path[300], *bytes = malloc(size), *copy = malloc(size);
  sqlite3 *db = NULL;

  if (!bytes || !copy)
    fail("malloc");
  memset(bytes, 'x', size);
  snprintf(path, sizeof(path), "%s/index-%zu", folder, size);
  if (sqlite3_open(path, &db) ||
      sqlite3_exec(db,
                   "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
                   "CREATE TABLE m(id INTEGER PRIMARY KEY, data BLOB)",
                   NULL, NULL, NULL))
    fail("open of the index");
  double in_rows = store_rows(db, bytes, size), in_files = store_files(dir, bytes, size);
  printf("%8zu %12.1f %12.1f %12.1f %12.1f\n", size, read_rows(db, copy), read_files(dir),
         in_rows, in_files);
  sqlite3_close(db);
  unlink(path);
  free(bytes);
  free(copy);
}

int main(int argc, char **argv)
{
  const char *base = argc > 1 ? argv[1] : "/tmp";
  char folder[256];

  snprintf(folder, sizeof(folder), "%s/omcc-members-XXXXXX", base);
  if (!mkdtemp(folder))
    fail("mkdtemp");
  int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  printf("   bytes      row: us     file: us   store row    store file\n");
  for (size_t size = 1024; size <= 1048576; size *= 4)
    one_size(dir, folder, size);
  for (int i = 0; i < FILES; i++) {
    char name[16];
    snprintf(name, sizeof(name), "f%d", i);
    unlinkat(dir, name, 0);
  }
  close(dir);
  rmdir(folder);
  return 0;
}
