/* Which passes a request asks for: "conv-bn,-fold" adds one and takes one away. */
#include <string.h>

#include "passes/passes.h"

static const char *nearest(const char *word)
{
  const char *names[OC_PASS_COUNT];

  for (int p = 0; p < OC_PASS_COUNT; p++)
    names[p] = oc_pass_info((enum oc_pass)p)->name;
  const char *near = oc_str_nearest(word, names, OC_PASS_COUNT);
  return near ? near : names[0];
}

uint32_t oc_passes_select(uint32_t on, const char *text, struct oc_findings *findings)
{
  struct oc_str rest = oc_str_trim(oc_str_of(text));

  while (rest.len > 0) {
    const char *comma = memchr(rest.p, ',', rest.len);
    struct oc_str item = { rest.p, comma ? (size_t)(comma - rest.p) : rest.len };
    rest.p += item.len + (comma != NULL);
    rest.len -= item.len + (comma != NULL);
    item = oc_str_trim(item);
    bool off = item.len > 0 && item.p[0] == '-';
    struct oc_str bare = { item.p + off, item.len - off };
    const char *word = oc_arena_strndup(findings->arena, bare.p, bare.len);
    enum oc_pass pass;
    if (!word)
      return on;
    if (oc_pass_by_name(word, &pass))
      on = off ? on & ~OC_PASS_BIT(pass) : on | OC_PASS_BIT(pass);
    else if (item.len > 0)
      oc_finding_add(findings, OC_FINDING_PASS_UNKNOWN, word, "nearest", nearest(word),
                     NULL)
          ->flag = "passes";
  }
  return on;
}
