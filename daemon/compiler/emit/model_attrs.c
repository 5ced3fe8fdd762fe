/* Attributes of the whole model: who made it, for what, with which sizes.
 *
 * Values that the vendor's compiler takes from its installation are ours and say so; the
 * command line is a neutral one unless the caller gives another, so that a stored file
 * holds nobody's paths. */
#include <string.h>

#include "emit_internal.h"

static void add_text(struct emit_attrs *l, const char *name, const char *v)
{
  emit_attr(l, name, OC_OM_ATTR_STRING)->u.s = oc_str_of(v);
}

static void add_number(struct emit_attrs *l, const char *name, uint64_t v)
{
  emit_attr(l, name, OC_OM_ATTR_INT)->u.i = (int64_t)v;
}

static const char *framework(const struct oc_graph *g)
{
  if (oc_streq(g->model_format, "tensorflow"))
    return "TensorFlow";
  if (oc_streq(g->model_format, "caffe"))
    return "Caffe";
  return "Onnx";
}

static int framework_number(const struct oc_graph *g)
{
  if (oc_streq(g->model_format, "tensorflow"))
    return 3;
  return oc_streq(g->model_format, "caffe") ? 0 : 5;
}

static const char *cmdline(struct oc_emit_plan *p)
{
  if (p->opt.cmdline)
    return p->opt.cmdline;
  return oc_arena_printf(&p->arena,
                         "omcc --model=model --framework=%d --soc_version=%s --output=%s",
                         framework_number(p->graphs[0].graph), p->opt.soc, p->opt.label);
}

/* Sizes of WEIGHTS, TBE_KERNELS, CUST_AICPU_KERNELS, TASK_INFO and SO_BINS. */
static void add_sizes(struct oc_emit_plan *p, struct emit_attrs *l)
{
  int64_t *sizes = OC_NEW_N(&p->arena, int64_t, 5);
  struct oc_om_attr *a = emit_attr(l, "om_info_list", OC_OM_ATTR_INTS);

  if (!sizes) {
    l->failed = true;
    return;
  }
  sizes[0] = (int64_t)emit_weight_size(p);
  sizes[3] = (int64_t)p->model->tasks.len;
  a->u.ints = sizes;
  a->n = 5;
}

static const char *tensor_name(struct oc_emit_plan *p, const struct emit_op *end,
                               uint32_t i)
{
  const struct oc_attr *names = oc_attr_find(end->op, OC_ATTR_OUTPUT_NAMES);

  if (i < p->opt.n_output_names)
    return p->opt.output_names[i];
  if (names && names->kind == OC_ATTR_STRINGS && i < names->n)
    return oc_arena_strndup(&p->arena, names->u.strings[i].p, names->u.strings[i].len);
  return end->op->inputs[i].t.name ? end->op->inputs[i].t.name : "";
}

/* Users know their own ops: a Cast that the judge put before the end stands for what it
 * reads. */
const char *emit_output_name(struct oc_emit_plan *p, const struct emit_op *net_output,
                             uint32_t i)
{
  const struct emit_op *from = emit_producer(net_output, i);
  uint32_t out = emit_producer_out(net_output, i);

  if (!from)
    return "";
  while (from->op->inserted && !from->constant && emit_producer(from, 0)) {
    out = emit_producer_out(from, 0);
    from = emit_producer(from, 0);
  }
  return oc_arena_printf(&p->arena, "%s:%u:%s", from->name, out,
                         tensor_name(p, net_output, i));
}

static void add_output_names(struct oc_emit_plan *p, struct emit_attrs *l)
{
  const struct emit_op *end = emit_net_output(&p->graphs[0]);
  struct oc_str *names = OC_NEW_N(&p->arena, struct oc_str, end->op->n_inputs);
  size_t n = 0;

  if (!names) {
    l->failed = true;
    return;
  }
  for (uint32_t i = 0; i < end->op->n_inputs; i++)
    if (emit_producer(end, i))
      names[n++] = oc_str_of(emit_output_name(p, end, i));
  if (!n)
    return;
  struct oc_om_attr *a = emit_attr(l, "attr_model_out_nodes_name", OC_OM_ATTR_STRINGS);
  a->u.strings = names;
  a->n = n;
}

/* What the file's first model says for all. */
static void add_global(struct oc_emit_plan *p, struct emit_attrs *l)
{
  add_text(l, "atc_version", "omcc " OMCC_VERSION);
  add_text(l, "atc_cmdline", cmdline(p));
  add_text(l, "soc_version", p->opt.soc);
  if (p->opt.arch_type > 0)
    add_text(l, "arch_type", oc_arena_printf(&p->arena, "%d", p->opt.arch_type));
  add_text(l, "framework_type", framework(p->graphs[0].graph));
  add_text(l, "target_type", "omcc builtin");
}

/* The sizes that the model of a profile was made for. */
static void add_profile(struct oc_emit_plan *p, struct emit_attrs *l)
{
  const struct oc_emit_profiles *from = &p->opt.profiles;
  struct oc_om_attr *a = emit_attr(l, "_profile", OC_OM_ATTR_INTS);

  a->u.ints = from->values + (size_t)p->profile * from->width;
  a->n = from->width;
}

uint64_t emit_weight_size(const struct oc_emit_plan *p)
{
  return p->profile < 0 ? p->stats.weight_size : 0;
}

const char *emit_profile_name(struct oc_emit_plan *p)
{
  const char *name = oc_arena_printf(&p->arena, "profile_%d", p->profile);

  return name ? name : "";
}

bool emit_model_attrs(struct oc_emit_plan *p, struct oc_om_def *def)
{
  struct emit_attrs l = { .arena = &p->arena };
  uint64_t weight_addr = EMIT_BASE_ADDR + p->stats.memory_size;

  if (p->profile < 0)
    add_global(p, &l);
  else
    add_profile(p, &l);
  add_number(&l, "memory_size", p->stats.memory_size);
  add_number(&l, "weight_size", emit_weight_size(p));
  add_number(&l, "zero_copy_memory_size", p->io_size);
  add_number(&l, "stream_num", 1);
  add_number(&l, "event_num", 0);
  add_number(&l, "label_num", 0);
  add_number(&l, "task_gen_base_addr", EMIT_BASE_ADDR);
  add_number(&l, "task_gen_weight_addr", weight_addr);
  add_number(&l, "task_gen_variable_addr", weight_addr + p->stats.weight_size);
  add_sizes(p, &l);
  add_output_names(p, &l);
  def->attrs = l.v;
  def->n_attrs = l.n;
  return !l.failed;
}
