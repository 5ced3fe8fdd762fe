/* Verify: what the vendor's compiler really did, read from its file and compared with
 * what we predicted for the same request.
 *
 * Ops are found by name or through the recorded original names. A predicted op that the
 * file does not have under either was fused or folded by the vendor: that is no
 * difference in precision, so it is neither agreed nor differed. Each output dtype that
 * is not the predicted one is a finding. */
#include "worker/worker_internal.h"

#include <unistd.h>

#include "base/cleanup.h"
#include "base/dtype.h"
#include "base/map.h"
#include "base/str.h"
#include "om/om.h"

#define OC_ATTR_ORIGIN_NAMES "_datadump_original_op_names"

static void index_op(struct oc_map *ops, struct oc_om_op *op)
{
  const struct oc_om_attr *names =
      oc_om_attr_find(op->attrs, op->n_attrs, OC_ATTR_ORIGIN_NAMES);

  if (!oc_map_has(ops, op->name))
    oc_map_put(ops, op->name, op);
  if (!names || names->kind != OC_OM_ATTR_STRINGS)
    return;
  for (size_t i = 0; i < names->n; i++)
    if (!oc_map_has(ops, names->u.strings[i]))
      oc_map_put(ops, names->u.strings[i], op);
}

static void index_ops(struct oc_map *ops, const struct oc_om_info *info)
{
  for (uint32_t v = 0; v < info->n_views; v++) {
    struct oc_om_def *def = info->views[v].def;
    for (uint32_t g = 0; def && g < def->n_graphs; g++)
      for (uint32_t i = 0; i < def->graphs[g].n_ops; i++)
        index_op(ops, &def->graphs[g].ops[i]);
  }
}

static void compare_op(struct oc_job *job, const struct oc_map *ops,
                       const Omcc__V1__Op *predicted, Omcc__V1__Verified *m)
{
  const struct oc_om_op *real = oc_map_gets(ops, predicted->name);

  if (!real || predicted->n_outputs == 0 || real->n_output_descs < predicted->n_outputs)
    return;
  for (size_t i = 0; i < predicted->n_outputs; i++) {
    enum oc_dtype want = (enum oc_dtype)predicted->outputs[i]->got;
    enum oc_dtype got = real->output_descs[i].dtype;
    if (want == got)
      continue;
    m->differed++;
    bool fused = !oc_str_is(real->name, predicted->name);
    oc_finding_add(&job->findings,
                   fused ? OC_FINDING_PREDICTION_FUSED : OC_FINDING_PREDICTION_DIFFERS,
                   predicted->name, "predicted", oc_dtype_name(want), "got",
                   oc_dtype_name(got), "into",
                   oc_arena_strndup(&job->arena, real->name.p, real->name.len), NULL);
    return;
  }
  m->agreed++;
}

static int read_report(struct oc_job *job, int fd, Omcc__V1__Report **ret,
                       struct oc_error *err)
{
  struct oc_om_source source;
  ProtobufCMessage *base = NULL;

  int r = oc_om_source_fd(fd, &source, err);
  if (r == 0 && source.size > OC_MAX_REPORT)
    r = oc_error_set(err, OC_E_LIMIT, "the report is too large");
  if (r < 0)
    return r;
  uint8_t *bytes = oc_arena_alloc(&job->arena, (size_t)source.size);
  if (!bytes)
    return oc_error_set(err, OC_E_NOMEM, "no memory for the report");
  r = oc_om_source_read(&source, 0, bytes, (size_t)source.size, err);
  if (r == 0)
    r = oc_message_unpack(&omcc__v1__report__descriptor, bytes, (size_t)source.size,
                          &job->arena, &base, err);
  *ret = (Omcc__V1__Report *)base;
  return r;
}

static void compare(struct oc_job *job, const struct oc_om_info *info,
                    const Omcc__V1__Report *report, Omcc__V1__Verified *m)
{
  struct oc_map ops = { 0 };

  index_ops(&ops, info);
  for (size_t i = 0; report && i < report->n_ops; i++)
    if (!oc_streq(report->ops[i]->engine, "graph"))
      compare_op(job, &ops, report->ops[i], m);
  oc_map_clear(&ops);
  if (m->agreed + m->differed)
    oc_finding_add(&job->findings, OC_FINDING_PREDICTION_AGREED, "", "agreed",
                   oc_arena_printf(&job->arena, "%u", m->agreed), "differed",
                   oc_arena_printf(&job->arena, "%u", m->differed), NULL);
}

int oc_job_verify(struct oc_job *job, const Omcc__V1__Verify *request,
                  struct oc_frame *frame, struct oc_error *err)
{
  Omcc__V1__Verified verified = OMCC__V1__VERIFIED__INIT;
  Omcc__V1__FromWorker m = OMCC__V1__FROM_WORKER__INIT;
  struct oc_om_source source;
  struct oc_om_info *info = NULL;
  Omcc__V1__Report *report = NULL;
  struct oc_error why = { 0 };
  auto_close int file = oc_frame_take_fd(frame, request->file_fd);
  auto_close int report_fd = oc_frame_take_fd(frame, request->report_fd);

  oc_frame_close_fds(frame);
  if (file < 0)
    return oc_error_set(err, OC_E_PROTO, "Verify came without a file");
  int r = oc_om_source_fd(file, &source, err);
  if (r == 0 && report_fd >= 0 && report_fd != file)
    r = read_report(job, report_fd, &report, err);
  if (r < 0)
    return r;
  if (oc_om_inspect(source, &job->arena, &info, &why) < 0) {
    oc_finding_add(&job->findings, OC_FINDING_ARTIFACT_UNREADABLE, "", "why", why.msg,
                   NULL);
  } else {
    verified.readable = true;
    verified.device_ready = info->device_ready;
    compare(job, info, report, &verified);
  }
  verified.findings =
      oc_findings_to_messages(&job->findings, &job->arena, &verified.n_findings);
  m.body_case = OMCC__V1__FROM_WORKER__BODY_VERIFIED;
  m.verified = &verified;
  return oc_job_send(job, &m, NULL, 0, err);
}
