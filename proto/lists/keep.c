/* The keep_dtype list: op names and `OpType::<type>` lines.
 *
 * The vendor's reader knows no comments, counts a line of blanks as an empty name and
 * compares the prefix byte by byte; everything else is a name. Lines that were meant as a
 * type but miss the prefix are recognised here, so that the finding can say the right
 * line; what they select stays what the vendor would select. */
#include "lists_internal.h"

#include <string.h>
#include <strings.h>

static const char flag[] = "keep_dtype";
static const char prefix[] = "OpType::";
#define PREFIX_LEN (sizeof prefix - 1)
#define WORD_LEN   (sizeof "OpType" - 1)

static struct oc_str behind(struct oc_str s, size_t n)
{
  return (struct oc_str){ s.p + n, s.len - n };
}

/* "optype :X" in all its forms: which slip, and what stands behind the colons. */
static enum oc_keep_slip slip_of(struct oc_str text, struct oc_str *ret_rest)
{
  if (text.len <= WORD_LEN || strncasecmp(text.p, prefix, WORD_LEN) != 0)
    return OC_KEEP_SLIP_NONE;
  size_t i = WORD_LEN;
  while (i < text.len && (text.p[i] == ' ' || text.p[i] == '\t'))
    i++;
  size_t blanks = i - WORD_LEN, colons = 0;
  while (i < text.len && text.p[i] == ':') {
    colons++;
    i++;
  }
  struct oc_str rest = behind(text, i);
  *ret_rest = oc_str_trim(rest);
  if (!colons || !ret_rest->len)
    return OC_KEEP_SLIP_NONE;
  if (strncmp(text.p, prefix, WORD_LEN) != 0)
    return OC_KEEP_SLIP_PREFIX_CASE;
  if (colons != 2)
    return OC_KEEP_SLIP_ONE_COLON;
  return blanks || ret_rest->p != rest.p ? OC_KEEP_SLIP_BLANK : OC_KEEP_SLIP_NONE;
}

static int read_entry(struct oc_arena *a, struct oc_str text, unsigned flags,
                      uint32_t line, struct oc_keep_entry *e)
{
  struct oc_str rest = { NULL, 0 };

  *e = (struct oc_keep_entry){ .text = text, .name = text, .line = line };
  if (oc_str_starts(text, prefix)) {
    e->by_type = true;
    e->name = behind(text, PREFIX_LEN);
  }
  if (flags & OC_LISTS_VENDOR)
    return 0;
  e->comment = text.len && text.p[0] == '#';
  e->slip = slip_of(text, &rest);
  if (e->slip == OC_KEEP_SLIP_NONE)
    return 0;
  char *meant = oc_arena_printf(a, "%s%.*s", prefix, (int)rest.len, rest.p);
  if (!meant)
    return OC_E_NOMEM;
  e->meant = oc_str_of(meant);
  return 0;
}

static void note_tolerances(const struct oc_keep_list *l, bool bare_cr,
                            struct oc_findings *fs)
{
  if (l->had_bom)
    oc_list_note(fs, OC_FINDING_LIST_BOM, flag, 1);
  if (l->n_blank_lines)
    oc_list_note(fs, OC_FINDING_LIST_BLANK_LINES, flag, l->n_blank_lines);
  if (l->n_comments)
    oc_list_note(fs, OC_FINDING_LIST_COMMENTS, flag, l->n_comments);
  if (bare_cr)
    oc_list_note(fs, OC_FINDING_LIST_BARE_CR, flag, 1);
  if (l->no_final_newline && l->n)
    oc_list_note(fs, OC_FINDING_LIST_NO_NEWLINE, flag, 1);
}

int oc_keep_parse(struct oc_arena *a, const void *bytes, size_t len, unsigned flags,
                  struct oc_findings *fs, struct oc_keep_list **ret)
{
  struct oc_keep_list *l = OC_NEW(a, struct oc_keep_list);
  bool vendor = flags & OC_LISTS_VENDOR;
  struct oc_lines lines;
  struct oc_str line;

  if (!l)
    return OC_E_NOMEM;
  int rc = oc_lines_open(&lines, flag, bytes, len, flags, fs, &l->had_bom);
  if (rc)
    return rc;
  l->entries = OC_NEW_N(a, struct oc_keep_entry, oc_lines_count(&lines));
  if (!l->entries)
    return OC_E_NOMEM;
  while (oc_lines_next(&lines, &line)) {
    struct oc_str text = oc_str_trim(line);
    if (!line.len)
      continue;
    if (!text.len && !vendor) {
      l->n_blank_lines++;
      continue;
    }
    struct oc_keep_entry *e = &l->entries[l->n];
    if (read_entry(a, text, flags, lines.line, e))
      return OC_E_NOMEM;
    l->n_comments += e->comment;
    l->n++;
  }
  l->no_final_newline = lines.no_final_newline;
  if (!vendor)
    note_tolerances(l, lines.bare_cr, fs);
  *ret = l;
  return 0;
}

int oc_keep_canonical(const struct oc_keep_list *l, struct oc_buf *out)
{
  for (uint32_t i = 0; i < l->n; i++) {
    oc_buf_append(out, l->entries[i].text.p, l->entries[i].text.len);
    oc_buf_putc(out, '\n');
  }
  return out->failed ? OC_E_NOMEM : 0;
}

int oc_keep_backend_text(const struct oc_keep_list *l,
                         bool (*is_name)(void *arg, const struct oc_keep_entry *e),
                         void *arg, struct oc_buf *out)
{
  for (uint32_t i = 0; i < l->n; i++) {
    const struct oc_keep_entry *e = &l->entries[i];
    if (e->comment && !(is_name && is_name(arg, e)))
      continue;
    oc_buf_append(out, e->text.p, e->text.len);
    oc_buf_putc(out, '\n');
  }
  return out->failed ? OC_E_NOMEM : 0;
}
