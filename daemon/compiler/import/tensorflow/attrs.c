/* Attributes: from NodeDef to the op, kind by kind, and the questions that mending
 * functions ask. */
#include <string.h>

#include "base/error.h"
#include "import/tensorflow/build.h"

static const struct tf_attr *of_kind(struct tf_cx *cx, const char *name,
                                     enum tf_attr_kind kind)
{
  const struct tf_attr *a = tf_attr_find(cx->node, name);
  if (!a || a->kind == kind)
    return a;
  const char *why =
      oc_arena_printf(cx->im->arena, "attribute '%s' has the wrong type", name);
  tf_refuse(cx, why ? why : "an attribute has the wrong type");
  return NULL;
}

int64_t tf_int(struct tf_cx *cx, const char *attr, int64_t other)
{
  const struct tf_attr *a = of_kind(cx, attr, TF_ATTR_INT);
  return a ? a->i : other;
}

bool tf_flag(struct tf_cx *cx, const char *attr, bool other)
{
  const struct tf_attr *a = of_kind(cx, attr, TF_ATTR_BOOL);
  return a ? a->i != 0 : other;
}

struct oc_str tf_text(struct tf_cx *cx, const char *attr, const char *other)
{
  const struct tf_attr *a = of_kind(cx, attr, TF_ATTR_STRING);
  return a ? a->s : oc_str_of(other);
}

enum oc_dtype tf_type(const struct tf_node *n, const char *attr)
{
  const struct tf_attr *a = tf_attr_find(n, attr);
  return a && a->kind == TF_ATTR_TYPE ? tf_dtype(a->i) : OC_DT_UNDEFINED;
}

void tf_set_int(struct tf_cx *cx, const char *name, int64_t v)
{
  (void)oc_attr_set_int(cx->im->graph, cx->op, name, v);
}

void tf_set_bool(struct tf_cx *cx, const char *name, bool v)
{
  (void)oc_attr_set_bool(cx->im->graph, cx->op, name, v);
}

void tf_set_float(struct tf_cx *cx, const char *name, float v)
{
  (void)oc_attr_set_float(cx->im->graph, cx->op, name, v);
}

void tf_set_ints(struct tf_cx *cx, const char *name, const int64_t *v, size_t n)
{
  (void)oc_attr_set_ints(cx->im->graph, cx->op, name, v, n);
}

void tf_set_image_format(struct tf_cx *cx, enum oc_format f)
{
  if (cx->op->n_inputs)
    cx->op->inputs[0].t.format = f;
  if (cx->op->n_outputs)
    cx->op->outputs[0].t.format = f;
}

static void copy_list(struct tf_cx *cx, const char *name, const struct tf_attr *a)
{
  struct oc_graph *g = cx->im->graph;
  if (a->n_strings)
    (void)oc_attr_set_strings(g, cx->op, name, a->strings, a->n_strings);
  else if (a->n_floats)
    (void)oc_attr_set_floats(g, cx->op, name, a->floats, a->n_floats);
  else if (!a->types)
    (void)oc_attr_set_ints(g, cx->op, name, a->ints, a->n_ints);
}

static void copy_text(struct tf_cx *cx, const char *name, const struct tf_attr *a)
{
  if (memchr(a->s.p, '\0', a->s.len))
    tf_refuse(cx, "a text attribute holds a NUL byte");
  else
    (void)oc_attr_set_string(cx->im->graph, cx->op, name, a->s.p);
}

static void copy_type(struct tf_cx *cx, const char *name, const struct tf_attr *a)
{
  if (tf_dtype(a->i) == OC_DT_UNDEFINED)
    tf_refuse(cx, "a type attribute has no counterpart");
  else
    (void)oc_attr_set_dtype(cx->im->graph, cx->op, name, tf_dtype(a->i));
}

static void copy_one(struct tf_cx *cx, const char *name, const struct tf_attr *a)
{
  struct oc_graph *g = cx->im->graph;
  switch (a->kind) {
  case TF_ATTR_INT: (void)oc_attr_set_int(g, cx->op, name, a->i); break;
  case TF_ATTR_FLOAT: (void)oc_attr_set_float(g, cx->op, name, a->f); break;
  case TF_ATTR_BOOL: (void)oc_attr_set_bool(g, cx->op, name, a->i != 0); break;
  case TF_ATTR_STRING: copy_text(cx, name, a); break;
  case TF_ATTR_TYPE: copy_type(cx, name, a); break;
  case TF_ATTR_SHAPE:
    if (!a->shape.unknown_rank)
      (void)oc_attr_set_ints(g, cx->op, name, a->shape.dims, a->shape.rank);
    break;
  case TF_ATTR_LIST: copy_list(cx, name, a); break;
  case TF_ATTR_TENSOR:
  case TF_ATTR_FUNC: tf_refuse(cx, "an attribute of it is of an unusual kind"); break;
  case TF_ATTR_NONE: break;
  }
}

/* "name" or "name>other". */
static void copy_word(struct tf_cx *cx, struct oc_str word)
{
  const char *arrow = memchr(word.p, '>', word.len);
  size_t n = arrow ? (size_t)(arrow - word.p) : word.len;
  const char *from = oc_arena_strndup(cx->im->arena, word.p, n);
  const char *to =
      arrow ? oc_arena_strndup(cx->im->arena, arrow + 1, word.len - n - 1) : from;
  const struct tf_attr *a = from ? tf_attr_find(cx->node, from) : NULL;
  if (a && to)
    copy_one(cx, to, a);
}

void tf_copy_attrs(struct tf_cx *cx)
{
  const char *p = cx->rule->attrs;
  while (p && !cx->refused) {
    p += strspn(p, " ");
    size_t n = strcspn(p, " ");
    if (n == 0)
      return;
    copy_word(cx, (struct oc_str){ p, n });
    p += n;
  }
}
