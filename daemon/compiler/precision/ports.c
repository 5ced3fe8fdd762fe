/* Graph inputs and outputs: --input_fp16_nodes and --output_type.
 *
 * Both act behind inference: the Data op or NetOutput's input changes, its neighbours
 * keep the model's dtype, and Casts bridge. */
#include "precision_internal.h"

#include <string.h>

static const struct {
  const char *word;
  enum oc_dtype dtype;
} output_words[] = {
  { "FP32", OC_DT_F32 },       { "FP16", OC_DT_F16 },         { "UINT8", OC_DT_U8 },
  { "INT8", OC_DT_I8 },        { "HIF8", OC_DT_HIF8 },        { "HIF4", OC_DT_HIF4 },
  { "FP8E5M2", OC_DT_F8E5M2 }, { "FP8E4M3FN", OC_DT_F8E4M3 },
};
/* Words that the vendor's page lists and its code refuses. */
static const char *const page_only[] = { "INT16", "UINT16", "INT32", "UINT32",
                                         "INT64", "UINT64", "DOUBLE" };

static struct oc_op *find(const struct oc_run *r, struct oc_str name)
{
  for (uint32_t i = 0; i < r->g->n_ops; i++)
    if (oc_str_is(name, r->g->ops[i]->name))
      return r->g->ops[i];
  return NULL;
}

static const char *copy(struct oc_run *r, struct oc_str s)
{
  const char *text = oc_arena_strndup(r->a, s.p, s.len);
  return text ? text : "";
}

/* The part of *p up to `stop`; false at the end. */
static bool next_part(const char **p, char stop, struct oc_str *ret)
{
  if (!*p)
    return false;
  const char *end = strchr(*p, stop);
  *ret = end ? (struct oc_str){ *p, (size_t)(end - *p) } : oc_str_of(*p);
  *p = end ? end + 1 : NULL;
  return true;
}

static const char *input_names(struct oc_run *r)
{
  const char *text = "";

  for (uint32_t i = 0; text && i < r->g->n_ops; i++)
    if (oc_op_is(r->g->ops[i], "Data"))
      text = oc_arena_printf(r->a, "%s%s%s", text, *text ? ", " : "", r->g->ops[i]->name);
  return text ? text : "";
}

static void port(struct oc_run *r, struct oc_tensor *t, enum oc_rule rule,
                 enum oc_dtype d)
{
  oc_reasons_begin(r, 1, 0);
  t->reasons = NULL; /* a port that is named twice has one reason */
  struct oc_reason *why = oc_reason_add(r, t, rule);
  t->want = t->got = d;
  if (why)
    why->dtype = (uint8_t)d;
  oc_reasons_keep(r, t);
}

static void input_node(struct oc_run *r, struct oc_str name)
{
  struct oc_op *op = find(r, name);

  if (op && oc_op_is(op, "Data")) {
    for (uint32_t i = 0; i < op->n_inputs + op->n_outputs; i++)
      port(r, oc_tensor_at(op, i), OC_RULE_INPUT_OPTION, OC_DT_F16);
    return;
  }
  struct oc_finding *f =
      oc_tell(r, op ? OC_FINDING_INPUT_NODE_NOT_INPUT : OC_FINDING_INPUT_NODE_UNKNOWN,
              copy(r, name));
  oc_tell_arg(r, f, "inputs", input_names(r));
  if (f)
    f->flag = "input_fp16_nodes";
  r->result->resolved = false;
}

static void output_bad(struct oc_run *r, struct oc_str word, const char *why)
{
  struct oc_finding *f = oc_tell(r, OC_FINDING_OUTPUT_TYPE_BAD, copy(r, word));

  oc_tell_arg(r, f, "why", why);
  if (f)
    f->flag = "output_type";
  r->result->resolved = false;
}

static bool output_word(struct oc_run *r, struct oc_str w, enum oc_dtype *ret)
{
  for (size_t i = 0; i < sizeof output_words / sizeof *output_words; i++)
    if (oc_str_is(w, output_words[i].word)) {
      *ret = output_words[i].dtype;
      return true;
    }
  for (size_t i = 0; i < sizeof page_only / sizeof *page_only; i++)
    if (oc_str_is(w, page_only[i])) {
      output_bad(r, w, "the compiler does not take it, although its page lists it");
      return false;
    }
  output_bad(r, w, "it is no word of this option");
  return false;
}

static struct oc_op *net_output(const struct oc_run *r)
{
  for (uint32_t i = r->g->n_ops; i-- > 0;)
    if (oc_op_is(r->g->ops[i], "NetOutput"))
      return r->g->ops[i];
  return NULL;
}

/* "name:index:WORD", cut from the right, because names may hold colons. */
static void one_output(struct oc_run *r, struct oc_op *net, struct oc_str item)
{
  const char *last = item.len ? memrchr(item.p, ':', item.len) : NULL;
  const char *mid =
      last && last > item.p ? memrchr(item.p, ':', (size_t)(last - item.p)) : NULL;
  enum oc_dtype d;
  uint64_t index;

  if (!mid ||
      !oc_str_to_u64((struct oc_str){ mid + 1, (size_t)(last - mid - 1) }, &index)) {
    output_bad(r, item, "it is not <op>:<output>:<type>");
    return;
  }
  struct oc_str name = { item.p, (size_t)(mid - item.p) };
  if (!output_word(r, (struct oc_str){ last + 1, (size_t)(item.p + item.len - last - 1) },
                   &d))
    return;
  for (uint32_t i = 0; i < net->n_inputs; i++) {
    const struct oc_op *from = net->inputs[i].from;
    bool named = from && oc_str_is(name, from->name);
    for (uint32_t k = 0; from && !named && k < from->n_origin_names; k++)
      named = oc_str_is(name, from->origin_names[k]);
    if (named && net->inputs[i].from_out == index) {
      port(r, &net->inputs[i].t, OC_RULE_OUTPUT_OPTION, d);
      return;
    }
  }
  output_bad(r, item, "the model has no such output");
}

static void output_type(struct oc_run *r, const char *text)
{
  struct oc_op *net = net_output(r);
  struct oc_str item;
  enum oc_dtype d;

  if (!net)
    return;
  if (!strchr(text, ':')) {
    if (!output_word(r, oc_str_of(text), &d))
      return;
    for (uint32_t i = 0; i < net->n_inputs; i++)
      port(r, &net->inputs[i].t, OC_RULE_OUTPUT_OPTION, d);
    return;
  }
  while (next_part(&text, ';', &item))
    if (item.len)
      one_output(r, net, item);
}

void oc_ports_apply(struct oc_run *r)
{
  const char *nodes = r->o->input_fp16_nodes;
  struct oc_str name;

  while (nodes && *nodes && next_part(&nodes, ';', &name))
    if (name.len)
      input_node(r, name);
  if (r->o->output_type && *r->o->output_type)
    output_type(r, r->o->output_type);
}
