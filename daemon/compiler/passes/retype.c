/* Retyping by the rows of schema/ops/retype.yaml: the types that the vendor's graph
 * passes put in place before dtypes are judged. A row applies when it names the chip's
 * table and the table has the new type. Ops keep their names; constants that become
 * attributes hand theirs to the op. */
#include <inttypes.h>
#include <string.h>

#include "optable/optable.h"
#include "passes/passes_internal.h"

typedef bool (*retype_fn)(struct pass_run *r, struct oc_op *op);

/* Names of the tensors as the new type has them. */
static void name_tensors(struct pass_run *r, struct oc_op *op, const char *type)
{
  const struct oc_ir *ir = oc_optable_ir(r->optable, type);

  for (uint32_t i = 0; ir && i < ir->n_inputs && i < op->n_inputs; i++) {
    if (ir->inputs[i].param == OC_PARAM_DYNAMIC)
      return;
    op->inputs[i].t.name = ir->inputs[i].name;
  }
  for (uint32_t i = 0; ir && i < ir->n_outputs && i < op->n_outputs; i++) {
    if (ir->outputs[i].param == OC_PARAM_DYNAMIC)
      return;
    op->outputs[i].t.name = ir->outputs[i].name;
  }
}

/* Cuts the inputs from `first` on. */
static void cut_inputs(struct pass_run *r, struct oc_op *op, uint32_t first)
{
  if (first >= op->n_inputs)
    return;
  pass_drop_inputs(r, op, first, op);
  op->n_inputs = first;
}

/* A constant input as integers, at most 32 of them. */
static const int64_t *const_ints(struct pass_run *r, const struct oc_op *op, uint32_t i,
                                 size_t *ret_n)
{
  const struct oc_value *v = oc_op_input_value(op, i);

  if (!v || oc_value_count(v) > 32)
    return NULL;
  return oc_value_ints(r->arena, v, ret_n);
}

static bool add_input(struct pass_run *r, struct oc_op *op, const char *suffix,
                      enum oc_dtype dtype, const int64_t *v, size_t n)
{
  const char *name = oc_arena_printf(r->arena, "%s_%s", op->name, suffix);
  struct oc_op *c = name ? oc_graph_add_ints(r->graph, name, dtype, v, n, false) : NULL;
  struct oc_input *inputs = oc_arena_grow(r->arena, op->inputs, op->n_inputs,
                                          (size_t)op->n_inputs + 1, sizeof(*inputs));

  if (!c || !inputs)
    return false;
  pass_inherit(r, c, op);
  op->inputs = inputs;
  memset(&inputs[op->n_inputs], 0, sizeof(*inputs));
  op->n_inputs++;
  oc_op_link(op, op->n_inputs - 1, c, 0);
  op->inputs[op->n_inputs - 1].t = c->outputs[0].t;
  op->inputs[op->n_inputs - 1].t.value = NULL;
  return true;
}

static bool rename_only(struct pass_run *r, struct oc_op *op)
{
  (void)r;
  (void)op;
  return true;
}

static bool global_pool(struct pass_run *r, struct oc_op *op)
{
  struct oc_shape s = op->n_inputs > 0 ? op->inputs[0].t.shape : oc_shape_unknown();
  int64_t axes[32];
  size_t n = 0;

  if (!s.known_rank || s.rank < 3 || s.rank > 32 || op->n_inputs != 1)
    return false;
  for (uint32_t i = 2; i < s.rank; i++)
    axes[n++] = i;
  return add_input(r, op, "axes", OC_DT_I32, axes, n) &&
         oc_attr_set_bool(r->graph, op, "keep_dims", true) == 0;
}

static bool axes_to_attr(struct pass_run *r, struct oc_op *op)
{
  size_t n = 0;
  const int64_t *axes = op->n_inputs > 1 ? const_ints(r, op, 1, &n) : NULL;

  if (!axes || oc_attr_set_ints(r->graph, op, "axes", axes, n) < 0)
    return false;
  cut_inputs(r, op, 1);
  return true;
}

static bool perm_to_attr(struct pass_run *r, struct oc_op *op)
{
  size_t n = 0;
  const int64_t *perm = op->n_inputs > 1 ? const_ints(r, op, 1, &n) : NULL;

  if (!perm || oc_attr_set_ints(r->graph, op, "perm", perm, n) < 0)
    return false;
  cut_inputs(r, op, 1);
  return true;
}

static bool attr_to_perm(struct pass_run *r, struct oc_op *op)
{
  size_t n = 0;
  const int64_t *perm = oc_attr_ints(op, "perm", &n);

  return perm && op->n_inputs == 1 && add_input(r, op, "perm", OC_DT_I32, perm, n);
}

/* The constant size in front becomes an attribute, the other inputs move up. */
static bool size_to_attr(struct pass_run *r, struct oc_op *op)
{
  size_t n = 0;
  const int64_t *size = op->n_inputs > 1 ? const_ints(r, op, 0, &n) : NULL;

  if (!size || oc_attr_set_ints(r->graph, op, "input_size", size, n) < 0)
    return false;
  struct oc_input front = op->inputs[0];
  memmove(&op->inputs[0], &op->inputs[1], (op->n_inputs - 1) * sizeof(op->inputs[0]));
  op->inputs[op->n_inputs - 1] = front;
  cut_inputs(r, op, op->n_inputs - 1);
  return true;
}

/* Begin, end and step for every dim: what the axes leave out is taken whole. */
static bool slice_to_attr(struct pass_run *r, struct oc_op *op)
{
  struct oc_shape s = op->n_inputs > 0 ? op->inputs[0].t.shape : oc_shape_unknown();
  int64_t full[3][32];
  const int64_t *v[4] = { NULL };
  size_t n[4] = { 0 };

  if (!s.known_rank || s.rank > 32 || op->n_inputs < 3)
    return false;
  for (uint32_t i = 0; i < 4; i++) {
    bool given = op->n_inputs > i + 1 && op->inputs[i + 1].from;

    v[i] = given ? const_ints(r, op, i + 1, &n[i]) : NULL;
    if ((given || i < 2) && (!v[i] || n[i] != n[0]))
      return false;
  }
  if (n[0] > s.rank)
    return false;
  for (uint32_t d = 0; d < s.rank; d++) {
    full[0][d] = 0;
    full[1][d] = s.dims[d] >= 0 ? s.dims[d] : INT32_MAX;
    full[2][d] = 1;
  }
  for (size_t i = 0; i < n[0]; i++) {
    int64_t d = v[2] ? v[2][i] : (int64_t)i;

    d = d < 0 ? d + s.rank : d;
    if (d < 0 || d >= (int64_t)s.rank)
      return false;
    full[0][d] = v[0][i];
    full[1][d] = v[1][i];
    full[2][d] = v[3] ? v[3][i] : 1;
  }
  if (oc_attr_set_ints(r->graph, op, "begin", full[0], s.rank) < 0 ||
      oc_attr_set_ints(r->graph, op, "end", full[1], s.rank) < 0 ||
      oc_attr_set_ints(r->graph, op, "strides", full[2], s.rank) < 0)
    return false;
  cut_inputs(r, op, 1);
  return true;
}

/* Inputs that a row `when: constant` wants to be constants: what becomes an attribute. */
#define ALL_BUT_FIRST 0xfffffffeu
#define ONLY_FIRST    1u

static const struct way {
  const char *how;
  retype_fn fn; /* NULL: drop-inputs, which needs to know the new type */
  uint32_t constants;
} ways[] = {
  { "rename", rename_only, ALL_BUT_FIRST },
  { "global-pool", global_pool, ALL_BUT_FIRST },
  { "axes-to-attr", axes_to_attr, ALL_BUT_FIRST },
  { "perm-to-attr", perm_to_attr, ALL_BUT_FIRST },
  { "attr-to-perm", attr_to_perm, ALL_BUT_FIRST },
  { "slice-to-attr", slice_to_attr, ALL_BUT_FIRST },
  { "size-to-attr", size_to_attr, ONLY_FIRST },
  { "drop-inputs", NULL, ALL_BUT_FIRST },
};

static const struct way *way_of(const char *how)
{
  for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
    if (strcmp(ways[i].how, how) == 0)
      return &ways[i];
  return NULL;
}

/* drop-inputs: what the new type does not have goes. */
static bool drop_inputs(struct pass_run *r, struct oc_op *op, const char *to)
{
  const struct oc_ir *ir = oc_optable_ir(r->optable, to);

  if (!ir)
    return false;
  cut_inputs(r, op, ir->n_inputs);
  return true;
}

static bool constant_inputs(const struct oc_op *op, uint32_t wanted)
{
  for (uint32_t i = 0; i < op->n_inputs; i++)
    if ((i < 32 ? wanted >> i & 1 : wanted >> 31) && op->inputs[i].from &&
        !oc_op_input_value(op, i))
      return false;
  return true;
}

static bool apply_row(struct pass_run *r, struct oc_op *op, const struct oc_retype *row)
{
  const struct way *way = way_of(row->how);

  if (!way ||
      (strcmp(row->when, "constant") == 0 && !constant_inputs(op, way->constants)))
    return false;
  if (way->fn ? !way->fn(r, op) : !drop_inputs(r, op, row->to))
    return false;
  op->type = row->to;
  op->type_inferred |= oc_retype_inferred(row);
  name_tensors(r, op, row->to);
  pass_note(r, op, "%s -> %s", row->from, row->to);
  return true;
}

static bool in_table(const struct pass_run *r, const char *type)
{
  const struct oc_table *t = oc_optable_table(r->optable, r->table_id);

  return t && oc_table_find(t, type);
}

/* Rows of this table by type, first one first. */
static void index_rows(struct pass_run *r, struct oc_map *ret)
{
  size_t n = 0;
  const struct oc_retype *rows = oc_optable_retypes(r->optable, &n);

  for (size_t i = 0; i < n; i++) {
    /* The identity pass does removals, the engine check what is for AI CPU only. */
    bool others =
        strcmp(rows[i].how, "remove") == 0 || strcmp(rows[i].how, "aicpu-form") == 0;

    if (!others && oc_retype_applies(&rows[i], r->table_id) && in_table(r, rows[i].to) &&
        !oc_map_has(ret, oc_str_of(rows[i].from)))
      (void)oc_map_puts(ret, rows[i].from, (void *)&rows[i]);
  }
}

void pass_retype(struct pass_run *r)
{
  struct oc_graph *g = r->graph;
  struct oc_map rows = { 0 };
  uint32_t n = g->n_ops;

  if (!r->table_id || !pass_count_uses(r))
    return;
  index_rows(r, &rows);
  for (uint32_t i = 0; i < n; i++) {
    struct oc_op *op = g->ops[i];

    /* A chain of rows (GlobalAveragePool -> ReduceMean -> ReduceMeanD) ends by itself:
     * each row is used once. */
    for (size_t step = 0; step < rows.n; step++) {
      const struct oc_retype *row = oc_map_gets(&rows, op->type);

      if (!row || !apply_row(r, op, row))
        break;
    }
  }
  oc_graph_sweep(g);
  oc_map_clear(&rows);
}
