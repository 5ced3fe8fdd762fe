/* One child, one job: Hello, Plan (or Verify), then Build or Release, then exit.
 *
 * The order is fixed, so it is written as a straight line and not as a state machine: the
 * child has nothing else to do while it waits. The daemon's end closing at any point
 * means that nobody wants the job any more; the child exits without a word. */
#include "optable/optable.h"
#include "worker/worker_internal.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/str.h"

/* Graph, reasons and report of the largest public graphs take some 200 MB. */
#define OC_JOB_ARENA_CAP   ((size_t)4 << 30)
#define OC_CHILD_WRITE_CAP (4u << 20)

int oc_job_send(struct oc_job *job, Omcc__V1__FromWorker *message, const int *fds,
                size_t n_fds, struct oc_error *err)
{
  struct oc_buf out;

  oc_buf_init(&out, OC_MAX_FRAME);
  int r = oc_message_pack(message, &out);
  if (r < 0)
    oc_error_set(err, r, "an answer to the daemon does not fit a frame");
  else
    r = oc_channel_send(job->channel, out.data, out.len, fds, n_fds, false, err);
  if (r >= 0)
    r = oc_channel_drain(job->channel, -1, err);
  oc_buf_clear(&out);
  return r < 0 ? r : 0;
}

Omcc__V1__ToWorker *oc_job_receive(struct oc_job *job, struct oc_frame *frame,
                                   struct oc_error *err)
{
  ProtobufCMessage *base = NULL;

  if (oc_channel_wait(job->channel, -1, frame, err) < 0)
    return NULL;
  if (oc_message_unpack(&omcc__v1__to_worker__descriptor, frame->body, frame->len,
                        &job->arena, &base, err) < 0) {
    oc_frame_close_fds(frame);
    return NULL;
  }
  return (Omcc__V1__ToWorker *)base;
}

static int say_hello(struct oc_job *job, struct oc_error *err)
{
  Omcc__V1__Hello hello = OMCC__V1__HELLO__INIT;
  Omcc__V1__FromWorker m = OMCC__V1__FROM_WORKER__INIT;

  hello.min = hello.max = OC_FRAME_VERSION;
  hello.build = (char *)OMCC_VERSION;
  hello.pid = (uint32_t)getpid();
  m.body_case = OMCC__V1__FROM_WORKER__BODY_HELLO;
  m.hello = &hello;
  return oc_job_send(job, &m, NULL, 0, err);
}

static int say_failed(struct oc_job *job, const char *code, const char *text,
                      struct oc_error *err)
{
  Omcc__V1__Failed failed = OMCC__V1__FAILED__INIT;
  Omcc__V1__FromWorker m = OMCC__V1__FROM_WORKER__INIT;

  failed.code = (char *)code;
  failed.message = (char *)text;
  failed.findings =
      oc_findings_to_messages(&job->findings, &job->arena, &failed.n_findings);
  m.body_case = OMCC__V1__FROM_WORKER__BODY_FAILED;
  m.failed = &failed;
  return oc_job_send(job, &m, NULL, 0, err);
}

/* Words of the protocol. `building`: the same limit means a full disk there and a model
 * that is too large before. */
static const char *failure_code(int code, bool building)
{
  switch (code) {
  case OC_E_CHANGED: return "input_changed";
  case OC_E_LIMIT: return building ? "no_space" : "too_large";
  case OC_E_NOMEM: return "oom";
  default: return "internal";
  }
}

/* Tells the daemon which further files the model names, and takes them when they come. */
static int exchange_inputs(struct oc_job *job, struct oc_error *err)
{
  Omcc__V1__Inputs inputs = OMCC__V1__INPUTS__INIT;
  Omcc__V1__FromWorker m = OMCC__V1__FROM_WORKER__INIT;
  const char *const *names = NULL;

  int r = oc_job_needed(job, &names, &inputs.n_names, err);
  if (r < 0)
    return r;
  inputs.names = (char **)names;
  inputs.wait = inputs.n_names > 0 && job->n_external == 0;
  m.body_case = OMCC__V1__FROM_WORKER__BODY_INPUTS;
  m.inputs = &inputs;
  r = oc_job_send(job, &m, NULL, 0, err);
  for (bool last = !inputs.wait; r == 0 && !last;) {
    struct oc_frame frame;
    Omcc__V1__ToWorker *more = oc_job_receive(job, &frame, err);
    if (!more)
      return OC_E_CLOSED;
    if (more->body_case != OMCC__V1__TO_WORKER__BODY_MORE_FILES) {
      oc_frame_close_fds(&frame);
      return oc_error_set(err, OC_E_CLOSED, "the job was taken back");
    }
    r = oc_job_map_external(job, more->more_files->files, more->more_files->n_files,
                            &frame, err);
    last = more->more_files->last;
    oc_frame_close_fds(&frame);
  }
  return r;
}

static int say_unplanned(struct oc_job *job, struct oc_error *err)
{
  Omcc__V1__Unplanned unplanned = OMCC__V1__UNPLANNED__INIT;
  Omcc__V1__FromWorker m = OMCC__V1__FROM_WORKER__INIT;

  unplanned.findings =
      oc_findings_to_messages(&job->findings, &job->arena, &unplanned.n_findings);
  unplanned.status = 2;
  unplanned.message = (char *)"the model cannot be planned";
  m.body_case = OMCC__V1__FROM_WORKER__BODY_UNPLANNED;
  m.unplanned = &unplanned;
  return oc_job_send(job, &m, NULL, 0, err);
}

static int say_planned(struct oc_job *job, bool *ret_buildable, struct oc_error *err)
{
  Omcc__V1__Planned planned = OMCC__V1__PLANNED__INIT;
  Omcc__V1__FromWorker m = OMCC__V1__FROM_WORKER__INIT;
  uint8_t key[32], digest[32];
  int report = -1;

  bool ours = oc_streq(job->request->backend, "builtin");
  planned.ok = !oc_findings_have_errors(&job->findings);
  int r = 0;
  if (planned.ok && ours && !job->request->explain_only) {
    r = oc_job_prepare(job, key, &planned.om_size, err);
    if (r == 0) {
      planned.plan_key.data = key;
      planned.plan_key.len = sizeof key;
    }
    /* Laying the artifact out may find what forbids it (a MODEL_DEF over 2 GiB). */
    if (r == OC_E_LIMIT && oc_findings_have_errors(&job->findings))
      r = 0;
    planned.ok = !oc_findings_have_errors(&job->findings);
  }
  if (r == 0)
    r = oc_job_report(job, &report, digest, err);
  if (r < 0)
    return r;
  planned.report_fd = 0;
  planned.table_id = (char *)(job->soc ? job->soc->table->id : "");
  planned.report_sha256.data = digest;
  planned.report_sha256.len = sizeof digest;
  m.body_case = OMCC__V1__FROM_WORKER__BODY_PLANNED;
  m.planned = &planned;
  *ret_buildable = planned.ok && planned.plan_key.len > 0;
  r = oc_job_send(job, &m, &report, 1, err);
  close(report);
  return r;
}

/* Takes `output` over: it is closed before the answer, because the daemon seals the file
 * as soon as it hears of it, and nobody may have it open for writing then. */
static int do_build(struct oc_job *job, int output, struct oc_error *err)
{
  Omcc__V1__Built built = OMCC__V1__BUILT__INIT;
  Omcc__V1__FromWorker m = OMCC__V1__FROM_WORKER__INIT;
  struct rusage use;

  job->building = true;
  int r = oc_job_build(job, output, &built.size, err);
  close(output);
  if (r < 0)
    return r;
  built.import_us = job->import_us;
  built.infer_us = job->infer_us;
  built.resolve_us = job->resolve_us;
  built.emit_us = job->emit_us;
  if (getrusage(RUSAGE_SELF, &use) == 0)
    built.max_rss_bytes = (uint64_t)use.ru_maxrss * 1024;
  m.body_case = OMCC__V1__FROM_WORKER__BODY_BUILT;
  m.built = &built;
  return oc_job_send(job, &m, NULL, 0, err);
}

/* After Planned: the daemon says Build, or takes the job back. */
static int finish_plan(struct oc_job *job, bool buildable, struct oc_error *err)
{
  struct oc_frame frame;
  Omcc__V1__ToWorker *m = oc_job_receive(job, &frame, err);

  if (!m)
    return OC_E_CLOSED;
  int r = OC_E_CLOSED;
  if (m->body_case == OMCC__V1__TO_WORKER__BODY_BUILD && buildable) {
    int output = oc_frame_take_fd(&frame, m->build->output_fd);
    r = output < 0 ? oc_error_set(err, OC_E_PROTO, "Build came without a descriptor")
                   : do_build(job, output, err);
  }
  oc_frame_close_fds(&frame);
  return r;
}

static int do_plan(struct oc_job *job, Omcc__V1__ToWorker *m, struct oc_frame *frame,
                   struct oc_error *err)
{
  bool buildable = false;

  job->request = m->plan;
  int r = oc_job_map_files(job, m->plan, frame, err);
  oc_frame_close_fds(frame);
  if (r == 0)
    r = exchange_inputs(job, err);
  if (r == 0)
    r = job->request->names_only ? oc_job_plan_names(job, err) : oc_job_plan(job, err);
  if (r < 0)
    return r;
  if (r == 0)
    return say_unplanned(job, err);
  r = say_planned(job, &buildable, err);
  oc_stop_point(job->request->stop_at, "after-plan-sent");
  return r < 0 ? r : finish_plan(job, buildable, err);
}

int oc_child_run(int fd, const struct oc_optable *tables)
{
  struct oc_job job = { .tables = tables };
  struct oc_error err = { 0 };
  struct oc_frame frame;
  int r;

  oc_arena_init(&job.arena, OC_JOB_ARENA_CAP);
  oc_findings_init(&job.findings, &job.arena);
  job.channel = oc_channel_new(fd, OC_CHILD_WRITE_CAP);
  if (!job.channel)
    return 1;
  r = say_hello(&job, &err);
  Omcc__V1__ToWorker *m = r == 0 ? oc_job_receive(&job, &frame, &err) : NULL;
  if (!m)
    return 0; /* the daemon did not need this child */
  if (m->body_case == OMCC__V1__TO_WORKER__BODY_PLAN)
    r = do_plan(&job, m, &frame, &err);
  else if (m->body_case == OMCC__V1__TO_WORKER__BODY_VERIFY)
    r = oc_job_verify(&job, m->verify, &frame, &err);
  else
    r = OC_E_CLOSED;
  if (r < 0 && r != OC_E_CLOSED) {
    dprintf(STDERR_FILENO, "omcc-worker: %s\n", err.msg);
    say_failed(&job, failure_code(r, job.building), err.msg, &err);
  }
  /* The process ends here: giving the arena back piece by piece would only cost time. */
  return 0;
}
