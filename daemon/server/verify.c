/* After a run of the vendor's compiler: a worker reads the finished file and compares it
 * with the plan's report.
 *
 * What it finds goes to the end of the report: two messages of one kind, one behind the
 * other, are read as one with both lists, so the report is completed without being
 * understood here, and a hit tells it again. A comparison that cannot be made changes
 * nothing about the result. */
#include "server/server_internal.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"

#define SEALS (F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

static int artifact_fd(const struct order *o)
{
  for (size_t i = 0; i < o->n_incoming; i++)
    if (oc_streq(o->incoming[i].kind, "artifact"))
      return o->incoming[i].fd;
  return -1;
}

bool verify_start(struct order *o)
{
  Omcc__V1__ToWorker m = OMCC__V1__TO_WORKER__INIT;
  Omcc__V1__Verify verify = OMCC__V1__VERIFY__INIT;
  struct oc_error err = { 0 };
  int fds[2] = { artifact_fd(o), o->report_fd };

  if (fds[0] < 0 || fds[1] < 0)
    return false;
  verify.file_fd = 0;
  verify.report_fd = 1;
  m.body_case = OMCC__V1__TO_WORKER__BODY_VERIFY;
  m.verify = &verify;
  if (oc_pool_lease(o->srv->pool, o->job, &m, fds, 2, &err)) {
    order_log(o, OC_LOG_WARNING, "not_verified", err.msg);
    return false;
  }
  o->verifying = true;
  return true;
}

static int copy_report(int from, uint64_t size, int to, struct oc_error *err)
{
  for (off_t at = 0; (uint64_t)at < size;) {
    uint8_t chunk[16u << 10];
    ssize_t n = pread(from, chunk, sizeof(chunk), at);

    if (n <= 0 || write(to, chunk, (size_t)n) != n)
      return oc_error_errno(err, OC_E_IO, "cannot copy a report");
    at += n;
  }
  return 0;
}

/* The report with more findings at its end. */
static int extend_report(struct order *o, Omcc__V1__Finding **list, size_t n,
                         struct oc_error *err)
{
  Omcc__V1__Report more = OMCC__V1__REPORT__INIT;
  struct oc_buf bytes;
  struct stat st;

  if (!n)
    return 0;
  if (fstat(o->report_fd, &st) || st.st_size > OC_MAX_REPORT - OC_MAX_FRAME)
    return oc_error_set(err, OC_E_LIMIT, "the report is too large to add to it");
  auto_close int fd = memfd_create("omcc-report", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0)
    return oc_error_errno(err, OC_E_IO, "cannot make the report's file");
  more.findings = list;
  more.n_findings = n;
  oc_buf_init(&bytes, OC_MAX_FRAME);
  int r = oc_message_pack(&more, &bytes);
  if (!r)
    r = copy_report(o->report_fd, (uint64_t)st.st_size, fd, err);
  if (!r && (write(fd, bytes.data, bytes.len) != (ssize_t)bytes.len ||
             fcntl(fd, F_ADD_SEALS, SEALS)))
    r = oc_error_errno(err, OC_E_IO, "cannot write a report");
  oc_buf_clear(&bytes);
  if (r)
    return r;
  close(o->report_fd);
  o->report_fd = OC_STEAL_FD(fd);
  return 0;
}

static void on_verified(struct order *o, const Omcc__V1__Verified *m)
{
  struct oc_error err = { 0 };
  struct oc_log_line l;

  o->device_ready = m->readable && m->device_ready;
  if (extend_report(o, m->findings, m->n_findings, &err))
    order_log(o, OC_LOG_WARNING, "findings_lost", err.msg);
  oc_log_begin(&l, o->srv->log, OC_LOG_INFO, "verified");
  oc_log_u64(&l, "job", o->job);
  oc_log_u64(&l, "readable", m->readable);
  oc_log_u64(&l, "agreed", m->agreed);
  oc_log_u64(&l, "differed", m->differed);
  oc_log_end(&l);
}

void verify_over(struct order *o, const Omcc__V1__FromWorker *m)
{
  o->verifying = false;
  if (m && m->body_case == OMCC__V1__FROM_WORKER__BODY_VERIFIED)
    on_verified(o, m->verified);
  else
    order_log(o, OC_LOG_WARNING, "not_verified",
              m && m->body_case == OMCC__V1__FROM_WORKER__BODY_FAILED
                  ? m->failed->message
                  : "the worker died");
  oc_flow_built(o->srv->flow, server_now_ns(), o->job);
}
