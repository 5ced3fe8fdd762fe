/* The directory: who owns it, where it lies, and the lock that one daemon holds for life.
 *
 * The lock is flock() on a file that also holds the pid, so that a second daemon can say
 * who was first. A kill gives it back. Everything below the directory is opened through
 * descriptors, so a directory that is renamed or replaced meanwhile is not followed. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "cache/cache_internal.h"

#define RUNNING "running"

/* Numbers of statfs(2) and linux/magic.h. Their locks and shared maps are not what
 * SQLite's write-ahead log needs, and their times are another machine's. */
static const struct {
  uint64_t magic;
  const char *name;
} network_fs[] = {
  { 0x6969, "nfs" },        { 0x517b, "smb" },        { 0xff534d42, "cifs" },
  { 0xfe534d42, "smb2" },   { 0x01021997, "9p" },     { 0x5346414f, "afs" },
  { 0x6b414653, "afs" },    { 0x73757245, "coda" },   { 0x564c, "ncp" },
  { 0x00c36400, "ceph" },   { 0x0bd00bd0, "lustre" }, { 0x47504653, "gpfs" },
  { 0x19830326, "beegfs" }, { 0x7461636f, "ocfs2" },  { 0x01161970, "gfs2" },
  { 0xaad7aaea, "panfs" },  { 0x013111a8, "ibrix" },
};
#define FUSE_MAGIC 0x65735546u

/* FUSE says nothing of what is behind it; the mount table's type does ("fuse.sshfs"). */
static const char *const local_fuse[] = { "fuse.fuse-overlayfs", "fuseblk",
                                          "fuse.gocryptfs",      "fuse.encfs",
                                          "fuse.bindfs",         "fuse.mergerfs" };

static bool fuse_is_local(int fd)
{
  struct stat st;
  char line[4096], want[32];
  auto_fclose FILE *f = fopen("/proc/self/mountinfo", "re");

  if (!f || fstat(fd, &st) < 0)
    return false;
  snprintf(want, sizeof(want), " %u:%u ", major(st.st_dev), minor(st.st_dev));
  while (fgets(line, sizeof(line), f)) {
    const char *type = strstr(line, " - ");
    if (!type || !strstr(line, want))
      continue;
    type += 3;
    for (size_t i = 0; i < OC_COUNT(local_fuse); i++) {
      size_t len = strlen(local_fuse[i]);
      if (strncmp(type, local_fuse[i], len) == 0 && type[len] == ' ')
        return true;
    }
  }
  return false;
}

static const char *network_name(int fd)
{
  struct statfs fs;

  if (fstatfs(fd, &fs) < 0)
    return NULL;
  uint64_t magic = (uint64_t)fs.f_type & 0xffffffffu;
  if (magic == FUSE_MAGIC)
    return fuse_is_local(fd) ? NULL : "fuse";
  for (size_t i = 0; i < OC_COUNT(network_fs); i++)
    if (network_fs[i].magic == magic)
      return network_fs[i].name;
  return NULL;
}

bool oc_cache_is_network_fs(int fd)
{
  return network_name(fd) != NULL;
}

/* A new name is on disk only when the folder that holds it was synced. */
static int sync_parent(const char *path, struct oc_error *err)
{
  char parent[PATH_MAX];

  snprintf(parent, sizeof(parent), "%s", path);
  char *slash = strrchr(parent, '/');
  if (!slash)
    parent[0] = '.';
  if (!slash || slash == parent)
    slash = parent + 1;
  *slash = '\0';
  auto_close int fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0 || fsync(fd) < 0)
    return oc_error_errno(err, OC_E_IO, "cannot sync the folder '%s'", parent);
  return 0;
}

/* Makes every missing folder of `path`. */
static int make_path(const char *path, struct oc_error *err)
{
  char part[PATH_MAX];
  size_t len = strlen(path);

  if (len == 0 || len >= sizeof(part))
    return oc_error_set(err, OC_E_ARG, "the cache directory '%.100s' has no usable name",
                        path);
  for (size_t i = 1; i <= len; i++) {
    if (path[i] != '/' && path[i] != '\0')
      continue;
    memcpy(part, path, i);
    part[i] = '\0';
    bool made = mkdir(part, 0700) == 0;
    if (!made && errno != EEXIST)
      return oc_error_errno(err, OC_E_IO, "cannot make the cache directory '%s'", part);
    if (made && sync_parent(part, err) < 0)
      return OC_E_IO;
  }
  return 0;
}

static int check_owner(int fd, const char *dir, struct oc_error *err)
{
  struct stat st;

  if (fstat(fd, &st) < 0)
    return oc_error_errno(err, OC_E_IO, "cannot look at the cache directory '%s'", dir);
  if (st.st_uid != geteuid())
    return oc_error_set(err, OC_E_STORE,
                        "the cache directory '%s' belongs to uid %u, not to us", dir,
                        st.st_uid);
  if (st.st_mode & S_IWOTH)
    return oc_error_set(err, OC_E_STORE,
                        "the cache directory '%s' is writable for everybody", dir);
  return 0;
}

static int take_lock(struct oc_cache *c, struct oc_error *err)
{
  char text[32] = "";

  c->lock_fd = openat(c->dir_fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (c->lock_fd < 0)
    return oc_error_errno(err, OC_E_IO, "cannot open the lock of the cache '%s'", c->dir);
  if (flock(c->lock_fd, LOCK_EX | LOCK_NB) < 0) {
    if (errno != EWOULDBLOCK)
      return oc_error_errno(err, OC_E_IO, "cannot lock the cache '%s'", c->dir);
    ssize_t n = pread(c->lock_fd, text, sizeof(text) - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return oc_error_set(err, OC_E_BUSY,
                        "the cache '%s' is in use by the daemon with pid %s", c->dir,
                        text[0] ? text : "unknown");
  }
  int n = snprintf(text, sizeof(text), "%ld\n", (long)getpid());
  if (ftruncate(c->lock_fd, 0) < 0 || pwrite(c->lock_fd, text, (size_t)n, 0) != n)
    return oc_error_errno(err, OC_E_IO, "cannot write the lock of the cache '%s'",
                          c->dir);
  return 0;
}

static int open_folder(struct oc_cache *c, const char *name, int *ret_fd,
                       struct oc_error *err)
{
  if (mkdirat(c->dir_fd, name, 0700) < 0 && errno != EEXIST)
    return oc_error_errno(err, OC_E_IO, "cannot make '%s/%s'", c->dir, name);
  *ret_fd = openat(c->dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (*ret_fd < 0)
    return oc_error_errno(err, OC_E_IO, "cannot open '%s/%s'", c->dir, name);
  return 0;
}

/* Outputs that were never published: nobody else uses the folder while we hold the lock.
 */
static void empty_tmp(struct oc_cache *c)
{
  int fd = openat(c->tmp_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  auto_closedir DIR *d = fd < 0 ? NULL : fdopendir(fd);

  if (!d)
    return;
  for (struct dirent *e = readdir(d); e; e = readdir(d))
    if (!oc_streq(e->d_name, ".") && !oc_streq(e->d_name, ".."))
      unlinkat(c->tmp_fd, e->d_name, 0);
}

/* Backup tools leave out a folder that carries this file (bford.info/cachedir). */
static void tag_directory(struct oc_cache *c)
{
  static const char tag[] = "Signature: 8a477f597d28d172789f06886806bc55\n"
                            "# This folder holds the cache of omcc.\n";
  auto_close int fd =
      openat(c->dir_fd, "CACHEDIR.TAG", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

  if (fd >= 0 && write(fd, tag, sizeof(tag) - 1) < 0)
    unlinkat(c->dir_fd, "CACHEDIR.TAG", 0);
}

/* A file that is there while the cache is open: found at the start, the last life ended
 * without a word. It need not be synced: no later name in this file system gets onto disk
 * before it. */
static void mark_open(struct oc_cache *c)
{
  auto_close int fd =
      openat(c->dir_fd, RUNNING, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

  c->unclean = fd < 0 && errno == EEXIST;
}

int oc_cache_place_open(struct oc_cache *c, struct oc_error *err)
{
  int rc = make_path(c->dir, err);

  if (rc < 0)
    return rc;
  c->dir_fd = open(c->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (c->dir_fd < 0)
    return oc_error_errno(err, OC_E_IO, "cannot open the cache directory '%s'", c->dir);
  rc = check_owner(c->dir_fd, c->dir, err);
  if (rc < 0)
    return rc;
  const char *fs = network_name(c->dir_fd);
  if (fs && !c->opt.allow_network_fs)
    return oc_error_set(err, OC_E_STORE,
                        "the cache directory '%s' lies on a network file system (%s)",
                        c->dir, fs);
  rc = take_lock(c, err);
  if (rc == 0)
    rc = open_folder(c, "objects", &c->objects_fd, err);
  if (rc == 0)
    rc = open_folder(c, "entries", &c->entries_fd, err);
  if (rc == 0)
    rc = open_folder(c, "tmp", &c->tmp_fd, err);
  if (rc == 0)
    rc = open_folder(c, "quarantine", &c->quarantine_fd, err);
  /* Folders that an earlier life made and did not live to sync. */
  if (rc == 0 && c->opt.full_durability &&
      (fsync(c->objects_fd) < 0 || fsync(c->entries_fd) < 0 || fsync(c->dir_fd) < 0))
    rc = oc_error_errno(err, OC_E_IO, "cannot sync the cache directory '%s'", c->dir);
  if (rc == 0 && c->opt.full_durability)
    rc = sync_parent(c->dir, err);
  if (rc < 0)
    return rc;
  empty_tmp(c);
  tag_directory(c);
  mark_open(c);
  return 0;
}

void oc_cache_place_clean(struct oc_cache *c)
{
  unlinkat(c->dir_fd, RUNNING, 0);
}

void oc_cache_place_close(struct oc_cache *c)
{
  oc_close_fd(&c->quarantine_fd);
  oc_close_fd(&c->tmp_fd);
  oc_close_fd(&c->entries_fd);
  oc_close_fd(&c->objects_fd);
  oc_close_fd(&c->dir_fd);
  oc_close_fd(&c->lock_fd); /* last: the next daemon may start now */
}
