/* CommonLSTM and CommonGRU become the chip's DynamicRNN and DynamicGRUV2.
 *
 * Those run one direction each, have their weights as [in, gates * hidden], and give
 * every step: a Unsqueeze makes the axis of directions, the last step (the first one of a
 * reversed run) is the final state, two directions are joined. The gates of an LSTM come
 * in another order there (second and fourth change places), and its two biases are one.
 * What the vendor's own pass cannot take stays: weights that are not constants,
 * peepholes, other activations, clipping of a GRU.
 * Source: the public CommonLSTMFusionPass and GRUFusionPass of canndev. */
#include <string.h>

#include "optable/optable.h"
#include "passes/recurrent.h"

/* One direction's op. */
struct run {
  struct oc_op *op;
  bool reversed;
  const char *tag; /* "", "Forward" or "Reverse" */
};

static bool has(const struct oc_op *op, uint32_t i)
{
  return i < op->n_inputs && op->inputs[i].from;
}

static const struct oc_value *weights(const struct cell *c, uint32_t i)
{
  const struct oc_value *v = oc_op_input_value(c->op, i);

  return v && (v->dtype == OC_DT_F32 || v->dtype == OC_DT_F16) ? v : NULL;
}

static bool plain_activations(const struct oc_op *op, bool lstm)
{
  static const char *const usual[] = { "Sigmoid", "Tanh", "Tanh" };
  const struct oc_attr *a = oc_attr_find(op, "activations");
  size_t period = lstm ? 3 : 2;

  if (!a)
    return true;
  for (size_t i = 0; a->kind == OC_ATTR_STRINGS && i < a->n; i++)
    if (!oc_str_is(a->u.strings[i], usual[i % period]))
      return false;
  return a->kind == OC_ATTR_STRINGS;
}

static bool read_cell(struct cell *c)
{
  struct oc_op *op = c->op;

  c->lstm = oc_op_is(op, "CommonLSTM");
  c->to = c->lstm ? "DynamicRNN" : "DynamicGRUV2";
  c->gates = c->lstm ? LSTM_GATES : GRU_GATES;
  c->w = weights(c, W);
  c->rec = weights(c, R);
  c->bias = weights(c, B);
  if (!c->w || !c->rec || (has(op, B) && !c->bias) || has(op, PEEPHOLES) ||
      c->w->shape.rank != 3 || c->rec->shape.rank != 3 || c->rec->dtype != c->w->dtype ||
      (c->bias && c->bias->dtype != c->w->dtype) || !plain_activations(op, c->lstm) ||
      (!c->lstm && oc_attr_find(op, "clip")))
    return false;

  int64_t dirs = c->w->shape.dims[0];

  c->hidden = (size_t)c->rec->shape.dims[2];
  c->in = (size_t)c->w->shape.dims[2];
  c->directions = (uint32_t)dirs;
  size_t rows = (size_t)dirs * c->gates * c->hidden;
  struct oc_shape x = op->inputs[X].t.shape;
  c->steps = x.known_rank && x.rank == 3 ? x.dims[0] : OC_DIM_UNKNOWN;
  c->batch = x.known_rank && x.rank == 3 ? x.dims[1] : OC_DIM_UNKNOWN;
  return dirs >= 1 && dirs <= MOST_DIRECTIONS && c->hidden > 0 && c->in > 0 &&
         oc_value_count(c->w) == rows * c->in &&
         oc_value_count(c->rec) == rows * c->hidden &&
         (!c->bias || oc_value_count(c->bias) == rows * 2);
}

static struct oc_op *named(const struct cell *c, const struct run *u, const char *what,
                           const char *type, uint32_t n_in, uint32_t n_out)
{
  const char *suffix = oc_arena_printf(c->r->arena, "%s%s", what, u->tag);

  return suffix ? pass_piece(c->r, c->op, suffix, type, n_in, n_out) : NULL;
}

static void constant(const struct cell *c, const struct run *u, uint32_t slot,
                     const char *what, const struct oc_value *v)
{
  const char *suffix = oc_arena_printf(c->r->arena, "%s%s", what, u->tag);

  pass_wire(u->op, slot,
            suffix ? pass_piece_const(c->r, c->r->graph, c->op, suffix, v) : NULL, 0);
}

static void wire_weights(const struct cell *c, const struct run *u, uint32_t dir)
{
  if (c->lstm) {
    constant(c, u, 1, "w", recurrent_lstm_weights(c, dir));
    constant(c, u, 2, "b", recurrent_lstm_bias(c, dir));
    return;
  }
  constant(c, u, 1, "weight_input", recurrent_gru_weights(c, dir, c->w, c->in));
  constant(c, u, 2, "weight_hidden", recurrent_gru_weights(c, dir, c->rec, c->hidden));
  if (!c->bias)
    return;
  constant(c, u, 3, "bias_input", recurrent_gru_bias(c, dir, 0));
  constant(c, u, 4, "bias_hidden", recurrent_gru_bias(c, dir, 1));
}

/* Elements `[at, at + 1)` of the first axis. */
static struct oc_op *one_of(const struct cell *c, const struct run *u, const char *what,
                            struct oc_op *from, uint32_t port, int64_t at)
{
  const struct {
    const char *name;
    int64_t value;
  } args[] = { { "begin", at },
               { "end", at < 0 ? INT32_MAX : at + 1 },
               { "axes", 0 },
               { "strides", 1 } };
  int64_t dims[3] = { 1, c->batch, (int64_t)c->hidden };
  struct oc_op *op = named(c, u, what, "StridedSliceV2", 5, 1);

  pass_wire(op, 0, from, port);
  for (uint32_t i = 0; i < 4; i++) {
    const char *name =
        oc_arena_printf(c->r->arena, "%s%s_%s", what, u->tag, args[i].name);
    if (name)
      pass_wire(op, i + 1,
                pass_piece_ints(c->r, c->r->graph, c->op, name, &args[i].value, 1, false),
                0);
  }
  pass_looks(op, 0, c->w->dtype, oc_shape_of(c->r->arena, dims, 3));
  return op;
}

/* [1, batch, hidden] of this direction. */
static struct oc_op *state_of(const struct cell *c, const struct run *u, uint32_t input,
                              uint32_t dir, const char *what, uint32_t *ret_out)
{
  const struct oc_input *in = &c->op->inputs[input];

  *ret_out = c->directions == 1 ? in->from_out : 0;
  return c->directions == 1 ? in->from : one_of(c, u, what, in->from, in->from_out, dir);
}

static void wire_states(const struct cell *c, const struct run *u, uint32_t dir)
{
  static const int64_t first[] = { 0 };
  uint32_t out = 0;

  if (has(c->op, INITIAL_H) && c->lstm) {
    struct oc_op *h = state_of(c, u, INITIAL_H, dir, "StateH", &out);
    pass_wire(u->op, 4, h, out);
  } else if (has(c->op, INITIAL_H)) {
    struct oc_op *h = state_of(c, u, INITIAL_H, dir, "StateH", &out);
    struct oc_op *flat = named(c, u, "init_h", "Squeeze", 1, 1);
    int64_t dims[2] = { c->batch, (int64_t)c->hidden };
    pass_wire(flat, 0, h, out);
    pass_looks(flat, 0, c->w->dtype, oc_shape_of(c->r->arena, dims, 2));
    if (flat)
      (void)oc_attr_set_ints(c->r->graph, flat, "axis", first, 1);
    pass_wire(u->op, 6, flat, 0);
  }
  if (c->lstm && has(c->op, INITIAL_C)) {
    struct oc_op *s = state_of(c, u, INITIAL_C, dir, "StateC", &out);
    pass_wire(u->op, 5, s, out);
  }
}

/* Every sequence has all steps: nothing to mask. */
static bool full_length(const struct cell *c)
{
  size_t n = 0;
  const struct oc_value *v = oc_op_input_value(c->op, SEQUENCE_LENS);
  const int64_t *lens = v ? oc_value_ints(&c->r->scratch, v, &n) : NULL;

  for (size_t i = 0; lens && i < n; i++)
    if (lens[i] != c->steps)
      return false;
  return lens != NULL;
}

static bool in_table(const struct pass_run *r, const char *type)
{
  const struct oc_table *t = oc_optable_table(r->optable, r->table_id);

  return t && oc_table_find(t, type);
}

static bool masked(const struct cell *c)
{
  return has(c->op, SEQUENCE_LENS) && !full_length(c);
}

/* An LSTM takes lengths as a mask, a GRU as they are. */
static void wire_lengths(const struct cell *c, const struct run *u)
{
  const struct oc_input *in = &c->op->inputs[SEQUENCE_LENS];

  if (!masked(c))
    return;
  if (!c->lstm) {
    pass_wire(u->op, 5, in->from, in->from_out);
    return;
  }
  struct oc_op *mask = named(c, u, "RnnGenMask", "RnnGenMaskV2", 2, 1);
  int64_t dims[3] = { c->steps, c->batch, (int64_t)c->hidden };
  pass_wire(mask, 0, in->from, in->from_out);
  pass_wire(mask, 1, c->op->inputs[X].from, c->op->inputs[X].from_out);
  pass_looks(mask, 0, c->w->dtype, oc_shape_of(c->r->arena, dims, 3));
  if (mask)
    (void)oc_attr_set_int(c->r->graph, mask, "hidden_size", dims[2]);
  pass_wire(u->op, 3, mask, 0);
}

static void set_attrs(const struct cell *c, const struct run *u)
{
  struct oc_graph *g = c->r->graph;
  const struct oc_attr *clip = oc_attr_find(c->op, "clip");

  (void)oc_attr_set_string(g, u->op, "direction",
                           u->reversed ? "REDIRECTIONAL" : "UNIDIRECTIONAL");
  (void)oc_attr_set_bool(g, u->op, "is_training", false);
  if (clip && clip->kind == OC_ATTR_FLOAT)
    (void)oc_attr_set_float(g, u->op, "cell_clip", clip->u.f);
  if (!c->lstm)
    (void)oc_attr_set_bool(g, u->op, "reset_after",
                           oc_attr_int(c->op, "linear_before_reset", 0) != 0);
}

/* Optional inputs that are not there leave no gap: tensors are told apart by name. */
static void close_gaps(struct oc_op *op)
{
  uint32_t n = 0;

  for (uint32_t i = 0; i < op->n_inputs; i++)
    if (op->inputs[i].from)
      op->inputs[n++] = op->inputs[i];
  op->n_inputs = n;
}

static bool make_run(const struct cell *c, struct run *u, uint32_t dir)
{
  int64_t dims[3] = { c->steps, c->batch, (int64_t)c->hidden };

  u->op = named(c, u, c->lstm ? "DynamicRnn" : "DynamicGRUV2", c->to, c->lstm ? 6 : 7,
                c->lstm ? 8 : 6);
  if (!u->op)
    return false;
  pass_wire(u->op, X, c->op->inputs[X].from, c->op->inputs[X].from_out);
  wire_weights(c, u, dir);
  wire_lengths(c, u);
  wire_states(c, u, dir);
  close_gaps(u->op);
  set_attrs(c, u);
  for (uint32_t k = 0; k < u->op->n_outputs; k++)
    pass_looks(u->op, k, c->w->dtype, oc_shape_of(c->r->arena, dims, 3));
  return true;
}

/* Every step with an axis of directions: [steps, 1, batch, hidden]. */
static struct oc_op *all_steps(const struct cell *c, const struct run *u)
{
  static const int64_t axis[] = { 1 };
  int64_t dims[4] = { c->steps, 1, c->batch, (int64_t)c->hidden };
  struct oc_op *op = named(c, u, "Unsqueeze", "Unsqueeze", 1, 1);

  pass_wire(op, 0, u->op, 0);
  pass_looks(op, 0, c->w->dtype, oc_shape_of(c->r->arena, dims, 4));
  if (op)
    (void)oc_attr_set_ints(c->r->graph, op, "axes", axis, 1);
  return op;
}

/* The final state: [1, batch, hidden] out of every step. */
static struct oc_op *last_step(const struct cell *c, const struct run *u, uint32_t port,
                               uint32_t *ret_out)
{
  *ret_out = c->steps == 1 ? port : 0;
  return c->steps == 1 ? u->op
                       : one_of(c, u, port == 1 ? "SliceH" : "SliceC", u->op, port,
                                u->reversed ? 0 : -1);
}

/* Output `k` of the old op: one direction's, or two joined along `axis`. */
static void give(const struct cell *c, uint32_t k, const char *what, uint32_t axis,
                 struct oc_op *const part[], const uint32_t out[])
{
  struct oc_op *op = part[0];
  uint32_t port = out[0];

  if (c->directions > 1) {
    op = pass_piece(c->r, c->op, what, "ConcatD", 2, 1);
    port = 0;
    if (!op)
      return;
    (void)oc_attr_set_int(c->r->graph, op, "concat_dim", axis);
    (void)oc_attr_set_int(c->r->graph, op, "N", 2);
    for (uint32_t i = 0; i < 2; i++)
      pass_wire(op, i, part[i], out[i]);
    pass_looks(op, 0, c->w->dtype, c->op->outputs[k].t.shape);
  }
  if (op)
    oc_graph_replace(c->r->graph, c->op, k, op, port);
}

static void give_all(const struct cell *c, const struct run *runs)
{
  struct oc_op *part[MOST_DIRECTIONS] = { NULL };
  uint32_t out[MOST_DIRECTIONS] = { 0 };

  if (pass_reader(c->r, c->op, 0)) {
    for (uint32_t d = 0; d < c->directions; d++)
      part[d] = all_steps(c, &runs[d]);
    give(c, 0, "ConcatY", 1, part, out);
  }
  for (uint32_t k = 1; k < c->op->n_outputs; k++) {
    if (!pass_reader(c->r, c->op, k))
      continue;
    for (uint32_t d = 0; d < c->directions; d++)
      part[d] = last_step(c, &runs[d], k, &out[d]);
    give(c, k, k == 1 ? "ConcatH" : "ConcatC", 0, part, out);
  }
}

static void lower(struct pass_run *r, struct oc_op *op)
{
  static const char *const tags[] = { "", "Forward", "Reverse" };
  struct cell c = { .r = r, .op = op };
  struct run runs[MOST_DIRECTIONS] = { 0 };

  if (!read_cell(&c) || !in_table(r, c.to) ||
      (c.lstm && masked(&c) && !in_table(r, "RnnGenMaskV2")))
    return;
  bool back = oc_str_is(oc_attr_string(op, "direction", "forward"), "reverse");
  for (uint32_t d = 0; d < c.directions; d++) {
    runs[d].reversed = back || d == 1;
    runs[d].tag = tags[c.directions > 1 ? d + 1 : 0];
    if (!make_run(&c, &runs[d], d))
      return;
  }
  give_all(&c, runs);
  /* What goes on being read must not be dropped with the weights. */
  for (uint32_t i = 0; i < op->n_inputs; i++)
    if (i != W && i != R && i != B && !(i == SEQUENCE_LENS && full_length(&c)))
      op->inputs[i].from = NULL;
  pass_drop_inputs(r, op, 0, runs[0].op);
  op->mark = 1;
  pass_note(r, op, "%s -> %s", op->type, c.to);
}

void pass_recurrent(struct pass_run *r)
{
  struct oc_graph *g = r->graph;
  uint32_t n = g->n_ops;

  if (!r->table_id || !pass_count_uses(r))
    return;
  for (uint32_t i = 0; i < n; i++)
    if (oc_op_is(g->ops[i], "CommonLSTM") || oc_op_is(g->ops[i], "CommonGRU"))
      lower(r, g->ops[i]);
  oc_graph_sweep(g);
}
