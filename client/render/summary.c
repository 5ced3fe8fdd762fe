/* What one reads first: the mode and the kinds of dtypes, then what each list line did,
 * then the totals. */
#include <string.h>

#include "base/dtype.h"
#include "base/str.h"
#include "render/render_internal.h"

bool oc_render_is_compute(const Omcc__V1__Op *op)
{
  return strcmp(op->engine, "graph") != 0;
}

static const Omcc__V1__Tensor *first_float(Omcc__V1__Tensor **tensors, size_t n)
{
  for (size_t i = 0; i < n; i++)
    if (oc_dtype_is_float((enum oc_dtype)tensors[i]->orig))
      return tensors[i];
  return NULL;
}

const Omcc__V1__Tensor *oc_render_main_tensor(const Omcc__V1__Op *op)
{
  const Omcc__V1__Tensor *t = first_float(op->outputs, op->n_outputs);

  if (!t)
    t = first_float(op->inputs, op->n_inputs);
  if (!t && op->n_outputs)
    t = op->outputs[0];
  if (!t && op->n_inputs)
    t = op->inputs[0];
  return t;
}

struct tally {
  unsigned got[OC_DT_COUNT];
  unsigned compute, floats, kept, aicpu, none;
  bool io[OC_DT_COUNT];
};

static void count_io(const Omcc__V1__Op *op, struct tally *t)
{
  if (!strcmp(op->type, "Data"))
    for (size_t i = 0; i < op->n_outputs; i++)
      if (op->outputs[i]->got < OC_DT_COUNT)
        t->io[op->outputs[i]->got] = true;
  if (!strcmp(op->type, "NetOutput"))
    for (size_t i = 0; i < op->n_inputs; i++)
      if (op->inputs[i]->got < OC_DT_COUNT)
        t->io[op->inputs[i]->got] = true;
}

static void count(const Omcc__V1__Report *r, struct tally *t)
{
  memset(t, 0, sizeof(*t));
  for (size_t i = 0; i < r->n_ops; i++) {
    const Omcc__V1__Op *op = r->ops[i];
    const Omcc__V1__Tensor *main = oc_render_main_tensor(op);

    count_io(op, t);
    if (!oc_render_is_compute(op))
      continue;
    t->compute++;
    t->kept += op->kept;
    t->aicpu += !strcmp(op->engine, "aicpu");
    t->none += !strcmp(op->engine, "none");
    if (main && main->got < OC_DT_COUNT && oc_dtype_is_float((enum oc_dtype)main->orig)) {
      t->floats++;
      t->got[main->got]++;
    }
  }
}

int oc_render_headline(const Omcc__V1__Report *r, struct oc_buf *out)
{
  struct tally t;
  bool first = true;
  int rc;

  count(r, &t);
  rc = oc_buf_printf(out, "precision mode: %s (%s), %s, table %s\n", r->mode,
                     r->mode_given ? "given" : "default", r->soc, r->table_id);
  if (!rc)
    rc = oc_buf_puts(out, "inputs and outputs: ");
  for (unsigned d = 0; d < OC_DT_COUNT && !rc; d++)
    if (t.io[d]) {
      rc = oc_buf_printf(out, "%s%s", first ? "" : ", ", oc_dtype_name((enum oc_dtype)d));
      first = false;
    }
  if (!rc)
    rc = oc_buf_printf(out, "; %u of %u ops compute in float16\n", t.got[OC_DT_F16],
                       t.compute);
  return rc;
}

/* "  (keeps 3, +2 casts, +1.2 MB, 1 off the AI Core)" */
static int costs(const Omcc__V1__ListEntry *e, struct oc_buf *out)
{
  int64_t bytes = e->bytes_added;
  const char *verb = oc_streq(e->flag, "keep_dtype") ? "keeps" : "decides";
  int rc = oc_buf_printf(out, "  (%s %u, %+d cast%s, %s", verb, e->kept, e->casts_added,
                         e->casts_added == 1 ? "" : "s", bytes < 0 ? "-" : "+");

  if (!rc)
    rc = oc_render_size((uint64_t)(bytes < 0 ? -bytes : bytes), out);
  if (!rc && e->moved)
    rc = oc_buf_printf(out, ", %u off the AI Core", e->moved);
  return rc ? rc : oc_buf_putc(out, ')');
}

static int list_row(const Omcc__V1__ListEntry *e, const struct oc_style *style,
                    size_t width, struct oc_buf *out)
{
  struct oc_buf place;
  int rc;

  oc_buf_init(&place, 8192);
  rc = oc_render_place(style->places, e->flag, e->entry, &place);
  if (!rc && !place.len)
    rc = oc_buf_printf(&place, "--%s %u", e->flag, e->entry);
  if (!rc)
    rc = oc_buf_puts(out, "  ");
  if (!rc)
    rc = oc_render_cell(oc_buf_str(&place), width, false, out);
  if (!rc)
    rc = oc_buf_printf(out, "  %-9s  %4u op%s  ", e->state, e->ops,
                       e->ops == 1 ? " " : "s");
  if (!rc)
    rc = oc_render_plain(e->text, out);
  if (!rc && strcmp(e->state, "used") == 0)
    rc = costs(e, out);
  oc_buf_clear(&place);
  return rc ? rc : oc_buf_putc(out, '\n');
}

int oc_render_lists(const Omcc__V1__Report *r, const struct oc_style *style,
                    struct oc_buf *out)
{
  size_t width = 0;
  int rc = 0;

  if (!r->n_lists)
    return 0;
  for (size_t i = 0; i < r->n_lists; i++) {
    const char *file;
    uint32_t line = 0;
    size_t n = strlen(r->lists[i]->flag) + 6;

    if (oc_places_find(style->places, r->lists[i]->flag, r->lists[i]->entry, &file,
                       &line))
      n = oc_render_columns(file) + 6;
    width = n > width ? n : width;
  }
  rc = oc_buf_puts(out, "list lines:\n");
  for (size_t i = 0; i < r->n_lists && !rc; i++)
    rc = list_row(r->lists[i], style, width, out);
  return rc;
}

int oc_render_summary(const Omcc__V1__Report *r, struct oc_buf *out)
{
  struct tally t;
  unsigned unused = 0;
  bool first = true;
  int rc = oc_buf_puts(out, "summary: ");

  count(r, &t);
  for (size_t i = 0; i < r->n_lists; i++)
    unused += strcmp(r->lists[i]->state, "used") != 0;
  for (unsigned d = 0; d < OC_DT_COUNT && !rc; d++)
    if (t.got[d]) {
      rc = oc_buf_printf(out, "%s%u %s", first ? "" : ", ", t.got[d],
                         oc_dtype_short((enum oc_dtype)d));
      first = false;
    }
  if (!rc && first)
    rc = oc_buf_puts(out, "no floating point ops");
  if (!rc)
    rc = oc_buf_printf(out, " (%u kept, %u on AI CPU, %u without an engine)", t.kept,
                       t.aicpu, t.none);
  if (!rc)
    rc = oc_buf_printf(out, "; %u cast%s added, %u removed", r->casts_added,
                       r->casts_added == 1 ? "" : "s", r->casts_removed);
  if (!rc && r->n_lists)
    rc = oc_buf_printf(out, "; %u of %zu list lines unused", unused, r->n_lists);
  return rc ? rc : oc_buf_putc(out, '\n');
}
