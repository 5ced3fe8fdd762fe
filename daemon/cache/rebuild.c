/* Taking up again what the index has lost. Every entry has a record beside it; a record
 * whose objects are there becomes a row, through the same steps as a new result. Then
 * objects that no row names are removed: nothing can lead to them any more.
 *
 * Nothing is believed that does not prove itself: a record carries its own digest and
 * lies under its key, the key must be the digest over the stored parts, an object must
 * have its size now and its digest at the first hit. The work is cut into folders, each
 * one job of the writer, so that results of running compiles are stored in between. */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "cache/cache_internal.h"
#include "cache/record.h"

#define FOLDERS      256u
#define RECORD_ARENA (96u << 20)

static DIR *open_folder(int parent, unsigned folder)
{
  char name[3];
  uint8_t byte = (uint8_t)folder;

  oc_hex(&byte, 1, name);
  int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  DIR *d = fd < 0 ? NULL : fdopendir(fd);
  if (!d && fd >= 0)
    close(fd);
  return d;
}

/* The digest that a file's name is; false for names that are none of ours. */
static bool digest_of(const struct dirent *e, uint8_t ret[OC_SHA256_LEN])
{
  return strlen(e->d_name) == OC_SHA256_TEXT - 1 &&
         oc_unhex(e->d_name, ret, OC_SHA256_LEN);
}

static bool has_row(struct oc_cache *c, int which, const uint8_t digest[OC_SHA256_LEN])
{
  auto_reset sqlite3_stmt *s = oc_sql_use(&c->writer, which);

  oc_sql_bind_digest(s, 1, digest);
  return sqlite3_step(s) != SQLITE_DONE; /* when in doubt it has one */
}

/* ---------------------------------------------------------------- records */

static struct oc_cache_job *
read_record(struct oc_cache *c, const uint8_t key[OC_SHA256_LEN], struct oc_arena *arena)
{
  struct oc_cache_job *job = NULL;
  struct oc_cache_record r;
  struct oc_buf bytes;

  oc_buf_init(&bytes, OC_RECORD_MAX);
  if (oc_cache_record_read(c, key, &bytes) &&
      oc_cache_record_unpack(bytes.data, bytes.len, arena, &r) == 0 &&
      memcmp(r.key, key, OC_SHA256_LEN) == 0 &&
      (!c->opt.key_fits || c->opt.key_fits(key, r.parts, r.parts_len)))
    job = oc_cache_record_job(&r, OC_CACHE_FROM_FOUND, NULL, NULL);
  if (job)
    job->put.record_len = bytes.len;
  oc_buf_clear(&bytes);
  return job;
}

static bool adopt(struct oc_cache *c, const uint8_t key[OC_SHA256_LEN],
                  struct oc_cache_reply *reply)
{
  struct oc_arena arena;

  oc_arena_init(&arena, RECORD_ARENA);
  struct oc_cache_job *job = read_record(c, key, &arena);
  bool done = job && oc_cache_publish_rows(c, job, NULL) == 0;
  if (done) {
    reply->count++;
    for (size_t i = 0; i < job->put.n_members; i++)
      reply->bytes += job->put.members[i].size;
  }
  oc_cache_job_free(job);
  oc_arena_clear(&arena);
  return done;
}

void oc_cache_adopt_folder(struct oc_cache *c, struct oc_cache_job *job)
{
  auto_closedir DIR *d = open_folder(c->entries_fd, job->folder);
  uint8_t key[OC_SHA256_LEN];

  for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
    if (!digest_of(e, key) || has_row(c, OC_W_ENTRY_ID, key))
      continue;
    if (adopt(c, key, job->reply))
      continue;
    job->reply->bad++;
    if (!atomic_load(&c->broken))
      oc_cache_record_unlink(c, key);
  }
  oc_cache_evict(c, -1);
}

/* ---------------------------------------------------------------- objects */

void oc_cache_sweep_folder(struct oc_cache *c, struct oc_cache_job *job)
{
  auto_closedir DIR *d = open_folder(c->objects_fd, job->folder);
  uint8_t sha256[OC_SHA256_LEN];

  for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
    if (!digest_of(e, sha256) || has_row(c, OC_W_OBJECT_GET, sha256))
      continue;
    oc_cache_object_unlink(c, sha256);
    job->reply->removed++;
  }
}

/* ---------------------------------------------------------------- the errand */

static bool run_folder(struct oc_cache *c, enum oc_cache_job_kind kind, unsigned folder,
                       struct oc_cache_event *event)
{
  struct oc_cache_job *job = oc_cache_job_new(kind);
  struct oc_cache_reply reply;

  if (!job || oc_cache_errand_stopped(c) || atomic_load(&c->broken)) {
    oc_cache_job_free(job);
    return false;
  }
  job->folder = folder;
  if (!oc_cache_run_job(c, job, &reply))
    return false;
  event->count += reply.count;
  event->bytes += reply.bytes;
  event->bad += reply.bad;
  event->removed += reply.removed;
  return true;
}

static bool run_folders(struct oc_cache *c, enum oc_cache_job_kind kind,
                        struct oc_cache_event *event)
{
  for (unsigned i = 0; i < FOLDERS; i++)
    if (!run_folder(c, kind, i, event))
      return false;
  return true;
}

/* After a power loss with durability normal the last rows may be gone while their files
 * are there. The same as a rebuild, so slowly that nobody notices; told when it did
 * something. */
void oc_cache_tidy(struct oc_cache *c, unsigned step)
{
  struct oc_cache_event event = { .kind = OC_CACHE_TIDIED };

  /* Only when every record was looked at is an object without a row one too many. */
  if (c->tidy_failed)
    return;
  if (!run_folder(c, step < FOLDERS ? OC_JOB_ADOPT : OC_JOB_SWEEP, step % FOLDERS,
                  &event)) {
    c->tidy_failed = true;
    return;
  }
  c->tidied += event.count;
  c->tidy_removed += event.removed;
  if (step + 1 < OC_CACHE_TIDY_STEPS || !(c->tidied || c->tidy_removed))
    return;
  event.count = c->tidied;
  event.removed = c->tidy_removed;
  oc_cache_post(c, &event);
}

void oc_cache_run_rebuild(struct oc_cache *c, struct oc_cache_event *event)
{
  static const char early[] = "the cache cannot be written now";

  /* Only when every record was looked at is an object without a row one too many. */
  if (run_folders(c, OC_JOB_ADOPT, event) && run_folders(c, OC_JOB_SWEEP, event))
    return;
  event->code = OC_E_STORE;
  memcpy(event->reason, early, sizeof(early));
}
