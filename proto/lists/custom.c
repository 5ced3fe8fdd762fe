/* The customize_dtypes file: dtypes per tensor position for an op or a type.
 *
 * The vendor's reader looks for its two keywords anywhere in the line, takes the text up
 * to the first colon as the name and skips one character behind a keyword, whatever it
 * is. One bad line makes the whole file invalid; a second line for the same key is
 * ignored. */
#include "lists_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const char flag[] = "customize_dtypes";
static const char prefix[] = "OpType::";
static const char in_word[] = "InputDtype";
static const char out_word[] = "OutputDtype";
/* The vendor reads lines into a buffer of this size and stops at the first that does not
 * fit. */
#define LINE_ROOM 1024u
#define WORD_ROOM 32u

struct reader {
  struct oc_arena *a;
  struct oc_findings *fs;
  struct oc_str line;
  uint32_t number;
};

static int bad_line(const struct reader *r, const char *why)
{
  oc_list_place(oc_finding_add(r->fs, OC_FINDING_CUSTOMIZE_SYNTAX,
                               oc_list_show(r->a, r->line), "why", why, NULL),
                flag, r->number, 0);
  return OC_E_FORMAT;
}

/* The word that a wrong one was meant to be. */
static const char *near_word(const char *word)
{
  static const struct {
    const char *wrong;
    const char *right;
  } rows[] = {
    { "fp16", "float16" },   { "f16", "float16" },      { "half", "float16" },
    { "fp32", "float32" },   { "f32", "float32" },      { "bf16", "bfloat16" },
    { "float64", "double" }, { "fp64", "double" },      { "dt_float16", "float16" },
    { "dt_float", "float" }, { "dt_bf16", "bfloat16" }, { "int", "int32" },
    { "hif8", "hifloat8" },
  };
  static const char *const words[] = { "float16", "float32", "bfloat16", "double",
                                       "int8",    "int16",   "int32",    "int64",
                                       "uint8",   "uint16",  "uint32",   "uint64",
                                       "bool",    "hifloat8" };

  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (oc_streq(rows[i].wrong, word))
      return rows[i].right;
  const char *near = oc_str_nearest(word, words, sizeof words / sizeof *words);
  return near ? near : "float16, float32, bfloat16 or another dtype word";
}

static bool dtype_word(struct oc_str w, enum oc_dtype *ret)
{
  char low[WORD_ROOM];

  if (w.len >= sizeof low)
    return false;
  for (size_t i = 0; i < w.len; i++)
    low[i] = (char)tolower((unsigned char)w.p[i]);
  low[w.len] = 0;
  /* the vendor's names have neither of these two */
  if (oc_streq(low, "float64") || oc_streq(low, "undefined"))
    return false;
  return oc_dtype_parse(oc_str_of(low), ret);
}

static int bad_dtype(const struct reader *r, struct oc_str w)
{
  const char *word = oc_list_show(r->a, w);
  char low[WORD_ROOM] = "";

  for (size_t i = 0; i < w.len && i + 1 < sizeof low; i++)
    low[i] = (char)tolower((unsigned char)w.p[i]);
  oc_list_place(oc_finding_add(r->fs, OC_FINDING_CUSTOMIZE_DTYPE, word, "near",
                               near_word(low), NULL),
                flag, r->number, 0);
  return bad_line(r, "a word in it is not a dtype");
}

/* "float16,,int32": items trimmed, an empty one does not care. */
static int read_list(const struct reader *r, struct oc_str s, const enum oc_dtype **ret,
                     uint32_t *ret_n)
{
  uint32_t n = 1;

  for (size_t i = 0; i < s.len; i++)
    n += s.p[i] == ',';
  enum oc_dtype *list = OC_NEW_N(r->a, enum oc_dtype, n);
  if (!list)
    return OC_E_NOMEM;
  const char *p = s.p, *end = s.p + s.len;
  for (uint32_t i = 0; i < n; i++) {
    const char *comma = memchr(p, ',', (size_t)(end - p));
    const char *stop = comma ? comma : end;
    struct oc_str w = oc_str_trim((struct oc_str){ p, (size_t)(stop - p) });
    if (w.len && !dtype_word(w, &list[i]))
      return bad_dtype(r, w);
    p = comma ? comma + 1 : end;
  }
  *ret = list;
  *ret_n = n;
  return 0;
}

static const char *find(struct oc_str s, const char *word)
{
  return s.len ? memmem(s.p, s.len, word, strlen(word)) : NULL;
}

/* The list behind a keyword: one character is skipped, then up to `stop`. */
static int keyword_list(const struct reader *r, struct oc_str body, const char *at,
                        size_t word_len, const char *stop, const enum oc_dtype **ret,
                        uint32_t *ret_n)
{
  const char *end = body.p + body.len;
  const char *from = at + word_len + 1;

  if (from > end)
    return bad_line(r, "nothing follows the keyword");
  if (!stop || stop < from)
    stop = end;
  return read_list(r, (struct oc_str){ from, (size_t)(stop - from) }, ret, ret_n);
}

static int read_line(const struct reader *r, struct oc_custom_entry *e)
{
  struct oc_str body = r->line;

  struct oc_str shown = oc_str_trim(r->line);

  /* blanks in front stay: behind them `OpType::` is no prefix */
  shown = (struct oc_str){ r->line.p, (size_t)(shown.p + shown.len - r->line.p) };
  *e = (struct oc_custom_entry){ .text = shown, .line = r->number };
  if (oc_str_starts(body, prefix)) {
    e->by_type = true;
    body.p += sizeof prefix - 1;
    body.len -= sizeof prefix - 1;
  }
  body = oc_str_trim(body);
  const char *colon = body.len ? memchr(body.p, ':', body.len) : NULL;
  bool named = colon && colon > body.p;
  const char *in = find(body, in_word);
  const char *out = find(body, out_word);
  if (!in && !out && named)
    return bad_line(r, "neither InputDtype nor OutputDtype is in it");
  if (in && out && out < in)
    return bad_line(r, "InputDtype must come first");
  /* The vendor reads the words of a line without a name, too, and tells of a wrong one.
   */
  int rc = 0;
  if (in)
    rc = keyword_list(r, body, in, sizeof in_word - 1, out, &e->inputs, &e->n_inputs);
  if (!rc && out)
    rc =
        keyword_list(r, body, out, sizeof out_word - 1, NULL, &e->outputs, &e->n_outputs);
  if (!rc && !named)
    rc = bad_line(r, colon ? "the name is empty" : "no ':' after the name");
  if (!rc)
    e->name = (struct oc_str){ body.p, (size_t)(colon - body.p) };
  return rc;
}

static int enter(struct oc_custom_list *l, struct oc_custom_entry *e,
                 const struct reader *r)
{
  struct oc_map *m = e->by_type ? &l->by_type : &l->by_name;

  if (oc_map_has(m, e->name)) {
    e->ignored = true;
    oc_list_place(oc_finding_add(r->fs, OC_FINDING_CUSTOMIZE_TWICE,
                                 oc_list_show(r->a, e->name), NULL),
                  flag, e->line, l->n + 1);
    return 0;
  }
  return oc_map_put(m, e->name, e);
}

static void too_long(const struct reader *r)
{
  char text[24];

  snprintf(text, sizeof text, "%zu", r->line.len);
  oc_list_place(
      oc_finding_add(r->fs, OC_FINDING_CUSTOMIZE_LONG_LINE, flag, "bytes", text, NULL),
      flag, r->number, 0);
}

static int read_all(struct oc_custom_list *l, struct reader *r, struct oc_lines *lines,
                    unsigned flags)
{
  bool vendor = flags & OC_LISTS_VENDOR;

  while (oc_lines_next(lines, &r->line)) {
    struct oc_custom_entry *e = &l->entries[l->n];
    bool comment = !vendor && oc_str_starts(oc_str_trim(r->line), "#");
    r->number = lines->line;
    if (r->line.len >= LINE_ROOM) {
      too_long(r);
      break;
    }
    if ((!vendor && oc_list_blank(r->line)) ||
        (comment && !find(r->line, in_word) && !find(r->line, out_word))) {
      l->n_blank_lines += !comment;
      l->n_comments += comment;
      continue;
    }
    int rc = read_line(r, e);
    if (!rc)
      rc = enter(l, e, r);
    if (rc)
      return rc;
    e->comment = comment;
    l->n++;
  }
  return 0;
}

int oc_custom_parse(struct oc_arena *a, const void *bytes, size_t len, unsigned flags,
                    struct oc_findings *fs, struct oc_custom_list **ret)
{
  struct oc_custom_list *l = OC_NEW(a, struct oc_custom_list);
  struct reader r = { .a = a, .fs = fs };
  struct oc_lines lines;
  bool bom;

  if (!l)
    return OC_E_NOMEM;
  int rc = oc_lines_open(&lines, flag, bytes, len, flags, fs, &bom);
  if (rc)
    return rc;
  l->entries = OC_NEW_N(a, struct oc_custom_entry, oc_lines_count(&lines));
  if (!l->entries)
    return OC_E_NOMEM;
  rc = read_all(l, &r, &lines, flags);
  if (rc) {
    oc_custom_clear(l);
    return rc;
  }
  if (bom)
    oc_list_note(fs, OC_FINDING_LIST_BOM, flag, 1);
  if (l->n_blank_lines)
    oc_list_note(fs, OC_FINDING_LIST_BLANK_LINES, flag, l->n_blank_lines);
  if (l->n_comments)
    oc_list_note(fs, OC_FINDING_LIST_COMMENTS, flag, l->n_comments);
  *ret = l;
  return 0;
}

void oc_custom_clear(struct oc_custom_list *l)
{
  if (!l)
    return;
  oc_map_clear(&l->by_name);
  oc_map_clear(&l->by_type);
}

const struct oc_custom_entry *oc_custom_find(const struct oc_custom_list *l,
                                             const char *name, const char *type)
{
  if (!l)
    return NULL;
  const struct oc_custom_entry *e = oc_map_gets(&l->by_name, name);
  return e ? e : oc_map_gets(&l->by_type, type);
}

int oc_custom_canonical(const struct oc_custom_list *l, struct oc_buf *out)
{
  for (uint32_t i = 0; i < l->n; i++) {
    oc_buf_append(out, l->entries[i].text.p, l->entries[i].text.len);
    oc_buf_putc(out, '\n');
  }
  return out->failed ? OC_E_NOMEM : 0;
}
