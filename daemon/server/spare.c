/* What is done when the cache's place fails: results are delivered all the same.
 *
 * A cache directory that cannot be used at the start (read-only, no permission, a disk
 * that fails) leaves the daemon in pass-through: it works with an empty cache in a
 * directory of its own below /tmp, stores nothing there, and says so. One that fails or
 * fills up later costs only the storing: an output that has no room in the cache is
 * written elsewhere, and the next result is tried in the cache again. */
#include "server/server_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"

/* Kept free for the index and for what others write meanwhile. */
#define SLACK (256u << 10)

/* ---------------------------------------------------------------- outputs */

static bool has_room(const char *dir, uint64_t size)
{
  struct statvfs fs;

  return statvfs(dir, &fs) != 0 || (uint64_t)fs.f_bavail * fs.f_frsize >= size + SLACK;
}

static int unnamed_in(const char *dir, uint64_t size)
{
  if (!dir || !has_room(dir, size))
    return -1;
  return open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

int output_elsewhere(uint64_t size, struct oc_cache_output *ret, struct oc_error *err)
{
  const char *const places[] = { getenv("TMPDIR"), "/var/tmp", "/tmp", "/dev/shm" };

  *ret = (struct oc_cache_output){ .fd = -1 };
  for (size_t i = 0; i < OC_COUNT(places) && ret->fd < 0; i++)
    ret->fd = unnamed_in(places[i], size);
  if (ret->fd < 0)
    ret->fd = memfd_create("omcc-output", MFD_CLOEXEC);
  if (ret->fd < 0)
    return oc_error_errno(err, OC_E_IO, "cannot make an output outside of the cache");
  return 0;
}

int output_open(struct oc_server *s, uint64_t size, struct oc_cache_output *ret,
                const char **ret_spare, struct oc_error *err)
{
  *ret_spare = NULL;
  if (!has_room(oc_cache_dir(s->cache), size))
    *ret_spare = SPARE_FULL;
  else if (oc_cache_output_new(s->cache, ret, err) < 0)
    *ret_spare = SPARE_BROKEN;
  if (*ret_spare)
    return output_elsewhere(size, ret, err);
  oc_cache_output_reserve(s->cache, ret, size); /* room is made before it is used */
  return 0;
}

void cache_trouble(struct oc_server *s, const char *why)
{
  if (!s->through)
    snprintf(s->cache_trouble, sizeof(s->cache_trouble), "%s", why);
}

/* ---------------------------------------------------------------- pass-through */

static int open_there(struct oc_server *s, const struct oc_cache_options *o, int number,
                      struct oc_error *err)
{
  struct oc_cache_options there = *o;
  int r;

  there.dir =
      number ? oc_arena_printf(&s->arena, "/tmp/omcc-through-%u-%d", (unsigned)geteuid(),
                               number)
             : oc_arena_printf(&s->arena, "/tmp/omcc-through-%u", (unsigned)geteuid());
  if (!there.dir)
    return oc_error_set(err, OC_E_NOMEM, "no memory for the cache");
  r = make_own_directory(there.dir, err);
  return r ? r : oc_cache_open(&there, &s->cache, err);
}

int through_open(struct oc_server *s, const struct oc_cache_options *o,
                 const struct oc_error *why, struct oc_error *err)
{
  int r = OC_E_BUSY;

  for (int i = 0; i < 16 && r == OC_E_BUSY; i++)
    r = open_there(s, o, i, err);
  if (r)
    return r;
  snprintf(s->cache_trouble, sizeof(s->cache_trouble), "nothing is stored: %s", why->msg);
  s->through = true;
  oc_log_event(s->log, OC_LOG_ERROR, "cache_pass_through", 0, s->cache_trouble);
  return 0;
}

/* Nothing was stored, so this is all there can be. */
void through_remove(const char *dir)
{
  static const char *const names[] = { "jobs",
                                       "objects",
                                       "entries",
                                       "quarantine",
                                       "tmp",
                                       "CACHEDIR.TAG",
                                       "job-ids",
                                       "lock",
                                       "index.sqlite-wal",
                                       "index.sqlite",
                                       "index.sqlite-shm" };
  auto_close int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

  for (size_t i = 0; fd >= 0 && i < OC_COUNT(names); i++)
    unlinkat(fd, names[i], i < 5 ? AT_REMOVEDIR : 0);
  rmdir(dir);
}
