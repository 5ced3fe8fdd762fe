/* Small texts: sizes, durations, cells of a table, other people's strings. */
#include <string.h>

#include "base/str.h"
#include "render/render_internal.h"

int oc_render_size(uint64_t bytes, struct oc_buf *out)
{
  static const char *const units[] = { "B", "KB", "MB", "GB", "TB" };
  double value = (double)bytes;
  size_t unit = 0;

  while (value >= 1000 && unit + 1 < sizeof(units) / sizeof(units[0])) {
    value /= 1000;
    unit++;
  }
  return unit ? oc_buf_printf(out, "%.1f %s", value, units[unit])
              : oc_buf_printf(out, "%llu B", (unsigned long long)bytes);
}

int oc_render_duration(uint64_t ms, struct oc_buf *out)
{
  uint64_t s = ms / 1000;

  if (ms < 10000)
    return oc_buf_printf(out, "%.2f s", (double)ms / 1000);
  if (s < 60)
    return oc_buf_printf(out, "%.1f s", (double)ms / 1000);
  if (s < 3600)
    return oc_buf_printf(out, "%llu min %llu s", (unsigned long long)(s / 60),
                         (unsigned long long)(s % 60));
  return oc_buf_printf(out, "%llu h %llu min", (unsigned long long)(s / 3600),
                       (unsigned long long)(s / 60 % 60));
}

static bool is_control(unsigned char c)
{
  return c < 0x20 || c == 0x7f;
}

int oc_render_plain(const char *text, struct oc_buf *out)
{
  int rc = 0;

  while (*text && !rc) {
    size_t n = 0;

    while (text[n] && !is_control((unsigned char)text[n]))
      n++;
    rc = oc_buf_append(out, text, n);
    text += n;
    if (*text && !rc) {
      rc = oc_buf_putc(out, '?');
      text++;
    }
  }
  return rc;
}

static bool continues(char c)
{
  return ((unsigned char)c & 0xc0) == 0x80;
}

size_t oc_render_columns(const char *text)
{
  size_t n = 0;

  for (; *text; text++)
    n += !continues(*text);
  return n;
}

/* Columns from `from` up to `to`. */
static int some(const char *text, size_t from, size_t to, struct oc_buf *out)
{
  int rc = 0;

  for (size_t n = 0; *text && !rc; text++) {
    n += !continues(*text);
    if (n > from && n <= to)
      rc = oc_buf_putc(out, is_control((unsigned char)*text) ? '?' : *text);
  }
  return rc;
}

int oc_render_cell(const char *text, size_t width, bool keep_end, struct oc_buf *out)
{
  size_t have = oc_render_columns(text);
  size_t take = have <= width ? have : width > 3 ? width - 3 : width;
  size_t front = keep_end && have > width ? take / 3 : take;
  int rc = some(text, 0, front, out);

  if (!rc && have > width && width > 3)
    rc = oc_buf_puts(out, "...");
  if (!rc)
    rc = some(text, have - (take - front), have, out);
  return rc || have >= width ? rc : oc_buf_fill(out, ' ', width - have);
}
