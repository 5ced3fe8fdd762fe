/* Inference: the dtype and shape of every tensor of a graph.
 *
 * Ops are visited in topological order, sub-graphs (If, Loop, Scan) included. Inputs copy
 * dtype and shape from their producers; outputs come from one function per IR type, kept
 * by operator family. Unknown dims travel as symbols (graph.h), so that two tensors that
 * must have the same unknown size say so.
 *
 * Where a shape depends on values (Shape, Gather, Concat, Reshape chains) the values are
 * followed as well, element by element, known and symbolic ones mixed; an output whose
 * elements are all known gets `value` (at most OC_INFER_MAX_VALUE elements).
 *
 * What the user must hear is a finding: an op whose type is not known here (its outputs
 * get no rank and the dtype of the first input), tensors that contradict each other, dims
 * that overflow. Sources of the rules: the public IR definitions of the toolkit (inputs,
 * attributes, defaults) and the ONNX operator specification. */
#ifndef OC_INFER_INFER_H
#define OC_INFER_INFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/finding.h"
#include "graph/graph.h"

/* Largest tensor whose content is followed. */
#define OC_INFER_MAX_VALUE (64u * 1024)

struct oc_infer_options {
  /* --input_shape as given, NULL or "" for none: name:d1,d2;name2:... with a number, -1
   * or lo~hi per dim. It overrides the shapes that the model declares for its inputs. */
  const char *input_shape;
  /* Flags say which sizes dynamic inputs take: they are meant to be open. */
  bool profiles;
};

struct oc_infer_result {
  uint32_t n_ops;     /* ops visited, sub-graphs included */
  uint32_t n_unknown; /* ops whose type is not known here */
  uint32_t n_dynamic; /* ops with a tensor whose shape is not static */
  /* When graph inputs stay dynamic and nobody asked for it: a ready-made value for
   * --input_shape, with the model's own names as <batch>; else NULL. In the graph's
   * arena. */
  const char *input_shape_hint;
};

/* Sorts the graph (and its sub-graphs), applies --input_shape, infers everything.
 * 0, OC_E_NOMEM, or OC_E_FORMAT when the graph has a cycle. Mistakes of the user and
 * contradictions of the model are findings. `ret` may be NULL. */
int oc_infer(struct oc_graph *g, const struct oc_infer_options *options,
             struct oc_findings *findings, struct oc_infer_result *ret,
             struct oc_error *err);

/* The same after passes changed the graph: no option is applied, nothing is reported
 * twice. */
int oc_infer_again(struct oc_graph *g, struct oc_infer_result *ret, struct oc_error *err);

/* The same; contradictions and ops without a rule are findings again. */
int oc_infer_told(struct oc_graph *g, struct oc_findings *findings, struct oc_error *err);

/* Applies --input_shape to the Data ops alone (oc_infer does it by itself). Findings:
 * a name that no input has (with the names there are), a dim that is no number, a number
 * of dims other than the model's, a size other than the model's static one. Ranges are
 * kept as the attribute `_shape_range` (INTS, lo and hi per dim, hi -1 = no bound). */
int oc_infer_apply_input_shape(struct oc_graph *g, const char *text,
                               struct oc_findings *findings, struct oc_error *err);

/* True when the IR type has a rule (tests, docs). */
bool oc_infer_knows(const char *type);
/* The known types one by one: NULL behind the last. */
const char *oc_infer_type_at(size_t i);

#endif
