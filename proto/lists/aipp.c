/* Protobuf's text format, as far as AIPP files use it: blocks `aipp_op { ... }` of
 * `name: value`, comments from '#' on, commas and semicolons between fields, any blanks
 * and line ends. One token at a time; a mistake ends the reading of its block's field
 * with a finding that has the line, so that all fields' mistakes are told at once. */
#include "lists/aipp.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "lists_internal.h"

#define FLAG "insert_op_conf"
/* A file holds one block per input. */
#define MOST_OPS    64
#define MOST_NUMBER 64

static const struct {
  const char *name;
  enum oc_aipp_kind kind;
} fields[] = {
#define X(name, kind) { #name, OC_AIPP_##kind },
  OC_AIPP_FIELDS(X)
#undef X
};

static const char *const formats[OC_AIPP_N_FORMATS] = {
  "UNDEFINED",      "YUV420SP_U8",  "XRGB8888_U8", "RGB888_U8", "YUV400_U8",
  "NC1HWC0DI_FP16", "NC1HWC0DI_S8", "ARGB8888_U8", "YUYV_U8",   "YUV422SP_U8",
  "AYUV444_U8",     "RAW10",        "RAW12",       "RAW16",     "RAW24",
};
static const char *const modes[] = { "undefined", "static", "dynamic" };

const char *oc_aipp_format_name(enum oc_aipp_format f)
{
  return formats[f];
}

const char *oc_aipp_field_name(enum oc_aipp_field f)
{
  return fields[f].name;
}

enum oc_aipp_kind oc_aipp_field_kind(enum oc_aipp_field f)
{
  return fields[f].kind;
}

struct reading {
  struct oc_arena *arena;
  struct oc_findings *fs;
  const char *p, *end;
  uint32_t line;
  struct oc_str word; /* the token at hand, empty at the end */
  uint32_t word_line;
  bool bad;
};

static void complain(struct reading *r, enum oc_finding_id id, struct oc_str subject,
                     const char *name, const char *value)
{
  oc_list_place(
      oc_finding_add(r->fs, id, oc_list_show(r->arena, subject), name, value, NULL), FLAG,
      r->word_line, 0);
  r->bad = true;
}

static bool is_word(char c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         c == '_' || c == '.' || c == '-' || c == '+';
}

/* Words, or one sign. */
static void next(struct reading *r)
{
  while (r->p < r->end) {
    if (*r->p == '#')
      while (r->p < r->end && *r->p != '\n')
        r->p++;
    else if (*r->p == '\n')
      r->line++, r->p++;
    else if (strchr(" \t\r\v\f,;", *r->p))
      r->p++;
    else
      break;
  }
  const char *start = r->p;
  while (r->p < r->end && is_word(*r->p))
    r->p++;
  if (r->p == start && r->p < r->end)
    r->p++;
  r->word = (struct oc_str){ start, (size_t)(r->p - start) };
  r->word_line = r->line;
}

static bool by_name(struct oc_str word, const char *const *names, size_t n, int64_t *ret)
{
  for (size_t i = 0; i < n; i++)
    if (oc_str_is(word, names[i])) {
      *ret = (int64_t)i;
      return true;
    }
  return false;
}

static bool is_float(struct oc_str word, double *ret)
{
  char text[MOST_NUMBER], *end;

  if (word.len == 0 || word.len >= sizeof text)
    return false;
  memcpy(text, word.p, word.len);
  text[word.len] = '\0';
  if (text[word.len - 1] == 'f')
    text[word.len - 1] = '\0';
  *ret = strtod(text, &end);
  return *end == '\0' && end != text && isfinite(*ret);
}

/* What the kind takes, for the finding; NULL when the word is such a value. */
static const char *take(enum oc_aipp_kind kind, struct oc_str word,
                        struct oc_aipp_value *v)
{
  switch (kind) {
  case OC_AIPP_INT:
    return oc_str_to_i64(word, &v->i) && v->i >= INT32_MIN && v->i <= INT32_MAX
               ? NULL
               : "a whole number";
  case OC_AIPP_UINT:
    return oc_str_to_i64(word, &v->i) && v->i >= 0 && v->i <= UINT32_MAX
               ? NULL
               : "a whole number from 0 on";
  case OC_AIPP_FLOAT: return is_float(word, &v->f) ? NULL : "a number";
  case OC_AIPP_BOOL:
    v->i = oc_str_is(word, "true") || oc_str_is(word, "1") || oc_str_is(word, "t");
    return v->i || oc_str_is(word, "false") || oc_str_is(word, "0") ||
                   oc_str_is(word, "f")
               ? NULL
               : "true or false";
  case OC_AIPP_MODE:
    return by_name(word, modes, 3, &v->i) && v->i ? NULL : "static or dynamic";
  case OC_AIPP_FORMAT:
    return by_name(word, formats, OC_AIPP_N_FORMATS, &v->i) && v->i
               ? NULL
               : "a format such as YUV420SP_U8, XRGB8888_U8, RGB888_U8 or YUV400_U8";
  }
  return NULL;
}

static const char *nearest_field(struct reading *r, struct oc_str word)
{
  const char *names[OC_AIPP_N_FIELDS];

  for (size_t i = 0; i < OC_AIPP_N_FIELDS; i++)
    names[i] = fields[i].name;
  const char *near =
      oc_str_nearest(oc_list_show(r->arena, word), names, OC_AIPP_N_FIELDS);
  return near ? near : "aipp_mode";
}

/* `name: value`, the name being at hand. False when the file cannot be read on. */
static bool read_field(struct reading *r, struct oc_aipp_op *op)
{
  struct oc_str name = r->word;
  uint32_t line = r->word_line;
  size_t f = 0;

  while (f < OC_AIPP_N_FIELDS && !oc_str_is(name, fields[f].name))
    f++;
  if (f == OC_AIPP_N_FIELDS)
    complain(r, OC_FINDING_AIPP_FIELD, name, "nearest", nearest_field(r, name));
  next(r);
  if (!oc_str_is(r->word, ":")) {
    complain(r, OC_FINDING_AIPP_SYNTAX, name, "why", "a ':' is expected behind it");
    return false;
  }
  next(r);
  if (r->word.len == 0 || !is_word(r->word.p[0])) {
    complain(r, OC_FINDING_AIPP_SYNTAX, name, "why", "a value is expected behind ':'");
    return false;
  }
  if (f < OC_AIPP_N_FIELDS) {
    struct oc_aipp_value v = { .line = line };
    const char *wanted = take(fields[f].kind, r->word, &v);
    if (wanted)
      complain(r, OC_FINDING_AIPP_VALUE, name, "why",
               oc_arena_printf(r->arena, "'%s' is not %s",
                               oc_list_show(r->arena, r->word), wanted));
    else if (op->v[f].line)
      complain(r, OC_FINDING_AIPP_VALUE, name, "why", "it is given twice");
    op->v[f] = v;
  }
  next(r);
  return true;
}

static bool read_block(struct reading *r, struct oc_aipp_op *op)
{
  op->line = r->word_line;
  next(r);
  if (oc_str_is(r->word, ":"))
    next(r);
  if (!oc_str_is(r->word, "{")) {
    complain(r, OC_FINDING_AIPP_SYNTAX, oc_str_of("aipp_op"), "why",
             "a '{' is expected behind it");
    return false;
  }
  next(r);
  while (!oc_str_is(r->word, "}")) {
    if (r->word.len == 0 || !is_word(r->word.p[0])) {
      complain(r, OC_FINDING_AIPP_SYNTAX,
               r->word.len ? r->word : oc_str_of("the end of the file"), "why",
               "a field or '}' is expected");
      return false;
    }
    if (!read_field(r, op))
      return false;
  }
  next(r);
  return true;
}

int oc_aipp_parse(struct oc_arena *arena, const void *bytes, size_t len,
                  struct oc_findings *fs, struct oc_aipp_list *ret)
{
  struct reading r = { .arena = arena, .fs = fs, .line = 1 };
  struct oc_aipp_list list = { .ops = OC_NEW_N(arena, struct oc_aipp_op, MOST_OPS) };
  struct oc_lines lines;
  bool bom;
  int rc = oc_lines_open(&lines, FLAG, bytes, len, 0, fs, &bom);

  if (rc < 0)
    return rc;
  if (!list.ops)
    return OC_E_NOMEM;
  r.p = lines.p;
  r.end = lines.end;
  next(&r);
  for (bool on = true; on && r.word.len;) {
    if (!oc_str_is(r.word, "aipp_op")) {
      complain(&r, OC_FINDING_AIPP_SYNTAX, r.word, "why",
               "a block 'aipp_op' is expected");
      break;
    }
    if (list.n == MOST_OPS) {
      complain(&r, OC_FINDING_AIPP_SYNTAX, r.word, "why", "there are too many blocks");
      break;
    }
    on = read_block(&r, &list.ops[list.n++]);
  }
  if (!r.bad && list.n == 0)
    complain(&r, OC_FINDING_AIPP_SYNTAX, oc_str_of("the end of the file"), "why",
             "a block 'aipp_op' is expected");
  if (r.bad)
    return OC_E_FORMAT;
  *ret = list;
  return 0;
}
