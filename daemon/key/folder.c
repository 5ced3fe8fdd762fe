/* A folder as one part: its list counts in full, and is shown with a line per file that a
 * person can compare. */
#include <string.h>

#include "base/str.h"
#include "key/key.h"

/* Names and digests of as many files as whoever walks allows. */
#define LIST_CAP (16u << 20)
/* Hex digits of a file's digest in the shown line. */
#define SHOWN_DIGITS 12

static void add_line(const struct oc_key_folder_entry *e, struct oc_buf *whole,
                     struct oc_buf *shown)
{
  char hex[OC_SHA256_TEXT];

  oc_hex(e->sha256, OC_SHA256_LEN, hex);
  if (e->folder) {
    oc_buf_printf(whole, "%s/\n", e->name);
    oc_buf_printf(shown, "%s/\n", e->name);
  } else {
    oc_buf_printf(whole, "%s %s\n", hex, e->name);
    oc_buf_printf(shown, "%s (sha256 %.*s)\n", e->name, SHOWN_DIGITS, hex);
  }
}

int oc_key_add_folder(struct oc_key_parts *ps, const char *name,
                      const struct oc_key_folder *f)
{
  struct oc_buf whole, shown;

  oc_buf_init(&whole, LIST_CAP);
  oc_buf_init(&shown, LIST_CAP);
  for (size_t i = 0; i < f->n; i++)
    add_line(&f->entries[i], &whole, &shown);
  int rc = whole.failed || shown.failed
               ? OC_E_NOMEM
               : oc_key_add_content(ps, name, shown.data, shown.len);
  if (rc == 0)
    rc = oc_sha256_bytes(whole.data, whole.len, ps->items[ps->n - 1].sha256);
  oc_buf_clear(&whole);
  oc_buf_clear(&shown);
  return rc;
}
