/* Graphs made by hand, judged by hand: what emit gets in tests, without an importer. */
#ifndef OC_TEST_EMIT_SAMPLES_H
#define OC_TEST_EMIT_SAMPLES_H

#include "graph/graph.h"

/* Convolution in float16 with lowered constants, two of them byte-equal, one read in two
 * dtypes; a kept Relu; a Reshape without a kernel. */
struct oc_graph *sample_conv(struct oc_arena *a);
/* First dim unknown everywhere. */
struct oc_graph *sample_dynamic(struct oc_arena *a);
/* An If with two branches, each with its own constants. */
struct oc_graph *sample_if(struct oc_arena *a);
/* `n` elementwise ops over tensors of many sizes, wired by a seed. */
struct oc_graph *sample_random(struct oc_arena *a, uint32_t n, uint32_t seed);
/* By name: conv, dynamic, if, random. NULL when there is no such sample. */
struct oc_graph *sample_by_name(struct oc_arena *a, const char *name);

/* A float32 constant; `v` is copied. */
struct oc_value *sample_floats(struct oc_arena *a, const float *v, const int64_t *dims,
                               size_t rank);

#endif
