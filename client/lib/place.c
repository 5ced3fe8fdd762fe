/* A member of a result becomes a file, complete or not at all.
 *
 * The target directory is opened once; whatever follows happens in that directory, even
 * if another one gets its name meanwhile. A link that has the target's name is replaced,
 * not followed.
 *
 * The content goes into an unnamed file in the target directory (so a kill leaves
 * nothing), by reflink where the file system shares extents, else copied in the kernel.
 * Then it gets its name: directly when the name is free, else under a temporary name that
 * is renamed over the old file. File systems without unnamed files get the temporary name
 * from the start. A hard link to the store's object is made only when the daemon is the
 * user's own, since link and object share owner and content for ever. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "lib/lib_internal.h"
#include "om/om.h"

#define DEFAULT_MODE 0600
#define CHUNK        ((size_t)64 << 20)
#define MAX_TRIES    100

/* The large array is last and never cleared: what is not used is not touched. */
struct target {
  const char *path;
  const char *name; /* the last part of `path` */
  char temp[64];    /* beside it; "" while the file has no temporary name */
  int dir_fd;
  int fd;
  char dir[PATH_MAX];
};

static int split(const char *path, struct target *ret, struct omcc_error *err)
{
  const char *slash = strrchr(path, '/');

  ret->dir_fd = ret->fd = -1;
  ret->temp[0] = '\0';
  if (strlen(path) >= PATH_MAX - 32 || !*(slash ? slash + 1 : path))
    return omcc_fail_finding(err, "output-not-writable", "output", path,
                             "the path is too long or has no file name");
  ret->path = path;
  ret->name = slash ? slash + 1 : path;
  if (!slash)
    snprintf(ret->dir, sizeof(ret->dir), ".");
  else
    snprintf(ret->dir, sizeof(ret->dir), "%.*s", slash == path ? 1 : (int)(slash - path),
             path);
  return 0;
}

static int not_writable(const char *path, int error, struct omcc_error *err)
{
  if (error == ENOSPC || error == EDQUOT) {
    omcc_fail_finding(err, "output-full", "output", path, strerror(error));
    if (err)
      err->status = OMCC_ENVIRONMENT;
    return OMCC_E_IO;
  }
  return omcc_fail_finding(err, "output-not-writable", "output", path, strerror(error));
}

/* Makes the directories of `dir` that are missing, from the top. */
static int make_dirs(const char *dir, const char *path, struct omcc_error *err)
{
  char part[PATH_MAX];

  if (!access(dir, F_OK))
    return 0;
  for (const char *p = dir + 1; *dir; p++) {
    if (*p && *p != '/')
      continue;
    snprintf(part, sizeof(part), "%.*s", (int)(p - dir), dir);
    if (mkdir(part, 0777) && errno != EEXIST && access(part, F_OK))
      return not_writable(path, errno, err);
    if (!*p)
      break;
  }
  return 0;
}

int omcc_place_check(const char *path, struct omcc_error *err)
{
  struct target t;
  struct stat st;
  int rc = split(path, &t, err);

  if (rc < 0)
    return rc;
  if (!stat(path, &st) && S_ISDIR(st.st_mode))
    return not_writable(path, EISDIR, err);
  while (stat(t.dir, &st)) {
    char *slash = strrchr(t.dir, '/');

    if (errno != ENOENT)
      return not_writable(path, errno, err);
    if (!slash || slash == t.dir)
      snprintf(t.dir, sizeof(t.dir), "%s", slash ? "/" : ".");
    else
      *slash = '\0';
  }
  if (!S_ISDIR(st.st_mode))
    return not_writable(path, ENOTDIR, err);
  if (access(t.dir, W_OK | X_OK))
    return not_writable(path, errno, err);
  return 0;
}

static void name_temp(struct target *t, unsigned try)
{
  snprintf(t->temp, sizeof(t->temp), ".omcc-%ld-%u", (long)getpid(), try);
}

static void drop_temp(struct target *t)
{
  int saved = errno;

  if (t->temp[0])
    unlinkat(t->dir_fd, t->temp, 0);
  t->temp[0] = '\0';
  errno = saved;
}

static int named_temp(struct target *t, uint32_t mode)
{
  int fd = -1;

  for (unsigned i = 0; fd < 0 && i < MAX_TRIES && (i == 0 || errno == EEXIST); i++) {
    name_temp(t, i);
    fd = openat(t->dir_fd, t->temp, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                mode);
  }
  if (fd < 0)
    t->temp[0] = '\0'; /* somebody else's */
  return fd;
}

static int open_dir(struct target *t, struct omcc_error *err)
{
  t->dir_fd = open(t->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
  return t->dir_fd < 0 ? not_writable(t->path, errno, err) : 0;
}

static int open_target(struct target *t, uint32_t mode, struct omcc_error *err)
{
  t->fd = openat(t->dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
  if (t->fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL ||
                    errno == ENOENT || errno == ENOSYS))
    t->fd = named_temp(t, mode);
  if (t->fd < 0)
    return not_writable(t->path, errno, err);
  if (fchmod(t->fd, mode))
    return not_writable(t->path, errno, err);
  return 0;
}

static int write_inline(int fd, const uint8_t *p, uint64_t len)
{
  while (len) {
    ssize_t n = write(fd, p, (size_t)len);

    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return -1;
    p += n;
    len -= (uint64_t)n;
  }
  return 0;
}

static int copy_fd(int in, int out, uint64_t len, const char **ret_how)
{
  loff_t at = 0;
  bool in_kernel = true;

  *ret_how = "reflink";
  if (!ioctl(out, FICLONE, in))
    return 0;
  *ret_how = "copy";
  while ((uint64_t)at < len) {
    size_t want = len - (uint64_t)at < CHUNK ? (size_t)(len - (uint64_t)at) : CHUNK;
    ssize_t n = in_kernel ? copy_file_range(in, &at, out, NULL, want, 0)
                          : sendfile(out, in, &at, want);

    if (n > 0 || (n < 0 && errno == EINTR))
      continue;
    if (n < 0 && in_kernel && errno != ENOSPC && errno != EDQUOT && errno != EIO) {
      in_kernel = false; /* other file system, old kernel: the offset is still right */
      continue;
    }
    if (n == 0)
      errno = EIO; /* the object is shorter than the daemon said */
    return -1;
  }
  return 0;
}

/* A second name for the inode behind `fd`. By the descriptor itself where the kernel lets
 * us (its owner opened it, or a privilege), else by what stands for it in /proc. */
static int link_fd(const struct target *t, int fd, const char *name)
{
  char self[64];

  if (!linkat(fd, "", t->dir_fd, name, AT_EMPTY_PATH))
    return 0;
  if (errno == EEXIST)
    return -1;
  snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
  return linkat(AT_FDCWD, self, t->dir_fd, name, AT_SYMLINK_FOLLOW);
}

static int rename_temp(const struct target *t)
{
  return renameat(t->dir_fd, t->temp, t->dir_fd, t->name);
}

/* The target's name is one of the inode behind `fd` already. */
static bool is_named(const struct target *t, int fd)
{
  struct stat own, there;

  return !fstat(fd, &own) && !fstatat(t->dir_fd, t->name, &there, AT_SYMLINK_NOFOLLOW) &&
         own.st_dev == there.st_dev && own.st_ino == there.st_ino;
}

/* Gives the inode behind `fd` the target's name, replacing what has it. */
static int name_file(struct target *t, int fd)
{
  if (t->temp[0]) {
    if (rename_temp(t))
      return -1;
    t->temp[0] = '\0';
    return 0;
  }
  if (!link_fd(t, fd, t->name))
    return 0;
  if (errno != EEXIST)
    return -1;
  if (is_named(t, fd))
    return 0;
  errno = EEXIST;
  for (unsigned i = 0; errno == EEXIST && i < MAX_TRIES; i++) {
    int failed;

    name_temp(t, i);
    if (link_fd(t, fd, t->temp)) {
      t->temp[0] = '\0'; /* somebody else's */
      continue;
    }
    failed = rename_temp(t);
    drop_temp(t); /* rename of two names of one inode does nothing and leaves both */
    return failed;
  }
  return -1;
}

static void drop(struct target *t)
{
  drop_temp(t);
  if (t->fd >= 0)
    close(t->fd);
  if (t->dir_fd >= 0)
    close(t->dir_fd);
}

/* 0 linked; else the reason is in ret->link_refused and nothing was done. */
static int try_link(const struct omcc *c, const struct omcc_member *m, struct target *t,
                    struct omcc_placed *ret)
{
  const char *why = NULL;
  struct stat st;

  if (m->fd < 0)
    why = "the file is so small that the daemon keeps it in its index";
  else if (c->peer_uid != geteuid() || fstat(m->fd, &st) || st.st_uid != geteuid())
    why = "the daemon runs as another user"; /* whoever it says it is */
  else if (!name_file(t, m->fd))
    return 0;
  else if (errno == EXDEV)
    why = "the cache is on another file system";
  snprintf(ret->link_refused, sizeof(ret->link_refused), "%s",
           why ? why : strerror(errno));
  return -1;
}

static int relabel(const struct omcc_member *m, int out, const char *label,
                   struct omcc_error *err)
{
  struct oc_error e = { 0 };
  struct oc_om_source source = oc_om_source_bytes(m->data, (size_t)m->bytes);
  int rc = m->fd >= 0 ? oc_om_source_fd(m->fd, &source, &e) : 0;

  if (!rc)
    rc = oc_om_relabel(source, out, label, NULL, &e);
  return rc < 0 ? omcc_fail_from(err, OMCC_ENVIRONMENT, &e) : 0;
}

static int fill(const struct omcc_member *m, struct target *t, const char *label,
                struct omcc_placed *ret, struct omcc_error *err)
{
  if (label) {
    ret->how = "relabelled";
    return relabel(m, t->fd, label, err);
  }
  if (m->fd < 0 ? write_inline(t->fd, m->data, m->bytes)
                : copy_fd(m->fd, t->fd, m->bytes, &ret->how))
    return not_writable(t->path, errno, err);
  return 0;
}

int omcc_place(const struct omcc *c, const struct omcc_member *m, const char *path,
               const struct omcc_place_options *options, struct omcc_placed *ret,
               struct omcc_error *err)
{
  uint32_t mode = options && options->mode ? options->mode : DEFAULT_MODE;
  const char *label = options ? options->label : NULL;
  struct target t;
  int rc = split(path, &t, err);

  *ret = (struct omcc_placed){ .how = "copy" };
  if (!rc)
    rc = make_dirs(t.dir, path, err);
  if (!rc)
    rc = open_dir(&t, err);
  if (rc < 0)
    return rc;
  if (options && options->link && label)
    snprintf(ret->link_refused, sizeof(ret->link_refused),
             "a file with a name of its own is a copy");
  else if (options && options->link && !try_link(c, m, &t, ret)) {
    ret->how = "link";
    drop(&t);
    return 0;
  }
  rc = open_target(&t, mode, err);
  if (!rc)
    rc = fill(m, &t, label, ret, err);
  if (!rc && name_file(&t, t.fd))
    rc = not_writable(path, errno, err);
  drop(&t);
  return rc;
}
