/* One sentence per failure. The text is cut, never overrun: a path that is too long for
 * the message must not hide that something failed. */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void fill(struct oc_error *err, int code, const char *fmt, va_list ap)
{
  err->code = code;
  if (vsnprintf(err->msg, sizeof(err->msg), fmt, ap) < 0)
    err->msg[0] = '\0';
}

int oc_error_set(struct oc_error *err, int code, const char *fmt, ...)
{
  if (err) {
    va_list ap;
    va_start(ap, fmt);
    fill(err, code, fmt, ap);
    va_end(ap);
  }
  return code;
}

int oc_error_errno(struct oc_error *err, int code, const char *fmt, ...)
{
  int saved = errno;

  if (err) {
    va_list ap;
    va_start(ap, fmt);
    fill(err, code, fmt, ap);
    va_end(ap);
    size_t len = strlen(err->msg);
    char text[128];
    snprintf(err->msg + len, sizeof(err->msg) - len, ": %s",
             strerror_r(saved, text, sizeof(text)));
  }
  errno = saved;
  return code;
}

const char *oc_code_name(int code)
{
  static const char *const names[] = { "ok",    "nomem",  "io",     "format",
                                       "arg",   "proto",  "limit",  "busy",
                                       "store", "closed", "changed" };
  size_t i = (size_t)(code < 0 ? -(long)code : 0);

  return i < sizeof(names) / sizeof(names[0]) ? names[i] : "unknown";
}
