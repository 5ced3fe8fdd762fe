/* Ops per dtype and per deciding rule: the most frequent first. */
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "base/str.h"
#include "render/render_internal.h"

static int by_count(const void *a, const void *b)
{
  const struct oc_render_count *x = a, *y = b;

  if (x->n != y->n)
    return x->n < y->n ? 1 : -1;
  return strcmp(x->name, y->name);
}

static void add(struct oc_render_counts *c, const char *name)
{
  for (size_t i = 0; i < c->n; i++)
    if (oc_streq(c->items[i].name, name)) {
      c->items[i].n++;
      return;
    }
  if (c->n < OC_RENDER_MOST_COUNTS)
    c->items[c->n++] = (struct oc_render_count){ name, 1 };
}

void oc_render_count(const Omcc__V1__Report *r, enum oc_render_by by,
                     struct oc_render_counts *ret)
{
  ret->n = 0;
  for (size_t i = 0; i < r->n_ops; i++) {
    const Omcc__V1__Op *op = r->ops[i];
    const Omcc__V1__Tensor *main = oc_render_main_tensor(op);

    if (!oc_render_is_compute(op))
      continue;
    if (by == OC_RENDER_BY_RULE)
      add(ret, op->reason ? op->reason->rule : "unknown");
    else if (by == OC_RENDER_BY_SURE)
      add(ret, op->sure);
    else if (by == OC_RENDER_BY_ENGINE)
      add(ret, op->engine);
    else
      add(ret, main ? oc_render_dtype(main->got) : "none");
  }
  qsort(ret->items, ret->n, sizeof(*ret->items), by_count);
}

static int line(const char *head, const struct oc_render_counts *c, struct oc_buf *out)
{
  int rc = oc_buf_puts(out, head);

  for (size_t i = 0; i < c->n && !rc; i++)
    rc = oc_buf_printf(out, "%s%s %u", i ? ", " : "", c->items[i].name, c->items[i].n);
  return rc ? rc : oc_buf_putc(out, '\n');
}

int oc_render_totals(const Omcc__V1__Report *r, struct oc_buf *out)
{
  static const struct {
    const char *head;
    enum oc_render_by by;
  } rows[] = { { "by dtype: ", OC_RENDER_BY_DTYPE },
               { "by rule:  ", OC_RENDER_BY_RULE },
               { "how sure: ", OC_RENDER_BY_SURE } };
  struct oc_render_counts c;
  int rc = 0;

  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && !rc; i++) {
    oc_render_count(r, rows[i].by, &c);
    if (c.n)
      rc = line(rows[i].head, &c, out);
  }
  return rc;
}

static void json_counts(struct oc_json_writer *w, const char *key,
                        const Omcc__V1__Report *r, enum oc_render_by by)
{
  struct oc_render_counts c;

  oc_render_count(r, by, &c);
  oc_json_begin_object(w, key);
  for (size_t i = 0; i < c.n; i++)
    oc_json_put_u64(w, c.items[i].name, c.items[i].n);
  oc_json_end_object(w);
}

void oc_render_json_totals(struct oc_json_writer *w, const Omcc__V1__Report *r)
{
  oc_json_begin_object(w, "summary");
  json_counts(w, "dtypes", r, OC_RENDER_BY_DTYPE);
  json_counts(w, "rules", r, OC_RENDER_BY_RULE);
  json_counts(w, "engines", r, OC_RENDER_BY_ENGINE);
  json_counts(w, "sure", r, OC_RENDER_BY_SURE);
  oc_json_end_object(w);
}
