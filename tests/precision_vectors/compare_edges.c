/* Changed edges: Casts put on them, and users' Casts that are gone. Both sides become
 * sorted lines of text, which are compared. */
#include <stdlib.h>
#include <string.h>

#include "vectors.h"

struct lines {
  const char **v;
  size_t n;
};

static bool is_removed(const struct vec_outcome *o, const struct oc_op *op)
{
  for (size_t i = 0; i < o->result->n_ops; i++)
    if (o->result->ops[i].op == op)
      return o->result->ops[i].removed;
  return false;
}

static const char *expected_line(const struct vec_case *c, const struct oc_json *v)
{
  const char *removed = oc_json_string(oc_json_get(v, "removed"), NULL);
  const struct oc_json *via = oc_json_get(v, "via");

  if (removed)
    return oc_arena_printf(c->a, "removed %s", removed);
  const char *text =
      oc_arena_printf(c->a, "%s -> %s:", oc_json_string(oc_json_get(v, "from"), ""),
                      oc_json_string(oc_json_get(v, "to"), ""));
  for (const struct oc_json *k = via ? via->first : NULL; k; k = k->next)
    text =
        oc_arena_printf(c->a, "%s %s>%s", text, oc_json_string(oc_json_get(k, "src"), ""),
                        oc_json_string(oc_json_get(k, "dst"), ""));
  return text;
}

static const char *case_word(enum oc_dtype d)
{
  return d == OC_DT_F64 ? "float64" : oc_dtype_name(d);
}

/* NULL when the edge is as it was. */
static const char *actual_line(const struct vec_case *c, const struct vec_edge *e)
{
  const struct oc_input *in = &e->to->inputs[e->input];
  const char *via = "";

  while (in->from && in->from->inserted) {
    const struct oc_op *cast = in->from;
    via = oc_arena_printf(c->a, " %s>%s%s", case_word(cast->inputs[0].t.got),
                          case_word(cast->outputs[0].t.got), via);
    in = &cast->inputs[0];
  }
  if (!in->from)
    return "an edge without a producer";
  if (!*via && in->from == e->from && in->from_out == e->from_out)
    return NULL;
  return oc_arena_printf(c->a, "%s:%u -> %s:%u:%s", in->from->name, in->from_out,
                         e->to->name, e->input, via);
}

static int order(const void *a, const void *b)
{
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static struct lines expected(const struct vec_case *c, const struct oc_json *edges)
{
  struct lines l = { OC_NEW_N(c->a, const char *, edges->n + 1), 0 };

  for (const struct oc_json *v = edges->first; l.v && v; v = v->next)
    l.v[l.n++] = expected_line(c, v);
  return l;
}

static struct lines actual(const struct vec_case *c, const struct vec_outcome *o)
{
  struct lines l = { OC_NEW_N(c->a, const char *, c->n_edges + o->result->n_ops + 1), 0 };

  for (size_t i = 0; l.v && i < c->n_edges; i++) {
    const char *line =
        is_removed(o, c->edges[i].to) ? NULL : actual_line(c, &c->edges[i]);
    if (line)
      l.v[l.n++] = line;
  }
  for (size_t i = 0; l.v && i < o->result->n_ops; i++)
    if (o->result->ops[i].removed)
      l.v[l.n++] = oc_arena_printf(c->a, "removed %s", o->result->ops[i].op->name);
  return l;
}

void vec_compare_edges(const struct vec_case *c, const struct vec_outcome *o,
                       const struct oc_json *expect, struct oc_buf *out)
{
  struct lines e = expected(c, expect), a = actual(c, o);
  size_t i = 0, k = 0;

  if (e.n)
    qsort(e.v, e.n, sizeof *e.v, order);
  if (a.n)
    qsort(a.v, a.n, sizeof *a.v, order);
  while (i < e.n || k < a.n) {
    int d = i == e.n ? 1 : k == a.n ? -1 : strcmp(e.v[i], a.v[k]);
    if (d < 0)
      oc_buf_printf(out, "  edge expected: %s\n", e.v[i]);
    if (d > 0)
      oc_buf_printf(out, "  edge got: %s\n", a.v[k]);
    i += d <= 0;
    k += d >= 0;
  }
}
