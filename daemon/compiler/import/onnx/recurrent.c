/* LSTM and GRU: one op each, in ONNX's own order of inputs. layout 1 (batch first) is
 * turned by transposes around the op. */
#include "import/onnx/build.h"

static void copy_attrs(struct onnx_cx *cx, struct oc_op *op)
{
  int64_t hidden = onnx_i(cx, "hidden_size", 0);
  const struct onnx_attr *names = onnx_attr_find(cx->node, "activations");
  onnx_set_int(cx, op, "hidden_size", hidden > 0 ? hidden : onnx_dim_of(cx, 2, 2));
  onnx_set_string(cx, op, "direction", onnx_s(cx, "direction", "forward"));
  if (names && names->type == ONNX_ATTR_STRINGS && op)
    (void)oc_attr_set_strings(cx->sc->graph, op, "activations", names->strings, names->n);
  for (int i = 0; i < 2; i++) {
    const char *name = i ? "activation_beta" : "activation_alpha";
    const struct onnx_attr *a = onnx_attr_find(cx->node, name);
    if (a && a->type == ONNX_ATTR_FLOATS && op)
      (void)oc_attr_set_floats(cx->sc->graph, op, name, a->floats, a->n);
  }
  if (onnx_given(cx, "clip"))
    onnx_set_float(cx, op, "clip", onnx_f(cx, "clip", -1.0f));
  if (onnx_given(cx, "activations") || onnx_given(cx, "clip"))
    onnx_differs(cx, "activations and clip are ignored there");
}

static struct oc_op *turned(struct onnx_cx *cx, const char *suffix, struct oc_op *from,
                            uint32_t port, uint32_t input, const int64_t *perm, size_t n)
{
  const char *name = oc_arena_printf(cx->im->arena, "%s_perm", suffix);
  struct oc_op *list = onnx_ints(cx, name ? name : "", OC_DT_I32, perm, n);
  struct oc_op *op = onnx_add(cx, suffix, "Transpose", 2, 0);
  if (from)
    onnx_wire(op, 0, from, port);
  else
    onnx_in(cx, op, 0, input);
  onnx_wire(op, 1, list, 0);
  return op;
}

static void batch_first(struct onnx_cx *cx, uint32_t n_in, uint32_t n_out)
{
  static const int64_t swap[] = { 1, 0, 2 }, out[] = { 2, 0, 1, 3 };
  struct oc_op *in[8] = { 0 };
  onnx_differs(cx, "layout is ignored there");
  in[0] = turned(cx, "_x", NULL, 0, 0, swap, 3);
  if (onnx_has(cx, 5))
    in[5] = turned(cx, "_initial_h", NULL, 0, 5, swap, 3);
  if (onnx_has(cx, 6))
    in[6] = turned(cx, "_initial_c", NULL, 0, 6, swap, 3);
  struct oc_op *op = onnx_add(cx, "_cell", cx->rule->to, n_in, 0);
  for (uint32_t i = 0; i < n_in; i++)
    if (in[i])
      onnx_wire(op, i, in[i], 0);
    else
      onnx_in(cx, op, i, i);
  copy_attrs(cx, op);
  if (onnx_wants(cx, 0))
    onnx_out(cx, 0, turned(cx, "_y", op, 0, 0, out, 4), 0);
  if (onnx_wants(cx, 1))
    onnx_out(cx, 1, turned(cx, "_y_h", op, 1, 0, swap, 3), 0);
  if (n_out > 2 && onnx_wants(cx, 2))
    onnx_out(cx, 2, turned(cx, "_y_c", op, 2, 0, swap, 3), 0);
}

static void recurrent(struct onnx_cx *cx)
{
  uint32_t n_in = onnx_n_in(cx);
  uint32_t n_out = oc_streq(cx->rule->to, "CommonLSTM") ? 3 : 2;
  if (n_in < 3 || n_in > import_ir_inputs(cx->rule->to)) {
    onnx_refuse(cx, "the number of its inputs does not fit");
    return;
  }
  if (onnx_i(cx, "layout", 0) != 0) {
    batch_first(cx, n_in, n_out);
    return;
  }
  struct oc_op *op = onnx_one_to_one(cx, cx->rule->to);
  copy_attrs(cx, op);
  if (n_out == 2)
    onnx_set_int(cx, op, "linear_before_reset", onnx_i(cx, "linear_before_reset", 0));
}

const struct onnx_rule onnx_recurrent_rules[] = {
  { "LSTM", 1, 0, recurrent, "CommonLSTM", ONNX_V_ALL },
  { "GRU", 1, 0, recurrent, "CommonGRU", ONNX_V_ALL },
  { 0 },
};
