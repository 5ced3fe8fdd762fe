/* What must not repeat or remain over lives of the daemon: job ids and job directories.
 *
 * Ids begin at the time of the start, with room for a million jobs per second of life,
 * and never below what an earlier life has reserved, so that a clock set back does no
 * harm. They stay under 2^53, since people read them through JSON: a clock that stands
 * where that would end soon, or before 1970, is not asked. */
#include "server/server_internal.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"

#define ID_SHIFT   20
#define ID_RESERVE (1ull << 24) /* ids that one life may use */
#define ID_LATEST  (1ll << 32)  /* seconds: the year 2106, half of what ids may be */

static uint64_t read_reserved(const char *path)
{
  auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
  char text[32];
  ssize_t n = fd >= 0 ? read(fd, text, sizeof(text)) : 0;
  struct oc_str s = { text, n > 0 ? (size_t)n : 0 };
  uint64_t id = 0;

  return oc_str_to_u64(oc_str_trim(s), &id) ? id : 0;
}

/* New content under the old name, or the old content: never half of it. */
static int write_reserved(const char *path, uint64_t id, struct oc_error *err)
{
  auto_free char *temp = NULL;
  auto_close int fd = -1;
  char text[32];
  int n = snprintf(text, sizeof(text), "%" PRIu64 "\n", id);

  if (asprintf(&temp, "%s.new", path) < 0) {
    temp = NULL;
    return oc_error_set(err, OC_E_NOMEM, "no memory for job ids");
  }
  fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0 || write(fd, text, (size_t)n) != n || fdatasync(fd) || rename(temp, path))
    return oc_error_errno(err, OC_E_IO, "cannot write '%s'", path);
  return 0;
}

int job_ids_first(const char *cache_dir, uint64_t *ret, const struct oc_log *log,
                  struct oc_error *err)
{
  auto_free char *path = NULL;
  int64_t now = (int64_t)time(NULL);
  uint64_t first = now > 0 && now < ID_LATEST ? (uint64_t)now << ID_SHIFT : 1, reserved;

  if (asprintf(&path, "%s/job-ids", cache_dir) < 0) {
    path = NULL;
    return oc_error_set(err, OC_E_NOMEM, "no memory for job ids");
  }
  reserved = read_reserved(path);
  if (reserved > first)
    first = reserved;
  /* On a full disk the clock alone keeps the ids apart. */
  if (write_reserved(path, first + ID_RESERVE, err) < 0)
    oc_log_event(log, OC_LOG_WARNING, "job_ids_not_written", 0, err->msg);
  *ret = first;
  return 0;
}

/* The alphabet that the vendor's compiler takes in paths. */
static bool is_safe_path(const char *path)
{
  for (const char *p = path; *p; p++)
    if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
          (*p >= '0' && *p <= '9') || strchr("-._/", *p)))
      return false;
  return true;
}

/* A directory in a place that others can write to must be ours before it is used. */
int make_own_directory(const char *path, struct oc_error *err)
{
  struct stat st;

  if (mkdir(path, 0700) && errno != EEXIST)
    return oc_error_errno(err, OC_E_IO, "cannot make the directory '%s'", path);
  if (lstat(path, &st) || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() ||
      st.st_mode & 077)
    return oc_error_set(err, OC_E_IO, "'%s' is not a private directory of ours", path);
  return 0;
}

int jobs_dir_choose(struct oc_server *s, struct oc_error *err)
{
  s->jobs_dir = oc_arena_printf(&s->arena, "%s/jobs", oc_cache_dir(s->cache));
  if (s->jobs_dir && (!is_safe_path(s->jobs_dir) || make_own_directory(s->jobs_dir, err)))
    s->jobs_dir = oc_arena_printf(&s->arena, "/tmp/omcc-jobs-%u", (unsigned)geteuid());
  if (!s->jobs_dir)
    return oc_error_set(err, OC_E_NOMEM, "no memory for the jobs directory");
  if (make_own_directory(s->jobs_dir, err))
    return OC_E_IO;
  oc_pool_clear_jobs(s->jobs_dir);
  return make_own_directory(s->jobs_dir, err);
}
