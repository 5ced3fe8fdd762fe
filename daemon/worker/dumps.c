/* Which passes run, and the graph as text after each of them when the request asks for
 * it (--dump_passes). Dumps travel in the report, so the worker still opens no path. */
#include "worker/worker_internal.h"

#include "base/str.h"
#include "graph/graph.h"

/* All dumps of one job: half of what a report may hold. */
#define OC_DUMPS_CAP (OC_MAX_REPORT / 2)

static bool wanted(const struct oc_job *job)
{
  return oc_job_flag(job, "dump_passes", "")[0] != '\0';
}

static void put_notes(struct oc_job *job, struct oc_buf *text)
{
  for (; job->n_notes_told < job->pass_log.n; job->n_notes_told++) {
    const struct oc_pass_note *note = &job->pass_log.items[job->n_notes_told];
    oc_buf_printf(text, "# %s: %s\n", note->op, note->what);
  }
}

void oc_job_dump(struct oc_job *job, const char *name, const struct oc_graph *graph)
{
  struct oc_buf text;

  if (!wanted(job) || job->dumps_bytes > OC_DUMPS_CAP)
    return;
  oc_buf_init(&text, OC_DUMPS_CAP);
  put_notes(job, &text);
  Omcc__V1__Dump *dump = OC_NEW(&job->arena, Omcc__V1__Dump);
  Omcc__V1__Dump **grown = oc_arena_grow(&job->arena, job->dumps, job->n_dumps,
                                         job->n_dumps + 1, sizeof(Omcc__V1__Dump *));
  if (dump && grown && oc_graph_write_text(graph, &text) == 0) {
    omcc__v1__dump__init(dump);
    dump->name = (char *)name;
    dump->text.data = oc_arena_memdup(&job->arena, text.data, text.len);
    dump->text.len = dump->text.data ? text.len : 0;
    job->dumps = grown;
    job->dumps[job->n_dumps++] = dump;
    job->dumps_bytes += text.len;
  }
  oc_buf_clear(&text);
}

static void after_pass(void *ctx, enum oc_pass pass, const struct oc_graph *graph)
{
  oc_job_dump(ctx, oc_pass_info(pass)->name, graph);
}

void oc_job_passes(struct oc_job *job, struct oc_pass_options *ret)
{
  uint32_t on = OC_PASSES_DEFAULT;

  if (oc_streq(oc_job_flag(job, "oo_constant_folding", "true"), "false"))
    on &= ~OC_PASS_BIT(OC_PASS_FOLD);
  if (oc_streq(oc_job_flag(job, "oo_dead_code_elimination", "true"), "false"))
    on &= ~OC_PASS_BIT(OC_PASS_DEAD);
  on = oc_passes_select(on, oc_job_flag(job, "passes", ""), &job->findings);
  if (oc_streq(oc_job_flag(job, "oo_level", "O3"), "O1"))
    on &= ~OC_PASSES_FUSION;
  *ret = (struct oc_pass_options){ .on = on };
  if (!wanted(job))
    return;
  ret->after = after_pass;
  ret->ctx = job;
}
