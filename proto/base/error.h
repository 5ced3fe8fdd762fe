/* Errors: what the world did to us.
 *
 * A function that can fail returns 0 (or a documented positive result) on success and
 * a negative OC_E_* code on failure, with one sentence in `err`. Mistakes of the user
 * are findings (base/finding.h), mistakes of ours are assert(): neither is an error. */
#ifndef OC_BASE_ERROR_H
#define OC_BASE_ERROR_H

#include <stddef.h>

enum oc_code {
  OC_OK = 0,
  OC_E_NOMEM = -1,    /* an allocation failed or a cap was reached */
  OC_E_IO = -2,       /* a system call failed */
  OC_E_FORMAT = -3,   /* bytes are not what they claim to be */
  OC_E_ARG = -4,      /* the caller's value is out of range */
  OC_E_PROTO = -5,    /* a peer broke the protocol */
  OC_E_LIMIT = -6,    /* a stated limit was exceeded */
  OC_E_BUSY = -7,     /* try again later */
  OC_E_STORE = -8,    /* the cache cannot be used */
  OC_E_CLOSED = -9,   /* the other side has gone */
  OC_E_CHANGED = -10, /* an input changed while it was read */
};

struct oc_error {
  int code;      /* OC_E_..., 0 when nothing was set */
  char msg[244]; /* one sentence: lower case, no full stop, subject in single quotes */
};

/* Fills `err` (may be NULL) and returns `code`, so that callers can `return` it. */
int oc_error_set(struct oc_error *err, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4), cold));

/* The same with ": <strerror(errno)>" appended; errno is left as it was. */
int oc_error_errno(struct oc_error *err, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4), cold));

/* Name of a code for logs, such as "io". */
const char *oc_code_name(int code);

#endif
