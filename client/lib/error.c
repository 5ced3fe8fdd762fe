/* Errors of the library: a code for programs, a documented exit status, one sentence; and
 * for mistakes of the user the id, subject and detail of a finding. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/lib_internal.h"

const char *omcc_status_name(int status)
{
  switch (status) {
  case OMCC_OK: return "ok";
  case OMCC_DIFFERS: return "differs";
  case OMCC_REQUEST: return "request";
  case OMCC_TOOL_FAILED: return "tool_failed";
  case OMCC_ENVIRONMENT: return "environment";
  case OMCC_OOM: return "oom";
  case OMCC_STOPPED: return "stopped";
  case OMCC_DAEMON: return "daemon";
  case OMCC_STORE: return "store";
  default: return "bug";
  }
}

int omcc_fail(struct omcc_error *err, int code, int status, const char *fmt, ...)
{
  va_list ap;

  if (!err)
    return code;
  memset(err, 0, sizeof(*err));
  err->code = code;
  err->status = status;
  va_start(ap, fmt);
  vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
  va_end(ap);
  return code;
}

int omcc_fail_finding(struct omcc_error *err, const char *id, const char *flag,
                      const char *subject, const char *detail)
{
  if (!err)
    return OMCC_E_ARG;
  memset(err, 0, sizeof(*err));
  err->code = OMCC_E_ARG;
  err->status = OMCC_REQUEST;
  snprintf(err->id, sizeof(err->id), "%s", id);
  snprintf(err->flag, sizeof(err->flag), "%s", flag);
  snprintf(err->subject, sizeof(err->subject), "%s", subject);
  snprintf(err->detail, sizeof(err->detail), "%s", detail);
  snprintf(err->msg, sizeof(err->msg), "%s: '%.300s': %s", id, subject, detail);
  return OMCC_E_ARG;
}

int omcc_fail_from(struct omcc_error *err, int status, const struct oc_error *from)
{
  int code = from->code ? from->code : OMCC_E_IO;

  return omcc_fail(err, code, status, "%s", from->msg);
}

void omcc_fix(struct omcc_error *err, const char *fmt, ...)
{
  va_list ap;

  if (!err)
    return;
  va_start(ap, fmt);
  vsnprintf(err->fix, sizeof(err->fix), fmt, ap);
  va_end(ap);
}
