/* Every stated limit, each with its reason. */
#ifndef OC_BASE_LIMITS_H
#define OC_BASE_LIMITS_H

#include <stdint.h>

/* A control frame holds flags, digests and findings, never file content. */
#define OC_MAX_FRAME (1u << 20)
/* SCM_RIGHTS takes 253; sixteen are enough for one frame and keep a hostile peer small.
 */
#define OC_MAX_FRAME_FDS 16
/* A command line has at most one of each of ATC's 90 flags, repeated a few times. */
#define OC_MAX_ARGS 512
/* A list file larger than this is a mistake (a model given as a list). */
#define OC_MAX_LIST_BYTES (64u << 20)
/* External data files of one ONNX model: exporters write one, or one per tensor. */
#define OC_MAX_EXTERNAL_FILES 4096
/* A report travels as a file, this bounds what the client maps. */
#define OC_MAX_REPORT (256u << 20)
/* Nesting of protobuf messages in a model: real models use under 20 (sub-graphs in
 * sub-graphs). */
#define OC_MAX_NESTING 64
/* Ops of one model; the largest public ones have some ten thousand. A report has a row
 * for each, the artifact some hundred bytes. */
#define OC_MAX_OPS 250000u
/* Inputs or outputs of one node: a Concat of every step of a long sequence has thousands.
 */
#define OC_MAX_PORTS 65536u
/* Bytes of one name in a model: exporters join module paths, a few hundred bytes. */
#define OC_MAX_NAME 65535u
/* Ranks above 25 exist nowhere; ONNX and the IR stop earlier. */
#define OC_MAX_RANK 32
/* Members of one result: the .om, side files, captured output. */
#define OC_MAX_MEMBERS 64
/* protobuf stops at 2 GiB, and so do MODEL_DEF's readers. */
#define OC_MAX_MODEL_DEF ((1ull << 31) - 1)
/* Members up to this size live in the index, larger ones are files (docs/cache.md has the
 * measurement). */
#define OC_INLINE_MEMBER (16u << 10)

#endif
