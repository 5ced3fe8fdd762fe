/* The writer keeps one bit (is a comma due) and the depth; everything else is in the
 * buffer. What is not UTF-8 (names in models may be any bytes) becomes U+FFFD, so that
 * the output is JSON whatever the input was. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

#define REPLACEMENT "\xef\xbf\xbd"

void oc_json_writer_init(struct oc_json_writer *w, struct oc_buf *out, bool pretty)
{
  *w = (struct oc_json_writer){ .out = out, .pretty = pretty };
}

static void new_line(struct oc_json_writer *w)
{
  if (!w->pretty)
    return;
  oc_buf_putc(w->out, '\n');
  oc_buf_fill(w->out, ' ', (size_t)w->depth * 2);
}

/* Bytes of the well-formed character at `p`, 0 when there is none. */
static size_t character(const char *p, size_t left)
{
  for (size_t n = 1; n <= 4 && n <= left; n++) {
    if (oc_utf8_valid((struct oc_str){ p, n }))
      return n;
  }
  return 0;
}

static void put_escaped(struct oc_buf *out, unsigned char c)
{
  static const char plain[] = "\"\\\b\f\n\r\t";
  static const char letters[] = "\"\\bfnrt";
  const char *found = c ? strchr(plain, c) : NULL;

  if (found)
    oc_buf_printf(out, "\\%c", letters[found - plain]);
  else
    oc_buf_printf(out, "\\u%04x", c);
}

static void put_quoted(struct oc_buf *out, struct oc_str s)
{
  oc_buf_putc(out, '"');
  for (size_t i = 0; i < s.len;) {
    unsigned char c = (unsigned char)s.p[i];
    size_t n = character(s.p + i, s.len - i);
    if (c < 0x20 || c == '"' || c == '\\')
      put_escaped(out, c);
    else if (n)
      oc_buf_append(out, s.p + i, n);
    else
      oc_buf_puts(out, REPLACEMENT);
    i += n ? n : 1;
  }
  oc_buf_putc(out, '"');
}

/* Comma, new line and name of the next member. */
static void before(struct oc_json_writer *w, const char *key)
{
  if (w->comma)
    oc_buf_putc(w->out, ',');
  if (w->depth)
    new_line(w);
  w->comma = true;
  if (key) {
    put_quoted(w->out, oc_str_of(key));
    oc_buf_puts(w->out, w->pretty ? ": " : ":");
  }
}

static void begin(struct oc_json_writer *w, const char *key, char open)
{
  before(w, key);
  oc_buf_putc(w->out, open);
  w->depth++;
  w->comma = false;
}

static void end(struct oc_json_writer *w, char close)
{
  bool empty = !w->comma;

  w->depth--;
  w->comma = true;
  if (!empty)
    new_line(w);
  oc_buf_putc(w->out, close);
  if (!w->depth && w->pretty)
    oc_buf_putc(w->out, '\n');
}

void oc_json_begin_object(struct oc_json_writer *w, const char *key)
{
  begin(w, key, '{');
}

void oc_json_end_object(struct oc_json_writer *w)
{
  end(w, '}');
}

void oc_json_begin_array(struct oc_json_writer *w, const char *key)
{
  begin(w, key, '[');
}

void oc_json_end_array(struct oc_json_writer *w)
{
  end(w, ']');
}

void oc_json_put_string(struct oc_json_writer *w, const char *key, const char *value)
{
  if (value)
    oc_json_put_str(w, key, oc_str_of(value));
  else
    oc_json_put_null(w, key);
}

void oc_json_put_str(struct oc_json_writer *w, const char *key, struct oc_str value)
{
  before(w, key);
  put_quoted(w->out, value);
}

void oc_json_put_i64(struct oc_json_writer *w, const char *key, int64_t value)
{
  before(w, key);
  oc_buf_printf(w->out, "%lld", (long long)value);
}

void oc_json_put_u64(struct oc_json_writer *w, const char *key, uint64_t value)
{
  before(w, key);
  oc_buf_printf(w->out, "%llu", (unsigned long long)value);
}

/* The shortest of 15 to 17 digits that reads back as the same number. */
void oc_json_put_f64(struct oc_json_writer *w, const char *key, double value)
{
  char text[40];

  if (!isfinite(value)) {
    oc_json_put_null(w, key);
    return;
  }
  for (int digits = 15; digits <= 17; digits++) {
    snprintf(text, sizeof(text), "%.*g", digits, value);
    if (strtod(text, NULL) == value)
      break;
  }
  before(w, key);
  oc_buf_puts(w->out, text);
}

void oc_json_put_bool(struct oc_json_writer *w, const char *key, bool value)
{
  before(w, key);
  oc_buf_puts(w->out, value ? "true" : "false");
}

void oc_json_put_null(struct oc_json_writer *w, const char *key)
{
  before(w, key);
  oc_buf_puts(w->out, "null");
}
