/* What is known about operators: per-chip dtype tables, AI CPU sets, IR signatures.
 *
 * One long-lived object, filled from memory buffers (schema/soc/ and schema/ops/ files,
 * later also a toolkit's own op files), then only read: any number of readers, no locks.
 * Ownership: oc_optable_free() frees everything that these functions returned.
 *
 * A table gives N columns per op type: in column k every input and output has one dtype.
 * Sources of the rules: the vendor's op files (aic-*-ops-info.json) and the public engine
 * sources that read them. */
#ifndef OC_OPTABLE_OPTABLE_H
#define OC_OPTABLE_OPTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/dtype.h"
#include "base/error.h"
#include "base/map.h"

enum oc_policy { OC_POLICY_GRAY, OC_POLICY_WHITE, OC_POLICY_BLACK };
const char *oc_policy_name(enum oc_policy p);

enum oc_param { OC_PARAM_REQUIRED, OC_PARAM_OPTIONAL, OC_PARAM_DYNAMIC };

/* Formats a table may offer. Those behind OC_TF_FIRST_PRIVATE are private ("heavy") ones.
 */
enum oc_table_format {
  OC_TF_ND,
  OC_TF_NCHW,
  OC_TF_NHWC,
  OC_TF_HWCN,
  OC_TF_NCDHW,
  OC_TF_NDHWC,
  OC_TF_DHWCN,
  OC_TF_OTHER,
  OC_TF_FIRST_PRIVATE,
  OC_TF_NC1HWC0 = OC_TF_FIRST_PRIVATE,
  OC_TF_NC1HWC0_C04,
  OC_TF_NDC1HWC0,
  OC_TF_FRACTAL_Z,
  OC_TF_FRACTAL_Z_C04,
  OC_TF_FRACTAL_Z_3D,
  OC_TF_FRACTAL_NZ,
};
/* OC_TF_OTHER for words it does not know. */
enum oc_table_format oc_table_format_parse(const char *word);

/* Input layouts that some tables depend on; bits of oc_table_variant.layouts. */
enum oc_layout {
  OC_LAYOUT_NCHW4D = 1,
  OC_LAYOUT_NHWC4D = 2,
  OC_LAYOUT_ND2D = 4,
  OC_LAYOUT_ND3D = 8,
  OC_LAYOUT_NCDHW5D = 16,
  OC_LAYOUT_NDHWC5D = 32,
  OC_LAYOUT_UNKNOWN_DIMS = 64,
  OC_LAYOUT_UNKNOWN_RANK = 128,
  OC_LAYOUT_ANY = 255,
};

struct oc_table_tensor {
  const char *name;
  enum oc_param param;
};

/* The columns for some layouts. `dtypes[t * n_columns + k]` is an enum oc_dtype; t counts
 * the inputs, then the outputs. `formats` has the same shape or is NULL (all ND). */
struct oc_table_variant {
  unsigned layouts;
  uint32_t n_columns;
  const uint8_t *dtypes;
  const uint8_t *formats;
};

/* Names of inputs whose mixed dtypes are promoted together. */
struct oc_promote_group {
  const char *const *names;
  uint32_t n;
};

enum oc_table_flags {
  OC_TABLE_NO_KERNEL = 1, /* the framework handles it: judged, but without a kernel */
  OC_TABLE_HEAVY = 2,     /* prefers private formats */
  OC_TABLE_CHECKED = 4,   /* the op has its own support check in the toolkit */
  OC_TABLE_COMPUTED =
      8, /* the op decides its columns in code; ours were evaluated per layout */
  OC_TABLE_DYNAMIC = 16,    /* has an implementation for unknown shapes */
  OC_TABLE_NO_COLUMNS = 32, /* listed, but nothing is known about its dtypes, or what is
                               known may be outdated */
  OC_TABLE_FROM_FILE = 64,  /* from an installed toolkit or the user's own table */
};

struct oc_table_op {
  const char *type;
  const struct oc_table_tensor *tensors; /* inputs, then outputs */
  uint32_t n_inputs;
  uint32_t n_outputs;
  enum oc_policy policy;
  unsigned flags;
  const struct oc_table_variant *variants; /* the first one is the default */
  uint32_t n_variants;
  const struct oc_promote_group *promote;
  uint32_t n_promote;
};

/* The table of one product family. All-zero is an empty table (tests build theirs so). */
struct oc_table {
  const char *id;     /* "ascend310p" */
  const char *source; /* where the facts are from; names every file that was used */
  const char *used;   /* files of a toolkit or a user in it, NULL none */
  bool partial;       /* the chip has ops that are not in it */
  bool from_toolkit;  /* an installed toolkit's file is in it: what that lacks is open */
  struct oc_map ops;  /* type -> const struct oc_table_op */
};
int oc_table_put(struct oc_table *t, const struct oc_table_op *op);
void oc_table_clear(struct oc_table *t);
const struct oc_table_op *oc_table_find(const struct oc_table *t, const char *type);
/* The columns that hold for one layout (a single bit); never NULL for an op with
 * variants. */
const struct oc_table_variant *oc_table_variant_for(const struct oc_table_op *op,
                                                    unsigned layout);

/* One target string and what it implies. */
struct oc_soc {
  const char *name;    /* "Ascend310P3" */
  const char *family;  /* "atlas_inference" */
  const char *product; /* "Atlas inference series" */
  const char *product_zh;
  const char *table_id;   /* "ascend310p" */
  const char *short_name; /* Short_SoC_version: "Ascend310P" */
  const char *aic_version;
  const struct oc_table *table; /* NULL when no table file was loaded */
  bool bf16;                    /* converts float32 to bfloat16 */
  bool listed;                  /* the --keep_dtype page names this family */
  int arch_type;                /* number for the .om, -1 unknown */
  int ai_cores;                 /* 0 unknown */
  int vector_cores;
};

/* AI CPU: independent sets per tensor, not columns. */
struct oc_aicpu_tensor {
  const char *name;
  bool dynamic;
  uint64_t dtypes; /* bit d set: enum oc_dtype d is taken; 0 = any (nothing listed) */
};
struct oc_aicpu_op {
  const char *type;
  const char *engines; /* letters: a AI CPU, t TF kernel, h host CPU */
  const struct oc_aicpu_tensor *inputs;
  const struct oc_aicpu_tensor *outputs;
  uint32_t n_inputs;
  uint32_t n_outputs;
};

struct oc_ir_tensor {
  const char *name;
  enum oc_param param;
};
struct oc_ir_attr {
  const char *name;
  const char *type;  /* "Int" "ListInt" "Float" "String" ... */
  const char *value; /* default as written, NULL = required */
};
struct oc_ir {
  const char *type;
  const struct oc_ir_tensor *inputs;
  const struct oc_ir_tensor *outputs;
  const struct oc_ir_attr *attrs;
  uint32_t n_inputs;
  uint32_t n_outputs;
  uint32_t n_attrs;
};

/* What happens to an op type that never reaches a dtype table. */
enum oc_graph_kind {
  OC_GRAPH_KIND_NONE,      /* an ordinary op */
  OC_GRAPH_KIND_FIXED,     /* Data, Const, Constant, Variable, NetOutput: keeps its dtype,
                              never judged */
  OC_GRAPH_KIND_NO_KERNEL, /* stays in the graph without a kernel: Reshape, Squeeze, If
                              ... */
  OC_GRAPH_KIND_DELETED,   /* folded or pruned before code generation: Identity, Shape ...
                            */
};

/* One framework-level retyping. A pass applies the rows whose `to` (or only `from`) is in
 * the chip's table; `how` names the rule in the pass. */
struct oc_retype {
  const char *from;
  const char *to;
  const char *how;    /* "rename", "axes-to-attr", "global-pool", ... */
  const char *when;   /* "always", "constant-inputs", "no-from-column" */
  const char *tables; /* blank-separated table ids, "*" = all */
  const char *source; /* a public source, or "inferred" */
};
bool oc_retype_applies(const struct oc_retype *r, const char *table_id);
/* No public source shows the rule: what it leads to is not sure. */
bool oc_retype_inferred(const struct oc_retype *r);

/* A type that some path can emit but no engine of the named tables takes. */
struct oc_unsupported {
  const char *type;
  const char *tables;
  const char *reason;
};

struct oc_optable;

struct oc_optable *oc_optable_new(void); /* NULL when memory is short */
void oc_optable_free(struct oc_optable *t);
/* Reads one file; what it is stands in its `schema:` key. `name` is for messages. The
 * bytes are copied where needed. OC_E_FORMAT with file and line when it is not
 * well-formed: columns of uneven length, an unknown dtype, a type listed twice. */
int oc_optable_add(struct oc_optable *t, const char *name, const void *bytes, size_t len,
                   struct oc_error *err);
/* Reads an op file of an installed toolkit into a table that is there already; its types
 * take the place of ours where it has dtypes for them. What cannot be read is told in the
 * table's `source`. Only OC_E_NOMEM is an error. */
int oc_optable_add_ops_info(struct oc_optable *t, const char *table_id, const char *name,
                            const void *bytes, size_t len, struct oc_error *err);
/* Reads a user's own table in the layout of schema/soc: its ops are added to the table
 * with its id, or replace ops there. Errors as oc_optable_add. */
int oc_optable_add_extra(struct oc_optable *t, const char *name, const void *bytes,
                         size_t len, struct oc_error *err);
/* Connects SoCs with tables; call once after the last file. Fails when no SoC is known.
 */
int oc_optable_finish(struct oc_optable *t, struct oc_error *err);

const struct oc_soc *oc_optable_soc(const struct oc_optable *t, const char *name);
const char *oc_optable_nearest_soc(const struct oc_optable *t,
                                   const char *name); /* may be NULL */
const struct oc_soc *const *oc_optable_socs(const struct oc_optable *t, size_t *ret_n);
const struct oc_table *oc_optable_table(const struct oc_optable *t, const char *id);
const struct oc_aicpu_op *oc_optable_aicpu(const struct oc_optable *t, const char *type);
const struct oc_ir *oc_optable_ir(const struct oc_optable *t, const char *type);
enum oc_graph_kind oc_optable_graph_kind(const struct oc_optable *t, const char *type);
/* The matrix ops that float16 is tried for first; a map used as a set. */
const struct oc_map *oc_optable_cube(const struct oc_optable *t);
const struct oc_retype *oc_optable_retypes(const struct oc_optable *t, size_t *ret_n);
const struct oc_unsupported *oc_optable_unsupported(const struct oc_optable *t,
                                                    const char *type,
                                                    const char *table_id);

/* Does `list` (blank-separated words) hold `word`, or is it "*"? */
bool oc_word_in(const char *list, const char *word);

#endif
