/* AIPP: images as cameras and decoders give them, turned into what a model takes.
 *
 * A block of --insert_op_conf puts an op of type Aipp behind one input of the model. The
 * model's own tensor becomes what Aipp gives; the input becomes the image: uint8, NHWC,
 * of the size that the block tells. A dynamic block makes it a buffer of
 * max_src_image_size bytes and adds an input with the parameters.
 *
 * Rules and shapes: the vendor's option page and its open sources. YUV420SP_U8 images
 * have one and a half bytes per pixel: [N, H * 3 / 2, W, 1]. */
#ifndef OC_AIPP_AIPP_H
#define OC_AIPP_AIPP_H

#include "base/error.h"
#include "base/finding.h"
#include "graph/graph.h"
#include "lists/aipp.h"

struct oc_aipp_options {
  const char *input_fp16_nodes; /* value of the flag; NULL: none */
};

/* Inputs have their shapes. Mistakes are findings and leave the graph as it is. 1: the
 * graph has changed and is to be inferred again; 0: it has not; OC_E_NOMEM. */
int oc_aipp_insert(struct oc_graph *g, const struct oc_aipp_list *list,
                   const struct oc_aipp_options *o, struct oc_findings *fs);

#endif
