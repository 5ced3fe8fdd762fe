/* The record of an entry as a file: entries/xx/<key>. It is written before the row is
 * committed and goes after it; limbo names it in between, as it does objects. It is a
 * spare: nothing on a request's way reads it, and an entry whose record could not be
 * written is stored all the same. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cache/cache_internal.h"
#include "cache/portable.h"
#include "cache/record.h"

/* With durability full, folder and name are on disk before the row is. */
static int open_folder(struct oc_cache *c, const struct oc_cache_name *name)
{
  if (mkdirat(c->entries_fd, name->folder, 0700) == 0 && c->opt.full_durability &&
      fsync(c->entries_fd) < 0)
    return -1;
  return openat(c->entries_fd, name->folder,
                O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

bool oc_cache_record_write(struct oc_cache *c, const uint8_t key[OC_SHA256_LEN],
                           const void *p, size_t len)
{
  bool sync = c->opt.full_durability;
  struct oc_cache_output out;
  struct oc_cache_name name;

  oc_cache_name_of(key, &name);
  if (oc_cache_output_new(c, &out, NULL) < 0)
    return false;
  auto_close int folder = open_folder(c, &name);
  bool done = folder >= 0 && oc_portable_write(out.fd, p, len, 0) &&
              (!sync || fdatasync(out.fd) == 0) &&
              oc_cache_give_name(folder, name.path + 3, &out) == 0 &&
              (!sync || fsync(folder) == 0);
  if (done) { /* the name is the entry's now */
    free(out.path);
    out.path = NULL;
  }
  oc_cache_output_clear(&out);
  return done;
}

bool oc_cache_record_read(struct oc_cache *c, const uint8_t key[OC_SHA256_LEN],
                          struct oc_buf *out)
{
  struct oc_cache_name name;
  struct stat st;

  oc_cache_name_of(key, &name);
  oc_buf_reset(out);
  auto_close int fd =
      openat(c->entries_fd, name.path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size <= 0 ||
      (uint64_t)st.st_size > OC_RECORD_MAX)
    return false;
  size_t size = (size_t)st.st_size;
  uint8_t *p = oc_buf_reserve(out, size);
  if (!p || pread(fd, p, size, 0) != (ssize_t)size)
    return false;
  oc_buf_commit(out, size);
  return true;
}

bool oc_cache_record_unlink(struct oc_cache *c, const uint8_t key[OC_SHA256_LEN])
{
  struct oc_cache_name name;

  oc_cache_name_of(key, &name);
  return oc_cache_file_remove(c, c->entries_fd, &name);
}
