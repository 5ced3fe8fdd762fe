/* Paths that the vendor's compiler would not take: it allows letters, digits, '-', '.',
 * '_', '/' and the CJK ideographs U+4E00 to U+9FA5, and refuses a blank, '+', ':' and all
 * the rest. With omcc files travel as descriptors, so such a path works; the user is told
 * once, because the same line would fail with atc itself. */
#include <stdio.h>
#include <string.h>

#include "flags/flags_internal.h"

/* Length of the allowed character at `p`, 0 when it is not allowed. */
static size_t allowed(const char *p)
{
  const unsigned char *u = (const unsigned char *)p;
  uint32_t c;

  if ((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') ||
      strchr("-._/", *p))
    return 1;
  if ((u[0] & 0xf0) != 0xe0 || (u[1] & 0xc0) != 0x80 || (u[2] & 0xc0) != 0x80)
    return 0;
  c = (uint32_t)(u[0] & 0x0f) << 12 | (uint32_t)(u[1] & 0x3f) << 6 | (u[2] & 0x3fu);
  return c >= 0x4e00 && c <= 0x9fa5 ? 3 : 0;
}

void oc_flags_check_paths(const struct oc_flags *f, struct oc_findings *findings)
{
  for (size_t i = 0; i < f->n; i++) {
    const struct oc_flag *flag = &f->items[i];
    char what[8] = "";
    const char *p = flag->value;

    if (!flag->info || flag->info->content == OC_FLAG_NOT_A_PATH || !p)
      continue;
    while (*p && allowed(p))
      p += allowed(p);
    if (!*p)
      continue;
    snprintf(what, sizeof(what), *p > ' ' && *p < 0x7f ? "%c" : "\\x%02x",
             (unsigned char)*p);
    oc_finding_add(findings, OC_FINDING_PATH_ALPHABET, flag->value, "character",
                   *p == ' ' ? "a blank" : oc_arena_printf(findings->arena, "'%s'", what),
                   "flag", flag->name, NULL)
        ->flag = flag->name;
  }
}
