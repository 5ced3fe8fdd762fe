/* The .om container: read, write its front part, give it another name.
 *
 * A file is a 256-byte header, then one or several blocks of a partition table and its
 * partitions without gaps. All numbers are little-endian. Two header versions (the old
 * one has no model_num and 32-bit lengths) and two table widths exist; both are read,
 * the new header and the 64-bit table are written. Sources: public files and readers of
 * the format, and the open sources of the vendor's graph engine.
 *
 * Reading takes a source: bytes that are mapped already, or a descriptor that is read
 * with pread(). Only what was asked for is read, every bound is checked against the
 * file's size first, and memory is a small multiple of the parts read. */
#ifndef OC_OM_OM_H
#define OC_OM_OM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/dtype.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"

#define OC_OM_HEADER_SIZE  256
#define OC_OM_NAME_SIZE    32 /* with its NUL: names are cut at 31 bytes */
#define OC_OM_MAX_PARTS    8  /* loaders take 1 to 8 in one table */
#define OC_OM_WEIGHT_ALIGN 512
/* The mark in the header's userdefineinfo of files that hold no kernels. */
#define OC_OM_MARK "omcc builtin: no kernels"
/* Kernel names of such files begin with this. */
#define OC_OM_NO_KERNEL "omcc_builtin_no_kernel"

enum oc_om_part_type {
  OC_OM_MODEL_DEF = 0,
  OC_OM_WEIGHTS = 1,
  OC_OM_TASK_INFO = 2,
  OC_OM_TBE_KERNELS = 3,
  OC_OM_AICPU_KERNELS = 4,
  OC_OM_SO_BINS = 5,
  OC_OM_INOUT = 8,
};
/* "MODEL_DEF"; NULL for a number nobody uses. */
const char *oc_om_part_name(uint32_t type);

/* ---------------------------------------------------------------- source */

/* Bytes in memory (`data` set), else a descriptor. Borrowed: the caller keeps both alive.
 */
struct oc_om_source {
  const uint8_t *data;
  int fd;
  uint64_t size;
};

struct oc_om_source oc_om_source_bytes(const void *data, size_t size);
/* Takes the size from fstat(); refuses what is not a regular file. */
int oc_om_source_fd(int fd, struct oc_om_source *ret, struct oc_error *err);
/* `len` bytes at `at`, all or an error. */
int oc_om_source_read(const struct oc_om_source *src, uint64_t at, void *p, size_t len,
                      struct oc_error *err);

/* ---------------------------------------------------------------- container */

struct oc_om_header {
  uint32_t version;      /* 0x20000000, or 0x10000000 for the old one */
  uint32_t length;       /* body length of the old header, 0 in new ones */
  uint64_t model_length; /* body length of the new header, 0 in old ones */
  uint8_t is_encrypt, is_checksum, modeltype, genmode;
  uint8_t platform_type, need_check_os_cpu_info, is_unknown_model;
  uint32_t ops, om_ir_version, model_num;
  char name[OC_OM_NAME_SIZE + 1];
  char userdefineinfo[32 + 1];
  char platform_version[20 + 1];
};

struct oc_om_part {
  uint32_t type;
  uint64_t at; /* from the first byte of the file */
  uint64_t size;
};

struct oc_om_model {
  uint64_t table_at;
  struct oc_om_part *parts;
  uint32_t n_parts;
};

struct oc_om_file {
  struct oc_om_source source;
  struct oc_om_header header;
  bool wide_table; /* 64-bit entries */
  bool bundle;     /* modeltype 5: nested files, listed as the parts of one model */
  struct oc_om_model *models; /* one, or model_num of them in a dynamic file */
  uint32_t n_models;
};

/* Reads header and tables. OC_E_FORMAT when they are not what they claim to be. Lives in
 * `arena`. */
int oc_om_open(struct oc_om_source source, struct oc_arena *arena,
               struct oc_om_file **ret, struct oc_error *err);
/* NULL when the model has no such partition. */
const struct oc_om_part *oc_om_find_part(const struct oc_om_model *m, uint32_t type);
/* The bytes of a partition: a slice of mapped bytes, or a copy in `arena`. */
int oc_om_load_part(const struct oc_om_file *f, const struct oc_om_part *p,
                    struct oc_arena *arena, struct oc_str *ret, struct oc_error *err);

/* ---------------------------------------------------------------- MODEL_DEF */

enum oc_om_attr_kind {
  OC_OM_ATTR_NONE,
  OC_OM_ATTR_STRING, /* u.s */
  OC_OM_ATTR_BYTES,  /* u.s */
  OC_OM_ATTR_INT,
  OC_OM_ATTR_FLOAT,
  OC_OM_ATTR_BOOL,   /* u.i */
  OC_OM_ATTR_DTYPE,  /* u.i, R numbering */
  OC_OM_ATTR_DESC,   /* u.desc */
  OC_OM_ATTR_TENSOR, /* u.desc, and `data` its inline bytes */
  OC_OM_ATTR_STRINGS,
  OC_OM_ATTR_INTS,
  OC_OM_ATTR_BOOLS, /* u.ints */
  OC_OM_ATTR_FLOATS,
  OC_OM_ATTR_DTYPES, /* u.ints, R numbering */
  OC_OM_ATTR_ROWS,   /* u.rows: list of lists of integers */
  OC_OM_ATTR_EMPTY,  /* a list without elements */
  OC_OM_ATTR_OTHER,  /* graphs, functions, descriptor lists...: u.s is the raw value; not
                        written */
};

struct oc_om_desc;

struct oc_om_row {
  const int64_t *v;
  size_t n;
};

struct oc_om_attr {
  struct oc_str name; /* decompressed */
  enum oc_om_attr_kind kind;
  size_t n; /* elements of the list kinds */
  union {
    int64_t i;
    float f;
    struct oc_str s;
    const struct oc_str *strings;
    const int64_t *ints;
    const float *floats;
    const struct oc_om_row *rows;
    const struct oc_om_desc *desc;
  } u;
  struct oc_str data;
};

struct oc_om_desc {
  struct oc_str name;
  enum oc_dtype dtype; /* UNDEFINED when the number is out of range */
  uint32_t rank;
  const int64_t *dims; /* one dim of -2: unknown rank */
  struct oc_str layout;
  struct oc_om_attr *attrs;
  uint32_t n_attrs;
  int64_t size, weight_size, data_offset;
};

struct oc_om_op {
  struct oc_str name, type;
  struct oc_str *inputs; /* "producer:index", "" unconnected, "producer:-1" control */
  uint32_t n_inputs;
  struct oc_om_attr *attrs;
  uint32_t n_attrs;
  int64_t id, stream_id;
  struct oc_str *src_names, *dst_names;
  uint32_t n_src_names, n_dst_names;
  const int64_t *src_indices, *dst_indices, *input_offsets, *output_offsets,
      *input_is_const;
  uint32_t n_src_indices, n_dst_indices, n_input_offsets, n_output_offsets,
      n_input_is_const;
  struct oc_om_desc *input_descs, *output_descs;
  uint32_t n_input_descs, n_output_descs;
  struct oc_str *subgraphs;
  uint32_t n_subgraphs;
};

struct oc_om_graph {
  struct oc_str name;
  struct oc_str *inputs, *outputs; /* "op:index" */
  uint32_t n_inputs, n_outputs;
  struct oc_om_op *ops;
  uint32_t n_ops;
  /* When `ops` is NULL: asked for one op after the other while the graph is written; what
   * it fills lives until it is asked again. 0, or negative to give up. */
  int (*op_at)(void *ctx, uint32_t i, struct oc_om_op *ret);
  void *ctx;
  struct oc_om_attr *attrs;
  uint32_t n_attrs;
};

struct oc_om_def {
  struct oc_str name, platform;
  int64_t ir_version;
  struct oc_om_graph *graphs; /* [0] is the entry, the rest are sub-graphs */
  uint32_t n_graphs;
  struct oc_om_attr *attrs;
  uint32_t n_attrs;
  bool compressed; /* attribute names went through the file's dictionary */
  const struct oc_om_attr *dict_names, *dict_values, *dict_is_string; /* NULL: none */
};

/* Parses MODEL_DEF. Strings are slices of `bytes`, the rest lives in `arena`. `root` is
 * the first model of a dynamic file, whose dictionary its sub-models use; NULL otherwise.
 */
int oc_om_read_def(struct oc_str bytes, const struct oc_om_def *root,
                   struct oc_arena *arena, struct oc_om_def **ret, struct oc_error *err);
const struct oc_om_attr *oc_om_attr_find(const struct oc_om_attr *attrs, uint32_t n,
                                         const char *name);
/* `other` when absent or of another kind. */
int64_t oc_om_attr_int(const struct oc_om_attr *attrs, uint32_t n, const char *name,
                       int64_t other);
struct oc_str oc_om_attr_str(const struct oc_om_attr *attrs, uint32_t n,
                             const char *name);

/* Appends a MODEL_DEF, canonically: fields in number order, maps sorted by key (attribute
 * arrays are sorted in place), absent and zero fields left out. `compressed` and the
 * dictionary are not looked at: attributes are written plain. */
int oc_om_write_def(const struct oc_om_def *def, struct oc_buf *out);

/* ---------------------------------------------------------------- inputs and outputs */

struct oc_om_io {
  const char *name;
  enum oc_dtype dtype;
  int32_t format;      /* number of the format, 2 = ND */
  uint64_t bytes;      /* 0 when a dim is unknown */
  const int64_t *dims; /* -1 unknown */
  uint32_t rank;
};

int oc_om_write_inout(struct oc_buf *out, const struct oc_om_io *inputs, size_t n_inputs,
                      const struct oc_om_io *outputs, size_t n_outputs);
/* Reads the two lists (other records are skipped). */
int oc_om_read_inout(struct oc_str bytes, struct oc_arena *arena,
                     struct oc_om_io **ret_inputs, size_t *ret_n_inputs,
                     struct oc_om_io **ret_outputs, size_t *ret_n_outputs,
                     struct oc_error *err);

/* Which sizes a dynamic model was made for. */
enum { OC_OM_BATCHES = 2, OC_OM_IMAGES = 3, OC_OM_DIMS = 4 };

struct oc_om_profiles {
  uint32_t kind;     /* one of the above; 0: none */
  uint32_t n, width; /* profiles, values of each */
  const int64_t *values;
  const char *const *names; /* inputs that they set, in order */
  size_t n_names;
  /* Shapes of outputs, "<profile>,<output>,<dims>" each: "1,0,8,1000". */
  const char *const *shapes;
  size_t n_shapes;
};

/* Appends the records behind those of oc_om_write_inout(). */
int oc_om_write_profiles(struct oc_buf *out, const struct oc_om_profiles *p);
/* `kind` 0 when there are none. OC_E_FORMAT, OC_E_NOMEM. */
int oc_om_read_profiles(struct oc_str bytes, struct oc_arena *arena,
                        struct oc_om_profiles *ret, struct oc_error *err);

/* ---------------------------------------------------------------- tasks and kernels */

struct oc_om_tasks {
  uint64_t memory_size, weight_size;
  uint32_t stream_num, event_num;
  uint32_t n_tasks;
  uint32_t n_kernels; /* KERNEL tasks */
  uint32_t n_absent;  /* of these: AI Core kernels whose binary is not in the file */
};

/* One KERNEL task to write. */
struct oc_om_kernel {
  uint32_t op_index;    /* id of the op */
  uint32_t kernel_type; /* 2 AI Core, 6 AI CPU */
  const char *op_name;
  const char *kernel_name;
  const uint64_t *args; /* logical addresses of inputs, then outputs */
  uint32_t n_args;
};
/* Appends a TASK_INFO: the kernels in order on one stream. */
int oc_om_write_tasks(struct oc_buf *out, const struct oc_om_tasks *totals,
                      uint64_t base_addr, uint64_t weight_addr,
                      const struct oc_om_kernel *kernels, size_t n);
/* `kernels`: bytes of TBE_KERNELS, empty when the file has none. */
int oc_om_read_tasks(struct oc_str task_info, struct oc_str kernels,
                     struct oc_om_tasks *ret, struct oc_error *err);

/* ---------------------------------------------------------------- what `omcc inspect`
 * shows */

struct oc_om_view {
  struct oc_om_def *def;
  uint64_t def_size;
  struct oc_om_io *inputs, *outputs; /* of MODEL_INOUT_INFO; none in old files */
  size_t n_inputs, n_outputs;
  struct oc_om_profiles profiles; /* of the first model; kind 0: none */
  struct oc_om_tasks tasks;
  bool has_tasks;
};

struct oc_om_info {
  struct oc_om_file *file;
  struct oc_om_view *views; /* one per model of the file */
  uint32_t n_views;
  bool builtin;      /* carries our mark */
  bool device_ready; /* every kernel task has its binary, and there is no such mark */
};

/* Everything of a file but its weights, kernels' bodies and host libraries. */
int oc_om_inspect(struct oc_om_source source, struct oc_arena *arena,
                  struct oc_om_info **ret, struct oc_error *err);
/* The lines that the vendor's display mode prints for a file, one '\n' after each. */
int oc_om_display(const struct oc_om_info *info, struct oc_buf *out);
/* The members of inspect's JSON `data`: builtin, device_ready, container, partitions,
 * attributes, inputs, outputs, tasks, models, ops. Ops of all graphs in order, in the
 * shape that explain uses: name, type, source_type, engine, kept, inputs and outputs with
 * name, orig and got; and graph, origin_names, shape, format, weight. */
void oc_om_write_json(const struct oc_om_info *info, struct oc_json_writer *w);
/* "aicore", "aicpu", "graph"; "" when the file does not say. */
const char *oc_om_op_engine(const struct oc_om_op *op);
/* IR name of an input or output of an op ("x1", "filter"), "" when the file does not say.
 */
struct oc_str oc_om_op_input_name(const struct oc_om_op *op, uint32_t i);
struct oc_str oc_om_op_output_name(const struct oc_om_op *op, uint32_t i);
/* The framework's dtype of a tensor as the file records it, else the tensor's own. */
enum oc_dtype oc_om_desc_origin_dtype(const struct oc_om_desc *d);

/* ---------------------------------------------------------------- writing the front */

/* What stands before the first partition: header and 64-bit table of the first model. */
struct oc_om_front {
  const char *name;                         /* cut at 31 bytes, between characters */
  const char *platform;                     /* platform_version */
  const char *user_info;                    /* userdefineinfo, cut at 31 bytes */
  bool is_unknown_model;                    /* dynamic shapes */
  struct oc_om_part parts[OC_OM_MAX_PARTS]; /* types and sizes given; `at` is filled in */
  uint32_t n_parts;   /* at least 2: with one part loaders refuse and viewers stumble */
  uint32_t n_more;    /* models behind the first: a table and its partitions each */
  uint64_t more_size; /* bytes of all of them */
};
size_t oc_om_front_size(const struct oc_om_front *f);
/* Appends header and table to `out` and fills in where each partition starts. */
int oc_om_write_front(struct oc_om_front *f, struct oc_buf *out);
/* Bytes of a table of `n` partitions. */
size_t oc_om_table_size(uint32_t n);
/* Appends the table of a model that begins at byte `at` of the file and fills in where
 * each of its partitions starts. */
int oc_om_write_table(struct oc_om_part *parts, uint32_t n, uint64_t at,
                      struct oc_buf *out);
/* Size of the whole file; oc_om_write_front() must have run. */
uint64_t oc_om_total_size(const struct oc_om_front *f);

/* ---------------------------------------------------------------- another name */

/* A file carries its name in four places: header, model, entry graph ("<name>_0") and the
 * command line it records. Copies `in` to the empty file `out_fd` with `label` in all
 * four; the value of --output in the command line becomes `label`, or the whole line
 * becomes `cmdline` when that is not NULL. Works for our files and the vendor's, not for
 * bundles or encrypted files (OC_E_FORMAT). Partitions behind MODEL_DEF are copied in
 * the kernel where the file systems allow it. */
int oc_om_relabel(struct oc_om_source in, int out_fd, const char *label,
                  const char *cmdline, struct oc_error *err);

/* Model name for a file name or path: its last part without ".om". */
void oc_om_label_of(const char *path, char ret[OC_OM_NAME_SIZE]);

/* Dialect words and numbers. */
const char *oc_om_dtype_word(enum oc_dtype d);   /* "DT_FLOAT16" */
int32_t oc_om_format_number(const char *layout); /* "NCHW" -> 0; 2 (ND) when unknown */

#endif
