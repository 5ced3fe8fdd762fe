/* Words inside one scalar: names, dtype codes with run lengths, layout names.
 *
 * One scalar per tensor keeps the files short to read and quick to load: the YAML parser
 * costs per event, this scanner per byte. */
#include "optable_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int oc_read_fail(const struct oc_read *r, uint32_t line, const char *fmt, ...)
{
  char text[160];
  va_list ap;

  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  return oc_error_set(r->err, OC_E_FORMAT, "'%s' line %u: %s", r->name, line, text);
}

struct oc_str oc_word_next(const char **p)
{
  const char *s = *p;
  while (*s == ' ')
    s++;
  const char *e = s;
  while (*e && *e != ' ')
    e++;
  *p = e;
  return (struct oc_str){ s, (size_t)(e - s) };
}

const char *oc_word_keep(const struct oc_read *r, struct oc_str w)
{
  return oc_arena_strndup(&r->t->arena, w.p, w.len);
}

int oc_cells_dtypes(const struct oc_read *r, uint32_t line, const char *p, uint8_t *out,
                    uint32_t room)
{
  uint32_t n = 0;

  for (;;) {
    struct oc_str w = oc_word_next(&p);
    if (!w.len)
      return (int)n;
    uint64_t times = 1;
    const char *star = memchr(w.p, '*', w.len);
    if (star) {
      struct oc_str digits = { star + 1, w.len - (size_t)(star + 1 - w.p) };
      if (!oc_str_to_u64(digits, &times) || !times || times > OC_MAX_COLUMNS)
        return oc_read_fail(r, line, "'%.*s' is not a repeated dtype", (int)w.len, w.p);
      w.len = (size_t)(star - w.p);
    }
    enum oc_dtype d;
    if (!oc_dtype_parse_short(w, &d))
      return oc_read_fail(r, line, "'%.*s' is not a dtype", (int)w.len, w.p);
    if (times > room - n)
      return oc_read_fail(r, line, "more than %u columns", OC_MAX_COLUMNS);
    memset(out + n, d, times);
    n += (uint32_t)times;
  }
}

static const struct {
  const char *name;
  enum oc_layout bit;
} layouts[] = {
  { "nchw4d", OC_LAYOUT_NCHW4D },
  { "nhwc4d", OC_LAYOUT_NHWC4D },
  { "nd2d", OC_LAYOUT_ND2D },
  { "nd3d", OC_LAYOUT_ND3D },
  { "ncdhw5d", OC_LAYOUT_NCDHW5D },
  { "ndhwc5d", OC_LAYOUT_NDHWC5D },
  { "unknown_dims", OC_LAYOUT_UNKNOWN_DIMS },
  { "unknown_rank", OC_LAYOUT_UNKNOWN_RANK },
  { "any", OC_LAYOUT_ANY },
};

int oc_cells_layouts(const struct oc_read *r, uint32_t line, const char *p)
{
  int bits = 0;

  for (;;) {
    struct oc_str w = oc_word_next(&p);
    if (!w.len)
      return bits;
    size_t i = 0;
    while (i < sizeof layouts / sizeof *layouts && !oc_str_is(w, layouts[i].name))
      i++;
    if (i == sizeof layouts / sizeof *layouts)
      return oc_read_fail(r, line, "'%.*s' is not a layout", (int)w.len, w.p);
    bits |= (int)layouts[i].bit;
  }
}

bool oc_word_in(const char *list, const char *word)
{
  if (oc_streq(list, "*"))
    return true;
  for (;;) {
    struct oc_str w = oc_word_next(&list);
    if (!w.len)
      return false;
    if (oc_str_is(w, word))
      return true;
  }
}
