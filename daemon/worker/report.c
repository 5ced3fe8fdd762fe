/* The report: judged graph, list states and findings as one message in a sealed memfd.
 *
 * Always a descriptor, never part of a frame: a report of a large graph is larger than a
 * frame may be, and a hit delivers the stored bytes without looking at them. */
#include "worker/worker_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "digest/digest.h"
#include "graph/graph.h"
#include "optable/optable.h"
#include "precision/precision.h"

#define OC_REPORT_SCHEMA 1

static int out_of_memory(struct oc_error *err)
{
  return oc_error_set(err, OC_E_NOMEM, "no memory for the report");
}

static void fill_reason(struct oc_arena *a, const struct oc_reason *r,
                        Omcc__V1__Reason *m)
{
  size_t n = 0;
  struct oc_finding_arg *args = oc_reason_args(r, a, &n);

  omcc__v1__reason__init(m);
  m->rule = (char *)oc_rule_name(r->rule);
  m->flag = (char *)(r->flag ? r->flag : "");
  m->entry = r->entry;
  m->args = args ? OC_NEW_N(a, Omcc__V1__Argument *, n) : NULL;
  for (size_t i = 0; m->args && i < n; i++) {
    Omcc__V1__Argument *arg = OC_NEW(a, Omcc__V1__Argument);
    if (!arg)
      return;
    omcc__v1__argument__init(arg);
    arg->name = (char *)args[i].name;
    arg->value = (char *)args[i].value;
    m->args[m->n_args++] = arg;
  }
}

static void fill_reasons(struct oc_arena *a, const struct oc_reason_list *list,
                         Omcc__V1__Tensor *m)
{
  size_t n = 0;

  for (const struct oc_reason *r = list ? list->first : NULL; r; r = r->next)
    n++;
  m->reasons = n ? OC_NEW_N(a, Omcc__V1__Reason *, n) : NULL;
  if (!m->reasons)
    return;
  for (const struct oc_reason *r = list->first; r; r = r->next) {
    Omcc__V1__Reason *reason = OC_NEW(a, Omcc__V1__Reason);
    if (!reason)
      return;
    fill_reason(a, r, reason);
    m->reasons[m->n_reasons++] = reason;
  }
}

Omcc__V1__Tensor *oc_report_tensor(struct oc_arena *a, const struct oc_tensor *t)
{
  Omcc__V1__Tensor *m = OC_NEW(a, Omcc__V1__Tensor);

  if (!m)
    return NULL;
  omcc__v1__tensor__init(m);
  m->name = (char *)(t->name ? t->name : "");
  m->orig = (uint32_t)t->dtype;
  m->want = (uint32_t)t->want;
  m->got = (uint32_t)t->got;
  m->format = (char *)oc_format_name(t->format);
  m->unknown_rank = !t->shape.known_rank;
  if (t->shape.known_rank && t->shape.rank > 0) {
    m->dims = OC_NEW_N(a, int64_t, t->shape.rank);
    m->n_dims = m->dims ? t->shape.rank : 0;
    for (size_t i = 0; i < m->n_dims; i++)
      m->dims[i] = t->shape.dims[i] < 0 ? -1 : t->shape.dims[i];
  }
  fill_reasons(a, t->reasons, m);
  return m;
}

static Omcc__V1__Op *make_op(struct oc_arena *a, const struct oc_op_result *r)
{
  const struct oc_op *op = r->op;
  Omcc__V1__Op *m = OC_NEW(a, Omcc__V1__Op);
  Omcc__V1__Reason *reason = OC_NEW(a, Omcc__V1__Reason);

  if (!m || !reason)
    return NULL;
  omcc__v1__op__init(m);
  m->name = (char *)op->name;
  m->type = (char *)op->type;
  m->source_type = (char *)(op->source_type ? op->source_type : "");
  m->engine = (char *)oc_engine_name(op->engine);
  m->kept = op->keep;
  m->column = op->column;
  m->sure = (char *)oc_sure_name(r->sure);
  m->origin_names = (char **)op->origin_names;
  m->n_origin_names = op->n_origin_names;
  fill_reason(a, &r->reason, reason);
  m->reason = reason;
  m->inputs = OC_NEW_N(a, Omcc__V1__Tensor *, op->n_inputs);
  m->outputs = OC_NEW_N(a, Omcc__V1__Tensor *, op->n_outputs);
  for (uint32_t i = 0; m->inputs && i < op->n_inputs; i++)
    m->inputs[m->n_inputs++] = oc_report_tensor(a, &op->inputs[i].t);
  for (uint32_t i = 0; m->outputs && i < op->n_outputs; i++)
    m->outputs[m->n_outputs++] = oc_report_tensor(a, &op->outputs[i].t);
  return m;
}

static void fill_ops(struct oc_arena *a, const struct oc_precision_result *p,
                     Omcc__V1__Report *m)
{
  m->ops = OC_NEW_N(a, Omcc__V1__Op *, p->n_ops);
  for (size_t i = 0; m->ops && i < p->n_ops; i++) {
    Omcc__V1__Op *op = make_op(a, &p->ops[i]);
    if (!op)
      return;
    m->ops[m->n_ops++] = op;
  }
}

static void fill_lists(struct oc_arena *a, const struct oc_precision_result *p,
                       Omcc__V1__Report *m)
{
  m->lists = OC_NEW_N(a, Omcc__V1__ListEntry *, p->n_entries);
  for (size_t i = 0; m->lists && i < p->n_entries; i++) {
    const struct oc_entry_result *e = &p->entries[i];
    Omcc__V1__ListEntry *entry = OC_NEW(a, Omcc__V1__ListEntry);
    if (!entry)
      return;
    omcc__v1__list_entry__init(entry);
    entry->flag = (char *)e->flag;
    entry->entry = e->entry;
    entry->text = (char *)e->text;
    entry->state = (char *)oc_entry_state_name(e->state);
    entry->ops = e->ops;
    entry->kept = e->changed;
    entry->casts_added = e->casts_added;
    entry->bytes_added = e->bytes_added;
    entry->moved = e->moved;
    m->lists[m->n_lists++] = entry;
  }
}

static void fill_report(struct oc_job *job, Omcc__V1__Report *m)
{
  const struct oc_precision_result *p = job->precision;
  struct oc_arena *a = &job->arena;

  m->schema = OC_REPORT_SCHEMA;
  m->mode = (char *)oc_mode_name(p->mode.mode);
  m->mode_given = p->mode.given;
  m->mode_number = (uint32_t)p->mode.mode;
  m->soc = (char *)job->soc->name;
  m->table_id = (char *)job->soc->table->id;
  m->table_source = (char *)job->soc->table->source;
  m->model_format = (char *)job->graph->model_format;
  m->input_shape_hint = (char *)(job->shape_hint ? job->shape_hint : "");
  m->casts_added = p->casts_added;
  m->casts_removed = p->casts_removed;
  m->resolved = p->resolved && !oc_findings_have_errors(&job->findings);
  m->dumps = job->dumps;
  m->n_dumps = job->n_dumps;
  fill_ops(a, p, m);
  fill_lists(a, p, m);
  m->findings = oc_findings_to_messages(&job->findings, a, &m->n_findings);
}

static int write_all(int fd, const uint8_t *p, size_t len, struct oc_error *err)
{
  while (len > 0) {
    ssize_t n = write(fd, p, len);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return oc_error_errno(err, OC_E_IO, "cannot write the report");
    p += n;
    len -= (size_t)n;
  }
  return 0;
}

/* What else was found is a part of what does not fit. */
static int too_large(struct oc_job *job, struct oc_error *err)
{
  oc_findings_init(&job->findings, &job->arena);
  oc_finding_add(&job->findings, OC_FINDING_REPORT_TOO_LARGE, "", "limit",
                 oc_arena_printf(&job->arena, "%u", OC_MAX_REPORT >> 20), NULL)
      ->flag = "model";
  return oc_error_set(err, OC_E_LIMIT, "the report is larger than %u bytes",
                      OC_MAX_REPORT);
}

int oc_job_report(struct oc_job *job, int *ret_fd, uint8_t ret_sha256[32],
                  struct oc_error *err)
{
  Omcc__V1__Report report = OMCC__V1__REPORT__INIT;
  struct oc_buf bytes;

  if (job->request->names_only)
    oc_job_fill_names(job, &report);
  else
    fill_report(job, &report);
  if (job->arena.failed)
    return out_of_memory(err);
  auto_close int fd = memfd_create("omcc-report", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0)
    return oc_error_errno(err, OC_E_IO, "cannot make the report's file");
  oc_buf_init(&bytes, OC_MAX_REPORT);
  int r = oc_message_pack(&report, &bytes);
  if (r < 0)
    r = too_large(job, err);
  if (r == 0)
    r = write_all(fd, bytes.data, bytes.len, err);
  if (r == 0 && oc_sha256_bytes(bytes.data, bytes.len, ret_sha256) < 0)
    r = out_of_memory(err);
  oc_buf_clear(&bytes);
  if (r == 0 && fcntl(fd, F_ADD_SEALS,
                      F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0)
    r = oc_error_errno(err, OC_E_IO, "cannot seal the report");
  if (r == 0)
    *ret_fd = OC_STEAL_FD(fd);
  return r;
}
