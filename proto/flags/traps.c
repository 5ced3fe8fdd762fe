/* What a shell does to a command line that was pasted from a web page: an empty value
 * before a line break, a blank behind a backslash, two options without a blank between
 * them. The vendor's parser takes all of these and fails much later, or not at all. */
#include <string.h>

#include "base/str.h"
#include "flags/flags_internal.h"

#define BLANKS " \t\r\n\v\f"

bool oc_flag_only_blanks(const char *s)
{
  return *s && strspn(s, BLANKS) == strlen(s);
}

/* Is an empty value of this flag certainly a mistake? For other flags it means "not
 * given". */
static bool must_not_be_empty(const struct oc_flag_info *info)
{
  return info && (info->content != OC_FLAG_NOT_A_PATH || info->required_modes != 0);
}

/* `--word=` inside a value, where word is a flag: its canonical name, else NULL. */
static const char *joined_flag(const char *value)
{
  for (const char *p = strstr(value, "--"); p; p = strstr(p + 2, "--")) {
    const struct oc_flag_info *info = NULL;
    const char *eq = strchr(p, '=');
    size_t len = eq ? (size_t)(eq - p - 2) : 0;
    char name[64], names[256];

    if (len < 2 || len >= sizeof(name))
      continue;
    memcpy(name, p + 2, len);
    name[len] = '\0';
    for (char *c = name; *c; c++)
      if (*c == '-')
        *c = '_';
    if (oc_flag_resolve(name, &info, names, sizeof(names)) == OC_FLAG_ONE_MATCH)
      return info->name;
    if (oc_flag_find_own(name))
      return oc_flag_find_own(name)->name;
  }
  return NULL;
}

static void add(struct oc_findings *fs, enum oc_finding_id id, const struct oc_flag *flag,
                const char *arg, const char *value)
{
  oc_finding_add(fs, id, flag->name, arg, value, NULL)->flag = flag->name;
}

bool oc_flag_trap(const struct oc_flag *flag, struct oc_findings *findings)
{
  const char *value = flag->value;
  const char *second = joined_flag(value);
  size_t len = strlen(value);

  if (second) {
    add(findings, OC_FINDING_FLAG_JOINED, flag, "second", second);
    return true;
  }
  if (len == 0) {
    add(findings,
        must_not_be_empty(flag->info) ? OC_FINDING_FLAG_EMPTY
                                      : OC_FINDING_FLAG_EMPTY_IGNORED,
        flag, NULL, NULL);
    return true;
  }
  if (strchr(BLANKS, value[len - 1]) && !(flag->info && flag->info->blanks)) {
    add(findings, OC_FINDING_FLAG_BLANK_END, flag, NULL, NULL);
    return true;
  }
  return false;
}

const char *oc_flag_clean(const char *value, bool blanks, struct oc_arena *arena)
{
  size_t len = strlen(value);
  char *out;
  size_t n = 0;

  if (len >= 2 && (value[0] == '"' || value[0] == '\'') && value[len - 1] == value[0]) {
    value++;
    len -= 2;
  }
  out = oc_arena_strndup(arena, value, len);
  if (!out || !blanks)
    return out;
  for (size_t i = 0; i < len; i++)
    if (!strchr(BLANKS "\"'", out[i]))
      out[n++] = out[i];
  out[n] = '\0';
  return out;
}
