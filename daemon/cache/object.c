/* Objects: immutable files named by the digest of their bytes.
 *
 * An object gets its name only when its bytes are on disk: fdatasync, then the name, then
 * fsync of the folder. The stat tuple of that moment goes into the index; a file that no
 * longer fits it is not served. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/same_stat.h"
#include "base/str.h"
#include "cache/cache_internal.h"

/* Damaged files kept for whoever wants to know what happened to them. */
#define QUARANTINE_KEEP 16

void oc_cache_name_of(const uint8_t sha256[OC_SHA256_LEN], struct oc_cache_name *ret)
{
  char hex[OC_SHA256_TEXT];

  oc_hex(sha256, OC_SHA256_LEN, hex);
  memcpy(ret->folder, hex, 2);
  ret->folder[2] = '\0';
  memcpy(ret->path, hex, 2);
  ret->path[2] = '/';
  memcpy(ret->path + 3, hex, sizeof(hex));
}

int64_t oc_cache_mtime_ns(const struct stat *st)
{
  return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

enum oc_cache_object_state oc_cache_object_open(struct oc_cache *c,
                                                const uint8_t sha256[OC_SHA256_LEN],
                                                uint64_t size, uint64_t ino,
                                                int64_t mtime_ns, int *ret_fd,
                                                bool *ret_proven)
{
  struct oc_cache_name name;
  struct stat st;

  oc_cache_name_of(sha256, &name);
  auto_close int fd =
      openat(c->objects_fd, name.path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0)
    return errno == ENOENT ? OC_OBJECT_MISSING : OC_OBJECT_WRONG;
  if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
      st.st_size <= 0 || (uint64_t)st.st_size != size)
    return OC_OBJECT_WRONG;
  bool changed = (uint64_t)st.st_ino != ino || oc_cache_mtime_ns(&st) != mtime_ns;
  if (ret_proven)
    *ret_proven = !changed && oc_cache_is_proven(c, sha256, &st);
  if (ret_fd)
    *ret_fd = OC_STEAL_FD(fd);
  return changed ? OC_OBJECT_CHANGED : OC_OBJECT_GOOD;
}

/* The folder of an object, made when missing; its parent is synced then. */
static int open_folder(struct oc_cache *c, const char *folder, struct oc_error *err)
{
  if (mkdirat(c->objects_fd, folder, 0700) == 0 && fsync(c->objects_fd) < 0)
    return oc_error_errno(err, OC_E_IO, "cannot sync the folder of the objects");
  int fd = openat(c->objects_fd, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0)
    return oc_error_errno(err, OC_E_IO, "cannot open the folder '%s' of the objects",
                          folder);
  return fd;
}

int oc_cache_give_name(int folder, const char *base, const struct oc_cache_output *o)
{
  char self[48];

  if (o->path)
    return renameat(AT_FDCWD, o->path, folder, base);
  snprintf(self, sizeof(self), "/proc/self/fd/%d", o->fd);
  if (linkat(AT_FDCWD, self, folder, base, AT_SYMLINK_FOLLOW) == 0)
    return 0;
  /* What lies there has no row that fits (the caller looked): it goes. */
  if (errno != EEXIST || unlinkat(folder, base, 0) < 0)
    return -1;
  return linkat(AT_FDCWD, self, folder, base, AT_SYMLINK_FOLLOW);
}

int oc_cache_object_link(struct oc_cache *c, struct oc_cache_job_member *m,
                         struct oc_error *err)
{
  struct oc_cache_name name;
  struct stat st;

  oc_cache_name_of(m->sha256, &name);
  if (fchmod(m->output.fd, 0444) < 0 || fdatasync(m->output.fd) < 0)
    return oc_error_errno(err, OC_E_IO, "cannot write an object to disk");
  if (fstat(m->output.fd, &st) < 0 || (uint64_t)st.st_size != m->size)
    return oc_error_set(err, OC_E_IO, "an object changed its size before it was stored");
  auto_close int folder = open_folder(c, name.folder, err);
  if (folder < 0)
    return folder;
  if (oc_cache_give_name(folder, name.path + 3, &m->output) < 0)
    return oc_error_errno(err, OC_E_IO, "cannot publish an object");
  free(m->output.path);
  m->output.path = NULL;
  oc_cache_point(c, "put-named");
  if (fsync(folder) < 0)
    return oc_error_errno(err, OC_E_IO, "cannot sync the folder of an object");
  m->ino = st.st_ino;
  m->mtime_ns = oc_cache_mtime_ns(&st);
  /* Its digest was computed from a file that nobody could write any more. */
  if (fstat(m->output.fd, &st) == 0)
    oc_cache_note_proven(c, m->sha256, &st);
  if (m->linked)
    oc_cache_note_linked(c, m->sha256);
  return 0;
}

bool oc_cache_file_remove(struct oc_cache *c, int parent,
                          const struct oc_cache_name *name)
{
  if (unlinkat(parent, name->path, 0) < 0)
    return errno == ENOENT;
  if (!c->opt.full_durability)
    return true;
  /* Else the file might come back after its row in limbo has gone for good. */
  auto_close int folder =
      openat(parent, name->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  return folder >= 0 && fsync(folder) == 0;
}

bool oc_cache_object_found(struct oc_cache *c, struct oc_cache_job_member *m)
{
  struct oc_cache_name name;
  struct stat st;

  oc_cache_name_of(m->sha256, &name);
  if (fstatat(c->objects_fd, name.path, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
      !S_ISREG(st.st_mode) || st.st_uid != geteuid() || (uint64_t)st.st_size != m->size)
    return false;
  m->ino = st.st_ino;
  m->mtime_ns = oc_cache_mtime_ns(&st);
  return true;
}

bool oc_cache_object_unlink(struct oc_cache *c, const uint8_t sha256[OC_SHA256_LEN])
{
  struct oc_cache_name name;

  oc_cache_name_of(sha256, &name);
  return oc_cache_file_remove(c, c->objects_fd, &name);
}

/* Names begin with the time, so the order of names is the order of arrival. */
static void prune_quarantine(struct oc_cache *c)
{
  for (;;) {
    char first[256] = "";
    size_t n = 0;
    int fd = openat(c->quarantine_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    auto_closedir DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d)
      return;
    for (struct dirent *e = readdir(d); e; e = readdir(d)) {
      if (e->d_name[0] == '.')
        continue;
      n++;
      if (first[0] == '\0' || strcmp(e->d_name, first) < 0)
        snprintf(first, sizeof(first), "%s", e->d_name);
    }
    if (n <= QUARANTINE_KEEP || unlinkat(c->quarantine_fd, first, 0) < 0)
      return;
  }
}

void oc_cache_object_quarantine(struct oc_cache *c, const uint8_t sha256[OC_SHA256_LEN])
{
  struct oc_cache_name name;
  char to[48 + OC_SHA256_TEXT];
  struct timespec now;

  oc_cache_name_of(sha256, &name);
  clock_gettime(CLOCK_REALTIME, &now);
  snprintf(to, sizeof(to), "%012ld.%09ld-%s", (long)now.tv_sec, now.tv_nsec,
           name.path + 3);
  if (renameat(c->objects_fd, name.path, c->quarantine_fd, to) < 0)
    return;
  prune_quarantine(c);
}

bool oc_cache_object_verify(struct oc_cache *c, const uint8_t sha256[OC_SHA256_LEN],
                            struct stat *ret_st)
{
  struct oc_cache_name name;
  struct stat before;
  uint8_t now[OC_SHA256_LEN];

  oc_cache_name_of(sha256, &name);
  auto_close int fd =
      openat(c->objects_fd, name.path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0 || fstat(fd, &before) < 0 || !S_ISREG(before.st_mode) ||
      before.st_uid != geteuid() || before.st_size <= 0)
    return false;
  if (oc_sha256_fd(fd, NULL, now, NULL, NULL) < 0 ||
      memcmp(now, sha256, sizeof(now)) != 0)
    return false;
  return fstat(fd, ret_st) == 0 && oc_same_stat(&before, ret_st);
}
