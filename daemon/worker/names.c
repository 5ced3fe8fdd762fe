/* Names only: what a list line can say about each op of a model.
 *
 * Keep lists are held against the graph as parsed, so this is the graph as parsed, before
 * any pass renames, retypes or folds. Inference adds the model's dtypes where it can;
 * what it would complain about is for the plan of a real request to say. */
#include "worker/worker_internal.h"

#include "graph/graph.h"
#include "infer/infer.h"
#include "optable/optable.h"

#define OC_REPORT_SCHEMA 1

int oc_job_plan_names(struct oc_job *job, struct oc_error *err)
{
  struct oc_infer_options options = { .input_shape =
                                          oc_job_flag(job, "input_shape", NULL) };
  struct oc_findings unheard;

  int r = oc_job_import(job, err);
  if (r == OC_E_FORMAT)
    return 0;
  if (r < 0)
    return r;
  oc_findings_init(&unheard, &job->arena);
  r = oc_infer(job->graph, &options, &unheard, NULL, err);
  return r < 0 && r != OC_E_FORMAT ? r : 1;
}

static Omcc__V1__Op *name_op(const struct oc_op *op, struct oc_arena *a)
{
  Omcc__V1__Op *m = OC_NEW(a, Omcc__V1__Op);

  if (!m)
    return NULL;
  omcc__v1__op__init(m);
  m->name = (char *)op->name;
  m->type = (char *)op->type;
  m->source_type = (char *)(op->source_type ? op->source_type : "");
  m->column = -1;
  m->origin_names = (char **)op->origin_names;
  m->n_origin_names = op->n_origin_names;
  m->inputs = OC_NEW_N(a, Omcc__V1__Tensor *, op->n_inputs);
  m->outputs = OC_NEW_N(a, Omcc__V1__Tensor *, op->n_outputs);
  for (uint32_t i = 0; m->inputs && i < op->n_inputs; i++)
    m->inputs[m->n_inputs++] = oc_report_tensor(a, &op->inputs[i].t);
  for (uint32_t i = 0; m->outputs && i < op->n_outputs; i++)
    m->outputs[m->n_outputs++] = oc_report_tensor(a, &op->outputs[i].t);
  return m;
}

/* Data, constants and outputs: no list line changes anything about them. */
static bool listable(const struct oc_job *job, const struct oc_op *op)
{
  return oc_optable_graph_kind(job->tables, op->type) != OC_GRAPH_KIND_FIXED;
}

/* Graphs in the order they are met, the sub-graphs of an op behind its own graph. */
static struct oc_graph **all_graphs(struct oc_job *job, size_t *ret_n)
{
  size_t n = 1, room = 16;
  struct oc_graph **list = OC_NEW_N(&job->arena, struct oc_graph *, room);

  if (!list)
    return NULL;
  list[0] = job->graph;
  for (size_t at = 0; at < n; at++)
    for (uint32_t i = 0; i < list[at]->n_ops; i++)
      for (uint32_t k = 0; k < list[at]->ops[i]->n_subgraphs; k++) {
        if (n == room) {
          struct oc_graph **more = OC_NEW_N(&job->arena, struct oc_graph *, room * 2);
          if (!more)
            return NULL;
          for (size_t c = 0; c < n; c++)
            more[c] = list[c];
          list = more;
          room *= 2;
        }
        list[n++] = list[at]->ops[i]->subgraphs[k].graph;
      }
  *ret_n = n;
  return list;
}

void oc_job_fill_names(struct oc_job *job, Omcc__V1__Report *report)
{
  struct oc_arena *a = &job->arena;
  size_t n_graphs = 0, n = 0;
  struct oc_graph **graphs = all_graphs(job, &n_graphs);

  report->schema = OC_REPORT_SCHEMA;
  report->model_format = (char *)job->graph->model_format;
  report->resolved = !oc_findings_have_errors(&job->findings);
  for (size_t g = 0; graphs && g < n_graphs; g++)
    n += graphs[g]->n_ops;
  report->ops = OC_NEW_N(a, Omcc__V1__Op *, n);
  for (size_t g = 0; graphs && report->ops && g < n_graphs; g++)
    for (uint32_t i = 0; i < graphs[g]->n_ops; i++)
      if (listable(job, graphs[g]->ops[i]))
        report->ops[report->n_ops++] = name_op(graphs[g]->ops[i], a);
  report->findings = oc_findings_to_messages(&job->findings, a, &report->n_findings);
}
