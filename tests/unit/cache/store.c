/* Helpers of the cache tests; see store.h. The invariants are read with SQL of their own,
 * not with the code under test. */
#include "store.h"

#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/magic.h>
#include <poll.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"

static const char inline_text[] = "ATC run success\n";

static char *folder_in(const char *place)
{
  char *path = NULL;

  ck_assert_int_gt(asprintf(&path, "%s/omcc-cache-XXXXXX", place), 0);
  ck_assert_ptr_nonnull(mkdtemp(path));
  return path;
}

char *store_folder(void)
{
  const char *tmp = getenv("TMPDIR");

  return folder_in(tmp ? tmp : "/tmp");
}

char *store_folder_in_memory(void)
{
  struct statfs fs;

  if (statfs("/dev/shm", &fs) == 0 && fs.f_type == TMPFS_MAGIC &&
      access("/dev/shm", W_OK) == 0 && fs.f_bavail * fs.f_bsize > 256 << 20)
    return folder_in("/dev/shm");
  return store_folder();
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
  (void)st;
  (void)flag;
  (void)ftw;
  return remove(path);
}

void store_remove(char *folder)
{
  nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
  free(folder);
}

char *store_path(const char *folder, const char *name)
{
  char *path = NULL;

  ck_assert_int_gt(asprintf(&path, "%s/%s", folder, name), 0);
  return path;
}

struct oc_cache *store_open_with(struct oc_cache_options *opt, const char *folder)
{
  struct oc_error err = { 0 };
  struct oc_cache *c = NULL;

  opt->dir = folder;
  ck_assert_msg(oc_cache_open(opt, &c, &err) == 0, "%s", err.msg);
  return c;
}

struct oc_cache *store_open(const char *folder)
{
  struct oc_cache_options opt = { 0 };

  return store_open_with(&opt, folder);
}

void store_key(unsigned n, uint8_t ret[OC_SHA256_LEN])
{
  char text[32];
  int len = snprintf(text, sizeof(text), "key %u", n);

  ck_assert_int_eq(oc_sha256_bytes(text, (size_t)len, ret), 0);
}

void store_fill(unsigned content, uint8_t *to, size_t size)
{
  uint32_t x = content * 2654435761u + 1;

  for (size_t i = 0; i < size; i++) {
    x = x * 1664525u + 1013904223u;
    to[i] = (uint8_t)(x >> 24);
  }
}

static uint8_t *bytes_of(unsigned content, size_t size)
{
  uint8_t *p = malloc(size ? size : 1);

  store_fill(content, p, size);
  return p;
}

void store_object_digest(unsigned content, size_t size, uint8_t ret[OC_SHA256_LEN])
{
  auto_free uint8_t *p = bytes_of(content, size);

  ck_assert_int_eq(oc_sha256_bytes(p, size, ret), 0);
}

char *store_object_path(const char *folder, unsigned content, size_t size)
{
  uint8_t d[OC_SHA256_LEN];
  char hex[OC_SHA256_TEXT], *path = NULL;

  store_object_digest(content, size, d);
  oc_hex(d, OC_SHA256_LEN, hex);
  ck_assert_int_gt(asprintf(&path, "%s/objects/%.2s/%s", folder, hex, hex), 0);
  return path;
}

int store_put(struct oc_cache *c, unsigned n, unsigned content, size_t size)
{
  struct oc_cache_output out;
  struct oc_error err = { 0 };
  auto_free uint8_t *p = bytes_of(content, size);

  ck_assert_msg(oc_cache_output_new(c, &out, &err) == 0, "%s", err.msg);
  ck_assert_int_eq(write(out.fd, p, size), (ssize_t)size);
  ck_assert_msg(oc_cache_output_seal(&out, &err) == 0, "%s", err.msg);
  struct oc_cache_put_member members[2] = {
    { .name = "model.om",
      .kind = "artifact",
      .mode = 0600,
      .from = OC_CACHE_FROM_OUTPUT,
      .output = &out,
      .size = size },
    { .name = "stdout",
      .kind = "stdout",
      .mode = 0600,
      .from = OC_CACHE_FROM_DATA,
      .data = inline_text,
      .size = sizeof(inline_text) },
  };
  ck_assert_int_eq(oc_sha256_bytes(p, size, members[0].sha256), 0);
  struct oc_cache_put put = {
    .parts = "parts",
    .parts_len = 5,
    .members = members,
    .n_members = 2,
    .has_plan_key = true,
    .facts = { .model = "m.onnx",
               .soc = "Ascend310P3",
               .backend = "builtin",
               .mode = "fp16",
               .compile_ms = 10,
               .tool_exit = -1 },
  };
  store_key(n, put.key);
  store_key(1000000 + content, put.plan_key);
  store_key(2000000 + content, put.model);
  store_key(3000000 + n, put.options);
  int rc = oc_cache_put(c, &put, n, &err);
  ck_assert_int_eq(out.fd, -1);
  return rc;
}

struct oc_cache_event store_event(struct oc_cache *c, enum oc_cache_event_kind kind)
{
  struct oc_cache_event event = { 0 };
  struct pollfd p = { .fd = oc_cache_event_fd(c), .events = POLLIN };

  for (;;) {
    while (oc_cache_next_event(c, &event))
      if (event.kind == kind)
        return event;
    ck_assert_msg(poll(&p, 1, 120000) == 1, "no event of kind %d came", kind);
  }
}

bool store_put_wait(struct oc_cache *c, unsigned n, unsigned content, size_t size)
{
  struct pollfd p = { .fd = oc_cache_event_fd(c), .events = POLLIN };
  struct oc_cache_event event;

  if (store_put(c, n, content, size) < 0)
    return false;
  for (;;) {
    while (oc_cache_next_event(c, &event))
      if (event.ticket == n &&
          (event.kind == OC_CACHE_STORED || event.kind == OC_CACHE_NOT_STORED))
        return event.kind == OC_CACHE_STORED;
    ck_assert_int_eq(poll(&p, 1, 120000), 1);
  }
}

int store_check(struct oc_cache *c, unsigned n, unsigned content, size_t size)
{
  uint8_t key[OC_SHA256_LEN], want[OC_SHA256_LEN], got[OC_SHA256_LEN];
  struct oc_cache_hit hit;
  bool seen_object = false, seen_inline = false;

  store_key(n, key);
  if (oc_cache_lookup(c, key, 0, &hit, NULL) == 0)
    return 0;
  store_object_digest(content, size, want);
  for (size_t i = 0; i < hit.n_members; i++) {
    struct oc_cache_member *m = &hit.members[i];
    if (strcmp(m->name, "model.om") == 0) {
      ck_assert_uint_eq(m->size, size);
      ck_assert_mem_eq(m->sha256, want, sizeof(want));
      if (m->data)
        ck_assert_int_eq(oc_sha256_bytes(m->data, m->size, got), 0);
      else
        ck_assert_int_eq(oc_sha256_fd(m->fd, NULL, got, NULL, NULL), 0);
      ck_assert_mem_eq(got, want, sizeof(want));
      seen_object = true;
    } else {
      ck_assert_str_eq(m->name, "stdout");
      ck_assert_uint_eq(m->size, sizeof(inline_text));
      ck_assert_mem_eq(m->data, inline_text, sizeof(inline_text));
      seen_inline = true;
    }
  }
  ck_assert(seen_object && seen_inline);
  ck_assert_str_eq(hit.facts.soc, "Ascend310P3");
  oc_cache_hit_clear(&hit);
  return 1;
}

/* ---------------------------------------------------------------- invariants */

static int64_t number(sqlite3 *db, const char *sql)
{
  sqlite3_stmt *s = NULL;

  ck_assert_msg(sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK, "%s: %s", sql,
                sqlite3_errmsg(db));
  ck_assert_int_eq(sqlite3_step(s), SQLITE_ROW);
  int64_t n = sqlite3_column_int64(s, 0);
  sqlite3_finalize(s);
  return n;
}

/* Every object row has its file with its bytes. */
static void check_objects(sqlite3 *db, const char *folder)
{
  sqlite3_stmt *s = NULL;

  ck_assert_int_eq(
      sqlite3_prepare_v2(db, "SELECT sha256, size FROM object", -1, &s, NULL), SQLITE_OK);
  while (sqlite3_step(s) == SQLITE_ROW) {
    char hex[OC_SHA256_TEXT];
    auto_free char *path = NULL;
    uint8_t got[OC_SHA256_LEN];
    uint64_t size = 0;
    oc_hex(sqlite3_column_blob(s, 0), OC_SHA256_LEN, hex);
    ck_assert_int_gt(asprintf(&path, "%s/objects/%.2s/%s", folder, hex, hex), 0);
    auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
    ck_assert_msg(fd >= 0, "a row without its object: %s", path);
    ck_assert_int_eq(oc_sha256_fd(fd, NULL, got, &size, NULL), 0);
    ck_assert_mem_eq(got, sqlite3_column_blob(s, 0), OC_SHA256_LEN);
    ck_assert_int_eq((int64_t)size, sqlite3_column_int64(s, 1));
  }
  sqlite3_finalize(s);
}

static size_t n_files;

static int count_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
  (void)path;
  (void)st;
  (void)ftw;
  n_files += flag == FTW_F;
  return 0;
}

size_t store_count_files(const char *folder, const char *sub)
{
  auto_free char *path = store_path(folder, sub);

  n_files = 0;
  nftw(path, count_one, 16, FTW_PHYS);
  return n_files;
}

int store_invariants(const char *folder)
{
  auto_free char *path = store_path(folder, "index.sqlite");
  sqlite3 *db = NULL;

  ck_assert_int_eq(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
  ck_assert_int_eq(
      number(db,
             "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'"),
      0);
  check_objects(db, folder);
  ck_assert_int_eq(number(db, "SELECT count(*) FROM object"),
                   (int64_t)store_count_files(folder, "objects"));
  ck_assert_int_eq(number(db, "SELECT count(*) FROM limbo"), 0);
  ck_assert_int_eq(
      number(db, "SELECT count(*) FROM member m WHERE data IS NULL AND NOT EXISTS"
                 " (SELECT 1 FROM object o WHERE o.sha256 = m.sha256)"),
      0);
  ck_assert_int_eq(number(db,
                          "SELECT count(*) FROM object o WHERE NOT EXISTS (SELECT 1"
                          " FROM member m WHERE m.sha256 = o.sha256 AND data IS NULL)"),
                   0);
  ck_assert_int_eq(number(db, "SELECT count(*) FROM plan p WHERE NOT EXISTS"
                              " (SELECT 1 FROM object o WHERE o.sha256 = p.sha256)"),
                   0);
  ck_assert_int_eq(number(db, "SELECT count(*) FROM member m WHERE NOT EXISTS"
                              " (SELECT 1 FROM entry e WHERE e.id = m.id / 128)"),
                   0);
  ck_assert_int_eq(number(db, "SELECT count(*) FROM entry_parts p WHERE NOT EXISTS"
                              " (SELECT 1 FROM entry e WHERE e.id = p.entry)"),
                   0);
  int entries = (int)number(db, "SELECT count(*) FROM entry");
  ck_assert_int_eq(
      number(db, "SELECT coalesce(sum(value), 0) FROM counter WHERE name = 'entries'"),
      entries);
  ck_assert_int_eq(
      number(db, "SELECT coalesce(sum(value), 0) FROM counter WHERE name = 'objects'"),
      number(db, "SELECT count(*) FROM object"));
  ck_assert_int_eq(
      number(db, "SELECT coalesce(sum(value), 0) FROM counter WHERE name = 'bytes'"),
      number(db, "SELECT (SELECT coalesce(sum(size), 0) FROM object) +"
                 " (SELECT coalesce(sum(size), 0) FROM member WHERE data IS NOT NULL) +"
                 " (SELECT coalesce(sum(record), 0) FROM entry)"));
  ck_assert_int_le((int64_t)store_count_files(folder, "entries"), entries);
  ck_assert_int_eq(store_count_files(folder, "tmp"), 0);
  sqlite3_close(db);
  return entries;
}
