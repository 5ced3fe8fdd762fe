/* Where an .om file's bytes come from: a map that the caller already has, or a descriptor
 * that is read in pieces. The size is taken once; a file that shrinks under us gives an
 * error from the short read, never bytes from beyond. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "om_internal.h"

struct oc_om_source oc_om_source_bytes(const void *data, size_t size)
{
  return (struct oc_om_source){ .data = data, .fd = -1, .size = size };
}

int oc_om_source_fd(int fd, struct oc_om_source *ret, struct oc_error *err)
{
  struct stat st;

  if (fstat(fd, &st) != 0)
    return oc_error_errno(err, OC_E_IO, "cannot look at the .om file");
  if (!S_ISREG(st.st_mode))
    return oc_error_set(err, OC_E_ARG, "the .om file is not a regular file");
  *ret = (struct oc_om_source){ .fd = fd, .size = (uint64_t)st.st_size };
  return 0;
}

int oc_om_source_read(const struct oc_om_source *src, uint64_t at, void *p, size_t len,
                      struct oc_error *err)
{
  uint8_t *to = p;

  if (at > src->size || len > src->size - at)
    return oc_error_set(err, OC_E_FORMAT,
                        "the file ends at byte %llu, %zu more are needed at %llu",
                        (unsigned long long)src->size, len, (unsigned long long)at);
  if (src->data) {
    memcpy(p, src->data + at, len);
    return 0;
  }
  while (len > 0) {
    ssize_t n = pread(src->fd, to, len, (off_t)at);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return oc_error_errno(err, OC_E_IO, "cannot read the .om file");
    if (n == 0)
      return oc_error_set(err, OC_E_IO, "the .om file became shorter while it was read");
    to += n;
    at += (uint64_t)n;
    len -= (size_t)n;
  }
  return 0;
}
