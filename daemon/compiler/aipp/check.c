/* A block against the model: which input it is for, what the image looks like, and
 * whether what comes out of cropping, resizing and padding has the size that the model
 * takes. */
#include <inttypes.h>
#include <string.h>

#include "aipp_internal.h"

struct checking {
  const struct oc_aipp_op *op;
  struct oc_findings *fs;
  bool bad;
};

static void tell(struct checking *c, enum oc_finding_id id, const char *subject,
                 enum oc_aipp_field field, const char *why)
{
  struct oc_finding *f = oc_finding_add(c->fs, id, subject, "why", why ? why : "", NULL);

  f->flag = "insert_op_conf";
  f->line = c->op->v[field].line ? c->op->v[field].line : c->op->line;
  c->bad = true;
}

static void tell_value(struct checking *c, enum oc_aipp_field field, const char *why)
{
  tell(c, OC_FINDING_AIPP_VALUE, oc_aipp_field_name(field), field, why);
}

/* Inputs are counted by their `index`. */
static struct oc_op *find_input(const struct oc_graph *g, int64_t rank)
{
  for (uint32_t i = 0; i < g->n_ops; i++)
    if (oc_op_is(g->ops[i], "Data") && g->ops[i]->n_outputs &&
        oc_attr_int(g->ops[i], "index", 0) == rank)
      return g->ops[i];
  return NULL;
}

static void check_numbers(struct checking *c)
{
  static const enum oc_aipp_field positive[] = {
    OC_AIPP_src_image_size_w,   OC_AIPP_src_image_size_h, OC_AIPP_load_start_pos_w,
    OC_AIPP_load_start_pos_h,   OC_AIPP_crop_size_w,      OC_AIPP_crop_size_h,
    OC_AIPP_resize_output_w,    OC_AIPP_resize_output_h,  OC_AIPP_left_padding_size,
    OC_AIPP_right_padding_size, OC_AIPP_top_padding_size, OC_AIPP_bottom_padding_size,
  };

  for (size_t i = 0; i < sizeof positive / sizeof *positive; i++)
    if (aipp_int(c->op, positive[i]) < 0)
      tell_value(c, positive[i], "it cannot be negative");
}

/* Two pixels of YUV420SP share their colour in both directions. */
static void check_even(struct checking *c, const struct aipp_plan *p)
{
  if (aipp_int(c->op, OC_AIPP_input_format) != OC_AIPP_YUV420SP_U8)
    return;
  if (p->src_w % 2)
    tell_value(c, OC_AIPP_src_image_size_w, "YUV420SP_U8 takes even sizes");
  if (p->src_h % 2)
    tell_value(c, OC_AIPP_src_image_size_h, "YUV420SP_U8 takes even sizes");
  if (aipp_int(c->op, OC_AIPP_crop) && aipp_int(c->op, OC_AIPP_load_start_pos_w) % 2)
    tell_value(c, OC_AIPP_load_start_pos_w, "YUV420SP_U8 takes even positions");
  if (aipp_int(c->op, OC_AIPP_crop) && aipp_int(c->op, OC_AIPP_load_start_pos_h) % 2)
    tell_value(c, OC_AIPP_load_start_pos_h, "YUV420SP_U8 takes even positions");
}

/* One direction: what is left of `src` after crop, resize and padding. */
static int64_t follow(struct checking *c, int64_t src, int64_t model,
                      enum oc_aipp_field start, enum oc_aipp_field crop,
                      enum oc_aipp_field resize, enum oc_aipp_field first,
                      enum oc_aipp_field second)
{
  int64_t size = src;

  if (aipp_int(c->op, OC_AIPP_crop)) {
    /* without a size the model's own is cut out */
    size = aipp_int(c->op, crop) ? aipp_int(c->op, crop) : model;
    if (aipp_int(c->op, start) + size > src)
      tell_value(c, crop, "the part to cut out does not lie inside the image");
  }
  if (aipp_int(c->op, OC_AIPP_resize) && aipp_int(c->op, resize))
    size = aipp_int(c->op, resize);
  if (aipp_int(c->op, OC_AIPP_padding))
    size += aipp_int(c->op, first) + aipp_int(c->op, second);
  return size;
}

static void check_sizes(struct checking *c, const struct oc_graph *g,
                        const struct aipp_plan *p)
{
  if (p->height < 0 || p->width < 0)
    return;
  int64_t h = follow(c, p->src_h, p->height, OC_AIPP_load_start_pos_h,
                     OC_AIPP_crop_size_h, OC_AIPP_resize_output_h,
                     OC_AIPP_top_padding_size, OC_AIPP_bottom_padding_size);
  int64_t w = follow(c, p->src_w, p->width, OC_AIPP_load_start_pos_w, OC_AIPP_crop_size_w,
                     OC_AIPP_resize_output_w, OC_AIPP_left_padding_size,
                     OC_AIPP_right_padding_size);
  if (!c->bad && (h != p->height || w != p->width))
    tell(c, OC_FINDING_AIPP_SIZE, p->data->name, OC_AIPP_src_image_size_h,
         oc_arena_printf(g->arena,
                         "%" PRId64 " x %" PRId64 " come out, the model takes %" PRId64
                         " x %" PRId64,
                         h, w, p->height, p->width));
}

static void check_static(struct checking *c, const struct oc_graph *g,
                         struct aipp_plan *p)
{
  int64_t format = aipp_int(c->op, OC_AIPP_input_format);

  switch (format) {
  case OC_AIPP_NO_FORMAT:
    tell_value(c, OC_AIPP_input_format, "a static block needs it");
    return;
  case OC_AIPP_YUV420SP_U8:
  case OC_AIPP_YUV400_U8: p->channels = 1; break;
  case OC_AIPP_RGB888_U8: p->channels = 3; break;
  case OC_AIPP_XRGB8888_U8: p->channels = 4; break;
  default:
    tell_value(c, OC_AIPP_input_format, "the chips known here do not take it");
    return;
  }
  check_numbers(c);
  p->src_h = aipp_int(c->op, OC_AIPP_src_image_size_h);
  p->src_w = aipp_int(c->op, OC_AIPP_src_image_size_w);
  if (!p->src_h)
    p->src_h = p->height;
  if (!p->src_w)
    p->src_w = p->width;
  if (format == OC_AIPP_YUV420SP_U8 && (p->src_h < 0 || p->src_w < 0)) {
    tell_value(c, OC_AIPP_src_image_size_h,
               "the model's own size is open, so it is needed");
    return;
  }
  check_even(c, p);
  check_sizes(c, g, p);
}

/* "a;b;c" */
static bool is_listed(const char *list, const char *name)
{
  size_t len = strlen(name);

  for (const char *at = list; at && *at;
       at = strchr(at, ';') ? strchr(at, ';') + 1 : NULL)
    if (strncmp(at, name, len) == 0 && (at[len] == ';' || at[len] == '\0'))
      return true;
  return false;
}

static bool find_tensor(struct checking *c, const struct oc_graph *g, struct aipp_plan *p)
{
  int64_t rank = aipp_int(c->op, OC_AIPP_related_input_rank);

  p->data = find_input(g, rank);
  if (!p->data) {
    tell(c, OC_FINDING_AIPP_INPUT, oc_arena_printf(g->arena, "%" PRId64, rank),
         OC_AIPP_related_input_rank, "the model has no such input, they count from 0");
    return false;
  }
  const struct oc_tensor *t = &p->data->outputs[0].t;
  if (!t->shape.known_rank || t->shape.rank != 4 || !oc_dtype_is_float(t->dtype)) {
    tell(c, OC_FINDING_AIPP_INPUT, oc_arena_printf(g->arena, "%" PRId64, rank),
         OC_AIPP_related_input_rank, "an image has four dims of float");
    return false;
  }
  p->nhwc = t->format == OC_FMT_NHWC;
  p->batch = t->shape.dims[0];
  p->height = t->shape.dims[p->nhwc ? 1 : 2];
  p->width = t->shape.dims[p->nhwc ? 2 : 3];
  return true;
}

bool aipp_check(const struct oc_graph *g, const struct oc_aipp_op *op,
                const struct oc_aipp_options *o, struct oc_findings *fs,
                struct aipp_plan *ret)
{
  struct checking c = { .op = op, .fs = fs };
  struct aipp_plan p = { .conf = op };

  if (!find_tensor(&c, g, &p))
    return false;
  if (is_listed(o->input_fp16_nodes, p.data->name))
    tell(&c, OC_FINDING_AIPP_FP16, p.data->name, OC_AIPP_related_input_rank, NULL);
  if (op->v[OC_AIPP_input_edge_idx].line)
    tell_value(&c, OC_AIPP_input_edge_idx, "all readers of an input get the same block");
  switch (aipp_int(op, OC_AIPP_aipp_mode)) {
  case OC_AIPP_STATIC: check_static(&c, g, &p); break;
  case OC_AIPP_DYNAMIC:
    if (aipp_int(op, OC_AIPP_max_src_image_size) < 1)
      tell_value(&c, OC_AIPP_max_src_image_size, "a dynamic block needs it");
    if (p.batch < 1)
      tell(&c, OC_FINDING_AIPP_INPUT, p.data->name, OC_AIPP_related_input_rank,
           "a dynamic block needs a fixed batch size");
    break;
  default: tell_value(&c, OC_AIPP_aipp_mode, "static or dynamic is needed"); break;
  }
  *ret = p;
  return !c.bad;
}
