/* The model of the disk; see disk.h. An inode keeps its synced state and the numbers of
 * the records since; a sync plays those into the state, and the end plays a choice of
 * them. */
#include "disk.h"

#include <check.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define SECTOR      512u
#define MOST_INODES 512u
#define MOST_NAMES  64u

struct inode;
struct entry {
  char name[80];
  struct inode *inode; /* NULL: a free place */
};

struct inode {
  uint64_t id;
  bool is_dir;
  uint8_t *bytes;
  size_t size, room;
  struct entry entries[MOST_NAMES];
  size_t *pending, n_pending, room_pending;
};

struct disk {
  struct inode inodes[MOST_INODES];
  size_t n;
};

void disk_trace_read(const char *file, struct disk_trace *ret)
{
  auto_fclose FILE *f = fopen(file, "re");
  struct stat st;
  size_t at = 0;

  ck_assert_ptr_nonnull(f);
  ck_assert_int_eq(fstat(fileno(f), &st), 0);
  ret->bytes = malloc((size_t)st.st_size + 1);
  ck_assert_uint_eq(fread(ret->bytes, 1, (size_t)st.st_size, f), (size_t)st.st_size);
  ret->records = calloc((size_t)st.st_size / sizeof(struct trace_record) + 1,
                        sizeof(ret->records[0]));
  ret->n = 0;
  while (at < (size_t)st.st_size) {
    /* Names make records begin anywhere; the copy lies where a record may lie. */
    struct trace_record head;
    memcpy(&head, ret->bytes + at, sizeof(head));
    size_t more = head.name_len + (head.kind == TRACE_WRITE ? head.len : 0);
    char *copy = malloc(sizeof(head) + more + 1);
    memcpy(copy, ret->bytes + at, sizeof(head) + more);
    ret->records[ret->n++] = (const struct trace_record *)(void *)copy;
    at += sizeof(head) + more;
  }
}

void disk_trace_clear(struct disk_trace *t)
{
  for (size_t i = 0; i < t->n; i++)
    free((void *)t->records[i]);
  free((void *)t->records);
  free(t->bytes);
}

static const char *name_of(const struct trace_record *r)
{
  return (const char *)(r + 1);
}

static struct inode *find(struct disk *d, uint64_t id)
{
  for (size_t i = d->n; i-- > 0;) /* the newest of that number */
    if (d->inodes[i].id == id)
      return &d->inodes[i];
  return NULL;
}

static struct inode *add(struct disk *d, uint64_t id, bool is_dir)
{
  ck_assert_uint_lt(d->n, MOST_INODES);
  struct inode *i = &d->inodes[d->n++];
  i->id = id;
  i->is_dir = is_dir;
  return i;
}

/* ---------------------------------------------------------------- one record, done */

static void grow(struct inode *i, size_t size)
{
  if (size > i->room) {
    i->room = size * 2;
    i->bytes = realloc(i->bytes, i->room);
    ck_assert_ptr_nonnull(i->bytes);
  }
  if (size > i->size)
    memset(i->bytes + i->size, 0, size - i->size);
}

static void set_entry(struct inode *dir, const char *name, struct inode *to)
{
  struct entry *free_place = NULL;

  for (size_t i = 0; i < MOST_NAMES; i++) {
    struct entry *e = &dir->entries[i];
    if (!e->inode)
      free_place = free_place ? free_place : e;
    else if (strcmp(e->name, name) == 0) {
      e->inode = to;
      return;
    }
  }
  if (!to)
    return;
  ck_assert_ptr_nonnull(free_place);
  snprintf(free_place->name, sizeof(free_place->name), "%s", name);
  free_place->inode = to;
}

/* `part`: how many bytes of a write came through. */
static void play(struct disk *d, struct inode *i, const struct trace_record *r,
                 size_t part)
{
  switch (r->kind) {
  case TRACE_WRITE:
    grow(i, r->at + part);
    memcpy(i->bytes + r->at, (const char *)(r + 1) + r->name_len, part);
    i->size = r->at + part > i->size ? r->at + part : i->size;
    break;
  case TRACE_SIZE:
    grow(i, r->at);
    i->size = r->at;
    break;
  case TRACE_NEW_FILE:
  case TRACE_NEW_DIR:
  case TRACE_LINK: set_entry(i, name_of(r), find(d, r->inode)); break;
  case TRACE_UNLINK: set_entry(i, name_of(r), NULL); break;
  default: ck_abort_msg("record %u is nothing to play", r->kind);
  }
}

static void wait_for_sync(struct inode *i, size_t record)
{
  ck_assert_ptr_nonnull(i);
  if (i->n_pending == i->room_pending) {
    i->room_pending = i->room_pending * 2 + 16;
    i->pending = realloc(i->pending, i->room_pending * sizeof(i->pending[0]));
    ck_assert_ptr_nonnull(i->pending);
  }
  i->pending[i->n_pending++] = record;
}

static void sync_inode(const struct disk_trace *t, struct disk *d, struct inode *i)
{
  for (size_t k = 0; i && k < i->n_pending; k++) {
    const struct trace_record *r = t->records[i->pending[k]];
    play(d, i, r, r->len);
  }
  if (i)
    i->n_pending = 0;
}

static void happen(const struct disk_trace *t, struct disk *d, size_t at)
{
  const struct trace_record *r = t->records[at];

  switch (r->kind) {
  case TRACE_NEW_FILE:
  case TRACE_NEW_DIR:
    add(d, r->inode, r->kind == TRACE_NEW_DIR);
    if (r->dir)
      wait_for_sync(find(d, r->dir), at);
    break;
  case TRACE_LINK:
  case TRACE_UNLINK: wait_for_sync(find(d, r->dir), at); break;
  case TRACE_WRITE:
  case TRACE_SIZE: wait_for_sync(find(d, r->inode), at); break;
  case TRACE_SYNC: sync_inode(t, d, find(d, r->inode)); break;
  case TRACE_MARK: break;
  default: ck_abort_msg("record %u is not known to the model", r->kind);
  }
}

/* ---------------------------------------------------------------- the power goes */

static uint32_t lot(uint32_t *x)
{
  *x = *x * 1664525u + 1013904223u;
  return *x >> 8;
}

static void settle(const struct disk_trace *t, struct disk *d, struct inode *i,
                   enum disk_choice choice, uint32_t *x)
{
  for (size_t k = 0; k < i->n_pending && choice != DISK_NOTHING; k++) {
    const struct trace_record *r = t->records[i->pending[k]];
    size_t part = r->len;
    if (choice == DISK_SOME && lot(x) % 2)
      continue;
    if (choice == DISK_SOME && r->kind == TRACE_WRITE && r->len > SECTOR &&
        lot(x) % 8 == 0)
      part = lot(x) % (r->len / SECTOR) * SECTOR;
    play(d, i, r, part);
  }
}

static void write_file(const struct inode *i, const char *path)
{
  auto_close int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

  ck_assert_int_ge(fd, 0);
  ck_assert_int_eq(write(fd, i->bytes, i->size), (ssize_t)i->size);
}

/* Two levels below the root: the cache, its folders, folders of objects. */
static void write_dir(const struct inode *root, const char *to)
{
  struct {
    const struct inode *dir;
    char path[500];
  } todo[MOST_INODES];
  size_t n = 1;

  todo[0].dir = root;
  snprintf(todo[0].path, sizeof(todo[0].path), "%s", to);
  for (size_t at = 0; at < n; at++)
    for (size_t k = 0; k < MOST_NAMES; k++) {
      const struct entry *e = &todo[at].dir->entries[k];
      char path[500];
      if (!e->inode)
        continue;
      ck_assert_int_lt(snprintf(path, sizeof(path), "%s/%s", todo[at].path, e->name),
                       (int)sizeof(path));
      if (!e->inode->is_dir) {
        write_file(e->inode, path);
        continue;
      }
      ck_assert_int_eq(mkdir(path, 0700), 0);
      ck_assert_uint_lt(n, MOST_INODES);
      todo[n].dir = e->inode;
      snprintf(todo[n++].path, sizeof(todo[0].path), "%s", path);
    }
}

size_t disk_after(const struct disk_trace *t, uint64_t root, size_t n,
                  enum disk_choice choice, uint32_t seed, const char *to)
{
  struct disk *d = calloc(1, sizeof(*d));
  uint32_t x = seed;
  size_t unsynced = 0;

  ck_assert_ptr_nonnull(d);
  add(d, root, true);
  for (size_t at = 0; at < n; at++)
    happen(t, d, at);
  for (size_t i = 0; i < d->n; i++) {
    unsynced += d->inodes[i].n_pending;
    settle(t, d, &d->inodes[i], choice, &x);
  }
  write_dir(&d->inodes[0], to);
  for (size_t i = 0; i < d->n; i++) {
    free(d->inodes[i].bytes);
    free(d->inodes[i].pending);
  }
  free(d);
  return unsynced;
}
