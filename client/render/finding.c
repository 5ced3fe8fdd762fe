/* One finding as two lines: what and where, then what to do.
 *
 *   warning: keep.cfg:3: no op is named '/b0/conv/Con' [keep-unmatched]
 *     fix: /b0/conv/Conv
 *
 * In Chinese where the reader wants it and the register has it; severities and ids stay,
 * since scripts look for them.
 */
#include "base/str.h"
#include "render/render_internal.h"

#define RED    "\033[31m"
#define YELLOW "\033[33m"
#define CYAN   "\033[36m"
#define PLAIN  "\033[0m"

#define MOST_ARGS 16

bool oc_places_find(const struct oc_places *p, const char *flag, uint32_t entry,
                    const char **ret_file, uint32_t *ret_line)
{
  for (size_t i = 0; p && i < p->n; i++) {
    const struct oc_place_list *l = &p->lists[i];
    bool listed = entry && entry <= l->n;

    if (!oc_streq(l->flag, flag) || (entry && !listed && !*ret_line))
      continue;
    *ret_file = l->file;
    *ret_line = listed ? l->lines[entry - 1] : *ret_line;
    return true;
  }
  return false;
}

int oc_render_place(const struct oc_places *places, const char *flag, uint32_t entry,
                    struct oc_buf *out)
{
  const char *file;
  uint32_t line = 0;
  int rc;

  if (!entry || !oc_places_find(places, flag, entry, &file, &line))
    return 0;
  rc = oc_render_plain(file, out);
  return rc ? rc : oc_buf_printf(out, ":%u ", line);
}

static int severity(const struct oc_finding *f, bool color, struct oc_buf *out)
{
  static const char *const tint[] = { CYAN, YELLOW, RED };

  return oc_buf_printf(out, "%s%s%s: ", color ? tint[f->severity] : "",
                       oc_severity_name(f->severity), color ? PLAIN : "");
}

static int place(const struct oc_finding *f, const struct oc_style *style,
                 struct oc_buf *out)
{
  const char *file = f->file;
  uint32_t line = f->line;
  int rc;

  if (!*file && !oc_places_find(style->places, f->flag, f->entry, &file, &line))
    return 0;
  rc = oc_render_plain(file, out);
  if (!rc && line)
    rc = oc_buf_printf(out, ":%u", line);
  return rc ? rc : oc_buf_puts(out, ": ");
}

/* Fills the template in, arguments that are prose in Chinese. */
static int format_zh(const char *tmpl, const struct oc_finding *f, struct oc_buf *out)
{
  struct oc_finding_arg args[MOST_ARGS];
  struct oc_buf values[MOST_ARGS];
  struct oc_finding copy = *f;
  int rc = 0;

  if (f->n_args > MOST_ARGS)
    return oc_finding_format(tmpl, f, out);
  for (size_t i = 0; i < f->n_args; i++) {
    oc_buf_init(&values[i], 1 << 20);
    rc = oc_render_phrase(f->args[i].value, &values[i]) ? OC_E_NOMEM : rc;
    args[i] = (struct oc_finding_arg){ f->args[i].name, oc_buf_str(&values[i]) };
  }
  copy.args = args;
  if (!rc)
    rc = oc_finding_format(tmpl, &copy, out);
  for (size_t i = 0; i < f->n_args; i++)
    oc_buf_clear(&values[i]);
  return rc;
}

static int sentence(const char *tmpl, const struct oc_finding *f, bool zh,
                    struct oc_buf *out)
{
  struct oc_buf text;
  int rc;

  oc_buf_init(&text, 1 << 20);
  rc = zh ? format_zh(tmpl, f, &text) : oc_finding_format(tmpl, f, &text);
  if (!rc)
    rc = oc_render_plain(oc_buf_str(&text), out);
  oc_buf_clear(&text);
  return rc;
}

/* A fix that only holds arguments may come out empty. */
static int fix(const char *tmpl, const struct oc_finding *f, bool zh, struct oc_buf *out)
{
  size_t before;
  int rc = oc_buf_puts(out, "\n  fix: ");

  before = out->len;
  if (!rc)
    rc = sentence(tmpl, f, zh, out);
  if (!rc && out->len == before)
    oc_render_cut(out, sizeof("\n  fix: ") - 1);
  return rc;
}

int oc_render_finding(const struct oc_finding *f, const struct oc_style *style,
                      struct oc_buf *out)
{
  const struct oc_finding_info *info = oc_finding_info(f->id);
  const char *text = style->zh && *info->text_zh ? info->text_zh : info->text;
  const char *advice = style->zh && *info->fix_zh ? info->fix_zh : info->fix;
  int rc = severity(f, style->color, out);

  if (!rc)
    rc = place(f, style, out);
  if (!rc)
    rc = sentence(text, f, style->zh, out);
  if (!rc && *info->vendor_code)
    rc = oc_buf_printf(out, " (%s)", info->vendor_code);
  if (!rc)
    rc = oc_buf_printf(out, " [%s]", info->id);
  if (!rc && *info->fix)
    rc = fix(advice, f, style->zh, out);
  return rc ? rc : oc_buf_putc(out, '\n');
}

int oc_render_findings(const struct oc_findings *fs, const struct oc_style *style,
                       struct oc_buf *out)
{
  int rc = 0;

  for (size_t i = 0; i < fs->n && !rc; i++)
    if (!style->no_notes || fs->items[i].severity != OC_SEV_NOTE)
      rc = oc_render_finding(&fs->items[i], style, out);
  return rc;
}
