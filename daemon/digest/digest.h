/* SHA-256, the only digest of the project. A digest is 32 bytes and never shortened in
 * storage.
 *
 * This module is the only one that includes OpenSSL (EVP). Every function that can fail
 * is marked so that a caller cannot use 32 bytes that were never computed.
 * Thread: no shared state; one struct oc_sha256 belongs to one thread at a time. */
#ifndef OC_DIGEST_DIGEST_H
#define OC_DIGEST_DIGEST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define OC_SHA256_LEN  32
#define OC_SHA256_TEXT 65 /* hex digits and the NUL */

/* Streaming. init, any number of updates, then final (which also clears). A failure in
 * between is kept and reported by final, so updates need no check. */
struct oc_sha256 {
  void *ctx; /* EVP_MD_CTX */
  bool failed;
};

/* 0 or OC_E_NOMEM; the struct needs oc_sha256_clear() or oc_sha256_final() in either
 * case. */
int oc_sha256_init(struct oc_sha256 *s) __attribute__((warn_unused_result));
void oc_sha256_update(struct oc_sha256 *s, const void *p, size_t len);
/* A length-prefixed field (u64 little-endian, then the bytes): two fields never run
 * together. */
void oc_sha256_field(struct oc_sha256 *s, const void *p, size_t len);
/* 0 or OC_E_NOMEM. The struct is empty afterwards. */
int oc_sha256_final(struct oc_sha256 *s, uint8_t ret[OC_SHA256_LEN])
    __attribute__((warn_unused_result));
/* Frees without a result. Safe on an all-zero struct and twice. */
void oc_sha256_clear(struct oc_sha256 *s);

/* One buffer. 0 or OC_E_NOMEM. */
int oc_sha256_bytes(const void *p, size_t len, uint8_t ret[OC_SHA256_LEN])
    __attribute__((warn_unused_result));

/* The whole regular file behind `fd`, by pread from offset 0 (the offset of `fd` stays as
 * it is) up to its end. `cancel` may be NULL; when it becomes true between two chunks the
 * call ends with OC_E_CLOSED. `ret_size` (may be NULL) gets the number of bytes digested.
 * 0, OC_E_IO, OC_E_NOMEM or OC_E_CLOSED. */
int oc_sha256_fd(int fd, const atomic_bool *cancel, uint8_t ret[OC_SHA256_LEN],
                 uint64_t *ret_size, struct oc_error *err)
    __attribute__((warn_unused_result));

#endif
