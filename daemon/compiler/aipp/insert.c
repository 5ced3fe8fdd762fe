/* The ops: Aipp behind the input, whose tensor becomes the image; for a dynamic block
 * also the input of its parameters. All blocks are checked before the first one changes
 * the graph. */
#include <inttypes.h>
#include <string.h>

#include "aipp_internal.h"

/* Sizes of the vendor's parameter block: a head, and a part for each image of a batch. */
#define PARAMS_HEAD  64
#define PARAMS_IMAGE 96
#define PARAMS_NAME  "ascend_dynamic_aipp_data"
#define MOST_TEXT    (16u << 10)

/* The block's values as JSON, which is what the op carries. */
static const char *config(struct oc_arena *a, const struct oc_aipp_op *op)
{
  struct oc_buf out;

  oc_buf_init(&out, MOST_TEXT);
  oc_buf_putc(&out, '{');
  for (int f = 0, n = 0; f < OC_AIPP_N_FIELDS; f++) {
    const struct oc_aipp_value *v = &op->v[f];
    if (!v->line)
      continue;
    oc_buf_printf(&out, "%s\"%s\":", n++ ? "," : "", oc_aipp_field_name(f));
    switch (oc_aipp_field_kind(f)) {
    case OC_AIPP_FLOAT: oc_buf_printf(&out, "%.9g", v->f); break;
    case OC_AIPP_BOOL: oc_buf_puts(&out, v->i ? "true" : "false"); break;
    case OC_AIPP_MODE:
      oc_buf_puts(&out, v->i == OC_AIPP_STATIC ? "\"static\"" : "\"dynamic\"");
      break;
    case OC_AIPP_FORMAT:
      oc_buf_printf(&out, "\"%s\"", oc_aipp_format_name((enum oc_aipp_format)v->i));
      break;
    default: oc_buf_printf(&out, "%" PRId64, v->i); break;
    }
  }
  oc_buf_putc(&out, '}');
  const char *text = out.failed ? NULL : oc_arena_strndup(a, (char *)out.data, out.len);
  oc_buf_clear(&out);
  return text;
}

static void set_tensor(struct oc_op *op, enum oc_dtype dtype, enum oc_format format,
                       struct oc_shape shape)
{
  struct oc_tensor *ends[] = { &op->outputs[0].t,
                               op->n_inputs ? &op->inputs[0].t : NULL };

  for (int i = 0; i < 2 && ends[i]; i++) {
    ends[i]->dtype = ends[i]->got = dtype;
    ends[i]->format = format;
    ends[i]->shape = shape;
  }
}

/* The input of a dynamic block's parameters. */
static struct oc_op *add_params(struct oc_graph *g, const struct aipp_plan *p, uint32_t n)
{
  int64_t size = PARAMS_HEAD + PARAMS_IMAGE * p->batch, index = 0;
  const char *name = n ? oc_arena_printf(g->arena, PARAMS_NAME "_%u", n) : PARAMS_NAME;
  struct oc_op *op = name ? oc_graph_add(g, name, "AippData", 1, 1) : NULL;

  if (!op)
    return NULL;
  for (uint32_t i = 0; i < g->n_ops; i++)
    if (oc_op_is_input(g->ops[i]) && oc_attr_int(g->ops[i], "index", -1) >= index)
      index = oc_attr_int(g->ops[i], "index", 0) + 1;
  op->source_type = "";
  op->inputs[0].t.name = "data";
  op->outputs[0].t.name = "out";
  set_tensor(op, OC_DT_U8, OC_FMT_ND, oc_shape_of(g->arena, &size, 1));
  return oc_attr_set_int(g, op, "index", index) < 0 ? NULL : op;
}

static struct oc_shape image_shape(const struct oc_graph *g, const struct aipp_plan *p)
{
  int64_t dims[4] = { p->batch, p->src_h, p->src_w, p->channels };

  if (aipp_int(p->conf, OC_AIPP_aipp_mode) == OC_AIPP_DYNAMIC) {
    dims[0] = 1;
    dims[1] = aipp_int(p->conf, OC_AIPP_max_src_image_size);
    return oc_shape_of(g->arena, dims, 2);
  }
  if (aipp_int(p->conf, OC_AIPP_input_format) == OC_AIPP_YUV420SP_U8)
    dims[1] = p->src_h * 3 / 2;
  return oc_shape_of(g->arena, dims, 4);
}

static void note(const struct oc_graph *g, const struct aipp_plan *p,
                 struct oc_findings *fs)
{
  struct oc_shape s = p->data->outputs[0].t.shape;
  const char *text = "";

  for (uint32_t d = 0; text && d < s.rank; d++)
    text = oc_arena_printf(g->arena, "%s%s%" PRId64, text, d ? "," : "",
                           s.dims[d] < 0 ? -1 : s.dims[d]);
  struct oc_finding *f =
      oc_finding_add(fs, OC_FINDING_AIPP_APPLIED, p->data->name, "shape", text, NULL);
  f->flag = "insert_op_conf";
  f->line = p->conf->line;
}

static int insert(struct oc_graph *g, const struct aipp_plan *p, uint32_t *n_params)
{
  bool dynamic = aipp_int(p->conf, OC_AIPP_aipp_mode) == OC_AIPP_DYNAMIC;
  const char *name = oc_arena_printf(g->arena, "%s_0_huawei_aipp", p->data->name);
  const char *text = config(g->arena, p->conf);
  struct oc_op *op = name ? oc_graph_add(g, name, "Aipp", dynamic ? 2 : 1, 1) : NULL;
  struct oc_tensor model = p->data->outputs[0].t;
  int64_t dims[4];

  if (!op || !text)
    return OC_E_NOMEM;
  op->source_type = "";
  op->inputs[0].t.name = "images";
  op->outputs[0].t.name = "features";
  op->outputs[0].t.dtype = op->outputs[0].t.got = OC_DT_F32;
  op->outputs[0].t.format = p->nhwc ? OC_FMT_NHWC : OC_FMT_NCHW;
  op->outputs[0].t.shape = model.shape;
  for (int d = 0; d < 4; d++)
    dims[d] = model.shape.dims[d] < 0 ? -1 : model.shape.dims[d];
  oc_graph_replace(g, p->data, 0, op, 0);
  oc_op_link(op, 0, p->data, 0);
  set_tensor(p->data, OC_DT_U8, OC_FMT_NHWC, image_shape(g, p));
  op->inputs[0].t.format = OC_FMT_NHWC;
  if (dynamic) {
    struct oc_op *params = add_params(g, p, (*n_params)++);
    if (!params)
      return OC_E_NOMEM;
    op->inputs[1].t.name = "params";
    oc_op_link(op, 1, params, 0);
  }
  return oc_attr_set_string(g, op, "aipp_config_path", text) < 0 ||
                 oc_attr_set_ints(g, op, OC_ATTR_FEATURES_SHAPE, dims, 4) < 0
             ? OC_E_NOMEM
             : 0;
}

int oc_aipp_insert(struct oc_graph *g, const struct oc_aipp_list *list,
                   const struct oc_aipp_options *o, struct oc_findings *fs)
{
  struct aipp_plan *plans = OC_NEW_N(g->arena, struct aipp_plan, list->n);
  uint32_t n_params = 0;
  bool ok = true;

  if (!plans)
    return OC_E_NOMEM;
  for (size_t i = 0; i < list->n; i++) {
    ok = aipp_check(g, &list->ops[i], o, fs, &plans[i]) && ok;
    for (size_t k = 0; k < i; k++)
      if (plans[i].data && plans[k].data == plans[i].data) {
        struct oc_finding *f =
            oc_finding_add(fs, OC_FINDING_AIPP_INPUT, plans[i].data->name, "why",
                           "two blocks are for it", NULL);
        f->flag = "insert_op_conf";
        f->line = list->ops[i].line;
        ok = false;
      }
  }
  for (size_t i = 0; ok && i < list->n; i++) {
    if (insert(g, &plans[i], &n_params) < 0)
      return OC_E_NOMEM;
    note(g, &plans[i], fs);
  }
  return ok && list->n > 0;
}
