/* A builder of frozen TensorFlow graphs on top of the weights of zoo.h.
 *
 * Field numbers are those of graph.proto, node_def.proto, attr_value.proto and
 * tensor.proto. Weights become Const nodes, written behind the others. */
#ifndef ZOO_TF_H
#define ZOO_TF_H

#include "zoo.h"

/* TensorFlow's numbers of element types. */
enum tf_type { TF_FLOAT = 1, TF_INT32 = 3 };

/* Attributes of the next node. */
void tf_attr_type(struct zoo *z, const char *name, enum tf_type v);
void tf_attr_int(struct zoo *z, const char *name, int64_t v);
void tf_attr_bool(struct zoo *z, const char *name, bool v);
void tf_attr_float(struct zoo *z, const char *name, float v);
void tf_attr_string(struct zoo *z, const char *name, const char *v);
void tf_attr_ints(struct zoo *z, const char *name, const int64_t *v, size_t n);
/* A dim < 0 is open. */
void tf_attr_shape(struct zoo *z, const char *name, const int64_t *dims, size_t rank);

/* Adds a node whose inputs are the texts up to NULL; gives its name. */
const char *tf_op(struct zoo *z, const char *type, const char *name, ...)
    __attribute__((sentinel));
/* Writes the graph. 0, or -1 after a message on stderr. */
int tf_write(struct zoo *z, const char *path);

void tf_resnet(struct zoo *z);

#endif
