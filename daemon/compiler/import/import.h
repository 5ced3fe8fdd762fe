/* Importers: model bytes in, a graph of Ascend IR operators out.
 *
 * Pure: no files, no clock, no environment. The model (and external data) is usually a
 * mapped file that others may change: structure is read once and copied into the graph's
 * arena; only the payload of constants stays a slice of the bytes given here, so those
 * must live as long as the graph. No recursion over user data; what is allocated is a
 * small multiple of the model's size.
 *
 * Mistakes in the model are findings (schema/findings.yaml, section import). An operator
 * that we do not know is an error finding, or a warning when `lenient` (another compiler
 * does the work and only wants to be told); it becomes an op whose type is the
 * framework's type and whose outputs have no dtype and no rank, so that a table of all
 * ops can still be shown.
 *
 * Conventions that later rooms rely on:
 *  - graph inputs: op type Data, name as in the model, one unlinked input "x" and one
 *    output "y", both with the declared dtype and shape; INT attribute `index`. A dim
 *    with a name is the same symbol (< -1) everywhere, one without is a fresh symbol.
 *    An input that is a sequence of tensors is a handle: dtype resource, a scalar; what
 *    the model says of its tensors is in OC_ATTR_ELEMENT_DTYPE and _SHAPE. An optional
 *    tensor is taken as given.
 *  - the end: op type NetOutput, name `Node_Output`, one input per model output (x0,
 *    x1...), no outputs; STRINGS attribute OC_ATTR_OUTPUT_NAMES holds the model's names.
 *  - initializers: Const `<initializer>_Initializer_<rank>`; Constant nodes: Const with
 *    the node's own name and source_type "Constant". External data stays a Const.
 *  - sub-graphs (If; bodies of Loop and Scan): tensors of the outer graph that a body
 * uses are extra inputs of the op. Inside, each is a Data whose INT attribute
 *    OC_ATTR_PARENT_INDEX is the op's input; it is -1 for a Data that a Loop or Scan body
 *    gets per iteration. NetOutput's input i is the op's output i for If.
 *  - an op that takes the place of a model node has that node's op type as source_type.
 *    One model node that became several ops: source_type on each of them, origin_names
 *    holds the node's name; generated Consts too.
 *  - tensors carry IR names; dtype and shape are unset except for Data, Const and outputs
 *    that the model itself declares nowhere else. */
#ifndef OC_IMPORT_IMPORT_H
#define OC_IMPORT_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/finding.h"
#include "graph/graph.h"

#define OC_ATTR_PARENT_INDEX "_parent_node_index"
#define OC_ATTR_OUTPUT_NAMES "_output_names"

/* One file of external data, by the location that the model spells. */
struct oc_import_file {
  const char *name;
  const uint8_t *data;
  size_t len;
};

struct oc_import_options {
  const uint8_t *model;
  size_t model_len;
  const struct oc_import_file *files;
  size_t n_files;
  const char *out_nodes; /* value of --out_nodes, NULL or "" = none */
  bool wide_windows;     /* the chip pools over windows of any size */
  bool lenient;          /* what we do not know is a warning, not an error */
  bool unknown_is_row;   /* an op type that we do not know is (nothing will be built) */
  /* TensorFlow: the value of --input_shape (a node that it names and that is no input
   * becomes one, and what only fed it falls away) and of --input_format (NHWC unless
   * "NCHW"); NULL or "" = none. */
  const char *input_shape;
  const char *input_format;
};

/* Names (locations) of the external data files of an ONNX model, each once, in order of
 * first use, NUL-terminated in `arena`. Names are as the model spells them: whoever opens
 * them must confine them. OC_E_FORMAT with a finding when the bytes are no ONNX model. */
int oc_import_external(const uint8_t *model, size_t len, struct oc_arena *arena,
                       const char *const **ret_names, size_t *ret_n,
                       struct oc_findings *findings, struct oc_error *err);

/* Builds the graph in `arena`, in topological order. 0 also when findings hold errors
 * about single ops (look with oc_findings_have_errors); OC_E_FORMAT when no graph could
 * be built (an error finding says why); OC_E_NOMEM. */
int oc_import_onnx(const struct oc_import_options *options, struct oc_arena *arena,
                   struct oc_graph **ret_graph, struct oc_findings *findings,
                   struct oc_error *err);

/* The same for a frozen TensorFlow GraphDef. Node names are unchanged; one node is one
 * op. --out_nodes is `node:index;...`, without it every node that nobody reads is a
 * result. Placeholders become Data, Const nodes Const, both under their own names. Back
 * edges of TensorFlow 1 while loops are left out: the Merge op has a STRING attribute
 * `_next_iteration`, and the NextIteration op comes before the loop's Exits by a control
 * edge. */
int oc_import_tensorflow(const struct oc_import_options *options, struct oc_arena *arena,
                         struct oc_graph **ret_graph, struct oc_findings *findings,
                         struct oc_error *err);

#endif
