/* A builder of ONNX models with pseudo-random weights.
 *
 * Nodes are serialised as they are added; of a weight only the rule is kept, and its
 * bytes are made while the file is written, so a model of any size needs little memory.
 *
 * Element i of tensor NAME: u = splitmix64(fnv1a64(NAME) + seed * G + (i + 1) * G) >> 40
 * with G = 0x9E3779B97F4A7C15, w = offset + f32((u + 0.5) * 2^-23 - 1) * f32(std *
 * sqrt(3)): nothing but the name and the seed, so another program can make the same
 * weight. */
#ifndef ZOO_H
#define ZOO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/buf.h"

/* ONNX's numbers of element types. */
enum zoo_type {
  ZOO_F32 = 1,
  ZOO_U8 = 2,
  ZOO_I8 = 3,
  ZOO_I32 = 6,
  ZOO_I64 = 7,
  ZOO_BOOL = 9,
  ZOO_F16 = 10,
  ZOO_F64 = 11,
  ZOO_BF16 = 16,
};

#define ZOO_MAX_RANK 8

struct zoo_weight {
  struct zoo_weight *next;
  const char *name;
  enum zoo_type type;
  int64_t dims[ZOO_MAX_RANK];
  size_t rank;
  uint64_t n;           /* elements */
  const uint8_t *bytes; /* given content, or NULL: made by the rule */
  float scale;
  float offset;
  float outlier; /* not 0: this is element 0 (a value half precision cannot hold) */
  uint64_t external_offset;
};

/* What the command line says; 0 or NULL: the kind's own default. */
struct zoo_options {
  const char *layers; /* a number, or numbers with commas */
  int64_t width;
  int64_t image;
  int64_t batch;
  int64_t seq;
  int64_t heads;
  int64_t ffn;
  int64_t vocab;
  int64_t classes;
  int64_t opset;
  int64_t megabytes;
  uint64_t seed;
  enum zoo_type type;
  bool dynamic;
  bool external;
};

struct zoo {
  struct oc_arena arena;
  struct zoo_options options;
  const char *name;
  int64_t opset;
  struct oc_buf nodes;   /* GraphProto fields: node */
  struct oc_buf values;  /* GraphProto fields: input, output */
  struct oc_buf attrs;   /* NodeProto fields of the next node */
  struct oc_buf imports; /* ModelProto fields: further opset_import */
  struct zoo_weight *weights;
  struct zoo_weight **weights_end;
  uint64_t n_parameters;
  bool external;             /* weights of 1 KiB and more go to FILE.data */
  const char *external_name; /* what the model calls that file; NULL: its real name */
  uint64_t external_shift;   /* added to every offset (broken models) */
};

void zoo_init(struct zoo *z, const char *name, const struct zoo_options *options);
void zoo_clear(struct zoo *z);
/* `value`, or `other` when it was not given. */
int64_t zoo_or(int64_t value, int64_t other);
/* Number `i` of a list with commas, `other` when there is none. */
int64_t zoo_list(const char *list, size_t i, int64_t other);

/* Graph inputs and outputs. A dim < 0 is the symbol "d<position>". */
void zoo_input(struct zoo *z, const char *name, enum zoo_type type, const int64_t *dims,
               size_t rank);
void zoo_output(struct zoo *z, const char *name, enum zoo_type type, const int64_t *dims,
                size_t rank);
/* The same with the dims as arguments: ZOO_DIMS(1, 3, 8, 8). */
#define ZOO_DIMS(...)                                                                    \
  (const int64_t[]){ __VA_ARGS__ }, sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t)

/* Attributes of the next node. */
void zoo_attr_int(struct zoo *z, const char *name, int64_t v);
void zoo_attr_float(struct zoo *z, const char *name, float v);
void zoo_attr_string(struct zoo *z, const char *name, const char *v);
void zoo_attr_ints(struct zoo *z, const char *name, const int64_t *v, size_t n);

/* Adds a node whose inputs are the names up to NULL ("" leaves an optional one out);
 * gives the name of its only output, "<name>_output_0". */
const char *zoo_op(struct zoo *z, const char *type, const char *name, ...)
    __attribute__((sentinel));
/* The same with the output's name given and, when not NULL, a domain. */
void zoo_op_to(struct zoo *z, const char *domain, const char *type, const char *name,
               const char *output, ...) __attribute__((sentinel));
/* Serialised NodeProto content to add as a node (broken models). */
void zoo_add_node(struct zoo *z, const struct oc_buf *node);

/* Weights; each gives the name back. `std` is the standard deviation. */
const char *zoo_weight(struct zoo *z, const char *name, float std, const int64_t *dims,
                       size_t rank);
/* Around `offset` instead of 0. */
const char *zoo_weight_at(struct zoo *z, const char *name, float offset, float std,
                          const int64_t *dims, size_t rank);
const char *zoo_ints(struct zoo *z, const char *name, const int64_t *v, size_t n);
const char *zoo_int32s(struct zoo *z, const char *name, const int64_t *v, size_t n);
/* One float (rank 0) of the model's type. */
const char *zoo_scalar(struct zoo *z, const char *name, float v);
struct zoo_weight *zoo_last_weight(struct zoo *z);
size_t zoo_type_size(enum zoo_type t);

/* Elements [first, first + n) of a weight into `to`, as the file holds them. */
void zoo_make(const struct zoo_weight *w, uint64_t seed, uint64_t first, size_t n,
              uint8_t *to);

/* Writes all elements of a weight. 0 or -1. */
int zoo_write_weight(const struct zoo *z, FILE *f, const struct zoo_weight *w);

/* Writes the model (and FILE.data). 0, or -1 after a message on stderr. */
int zoo_write(struct zoo *z, const char *path);

/* Names made on the fly: printf into the model's arena. */
#define zoo_name(z, ...) oc_arena_printf(&(z)->arena, __VA_ARGS__)

/* The kinds. Each fills a model that was initialised. */
void zoo_resnet(struct zoo *z);
void zoo_bert(struct zoo *z);

struct zoo_kind {
  const char *name;
  const char *what;
  void (*build)(struct zoo *z);
};
extern const struct zoo_kind zoo_one_op_kinds[];
extern const struct zoo_kind zoo_graph_kinds[];
extern const struct zoo_kind zoo_broken_kinds[];
extern const struct zoo_kind zoo_hazard_kinds[];

#endif
