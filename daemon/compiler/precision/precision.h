/* Precision: which dtype every op input and output gets, on which engine, and why.
 *
 * Order of use: oc_precision_mode() on the options, oc_precision_mark() on the graph as
 * parsed, passes and inference by others, then oc_precision_resolve(), which fills
 * `want`, `got`, `engine`, `column` and `reasons` in the graph, inserts Casts and removes
 * opposite ones. Rules follow the vendor's option pages and the public engine sources;
 * where the two differ, behaviour decides and a finding says so.
 *
 * Everything returned lives in the graph's arena. User mistakes are findings. */
#ifndef OC_PRECISION_PRECISION_H
#define OC_PRECISION_PRECISION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/finding.h"
#include "graph/graph.h"
#include "lists/lists.h"
#include "optable/optable.h"

/* ---- the mode */

enum oc_mode {
  OC_MODE_FORCE_FP16 = 0,
  OC_MODE_FP32_TO_FP16 = 1,
  OC_MODE_MIX_FP16 = 2,
  OC_MODE_ORIGIN = 3,
  OC_MODE_FORCE_FP32 = 4,
  OC_MODE_FP32_TO_BF16 = 6,
  OC_MODE_MIX_BF16 = 8,
  OC_MODE_CUBE_HIF8 = 9,
  OC_MODE_MIXED_HIF8 = 10,
};

struct oc_mode_choice {
  enum oc_mode mode;
  bool given;           /* false: the default */
  const char *spelling; /* as given; for the default "fp16" (v2) */
  const char *flag;     /* "precision_mode", "precision_mode_v2", or "" for the default */
};

/* Checks the two options (NULL or "" = not given) and, with `mixlist` not NULL, that the
 * mode takes a mix list. OC_E_ARG and findings (E10001, E10056) when they are wrong. */
int oc_precision_mode(const char *v1, const char *v2, const char *mixlist,
                      struct oc_findings *fs, struct oc_mode_choice *ret);
/* The v2 spelling, or v1 where v2 has none. */
const char *oc_mode_name(enum oc_mode m);
bool oc_mode_is_mix(enum oc_mode m); /* MIX_FP16, MIX_BF16, MIXED_HIF8 */

/* ---- keep marks */

/* Lines of a keep_dtype list against the graph as parsed. */
struct oc_keep_marks {
  uint32_t n_entries;
  uint32_t *hits;       /* per entry: ops it names */
  uint32_t *covered;    /* per name entry: of those, ops that a type entry names too */
  bool *is_name;        /* per entry: a comment line that turned out to be an op's name */
  bool failed;          /* E10003: a type that is not PascalCase and names nothing */
  uint32_t n_not_found; /* as the vendor counts: entries without a hit, in order */
  const uint32_t *not_found; /* entry numbers */
};

/* Sets `keep` and `keep_entry` on the ops of `g` and its sub-graphs that a line names, by
 * op name, by one of origin_names, or by IR type. Findings for every line that
 * names nothing (cause and nearest right spelling). `a` outlives the result.
 * OC_E_FORMAT when the vendor's compiler would stop (E10003); marks are set then, too. */
int oc_precision_mark(struct oc_graph *g, const struct oc_keep_list *keep,
                      struct oc_arena *a, struct oc_findings *fs,
                      struct oc_keep_marks **ret);

/* ---- reasons */

/* Fixed vocabulary; names by oc_rule_name(), kebab-case, never renamed. */
#define OC_RULES(X)                                                                      \
  X(GRAPH_OP, "graph-op")               /* never judged: Data, Const, NetOutput */       \
  X(INPUT_OPTION, "input-option")       /* --input_fp16_nodes */                         \
  X(OUTPUT_OPTION, "output-option")     /* --output_type */                              \
  X(KEEP, "keep")                       /* a keep_dtype line decides */                  \
  X(KEEP_SAME, "keep-same")             /* kept, and the same without the line */        \
  X(CUSTOMIZE, "customize")             /* a customize_dtypes line decides */            \
  X(SENSITIVE, "dtype-sensitive")       /* Cast, complex: no mode changes it */          \
  X(INHERIT, "inherit")                 /* marked to follow its predecessor */           \
  X(FRAMEWORK, "framework-op")          /* no kernel: follows as in mixed_float16 */     \
  X(CONTINUOUS, "continuous-input")     /* shares memory with its producer */            \
  X(STICKY, "lowered-with-sibling")     /* an earlier tensor of the op was lowered */    \
  X(MODE, "mode")                       /* the mode's own rule */                        \
  X(WHITE, "white")                     /* white op in a mix mode */                     \
  X(BLACK, "black")                     /* black op in a mix mode */                     \
  X(GRAY, "gray")                       /* gray op: follows its predecessor */           \
  X(MIXLIST, "mixlist")                 /* policy changed by modify_mixlist */           \
  X(CUBE, "cube")                       /* matrix op: float16 is tried first */          \
  X(CUBE_FP16_IN, "cube-fp16-in")       /* float16 in, float32 out */                    \
  X(PROMOTE, "promote")                 /* mixed input dtypes are promoted */            \
  X(OWN, "own-dtype")                   /* wants the model's dtype */                    \
  X(FOLLOW, "follow")                   /* wants what a producer delivers */             \
  X(FOLLOW_CAST, "follow-through-cast") /* the same, looking through one Cast */         \
  X(HIF8_LIST, "hif8-list")             /* first of a preference list */                 \
  X(MATCH, "match")                     /* a column has the wanted dtype */              \
  X(RAISED, "raised")                   /* no such column: float32 */                    \
  X(LOWERED, "lowered")                 /* no such column: a smaller float */            \
  X(NO_MATCH, "no-match")               /* nothing fits: other tensors decide */         \
  X(EMPTIED, "emptied")                 /* forbidden columns removed, none left */       \
  X(COLUMN, "column")                   /* the column that was chosen */                 \
  X(FORMAT, "format")                   /* a format filter decided between columns */    \
  X(ONLY, "only-dtype")                 /* the table has one dtype for it */             \
  X(REFUSED, "aicore-refused")          /* the AI Core does not take it */               \
  X(AICPU, "aicpu")                     /* runs on AI CPU with the model's dtypes */     \
  X(NO_ENGINE, "no-engine")             /* nobody takes it */                            \
  X(NOT_IN_TABLE, "not-in-table")       /* the chip's table does not have the type */    \
  X(UNKNOWN, "unknown")                 /* no table has the type */                      \
  X(DELETED, "folded")                  /* pruned before code generation */              \
  X(NO_KERNEL, "no-kernel")             /* stays without a kernel: keeps its dtype */    \
  X(CAST_INSERTED, "cast-inserted")     /* two ends of an edge differ */                 \
  X(CAST_REMOVED, "cast-removed")       /* opposite Casts cancel */

enum oc_rule {
#define X(id, text) OC_RULE_##id,
  OC_RULES(X)
#undef X
      OC_RULE_COUNT
};
const char *oc_rule_name(enum oc_rule r);

/* One link of a chain. Unused fields are zero. */
struct oc_reason {
  struct oc_reason *next;
  enum oc_rule rule;
  uint8_t dtype;       /* wanted, offered or chosen dtype of this step */
  uint8_t forbidden;   /* a dtype this step must not use */
  int32_t column;      /* -1 none */
  uint32_t entry;      /* canonical entry of `flag`'s list */
  uint32_t also;       /* another entry that does the same, 0 none: only without both of
                          them the result differs */
  const char *flag;    /* "keep_dtype", "customize_dtypes", "modify_mixlist", or NULL */
  const char *subject; /* predecessor, tensor, mode or type name, or NULL */
  uint64_t offered;    /* bit d set: the table offers enum oc_dtype d */
};
struct oc_reason_list {
  struct oc_reason *first;
  struct oc_reason *last;
};
/* Named values for the sentence, in `a`: wanted, forbidden, column, subject, offered...
 */
struct oc_finding_arg *oc_reason_args(const struct oc_reason *r, struct oc_arena *a,
                                      size_t *ret_n);

/* ---- the result */

enum oc_sure { OC_SURE_EXACT, OC_SURE_COMPUTED, OC_SURE_OPEN };
const char *oc_sure_name(enum oc_sure s); /* "exact" "computed" "open" */
const char *
oc_engine_name(enum oc_engine e); /* "graph" "aicore" "framework" "aicpu" "none" */

/* One op of the graph before Casts were inserted, in topological order. */
struct oc_op_result {
  struct oc_op *op;
  struct oc_reason reason; /* the deciding one */
  enum oc_sure sure;
  bool removed; /* a user's Cast that cancelled out: no longer in the graph */
};

enum oc_entry_state {
  OC_ENTRY_USED,      /* changes some op */
  OC_ENTRY_REDUNDANT, /* names ops that would have this dtype anyway */
  OC_ENTRY_UNMATCHED, /* names nothing */
  OC_ENTRY_NO_EFFECT, /* names ops whose dtype the list cannot change */
  OC_ENTRY_VOID,      /* this mode takes no such list, by contract */
  OC_ENTRY_SHADOWED,  /* every op it names is decided by another entry or list */
};
const char *oc_entry_state_name(enum oc_entry_state s); /* "used" ... */

struct oc_entry_result {
  const char *flag;
  uint32_t entry;
  const char *text;
  enum oc_entry_state state;
  uint32_t ops;     /* ops it names */
  uint32_t changed; /* of those, ops whose dtype it changed */
  /* What it costs, against the same request without it; followers included. */
  int32_t casts_added; /* between ops; constants are converted at compile time */
  int64_t bytes_added; /* results and weights of known size */
  uint32_t moved;      /* ops that left the AI Core */
};

struct oc_precision_result {
  bool resolved; /* false: an error finding says why */
  struct oc_mode_choice mode;
  struct oc_op_result *ops;
  size_t n_ops;
  struct oc_entry_result *entries;
  size_t n_entries;
  uint32_t casts_added;
  uint32_t casts_removed; /* user's and inserted ones that cancelled */
  uint32_t n_aicpu;
  uint32_t n_no_engine;
  uint32_t n_judge_failed; /* the vendor's compiler would stop while choosing dtypes */
};

struct oc_precision_options {
  struct oc_mode_choice mode;
  const struct oc_optable
      *optable;                 /* AI CPU, graph ops, IR signatures; NULL in bare tests */
  const struct oc_table *table; /* the chip's */
  const char *soc;              /* for findings */
  bool soc_bf16;                /* the chip converts to bfloat16 */
  const struct oc_map *cube;    /* set of matrix op types */
  const struct oc_keep_list *keep; /* NULL when not given (all lists) */
  const struct oc_keep_marks *marks;
  const struct oc_custom_list *custom;
  const struct oc_mix_list *mix;
  const char *input_fp16_nodes; /* option text, NULL when not given */
  const char *output_type;
  bool no_casts;        /* stop before Cast insertion */
  bool unknown_is_open; /* a type this chip's table lacks is a warning, not an error */
  bool unknown_is_row;  /* the same for types that nothing public knows */
};

/* 0 also when user mistakes were found (ret->resolved is false then, and the
 * result is complete as far as it goes); negative only when memory is short. */
int oc_precision_resolve(struct oc_graph *g, const struct oc_precision_options *o,
                         struct oc_findings *fs, struct oc_precision_result **ret,
                         struct oc_error *err);

#endif
