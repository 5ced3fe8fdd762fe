/* Two reports side by side. Ops belong together by name (the n-th of a name with the n-th
 * of that name); a type that changed is a difference, too. */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/str.h"
#include "render/render_internal.h"

/* Ops of one name, in order. */
struct same_name {
  const Omcc__V1__Op *op;
  struct same_name *next;
};

static bool same_tensors(Omcc__V1__Tensor **a, size_t n_a, Omcc__V1__Tensor **b,
                         size_t n_b)
{
  if (n_a != n_b)
    return false;
  for (size_t i = 0; i < n_a; i++)
    if (a[i]->got != b[i]->got)
      return false;
  return true;
}

static bool same_result(const Omcc__V1__Op *a, const Omcc__V1__Op *b)
{
  return oc_streq(a->type, b->type) && oc_streq(a->engine, b->engine) &&
         same_tensors(a->inputs, a->n_inputs, b->inputs, b->n_inputs) &&
         same_tensors(a->outputs, a->n_outputs, b->outputs, b->n_outputs);
}

static const char *change_type(const struct oc_op_change *c)
{
  return c->a ? c->a->type : c->b->type;
}

struct sorted {
  struct oc_op_change change;
  size_t at;
};

static int by_type(const void *x, const void *y)
{
  const struct sorted *a = x, *b = y;
  int c = strcmp(change_type(&a->change), change_type(&b->change));

  return c ? c : a->at < b->at ? -1 : a->at > b->at;
}

static int index_ops(const Omcc__V1__Report *r, struct oc_arena *arena,
                     struct oc_map *ret)
{
  for (size_t i = r->n_ops; i-- > 0;) {
    struct same_name *s = OC_NEW(arena, struct same_name);

    if (!s)
      return OC_E_NOMEM;
    s->op = r->ops[i];
    s->next = oc_map_gets(ret, s->op->name);
    if (oc_map_puts(ret, s->op->name, s))
      return OC_E_NOMEM;
  }
  return 0;
}

static void note(struct sorted *list, size_t *n, enum oc_change what,
                 const Omcc__V1__Op *a, const Omcc__V1__Op *b)
{
  list[*n] = (struct sorted){ { what, a, b }, *n };
  (*n)++;
}

/* Takes the next op of this name out of the index. */
static const Omcc__V1__Op *take(struct oc_map *m, const char *name)
{
  struct same_name *s = oc_map_gets(m, name);

  if (!s)
    return NULL;
  oc_map_puts(m, name, s->next);
  return s->op;
}

static int keep(struct sorted *list, size_t n, struct oc_arena *arena,
                struct oc_diff *ret)
{
  qsort(list, n, sizeof(*list), by_type);
  ret->ops = OC_NEW_N(arena, struct oc_op_change, n + 1);
  if (!ret->ops)
    return OC_E_NOMEM;
  for (size_t i = 0; i < n; i++)
    ret->ops[i] = list[i].change;
  ret->n = n;
  return 0;
}

int oc_render_compare(const Omcc__V1__Report *a, const Omcc__V1__Report *b,
                      struct oc_arena *arena, struct oc_diff *ret)
{
  struct sorted *list = OC_NEW_N(arena, struct sorted, a->n_ops + b->n_ops + 1);
  struct oc_map in_b = { 0 };
  size_t n = 0;
  int rc = list ? index_ops(b, arena, &in_b) : OC_E_NOMEM;

  for (size_t i = 0; i < a->n_ops && !rc; i++) {
    const Omcc__V1__Op *other = take(&in_b, a->ops[i]->name);

    if (!other)
      note(list, &n, OC_CHANGE_GONE, a->ops[i], NULL);
    else if (!same_result(a->ops[i], other))
      note(list, &n, OC_CHANGE_DTYPE, a->ops[i], other);
  }
  for (size_t i = 0; i < in_b.n && !rc; i++)
    for (struct same_name *s = in_b.entries[i].value; s; s = s->next)
      note(list, &n, OC_CHANGE_NEW, NULL, s->op);
  if (!rc)
    rc = keep(list, n, arena, ret);
  oc_map_clear(&in_b);
  return rc;
}

static const char *shown_dtype(const Omcc__V1__Op *op)
{
  const Omcc__V1__Tensor *t = oc_render_main_tensor(op);

  return t ? oc_render_dtype(t->got) : "none";
}

static int tensor_changes(const char *what, Omcc__V1__Tensor **a, Omcc__V1__Tensor **b,
                          size_t n, struct oc_buf *out)
{
  int rc = 0;

  for (size_t i = 0; i < n && !rc; i++) {
    if (a[i]->got == b[i]->got)
      continue;
    rc = oc_buf_printf(out, "    %s ", what);
    if (!rc)
      rc = oc_render_plain(a[i]->name, out);
    if (!rc)
      rc = oc_buf_printf(out, ": %s -> %s\n", oc_render_dtype(a[i]->got),
                         oc_render_dtype(b[i]->got));
  }
  return rc;
}

static int changed_op(const struct oc_op_change *c, struct oc_buf *out)
{
  int rc = oc_buf_puts(out, "  ");

  if (!rc)
    rc = oc_render_plain(c->a ? c->a->name : c->b->name, out);
  if (!rc && c->what == OC_CHANGE_GONE)
    return oc_buf_printf(out, ": only in A (%s)\n", shown_dtype(c->a));
  if (!rc && c->what == OC_CHANGE_NEW)
    return oc_buf_printf(out, ": only in B (%s)\n", shown_dtype(c->b));
  if (!rc && strcmp(c->a->type, c->b->type))
    rc = oc_buf_printf(out, ": type %s -> %s", c->a->type, c->b->type);
  if (!rc && strcmp(c->a->engine, c->b->engine))
    rc = oc_buf_printf(out, ": engine %s -> %s", c->a->engine, c->b->engine);
  if (!rc)
    rc = oc_buf_putc(out, '\n');
  if (!rc && c->a->n_inputs == c->b->n_inputs)
    rc = tensor_changes("input", c->a->inputs, c->b->inputs, c->a->n_inputs, out);
  if (!rc && c->a->n_outputs == c->b->n_outputs)
    rc = tensor_changes("output", c->a->outputs, c->b->outputs, c->a->n_outputs, out);
  return rc;
}

int oc_render_diff(const struct oc_diff *d, struct oc_buf *out)
{
  int rc = 0;

  if (!d->n)
    return oc_buf_puts(out, "no op differs\n");
  for (size_t i = 0; i < d->n && !rc;) {
    const char *type = change_type(&d->ops[i]);
    size_t end = i;

    while (end < d->n && oc_streq(change_type(&d->ops[end]), type))
      end++;
    rc = oc_buf_printf(out, "%s: %zu op%s differ%s\n", type, end - i,
                       end - i == 1 ? "" : "s", end - i == 1 ? "s" : "");
    for (; i < end && !rc; i++)
      rc = changed_op(&d->ops[i], out);
  }
  return rc;
}

static void json_side(struct oc_json_writer *w, const char *key, const Omcc__V1__Op *op)
{
  if (!op) {
    oc_json_put_null(w, key);
    return;
  }
  oc_json_begin_object(w, key);
  oc_json_put_string(w, "type", op->type);
  oc_json_put_string(w, "engine", op->engine);
  oc_json_begin_array(w, "inputs");
  for (size_t i = 0; i < op->n_inputs; i++)
    oc_json_put_string(w, NULL, oc_render_dtype(op->inputs[i]->got));
  oc_json_end_array(w);
  oc_json_begin_array(w, "outputs");
  for (size_t i = 0; i < op->n_outputs; i++)
    oc_json_put_string(w, NULL, oc_render_dtype(op->outputs[i]->got));
  oc_json_end_array(w);
  oc_json_end_object(w);
}

void oc_render_json_diff(struct oc_json_writer *w, const struct oc_diff *d)
{
  oc_json_begin_array(w, "ops");
  for (size_t i = 0; i < d->n; i++) {
    const struct oc_op_change *c = &d->ops[i];

    oc_json_begin_object(w, NULL);
    oc_json_put_string(w, "name", c->a ? c->a->name : c->b->name);
    oc_json_put_string(w, "type", change_type(c));
    json_side(w, "a", c->a);
    json_side(w, "b", c->b);
    oc_json_end_object(w);
  }
  oc_json_end_array(w);
}
