/* Outputs: files that a worker writes and the cache may publish.
 *
 * They live under tmp/, on the file system of the objects, without a name where the
 * kernel knows O_TMPFILE: what is never published then disappears by itself. Elsewhere
 * they have a name, and the next open of the cache empties the folder.
 *
 * Sealing makes the file ours alone: the writable descriptor is closed, and a read lease
 * is granted only when no other writable one is left anywhere. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cache/cache_internal.h"

static int new_named(struct oc_cache *c, struct oc_cache_output *ret,
                     struct oc_error *err)
{
  auto_free char *path = NULL;

  if (asprintf(&path, "%s/tmp/out-XXXXXX", c->dir) < 0) {
    path = NULL;
    return oc_error_set(err, OC_E_NOMEM, "no memory for an output");
  }
  int fd = mkostemp(path, O_CLOEXEC);
  if (fd < 0)
    return oc_error_errno(err, OC_E_IO, "cannot make an output in '%s/tmp'", c->dir);
  ret->fd = fd;
  ret->path = OC_STEAL(path);
  return 0;
}

int oc_cache_output_new(struct oc_cache *c, struct oc_cache_output *ret,
                        struct oc_error *err)
{
  *ret = (struct oc_cache_output){ .fd = -1 };
  if (!atomic_load(&c->no_tmpfile)) {
    int fd = openat(c->tmp_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0) {
      ret->fd = fd;
      return 0;
    }
    if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL && errno != ENOENT)
      return oc_error_errno(err, OC_E_IO, "cannot make an output in '%s/tmp'", c->dir);
    atomic_store(&c->no_tmpfile, true);
  }
  return new_named(c, ret, err);
}

void oc_cache_output_clear(struct oc_cache_output *o)
{
  oc_close_fd(&o->fd);
  o->fd = -1;
  if (o->path)
    unlink(o->path);
  free(o->path);
  o->path = NULL;
  oc_cache_unreserve(o);
}

int oc_cache_output_seal(struct oc_cache_output *o, struct oc_error *err)
{
  char self[48];

  snprintf(self, sizeof(self), "/proc/self/fd/%d", o->fd);
  auto_close int fd =
      open(o->path ? o->path : self, O_RDONLY | O_CLOEXEC | (o->path ? O_NOFOLLOW : 0));
  if (fd < 0)
    return oc_error_errno(err, OC_E_IO, "cannot reopen an output for reading");
  close(o->fd);
  o->fd = OC_STEAL_FD(fd);
  if (fcntl(o->fd, F_SETLEASE, F_RDLCK) < 0) {
    if (errno == EAGAIN)
      return oc_error_set(err, OC_E_BUSY,
                          "somebody still has the output open for writing");
    return 0; /* leases are not permitted or not known here */
  }
  fcntl(o->fd, F_SETLEASE, F_UNLCK);
  return 0;
}
