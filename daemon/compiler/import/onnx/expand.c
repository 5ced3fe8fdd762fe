/* Pieces: what a translating function makes out of one node, and how they are named.
 *
 * The vendor builds a small graph per node and puts it in the node's place. When that
 * graph has one real op, it takes the node's name. When it has several, each is renamed
 * and the node's name lives on in their lists of original names. The counter behind the
 * names also counts the small graph's inputs. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "import/onnx/build.h"

static void note_piece(struct onnx_cx *cx, struct oc_op *op, const char *suffix)
{
  if (!op)
    return;
  if (cx->n_pieces == ONNX_MAX_PIECES) {
    onnx_refuse(cx, "it has too many inputs");
    return;
  }
  op->source_type = cx->node->op_type;
  cx->pieces[cx->n_pieces].op = op;
  cx->pieces[cx->n_pieces++].suffix = suffix;
}

struct oc_op *onnx_add(struct onnx_cx *cx, const char *suffix, const char *type,
                       uint32_t n_in, uint32_t n_out)
{
  uint32_t fixed = 0;
  bool dynamic = false;
  if (!import_ir_outputs(type, &fixed, &dynamic))
    fixed = n_out;
  struct oc_op *op =
      oc_graph_add(cx->sc->graph, "", type, n_in, dynamic ? fixed + n_out : fixed);
  if (!op)
    return NULL;
  import_name_tensors(cx->im->arena, op);
  onnx_set_formats(op, OC_FMT_ND);
  note_piece(cx, op, suffix);
  return op;
}

void onnx_in(struct onnx_cx *cx, struct oc_op *op, uint32_t slot, uint32_t input)
{
  if (!op || !onnx_has(cx, input))
    return;
  if (input < 64)
    cx->wired |= 1ull << input;
  (void)onnx_link(cx->sc, op, slot, cx->node->inputs[input], cx->node);
}

void onnx_ins(struct onnx_cx *cx, struct oc_op *op, uint32_t slot, uint32_t first,
              uint32_t n)
{
  for (uint32_t i = 0; i < n; i++)
    onnx_in(cx, op, slot + i, first + i);
}

void onnx_wire(struct oc_op *op, uint32_t slot, struct oc_op *from, uint32_t out)
{
  if (op && from)
    oc_op_link(op, slot, from, out);
}

void onnx_out(struct onnx_cx *cx, uint32_t output, struct oc_op *op, uint32_t port)
{
  if (op && onnx_wants(cx, output))
    (void)onnx_produce(cx->sc, cx->node->outputs[output], op, port, cx->node);
}

struct oc_op *onnx_unary(struct onnx_cx *cx, const char *suffix, const char *type,
                         uint32_t input)
{
  struct oc_op *op = onnx_add(cx, suffix, type, 1, 1);
  onnx_in(cx, op, 0, input);
  return op;
}

struct oc_op *onnx_behind(struct onnx_cx *cx, const char *suffix, const char *type,
                          struct oc_op *from)
{
  struct oc_op *op = onnx_add(cx, suffix, type, 1, 1);
  onnx_wire(op, 0, from, 0);
  return op;
}

struct oc_op *onnx_binary(struct onnx_cx *cx, const char *suffix, const char *type,
                          struct oc_op *a, struct oc_op *b)
{
  struct oc_op *op = onnx_add(cx, suffix, type, 2, 1);
  onnx_wire(op, 0, a, 0);
  onnx_wire(op, 1, b, 0);
  return op;
}

struct oc_op *onnx_ints(struct onnx_cx *cx, const char *suffix, enum oc_dtype dtype,
                        const int64_t *v, size_t n)
{
  struct oc_op *op = oc_graph_add_ints(cx->sc->graph, "", dtype, v, n, false);
  note_piece(cx, op, suffix);
  return op;
}

struct oc_op *onnx_int(struct onnx_cx *cx, const char *suffix, enum oc_dtype dtype,
                       int64_t v)
{
  struct oc_op *op = oc_graph_add_ints(cx->sc->graph, "", dtype, &v, 1, true);
  note_piece(cx, op, suffix);
  return op;
}

static struct oc_op *floats(struct onnx_cx *cx, const char *suffix, const float *v,
                            size_t n, bool scalar)
{
  struct oc_value *value = OC_NEW(cx->im->arena, struct oc_value);
  int64_t dim = (int64_t)n;
  uint8_t *data = oc_arena_calloc(cx->im->arena, n, sizeof(float));
  if (!value || !data)
    return NULL;
  for (size_t i = 0; i < n; i++) {
    uint32_t bits = 0;
    memcpy(&bits, &v[i], sizeof(bits));
    for (size_t b = 0; b < 4; b++)
      data[i * 4 + b] = (uint8_t)(bits >> (8 * b));
  }
  value->dtype = OC_DT_F32;
  value->shape = scalar ? oc_shape_scalar() : oc_shape_of(cx->im->arena, &dim, 1);
  value->data = data;
  value->len = n * sizeof(float);
  return onnx_value_const(cx, suffix, value);
}

struct oc_op *onnx_f32s(struct onnx_cx *cx, const char *suffix, const float *v, size_t n)
{
  return floats(cx, suffix, v, n, false);
}

struct oc_op *onnx_f32(struct onnx_cx *cx, const char *suffix, float v)
{
  return floats(cx, suffix, &v, 1, true);
}

struct oc_op *onnx_value_const(struct onnx_cx *cx, const char *suffix,
                               const struct oc_value *v)
{
  struct oc_op *op = v ? oc_graph_add_const(cx->sc->graph, "", v) : NULL;
  note_piece(cx, op, suffix);
  return op;
}

struct oc_op *onnx_cast(struct onnx_cx *cx, const char *suffix, struct oc_op *from,
                        enum oc_dtype to)
{
  struct oc_op *op = onnx_behind(cx, suffix, "Cast", from);
  onnx_set_dtype(cx, op, "dst_type", to);
  return op;
}

struct oc_op *onnx_cast_in(struct onnx_cx *cx, const char *suffix, uint32_t input,
                           enum oc_dtype to)
{
  struct oc_op *op = onnx_unary(cx, suffix, "Cast", input);
  onnx_set_dtype(cx, op, "dst_type", to);
  return op;
}

void onnx_set_formats(struct oc_op *op, enum oc_format f)
{
  for (uint32_t i = 0; op && i < op->n_inputs; i++)
    op->inputs[i].t.format = f;
  for (uint32_t i = 0; op && i < op->n_outputs; i++)
    op->outputs[i].t.format = f;
}

struct oc_op *onnx_one_to_one(struct onnx_cx *cx, const char *type)
{
  uint32_t n_in = onnx_n_in(cx);
  uint32_t n_out = onnx_n_out(cx);
  if (n_in > import_ir_inputs(type)) {
    onnx_refuse(cx, "it has more inputs than the operator takes");
    return NULL;
  }
  struct oc_op *op = onnx_add(cx, "", type, n_in, n_out);
  if (op && n_out > op->n_outputs) {
    onnx_refuse(cx, "it has more outputs than the operator gives");
    return NULL;
  }
  onnx_ins(cx, op, 0, 0, n_in);
  for (uint32_t i = 0; i < n_out; i++)
    onnx_out(cx, i, op, i);
  return op;
}

/* Name of one piece among several. */
static const char *piece_name(struct onnx_cx *cx, const char *suffix)
{
  unsigned long long k = cx->im->n_expanded++;
  if (suffix[0] == '=')
    return oc_arena_printf(cx->im->arena, "PartitionedCall_%s_%llu", suffix + 1, k);
  return oc_arena_printf(cx->im->arena, "PartitionedCall_%s%s_%llu", cx->name, suffix, k);
}

/* Constants that the node reads and no piece does (what they say went into attributes, or
 * does not matter): each notes who read it, so that its name is not lost with it. */
static void note_unread(struct onnx_cx *cx)
{
  for (uint32_t i = 0; i < cx->node->n_inputs && i < 64 && cx->n_pieces; i++) {
    const struct onnx_producer *p =
        onnx_has(cx, i) && !(cx->wired >> i & 1)
            ? oc_map_gets(&cx->sc->producers, cx->node->inputs[i])
            : NULL;
    if (p && oc_op_is_const(p->op) && oc_streq(p->op->source_type, "Constant"))
      (void)oc_attr_set_string(cx->sc->graph, p->op, OC_ATTR_READ_BY,
                               cx->pieces[cx->n_pieces - 1].op->name);
  }
}

/* The node's name, and that of the call when it came out of a function. */
static const char **origins(struct onnx_cx *cx, uint32_t *ret_n)
{
  const char **list = OC_NEW_N(cx->im->arena, const char *, 2);
  *ret_n = 0;
  if (!list)
    return NULL;
  list[(*ret_n)++] = cx->name;
  if (cx->node->called)
    list[(*ret_n)++] = onnx_full_name(cx->sc, cx->node->called);
  return list;
}

int onnx_finish(struct onnx_cx *cx)
{
  const char **origin = NULL;
  uint32_t n_origin = 0;
  if (cx->n_pieces > 1 || cx->node->called) {
    origin = origins(cx, &n_origin);
    if (!origin)
      return OC_E_NOMEM;
  }
  if (cx->n_pieces > 1)
    cx->im->n_expanded += onnx_n_in(cx);
  for (uint32_t i = 0; i < cx->n_pieces; i++) {
    struct oc_op *op = cx->pieces[i].op;
    op->name = cx->n_pieces > 1 ? piece_name(cx, cx->pieces[i].suffix) : cx->name;
    op->origin_names = origin;
    op->n_origin_names = n_origin;
    if (!op->name)
      return OC_E_NOMEM;
    int rc = onnx_enter(cx->im, op);
    if (rc)
      return rc;
  }
  note_unread(cx);
  return cx->im->arena->failed ? OC_E_NOMEM : OC_OK;
}

void onnx_set_int(struct onnx_cx *cx, struct oc_op *op, const char *name, int64_t v)
{
  if (op)
    (void)oc_attr_set_int(cx->sc->graph, op, name, v);
}

void onnx_set_float(struct onnx_cx *cx, struct oc_op *op, const char *name, float v)
{
  if (op)
    (void)oc_attr_set_float(cx->sc->graph, op, name, v);
}

void onnx_set_bool(struct onnx_cx *cx, struct oc_op *op, const char *name, bool v)
{
  if (op)
    (void)oc_attr_set_bool(cx->sc->graph, op, name, v);
}

void onnx_set_string(struct onnx_cx *cx, struct oc_op *op, const char *name,
                     const char *v)
{
  if (op)
    (void)oc_attr_set_string(cx->sc->graph, op, name, v);
}

void onnx_set_ints(struct onnx_cx *cx, struct oc_op *op, const char *name,
                   const int64_t *v, size_t n)
{
  if (op)
    (void)oc_attr_set_ints(cx->sc->graph, op, name, v, n);
}

void onnx_set_dtype(struct onnx_cx *cx, struct oc_op *op, const char *name,
                    enum oc_dtype v)
{
  if (op)
    (void)oc_attr_set_dtype(cx->sc->graph, op, name, v);
}
