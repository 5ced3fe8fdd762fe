/* The table of TensorFlow operators: one row per operator, kept by operator group. */
#ifndef OC_IMPORT_TENSORFLOW_RULES_H
#define OC_IMPORT_TENSORFLOW_RULES_H

#include <stddef.h>

struct tf_cx;
struct tf_import;
typedef void (*tf_fn)(struct tf_cx *cx);

/* How the vendor's parser comes to the IR type. */
enum tf_vendor {
  TF_BY_PLUGIN, /* a registered plugin */
  TF_BY_PARSER, /* the parser's own table */
  TF_BY_NAME,   /* the list of supported operators names it, the IR has the same name */
  TF_BY_ENGINE, /* the kernel engine's table, read backwards */
};

struct tf_rule {
  const char *op; /* TensorFlow's type */
  const char *to; /* IR type */
  /* Attributes that go over, blank-separated: "name", or "name>other" under another
   * name; what a node does not have is left to the IR's default. */
  const char *attrs;
  /* Attribute that counts the dynamic outputs: a number, or a list; NULL when none. */
  const char *many;
  tf_fn mend; /* what copying does not do; NULL when nothing */
  enum tf_vendor vendor;
};

extern const struct tf_rule tf_elementwise_rules[];
extern const struct tf_rule tf_nn_rules[];
extern const struct tf_rule tf_matrix_rules[];
extern const struct tf_rule tf_reduce_rules[];
extern const struct tf_rule tf_layout_rules[];
extern const struct tf_rule tf_index_rules[];
extern const struct tf_rule tf_image_rules[];
extern const struct tf_rule tf_random_rules[];
extern const struct tf_rule tf_quant_rules[];
extern const struct tf_rule tf_control_rules[];

/* Row `i` over all groups, NULL behind the last. */
const struct tf_rule *tf_rule_at(size_t i);
const struct tf_rule *tf_find_rule(struct tf_import *im, const char *op);

#endif
