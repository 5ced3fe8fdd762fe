/* The digest memo: an input file that has not changed is not hashed again.
 *
 * "Not changed" means the same device, inode, size, mtime and ctime. Two things can
 * change bytes without moving these: a write within one tick of the clock, and a shared
 * mapping, whose later writes move the times only when the kernel cleans the page. So a
 * file is remembered only when it was at rest for AGE_NS and nobody had it open for
 * writing (a mapping counts) when its hashing began, which a read lease tells. Where
 * leases are not permitted the file must have been at rest for as long as a page may stay
 * dirty, with room; a wall clock that was set meanwhile would make it look so, hence none
 * may have been. On a network file system the times are another machine's, and nothing is
 * remembered unless asked for. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/same_stat.h"
#include "cache/cache_internal.h"

#define AGE_NS          2000000000LL
#define AGE_NO_LEASE_NS 60000000000LL
/* More than a clock that is led to the right time gains while the daemon is asked again.
 */
#define SET_NS 500000000LL

static int64_t ns_of(const struct timespec *t)
{
  return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}

static int ask(struct oc_cache *c, const struct stat *st, uint8_t ret[OC_SHA256_LEN])
{
  auto_reset sqlite3_stmt *s = oc_sql_use(&c->reader, OC_R_MEMO_GET);

  sqlite3_bind_int64(s, 1, (int64_t)st->st_dev);
  sqlite3_bind_int64(s, 2, (int64_t)st->st_ino);
  sqlite3_bind_int64(s, 3, st->st_size);
  sqlite3_bind_int64(s, 4, ns_of(&st->st_mtim));
  sqlite3_bind_int64(s, 5, ns_of(&st->st_ctim));
  int rc = sqlite3_step(s);
  if (rc == SQLITE_ROW)
    return oc_sql_digest(s, 0, ret) ? 1 : 0;
  if (rc != SQLITE_DONE)
    oc_cache_sql_failed(c, &c->reader, NULL);
  return 0;
}

int oc_cache_see(int fd, struct oc_cache_seen *ret)
{
  struct timespec now;

  if (fstat(fd, &ret->st) < 0)
    return OC_E_IO;
  if (!S_ISREG(ret->st.st_mode))
    return OC_E_ARG;
  clock_gettime(CLOCK_REALTIME, &now);
  ret->at_ns = ns_of(&now);
  clock_gettime(CLOCK_BOOTTIME, &now);
  ret->boot_ns = ns_of(&now);
  ret->writers = OC_CACHE_WRITERS_UNKNOWN;
  return 0;
}

void oc_cache_see_writers(int fd, struct oc_cache_seen *seen)
{
  if (fcntl(fd, F_SETLEASE, F_RDLCK) == 0) {
    fcntl(fd, F_SETLEASE, F_UNLCK);
    seen->writers = OC_CACHE_NO_WRITER;
  } else {
    seen->writers = errno == EAGAIN ? OC_CACHE_HAS_WRITER : OC_CACHE_WRITERS_UNKNOWN;
  }
}

static bool may_memoise(const struct oc_cache *c, int fd)
{
  return !atomic_load(&c->broken) &&
         (c->opt.memo_on_network || !oc_cache_is_network_fs(fd));
}

int oc_cache_memo_get(struct oc_cache *c, int fd, const struct oc_cache_seen *seen,
                      uint8_t ret[OC_SHA256_LEN])
{
  int found = 0;

  if (may_memoise(c, fd))
    found = ask(c, &seen->st, ret);
  pthread_mutex_lock(&c->mutex);
  if (found)
    c->memo_hits++;
  else
    c->memo_misses++;
  pthread_mutex_unlock(&c->mutex);
  return found;
}

void oc_cache_wall_look(struct oc_cache *c)
{
  struct timespec wall, boot;

  clock_gettime(CLOCK_REALTIME, &wall);
  clock_gettime(CLOCK_BOOTTIME, &boot);
  c->wall_ahead_ns = ns_of(&wall) - ns_of(&boot);
  c->wall_set_ns = -AGE_NO_LEASE_NS;
}

/* True when the wall clock was set in the last minute, as far as anybody looked. */
static bool wall_was_set(struct oc_cache *c, const struct oc_cache_seen *now)
{
  int64_t ahead = now->at_ns - now->boot_ns;

  pthread_mutex_lock(&c->mutex);
  int64_t moved = ahead - c->wall_ahead_ns;
  if (moved > SET_NS || moved < -SET_NS) {
    c->wall_set_ns = now->boot_ns;
    c->wall_ahead_ns = ahead;
  }
  bool set = now->boot_ns - c->wall_set_ns < AGE_NO_LEASE_NS;
  pthread_mutex_unlock(&c->mutex);
  return set;
}

bool oc_cache_memo_put(struct oc_cache *c, int fd, const struct oc_cache_seen *before,
                       const uint8_t sha256[OC_SHA256_LEN])
{
  struct oc_cache_seen after;
  bool leased = before->writers == OC_CACHE_NO_WRITER, set = wall_was_set(c, before);
  int64_t limit = before->at_ns - (leased ? AGE_NS : AGE_NO_LEASE_NS);

  if (before->writers == OC_CACHE_HAS_WRITER || (set && !leased))
    return false;
  if (oc_cache_see(fd, &after) < 0 || !oc_same_stat(&before->st, &after.st))
    return false;
  if (ns_of(&after.st.st_mtim) > limit || ns_of(&after.st.st_ctim) > limit)
    return false;
  if (!may_memoise(c, fd))
    return false;
  struct oc_cache_job *job = oc_cache_job_new(OC_JOB_MEMO);
  if (!job)
    return false;
  job->st = after.st;
  memcpy(job->object, sha256, OC_SHA256_LEN);
  if (oc_cache_enqueue(c, job))
    return true;
  oc_cache_job_free(job);
  return false;
}
