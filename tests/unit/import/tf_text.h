/* TensorFlow graphs as text, for tests: a line per node becomes a GraphDef, written with
 * proto/wire's writer (which shares no code with the importer).
 *
 *   NAME OP INPUT,INPUT [attr...]   "-" = no inputs; inputs as TensorFlow spells them
 *   version N                        of the writer (GraphDef.versions.producer)
 *
 * Attributes: name=i5 name=f0.5 name=b1 name=sTEXT name=t1 (a type) name=I1;2 name=h1;-1
 * (a shape; "h" alone: a scalar, "h?": no rank) name=FNAME (a function),
 * name=c<type>:<dims>:<v;v> (a tensor with typed values; dims "2;3", "" = a scalar). */
#ifndef TEST_TF_TEXT_H
#define TEST_TF_TEXT_H

#include "base/buf.h"

/* A function of one argument and one result for the library; `nodes` as above. */
void tf_function_into(struct oc_buf *out, const char *name, const char *arg,
                      const char *result, const char *from, const char *nodes);
void tf_graph_from(const char *text, struct oc_buf *out);

#endif
