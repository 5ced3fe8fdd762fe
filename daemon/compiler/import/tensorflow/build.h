/* From a parsed GraphDef to the graph: one node becomes one op of an IR type.
 *
 * Inputs go over in order, attributes that the table names are copied under their own or
 * another name, then the row's function mends what differs. Memory is checked at the end
 * of each node (arena->failed). */
#ifndef OC_IMPORT_TENSORFLOW_BUILD_H
#define OC_IMPORT_TENSORFLOW_BUILD_H

#include "base/map.h"
#include "graph/graph.h"
#include "import/import.h"
#include "import/tensorflow/model.h"
#include "import/tensorflow/rules.h"

struct tf_output {
  const struct tf_node *node;
  uint32_t out;
  const char *name; /* "node:0" */
};

struct tf_import {
  struct import_reader rd;
  const struct oc_import_options *opt;
  struct oc_arena *arena;
  struct oc_findings *findings;
  struct tf_model model;
  struct oc_graph *graph;
  struct oc_map nodes; /* name -> struct tf_node */
  struct oc_map rules; /* TensorFlow type -> row */
  struct oc_map told;  /* "<finding>:<type>" already reported */
  struct tf_output *outputs;
  size_t n_outputs;
  enum oc_format image; /* format of inputs of four dims */
};

/* One node under translation. */
struct tf_cx {
  struct tf_import *im;
  const struct tf_node *node;
  const struct tf_rule *rule;
  struct oc_op *op;
  uint32_t n_data; /* inputs that are not control edges; they come first */
  bool refused;    /* a finding was raised: the node becomes an unknown op */
};

/* --- select.c: which nodes matter --- */
/* Indexes names, marks what is read and what is cut. */
int tf_index(struct tf_import *im);
/* Fills im->outputs from --out_nodes, or with what nobody reads. */
int tf_choose_outputs(struct tf_import *im);
/* Marks everything that outputs need. */
int tf_mark_needed(struct tf_import *im);
struct tf_node *tf_source(const struct tf_import *im, const struct tf_input *in);

/* --- loops.c --- */
/* Finds Switch, Merge and Exit of each TF1 while loop. */
void tf_find_loops(struct tf_import *im);
/* True when the input closes a loop: it is not linked, see tf_close_loops(). */
bool tf_is_back_edge(const struct tf_import *im, const struct tf_node *n, uint32_t i);
/* Says of each loop that it is resolved once, and keeps its body alive. */
int tf_close_loops(struct tf_import *im);

/* --- ends.c --- */
int tf_add_data(struct tf_import *im, struct tf_node *n, uint32_t index);
bool tf_is_placeholder(const struct tf_node *n);
/* What a node gives, as far as its attributes say; float32 for one that says nothing. */
enum oc_dtype tf_result_dtype(const struct tf_node *n);
int tf_add_end(struct tf_import *im);

/* --- nodes.c --- */
int tf_build_nodes(struct tf_import *im);
/* The node cannot be translated: an error finding with the reason (a short clause). */
void tf_refuse(struct tf_cx *cx, const char *why);

/* --- attrs.c --- */
/* Copies what the row names. */
void tf_copy_attrs(struct tf_cx *cx);
int64_t tf_int(struct tf_cx *cx, const char *attr, int64_t other);
bool tf_flag(struct tf_cx *cx, const char *attr, bool other);
struct oc_str tf_text(struct tf_cx *cx, const char *attr, const char *other);
/* A type attribute; UNDEFINED when absent. */
enum oc_dtype tf_type(const struct tf_node *n, const char *attr);
void tf_set_int(struct tf_cx *cx, const char *name, int64_t v);
void tf_set_bool(struct tf_cx *cx, const char *name, bool v);
void tf_set_float(struct tf_cx *cx, const char *name, float v);
void tf_set_ints(struct tf_cx *cx, const char *name, const int64_t *v, size_t n);
/* Every tensor that carries an image: first input and first output. */
void tf_set_image_format(struct tf_cx *cx, enum oc_format f);

/* --- nn.c --- */
/* The image format of `data_format`, on first input and first output. */
void tf_image(struct tf_cx *cx);

/* --- tensor.c --- */
/* The constant behind a tensor message; NULL with a finding (or when memory is short). */
const struct oc_value *tf_value(struct tf_import *im, const struct tf_node *node,
                                struct oc_str body);

#endif
