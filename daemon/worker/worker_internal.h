/* omcc-worker: what its files share.
 *
 * One binary, three lives. The zygote (main) receives the op tables, parses them once
 * and forks children ahead of need. A child enters the sandbox, says Hello, and serves
 * exactly one job over its own socket; then it exits, so that no memory, counter or fault
 * passes from one job or user to the next. Single-threaded but for one more thread
 * while constants are converted (lanes.c). */
#ifndef OC_WORKER_INTERNAL_H
#define OC_WORKER_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/finding.h"
#include "digest/digest.h"
#include "frame/frame.h"
#include "infer/profiles.h"
#include "messages/messages.h"
#include "passes/passes.h"

struct oc_optable;
struct oc_graph;
struct oc_builtin;
struct oc_precision_result;
struct oc_soc;
struct oc_tensor;

/* ---- the sandbox (sandbox.c) ---- */

/* What a child does before it reads the first byte of a job: dies with the zygote,
 * gains nothing by exec, has bounded resources, holds no descriptor but its own.
 * `keep_fd` is the job's socket. From here on no path is opened. */
int oc_sandbox_enter(int keep_fd, int parent_pid, uint32_t memory_mb,
                     struct oc_error *err);

/* A mapped input that shrinks under us raises SIGBUS: answer `input_changed` on `fd`,
 * exit. */
int oc_sandbox_catch_sigbus(int fd, struct oc_error *err);

/* ---- one job (child.c) ---- */

struct oc_job_file {
  const char *flag; /* "model", "keep_dtype", ... or "external" */
  const char *name;
  const uint8_t *data; /* mapped read-only; NULL for an empty file */
  size_t len;
};

struct oc_job {
  struct oc_channel *channel;
  const struct oc_optable *tables;
  struct oc_arena arena; /* everything of this job but mapped files */
  struct oc_findings findings;
  const Omcc__V1__Plan *request; /* lives in the arena */
  struct oc_job_file *files;
  size_t n_files;
  struct oc_job_file *external;
  size_t n_external;
  struct oc_graph *graph;
  const struct oc_soc *soc;
  const char
      *shape_hint; /* ready-made --input_shape value, NULL when every input is static */
  struct oc_precision_result *precision; /* NULL until resolved */
  struct oc_builtin *output;             /* laid out artifact, NULL until prepared */
  bool building; /* Build has begun: failures are about the output */
  uint64_t import_us, infer_us, resolve_us, emit_us;
  struct oc_profiles profiles;              /* of a dynamic model */
  struct oc_profile_shapes *profile_shapes; /* NULL without profiles */
  struct oc_pass_log pass_log;
  size_t n_notes_told;    /* of the log, in a dump already */
  Omcc__V1__Dump **dumps; /* what --dump_passes asks for, in order */
  size_t n_dumps;
  size_t dumps_bytes;
};

/* Serves one job on `fd` and returns the exit status of the child. */
int oc_child_run(int fd, const struct oc_optable *tables);

int oc_job_send(struct oc_job *job, Omcc__V1__FromWorker *message, const int *fds,
                size_t n_fds, struct oc_error *err);
/* The next message for this job; NULL when the daemon has gone or broke the protocol. */
Omcc__V1__ToWorker *oc_job_receive(struct oc_job *job, struct oc_frame *frame,
                                   struct oc_error *err);

/* ---- inputs.c ---- */

/* Maps the descriptors of a Plan / MoreFiles frame. Descriptors are consumed. */
int oc_job_map_files(struct oc_job *job, const Omcc__V1__Plan *plan,
                     struct oc_frame *frame, struct oc_error *err);
int oc_job_map_external(struct oc_job *job, Omcc__V1__ExternalFile **files, size_t n,
                        struct oc_frame *frame, struct oc_error *err);
const struct oc_job_file *oc_job_file(const struct oc_job *job, const char *flag);
/* Value of a flag of the request, `other` when not given. */
const char *oc_job_flag(const struct oc_job *job, const char *name, const char *other);

/* ---- plan.c: import, keep marks, passes, inference, resolution ---- */

/* 1: job->graph and job->precision are there, with a row for every op even when findings
 * forbid a build; 0: the model cannot be planned, findings say why; negative: an error.
 */
int oc_job_plan(struct oc_job *job, struct oc_error *err);
/* Bytes to job->graph. OC_E_FORMAT when there is no graph; findings say why. */
int oc_job_import(struct oc_job *job, struct oc_error *err);
/* Names of external data the model needs; none for formats other than ONNX and for bytes
 * that are no model (planning reports those). */
int oc_job_needed(struct oc_job *job, const char *const **ret_names, size_t *ret_n,
                  struct oc_error *err);

/* ---- dumps.c ---- */

/* What the request says about passes; a name that no pass has is a finding. */
void oc_job_passes(struct oc_job *job, struct oc_pass_options *ret);
/* Keeps the graph as text for the report when the request asks for dumps. */
void oc_job_dump(struct oc_job *job, const char *name, const struct oc_graph *graph);

/* ---- report.c ---- */

/* The job's report as a sealed memfd and its digest. */
int oc_job_report(struct oc_job *job, int *ret_fd, uint8_t ret_sha256[32],
                  struct oc_error *err);

Omcc__V1__Tensor *oc_report_tensor(struct oc_arena *a, const struct oc_tensor *t);

/* ---- names.c: `omcc ops`, which needs no target ---- */

/* Names, types and the model's dtypes of the graph as parsed, which is what list lines
 * are held against. 1 with job->graph; 0: no model, findings say why; negative: an error.
 */
int oc_job_plan_names(struct oc_job *job, struct oc_error *err);
void oc_job_fill_names(struct oc_job *job, Omcc__V1__Report *report);

/* ---- build.c ---- */

/* Lays the artifact out and computes the plan key over what identifies its bytes. */
int oc_job_prepare(struct oc_job *job, uint8_t ret_key[32], uint64_t *ret_size,
                   struct oc_error *err);
int oc_job_build(struct oc_job *job, int output_fd, uint64_t *ret_size,
                 struct oc_error *err);

/* ---- lanes.c: each() of emit's lanes; two of them ---- */

#define OC_LANES 2u
int oc_lanes_each(void *ctx, unsigned n_lanes, uint64_t n,
                  int (*work)(void *arg, unsigned lane, uint64_t i), void *arg);

/* ---- verify.c ---- */

int oc_job_verify(struct oc_job *job, const Omcc__V1__Verify *request,
                  struct oc_frame *frame, struct oc_error *err);

/* ---- stop.c ---- */

/* A named place where tests stop the process (builds with stop points only). */
void oc_stop_point(const char *wanted, const char *here);

uint64_t oc_now_us(void);

#endif
