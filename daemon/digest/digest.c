/* SHA-256 over EVP.
 *
 * A file is read by pread, never mapped: its owner may truncate it while we read, and a
 * short read is an ordinary result where a fault in a map is not. Chunks of 256 KiB stay
 * in the second-level cache between the copy out of the page cache and the hashing. */
#include "digest/digest.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#define CHUNK (256u << 10)

/* The implementation, looked up once: EVP_sha256() would be looked up at each use, which
 * takes longer than digesting a name. The same for everybody, kept to the end. */
static const EVP_MD *sha256_method(void)
{
  static _Atomic(EVP_MD *) found;
  EVP_MD *method = atomic_load(&found);
  EVP_MD *none = NULL;

  if (method)
    return method;
  method = EVP_MD_fetch(NULL, "SHA256", NULL);
  if (method && !atomic_compare_exchange_strong(&found, &none, method)) {
    EVP_MD_free(method);
    method = none;
  }
  return method;
}

int oc_sha256_init(struct oc_sha256 *s)
{
  const EVP_MD *method = sha256_method();

  s->failed = false;
  s->ctx = method ? EVP_MD_CTX_new() : NULL;
  if (!s->ctx || EVP_DigestInit_ex(s->ctx, method, NULL) != 1) {
    s->failed = true;
    return OC_E_NOMEM;
  }
  return 0;
}

void oc_sha256_update(struct oc_sha256 *s, const void *p, size_t len)
{
  if (s->failed || len == 0)
    return;
  if (EVP_DigestUpdate(s->ctx, p, len) != 1)
    s->failed = true;
}

void oc_sha256_field(struct oc_sha256 *s, const void *p, size_t len)
{
  uint8_t prefix[8];
  uint64_t n = len;

  for (size_t i = 0; i < sizeof(prefix); i++)
    prefix[i] = (uint8_t)(n >> (8 * i));
  oc_sha256_update(s, prefix, sizeof(prefix));
  oc_sha256_update(s, p, len);
}

int oc_sha256_final(struct oc_sha256 *s, uint8_t ret[OC_SHA256_LEN])
{
  uint8_t out[EVP_MAX_MD_SIZE];
  unsigned len = 0;
  bool ok = !s->failed && s->ctx && EVP_DigestFinal_ex(s->ctx, out, &len) == 1 &&
            len == OC_SHA256_LEN;

  oc_sha256_clear(s);
  if (!ok)
    return OC_E_NOMEM;
  memcpy(ret, out, OC_SHA256_LEN);
  return 0;
}

void oc_sha256_clear(struct oc_sha256 *s)
{
  EVP_MD_CTX_free(s->ctx);
  s->ctx = NULL;
  s->failed = false;
}

int oc_sha256_bytes(const void *p, size_t len, uint8_t ret[OC_SHA256_LEN])
{
  struct oc_sha256 s;

  if (oc_sha256_init(&s) < 0) {
    oc_sha256_clear(&s);
    return OC_E_NOMEM;
  }
  oc_sha256_update(&s, p, len);
  return oc_sha256_final(&s, ret);
}

/* Digests up to the end of the file; 0 or a code with `err` filled. */
static int digest_all(int fd, const atomic_bool *cancel, struct oc_sha256 *s,
                      uint8_t *chunk, uint64_t *ret_size, struct oc_error *err)
{
  uint64_t at = 0;

  for (;;) {
    if (cancel && atomic_load_explicit(cancel, memory_order_relaxed))
      return oc_error_set(err, OC_E_CLOSED, "digesting was cancelled");
    ssize_t n = pread(fd, chunk, CHUNK, (off_t)at);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return oc_error_errno(err, OC_E_IO, "cannot read the file to digest");
    if (n == 0)
      break;
    oc_sha256_update(s, chunk, (size_t)n);
    at += (uint64_t)n;
  }
  *ret_size = at;
  return 0;
}

int oc_sha256_fd(int fd, const atomic_bool *cancel, uint8_t ret[OC_SHA256_LEN],
                 uint64_t *ret_size, struct oc_error *err)
{
  struct oc_sha256 s;
  uint64_t size = 0;
  auto_free uint8_t *chunk = malloc(CHUNK);
  int rc = oc_sha256_init(&s);

  if (rc == 0 && !chunk)
    rc = OC_E_NOMEM;
  if (rc < 0) {
    oc_sha256_clear(&s);
    return oc_error_set(err, rc, "no memory to digest a file");
  }
  rc = digest_all(fd, cancel, &s, chunk, &size, err);
  if (rc < 0) {
    oc_sha256_clear(&s);
    return rc;
  }
  if (oc_sha256_final(&s, ret) < 0)
    return oc_error_set(err, OC_E_NOMEM, "no memory to digest a file");
  if (ret_size)
    *ret_size = size;
  return 0;
}
