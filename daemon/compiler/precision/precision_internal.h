/* What the files of precision/ share.
 *
 * One run holds a `struct oc_run`: the options, one `struct oc_op_info` per op of the
 * graph and its sub-graphs (op->mark - 1 is the index while the run lasts), and scratch
 * sets. Judging an op is a pure function of the graph, the info and a *world*; the real
 * world has no list entry missing, the others answer "what without this line". */
#ifndef OC_PRECISION_PRECISION_INTERNAL_H
#define OC_PRECISION_PRECISION_INTERNAL_H

#include "precision/precision.h"

/* A list entry that a result is due to. `flag` is 'k' keep, 'c' customize, 'm' mixlist.
 */
struct oc_cite {
  char flag; /* 0 none */
  uint32_t entry;
};
bool oc_cite_same(struct oc_cite a, struct oc_cite b);
const char *oc_cite_flag(struct oc_cite c); /* "keep_dtype" */

/* Why the AI Core refused an op. */
enum oc_refusal_why {
  OC_REFUSED_NOT,     /* it did not */
  OC_REFUSED_TYPE,    /* not in the table, or no columns known */
  OC_REFUSED_TENSORS, /* number or names of tensors do not fit the table */
  OC_REFUSED_CUSTOM,  /* no column has the customize_dtypes entry's dtypes */
  OC_REFUSED_PAIR,    /* Cast, TransData: no column has exactly this pair */
  OC_REFUSED_DTYPE,   /* one tensor's dtype */
  OC_REFUSED_FORMAT,
};

struct oc_refusal {
  enum oc_refusal_why why;
  uint32_t tensor;  /* inputs, then outputs */
  uint64_t offered; /* what the table has for it */
};

/* What judging one op gave. */
struct oc_verdict {
  enum oc_engine engine; /* AICORE or FRAMEWORK when judged, NONE when refused */
  int32_t column;
  bool failed;    /* the vendor's judge stops the compilation here */
  bool by_format; /* a format filter took out the column that dtypes had put first */
  struct oc_refusal refusal;
};

struct oc_op_info {
  struct oc_op *op;
  struct oc_graph *graph;
  const struct oc_table_op *row;
  const struct oc_table_variant *variant;
  const uint16_t *bind; /* per tensor (inputs, then outputs): row of the variant; NULL:
                           does not fit */
  uint32_t n_tensors;
  enum oc_graph_kind kind;
  const struct oc_custom_entry *custom;      /* what applies: by name, else by type */
  const struct oc_custom_entry *custom_type; /* what the type alone would give */
  uint32_t custom_entry;                     /* number of `custom`, 0 none */
  bool promoted;  /* dtypes are mixed in a group: no mode and no list has a say */
  bool fixed;     /* Data, Const...: never judged */
  bool sensitive; /* Cast, complex tensors */
  bool cube;
  bool cube_fp16_in; /* some column has float16 input 0 and float32 output 0 */
  struct oc_verdict verdict;
  struct oc_cite cite;   /* the list entry this result is due to */
  uint32_t also;         /* second keep entry with the same effect, 0 none */
  const uint8_t *alt;    /* output dtypes without that entry, NULL when there is none */
  const char *aicpu_why; /* why AI CPU does not take it, for the finding */
};

/* A world: the real one when `without.flag` is 0. */
struct oc_world {
  struct oc_cite without; /* a keep entry stands for all that name the op as well */
};

/* An ordered set of column numbers; room for every column of any table. */
struct oc_set {
  uint16_t *v;
  uint32_t n;
};

struct oc_reason_pool;

struct oc_run {
  struct oc_graph *g;
  const struct oc_precision_options *o;
  enum oc_mode mode;
  struct oc_findings *fs;
  struct oc_arena *a; /* the graph's */
  struct oc_op_info *infos;
  uint32_t n_infos;
  struct oc_graph **graphs; /* root first */
  uint32_t n_graphs;
  struct oc_set set, first, spare;
  uint32_t *finding_counts; /* per id; past the cap they are only counted */
  uint32_t next_cast;
  struct oc_reason_pool *pool;
  struct oc_precision_result *result;
  bool failed; /* memory */
};

#define OC_MAX_FINDINGS_PER_ID 100u

static inline struct oc_op_info *oc_info(const struct oc_run *r, const struct oc_op *op)
{
  return &r->infos[op->mark - 1];
}
static inline struct oc_tensor *oc_tensor_at(struct oc_op *op, uint32_t i)
{
  return i < op->n_inputs ? &op->inputs[i].t : &op->outputs[i - op->n_inputs].t;
}
/* Dtypes of one tensor over all columns. */
static inline const uint8_t *oc_columns_of(const struct oc_op_info *n, uint32_t tensor)
{
  return n->variant->dtypes + (size_t)n->bind[tensor] * n->variant->n_columns;
}
uint64_t oc_offered(const struct oc_op_info *n, uint32_t tensor);

/* ---- setup.c: graphs, infos, what does not depend on any mode */
int oc_run_setup(struct oc_run *r, struct oc_error *err);
/* ---- borrow.c: a custom operator's tensors take the names of its table */
void oc_borrow_names(struct oc_run *r, const struct oc_op_info *n);
/* ---- bind.c: spec 5 */
void oc_bind(struct oc_run *r, struct oc_op_info *n);

/* ---- worlds */
bool oc_world_kept(const struct oc_op_info *n, const struct oc_world *w);
const struct oc_custom_entry *oc_world_custom(const struct oc_op_info *n,
                                              const struct oc_world *w);
enum oc_policy oc_world_policy(const struct oc_run *r, const struct oc_op_info *n,
                               const struct oc_world *w);
/* The judged dtype of a producer's output. */
enum oc_dtype oc_world_delivers(const struct oc_run *r, const struct oc_op *from,
                                uint32_t out, const struct oc_world *w);

/* ---- promote.c */
/* UNDEFINED when there is none. */
enum oc_dtype oc_promoted(enum oc_dtype a, enum oc_dtype b);
/* Does a group of the op mix dtypes? Groups behind one with a missing input do not count.
 */
bool oc_promote_needed(const struct oc_op_info *n);
/* May input `i` pass the engine check because of its group's target? */
bool oc_promote_admits(const struct oc_op_info *n, uint32_t i);
/* False: nothing is left to choose from, or a group lacks an input; formats are not asked
 * then. */
bool oc_promote_apply(struct oc_run *r, const struct oc_op_info *n, bool record);

/* ---- custom columns (engine.c) */
/* Fills `s` with the columns that agree with the entry; false when it constrains no
 * tensor. */
bool oc_custom_columns(const struct oc_op_info *n, const struct oc_custom_entry *e,
                       struct oc_set *s);
/* ---- engine.c: does the AI Core (or the framework) take it? */
void oc_engine_check(const struct oc_run *r, const struct oc_op_info *n,
                     const struct oc_world *w, struct oc_verdict *v,
                     struct oc_set *scratch);
/* ---- fallback.c: AI CPU, ops without a kernel, or nobody; sets op->engine */
void oc_fallback(struct oc_run *r, struct oc_op_info *n);

/* ---- matchers.c; `c` are the tensor's dtypes per column */
void oc_set_all(struct oc_set *s, uint32_t n_columns);
bool oc_match_precise(struct oc_set *s, const uint8_t *c, enum oc_dtype w);
bool oc_match_rise(struct oc_set *s, const uint8_t *c, enum oc_dtype w,
                   enum oc_dtype forbid);
bool oc_match_reduce(struct oc_set *s, const uint8_t *c, enum oc_dtype w,
                     enum oc_dtype forbid);
bool oc_match_mix(struct oc_set *s, const uint8_t *c, enum oc_dtype forbid);

/* ---- rules.c: one tensor */
struct oc_step {
  struct oc_run *r;
  const struct oc_op_info *n;
  const struct oc_world *w;
  struct oc_set *s;
  bool *sticky; /* _force_fp32_to_fp16 of the op */
  uint32_t tensor;
  bool is_input;
  const struct oc_tensor *t;
  const uint8_t *c;
  enum oc_dtype forbid;
  /* filled for the reasons */
  enum oc_rule rule;
  const char *rule_subject;
  struct oc_cite rule_cite;
  enum oc_rule want_rule;
  const char *want_subject;
  enum oc_dtype want;
  enum oc_rule match;
};
/* Narrows step->s. OC_E_FORMAT when the vendor's judge would fail. */
int oc_rule_apply(struct oc_step *step);
/* ---- hif8.c */
bool oc_hif8_apply(struct oc_step *step, bool cube_mode);
/* The producer of an input, NULL when not linked. */
const struct oc_input *oc_step_input(const struct oc_step *step);

/* ---- formats.c: spec 7.6 */
void oc_formats_apply(const struct oc_op_info *n, struct oc_set *s, const uint32_t *order,
                      uint32_t n_order);
bool oc_formats_admit(const struct oc_op_info *n, uint32_t tensor);

/* ---- judge.c */
/* Engine check and choice of the column in a world. With `record` reasons go into the
 * graph. */
void oc_judge(struct oc_run *r, struct oc_op_info *n, const struct oc_world *w,
              bool record, struct oc_verdict *ret);
/* The dtype of a tensor under a verdict. */
enum oc_dtype oc_verdict_dtype(const struct oc_op_info *n, const struct oc_verdict *v,
                               uint32_t tensor);

/* ---- decide.c: which list entry a result is due to, the deciding reason, how sure */
void oc_decide_cite(struct oc_run *r, struct oc_op_info *n);
void oc_decide_reason(struct oc_run *r, const struct oc_op_info *n,
                      struct oc_op_result *ret);

/* ---- bodies.c: spec 7.1 */
/* Data and NetOutput of a sub-graph take what their producers deliver. */
void oc_body_end(struct oc_run *r, struct oc_op_info *n);

/* ---- casts.c, cancel.c, ports.c */
int oc_casts_insert(struct oc_run *r, struct oc_graph *g);
int oc_casts_cancel(struct oc_run *r, struct oc_graph *g);
void oc_ports_apply(struct oc_run *r);

/* ---- states.c, effects.c, tell.c */
void oc_states(struct oc_run *r);
/* Before Casts are inserted: fills in what every entry costs. */
void oc_effects(struct oc_run *r);
void oc_tell_op(struct oc_run *r, const struct oc_op_info *n);
/* Adds a finding unless its id is over the cap; NULL then. */
struct oc_finding *oc_tell(struct oc_run *r, enum oc_finding_id id, const char *subject);
/* Adds one argument to a finding. */
void oc_tell_arg(struct oc_run *r, struct oc_finding *f, const char *name,
                 const char *value);
void oc_tell_capped(struct oc_run *r);
/* "float16, float32" for a set of dtypes, "nothing" when empty. */
const char *oc_dtype_list(struct oc_arena *a, uint64_t set);

/* ---- reasons.c: chains in a pool while an op is judged, shared copies afterwards */
struct oc_reason_pool *oc_reason_pool_new(void); /* NULL when memory is short */
void oc_reason_pool_free(struct oc_reason_pool *p);
/* Empties the pool and makes room for the chains of this many tensors. */
void oc_reasons_begin(struct oc_run *r, uint32_t n_tensors, uint32_t n_groups);
/* Appends a reason to a tensor's chain in the pool; NULL when there is no room. */
struct oc_reason *oc_reason_add(struct oc_run *r, struct oc_tensor *t, enum oc_rule rule);
/* Swaps the tensor's chain for a shared copy that lives in the graph's arena. */
void oc_reasons_keep(struct oc_run *r, struct oc_tensor *t);

/* ---- mark_near.c: the nearest right line */
struct oc_mark_index;
struct oc_mark_index *oc_mark_index_new(struct oc_arena *a,
                                        struct oc_graph *const *graphs, uint32_t n);
void oc_mark_index_free(struct oc_mark_index *ix);
/* Raises the finding for an entry that names nothing. */
void oc_mark_explain(struct oc_mark_index *ix, const struct oc_keep_entry *e,
                     uint32_t entry, bool refuse, struct oc_findings *fs);
/* Nearest op name or type for lists other than keep_dtype; NULL when none is near. */
const char *oc_mark_nearest(struct oc_mark_index *ix, const char *word, bool by_type);
/* The model's own ops that a name behind fusion seems to cover, joined; NULL: none. */
const char *oc_mark_covered(struct oc_mark_index *ix, const char *word);
/* The root graph and all sub-graphs, root first; NULL when memory is short. */
struct oc_graph **oc_graphs_of(struct oc_graph *g, struct oc_arena *a, uint32_t *ret_n);

#endif
