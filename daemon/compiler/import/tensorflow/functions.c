/* Functions of the graph's library: the nodes of one take the place of each plain call
 * (PartitionedCall, StatefulPartitionedCall).
 *
 * A node is then called `<call>/<function>/<node>`, as the vendor's parser names it. The
 * call itself stays as an Identity of the results, so that whoever reads it reads them.
 * Inside of a function an input says `node:output:index`, where `output` is a name of the
 * operator's definition: those of operators with several are listed here. */
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/limits.h"
#include "import/tensorflow/model.h"
#include "wire/wire.h"

enum { LIBRARY_FUNCTION = 1 };
enum { FUNCTION_SIGNATURE = 1, FUNCTION_NODE = 3, FUNCTION_RET = 4 };
enum { OP_NAME = 1, OP_INPUT = 2, OP_OUTPUT = 3 };

static const char *word(struct import_reader *r, const struct oc_field *f)
{
  return import_string(r, oc_field_str(f));
}

/* Names of the arguments in one repeated field of the signature. */
static int read_args(struct import_reader *r, struct oc_str body, uint32_t field,
                     const char ***ret, uint32_t *ret_n)
{
  size_t n = import_count(r, body, field);
  if (n >= UINT32_MAX)
    return import_malformed(r, body.p, "a function is malformed");
  const char **names = OC_NEW_N(r->arena, const char *, n);
  struct oc_wire w, in;
  struct oc_field f, g;
  uint32_t at = 0;
  if (!names)
    return OC_E_NOMEM;
  oc_wire_open(&w, body.p, body.len);
  while (at < n && oc_wire_next(&w, &f)) {
    if (f.number != field || f.type != OC_WIRE_BYTES)
      continue;
    names[at] = "";
    oc_wire_open(&in, f.data, f.len);
    while (oc_wire_next(&in, &g))
      if (g.number == 1 && g.type == OC_WIRE_BYTES && !(names[at] = word(r, &g)))
        return r->arena->failed ? OC_E_NOMEM : OC_E_FORMAT;
    at++;
  }
  *ret = names;
  *ret_n = at;
  return OC_OK;
}

static int read_signature(struct import_reader *r, struct oc_str body,
                          struct tf_function *fn)
{
  struct oc_wire w;
  struct oc_field f;
  oc_wire_open(&w, body.p, body.len);
  while (oc_wire_next(&w, &f))
    if (f.number == OP_NAME && f.type == OC_WIRE_BYTES && !(fn->name = word(r, &f)))
      return r->arena->failed ? OC_E_NOMEM : OC_E_FORMAT;
  int rc = read_args(r, body, OP_INPUT, &fn->args, &fn->n_args);
  return rc ? rc : read_args(r, body, OP_OUTPUT, &fn->outs, &fn->n_outs);
}

static int read_function(struct import_reader *r, struct oc_str body, struct tf_model *m)
{
  struct tf_function *fn = OC_NEW(r->arena, struct tf_function);
  struct oc_wire w;
  struct oc_field f;
  if (!fn)
    return OC_E_NOMEM;
  fn->name = "";
  fn->body = body;
  oc_wire_open(&w, body.p, body.len);
  while (oc_wire_next(&w, &f)) {
    int rc = f.number == FUNCTION_SIGNATURE && f.type == OC_WIRE_BYTES
                 ? read_signature(r, oc_field_str(&f), fn)
                 : OC_OK;
    if (rc)
      return rc;
  }
  if (w.bad)
    return import_malformed(r, w.p, w.why);
  fn->next = m->functions;
  m->functions = fn;
  return OC_OK;
}

int tf_read_library(struct import_reader *r, struct oc_str body, struct tf_model *m)
{
  struct oc_wire w;
  struct oc_field f;
  oc_wire_open(&w, body.p, body.len);
  while (oc_wire_next(&w, &f)) {
    int rc = f.number == LIBRARY_FUNCTION && f.type == OC_WIRE_BYTES
                 ? read_function(r, oc_field_str(&f), m)
                 : OC_OK;
    if (rc)
      return rc;
  }
  return w.bad ? import_malformed(r, w.p, w.why) : OC_OK;
}

/* Operators with several named outputs, in order. */
static const char *const outputs[][2] = {
  { "FusedBatchNorm", "y batch_mean batch_variance reserve_space_1 reserve_space_2" },
  { "FusedBatchNormV2", "y batch_mean batch_variance reserve_space_1 reserve_space_2" },
  { "FusedBatchNormV3",
    "y batch_mean batch_variance reserve_space_1 reserve_space_2 reserve_space_3" },
  { "TopKV2", "values indices" },
  { "Unique", "y idx" },
  { "UniqueV2", "y idx" },
  { "UniqueWithCounts", "y idx count" },
  { "UniqueWithCountsV2", "y idx count" },
  { "Switch", "output_false output_true" },
  { "Merge", "output value_index" },
  { "TensorArrayV3", "handle flow" },
  { "MaxPoolWithArgmax", "output argmax" },
  { "ListDiff", "out idx" },
  { "NonMaxSuppressionV4", "selected_indices valid_outputs" },
  { "NonMaxSuppressionV5", "selected_indices selected_scores valid_outputs" },
  { "CombinedNonMaxSuppression",
    "nmsed_boxes nmsed_scores nmsed_classes valid_detections" },
  { "SoftmaxCrossEntropyWithLogits", "loss backprop" },
  { "SparseSoftmaxCrossEntropyWithLogits", "loss backprop" },
  { "CTCGreedyDecoder", "decoded_indices decoded_values decoded_shape log_probability" },
  { "CTCLoss", "loss gradient" },
  { "LogMatrixDeterminant", "sign log_abs_determinant" },
  { "Lu", "lu p" },
  { "Qr", "q r" },
  { "Svd", "s u v" },
  { "SelfAdjointEigV2", "e v" },
  { "SparseReshape", "output_indices output_shape" },
};

/* Number of the output called `name`; 0 for operators with one. */
static uint32_t output_number(const char *op, const char *name)
{
  uint32_t n = 0;
  const char *p = "";
  for (size_t i = 0; i < OC_COUNT(outputs); i++)
    if (strcmp(outputs[i][0], op) == 0)
      p = outputs[i][1];
  while (*p) {
    size_t len = strcspn(p, " ");
    if (len == strlen(name) && memcmp(p, name, len) == 0)
      return n;
    n++;
    p += len + (p[len] == ' ');
  }
  return 0;
}

/* One call under way. */
struct call {
  struct import_reader *r;
  const struct tf_function *fn;
  struct tf_node *node;
  struct oc_map nodes; /* name in the function -> struct tf_node */
};

static const char *inner_name(const struct call *c, const char *name)
{
  return oc_arena_printf(c->r->arena, "%s/%s/%s", c->node->name, c->fn->name, name);
}

/* The call's data input number `i`. */
static const struct tf_input *data_input(const struct tf_node *n, uint32_t i)
{
  for (uint32_t k = 0; k < n->n_inputs; k++)
    if (!n->inputs[k].control && i-- == 0)
      return &n->inputs[k];
  return NULL;
}

/* An input as it stands in the function, for the graph around it. */
static int resolve(const struct call *c, struct tf_input *in)
{
  const char *colon = strchr(in->name, ':');
  for (uint32_t i = 0; !colon && !in->control && i < c->fn->n_args; i++) {
    const struct tf_input *outer = data_input(c->node, i);
    if (strcmp(in->name, c->fn->args[i]) != 0)
      continue;
    if (!outer)
      return import_malformed(c->r, c->fn->body.p, "a call lacks an argument");
    *in = *outer;
    return OC_OK;
  }
  const char *plain =
      colon ? oc_arena_strndup(c->r->arena, in->name, (size_t)(colon - in->name))
            : in->name;
  const struct tf_node *from = plain ? oc_map_gets(&c->nodes, plain) : NULL;
  if (!plain)
    return OC_E_NOMEM;
  if (!from)
    return import_malformed(c->r, c->fn->body.p,
                            "a function reads what it does not have");
  if (colon)
    in->out += output_number(from->op, colon + 1);
  in->name = from->name;
  return OC_OK;
}

static int read_body(struct call *c, struct tf_node **first, struct tf_node ***ret_last)
{
  struct tf_node **last = first;
  struct oc_wire w;
  struct oc_field f;
  oc_wire_open(&w, c->fn->body.p, c->fn->body.len);
  while (oc_wire_next(&w, &f)) {
    if (f.number != FUNCTION_NODE || f.type != OC_WIRE_BYTES)
      continue;
    if (++c->r->total_nodes > OC_MAX_OPS)
      return import_malformed(c->r, f.data, "it has more nodes than any model");
    int rc = tf_read_node(c->r, oc_field_str(&f), last);
    if (!rc)
      rc = oc_map_puts(&c->nodes, (*last)->name, *last);
    if (rc)
      return rc;
    (*last)->calls = c->node->calls + 1;
    last = &(*last)->next;
  }
  *ret_last = last;
  return OC_OK;
}

/* The result called `name`: an entry of the map `ret`. */
static int read_result(const struct call *c, const char *name, struct tf_input *ret)
{
  struct oc_wire w, in;
  struct oc_field f, g;
  oc_wire_open(&w, c->fn->body.p, c->fn->body.len);
  while (oc_wire_next(&w, &f)) {
    struct oc_str key = { 0 }, value = { 0 };
    if (f.number != FUNCTION_RET || f.type != OC_WIRE_BYTES)
      continue;
    oc_wire_open(&in, f.data, f.len);
    while (oc_wire_next(&in, &g))
      if (g.type == OC_WIRE_BYTES && (g.number == 1 || g.number == 2))
        *(g.number == 1 ? &key : &value) = oc_field_str(&g);
    if (!oc_str_is(key, name))
      continue;
    int rc = tf_read_input(c->r, value, ret);
    return rc ? rc : resolve(c, ret);
  }
  return import_malformed(c->r, c->fn->body.p, "a function lacks a result");
}

/* The call becomes an Identity of the results, its control edges stay. */
static int end_call(const struct call *c)
{
  struct tf_node *n = c->node;
  const struct tf_attr *types = tf_attr_find(n, "Tout");
  struct tf_attr *t = OC_NEW(c->r->arena, struct tf_attr);
  uint32_t n_outs = c->fn->n_outs, at = n_outs;
  struct tf_input *inputs =
      OC_NEW_N(c->r->arena, struct tf_input, (size_t)n_outs + n->n_inputs);
  if (!t || !inputs)
    return OC_E_NOMEM;
  for (uint32_t i = 0; i < n_outs; i++) {
    int rc = read_result(c, c->fn->outs[i], &inputs[i]);
    if (rc)
      return rc;
  }
  for (uint32_t i = 0; i < n->n_inputs; i++)
    if (n->inputs[i].control)
      inputs[at++] = n->inputs[i];
  if (types)
    *t = *types;
  t->next = NULL;
  t->name = "T";
  if (n_outs == 1 && types && types->n_ints == 1) {
    t->kind = TF_ATTR_TYPE;
    t->i = types->ints[0];
  }
  n->op = n_outs == 0 ? "NoOp" : n_outs == 1 ? "Identity" : "IdentityN";
  n->attrs = n_outs > 0 && types ? t : NULL;
  n->inputs = inputs;
  n->n_inputs = at;
  return OC_OK;
}

/* Puts the function's nodes in front of the call. */
static int expand(struct call *c, struct tf_node **at)
{
  struct tf_node *first = NULL, **last = NULL;
  if (c->node->calls >= OC_MAX_NESTING)
    return import_malformed(c->r, c->fn->body.p,
                            "its functions call each other too deeply");
  int rc = read_body(c, &first, &last);
  for (struct tf_node *n = first; n && !rc; n = n->next)
    if (!(n->name = inner_name(c, n->name)))
      rc = OC_E_NOMEM;
  for (struct tf_node *n = first; n && !rc; n = n->next)
    for (uint32_t i = 0; i < n->n_inputs && !rc; i++)
      rc = resolve(c, &n->inputs[i]);
  if (!rc)
    rc = end_call(c);
  if (rc)
    return rc;
  *last = c->node;
  *at = first ? first : c->node;
  return OC_OK;
}

static const struct tf_function *called(const struct tf_model *m, const struct tf_node *n)
{
  const struct tf_attr *f = tf_attr_find(n, "f");
  const struct tf_function *fn = m->functions;
  if ((strcmp(n->op, "PartitionedCall") != 0 &&
       strcmp(n->op, "StatefulPartitionedCall") != 0) ||
      !f || f->kind != TF_ATTR_FUNC)
    return NULL;
  while (fn && !oc_str_is(f->s, fn->name))
    fn = fn->next;
  return fn;
}

int tf_inline_functions(struct import_reader *r, struct tf_model *m)
{
  for (struct tf_node **at = &m->nodes; *at;) {
    struct call c = { .r = r, .fn = called(m, *at), .node = *at };
    if (!c.fn) {
      at = &(*at)->next;
      continue;
    }
    int rc = expand(&c, at);
    oc_map_clear(&c.nodes);
    if (rc)
      return rc;
  }
  return OC_OK;
}
