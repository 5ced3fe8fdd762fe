/* Arguments of findings that are prose: the daemon words them in English, a reader of
 * Chinese gets them in Chinese (phrase_list.c). */
#include <string.h>

#include "base/str.h"
#include "render/render_internal.h"

#define MOST_VALUES 4

/* The values behind '%' when the text is this phrase. */
static bool fits(const char *pattern, const char *text, struct oc_str *values)
{
  unsigned n = 0;

  for (;;) {
    size_t len = strcspn(pattern, "%");
    if (strncmp(pattern, text, len) != 0)
      return false;
    text += len;
    if (!pattern[len])
      return !*text;
    pattern += len + 1;
    size_t next = strcspn(pattern, "%");
    const char *end = next ? memmem(text, strlen(text), pattern, next) : NULL;
    if (!next)
      end = text + strlen(text);
    if (!end || n == MOST_VALUES)
      return false;
    values[n++] = (struct oc_str){ text, (size_t)(end - text) };
    text = end;
  }
}

int oc_render_phrase(const char *text, struct oc_buf *out)
{
  struct oc_str values[MOST_VALUES];
  unsigned at = 0;
  int rc = 0;

  for (size_t i = 0; i < oc_render_n_phrases; i++) {
    if (!fits(oc_render_phrases[i].en, text, values))
      continue;
    for (const char *p = oc_render_phrases[i].zh; *p && !rc; p++) {
      if (*p != '%') {
        rc = oc_buf_putc(out, *p);
        continue;
      }
      rc = oc_buf_append(out, values[at].p, values[at].len);
      at++;
    }
    return rc;
  }
  return oc_buf_puts(out, text);
}
