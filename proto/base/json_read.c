/* A JSON reader that does not call itself: open arrays and objects stand on an explicit
 * stack of fixed depth, and each step of the loop looks at the innermost one and does one
 * thing: close it, take a comma, or read one member into it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

/* The deepest documents we read have under ten levels. */
#define MAX_DEPTH 128u

enum place { AT_START, AFTER_VALUE, AFTER_COMMA };

struct level {
  struct oc_json *node;
  struct oc_json *last;
  enum place place;
};

struct reader {
  const char *p;
  const char *end;
  const char *line_start;
  uint32_t line;
  unsigned flags;
  unsigned depth;
  struct oc_arena *arena;
  struct oc_error *err;
  struct level stack[MAX_DEPTH];
};

static uint32_t column(const struct reader *r)
{
  return (uint32_t)(r->p - r->line_start) + 1;
}

static int fail(struct reader *r, const char *what)
{
  return oc_error_set(r->err, OC_E_FORMAT, "line %u, column %u: %s", r->line, column(r),
                      what);
}

static int no_memory(struct reader *r)
{
  return oc_error_set(r->err, OC_E_NOMEM, "line %u: the text needs too much memory",
                      r->line);
}

static void skip_blanks(struct reader *r)
{
  for (; r->p < r->end; r->p++) {
    if (*r->p == '\n') {
      r->line++;
      r->line_start = r->p + 1;
    } else if (*r->p != ' ' && *r->p != '\t' && *r->p != '\r') {
      return;
    }
  }
}

static bool at(const struct reader *r, char c)
{
  return r->p < r->end && *r->p == c;
}

/* ------------------------------------------------------------------ strings */

static bool read_hex4(struct reader *r, unsigned *ret)
{
  uint8_t bytes[2];
  char digits[5] = { 0 };

  if (r->end - r->p < 4)
    return false;
  memcpy(digits, r->p, 4);
  if (!oc_unhex(digits, bytes, 2))
    return false;
  r->p += 4;
  *ret = (unsigned)bytes[0] << 8 | bytes[1];
  return true;
}

static char *put_utf8(char *to, unsigned code)
{
  if (code < 0x80) {
    *to++ = (char)code;
  } else if (code < 0x800) {
    *to++ = (char)(0xc0 | code >> 6);
    *to++ = (char)(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    *to++ = (char)(0xe0 | code >> 12);
    *to++ = (char)(0x80 | (code >> 6 & 0x3f));
    *to++ = (char)(0x80 | (code & 0x3f));
  } else {
    *to++ = (char)(0xf0 | code >> 18);
    *to++ = (char)(0x80 | (code >> 12 & 0x3f));
    *to++ = (char)(0x80 | (code >> 6 & 0x3f));
    *to++ = (char)(0x80 | (code & 0x3f));
  }
  return to;
}

/* Behind "\u": one code point, which may be a pair of surrogates. */
static int read_unicode(struct reader *r, char **to)
{
  unsigned code = 0;
  unsigned low = 0;

  if (!read_hex4(r, &code))
    return fail(r, "'\\u' needs four hex digits");
  if (!code)
    return fail(r, "a string must not hold NUL");
  if (code >= 0xd800 && code <= 0xdfff) {
    if (code >= 0xdc00 || r->end - r->p < 2 || r->p[0] != '\\' || r->p[1] != 'u')
      return fail(r, "half of a surrogate pair");
    r->p += 2;
    if (!read_hex4(r, &low) || low < 0xdc00 || low > 0xdfff)
      return fail(r, "half of a surrogate pair");
    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
  }
  *to = put_utf8(*to, code);
  return 0;
}

static int read_escape(struct reader *r, char **to)
{
  static const char letters[] = "\"\\/bfnrt";
  static const char values[] = "\"\\/\b\f\n\r\t";
  char c = *r->p;
  const char *found = c ? strchr(letters, c) : NULL;

  if (c != 'u' && !found)
    return fail(r, "unknown escape in a string");
  r->p++;
  if (c == 'u')
    return read_unicode(r, to);
  *(*to)++ = values[found - letters];
  return 0;
}

/* The closing quote of the string whose text begins at r->p, or NULL. */
static const char *find_quote(const struct reader *r)
{
  for (const char *p = r->p; p < r->end; p++) {
    if (*p == '"')
      return p;
    if (*p == '\\')
      p++;
  }
  return NULL;
}

/* At the opening quote. The decoded text is never longer than the raw one. */
static int read_string(struct reader *r, struct oc_str *ret)
{
  r->p++;
  const char *quote = find_quote(r);
  if (!quote)
    return fail(r, "a string does not end");
  struct oc_str raw = { r->p, (size_t)(quote - r->p) };
  if (memchr(raw.p, '\0', raw.len))
    return fail(r, "a string must not hold NUL");
  if (!oc_utf8_valid(raw))
    return fail(r, "a string is not valid UTF-8");
  char *text = oc_arena_alloc(r->arena, raw.len + 1);
  if (!text)
    return no_memory(r);

  char *to = text;
  while (r->p < quote) {
    unsigned char c = (unsigned char)*r->p;
    if (c < 0x20)
      return fail(r, "a control character in a string (write it as an escape)");
    r->p++;
    if (c != '\\') {
      *to++ = (char)c;
    } else {
      int rc = read_escape(r, &to);
      if (rc < 0)
        return rc;
    }
  }
  r->p++;
  *to = '\0';
  *ret = (struct oc_str){ text, (size_t)(to - text) };
  return 0;
}

/* ------------------------------------------------------------------ scalars */

static size_t digits(const struct reader *r, const char *p)
{
  size_t n = 0;

  while (p + n < r->end && p[n] >= '0' && p[n] <= '9')
    n++;
  return n;
}

static int read_number(struct reader *r, struct oc_json *v)
{
  const char *p = r->p;

  p += *p == '-';
  size_t n = digits(r, p);
  if (!n || (n > 1 && *p == '0'))
    return fail(r, n ? "a number must not begin with 0" : "a value is expected here");
  p += n;
  if (p < r->end && *p == '.') {
    n = digits(r, p + 1);
    if (!n)
      return fail(r, "a number needs digits behind the point");
    p += n + 1;
  }
  if (p < r->end && (*p == 'e' || *p == 'E')) {
    p++;
    p += p < r->end && (*p == '+' || *p == '-');
    n = digits(r, p);
    if (!n)
      return fail(r, "a number needs digits in its exponent");
    p += n;
  }
  size_t len = (size_t)(p - r->p);
  char *text = oc_arena_strndup(r->arena, r->p, len);
  if (!text)
    return no_memory(r);
  v->kind = OC_JSON_NUMBER;
  v->text = (struct oc_str){ text, len };
  r->p = p;
  return 0;
}

static bool take_word(struct reader *r, const char *word)
{
  struct oc_str rest = { r->p, (size_t)(r->end - r->p) };

  if (!oc_str_starts(rest, word))
    return false;
  r->p += strlen(word);
  return true;
}

static int read_word(struct reader *r, struct oc_json *v)
{
  if (take_word(r, "null")) {
    v->kind = OC_JSON_NULL;
  } else if (take_word(r, "true")) {
    v->kind = OC_JSON_BOOL;
    v->boolean = true;
  } else if (take_word(r, "false")) {
    v->kind = OC_JSON_BOOL;
  } else {
    return fail(r, "a value is expected here");
  }
  return 0;
}

/* ---------------------------------------------------------------- structure */

static int open_container(struct reader *r, struct oc_json *v)
{
  if (r->depth == MAX_DEPTH)
    return fail(r, "nested too deeply");
  v->kind = *r->p == '{' ? OC_JSON_OBJECT : OC_JSON_ARRAY;
  r->p++;
  r->stack[r->depth++] = (struct level){ .node = v };
  return 0;
}

static int read_value(struct reader *r, struct oc_json **ret)
{
  skip_blanks(r);
  struct oc_json *v = OC_NEW(r->arena, struct oc_json);
  if (!v)
    return no_memory(r);
  v->line = r->line;
  v->column = column(r);
  *ret = v;
  if (r->p == r->end)
    return fail(r, "the text ends where a value is expected");
  switch (*r->p) {
  case '{':
  case '[': return open_container(r, v);
  case '"': v->kind = OC_JSON_STRING; return read_string(r, &v->text);
  case 'n':
  case 't':
  case 'f': return read_word(r, v);
  default: return read_number(r, v);
  }
}

static int read_key(struct reader *r, const char **ret)
{
  struct oc_str key = { 0 };

  if (!at(r, '"'))
    return fail(r, "a member's name in double quotes is expected here");
  int rc = read_string(r, &key);
  if (rc < 0)
    return rc;
  skip_blanks(r);
  if (!at(r, ':'))
    return fail(r, "':' is expected here");
  r->p++;
  *ret = key.p;
  return 0;
}

static int read_member(struct reader *r, struct level *top)
{
  struct oc_json *v = NULL;
  const char *key = NULL;
  int rc = top->node->kind == OC_JSON_OBJECT ? read_key(r, &key) : 0;

  if (rc < 0)
    return rc;
  top->place = AFTER_VALUE;
  rc = read_value(r, &v);
  if (rc < 0)
    return rc;
  v->key = key;
  if (top->last)
    top->last->next = v;
  else
    top->node->first = v;
  top->last = v;
  top->node->n++;
  return 0;
}

static int step(struct reader *r)
{
  struct level *top = &r->stack[r->depth - 1];
  bool object = top->node->kind == OC_JSON_OBJECT;

  skip_blanks(r);
  if (r->p == r->end)
    return fail(r, object ? "the text ends inside an object"
                          : "the text ends inside an array");
  if (at(r, object ? '}' : ']')) {
    if (top->place == AFTER_COMMA && !(r->flags & OC_JSON_TRAILING_COMMAS))
      return fail(r, "a comma without a value behind it");
    r->p++;
    r->depth--;
    return 0;
  }
  if (top->place != AFTER_VALUE)
    return read_member(r, top);
  if (!at(r, ','))
    return fail(r,
                object ? "',' or '}' is expected here" : "',' or ']' is expected here");
  r->p++;
  top->place = AFTER_COMMA;
  return 0;
}

int oc_json_parse(const char *text, size_t len, unsigned flags, struct oc_arena *arena,
                  struct oc_json **ret, struct oc_error *err)
{
  struct reader r = { .p = text,
                      .end = text + len,
                      .line_start = text,
                      .line = 1,
                      .flags = flags,
                      .arena = arena,
                      .err = err };
  struct oc_json *root = NULL;
  int rc = read_value(&r, &root);

  while (rc == 0 && r.depth)
    rc = step(&r);
  if (rc < 0)
    return rc;
  skip_blanks(&r);
  if (r.p < r.end && !(flags & OC_JSON_ALLOW_REST))
    return fail(&r, "text behind the end of the value");
  *ret = root;
  return 0;
}

/* ------------------------------------------------------------------ looking */

const struct oc_json *oc_json_get(const struct oc_json *v, const char *key)
{
  if (!v || v->kind != OC_JSON_OBJECT)
    return NULL;
  for (const struct oc_json *m = v->first; m; m = m->next) {
    if (!strcmp(m->key, key))
      return m;
  }
  return NULL;
}

const char *oc_json_string(const struct oc_json *v, const char *other)
{
  return v && v->kind == OC_JSON_STRING ? v->text.p : other;
}

bool oc_json_bool(const struct oc_json *v, bool other)
{
  return v && v->kind == OC_JSON_BOOL ? v->boolean : other;
}

bool oc_json_i64(const struct oc_json *v, int64_t *ret)
{
  return v && v->kind == OC_JSON_NUMBER && oc_str_to_i64(v->text, ret);
}

bool oc_json_f64(const struct oc_json *v, double *ret)
{
  if (!v || v->kind != OC_JSON_NUMBER)
    return false;
  *ret = strtod(v->text.p, NULL);
  return true;
}
