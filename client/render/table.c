/* The table of ops: one line each, cut to the terminal's width unless `wide`.
 *
 * Widths: every column gets what its longest cell needs; when that is too much, first the
 * reasons, then the names, then the types are cut, never the dtypes. A name loses its
 * middle, since names of one model begin alike. */
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "render/render_internal.h"

enum { NAME, TYPE, ORIG, WANT, GETS, RULE, N_COLUMNS };

static const char *const heads[N_COLUMNS] = {
  "OP", "TYPE", "ORIG", "WANT", "GETS", "RULE"
};
/* No column is cut below this. */
static const size_t least[N_COLUMNS] = { 16, 10, 4, 4, 4, 24 };
static const unsigned order[] = { RULE, NAME, TYPE };

struct table {
  const Omcc__V1__Report *r;
  const struct oc_style *style;
  size_t width[N_COLUMNS];
};

static const char *short_dtype(uint32_t d)
{
  return d < OC_DT_COUNT ? oc_dtype_short((enum oc_dtype)d) : "?";
}

/* The rule's sentence; ops without an AI Core engine say where they run. */
static int rule_text(const struct table *t, const Omcc__V1__Op *op, struct oc_buf *out)
{
  oc_buf_reset(out);
  if (!op->reason)
    return 0;
  return oc_render_reason(t->r, op->reason, t->style->places, out);
}

static int cells(const struct table *t, const Omcc__V1__Op *op, struct oc_buf *rule,
                 const char *ret[N_COLUMNS])
{
  const Omcc__V1__Tensor *main = oc_render_main_tensor(op);
  int rc = rule_text(t, op, rule);

  ret[NAME] = op->name;
  ret[TYPE] = op->type;
  ret[ORIG] = main ? short_dtype(main->orig) : "-";
  ret[WANT] = main ? short_dtype(main->want) : "-";
  ret[GETS] = main ? short_dtype(main->got) : "-";
  ret[RULE] = oc_buf_str(rule);
  return rc;
}

static int measure(struct table *t)
{
  struct oc_buf rule;
  int rc = 0;

  oc_buf_init(&rule, 1 << 20);
  for (unsigned c = 0; c < N_COLUMNS; c++)
    t->width[c] = strlen(heads[c]);
  for (size_t i = 0; i < t->r->n_ops && !rc; i++) {
    const char *text[N_COLUMNS];

    if (!oc_render_is_compute(t->r->ops[i]) && !t->style->wide)
      continue;
    rc = cells(t, t->r->ops[i], &rule, text);
    for (unsigned c = 0; c < N_COLUMNS && !rc; c++) {
      size_t n = oc_render_columns(text[c]);

      t->width[c] = n > t->width[c] ? n : t->width[c];
    }
  }
  oc_buf_clear(&rule);
  return rc;
}

static void squeeze(struct table *t)
{
  size_t want = t->style->width ? t->style->width : 80;
  size_t total = 2 * (N_COLUMNS - 1);

  for (unsigned c = 0; c < N_COLUMNS; c++)
    total += t->width[c];
  for (unsigned i = 0; i < sizeof(order) / sizeof(order[0]) && total > want; i++) {
    unsigned c = order[i];
    size_t spare = t->width[c] > least[c] ? t->width[c] - least[c] : 0;
    size_t cut = total - want < spare ? total - want : spare;

    t->width[c] -= cut;
    total -= cut;
  }
}

static int row(const struct table *t, const char *const text[N_COLUMNS],
               struct oc_buf *out)
{
  int rc = 0;

  for (unsigned c = 0; c < N_COLUMNS && !rc; c++) {
    rc = c ? oc_buf_puts(out, "  ") : 0;
    if (!rc)
      rc = oc_render_cell(text[c], t->width[c], c == NAME, out);
  }
  while (!rc && out->len && out->data[out->len - 1] == ' ')
    oc_render_cut(out, 1);
  return rc ? rc : oc_buf_putc(out, '\n');
}

static int tensors(const char *what, Omcc__V1__Tensor **list, size_t n,
                   struct oc_buf *out)
{
  int rc = 0;

  for (size_t i = 0; i < n && !rc; i++) {
    rc = oc_buf_printf(out, "    %s ", what);
    if (!rc)
      rc = oc_render_plain(list[i]->name, out);
    if (!rc)
      rc = oc_buf_printf(out, ": %s -> %s\n", short_dtype(list[i]->orig),
                         short_dtype(list[i]->got));
  }
  return rc;
}

int oc_render_table(const Omcc__V1__Report *r, const struct oc_style *style,
                    struct oc_buf *out)
{
  struct table t = { .r = r, .style = style };
  struct oc_buf rule;
  int rc = measure(&t);

  if (!style->wide)
    squeeze(&t);
  oc_buf_init(&rule, 1 << 20);
  if (!rc)
    rc = row(&t, heads, out);
  for (size_t i = 0; i < r->n_ops && !rc; i++) {
    const char *text[N_COLUMNS];

    if (!oc_render_is_compute(r->ops[i]) && !style->wide)
      continue;
    rc = cells(&t, r->ops[i], &rule, text);
    if (!rc)
      rc = row(&t, text, out);
    if (!rc && style->wide)
      rc = tensors("in", r->ops[i]->inputs, r->ops[i]->n_inputs, out);
    if (!rc && style->wide)
      rc = tensors("out", r->ops[i]->outputs, r->ops[i]->n_outputs, out);
  }
  oc_buf_clear(&rule);
  return rc;
}
