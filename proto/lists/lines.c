/* List files as lines.
 *
 * People write these files on Windows, paste them from web pages and save them with a
 * byte-order mark. What cannot change a right result is taken and noted; what makes the
 * text meaningless (UTF-16, NUL bytes, another encoding) is an error with its line. */
#include "lists_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"

void oc_list_place(struct oc_finding *f, const char *flag, uint32_t line, uint32_t entry)
{
  f->flag = flag;
  f->line = line;
  f->entry = entry;
}

void oc_list_note(struct oc_findings *fs, enum oc_finding_id id, const char *flag,
                  uint32_t n)
{
  char text[16];

  snprintf(text, sizeof text, "%u", n);
  oc_list_place(oc_finding_add(fs, id, flag, "n", text, NULL), flag, 0, 0);
}

const char *oc_list_show(struct oc_arena *a, struct oc_str s)
{
  const size_t most = 200;
  const char *text = s.len > most ? oc_arena_printf(a, "%.*s...", (int)most, s.p)
                                  : oc_arena_strndup(a, s.p, s.len);
  return text ? text : "";
}

bool oc_list_blank(struct oc_str s)
{
  return oc_str_trim(s).len == 0;
}

static bool is_utf16(const unsigned char *p, size_t len)
{
  if (len >= 2 && ((p[0] == 0xff && p[1] == 0xfe) || (p[0] == 0xfe && p[1] == 0xff)))
    return true;
  /* without a mark: every second byte of the beginning is zero */
  size_t even = 0, odd = 0, n = len < 64 ? len & ~(size_t)1 : 64;
  for (size_t i = 0; i < n; i += 2) {
    even += p[i] == 0;
    odd += p[i + 1] == 0;
  }
  return n >= 4 && (even == n / 2 || odd == n / 2);
}

static int check_text(const char *flag, struct oc_lines copy, struct oc_findings *fs)
{
  struct oc_str line;
  struct oc_str all = { copy.p, (size_t)(copy.end - copy.p) };

  if (oc_utf8_valid(all))
    return 0;
  while (oc_lines_next(&copy, &line)) {
    enum oc_finding_id id = OC_FINDING_LIST_NOT_UTF8;
    if (memchr(line.p, 0, line.len))
      id = OC_FINDING_LIST_NUL;
    else if (oc_utf8_valid(line) || oc_str_starts(oc_str_trim(line), "#"))
      continue; /* a comment may be in any encoding */
    oc_list_place(oc_finding_add(fs, id, flag, NULL), flag, copy.line, 0);
    return OC_E_FORMAT;
  }
  return 0;
}

int oc_lines_open(struct oc_lines *l, const char *flag, const void *bytes, size_t len,
                  unsigned flags, struct oc_findings *fs, bool *ret_bom)
{
  const char *begin = len > 0 ? bytes : ""; /* an empty file may have no bytes at all */
  char text[24];

  *l = (struct oc_lines){ .p = begin, .end = begin + len };
  *ret_bom = false;
  if (len > OC_MAX_LIST_BYTES) {
    snprintf(text, sizeof text, "%zu", len);
    oc_list_place(
        oc_finding_add(fs, OC_FINDING_LIST_TOO_LARGE, flag, "bytes", text, NULL), flag, 0,
        0);
    return OC_E_FORMAT;
  }
  if (flags & OC_LISTS_VENDOR)
    return 0;
  if (is_utf16(bytes, len)) {
    oc_list_place(oc_finding_add(fs, OC_FINDING_LIST_UTF16, flag, NULL), flag, 1, 0);
    return OC_E_FORMAT;
  }
  l->cut_at_cr = true;
  if (len >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0) {
    l->p += 3;
    *ret_bom = true;
  }
  return check_text(flag, *l, fs);
}

bool oc_lines_next(struct oc_lines *l, struct oc_str *ret)
{
  if (l->p == l->end)
    return false;
  const char *start = l->p;
  size_t left = (size_t)(l->end - start);
  const char *nl = memchr(start, '\n', left);
  const char *cr =
      l->cut_at_cr ? memchr(start, '\r', nl ? (size_t)(nl - start) : left) : NULL;

  if (cr && cr + 1 != nl && cr + 1 != l->end) {
    l->bare_cr = true;
    *ret = (struct oc_str){ start, (size_t)(cr - start) };
    l->p = cr + 1;
  } else if (nl) {
    *ret = (struct oc_str){ start, (size_t)((cr ? cr : nl) - start) };
    l->p = nl + 1;
  } else {
    *ret = (struct oc_str){ start, cr ? (size_t)(cr - start) : left };
    l->p = l->end;
    l->no_final_newline = !cr;
  }
  l->line++;
  return true;
}

size_t oc_lines_count(const struct oc_lines *l)
{
  size_t n = 1;

  for (const char *p = l->p; p < l->end; p++)
    n += *p == '\n' || (l->cut_at_cr && *p == '\r');
  return n;
}
